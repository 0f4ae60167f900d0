/*
 * Requests and responses of one connection, side by side (conversation.h). The response at hand
 * belongs to the first request that is not answered; a response beyond the last whole head can only
 * refuse what was not one.
 */
#include "fuzz/support/conversation.h"

#include "fuzz/support/inflated.h"
#include "fuzz/support/require.h"

char fuzz_pattern[FUZZ_PATTERN_MAX];

void fuzz_pattern_make(void)
{
    for (size_t i = 0; i < sizeof fuzz_pattern; i++)
        fuzz_pattern[i] = (char)('A' + (i + i / 26 + i / 997) % 26);
}

/* ---- the transcript -------------------------------------------------------------------------- */

static void note(struct fuzz_conversation *conversation, rv_bytes octets)
{
    struct fuzz_transcript *transcript = conversation->transcript;
    if (transcript == NULL || transcript->is_short)
        return;
    if (octets.len > sizeof transcript->octets - transcript->length) {
        transcript->is_short = true;
        return;
    }
    if (octets.len > 0)
        memcpy(transcript->octets + transcript->length, octets.ptr, octets.len);
    transcript->length += octets.len;
}

static void note_head(struct fuzz_conversation *conversation)
{
    rv_bytes rest = rv_slice(conversation->response.head, conversation->response.head_length), line;
    while (conversation->transcript != NULL && fuzz_head_line(&rest, &line)) {
        if (line.len > 6 && memcmp(line.ptr, "Date: ", 6) == 0)
            continue;
        note(conversation, line);
        note(conversation, RV_LIT("\n"));
    }
    note(conversation, RV_LIT("\n"));
}

/* ---- responses ------------------------------------------------------------------------------- */

/* Refusals of what is no head, or not yet. */
static void check_refusal(const struct fuzz_response *response)
{
    static const int statuses[] = {400, 408, 413, 414, 431, 501, 503, 505};
    bool known = false;
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        known = known || response->status == statuses[i];
    REQUIRE(known && response->says_close && response->has_length);
}

/* Whatever the server dislikes about a request that is whole, it does not have to close for it: if
   it does, it has lost its place, and refuses what is no head. */
static void check_bad_request(const struct fuzz_conversation *conversation)
{
    const struct fuzz_response *response = &conversation->response;
    const struct fuzz_request *request = conversation->request;
    bool may_close = !request->is_whole || !request->keep_alive || conversation->is_ending ||
                     conversation->answered + 1 >= FUZZ_REQUESTS_OF_A_CONNECTION;
    REQUIRE(response->status != 400 || !response->says_close || may_close);
}

static void read_label(struct fuzz_conversation *conversation)
{
    const struct fuzz_response *response = &conversation->response;
    rv_bytes target = fuzz_response_field(response, "X-Target");
    rv_bytes content = fuzz_response_field(response, "X-Content");
    rv_bytes length = fuzz_response_field(response, "X-Length");
    conversation->content = FUZZ_CONTENT_ANY;
    conversation->content_at = conversation->content_length = 0;
    if (target.ptr == NULL)
        return;
    REQUIRE(conversation->request != NULL);
    REQUIRE(rv_bytes_equal(target, conversation->request->target));
    if (rv_equals(content, "pattern"))
        conversation->content = FUZZ_CONTENT_PATTERN;
    else if (rv_equals(content, "echo"))
        conversation->content = FUZZ_CONTENT_ECHO;
    conversation->content_length = FUZZ_PATTERN_MAX;
    conversation->has_length = length.ptr != NULL;
    if (conversation->has_length)
        REQUIRE(rv_bytes_to_u64(length, &conversation->content_length));
}

/* RFC 9110 section 12.5.5: and who says so. */
static void begin_coding(struct fuzz_conversation *conversation)
{
    const struct fuzz_response *response = &conversation->response;
    rv_bytes coding = fuzz_response_field(response, "Content-Encoding");
    fuzz_inflated_end(&conversation->inflated);
    if (coding.ptr == NULL)
        return;
    REQUIRE(rv_equals(coding, "gzip"));
    REQUIRE(rv_equals(fuzz_response_field(response, "Vary"), "Accept-Encoding"));
    REQUIRE(response->status != 204 && response->status != 206 && response->status != 304);
    conversation->inflated = fuzz_inflated_begin();
}

static void begin_interim(struct fuzz_conversation *conversation)
{
    const struct fuzz_request *request = conversation->request;
    REQUIRE(request != NULL && request->expects_continue && request->minor > 0);
    REQUIRE(!conversation->interim_seen);
    conversation->interim_seen = true;
}

