/*
 * Reads and checks responses. Positions move through a view of what is left; "not enough octets" and
 * "wrong octets" are kept apart, because a response that is cut short may be just what a case expects.
 */
#include "wire/wire_answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum step { STEP_OK, STEP_SHORT, STEP_WRONG };

struct reader {
    rv_bytes left;
    struct wire_answers *answers;
};

static enum step wrong(struct reader *reader, const char *fault)
{
    if (reader->answers->fault == NULL)
        reader->answers->fault = fault;
    return STEP_WRONG;
}

static void skip(struct reader *reader, size_t length)
{
    reader->left.ptr += length;
    reader->left.len -= length;
}

/* The next line without its CRLF. */
static enum step read_line(struct reader *reader, rv_bytes *line)
{
    const char *feed = memchr(reader->left.ptr, '\n', reader->left.len);
    if (feed == NULL)
        return STEP_SHORT;
    size_t length = (size_t)(feed - reader->left.ptr);
    if (length == 0 || feed[-1] != '\r')
        return wrong(reader, "a line ends with a bare LF");
    *line = (rv_bytes){reader->left.ptr, length - 1};
    if (memchr(line->ptr, '\r', line->len) != NULL || memchr(line->ptr, '\0', line->len) != NULL)
        return wrong(reader, "a line holds CR or NUL");
    skip(reader, length + 1);
    return STEP_OK;
}

static bool is_token_octet(char octet)
{
    return octet != '\0' && strchr("!#$%&'*+-.^_`|~0123456789"
                                   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
                                   octet) != NULL;
}

static enum step read_field(struct reader *reader, rv_bytes line, struct wire_fields *fields)
{
    size_t name = 0;
    while (name < line.len && is_token_octet(line.ptr[name]))
        name++;
    if (name == 0 || name == line.len || line.ptr[name] != ':')
        return wrong(reader, "a field line has no name and colon");
    rv_bytes value = {line.ptr + name + 1, line.len - name - 1};
    while (value.len > 0 && (*value.ptr == ' ' || *value.ptr == '\t'))
        value.ptr++, value.len--;
    if (fields->count == WIRE_FIELDS_MAX)
        return wrong(reader, "too many fields");
    fields->all[fields->count++] = (struct wire_field){{line.ptr, name}, value};
    return STEP_OK;
}

/* Fields up to and with the empty line. */
static enum step read_fields(struct reader *reader, struct wire_fields *fields)
{
    for (;;) {
        rv_bytes line;
        enum step step = read_line(reader, &line);
        if (step != STEP_OK || line.len == 0)
            return step;
        step = read_field(reader, line, fields);
        if (step != STEP_OK)
            return step;
    }
}

static enum step read_head(struct reader *reader, struct wire_answer *answer)
{
    enum step step = read_line(reader, &answer->line);
    if (step != STEP_OK)
        return step;
    const char *line = answer->line.ptr;
    if (answer->line.len < 13 || memcmp(line, "HTTP/1.1 ", 9) != 0 || line[12] != ' ')
        return wrong(reader, "the status line is not HTTP/1.1 SP 3DIGIT SP");
    for (int i = 9; i < 12; i++) {
        if (line[i] < '0' || line[i] > '9')
            return wrong(reader, "the status is not three digits");
        answer->status = answer->status * 10 + (line[i] - '0');
    }
    return read_fields(reader, &answer->fields);
}

static bool equals_any_case(rv_bytes bytes, const char *text)
{
    return bytes.len == strlen(text) && strncasecmp(bytes.ptr, text, bytes.len) == 0;
}

rv_bytes wire_fields_find(const struct wire_fields *fields, const char *name)
{
    for (size_t i = 0; i < fields->count; i++)
        if (equals_any_case(fields->all[i].name, name))
            return fields->all[i].value;
    return (rv_bytes){0};
}

/* ---- bodies ------------------------------------------------------------------------------------ */

static void append_body(struct wire_answer *answer, struct reader *reader, size_t length)
{
    answer->body = realloc(answer->body, answer->body_length + length + 1);
    if (answer->body == NULL)
        abort();
    memcpy(answer->body + answer->body_length, reader->left.ptr, length);
    answer->body_length += length;
    answer->body[answer->body_length] = '\0';
    skip(reader, length);
}

static enum step read_run(struct reader *reader, struct wire_answer *answer, size_t length)
{
    bool is_short = reader->left.len < length;
    append_body(answer, reader, is_short ? reader->left.len : length);
    return is_short ? STEP_SHORT : STEP_OK;
}

static enum step read_chunks(struct reader *reader, struct wire_answer *answer)
{
    for (;;) {
        rv_bytes line;
        enum step step = read_line(reader, &line);
        if (step != STEP_OK)
            return step;
        size_t size = 0;
        if (line.len == 0 || line.len > 8)
            return wrong(reader, "a chunk size has no digits, or too many");
        for (size_t i = 0; i < line.len; i++) {
            const char *digits = "0123456789abcdef0123456789ABCDEF";
            const char *digit = memchr(digits, line.ptr[i], 32);
            if (digit == NULL)
                return wrong(reader, "a chunk size is not hexadecimal");
            size = size * 16 + (size_t)(digit - digits) % 16;
        }
        if (size == 0)
            return read_fields(reader, &answer->trailers);
        step = read_run(reader, answer, size);
        if (step == STEP_OK)
            step = read_line(reader, &line);
        if (step != STEP_OK)
            return step;
        if (line.len != 0)
            return wrong(reader, "no CRLF behind a chunk");
    }
}

