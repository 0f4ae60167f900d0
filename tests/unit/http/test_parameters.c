/*
 * Parameters of field values: by example, and read back from any values that were written.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "http/parameters.h"
#include "random.h"
#include "unit/http/exact_copy.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* All of a field as "value|name=decoded|…", with "!" at the end where it is malformed. */
static void assert_read(const char *field, const char *expected)
{
    char seen[256];
    rv_bytes copy = exact_copy(rv_str(field)), parameters;
    rv_bytes value = rv_parameters_split(copy, &parameters);
    size_t length = (size_t)snprintf(seen, sizeof seen, "%.*s|", (int)value.len, value.ptr);
    struct rv_parameter parameter;
    enum rv_parameter_result result;
    while ((result = rv_parameter_next(&parameters, &parameter)) == RV_PARAMETER) {
        char decoded[128];
        size_t count = rv_parameter_decode(&parameter, decoded);
        length +=
            (size_t)snprintf(seen + length, sizeof seen - length, "%.*s=%.*s|",
                             (int)parameter.name.len, parameter.name.ptr, (int)count, decoded);
    }
    if (result == RV_PARAMETER_ERROR)
        snprintf(seen + length, sizeof seen - length, "!");
    if (strcmp(seen, expected) != 0)
        fail_msg("\"%s\" gives \"%s\", not \"%s\"", field, seen, expected);
    give_back(copy);
}

static void a_value_and_its_parameters_are_read(void **state)
{
    (void)state;
    assert_read("text/html", "text/html|");
    assert_read("", "|");
    assert_read(" text/html ", "text/html|");
    assert_read("text/html;charset=utf-8", "text/html|charset=utf-8|");
    assert_read("text/html ; charset=utf-8 ; a=b ", "text/html|charset=utf-8|a=b|");
    assert_read("form-data; name=\"a\"; filename=\"b;c=d\"", "form-data|name=a|filename=b;c=d|");
    assert_read("x; a=\"\"", "x|a=|");
    assert_read("x; a=\"q\\\"\\\\q\"", "x|a=q\"\\q|");
    assert_read("x; filename*=UTF-8''%e2%82%ac", "x|filename*=UTF-8''%e2%82%ac|");
    assert_read("x; a=\"\xc3\xbc\"; b=\xc3\xbc", "x|a=\xc3\xbc|b=\xc3\xbc|");
}

static void empty_parameters_are_passed_over(void **state)
{
    (void)state;
    assert_read("x;", "x|");
    assert_read("x; ; ;;a=b;;", "x|a=b|");
}

static void a_value_without_quotes_may_be_more_than_a_token(void **state)
{
    (void)state;
    assert_read("multipart/form-data; boundary=----=_Part_1:2/3",
                "multipart/form-data|boundary=----=_Part_1:2/3|");
    assert_read("x; a=b=c", "x|a=b=c|");
}

static void malformed_parameters_are_an_error(void **state)
{
    (void)state;
    static const char *const parameters[] = {
        "a",     "a=",      "=b",          "a =b",     "a= b",        "a=b c",
        "a=\"b", "a=\"b\\", "a=\"b\\\"",   "a=\"b\"c", "a=b\"c\"",    "a=\"",
        "a(=b",  ",",       "a=\"b\x01\"", "a=b\x7f",  "a=\"b\\\n\"", "\xc3\xbc=b",
    };
    for (size_t i = 0; i < COUNT(parameters); i++) {
        char field[64];
        snprintf(field, sizeof field, "x; g=h; %s; i=j", parameters[i]);
        assert_read(field, "x|g=h|!");
        snprintf(field, sizeof field, "x; g=h; %s", parameters[i]);
        assert_read(field, "x|g=h|!");
    }
}

static void a_parameter_is_found_by_its_name_in_any_case(void **state)
{
    (void)state;
    struct rv_parameter found;
    rv_bytes parameters = RV_LIT("a=1; Bo=\"2\"; c=3");
    assert_int_equal(rv_parameter_find(parameters, RV_LIT("bO"), &found), RV_PARAMETER);
    assert_true(rv_equals(found.value, "2") && found.is_quoted);
    assert_int_equal(rv_parameter_find(parameters, RV_LIT("b"), &found), RV_PARAMETER_END);
    assert_int_equal(rv_parameter_find((rv_bytes){0}, RV_LIT("b"), &found), RV_PARAMETER_END);
}

