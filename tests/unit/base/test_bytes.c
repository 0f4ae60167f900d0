/*
 * Facts about views: what equals what, what is a number, what is an element of a list.
 */
#include "base/bytes.h"
#include "random.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static void assert_text(rv_bytes bytes, const char *text)
{
    assert_int_equal(bytes.len, strlen(text));
    assert_memory_equal(bytes.ptr, text, bytes.len);
}

static void a_view_of_a_string_leaves_out_its_terminator(void **state)
{
    (void)state;
    static const char text[] = "rill";
    rv_bytes view = rv_str(text);
    assert_ptr_equal(view.ptr, text);
    assert_int_equal(view.len, 4);
}

static void a_view_of_no_string_is_absent(void **state)
{
    (void)state;
    rv_bytes view = rv_str(NULL);
    assert_null(view.ptr);
    assert_int_equal(view.len, 0);
}

static void equals_wants_exactly_the_octets_of_the_string(void **state)
{
    (void)state;
    assert_true(rv_equals(RV_LIT("close"), "close"));
    assert_false(rv_equals(RV_LIT("close"), "Close"));
    assert_false(rv_equals(RV_LIT("close"), "closed"));
    assert_false(rv_equals(RV_LIT("closed"), "close"));
    assert_false(rv_equals(RV_LIT("close\0"), "close"));
}

static void an_absent_view_is_not_an_empty_one(void **state)
{
    (void)state;
    rv_bytes absent = {NULL, 0};
    assert_true(rv_equals(RV_LIT(""), ""));
    assert_false(rv_equals(absent, ""));
    assert_true(rv_equals(absent, NULL));
    assert_false(rv_equals(RV_LIT(""), NULL));
}

static void views_are_equal_when_length_and_octets_are(void **state)
{
    (void)state;
    assert_true(rv_bytes_equal(RV_LIT("a\0b"), RV_LIT("a\0b")));
    assert_false(rv_bytes_equal(RV_LIT("a\0b"), RV_LIT("a\0c")));
    assert_false(rv_bytes_equal(RV_LIT("ab"), RV_LIT("abc")));
    assert_true(rv_bytes_equal(RV_LIT(""), (rv_bytes){NULL, 0}));
}

static void only_ascii_letters_have_two_cases(void **state)
{
    (void)state;
    for (int c = 0; c < 256; c++) {
        char here = (char)c;
        char expected = here;
        if (c >= 'A' && c <= 'Z')
            expected = (char)(c - 'A' + 'a');
        assert_int_equal(rv_lower(here), expected);
    }
    assert_true(rv_bytes_equal_nocase(RV_LIT("Content-LENGTH"), RV_LIT("content-length")));
    assert_false(rv_bytes_equal_nocase(RV_LIT("a@"), RV_LIT("a`")));
    assert_false(rv_bytes_equal_nocase(RV_LIT("a["), RV_LIT("a{")));
    assert_false(rv_bytes_equal_nocase(RV_LIT("\xc4"), RV_LIT("\xe4")));
    assert_false(rv_bytes_equal_nocase(RV_LIT("te"), RV_LIT("tea")));
}

static void trimming_takes_spaces_and_tabs_from_both_ends_only(void **state)
{
    (void)state;
    assert_text(rv_bytes_trim(RV_LIT(" \t a \t b\t ")), "a \t b");
    assert_text(rv_bytes_trim(RV_LIT("a")), "a");
    assert_text(rv_bytes_trim(RV_LIT("\ra\n")), "\ra\n");
    assert_int_equal(rv_bytes_trim(RV_LIT(" \t ")).len, 0);
    assert_int_equal(rv_bytes_trim((rv_bytes){NULL, 0}).len, 0);
}

static void a_number_is_digits_and_nothing_else(void **state)
{
    (void)state;
    static const rv_bytes wrong[] = {
        {"", 0},    {NULL, 0},  {" 1", 2},  {"1 ", 2},   {"+1", 2}, {"-1", 2}, {"0x1", 3},
        {"1.0", 3}, {"1,1", 3}, {"1\0", 2}, {"\xb2", 1}, {"/", 1},  {":", 1},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        uint64_t value = 77;
        assert_false(rv_bytes_to_u64(wrong[i], &value));
        assert_int_equal(value, 77);
    }
}

static void a_number_may_have_leading_zeros(void **state)
{
    (void)state;
    uint64_t value;
    assert_true(rv_bytes_to_u64(RV_LIT("000000000000000000000000000000000042"), &value));
    assert_int_equal(value, 42);
    assert_true(rv_bytes_to_u64(RV_LIT("0"), &value));
    assert_int_equal(value, 0);
}

static void a_number_past_64_bits_is_refused(void **state)
{
    (void)state;
    uint64_t value;
    assert_true(rv_bytes_to_u64(RV_LIT("18446744073709551615"), &value));
    assert_true(value == UINT64_MAX);
    static const char *const over[] = {"18446744073709551616", "18446744073709551620",
                                       "28446744073709551615", "184467440737095516150",
                                       "99999999999999999999999999"};
    for (size_t i = 0; i < sizeof(over) / sizeof(over[0]); i++) {
        value = 77;
        assert_false(rv_bytes_to_u64(rv_str(over[i]), &value));
        assert_int_equal(value, 77);
    }
}

