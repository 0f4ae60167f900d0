/*
 * A running server and its clients (served.h).
 */
#include "support/served.h"

#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

void nap_ms(unsigned ms)
{
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    nanosleep(&time, NULL);
}

/* ---- the server -------------------------------------------------------------------------------- */

static void on_start(rv_server *server, void *ctx)
{
    struct served *served = ctx;
    const char *address = rv_server_address(server, 0);
    const char *colon = address == NULL ? NULL : strrchr(address, ':');
    served->port = colon == NULL ? 0 : (uint16_t)atoi(colon + 1);
    atomic_fetch_add(&served->starts, 1);
}

static void on_stop(rv_server *server, void *ctx)
{
    struct served *served = ctx;
    (void)server;
    atomic_fetch_add(&served->stops, 1);
}

static void on_error(rv_server *server, rv_error error, const char *doing, const char *peer,
                     const char *detail, void *ctx)
{
    struct served *served = ctx;
    (void)server;
    (void)detail;
    served->error = error;
    snprintf(served->error_doing, sizeof served->error_doing, "%s", doing);
    snprintf(served->error_peer, sizeof served->error_peer, "%s", peer);
    atomic_fetch_add(&served->errors, 1);
}

void serve_make(struct served *served, rv_server_options options)
{
    *served = (struct served){0};
    if (options.listen == NULL)
        options.listen = "127.0.0.1:0";
    options.hooks =
        (rv_hooks){.on_start = on_start, .on_stop = on_stop, .on_error = on_error, .ctx = served};
    served->server = rv_server_new(&options);
    assert_non_null(served->server);
}

void serve_route(struct served *served, const char *pattern, rv_handler handler, void *ctx,
                 rv_route_options options)
{
    rv_app *app = rv_default_app(served->server);
    assert_int_equal(rv_route_with(app, pattern, handler, ctx, &options), 0);
}

static void *run(void *argument)
{
    struct served *served = argument;
    served->result = rv_server_run(served->server);
    atomic_store(&served->returned, true);
    return NULL;
}

static void launch(struct served *served)
{
    unsigned starts = atomic_load(&served->starts);
    atomic_store(&served->returned, false);
    assert_int_equal(pthread_create(&served->thread, NULL, run, served), 0);
    served->started = true;
    assert_true(
        EVENTUALLY(atomic_load(&served->starts) > starts || atomic_load(&served->returned)));
}

void serve_start(struct served *served)
{
    launch(served);
    assert_false(atomic_load(&served->returned));
}

rv_error serve_try(struct served *served)
{
    launch(served);
    rv_server_stop(served->server);
    assert_true(EVENTUALLY(atomic_load(&served->returned)));
    pthread_join(served->thread, NULL);
    served->started = false;
    return served->result;
}

void serve_wait(struct served *served)
{
    assert_true(EVENTUALLY(atomic_load(&served->returned)));
    pthread_join(served->thread, NULL);
    served->started = false;
    assert_int_equal(served->result, 0);
}

void serve_stop(struct served *served)
{
    rv_server_stop(served->server);
    serve_wait(served);
}

void serve_free(struct served *served)
{
    if (served->started) {
        rv_server_stop(served->server);
        rv_server_stop(served->server);
        if (!EVENTUALLY(atomic_load(&served->returned))) {
            fputs("rv_server_run does not return\n", stderr);
            abort(); /* its thread cannot be left running while other facts are tried */
        }
        pthread_join(served->thread, NULL);
        served->started = false;
    }
    rv_server_free(served->server);
    served->server = NULL;
}

/* ---- handlers ---------------------------------------------------------------------------------- */

int reply_number(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_reply(talk, 200, "text/plain", rv_param(talk, "number"));
}

struct held held = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void count_gone(void *ctx)
{
    (void)ctx;
    atomic_fetch_add(&held.gone, 1);
}

int hold(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_on_gone(talk, count_gone, NULL);
    pthread_mutex_lock(&held.mutex);
    held.handle = rv_suspend(talk);
    pthread_mutex_unlock(&held.mutex);
    atomic_fetch_add(&held.count, 1);
    return RV_PENDING;
}