static void a_parameter_that_is_there_twice_is_an_error(void **state)
{
    (void)state;
    struct rv_parameter found;
    assert_int_equal(rv_parameter_find(RV_LIT("a=1; b=2; A=1"), RV_LIT("a"), &found),
                     RV_PARAMETER_ERROR);
    assert_int_equal(rv_parameter_find(RV_LIT("a=1; b=2; A=1"), RV_LIT("b"), &found), RV_PARAMETER);
    assert_int_equal(rv_parameter_find(RV_LIT("a=1; b"), RV_LIT("a"), &found), RV_PARAMETER_ERROR);
}

static void a_charset_is_a_token_or_none(void **state)
{
    (void)state;
    assert_true(rv_equals(rv_charset_of(RV_LIT("text/html; charset=utf-8")), "utf-8"));
    assert_true(rv_equals(rv_charset_of(RV_LIT("text/html;a=b;Charset=\"UTF-8\"")), "UTF-8"));
    static const char *const without[] = {"",
                                          "text/html",
                                          "text/html; charset",
                                          "text/html; charset=\"\"",
                                          "text/html; charset=\"a b\"",
                                          "text/html; charset=a; charset=b",
                                          "charset=utf-8"};
    for (size_t i = 0; i < COUNT(without); i++)
        assert_null(rv_charset_of(rv_str(without[i])).ptr);
    assert_null(rv_charset_of((rv_bytes){0}).ptr);
}

static void whatever_was_quoted_is_read_back(void **state)
{
    (void)state;
    uint64_t random = 5;
    for (int round = 0; round < 5000; round++) {
        char field[256] = "x", plain[3][20];
        size_t at = 1, lengths[3], count = random_below(&random, 4);
        for (size_t i = 0; i < count; i++) {
            lengths[i] = random_below(&random, sizeof plain[i]);
            at += (size_t)sprintf(field + at, "%s%c=\"", random_below(&random, 2) ? ";" : " ; \t",
                                  (char)('a' + i));
            for (size_t j = 0; j < lengths[i]; j++) {
                static const char marks[] = "\"\\;= ,\t";
                char c = random_below(&random, 2) ? (char)(0x20 + random_below(&random, 0x5f))
                                                  : marks[random_below(&random, 7)];
                plain[i][j] = c;
                if (c == '"' || c == '\\' || random_below(&random, 4) == 0)
                    field[at++] = '\\';
                field[at++] = c;
            }
            field[at++] = '"';
        }
        rv_bytes copy = exact_copy(rv_slice(field, at)), parameters;
        assert_true(rv_equals(rv_parameters_split(copy, &parameters), "x"));
        for (size_t i = 0; i < count; i++) {
            struct rv_parameter parameter;
            char decoded[64];
            assert_int_equal(rv_parameter_next(&parameters, &parameter), RV_PARAMETER);
            assert_int_equal(parameter.name.ptr[0], 'a' + i);
            assert_int_equal(rv_parameter_decode(&parameter, decoded), lengths[i]);
            assert_memory_equal(decoded, plain[i], lengths[i]);
        }
        struct rv_parameter none;
        assert_int_equal(rv_parameter_next(&parameters, &none), RV_PARAMETER_END);
        give_back(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_and_its_parameters_are_read),
        cmocka_unit_test(empty_parameters_are_passed_over),
        cmocka_unit_test(a_value_without_quotes_may_be_more_than_a_token),
        cmocka_unit_test(malformed_parameters_are_an_error),
        cmocka_unit_test(a_parameter_is_found_by_its_name_in_any_case),
        cmocka_unit_test(a_parameter_that_is_there_twice_is_an_error),
        cmocka_unit_test(a_charset_is_a_token_or_none),
        cmocka_unit_test(whatever_was_quoted_is_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
