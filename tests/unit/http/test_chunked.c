/*
 * The chunked decoder: what a chunked body may look like, what is refused and at which octet.
 * Each body is decoded whole, in two pieces cut at every place, and octet by octet; data, place
 * and verdict must be the same each time. Pieces lie in blocks of exactly their size.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "http/chunked.h"
#include "random.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { DATA_MAX = 8192 };

/* What came of a body. */
struct decoded {
    enum rv_chunked_result result;
    const char *reason;
    size_t used; /* octets taken, up to the last one */
    size_t length;
    char data[DATA_MAX];
};

/* Feeds one piece, and asserts what holds of every call. */
static void feed(struct rv_chunked *chunked, rv_bytes piece, struct decoded *decoded)
{
    char *block = malloc(piece.len > 0 ? piece.len : 1);
    assert_non_null(block);
    memcpy(block, piece.ptr, piece.len);
    rv_bytes octets = rv_slice(block, piece.len);

    do {
        rv_bytes before = octets;
        rv_bytes data = {NULL, 0};
        decoded->result = rv_chunked_next(chunked, &octets, &data, &decoded->reason);
        assert_true(octets.ptr + octets.len == block + piece.len);
        assert_true(octets.ptr >= before.ptr);
        if (decoded->result == RV_CHUNKED_DATA) {
            assert_true(data.len > 0);
            assert_true(data.ptr >= before.ptr && data.ptr + data.len == octets.ptr);
            assert_true(decoded->length + data.len <= DATA_MAX);
            memcpy(decoded->data + decoded->length, data.ptr, data.len);
            decoded->length += data.len;
        } else if (decoded->result == RV_CHUNKED_INCOMPLETE) {
            assert_int_equal(octets.len, 0);
        }
    } while (decoded->result == RV_CHUNKED_DATA);
    decoded->used += piece.len - octets.len;
    free(block);
}

static bool is_final(const struct decoded *decoded)
{
    return decoded->result == RV_CHUNKED_LAST || decoded->result == RV_CHUNKED_ERROR;
}

/* Decodes in pieces of `step` octets behind a first one of `first`, until the end is known. */
static void decode(rv_bytes body, size_t first, size_t step, struct decoded *decoded)
{
    struct rv_chunked chunked;
    rv_chunked_init(&chunked);
    decoded->result = RV_CHUNKED_INCOMPLETE;
    decoded->reason = NULL;
    decoded->used = 0;
    decoded->length = 0;
    size_t at = first < body.len ? first : body.len;
    feed(&chunked, rv_slice(body.ptr, at), decoded);
    while (at < body.len && !is_final(decoded)) {
        size_t length = body.len - at < step ? body.len - at : step;
        feed(&chunked, rv_slice(body.ptr + at, length), decoded);
        at += length;
    }
}

static void assert_same(const struct decoded *a, const struct decoded *b, rv_bytes body)
{
    if (a->result != b->result || a->used != b->used || a->length != b->length ||
        a->reason != b->reason)
        fail_msg("%d at %zu and %d at %zu: \"%s\"", (int)a->result, a->used, (int)b->result,
                 b->used, body.ptr);
    assert_memory_equal(a->data, b->data, a->length);
}

/* The same however it is cut. */
static struct decoded *decode_every_way(rv_bytes body)
{
    static struct decoded whole;
    static struct decoded cut;
    decode(body, body.len, 1, &whole);
    for (size_t first = 0; first < body.len; first++) {
        decode(body, first, body.len, &cut);
        assert_same(&whole, &cut, body);
    }
    decode(body, 1, 1, &cut);
    assert_same(&whole, &cut, body);
    return &whole;
}

/* The body is whole, and what follows its last chunk line is left alone. */
static void assert_decodes(rv_bytes body, const char *data)
{
    struct decoded *d = decode_every_way(body);
    if (d->result != RV_CHUNKED_LAST)
        fail_msg("result %d (%s): \"%s\"", (int)d->result, d->reason, body.ptr);
    assert_int_equal(d->used, body.len - 2);
    assert_int_equal(d->length, strlen(data));
    assert_memory_equal(d->data, data, d->length);
}

