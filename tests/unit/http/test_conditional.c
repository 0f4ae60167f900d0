/*
 * Preconditions (RFC 9110 section 13): each field alone, then their order of precedence, then
 * If-Range. Where a case of the wire suite states the same, its number stands beside it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "http/conditional.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define MODIFIED INT64_C(784111777)
#define MODIFIED_TEXT "Sun, 06 Nov 1994 08:49:37 GMT"
#define BEFORE_TEXT "Sun, 06 Nov 1994 08:49:36 GMT"
#define AFTER_TEXT "Sun, 06 Nov 1994 08:49:38 GMT"

/* One request, as C strings; NULL: the field is absent. */
struct request {
    const char *if_match;
    const char *if_none_match;
    const char *if_modified_since;
    const char *if_unmodified_since;
    const char *if_range;
};

static struct rv_conditions conditions_of(const struct request *request)
{
    return (struct rv_conditions){.if_match = rv_str(request->if_match),
                                  .if_none_match = rv_str(request->if_none_match),
                                  .if_modified_since = rv_str(request->if_modified_since),
                                  .if_unmodified_since = rv_str(request->if_unmodified_since),
                                  .if_range = rv_str(request->if_range)};
}

/* The representation of most tests. */
static const struct rv_validators strong = {
    .etag = RV_LIT("\"ours\""), .last_modified = MODIFIED, .now = MODIFIED + 1000};
static const struct rv_validators weak = {
    .etag = RV_LIT("W/\"ours\""), .last_modified = MODIFIED, .now = MODIFIED + 1000};
static const struct rv_validators without_etag = {.last_modified = MODIFIED,
                                                  .now = MODIFIED + 1000};
static const struct rv_validators without_date = {
    .etag = RV_LIT("\"ours\""), .last_modified = -1, .now = MODIFIED + 1000};

static enum rv_condition_result get(struct request request, const struct rv_validators *validators)
{
    struct rv_conditions conditions = conditions_of(&request);
    return rv_conditions_evaluate(&conditions, validators, true);
}

static enum rv_condition_result put(struct request request, const struct rv_validators *validators)
{
    struct rv_conditions conditions = conditions_of(&request);
    return rv_conditions_evaluate(&conditions, validators, false);
}

static bool range_applies(const char *if_range, const struct rv_validators *validators)
{
    struct rv_conditions conditions = {.if_range = rv_str(if_range)};
    return rv_if_range_allows(&conditions, validators);
}

#define GET(validators, ...) get((struct request){__VA_ARGS__}, &(validators))
#define PUT(validators, ...) put((struct request){__VA_ARGS__}, &(validators))

static void a_request_without_conditions_passes(void **state)
{
    (void)state;
    assert_int_equal(GET(strong, .if_match = NULL), RV_CONDITION_PASS);
    assert_int_equal(PUT(strong, .if_match = NULL), RV_CONDITION_PASS);
}

/* ---- If-None-Match --------------------------------------------------------------------------- */

static void a_get_of_what_the_client_has_is_not_modified(void **state)
{
    (void)state;
    static const char *const fields[] = {
        "\"ours\"",         /* CD01 */
        "*",                /* CD02 */
        "\"zz\", \"ours\"", /* CD03 */
        "W/\"ours\"",       /* CD04 */
        "\"zz\",\"ours\"",
        "\"ours\", \"zz\"",
        " , ,\"zz\" ,\t\"ours\" , ", /* empty members and OWS, section 5.6.1 */
        "W/\"zz\", W/\"ours\"",
        "zz, \"ours\"",         /* what is no entity tag does not hide the others */
        "\"a,b\", \"ours\"",    /* a comma inside the quotes */
        "\"back\\\", \"ours\"", /* a backslash escapes nothing, section 8.8.3 */
    };
    for (size_t i = 0; i < COUNT(fields); i++)
        if (GET(strong, .if_none_match = fields[i]) != RV_CONDITION_NOT_MODIFIED)
            fail_msg("If-None-Match: %s does not match", fields[i]);
}

static void a_weak_tag_of_ours_matches_weakly(void **state)
{
    (void)state;
    assert_int_equal(GET(weak, .if_none_match = "\"ours\""), RV_CONDITION_NOT_MODIFIED);
    assert_int_equal(GET(weak, .if_none_match = "W/\"ours\""), RV_CONDITION_NOT_MODIFIED);
}

