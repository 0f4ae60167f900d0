/*
 * The netlink exchange with sock_diag(7) (sock_diag.h). A request is one message; the answer is one message
 * for each socket, with attributes behind it. For a listening socket the kernel puts the accept queue's
 * length into "rqueue" and its limit into "wqueue".
 *
 * Asking for all listeners at a port makes the kernel walk its whole table of listeners; a single one is
 * found by its hash. Two sockets at one address (SO_REUSEPORT) cannot be told apart that way.
 */
#include "load/sock_diag.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdalign.h>
#include <stddef.h>
#include <string.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define ANSWER_BYTES 32768 /* the kernel fills at most this much in one go */

int rv_diag_open(void)
{
    int diag = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    struct timeval patience = {.tv_sec = 1};
    if (diag >= 0)
        setsockopt(diag, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    return diag;
}

/* ---- one socket of an answer -------------------------------------------------------------------------- */

/* The content of the attribute `type` among those in `rest` octets; NULL: it is not there. */
static const void *attribute(const void *first, size_t rest, unsigned type, size_t *size)
{
    const char *at = first;
    while (rest >= sizeof(struct nlattr)) {
        struct nlattr head;
        memcpy(&head, at, sizeof head);
        if (head.nla_len < sizeof head || head.nla_len > rest)
            return NULL;
        if (head.nla_type == type) {
            *size = head.nla_len - sizeof head;
            return at + sizeof head;
        }
        size_t step = NLMSG_ALIGN(head.nla_len);
        if (step > rest)
            return NULL;
        at += step;
        rest -= step;
    }
    return NULL;
}

/* The nth 32-bit number of an attribute; 0 when it is not there. */
static uint32_t attribute_number(const void *first, size_t rest, unsigned type, size_t n)
{
    size_t size = 0;
    uint32_t number = 0;
    const char *content = attribute(first, rest, type, &size);
    if (content != NULL && size >= (n + 1) * sizeof number)
        memcpy(&number, content + n * sizeof number, sizeof number);
    return number;
}

static bool listener_of_tcp(const struct nlmsghdr *message, struct rv_listener *listener)
{
    if (message->nlmsg_len < NLMSG_LENGTH(sizeof(struct inet_diag_msg)))
        return false;
    const struct inet_diag_msg *shown = NLMSG_DATA(message);
    const void *attributes = shown + 1;
    size_t rest = message->nlmsg_len - NLMSG_LENGTH(sizeof *shown), size = 0;
    if (shown->idiag_state != TCP_LISTEN)
        return false;
    memset(listener, 0, sizeof *listener);
    if (shown->idiag_family == AF_INET) {
        struct sockaddr_in *name = (struct sockaddr_in *)&listener->address;
        name->sin_family = AF_INET;
        name->sin_port = shown->id.idiag_sport;
        memcpy(&name->sin_addr, shown->id.idiag_src, sizeof name->sin_addr);
        listener->length = sizeof *name;
    } else {
        struct sockaddr_in6 *name = (struct sockaddr_in6 *)&listener->address;
        const uint8_t *only = attribute(attributes, rest, INET_DIAG_SKV6ONLY, &size);
        name->sin6_family = AF_INET6;
        name->sin6_port = shown->id.idiag_sport;
        memcpy(&name->sin6_addr, shown->id.idiag_src, sizeof name->sin6_addr);
        listener->length = sizeof *name;
        listener->ipv6_only = only != NULL && size > 0 && *only != 0;
    }
    listener->inode = shown->idiag_inode;
    listener->queue = shown->idiag_rqueue;
    listener->backlog = shown->idiag_wqueue;
    listener->drops = attribute_number(attributes, rest, INET_DIAG_SKMEMINFO, SK_MEMINFO_DROPS);
    return true;
}

static bool listener_of_unix(const struct nlmsghdr *message, struct rv_listener *listener)
{
    if (message->nlmsg_len < NLMSG_LENGTH(sizeof(struct unix_diag_msg)))
        return false;
    const struct unix_diag_msg *shown = NLMSG_DATA(message);
    const void *attributes = shown + 1;
    size_t rest = message->nlmsg_len - NLMSG_LENGTH(sizeof *shown), size = 0;
    struct sockaddr_un *name = (struct sockaddr_un *)&listener->address;
    if (shown->udiag_state != TCP_LISTEN)
        return false;
    memset(listener, 0, sizeof *listener);
    const char *path = attribute(attributes, rest, UNIX_DIAG_NAME, &size);
    name->sun_family = AF_UNIX;
    listener->length = offsetof(struct sockaddr_un, sun_path);
    if (path != NULL && size <= sizeof name->sun_path) {
        memcpy(name->sun_path, path, size);
        listener->length += (socklen_t)size;
    }
    listener->inode = shown->udiag_ino;
    listener->queue = attribute_number(attributes, rest, UNIX_DIAG_RQLEN, 0);
    listener->backlog = attribute_number(attributes, rest, UNIX_DIAG_RQLEN, 1);
    listener->file_inode = attribute_number(attributes, rest, UNIX_DIAG_VFS, 0);
    listener->file_device = attribute_number(attributes, rest, UNIX_DIAG_VFS, 1);
    return true;
}

/* ---- the exchange --------------------------------------------------------------------------------------- */

union request {
    struct nlmsghdr head;
    struct {
        struct nlmsghdr head;
        struct inet_diag_req_v2 body;
    } tcp;
    struct {
        struct nlmsghdr head;
        struct unix_diag_req body;
    } local;
};

static union request tcp_request(int family, uint16_t flags)
{
    union request request = {.tcp = {.head = {.nlmsg_len = sizeof request.tcp,
                                              .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                                              .nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags)},
                                     .body = {.sdiag_family = (uint8_t)family,
                                              .sdiag_protocol = IPPROTO_TCP,
                                              .idiag_ext = 1 << (INET_DIAG_SKMEMINFO - 1),
                                              .idiag_states = 1 << TCP_LISTEN}}};
    return request;
}

