/*
 * Content codings by weight (negotiate.h). One pass over the field notes what is said of each coding
 * and of "*"; then the best of ours is chosen.
 */
#include "http/negotiate.h"

#include "http/parameters.h"
#include "http/scan.h"

#define UNSAID (-1)

static const rv_bytes coding_names[RV_CODINGS] = {[RV_CODING_IDENTITY] = RV_LIT("identity"),
                                                  [RV_CODING_GZIP] = RV_LIT("gzip"),
                                                  [RV_CODING_BROTLI] = RV_LIT("br"),
                                                  [RV_CODING_ZSTD] = RV_LIT("zstd")};

/* What a field says, in thousandths; UNSAID where it says nothing. */
struct weights {
    int of[RV_CODINGS];
    int others; /* "*" */
};

rv_bytes rv_coding_name(enum rv_coding coding)
{
    return coding_names[coding];
}

bool rv_weight_parse(rv_bytes text, unsigned *thousandths)
{
    if (text.len == 0 || text.len > 5 || (text.ptr[0] != '0' && text.ptr[0] != '1') ||
        (text.len > 1 && text.ptr[1] != '.'))
        return false;
    unsigned value = text.ptr[0] == '1' ? 1000 : 0;
    unsigned unit = 100;
    for (size_t i = 2; i < text.len; i++, unit /= 10) {
        if (!rv_is_digit(text.ptr[i]))
            return false;
        value += unit * (unsigned)(text.ptr[i] - '0');
    }
    *thousandths = value;
    return value <= 1000;
}

/* One element: a coding, and perhaps a weight as its only parameter. */
static bool read_element(rv_bytes element, rv_bytes *coding, unsigned *weight)
{
    struct rv_parameter parameter;
    rv_bytes parameters;
    *coding = rv_parameters_split(element, &parameters);
    *weight = 1000;
    if (!rv_is_token(*coding))
        return false;
    switch (rv_parameter_next(&parameters, &parameter)) {
    case RV_PARAMETER_END:
        return true;
    case RV_PARAMETER:
        return rv_bytes_equal_nocase(parameter.name, RV_LIT("q")) && !parameter.is_quoted &&
               rv_weight_parse(parameter.value, weight) &&
               rv_parameter_next(&parameters, &parameter) == RV_PARAMETER_END;
    case RV_PARAMETER_ERROR:
        break;
    }
    return false;
}

static void note(int *said, unsigned weight)
{
    if (*said == UNSAID || (unsigned)*said > weight)
        *said = (int)weight;
}

static void note_coding(struct weights *weights, rv_bytes coding, unsigned weight)
{
    if (rv_bytes_equal(coding, RV_LIT("*")))
        note(&weights->others, weight);
    if (rv_bytes_equal_nocase(coding, RV_LIT("x-gzip"))) /* RFC 9110 section 8.4.1.3 */
        coding = coding_names[RV_CODING_GZIP];
    for (size_t i = 0; i < RV_CODINGS; i++)
        if (rv_bytes_equal_nocase(coding, coding_names[i]))
            note(&weights->of[i], weight);
}

static struct weights read_weights(rv_bytes field)
{
    struct weights weights = {.others = UNSAID};
    rv_bytes element, coding;
    unsigned weight;
    for (size_t i = 0; i < RV_CODINGS; i++)
        weights.of[i] = UNSAID;
    while (rv_bytes_next_element(&field, &element))
        if (read_element(element, &coding, &weight))
            note_coding(&weights, coding, weight);
    return weights;
}

enum rv_coding rv_negotiate_coding(rv_bytes accept_encoding, const enum rv_coding *ours,
                                   size_t count)
{
    struct weights weights = read_weights(accept_encoding);
    enum rv_coding best = RV_CODING_IDENTITY;
    int best_weight = 0;
    for (size_t i = 0; i < count; i++) {
        int said = weights.of[ours[i]];
        int weight = said != UNSAID ? said : weights.others;
        if (weight > best_weight) {
            best = ours[i];
            best_weight = weight;
        }
    }
    /* Only by its name can identity be preferred: a client that says "*" has not asked for it. */
    return weights.of[RV_CODING_IDENTITY] > best_weight ? RV_CODING_IDENTITY : best;
}

/* ---- media types ----------------------------------------------------------------------------- */

static rv_bytes last_octets(rv_bytes text, size_t count)
{
    return rv_slice(text.ptr + text.len - count, count);
}

bool rv_type_matches(rv_bytes content_type, rv_bytes pattern)
{
    rv_bytes parameters;
    rv_bytes type = rv_parameters_split(content_type, &parameters);
    if (pattern.len > 1 && pattern.ptr[pattern.len - 1] == '*') {
        size_t length = pattern.len - 1; /* with the slash */
        return type.len > length &&
               rv_bytes_equal_nocase(rv_slice(type.ptr, length), rv_slice(pattern.ptr, length));
    }
    if (pattern.len > 1 && pattern.ptr[0] == '*') {
        size_t length = pattern.len - 1;
        return type.len > length &&
               rv_bytes_equal_nocase(last_octets(type, length), last_octets(pattern, length));
    }
    return type.len > 0 && rv_bytes_equal_nocase(type, pattern);
}

bool rv_type_is_compressible(rv_bytes content_type)
{
    static const rv_bytes patterns[] = {RV_LIT("text/*"),
                                        RV_LIT("application/json"),
                                        RV_LIT("application/javascript"),
                                        RV_LIT("application/xml"),
                                        RV_LIT("application/wasm"),
                                        RV_LIT("image/svg+xml"),
                                        RV_LIT("*+json"),
                                        RV_LIT("*+xml"),
                                        RV_LIT("*+text"),
                                        RV_LIT("application/x-javascript"),
                                        RV_LIT("application/ecmascript"),
                                        RV_LIT("application/x-ndjson"),
                                        RV_LIT("application/x-www-form-urlencoded"),
                                        RV_LIT("application/yaml"),
                                        RV_LIT("application/toml"),
                                        RV_LIT("application/sql"),
                                        RV_LIT("application/rtf"),
                                        RV_LIT("application/postscript"),
                                        RV_LIT("application/vnd.apple.mpegurl"),
                                        RV_LIT("application/vnd.ms-fontobject"),
                                        RV_LIT("font/ttf"),
                                        RV_LIT("font/otf"),
                                        RV_LIT("image/bmp"),
                                        RV_LIT("image/vnd.microsoft.icon")};
    if (rv_type_matches(content_type, RV_LIT("text/event-stream")))
        return false;
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        if (rv_type_matches(content_type, patterns[i]))
            return true;
    return false;
}
