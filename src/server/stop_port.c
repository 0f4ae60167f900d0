/*
 * The stop port (stop_port.h), and the client's side of it. A client has two seconds for its four
 * octets and is closed at the first that is wrong; when there is no place for a new one the oldest goes.
 */
#include "server/stop_port.h"

#include "base/clock.h"
#include "io/address.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define WORD "stop"
#define WORD_LENGTH 4
#define CLIENTS_MAX 8
#define CLIENT_MS 2000
#define PAUSE_MS 100 /* of accepting, when no descriptor is left for a client */

struct client {
    int descriptor;
    unsigned got; /* octets of the word */
    uint64_t deadline_ms;
};

struct rv_stop_port {
    int listener;
    uint64_t paused_until_ms;
    struct client clients[CLIENTS_MAX]; /* the oldest first */
    unsigned client_count;
};

/* ---- opening and closing ------------------------------------------------------------------------------- */

static int listen_on(unsigned port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int one = 1, descriptor = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (descriptor < 0)
        return -1;
    if (setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0 &&
        bind(descriptor, (struct sockaddr *)&address, sizeof address) == 0 &&
        listen(descriptor, CLIENTS_MAX) == 0)
        return descriptor;
    int error_number = errno;
    close(descriptor);
    errno = error_number;
    return -1;
}

static rv_error error_of(int error_number)
{
    return error_number == EADDRINUSE                         ? RV_EADDRINUSE
           : error_number == EACCES                           ? RV_EPERM
           : error_number == EMFILE || error_number == ENFILE ? RV_EFILES
                                                              : RV_EIO;
}

rv_error rv_stop_port_open(rv_server *server)
{
    unsigned port = server->options.stop_port;
    if (port == 0)
        return 0;
    struct rv_stop_port *stop_port = calloc(1, sizeof *stop_port);
    if (stop_port == NULL)
        return rv_server_fail(server, RV_ENOMEM, "out of memory");
    stop_port->listener = listen_on(port);
    if (stop_port->listener < 0) {
        rv_error error = error_of(errno);
        free(stop_port);
        return rv_server_fail(server, error, "cannot listen on the stop port 127.0.0.1:%u: %s",
                              port, rv_strerror(error));
    }
    server->stop_port = stop_port;
    return 0;
}

void rv_stop_port_close(rv_server *server)
{
    struct rv_stop_port *port = server->stop_port;
    server->stop_port = NULL;
    if (port == NULL)
        return;
    for (unsigned i = 0; i < port->client_count; i++)
        close(port->clients[i].descriptor);
    close(port->listener);
    free(port);
}

/* ---- clients ------------------------------------------------------------------------------------------ */

static void drop(struct rv_stop_port *port, unsigned index)
{
    close(port->clients[index].descriptor);
    port->client_count--;
    memmove(&port->clients[index], &port->clients[index + 1],
            (port->client_count - index) * sizeof *port->clients);
}