static void a_get_of_anything_else_passes(void **state)
{
    (void)state;
    static const char *const fields[] = {
        "\"zz\"",    "\"Ours\"", "\"our\"",     "\"ourss\"",
        "ours",      "\"ours",   "ours\"",      "w/\"ours\"",
        "W\"ours\"", "W/ours",   "\"zz,ours\"", "\"x\"\"ours\"",
        "",          ",",        "\"zz\", *",   "\"*\"",
        "**",        "W/",       "W/*",         "\"ours\" \"ours\"",
    };
    for (size_t i = 0; i < COUNT(fields); i++)
        if (GET(strong, .if_none_match = fields[i]) != RV_CONDITION_PASS)
            fail_msg("If-None-Match: %s matches", fields[i]);
}

static void a_comma_inside_the_quotes_separates_nothing(void **state)
{
    (void)state;
    static const struct rv_validators with_comma = {
        .etag = RV_LIT("\"a,b\""), .last_modified = MODIFIED, .now = MODIFIED};
    assert_int_equal(GET(with_comma, .if_none_match = "\"a,b\""), RV_CONDITION_NOT_MODIFIED);
    assert_int_equal(GET(with_comma, .if_none_match = "\"zz\", W/\"a,b\""),
                     RV_CONDITION_NOT_MODIFIED);
    assert_int_equal(GET(with_comma, .if_none_match = "\"a\", \"b\""), RV_CONDITION_PASS);
}

static void if_none_match_fails_other_methods(void **state)
{
    (void)state;
    assert_int_equal(PUT(strong, .if_none_match = "\"ours\""), RV_CONDITION_FAILED);
    assert_int_equal(PUT(strong, .if_none_match = "*"), RV_CONDITION_FAILED);
    assert_int_equal(PUT(strong, .if_none_match = "\"zz\""), RV_CONDITION_PASS);
}

static void without_an_entity_tag_only_the_star_matches(void **state)
{
    (void)state;
    assert_int_equal(GET(without_etag, .if_none_match = "*"), RV_CONDITION_NOT_MODIFIED);
    assert_int_equal(GET(without_etag, .if_none_match = "\"ours\""), RV_CONDITION_PASS);
    assert_int_equal(GET(without_etag, .if_match = "*"), RV_CONDITION_PASS);
    assert_int_equal(GET(without_etag, .if_match = "\"ours\""), RV_CONDITION_FAILED);
}

/* ---- If-Modified-Since ----------------------------------------------------------------------- */

static void what_was_not_modified_since_is_not_sent_again(void **state)
{
    (void)state;
    static const char *const fields[] = {
        MODIFIED_TEXT,                    /* CD06 */
        "Sunday, 06-Nov-94 08:49:37 GMT", /* CD08 */
        "Sun Nov  6 08:49:37 1994",
        AFTER_TEXT, /* a later date too, section 13.1.3 */
        "Fri, 31 Dec 9999 23:59:59 GMT",
    };
    for (size_t i = 0; i < COUNT(fields); i++)
        if (GET(strong, .if_modified_since = fields[i]) != RV_CONDITION_NOT_MODIFIED)
            fail_msg("If-Modified-Since: %s passes", fields[i]);
}

static void what_was_modified_since_is_sent(void **state)
{
    (void)state;
    assert_int_equal(GET(strong, .if_modified_since = BEFORE_TEXT), RV_CONDITION_PASS);
}

static void if_modified_since_is_ignored_when_it_means_nothing(void **state)
{
    (void)state;
    assert_int_equal(GET(strong, .if_modified_since = "garbage"), RV_CONDITION_PASS); /* CD07 */
    assert_int_equal(GET(strong, .if_modified_since = ""), RV_CONDITION_PASS);
    assert_int_equal(GET(strong, .if_modified_since = MODIFIED_TEXT ", " MODIFIED_TEXT),
                     RV_CONDITION_PASS);
    assert_int_equal(GET(without_date, .if_modified_since = AFTER_TEXT), RV_CONDITION_PASS);
    assert_int_equal(PUT(strong, .if_modified_since = AFTER_TEXT), RV_CONDITION_PASS);
}

/* ---- If-Match -------------------------------------------------------------------------------- */

