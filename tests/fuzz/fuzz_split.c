/*
 * The same octets in one segment, octet by octet, and in pieces that the input chooses must get the
 * same responses and meet the same end. The first octet says how many lengths of pieces follow
 * (modulo 8), and with its highest bit whether the client half-closes behind the last piece; then
 * come the lengths, and then what is sent.
 *
 * Only transcripts (conversation.h) are compared: a 100 may be left out when the body is there
 * already, and a streamed echo has its chunks as the body came. What is sent always ends with a
 * line end, because a line that has not ended may be refused before its end or not (h1_parse.h).
 */
#include <stdint.h>
#include <string.h>

#include "fuzz/support/app.h"
#include "fuzz/support/at_rest.h"
#include "fuzz/support/conversation.h"
#include "fuzz/support/require.h"
#include "server/h1_body.h"

enum { OCTETS_MAX = 1024 };

/* Lengths of pieces, used in turn; 0: all that is left, also when there are no lengths. */
struct cuts {
    const uint8_t *lengths;
    size_t count;
};

static rv_server *server;
static struct fuzz_conversation conversation;
static struct fuzz_transcript whole, cut;

/* ---- one way of sending ---------------------------------------------------------------------- */

static void take(rv_test *client)
{
    fuzz_conversation_received(&conversation, rv_test_received(client));
    if (rv_test_closed(client))
        fuzz_conversation_closed(&conversation);
    fuzz_require_at_rest(server, fuzz_app_is_suspended);
    fuzz_scribble(server);
}

/* How many of the octets the server has taken; it takes none when it has closed. */
static size_t send_in_pieces(rv_test *client, rv_bytes octets, const struct cuts *cuts)
{
    size_t at = 0;
    for (size_t i = 0; at < octets.len; i++) {
        size_t length = cuts->count == 0 ? 0 : cuts->lengths[i % cuts->count];
        if (length == 0 || length > octets.len - at)
            length = octets.len - at;
        if (rv_test_send(client, rv_slice(octets.ptr + at, length)) != RV_OK)
            break;
        at += length;
    }
    return at;
}

/* Is a handler still about to answer? */
static bool is_busy(void)
{
    const struct rv_conn *conn = server->workers[0]->conns;
    return fuzz_app_suspended() > 0 ||
           (conn != NULL && conn->talk != NULL && conn->talk->timer_then != NULL);
}

/* Lets the handlers end what they can, then time. */
static void finish(rv_test *client, bool half_closes)
{
    for (int i = 0; i < 5000 && is_busy(); i++) {
        fuzz_app_answer(server, 0, 0);
        rv_test_advance_ms(client, 50);
        take(client);
    }
    REQUIRE(!is_busy());
    if (half_closes) {
        conversation.is_ending = true;
        rv_test_half_close(client); /* RV_EGONE: the server has closed */
    }
    for (int i = 0; i < 20 && !conversation.is_closed; i++) {
        rv_test_advance_ms(client, 10000);
        take(client);
    }
    REQUIRE(conversation.is_closed);
}

static void run(rv_bytes octets, const struct cuts *cuts, bool half_closes,
                struct fuzz_transcript *transcript)
{
    fuzz_app_begin();
    rv_test *client = rv_test_new(server);
    REQUIRE(client != NULL);
    fuzz_conversation_begin(&conversation, &fuzz_app_limits, transcript);
    size_t sent = send_in_pieces(client, octets, cuts);
    fuzz_conversation_sent(&conversation, rv_slice(octets.ptr, sent));
    take(client);
    finish(client, half_closes);
    rv_test_free(client);
    fuzz_require_empty(server);
    fuzz_app_end();
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* What may depend on how much of a body is there when it is answered: whether a 100 was needed, and
   whether the rest is small enough to be read (body.h). */
static bool may_differ(void)
{
    const struct fuzz_requests *requests = &conversation.requests;
    for (size_t i = 0; i < requests->count; i++) {
        uint64_t length = requests->all[i].content_length;
        if (length > RV_H1_DRAIN_BYTES_MAX && length <= RV_H1_DRAIN_BYTES_MAX + OCTETS_MAX)
            return true;
    }
    return requests->expects_continue;
}

static void compare(void)
{
    if (whole.is_short || cut.is_short || may_differ())
        return;
    bool same = whole.length == cut.length && memcmp(whole.octets, cut.octets, cut.length) == 0;
    if (!same)
        fprintf(stderr, "---- whole:\n%.*s\n---- cut:\n%.*s\n", (int)whole.length, whole.octets,
                (int)cut.length, cut.octets);
    REQUIRE(same);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char octets[OCTETS_MAX + 1];
    static const uint8_t one = 1;
    if (size < 1 || size > OCTETS_MAX)
        return 0;
    size_t count = data[0] & 7;
    bool half_closes = (data[0] & 0x80) != 0;
    if (size < 1 + count)
        return 0;
    size_t length = size - 1 - count;
    memcpy(octets, data + 1 + count, length);
    octets[length++] = '\n';

    if (server == NULL)
        server = fuzz_app_server(false);
    run(rv_slice(octets, length), &(struct cuts){NULL, 0}, half_closes, &whole);
    run(rv_slice(octets, length), &(struct cuts){&one, 1}, half_closes, &cut);
    compare();
    if (count > 0) {
        run(rv_slice(octets, length), &(struct cuts){data + 1, count}, half_closes, &cut);
        compare();
    }
    return 0;
}