/* Refused when the octet at `at` is seen, and not before. */
static void assert_refused(rv_bytes body, size_t at)
{
    struct decoded *d = decode_every_way(body);
    if (d->result != RV_CHUNKED_ERROR)
        fail_msg("result %d: \"%s\"", (int)d->result, body.ptr);
    if (d->used != at)
        fail_msg("at %zu and not %zu: \"%s\"", d->used, at, body.ptr);
    assert_non_null(d->reason);
}

static void assert_incomplete(rv_bytes body, size_t data_length)
{
    struct decoded *d = decode_every_way(body);
    assert_int_equal(d->result, RV_CHUNKED_INCOMPLETE);
    assert_int_equal(d->used, body.len);
    assert_int_equal(d->length, data_length);
}

/* ---- bodies, RFC 9112 section 7.1 ------------------------------------------------------------ */

static void chunks_are_joined(void **state)
{
    (void)state;
    assert_decodes(RV_LIT("5\r\nhello\r\n0\r\n\r\n"), "hello");
    assert_decodes(RV_LIT("1\r\na\r\n2\r\nbc\r\n3\r\ndef\r\n0\r\n\r\n"), "abcdef");
    assert_decodes(RV_LIT("0\r\n\r\n"), "");
}

static void data_may_have_any_octet(void **state)
{
    (void)state;
    assert_decodes(RV_LIT("8\r\n\r\n0\r\n\r\n\xff\r\n0\r\n\r\n"), "\r\n0\r\n\r\n\xff");
}

static void sizes_are_hexadecimal_in_any_case(void **state)
{
    (void)state;
    assert_decodes(RV_LIT("A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n"),
                   "01234567890123456789");
    assert_decodes(RV_LIT("1f\r\n0123456789abcdef0123456789abcde\r\n0\r\n\r\n"),
                   "0123456789abcdef0123456789abcde");
    assert_decodes(RV_LIT("1F\r\n0123456789abcdef0123456789abcde\r\n0\r\n\r\n"),
                   "0123456789abcdef0123456789abcde");
}

static void leading_zeros_change_nothing(void **state)
{
    (void)state;
    assert_decodes(RV_LIT("0005\r\nhello\r\n000\r\n\r\n"), "hello");
    assert_decodes(RV_LIT("0000000000000005\r\nhello\r\n0000000000000000\r\n\r\n"), "hello");
}

static void the_octets_behind_the_last_chunk_are_left(void **state)
{
    (void)state;
    rv_bytes octets = RV_LIT("0\r\nX-Trailer: 1\r\n\r\nGET");
    struct decoded *d = decode_every_way(octets);
    assert_int_equal(d->result, RV_CHUNKED_LAST);
    assert_int_equal(d->used, 3);
}

static void the_end_is_told_again(void **state)
{
    (void)state;
    struct rv_chunked chunked;
    struct decoded d = {.length = 0};
    rv_chunked_init(&chunked);
    feed(&chunked, RV_LIT("0\r\n"), &d);
    assert_int_equal(d.result, RV_CHUNKED_LAST);
    feed(&chunked, RV_LIT("5\r\nhello\r\n"), &d);
    assert_int_equal(d.result, RV_CHUNKED_LAST);
    assert_int_equal(d.used, 3);
    feed(&chunked, RV_LIT(""), &d);
    assert_int_equal(d.result, RV_CHUNKED_LAST);
}

static void an_error_is_told_again(void **state)
{
    (void)state;
    struct rv_chunked chunked;
    struct decoded d = {.length = 0};
    rv_chunked_init(&chunked);
    feed(&chunked, RV_LIT("x"), &d);
    assert_int_equal(d.result, RV_CHUNKED_ERROR);
    d.reason = NULL;
    feed(&chunked, RV_LIT("5\r\nhello\r\n0\r\n\r\n"), &d);
    assert_int_equal(d.result, RV_CHUNKED_ERROR);
    assert_int_equal(d.length, 0);
    assert_non_null(d.reason);
}

