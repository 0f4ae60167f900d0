/*
 * Multipart bodies: what a browser sends and what the RFCs allow besides, what is refused and with
 * which status, and for all of these that it makes no difference where the octets are cut.
 */
#include "unit/http/multipart_reading.h"

#include "random.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define FORM "multipart/form-data; boundary=b"
#define PART(name, data)                                                                           \
    "--b\r\nContent-Disposition: form-data; name=\"" name "\"\r\n\r\n" data "\r\n"

static const struct rv_multipart_limits wide = {.parts_max = 1000, .part_head_bytes_max = 8192};

/* ---- reading in every way -------------------------------------------------------------------- */

static void assert_seen(const struct reading *reading, rv_bytes expected, const char *how,
                        size_t where)
{
    if (!rv_bytes_equal(rv_slice(reading->seen, reading->length), expected))
        fail_msg("%s %zu: \"%s\", not \"%.*s\"", how, where, reading->seen, (int)expected.len,
                 expected.ptr);
}

static void read_cut_in_two(const char *type, const struct rv_multipart_limits *limits,
                            rv_bytes body, rv_bytes expected)
{
    for (size_t cut = 0; cut <= body.len; cut++) {
        struct reading reading;
        reading_begin(&reading, type, limits);
        reading_feed(&reading, rv_slice(body.ptr, cut));
        reading_feed(&reading, rv_slice(body.ptr + cut, body.len - cut));
        reading_end(&reading);
        assert_seen(&reading, expected, "cut at", cut);
        reading_free(&reading);
    }
}

static void read_in_steps(const char *type, const struct rv_multipart_limits *limits, rv_bytes body,
                          rv_bytes expected, size_t step)
{
    struct reading reading;
    reading_begin(&reading, type, limits);
    for (size_t at = 0; at < body.len; at += step)
        reading_feed(&reading,
                     rv_slice(body.ptr + at, body.len - at < step ? body.len - at : step));
    reading_end(&reading);
    assert_seen(&reading, expected, "in steps of", step);
    reading_free(&reading);
}

static void assert_read_with(const char *type, const struct rv_multipart_limits *limits,
                             rv_bytes body, const char *expected)
{
    for (size_t step = 1; step < 20; step++)
        read_in_steps(type, limits, body, rv_str(expected), step);
    read_in_steps(type, limits, body, rv_str(expected), body.len + 1);
    read_cut_in_two(type, limits, body, rv_str(expected));
}

static void assert_read(const char *body, const char *expected)
{
    assert_read_with(FORM, &wide, rv_str(body), expected);
}

/* ---- good bodies ----------------------------------------------------------------------------- */

static void a_form_is_read_part_by_part(void **state)
{
    (void)state;
    assert_read(PART("a", "1") PART("a", "2") "--b--\r\n", "[a|-|-|-:1][a|-|-|-:2].");
    assert_read("--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"x.txt\"\r\n"
                "Content-Type: text/plain; charset=utf-8\r\n\r\nline\r\nline\r\n\r\n--b--",
                "[f|x.txt|text/plain; charset=utf-8|utf-8:line\r\nline\r\n].");
    assert_read("--b--\r\n", ".");
}

static void empty_parts_are_parts(void **state)
{
    (void)state;
    assert_read(PART("a", "") PART("b", "") "--b--\r\n", "[a|-|-|-:][b|-|-|-:].");
    /* RFC 2046: with no data at all, the line end of the head is that of the delimiter. */
    assert_read("--b\r\ncontent-disposition:form-data;name=a\r\n\r\n--b--", "[a|-|-|-:].");
}

static void preamble_and_epilogue_are_dropped(void **state)
{
    (void)state;
    assert_read("ignored\r\n--a\r\n\r\n" PART("a", "1") "--b--\r\nignored\r\n--b\r\n--b--",
                "[a|-|-|-:1].");
    assert_read("\r\n" PART("a", "1") "--b-- \t\r\n", "[a|-|-|-:1].");
    assert_read("x--b--\r\n" PART("a", "1") "--b--\r\n--b--", "[a|-|-|-:1].");
}

static void a_last_boundary_needs_no_line_end(void **state)
{
    (void)state;
    assert_read(PART("a", "1") "--b--", "[a|-|-|-:1].");
}

static void blanks_may_follow_a_boundary(void **state)
{
    (void)state;
    assert_read("--b \t \r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n--b\t\r\n"
                "Content-Disposition: form-data; name=b\r\n\r\n2\r\n--b--  ",
                "[a|-|-|-:1][b|-|-|-:2].");
}

