/*
 * A request as it goes out: built once before the run, sent as often as need be.
 */
#ifndef RV_LOAD_REQUEST_H
#define RV_LOAD_REQUEST_H

#include "http/h2.h"

#define RV_LENGTH_ANY UINT64_MAX

struct rv_load_request {
    char *octets; /* head and body; owned */
    size_t length;
    size_t head_length;
    bool is_head;       /* HEAD: the answer has no content */
    bool is_idempotent; /* may be sent again when an idle connection turns out closed (RFC 9110
                             section 9.2.2) */
    bool asks_close;    /* the client will not keep the connection: it says so */
    uint64_t content_expected;  /* octets of content that an answer must have; RV_LENGTH_ANY */
    struct rv_h2_field *fields; /* HTTP/2: its head (h2_request.h), in slices of `octets`; owned */
    uint32_t field_count;
};

struct rv_request_field {
    const char *name;
    const char *value; /* NULL: the field of that name is left out */
};

/* What a request is made of. */
struct rv_request_parts {
    const char *method;     /* "GET" */
    rv_bytes target;        /* "/ok?x=1"; "?x=1" gets its slash; with a proxy the absolute form */
    const char *authority;  /* for Host */
    const char *user_agent; /* NULL: the field is left out */
    const char *accept;     /* NULL: left out */
    bool http_1_0;
    bool http2; /* it will have fields: its body is never chunked */
    /* The Connection field. Neither: it is left out, as the version's default will do. */
    bool says_keep_alive;
    bool says_close;
    /* Put behind ours in their order; one with the name of one of ours (Host, User-Agent, Accept,
       Connection, Authorization, Proxy-Authorization, Content-Type, Content-Length) stands in its
       place. "Transfer-Encoding: chunked" makes the body one chunk, without a Content-Length. */
    const struct rv_request_field *fields;
    size_t field_count;
    const char *credentials; /* "user:pass" for Basic (RFC 7617); NULL: none */
    const char *proxy_credentials;
    bool has_body;
    rv_bytes body;
    const char *content_type; /* of the body; NULL: left out */
};

/* RV_EINVAL, with a sentence in `why` (256 octets): a method that is no token, a field with a
   control octet in it. RV_ENOMEM. */
rv_error rv_request_build(const struct rv_request_parts *parts, struct rv_load_request *request,
                          char *why);

void rv_request_free(struct rv_load_request *request);

#endif
