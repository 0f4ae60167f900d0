/*
 * The sim back end (sim.h). A stream's descriptor is meaningless here; the stream finds its peer
 * through a small table. What a paused stream does not read waits in the peer's outbox.
 */
#include "io/sim.h"

#include "io/listener.h"
#include "io/stream.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* 2026-01-01T00:00:00Z: the wall clock at the fake clock's zero. */
#define SIM_EPOCH_S 1767225600

#define SIM_START_MS 1000
#define NS_PER_MS UINT64_C(1000000)

struct rv_sim_peer {
    struct rv_loop *loop;
    struct rv_stream *stream; /* NULL: it is closed */
    struct rv_sim_peer *next; /* in the queue of attempts */
    struct rv_buffer received;
    struct rv_buffer outbox; /* sent by the driver, not read by the stream yet */
    uint64_t window;
    int number;
    bool half_closed;
    bool end_told;
    bool was_reset;
    bool ended;     /* the stream has sent FIN */
    bool undecided; /* an attempt, not accepted and not refused */
    bool short_of_room;
};

struct sim_state {
    uint64_t now_ns;
    struct rv_listener *listener; /* the last one that was started */
    struct rv_sim_peer **peers;   /* by number; NULL: free */
    int peers_size;
    struct rv_sim_peer *connecting; /* a client, while on_accept is told of it */
    struct rv_sim_peer *attempts;   /* that the driver has not taken, oldest first; owned */
    int attempt_error;              /* with which they fail at once; 0: they do not */
    pthread_mutex_t mutex;          /* guards `posted` */
    pthread_cond_t condition;
    bool posted;
};

static struct sim_state *state_of(const struct rv_loop *loop)
{
    return loop->backend_state;
}

static struct rv_sim_peer *peer_of(const struct rv_stream *stream)
{
    return state_of(stream->loop)->peers[stream->descriptor];
}

static rv_error sim_open(struct rv_loop *loop)
{
    struct sim_state *state = calloc(1, sizeof *state);
    if (state == NULL)
        return RV_ENOMEM;
    state->now_ns = SIM_START_MS * NS_PER_MS;
    pthread_mutex_init(&state->mutex, NULL);
    pthread_cond_init(&state->condition, NULL);
    loop->backend_state = state;
    return 0;
}

static int free_number(struct sim_state *state)
{
    for (int i = 0; i < state->peers_size; i++)
        if (state->peers[i] == NULL)
            return i;
    int size = state->peers_size == 0 ? 8 : state->peers_size * 2;
    struct rv_sim_peer **peers = realloc(state->peers, (size_t)size * sizeof(void *));
    if (peers == NULL)
        return -1;
    for (int i = state->peers_size; i < size; i++)
        peers[i] = NULL;
    int number = state->peers_size;
    state->peers = peers;
    state->peers_size = size;
    return number;
}

static struct rv_sim_peer *new_peer(struct rv_loop *loop)
{
    struct sim_state *state = state_of(loop);
    int number = free_number(state);
    struct rv_sim_peer *peer = number < 0 ? NULL : calloc(1, sizeof *peer);
    if (peer == NULL)
        return NULL;
    peer->loop = loop;
    peer->window = UINT64_MAX;
    peer->number = number;
    state->peers[number] = peer;
    return peer;
}

static void free_peer(struct rv_sim_peer *peer)
{
    if (peer->loop != NULL)
        state_of(peer->loop)->peers[peer->number] = NULL;
    rv_buffer_free(&peer->received);
    rv_buffer_free(&peer->outbox);
    free(peer);
}

static void sim_close(struct rv_loop *loop)
{
    struct sim_state *state = state_of(loop);
    for (int i = 0; i < state->peers_size; i++)
        if (state->peers[i] != NULL)
            state->peers[i]->loop = NULL; /* the driver frees it later */
    pthread_mutex_destroy(&state->mutex);
    pthread_cond_destroy(&state->condition);
    free(state->peers);
    free(state);
    loop->backend_state = NULL;
}