static void a_body_that_stops_early_is_incomplete(void **state)
{
    (void)state;
    assert_incomplete(RV_LIT(""), 0);
    assert_incomplete(RV_LIT("5"), 0);
    assert_incomplete(RV_LIT("5\r"), 0);
    assert_incomplete(RV_LIT("5\r\n"), 0);
    assert_incomplete(RV_LIT("5\r\nhel"), 3);
    assert_incomplete(RV_LIT("5\r\nhello"), 5);
    assert_incomplete(RV_LIT("5\r\nhello\r"), 5);
    assert_incomplete(RV_LIT("5\r\nhello\r\n"), 5);
    assert_incomplete(RV_LIT("5\r\nhello\r\n0\r"), 5);
    assert_incomplete(RV_LIT("5;a=\"b"), 0);
}

/* ---- sizes that are none --------------------------------------------------------------------- */

static void a_size_is_digits_and_nothing_else(void **state)
{
    (void)state;
    assert_refused(RV_LIT("\r\nhello\r\n0\r\n\r\n"), 0);
    assert_refused(RV_LIT("0x5\r\nhello\r\n0\r\n\r\n"), 1);
    assert_refused(RV_LIT("0_5\r\nhello\r\n0\r\n\r\n"), 1);
    assert_refused(RV_LIT("+5\r\nhello\r\n0\r\n\r\n"), 0);
    assert_refused(RV_LIT("-5\r\nhello\r\n0\r\n\r\n"), 0);
    assert_refused(RV_LIT(" 5\r\nhello\r\n0\r\n\r\n"), 0);
    assert_refused(RV_LIT("g\r\nhello\r\n0\r\n\r\n"), 0);
    assert_refused(RV_LIT("5g\r\nhello\r\n0\r\n\r\n"), 1);
    assert_refused(RV_LIT(";a\r\nhello\r\n0\r\n\r\n"), 0);
    assert_refused(RV_LIT("\r0\r\n\r\n"), 0);
    assert_refused(RV_LIT("5\0\r\nhello\r\n0\r\n\r\n"), 1);
    assert_refused(RV_LIT("5,5\r\nhello\r\n0\r\n\r\n"), 1);
    assert_refused(RV_LIT("@\r\n"), 0);
    assert_refused(RV_LIT("`\r\n"), 0);
    assert_refused(RV_LIT("G\r\n"), 0);
    assert_refused(RV_LIT("/\r\n"), 0);
    assert_refused(RV_LIT(":\r\n"), 0);
}

static void only_hexadecimal_digits_begin_a_chunk(void **state)
{
    (void)state;
    for (unsigned octet = 0; octet < 256; octet++) {
        const char line[] = {(char)octet, '\r', '\n', '\0'};
        bool digit = strchr("0123456789abcdefABCDEF", (int)octet) != NULL && octet != 0;
        enum rv_chunked_result expected = !digit         ? RV_CHUNKED_ERROR
                                          : octet == '0' ? RV_CHUNKED_LAST
                                                         : RV_CHUNKED_INCOMPLETE;
        assert_int_equal(decode_every_way(rv_slice(line, 3))->result, expected);
    }
}

static void white_space_behind_a_size_needs_an_extension(void **state)
{
    (void)state;
    assert_refused(RV_LIT("5 \r\nhello\r\n0\r\n\r\n"), 2);
    assert_refused(RV_LIT("5\t\r\nhello\r\n0\r\n\r\n"), 2);
    assert_refused(RV_LIT("5 5\r\nhello\r\n0\r\n\r\n"), 2);
    assert_refused(RV_LIT("5 a\r\nhello\r\n0\r\n\r\n"), 2);
    assert_decodes(RV_LIT("5 \t;a\r\nhello\r\n0\r\n\r\n"), "hello");
}

static void a_size_has_sixteen_digits_at_most(void **state)
{
    (void)state;
    assert_refused(RV_LIT("00000000000000005\r\nhello\r\n"), 16);
    assert_refused(RV_LIT("10000000000000000\r\nhello\r\n"), 16);
    assert_refused(RV_LIT("fffffffffffffffff0\r\nhello\r\n"), 15);
}

