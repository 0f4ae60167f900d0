/*
 * Any octets as what a server sends: heads one after the other, and behind each its content, which is
 * drained. Whole, cut in two, octet by octet, and each of these with skipping in place of reading, it
 * must give the same responses and meet the same end at the same place. The first octet of the input
 * chooses the cut, the second the limit and whether the requests were HEAD. Blocks have exactly their
 * size, so that the sanitizer sees a look behind the padding.
 */
#include <stdint.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "fuzz/support/require.h"
#include "http/h1_drain.h"

enum { OCTETS_MAX = 4096, RESPONSES_MAX = OCTETS_MAX / 16 };

/* How the server sends, and what was asked of it. */
struct manner {
    size_t first; /* octets of the first piece */
    size_t step;  /* of all others */
    bool skips;   /* content is dropped where it may be */
    bool to_head;
    uint32_t head_max;
};

struct answer {
    struct rv_h1_response head;
    size_t begins, ends; /* the content */
    uint64_t content;
};

struct transcript {
    size_t count;
    struct answer answers[RESPONSES_MAX];
    bool is_malformed;
    bool in_content; /* where it stopped */
    size_t at;
    const char *reason;
};

/* One client's way through the octets. */
struct client {
    const char *octets;
    size_t available; /* in all */
    size_t arrived;
    struct rv_h1_drain drain;
    struct transcript *transcript;
    const struct manner *manner;
};

/* ---- one step -------------------------------------------------------------------------------- */

static int parse(const struct client *client, size_t from, size_t to,
                 struct rv_h1_response *response, const char **reason)
{
    size_t behind = client->available - to;
    char *block = calloc(1, to - from + RV_SCAN_PADDING);
    REQUIRE(block != NULL);
    memcpy(block, client->octets + from,
           to - from + (behind < RV_SCAN_PADDING ? behind : RV_SCAN_PADDING));
    memset(response, 0, sizeof(*response));
    int result = rv_h1_parse_response(block, to - from, client->manner->head_max, response, reason);
    free(block);
    return result;
}

static void require_sound(const struct client *client, size_t from,
                          const struct rv_h1_response *response)
{
    struct rv_h1_response again;
    const char *reason;

    REQUIRE(response->length > 0 && response->length <= client->arrived - from);
    REQUIRE(response->length <= client->manner->head_max);
    REQUIRE(client->octets[from + response->length - 1] == '\n');
    REQUIRE(response->status >= 100 && response->status <= 999 && response->minor <= 1);
    REQUIRE(!(response->chunked && response->coded_until_close));
    REQUIRE(!response->has_content_length || response->content_length <= INT64_MAX);
    REQUIRE(response->server.at <= response->length &&
            response->server.length <= response->length - response->server.at);
    REQUIRE(parse(client, from, from + response->length, &again, &reason) == RV_H1_COMPLETE);
    REQUIRE(memcmp(&again, response, sizeof(again)) == 0);
}

static void stop(struct transcript *transcript, const char *reason)
{
    REQUIRE(reason != NULL);
    transcript->is_malformed = true;
    transcript->reason = reason;
}

/* True when there is more to do with what has arrived. */
static bool step_head(struct client *client)
{
    struct transcript *transcript = client->transcript;
    struct answer *answer = &transcript->answers[transcript->count];
    const char *reason = NULL;
    int result = parse(client, transcript->at, client->arrived, &answer->head, &reason);

    REQUIRE(result == RV_H1_COMPLETE || result == RV_H1_INCOMPLETE || result == RV_H1_MALFORMED);
    if (result == RV_H1_MALFORMED)
        stop(transcript, reason);
    if (result != RV_H1_COMPLETE)
        return false;
    require_sound(client, transcript->at, &answer->head);
    transcript->at += answer->head.length;
    transcript->in_content = true;
    answer->begins = transcript->at;
    rv_h1_drain_start(&client->drain,
                      rv_h1_response_framing(&answer->head, client->manner->to_head),
                      answer->head.content_length);
    return true;
}

static enum rv_h1_drain_result step_drain(struct client *client, const char **reason)
{
    size_t *at = &client->transcript->at;
    size_t length = client->arrived - *at;
    uint64_t skippable = rv_h1_drain_skippable(&client->drain);

    if (client->manner->skips && skippable > 0 && length > 0) {
        size_t count = length < skippable ? length : (size_t)skippable;
        *at += count;
        return rv_h1_drain_skipped(&client->drain, count);
    }
    if (client->manner->skips && length > 1)
        length = 1; /* so that what may be skipped is found where it begins */
    char *block = malloc(length > 0 ? length : 1);
    REQUIRE(block != NULL);
    memcpy(block, client->octets + *at, length);
    rv_bytes octets = rv_slice(block, length);
    enum rv_h1_drain_result result = rv_h1_drain_next(&client->drain, &octets, reason);
    REQUIRE(octets.ptr >= block && octets.ptr + octets.len == block + length);
    REQUIRE(result != RV_DRAIN_MORE || octets.len == 0);
    *at += length - octets.len;
    free(block);
    return result;
}

static bool step_content(struct client *client)
{
    struct transcript *transcript = client->transcript;
    struct answer *answer = &transcript->answers[transcript->count];
    const char *reason = NULL;
    enum rv_h1_drain_result result = step_drain(client, &reason);

    answer->content = client->drain.content;
    answer->ends = transcript->at;
    REQUIRE(answer->content <= answer->ends - answer->begins);
    if (result == RV_DRAIN_MALFORMED)
        stop(transcript, reason);
    if (result == RV_DRAIN_MORE)
        return transcript->at < client->arrived;
    if (result == RV_DRAIN_DONE) {
        transcript->in_content = false;
        transcript->count++;
    }
    return result == RV_DRAIN_DONE;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void run(const char *octets, size_t count, const struct manner *manner,
                struct transcript *transcript)
{
    struct client client = {
        .octets = octets,
        .available = count,
        .transcript = transcript,
        .manner = manner,
    };
    memset(transcript, 0, sizeof(*transcript));
    for (size_t piece = manner->first; client.arrived < count; piece = manner->step) {
        client.arrived += piece < count - client.arrived ? piece : count - client.arrived;
        while (!transcript->is_malformed && transcript->count < RESPONSES_MAX &&
               (transcript->in_content ? step_content(&client) : step_head(&client)))
            continue;
    }
}

static void require_same(const struct transcript *a, const struct transcript *b)
{
    REQUIRE(a->count == b->count && a->at == b->at && a->in_content == b->in_content);
    REQUIRE(a->is_malformed == b->is_malformed && a->reason == b->reason);
    size_t answers = a->count + (a->in_content ? 1 : 0);
    REQUIRE(memcmp(a->answers, b->answers, answers * sizeof(a->answers[0])) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct transcript whole, cut;
    if (size < 2 || size > OCTETS_MAX)
        return 0;
    const char *octets = (const char *)data + 2;
    size_t count = size - 2;
    struct manner manner = {
        .first = OCTETS_MAX,
        .step = OCTETS_MAX,
        .to_head = data[1] % 16 == 1,
        .head_max = data[1] % 8 == 0 ? 1 + 8 * (uint32_t)data[1] : 65536,
    };

    run(octets, count, &manner, &whole);
    for (int way = 0; way < 6; way++) {
        size_t firsts[] = {OCTETS_MAX, 1 + data[0], 1};
        manner.skips = way % 2 == 0;
        manner.first = firsts[way / 2];
        manner.step = manner.first == 1 ? 1 : OCTETS_MAX;
        run(octets, count, &manner, &cut);
        require_same(&whole, &cut);
    }
    return 0;
}
