/*
 * The handlers that the wire cases talk to. Each is the shortest program that shows one behaviour;
 * those that misbehave (/crash, /too-short ...) do so on purpose.
 */
#include "wire/wire_app.h"
#include "wire/wire_state.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- bodies in --------------------------------------------------------------------------------- */

static int echo(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_reply(talk, 200, "application/octet-stream", rv_body(talk));
}

static int resume_body(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_error error = rv_body_resume(talk);
    return error ? error : RV_PENDING;
}

static int echo_piece(rv_talk *talk, rv_bytes piece, bool last, void *ctx)
{
    bool *begun = ctx;
    if (!*begun) {
        char length[24];
        if (rv_content_length(talk) >= 0) {
            snprintf(length, sizeof length, "%lld", (long long)rv_content_length(talk));
            rv_set_header(talk, "Content-Length", length);
        }
        rv_error error = rv_begin(talk, 200);
        if (error)
            return error;
        *begun = true;
    }
    int result = piece.len > 0 ? rv_write(talk, piece) : RV_OK;
    if (result < 0)
        return result;
    if (last)
        return rv_end(talk);
    if (result == RV_FULL) {
        rv_error error = rv_on_drain(talk, resume_body, NULL);
        return error ? error : RV_FULL;
    }
    return RV_OK;
}

static int echo_stream(rv_talk *talk, void *ctx)
{
    (void)ctx;
    bool *begun = rv_alloc(talk, sizeof *begun);
    if (begun == NULL)
        return RV_ENOMEM;
    *begun = false;
    rv_error error = rv_on_body(talk, echo_piece, begun);
    return error ? error : RV_PENDING;
}

static int leave_body_unread(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_text(talk, 200, "unread\n");
}

static int request_trailer(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_reply(talk, 200, "text/plain", rv_trailer(talk, "X-T"));
}

/* ---- what was asked ---------------------------------------------------------------------------- */

static int show_method(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_reply(talk, 200, "text/plain", rv_method(talk));
}

static int show_host(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_reply(talk, 200, "text/plain", rv_host(talk));
}

static int show_peer(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_reply(talk, 200, "text/plain", rv_peer(talk));
}

static int show_field(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_reply(talk, 200, "text/plain", rv_header(talk, "x-show"));
}

/* Answers with the path parameter that `ctx` names. */
static int show_param(rv_talk *talk, void *ctx)
{
    return rv_reply(talk, 200, "text/plain", rv_param(talk, ctx));
}

static int show_cookies(rv_talk *talk, void *ctx)
{
    (void)ctx;
    char text[1024];
    size_t used = 0;
    rv_bytes name, value;
    for (size_t i = 0; rv_cookie_at(talk, i, &name, &value); i++) {
        if (name.len + value.len + 2 > sizeof text - used)
            return RV_ELIMIT;
        used += (size_t)snprintf(text + used, sizeof text - used, "%.*s=%.*s\n", (int)name.len,
                                 name.ptr, (int)value.len, value.ptr);
    }
    return rv_reply(talk, 200, "text/plain", (rv_bytes){text, used});
}

static int show_counters(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_counter_values values;
    rv_counters(rv_server_of(talk), &values);
    char text[2048];
    size_t used = 0;
#define APPEND(name)                                                                               \
    used += (size_t)snprintf(text + used, sizeof text - used, "%s %llu\n", #name,                  \
                             (unsigned long long)values.name);
    RV_COUNTERS(APPEND)
#undef APPEND
    return rv_reply(talk, 200, "text/plain", (rv_bytes){text, used});
}

/* ---- fields of the response -------------------------------------------------------------------- */

/* The parameter as a C string in the talk's memory; `otherwise` when it is absent. */
static const char *text_param(rv_talk *talk, const char *name, const char *otherwise)
{
    rv_bytes value = rv_param(talk, name);
    if (value.ptr == NULL)
        return otherwise;
    char *text = rv_alloc(talk, value.len + 1);
    if (text == NULL)
        return otherwise;
    memcpy(text, value.ptr, value.len);
    text[value.len] = '\0';
    return text;
}

static int set_field(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_error error =
        rv_set_header(talk, text_param(talk, "name", "X-Value"), text_param(talk, "value", ""));
    if (error == RV_OK)
        return rv_text(talk, 200, "set\n");
    char text[64];
    snprintf(text, sizeof text, "%s\n", rv_strerror(error));
    return rv_text(talk, 500, text);
}

static int set_cookies(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_set_cookie(talk, "a", "1", NULL);
    rv_set_cookie(talk, "b", "2", NULL);
    return rv_text(talk, 200, "set\n");
}

static int redirect(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_redirect(talk, 302, text_param(talk, "to", "/"));
}

