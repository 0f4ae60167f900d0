/*
 * From options to plans: defaults, requests octet for octet, URLs from files, addresses, and what
 * cannot become a plan.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/bench_plan.h"
#include "cli/cli.h"
#include "support/own_folder.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define WORDS_MAX 24
#define AGENT "User-Agent: rivulet/" RV_VERSION_TEXT "\r\n"

static char why[RV_BENCH_WHY_MAX];

static void write_file(const char *octets, size_t length)
{
    FILE *file = fopen("file", "w");
    assert_non_null(file);
    assert_int_equal(fwrite(octets, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

/* Words are separated by "|". */
static int make(const char *line, struct rv_bench_plan *plan)
{
    char copy[1000];
    char *argv[WORDS_MAX + 2] = {(char *)"bench"};
    int argc = 1;
    struct rv_bench_options options;
    strcpy(copy, line);
    for (char *word = strtok(copy, "|"); word != NULL; word = strtok(NULL, "|")) {
        assert_true(argc < WORDS_MAX);
        argv[argc++] = word;
    }
    why[0] = '\0';
    if (rv_bench_options_parse(argc, argv, &options, why) != 0)
        fail_msg("\"%s\" was refused as options: %s", line, why);
    int code = rv_bench_plan_make(&options, plan, why);
    rv_bench_options_free(&options);
    return code;
}

static struct rv_bench_plan made(const char *line)
{
    struct rv_bench_plan plan;
    if (make(line, &plan) != 0)
        fail_msg("\"%s\" was refused: %s", line, why);
    return plan;
}

/* ---- limits and defaults --------------------------------------------------------------------- */

static void without_options_fifty_clients_run_for_ten_seconds(void **state)
{
    (void)state;
    struct rv_bench_plan plan = made("127.0.0.1:81");
    assert_int_equal(plan.load.model, RV_LOAD_CLOSED);
    assert_int_equal(plan.load.clients, 50);
    assert_int_equal(plan.load.duration_us, 10000000);
    assert_int_equal(plan.load.requests_max, 0);
    assert_int_equal(plan.load.timeout_us, 30000000);
    assert_int_equal(plan.load.connect_timeout_us, 0);
    assert_int_equal(plan.load.request_count, 1);
    assert_int_equal(plan.load.target.address_count, 1);
    assert_int_equal(plan.load.threads, 0);
    assert_true(plan.load.give_up_unreached);
    assert_false(plan.load.close_each || plan.load.keep_samples || plan.load.first_length_counts);
    assert_string_equal(plan.note, "");
    rv_bench_plan_free(&plan);
}

static void any_limit_takes_the_place_of_the_ten_seconds(void **state)
{
    (void)state;
    struct rv_bench_plan plan = made("-n|100|127.0.0.1");
    assert_int_equal(plan.load.duration_us, 0);
    assert_int_equal(plan.load.requests_max, 100);
    rv_bench_plan_free(&plan);
    plan = made("--quota|3|127.0.0.1");
    assert_int_equal(plan.load.duration_us, 0);
    assert_int_equal(plan.load.quota, 3);
    rv_bench_plan_free(&plan);
    plan = made("-n|100|-t|1|127.0.0.1");
    assert_int_equal(plan.load.duration_us, 1000000);
    assert_int_equal(plan.load.requests_max, 100);
    rv_bench_plan_free(&plan);
}

static void a_rate_makes_the_model_open(void **state)
{
    (void)state;
    struct rv_bench_plan plan = made("-R|20k|--arrivals|poisson|--seed|7|127.0.0.1");
    assert_int_equal(plan.load.model, RV_LOAD_OPEN);
    assert_int_equal(plan.load.clients, 1000);
    assert_float_equal(plan.load.rate_per_s, 20000, 0);
    assert_int_equal(plan.load.arrivals, RV_ARRIVALS_POISSON);
    assert_int_equal(plan.load.seed, 7);
    rv_bench_plan_free(&plan);
}

static void how_is_copied(void **state)
{
    (void)state;
    struct rv_bench_plan plan =
        made("-c|7|--think|1ms|--requests-per-connection|3|--connect-rate|9|--timeout|2s|"
             "--connect-timeout|1s|--threads|2|--cpus|0|127.0.0.1");
    assert_int_equal(plan.load.clients, 7);
    assert_int_equal(plan.load.think_us, 1000);
    assert_int_equal(plan.load.requests_per_connection, 3);
    assert_float_equal(plan.load.connect_rate_per_s, 9, 0);
    assert_int_equal(plan.load.timeout_us, 2000000);
    assert_int_equal(plan.load.connect_timeout_us, 1000000);
    assert_int_equal(plan.load.threads, 2);
    assert_int_equal(CPU_COUNT(&plan.load.cpus), 1);
    rv_bench_plan_free(&plan);
    plan = made("--pipeline|16|127.0.0.1");
    assert_int_equal(plan.load.pipeline, 16);
    rv_bench_plan_free(&plan);
}

