/*
 * Facts about applications over HTTP/2: what handlers were promised on HTTP/1 - forms, sessions, before-
 * handlers, delegation, executors, talks that wait, pages for errors - holds for each stream by itself,
 * while the other streams of its connection go on. Files: test_h2_files.c; uploads: test_upload_body.c and
 * test_parts.c.
 */
#include "support/h2_client.h"
#include "support/tested.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct h2_client peer;

static int set_up(void **state)
{
    memset(&peer, 0, sizeof peer);
    return tested_set_up(state);
}

static int tear_down(void **state)
{
    h2_client_close(&peer);
    return tested_tear_down(state);
}

static void open_peer(void)
{
    h2_client_open(&peer, tested, 0, 0);
}

static rv_app *app(void)
{
    return rv_default_app(tested);
}

static struct h2_exchange *get_with(const char *path, const char *fields)
{
    struct h2_exchange *exchange = h2_ask(&peer, "GET", path, fields, false);
    h2_client_pump(&peer);
    return exchange;
}

static struct h2_exchange *post(const char *path, const char *fields, const char *body)
{
    struct h2_exchange *exchange = h2_ask(&peer, "POST", path, fields, true);
    h2_put(exchange, rv_str(body), true);
    h2_client_pump(&peer);
    return exchange;
}

/* ---- forms ------------------------------------------------------------------------------------------- */

/* The parameters a and b, and the parts of the form. */
static int tell_form(rv_talk *talk, void *ctx)
{
    char text[256];
    rv_form_part part;
    (void)ctx;
    int length = snprintf(text, sizeof text, "%.*s,%.*s", (int)rv_param(talk, "a").len,
                          rv_param(talk, "a").ptr, (int)rv_param(talk, "b").len,
                          rv_param(talk, "b").ptr == NULL ? "" : rv_param(talk, "b").ptr);
    for (size_t i = 0; rv_form_part_at(talk, i, &part); i++)
        length +=
            snprintf(text + length, sizeof text - (size_t)length, ";%.*s=%.*s", (int)part.name.len,
                     part.name.ptr, (int)part.content.len, part.content.ptr);
    return rv_text(talk, 200, text);
}

static void a_form_gives_parameters_beside_those_of_the_query(void **state)
{
    (void)state;
    route("POST /form", tell_form, NULL);
    open_peer();
    struct h2_exchange *exchange =
        post("/form?a=query", "content-type: application/x-www-form-urlencoded\n", "b=1+2%26&c=3");
    h2_expect(exchange, 200, "query,1 2&");
}

static const char multipart[] =
    "--x\r\nContent-Disposition: form-data; name=\"b\"\r\n\r\nfield\r\n"
    "--x\r\nContent-Disposition: form-data; name=\"f\"; filename=\"n\"\r\n\r\nfile\r\n--x--";

static void a_multipart_form_is_read_whatever_frames_it_comes_in(void **state)
{
    (void)state;
    route("POST /form", tell_form, NULL);
    open_peer();
    for (size_t cut = 0; cut < sizeof multipart - 1; cut += 7) {
        struct h2_exchange *exchange = h2_ask(
            &peer, "POST", "/form?a=q", "content-type: multipart/form-data; boundary=x\n", true);
        h2_put(exchange, rv_slice(multipart, cut), false);
        h2_client_pump(&peer);
        h2_put(exchange, rv_slice(multipart + cut, sizeof multipart - 1 - cut), true);
        h2_client_pump(&peer);
        h2_expect(exchange, 200, "q,field;b=field;f=file");
    }
}

/* ---- cookies and sessions ------------------------------------------------------------------------------ */

static int count_visits(rv_talk *talk, void *ctx)
{
    rv_session *session;
    int64_t visits = 0;
    char text[64];
    (void)ctx;
    rv_error error = rv_session_of(talk, &session);
    if (error == 0)
        error = rv_session_add_int(session, "visits", 1, &visits);
    if (error != 0)
        return error;
    snprintf(text, sizeof text, "%d %.*s", (int)visits, (int)rv_cookie(talk, "z").len,
             rv_cookie(talk, "z").ptr == NULL ? "" : rv_cookie(talk, "z").ptr);
    return rv_text(talk, 200, text);
}

