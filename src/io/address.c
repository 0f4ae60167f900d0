/*
 * Addresses to listen on (address.h). Owns nothing but the sockets until it has handed them over.
 */
#include "io/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- text to address -------------------------------------------------------------------------------- */

static rv_error bad(char *why, const char *text, const char *reason)
{
    snprintf(why, RV_WHY_MAX, "cannot listen on \"%.*s\": %s", RV_ADDRESS_TEXT_MAX, text, reason);
    return RV_EADDR;
}

/* 1*DIGIT up to `max`, to the end of the text. */
static bool parse_number(const char *text, long max, long *number)
{
    if (*text == '\0' || strlen(text) > 9 || strspn(text, "0123456789") != strlen(text))
        return false;
    *number = strtol(text, NULL, 10);
    return *number <= max;
}

static rv_error parse_unix(const char *text, struct rv_address *address, char *why)
{
    const char *path = text + strlen("unix:");
    struct sockaddr_un *name = (struct sockaddr_un *)&address->sockaddr;
    size_t length = strlen(path);
    if (length == 0)
        return bad(why, text, "a path, or @ and a name, must follow \"unix:\"");
    if (length >= sizeof name->sun_path)
        return bad(why, text, "the path of a unix socket may have at most 107 octets");
    address->kind = RV_ADDRESS_UNIX;
    name->sun_family = AF_UNIX;
    memcpy(name->sun_path, path, length);
    if (path[0] == '@')
        name->sun_path[0] = '\0';
    address->length =
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + (path[0] == '@' ? 0 : 1));
    return 0;
}

static void any_address(struct rv_address *address, long port)
{
    struct sockaddr_in6 *any = (struct sockaddr_in6 *)&address->sockaddr;
    any->sin6_family = AF_INET6;
    any->sin6_addr = in6addr_any;
    any->sin6_port = htons((uint16_t)port);
    address->length = sizeof *any;
    address->dual_stack = true;
}

static rv_error resolve(const char *text, const char *host, const char *port,
                        struct rv_address *address, char *why)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    int result = getaddrinfo(host, port, &hints, &found);
    if (result != 0)
        return bad(why, text, gai_strerror(result));
    memcpy(&address->sockaddr, found->ai_addr, found->ai_addrlen);
    address->length = found->ai_addrlen;
    freeaddrinfo(found);
    return 0;
}

static rv_error parse_tcp(const char *text, struct rv_address *address, char *why)
{
    const char *colon = strrchr(text, ':');
    const char *port_text = colon == NULL ? text : colon + 1;
    char host[256];
    size_t host_length = colon == NULL ? 0 : (size_t)(colon - text);
    long port;
    address->kind = RV_ADDRESS_TCP;
    if (!parse_number(port_text, 65535, &port))
        return bad(why, text, "the port must be a number from 0 to 65535");
    if (host_length >= sizeof host)
        return bad(why, text, "the host is too long");
    if (colon == NULL)
        return resolve(text, "127.0.0.1", port_text, address, why);
    if (host_length == 0 || (host_length == 1 && text[0] == '*')) {
        any_address(address, port);
        return 0;
    }
    bool bracketed = text[0] == '[' && text[host_length - 1] == ']';
    if (!bracketed && memchr(text, ':', host_length) != NULL)
        return bad(why, text, "an IPv6 address goes in brackets, such as [::1]:8080");
    memcpy(host, text + (bracketed ? 1 : 0), host_length - (bracketed ? 2 : 0));
    host[host_length - (bracketed ? 2 : 0)] = '\0';
    return resolve(text, host, port_text, address, why);
}

rv_error rv_address_parse(const char *text, struct rv_address *address, char *why)
{
    memset(address, 0, sizeof *address);
    address->descriptor = -1;
    if (strncmp(text, "unix:", 5) == 0)
        return parse_unix(text, address, why);
    if (strncmp(text, "fd:", 3) == 0) {
        long number;
        if (!parse_number(text + 3, 1 << 20, &number))
            return bad(why, text, "the number of an open descriptor must follow \"fd:\"");
        address->kind = RV_ADDRESS_DESCRIPTOR;
        address->descriptor = (int)number;
        return 0;
    }
    return parse_tcp(text, address, why);
}

