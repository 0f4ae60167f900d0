/*
 * Part heads (part.h): lines to fields, then the fields that mean something. A head that says two
 * things, or one that may be read in two ways, is refused: who checks a file name must see the one
 * that is used.
 */
#include "http/part.h"

#include "http/parameters.h"
#include "http/scan.h"
#include "http/uri.h"

/* Where decoded text goes: `at` grows. It has room for all that the head could decode to. */
struct room {
    char *at;
};

static int refuse(const char **reason, int status, const char *why)
{
    *reason = why;
    return status;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Blanks in place of the line ends behind which a line begins with a blank (RFC 5322 section 2.2.3). */
static void unfold(char *head, size_t length)
{
    for (size_t at = 0; at + 2 < length; at++) {
        if (head[at] == '\r' && head[at + 1] == '\n' &&
            (head[at + 2] == ' ' || head[at + 2] == '\t')) {
            head[at] = ' ';
            head[at + 1] = ' ';
        }
    }
}

static bool read_field(rv_bytes line, struct rv_part_field *field)
{
    size_t length = rv_scan_token_scalar(line.ptr, line.len);
    if (length == 0 || length == line.len || line.ptr[length] != ':')
        return false;
    field->name = rv_slice(line.ptr, length);
    field->value = rv_bytes_trim(rv_slice(line.ptr + length + 1, line.len - length - 1));
    return rv_scan_value_scalar(field->value.ptr, field->value.len) == field->value.len;
}

static int read_fields(rv_bytes head, struct rv_part *part, const char **reason)
{
    part->field_count = 0;
    while (head.len > 2) { /* the last line is the empty one */
        rv_bytes line = rv_bytes_take_until(&head, '\n');
        line.len--; /* its CR */
        if (part->field_count == RV_PART_FIELDS_MAX)
            return refuse(reason, 413, "A part of the form has too many fields in its head.");
        if (!read_field(line, &part->fields[part->field_count]))
            return refuse(reason, 400, "A line in the head of a part of the form is no field.");
        part->field_count++;
    }
    return 0;
}

/* ---- text ------------------------------------------------------------------------------------ */

/* One octet of a quoted text, and how many octets it was written with. */
static size_t unquote_octet(rv_bytes text, char *octet)
{
    static const struct {
        rv_bytes written;
        char octet;
    } escapes[] = {{RV_LIT("\\\""), '"'},
                   {RV_LIT("\\\\"), '\\'},
                   {RV_LIT("%22"), '"'},
                   {RV_LIT("%0D"), '\r'},
                   {RV_LIT("%0A"), '\n'}};
    for (size_t i = 0; i < sizeof escapes / sizeof *escapes; i++) {
        rv_bytes written = escapes[i].written;
        if (text.len >= written.len &&
            rv_bytes_equal_nocase(rv_slice(text.ptr, written.len), written)) {
            *octet = escapes[i].octet;
            return written.len;
        }
    }
    *octet = text.ptr[0];
    return 1;
}

static rv_bytes decode_plain(const struct rv_parameter *parameter, struct room *room)
{
    if (!parameter->is_quoted)
        return parameter->value;
    const char *start = room->at;
    rv_bytes rest = parameter->value;
    while (rest.len > 0) {
        size_t used = unquote_octet(rest, room->at++);
        rest.ptr += used;
        rest.len -= used;
    }
    return rv_slice(start, (size_t)(room->at - start));
}

/* ISO-8859-1 to UTF-8, in place from behind: there is room, since an octet above ASCII was written
   with three. */
static size_t to_utf8(char *text, size_t length)
{
    size_t above = 0;
    for (size_t i = 0; i < length; i++)
        above += (unsigned char)text[i] >= 0x80;
    char *out = text + length + above;
    for (size_t i = length; i-- > 0;) {
        unsigned char c = (unsigned char)text[i];
        if (c >= 0x80) {
            *--out = (char)(0x80 | (c & 0x3f));
            *--out = (char)(0xc0 | c >> 6);
        } else {
            *--out = (char)c;
        }
    }
    return length + above;
}

static bool is_ascii_without_nul(rv_bytes text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] <= 0x20 || text.ptr[i] >= 0x7f)
            return false;
    return true;
}

