/*
 * Response heads, piece by piece (h1_write.h). No state, no memory of its own.
 */
#include "http/h1_write.h"

#include "http/date.h"
#include "http/scan.h"
#include "http/status.h"

void rv_h1_preamble_make(struct rv_h1_preamble *preamble, rv_bytes server_name, int64_t second)
{
    if (server_name.len > RV_SERVER_NAME_MAX)
        server_name.len = RV_SERVER_NAME_MAX;
    char *out = RV_PUT(preamble->octets, "HTTP/1.1 200 OK\r\n");
    preamble->fields_at = (uint32_t)(out - preamble->octets);
    if (server_name.len > 0)
        out = rv_h1_put_field(out, RV_LIT("Server"), server_name);
    preamble->date_at = (uint32_t)(out - preamble->octets);
    out = RV_PUT(out, "Date: ");
    rv_date_format(out, second);
    out = RV_PUT(out + RV_DATE_LENGTH, "\r\n");
    preamble->length = (uint32_t)(out - preamble->octets);
    preamble->second = second;
}

char *rv_h1_put_status_line_with(char *out, int status, rv_bytes reason)
{
    out = RV_PUT(out, "HTTP/1.1 ");
    out += rv_put_decimal(out, (uint64_t)status);
    *out++ = ' ';
    out = rv_put(out, reason);
    return RV_PUT(out, "\r\n");
}

char *rv_h1_put_status_line(char *out, int status)
{
    return rv_h1_put_status_line_with(out, status, rv_status_reason(status));
}

char *rv_h1_put_field(char *out, rv_bytes name, rv_bytes value)
{
    out = rv_put(out, name);
    out = RV_PUT(out, ": ");
    if (value.len > 0)
        out = rv_put(out, value);
    return RV_PUT(out, "\r\n");
}

char *rv_h1_put_content_length(char *out, uint64_t length)
{
    out = RV_PUT(out, "Content-Length: ");
    out += rv_put_decimal(out, length);
    return RV_PUT(out, "\r\n");
}

char *rv_h1_put_chunk_line(char *out, uint64_t length)
{
    out += rv_put_hex(out, length);
    return RV_PUT(out, "\r\n");
}

bool rv_field_value_is_valid(rv_bytes value)
{
    for (size_t i = 0; i < value.len; i++) {
        unsigned char c = (unsigned char)value.ptr[i];
        if ((c < 0x20 && c != '\t') || c == 0x7f)
            return false;
    }
    return true;
}
