/*
 * Accepting (listener.h).
 */
#include "io/listener.h"

#include "io/backend.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

rv_error rv_listener_start(struct rv_listener *listener)
{
    if (listener->accepting)
        return 0;
    rv_error error = listener->loop->backend->accept_start(listener);
    listener->accepting = error == 0;
    return error;
}

void rv_listener_stop(struct rv_listener *listener)
{
    if (!listener->accepting)
        return;
    listener->accepting = false;
    listener->loop->backend->accept_stop(listener);
}

void rv_listener_defer(struct rv_listener *listener, bool defer)
{
    int seconds = defer ? 1 : 0;
    if (listener->is_tcp && listener->descriptor >= 0)
        setsockopt(listener->descriptor, IPPROTO_TCP, TCP_DEFER_ACCEPT, &seconds, sizeof seconds);
}

void rv_listener_ready(struct rv_listener *listener)
{
    unsigned batch = listener->batch == 0 ? 1 : listener->batch;
    unsigned most = batch < RV_ACCEPT_STORM ? batch : RV_ACCEPT_MOST;
    unsigned taken = rv_listener_take(listener, most);
    if (taken >= batch)
        batch = batch < RV_ACCEPT_STORM ? batch * 2 : RV_ACCEPT_STORM;
    else
        batch = taken == 0 ? 1 : taken;
    listener->batch = batch;
}

unsigned rv_listener_take(struct rv_listener *listener, unsigned most)
{
    unsigned taken = 0;
    for (unsigned i = 0; i < most && listener->accepting; i++) {
        struct sockaddr_storage peer;
        socklen_t peer_length = sizeof peer;
        int descriptor = accept4(listener->descriptor, (struct sockaddr *)&peer, &peer_length,
                                 SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (descriptor >= 0) {
            taken++;
            listener->on_accept(listener, descriptor, (struct sockaddr *)&peer, peer_length);
            continue;
        }
        switch (errno) {
        case EMFILE:
        case ENFILE:
        case ENOMEM:
        case ENOBUFS: {
            int error_number = errno;
            rv_listener_stop(listener);
            listener->on_exhausted(listener, error_number);
            return taken;
        }
        case EAGAIN:
            return taken;
        default: /* the client has gone already (ECONNABORTED and kin), or a signal: try the next */
            break;
        }
    }
    return taken;
}