static int answer_empty(rv_talk *talk, void *ctx)
{
    return rv_reply(talk, *(const int *)ctx, NULL, (rv_bytes){"", 0});
}

/* ---- bodies out, streamed ---------------------------------------------------------------------- */

/* Begins, and writes the three pieces that every streamed answer here has. */
static int stream_pieces(rv_talk *talk)
{
    rv_error error = rv_begin(talk, 200);
    if (error)
        return error;
    static const char *const pieces[] = {"one ", "two ", "three\n"};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        int result = rv_write(talk, rv_str(pieces[i]));
        if (result < 0)
            return result;
    }
    return RV_OK;
}

static int stream(rv_talk *talk, void *ctx)
{
    (void)ctx;
    int result = stream_pieces(talk);
    return result ? result : rv_end(talk);
}

static int stream_with_length(rv_talk *talk, void *ctx)
{
    rv_set_header(talk, "Content-Length", "14");
    return stream(talk, ctx);
}

static int stream_with_trailers(rv_talk *talk, void *ctx)
{
    rv_set_header(talk, "Trailer", "X-Check");
    rv_set_trailer(talk, "X-Check", "done");
    return stream(talk, ctx);
}

/* The octet over the length must be refused; an answer that is not "hello" says it was taken. */
static int write_too_much(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_set_header(talk, "Content-Length", "5");
    rv_error error = rv_begin(talk, 200);
    if (error)
        return error;
    rv_write(talk, RV_LIT("hello"));
    if (rv_write(talk, RV_LIT("!")) != RV_ELIMIT)
        return RV_EIO;
    return rv_end(talk);
}

static int write_too_much_at_once(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_set_header(talk, "Content-Length", "5");
    rv_error error = rv_begin(talk, 200);
    if (error)
        return error;
    return rv_write(talk, RV_LIT("hello!"));
}

static int write_too_little(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_set_header(talk, "Content-Length", "5");
    rv_error error = rv_begin(talk, 200);
    if (error)
        return error;
    rv_write(talk, RV_LIT("hel"));
    return rv_end(talk);
}

static int crash(rv_talk *talk, void *ctx)
{
    (void)talk, (void)ctx;
    return RV_EIO;
}

static int crash_in_the_middle(rv_talk *talk, void *ctx)
{
    (void)ctx;
    int result = stream_pieces(talk);
    return result ? result : RV_EIO;
}

static char big_page[65536];

/* Writes what is left of *ctx octets until the output is full, then waits for the drain. */
static int write_big(rv_talk *talk, void *ctx)
{
    int64_t *left = ctx;
    while (*left > 0) {
        size_t length = *left < (int64_t)sizeof big_page ? (size_t)*left : sizeof big_page;
        int result = rv_write_borrowed(talk, (rv_bytes){big_page, length}, NULL, NULL);
        if (result < 0)
            return result;
        *left -= (int64_t)length;
        if (result == RV_FULL && *left > 0) {
            rv_error error = rv_on_drain(talk, write_big, left);
            return error ? error : RV_PENDING;
        }
    }
    return rv_end(talk);
}

static int big(rv_talk *talk, void *ctx)
{
    (void)ctx;
    int64_t *left = rv_alloc(talk, sizeof *left);
    if (left == NULL)
        return RV_ENOMEM;
    if (rv_param_int(talk, "size", 0, INT64_C(1) << 40, left) != RV_OK)
        return rv_problem(talk, 400, "size must be a number");
    char length[24];
    snprintf(length, sizeof length, "%lld", (long long)*left);
    rv_set_header(talk, "Content-Length", length);
    rv_error error = rv_begin(talk, 200);
    return error ? error : write_big(talk, left);
}

/* ---- where it runs ----------------------------------------------------------------------------- */

static int64_t delay_ms(rv_talk *talk)
{
    int64_t ms = 0;
    rv_param_int(talk, "ms", 0, 60000, &ms);
    return ms;
}

static void sleep_ms(int64_t ms)
{
    struct timespec time = {ms / 1000, (ms % 1000) * 1000000};
    while (nanosleep(&time, &time) != 0)
        continue;
}

static int slept(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_text(talk, 200, "slept\n");
}

static int slow(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_error error = rv_after_ms(talk, (uint64_t)delay_ms(talk), slept, NULL);
    return error ? error : RV_PENDING;
}

static int on_pool(rv_talk *talk, void *ctx)
{
    (void)ctx;
    int64_t ms = delay_ms(talk);
    if (ms > 0)
        sleep_ms(ms);
    return rv_text(talk, 200, "pool\n");
}

/* What a thread of /deferred holds: a name for the talk, never the talk. */
struct deferred {
    rv_server *server;
    rv_handle handle;
    int64_t ms;
};

