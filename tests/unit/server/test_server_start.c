/*
 * Facts about starting a server: what makes it fail and what is said then, and what a program is told
 * and can ask about a server that runs.
 */
#include "support/served.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct served served, other;

/* ---- fixtures ---------------------------------------------------------------------------------- */

static int break_down(rv_talk *talk, void *ctx)
{
    (void)talk;
    (void)ctx;
    return RV_EIO;
}

static void make(rv_server_options options)
{
    if (options.workers == 0)
        options.workers = 2;
    if (options.pool_threads == 0)
        options.pool_threads = 2;
    serve_make(&served, options);
    serve_route(&served, "GET /number/{number}", reply_number, NULL, (rv_route_options){0});
    serve_route(&served, "GET /fail", break_down, NULL, (rv_route_options){0});
}

static void start(rv_server_options options)
{
    make(options);
    serve_start(&served);
}

static int set_up(void **state)
{
    (void)state;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    serve_free(&served);
    serve_free(&other);
    return 0;
}

/* ---- starts that fail -------------------------------------------------------------------------- */

static void expect_failed_start(rv_error error, const char *named)
{
    assert_int_equal(serve_try(&served), error);
    const char *text = rv_server_error_text(served.server);
    if (strstr(text, named) == NULL)
        fail_msg("\"%s\" does not name \"%s\"", text, named);
    assert_int_equal(atomic_load(&served.starts), 0);
    assert_int_equal(atomic_load(&served.stops), 0);
}

static void a_port_that_is_taken_is_named_and_can_be_tried_again(void **state)
{
    (void)state;
    char address[32];
    serve_make(&other, (rv_server_options){.workers = 2, .pool_threads = 1});
    serve_start(&other);
    snprintf(address, sizeof address, "127.0.0.1:%u", (unsigned)other.port);
    for (unsigned workers = 1; workers <= 2; workers++) {
        serve_free(&served);
        make((rv_server_options){.listen = address, .workers = workers});
        expect_failed_start(RV_EADDRINUSE, address);
    }
    serve_stop(&other);
    serve_start(&served);
    assert_int_equal(served.port, other.port);
    expect_served(&served);
}

static void when_the_second_address_is_taken_the_first_is_closed_again(void **state)
{
    (void)state;
    char address[32];
    start((rv_server_options){0});
    uint16_t free_port = served.port;
    serve_stop(&served);
    serve_free(&served);
    serve_make(&other, (rv_server_options){.workers = 1, .pool_threads = 1});
    serve_start(&other);
    snprintf(address, sizeof address, "127.0.0.1:%u", (unsigned)free_port);
    make((rv_server_options){.listen = address});
    snprintf(address, sizeof address, "127.0.0.1:%u", (unsigned)other.port);
    assert_int_equal(rv_listen(served.server, address), 0);
    expect_failed_start(RV_EADDRINUSE, address);
    assert_true(is_refused(free_port));
}