static union request unix_request(uint16_t flags)
{
    union request request = {
        .local = {.head = {.nlmsg_len = sizeof request.local,
                           .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                           .nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags)},
                  .body = {.sdiag_family = AF_UNIX,
                           .udiag_states = 1 << TCP_LISTEN,
                           .udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_VFS | UDIAG_SHOW_RQLEN}}};
    return request;
}

typedef bool reader(const struct nlmsghdr *message, struct rv_listener *listener);

/* Gives the messages in `octets` to `each`. True: there is more to receive. */
static bool take(const char *octets, size_t rest, reader *read_one,
                 void (*each)(const struct rv_listener *listener, void *ctx), void *ctx,
                 bool *answered)
{
    const struct nlmsghdr *message = (const struct nlmsghdr *)octets;
    bool more = true;
    for (; NLMSG_OK(message, rest); message = NLMSG_NEXT(message, rest)) {
        struct rv_listener listener;
        if (message->nlmsg_type == NLMSG_DONE) {
            *answered = true;
            return false;
        }
        if (message->nlmsg_type == NLMSG_ERROR)
            return false;
        if (read_one(message, &listener))
            each(&listener, ctx);
        more = (message->nlmsg_flags & NLM_F_MULTI) != 0;
        *answered = true;
    }
    return more;
}

static bool exchange(int diag, const union request *request, reader *read_one,
                     void (*each)(const struct rv_listener *listener, void *ctx), void *ctx)
{
    alignas(struct nlmsghdr) char answer[ANSWER_BYTES];
    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    bool answered = false, more = true;
    if (sendto(diag, request, request->head.nlmsg_len, 0, (struct sockaddr *)&kernel,
               sizeof kernel) < 0)
        return false;
    while (more) {
        ssize_t count = recv(diag, answer, sizeof answer, 0);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return false;
        more = take(answer, (size_t)count, read_one, each, ctx, &answered);
    }
    return answered;
}

bool rv_diag_each_tcp(int diag, int family, uint16_t port,
                      void (*each)(const struct rv_listener *listener, void *ctx), void *ctx)
{
    union request request = tcp_request(family, NLM_F_DUMP);
    request.tcp.body.id.idiag_sport = htons(port);
    return exchange(diag, &request, listener_of_tcp, each, ctx);
}

bool rv_diag_each_unix(int diag, void (*each)(const struct rv_listener *listener, void *ctx),
                       void *ctx)
{
    union request request = unix_request(NLM_F_DUMP);
    return exchange(diag, &request, listener_of_unix, each, ctx);
}

/* ---- one that is known ---------------------------------------------------------------------------------- */

struct same {
    struct rv_listener *listener;
    bool found;
};

static void keep_same(const struct rv_listener *shown, void *ctx)
{
    struct same *same = ctx;
    if (shown->inode != same->listener->inode)
        return;
    *same->listener = *shown;
    same->found = true;
}

bool rv_diag_again(int diag, struct rv_listener *listener)
{
    struct same same = {.listener = listener};
    union request request;
    reader *read_one = listener_of_tcp;
    if (listener->address.ss_family == AF_UNIX) {
        request = unix_request(0);
        request.local.body.udiag_ino = listener->inode;
        request.local.body.udiag_cookie[0] = ~0u;
        request.local.body.udiag_cookie[1] = ~0u;
        read_one = listener_of_unix;
    } else if (listener->address.ss_family == AF_INET) {
        const struct sockaddr_in *name = (const struct sockaddr_in *)&listener->address;
        request = tcp_request(AF_INET, 0);
        request.tcp.body.id.idiag_sport = name->sin_port;
        memcpy(request.tcp.body.id.idiag_src, &name->sin_addr, sizeof name->sin_addr);
    } else {
        const struct sockaddr_in6 *name = (const struct sockaddr_in6 *)&listener->address;
        request = tcp_request(AF_INET6, 0);
        request.tcp.body.id.idiag_sport = name->sin6_port;
        memcpy(request.tcp.body.id.idiag_src, &name->sin6_addr, sizeof name->sin6_addr);
    }
    if (listener->address.ss_family != AF_UNIX) {
        request.tcp.body.id.idiag_cookie[0] = INET_DIAG_NOCOOKIE;
        request.tcp.body.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
    }
    return exchange(diag, &request, read_one, keep_same, &same) && same.found;
}