static void a_size_has_63_bits(void **state)
{
    (void)state;
    struct rv_chunked chunked;
    struct decoded d = {.length = 0};
    rv_chunked_init(&chunked);
    feed(&chunked, RV_LIT("7fffffffffffffff\r\nabc"), &d);
    assert_int_equal(d.result, RV_CHUNKED_INCOMPLETE);
    assert_int_equal(d.length, 3);
    assert_true(chunked.left == (uint64_t)INT64_MAX - 3);
    assert_refused(RV_LIT("8000000000000000\r\nabc"), 15);
    assert_refused(RV_LIT("ffffffffffffffff\r\nabc"), 15);
}

/* ---- line ends ------------------------------------------------------------------------------- */

static void only_crlf_ends_a_line(void **state)
{
    (void)state;
    assert_refused(RV_LIT("5\nhello\n0\n\n"), 1);
    assert_refused(RV_LIT("5\rhello\r\n0\r\n\r\n"), 2);
    assert_refused(RV_LIT("5\r\r\nhello\r\n0\r\n\r\n"), 2);
    assert_refused(RV_LIT("5;a\nhello\r\n0\r\n\r\n"), 3);
    assert_refused(RV_LIT("5;a\rX\r\nhello\r\n0\r\n\r\n"), 4);
    assert_refused(RV_LIT("0\n"), 1);
    assert_refused(RV_LIT("0\rX"), 2);
}

static void only_crlf_follows_the_data(void **state)
{
    (void)state;
    assert_refused(RV_LIT("5\r\nhelloX\r\n0\r\n\r\n"), 8);
    assert_refused(RV_LIT("5\r\nhello\n0\r\n\r\n"), 8);
    assert_refused(RV_LIT("5\r\nhello\r0\r\n\r\n"), 9);
    assert_refused(RV_LIT("5\r\nhello0\r\n\r\n"), 8);
    assert_refused(RV_LIT("5\r\nhello\r\r\n0\r\n\r\n"), 9);
}

/* ---- extensions, RFC 9112 section 7.1.1 ------------------------------------------------------ */

static void extensions_are_dropped(void **state)
{
    (void)state;
    const rv_bytes bodies[] = {
        RV_LIT("5;a\r\nhello\r\n0\r\n\r\n"),
        RV_LIT("5;a=b;c\r\nhello\r\n0;x\r\n\r\n"),
        RV_LIT("5;a=\"b;\\\"c\"\r\nhello\r\n0\r\n\r\n"),
        RV_LIT("5;a=\"\"\r\nhello\r\n0\r\n\r\n"),
        RV_LIT("5;a=\"b\";c=\"d\" ;e\r\nhello\r\n0\r\n\r\n"),
        RV_LIT("5 ; a = b ;\tc\t=\t\"d\"\r\nhello\r\n0\r\n\r\n"),
        RV_LIT("5;a=\"\xe9\t\\\xe9\\\t\"\r\nhello\r\n0\r\n\r\n"),
        RV_LIT("5;!#$%&'*+-.^_`|~=~\r\nhello\r\n0\r\n\r\n"),
        RV_LIT("5;a ;b\r\nhello\r\n0;c=d;e=\"f\"\r\n\r\n"),
    };
    for (size_t i = 0; i < COUNT(bodies); i++)
        assert_decodes(bodies[i], "hello");
}

static void a_malformed_extension_is_refused(void **state)
{
    (void)state;
    assert_refused(RV_LIT("5;\r\nhello\r\n"), 2);
    assert_refused(RV_LIT("5; \r\nhello\r\n"), 3);
    assert_refused(RV_LIT("5;;a\r\nhello\r\n"), 2);
    assert_refused(RV_LIT("5;=b\r\nhello\r\n"), 2);
    assert_refused(RV_LIT("5;a=\r\nhello\r\n"), 4);
    assert_refused(RV_LIT("5;a=;b\r\nhello\r\n"), 4);
    assert_refused(RV_LIT("5;a=b=c\r\nhello\r\n"), 5);
    assert_refused(RV_LIT("5;a=b \r\nhello\r\n"), 6);
    assert_refused(RV_LIT("5;a \r\nhello\r\n"), 4);
    assert_refused(RV_LIT("5;a b\r\nhello\r\n"), 4);
    assert_refused(RV_LIT("5;a=b c\r\nhello\r\n"), 6);
    assert_refused(RV_LIT("5;\"a\"\r\nhello\r\n"), 2);
    assert_refused(RV_LIT("5;a=\"b\"c\r\nhello\r\n"), 7);
    assert_refused(RV_LIT("5;a=\"b\" \r\nhello\r\n"), 8);
    assert_refused(RV_LIT("5;a=\"b\r\nhello\r\n"), 6);
    assert_refused(RV_LIT("5;a=\"b\\\r\nhello\r\n"), 7);
    assert_refused(RV_LIT("5;a=b\"c\"\r\nhello\r\n"), 5);
    assert_refused(RV_LIT("5;a,b\r\nhello\r\n"), 3);
}

