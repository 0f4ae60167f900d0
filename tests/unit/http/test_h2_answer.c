/*
 * Answers of HTTP/2, one event after the other: which are well-formed, and where one stops being it.
 */
#include "http/h2_answer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct rv_h2_answer answer;

static int set_up(void **state)
{
    (void)state;
    rv_h2_answer_begin(&answer, false);
    return 0;
}

/* The value in memory of exactly its length: whoever reads behind it is caught. */
static bool field(const char *name, const char *value)
{
    size_t length = strlen(value);
    char *copy = malloc(length == 0 ? 1 : length);
    memcpy(copy, value, length);
    bool good = rv_h2_answer_field(&answer, rv_str(name), rv_slice(copy, length));
    free(copy);
    return good;
}

static bool fields_end(bool last)
{
    bool interim;
    bool good = rv_h2_answer_fields_end(&answer, last, &interim);
    assert_false(good && interim);
    return good;
}

static void begin_with(const char *status)
{
    rv_h2_answer_begin(&answer, answer.to_head);
    assert_true(field(":status", status));
}

static void an_answer_has_a_status_fields_content_and_trailers(void **state)
{
    (void)state;
    begin_with("200");
    assert_true(field("content-length", "5"));
    assert_true(
        field("x-long", "a value that is longer than sixteen octets, \xe4 and a tab\tin it"));
    assert_true(field("x-empty", ""));
    assert_true(fields_end(false));
    assert_int_equal(answer.status, 200);
    assert_true(rv_h2_answer_data(&answer, 2));
    assert_true(rv_h2_answer_data(&answer, 3));
    assert_true(field("x-sum", "1"));
    assert_true(fields_end(true));
    assert_true(rv_h2_answer_end(&answer));
    assert_int_equal(answer.content, 5);
}

static void an_interim_answer_is_followed_by_another(void **state)
{
    (void)state;
    bool interim;
    begin_with("103");
    assert_true(field("link", "</a>"));
    assert_true(rv_h2_answer_fields_end(&answer, false, &interim));
    assert_true(interim);
    assert_false(rv_h2_answer_end(&answer));
    assert_true(field(":status", "204"));
    assert_true(fields_end(true));
    assert_true(rv_h2_answer_end(&answer));

    begin_with("100");
    assert_false(rv_h2_answer_fields_end(&answer, true, &interim)); /* it cannot be the last */
    begin_with("100");
    assert_true(rv_h2_answer_fields_end(&answer, false, &interim));
    assert_false(rv_h2_answer_data(&answer, 1));
}

static void a_status_is_one_of_three_digits_in_front_of_all(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "20", "2000", "2x0", "x00", "20:", "000", "099", "101"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        rv_h2_answer_begin(&answer, false);
        assert_false(field(":status", bad[i]));
    }
    begin_with("200");
    assert_false(field(":status", "200"));
    begin_with("200");
    assert_true(field("a", "b"));
    assert_false(field(":status", "200"));
    rv_h2_answer_begin(&answer, false);
    assert_false(field(":path", "/"));
    rv_h2_answer_begin(&answer, false);
    assert_true(field("a", "b"));
    assert_false(fields_end(true));
    begin_with("200");
    assert_true(fields_end(false));
    assert_false(field(":status", "200")); /* nor among trailers */
}

static void names_are_tokens_without_capitals(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "Server",
                                      "a b",
                                      "a:",
                                      "a\n",
                                      "\xe4",
                                      "upgrade",
                                      "connection",
                                      "keep-alive",
                                      "proxy-connection",
                                      "transfer-encoding"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        begin_with("200");
        assert_false(field(bad[i], "x"));
    }
    begin_with("200");
    assert_true(field("x-1!#$%&'*+.^_`|~", "x"));
}

/* Each octet at each place of values around sixteen octets, which are looked at in one step. */
static void values_have_no_control_octets_and_no_blanks_around(void **state)
{
    (void)state;
    for (size_t length = 1; length < 50; length++) {
        for (size_t at = 0; at < length; at++) {
            for (int octet = 1; octet < 256; octet++) {
                char value[64];
                memset(value, 'v', length);
                value[at] = (char)octet;
                value[length] = '\0';
                bool blank = octet == ' ' || octet == '\t';
                bool control = (octet < ' ' && octet != '\t') || octet == 0x7f;
                bool good = !control && !(blank && (at == 0 || at == length - 1));
                begin_with("200");
                if (rv_h2_answer_field(&answer, RV_LIT("x"), rv_slice(value, length)) != good)
                    fail_msg("octet %d at %zu of %zu", octet, at, length);
            }
        }
    }
}

static void content_is_as_long_as_announced(void **state)
{
    (void)state;
    begin_with("200");
    assert_true(field("content-length", "5"));
    assert_true(fields_end(false));
    assert_true(rv_h2_answer_data(&answer, 4));
    assert_false(rv_h2_answer_end(&answer));
    assert_false(rv_h2_answer_data(&answer, 2));

    begin_with("200");
    assert_true(fields_end(false));
    assert_true(rv_h2_answer_data(&answer, 1000));
    assert_true(rv_h2_answer_end(&answer)); /* nothing was announced */

    static const char *const bad[] = {"", "-1", "5x", "+5", "18446744073709551616"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        begin_with("200");
        assert_false(field("content-length", bad[i]));
    }
    begin_with("200");
    assert_true(field("content-length", "5"));
    assert_true(field("content-length", "5"));
    assert_false(field("content-length", "6"));
}

static void what_answers_head_has_a_length_and_no_content(void **state)
{
    (void)state;
    answer.to_head = true;
    begin_with("200");
    assert_true(field("content-length", "5"));
    assert_true(fields_end(false));
    assert_true(rv_h2_answer_data(&answer, 0));
    assert_true(rv_h2_answer_end(&answer));
    assert_false(rv_h2_answer_data(&answer, 1));

    answer.to_head = false;
    begin_with("304");
    assert_true(field("content-length", "5"));
    assert_true(fields_end(true));
    assert_true(rv_h2_answer_end(&answer));
}

static void trailers_end_the_stream(void **state)
{
    (void)state;
    begin_with("200");
    assert_true(fields_end(false));
    assert_true(field("a", "b"));
    assert_false(fields_end(false));
    begin_with("200");
    assert_true(fields_end(false));
    assert_true(field("a", "b"));
    assert_true(fields_end(true));
    assert_false(rv_h2_answer_data(&answer, 1));
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_answer_has_a_status_fields_content_and_trailers),
        TEST(an_interim_answer_is_followed_by_another),
        TEST(a_status_is_one_of_three_digits_in_front_of_all),
        TEST(names_are_tokens_without_capitals),
        TEST(values_have_no_control_octets_and_no_blanks_around),
        TEST(content_is_as_long_as_announced),
        TEST(what_answers_head_has_a_length_and_no_content),
        TEST(trailers_end_the_stream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
