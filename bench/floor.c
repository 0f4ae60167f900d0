/*
 * The floor: the least an HTTP server can do, the reference of the speed table.
 *
 * One thread, one epoll set, every connection registered once and edge-triggered. Each wake-up of a
 * connection costs one recv and one send. Nothing is parsed: a received block counts as one request
 * (or as N with --pipelined N), which is right for clients like wrk that send a request, or a batch
 * of them, in one write and wait for the answers. The answer is always the same octets, as many as
 * the server under comparison sends. With --close each connection carries one request, and the
 * kernel hands it over only when that has come (TCP_DEFER_ACCEPT): accept, recv, send, close.
 *
 * It owns no memory per connection: the descriptor number in the epoll set is all it knows. It is
 * an instrument, not a server: it never reads a request, never waits for a client that does not take
 * its answer (such a connection is cut), and listens on 127.0.0.1 only.
 */
#define _GNU_SOURCE 1 /* accept4 */

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    RESPONSE_BYTES_DEFAULT = 135,
    RESPONSE_BYTES_MAX = 65536,
    PIPELINED_MAX = 1024,
    OUTPUT_BYTES_MAX = 1 << 20,
    INPUT_BYTES_MAX = 65536,
    EVENTS_MAX = 1024,
    BACKLOG = 4096,
    DESCRIPTORS_OF_OUR_OWN = 6, /* stdin, stdout, stderr, epoll, listener, signals */
};

struct options {
    unsigned port;            /* 0: the kernel chooses */
    unsigned pipelined;       /* responses to one received block */
    unsigned response_bytes;  /* exact length of one response, head and body */
    bool close_after_request; /* accept, recv, send, close */
    bool says_keep_alive;     /* in a field, for clients that ask with HTTP/1.0 */
};

struct floor {
    int epoll_fd;
    int listener_fd;
    int signal_fd;
    bool accepting;       /* false after EMFILE, until a connection is closed */
    bool said_it_is_full; /* once is enough */
    bool close_after_request;
    size_t output_bytes;
    char *output; /* owned; all responses to one block, one behind the other */
    char input[INPUT_BYTES_MAX];
};

static void usage(FILE *out)
{
    fprintf(
        out,
        "usage: floor [--port N] [--response-bytes N] [--pipelined N] [--close | --keep-alive]\n"
        "\n"
        "The least an HTTP server can do, on 127.0.0.1: a fixed answer to each received block.\n"
        "\n"
        "  --port N            listen there; 0, the default, takes a free port and prints it\n"
        "  --response-bytes N  length of one response, head and body (default %d)\n"
        "  --pipelined N       answer each received block N times (default 1)\n"
        "  --close             one request per connection\n"
        "  --keep-alive        say so in a field: clients like ab, which ask with HTTP/1.0, need "
        "it\n"
        "  --help              this text\n"
        "\n"
        "SIGTERM or SIGINT ends it.\n",
        RESPONSE_BYTES_DEFAULT);
}

static unsigned parse_number(const char *option, const char *text, unsigned min, unsigned max)
{
    char *end = NULL;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < (long)min || value > (long)max) {
        fprintf(stderr, "floor: %s takes a whole number from %u to %u, not '%s'\n", option, min,
                max, text);
        exit(1);
    }
    return (unsigned)value;
}