rv_handle held_handle(void)
{
    pthread_mutex_lock(&held.mutex);
    rv_handle handle = held.handle;
    pthread_mutex_unlock(&held.mutex);
    return handle;
}

/* ---- clients ----------------------------------------------------------------------------------- */

static struct sockaddr_in local(uint16_t port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

bool caller_connect(struct caller *caller, uint16_t port)
{
    struct sockaddr_in there = local(port), here;
    socklen_t length = sizeof here;
    struct timeval limit = {.tv_sec = DEADLINE_MS / 1000};
    *caller = (struct caller){.descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    if (caller->descriptor < 0)
        return false;
    setsockopt(caller->descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(caller->descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (connect(caller->descriptor, (struct sockaddr *)&there, sizeof there) != 0 ||
        getsockname(caller->descriptor, (struct sockaddr *)&here, &length) != 0) {
        caller_close(caller);
        return false;
    }
    caller->own_port = ntohs(here.sin_port);
    return true;
}

bool caller_send(struct caller *caller, const char *octets)
{
    size_t length = strlen(octets);
    return send(caller->descriptor, octets, length, MSG_NOSIGNAL) == (ssize_t)length;
}

/* False: the deadline has passed. */
static bool receive(struct caller *caller)
{
    char octets[16384];
    ssize_t count;
    do
        count = recv(caller->descriptor, octets, sizeof octets, 0);
    while (count < 0 && errno == EINTR);
    if (count > 0)
        return rv_buffer_append(&caller->received, (rv_bytes){octets, (size_t)count}) == 0;
    caller->ended = count == 0 || errno == ECONNRESET;
    return caller->ended;
}

int caller_take(struct caller *caller)
{
    for (;;) {
        rv_bytes octets = {caller->received.ptr, caller->received.len};
        switch (answer_take(&caller->answer, &octets, false, caller->ended)) {
        case ANSWER_WHOLE:
            rv_buffer_consume(&caller->received, caller->received.len - octets.len);
            return caller->answer.status;
        case ANSWER_PART:
            if (caller->ended || !receive(caller))
                return 0;
            break;
        default:
            return 0;
        }
    }
}

int caller_get(struct caller *caller, const char *path)
{
    char request[512];
    snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: test\r\n\r\n", path);
    return caller_send(caller, request) ? caller_take(caller) : 0;
}

bool caller_sees_the_end(struct caller *caller)
{
    while (!caller->ended && caller->received.len == 0)
        if (!receive(caller))
            return false;
    return caller->received.len == 0;
}

bool caller_hears_nothing(const struct caller *caller)
{
    char octet;
    return caller->received.len == 0 &&
           recv(caller->descriptor, &octet, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

void caller_close(struct caller *caller)
{
    if (caller->descriptor >= 0)
        close(caller->descriptor);
    caller->descriptor = -1;
    rv_buffer_free(&caller->received);
    answer_free(&caller->answer);
}

void caller_reset(struct caller *caller)
{
    struct linger at_once = {.l_onoff = 1, .l_linger = 0};
    setsockopt(caller->descriptor, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    caller_close(caller);
}

bool is_refused(uint16_t port)
{
    struct caller caller;
    bool connected = caller_connect(&caller, port);
    if (connected)
        caller_close(&caller);
    return !connected;
}

void expect_served(const struct served *served)
{
    struct caller caller;
    assert_true(caller_connect(&caller, served->port));
    assert_int_equal(caller_get(&caller, "/number/7"), 200);
    assert_true(answer_content_is(&caller.answer, "7"));
    caller_close(&caller);
}

void expect_held(struct caller *caller, const struct served *served)
{
    unsigned before = atomic_load(&held.count);
    assert_true(caller_connect(caller, served->port));
    assert_true(caller_send(caller, "GET /hold HTTP/1.1\r\nHost: test\r\n\r\n"));
    assert_true(EVENTUALLY(atomic_load(&held.count) > before));
}