static enum step read_body(struct reader *reader, struct wire_answer *answer, bool is_head,
                           bool closed)
{
    rv_bytes length = wire_fields_find(&answer->fields, "Content-Length");
    rv_bytes coding = wire_fields_find(&answer->fields, "Transfer-Encoding");
    if (length.ptr != NULL && coding.ptr != NULL)
        return wrong(reader, "both Content-Length and Transfer-Encoding");
    if (is_head || answer->status < 200 || answer->status == 204 || answer->status == 304)
        return STEP_OK;
    if (coding.ptr != NULL) {
        if (!equals_any_case(coding, "chunked"))
            return wrong(reader, "an unknown transfer coding");
        return read_chunks(reader, answer);
    }
    if (length.ptr == NULL) {
        append_body(answer, reader, reader->left.len);
        return closed ? STEP_OK : STEP_SHORT;
    }
    size_t octets = 0;
    for (size_t i = 0; i < length.len; i++) {
        if (length.ptr[i] < '0' || length.ptr[i] > '9' || i > 15)
            return wrong(reader, "Content-Length is no number");
        octets = octets * 10 + (size_t)(length.ptr[i] - '0');
    }
    return read_run(reader, answer, octets);
}

struct wire_answers wire_answers_read(rv_bytes octets, bool closed,
                                      bool (*is_head)(size_t index, const void *ctx),
                                      const void *ctx)
{
    struct wire_answers answers = {0};
    struct reader reader = {octets, &answers};
    while (reader.left.len > 0 && answers.fault == NULL) {
        if (answers.count == WIRE_ANSWERS_MAX) {
            answers.fault = "too many responses";
            break;
        }
        struct wire_answer *answer = &answers.final[answers.count];
        *answer = (struct wire_answer){0};
        enum step step = read_head(&reader, answer);
        if (step == STEP_OK)
            step = read_body(&reader, answer, is_head(answers.count, ctx), closed);
        answer->whole = step == STEP_OK;
        if (answer->status >= 100 && answer->status < 200)
            answers.interim++;
        else
            answers.count++;
        if (step != STEP_OK)
            break;
    }
    return answers;
}

void wire_answers_free(struct wire_answers *answers)
{
    for (size_t i = 0; i < answers->count; i++)
        free(answers->final[i].body);
}

/* ---- what is said of them ---------------------------------------------------------------------- */

void wire_answers_summary(const struct wire_answers *answers, bool closed, char *text, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < answers->count && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%d%s", i > 0 ? "," : "",
                                 answers->final[i].status, answers->final[i].whole ? "" : "!");
    if (used < size)
        snprintf(text + used, size - used, "%s%c", answers->count > 0 ? "" : "-",
                 closed ? 'c' : 'k');
}

static bool is_date(rv_bytes value)
{
    static const char form[] = "Aaa, 00 Aaa 0000 00:00:00 GMT";
    if (value.len != sizeof form - 1)
        return false;
    for (size_t i = 0; i < value.len; i++) {
        char octet = value.ptr[i];
        bool fits = form[i] == '0'   ? octet >= '0' && octet <= '9'
                    : form[i] == 'A' ? octet >= 'A' && octet <= 'Z'
                    : form[i] == 'a' ? octet >= 'a' && octet <= 'z'
                                     : octet == form[i];
        if (!fits)
            return false;
    }
    return true;
}

static const char *check_answer(const struct wire_answer *answer)
{
    static const char *const once[] = {"Date",          "Server",        "Content-Length",
                                       "Content-Type",  "Connection",    "Transfer-Encoding",
                                       "Content-Range", "Last-Modified", "ETag"};
    for (size_t i = 0; i < sizeof once / sizeof *once; i++) {
        size_t seen = 0;
        for (size_t j = 0; j < answer->fields.count; j++)
            seen += equals_any_case(answer->fields.all[j].name, once[i]);
        if (seen > 1)
            return "a field that may come once comes twice";
    }
    if (!is_date(wire_fields_find(&answer->fields, "Date")))
        return "no Date, or not an IMF-fixdate";
    if (!rv_equals(wire_fields_find(&answer->fields, "Server"), "rivulet"))
        return "no Server field, or another";
    if (answer->status == 204 &&
        (wire_fields_find(&answer->fields, "Content-Length").ptr != NULL ||
         wire_fields_find(&answer->fields, "Transfer-Encoding").ptr != NULL))
        return "a 204 with a length (RFC 9110 section 8.6)";
    if (answer->status == 405 && wire_fields_find(&answer->fields, "Allow").ptr == NULL)
        return "a 405 without Allow (RFC 9110 section 15.5.6)";
    if (answer->status >= 400 && answer->body_length > 0 &&
        wire_fields_find(&answer->fields, "Content-Type").ptr == NULL)
        return "an error page without Content-Type";
    return NULL;
}

const char *wire_answers_check(const struct wire_answers *answers, bool closed, bool may_just_close)
{
    if (answers->fault != NULL)
        return answers->fault;
    for (size_t i = 0; i < answers->count; i++) {
        const struct wire_answer *answer = &answers->final[i];
        if (!answer->whole && answer->fields.count == 0)
            continue; /* cut within its head: the summary tells */
        const char *fault = check_answer(answer);
        if (fault != NULL)
            return fault;
        bool last = i + 1 == answers->count;
        bool says_close = equals_any_case(wire_fields_find(&answer->fields, "Connection"), "close");
        if (says_close && (!last || !closed))
            return "a response says close, but the connection goes on";
        if (last && closed && answer->whole && !says_close && !may_just_close)
            return "the connection closes, but the response does not say so (RFC 9112 section 9.6)";
    }
    return NULL;
}