static void if_match_passes_our_strong_tag_and_the_star(void **state)
{
    (void)state;
    static const char *const fields[] = {"*" /* CD10 */, "\"ours\"", "\"zz\", \"ours\"",
                                         "W/\"ours\", \"ours\""};
    for (size_t i = 0; i < COUNT(fields); i++) {
        assert_int_equal(GET(strong, .if_match = fields[i]), RV_CONDITION_PASS);
        assert_int_equal(PUT(strong, .if_match = fields[i]), RV_CONDITION_PASS);
    }
}

static void if_match_fails_everything_else(void **state)
{
    (void)state;
    static const char *const fields[] = {"\"zz\"" /* CD09 */, "W/\"ours\"" /* CD11 */, "", "ours",
                                         "\"zz\", *"};
    for (size_t i = 0; i < COUNT(fields); i++) {
        assert_int_equal(GET(strong, .if_match = fields[i]), RV_CONDITION_FAILED);
        assert_int_equal(PUT(strong, .if_match = fields[i]), RV_CONDITION_FAILED);
    }
}

static void our_weak_tag_never_passes_if_match(void **state)
{
    (void)state;
    assert_int_equal(GET(weak, .if_match = "W/\"ours\""), RV_CONDITION_FAILED);
    assert_int_equal(GET(weak, .if_match = "\"ours\""), RV_CONDITION_FAILED);
    assert_int_equal(GET(weak, .if_match = "*"), RV_CONDITION_PASS);
}

/* ---- If-Unmodified-Since --------------------------------------------------------------------- */

static void what_was_modified_since_fails_if_unmodified_since(void **state)
{
    (void)state;
    assert_int_equal(GET(strong, .if_unmodified_since = BEFORE_TEXT), RV_CONDITION_FAILED);
    assert_int_equal(PUT(strong, .if_unmodified_since = BEFORE_TEXT), RV_CONDITION_FAILED);
    assert_int_equal(GET(strong, .if_unmodified_since = "Sat, 01 Jan 1994 00:00:00 GMT"),
                     RV_CONDITION_FAILED); /* CD12 */
}

static void what_was_not_modified_passes_if_unmodified_since(void **state)
{
    (void)state;
    assert_int_equal(GET(strong, .if_unmodified_since = MODIFIED_TEXT), RV_CONDITION_PASS);
    assert_int_equal(PUT(strong, .if_unmodified_since = AFTER_TEXT), RV_CONDITION_PASS);
}

static void if_unmodified_since_is_ignored_when_it_means_nothing(void **state)
{
    (void)state;
    assert_int_equal(GET(strong, .if_unmodified_since = "garbage"), RV_CONDITION_PASS);
    assert_int_equal(PUT(without_date, .if_unmodified_since = BEFORE_TEXT), RV_CONDITION_PASS);
}

/* ---- the order of section 13.2.2 ------------------------------------------------------------- */

static void if_none_match_silences_if_modified_since(void **state)
{
    (void)state;
    /* CD05 */
    assert_int_equal(GET(strong, .if_none_match = "\"zz\"", .if_modified_since = MODIFIED_TEXT),
                     RV_CONDITION_PASS);
    assert_int_equal(GET(strong, .if_none_match = "\"ours\"", .if_modified_since = BEFORE_TEXT),
                     RV_CONDITION_NOT_MODIFIED);
    /* also where there is no tag to compare with */
    assert_int_equal(
        GET(without_etag, .if_none_match = "\"zz\"", .if_modified_since = MODIFIED_TEXT),
        RV_CONDITION_PASS);
}

static void if_match_silences_if_unmodified_since(void **state)
{
    (void)state;
    assert_int_equal(GET(strong, .if_match = "\"ours\"", .if_unmodified_since = BEFORE_TEXT),
                     RV_CONDITION_PASS);
    assert_int_equal(GET(strong, .if_match = "\"zz\"", .if_unmodified_since = AFTER_TEXT),
                     RV_CONDITION_FAILED);
}

static void a_failed_precondition_comes_before_not_modified(void **state)
{
    (void)state;
    assert_int_equal(GET(strong, .if_match = "\"zz\"", .if_none_match = "\"ours\""),
                     RV_CONDITION_FAILED);
    assert_int_equal(
        GET(strong, .if_unmodified_since = BEFORE_TEXT, .if_modified_since = MODIFIED_TEXT),
        RV_CONDITION_FAILED);
}