static void begin_response(struct fuzz_conversation *conversation)
{
    struct fuzz_response *response = &conversation->response;
    const struct fuzz_requests *requests = &conversation->requests;
    REQUIRE(conversation->answered <= requests->count);
    conversation->request =
        conversation->answered < requests->count ? &requests->all[conversation->answered] : NULL;
    const struct fuzz_request *request = conversation->request;
    if (response->is_interim) {
        begin_interim(conversation);
        return;
    }
    if (request == NULL) {
        check_refusal(response);
    } else {
        response->without_content = request->is_head;
        REQUIRE(request->keep_alive || response->says_close);
        REQUIRE(request->minor > 0 || !response->chunked);
        check_bad_request(conversation);
    }
    bool ends_by_close = !response->chunked && !response->has_length &&
                         !response->without_content && response->status != 204 &&
                         response->status != 304;
    REQUIRE(!ends_by_close || response->says_close);
    read_label(conversation);
    begin_coding(conversation);
    note_head(conversation);
}

static void check_octets(void *owner, rv_bytes octets)
{
    struct fuzz_conversation *conversation = owner;
    uint64_t at = conversation->content_at;
    conversation->content_at += octets.len;
    note(conversation, octets);
    if (conversation->content == FUZZ_CONTENT_PATTERN) {
        REQUIRE(octets.len <= conversation->content_length - at);
        REQUIRE(memcmp(octets.ptr, fuzz_pattern + at, octets.len) == 0);
    } else if (conversation->content == FUZZ_CONTENT_ECHO) {
        rv_bytes body = conversation->request->body;
        REQUIRE(at <= body.len && octets.len <= body.len - at);
        REQUIRE(memcmp(octets.ptr, body.ptr + at, octets.len) == 0);
    }
}

static void check_content(struct fuzz_conversation *conversation, rv_bytes octets)
{
    if (conversation->inflated == NULL)
        check_octets(conversation, octets);
    else
        fuzz_inflate(conversation->inflated, octets, check_octets, conversation);
}

static void end_response(struct fuzz_conversation *conversation)
{
    const struct fuzz_response *response = &conversation->response;
    if (response->is_interim)
        return;
    bool had_content =
        !response->without_content && response->status != 204 && response->status != 304;
    if (had_content && conversation->content == FUZZ_CONTENT_PATTERN && conversation->has_length)
        REQUIRE(conversation->content_at == conversation->content_length);
    if (had_content && conversation->content == FUZZ_CONTENT_ECHO)
        REQUIRE(conversation->request->is_whole &&
                conversation->content_at == conversation->request->body.len);
    if (had_content && conversation->inflated != NULL)
        REQUIRE(fuzz_inflated_is_whole(conversation->inflated));
    conversation->answered++;
    conversation->interim_seen = false;
    conversation->is_over = response->says_close;
    conversation->has_no_end = !had_content;
    note(conversation, RV_LIT("\n(whole)\n"));
}

/* ---- the whole ------------------------------------------------------------------------------- */

void fuzz_conversation_begin(struct fuzz_conversation *conversation,
                             const struct rv_h1_limits *limits, struct fuzz_transcript *transcript)
{
    fuzz_requests_begin(&conversation->requests, limits);
    fuzz_response_begin(&conversation->response);
    conversation->answered = 0;
    conversation->is_over = conversation->is_closed = conversation->was_cut = false;
    conversation->has_no_end = conversation->is_ending = conversation->interim_seen = false;
    conversation->request = NULL;
    fuzz_inflated_end(&conversation->inflated);
    conversation->received = 0;
    conversation->transcript = transcript;
    if (transcript != NULL) {
        transcript->length = 0;
        transcript->is_short = false;
    }
}

void fuzz_conversation_sent(struct fuzz_conversation *conversation, rv_bytes octets)
{
    fuzz_requests_add(&conversation->requests, octets);
}

void fuzz_conversation_received(struct fuzz_conversation *conversation, rv_bytes octets)
{
    rv_bytes content;
    enum fuzz_response_event event;
    conversation->received += octets.len;
    REQUIRE(octets.len == 0 || !conversation->is_closed);
    do {
        REQUIRE(octets.len == 0 || !conversation->is_over);
        event = fuzz_response_next(&conversation->response, &octets, &content);
        if (event == FUZZ_RESPONSE_HEAD)
            begin_response(conversation);
        else if (event == FUZZ_RESPONSE_CONTENT)
            check_content(conversation, content);
        else if (event == FUZZ_RESPONSE_END)
            end_response(conversation);
    } while (event != FUZZ_RESPONSE_MORE);
}

void fuzz_conversation_closed(struct fuzz_conversation *conversation)
{
    if (conversation->is_closed)
        return;
    conversation->is_closed = true;
    if (conversation->response.state == FUZZ_AT_CLOSE) {
        fuzz_response_begin(&conversation->response);
        conversation->is_over = true;
        conversation->answered++;
        note(conversation, RV_LIT("\n(to the end)\n"));
    } else if (!fuzz_response_is_between(&conversation->response)) {
        conversation->was_cut = true;
        note(conversation, RV_LIT("\n(cut)\n"));
    }
    note(conversation, RV_LIT("(closed)\n"));
}