static void a_control_octet_in_an_extension_is_refused(void **state)
{
    (void)state;
    const char controls[] = {'\0', 0x01, 0x07, 0x0b, 0x1f, 0x7f, '\n'};
    for (size_t i = 0; i < COUNT(controls); i++) {
        char behind_semicolon[] = "5;_\r\n";
        char in_name[] = "5;a_\r\n";
        char in_value[] = "5;a=b_\r\n";
        char in_quotes[] = "5;a=\"_\"\r\n";
        char quoted[] = "5;a=\"\\_\"\r\n";
        behind_semicolon[2] = in_name[3] = in_value[5] = in_quotes[5] = quoted[6] = controls[i];
        assert_refused(rv_slice(behind_semicolon, 5), 2);
        assert_refused(rv_slice(in_name, 6), 3);
        assert_refused(rv_slice(in_value, 8), 5);
        assert_refused(rv_slice(in_quotes, 9), 5);
        assert_refused(rv_slice(quoted, 10), 6);
    }
}

/* A chunk of one octet whose line has `length` octets with its CRLF, and the end. */
static rv_bytes body_with_line_of(size_t length)
{
    static char body[RV_CHUNK_LINE_BYTES_MAX + 100];
    memset(body, 'a', length);
    memcpy(body, "1;", 2);
    memcpy(body + length - 2, "\r\nX\r\n0\r\n\r\n", 11);
    return rv_slice(body, length + 8);
}

static void a_chunk_line_may_be_as_long_as_its_limit(void **state)
{
    (void)state;
    static struct decoded d;
    decode(body_with_line_of(RV_CHUNK_LINE_BYTES_MAX), SIZE_MAX, 1, &d);
    assert_int_equal(d.result, RV_CHUNKED_LAST);
    assert_int_equal(d.length, 1);
    decode(body_with_line_of(RV_CHUNK_LINE_BYTES_MAX), 7, 5, &d);
    assert_int_equal(d.result, RV_CHUNKED_LAST);
}

static void a_longer_chunk_line_is_refused_before_it_ends(void **state)
{
    (void)state;
    static struct decoded d;
    const size_t steps[] = {SIZE_MAX, 1, 7};
    for (size_t i = 0; i < COUNT(steps); i++) {
        decode(body_with_line_of(RV_CHUNK_LINE_BYTES_MAX + 1), steps[i], steps[i], &d);
        assert_int_equal(d.result, RV_CHUNKED_ERROR);
        assert_int_equal(d.used, RV_CHUNK_LINE_BYTES_MAX);
    }
}

static void each_chunk_has_a_line_limit_of_its_own(void **state)
{
    (void)state;
    static char body[3 * RV_CHUNK_LINE_BYTES_MAX];
    static struct decoded d;
    size_t length = 0;
    for (int i = 0; i < 2; i++) {
        rv_bytes chunk = body_with_line_of(RV_CHUNK_LINE_BYTES_MAX);
        memcpy(body + length, chunk.ptr, chunk.len - 5);
        length += chunk.len - 5;
    }
    memcpy(body + length, "0\r\n\r\n", 5);
    decode(rv_slice(body, length + 5), SIZE_MAX, 1, &d);
    assert_int_equal(d.result, RV_CHUNKED_LAST);
    assert_int_equal(d.length, 2);
}

/* ---- every body ------------------------------------------------------------------------------ */