/* Goes through the list and puts the elements together again, one bar behind each. */
static void assert_elements(const char *list, const char *expected)
{
    rv_bytes rest = rv_str(list);
    rv_bytes element;
    char joined[200] = "";
    while (rv_bytes_next_element(&rest, &element)) {
        strncat(joined, element.ptr, element.len);
        strcat(joined, "|");
    }
    assert_string_equal(joined, expected);
    assert_int_equal(rest.len, 0);
}

static void a_list_is_taken_apart_at_its_commas(void **state)
{
    (void)state;
    assert_elements("close", "close|");
    assert_elements("close,keep-alive", "close|keep-alive|");
    assert_elements(" close \t,\t keep-alive ", "close|keep-alive|");
    assert_elements("gzip;q=1.0, identity; q=0.5", "gzip;q=1.0|identity; q=0.5|");
}

static void empty_elements_are_passed_over(void **state)
{
    (void)state;
    assert_elements("", "");
    assert_elements(",", "");
    assert_elements(" , ,\t,", "");
    assert_elements(",a,,b, ,", "a|b|");
}

static void a_comma_in_a_quoted_string_does_not_separate(void **state)
{
    (void)state;
    assert_elements("a=\"1,2\",b", "a=\"1,2\"|b|");
    assert_elements("\"\",\",\"", "\"\"|\",\"|");
}

static void a_quoted_pair_does_not_end_a_quoted_string(void **state)
{
    (void)state;
    assert_elements("\"a\\\",b\",c", "\"a\\\",b\"|c|");
    assert_elements("\"a\\\\\",c", "\"a\\\\\"|c|");
    assert_elements("a\\,b", "a\\|b|");
}

static void a_quoted_string_without_an_end_reaches_to_the_end_of_the_list(void **state)
{
    (void)state;
    assert_elements("a,\"b,c", "a|\"b,c|");
    assert_elements("a,\"b,\\", "a|\"b,\\|");
}

static void no_octet_behind_a_list_is_read(void **state)
{
    (void)state;
    char *text = malloc(3); /* on the heap, so that the sanitizer guards its end */
    assert_non_null(text);
    memcpy(text, "\"a\\", 3);
    rv_bytes list = {text, 3};
    rv_bytes element;
    assert_true(rv_bytes_next_element(&list, &element));
    assert_int_equal(element.len, 3);
    assert_false(rv_bytes_next_element(&list, &element));
    free(text);
}

static void assert_printed_like_libc(uint64_t value)
{
    char expected[24];
    char out[24];
    memset(out, '#', sizeof(out));
    size_t length = (size_t)snprintf(expected, sizeof(expected), "%" PRIu64, value);
    assert_int_equal(rv_put_decimal(out, value), length);
    assert_memory_equal(out, expected, length);
    assert_int_equal(out[length], '#');

    memset(out, '#', sizeof(out));
    length = (size_t)snprintf(expected, sizeof(expected), "%" PRIx64, value);
    assert_int_equal(rv_put_hex(out, value), length);
    assert_memory_equal(out, expected, length);
    assert_int_equal(out[length], '#');
}

static void numbers_are_written_as_the_c_library_writes_them(void **state)
{
    (void)state;
    for (uint64_t value = 0; value < 11000; value++)
        assert_printed_like_libc(value);
    for (uint64_t power = 1; power <= UINT64_MAX / 10; power *= 10) {
        assert_printed_like_libc(power * 10 - 1);
        assert_printed_like_libc(power * 10);
    }
    for (unsigned bit = 0; bit < 64; bit++) {
        assert_printed_like_libc((UINT64_C(1) << bit) - 1);
        assert_printed_like_libc(UINT64_C(1) << bit);
    }
    assert_printed_like_libc(UINT64_MAX);
    uint64_t seed = 1;
    for (int i = 0; i < 10000; i++)
        assert_printed_like_libc(random_of_any_size(&seed, 64));
}

static void what_is_written_in_decimal_reads_back(void **state)
{
    (void)state;
    uint64_t seed = 2;
    for (int i = 0; i < 10000; i++) {
        char text[20];
        uint64_t value = random_of_any_size(&seed, 64);
        uint64_t read;
        assert_true(rv_bytes_to_u64(rv_slice(text, rv_put_decimal(text, value)), &read));
        assert_true(read == value);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_view_of_a_string_leaves_out_its_terminator),
        cmocka_unit_test(a_view_of_no_string_is_absent),
        cmocka_unit_test(equals_wants_exactly_the_octets_of_the_string),
        cmocka_unit_test(an_absent_view_is_not_an_empty_one),
        cmocka_unit_test(views_are_equal_when_length_and_octets_are),
        cmocka_unit_test(only_ascii_letters_have_two_cases),
        cmocka_unit_test(trimming_takes_spaces_and_tabs_from_both_ends_only),
        cmocka_unit_test(a_number_is_digits_and_nothing_else),
        cmocka_unit_test(a_number_may_have_leading_zeros),
        cmocka_unit_test(a_number_past_64_bits_is_refused),
        cmocka_unit_test(a_list_is_taken_apart_at_its_commas),
        cmocka_unit_test(empty_elements_are_passed_over),
        cmocka_unit_test(a_comma_in_a_quoted_string_does_not_separate),
        cmocka_unit_test(a_quoted_pair_does_not_end_a_quoted_string),
        cmocka_unit_test(a_quoted_string_without_an_end_reaches_to_the_end_of_the_list),
        cmocka_unit_test(no_octet_behind_a_list_is_read),
        cmocka_unit_test(numbers_are_written_as_the_c_library_writes_them),
        cmocka_unit_test(what_is_written_in_decimal_reads_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
