/*
 * ApacheBench's command line, option by option.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ab_options.h"

#define URL "127.0.0.1:8910/ok"
#define ARGUMENTS_MAX 600

static struct rv_ab_command command;

/* Parses words that end with a NULL. */
static void parse_words(const char *const *words)
{
    char *argv[ARGUMENTS_MAX] = {(char *)"ab"};
    int argc = 1;
    for (; words[argc - 1] != NULL; argc++)
        argv[argc] = (char *)words[argc - 1];
    rv_ab_parse(&command, argc, argv);
}

#define PARSE(...) parse_words((const char *const[]){__VA_ARGS__, NULL})

#define EXPECT_RUN(...)                                                                            \
    do {                                                                                           \
        PARSE(__VA_ARGS__);                                                                        \
        if (command.asked != RV_AB_RUN)                                                            \
            fail_msg("refused: %s", command.why);                                                  \
    } while (0)

/* Refused in the kind of way, with those words among its own. */
#define EXPECT_WRONG(kind, words, ...)                                                             \
    do {                                                                                           \
        PARSE(__VA_ARGS__);                                                                        \
        assert_int_equal(command.asked, kind);                                                     \
        if (strstr(command.why, words) == NULL)                                                    \
            fail_msg("\"%s\" has no \"%s\"", command.why, words);                                  \
    } while (0)

/* ---- how much -------------------------------------------------------------------------------- */

static void one_request_at_a_time_is_the_default(void **state)
{
    (void)state;
    EXPECT_RUN(URL);
    assert_int_equal(command.requests, 1);
    assert_int_equal(command.concurrency, 1);
    assert_int_equal(command.time_s, 0);
    assert_int_equal(command.timeout_s, 30);
    assert_string_equal(command.method, "GET");
    assert_string_equal(command.content_type, "text/plain");
    assert_null(command.body_path);
    assert_null(command.proxy);
    assert_false(command.keep_alive || command.goes_on || command.quiet);
}

static void numbers_are_taken_whole(void **state)
{
    (void)state;
    EXPECT_RUN("-n", "5000000000", "-c", "20000", "-s", "7", "-b", "4096", "-v", "3", URL);
    assert_int_equal(command.requests, 5000000000);
    assert_int_equal(command.concurrency, 20000);
    assert_int_equal(command.timeout_s, 7);
    assert_int_equal(command.buffer_bytes, 4096);
    assert_int_equal(command.verbosity, 3);
    EXPECT_RUN("-n200", "-c10", "-kr", URL);
    assert_int_equal(command.requests, 200);
    assert_int_equal(command.concurrency, 10);
    assert_true(command.keep_alive && command.report.keep_alive && command.goes_on);
}

static void a_request_number_that_is_none_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"0", "-5", "x", "", "1e3", "5x", "99999999999999999999"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        EXPECT_WRONG(RV_AB_WRONG, "Invalid number of requests", "-n", texts[i], URL);
}

static void a_concurrency_that_cannot_be_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"0", "-1", "x", "1000001"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        EXPECT_WRONG(RV_AB_WRONG_USAGE, "Invalid Concurrency [Range 1..1000000]", "-n", "2000000",
                     "-c", texts[i], URL);
    EXPECT_WRONG(RV_AB_WRONG_USAGE,
                 "Cannot use concurrency level greater than total number of requests", "-c", "5",
                 "-n", "4", URL);
    EXPECT_RUN("-c", "5", "-n", "5", URL);
}

/* The order of -n and -t matters, as it does there. */
static void a_time_sets_50000_requests_where_it_stands(void **state)
{
    (void)state;
    EXPECT_RUN("-t", "10", URL);
    assert_int_equal(command.requests, 50000);
    assert_int_equal(command.time_s, 10);
    EXPECT_RUN("-n", "1000", "-t", "10", URL);
    assert_int_equal(command.requests, 50000);
    EXPECT_RUN("-t", "10", "-n", "1000", URL);
    assert_int_equal(command.requests, 1000);
    assert_int_equal(command.time_s, 10);
    EXPECT_RUN("-t", "0", URL);
    assert_int_equal(command.requests, 50000);
    assert_int_equal(command.time_s, 0);
}