static void what_resembles_a_delimiter_is_data(void **state)
{
    (void)state;
    static const char *const data[] = {
        "\r",         "\n",       "\r\r",       "\r\n",          "\r\n\r\n",
        "\r\n-",      "\r\n--",   "\r\n--a",    "\n--b",         "\r--b",
        "\r\n--B",    "x--b--",   "x\r\n-\r\n", "\r\r\n--\r\n-", "\r\n--\r\n--",
        "\r\n-\r--b", "\r\n --b", "-",
    };
    for (size_t i = 0; i < COUNT(data); i++) {
        char body[256], expected[64];
        snprintf(body, sizeof body, PART("a", "%s") "--b--", data[i]);
        snprintf(expected, sizeof expected, "[a|-|-|-:%s].", data[i]);
        assert_read(body, expected);
    }
}

static void data_may_be_any_octets(void **state)
{
    (void)state;
    char body[512] = PART("a", "");
    size_t length = strlen(body) - 2;
    for (int c = 0; c < 256; c++)
        body[length++] = (char)c;
    memcpy(body + length, "\r\n--b--", 7);
    struct reading reading;
    reading_begin(&reading, FORM, &wide);
    reading_feed(&reading, rv_slice(body, length + 7));
    reading_end(&reading);
    assert_int_equal(reading.length, 9 + 256 + 2);
    for (int c = 0; c < 256; c++)
        assert_int_equal((unsigned char)reading.seen[9 + c], c);
    reading_free(&reading);
}

static void data_is_not_copied(void **state)
{
    (void)state;
    const char body[] = PART("a", "some data") "--b--";
    char memory[RV_MULTIPART_MEMORY(100)];
    const struct rv_multipart_limits limits = {.parts_max = 1, .part_head_bytes_max = 100};
    struct rv_multipart multipart;
    rv_bytes rest = rv_str(body), data;
    assert_true(rv_multipart_begin(&multipart, RV_LIT(FORM), &limits, memory));
    assert_int_equal(rv_multipart_next(&multipart, &rest, &data), RV_MULTIPART_PART);
    assert_int_equal(rv_multipart_next(&multipart, &rest, &data), RV_MULTIPART_DATA);
    assert_ptr_equal(data.ptr, strstr(body, "some data"));
    assert_int_equal(data.len, 9);
}

/* ---- boundaries ------------------------------------------------------------------------------ */

static void a_boundary_may_be_quoted_and_long(void **state)
{
    (void)state;
    static const struct {
        const char *parameter;
        const char *boundary;
    } cases[] = {
        {"boundary=x", "x"},
        {"charset=utf-8; BOUNDARY=x", "x"},
        {"boundary=\"x\"", "x"},
        {"boundary=\"a b'()+_,-./:=?z\"", "a b'()+_,-./:=?z"},
        {"boundary=----=_Part_1_2.3", "----=_Part_1_2.3"},
        {"boundary=\"\\x\\y\"", "xy"},
        {"boundary=--", "--"},
        {"boundary=1234567890123456789012345678901234567890123456789012345678901234567890",
         "1234567890123456789012345678901234567890123456789012345678901234567890"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char type[256], body[512];
        const char *boundary = cases[i].boundary;
        snprintf(type, sizeof type, "Multipart/Form-Data; %s", cases[i].parameter);
        snprintf(body, sizeof body,
                 "--%s\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n--%.*s\r\n--%s--",
                 boundary, (int)strlen(boundary) - 1, boundary, boundary);
        char expected[128];
        snprintf(expected, sizeof expected, "[a|-|-|-:1\r\n--%.*s].", (int)strlen(boundary) - 1,
                 boundary);
        assert_read_with(type, &wide, rv_str(body), expected);
    }
}

static void a_body_without_a_usable_boundary_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *type;
        const char *seen;
    } cases[] = {
        {"", "!415"},
        {"text/plain; boundary=b", "!415"},
        {"multipart/mixed; boundary=b", "!415"},
        {"multipart/form-data", "!400"},
        {"multipart/form-data; boundary", "!400"},
        {"multipart/form-data; boundary=", "!400"},
        {"multipart/form-data; boundary=\"\"", "!400"},
        {"multipart/form-data; boundary=\"b", "!400"},
        {"multipart/form-data; boundary=\"b \"", "!400"},
        {"multipart/form-data; boundary=\"b\t\"", "!400"},
        {"multipart/form-data; boundary=b; boundary=c", "!400"},
        {"multipart/form-data; boundary=b*c", "!400"},
        {"multipart/form-data; boundary=\"b\\\"c\"", "!400"},
        {"multipart/form-data; boundary=\xc3\xbc", "!400"},
        {"multipart/form-data; "
         "boundary=12345678901234567890123456789012345678901234567890123456789012345678901",
         "!400"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct reading reading;
        reading_begin(&reading, cases[i].type, &wide);
        assert_seen(&reading, rv_str(cases[i].seen), cases[i].type, i);
        assert_false(rv_multipart_finish(&reading.multipart));
        reading_free(&reading);
    }
}

