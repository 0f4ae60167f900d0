/*
 * Cookies in both directions (cookie.h). What is written is checked octet by octet before: a cookie
 * that carries what a user has typed must not become another field, nor another attribute.
 */
#include "http/cookie.h"

#include "http/date.h"
#include "http/scan.h"

#define PAIR_BYTES_MAX 4096      /* name and value; what browsers keep */
#define ATTRIBUTE_BYTES_MAX 1024 /* likewise */

bool rv_cookie_next(rv_bytes *cookies, rv_bytes *name, rv_bytes *value)
{
    while (cookies->len > 0) {
        rv_bytes pair = rv_bytes_take_until(cookies, ';');
        if (pair.len == 0 || memchr(pair.ptr, '=', pair.len) == NULL)
            continue;
        rv_bytes before = rv_bytes_trim(rv_bytes_take_until(&pair, '='));
        if (before.len == 0)
            continue;
        *name = before;
        *value = rv_bytes_trim(pair);
        return true;
    }
    return false;
}

bool rv_cookies_are_pairs(rv_bytes cookies)
{
    while (cookies.len > 0) {
        rv_bytes pair = rv_bytes_trim(rv_bytes_take_until(&cookies, ';')), name, value;
        if (pair.len > 0 && !rv_cookie_next(&pair, &name, &value))
            return false;
    }
    return true;
}

/* ---- checking -------------------------------------------------------------------------------- */

/* cookie-octet, RFC 6265 section 4.1.1; also between two quotes. */
static bool is_value(rv_bytes value)
{
    if (value.ptr == NULL)
        return false;
    if (value.len >= 2 && value.ptr[0] == '"' && value.ptr[value.len - 1] == '"')
        value = rv_slice(value.ptr + 1, value.len - 2);
    for (size_t i = 0; i < value.len; i++) {
        unsigned char c = (unsigned char)value.ptr[i];
        if (c <= 0x20 || c >= 0x7f || c == '"' || c == ',' || c == ';' || c == '\\')
            return false;
    }
    return true;
}

/* path-value, section 4.1.1. One without a slash in front means another path (section 5.2.4). */
static bool is_path(rv_bytes path)
{
    if (path.len == 0 || path.ptr[0] != '/')
        return false;
    for (size_t i = 0; i < path.len; i++)
        if (path.ptr[i] < 0x20 || path.ptr[i] >= 0x7f || path.ptr[i] == ';')
            return false;
    return true;
}

/* Labels of letters, digits, "-" and "_", and a dot in front, which is ignored (section 5.2.3). */
static bool is_domain(rv_bytes domain)
{
    bool in_label = false;
    for (size_t i = 0; i < domain.len; i++) {
        char c = rv_lower(domain.ptr[i]);
        bool is_label = (c >= 'a' && c <= 'z') || rv_is_digit(c) || c == '-' || c == '_';
        if (!is_label && (c != '.' || (!in_label && i > 0)))
            return false;
        in_label = is_label;
    }
    return in_label;
}

static bool has_prefix(rv_bytes name, rv_bytes prefix)
{
    return name.len >= prefix.len && rv_bytes_equal_nocase(rv_slice(name.ptr, prefix.len), prefix);
}

enum rv_cookie_fault rv_set_cookie_check(const struct rv_set_cookie *cookie)
{
    bool is_host = has_prefix(cookie->name, RV_LIT("__Host-"));
    if (!rv_is_token(cookie->name))
        return RV_COOKIE_BAD_NAME;
    if (!is_value(cookie->value))
        return RV_COOKIE_BAD_VALUE;
    if (cookie->path.ptr != NULL && !is_path(cookie->path))
        return RV_COOKIE_BAD_PATH;
    if (cookie->domain.ptr != NULL && !is_domain(cookie->domain))
        return RV_COOKIE_BAD_DOMAIN;
    if (!cookie->secure && (cookie->same_site == RV_SAME_SITE_NONE || cookie->partitioned ||
                            is_host || has_prefix(cookie->name, RV_LIT("__Secure-"))))
        return RV_COOKIE_NOT_SECURE;
    if (is_host && (cookie->domain.ptr != NULL || !rv_equals(cookie->path, "/")))
        return RV_COOKIE_BAD_HOST_PREFIX;
    if (cookie->name.len + cookie->value.len > PAIR_BYTES_MAX ||
        cookie->path.len > ATTRIBUTE_BYTES_MAX || cookie->domain.len > ATTRIBUTE_BYTES_MAX)
        return RV_COOKIE_TOO_LONG;
    return RV_COOKIE_GOOD;
}

const char *rv_cookie_fault_text(enum rv_cookie_fault fault)
{
    switch (fault) {
#define RV_COOKIE_FAULT_CASE(name, text)                                                           \
    case name:                                                                                     \
        return text;
        RV_COOKIE_FAULTS(RV_COOKIE_FAULT_CASE)
#undef RV_COOKIE_FAULT_CASE
    case RV_COOKIE_GOOD:
        break;
    }
    return "";
}

/* ---- writing --------------------------------------------------------------------------------- */

static char *put_expires(char *out, int64_t seconds)
{
    out = rv_put(out, RV_LIT("; Expires="));
    rv_date_format(out, seconds);
    return out + RV_DATE_LENGTH;
}

static char *put_max_age(char *out, int64_t seconds)
{
    out = rv_put(out, RV_LIT("; Max-Age="));
    return out + rv_put_decimal(out, seconds > 0 ? (uint64_t)seconds : 0);
}

static char *put_attribute(char *out, rv_bytes name, rv_bytes value)
{
    return value.ptr == NULL ? out : rv_put(rv_put(out, name), value);
}

static rv_bytes same_site_attribute(enum rv_same_site same_site)
{
    switch (same_site) {
    case RV_SAME_SITE_LAX:
        return RV_LIT("; SameSite=Lax");
    case RV_SAME_SITE_STRICT:
        return RV_LIT("; SameSite=Strict");
    case RV_SAME_SITE_NONE:
        return RV_LIT("; SameSite=None");
    case RV_SAME_SITE_UNSAID:
        break;
    }
    return RV_LIT("");
}

size_t rv_set_cookie_room(const struct rv_set_cookie *cookie)
{
    static const char others[] = "=; Expires=Sun, 06 Nov 1994 08:49:37 GMT; "
                                 "Max-Age=9223372036854775807; Path=; Domain=; HttpOnly; Secure; "
                                 "SameSite=Strict; Partitioned";
    return cookie->name.len + cookie->value.len + cookie->path.len + cookie->domain.len +
           sizeof others;
}

size_t rv_set_cookie_write(const struct rv_set_cookie *cookie, char *out)
{
    char *at = rv_put(rv_put(rv_put(out, cookie->name), RV_LIT("=")), cookie->value);
    if (cookie->has_expires)
        at = put_expires(at, cookie->expires);
    if (cookie->has_max_age)
        at = put_max_age(at, cookie->max_age_s);
    at = put_attribute(at, RV_LIT("; Path="), cookie->path);
    at = put_attribute(at, RV_LIT("; Domain="), cookie->domain);
    at = rv_put(at, cookie->http_only ? RV_LIT("; HttpOnly") : RV_LIT(""));
    at = rv_put(at, cookie->secure ? RV_LIT("; Secure") : RV_LIT(""));
    at = rv_put(at, same_site_attribute(cookie->same_site));
    at = rv_put(at, cookie->partitioned ? RV_LIT("; Partitioned") : RV_LIT(""));
    return (size_t)(at - out);
}
