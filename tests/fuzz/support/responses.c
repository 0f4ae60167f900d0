/*
 * Reads responses (responses.h). Heads, chunk lines and trailer fields are put together in memory
 * of the reader's own; content is passed on from where it lies.
 */
#include "fuzz/support/responses.h"

#include "fuzz/support/require.h"
#include "http/h1_write.h"
#include "http/scan.h"

void fuzz_response_begin(struct fuzz_response *response)
{
    response->state = FUZZ_AT_HEAD;
    response->head_length = response->line_length = 0;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Lines end with CRLF and nothing else, and hold neither CR nor NUL. */
static void check_line(rv_bytes line)
{
    REQUIRE(line.len > 0 && line.ptr[line.len - 1] == '\r');
    REQUIRE(memchr(line.ptr, '\r', line.len - 1) == NULL);
    REQUIRE(memchr(line.ptr, '\0', line.len) == NULL);
}

bool fuzz_head_line(rv_bytes *rest, rv_bytes *line)
{
    const char *end = memchr(rest->ptr, '\n', rest->len);
    REQUIRE(end != NULL);
    *line = rv_slice(rest->ptr, (size_t)(end - rest->ptr));
    *rest = rv_slice(end + 1, rest->len - line->len - 1);
    check_line(*line);
    line->len--;
    return line->len > 0;
}

/* Copies up to and with the next LF behind what is in `into`; true when it was there. */
static bool take_line(char *into, size_t *length, size_t room, rv_bytes *octets)
{
    const char *end = memchr(octets->ptr, '\n', octets->len);
    size_t run = end == NULL ? octets->len : (size_t)(end - octets->ptr) + 1;
    REQUIRE(run <= room - *length);
    memcpy(into + *length, octets->ptr, run);
    *length += run;
    *octets = rv_slice(octets->ptr + run, octets->len - run);
    return end != NULL;
}

static void split_field(rv_bytes line, rv_bytes *name, rv_bytes *value)
{
    const char *colon = memchr(line.ptr, ':', line.len);
    REQUIRE(colon != NULL);
    *name = rv_slice(line.ptr, (size_t)(colon - line.ptr));
    *value = rv_slice(colon + 1, line.len - name->len - 1);
    REQUIRE(rv_is_token(*name));
    REQUIRE(value->len > 0 && value->ptr[0] == ' ');
    *value = rv_slice(value->ptr + 1, value->len - 1);
    REQUIRE(rv_bytes_trim(*value).len == value->len);
    REQUIRE(rv_field_value_is_valid(*value));
}

/* ---- heads ----------------------------------------------------------------------------------- */

static rv_bytes fields_of(const struct fuzz_response *response)
{
    rv_bytes rest = rv_slice(response->head, response->head_length), line;
    fuzz_head_line(&rest, &line);
    return rest;
}

rv_bytes fuzz_response_field(const struct fuzz_response *response, const char *wanted)
{
    rv_bytes rest = fields_of(response), line, name, value;
    while (fuzz_head_line(&rest, &line)) {
        split_field(line, &name, &value);
        if (rv_bytes_equal_nocase(name, rv_str(wanted)))
            return value;
    }
    return rv_slice(NULL, 0);
}

static size_t count_fields(const struct fuzz_response *response, const char *wanted)
{
    rv_bytes rest = fields_of(response), line, name, value;
    size_t count = 0;
    while (fuzz_head_line(&rest, &line)) {
        split_field(line, &name, &value);
        count += rv_bytes_equal_nocase(name, rv_str(wanted));
    }
    return count;
}

static void read_status_line(struct fuzz_response *response)
{
    rv_bytes rest = rv_slice(response->head, response->head_length), line;
    REQUIRE(fuzz_head_line(&rest, &line));
    REQUIRE(line.len >= 13 && memcmp(line.ptr, "HTTP/1.1 ", 9) == 0 && line.ptr[12] == ' ');
    response->status = 0;
    for (size_t i = 9; i < 12; i++) {
        REQUIRE(rv_is_digit(line.ptr[i]));
        response->status = response->status * 10 + (line.ptr[i] - '0');
    }
    REQUIRE(response->status >= 100);
    response->is_interim = response->status < 200;
}

/* RFC 9110 section 5.6.7: an IMF-fixdate. */
static bool is_date(rv_bytes value)
{
    static const char form[] = "Aaa, 00 Aaa 0000 00:00:00 GMT";
    bool fits = value.len == sizeof form - 1;
    for (size_t i = 0; fits && i < value.len; i++) {
        char octet = value.ptr[i];
        if (form[i] == '0')
            fits = rv_is_digit(octet);
        else if (form[i] == 'A' || form[i] == 'a')
            fits = octet >= (form[i] == 'A' ? 'A' : 'a') && octet <= (form[i] == 'A' ? 'Z' : 'z');
        else
            fits = octet == form[i];
    }
    return fits;
}

static void check_singular_fields(const struct fuzz_response *response)
{
    static const char *const singular[] = {"Date",          "Server",        "Content-Length",
                                           "Content-Type",  "Connection",    "Transfer-Encoding",
                                           "Content-Range", "Last-Modified", "ETag",
                                           "Location",      "Allow",         "X-Target"};
    for (size_t i = 0; i < sizeof singular / sizeof *singular; i++)
        REQUIRE(count_fields(response, singular[i]) <= 1);
    REQUIRE(is_date(fuzz_response_field(response, "Date")));
    REQUIRE(rv_equals(fuzz_response_field(response, "Server"), "rivulet"));
}

static void read_framing(struct fuzz_response *response)
{
    rv_bytes length = fuzz_response_field(response, "Content-Length");
    rv_bytes coding = fuzz_response_field(response, "Transfer-Encoding");
    rv_bytes connection = fuzz_response_field(response, "Connection");
    response->has_length = length.ptr != NULL;
    response->chunked = coding.ptr != NULL;
    response->says_close = rv_equals(connection, "close");
    REQUIRE(!response->has_length || !response->chunked);
    REQUIRE(!response->chunked || rv_equals(coding, "chunked"));
    REQUIRE(!response->has_length || rv_bytes_to_u64(length, &response->length));
    REQUIRE(connection.ptr == NULL || response->says_close || rv_equals(connection, "keep-alive"));
    if (response->status == 204) /* RFC 9110 section 8.6 */
        REQUIRE(!response->has_length && !response->chunked);
    if (response->status == 304)
        REQUIRE(!response->chunked);
    if (response->status == 405) /* RFC 9110 section 15.5.6 */
        REQUIRE(fuzz_response_field(response, "Allow").ptr != NULL);
    if (response->status == 206 || response->status == 416)
        REQUIRE(fuzz_response_field(response, "Content-Range").ptr != NULL);
}

static void read_head(struct fuzz_response *response)
{
    read_status_line(response);
    rv_bytes rest = fields_of(response), line;
    if (response->is_interim) {
        REQUIRE(response->status == 100 && !fuzz_head_line(&rest, &line));
        response->has_length = response->chunked = response->says_close = false;
        return;
    }
    check_singular_fields(response);
    read_framing(response);
}

/* ---- content --------------------------------------------------------------------------------- */

static bool has_content(const struct fuzz_response *response)
{
    return !response->is_interim && !response->without_content && response->status != 204 &&
           response->status != 304;
}

static enum fuzz_response_state framing_of(struct fuzz_response *response)
{
    response->line_length = 0;
    if (response->chunked)
        return FUZZ_AT_CHUNK_LINE;
    if (!response->has_length)
        return FUZZ_AT_CLOSE;
    response->left = response->length;
    return FUZZ_AT_LENGTH;
}

static rv_bytes take_run(struct fuzz_response *response, rv_bytes *octets)
{
    size_t run = response->left < octets->len ? (size_t)response->left : octets->len;
    rv_bytes content = rv_slice(octets->ptr, run);
    response->left -= run;
    *octets = rv_slice(octets->ptr + run, octets->len - run);
    return content;
}

/* A size in hexadecimal without zeros in front, and nothing behind it. */
static uint64_t chunk_size(rv_bytes line)
{
    uint64_t size = 0;
    check_line(rv_slice(line.ptr, line.len - 1));
    size_t digits = line.len - 2;
    REQUIRE(digits > 0 && digits <= 8 && (digits == 1 || line.ptr[0] != '0'));
    for (size_t i = 0; i < digits; i++) {
        char octet = rv_lower(line.ptr[i]);
        REQUIRE(rv_is_digit(octet) || (octet >= 'a' && octet <= 'f'));
        size = size * 16 + (uint64_t)(rv_is_digit(octet) ? octet - '0' : octet - 'a' + 10);
    }
    return size;
}

static enum fuzz_response_event read_chunk_line(struct fuzz_response *response, rv_bytes *octets)
{
    if (!take_line(response->line, &response->line_length, sizeof response->line, octets))
        return FUZZ_RESPONSE_MORE;
    response->left = chunk_size(rv_slice(response->line, response->line_length));
    response->line_length = 0;
    response->state = response->left > 0 ? FUZZ_AT_CHUNK : FUZZ_AT_TRAILERS;
    return FUZZ_RESPONSE_CONTENT;
}

static enum fuzz_response_event read_chunk_end(struct fuzz_response *response, rv_bytes *octets)
{
    if (!take_line(response->line, &response->line_length, sizeof response->line, octets))
        return FUZZ_RESPONSE_MORE;
    REQUIRE(response->line_length == 2 && response->line[0] == '\r');
    response->line_length = 0;
    response->state = FUZZ_AT_CHUNK_LINE;
    return FUZZ_RESPONSE_CONTENT;
}

static enum fuzz_response_event read_trailers(struct fuzz_response *response, rv_bytes *octets)
{
    rv_bytes line, name, value;
    if (!take_line(response->line, &response->line_length, sizeof response->line, octets))
        return FUZZ_RESPONSE_MORE;
    rv_bytes rest = rv_slice(response->line, response->line_length);
    response->line_length = 0;
    if (!fuzz_head_line(&rest, &line)) {
        fuzz_response_begin(response);
        return FUZZ_RESPONSE_END;
    }
    split_field(line, &name, &value);
    return FUZZ_RESPONSE_CONTENT;
}

static enum fuzz_response_event read_head_on(struct fuzz_response *response, rv_bytes *octets)
{
    size_t line_at = response->head_length;
    while (line_at > 0 && response->head[line_at - 1] != '\n')
        line_at--;
    if (!take_line(response->head, &response->head_length, sizeof response->head, octets))
        return FUZZ_RESPONSE_MORE;
    if (response->head_length - line_at > 2)
        return FUZZ_RESPONSE_CONTENT;
    read_head(response);
    response->without_content = false;
    response->state = FUZZ_AT_CONTENT;
    return FUZZ_RESPONSE_HEAD;
}

/* One step; FUZZ_RESPONSE_CONTENT with an empty run: nothing to tell, go on. */
static enum fuzz_response_event step(struct fuzz_response *response, rv_bytes *octets,
                                     rv_bytes *content)
{
    if (response->state == FUZZ_AT_CONTENT)
        response->state = has_content(response) ? framing_of(response) : FUZZ_AT_END;
    if (response->state == FUZZ_AT_LENGTH && response->left == 0)
        response->state = FUZZ_AT_END;
    if (response->state == FUZZ_AT_END) {
        fuzz_response_begin(response);
        return FUZZ_RESPONSE_END;
    }
    if (octets->len == 0)
        return FUZZ_RESPONSE_MORE;
    switch (response->state) {
    case FUZZ_AT_HEAD:
        return read_head_on(response, octets);
    case FUZZ_AT_LENGTH:
    case FUZZ_AT_CHUNK:
        *content = take_run(response, octets);
        if (response->left == 0 && response->state == FUZZ_AT_CHUNK)
            response->state = FUZZ_AT_CHUNK_END;
        return FUZZ_RESPONSE_CONTENT;
    case FUZZ_AT_CHUNK_LINE:
        return read_chunk_line(response, octets);
    case FUZZ_AT_CHUNK_END:
        return read_chunk_end(response, octets);
    case FUZZ_AT_TRAILERS:
        return read_trailers(response, octets);
    case FUZZ_AT_CLOSE:
        *content = *octets;
        *octets = rv_slice(octets->ptr + octets->len, 0);
        return FUZZ_RESPONSE_CONTENT;
    case FUZZ_AT_CONTENT:
    case FUZZ_AT_END:
        break;
    }
    return FUZZ_RESPONSE_MORE;
}

enum fuzz_response_event fuzz_response_next(struct fuzz_response *response, rv_bytes *octets,
                                            rv_bytes *content)
{
    for (;;) {
        *content = rv_slice(NULL, 0);
        enum fuzz_response_event event = step(response, octets, content);
        if (event != FUZZ_RESPONSE_CONTENT || content->len > 0)
            return event;
    }
}