/* ---- refusals -------------------------------------------------------------------------------- */

static void a_body_that_was_cut_short_is_refused(void **state)
{
    (void)state;
    const char *body = PART("a", "1") "--b--";
    for (size_t length = 0; length < strlen(body); length++) {
        struct reading reading;
        reading_begin(&reading, FORM, &wide);
        reading_feed(&reading, rv_slice(body, length));
        assert_false(reading.is_over);
        reading_end(&reading);
        assert_int_equal(reading.multipart.status, 400);
        assert_non_null(strstr(reading.multipart.reason, "cut short"));
        reading_free(&reading);
    }
    assert_read("", "!400");
    assert_read("no boundary at all", "!400");
}

static void a_malformed_body_is_refused_with_400(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        const char *seen;
    } cases[] = {
        {"--bx\r\n", "!400"},
        {"--b x\r\n", "!400"},
        {"--b\n", "!400"},
        {"--b\r\r\n", "!400"},
        {"--b-\r\n", "!400"},
        {PART("a", "1") "--b--x", "[a|-|-|-:1]!400"},
        {PART("a", "1") "--b-- \rx", "[a|-|-|-:1]!400"},
        {PART("a", "1") "--bx", "[a|-|-|-:1]!400"},
        {"--b\r\n\r\n1\r\n--b--", "!400"}, /* no Content-Disposition */
        {"--b\r\nContent-Disposition: form-data; name=a\n\n1\r\n--b--", "!400"},
        {"--b\r\nContent-Disposition: form-data; name=a\r\n--b--", "!400"},
        {"--b\r\n\n", "!400"},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_read(cases[i].body, cases[i].seen);
}

static void a_limit_is_kept_with_413(void **state)
{
    (void)state;
    const char *two = PART("a", "1") PART("b", "2") "--b--";
    struct rv_multipart_limits limits = {.parts_max = 2, .part_head_bytes_max = 100};
    assert_read_with(FORM, &limits, rv_str(two), "[a|-|-|-:1][b|-|-|-:2].");
    limits.parts_max = 1;
    assert_read_with(FORM, &limits, rv_str(two), "[a|-|-|-:1]!413");
    limits.parts_max = 0;
    assert_read_with(FORM, &limits, rv_str(two), "!413");
    assert_read_with(FORM, &limits, RV_LIT("--b--"), ".");

    limits.parts_max = 2;
    limits.part_head_bytes_max = (uint32_t)strlen("Content-Disposition: form-data; name=\"a\"") + 4;
    assert_read_with(FORM, &limits, rv_str(two), "[a|-|-|-:1][b|-|-|-:2].");
    limits.part_head_bytes_max--;
    assert_read_with(FORM, &limits, rv_str(two), "!413");

    limits.part_head_bytes_max = 100;
    limits.bytes_max = strlen(two);
    assert_read_with(FORM, &limits, rv_str(two), "[a|-|-|-:1][b|-|-|-:2].");
    limits.bytes_max--;
    assert_read_with(FORM, &limits, rv_str(two), "[a|-|-|-:1][b|-|-|-:2]!413");
    /* What is cut short because it is too large is refused as too large. */
    limits.bytes_max = 10;
    assert_read_with(FORM, &limits, rv_str(two), "!413");
}

static void thousands_of_parts_are_refused_at_the_limit(void **state)
{
    (void)state;
    struct reading reading;
    reading_begin(&reading, FORM, &wide);
    for (int i = 0; i < 5000; i++)
        reading_feed(&reading, RV_LIT(PART("a", "1")));
    assert_int_equal(reading.multipart.status, 413);
    assert_int_equal(reading.length, 1000 * strlen("[a|-|-|-:1]") + strlen("!413"));
    reading_free(&reading);
}

/* ---- properties ------------------------------------------------------------------------------ */

/* A run of what delimiters are made of, in which no line begins with one: a dash behind a line end is
   followed by something that is none. */
static size_t put_data(uint64_t *random, char *out)
{
    static const char *const pieces[] = {"\r\n-x", "\r\n--x", "\r\n--boundarx", "\r", "\n", "--",
                                         "b",      "\r\n",    "\r\n--bound\r",  "-",  "x",  "\0"};
    size_t length = 0;
    for (uint64_t count = random_below(random, 12); count > 0; count--) {
        uint64_t which = random_below(random, COUNT(pieces));
        size_t size = which == COUNT(pieces) - 1 ? 1 : strlen(pieces[which]);
        memcpy(out + length, pieces[which], size);
        length += size;
    }
    return length;
}