static struct options parse_options(int argc, char **argv)
{
    static const struct option known[] = {
        {"port", required_argument, NULL, 'p'},
        {"response-bytes", required_argument, NULL, 'r'},
        {"pipelined", required_argument, NULL, 'n'},
        {"close", no_argument, NULL, 'c'},
        {"keep-alive", no_argument, NULL, 'k'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct options options = {.pipelined = 1, .response_bytes = RESPONSE_BYTES_DEFAULT};
    int option;
    while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
        switch (option) {
        case 'p':
            options.port = parse_number("--port", optarg, 0, 65535);
            break;
        case 'r':
            options.response_bytes =
                parse_number("--response-bytes", optarg, 1, RESPONSE_BYTES_MAX);
            break;
        case 'n':
            options.pipelined = parse_number("--pipelined", optarg, 1, PIPELINED_MAX);
            break;
        case 'c':
            options.close_after_request = true;
            break;
        case 'k':
            options.says_keep_alive = true;
            break;
        case 'h':
            usage(stdout);
            exit(0);
        default: /* getopt_long has named the mistake */
            usage(stderr);
            exit(1);
        }
    }
    if (optind < argc) {
        fprintf(stderr, "floor: unexpected argument '%s'\n", argv[optind]);
        exit(1);
    }
    if (options.close_after_request && options.says_keep_alive) {
        fprintf(stderr, "floor: --close and --keep-alive exclude one another\n");
        exit(1);
    }
    return options;
}

/* A valid 200 of exactly response_bytes, padded by one field, once per pipelined request. */
static bool build_output(struct floor *server, const struct options *options)
{
    const char *connection = options->close_after_request ? "Connection: close\r\n"
                             : options->says_keep_alive   ? "Connection: keep-alive\r\n"
                                                          : "";
    const char head[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n";
    const char end[] = "\r\n\r\nOk";
    const char pad_name[] = "X-Pad:";
    size_t fixed = strlen(head) + strlen(connection) + strlen(pad_name) + strlen(end);
    if (options->response_bytes < fixed) {
        fprintf(stderr,
                "floor: the shortest response%s is %zu bytes, --response-bytes %u is less\n",
                *connection != '\0' ? " with that option" : "", fixed, options->response_bytes);
        return false;
    }
    server->output_bytes = (size_t)options->response_bytes * options->pipelined;
    if (server->output_bytes > OUTPUT_BYTES_MAX) {
        fprintf(stderr, "floor: %u responses of %u bytes are more than the %d bytes of one send\n",
                options->pipelined, options->response_bytes, OUTPUT_BYTES_MAX);
        return false;
    }
    server->output = malloc(server->output_bytes + 1); /* snprintf closes with a NUL */
    if (server->output == NULL) {
        fprintf(stderr, "floor: no memory for %zu bytes of responses\n", server->output_bytes);
        return false;
    }
    static char padding[RESPONSE_BYTES_MAX + 1];
    memset(padding, 'x', options->response_bytes - fixed);
    if (options->response_bytes > fixed) {
        padding[0] = ' '; /* "X-Pad: xxx" */
    }
    char *at = server->output;
    for (unsigned i = 0; i < options->pipelined; i++) {
        at += snprintf(at, options->response_bytes + 1UL, "%s%s%s%s%s", head, connection, pad_name,
                       padding, end);
    }
    return true;
}

static bool watch(const struct floor *server, int fd, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.fd = fd};
    return epoll_ctl(server->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

static void close_connection(struct floor *server, int fd)
{
    close(fd);
    if (!server->accepting) {
        server->accepting = watch(server, server->listener_fd, EPOLLIN);
    }
}

/*
 * One recv, one send. The input buffer holds more than any block of the cases measured, so a recv
 * that did not fill it has emptied the socket, and the next octets raise a new edge. A client that
 * closed behind its request (EPOLLRDHUP) raises none, so it is closed here.
 */
static void serve(struct floor *server, int fd, uint32_t events)
{
    ssize_t received;
    do {
        received = recv(fd, server->input, sizeof server->input, 0);
        if (received <= 0) {
            if (received == 0 || errno != EAGAIN) {
                close_connection(server, fd);
            }
            return;
        }
        ssize_t sent = send(fd, server->output, server->output_bytes, MSG_NOSIGNAL);
        if (sent != (ssize_t)server->output_bytes || server->close_after_request) {
            close_connection(server, fd);
            return;
        }
    } while (received == (ssize_t)sizeof server->input);
    if ((events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) {
        close_connection(server, fd);
    }
}

/* Out of descriptors the listener would wake us forever: it leaves the set until one is free. */
static void pause_accepting(struct floor *server)
{
    if (epoll_ctl(server->epoll_fd, EPOLL_CTL_DEL, server->listener_fd, NULL) == 0) {
        server->accepting = false;
        if (!server->said_it_is_full) {
            server->said_it_is_full = true;
            fprintf(stderr, "floor: no descriptor left, accepting waits for one to be closed\n");
        }
    }
}

/* False if the request is not there: the client was slower than the kernel's patience. */
static bool answer_at_once(struct floor *server, int fd)
{
    ssize_t received = recv(fd, server->input, sizeof server->input, 0);
    if (received < 0 && errno == EAGAIN) {
        return false;
    }
    if (received > 0) {
        send(fd, server->output, server->output_bytes, MSG_NOSIGNAL); /* closed, whatever it says */
    }
    close(fd);
    return true;
}

static void accept_all(struct floor *server)
{
    for (;;) {
        int fd = accept4(server->listener_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) {
            if (errno == EMFILE || errno == ENFILE) {
                pause_accepting(server);
                return;
            }
            if (errno == ECONNABORTED || errno == EINTR) {
                continue;
            }
            return;
        }
        if (server->close_after_request) {
            if (answer_at_once(server, fd)) {
                continue;
            }
        } else {
            setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
        }
        if (!watch(server, fd, EPOLLIN | EPOLLRDHUP | EPOLLET)) {
            close(fd);
        }
    }
}

static int open_listener(unsigned port, bool deferred)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return -1;
    }
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int)) != 0 ||
        (deferred && setsockopt(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &(int){1}, sizeof(int)) != 0) ||
        bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, BACKLOG) != 0) {
        int reason = errno;
        close(fd);
        errno = reason;
        return -1;
    }
    return fd;
}

