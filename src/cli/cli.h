/*
 * The command: one file for each subcommand, and what they share. Nothing else in rivulet reads
 * argv, prints, or exits.
 */
#ifndef RV_CLI_CLI_H
#define RV_CLI_CLI_H

#include <rivulet.h>

enum rv_exit {
    RV_EXIT_OK = 0,
    RV_EXIT_USAGE = 1,
    RV_EXIT_NO_START = 2,
    RV_EXIT_INVALID = 3,       /* it ran, but not all went well */
    RV_EXIT_LAW = 70,          /* a law of measurement was violated */
    RV_EXIT_INTERRUPTED = 130, /* and the report was printed */
};

/* A subcommand: argv[0] is its own name. */
int rv_cli_serve(int argc, char **argv);
int rv_cli_stop(int argc, char **argv);
int rv_cli_bench(int argc, char **argv);
int rv_cli_ab(int argc, char **argv);
int rv_cli_sweep(int argc, char **argv);
int rv_cli_report(int argc, char **argv);

/* One line on stderr, "rivulet serve: what is wrong (rivulet serve --help)"; returns
   RV_EXIT_USAGE. */
int rv_cli_usage_error(const char *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Reads a whole number within min..max; false: it is none. */
bool rv_cli_number(const char *text, unsigned long min, unsigned long max, unsigned *number);

#endif