/* RFC 9113 section 8.2.3: a client may send each cookie as a field of its own. */
static void a_session_is_found_in_cookies_that_come_singly(void **state)
{
    char fields[512] = "cookie: a=b\ncookie: ";
    (void)state;
    assert_int_equal(rv_sessions(app(), NULL), 0);
    route("GET /", count_visits, NULL);
    open_peer();
    struct h2_exchange *first = h2_get(&peer, "/");
    h2_expect(first, 200, "1 ");
    const char *cookie = h2_field(&first->fields, "set-cookie");
    assert_true(cookie != NULL && strcspn(cookie, ";") < 100);
    strncat(fields, cookie, strcspn(cookie, ";"));
    strcat(fields, "\ncookie: z=last\n");
    for (int visit = 2; visit < 5; visit++) {
        char expected[32];
        struct h2_exchange *exchange = get_with("/", fields);
        snprintf(expected, sizeof expected, "%d last", visit);
        h2_expect(exchange, 200, expected);
        assert_null(h2_field(&exchange->fields, "set-cookie"));
    }
    h2_expect(h2_get(&peer, "/"), 200, "1 ");
}

static int tell_phrase(rv_talk *talk, void *ctx)
{
    rv_session *session;
    (void)ctx;
    rv_error error = rv_session_of(talk, &session);
    return error != 0 ? error : rv_text(talk, 200, rv_session_phrase(talk));
}

static void a_session_is_found_in_the_path(void **state)
{
    char path[128] = "/";
    (void)state;
    assert_int_equal(rv_sessions(app(), &(rv_session_options){.track = RV_SESSION_BY_URI}), 0);
    route("GET /", count_visits, NULL);
    route("GET /phrase", tell_phrase, NULL);
    open_peer();
    struct h2_exchange *first = h2_get(&peer, "/phrase");
    assert_null(h2_field(&first->fields, "set-cookie"));
    assert_true(first->ended && first->content.len < sizeof path - 2);
    memcpy(path + 1, first->content.ptr, first->content.len);
    h2_expect(h2_get(&peer, path), 200, "1 ");
    h2_expect(h2_get(&peer, path), 200, "2 ");
    h2_expect(h2_get(&peer, "/;sid=none"), 200, "1 ");
}

/* ---- before-handlers and delegation ------------------------------------------------------------------- */

static int hello(rv_talk *talk, void *ctx)
{
    return rv_text(talk, 200, ctx == NULL ? "hello" : ctx);
}

static int hold(rv_talk *talk, void *ctx)
{
    *(rv_handle *)ctx = rv_suspend(talk);
    return RV_PENDING;
}

static int pass_on(rv_talk *talk, void *value)
{
    (void)talk, (void)value;
    return RV_OK;
}

static int guard(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_equals(rv_header(talk, "authorization"), "yes") ? RV_OK : rv_problem(talk, 401, NULL);
}

static void a_stream_that_is_held_lets_the_others_pass(void **state)
{
    rv_handle held;
    (void)state;
    assert_int_equal(rv_before(app(), "/held", hold, &held), 0);
    assert_int_equal(rv_before(app(), "/guarded", guard, NULL), 0);
    route("POST /held", hello, "was held");
    route("GET /guarded", hello, NULL);
    open_peer();
    struct h2_exchange *first = post("/held", NULL, "body");
    assert_int_equal(first->status, 0);
    assert_int_equal(h2_get(&peer, "/guarded")->status, 401);
    h2_expect(get_with("/guarded", "authorization: yes\n"), 200, "hello");
    assert_int_equal(rv_resume(tested, held, pass_on, NULL), 0);
    rv_test_settle(peer.test);
    h2_client_pump(&peer);
    h2_expect(first, 200, "was held");
}

static int delegate(rv_talk *talk, void *ctx)
{
    rv_set_header(talk, "X-Way", "through");
    return rv_delegate(talk, hello, ctx);
}

static void a_talk_is_delegated(void **state)
{
    (void)state;
    route("GET /", delegate, "the other");
    open_peer();
    struct h2_exchange *exchange = h2_get(&peer, "/");
    h2_expect(exchange, 200, "the other");
    assert_string_equal(h2_field(&exchange->fields, "x-way"), "through");
}