/* ext-value, RFC 8187 section 3.2.1: charset'language'escaped. False: it cannot be read. */
static bool decode_extended(rv_bytes value, struct room *room, rv_bytes *text)
{
    rv_bytes rest = value;
    rv_bytes charset = rv_bytes_take_until(&rest, '\'');
    rv_bytes language = rv_bytes_take_until(&rest, '\'');
    bool has_both_quotes = charset.len + language.len + rest.len + 2 == value.len;
    bool is_latin = rv_bytes_equal_nocase(charset, RV_LIT("ISO-8859-1"));
    if (!has_both_quotes || (!is_latin && !rv_bytes_equal_nocase(charset, RV_LIT("UTF-8"))) ||
        !is_ascii_without_nul(rest) || !rv_percent_is_valid(rest))
        return false;
    size_t length = rv_percent_decode(rest, false, room->at);
    if (length > 0 && memchr(room->at, '\0', length) != NULL)
        return false;
    if (is_latin)
        length = to_utf8(room->at, length);
    *text = rv_slice(room->at, length);
    room->at += length;
    return true;
}

/* The text of a parameter in either form; absent when it is there in neither. */
static bool read_text(rv_bytes parameters, rv_bytes plain_name, rv_bytes extended_name,
                      struct room *room, rv_bytes *text)
{
    struct rv_parameter plain, extended;
    enum rv_parameter_result has_extended = rv_parameter_find(parameters, extended_name, &extended);
    enum rv_parameter_result has_plain = rv_parameter_find(parameters, plain_name, &plain);
    *text = (rv_bytes){0};
    if (has_extended == RV_PARAMETER_ERROR || has_plain == RV_PARAMETER_ERROR)
        return false;
    if (has_extended == RV_PARAMETER && decode_extended(extended.value, room, text))
        return true;
    if (has_plain == RV_PARAMETER)
        *text = decode_plain(&plain, room);
    return has_plain == RV_PARAMETER || has_extended == RV_PARAMETER_END;
}

/* ---- the whole head -------------------------------------------------------------------------- */

rv_bytes rv_part_field(const struct rv_part *part, rv_bytes name)
{
    for (uint32_t i = 0; i < part->field_count; i++)
        if (rv_bytes_equal_nocase(part->fields[i].name, name))
            return part->fields[i].value;
    return (rv_bytes){0};
}

static bool is_repeated(const struct rv_part *part, rv_bytes name)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < part->field_count; i++)
        count += rv_bytes_equal_nocase(part->fields[i].name, name);
    return count > 1;
}

static int read_disposition(struct rv_part *part, char *decoded, const char **reason)
{
    struct room room = {decoded};
    rv_bytes parameters;
    rv_bytes field = rv_part_field(part, RV_LIT("Content-Disposition"));
    rv_bytes type = rv_parameters_split(field, &parameters);
    if (!rv_bytes_equal_nocase(type, RV_LIT("form-data")))
        return refuse(reason, 400, "A part of the form has no Content-Disposition: form-data.");
    if (!read_text(parameters, RV_LIT("name"), RV_LIT("name*"), &room, &part->name) ||
        !read_text(parameters, RV_LIT("filename"), RV_LIT("filename*"), &room, &part->filename))
        return refuse(reason, 400, "The Content-Disposition of a part of the form is malformed.");
    if (part->name.ptr == NULL)
        return refuse(reason, 400, "A part of the form has no name.");
    return 0;
}

int rv_part_parse(char *head, size_t length, char *decoded, struct rv_part *part,
                  const char **reason)
{
    unfold(head, length);
    int status = read_fields(rv_slice(head, length), part, reason);
    if (status != 0)
        return status;
    if (is_repeated(part, RV_LIT("Content-Disposition")) ||
        is_repeated(part, RV_LIT("Content-Type")))
        return refuse(reason, 400, "A part of the form has two fields of which it may have one.");
    part->content_type = rv_part_field(part, RV_LIT("Content-Type"));
    part->charset = rv_charset_of(part->content_type);
    return read_disposition(part, decoded, reason);
}
