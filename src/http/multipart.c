/*
 * The reader of multipart bodies (multipart.h). Everything between two octets is in the struct.
 *
 *   PREAMBLE ──delimiter──► AFTER_DELIMITER ──blanks, CRLF──► HEAD ──empty line──► DATA ─┐
 *                              │    ▲                                                    │
 *                              │    └────────────────────delimiter───────────────────────┘
 *                              └── "--" ──► END_PADDING ──CRLF──► EPILOGUE
 *
 * The body may end from END_PADDING on.
 *
 * The delimiter has a single CR, its first octet. So a search that has failed begins again at the
 * octet where it failed, and none is looked at more than twice: memchr finds the CRs, which costs
 * next to nothing in data that has few.
 */
#include "http/multipart.h"

#include "http/parameters.h"

enum multipart_state {
    PREAMBLE,
    AFTER_DELIMITER, /* behind the boundary: "-", blanks or CR */
    PADDING,         /* behind a blank: blanks or CR */
    LINE_LF,         /* behind that CR */
    LAST_DASH,       /* behind the first of the two that end it all */
    HEAD,
    DATA,
    END_PADDING, /* behind the last boundary: blanks or CR */
    END_LF,      /* behind that CR */
    EPILOGUE,
    FAILED
};

static enum rv_multipart_event fail(struct rv_multipart *multipart, int status, const char *reason)
{
    multipart->state = FAILED;
    multipart->status = status;
    multipart->reason = reason;
    return RV_MULTIPART_ERROR;
}

static void use_up(rv_bytes *octets, size_t count)
{
    octets->ptr += count;
    octets->len -= count;
}

/* ---- the boundary ---------------------------------------------------------------------------- */

/* bchars, RFC 2046 section 5.1.1; a blank is one, but not at the end. */
static bool is_boundary(const char *text, size_t length)
{
    static const char marks[] = "'()+_,-./:=? ";
    if (length == 0 || length > RV_BOUNDARY_LENGTH_MAX || text[length - 1] == ' ')
        return false;
    for (size_t i = 0; i < length; i++) {
        char c = rv_lower(text[i]);
        if (!(c >= 'a' && c <= 'z') && !rv_is_digit(c) &&
            memchr(marks, c, sizeof marks - 1) == NULL)
            return false;
    }
    return true;
}

/* The line end of a delimiter may have been read already: the beginning of the body stands for one, and
   the end of a part head is one. */
static void expect_delimiter(struct rv_multipart *multipart, enum multipart_state state)
{
    multipart->state = (uint8_t)state;
    multipart->matched = 2;
    multipart->not_data = 2;
}

bool rv_multipart_begin(struct rv_multipart *multipart, rv_bytes content_type,
                        const struct rv_multipart_limits *limits, char *memory)
{
    struct rv_parameter boundary;
    rv_bytes parameters;
    char text[2 * RV_BOUNDARY_LENGTH_MAX]; /* with a backslash before each */
    *multipart = (struct rv_multipart){.limits = *limits, .memory = memory};
    rv_bytes type = rv_parameters_split(content_type, &parameters);
    if (!rv_bytes_equal_nocase(type, RV_LIT("multipart/form-data"))) {
        fail(multipart, 415, "The body is not multipart/form-data.");
        return false;
    }
    if (rv_parameter_find(parameters, RV_LIT("boundary"), &boundary) != RV_PARAMETER) {
        fail(multipart, 400, "The Content-Type of the form is malformed or has no boundary.");
        return false;
    }
    size_t length =
        boundary.value.len <= sizeof text ? rv_parameter_decode(&boundary, text) : sizeof text;
    if (!is_boundary(text, length)) {
        fail(multipart, 400, "The boundary of the form is not 1 to 70 of the allowed characters.");
        return false;
    }
    memcpy(multipart->delimiter, "\r\n--", 4);
    memcpy(multipart->delimiter + 4, text, length);
    multipart->delimiter_length = (uint8_t)(4 + length);
    expect_delimiter(multipart, PREAMBLE);
    return true;
}

