/*
 * Facts about sessions as applications see them (step 8 of rivulet.h): who gets which, how long it lasts,
 * and what a client can do to another's.
 */
#include "base/bytes.h"
#include "support/tested.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char last_name[64]; /* of the session in the last answer's Set-Cookie or body */

/* ---- handlers -------------------------------------------------------------------------------------------- */

static int count(rv_talk *talk, void *ctx)
{
    rv_session *session;
    int64_t visits;
    char text[64];
    (void)ctx;
    rv_error error = rv_session_of(talk, &session);
    if (error != 0)
        return error;
    rv_session_add_int(session, "visits", 1, &visits);
    snprintf(text, sizeof text, "%d%s", (int)visits, rv_session_is_new(talk) ? " new" : "");
    return rv_text(talk, 200, text);
}

static int look(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_text(talk, 200, rv_session_found(talk) == NULL ? "none" : "one");
}

static int renew(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_error error = rv_session_renew(talk);
    return error != 0 ? error : rv_text(talk, 200, "renewed");
}

static int leave(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_error error = rv_session_end(talk);
    return error != 0 ? error : rv_text(talk, 200, "bye");
}

static int phrase(rv_talk *talk, void *ctx)
{
    rv_session *session;
    (void)ctx;
    rv_error error = rv_session_of(talk, &session);
    return error != 0 ? error : rv_text(talk, 200, rv_session_phrase(talk));
}

static int too_late(rv_talk *talk, void *ctx)
{
    rv_session *session;
    (void)ctx;
    rv_begin(talk, 200);
    rv_write(talk, RV_LIT("head has left; "));
    rv_write(talk, rv_session_of(talk, &session) == RV_ESTATE ? RV_LIT("no") : RV_LIT("yes"));
    return RV_OK;
}

/* ---- what tests do ------------------------------------------------------------------------------------------ */

static void serve(rv_session_options options)
{
    assert_int_equal(rv_sessions(rv_default_app(tested), &options), 0);
    route("GET /count", count, NULL);
    route("GET /look", look, NULL);
    route("GET /renew", renew, NULL);
    route("GET /leave", leave, NULL);
    route("GET /phrase", phrase, NULL);
    route("GET /late", too_late, NULL);
}

/* The name in the last answer's Set-Cookie. */
static const char *take_name(void)
{
    const char *field = answer_field(last_answer(), "Set-Cookie");
    assert_non_null(field);
    const char *value = strchr(field, '=');
    assert_non_null(value);
    size_t length = strcspn(value + 1, ";");
    assert_true(length < sizeof last_name);
    memcpy(last_name, value + 1, length);
    last_name[length] = '\0';
    return last_name;
}

static void get_with(const char *path, const char *name)
{
    char field[128];
    snprintf(field, sizeof field, "Cookie: a=b; sid=%s; c=d\r\n", name);
    request("GET", path, field);
}

/* ---- cookies -------------------------------------------------------------------------------------------------- */

static void a_session_is_found_again_by_its_cookie(void **state)
{
    char name[64];
    (void)state;
    serve((rv_session_options){0});
    get("/count");
    expect_answer(200, "1 new");
    strcpy(name, take_name());
    assert_int_equal(strlen(name), 32);
    get_with("/count", name);
    expect_answer(200, "2");
    expect_field("Set-Cookie", NULL);
    as(1);
    get_with("/count", name);
    expect_answer(200, "3");
}

static void the_cookie_is_kept_from_scripts_and_other_sites(void **state)
{
    char expected[128];
    (void)state;
    serve((rv_session_options){0});
    get("/count");
    expect_answer(200, "1 new");
    snprintf(expected, sizeof expected, "sid=%s; Path=/; HttpOnly; SameSite=Lax", take_name());
    expect_field("Set-Cookie", expected);
}

