/*
 * Real sockets, from the client's side (sockets.h).
 */
#include "support/sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define PATIENCE_S 10

/* ---- addresses --------------------------------------------------------------------------------- */

static bool parse_unix(const char *path, struct sockaddr_storage *sockaddr, socklen_t *length)
{
    struct sockaddr_un *name = (struct sockaddr_un *)sockaddr;
    name->sun_family = AF_UNIX;
    if (strlen(path) >= sizeof name->sun_path)
        return false;
    strcpy(name->sun_path, path);
    *length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
    if (path[0] == '@')
        name->sun_path[0] = '\0';
    else
        *length += 1;
    return true;
}

static bool parse(const char *address, struct sockaddr_storage *sockaddr, socklen_t *length)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)sockaddr;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)sockaddr;
    char host[64];
    const char *colon = strrchr(address, ':');
    memset(sockaddr, 0, sizeof *sockaddr);
    if (strncmp(address, "unix:", 5) == 0)
        return parse_unix(address + 5, sockaddr, length);
    if (colon == NULL || (size_t)(colon - address) >= sizeof host)
        return false;
    in_port_t port = htons((in_port_t)atoi(colon + 1));
    if (address[0] != '[') {
        snprintf(host, sizeof host, "%.*s", (int)(colon - address), address);
        *v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = port};
        *length = sizeof *v4;
        return inet_pton(AF_INET, host, &v4->sin_addr) == 1;
    }
    snprintf(host, sizeof host, "%.*s", (int)(colon - address) - 2, address + 1);
    *v6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = port};
    *length = sizeof *v6;
    return inet_pton(AF_INET6, host, &v6->sin6_addr) == 1;
}

static int dial_with(const char *address, int receive_bytes)
{
    struct sockaddr_storage sockaddr;
    socklen_t length;
    struct timeval patience = {.tv_sec = PATIENCE_S};
    if (!parse(address, &sockaddr, &length))
        return -1;
    int made = socket(sockaddr.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (made < 0)
        return -1;
    setsockopt(made, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(made, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (receive_bytes > 0)
        setsockopt(made, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes);
    if (connect(made, (struct sockaddr *)&sockaddr, length) != 0) {
        int error_number = errno;
        close(made);
        errno = error_number;
        return -1;
    }
    return made;
}

int dial(const char *address)
{
    return dial_with(address, 0);
}

int dial_narrow(const char *address)
{
    return dial_with(address, 1);
}

/* ---- octets ------------------------------------------------------------------------------------ */

bool send_octets(int socket, rv_bytes octets)
{
    while (octets.len > 0) {
        ssize_t sent = send(socket, octets.ptr, octets.len, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        octets.ptr += sent;
        octets.len -= (size_t)sent;
    }
    return true;
}

bool send_text(int socket, const char *text)
{
    return send_octets(socket, rv_str(text));
}

void hang_up(int socket)
{
    struct linger at_once = {.l_onoff = 1};
    setsockopt(socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(socket);
}

size_t receive_for(int socket, int wait_ms)
{
    static _Thread_local char octets[65536];
    size_t total = 0;
    struct pollfd waiting = {.fd = socket, .events = POLLIN};
    while (poll(&waiting, 1, wait_ms) == 1) {
        ssize_t count = recv(socket, octets, sizeof octets, 0);
        if (count <= 0)
            break;
        total += (size_t)count;
    }
    return total;
}
