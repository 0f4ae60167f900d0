/*
 * Text, and what is made of it (compressed.h).
 */
#include "support/compressed.h"

#include "support/tested.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

char *compressible_text(size_t length)
{
    char *text = malloc(length + 1);
    size_t at = 0;
    assert_non_null(text);
    for (unsigned line = 0; at < length; line++) {
        char words[64];
        int count = snprintf(words, sizeof words, "<p>line %u of %u, and so on</p>\n", line,
                             line * 2654435761u % 1000);
        size_t take = (size_t)count < length - at ? (size_t)count : length - at;
        memcpy(text + at, words, take);
        at += take;
    }
    text[length] = '\0';
    return text;
}

void accepts(const char *method, const char *path, const char *codings)
{
    char fields[256];
    int length = snprintf(fields, sizeof fields, "Accept-Encoding: %s\r\n", codings);
    assert_true(length > 0 && (size_t)length < sizeof fields);
    request(method, path, fields);
}

void assert_decodes(enum rv_coding coding, rv_bytes octets, rv_bytes content, bool whole)
{
    size_t room = content.len + 1;
    char *out = malloc(room);
    assert_non_null(out);
    struct decoded decoded = decode(coding, octets, out, room);
    assert_false(decoded.bad);
    assert_int_equal(decoded.whole, whole);
    assert_int_equal(decoded.length, content.len);
    if (content.len > 0)
        assert_memory_equal(out, content.ptr, content.len);
    free(out);
}

void expect_decoded_octets(const char *coding, rv_bytes content)
{
    const char *said = answer_field(last_answer(), "Content-Encoding");
    const struct rv_buffer *octets = &last_answer()->content;
    assert_string_equal(said == NULL ? "identity" : said, coding);
    assert_decodes(coding_of_name(coding), rv_slice(octets->ptr, octets->len), content, true);
}

void expect_decoded(const char *coding, const char *content)
{
    expect_decoded_octets(coding, rv_str(content));
}

void expect_varies(void)
{
    assert_int_equal(answer_field_count(last_answer(), "Vary"), 1);
    expect_field("Vary", "Accept-Encoding");
}