static void attributes_of_the_cookie_can_be_set(void **state)
{
    (void)state;
    serve((rv_session_options){.name = "key",
                               .cookie = {.path = "/shop", .same_site = "Strict", .secure = true},
                               .cookie_for_scripts = true});
    get("/count");
    expect_answer(200, "1 new");
    const char *field = answer_field(last_answer(), "Set-Cookie");
    assert_int_equal(strncmp(field, "key=", 4), 0);
    assert_non_null(strstr(field, "Path=/shop"));
    assert_non_null(strstr(field, "SameSite=Strict"));
    assert_non_null(strstr(field, "Secure"));
    assert_null(strstr(field, "HttpOnly"));
}

static void every_attribute_of_the_cookie_can_be_set(void **state)
{
    (void)state;
    serve((rv_session_options){.cookie = {.domain = "shop.example",
                                          .same_site = "None",
                                          .secure = true,
                                          .partitioned = true,
                                          .max_age_s = 3600,
                                          .expires_s = 784111777}});
    get("/count");
    expect_answer(200, "1 new");
    const char *field = answer_field(last_answer(), "Set-Cookie");
    static const char *const attributes[] = {
        "; Path=/",        "; Domain=shop.example",
        "; Max-Age=3600",  "; Expires=Sun, 06 Nov 1994 08:49:37 GMT",
        "; Secure",        "; HttpOnly",
        "; SameSite=None", "; Partitioned"};
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++) {
        assert_non_null(strstr(field, attributes[i]));
    }
}

static int begin_and_end(rv_talk *talk, void *ctx)
{
    rv_session *session;
    rv_set_cookie(talk, "side", "1", NULL);
    rv_session_of(talk, &session);
    rv_session_renew(talk);
    if (ctx != NULL)
        rv_session_end(talk);
    return rv_text(talk, 200, "");
}

static void the_client_is_told_the_last_name_only(void **state)
{
    (void)state;
    serve((rv_session_options){0});
    route("GET /renewed", begin_and_end, NULL);
    route("GET /ended", begin_and_end, "");
    get("/renewed");
    expect_answer(200, "");
    assert_int_equal(answer_field_count(last_answer(), "Set-Cookie"), 2); /* and the other cookie */
    assert_non_null(strstr(last_answer()->head, "side=1"));
    const char *cookie = strstr(last_answer()->head, "sid=");
    snprintf(last_name, sizeof last_name, "%.32s", cookie + 4);
    get_with("/look", last_name);
    expect_answer(200, "one");
    get("/ended");
    expect_answer(200, "");
    assert_int_equal(answer_field_count(last_answer(), "Set-Cookie"), 2);
    assert_non_null(strstr(last_answer()->head, "sid=; "));
}

static void no_session_is_begun_unless_it_is_asked_for(void **state)
{
    (void)state;
    serve((rv_session_options){0});
    get("/look");
    expect_answer(200, "none");
    expect_field("Set-Cookie", NULL);
}

static void always_means_every_request(void **state)
{
    (void)state;
    serve((rv_session_options){.always = true});
    get("/look");
    expect_answer(200, "one");
    take_name();
}

static void a_name_that_a_client_makes_up_is_not_taken(void **state)
{
    static const char *const names[] = {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "x", "",
                                        "../../../../../../../../../etc/p"};
    (void)state;
    serve((rv_session_options){0});
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        get_with("/count", names[i]);
        expect_answer(200, "1 new");
        assert_string_not_equal(take_name(), names[i]);
    }
}

static void a_session_cannot_be_begun_behind_the_head(void **state)
{
    (void)state;
    serve((rv_session_options){0});
    get("/late");
    expect_answer(200, "head has left; no");
}

/* ---- how long it lasts ----------------------------------------------------------------------------------------- */

static unsigned ended;
static int64_t visits_at_end;

static void on_end(rv_app *app, rv_session *session, void *ctx)
{
    assert_non_null(app);
    (void)ctx;
    ended++;
    rv_session_get_int(session, "visits", &visits_at_end);
}