static void times_and_sizes_that_are_none_are_refused(void **state)
{
    (void)state;
    EXPECT_WRONG(RV_AB_WRONG_USAGE, "-t must be a whole number of seconds, not \"5s\"", "-t", "5s",
                 URL);
    EXPECT_WRONG(RV_AB_WRONG_USAGE, "-s must be", "-s", "x", URL);
    EXPECT_WRONG(RV_AB_WRONG_USAGE, "-s must be", "-s", "9223372036855", URL);
    EXPECT_WRONG(RV_AB_WRONG_USAGE, "-b must be", "-b", "4k", URL);
    EXPECT_WRONG(RV_AB_WRONG_USAGE, "-b must be", "-b", "-1", URL);
    EXPECT_WRONG(RV_AB_WRONG_USAGE, "-b must be", "-b", "3000000000", URL);
    EXPECT_WRONG(RV_AB_WRONG_USAGE, "-v must be", "-v", "loud", URL);
    EXPECT_RUN("-s", "-1", URL);
    assert_int_equal(command.timeout_s, 0);
}

/* ---- what ------------------------------------------------------------------------------------ */

static void a_body_or_head_needs_a_method_that_is_free(void **state)
{
    (void)state;
    EXPECT_RUN("-p", "f", URL);
    assert_string_equal(command.method, "POST");
    assert_string_equal(command.body_path, "f");
    EXPECT_RUN("-u", "f", URL);
    assert_string_equal(command.method, "PUT");
    assert_string_equal(command.body_path, "f");
    EXPECT_RUN("-i", URL);
    assert_string_equal(command.method, "HEAD");
    EXPECT_WRONG(RV_AB_WRONG, "Cannot mix PUT with other methods", "-p", "f", "-u", "f", URL);
    EXPECT_WRONG(RV_AB_WRONG, "Cannot mix POST with other methods", "-i", "-p", "f", URL);
    EXPECT_WRONG(RV_AB_WRONG, "Cannot mix HEAD with other methods", "-p", "f", "-i", URL);
    EXPECT_WRONG(RV_AB_WRONG, "Cannot mix POST with other methods", "-m", "GET", "-p", "f", URL);
    EXPECT_WRONG(RV_AB_WRONG, "Cannot mix HEAD with other methods", "-i", "-i", URL);
}

static void a_named_method_takes_the_place_of_another_and_keeps_its_body(void **state)
{
    (void)state;
    EXPECT_RUN("-p", "f", "-m", "PATCH", URL);
    assert_string_equal(command.method, "PATCH");
    assert_string_equal(command.body_path, "f");
    EXPECT_RUN("-m", "A", "-m", "B", URL);
    assert_string_equal(command.method, "B");
    EXPECT_WRONG(RV_AB_WRONG_USAGE, "-m needs a method", "-m", "FOO BAR", URL);
    EXPECT_WRONG(RV_AB_WRONG_USAGE, "-m needs a method", "-m", "", URL);
}

static void fields_and_cookies_add_up(void **state)
{
    (void)state;
    EXPECT_RUN("-H", "X-A: 1", "-C", "a=1", "-H", "X-B:2", "-C", "b=2", "-T", "a/b", "-A", "u:p",
               "-P", "x:y", URL);
    assert_int_equal(command.field_count, 2);
    assert_string_equal(command.fields[0], "X-A: 1");
    assert_string_equal(command.fields[1], "X-B:2");
    assert_int_equal(command.cookie_count, 2);
    assert_string_equal(command.cookies[0], "a=1");
    assert_string_equal(command.cookies[1], "b=2");
    assert_string_equal(command.content_type, "a/b");
    assert_string_equal(command.credentials, "u:p");
    assert_string_equal(command.proxy_credentials, "x:y");
}

