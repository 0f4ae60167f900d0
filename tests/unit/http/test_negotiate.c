/*
 * Content codings by Accept-Encoding: the matrix of fields, weights, and for any field that what is
 * chosen is ours and accepted. And which types are worth it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "http/mime.h"
#include "http/negotiate.h"
#include "random.h"
#include "unit/http/exact_copy.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const enum rv_coding all[] = {RV_CODING_ZSTD, RV_CODING_BROTLI, RV_CODING_GZIP};

static void assert_chosen_of(const char *field, const enum rv_coding *ours, size_t count,
                             const char *expected)
{
    rv_bytes copy = exact_copy(rv_str(field));
    rv_bytes name = rv_coding_name(rv_negotiate_coding(copy, ours, count));
    if (!rv_equals(name, expected))
        fail_msg("\"%s\" gives %.*s, not %s", field, (int)name.len, name.ptr, expected);
    give_back(copy);
}

static void assert_chosen(const char *field, const char *expected)
{
    assert_chosen_of(field, all, COUNT(all), expected);
}

static void the_coding_with_the_highest_weight_is_chosen(void **state)
{
    (void)state;
    assert_chosen("gzip", "gzip");
    assert_chosen("GZIP", "gzip");
    assert_chosen("x-gzip", "gzip");
    assert_chosen("gzip;q=0.5, br;q=1", "br");
    assert_chosen("gzip;q=0.5, br;q=0.499", "gzip");
    assert_chosen("gzip ; Q=0.8 ,\tbr;q=0.7", "gzip");
    assert_chosen("zstd;q=0.001", "zstd");
    assert_chosen("deflate, gzip", "gzip");
}

static void our_preference_decides_between_equals(void **state)
{
    (void)state;
    static const enum rv_coding other[] = {RV_CODING_GZIP, RV_CODING_BROTLI};
    assert_chosen("gzip, deflate, br, zstd", "zstd");
    assert_chosen("gzip, br", "br");
    assert_chosen_of("gzip, deflate, br, zstd", other, 2, "gzip");
    assert_chosen_of("br, zstd", other, 2, "br");
    assert_chosen_of("gzip, br", other, 0, "identity");
}

static void an_absent_or_empty_field_means_identity(void **state)
{
    (void)state;
    assert_int_equal(rv_negotiate_coding((rv_bytes){0}, all, COUNT(all)), RV_CODING_IDENTITY);
    assert_chosen("", "identity");
    assert_chosen(" , ,", "identity");
    assert_chosen("deflate, compress", "identity");
}

static void a_weight_of_zero_means_never(void **state)
{
    (void)state;
    assert_chosen("gzip;q=0", "identity");
    assert_chosen("gzip;q=0.000", "identity");
    assert_chosen("zstd;q=0, br;q=0, gzip", "gzip");
    assert_chosen("*;q=0", "identity"); /* never 406 */
    assert_chosen("identity;q=0, *;q=0", "identity");
    assert_chosen("gzip, *;q=0", "gzip");
}

static void a_star_stands_for_what_is_not_named(void **state)
{
    (void)state;
    assert_chosen("*", "zstd");
    assert_chosen("zstd;q=0, *", "br");
    assert_chosen("gzip, *;q=0.5", "gzip");
    assert_chosen("gzip;q=0.1, *;q=0.5", "zstd");
}

static void identity_is_chosen_when_it_is_preferred(void **state)
{
    (void)state;
    assert_chosen("identity", "identity");
    assert_chosen("identity, gzip;q=0.5", "identity");
    assert_chosen("identity;q=0.5, gzip", "gzip");
    assert_chosen("identity, gzip", "gzip");
    assert_chosen("identity;q=0, gzip;q=0.1", "gzip");
    assert_chosen("identity;q=0.6, *;q=0.5", "identity");
}

static void a_malformed_element_is_passed_over(void **state)
{
    (void)state;
    static const char *const malformed[] = {
        "zstd;q",        "zstd;q=",       "zstd;q=x",
        "zstd;q=2",      "zstd;q=1.001",  "zstd;q=-1",
        "zstd;q=0.1234", "zstd;q=1.0000", "zstd;q=.5",
        "zstd;q=\"1\"",  "zstd;q=1;a=b",  "zstd;a=b",
        "zs td",         "zstd/1",        "zstd;q=0.5;q=0.6",
        "zstd;q=01",     ";q=1",          "=",
        "\xff",
    };
    for (size_t i = 0; i < COUNT(malformed); i++) {
        char field[64];
        assert_chosen(malformed[i], "identity");
        snprintf(field, sizeof field, "%s, gzip;q=0.3", malformed[i]);
        assert_chosen(field, "gzip");
    }
}

static void of_a_coding_that_is_named_twice_the_lower_weight_counts(void **state)
{
    (void)state;
    assert_chosen("gzip, gzip;q=0", "identity");
    assert_chosen("gzip;q=0, gzip", "identity");
    assert_chosen("gzip;q=0.9, x-gzip;q=0.1, br;q=0.5", "br");
}

