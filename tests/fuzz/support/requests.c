/*
 * Reads requests (requests.h), as far as they go: a head or a trailer section is looked at again
 * with every octet, so that a fault is known as soon as the server can know it.
 */
#include "fuzz/support/requests.h"

#include "fuzz/support/require.h"

void fuzz_requests_begin(struct fuzz_requests *requests, const struct rv_h1_limits *limits)
{
    REQUIRE(limits->head_fields_max <= FUZZ_FIELDS_MAX);
    requests->limits = *limits;
    requests->phase = FUZZ_IN_HEAD;
    requests->expects_continue = false;
    requests->length = requests->at = 0;
    requests->bodies_length = requests->count = 0;
}

static rv_bytes rest_of(const struct fuzz_requests *requests)
{
    return rv_slice(requests->sent + requests->at, requests->length - requests->at);
}

static struct fuzz_request *newest(struct fuzz_requests *requests)
{
    return &requests->all[requests->count - 1];
}

static void body_ends(struct fuzz_requests *requests)
{
    newest(requests)->is_whole = true;
    requests->phase = FUZZ_IN_HEAD;
}

static void add_to_body(struct fuzz_requests *requests, rv_bytes octets)
{
    if (octets.len > 0)
        memcpy(requests->bodies + requests->bodies_length, octets.ptr, octets.len);
    requests->bodies_length += octets.len;
    newest(requests)->body.len += octets.len;
}

static bool read_head(struct fuzz_requests *requests)
{
    struct rv_field fields[FUZZ_FIELDS_MAX];
    struct rv_h1_head head = {.fields = fields};
    const char *reason = NULL;
    rv_bytes rest = rest_of(requests);
    int result = rv_h1_parse_head(rest.ptr, rest.len, &requests->limits, &head, &reason);
    if (result == RV_H1_INCOMPLETE)
        return false;
    if (result != RV_H1_COMPLETE) {
        requests->phase = FUZZ_LOST;
        return false;
    }
    REQUIRE(requests->count < FUZZ_REQUESTS_MAX);
    requests->all[requests->count++] = (struct fuzz_request){
        .target = rv_span_bytes(rest.ptr, head.target),
        .is_head = head.method_id == RV_METHOD_HEAD,
        .keep_alive = head.keep_alive,
        .expects_continue = head.expect_continue,
        .minor = head.minor,
        .content_length = head.has_content_length ? head.content_length : 0,
        .body = rv_slice(requests->bodies + requests->bodies_length, 0),
    };
    requests->expects_continue = requests->expects_continue || head.expect_continue;
    requests->at += head.length;
    requests->left = newest(requests)->content_length;
    requests->phase = head.chunked ? FUZZ_IN_CHUNKS : FUZZ_IN_LENGTH;
    rv_chunked_init(&requests->chunked);
    return true;
}

static bool read_length(struct fuzz_requests *requests)
{
    rv_bytes rest = rest_of(requests);
    size_t run = requests->left < rest.len ? (size_t)requests->left : rest.len;
    add_to_body(requests, rv_slice(rest.ptr, run));
    requests->at += run;
    requests->left -= run;
    if (requests->left > 0)
        return false;
    body_ends(requests);
    return true;
}

static bool read_chunks(struct fuzz_requests *requests)
{
    rv_bytes rest = rest_of(requests), data = {NULL, 0};
    const char *reason = NULL;
    enum rv_chunked_result result = rv_chunked_next(&requests->chunked, &rest, &data, &reason);
    requests->at = requests->length - rest.len;
    switch (result) {
    case RV_CHUNKED_DATA:
        add_to_body(requests, data);
        return true;
    case RV_CHUNKED_LAST:
        requests->phase = FUZZ_IN_TRAILERS;
        return true;
    case RV_CHUNKED_ERROR:
        requests->phase = FUZZ_LOST;
        return false;
    case RV_CHUNKED_INCOMPLETE:
        break;
    }
    return false;
}

static bool read_trailers(struct fuzz_requests *requests)
{
    struct rv_field fields[FUZZ_FIELDS_MAX];
    struct rv_h1_head section = {.fields = fields};
    const char *reason = NULL;
    rv_bytes rest = rest_of(requests);
    int result = rv_h1_parse_trailers(rest.ptr, rest.len, &requests->limits, &section, &reason);
    if (result == RV_H1_INCOMPLETE)
        return false;
    if (result != RV_H1_COMPLETE) {
        requests->phase = FUZZ_LOST;
        return false;
    }
    requests->at += section.length;
    body_ends(requests);
    return true;
}

/* False: it needs more octets, or there is nothing more to read. */
static bool read_on(struct fuzz_requests *requests)
{
    switch (requests->phase) {
    case FUZZ_IN_HEAD:
        return read_head(requests);
    case FUZZ_IN_LENGTH:
        return read_length(requests);
    case FUZZ_IN_CHUNKS:
        return read_chunks(requests);
    case FUZZ_IN_TRAILERS:
        return read_trailers(requests);
    case FUZZ_LOST:
        break;
    }
    return false;
}

void fuzz_requests_add(struct fuzz_requests *requests, rv_bytes octets)
{
    REQUIRE(octets.len <= fuzz_requests_room(requests));
    memcpy(requests->sent + requests->length, octets.ptr, octets.len);
    requests->length += octets.len;
    while (read_on(requests))
        continue;
}
