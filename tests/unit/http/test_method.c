/*
 * Request methods (RFC 9110 section 9): which have a number, and that nothing else has.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "http/method.h"

static const rv_bytes known[] = {
    {"GET", 3},     {"HEAD", 4},    {"POST", 4},  {"PUT", 3},   {"DELETE", 6},
    {"CONNECT", 7}, {"OPTIONS", 7}, {"TRACE", 5}, {"PATCH", 5},
};
static const enum rv_method numbers[] = {
    RV_METHOD_GET,     RV_METHOD_HEAD,    RV_METHOD_POST,  RV_METHOD_PUT,   RV_METHOD_DELETE,
    RV_METHOD_CONNECT, RV_METHOD_OPTIONS, RV_METHOD_TRACE, RV_METHOD_PATCH,
};

#define KNOWN (sizeof(known) / sizeof(known[0]))

static void each_known_method_has_its_number(void **state)
{
    (void)state;
    for (size_t i = 0; i < KNOWN; i++)
        assert_int_equal(rv_method_of(known[i]), numbers[i]);
}

static void methods_are_case_sensitive(void **state)
{
    (void)state;
    const rv_bytes texts[] = {RV_LIT("get"),  RV_LIT("Get"),     RV_LIT("GEt"),    RV_LIT("gET"),
                              RV_LIT("pOST"), RV_LIT("options"), RV_LIT("DELETe"), RV_LIT("patch")};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_int_equal(rv_method_of(texts[i]), RV_METHOD_EXTENSION);
}

static void parts_and_continuations_of_known_methods_are_extensions(void **state)
{
    (void)state;
    for (size_t i = 0; i < KNOWN; i++) {
        char longer[16];
        memcpy(longer, known[i].ptr, known[i].len);
        longer[known[i].len] = 'X';
        assert_int_equal(rv_method_of(rv_slice(longer, known[i].len + 1)), RV_METHOD_EXTENSION);
        assert_int_equal(rv_method_of(rv_slice(longer, known[i].len - 1)), RV_METHOD_EXTENSION);
        longer[known[i].len - 1] = 'X';
        assert_int_equal(rv_method_of(rv_slice(longer, known[i].len)), RV_METHOD_EXTENSION);
    }
    assert_int_equal(rv_method_of(RV_LIT("")), RV_METHOD_EXTENSION);
    assert_int_equal(rv_method_of(RV_LIT("PROPFIND")), RV_METHOD_EXTENSION);
}

static void get_head_put_delete_options_and_trace_are_idempotent(void **state)
{
    (void)state;
    for (size_t i = 0; i < KNOWN; i++)
        assert_int_equal(rv_method_is_idempotent(numbers[i]), numbers[i] != RV_METHOD_POST &&
                                                                  numbers[i] != RV_METHOD_CONNECT &&
                                                                  numbers[i] != RV_METHOD_PATCH);
    assert_false(rv_method_is_idempotent(RV_METHOD_EXTENSION));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_known_method_has_its_number),
        cmocka_unit_test(methods_are_case_sensitive),
        cmocka_unit_test(parts_and_continuations_of_known_methods_are_extensions),
        cmocka_unit_test(get_head_put_delete_options_and_trace_are_idempotent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
