/*
 * Response heads (RFC 9112) as a client reads them: status lines, fields that decide, leniency where the
 * framing is not in doubt, refusal where it is, the limit. Each head is parsed at every length, from a
 * block of exactly that size whose padding holds what would come next: so a verdict that depends on how
 * the head was cut, or on a look too far, fails whatever the test is about.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "http/h1_response.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { HEAD_MAX = 65536 };

struct outcome {
    const char *octets; /* that `response` points into */
    const char *reason;
    int result;
    struct rv_h1_response response;
};

/* ---- parsing at every length ----------------------------------------------------------------- */

static void parse_first(rv_bytes octets, size_t length, uint32_t head_max, struct outcome *outcome)
{
    size_t behind = octets.len - length;
    char *block = malloc(length + RV_SCAN_PADDING);
    assert_non_null(block);
    memset(block + length, '\n', RV_SCAN_PADDING);
    memcpy(block, octets.ptr, length + (behind < RV_SCAN_PADDING ? behind : RV_SCAN_PADDING));
    memset(outcome, 0xa5, sizeof(*outcome));
    outcome->octets = octets.ptr;
    outcome->reason = NULL;
    outcome->result =
        rv_h1_parse_response(block, length, head_max, &outcome->response, &outcome->reason);
    free(block);
}

static bool is_same(const struct outcome *a, const struct outcome *b)
{
    const struct rv_h1_response *x = &a->response;
    const struct rv_h1_response *y = &b->response;
    if (a->result != b->result || a->reason != b->reason)
        return false;
    return a->result != RV_H1_COMPLETE ||
           (x->length == y->length && x->status == y->status && x->minor == y->minor &&
            x->has_content_length == y->has_content_length && x->chunked == y->chunked &&
            x->keep_alive == y->keep_alive && x->says_keep_alive == y->says_keep_alive &&
            x->coded_until_close == y->coded_until_close &&
            x->content_length == y->content_length && x->server.at == y->server.at &&
            x->server.length == y->server.length);
}

/* Up to some length the answer is "more", from then on it never changes: returns that length, SIZE_MAX
   when it is never known, and the answer in `outcome`. */
static size_t parse_growing(rv_bytes octets, uint32_t head_max, struct outcome *outcome)
{
    size_t known_at = SIZE_MAX;

    for (size_t length = 0; length <= octets.len; length++) {
        struct outcome next;
        parse_first(octets, length, head_max, &next);
        if (known_at != SIZE_MAX && !is_same(&next, outcome))
            fail_msg("%d (%s) became %d (%s) at %zu of \"%s\"", outcome->result, outcome->reason,
                     next.result, next.reason, length, octets.ptr);
        *outcome = next;
        if (known_at == SIZE_MAX && next.result != RV_H1_INCOMPLETE)
            known_at = length;
    }
    return known_at;
}

/* What an accepted head says; content behind it changes nothing. */
static struct outcome accepted(rv_bytes head)
{
    struct outcome outcome;
    char octets[1024];

    assert_in_range(head.len, 1, sizeof(octets) - 8);
    memcpy(octets, head.ptr, head.len);
    memcpy(octets + head.len, "\r\n:\0abcd", 8);
    size_t known_at = parse_growing(rv_slice(octets, head.len + 8), HEAD_MAX, &outcome);
    if (outcome.result != RV_H1_COMPLETE)
        fail_msg("%d %s: \"%s\"", outcome.result, outcome.reason, head.ptr);
    assert_int_equal(known_at, head.len);
    assert_int_equal(outcome.response.length, head.len);
    outcome.octets = head.ptr;
    return outcome;
}

/* Asserts that the head is malformed, for a reason that has this word, as soon as `known_at` octets are
   there. */
static void assert_malformed_at(rv_bytes octets, size_t known_at, const char *word)
{
    struct outcome outcome;
    size_t at = parse_growing(octets, HEAD_MAX, &outcome);
    if (outcome.result != RV_H1_MALFORMED)
        fail_msg("%d: \"%s\"", outcome.result, octets.ptr);
    if (at != known_at)
        fail_msg("known at %zu and not %zu: \"%s\"", at, known_at, octets.ptr);
    if (strstr(outcome.reason, word) == NULL)
        fail_msg("\"%s\" and not %s: \"%s\"", outcome.reason, word, octets.ptr);
}

/* The fault is the last octet. */
static void assert_malformed(rv_bytes octets, const char *word)
{
    assert_malformed_at(octets, octets.len, word);
}

