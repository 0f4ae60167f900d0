/*
 * Answers, checked field by field (h2_answer.h).
 */
#include "http/h2_answer.h"

#include "http/scan.h"

#include <string.h>

void rv_h2_answer_begin(struct rv_h2_answer *answer, bool to_head)
{
    *answer = (struct rv_h2_answer){.length = UINT64_MAX, .to_head = to_head};
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The one pseudo-field there is, in front of all others, once. */
static bool take_status(struct rv_h2_answer *answer, rv_bytes name, rv_bytes value)
{
    if (answer->part != RV_H2_ANSWER_HEAD || answer->status != 0 ||
        !rv_bytes_equal(name, RV_LIT(":status")) || value.len != 3 || value.ptr[0] < '1' ||
        !is_digit(value.ptr[0]) || !is_digit(value.ptr[1]) || !is_digit(value.ptr[2]))
        return false;
    answer->status =
        (uint16_t)((value.ptr[0] - '0') * 100 + (value.ptr[1] - '0') * 10 + (value.ptr[2] - '0'));
    return answer->status != 101; /* HTTP/2 has none (RFC 9113 section 8.6) */
}

/* A token without capitals (RFC 9113 section 8.2.1). */
static bool is_name(rv_bytes name)
{
    for (size_t i = 0; i < name.len; i++)
        if (!rv_is_token_char(name.ptr[i]) || (name.ptr[i] >= 'A' && name.ptr[i] <= 'Z'))
            return false;
    return name.len > 0;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Nothing may be read behind a value here, so that its last sixteen octets are looked at by themselves. */
static bool is_text(rv_bytes value)
{
    if (value.len < 16)
        return rv_scan_value_scalar(value.ptr, value.len) == value.len;
    size_t whole = value.len & ~(size_t)15;
    return rv_scan_value(value.ptr, whole) == whole &&
           rv_scan_value(value.ptr + value.len - 16, 16) == 16;
}

static bool is_value(rv_bytes value)
{
    return value.len == 0 ||
           (!is_blank(value.ptr[0]) && !is_blank(value.ptr[value.len - 1]) && is_text(value));
}

/* Fields about the connection (RFC 9113 section 8.2.2), told by their lengths first. */
static bool is_of_connection(rv_bytes name)
{
    switch (name.len) {
    case 7:
        return rv_bytes_equal(name, RV_LIT("upgrade"));
    case 10:
        return rv_bytes_equal(name, RV_LIT("connection")) ||
               rv_bytes_equal(name, RV_LIT("keep-alive"));
    case 16:
        return rv_bytes_equal(name, RV_LIT("proxy-connection"));
    case 17:
        return rv_bytes_equal(name, RV_LIT("transfer-encoding"));
    default:
        return false;
    }
}

static bool take_length(struct rv_h2_answer *answer, rv_bytes value)
{
    uint64_t length;
    if (!rv_bytes_to_u64(value, &length) || length == UINT64_MAX ||
        (answer->length != UINT64_MAX && answer->length != length))
        return false;
    answer->length = length;
    return true;
}

bool rv_h2_answer_field(struct rv_h2_answer *answer, rv_bytes name, rv_bytes value)
{
    if (name.len > 0 && name.ptr[0] == ':')
        return take_status(answer, name, value);
    if (answer->part == RV_H2_ANSWER_HEAD)
        answer->part = RV_H2_ANSWER_FIELDS;
    else if (answer->part == RV_H2_ANSWER_CONTENT)
        answer->part = RV_H2_ANSWER_TRAILERS;
    if (!is_name(name) || !is_value(value) || is_of_connection(name))
        return false;
    if (name.len == 14 && answer->part == RV_H2_ANSWER_FIELDS &&
        memcmp(name.ptr, "content-length", 14) == 0)
        return take_length(answer, value);
    return true;
}

bool rv_h2_answer_fields_end(struct rv_h2_answer *answer, bool last, bool *interim)
{
    *interim = false;
    if (answer->part >= RV_H2_ANSWER_CONTENT) /* trailers end the stream (section 8.1) */
        return last;
    if (answer->status == 0)
        return false;
    if (answer->status >= 200) {
        answer->part = RV_H2_ANSWER_CONTENT;
        return true;
    }
    *interim = true;
    rv_h2_answer_begin(answer, answer->to_head);
    return !last;
}

bool rv_h2_answer_data(struct rv_h2_answer *answer, size_t octets)
{
    answer->content += octets;
    return answer->part == RV_H2_ANSWER_CONTENT &&
           (octets == 0 || (!answer->to_head && answer->content <= answer->length));
}

bool rv_h2_answer_end(const struct rv_h2_answer *answer)
{
    bool has_none = answer->to_head || answer->status == 204 || answer->status == 304;
    return answer->part >= RV_H2_ANSWER_CONTENT &&
           (has_none ? answer->content == 0
                     : answer->length == UINT64_MAX || answer->content == answer->length);
}