static void a_session_expires_by_the_clock_and_its_data_is_told(void **state)
{
    (void)state;
    serve((rv_session_options){.timeout_ms = 5000, .on_end = on_end});
    get("/count");
    expect_answer(200, "1 new");
    take_name();
    advance_ms(4000);
    as(1);
    get_with("/count", last_name);
    expect_answer(200, "2"); /* and used anew */
    ended = 0;
    advance_ms(4000);
    assert_int_equal(ended, 0);
    advance_ms(4000);
    assert_int_equal(ended, 1);
    assert_int_equal(visits_at_end, 2);
    as(2);
    get_with("/count", last_name);
    expect_answer(200, "1 new");
}

static int wait_long(rv_talk *talk, void *ctx)
{
    return rv_after_ms(talk, 60000, count, ctx) == 0 ? RV_PENDING : RV_ESTATE;
}

static void a_talk_may_take_longer_than_a_session_lasts(void **state)
{
    (void)state;
    serve((rv_session_options){.timeout_ms = 5000, .on_end = on_end});
    route("GET /long", wait_long, NULL);
    get("/count");
    expect_answer(200, "1 new");
    ended = 0;
    get_with("/long", take_name());
    advance_ms(61000);
    expect_answer(200, "2");
    assert_int_equal(ended, 0);
    get_with("/count", last_name);
    expect_answer(200, "3");
}

static void sessions_that_are_left_are_told_at_the_end(void **state)
{
    (void)state;
    serve((rv_session_options){.on_end = on_end});
    get("/count");
    expect_answer(200, "1 new");
    as(1);
    get("/count");
    expect_answer(200, "1 new");
    ended = 0;
    visits_at_end = 0;
    tested_with(NULL);
    assert_int_equal(ended, 2);
    assert_int_equal(visits_at_end, 1);
}

static void beyond_the_most_only_new_sessions_are_refused(void **state)
{
    (void)state;
    serve((rv_session_options){.sessions_max = 1});
    get("/count");
    expect_answer(200, "1 new");
    take_name();
    get("/count");
    expect_status(503);
    expect_field("Set-Cookie", NULL);
    assert_int_equal(COUNTER(sessions_full), 1);
    get("/look");
    expect_answer(200, "none");
    get_with("/count", last_name);
    expect_answer(200, "2");
}

static void beyond_the_most_those_with_a_session_go_on_always(void **state)
{
    (void)state;
    serve((rv_session_options){.sessions_max = 1, .always = true});
    get("/look");
    expect_answer(200, "one");
    take_name();
    get("/look");
    expect_status(503);
    get_with("/look", last_name);
    expect_answer(200, "one");
    get_with("/leave", last_name);
    expect_answer(200, "bye");
    get("/look");
    expect_answer(200, "one");
}

static void an_ended_session_is_gone_and_so_is_the_cookie(void **state)
{
    (void)state;
    serve((rv_session_options){.on_end = on_end});
    get("/count");
    expect_answer(200, "1 new");
    take_name();
    ended = 0;
    get_with("/leave", last_name);
    expect_answer(200, "bye");
    assert_int_equal(ended, 1);
    assert_non_null(strstr(answer_field(last_answer(), "Set-Cookie"), "Max-Age=0"));
    get_with("/look", last_name);
    expect_answer(200, "none");
}

static void a_renewed_session_has_another_name_and_its_values(void **state)
{
    char old[64];
    (void)state;
    serve((rv_session_options){0});
    get("/count");
    expect_answer(200, "1 new");
    strcpy(old, take_name());
    get_with("/renew", old);
    expect_answer(200, "renewed");
    assert_string_not_equal(take_name(), old);
    get_with("/look", old);
    expect_answer(200, "none");
    get_with("/count", last_name);
    expect_answer(200, "2");
}

/* ---- in the path ---------------------------------------------------------------------------------------------- */

static void a_session_can_be_named_in_the_path(void **state)
{
    char path[128], name[64];
    (void)state;
    serve((rv_session_options){.track = RV_SESSION_BY_URI});
    get("/phrase");
    expect_status(200);
    expect_field("Set-Cookie", NULL);
    const struct rv_buffer said = last_answer()->content;
    assert_int_equal(said.len, 5 + 32);
    snprintf(name, sizeof name, "%.*s", (int)said.len, said.ptr);
    assert_int_equal(strncmp(name, ";sid=", 5), 0);
    snprintf(path, sizeof path, "/count%s", name);
    get(path);
    expect_answer(200, "1");
    get(path);
    expect_answer(200, "2");
    get_with("/look", name + 5); /* a cookie means nothing then */
    expect_answer(200, "none");
}