static void fewer_requests_than_clients_need_fewer_clients(void **state)
{
    (void)state;
    struct rv_bench_plan plan = made("-n|3|-c|5|--threads|4|127.0.0.1");
    assert_int_equal(plan.load.clients, 3);
    assert_int_equal(plan.load.threads, 3);
    assert_string_equal(plan.note, "3 requests need no more than 3 of the 5 clients");
    rv_bench_plan_free(&plan);
    plan = made("-n|3|127.0.0.1"); /* nobody asked for 50 */
    assert_int_equal(plan.load.clients, 3);
    assert_string_equal(plan.note, "");
    rv_bench_plan_free(&plan);
    plan = made("-n|5|-c|5|127.0.0.1");
    assert_string_equal(plan.note, "");
    rv_bench_plan_free(&plan);
}

/* ---- requests -------------------------------------------------------------------------------- */

static void check_request(const char *line, uint32_t n, const char *expected)
{
    struct rv_bench_plan plan = made(line);
    assert_true(n < plan.load.request_count);
    char *text = strndup(plan.load.requests[n].octets, plan.load.requests[n].length);
    assert_string_equal(text, expected);
    free(text);
    rv_bench_plan_free(&plan);
}

static void a_get_is_plain(void **state)
{
    (void)state;
    check_request("127.0.0.1:81/a?b#c", 0,
                  "GET /a?b HTTP/1.1\r\nHost: 127.0.0.1:81\r\n" AGENT "Accept: */*\r\n\r\n");
    check_request("-I|[::1]?x", 0,
                  "HEAD /?x HTTP/1.1\r\nHost: [::1]\r\n" AGENT "Accept: */*\r\n\r\n");
}

static void connections_are_kept_or_not_in_both_versions(void **state)
{
    (void)state;
    static const struct {
        const char *line, *connection;
        bool close_each;
    } cases[] = {
        {"127.0.0.1", NULL, false},
        {"--no-keepalive|127.0.0.1", "Connection: close\r\n", true},
        {"--http1.0|127.0.0.1", "Connection: keep-alive\r\n", false},
        {"--http1.0|--no-keepalive|127.0.0.1", NULL, true},
        {"--no-keepalive|-H|Connection: keep-alive|127.0.0.1", "Connection: keep-alive\r\n", true},
        {"-H|Connection: close|127.0.0.1", "Connection: close\r\n", true},
        {"--http1.0|-H|Connection:|127.0.0.1", NULL, true},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct rv_bench_plan plan = made(cases[i].line);
        char *text = strndup(plan.load.requests[0].octets, plan.load.requests[0].length);
        const char *found = strstr(text, "Connection:");
        if (cases[i].connection == NULL
                ? found != NULL
                : found == NULL ||
                      strncmp(found, cases[i].connection, strlen(cases[i].connection)) != 0)
            fail_msg("\"%s\": %s", cases[i].line, text);
        assert_int_equal(plan.load.close_each, cases[i].close_each);
        free(text);
        rv_bench_plan_free(&plan);
    }
}

static void data_make_a_form_and_a_post(void **state)
{
    (void)state;
    check_request("-d|a=1|-d|b=2|127.0.0.1", 0,
                  "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\n" AGENT
                  "Accept: */*\r\nContent-Type: application/x-www-form-urlencoded\r\n"
                  "Content-Length: 7\r\n\r\na=1&b=2");
    check_request("-d|a|-X|PUT|-H|content-type: text/plain|127.0.0.1", 0,
                  "PUT / HTTP/1.1\r\nHost: 127.0.0.1\r\n" AGENT
                  "Accept: */*\r\ncontent-type: text/plain\r\nContent-Length: 1\r\n\r\na");
}

static void json_says_so_in_both_directions(void **state)
{
    (void)state;
    check_request("--json|[1,|--json|2]|127.0.0.1", 0,
                  "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\n" AGENT
                  "Accept: application/json\r\nContent-Type: application/json\r\n"
                  "Content-Length: 5\r\n\r\n[1,2]");
}

static void a_post_without_data_has_a_length_and_no_type(void **state)
{
    (void)state;
    check_request("-X|POST|127.0.0.1", 0,
                  "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\n" AGENT
                  "Accept: */*\r\nContent-Length: 0\r\n\r\n");
    check_request("-X|DELETE|127.0.0.1", 0,
                  "DELETE / HTTP/1.1\r\nHost: 127.0.0.1\r\n" AGENT "Accept: */*\r\n\r\n");
}