static void what_would_break_the_request_is_refused(void **state)
{
    (void)state;
    static const char *const lines[] = {"noname", ": x", "a b: c", "", "X: 1\r\nY: 2", "X: \x7f"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        EXPECT_WRONG(RV_AB_WRONG_USAGE, "-H needs a header line", "-H", lines[i], URL);
    EXPECT_WRONG(RV_AB_WRONG_USAGE, "-C needs a cookie", "-C", "a=1\nb", URL);
    EXPECT_WRONG(RV_AB_WRONG_USAGE, "-C needs a cookie", "-C", "", URL);
    EXPECT_WRONG(RV_AB_WRONG_USAGE, "-T needs a media type", "-T", "a\n", URL);
}

static void there_is_an_end_to_fields(void **state)
{
    (void)state;
    static const char *const options[] = {"-H", "-C"};
    static const char *const values[] = {"a:b", "a=b"};
    for (size_t kind = 0; kind < 2; kind++) {
        const char *words[ARGUMENTS_MAX] = {NULL};
        size_t count = 0;
        for (size_t i = 0; i <= RV_AB_FIELDS_MAX; i++) {
            words[count++] = options[kind];
            words[count++] = values[kind];
        }
        words[count] = URL;
        parse_words(words);
        assert_int_equal(command.asked, RV_AB_WRONG_USAGE);
        assert_non_null(strstr(command.why, "can be given 256 times"));
    }
}

/* ---- where to -------------------------------------------------------------------------------- */

static void a_proxy_without_a_port_is_at_80(void **state)
{
    (void)state;
    EXPECT_RUN("-X", "proxy.example:3128", URL);
    assert_int_equal(command.proxy_url.port, 3128);
    EXPECT_RUN("-X", "proxy.example", URL);
    assert_int_equal(command.proxy_url.port, 80);
    EXPECT_WRONG(RV_AB_WRONG_USAGE, "-X needs a proxy", "-X", "proxy.example:x", URL);
}

static void a_local_address_has_to_be_one(void **state)
{
    (void)state;
    EXPECT_RUN("-B", "127.0.0.9", URL);
    assert_int_equal(command.source.count, 1);
    EXPECT_RUN("-B", "127.0.0.2-127.0.0.5", URL);
    assert_int_equal(command.source.count, 4);
    EXPECT_WRONG(RV_AB_WRONG_USAGE, "-B: ", "-B", "nowhere", URL);
}

static void a_url_may_lack_scheme_and_path(void **state)
{
    (void)state;
    EXPECT_RUN("http://h.example/a?b");
    assert_int_equal(command.url.port, 80);
    EXPECT_RUN("h.example:81");
    assert_int_equal(command.url.port, 81);
    assert_memory_equal(command.url.target.ptr, "/", 1);
    EXPECT_RUN("[::1]:8910/ok");
    assert_true(command.url.host_is_ipv6);
}

static void a_url_that_is_none_is_refused(void **state)
{
    (void)state;
    EXPECT_WRONG(RV_AB_WRONG_USAGE, "invalid URL", "http:///x");
    EXPECT_WRONG(RV_AB_WRONG_USAGE, "invalid URL", "ftp://h/");
    EXPECT_WRONG(RV_AB_WRONG_USAGE, "invalid URL", "h:99999/");
    EXPECT_WRONG(RV_AB_WRONG_USAGE, "invalid URL", "");
    EXPECT_WRONG(RV_AB_WRONG_USAGE, "are given with -A", "http://u:p@h/");
#if !RV_TLS_BUILT
    EXPECT_WRONG(RV_AB_WRONG_USAGE, "https needs TLS", "https://h/");
#endif
}

#if RV_TLS_BUILT
static void an_https_url_takes_the_options_of_tls(void **state)
{
    (void)state;
    EXPECT_RUN("https://h/");
    assert_true(command.tls.insecure);
    assert_int_equal(command.url.port, 443);
    assert_int_equal(command.tls.version_max, 0);
    EXPECT_RUN("-f", "TLS1.2", "-Z", "HIGH", "-E", "both.pem", "-I", "HTTPS://h/");
    assert_int_equal(command.tls.version_min, 0x0303);
    assert_int_equal(command.tls.version_max, 0x0303);
    assert_string_equal(command.tls.ciphers, "HIGH");
    assert_string_equal(command.tls.certificate, "both.pem");
    assert_true(command.tls.hide_name);
    EXPECT_WRONG(RV_AB_WRONG_USAGE, "-f takes ALL, TLS1,", "-f", "SSL3", "https://h/");
    EXPECT_WRONG(RV_AB_WRONG_USAGE, "tunnels through a proxy", "-X", "p:1", "https://h/");
}
#endif

static void options_of_tls_are_for_https(void **state)
{
    (void)state;
    EXPECT_WRONG(RV_AB_WRONG_USAGE, "-Z is for https URLs", "-Z", "HIGH", "-f", "ALL", URL);
    EXPECT_WRONG(RV_AB_WRONG_USAGE, "-f is for https URLs", "-f", "TLS1.2", URL);
    EXPECT_WRONG(RV_AB_WRONG_USAGE, "-E is for https URLs", "-E", "cert.pem", URL);
    EXPECT_RUN("-I", URL);
}

static void one_url_is_needed(void **state)
{
    (void)state;
    EXPECT_WRONG(RV_AB_WRONG_USAGE, "wrong number of arguments", "-n", "1");
    EXPECT_WRONG(RV_AB_WRONG_USAGE, "wrong number of arguments", URL, URL);
}

/* ---- what is said ---------------------------------------------------------------------------- */

static void the_report_has_its_options(void **state)
{
    (void)state;
    EXPECT_RUN("-d", "-S", "-l", "-q", "-g", "g", "-e", "e", "--save", "s", URL);
    assert_string_equal(command.save_path, "s");
    assert_true(command.report.no_percentiles && command.report.no_statistics);
    assert_true(command.report.variable_length && command.quiet);
    assert_string_equal(command.gnuplot_path, "g");
    assert_string_equal(command.csv_path, "e");
    assert_false(command.report.html);
}

static void any_attribute_means_html(void **state)
{
    (void)state;
    EXPECT_RUN("-w", URL);
    assert_true(command.report.html);
    EXPECT_RUN("-x", "t", URL);
    assert_true(command.report.html);
    EXPECT_RUN("-y", "r", URL);
    assert_true(command.report.html);
    EXPECT_RUN("-z", "c", URL);
    assert_true(command.report.html);
    assert_string_equal(command.report.html_cell, "c");
}

static void version_and_usage_come_before_all_else(void **state)
{
    (void)state;
    PARSE("-V");
    assert_int_equal(command.asked, RV_AB_VERSION);
    PARSE("-h", "-n", "x");
    assert_int_equal(command.asked, RV_AB_USAGE);
    PARSE("--help");
    assert_int_equal(command.asked, RV_AB_HELP);
}

static void unknown_options_are_named(void **state)
{
    (void)state;
    EXPECT_WRONG(RV_AB_WRONG_USAGE, "illegal option -- Q", "-Q", URL);
    EXPECT_WRONG(RV_AB_WRONG_USAGE, "illegal option -- Q", "-kQ", URL);
    EXPECT_WRONG(RV_AB_WRONG_USAGE, "illegal option -- --nix", "--nix", URL);
    EXPECT_WRONG(RV_AB_WRONG_USAGE, "option requires an argument -- n", URL, "-n");
    EXPECT_WRONG(RV_AB_WRONG_USAGE, "option requires an argument -- save", URL, "--save");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_request_at_a_time_is_the_default),
        cmocka_unit_test(numbers_are_taken_whole),
        cmocka_unit_test(a_request_number_that_is_none_is_refused),
        cmocka_unit_test(a_concurrency_that_cannot_be_is_refused),
        cmocka_unit_test(a_time_sets_50000_requests_where_it_stands),
        cmocka_unit_test(times_and_sizes_that_are_none_are_refused),
        cmocka_unit_test(a_body_or_head_needs_a_method_that_is_free),
        cmocka_unit_test(a_named_method_takes_the_place_of_another_and_keeps_its_body),
        cmocka_unit_test(fields_and_cookies_add_up),
        cmocka_unit_test(what_would_break_the_request_is_refused),
        cmocka_unit_test(there_is_an_end_to_fields),
        cmocka_unit_test(a_proxy_without_a_port_is_at_80),
        cmocka_unit_test(a_local_address_has_to_be_one),
        cmocka_unit_test(a_url_may_lack_scheme_and_path),
        cmocka_unit_test(a_url_that_is_none_is_refused),
#if RV_TLS_BUILT
        cmocka_unit_test(an_https_url_takes_the_options_of_tls),
#endif
        cmocka_unit_test(options_of_tls_are_for_https),
        cmocka_unit_test(one_url_is_needed),
        cmocka_unit_test(the_report_has_its_options),
        cmocka_unit_test(any_attribute_means_html),
        cmocka_unit_test(version_and_usage_come_before_all_else),
        cmocka_unit_test(unknown_options_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