/* ---- in links --------------------------------------------------------------------------------------------------- */

/* Answers with the link that the query asks for, and whether the session was there before. */
static int link_to(rv_talk *talk, void *ctx)
{
    rv_session *session;
    (void)ctx;
    rv_error error = rv_session_of(talk, &session);
    return error != 0
               ? error
               : rv_text(talk, 200, rv_session_link(talk, rv_copy(talk, rv_param(talk, "to"))));
}

static int go_to_cart(rv_talk *talk, void *ctx)
{
    rv_session *session;
    (void)ctx;
    rv_error error = rv_session_of(talk, &session);
    return error != 0 ? error : rv_redirect(talk, 303, rv_session_link(talk, "/count?x=1#y"));
}

static void expect_link(const char *query, const char *before, const char *behind)
{
    char path[256], link[256];
    snprintf(path, sizeof path, "/link;sid=%s?to=%s", last_name, query);
    get(path);
    snprintf(link, sizeof link, "%s;sid=%s%s", before, last_name, behind);
    expect_answer(200, behind == NULL ? before : link);
}

static void begin_by_uri(void)
{
    serve((rv_session_options){.track = RV_SESSION_BY_URI});
    route("GET /link", link_to, NULL);
    route("GET /go", go_to_cart, NULL);
    get("/phrase");
    expect_status(200);
    snprintf(last_name, sizeof last_name, "%s", last_answer()->content.ptr + 5);
}

static void links_carry_the_name_in_front_of_the_query(void **state)
{
    (void)state;
    begin_by_uri();
    expect_link("/cart", "/cart", "");
    expect_link("/cart%3Fx=1", "/cart", "?x=1");
    expect_link("/%23top", "/", "#top");
    expect_link("cart/", "cart/", "");
    expect_link("../a:b%3Fc", "../a:b", "?c");
}

static void links_to_elsewhere_do_not(void **state)
{
    static const char *const others[] = {
        "http://other.example/", "//other.example/", "/\\other.example",
        "\\\\other.example",     "mailto:a@b",       ""};
    (void)state;
    begin_by_uri();
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        expect_link(others[i], others[i], NULL);
    expect_link("%3Fpage=2", "?page=2", NULL);
    expect_link("%23top", "#top", NULL);
}

static void a_redirect_can_keep_the_session(void **state)
{
    char name[64];
    (void)state;
    begin_by_uri();
    get("/go");
    expect_status(303);
    const char *location = answer_field(last_answer(), "Location");
    assert_int_equal(strncmp(location, "/count;sid=", 11), 0);
    assert_string_equal(location + 11 + 32, "?x=1#y");
    snprintf(name, sizeof name, "%.43s", location);
    get(name);
    expect_answer(200, "1");
}

static void with_cookies_links_stay_as_they_are(void **state)
{
    (void)state;
    serve((rv_session_options){0});
    route("GET /link", link_to, NULL);
    get("/link?to=/cart");
    expect_answer(200, "/cart");
}

/* ---- several apps --------------------------------------------------------------------------------------------------- */

static rv_app *shop(rv_session_options options)
{
    rv_app *app = rv_app_new(tested, &(rv_app_options){.mount = "/shop"});
    assert_non_null(app);
    assert_int_equal(rv_sessions(app, &options), 0);
    assert_int_equal(rv_route(app, "GET /count", count, NULL), 0);
    assert_int_equal(rv_route(app, "GET /look", look, NULL), 0);
    return app;
}

static void each_app_has_sessions_of_its_own(void **state)
{
    (void)state;
    serve((rv_session_options){0});
    shop((rv_session_options){0});
    get("/count");
    expect_answer(200, "1 new");
    take_name();
    get_with("/shop/look", last_name);
    expect_answer(200, "none");
    get_with("/shop/count", last_name);
    expect_answer(200, "1 new");
}

