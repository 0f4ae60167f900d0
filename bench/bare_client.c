/*
 * The bare client: the least an HTTP client can do, the reference of the tables that compare clients.
 *
 * One thread, one epoll set, every connection registered once and edge-triggered. It sends the same
 * prebuilt request, discards in the kernel (MSG_TRUNC) as many octets as one response is known to
 * have, and sends again. Nothing is parsed, nothing is timed, nothing is copied: the length of a
 * response is an argument, so it must be the same for all. What a real client needs beyond this is
 * its own work.
 *
 * All it knows of a connection is how many octets it still waits for. It is an instrument, not a
 * client: a connection that is closed or reset ends the whole run with status 2, and it talks to
 * 127.0.0.1 only.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum {
    CONNECTIONS_MAX = 1000000,
    SECONDS_MAX = 3600,
    RESPONSE_BYTES_MAX = 1 << 30,
    REQUEST_BYTES_MAX = 4096,
    RECEIVE_BYTES = 1 << 20, /* asked for at once */
    EVENTS_MAX = 1024,
};

struct options {
    unsigned port;
    unsigned connections;
    unsigned seconds;
    unsigned response_bytes; /* exact length of one response, head and body */
    const char *path;
};

struct connection {
    int fd;
    uint32_t left; /* octets of the response that have not come yet */
};

struct bare_client {
    int epoll_fd;
    int timer_fd; /* readable when the time is up */
    uint32_t response_bytes;
    uint64_t answers;
    struct connection *connections; /* owned */
    size_t request_bytes;
    char request[REQUEST_BYTES_MAX];
};

static void usage(FILE *out)
{
    fprintf(
        out,
        "usage: bare_client --port N --response-bytes N [--connections N] [--seconds N]\n"
        "                   [--path PATH]\n"
        "\n"
        "The least an HTTP client can do, to 127.0.0.1: a prebuilt request on each connection,\n"
        "again whenever the octets of one response have come. Prints how many have.\n"
        "\n"
        "  --port N            of the server\n"
        "  --response-bytes N  exact length of one response, head and body\n"
        "  --connections N     kept alive at the same time (default 64)\n"
        "  --seconds N         length of the run (default 2)\n"
        "  --path PATH         what to ask for (default /ok)\n"
        "  --help              this text\n");
}

static unsigned parse_number(const char *option, const char *text, unsigned max)
{
    char *end = NULL;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < 1 || value > (long)max) {
        fprintf(stderr, "bare_client: %s takes a whole number from 1 to %u, not '%s'\n", option,
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
        {"connections", required_argument, NULL, 'c'},
        {"seconds", required_argument, NULL, 's'},
        {"path", required_argument, NULL, 'u'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct options options = {.connections = 64, .seconds = 2, .path = "/ok"};
    int option;
    while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
        switch (option) {
        case 'p':
            options.port = parse_number("--port", optarg, 65535);
            break;
        case 'r':
            options.response_bytes = parse_number("--response-bytes", optarg, RESPONSE_BYTES_MAX);
            break;
        case 'c':
            options.connections = parse_number("--connections", optarg, CONNECTIONS_MAX);
            break;
        case 's':
            options.seconds = parse_number("--seconds", optarg, SECONDS_MAX);
            break;
        case 'u':
            options.path = optarg;
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
        fprintf(stderr, "bare_client: unexpected argument '%s'\n", argv[optind]);
        exit(1);
    }
    if (options.port == 0 || options.response_bytes == 0) {
        fprintf(stderr, "bare_client: --port and --response-bytes are needed, see --help\n");
        exit(1);
    }
    return options;
}

static bool build_request(struct bare_client *client, const struct options *options)
{
    int length =
        snprintf(client->request, sizeof client->request,
                 "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n\r\n", options->path, options->port);
    if (length < 0 || (size_t)length >= sizeof client->request) {
        fprintf(stderr, "bare_client: --path takes at most %d octets, not %zu\n",
                REQUEST_BYTES_MAX - 100, strlen(options->path));
        return false;
    }
    client->request_bytes = (size_t)length;
    return true;
}

/* ---- connections ---------------------------------------------------------------------------- */

static bool send_request(struct bare_client *client, struct connection *connection)
{
    ssize_t sent = send(connection->fd, client->request, client->request_bytes, MSG_NOSIGNAL);
    connection->left = client->response_bytes;
    if (sent == (ssize_t)client->request_bytes)
        return true;
    fprintf(stderr, "bare_client: while sending: %s\n",
            sent < 0 ? strerror(errno) : "the request did not fit");
    return false;
}

static bool open_connection(struct bare_client *client, struct connection *connection,
                            unsigned port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET, .data.ptr = connection};
    connection->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connection->fd < 0 ||
        connect(connection->fd, (struct sockaddr *)&address, sizeof address) != 0 ||
        fcntl(connection->fd, F_SETFL, O_NONBLOCK) != 0 ||
        setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int)) != 0 ||
        epoll_ctl(client->epoll_fd, EPOLL_CTL_ADD, connection->fd, &event) != 0) {
        fprintf(stderr, "bare_client: connection %td to 127.0.0.1:%u: %s\n",
                connection - client->connections + 1, port, strerror(errno));
        return false;
    }
    return true;
}

