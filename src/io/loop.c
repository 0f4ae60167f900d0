/*
 * The turn of a loop (loop.h). It decides the order of things and owns the shared memory; what is
 * done is done in the back end, the wheel, the inbox and the streams.
 */
#include "io/loop.h"

#include "base/buffer.h"
#include "io/backend.h"
#include "io/segment.h"
#include "io/stream.h"
#include "io/tls_layer.h"

#include <stdlib.h>
#include <string.h>

rv_error rv_loop_open(struct rv_loop *loop, const struct rv_backend *backend, void *owner)
{
    memset(loop, 0, sizeof *loop);
    loop->backend = backend;
    loop->owner = owner;
    loop->alarm_ns = UINT64_MAX;
    loop->receive_buffer = malloc(RV_RECEIVE_BYTES + RV_SCAN_PADDING);
    loop->receive_bytes = RV_RECEIVE_BYTES;
    loop->page = malloc(RV_PAGE_BYTES);
    rv_inbox_init(&loop->inbox);
    rv_slab_init(&loop->segments, sizeof(struct rv_segment));
    rv_error error = loop->receive_buffer == NULL || loop->page == NULL ? RV_ENOMEM : 0;
    if (error == 0) {
        /* Scanners may look at the padding; it never decides anything, but it must be defined. */
        memset(loop->receive_buffer + RV_RECEIVE_BYTES, 0, RV_SCAN_PADDING);
        error = backend->open(loop);
    }
    if (error != 0) {
        free(loop->receive_buffer);
        free(loop->page);
        return error;
    }
    backend->read_clock(loop);
    rv_wheel_init(&loop->wheel, loop->now_ms);
    return 0;
}

void rv_loop_close(struct rv_loop *loop)
{
    loop->backend->close(loop);
    if (RV_TLS_BUILT && loop->tls != NULL)
        rv_tls_context_close(loop);
    rv_slab_free(&loop->segments);
    free(loop->receive_buffer);
    free(loop->page);
    loop->receive_buffer = NULL;
    loop->page = NULL;
}

void rv_loop_flush(struct rv_loop *loop)
{
    if (loop->page_owner != NULL)
        rv_stream_flush(loop->page_owner);
}

uint64_t rv_loop_clock_ns(struct rv_loop *loop)
{
    return loop->backend->clock_ns(loop);
}

static void sound_alarm(struct rv_loop *loop)
{
    if (rv_loop_clock_ns(loop) < loop->alarm_ns)
        return;
    loop->alarm_ns = UINT64_MAX;
    loop->turn_sent = 0;
    loop->on_alarm(loop);
}

void rv_loop_turn(struct rv_loop *loop, uint64_t wait_ms)
{
    rv_loop_flush(loop); /* what was written since the last turn must not wait for this one's end */
    bool hands_wait = RV_TLS_BUILT && loop->tls != NULL && rv_tls_hands_wait(loop);
    if (loop->again != NULL || loop->dead != NULL || hands_wait) {
        wait_ms = 0;
    } else {
        uint64_t timer_ms = rv_wheel_wait_ms(&loop->wheel);
        if (timer_ms < wait_ms)
            wait_ms = timer_ms;
    }
    loop->turn_sent = 0;
    loop->backend->wait(loop, wait_ms);
    if (loop->alarm_ns != UINT64_MAX)
        sound_alarm(loop);
    rv_wheel_advance(&loop->wheel, loop->now_ms);
    rv_inbox_run(&loop->inbox, loop->owner);
    if (RV_TLS_BUILT && loop->tls != NULL)
        rv_tls_shake_hands(loop);
    rv_stream_run_again(loop);
    rv_loop_flush(loop);
    rv_stream_bury(loop);
}

void rv_loop_wake(struct rv_loop *loop)
{
    loop->backend->wake(loop);
}

void rv_loop_post(struct rv_loop *loop, struct rv_message *message)
{
    if (rv_inbox_post(&loop->inbox, message))
        loop->backend->wake(loop);
}