static bool has(const char *text, size_t length, const char *wanted)
{
    return memmem(text, length, wanted, strlen(wanted)) != NULL;
}

static void every_split_of_many_bodies_gives_the_same_parts(void **state)
{
    (void)state;
    uint64_t random = 3;
    int bodies = 0;
    while (bodies < 150) {
        char body[2048], expected[1024], data[200];
        size_t length = 0, expected_length = 0, parts = random_below(&random, 4);
        bool is_ambiguous = false;
        for (size_t i = 0; i < parts; i++) {
            size_t count = put_data(&random, data + 2);
            memcpy(data, "\r\n", 2); /* what stands before the data */
            is_ambiguous |= has(data, count + 2, "\r\n--boundary");
            length += (size_t)sprintf(
                body + length, "--boundary\r\nContent-Disposition: form-data; name=n%zu\r\n\r\n",
                i);
            memcpy(body + length, data + 2, count);
            memcpy(body + length + count, "\r\n", 2);
            length += count + 2;
            expected_length += (size_t)sprintf(expected + expected_length, "[n%zu|-|-|-:", i);
            memcpy(expected + expected_length, data + 2, count);
            expected_length += count;
            expected[expected_length++] = ']';
        }
        length += (size_t)sprintf(body + length, "--boundary--");
        expected[expected_length++] = '.';
        if (is_ambiguous)
            continue;
        bodies++;
        const char *type = "multipart/form-data; boundary=boundary";
        rv_bytes all = rv_slice(body, length), seen = rv_slice(expected, expected_length);
        read_cut_in_two(type, &wide, all, seen);
        read_in_steps(type, &wide, all, seen, 1);
        read_in_steps(type, &wide, all, seen, 1 + random_below(&random, 40));
    }
}

/* A search that began anew at each octet would need hours for these. */
static void a_large_body_that_comes_octet_by_octet_costs_no_more_than_its_length(void **state)
{
    (void)state;
    enum { SIZE = 1 << 20 };
    static const char *const patterns[] = {"\r\n--aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", "\r",
                                           "\r\n--"};
    const char *type = "multipart/form-data; boundary=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    const char head[] = "--aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n"
                        "Content-Disposition: form-data; name=a\r\n\r\nx";
    for (size_t i = 0; i < COUNT(patterns); i++) {
        char memory[RV_MULTIPART_MEMORY(100)];
        const struct rv_multipart_limits limits = {.parts_max = 1, .part_head_bytes_max = 100};
        struct rv_multipart multipart;
        size_t events = 0, octets = 0, period = strlen(patterns[i]);
        assert_true(rv_multipart_begin(&multipart, rv_str(type), &limits, memory));
        rv_bytes rest = rv_str(head), data;
        assert_int_equal(rv_multipart_next(&multipart, &rest, &data), RV_MULTIPART_PART);
        assert_int_equal(rv_multipart_next(&multipart, &rest, &data), RV_MULTIPART_DATA);
        for (size_t at = 0; at < SIZE; at++) {
            rest = rv_slice(patterns[i] + at % period, 1);
            while (rv_multipart_next(&multipart, &rest, &data) == RV_MULTIPART_DATA) {
                events++;
                octets += data.len;
            }
            assert_int_equal(multipart.status, 0);
        }
        assert_true(events <= SIZE);
        assert_int_equal(octets, SIZE - multipart.matched);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_form_is_read_part_by_part),
        cmocka_unit_test(empty_parts_are_parts),
        cmocka_unit_test(preamble_and_epilogue_are_dropped),
        cmocka_unit_test(a_last_boundary_needs_no_line_end),
        cmocka_unit_test(blanks_may_follow_a_boundary),
        cmocka_unit_test(what_resembles_a_delimiter_is_data),
        cmocka_unit_test(data_may_be_any_octets),
        cmocka_unit_test(data_is_not_copied),
        cmocka_unit_test(a_boundary_may_be_quoted_and_long),
        cmocka_unit_test(a_body_without_a_usable_boundary_is_refused),
        cmocka_unit_test(a_body_that_was_cut_short_is_refused),
        cmocka_unit_test(a_malformed_body_is_refused_with_400),
        cmocka_unit_test(a_limit_is_kept_with_413),
        cmocka_unit_test(thousands_of_parts_are_refused_at_the_limit),
        cmocka_unit_test(every_split_of_many_bodies_gives_the_same_parts),
        cmocka_unit_test(a_large_body_that_comes_octet_by_octet_costs_no_more_than_its_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
