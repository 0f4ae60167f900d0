/*
 * Handlers on the pool, and their gates (pool_app.h). Everything that threads share here is guarded
 * by one mutex, or atomic.
 */
#include "fuzz/support/pool_app.h"

#include "fuzz/support/conversation.h"
#include "fuzz/support/disk.h"
#include "fuzz/support/label.h"
#include "fuzz/support/require.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

enum { PROGRAM_MAX = 48 };

#define WRITE_PATIENCE_NS 200000   /* after which a writer is taken to wait for room */
#define QUIET_PATIENCE_NS 50000000 /* for threads that the machine has not run yet */
#define QUIET_TRIES 200

enum activity { ABSENT, RUNNING, AT_GATE, WRITING };

/* A handler that is running. */
struct program {
    enum activity activity;
    bool gate_is_open;
    size_t at; /* in the pattern */
    bool is_resumed;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards programs' activity and gates */
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct program programs[FUZZ_POOL_THREADS];
static bool all_gates_are_open;
static atomic_size_t lent_count;
static atomic_size_t resumes_under_way;

/* ---- gates ----------------------------------------------------------------------------------- */

static void become(struct program *program, enum activity activity)
{
    pthread_mutex_lock(&mutex);
    program->activity = activity;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}

static struct program *enter(void)
{
    pthread_mutex_lock(&mutex);
    struct program *program = programs;
    while (program->activity != ABSENT)
        program++;
    REQUIRE(program < programs + FUZZ_POOL_THREADS);
    *program = (struct program){.activity = RUNNING};
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
    return program;
}

static void wait_at_gate(struct program *program)
{
    pthread_mutex_lock(&mutex);
    program->activity = AT_GATE;
    program->gate_is_open = false;
    pthread_cond_broadcast(&changed);
    while (!program->gate_is_open && !all_gates_are_open)
        pthread_cond_wait(&changed, &mutex);
    program->activity = RUNNING;
    pthread_mutex_unlock(&mutex);
}

void fuzz_pool_open(size_t which)
{
    struct program *waiting[FUZZ_POOL_THREADS];
    size_t count = 0;
    pthread_mutex_lock(&mutex);
    for (size_t i = 0; i < FUZZ_POOL_THREADS; i++)
        if (programs[i].activity == AT_GATE)
            waiting[count++] = &programs[i];
    if (count > 0) {
        waiting[which % count]->gate_is_open = true;
        waiting[which % count]->activity = RUNNING;
        pthread_cond_broadcast(&changed);
    }
    pthread_mutex_unlock(&mutex);
}

void fuzz_pool_open_all(void)
{
    pthread_mutex_lock(&mutex);
    all_gates_are_open = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}

static size_t count(enum activity activity)
{
    size_t found = 0;
    for (size_t i = 0; i < FUZZ_POOL_THREADS; i++)
        found += programs[i].activity == activity;
    return found;
}

/* True when something has changed within the time. Holds the mutex. */
static bool changes_within(long ns)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += ns;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    return pthread_cond_timedwait(&changed, &mutex, &until) == 0;
}

bool fuzz_pool_is_quiet(size_t expected)
{
    bool quiet = false;
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < QUIET_TRIES && !quiet; i++) {
        size_t present = FUZZ_POOL_THREADS - count(ABSENT);
        bool moves = count(RUNNING) > 0 || (all_gates_are_open && count(AT_GATE) > 0);
        if (present != expected)
            break;
        if (moves)
            changes_within(QUIET_PATIENCE_NS);
        else
            quiet = count(WRITING) == 0 || !changes_within(WRITE_PATIENCE_NS);
    }
    pthread_mutex_unlock(&mutex);
    return quiet;
}

/* ---- the verbs ------------------------------------------------------------------------------- */