static void a_files_octets_are_sent_as_they_are(void **state)
{
    (void)state;
    static const char octets[] = "a\0b\r\nc\n";
    write_file(octets, sizeof octets - 1);
    struct rv_bench_plan plan = made("-d|x|-d|@file|127.0.0.1");
    const struct rv_load_request *request = &plan.load.requests[0];
    assert_int_equal(request->length - request->head_length, 2 + sizeof octets - 1);
    assert_memory_equal(request->octets + request->head_length, "x&a\0b\r\nc\n", 9);
    rv_bench_plan_free(&plan);
}

static void fields_follow_curls_three_forms(void **state)
{
    (void)state;
    check_request("-H|X-A:  1 |-H|X-Empty;|-H|Accept:|-H|Host: other|127.0.0.1", 0,
                  "GET / HTTP/1.1\r\nHost: other\r\n" AGENT "X-A: 1\r\nX-Empty:\r\n\r\n");
}

static void credentials_come_from_the_option_or_each_url(void **state)
{
    (void)state;
    check_request("http://u%40:p@127.0.0.1/", 0,
                  "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n" AGENT
                  "Accept: */*\r\nAuthorization: Basic dUA6cA==\r\n\r\n"); /* u@:p */
    check_request("http://u@127.0.0.1/", 0,
                  "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n" AGENT
                  "Accept: */*\r\nAuthorization: Basic dTo=\r\n\r\n"); /* u: */
    check_request("http://x:y@127.0.0.1/|-u|u:p", 0,
                  "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n" AGENT
                  "Accept: */*\r\nAuthorization: Basic dTpw\r\n\r\n");
}

/* ---- URLs ------------------------------------------------------------------------------------ */

static void several_urls_are_several_requests(void **state)
{
    (void)state;
    struct rv_bench_plan plan = made("127.0.0.1:81/a|http://127.0.0.1:81/b");
    assert_int_equal(plan.load.request_count, 2);
    assert_string_equal(plan.load.target.url, "127.0.0.1:81/a");
    assert_memory_equal(plan.load.requests[0].octets, "GET /a ", 7);
    assert_memory_equal(plan.load.requests[1].octets, "GET /b ", 7);
    rv_bench_plan_free(&plan);
}

static void a_file_of_urls_has_one_in_each_line(void **state)
{
    (void)state;
    static const char list[] =
        "# a comment\n\n127.0.0.1:81/a\r\n  127.0.0.1:81/b\t\n127.0.0.1:81/c";
    write_file(list, sizeof list - 1);
    struct rv_bench_plan plan = made("--urls|file");
    assert_int_equal(plan.load.request_count, 3);
    assert_string_equal(plan.load.target.url, "127.0.0.1:81/a");
    assert_memory_equal(plan.load.requests[1].octets, "GET /b ", 7);
    assert_memory_equal(plan.load.requests[2].octets, "GET /c ", 7);
    rv_bench_plan_free(&plan);
}

/* ---- fields of clients ----------------------------------------------------------------------- */

static void expect_cookie(const struct rv_bench_plan *plan, unsigned at, const char *target,
                          const char *cookie)
{
    const struct rv_load_request *request = &plan->load.requests[at];
    char expected[256];
    snprintf(expected, sizeof expected,
             "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\n" AGENT "Accept: */*\r\nX: 1\r\n%s\r\n", target,
             cookie);
    assert_int_equal(request->length, strlen(expected));
    assert_memory_equal(request->octets, expected, request->length);
}

static void clients_may_have_fields_of_their_own(void **state)
{
    (void)state;
    static const char list[] = "Cookie: sid=a\r\n\nCookie:sid=b";
    write_file(list, sizeof list - 1);
    struct rv_bench_plan plan = made("-H|X: 1|--client-headers|file|127.0.0.1/x|127.0.0.1/y|-c|10");
    assert_int_equal(plan.load.request_count, 2);
    assert_int_equal(plan.load.set_count, 3);
    expect_cookie(&plan, 0, "/x", "Cookie: sid=a\r\n");
    expect_cookie(&plan, 1, "/y", "Cookie: sid=a\r\n");
    expect_cookie(&plan, 2, "/x", "");
    expect_cookie(&plan, 4, "/x", "Cookie: sid=b\r\n");
    rv_bench_plan_free(&plan);
}

