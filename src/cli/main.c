/*
 * The entry of the command: finds the subcommand and hands over.
 */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
} commands[] = {
    {"serve", rv_cli_serve, "serve the demo application"},
    {"stop", rv_cli_stop, "stop a server through its stop port"},
    {"bench", rv_cli_bench, "put load on a server and say how it went, and why"},
    {"ab", rv_cli_ab, "load a server with ApacheBench's options, and report in its form"},
    {"sweep", rv_cli_sweep, "measure rates against clients and sizes, as CherryPy's benchmark"},
    {"report", rv_cli_report, "render a saved result again"},
};

static void print_help(void)
{
    puts("usage: rivulet COMMAND [OPTION]...\n"
         "       rivulet --version | --help\n"
         "\n"
         "An HTTP application server.\n"
         "\n"
         "commands:");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        printf("  %-8s %s\n", commands[i].name, commands[i].summary);
    puts("\n"
         "`rivulet COMMAND --help` tells about one of them.\n"
         "exit status: 0 ok, 1 usage, 2 could not start, 3 a measurement is invalid,\n"
         "70 a law of measurement was violated, 130 interrupted; ab has its own");
}

/* The command is ApacheBench for whoever calls it by that name. */
static bool is_called_ab(const char *program)
{
    const char *slash = strrchr(program, '/');
    return strcmp(slash == NULL ? program : slash + 1, "ab") == 0;
}

int main(int argc, char **argv)
{
    if (argc > 0 && is_called_ab(argv[0]))
        return rv_cli_ab(argc, argv);
    if (argc < 2)
        return rv_cli_usage_error("rivulet", "a command is needed");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_help();
        return RV_EXIT_OK;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        printf("rivulet %s\n", rv_version());
        return RV_EXIT_OK;
    }
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    return rv_cli_usage_error("rivulet", "there is no command \"%s\"", argv[1]);
}