/* ---- data and delimiters --------------------------------------------------------------------- */

/* Goes on with a delimiter that began in an earlier piece. False: it was none. */
static bool continue_delimiter(struct rv_multipart *multipart, rv_bytes *octets)
{
    size_t missing = (size_t)multipart->delimiter_length - multipart->matched;
    size_t count = octets->len < missing ? octets->len : missing;
    if (memcmp(octets->ptr, multipart->delimiter + multipart->matched, count) != 0)
        return false;
    multipart->matched = (uint8_t)(multipart->matched + count);
    use_up(octets, count);
    return true;
}

/* How many octets lie before the first delimiter, or what may become one with the next piece. */
static size_t data_length(const struct rv_multipart *multipart, rv_bytes octets)
{
    size_t at = 0;
    while (at < octets.len) {
        const char *cr = memchr(octets.ptr + at, '\r', octets.len - at);
        if (cr == NULL)
            break;
        at = (size_t)(cr - octets.ptr);
        size_t left = octets.len - at;
        size_t count = left < multipart->delimiter_length ? left : multipart->delimiter_length;
        if (memcmp(cr, multipart->delimiter, count) == 0)
            return at;
        at++;
    }
    return octets.len;
}

/* The next run of data, perhaps empty, up to the delimiter; `matched` tells how much of that is read. */
static void take_data(struct rv_multipart *multipart, rv_bytes *octets, rv_bytes *data)
{
    *data = (rv_bytes){0};
    if (multipart->matched > 0) {
        if (continue_delimiter(multipart, octets))
            return;
        /* What was held back is data, and equal to the delimiter as far as it goes. */
        *data = rv_slice(multipart->delimiter + multipart->not_data,
                         (size_t)multipart->matched - multipart->not_data);
        multipart->matched = 0;
        multipart->not_data = 0;
        if (data->len > 0)
            return;
    }
    *data = rv_slice(octets->ptr, data_length(multipart, *octets));
    use_up(octets, data->len);
    if (data->len == 0)
        continue_delimiter(multipart, octets);
}

static enum rv_multipart_event read_data(struct rv_multipart *multipart, rv_bytes *octets,
                                         rv_bytes *data)
{
    bool in_part = multipart->state == DATA;
    while (octets->len > 0) {
        take_data(multipart, octets, data);
        if (data->len > 0 && in_part)
            return RV_MULTIPART_DATA;
        if (multipart->matched < multipart->delimiter_length)
            continue;
        multipart->matched = 0;
        multipart->not_data = 0;
        multipart->state = AFTER_DELIMITER;
        return in_part ? RV_MULTIPART_PART_END : RV_MULTIPART_INCOMPLETE;
    }
    return RV_MULTIPART_INCOMPLETE;
}

/* ---- the line of a delimiter ----------------------------------------------------------------- */

static enum rv_multipart_event begin_head(struct rv_multipart *multipart)
{
    if (multipart->parts == multipart->limits.parts_max)
        return fail(multipart, 413, "The form has too many parts.");
    multipart->parts++;
    multipart->state = HEAD;
    multipart->head_length = 0;
    multipart->line_start = 0;
    return RV_MULTIPART_INCOMPLETE;
}

/* The state behind one more octet of the line of a delimiter. */
static int behind_delimiter_octet(int state, char c)
{
    bool is_blank = c == ' ' || c == '\t';
    switch (state) {
    case AFTER_DELIMITER:
        return c == '-' ? LAST_DASH : is_blank ? PADDING : c == '\r' ? LINE_LF : FAILED;
    case PADDING:
        return is_blank ? PADDING : c == '\r' ? LINE_LF : FAILED;
    case LINE_LF:
        return c == '\n' ? HEAD : FAILED;
    case LAST_DASH:
        return c == '-' ? END_PADDING : FAILED;
    case END_PADDING:
        return is_blank ? END_PADDING : c == '\r' ? END_LF : FAILED;
    case END_LF:
        return c == '\n' ? EPILOGUE : FAILED;
    default:
        return FAILED;
    }
}