static void a_passed_precondition_leaves_the_rest_to_be_judged(void **state)
{
    (void)state;
    assert_int_equal(GET(strong, .if_match = "\"ours\"", .if_none_match = "\"ours\""),
                     RV_CONDITION_NOT_MODIFIED);
    assert_int_equal(
        GET(strong, .if_unmodified_since = MODIFIED_TEXT, .if_modified_since = MODIFIED_TEXT),
        RV_CONDITION_NOT_MODIFIED);
}

/* ---- If-Range -------------------------------------------------------------------------------- */

static void a_range_applies_without_if_range(void **state)
{
    (void)state;
    assert_true(range_applies(NULL, &strong));
    assert_true(range_applies(NULL, &without_etag));
}

static void a_range_applies_to_the_same_representation(void **state)
{
    (void)state;
    assert_true(range_applies("\"ours\"", &strong)); /* RG13 */
    assert_true(range_applies(MODIFIED_TEXT, &strong));
    assert_true(range_applies("Sunday, 06-Nov-94 08:49:37 GMT", &strong));
    assert_true(range_applies(MODIFIED_TEXT, &without_etag));
}

static void a_range_does_not_apply_to_another_representation(void **state)
{
    (void)state;
    static const char *const fields[] = {
        "\"zz\"" /* RG12 */,
        "W/\"ours\"" /* RG14 */,
        BEFORE_TEXT,
        AFTER_TEXT, /* exactly the same date, not a later one (section 13.1.5) */
        "Thu, 01 Jan 1970 00:00:00 GMT",
        "garbage",
        "",
        "*",
        "ours",
        "\"ours\", \"zz\"", /* If-Range is no list */
        "\"",
        "W/\"",
    };
    for (size_t i = 0; i < COUNT(fields); i++)
        if (range_applies(fields[i], &strong))
            fail_msg("If-Range: %s lets a range apply", fields[i]);
}

static void our_weak_tag_never_lets_a_range_apply(void **state)
{
    (void)state;
    assert_false(range_applies("W/\"ours\"", &weak));
    assert_false(range_applies("\"ours\"", &weak));
}

static void what_we_do_not_know_never_lets_a_range_apply(void **state)
{
    (void)state;
    assert_false(range_applies("\"ours\"", &without_etag));
    assert_false(range_applies("\"\"", &without_etag));
    assert_false(range_applies(MODIFIED_TEXT, &without_date));
    assert_false(range_applies("Wed, 31 Dec 1969 23:59:59 GMT", &without_date)); /* that is -1 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_without_conditions_passes),
        cmocka_unit_test(a_get_of_what_the_client_has_is_not_modified),
        cmocka_unit_test(a_weak_tag_of_ours_matches_weakly),
        cmocka_unit_test(a_get_of_anything_else_passes),
        cmocka_unit_test(a_comma_inside_the_quotes_separates_nothing),
        cmocka_unit_test(if_none_match_fails_other_methods),
        cmocka_unit_test(without_an_entity_tag_only_the_star_matches),
        cmocka_unit_test(what_was_not_modified_since_is_not_sent_again),
        cmocka_unit_test(what_was_modified_since_is_sent),
        cmocka_unit_test(if_modified_since_is_ignored_when_it_means_nothing),
        cmocka_unit_test(if_match_passes_our_strong_tag_and_the_star),
        cmocka_unit_test(if_match_fails_everything_else),
        cmocka_unit_test(our_weak_tag_never_passes_if_match),
        cmocka_unit_test(what_was_modified_since_fails_if_unmodified_since),
        cmocka_unit_test(what_was_not_modified_passes_if_unmodified_since),
        cmocka_unit_test(if_unmodified_since_is_ignored_when_it_means_nothing),
        cmocka_unit_test(if_none_match_silences_if_modified_since),
        cmocka_unit_test(if_match_silences_if_unmodified_since),
        cmocka_unit_test(a_failed_precondition_comes_before_not_modified),
        cmocka_unit_test(a_passed_precondition_leaves_the_rest_to_be_judged),
        cmocka_unit_test(a_range_applies_without_if_range),
        cmocka_unit_test(a_range_applies_to_the_same_representation),
        cmocka_unit_test(a_range_does_not_apply_to_another_representation),
        cmocka_unit_test(our_weak_tag_never_lets_a_range_apply),
        cmocka_unit_test(what_we_do_not_know_never_lets_a_range_apply),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