static void weights_are_thousandths(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        unsigned weight;
    } good[] = {{"0", 0},      {"1", 1000},    {"0.", 0},       {"1.", 1000}, {"0.5", 500},
                {"0.25", 250}, {"0.125", 125}, {"1.000", 1000}, {"0.001", 1}, {"0.999", 999}};
    static const char *const bad[] = {"",       ".",     "2",   "00", "0,5",
                                      "0.1234", "1.001", "1.1", "a",  "0.a"};
    unsigned weight;
    for (size_t i = 0; i < COUNT(good); i++) {
        assert_true(rv_weight_parse(rv_str(good[i].text), &weight));
        assert_int_equal(weight, good[i].weight);
    }
    for (size_t i = 0; i < COUNT(bad); i++)
        if (rv_weight_parse(rv_str(bad[i]), &weight))
            fail_msg("\"%s\" is a weight", bad[i]);
}

/* Random elements, and the rule by a slow search over them. */
static void what_is_chosen_is_accepted_and_nothing_better_is(void **state)
{
    (void)state;
    static const char *const names[] = {"identity", "gzip", "br", "zstd", "*", "deflate"};
    uint64_t random = 19;
    for (int round = 0; round < 20000; round++) {
        char field[256] = "";
        size_t length = 0;
        int weights[COUNT(names)];
        for (size_t i = 0; i < COUNT(names); i++) {
            weights[i] = random_below(&random, 2) == 0 ? -1 : (int)random_below(&random, 1001);
            if (weights[i] >= 0)
                length += (size_t)snprintf(field + length, sizeof field - length, "%s;q=%d.%03d,",
                                           names[i], weights[i] / 1000, weights[i] % 1000);
        }
        enum rv_coding chosen = rv_negotiate_coding(rv_slice(field, length), all, COUNT(all));
        int best = 0;
        for (size_t i = 0; i < COUNT(all); i++) {
            int weight = weights[all[i]] >= 0 ? weights[all[i]] : weights[4];
            best = weight > best ? weight : best;
        }
        int ours = weights[chosen] >= 0 ? weights[chosen] : weights[4];
        if (chosen == RV_CODING_IDENTITY)
            assert_true(best == 0 || weights[RV_CODING_IDENTITY] > best);
        else
            assert_true(ours == best && best > 0 && weights[RV_CODING_IDENTITY] <= best);
    }
}

/* ---- types ----------------------------------------------------------------------------------- */

static void a_pattern_is_a_type_or_one_end_of_it(void **state)
{
    (void)state;
    assert_true(rv_type_matches(RV_LIT("text/html; charset=UTF-8"), RV_LIT("text/html")));
    assert_true(rv_type_matches(RV_LIT("Text/HTML"), RV_LIT("text/*")));
    assert_true(rv_type_matches(RV_LIT("application/ld+json"), RV_LIT("*+json")));
    assert_false(rv_type_matches(RV_LIT("text/htmlx"), RV_LIT("text/html")));
    assert_false(rv_type_matches(RV_LIT("text/"), RV_LIT("text/*")));
    assert_false(rv_type_matches(RV_LIT("+json"), RV_LIT("*+json")));
    assert_false(rv_type_matches(RV_LIT("a/b; c=d+json"), RV_LIT("*+json")));
    assert_false(rv_type_matches((rv_bytes){0}, RV_LIT("text/*")));
    assert_false(rv_type_matches(RV_LIT(""), RV_LIT("")));
}

static void text_is_worth_compressing_and_what_is_compressed_is_not(void **state)
{
    (void)state;
    static const char *const worth[] = {"a.html", "a.css",  "a.js",  "a.json", "a.svg",
                                        "a.xml",  "a.wasm", "a.txt", "a.csv",  "a.md",
                                        "a.map",  "a.atom", "a.ttf", "a.bmp",  "a.webmanifest"};
    static const char *const worthless[] = {"a.png", "a.jpg",   "a.gz",   "a.zip",    "a.mp4",
                                            "a.pdf", "a.woff2", "a.webp", "a.unknown"};
    for (size_t i = 0; i < COUNT(worth); i++)
        if (!rv_type_is_compressible(rv_str(rv_mime_of(rv_str(worth[i])))))
            fail_msg("%s is not worth compressing", rv_mime_of(rv_str(worth[i])));
    for (size_t i = 0; i < COUNT(worthless); i++)
        if (rv_type_is_compressible(rv_str(rv_mime_of(rv_str(worthless[i])))))
            fail_msg("%s is worth compressing", rv_mime_of(rv_str(worthless[i])));
    assert_false(rv_type_is_compressible(RV_LIT("text/event-stream")));
    assert_true(rv_type_is_compressible(RV_LIT("application/problem+json; charset=utf-8")));
    assert_false(rv_type_is_compressible((rv_bytes){0}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_coding_with_the_highest_weight_is_chosen),
        cmocka_unit_test(our_preference_decides_between_equals),
        cmocka_unit_test(an_absent_or_empty_field_means_identity),
        cmocka_unit_test(a_weight_of_zero_means_never),
        cmocka_unit_test(a_star_stands_for_what_is_not_named),
        cmocka_unit_test(identity_is_chosen_when_it_is_preferred),
        cmocka_unit_test(a_malformed_element_is_passed_over),
        cmocka_unit_test(of_a_coding_that_is_named_twice_the_lower_weight_counts),
        cmocka_unit_test(weights_are_thousandths),
        cmocka_unit_test(what_is_chosen_is_accepted_and_nothing_better_is),
        cmocka_unit_test(a_pattern_is_a_type_or_one_end_of_it),
        cmocka_unit_test(text_is_worth_compressing_and_what_is_compressed_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