/* ---- executors ------------------------------------------------------------------------------------------ */

enum { THREADS = 4 };

struct threads {
    pthread_t threads[THREADS];
    unsigned count;
    struct {
        void (*run)(void *arg);
        void *arg;
    } jobs[THREADS];
};

static struct threads threads;

static void *run_job(void *argument)
{
    size_t number = (size_t)argument;
    threads.jobs[number].run(threads.jobs[number].arg);
    return NULL;
}

static rv_error submit(void (*run)(void *arg), void *arg, void *ctx)
{
    (void)ctx;
    if (threads.count == THREADS)
        return RV_EBUSY;
    size_t number = threads.count++;
    threads.jobs[number].run = run;
    threads.jobs[number].arg = arg;
    return pthread_create(&threads.threads[number], NULL, run_job, (void *)number) == 0 ? RV_OK
                                                                                        : RV_EBUSY;
}

static int echo(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_reply(talk, 200, "text/plain", rv_body(talk));
}

static void an_executor_serves_streams_and_refuses_those_beyond(void **state)
{
    struct h2_exchange *exchanges[THREADS + 2];
    char body[16];
    (void)state;
    threads.count = 0;
    route_with("POST /", echo, NULL, (rv_route_options){.executor = {submit, NULL}});
    route("GET /", hello, NULL);
    open_peer();
    for (unsigned i = 0; i < THREADS + 2; i++) {
        snprintf(body, sizeof body, "body %u", i);
        exchanges[i] = h2_ask(&peer, "POST", "/", NULL, true);
        h2_put(exchanges[i], rv_str(body), true);
    }
    struct h2_exchange *other = h2_get(&peer, "/");
    rv_test_settle(peer.test);
    h2_client_pump(&peer);
    h2_expect(other, 200, "hello");
    for (unsigned i = 0; i < THREADS + 2; i++) {
        snprintf(body, sizeof body, "body %u", i);
        if (i < THREADS)
            h2_expect(exchanges[i], 200, body);
        else
            assert_int_equal(exchanges[i]->status, 503);
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads.threads[i], NULL);
}

/* ---- talks that wait ------------------------------------------------------------------------------------ */

enum { WAITING = 40, ROUNDS = 20 };

static rv_handle waiting[WAITING];
static unsigned waiting_count;
static unsigned resumed_without_talk;

static int wait_for_news(rv_talk *talk, void *ctx)
{
    (void)ctx;
    waiting[waiting_count++] = rv_suspend(talk);
    return RV_PENDING;
}

static int tell_news(rv_talk *talk, void *value)
{
    resumed_without_talk += talk == NULL;
    return rv_text(talk, 200, value);
}

/* A long poll on each of many streams of one connection; every third one is given up. */
static void streams_wait_and_are_answered_in_any_order(void **state)
{
    struct h2_exchange *exchanges[WAITING];
    char news[WAITING][16];
    (void)state;
    waiting_count = resumed_without_talk = 0;
    route("GET /news", wait_for_news, NULL);
    route("GET /", hello, NULL);
    open_peer();
    for (unsigned i = 0; i < WAITING; i++)
        exchanges[i] = h2_get(&peer, "/news");
    assert_int_equal(waiting_count, WAITING);
    for (unsigned i = 0; i < WAITING; i += 3)
        h2_reset(exchanges[i], RV_H2_CANCEL);
    h2_client_pump(&peer);
    h2_expect(h2_get(&peer, "/"), 200, "hello");
    for (unsigned i = WAITING; i-- > 0;) {
        snprintf(news[i], sizeof news[i], "news %u", i);
        assert_int_equal(rv_resume(tested, waiting[i], tell_news, news[i]), RV_OK);
    }
    rv_test_settle(peer.test);
    h2_client_pump(&peer);
    for (unsigned i = 0; i < WAITING; i++)
        if (i % 3 != 0)
            h2_expect(exchanges[i], 200, news[i]);
    assert_int_equal(resumed_without_talk, (WAITING + 2) / 3);
    h2_expect(h2_get(&peer, "/"), 200, "hello");
}

