/*
 * From the head of HTTP/1 to fields (h2_request.h). The head was written by request.c, so it is known to be
 * well-formed: lines that end with CRLF, and an empty one behind the last.
 */
#include "load/h2_request.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define PSEUDO_FIELDS 4

/* Fields about the connection (RFC 9113 section 8.2.2). TE may say "trailers", and nothing else. */
static bool is_of_connection(rv_bytes name, rv_bytes value)
{
    static const char *const names[] = {"connection", "proxy-connection", "keep-alive",
                                        "transfer-encoding", "upgrade"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (rv_bytes_equal(name, rv_str(names[i])))
            return true;
    return rv_bytes_equal(name, RV_LIT("te")) && !rv_bytes_equal_nocase(value, RV_LIT("trailers"));
}

/* The next word of the request line. */
static rv_bytes take_word(char **at)
{
    char *start = *at;
    *at = strchr(start, ' ') + 1;
    return rv_slice(start, (size_t)(*at - 1 - start));
}

static char *line_end(char *at)
{
    return strstr(at, "\r\n");
}

static size_t count_lines(const struct rv_load_request *request)
{
    size_t count = 0;
    for (size_t i = 0; i < request->head_length; i++)
        count += request->octets[i] == '\n';
    return count;
}

/* The field on a line, its name in lower case. */
static struct rv_h2_field take_field(char *line, const char *end)
{
    char *colon = strchr(line, ':');
    for (char *c = line; c < colon; c++)
        *c = (char)tolower((unsigned char)*c);
    return (struct rv_h2_field){
        .name = rv_slice(line, (size_t)(colon - line)),
        .value = rv_bytes_trim(rv_slice(colon + 1, (size_t)(end - (colon + 1))))};
}

static uint32_t take_fields(char *at, struct rv_h2_field *fields, uint32_t count,
                            struct rv_h2_field *authority)
{
    for (char *end; (end = line_end(at)) != at; at = end + 2) {
        struct rv_h2_field field = take_field(at, end);
        if (rv_bytes_equal(field.name, RV_LIT("host")))
            authority->value = field.value;
        else if (!is_of_connection(field.name, field.value))
            fields[count++] = field;
    }
    return count;
}

rv_error rv_h2_request_make(struct rv_load_request *request, bool is_tls)
{
    char *at = request->octets;
    struct rv_h2_field *fields =
        calloc(PSEUDO_FIELDS + count_lines(request), sizeof *request->fields);
    if (fields == NULL)
        return RV_ENOMEM;
    fields[0] = (struct rv_h2_field){RV_LIT(":method"), take_word(&at)};
    fields[1] = (struct rv_h2_field){RV_LIT(":scheme"), is_tls ? RV_LIT("https") : RV_LIT("http")};
    fields[2] = (struct rv_h2_field){RV_LIT(":path"), take_word(&at)};
    fields[3] = (struct rv_h2_field){.name = RV_LIT(":authority")};
    uint32_t count = take_fields(line_end(at) + 2, fields, PSEUDO_FIELDS, &fields[3]);
    if (fields[3].value.ptr == NULL) { /* the user has taken it away */
        count--;
        memmove(&fields[3], &fields[4], (count - 3) * sizeof *fields);
    }
    request->fields = fields;
    request->field_count = count;
    request->asks_close = false;
    return 0;
}
