/*
 * `rivulet stop`: stops a server that somebody else runs, through its stop port.
 */
#include "cli/cli.h"

#include <getopt.h>
#include <stdio.h>

#define NAME "rivulet stop"
#define PORT_DEFAULT 8911
#define HOST_DEFAULT "127.0.0.1"

static void print_help(void)
{
    puts(
        "usage: rivulet stop [OPTION]...\n"
        "\n"
        "Stops a server that was started with --stop-port: it finishes what is running, and ends.\n"
        "\n"
        "  --port N        its stop port; default 8911\n"
        "  --host HOST     where it runs; default 127.0.0.1, the only place where stop ports of\n"
        "                  rivulet listen\n"
        "  --help          this text");
}

static int stop(const char *host, unsigned port)
{
    rv_error error = rv_stop_at(host, port);
    if (error == 0)
        return RV_EXIT_OK;
    fprintf(stderr, NAME ": cannot stop a server through %s:%u: %s\n", host, port,
            error == RV_ENOTFOUND ? "nobody listens there; was it started with --stop-port?"
            : error == RV_EPROTO  ? "who listens there is no stop port"
                                  : rv_strerror(error));
    return RV_EXIT_NO_START;
}

int rv_cli_stop(int argc, char **argv)
{
    enum { PORT = 256, HOST, HELP };
    static const struct option options[] = {{"port", required_argument, NULL, PORT},
                                            {"host", required_argument, NULL, HOST},
                                            {"help", no_argument, NULL, HELP},
                                            {NULL, 0, NULL, 0}};
    const char *host = HOST_DEFAULT;
    unsigned port = PORT_DEFAULT;
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, ":h", options, NULL)) != -1;) {
        switch (option) {
        case PORT:
            if (!rv_cli_number(optarg, 1, 65535, &port))
                return rv_cli_usage_error(
                    NAME, "--port must be a whole number from 1 to 65535, not \"%s\"", optarg);
            break;
        case HOST:
            host = optarg;
            break;
        case HELP:
        case 'h':
            print_help();
            return RV_EXIT_OK;
        case ':':
            return rv_cli_usage_error(NAME, "%s needs a value", argv[optind - 1]);
        default:
            return rv_cli_usage_error(NAME, "there is no option %s", argv[optind - 1]);
        }
    }
    if (optind < argc)
        return rv_cli_usage_error(NAME, "\"%s\" is no option", argv[optind]);
    return stop(host, port);
}