static void a_client_of_http_2_has_its_field_among_the_others(void **state)
{
    (void)state;
    if (!RV_H2_BUILT)
        skip();
    write_file("\nCookie: sid=b\n", 15);
    struct rv_bench_plan plan = made("--http2|--client-headers|file|127.0.0.1|-c|2");
    const struct rv_load_request *without = &plan.load.requests[0], *with = &plan.load.requests[1];
    assert_int_equal(with->field_count, without->field_count + 1);
    const struct rv_h2_field *last = &with->fields[with->field_count - 1];
    assert_true(rv_equals(last->name, "cookie"));
    assert_true(rv_equals(last->value, "sid=b"));
    rv_bench_plan_free(&plan);
}

static void no_more_sets_are_made_than_there_are_clients(void **state)
{
    (void)state;
    write_file("A: 1\nA: 2\nA: 3\n", 15);
    struct rv_bench_plan plan = made("--client-headers|file|127.0.0.1|-c|2");
    assert_int_equal(plan.load.set_count, 2);
    rv_bench_plan_free(&plan);
    plan = made("--client-headers|file|127.0.0.1|-c|9");
    assert_int_equal(plan.load.set_count, 3);
    rv_bench_plan_free(&plan);
}

/* ---- where to -------------------------------------------------------------------------------- */

static void a_proxy_is_asked_with_the_whole_url(void **state)
{
    (void)state;
    const char *line = "-x|http://u:p@127.0.0.5:3128|http://name.invalid:81?x";
    struct rv_bench_plan plan = made(line);
    assert_string_equal(plan.load.target.proxy, "127.0.0.5:3128");
    assert_string_equal(plan.load.target.host, "name.invalid");
    assert_int_equal(plan.load.target.address_count, 1);
    rv_bench_plan_free(&plan);
    check_request(line, 0,
                  "GET http://name.invalid:81/?x HTTP/1.1\r\nHost: name.invalid:81\r\n" AGENT
                  "Accept: */*\r\nProxy-Authorization: Basic dTpw\r\n\r\n");
    plan = made("-x|[::1]|127.0.0.1");
    assert_string_equal(plan.load.target.proxy, "[::1]");
    rv_bench_plan_free(&plan);
}

static void places_are_taken_over(void **state)
{
    (void)state;
    struct rv_bench_plan plan = made("--unix-socket|/s|name.invalid");
    assert_string_equal(plan.load.target.unix_path, "/s");
    rv_bench_plan_free(&plan);
    plan = made("--source|127.0.0.0/8|--resolve|name.invalid:80:127.0.0.9|name.invalid");
    assert_int_equal(plan.load.target.source.count, 16777214);
    assert_int_equal(plan.load.target.address_count, 1);
    rv_bench_plan_free(&plan);
}

/* ---- what cannot be -------------------------------------------------------------------------- */