/* The soft limit of descriptors is raised to the hard one; socket() will say if that is too few. */
static void raise_descriptor_limit(void)
{
    struct rlimit limit = {0};
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static bool start(struct bare_client *client, const struct options *options)
{
    raise_descriptor_limit();
    client->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    client->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    client->connections = calloc(options->connections, sizeof *client->connections);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    if (client->epoll_fd < 0 || client->timer_fd < 0 || client->connections == NULL ||
        epoll_ctl(client->epoll_fd, EPOLL_CTL_ADD, client->timer_fd, &event) != 0) {
        fprintf(stderr, "bare_client: cannot start: %s\n", strerror(errno));
        return false;
    }
    for (unsigned i = 0; i < options->connections; i++)
        if (!open_connection(client, &client->connections[i], options->port))
            return false;
    struct itimerspec end = {.it_value.tv_sec = (time_t)options->seconds};
    timerfd_settime(client->timer_fd, 0, &end, NULL);
    for (unsigned i = 0; i < options->connections; i++)
        if (!send_request(client, &client->connections[i]))
            return false;
    return true;
}

/* ---- the run -------------------------------------------------------------------------------- */

/*
 * One recv and one send for a small response. A recv that brought less than it asked for has emptied
 * the socket, and the next octets raise a new edge. With MSG_TRUNC the kernel counts what it throws
 * away, and writes nothing to the page.
 */
static bool receive(struct bare_client *client, struct connection *connection)
{
    static char page[RECEIVE_BYTES];
    for (;;) {
        size_t wanted = connection->left < sizeof page ? connection->left : sizeof page;
        ssize_t received = recv(connection->fd, page, wanted, MSG_TRUNC);
        if (received < 0 && errno == EAGAIN)
            return true;
        if (received <= 0) {
            fprintf(stderr, "bare_client: while receiving: %s\n",
                    received < 0 ? strerror(errno) : "the server closed the connection");
            return false;
        }
        connection->left -= (uint32_t)received;
        if (connection->left == 0) {
            client->answers++;
            return send_request(client, connection);
        }
        if ((size_t)received < wanted)
            return true;
    }
}

static bool run(struct bare_client *client)
{
    static struct epoll_event events[EVENTS_MAX];
    for (;;) {
        int count = epoll_wait(client->epoll_fd, events, EVENTS_MAX, -1);
        if (count < 0 && errno != EINTR) {
            fprintf(stderr, "bare_client: while waiting for events: %s\n", strerror(errno));
            return false;
        }
        for (int i = 0; i < count; i++) {
            if (events[i].data.ptr == NULL) /* the timer */
                return true;
            if (!receive(client, events[i].data.ptr))
                return false;
        }
    }
}

int main(int argc, char **argv)
{
    static struct bare_client client;
    struct options options = parse_options(argc, argv);
    client.response_bytes = options.response_bytes;
    if (!build_request(&client, &options))
        return 1;
    bool completed = start(&client, &options) && run(&client);
    if (completed)
        printf("%llu answers in %u s\n", (unsigned long long)client.answers, options.seconds);
    free(client.connections);
    return completed ? 0 : 2;
}