static enum rv_multipart_event read_delimiter_octet(struct rv_multipart *multipart,
                                                    rv_bytes *octets)
{
    int next = behind_delimiter_octet(multipart->state, octets->ptr[0]);
    use_up(octets, 1);
    if (next == FAILED)
        return fail(multipart, 400, "A boundary of the form is not alone on its line.");
    if (next == HEAD)
        return begin_head(multipart);
    multipart->state = (uint8_t)next;
    return RV_MULTIPART_INCOMPLETE;
}

/* ---- part heads ------------------------------------------------------------------------------ */

static enum rv_multipart_event end_head(struct rv_multipart *multipart)
{
    const char *reason;
    int status = rv_part_parse(multipart->memory, multipart->head_length,
                               multipart->memory + multipart->limits.part_head_bytes_max,
                               &multipart->part, &reason);
    if (status != 0)
        return fail(multipart, status, reason);
    expect_delimiter(multipart, DATA);
    return RV_MULTIPART_PART;
}

/* Takes a line, or what there is of one. */
static enum rv_multipart_event read_head(struct rv_multipart *multipart, rv_bytes *octets)
{
    const char *lf = memchr(octets->ptr, '\n', octets->len);
    size_t count = lf != NULL ? (size_t)(lf + 1 - octets->ptr) : octets->len;
    if (count > multipart->limits.part_head_bytes_max - multipart->head_length)
        return fail(multipart, 413, "The head of a part of the form is too long.");
    memcpy(multipart->memory + multipart->head_length, octets->ptr, count);
    multipart->head_length += (uint32_t)count;
    use_up(octets, count);
    if (lf == NULL)
        return RV_MULTIPART_INCOMPLETE;

    uint32_t line_length = multipart->head_length - multipart->line_start;
    if (line_length < 2 || multipart->memory[multipart->head_length - 2] != '\r')
        return fail(multipart, 400, "A line in the head of a part of the form ends without CR.");
    if (line_length == 2)
        return end_head(multipart);
    multipart->line_start = multipart->head_length;
    return RV_MULTIPART_INCOMPLETE;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static enum rv_multipart_event step(struct rv_multipart *multipart, rv_bytes *octets,
                                    rv_bytes *data)
{
    switch ((enum multipart_state)multipart->state) {
    case PREAMBLE:
    case DATA:
        return read_data(multipart, octets, data);
    case AFTER_DELIMITER:
    case PADDING:
    case LINE_LF:
    case LAST_DASH:
    case END_PADDING:
    case END_LF:
        return read_delimiter_octet(multipart, octets);
    case HEAD:
        return read_head(multipart, octets);
    case EPILOGUE:
        use_up(octets, octets->len);
        return RV_MULTIPART_INCOMPLETE;
    case FAILED:
        break;
    }
    return RV_MULTIPART_ERROR;
}

enum rv_multipart_event rv_multipart_next(struct rv_multipart *multipart, rv_bytes *octets,
                                          rv_bytes *data)
{
    uint64_t allowed = multipart->limits.bytes_max != 0
                           ? multipart->limits.bytes_max - multipart->bytes
                           : UINT64_MAX;
    if (multipart->state == FAILED)
        return RV_MULTIPART_ERROR;
    while (octets->len > 0) {
        if (allowed == 0)
            return fail(multipart, 413, "The form is too large.");
        rv_bytes now = rv_slice(octets->ptr, octets->len < allowed ? octets->len : (size_t)allowed);
        size_t before = now.len;
        enum rv_multipart_event event = step(multipart, &now, data);
        use_up(octets, before - now.len);
        multipart->bytes += before - now.len;
        allowed -= before - now.len;
        if (event != RV_MULTIPART_INCOMPLETE)
            return event;
    }
    return RV_MULTIPART_INCOMPLETE;
}

bool rv_multipart_finish(struct rv_multipart *multipart)
{
    if (multipart->state < END_PADDING)
        fail(multipart, 400, "The form was cut short: its last boundary is missing.");
    return multipart->state != FAILED;
}