static void accept_one(struct rv_stop_port *port, uint64_t now)
{
    int descriptor = accept4(port->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (descriptor < 0) {
        if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
            port->paused_until_ms = now + PAUSE_MS;
        return;
    }
    if (port->client_count == CLIENTS_MAX)
        drop(port, 0);
    port->clients[port->client_count++] = (struct client){descriptor, 0, now + CLIENT_MS};
}

/* False: it is done with. */
static bool read_word(rv_server *server, struct client *client)
{
    char octets[WORD_LENGTH];
    ssize_t count = read(client->descriptor, octets, WORD_LENGTH - client->got);
    if (count < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    if (count <= 0 || memcmp(octets, &WORD[client->got], (size_t)count) != 0)
        return false;
    client->got += (unsigned)count;
    if (client->got < WORD_LENGTH)
        return true;
    rv_server_stop(server);
    return false;
}

static void look_after(rv_server *server, const struct pollfd *events, unsigned count, uint64_t now)
{
    struct rv_stop_port *port = server->stop_port;
    for (unsigned i = count; i-- > 0;) { /* from behind: dropping one moves those behind it */
        struct client *client = &port->clients[i];
        bool stays = events[i].revents == 0 || read_word(server, client);
        if (!stays || now >= client->deadline_ms)
            drop(port, i);
    }
}

/* ---- waiting ------------------------------------------------------------------------------------------ */

/* Until the first deadline; -1: there is none. */
static int wait_ms(const struct rv_stop_port *port, uint64_t now)
{
    uint64_t until = port->client_count > 0 ? port->clients[0].deadline_ms : UINT64_MAX;
    if (port->paused_until_ms > now && port->paused_until_ms < until)
        until = port->paused_until_ms;
    return until == UINT64_MAX ? -1 : until <= now ? 0 : (int)(until - now);
}

void rv_stop_port_wait(rv_server *server)
{
    struct rv_stop_port *port = server->stop_port;
    struct pollfd events[2 + CLIENTS_MAX] = {{.fd = server->stop_event, .events = POLLIN},
                                             {.fd = -1}};
    unsigned count = port == NULL ? 0 : port->client_count;
    uint64_t now = rv_clock_monotonic_ms(), news;
    if (port != NULL && now >= port->paused_until_ms)
        events[1] = (struct pollfd){.fd = port->listener, .events = POLLIN};
    for (unsigned i = 0; i < count; i++)
        events[2 + i] = (struct pollfd){.fd = port->clients[i].descriptor, .events = POLLIN};
    if (poll(events, 2 + count, port == NULL ? -1 : wait_ms(port, now)) < 0)
        return; /* a signal: look again */
    if (events[0].revents != 0) {
        ssize_t ignored = read(server->stop_event, &news, sizeof news);
        (void)ignored;
    }
    if (port == NULL)
        return;
    now = rv_clock_monotonic_ms();
    look_after(server, events + 2, count, now);
    if (events[1].revents != 0)
        accept_one(port, now);
}

/* ---- the other side ------------------------------------------------------------------------------------ */

static bool is_ready(int descriptor, short what)
{
    struct pollfd event = {.fd = descriptor, .events = what};
    int result;
    do
        result = poll(&event, 1, CLIENT_MS);
    while (result < 0 && errno == EINTR);
    return result > 0;
}

static rv_error connect_to(int descriptor, const struct rv_address *address)
{
    int failure = 0;
    socklen_t size = sizeof failure;
    if (connect(descriptor, (const struct sockaddr *)&address->sockaddr, address->length) != 0) {
        if (errno != EINPROGRESS)
            return errno == ECONNREFUSED ? RV_ENOTFOUND : RV_EIO;
        if (!is_ready(descriptor, POLLOUT))
            return RV_ETIMEOUT;
        if (getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &failure, &size) != 0)
            return RV_EIO;
    }
    return failure == 0 ? 0 : failure == ECONNREFUSED ? RV_ENOTFOUND : RV_EIO;
}

/* A stop port that has understood closes, and says nothing. */
static rv_error send_word(int descriptor)
{
    char octet;
    if (send(descriptor, WORD, WORD_LENGTH, MSG_NOSIGNAL) != WORD_LENGTH)
        return RV_EIO;
    if (!is_ready(descriptor, POLLIN))
        return RV_ETIMEOUT;
    ssize_t count = recv(descriptor, &octet, 1, 0);
    return count == 0 ? 0 : count > 0 ? RV_EPROTO : RV_EIO;
}

rv_error rv_stop_at(const char *host, unsigned port)
{
    struct rv_address address;
    char text[300], why[RV_WHY_MAX];
    if (host == NULL)
        host = "127.0.0.1";
    if (port == 0 || port > 65535)
        return RV_EINVAL;
    bool is_ipv6 = strchr(host, ':') != NULL && *host != '[';
    int length = snprintf(text, sizeof text, "%s%s%s:%u", is_ipv6 ? "[" : "", host,
                          is_ipv6 ? "]" : "", port);
    if (length < 0 || (size_t)length >= sizeof text || strchr(host, '/') != NULL || *host == '\0' ||
        rv_address_parse(text, &address, why) != 0 || address.kind != RV_ADDRESS_TCP)
        return RV_EADDR;
    int descriptor =
        socket(address.sockaddr.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (descriptor < 0)
        return error_of(errno);
    rv_error error = connect_to(descriptor, &address);
    if (error == 0)
        error = send_word(descriptor);
    close(descriptor);
    return error;
}
