/*
 * Cookies (RFC 6265, and what its successor adds to Set-Cookie): the pairs of a Cookie field, read
 * with the leniency that the world needs, and Set-Cookie values, written with none. Allocates nothing.
 */
#ifndef RV_HTTP_COOKIE_H
#define RV_HTTP_COOKIE_H

#include "base/bytes.h"

/* The next pair of a Cookie field (RFC 6265 section 4.2): split at ";", trimmed, quotes are part of
   the value; pairs without "=" or with an empty name are passed over, so that a bad one loses none of
   the others. Shortens `*cookies`. */
bool rv_cookie_next(rv_bytes *cookies, rv_bytes *name, rv_bytes *value);

/* False: something in it was passed over. Empty pairs are none. */
bool rv_cookies_are_pairs(rv_bytes cookies);

enum rv_same_site {
    RV_SAME_SITE_UNSAID, /* no attribute */
    RV_SAME_SITE_LAX,
    RV_SAME_SITE_STRICT,
    RV_SAME_SITE_NONE
};

/* A cookie to set. Absent views, and false, leave an attribute out. */
struct rv_set_cookie {
    rv_bytes name;
    rv_bytes value;
    rv_bytes path;
    rv_bytes domain;
    int64_t max_age_s; /* only with has_max_age; negative counts as 0: the cookie is to go */
    int64_t expires;   /* seconds of the epoch; only with has_expires */
    bool has_max_age;
    bool has_expires;
    bool secure;
    bool http_only;
    bool partitioned;
    enum rv_same_site same_site;
};

/* What is wrong with it, in the order in which it is looked at. */
#define RV_COOKIE_FAULTS(X)                                                                          \
    X(RV_COOKIE_BAD_NAME, "A cookie's name is not a token.")                                         \
    X(RV_COOKIE_BAD_VALUE, "A cookie's value has a control, blank, quote, comma, semicolon, "        \
                           "backslash or an octet above ASCII; encode it.")                          \
    X(RV_COOKIE_BAD_PATH, "A cookie's path does not begin with \"/\", or has a control, a "          \
                          "semicolon or an octet above ASCII.")                                      \
    X(RV_COOKIE_BAD_DOMAIN, "A cookie's domain is not a host name.")                                 \
    X(RV_COOKIE_NOT_SECURE, "Browsers drop a cookie that is SameSite=None, Partitioned or named "    \
                            "__Secure-… or __Host-… unless it is Secure.")                           \
    X(RV_COOKIE_BAD_HOST_PREFIX, "Browsers drop a cookie named __Host-… unless its path is \"/\" " \
                                 "and it has no domain.")                                            \
    X(RV_COOKIE_TOO_LONG, "A cookie's name and value have more than 4096 octets together, or an "    \
                          "attribute more than 1024: browsers drop it.")

enum rv_cookie_fault {
    RV_COOKIE_GOOD,
#define RV_COOKIE_FAULT_ENUM(name, text) name,
    RV_COOKIE_FAULTS(RV_COOKIE_FAULT_ENUM)
#undef RV_COOKIE_FAULT_ENUM
};

/* A static sentence; "" for RV_COOKIE_GOOD. */
const char *rv_cookie_fault_text(enum rv_cookie_fault fault);

enum rv_cookie_fault rv_set_cookie_check(const struct rv_set_cookie *cookie);

/* The longest value that rv_set_cookie_write can write. */
size_t rv_set_cookie_room(const struct rv_set_cookie *cookie);

/* The value of a Set-Cookie field, for a cookie that was found good; not terminated. Returns the
   length. */
size_t rv_set_cookie_write(const struct rv_set_cookie *cookie, char *out);

#endif