/* The soft limit is raised to the hard one; returns how many connections that leaves room for. */
static unsigned long connections_max(void)
{
    struct rlimit limit = {0};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return 0;
    }
    struct rlimit wanted = {.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};
    if (setrlimit(RLIMIT_NOFILE, &wanted) == 0) {
        limit = wanted;
    }
    return limit.rlim_cur > DESCRIPTORS_OF_OUR_OWN ? limit.rlim_cur - DESCRIPTORS_OF_OUR_OWN : 0;
}

static bool start(struct floor *server, const struct options *options)
{
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    unsigned long room = connections_max();

    server->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    server->signal_fd = signalfd(-1, &ends, SFD_NONBLOCK | SFD_CLOEXEC);
    if (server->epoll_fd < 0 || server->signal_fd < 0) {
        fprintf(stderr, "floor: cannot start: %s\n", strerror(errno));
        return false;
    }
    server->listener_fd = open_listener(options->port, options->close_after_request);
    if (server->listener_fd < 0) {
        fprintf(stderr, "floor: cannot listen on 127.0.0.1:%u: %s\n", options->port,
                strerror(errno));
        return false;
    }
    struct sockaddr_in address = {0};
    socklen_t address_bytes = sizeof address;
    if (getsockname(server->listener_fd, (struct sockaddr *)&address, &address_bytes) != 0 ||
        !watch(server, server->signal_fd, EPOLLIN) ||
        !watch(server, server->listener_fd, EPOLLIN)) {
        fprintf(stderr, "floor: cannot start: %s\n", strerror(errno));
        return false;
    }
    server->accepting = true;
    printf(
        "floor: listening on 127.0.0.1:%u, %u x %u bytes per block%s, room for %lu connections\n",
        (unsigned)ntohs(address.sin_port), options->pipelined, options->response_bytes,
        options->close_after_request ? ", one request per connection" : "", room);
    fflush(stdout);
    return true;
}

static int run(struct floor *server)
{
    static struct epoll_event events[EVENTS_MAX];
    for (;;) {
        int count = epoll_wait(server->epoll_fd, events, EVENTS_MAX, -1);
        if (count < 0 && errno != EINTR) {
            fprintf(stderr, "floor: while waiting for events: %s\n", strerror(errno));
            return 2;
        }
        for (int i = 0; i < count; i++) {
            int fd = events[i].data.fd;
            if (fd == server->listener_fd) {
                accept_all(server);
            } else if (fd == server->signal_fd) {
                return 0;
            } else {
                serve(server, fd, events[i].events);
            }
        }
    }
}

int main(int argc, char **argv)
{
    static struct floor server = {.epoll_fd = -1, .listener_fd = -1, .signal_fd = -1};
    struct options options = parse_options(argc, argv);
    server.close_after_request = options.close_after_request;
    if (!build_output(&server, &options)) {
        return 1;
    }
    int status = start(&server, &options) ? run(&server) : 2;
    free(server.output);
    return status;
}