static void assert_incomplete(rv_bytes octets)
{
    struct outcome outcome;
    assert_int_equal(parse_growing(octets, HEAD_MAX, &outcome), SIZE_MAX);
}

#define OK_HEAD(lines) RV_LIT("HTTP/1.1 200 OK\r\n" lines "\r\n")
#define OK_1_0(lines) RV_LIT("HTTP/1.0 200 OK\r\n" lines "\r\n")

static struct rv_h1_response response_of(rv_bytes head)
{
    return accepted(head).response;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void a_usual_head_is_understood(void **state)
{
    (void)state;
    struct outcome o = accepted(RV_LIT("HTTP/1.1 200 OK\r\n"
                                       "Server: nginx/1.22.1\r\n"
                                       "Date: Mon, 30 Nov 2026 21:42:00 GMT\r\n"
                                       "Content-Type: text/html\r\n"
                                       "Content-Length: 615\r\n"
                                       "Connection: keep-alive\r\n"
                                       "\r\n"));
    assert_int_equal(o.response.status, 200);
    assert_int_equal(o.response.minor, 1);
    assert_true(o.response.has_content_length);
    assert_int_equal(o.response.content_length, 615);
    assert_true(o.response.keep_alive);
    assert_true(o.response.says_keep_alive);
    assert_false(o.response.chunked);
    assert_false(o.response.coded_until_close);
    assert_true(rv_equals(rv_span_bytes(o.octets, o.response.server), "nginx/1.22.1"));
}

static void a_head_without_fields_is_complete(void **state)
{
    (void)state;
    struct rv_h1_response r = response_of(RV_LIT("HTTP/1.1 404 Not Found\r\n\r\n"));
    assert_int_equal(r.status, 404);
    assert_false(r.has_content_length);
    assert_true(r.keep_alive);
    assert_false(r.says_keep_alive);
    assert_int_equal(r.server.length, 0);
}

static void beginnings_are_incomplete(void **state)
{
    (void)state;
    const rv_bytes parts[] = {
        RV_LIT(""),
        RV_LIT("H"),
        RV_LIT("HTTP/1.1"),
        RV_LIT("HTTP/1.1 "),
        RV_LIT("HTTP/1.1 20"),
        RV_LIT("HTTP/1.1 200"),
        RV_LIT("HTTP/1.1 200 "),
        RV_LIT("HTTP/1.1 200 OK\r"),
        RV_LIT("HTTP/1.1 200 OK\r\n"),
        RV_LIT("HTTP/1.1 200 OK\r\n\r"),
        RV_LIT("HTTP/1.1 200 OK\r\nConnection"),
        RV_LIT("HTTP/1.1 200 OK\r\nConnection: close"),
        RV_LIT("HTTP/1.1 200 OK\r\nConnection: close\r\n"),
        RV_LIT("HTTP/1.1 200 OK\r\nConnection: close\r\n\r"),
    };
    for (size_t i = 0; i < COUNT(parts); i++)
        assert_incomplete(parts[i]);
}

/* ---- status lines, RFC 9112 section 4 -------------------------------------------------------- */

static void a_reason_phrase_may_be_anything_or_nothing(void **state)
{
    (void)state;
    const rv_bytes heads[] = {
        RV_LIT("HTTP/1.1 200\r\n\r\n"),
        RV_LIT("HTTP/1.1 200 \r\n\r\n"),
        RV_LIT("HTTP/1.1 200   \r\n\r\n"),
        RV_LIT("HTTP/1.1 200 Alles gut, \xe4\xf6\xfc: 100 %\r\n\r\n"),
        RV_LIT("HTTP/1.1 200 bell \x07 and tab\t\r\n\r\n"),
        RV_LIT("HTTP/1.1 200\n\n"),
    };
    for (size_t i = 0; i < COUNT(heads); i++)
        assert_int_equal(response_of(heads[i]).status, 200);
}

static void every_status_from_100_to_999_is_one(void **state)
{
    (void)state;
    for (int status = 100; status <= 999; status++) {
        char head[64];
        struct outcome o;
        int length = snprintf(head, sizeof(head), "HTTP/1.1 %d X\r\n\r\n", status);
        parse_first(rv_slice(head, (size_t)length), (size_t)length, HEAD_MAX, &o);
        assert_int_equal(o.result, RV_H1_COMPLETE);
        assert_int_equal(o.response.status, status);
    }
}

static void a_version_is_1_0_or_counts_as_1_1(void **state)
{
    (void)state;
    assert_int_equal(response_of(RV_LIT("HTTP/1.0 200 OK\r\n\r\n")).minor, 0);
    assert_int_equal(response_of(RV_LIT("HTTP/1.1 200 OK\r\n\r\n")).minor, 1);
    assert_int_equal(response_of(RV_LIT("HTTP/1.2 200 OK\r\n\r\n")).minor, 1);
    assert_int_equal(response_of(RV_LIT("HTTP/1.9 200 OK\r\n\r\n")).minor, 1);
}

static void another_version_is_malformed(void **state)
{
    (void)state;
    assert_malformed_at(RV_LIT("HTTP/2.0 200 OK\r\n\r\n"), 12, "version");
    assert_malformed_at(RV_LIT("HTTP/0.9 200 OK\r\n\r\n"), 12, "version");
    assert_malformed(RV_LIT("HTTP/1.11"), "does not start with");
    assert_malformed(RV_LIT("HTTP/1,"), "does not start with");
    assert_malformed(RV_LIT("HTTP/11"), "does not start with");
    assert_malformed(RV_LIT("HTTP/x"), "does not start with");
    assert_malformed(RV_LIT("HTTP "), "does not start with");
}

static void a_status_that_is_not_three_digits_is_malformed(void **state)
{
    (void)state;
    assert_malformed(RV_LIT("HTTP/1.1  "), "three digits");
    assert_malformed(RV_LIT("HTTP/1.1 O"), "three digits");
    assert_malformed(RV_LIT("HTTP/1.1 20 "), "three digits");
    assert_malformed(RV_LIT("HTTP/1.1 2000"), "three digits");
    assert_malformed(RV_LIT("HTTP/1.1 200O"), "three digits");
    assert_malformed(RV_LIT("HTTP/1.1 -"), "three digits");
    assert_malformed(RV_LIT("HTTP/1.1 099"), "below 100");
    assert_malformed(RV_LIT("HTTP/1.1 000"), "below 100");
    assert_malformed(RV_LIT("HTTP/1.1\r"), "does not start with");
}

/* Every prefix that could still become a status line waits; the first octet that cannot is the end. */
static void what_is_not_http_is_malformed_at_its_first_octet(void **state)
{
    (void)state;
    assert_malformed_at(RV_LIT("<html>an answer of HTTP/0.9</html>"), 1, "does not start with");
    assert_malformed_at(RV_LIT("SSH-2.0-OpenSSH_9.2\r\n"), 1, "does not start with");
    assert_malformed_at(RV_LIT("\x15\x03\x03\x00\x02\x02\x32"), 1, "does not start with");
    assert_malformed_at(RV_LIT("\0\0\0"), 1, "does not start with");
    assert_malformed_at(RV_LIT("ICY 200 OK\r\n"), 1, "does not start with");
    assert_malformed_at(RV_LIT("http/1.1 200 OK\r\n\r\n"), 1, "does not start with");
    assert_malformed_at(RV_LIT("\r\nHTTP/1.1 200 OK\r\n\r\n"), 1, "does not start with");
    assert_malformed_at(RV_LIT("HTTPS/1.1 200 OK\r\n\r\n"), 5, "does not start with");
}

/* ---- line ends, RFC 9112 section 2.2 --------------------------------------------------------- */

static void a_bare_lf_ends_any_line(void **state)
{
    (void)state;
    const rv_bytes heads[] = {
        RV_LIT("HTTP/1.1 200 OK\nContent-Length: 7\n\n"),
        RV_LIT("HTTP/1.1 200 OK\nContent-Length: 7\r\n\r\n"),
        RV_LIT("HTTP/1.1 200 OK\r\nContent-Length: 7\n\r\n"),
        RV_LIT("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\n"),
        RV_LIT("HTTP/1.1 200 OK\r\nA:\nContent-Length: 7\nB:\n\n"),
    };
    for (size_t i = 0; i < COUNT(heads); i++)
        assert_int_equal(response_of(heads[i]).content_length, 7);
}

static void a_bare_cr_is_malformed(void **state)
{
    (void)state;
    assert_malformed(RV_LIT("HTTP/1.1 200 OK\rX"), "CR");
    assert_malformed(RV_LIT("HTTP/1.1 200\r\r"), "CR");
    assert_malformed(RV_LIT("HTTP/1.1 200 OK\r\nA: b\rC"), "CR");
    assert_malformed(RV_LIT("HTTP/1.1 200 OK\r\nA: b\r\r"), "CR");
    assert_malformed(RV_LIT("HTTP/1.1 200 OK\r\n\rA"), "CR");
    assert_malformed(RV_LIT("HTTP/1.1 200 OK\r\nA: b\r\n\r\r"), "CR");
}

static void a_nul_is_malformed(void **state)
{
    (void)state;
    assert_malformed(RV_LIT("HTTP/1.1 200 O\0"), "NUL");
    assert_malformed(RV_LIT("HTTP/1.1 200 OK\r\nA: b\0"), "NUL");
    assert_malformed(RV_LIT("HTTP/1.1 200 OK\r\nA\0"), "octet");
    assert_malformed(RV_LIT("HTTP/1.1 200 OK\r\n\0"), "octet");
}

/* ---- field lines, RFC 9112 section 5 --------------------------------------------------------- */

static void blanks_around_a_value_are_not_part_of_it(void **state)
{
    (void)state;
    struct outcome o = accepted(OK_HEAD("Server: \t a server \t\r\nContent-Length:7\r\n"));
    assert_true(rv_equals(rv_span_bytes(o.octets, o.response.server), "a server"));
    assert_int_equal(o.response.content_length, 7);
    assert_int_equal(response_of(OK_HEAD("Content-Length: \t7\t \r\n")).content_length, 7);
}

static void names_have_any_case(void **state)
{
    (void)state;
    struct outcome o = accepted(OK_HEAD("cOnTeNt-lEnGtH: 7\r\nSERVER: s\r\ncONNECTION: CLOSE\r\n"));
    assert_int_equal(o.response.content_length, 7);
    assert_int_equal(o.response.server.length, 1);
    assert_false(o.response.keep_alive);
}

static void similar_names_mean_nothing(void **state)
{
    (void)state;
    struct rv_h1_response r = response_of(OK_HEAD("Content-Lengti: x\r\nContent_Length: 1\r\n"
                                                  "X-Content-Length: 2\r\nServes: x\r\n"
                                                  "Connectioo: close\r\nTransfer_Encoding: x y\r\n"
                                                  "Proxy-Connection: close\r\n"
                                                  "Keep-Alive: timeout=5, max=0\r\n"));
    assert_false(r.has_content_length);
    assert_false(r.coded_until_close);
    assert_true(r.keep_alive);
    assert_false(r.says_keep_alive);
    assert_int_equal(r.server.length, 0);
}

static void the_first_server_that_says_something_counts(void **state)
{
    (void)state;
    struct outcome o = accepted(OK_HEAD("Server:\r\nServer: one\r\nServer: two\r\n"));
    assert_true(rv_equals(rv_span_bytes(o.octets, o.response.server), "one"));
}

static void a_value_may_have_any_octet_but_line_ends_and_nul(void **state)
{
    (void)state;
    (void)accepted(OK_HEAD("A: \x01\x07\x0b\x1f\x7f\x80\xff\r\nB: 0123456789abcdef\x02\r\n"));
}

static void a_line_that_is_no_field_is_malformed(void **state)
{
    (void)state;
    assert_malformed(RV_LIT("HTTP/1.1 200 OK\r\nNoColon\r"), "colon");
    assert_malformed(RV_LIT("HTTP/1.1 200 OK\r\nNoColon\n"), "colon");
    assert_malformed(RV_LIT("HTTP/1.1 200 OK\r\n:"), "no name");
    assert_malformed(RV_LIT("HTTP/1.1 200 OK\r\nA "), "white space");
    assert_malformed(RV_LIT("HTTP/1.1 200 OK\r\nContent-Length "), "white space");
    assert_malformed(RV_LIT("HTTP/1.1 200 OK\r\nX["), "octet");
    assert_malformed(RV_LIT("HTTP/1.1 200 OK\r\nX\xe9"), "octet");
    assert_malformed(RV_LIT("HTTP/1.1 200 OK\r\n "), "blank");
    assert_malformed(RV_LIT("HTTP/1.1 200 OK\r\n\t"), "blank");
}

static void a_folded_field_goes_on(void **state)
{
    (void)state;
    struct outcome o = accepted(OK_HEAD("Server: a\r\n b\r\nX: c\r\n\td: e\n  \r\n"
                                        " Content-Length: 9\r\nContent-Length: 7\r\n"));
    assert_int_equal(o.response.content_length, 7);
    assert_true(rv_equals(rv_span_bytes(o.octets, o.response.server), "a"));
    assert_false(response_of(OK_HEAD("Connection: x,\r\n close\r\n")).keep_alive);
    assert_false(response_of(OK_HEAD("Connection:\r\n x ,\n\tclose \r\n")).keep_alive);
    assert_true(response_of(OK_HEAD("Connection: x\r\nY: z\r\n close\r\n")).keep_alive);
}

static void a_folded_length_is_malformed(void **state)
{
    (void)state;
    assert_malformed(RV_LIT("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n 7\r\n"), "folded");
    assert_malformed(RV_LIT("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip,\r\n chunked\n"), "folded");
}

/* ---- Content-Length, RFC 9112 section 6.3 ---------------------------------------------------- */

static void equal_lengths_are_one(void **state)
{
    (void)state;
    const rv_bytes heads[] = {
        OK_HEAD("Content-Length: 5, 5\r\n"),
        OK_HEAD("Content-Length: 5,5,5\r\n"),
        OK_HEAD("Content-Length: 5\r\nContent-Length: 5\r\n"),
        OK_HEAD("Content-Length: 5\r\nX: y\r\ncontent-length: 5,005\r\n"),
        OK_HEAD("Content-Length: 00005\r\n"),
        OK_HEAD("Content-Length: ,5,\r\n"),
    };
    for (size_t i = 0; i < COUNT(heads); i++) {
        struct rv_h1_response r = response_of(heads[i]);
        assert_true(r.has_content_length);
        assert_int_equal(r.content_length, 5);
        assert_true(r.keep_alive);
    }
}

static void different_lengths_are_malformed(void **state)
{
    (void)state;
    assert_malformed(RV_LIT("HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n"), "different");
    assert_malformed(RV_LIT("HTTP/1.1 200 OK\r\nContent-Length: 0, 6\r\n"), "different");
    assert_malformed(RV_LIT("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\n"),
                     "different");
}

static void a_length_that_is_no_number_is_malformed(void **state)
{
    (void)state;
    const rv_bytes heads[] = {
        RV_LIT("HTTP/1.1 200 OK\r\nContent-Length: -5\r\n"),
        RV_LIT("HTTP/1.1 200 OK\r\nContent-Length: +5\r\n"),
        RV_LIT("HTTP/1.1 200 OK\r\nContent-Length: 5a\r\n"),
        RV_LIT("HTTP/1.1 200 OK\r\nContent-Length: 0x5\r\n"),
        RV_LIT("HTTP/1.1 200 OK\r\nContent-Length: 5 5\r\n"),
        RV_LIT("HTTP/1.1 200 OK\r\nContent-Length: 5.0\r\n"),
        RV_LIT("HTTP/1.1 200 OK\r\nContent-Length: 5;5\r\n"),
        RV_LIT("HTTP/1.1 200 OK\r\nContent-Length: \"5\"\r\n"),
        RV_LIT("HTTP/1.1 200 OK\r\nContent-Length: \x0c"
               "5\r\n"),
        RV_LIT("HTTP/1.1 200 OK\r\nContent-Length: 5, x\r\n"),
        RV_LIT("HTTP/1.1 200 OK\r\nContent-Length:\r\n"),
        RV_LIT("HTTP/1.1 200 OK\r\nContent-Length: ,\r\n"),
    };
    for (size_t i = 0; i < COUNT(heads); i++)
        assert_malformed(heads[i], "Content-Length");
}

static void a_length_may_reach_2_63_and_no_further(void **state)
{
    (void)state;
    struct rv_h1_response r = response_of(OK_HEAD("Content-Length: 5000000000\r\n"));
    assert_true(r.content_length == 5000000000);
    r = response_of(OK_HEAD("Content-Length: 9223372036854775807\r\n"));
    assert_true(r.content_length == INT64_MAX);
    const rv_bytes heads[] = {
        RV_LIT("HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775808\r\n"),
        RV_LIT("HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n"),
        RV_LIT("HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551621\r\n"),
        RV_LIT("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999999\r\n"),
    };
    for (size_t i = 0; i < COUNT(heads); i++)
        assert_malformed(heads[i], "below 2^63");
}

/* ---- Transfer-Encoding, RFC 9112 sections 6.1 and 6.3 ---------------------------------------- */

static void the_last_coding_decides(void **state)
{
    (void)state;
    static const struct {
        rv_bytes head;
        bool chunked;
        bool until_close;
    } cases[] = {
        {OK_HEAD("Transfer-Encoding: chunked\r\n"), true, false},
        {OK_HEAD("transfer-encoding:CHUNKED\r\n"), true, false},
        {OK_HEAD("Transfer-Encoding: gzip, chunked\r\n"), true, false},
        {OK_HEAD("Transfer-Encoding: gzip;level=\"9,9\" , Chunked ,\r\n"), true, false},
        {OK_HEAD("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n"), true, false},
        {OK_HEAD("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), true, false},
        {OK_HEAD("Transfer-Encoding: gzip\r\n"), false, true},
        {OK_HEAD("Transfer-Encoding: gzip ; q=1\r\n"), false, true},
        {OK_HEAD("Transfer-Encoding: chunked, gzip\r\n"), false, true},
        {OK_HEAD("Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip\r\n"), false, true},
        {OK_HEAD("Transfer-Encoding: xchunked\r\n"), false, true},
        {OK_HEAD("Transfer-Encoding: chunke\r\n"), false, true},
        {OK_HEAD("Transfer-Encoding: identity\r\n"), false, false},
        {OK_HEAD("Transfer-Encoding: chunked, identity\r\n"), true, false},
        {OK_HEAD("Transfer-Encoding:\r\n"), false, false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct rv_h1_response r = response_of(cases[i].head);
        if (r.chunked != cases[i].chunked || r.coded_until_close != cases[i].until_close)
            fail_msg("chunked %d, until close %d: \"%s\"", r.chunked, r.coded_until_close,
                     cases[i].head.ptr);
        assert_true(r.keep_alive);
    }
}

static void a_malformed_coding_is_refused(void **state)
{
    (void)state;
    assert_malformed(RV_LIT("HTTP/1.1 200 OK\r\nTransfer-Encoding: \x0b"
                            "chunked\r\n"),
                     "Transfer-Encoding");
    assert_malformed(RV_LIT("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked;q=1\r\n"),
                     "Transfer-Encoding");
    assert_malformed(RV_LIT("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked gzip\r\n"),
                     "Transfer-Encoding");
    assert_malformed(RV_LIT("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip chunked\r\n"),
                     "Transfer-Encoding");
    assert_malformed(RV_LIT("HTTP/1.1 200 OK\r\nTransfer-Encoding: =\r\n"), "Transfer-Encoding");
}

/* RFC 9112 section 6.1: it may have been meant to mislead; nobody relies on it afterwards. */
static void both_lengths_are_chunked_and_not_kept_alive(void **state)
{
    (void)state;
    const rv_bytes heads[] = {
        OK_HEAD("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"),
        OK_HEAD("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"),
        OK_HEAD("Transfer-Encoding: chunked\r\nConnection: keep-alive\r\nContent-Length: 5\r\n"),
    };
    for (size_t i = 0; i < COUNT(heads); i++) {
        struct rv_h1_response r = response_of(heads[i]);
        assert_true(r.chunked);
        assert_false(r.keep_alive);
        assert_int_equal(rv_h1_response_framing(&r, false), RV_H1_FRAMING_CHUNKED);
    }
}

static void chunked_in_1_0_is_read_and_not_kept_alive(void **state)
{
    (void)state;
    struct rv_h1_response r =
        response_of(OK_1_0("Connection: keep-alive\r\nTransfer-Encoding: chunked\r\n"));
    assert_true(r.chunked);
    assert_true(r.says_keep_alive);
    assert_false(r.keep_alive);
}

/* ---- persistence, RFC 9112 section 9.3 ------------------------------------------------------- */

static void a_version_has_its_default_and_connection_the_last_word(void **state)
{
    (void)state;
    static const struct {
        rv_bytes head;
        bool keep_alive;
        bool says_it;
    } cases[] = {
        {OK_HEAD(""), true, false},
        {OK_HEAD("Connection: close\r\n"), false, false},
        {OK_HEAD("Connection: ClOsE\r\n"), false, false},
        {OK_HEAD("Connection: keep-alive\r\n"), true, true},
        {OK_HEAD("Connection: Keep-Alive, Upgrade\r\n"), true, true},
        {OK_HEAD("Connection: x, y ,close,z\r\n"), false, false},
        {OK_HEAD("Connection: keep-alive\r\nConnection: close\r\n"), false, true},
        {OK_HEAD("Connection: close\r\nConnection: keep-alive\r\n"), false, true},
        {OK_HEAD("Connection: \"close\"\r\n"), true, false},
        {OK_HEAD("Connection: closed\r\n"), true, false},
        {OK_HEAD("Connection:\r\n"), true, false},
        {OK_1_0(""), false, false},
        {OK_1_0("Connection: Keep-Alive\r\n"), true, true},
        {OK_1_0("Connection: x\r\nConnection: y,KEEP-ALIVE\r\n"), true, true},
        {OK_1_0("Connection: keep-alive, close\r\n"), false, true},
        {OK_1_0("Proxy-Connection: keep-alive\r\n"), false, false},
        {OK_1_0("Keep-Alive: timeout=5\r\n"), false, false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct rv_h1_response r = response_of(cases[i].head);
        if (r.keep_alive != cases[i].keep_alive || r.says_keep_alive != cases[i].says_it)
            fail_msg("keep alive %d, said %d: \"%s\"", r.keep_alive, r.says_keep_alive,
                     cases[i].head.ptr);
    }
}

/* ---- framing, RFC 9112 section 6.3 ----------------------------------------------------------- */

static enum rv_h1_framing framing_of(rv_bytes head, bool to_head)
{
    struct rv_h1_response r = response_of(head);
    return rv_h1_response_framing(&r, to_head);
}

static void the_end_of_the_content_is_found_by_rule(void **state)
{
    (void)state;
    static const struct {
        rv_bytes head;
        enum rv_h1_framing framing;
    } cases[] = {
        {OK_HEAD("Content-Length: 5\r\n"), RV_H1_FRAMING_LENGTH},
        {OK_HEAD("Content-Length: 0\r\n"), RV_H1_FRAMING_LENGTH},
        {OK_HEAD("Transfer-Encoding: chunked\r\n"), RV_H1_FRAMING_CHUNKED},
        {OK_HEAD("Transfer-Encoding: gzip\r\nContent-Length: 5\r\n"), RV_H1_FRAMING_UNTIL_CLOSE},
        {OK_HEAD("Transfer-Encoding: identity\r\nContent-Length: 5\r\n"), RV_H1_FRAMING_LENGTH},
        {OK_HEAD(""), RV_H1_FRAMING_UNTIL_CLOSE},
        {RV_LIT("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n"), RV_H1_FRAMING_NONE},
        {RV_LIT("HTTP/1.1 204 No Content\r\n\r\n"), RV_H1_FRAMING_NONE},
        {RV_LIT("HTTP/1.1 304 X\r\nContent-Length: 5\r\n\r\n"), RV_H1_FRAMING_NONE},
        {RV_LIT("HTTP/1.1 304 X\r\nTransfer-Encoding: chunked\r\n\r\n"), RV_H1_FRAMING_NONE},
        {RV_LIT("HTTP/1.1 205 X\r\nContent-Length: 0\r\n\r\n"), RV_H1_FRAMING_LENGTH},
        {RV_LIT("HTTP/1.1 404 X\r\nContent-Length: 5\r\n\r\n"), RV_H1_FRAMING_LENGTH},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(framing_of(cases[i].head, false), cases[i].framing);
        assert_int_equal(framing_of(cases[i].head, true), RV_H1_FRAMING_NONE);
    }
}

static void an_interim_response_ends_with_its_head(void **state)
{
    (void)state;
    struct outcome o;
    rv_bytes both = RV_LIT("HTTP/1.1 100 Continue\r\n\r\n"
                           "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n");

    assert_int_equal(parse_growing(both, HEAD_MAX, &o), 25);
    assert_int_equal(o.response.status, 100);
    assert_int_equal(rv_h1_response_framing(&o.response, false), RV_H1_FRAMING_NONE);
    (void)parse_growing(rv_slice(both.ptr + 25, both.len - 25), HEAD_MAX, &o);
    assert_int_equal(o.response.status, 200);
    assert_int_equal(framing_of(RV_LIT("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"), false),
                     RV_H1_FRAMING_NONE);
}

/* ---- the limit ------------------------------------------------------------------------------- */

static void a_head_may_be_as_long_as_the_limit_and_no_longer(void **state)
{
    (void)state;
    rv_bytes head = OK_HEAD("A: bcdefg\r\n");
    struct outcome o;
    assert_int_equal(parse_growing(head, (uint32_t)head.len, &o), head.len);
    assert_int_equal(o.result, RV_H1_COMPLETE);
    for (uint32_t limit = 1; limit < head.len; limit++) {
        assert_int_equal(parse_growing(head, limit, &o), limit);
        assert_int_equal(o.result, RV_H1_MALFORMED);
        assert_string_equal(o.reason, "The head of the response is too large.");
    }
}

static size_t large_head(char *octets, size_t length_min, const char *last_lines)
{
    size_t length = (size_t)sprintf(octets, "HTTP/1.1 200 OK\r\n");
    while (length < length_min)
        length += (size_t)sprintf(octets + length, "X-%zu: y\r\n", length);
    return length + (size_t)sprintf(octets + length, "%s", last_lines);
}

static void a_large_head_is_read_like_a_small_one(void **state)
{
    (void)state;
    char octets[4096];
    struct outcome o;
    size_t length = large_head(octets, 3000, "Content-Length: 7\r\n\r\n");
    assert_int_equal(parse_growing(rv_slice(octets, length), HEAD_MAX, &o), length);
    assert_int_equal(o.result, RV_H1_COMPLETE);
    assert_int_equal(o.response.content_length, 7);
    length = large_head(octets, 3000, "Content-Length: 7\n\n");
    assert_int_equal(parse_growing(rv_slice(octets, length), HEAD_MAX, &o), length);
    assert_int_equal(o.result, RV_H1_COMPLETE);
}

static void a_fault_far_behind_is_found_at_the_end_of_the_head(void **state)
{
    (void)state;
    char octets[4096];
    struct outcome o;
    size_t length = large_head(octets, 3000, "No colon\r\nA: b\r\n\r\n");
    assert_int_equal(parse_growing(rv_slice(octets, length), HEAD_MAX, &o), length);
    assert_int_equal(o.result, RV_H1_MALFORMED);
    assert_non_null(strstr(o.reason, "white space"));
    length = large_head(octets, 900, "No colon\r\n");
    assert_int_equal(parse_growing(rv_slice(octets, length), HEAD_MAX, &o), length - 7);
    assert_int_equal(o.result, RV_H1_MALFORMED);
}

static void a_large_head_without_an_end_is_too_large(void **state)
{
    (void)state;
    char octets[8192];
    struct outcome o;
    size_t length = large_head(octets, 6000, "");
    assert_int_equal(parse_growing(rv_slice(octets, length), 5000, &o), 5000);
    assert_int_equal(o.result, RV_H1_MALFORMED);
    assert_non_null(strstr(o.reason, "too large"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_usual_head_is_understood),
        cmocka_unit_test(a_head_without_fields_is_complete),
        cmocka_unit_test(beginnings_are_incomplete),
        cmocka_unit_test(a_reason_phrase_may_be_anything_or_nothing),
        cmocka_unit_test(every_status_from_100_to_999_is_one),
        cmocka_unit_test(a_version_is_1_0_or_counts_as_1_1),
        cmocka_unit_test(another_version_is_malformed),
        cmocka_unit_test(a_status_that_is_not_three_digits_is_malformed),
        cmocka_unit_test(what_is_not_http_is_malformed_at_its_first_octet),
        cmocka_unit_test(a_bare_lf_ends_any_line),
        cmocka_unit_test(a_bare_cr_is_malformed),
        cmocka_unit_test(a_nul_is_malformed),
        cmocka_unit_test(blanks_around_a_value_are_not_part_of_it),
        cmocka_unit_test(names_have_any_case),
        cmocka_unit_test(similar_names_mean_nothing),
        cmocka_unit_test(the_first_server_that_says_something_counts),
        cmocka_unit_test(a_value_may_have_any_octet_but_line_ends_and_nul),
        cmocka_unit_test(a_line_that_is_no_field_is_malformed),
        cmocka_unit_test(a_folded_field_goes_on),
        cmocka_unit_test(a_folded_length_is_malformed),
        cmocka_unit_test(equal_lengths_are_one),
        cmocka_unit_test(different_lengths_are_malformed),
        cmocka_unit_test(a_length_that_is_no_number_is_malformed),
        cmocka_unit_test(a_length_may_reach_2_63_and_no_further),
        cmocka_unit_test(the_last_coding_decides),
        cmocka_unit_test(a_malformed_coding_is_refused),
        cmocka_unit_test(both_lengths_are_chunked_and_not_kept_alive),
        cmocka_unit_test(chunked_in_1_0_is_read_and_not_kept_alive),
        cmocka_unit_test(a_version_has_its_default_and_connection_the_last_word),
        cmocka_unit_test(the_end_of_the_content_is_found_by_rule),
        cmocka_unit_test(an_interim_response_ends_with_its_head),
        cmocka_unit_test(a_head_may_be_as_long_as_the_limit_and_no_longer),
        cmocka_unit_test(a_large_head_is_read_like_a_small_one),
        cmocka_unit_test(a_fault_far_behind_is_found_at_the_end_of_the_head),
        cmocka_unit_test(a_large_head_without_an_end_is_too_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