static rv_bytes lend(rv_bytes octets)
{
    char *copy = malloc(octets.len > 0 ? octets.len : 1);
    REQUIRE(copy != NULL);
    memcpy(copy, octets.ptr, octets.len);
    atomic_fetch_add(&lent_count, 1);
    return (rv_bytes){copy, octets.len};
}

static void release(void *lent)
{
    REQUIRE(atomic_fetch_sub(&lent_count, 1) > 0);
    free(lent);
}

static void write_piece(rv_talk *talk, struct program *program, size_t length, bool borrowed)
{
    size_t left = FUZZ_PATTERN_MAX - program->at;
    rv_bytes piece = {fuzz_pattern + program->at, length < left ? length : left};
    become(program, WRITING);
    rv_bytes lent = borrowed ? lend(piece) : piece;
    int result =
        borrowed ? rv_write_borrowed(talk, lent, release, (void *)lent.ptr) : rv_write(talk, piece);
    become(program, RUNNING);
    REQUIRE(result <= RV_OK); /* never RV_FULL: it waits instead */
    if (result == RV_OK)
        program->at += piece.len;
}

static int answer_resumed(rv_talk *talk, void *value)
{
    (void)value;
    REQUIRE(atomic_fetch_sub(&resumes_under_way, 1) > 0);
    int result = rv_reply(talk, 200, "text/plain", (rv_bytes){fuzz_pattern, 12});
    REQUIRE(talk != NULL || result == RV_EGONE);
    return result == RV_ESTATE ? rv_end(talk) : result; /* it has begun to stream */
}

static void resume(rv_talk *talk, struct program *program)
{
    atomic_fetch_add(&resumes_under_way, 1);
    program->is_resumed = true;
    REQUIRE(rv_resume(rv_server_of(talk), rv_suspend(talk), answer_resumed, NULL) == RV_OK);
}

static int nothing(rv_talk *talk, void *ctx)
{
    (void)talk, (void)ctx;
    REQUIRE(false);
    return RV_OK;
}

static int no_piece(rv_talk *talk, rv_bytes octets, bool last, void *ctx)
{
    (void)octets, (void)last;
    return nothing(talk, ctx);
}

static void no_gone(void *ctx)
{
    nothing(NULL, ctx);
}

static void try_the_forbidden(rv_talk *talk)
{
    REQUIRE(rv_on_gone(talk, no_gone, NULL) == RV_ESTATE);
    REQUIRE(rv_on_drain(talk, nothing, NULL) == RV_ESTATE);
    REQUIRE(rv_after_ms(talk, 1, nothing, NULL) == RV_ESTATE);
    REQUIRE(rv_on_body(talk, no_piece, NULL) == RV_ESTATE);
    REQUIRE(rv_body_resume(talk) == RV_ESTATE);
}

static void reply_borrowed(rv_talk *talk)
{
    rv_bytes lent = lend((rv_bytes){fuzz_pattern, 20000});
    rv_reply_borrowed(talk, 200, "text/plain", lent, release, (void *)lent.ptr);
}

static void respond(rv_talk *talk, struct program *program, char letter)
{
    switch (letter) {
    case 'r':
        rv_reply(talk, 200, "text/plain", (rv_bytes){fuzz_pattern, 10});
        break;
    case 'R':
        reply_borrowed(talk);
        break;
    case 'b':
        rv_begin(talk, 200);
        break;
    case 'n':
        rv_begin(talk, 204);
        break;
    case 'w':
        write_piece(talk, program, 100, false);
        break;
    case 'W':
        write_piece(talk, program, 5000, false);
        break;
    case 'o':
        write_piece(talk, program, 20000, true);
        break;
    case 'e':
        rv_end(talk);
        break;
    default:
        break;
    }
}

static void prepare(rv_talk *talk, struct program *program, char letter)
{
    switch (letter) {
    case '-':
        wait_at_gate(program);
        break;
    case 'c':
        rv_set_header(talk, "Connection", "close");
        break;
    case 'g':
        try_the_forbidden(talk);
        break;
    case 'h':
        rv_add_header(talk, "X-Some", "thing");
        break;
    case 'l':
        rv_set_header(talk, "Content-Length", "300");
        break;
    case 's':
        resume(talk, program);
        break;
    case 't':
        rv_set_trailer(talk, "X-Trailer", "some");
        break;
    default:
        break;
    }
}