static void the_cookie_is_for_the_mount_of_its_app(void **state)
{
    (void)state;
    shop((rv_session_options){0});
    get("/shop/count");
    expect_answer(200, "1 new");
    assert_non_null(strstr(answer_field(last_answer(), "Set-Cookie"), "; Path=/shop;"));
}

static void among_cookies_of_one_name_the_own_one_is_found(void **state)
{
    char fields[256], outer[64], bad[] = "Cookie: sid=x; sid=";
    (void)state;
    serve((rv_session_options){0});
    shop((rv_session_options){0});
    get("/count");
    expect_answer(200, "1 new");
    strcpy(outer, take_name());
    get("/shop/count");
    expect_answer(200, "1 new");
    snprintf(fields, sizeof fields, "%s%s; sid=%s\r\n", bad, outer, take_name());
    request("GET", "/shop/count", fields);
    expect_answer(200, "2");
    request("GET", "/count", fields);
    expect_answer(200, "2");
}

static void an_app_in_front_does_not_spend_the_places_of_another(void **state)
{
    (void)state;
    serve((rv_session_options){.sessions_max = 1});
    shop((rv_session_options){.sessions_max = 1});
    get("/count");
    expect_answer(200, "1 new");
    get("/shop/count");
    expect_answer(200, "1 new");
    assert_int_equal(COUNTER(sessions_full), 0);
    get("/shop/count");
    expect_status(503);
    assert_int_equal(COUNTER(sessions_full), 1);
}

/* ---- in callbacks ------------------------------------------------------------------------------------------------------ */

static int on_problem(rv_talk *talk, int status, const char *detail, void *ctx)
{
    rv_session *session;
    int64_t visits = 0;
    char text[64];
    (void)detail, (void)ctx;
    rv_error error = rv_session_of(talk, &session);
    if (error != 0)
        return rv_text(talk, status, rv_strerror(error));
    rv_session_add_int(session, "visits", 1, &visits);
    snprintf(text, sizeof text, "%d%s", (int)visits, rv_session_is_new(talk) ? " new" : "");
    return rv_text(talk, status, text);
}

static void an_error_page_has_the_session_of_its_client(void **state)
{
    (void)state;
    rv_app_options options = {.on_problem = on_problem};
    assert_int_equal(rv_app_set(rv_default_app(tested), &options), 0);
    serve((rv_session_options){0});
    get("/nowhere");
    expect_answer(404, "1 new");
    get_with("/count", take_name());
    expect_answer(200, "2");
    get_with("/nowhere", last_name);
    expect_answer(404, "3");
    expect_field("Set-Cookie", NULL);
}

/* Those who have a session here; the others are for the next app. */
static bool resolve_members(rv_talk *talk, rv_resolution *found, void *ctx)
{
    (void)ctx;
    found->handler = count;
    return rv_session_found(talk) != NULL && rv_equals(rv_path(talk), "/shop/member");
}

static void who_has_a_session_may_decide_who_answers(void **state)
{
    (void)state;
    serve((rv_session_options){0});
    route("GET /shop/member", look, NULL);
    rv_app *app = shop((rv_session_options){0});
    rv_app_options options = {.mount = "/shop", .resolve = resolve_members};
    assert_int_equal(rv_app_set(app, &options), 0);
    get("/shop/member");
    expect_answer(200, "none");
    get("/shop/count");
    expect_answer(200, "1 new");
    get_with("/shop/member", take_name());
    expect_answer(200, "2");
    get_with("/shop/elsewhere", last_name); /* seen there, and left alone */
    expect_status(404);
}

static bool resolve_nothing(rv_talk *talk, rv_resolution *found, void *ctx)
{
    bool *seen = ctx;
    (void)found;
    *seen = rv_session_found(talk) != NULL;
    return false;
}

