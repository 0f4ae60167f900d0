/*
 * Facts about the public error list: each error has a number and a text of its own.
 */
#include <rivulet.h>

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const struct {
    rv_error error;
    const char *text;
} listed[] = {
#define RV_ERROR_ROW(name, value, text) {name, text},
    RV_ERRORS(RV_ERROR_ROW)
#undef RV_ERROR_ROW
};

enum { COUNT = sizeof(listed) / sizeof(listed[0]) };

static void every_listed_error_has_its_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT; i++)
        assert_string_equal(rv_strerror(listed[i].error), listed[i].text);
}

static void every_error_is_negative_and_unlike_the_others(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        assert_true(listed[i].error < 0);
        for (size_t j = 0; j < i; j++) {
            assert_int_not_equal(listed[i].error, listed[j].error);
            assert_string_not_equal(listed[i].text, listed[j].text);
        }
    }
}

static void outcomes_that_are_no_failures_have_texts_of_their_own(void **state)
{
    (void)state;
    assert_string_equal(rv_strerror(RV_OK), "success");
    assert_string_not_equal(rv_strerror(RV_PENDING), rv_strerror(12345));
    assert_string_not_equal(rv_strerror(RV_FULL), rv_strerror(12345));
}

static void a_number_that_is_no_error_has_a_text_too(void **state)
{
    (void)state;
    static const rv_error unlisted[] = {INT_MIN, -COUNT - 1, 3, 12345, INT_MAX};
    for (size_t i = 0; i < sizeof(unlisted) / sizeof(unlisted[0]); i++)
        assert_string_equal(rv_strerror(unlisted[i]), "unknown error");
}

static void the_version_is_the_one_that_was_built(void **state)
{
    (void)state;
    assert_string_equal(rv_version(), RV_VERSION_TEXT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_listed_error_has_its_text),
        cmocka_unit_test(every_error_is_negative_and_unlike_the_others),
        cmocka_unit_test(outcomes_that_are_no_failures_have_texts_of_their_own),
        cmocka_unit_test(a_number_that_is_no_error_has_a_text_too),
        cmocka_unit_test(the_version_is_the_one_that_was_built),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