static void an_option_out_of_range_is_named(void **state)
{
    (void)state;
    const struct {
        rv_server_options options;
        const char *name;
    } cases[] = {
        {{.workers = 256}, "workers"},
        {{.backlog = 65536}, "backlog"},
        {{.pool_threads = 1025}, "pool_threads"},
        {{.server_name = "two\r\nlines"}, "server_name"},
        {{.limits.head_bytes_max = 127}, "limits.head_bytes_max"},
        {{.limits.head_fields_max = 4097}, "limits.head_fields_max"},
        {{.limits = {.output_low_bytes = 2, .output_high_bytes = 1}}, "limits.output_low_bytes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        serve_free(&served);
        make(cases[i].options);
        expect_failed_start(RV_EINVAL, cases[i].name);
    }
}

static void a_bad_pattern_is_named(void **state)
{
    (void)state;
    make((rv_server_options){0});
    rv_app *app = rv_default_app(served.server);
    assert_int_equal(rv_route(app, "GET no-slash", break_down, NULL), RV_EINVAL);
    assert_non_null(strstr(rv_server_error_text(served.server), "GET no-slash"));
    expect_failed_start(RV_EINVAL, "GET no-slash");
}

static void a_pattern_that_is_there_already_is_named(void **state)
{
    (void)state;
    make((rv_server_options){0});
    assert_int_equal(rv_route(rv_default_app(served.server), "GET /fail", break_down, NULL),
                     RV_EINVAL);
    expect_failed_start(RV_EINVAL, "GET /fail");
}

static void a_server_without_an_address_says_so(void **state)
{
    (void)state;
    served = (struct served){.server = rv_server_new(NULL)};
    expect_failed_start(RV_EINVAL, "no address");
}

static void a_bad_address_is_named(void **state)
{
    (void)state;
    make((rv_server_options){.listen = "127.0.0.1:65536"});
    expect_failed_start(RV_EADDR, "127.0.0.1:65536");
}

static void a_running_server_is_not_run_nor_configured(void **state)
{
    (void)state;
    start((rv_server_options){0});
    assert_int_equal(rv_server_run(served.server), RV_ESTATE);
    assert_int_equal(rv_listen(served.server, "127.0.0.1:0"), RV_ESTATE);
    rv_app *app = rv_default_app(served.server);
    assert_int_equal(rv_route(app, "GET /late", break_down, NULL), RV_ESTATE);
    assert_null(rv_test_new(served.server));
    expect_served(&served);
    serve_stop(&served);
    serve_start(&served);
    expect_served(&served);
}

/* ---- what there is to know --------------------------------------------------------------------- */

static void the_hooks_tell_of_start_stop_and_failure(void **state)
{
    (void)state;
    struct caller caller;
    char peer[32];
    start((rv_server_options){0});
    assert_int_equal(atomic_load(&served.starts), 1);
    assert_int_equal(atomic_load(&served.stops), 0);
    assert_true(caller_connect(&caller, served.port));
    assert_int_equal(caller_get(&caller, "/fail"), 500);
    assert_true(EVENTUALLY(atomic_load(&served.errors) == 1));
    assert_int_equal(served.error, RV_EIO);
    assert_string_equal(served.error_doing, "in a handler");
    snprintf(peer, sizeof peer, "127.0.0.1:%u", (unsigned)caller.own_port);
    assert_string_equal(served.error_peer, peer);
    caller_close(&caller);
    serve_stop(&served);
    assert_int_equal(atomic_load(&served.starts), 1);
    assert_int_equal(atomic_load(&served.stops), 1);
    assert_int_equal(atomic_load(&served.errors), 1);
}

static void addresses_and_threads_are_told(void **state)
{
    (void)state;
    char address[32];
    make((rv_server_options){.workers = 3, .pool_threads = 5});
    assert_int_equal(rv_listen(served.server, "127.0.0.1:0"), 0);
    serve_start(&served);
    snprintf(address, sizeof address, "127.0.0.1:%u", (unsigned)served.port);
    assert_string_equal(rv_server_address(served.server, 0), address);
    const char *second = rv_server_address(served.server, 1);
    assert_non_null(second);
    assert_string_not_equal(second, address);
    assert_null(rv_server_address(served.server, 2));
    assert_int_equal(rv_server_workers(served.server), 3);
    assert_int_equal(rv_server_pool_threads(served.server), 5);
}

static void the_backlog_in_force_is_the_smaller_one(void **state)
{
    (void)state;
    unsigned somaxconn = 0;
    FILE *file = fopen("/proc/sys/net/core/somaxconn", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%u", &somaxconn), 1);
    fclose(file);
    const unsigned asked[] = {1, 0, 65535};
    for (unsigned i = 0; i < 3; i++) {
        unsigned wanted = asked[i] == 0 ? 4096 : asked[i];
        serve_free(&served);
        start((rv_server_options){.backlog = asked[i]});
        assert_int_equal(rv_server_backlog(served.server), wanted < somaxconn ? wanted : somaxconn);
    }
}

int main(void)
{
#define FACT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        FACT(a_port_that_is_taken_is_named_and_can_be_tried_again),
        FACT(when_the_second_address_is_taken_the_first_is_closed_again),
        FACT(an_option_out_of_range_is_named),
        FACT(a_bad_pattern_is_named),
        FACT(a_pattern_that_is_there_already_is_named),
        FACT(a_server_without_an_address_says_so),
        FACT(a_bad_address_is_named),
        FACT(a_running_server_is_not_run_nor_configured),
        FACT(the_hooks_tell_of_start_stop_and_failure),
        FACT(addresses_and_threads_are_told),
        FACT(the_backlog_in_force_is_the_smaller_one),
    };
#undef FACT
    return cmocka_run_group_tests(tests, NULL, NULL);
}