static int run_program(rv_talk *talk, struct program *program)
{
    rv_bytes text = rv_param(talk, "do");
    fuzz_label(talk, "pattern", FUZZ_LENGTH_OPEN);
    for (size_t i = 0; i < text.len && i < PROGRAM_MAX; i++) {
        if (text.ptr[i] == 'f')
            return RV_EIO;
        if (text.ptr[i] == '.' && program->is_resumed)
            return RV_PENDING;
        respond(talk, program, text.ptr[i]);
        prepare(talk, program, text.ptr[i]);
    }
    return RV_OK;
}

static int pool_verbs(rv_talk *talk, void *ctx)
{
    (void)ctx;
    struct program *program = enter();
    int result = run_program(talk, program);
    become(program, ABSENT);
    return result;
}

static int pool_echo(rv_talk *talk, void *ctx)
{
    (void)ctx;
    struct program *program = enter();
    fuzz_label(talk, "echo", FUZZ_LENGTH_OPEN);
    int result = rv_reply(talk, 200, "text/plain", rv_body(talk));
    become(program, ABSENT);
    return result;
}

/* ---- uploads: on the worker, with their steps between those who wait at gates ---------------- */

static int kept(rv_talk *talk, void *ctx)
{
    (void)ctx;
    int result = rv_text(talk, 200, "kept");
    REQUIRE(result == (talk == NULL ? RV_EGONE : RV_OK));
    return result;
}

static int to_disk(rv_talk *talk, void *ctx)
{
    fuzz_label(talk, "any", 0);
    return fuzz_disk_form(talk, kept, ctx);
}

static int to_file(rv_talk *talk, void *ctx)
{
    fuzz_label(talk, "any", 0);
    return fuzz_disk_body(talk, kept, ctx);
}

/* ---- the server ------------------------------------------------------------------------------ */

rv_server *fuzz_pool_server(void)
{
    static const rv_server_options options = {
        .workers = 1,
        .no_http2 = true,
        .pool_threads = FUZZ_POOL_THREADS,
        .limits = {.target_bytes_max = FUZZ_TARGET_MAX,
                   .head_bytes_max = 2048,
                   .head_fields_max = 16,
                   .body_bytes_max = 4096,
                   .pool_queue_max = 2,
                   .output_high_bytes = 8192,
                   .output_low_bytes = 2048,
                   .requests_per_connection_max = FUZZ_REQUESTS_OF_A_CONNECTION},
    };
    static const rv_route_options pooled = {.run = RV_ON_POOL};
    static const rv_route_options streamed = {.body = RV_BODY_STREAMED};
    fuzz_pattern_make();
    rv_server *server = rv_server_new(&options);
    REQUIRE(server != NULL);
    rv_app *app = rv_default_app(server);
    REQUIRE(rv_route_with(app, "* /verbs", pool_verbs, NULL, &pooled) == RV_OK);
    REQUIRE(rv_route_with(app, "* /body", pool_echo, NULL, &pooled) == RV_OK);
    REQUIRE(rv_route_with(app, "* /to-disk", to_disk, NULL, &streamed) == RV_OK);
    REQUIRE(rv_route_with(app, "* /to-file/{name}", to_file, NULL, &streamed) == RV_OK);
    return server;
}

void fuzz_pool_begin(void)
{
    all_gates_are_open = false;
}

void fuzz_pool_end(void)
{
    REQUIRE(count(ABSENT) == FUZZ_POOL_THREADS);
    REQUIRE(atomic_load(&lent_count) == 0);
    REQUIRE(atomic_load(&resumes_under_way) == 0);
    fuzz_disk_end();
}
