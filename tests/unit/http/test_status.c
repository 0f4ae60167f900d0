/*
 * Reason phrases (RFC 9110 section 15) and which answers carry content (section 6.4.1).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>

#include "http/status.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void assert_reason(int status, const char *expected)
{
    rv_bytes reason = rv_status_reason(status);
    if (!rv_equals(reason, expected))
        fail_msg("%d is \"%.*s\", not \"%s\"", status, (int)reason.len, reason.ptr, expected);
}

static void the_codes_that_the_server_itself_sends_have_the_phrases_of_the_rfc(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *reason;
    } cases[] = {
        {100, "Continue"},
        {200, "OK"},
        {204, "No Content"},
        {206, "Partial Content"},
        {301, "Moved Permanently"},
        {302, "Found"},
        {303, "See Other"},
        {304, "Not Modified"},
        {307, "Temporary Redirect"},
        {308, "Permanent Redirect"},
        {400, "Bad Request"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {408, "Request Timeout"},
        {411, "Length Required"},
        {412, "Precondition Failed"},
        {413, "Content Too Large"},
        {414, "URI Too Long"},
        {416, "Range Not Satisfiable"},
        {417, "Expectation Failed"},
        {428, "Precondition Required"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {503, "Service Unavailable"},
        {505, "HTTP Version Not Supported"},
        {511, "Network Authentication Required"},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_reason(cases[i].status, cases[i].reason);
}

static void a_code_without_a_phrase_is_unknown(void **state)
{
    (void)state;
    static const int codes[] = {0,   -200, 99,  199, 299,     306,    418,
                                499, 599,  600, 999, INT_MIN, INT_MAX};
    for (size_t i = 0; i < COUNT(codes); i++)
        assert_reason(codes[i], "Unknown");
}

static void every_phrase_can_stand_in_a_status_line(void **state)
{
    (void)state;
    for (int status = 0; status < 1000; status++) {
        rv_bytes reason = rv_status_reason(status);
        assert_non_null(reason.ptr);
        assert_in_range(reason.len, 1, 40);
        for (size_t i = 0; i < reason.len; i++)
            assert_in_range(reason.ptr[i], ' ', '~');
    }
}

static void all_codes_of_rfc_9110_and_6585_have_a_phrase(void **state)
{
    (void)state;
    static const struct {
        int first;
        int last;
    } runs[] = {{100, 101}, {200, 206}, {300, 305}, {307, 308}, {400, 417}, {421, 422},
                {426, 426}, {428, 429}, {431, 431}, {500, 505}, {511, 511}};
    for (size_t i = 0; i < COUNT(runs); i++)
        for (int status = runs[i].first; status <= runs[i].last; status++)
            assert_false(rv_equals(rv_status_reason(status), "Unknown"));
}

static void only_1xx_204_and_304_have_no_content(void **state)
{
    (void)state;
    for (int status = 100; status < 600; status++) {
        bool none = status < 200 || status == 204 || status == 304;
        assert_int_equal(rv_status_has_body(status), !none);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_codes_that_the_server_itself_sends_have_the_phrases_of_the_rfc),
        cmocka_unit_test(a_code_without_a_phrase_is_unknown),
        cmocka_unit_test(every_phrase_can_stand_in_a_status_line),
        cmocka_unit_test(all_codes_of_rfc_9110_and_6585_have_a_phrase),
        cmocka_unit_test(only_1xx_204_and_304_have_no_content),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