static int begin_chat(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_begin(talk, 200);
    rv_write(talk, RV_LIT("welcome"));
    waiting[waiting_count++] = rv_suspend(talk);
    return RV_PENDING;
}

static int hear(rv_talk *talk, void *value)
{
    if (value == NULL)
        return rv_end(talk);
    int result = rv_write(talk, rv_str(value));
    return result < 0 ? result : RV_PENDING;
}

static void a_streamed_answer_is_suspended_any_number_of_times(void **state)
{
    struct h2_exchange *exchanges[2];
    char expected[256] = "welcome";
    (void)state;
    waiting_count = 0;
    route("GET /chat", begin_chat, NULL);
    open_peer();
    for (int i = 0; i < 2; i++)
        exchanges[i] = h2_get(&peer, "/chat");
    for (int round = 0; round < ROUNDS; round++) {
        strcat(expected, "/said");
        for (int i = 0; i < 2; i++)
            assert_int_equal(rv_resume(tested, waiting[i], hear, (void *)(uintptr_t) "/said"), 0);
        rv_test_settle(peer.test);
        h2_client_pump(&peer);
        for (int i = 0; i < 2; i++) {
            assert_int_equal(exchanges[i]->content.len, strlen(expected));
            assert_false(exchanges[i]->ended);
        }
    }
    for (int i = 0; i < 2; i++)
        assert_int_equal(rv_resume(tested, waiting[i], hear, NULL), 0);
    rv_test_settle(peer.test);
    h2_client_pump(&peer);
    for (int i = 0; i < 2; i++)
        h2_expect(exchanges[i], 200, expected);
}

/* ---- errors --------------------------------------------------------------------------------------------- */

static int as_json(rv_talk *talk, int status, const char *detail, void *ctx)
{
    char text[100];
    (void)ctx;
    snprintf(text, sizeof text, "{\"%d\":\"%s\"}", status, detail == NULL ? "" : detail);
    return rv_json(talk, status, text);
}

static int fail_it(rv_talk *talk, void *ctx)
{
    if (ctx != NULL) {
        rv_begin(talk, 200);
        rv_write(talk, rv_str(ctx));
    }
    return RV_EIO;
}

static void errors_are_in_the_style_of_their_app(void **state)
{
    (void)state;
    rv_app *api = rv_app_new(tested, &(rv_app_options){.mount = "/api", .on_problem = as_json});
    assert_int_equal(rv_route(api, "GET /fails", fail_it, NULL), 0);
    assert_int_equal(rv_route(api, "GET /cut", fail_it, (void *)(uintptr_t) "half"), 0);
    route("GET /", hello, NULL);
    open_peer();
    h2_expect(h2_get(&peer, "/api/none"), 404, "{\"404\":\"\"}");
    struct h2_exchange *refused = post("/api/fails", NULL, "");
    h2_expect(refused, 405, "{\"405\":\"\"}");
    assert_string_equal(h2_field(&refused->fields, "allow"), "GET, HEAD, OPTIONS");
    struct h2_exchange *failed = h2_get(&peer, "/api/fails");
    h2_expect(failed, 500, "{\"500\":\"\"}");
    assert_string_equal(h2_field(&failed->fields, "content-type"), "application/json");
    assert_int_equal(errors_told, 1);
    struct h2_exchange *cut = h2_get(&peer, "/api/cut");
    assert_true(cut->closed && !cut->ended);
    assert_int_equal(cut->code, RV_H2_INTERNAL_ERROR);
    h2_expect(h2_get(&peer, "/"), 200, "hello");
}

#define FACT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        FACT(a_form_gives_parameters_beside_those_of_the_query),
        FACT(a_multipart_form_is_read_whatever_frames_it_comes_in),
        FACT(a_session_is_found_in_cookies_that_come_singly),
        FACT(a_session_is_found_in_the_path),
        FACT(a_stream_that_is_held_lets_the_others_pass),
        FACT(a_talk_is_delegated),
        FACT(an_executor_serves_streams_and_refuses_those_beyond),
        FACT(streams_wait_and_are_answered_in_any_order),
        FACT(a_streamed_answer_is_suspended_any_number_of_times),
        FACT(errors_are_in_the_style_of_their_app),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