static void sim_read_clock(struct rv_loop *loop)
{
    loop->now_ms = state_of(loop)->now_ns / NS_PER_MS;
    loop->wall_s = SIM_EPOCH_S + (int64_t)(loop->now_ms / 1000);
}

static uint64_t sim_clock_ns(struct rv_loop *loop)
{
    return state_of(loop)->now_ns;
}

static void sim_wait(struct rv_loop *loop, uint64_t wait_ms)
{
    (void)wait_ms; /* everything that can happen has happened in the driver's calls */
    sim_read_clock(loop);
}

static void sim_wake(struct rv_loop *loop)
{
    struct sim_state *state = state_of(loop);
    pthread_mutex_lock(&state->mutex);
    state->posted = true;
    pthread_cond_signal(&state->condition);
    pthread_mutex_unlock(&state->mutex);
}

bool rv_sim_wait_for_post(struct rv_loop *loop, unsigned ms)
{
    struct sim_state *state = state_of(loop);
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += ms / 1000;
    until.tv_nsec += (long)(ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&state->mutex);
    int result = 0;
    while (!state->posted && result != ETIMEDOUT)
        result = pthread_cond_timedwait(&state->condition, &state->mutex, &until);
    bool posted = state->posted;
    state->posted = false;
    pthread_mutex_unlock(&state->mutex);
    return posted;
}

void rv_sim_advance(struct rv_loop *loop, uint64_t ms)
{
    state_of(loop)->now_ns += ms * NS_PER_MS;
}

void rv_sim_advance_us(struct rv_loop *loop, uint64_t us)
{
    state_of(loop)->now_ns += us * 1000;
}

/* ---- receiving -------------------------------------------------------------------------------------- */

/* How much of what waits the stream can be given at once. */
static size_t next_run(const struct rv_stream *stream, const struct rv_sim_peer *peer)
{
    size_t run = peer->outbox.len < RV_RECEIVE_BYTES ? peer->outbox.len : RV_RECEIVE_BYTES;
    uint64_t left = rv_stream_drops(stream) ? rv_stream_skip_left(stream) : UINT64_MAX;
    return run < left ? run : (size_t)left;
}

static void deliver(struct rv_sim_peer *peer)
{
    struct rv_stream *stream = peer->stream;
    while (stream != NULL && !stream->paused && peer->outbox.len > 0) {
        size_t run = next_run(stream, peer);
        memcpy(peer->loop->receive_buffer, peer->outbox.ptr, run);
        rv_buffer_consume(&peer->outbox, run);
        rv_stream_received(stream, peer->loop->receive_buffer, run);
        stream = peer->stream; /* NULL when it was closed meanwhile */
    }
    if (stream == NULL)
        return;
    stream->readable = stream->paused && (peer->outbox.len > 0 || peer->half_closed);
    if (peer->half_closed && !peer->end_told && !stream->paused && peer->outbox.len == 0) {
        peer->end_told = true;
        rv_stream_peer_ended(stream);
    }
}

static void sim_receive(struct rv_stream *stream)
{
    deliver(peer_of(stream));
}

static void sim_attach(struct rv_stream *stream)
{
    struct sim_state *state = state_of(stream->loop);
    struct rv_sim_peer *peer = state->connecting;
    state->connecting = NULL;
    stream->descriptor = peer->number;
    stream->attached = true;
    peer->stream = stream;
}

static int sim_connect(struct rv_stream *stream, const struct rv_connect_to *to)
{
    (void)to; /* there is one server: the driver */
    struct sim_state *state = state_of(stream->loop);
    if (state->attempt_error != 0)
        return state->attempt_error;
    struct rv_sim_peer *peer = new_peer(stream->loop);
    if (peer == NULL)
        return ENOMEM;
    peer->stream = stream;
    peer->undecided = true;
    stream->descriptor = peer->number;
    stream->attached = true;
    struct rv_sim_peer **link = &state->attempts;
    while (*link != NULL)
        link = &(*link)->next;
    *link = peer;
    return 0;
}