static void a_session_of_another_app_does_not_come_along(void **state)
{
    bool seen = true;
    rv_app_options options = {.mount = "/shop", .resolve = resolve_nothing, .ctx = &seen};
    (void)state;
    serve((rv_session_options){0});
    assert_int_equal(rv_app_set(shop((rv_session_options){0}), &options), 0);
    route("GET /shop/other", look, NULL);
    get("/shop/count");
    expect_answer(200, "1 new");
    assert_false(seen);
    get_with("/shop/other", take_name());
    expect_answer(200, "none");
    assert_true(seen);
}

/* ---- configuring ---------------------------------------------------------------------------------------------------- */

static void expect_refused(rv_session_options options, const char *word)
{
    tested_with(NULL);
    assert_int_equal(rv_sessions(rv_default_app(tested), &options), RV_EINVAL);
    if (strstr(rv_server_error_text(tested), word) == NULL)
        fail_msg("\"%s\" does not name %s", rv_server_error_text(tested), word);
}

static void bad_options_are_named(void **state)
{
    static const rv_session_store half = {0};
    (void)state;
    expect_refused((rv_session_options){.name = "a b"}, "name");
    expect_refused((rv_session_options){.track = 7}, "track");
    expect_refused((rv_session_options){.store = &half}, "store");
    expect_refused((rv_session_options){.cookie.path = "shop"}, "path");
    expect_refused((rv_session_options){.cookie.domain = "a;b"}, "domain");
    expect_refused((rv_session_options){.cookie.same_site = "lax"}, "same_site");
    expect_refused((rv_session_options){.cookie.same_site = "None"}, "Secure");
    expect_refused((rv_session_options){.cookie.max_age_s = -1}, "max_age_s");
    expect_refused((rv_session_options){.name = "__Host-sid"}, "Secure");
    tested_with(NULL);
    rv_app *app = rv_default_app(tested);
    assert_int_equal(rv_sessions(app, NULL), 0);
    assert_int_equal(rv_sessions(app, NULL), RV_ESTATE);
}

static void without_sessions_there_are_none(void **state)
{
    (void)state;
    route("GET /count", count, NULL);
    get("/count");
    expect_status(500);
    assert_int_equal(last_error, RV_ESTATE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, tested_set_up, tested_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_session_is_found_again_by_its_cookie),
        TEST(the_cookie_is_kept_from_scripts_and_other_sites),
        TEST(attributes_of_the_cookie_can_be_set),
        TEST(every_attribute_of_the_cookie_can_be_set),
        TEST(the_client_is_told_the_last_name_only),
        TEST(no_session_is_begun_unless_it_is_asked_for),
        TEST(always_means_every_request),
        TEST(a_name_that_a_client_makes_up_is_not_taken),
        TEST(a_session_cannot_be_begun_behind_the_head),
        TEST(a_session_expires_by_the_clock_and_its_data_is_told),
        TEST(a_talk_may_take_longer_than_a_session_lasts),
        TEST(sessions_that_are_left_are_told_at_the_end),
        TEST(beyond_the_most_only_new_sessions_are_refused),
        TEST(beyond_the_most_those_with_a_session_go_on_always),
        TEST(an_ended_session_is_gone_and_so_is_the_cookie),
        TEST(a_renewed_session_has_another_name_and_its_values),
        TEST(a_session_can_be_named_in_the_path),
        TEST(links_carry_the_name_in_front_of_the_query),
        TEST(links_to_elsewhere_do_not),
        TEST(a_redirect_can_keep_the_session),
        TEST(with_cookies_links_stay_as_they_are),
        TEST(each_app_has_sessions_of_its_own),
        TEST(the_cookie_is_for_the_mount_of_its_app),
        TEST(among_cookies_of_one_name_the_own_one_is_found),
        TEST(an_app_in_front_does_not_spend_the_places_of_another),
        TEST(an_error_page_has_the_session_of_its_client),
        TEST(who_has_a_session_may_decide_who_answers),
        TEST(a_session_of_another_app_does_not_come_along),
        TEST(bad_options_are_named),
        TEST(without_sessions_there_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
