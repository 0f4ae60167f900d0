/*
 * The drain (h1_drain.h): content of any framing, counted. Chunk lines are the chunked decoder's; the
 * trailer section is walked over here, an octet at a time, as nobody wants its fields:
 *
 *   FIRST, LINE ──token octet──► NAME ──":"──► VALUE ──LF, or CR LF──► LINE …
 *     └─ LF, or CR LF: the end           LINE ──blank──► VALUE, a folded line
 *
 * A line that can be no field is malformed, and not passed over: it is most likely the next response,
 * behind a server that has left out the empty line.
 */
#include "http/h1_drain.h"

#include <assert.h>

#include "http/scan.h"

enum trailer_state {
    NOT_YET, /* the last chunk is to come */
    FIRST,   /* at the start of the first line */
    LINE,    /* at the start of another one */
    NAME,
    VALUE,
    VALUE_CR, /* behind the CR of a field line */
    EMPTY_CR, /* behind the CR of the empty line */
    ENDED,
    BROKEN
};

void rv_h1_drain_start(struct rv_h1_drain *drain, enum rv_h1_framing framing, uint64_t length)
{
    *drain = (struct rv_h1_drain){
        .framing = framing,
        .left = framing == RV_H1_FRAMING_LENGTH ? length : 0,
        .trailer = NOT_YET,
    };
    rv_chunked_init(&drain->chunked);
}

/* ---- trailers, RFC 9112 section 7.1.2 -------------------------------------------------------- */

static enum trailer_state at_line_start(enum trailer_state state, char c)
{
    switch (c) {
    case '\n':
        return ENDED;
    case '\r':
        return EMPTY_CR;
    case ' ':
    case '\t':
        return state == LINE ? VALUE : BROKEN;
    default:
        return rv_is_token_char(c) ? NAME : BROKEN;
    }
}

static enum trailer_state behind_octet(enum trailer_state state, char c)
{
    switch (state) {
    case FIRST:
    case LINE:
        return at_line_start(state, c);
    case NAME:
        return c == ':' ? VALUE : rv_is_token_char(c) ? NAME : BROKEN;
    case VALUE:
        return c == '\n' ? LINE : c == '\r' ? VALUE_CR : c == '\0' ? BROKEN : VALUE;
    case VALUE_CR:
        return c == '\n' ? LINE : BROKEN;
    case EMPTY_CR:
        return c == '\n' ? ENDED : BROKEN;
    default:
        return BROKEN;
    }
}

static enum rv_h1_drain_result drain_trailers(struct rv_h1_drain *drain, rv_bytes *octets,
                                              const char **reason)
{
    while (octets->len > 0 && drain->trailer < ENDED) {
        if (++drain->trailer_octets > RV_TRAILER_BYTES_MAX)
            drain->trailer = BROKEN;
        else
            drain->trailer =
                (uint8_t)behind_octet((enum trailer_state)drain->trailer, *octets->ptr);
        if (drain->trailer == BROKEN)
            break;
        octets->ptr++;
        octets->len--;
    }
    if (drain->trailer == BROKEN) {
        *reason = drain->trailer_octets > RV_TRAILER_BYTES_MAX
                      ? "The trailer section of the response is too large."
                      : "The trailer section of the response is malformed.";
        return RV_DRAIN_MALFORMED;
    }
    return drain->trailer == ENDED ? RV_DRAIN_DONE : RV_DRAIN_MORE;
}

/* ---- content --------------------------------------------------------------------------------- */

static enum rv_h1_drain_result drain_chunked(struct rv_h1_drain *drain, rv_bytes *octets,
                                             const char **reason)
{
    enum rv_chunked_result result = RV_CHUNKED_DATA;
    rv_bytes data;

    if (drain->trailer != NOT_YET)
        return drain_trailers(drain, octets, reason);
    while (result == RV_CHUNKED_DATA) {
        result = rv_chunked_next(&drain->chunked, octets, &data, reason);
        if (result == RV_CHUNKED_DATA)
            drain->content += data.len;
    }
    if (result == RV_CHUNKED_ERROR)
        return RV_DRAIN_MALFORMED;
    if (result == RV_CHUNKED_INCOMPLETE)
        return RV_DRAIN_MORE;
    drain->trailer = FIRST;
    return drain_trailers(drain, octets, reason);
}

static enum rv_h1_drain_result drain_run(struct rv_h1_drain *drain, rv_bytes *octets)
{
    uint64_t most = rv_h1_drain_skippable(drain);
    size_t count = octets->len < most ? octets->len : (size_t)most;
    octets->ptr += count;
    octets->len -= count;
    return rv_h1_drain_skipped(drain, count);
}

enum rv_h1_drain_result rv_h1_drain_next(struct rv_h1_drain *drain, rv_bytes *octets,
                                         const char **reason)
{
    return drain->framing == RV_H1_FRAMING_CHUNKED ? drain_chunked(drain, octets, reason)
                                                   : drain_run(drain, octets);
}

uint64_t rv_h1_drain_skippable(const struct rv_h1_drain *drain)
{
    switch (drain->framing) {
    case RV_H1_FRAMING_LENGTH:
        return drain->left;
    case RV_H1_FRAMING_CHUNKED:
        return rv_chunked_data_left(&drain->chunked);
    case RV_H1_FRAMING_UNTIL_CLOSE:
        return UINT64_MAX;
    case RV_H1_FRAMING_NONE:
        break;
    }
    return 0;
}

enum rv_h1_drain_result rv_h1_drain_skipped(struct rv_h1_drain *drain, uint64_t count)
{
    assert(count <= rv_h1_drain_skippable(drain));
    drain->content += count;
    switch (drain->framing) {
    case RV_H1_FRAMING_LENGTH:
        drain->left -= count;
        return drain->left == 0 ? RV_DRAIN_DONE : RV_DRAIN_MORE;
    case RV_H1_FRAMING_CHUNKED:
        rv_chunked_skip(&drain->chunked, count);
        return drain->trailer == ENDED ? RV_DRAIN_DONE : RV_DRAIN_MORE;
    case RV_H1_FRAMING_UNTIL_CLOSE:
        return RV_DRAIN_MORE;
    case RV_H1_FRAMING_NONE:
        break;
    }
    return RV_DRAIN_DONE;
}