/* True: it was still in the queue, where nobody but the stream knew it. */
static bool withdraw(struct sim_state *state, struct rv_sim_peer *peer)
{
    struct rv_sim_peer **link = &state->attempts;
    while (*link != NULL && *link != peer)
        link = &(*link)->next;
    if (*link == NULL)
        return false;
    *link = peer->next;
    return true;
}

static void sim_detach(struct rv_stream *stream)
{
    struct rv_sim_peer *peer = peer_of(stream);
    if (peer == NULL)
        return;
    peer->stream = NULL;
    peer->ended = true;
    if (peer->undecided && withdraw(state_of(stream->loop), peer))
        free_peer(peer);
}

static void sim_drop(struct rv_loop *loop, int descriptor)
{
    (void)loop; /* the driver sees that no stream has taken its peer */
    (void)descriptor;
}

/* ---- sending ---------------------------------------------------------------------------------------- */

static size_t room_of(const struct rv_sim_peer *peer, uint64_t wanted)
{
    return (size_t)(wanted < peer->window ? wanted : peer->window);
}

static void took(struct rv_sim_peer *peer, size_t count)
{
    if (peer->window != UINT64_MAX)
        peer->window -= count;
}

static ssize_t sim_send(struct rv_stream *stream, const struct iovec *pieces, int count, bool more)
{
    (void)more;
    struct rv_sim_peer *peer = peer_of(stream);
    size_t sent = 0;
    bool is_short = false;
    if (peer->was_reset)
        return -ECONNRESET;
    for (int i = 0; i < count && !is_short; i++) {
        size_t run = room_of(peer, pieces[i].iov_len);
        if (rv_buffer_append(&peer->received, rv_slice(pieces[i].iov_base, run)) != 0)
            return -ENOMEM;
        took(peer, run);
        sent += run;
        is_short = run < pieces[i].iov_len;
    }
    peer->short_of_room = is_short;
    return sent == 0 && is_short ? -EAGAIN : (ssize_t)sent;
}

static ssize_t sim_send_file(struct rv_stream *stream, int file, uint64_t offset, uint64_t length)
{
    struct rv_sim_peer *peer = peer_of(stream);
    if (peer->was_reset)
        return -ECONNRESET;
    size_t run = room_of(peer, length < 65536 ? length : 65536);
    if (run == 0) {
        peer->short_of_room = true;
        return -EAGAIN;
    }
    if (rv_buffer_reserve(&peer->received, run) != 0)
        return -ENOMEM;
    ssize_t got = pread(file, peer->received.ptr + peer->received.len, run, (off_t)offset);
    if (got <= 0)
        return got < 0 ? -errno : 0;
    peer->received.len += (size_t)got;
    took(peer, (size_t)got);
    return got;
}

static void sim_shut_down(struct rv_stream *stream)
{
    peer_of(stream)->ended = true;
}

static uint64_t sim_unacknowledged(struct rv_stream *stream)
{
    (void)stream;
    return 0;
}

static rv_error sim_accept_start(struct rv_listener *listener)
{
    state_of(listener->loop)->listener = listener;
    return 0;
}

static void sim_accept_stop(struct rv_listener *listener)
{
    struct sim_state *state = state_of(listener->loop);
    if (state->listener == listener)
        state->listener = NULL;
}

const struct rv_backend rv_backend_sim = {
    .name = "sim",
    .open = sim_open,
    .close = sim_close,
    .read_clock = sim_read_clock,
    .clock_ns = sim_clock_ns,
    .wait = sim_wait,
    .wake = sim_wake,
    .attach = sim_attach,
    .connect = sim_connect,
    .detach = sim_detach,
    .drop = sim_drop,
    .receive = sim_receive,
    .send = sim_send,
    .send_file = sim_send_file,
    .shut_down = sim_shut_down,
    .unacknowledged = sim_unacknowledged,
    .accept_start = sim_accept_start,
    .accept_stop = sim_accept_stop,
};

