/*
 * libmicrohttpd in its fastest mode, the peer of the speed table that is a library like ours.
 *
 * One internal thread over epoll, one ready-made response queued for every request. The listening
 * socket is ours, so that TCP_DEFER_ACCEPT can be tried. It serves bench/versus alone, until
 * SIGTERM, on 127.0.0.1: `microhttpd PORT [--deferred]`, or `microhttpd --version`.
 */
#define _GNU_SOURCE 1 /* SOCK_NONBLOCK and friends */

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

enum {
    BACKLOG = 4096,
    CONNECTIONS_MAX = 19900,
    CONNECTION_MEMORY_BYTES = 2048, /* both heads of one small request; 32 KiB cost 15 % more CPU */
};

static enum MHD_Result answer(void *ctx, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_bytes, void **request_ctx)
{
    static int seen;
    (void)url, (void)method, (void)version, (void)upload, (void)upload_bytes;
    if (*request_ctx == NULL) { /* answered at the head already, the connection would be closed */
        *request_ctx = &seen;
        return MHD_YES;
    }
    return MHD_queue_response(connection, MHD_HTTP_OK, ctx);
}

static int open_listener(unsigned port, bool deferred)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int)) != 0 ||
        (deferred && setsockopt(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &(int){1}, sizeof(int)) != 0) ||
        bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, BACKLOG) != 0) {
        fprintf(stderr, "microhttpd: cannot listen on 127.0.0.1:%u: %s\n", port, strerror(errno));
        return -1;
    }
    return fd;
}

int main(int argc, char **argv)
{
    if (argc < 2 || argc > 3 || (argc == 3 && strcmp(argv[2], "--deferred") != 0)) {
        fprintf(stderr, "usage: microhttpd PORT [--deferred]\n");
        return 1;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts(MHD_get_version());
        return 0;
    }
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    sigprocmask(SIG_BLOCK, &ends, NULL);

    struct rlimit files = {0};
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    int listener = open_listener((unsigned)strtoul(argv[1], NULL, 10), argc == 3);
    if (listener < 0) {
        return 2;
    }
    struct MHD_Response *response =
        MHD_create_response_from_buffer(2, (void *)"Ok", MHD_RESPMEM_PERSISTENT);
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "text/plain");
    struct MHD_Daemon *daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_TURBO, 0, NULL, NULL, answer, response,
        MHD_OPTION_LISTEN_SOCKET, listener, MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MAX,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY_BYTES,
        MHD_OPTION_CONNECTION_TIMEOUT, 0U, MHD_OPTION_END);
    if (daemon == NULL) {
        fprintf(stderr, "microhttpd: the library did not start\n");
        return 2;
    }
    int ended_by = 0;
    sigwait(&ends, &ended_by);
    MHD_stop_daemon(daemon);
    MHD_destroy_response(response);
    return 0;
}
