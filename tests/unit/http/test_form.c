/*
 * Queries and urlencoded forms: how they are split, what a form refuses, and what it reads back from
 * any pairs that were written as a browser writes them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "http/form.h"
#include "http/uri.h"
#include "random.h"
#include "unit/http/pairs.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct rv_form_limits wide = {.pairs_max = 1000, .name_bytes_max = 1000};

static void a_query_is_pairs_between_ampersands(void **state)
{
    (void)state;
    static const struct {
        const char *query;
        const char *pairs;
    } cases[] = {
        {"a=1", "a=1|"},
        {"a=1&b=2", "a=1|b=2|"},
        {"a=1&a=2", "a=1|a=2|"}, /* in order, both */
        {"a", "a|"},             /* no value */
        {"a=", "a=|"},           /* an empty value is another thing */
        {"a&b=&c", "a|b=|c|"},
        {"=1", "=1|"}, /* an empty name is a name */
        {"=", "=|"},
        {"a=b=c", "a=b=c|"}, /* the first "=" divides */
        {"a==", "a==|"},
        {"", ""},
        {"&", ""},
        {"&&a=1&&&b=2&", "a=1|b=2|"},
        {"a=1;b=2", "a=1;b=2|"},         /* ";" separates nothing */
        {"a%26b=c%3Dd", "a%26b=c%3Dd|"}, /* still encoded */
        {"a+b= c ", "a+b= c |"},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_pairs(rv_pair_next, cases[i].query, cases[i].pairs);
}

static void an_absent_query_has_no_pairs(void **state)
{
    (void)state;
    rv_bytes query = {0};
    rv_bytes name;
    rv_bytes value;
    assert_false(rv_pair_next(&query, &name, &value));
}

/* ---- forms ----------------------------------------------------------------------------------- */

/* All pairs of a form, decoded, as "name=value|"; what was read before an error is kept. */
static enum rv_form_result read_form(rv_bytes body, const struct rv_form_limits *limits,
                                     struct rv_form *form, char *seen)
{
    enum rv_form_result result;
    rv_bytes name, value;
    rv_form_init(form, body, limits);
    while ((result = rv_form_next(form, &name, &value)) == RV_FORM_PAIR) {
        assert_non_null(value.ptr);
        seen += rv_percent_decode(name, true, seen);
        *seen++ = '=';
        seen += rv_percent_decode(value, true, seen);
        *seen++ = '|';
    }
    *seen = '\0';
    assert_int_equal(rv_form_next(form, &name, &value), result); /* it stays so */
    return result;
}

static void a_form_is_read_pair_by_pair(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        const char *pairs;
    } cases[] = {
        {"", ""},
        {"&", ""},
        {"a=1", "a=1|"},
        {"a=1&b=2&a=3", "a=1|b=2|a=3|"},
        {"a", "a=|"},
        {"a=", "a=|"},
        {"=1", "=1|"},
        {"name=J%C3%BCrgen+M%26M", "name=J\xc3\xbcrgen M&M|"},
        {"a%3Db=c%3dd", "a=b=c=d|"},
        {"a=1+1%2B1", "a=1 1+1|"},
        {"a=\xff\x01", "a=\xff\x01|"}, /* what is not escaped is an octet like any other */
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct rv_form form;
        char seen[256];
        rv_bytes copy = exact_copy(rv_str(cases[i].body));
        assert_int_equal(read_form(copy, &wide, &form, seen), RV_FORM_END);
        assert_string_equal(seen, cases[i].pairs);
        give_back(copy);
    }
}

static void a_form_with_a_malformed_escape_is_refused_with_400(void **state)
{
    (void)state;
    static const char *const bodies[] = {"a=%", "a=%4", "a=%zz", "%=1", "%4", "b=1&a=100%&c=2"};
    for (size_t i = 0; i < COUNT(bodies); i++) {
        struct rv_form form;
        char seen[256];
        rv_bytes copy = exact_copy(rv_str(bodies[i]));
        assert_int_equal(read_form(copy, &wide, &form, seen), RV_FORM_ERROR);
        assert_int_equal(form.status, 400);
        assert_non_null(form.reason);
        give_back(copy);
    }
}

static void a_form_over_its_limits_is_refused_with_413(void **state)
{
    (void)state;
    static const struct rv_form_limits narrow = {.pairs_max = 3, .name_bytes_max = 4};
    static const struct {
        const char *body;
        const char *pairs;
        bool refused;
    } cases[] = {
        {"a=1&b=2&c=3", "a=1|b=2|c=3|", false},
        {"a=1&b=2&c=3&&", "a=1|b=2|c=3|", false},
        {"a=1&b=2&c=3&d=4", "a=1|b=2|c=3|", true},
        {"abcd=12345", "abcd=12345|", false},
        {"x=1&abcde=1", "x=1|", true},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct rv_form form;
        char seen[256];
        enum rv_form_result result = read_form(rv_str(cases[i].body), &narrow, &form, seen);
        assert_int_equal(result, cases[i].refused ? RV_FORM_ERROR : RV_FORM_END);
        assert_int_equal(form.status, cases[i].refused ? 413 : 0);
        assert_string_equal(seen, cases[i].pairs);
    }
}

/* Any octets, written as a browser would, or lazily, escaping only what must be. */
static size_t encode(uint64_t *random, const char *plain, size_t length, char *out)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    char *start = out;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)plain[i];
        if (c == ' ' && random_below(random, 2) == 0) {
            *out++ = '+';
        } else if (strchr("&=+%", c) != NULL || random_below(random, 3) == 0) {
            *out++ = '%';
            *out++ = digits[(c >> 4) + 16 * random_below(random, 2)];
            *out++ = digits[(c & 15) + 16 * random_below(random, 2)];
        } else {
            *out++ = (char)c;
        }
    }
    return (size_t)(out - start);
}

static void whatever_was_encoded_is_read_back(void **state)
{
    (void)state;
    uint64_t random = 7;
    for (int round = 0; round < 3000; round++) {
        char body[4096], expected[1024], seen[1024];
        size_t length = 0, expected_length = 0;
        size_t pairs = random_below(&random, 6);
        for (size_t i = 0; i < pairs; i++) {
            for (int side = 0; side < 2; side++) {
                char plain[40];
                size_t count =
                    side == 0 ? 1 + random_below(&random, 20) : random_below(&random, 40);
                for (size_t at = 0; at < count; at++)
                    plain[at] = random_below(&random, 4) != 0 ? (char)random_below(&random, 256)
                                                              : " &=+%"[random_below(&random, 5)];
                length += encode(&random, plain, count, body + length);
                body[length++] = side == 0 ? '=' : '&';
                memcpy(expected + expected_length, plain, count);
                expected_length += count;
                expected[expected_length++] = side == 0 ? '=' : '|';
            }
        }
        struct rv_form form;
        rv_bytes copy = exact_copy(rv_slice(body, length));
        assert_int_equal(read_form(copy, &wide, &form, seen), RV_FORM_END);
        assert_int_equal(form.pairs, pairs);
        assert_memory_equal(seen, expected, expected_length);
        assert_int_equal(seen[expected_length], '\0');
        give_back(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_query_is_pairs_between_ampersands),
        cmocka_unit_test(an_absent_query_has_no_pairs),
        cmocka_unit_test(a_form_is_read_pair_by_pair),
        cmocka_unit_test(a_form_with_a_malformed_escape_is_refused_with_400),
        cmocka_unit_test(a_form_over_its_limits_is_refused_with_413),
        cmocka_unit_test(whatever_was_encoded_is_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