/* ---- the driver's side ------------------------------------------------------------------------------ */

struct rv_sim_peer *rv_sim_connect(struct rv_loop *loop)
{
    struct sim_state *state = state_of(loop);
    struct rv_sim_peer *peer = state->listener == NULL ? NULL : new_peer(loop);
    if (peer == NULL)
        return NULL;
    state->connecting = peer;
    struct sockaddr unspecified = {.sa_family = AF_UNSPEC};
    state->listener->on_accept(state->listener, peer->number, &unspecified, sizeof unspecified);
    if (state->connecting != NULL) { /* the owner had no use for it */
        state->connecting = NULL;
        peer->ended = true;
    }
    return peer;
}

void rv_sim_peer_free(struct rv_sim_peer *peer)
{
    if (peer == NULL)
        return;
    rv_sim_reset(peer);
    free_peer(peer);
}

size_t rv_sim_attempts(const struct rv_loop *loop)
{
    size_t count = 0;
    for (const struct rv_sim_peer *peer = state_of(loop)->attempts; peer != NULL; peer = peer->next)
        count++;
    return count;
}

struct rv_sim_peer *rv_sim_take(struct rv_loop *loop)
{
    struct sim_state *state = state_of(loop);
    struct rv_sim_peer *peer = state->attempts;
    if (peer != NULL)
        state->attempts = peer->next;
    return peer;
}

void rv_sim_accept(struct rv_sim_peer *peer)
{
    bool wanted = peer->undecided && peer->stream != NULL;
    peer->undecided = false;
    if (wanted)
        rv_stream_connected(peer->stream, 0);
}

void rv_sim_refuse(struct rv_sim_peer *peer, int error_number)
{
    bool wanted = peer->undecided && peer->stream != NULL;
    peer->undecided = false;
    if (wanted)
        rv_stream_lost(peer->stream, RV_EGONE, error_number);
}

void rv_sim_fail_attempts(struct rv_loop *loop, int error_number)
{
    state_of(loop)->attempt_error = error_number;
}

rv_error rv_sim_send(struct rv_sim_peer *peer, rv_bytes octets)
{
    if (peer->stream == NULL || peer->undecided || peer->half_closed || peer->was_reset)
        return RV_EGONE;
    rv_error error = rv_buffer_append(&peer->outbox, octets);
    if (error == 0)
        deliver(peer);
    return error;
}

void rv_sim_half_close(struct rv_sim_peer *peer)
{
    if (peer->stream == NULL || peer->undecided || peer->half_closed)
        return;
    peer->half_closed = true;
    deliver(peer);
}

void rv_sim_reset(struct rv_sim_peer *peer)
{
    if (peer->stream == NULL || peer->was_reset)
        return;
    if (peer->undecided) {
        rv_sim_refuse(peer, ECONNREFUSED);
        return;
    }
    peer->was_reset = true;
    rv_stream_lost(peer->stream, RV_EGONE, ECONNRESET);
}

void rv_sim_set_window(struct rv_sim_peer *peer, uint64_t octets)
{
    peer->window = octets;
    if (octets > 0 && peer->short_of_room && peer->stream != NULL) {
        peer->short_of_room = false;
        rv_stream_writable(peer->stream);
    }
}

struct rv_buffer *rv_sim_received(struct rv_sim_peer *peer)
{
    return &peer->received;
}

bool rv_sim_is_ended(const struct rv_sim_peer *peer)
{
    return peer->ended;
}

bool rv_sim_is_closed(const struct rv_sim_peer *peer)
{
    return peer->stream == NULL;
}