static pthread_mutex_t deferred_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t deferred_ended = PTHREAD_COND_INITIALIZER;
static unsigned deferred_running;

static int finish_deferred(rv_talk *talk, void *value)
{
    free(value);
    return rv_text(talk, 200, "deferred\n");
}

static void *run_deferred(void *ctx)
{
    struct deferred *deferred = ctx;
    sleep_ms(deferred->ms);
    if (rv_resume(deferred->server, deferred->handle, finish_deferred, deferred) != RV_OK)
        free(deferred);
    pthread_mutex_lock(&deferred_lock);
    deferred_running--;
    pthread_cond_broadcast(&deferred_ended);
    pthread_mutex_unlock(&deferred_lock);
    return NULL;
}

static int defer(rv_talk *talk, void *ctx)
{
    (void)ctx;
    struct deferred *deferred = malloc(sizeof *deferred);
    if (deferred == NULL)
        return RV_ENOMEM;
    *deferred = (struct deferred){rv_server_of(talk), rv_suspend(talk), delay_ms(talk)};
    pthread_mutex_lock(&deferred_lock);
    deferred_running++;
    pthread_mutex_unlock(&deferred_lock);
    pthread_t thread;
    if (pthread_create(&thread, NULL, run_deferred, deferred) != 0) {
        pthread_mutex_lock(&deferred_lock);
        deferred_running--;
        pthread_mutex_unlock(&deferred_lock);
        free(deferred);
        return RV_EBUSY;
    }
    pthread_detach(thread);
    return RV_PENDING;
}

void wire_app_join(void)
{
    pthread_mutex_lock(&deferred_lock);
    while (deferred_running > 0)
        pthread_cond_wait(&deferred_ended, &deferred_lock);
    pthread_mutex_unlock(&deferred_lock);
}

/* ---- the table --------------------------------------------------------------------------------- */

static const int no_content = 204, not_modified = 304;
static const rv_route_options streamed = {.body = RV_BODY_STREAMED};
static const rv_route_options pooled = {.run = RV_ON_POOL};
static const rv_route_options sized = {.length_required = true};

static const struct {
    const char *pattern;
    rv_handler handler;
    const void *ctx;
    const rv_route_options *options;
} routes[] = {
    {"POST /echo", echo, NULL, NULL},
    {"PUT /echo", echo, NULL, NULL},
    {"* /echo-stream", echo_stream, NULL, &streamed},
    {"* /noread", leave_body_unread, NULL, &streamed},
    {"POST /length-required", echo, NULL, &sized},
    {"POST /request-trailer", request_trailer, NULL, NULL},
    {"* /method", show_method, NULL, NULL},
    {"GET /host", show_host, NULL, NULL},
    {"GET /peer", show_peer, NULL, NULL},
    {"GET /field", show_field, NULL, NULL},
    {"GET /segment/{name}", show_param, "name", NULL},
    {"GET /rest/{rest...}", show_param, "rest", NULL},
    {"GET /cookies", show_cookies, NULL, NULL},
    {"GET /counters", show_counters, NULL, NULL},
    {"GET /header", set_field, NULL, NULL},
    {"GET /set-cookies", set_cookies, NULL, NULL},
    {"GET /redirect", redirect, NULL, NULL},
    {"GET /204", answer_empty, &no_content, NULL},
    {"GET /304", answer_empty, &not_modified, NULL},
    {"GET /stream", stream, NULL, NULL},
    {"GET /stream-length", stream_with_length, NULL, NULL},
    {"GET /trailers", stream_with_trailers, NULL, NULL},
    {"GET /too-long", write_too_much, NULL, NULL},
    {"GET /too-long-at-once", write_too_much_at_once, NULL, NULL},
    {"GET /too-short", write_too_little, NULL, NULL},
    {"GET /crash", crash, NULL, NULL},
    {"POST /crash", crash, NULL, &streamed},
    {"GET /crash-mid", crash_in_the_middle, NULL, NULL},
    {"GET /big", big, NULL, NULL},
    {"GET /slow", slow, NULL, NULL},
    {"GET /pool", on_pool, NULL, &pooled},
    {"GET /deferred", defer, NULL, NULL},
};

rv_error wire_app_add_routes(rv_server *server, enum wire_root root, const char *folder)
{
    memset(big_page, 'X', sizeof big_page);
    rv_app *app = rv_default_app(server);
    rv_error error = wire_root_add(app, root, folder);
    if (error == RV_OK)
        error = wire_state_add(app);
    for (size_t i = 0; error == RV_OK && i < sizeof routes / sizeof *routes; i++)
        error = rv_route_with(app, routes[i].pattern, routes[i].handler, (void *)routes[i].ctx,
                              routes[i].options);
    return error;
}