int rv_address_inherited(void)
{
    const char *pid = getenv("LISTEN_PID");
    const char *count = getenv("LISTEN_FDS");
    long number;
    if (count == NULL || !parse_number(count, 1024, &number))
        return 0;
    long process;
    if (pid != NULL && (!parse_number(pid, 1L << 30, &process) || process != (long)getpid()))
        return 0;
    return (int)number;
}

/* ---- address to text -------------------------------------------------------------------------------- */

static void format_unix(const struct sockaddr_un *name, socklen_t length, char *text, size_t size)
{
    size_t header = offsetof(struct sockaddr_un, sun_path);
    if (length <= header) {
        snprintf(text, size, "unix:");
        return;
    }
    int octets = (int)(length - header);
    if (name->sun_path[0] == '\0')
        snprintf(text, size, "unix:@%.*s", octets - 1, name->sun_path + 1);
    else
        snprintf(text, size, "unix:%.*s", octets, name->sun_path);
}

void rv_address_format(const struct sockaddr *sockaddr, socklen_t length, char *text, size_t size)
{
    char host[INET6_ADDRSTRLEN];
    if (sockaddr->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)sockaddr;
        inet_ntop(AF_INET, &v4->sin_addr, host, sizeof host);
        snprintf(text, size, "%s:%u", host, ntohs(v4->sin_port));
    } else if (sockaddr->sa_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)sockaddr;
        inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof host);
        snprintf(text, size, "[%s]:%u", host, ntohs(v6->sin6_port));
    } else if (sockaddr->sa_family == AF_UNIX) {
        format_unix((const struct sockaddr_un *)sockaddr, length, text, size);
    } else {
        text[0] = '\0';
    }
}

/* ---- sockets ---------------------------------------------------------------------------------------- */

static rv_error failed(const struct rv_address *address, const char *doing, int error_number,
                       char *why)
{
    char text[RV_ADDRESS_TEXT_MAX];
    rv_address_format((const struct sockaddr *)&address->sockaddr, address->length, text,
                      sizeof text);
    if (address->kind == RV_ADDRESS_DESCRIPTOR)
        snprintf(text, sizeof text, "fd:%d", address->descriptor);
    const char *reason = strerror(error_number);
    if (error_number == EADDRINUSE)
        reason = "the address is already in use by another server";
    if (error_number == EACCES && address->kind == RV_ADDRESS_TCP)
        reason = "permission denied (ports below 1024 need a privilege)";
    snprintf(why, RV_WHY_MAX, "cannot listen on %s: %s: %s", text, doing, reason);
    switch (error_number) {
    case EADDRINUSE:
        return RV_EADDRINUSE;
    case EACCES:
    case EPERM:
        return RV_EPERM;
    case EADDRNOTAVAIL:
    case EAFNOSUPPORT:
    case ENOENT:
    case ENOTDIR:
        return RV_EADDR;
    case EMFILE:
    case ENFILE:
        return RV_EFILES;
    default:
        return RV_EIO;
    }
}

/* A socket file that nobody listens on any more is what a crash leaves behind: it is removed. */
static void remove_stale_path(const struct rv_address *address)
{
    const struct sockaddr_un *name = (const struct sockaddr_un *)&address->sockaddr;
    struct stat info;
    if (name->sun_path[0] == '\0' || lstat(name->sun_path, &info) != 0 || !S_ISSOCK(info.st_mode))
        return;
    int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (probe < 0)
        return;
    if (connect(probe, (const struct sockaddr *)name, address->length) != 0 &&
        errno == ECONNREFUSED)
        unlink(name->sun_path);
    close(probe);
}

