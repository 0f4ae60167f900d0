/*
 * What every subcommand needs: a word about a wrong command line, and whole numbers (cli.h).
 */
#include "cli/cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

int rv_cli_usage_error(const char *command, const char *format, ...)
{
    va_list arguments;
    fprintf(stderr, "%s: ", command);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, " (%s --help)\n", command);
    return RV_EXIT_USAGE;
}

bool rv_cli_number(const char *text, unsigned long min, unsigned long max, unsigned *number)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value < min || value > max)
        return false;
    *number = (unsigned)value;
    return true;
}