static void what_cannot_be_says_why_and_whose_fault_it_is(void **state)
{
    (void)state;
    static const char no_urls[] = "# nothing\n\n";
    static const struct {
        const char *line;
        int code;
        const char *says;
    } cases[] = {
#if RV_TLS_BUILT
        {"https://127.0.0.1|127.0.0.1:443", RV_EXIT_USAGE, "has another scheme, host or port"},
        {"-x|p:1|https://127.0.0.1", RV_EXIT_USAGE, "tunnels through a proxy are not made"},
        {"--cacert|/absent|https://127.0.0.1", RV_EXIT_NO_START,
         "the certificates in \"/absent\" cannot be used: No such file"},
        {"--cert|/absent|-k|https://127.0.0.1", RV_EXIT_NO_START,
         "the certificate \"/absent\" cannot be used"},
        {"--ciphers|NONE-SUCH|https://127.0.0.1", RV_EXIT_NO_START,
         "the cipher list \"NONE-SUCH\" cannot be used: no cipher match"},
        {"-x|https://p|127.0.0.1", RV_EXIT_USAGE, "-x takes a proxy that is spoken to in plain"},
#else
        {"https://127.0.0.1", RV_EXIT_USAGE, "https needs TLS, and this rivulet was built without"},
        {"-x|https://p|127.0.0.1", RV_EXIT_USAGE, "-x \"https://p\": https needs TLS"},
#endif
        {"-k|127.0.0.1", RV_EXIT_USAGE, "-k is for https URLs, and \"127.0.0.1\" is none"},
        {"--tls-resume|127.0.0.1", RV_EXIT_USAGE, "--tls-resume is for https URLs"},
        {"127.0.0.1:x", RV_EXIT_USAGE, "the port must be"},
        {"127.0.0.1/a|127.0.0.2/b", RV_EXIT_USAGE,
         "\"127.0.0.2/b\" has another scheme, host or port than \"127.0.0.1/a\""},
        {"127.0.0.1/a|127.0.0.1:81/a", RV_EXIT_USAGE, "all URLs of a run must go to one server"},
        {"http://u%00:p@127.0.0.1", RV_EXIT_USAGE, "%00"},
        {"-H|X|127.0.0.1", RV_EXIT_USAGE, "-H takes \"Name: value\", not \"X\""},
        {"-H|: x|127.0.0.1", RV_EXIT_USAGE, "-H takes"},
        {"-H|;|127.0.0.1", RV_EXIT_USAGE, "-H takes"},
        {"-H|A B: x|127.0.0.1", RV_EXIT_USAGE, "is no token"},
        {"-H|X: a\rb|127.0.0.1", RV_EXIT_USAGE, "control octet"},
        {"-X|GE T|127.0.0.1", RV_EXIT_USAGE, "the method \"GE T\" is no token"},
        {"--source|x|127.0.0.1", RV_EXIT_USAGE, "--source \"x\": not an IP address"},
        {"--resolve|x|127.0.0.1", RV_EXIT_USAGE, "--resolve \"x\" is not host:port:address"},
        {"--resolve|a:80:::1|127.0.0.1", RV_EXIT_USAGE, "is for another host or port"},
        {"--urls|file", RV_EXIT_USAGE, "--urls: there is no URL in \"file\""},
        {"--urls|/nothing/there", RV_EXIT_NO_START, "cannot read \"/nothing/there\": No such file"},
        {"-d|@/nothing/there|127.0.0.1", RV_EXIT_NO_START, "cannot read \"/nothing/there\""},
        {"-d|@/|127.0.0.1", RV_EXIT_NO_START, "cannot read \"/\": Is a directory"},
        {"a..b", RV_EXIT_NO_START, "\"a..b\" could not be resolved"},
        {"--source|::1|127.0.0.1", RV_EXIT_NO_START, "has no IPv6 address"},
    };
    write_file(no_urls, sizeof no_urls - 1);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct rv_bench_plan plan;
        int code = make(cases[i].line, &plan);
        if (code != cases[i].code)
            fail_msg("\"%s\" gives %d: %s", cases[i].line, code, why);
        if (strstr(why, cases[i].says) == NULL)
            fail_msg("\"%s\": %s", cases[i].line, why);
        rv_bench_plan_free(&plan);
    }
}

static void a_file_with_a_nul_is_no_list(void **state)
{
    (void)state;
    struct rv_bench_plan plan;
    write_file("127.0.0.1\0x\n", 12);
    assert_int_equal(make("--urls|file", &plan), RV_EXIT_USAGE);
    assert_non_null(strstr(why, "\"file\" is no text"));
    rv_bench_plan_free(&plan);
    write_file("", 0);
    assert_int_equal(make("--urls|file", &plan), RV_EXIT_USAGE);
    assert_non_null(strstr(why, "there is no URL"));
    rv_bench_plan_free(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_options_fifty_clients_run_for_ten_seconds),
        cmocka_unit_test(any_limit_takes_the_place_of_the_ten_seconds),
        cmocka_unit_test(a_rate_makes_the_model_open),
        cmocka_unit_test(how_is_copied),
        cmocka_unit_test(fewer_requests_than_clients_need_fewer_clients),
        cmocka_unit_test(a_get_is_plain),
        cmocka_unit_test(connections_are_kept_or_not_in_both_versions),
        cmocka_unit_test(data_make_a_form_and_a_post),
        cmocka_unit_test(json_says_so_in_both_directions),
        cmocka_unit_test(a_post_without_data_has_a_length_and_no_type),
        cmocka_unit_test(a_files_octets_are_sent_as_they_are),
        cmocka_unit_test(fields_follow_curls_three_forms),
        cmocka_unit_test(credentials_come_from_the_option_or_each_url),
        cmocka_unit_test(several_urls_are_several_requests),
        cmocka_unit_test(a_file_of_urls_has_one_in_each_line),
        cmocka_unit_test(clients_may_have_fields_of_their_own),
        cmocka_unit_test(a_client_of_http_2_has_its_field_among_the_others),
        cmocka_unit_test(no_more_sets_are_made_than_there_are_clients),
        cmocka_unit_test(a_proxy_is_asked_with_the_whole_url),
        cmocka_unit_test(places_are_taken_over),
        cmocka_unit_test(what_cannot_be_says_why_and_whose_fault_it_is),
        cmocka_unit_test(a_file_with_a_nul_is_no_list),
    };
    return cmocka_run_group_tests(tests, enter_own_folder, leave_own_folder);
}