static rv_error set_options(const struct rv_address *address, int descriptor,
                            const struct rv_listen_options *options, char *why)
{
    int on = 1;
    int v6_only = address->dual_stack ? 0 : 1;
    if (address->kind != RV_ADDRESS_TCP)
        return 0;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (address->sockaddr.ss_family == AF_INET6)
        setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &v6_only, sizeof v6_only);
    if (setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        (options->reuse_port &&
         setsockopt(descriptor, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) != 0))
        return failed(address, "setsockopt", errno, why);
    return 0;
}

static rv_error open_socket(struct rv_address *address, const struct rv_listen_options *options,
                            int *descriptor, char *why)
{
    int type = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
    int made = socket(address->sockaddr.ss_family, type, 0);
    if (made < 0 && errno == EAFNOSUPPORT && address->dual_stack) {
        /* No IPv6 on this machine: "every address" is then every IPv4 address. */
        in_port_t port = ((struct sockaddr_in6 *)&address->sockaddr)->sin6_port;
        struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = port};
        memcpy(&address->sockaddr, &v4, sizeof v4);
        address->length = sizeof v4;
        address->dual_stack = false;
        made = socket(AF_INET, type, 0);
    }
    if (made < 0)
        return failed(address, "socket", errno, why);
    rv_error error = set_options(address, made, options, why);
    if (error == 0 && bind(made, (struct sockaddr *)&address->sockaddr, address->length) != 0)
        error = failed(address, "bind", errno, why);
    if (error == 0 && listen(made, (int)options->backlog) != 0)
        error = failed(address, "listen", errno, why);
    if (error != 0) {
        close(made);
        return error;
    }
    *descriptor = made;
    return 0;
}

static rv_error adopt(struct rv_address *address, const struct rv_listen_options *options,
                      int *descriptor, char *why)
{
    int listening = 0;
    int on = 1;
    socklen_t size = sizeof listening;
    int copy = fcntl(address->descriptor, F_DUPFD_CLOEXEC, 0);
    if (copy < 0)
        return failed(address, "dup", errno, why);
    if (getsockopt(copy, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) != 0 || listening == 0) {
        rv_error error = failed(address, "not a listening socket", EINVAL, why);
        close(copy);
        return error == RV_EIO ? RV_EADDR : error;
    }
    fcntl(copy, F_SETFL, fcntl(copy, F_GETFL) | O_NONBLOCK);
    listen(copy, (int)options->backlog); /* resizes the accept queue of whoever opened it */
    address->length = sizeof address->sockaddr;
    getsockname(copy, (struct sockaddr *)&address->sockaddr, &address->length);
    if (address->sockaddr.ss_family != AF_UNIX)
        setsockopt(copy, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    *descriptor = copy;
    return 0;
}

rv_error rv_address_listen(struct rv_address *address, const struct rv_listen_options *options,
                           int *descriptor, char *why)
{
    if (address->kind == RV_ADDRESS_DESCRIPTOR)
        return adopt(address, options, descriptor, why);
    if (address->kind == RV_ADDRESS_UNIX)
        remove_stale_path(address);
    rv_error error = open_socket(address, options, descriptor, why);
    if (error == 0 && address->kind == RV_ADDRESS_TCP) {
        address->length = sizeof address->sockaddr;
        getsockname(*descriptor, (struct sockaddr *)&address->sockaddr, &address->length);
    }
    return error;
}

void rv_address_close(const struct rv_address *address, int descriptor)
{
    const struct sockaddr_un *name = (const struct sockaddr_un *)&address->sockaddr;
    if (address->kind == RV_ADDRESS_UNIX && name->sun_path[0] != '\0')
        unlink(name->sun_path);
    close(descriptor);
}

unsigned rv_address_somaxconn(void)
{
    unsigned value = 4096; /* the kernel's default since 5.4 */
    FILE *file = fopen("/proc/sys/net/core/somaxconn", "re");
    if (file != NULL) {
        if (fscanf(file, "%u", &value) != 1)
            value = 4096;
        fclose(file);
    }
    return value;
}