/* Good bodies with a few octets changed: decode_every_way asserts that cuts make no difference. */
static void the_verdict_on_damaged_bodies_does_not_depend_on_cuts(void **state)
{
    (void)state;
    const rv_bytes seeds[] = {
        RV_LIT("5\r\nhello\r\n0\r\n\r\n"),
        RV_LIT("1 ; a = \"b\\\"c\";d\r\nx\r\nA\r\n0123456789\r\n00;e=f\r\n\r\n"),
        RV_LIT("000002;a;b;c\r\n\r\n\r\n1\r\nz\r\n0 ;a\r\nX: y\r\n\r\n"),
    };
    const char spice[] = "\r\n\t ;=\"\\0123aAfFgx\0\x7f\x80";
    uint64_t random = 7633;
    unsigned ends = 0;

    for (unsigned run = 0; run < 4000; run++) {
        rv_bytes seed = seeds[random_below(&random, COUNT(seeds))];
        char body[128];
        memcpy(body, seed.ptr, seed.len);
        for (uint64_t changes = random_below(&random, 3); changes > 0; changes--)
            body[random_below(&random, seed.len)] = spice[random_below(&random, sizeof(spice))];
        if (decode_every_way(rv_slice(body, seed.len))->result == RV_CHUNKED_LAST)
            ends++;
    }
    assert_in_range(ends, 400, 3600);
}

/* Bodies made of random chunks of random data. */
static void what_was_put_into_chunks_comes_out(void **state)
{
    (void)state;
    static char body[2 * DATA_MAX];
    static char data[DATA_MAX];
    static struct decoded d;
    uint64_t random = 42;

    for (unsigned run = 0; run < 300; run++) {
        size_t length = 0;
        size_t data_length = 0;
        for (uint64_t chunks = random_below(&random, 6); chunks > 0; chunks--) {
            size_t size = 1 + random_below(&random, 600);
            length += (size_t)sprintf(body + length,
                                      random_below(&random, 2) ? "%zx\r\n" : "%05zX\r\n", size);
            for (size_t i = 0; i < size; i++)
                body[length++] = data[data_length++] = (char)random_below(&random, 256);
            length += (size_t)sprintf(body + length, "\r\n");
        }
        length += (size_t)sprintf(body + length, "0\r\n");
        decode(rv_slice(body, length), random_below(&random, length + 1),
               1 + random_below(&random, 300), &d);
        assert_int_equal(d.result, RV_CHUNKED_LAST);
        assert_int_equal(d.used, length);
        assert_int_equal(d.length, data_length);
        assert_memory_equal(d.data, data, data_length);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_are_joined),
        cmocka_unit_test(data_may_have_any_octet),
        cmocka_unit_test(sizes_are_hexadecimal_in_any_case),
        cmocka_unit_test(leading_zeros_change_nothing),
        cmocka_unit_test(the_octets_behind_the_last_chunk_are_left),
        cmocka_unit_test(the_end_is_told_again),
        cmocka_unit_test(an_error_is_told_again),
        cmocka_unit_test(a_body_that_stops_early_is_incomplete),
        cmocka_unit_test(a_size_is_digits_and_nothing_else),
        cmocka_unit_test(only_hexadecimal_digits_begin_a_chunk),
        cmocka_unit_test(white_space_behind_a_size_needs_an_extension),
        cmocka_unit_test(a_size_has_sixteen_digits_at_most),
        cmocka_unit_test(a_size_has_63_bits),
        cmocka_unit_test(only_crlf_ends_a_line),
        cmocka_unit_test(only_crlf_follows_the_data),
        cmocka_unit_test(extensions_are_dropped),
        cmocka_unit_test(a_malformed_extension_is_refused),
        cmocka_unit_test(a_control_octet_in_an_extension_is_refused),
        cmocka_unit_test(a_chunk_line_may_be_as_long_as_its_limit),
        cmocka_unit_test(a_longer_chunk_line_is_refused_before_it_ends),
        cmocka_unit_test(each_chunk_has_a_line_limit_of_its_own),
        cmocka_unit_test(the_verdict_on_damaged_bodies_does_not_depend_on_cuts),
        cmocka_unit_test(what_was_put_into_chunks_comes_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
