/*
 * Any octets as a multipart body, and as the Content-Type in front of it. The first octet of the input
 * chooses the cut, the second the limits; the field is what lies before the first NUL. Read whole, cut
 * in two, and octet by octet, it must give the same parts with the same data, and the same verdict.
 * Parts begin and end in turn, data lies where it may, and what a head decodes to has no NUL. Blocks
 * have exactly their size, so that the sanitizer sees a look behind the end.
 */
#include "fuzz/support/block.h"
#include "http/multipart.h"

enum { OCTETS_MAX = 4096, SEEN_MAX = 16 * OCTETS_MAX };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What came out, as octets: the same octets are the same parts. */
struct transcript {
    size_t length;
    int status;
    const char *reason;
    char seen[SEEN_MAX];
};

struct reader {
    struct rv_multipart multipart;
    struct transcript *transcript;
    bool in_part;
    size_t parts;
};

static void note(struct transcript *transcript, rv_bytes text)
{
    REQUIRE(text.len <= SEEN_MAX - transcript->length);
    if (text.len > 0)
        memcpy(transcript->seen + transcript->length, text.ptr, text.len);
    transcript->length += text.len;
}

static void note_text(struct transcript *transcript, rv_bytes text)
{
    REQUIRE(!has_octet(text, '\0'));
    note(transcript, text.ptr != NULL ? RV_LIT("\1") : RV_LIT("\2"));
    note(transcript, text);
}

static void begin_part(struct reader *reader)
{
    const struct rv_part *part = &reader->multipart.part;
    REQUIRE(!reader->in_part && part->name.ptr != NULL);
    REQUIRE(part->field_count > 0 && part->field_count <= RV_PART_FIELDS_MAX);
    REQUIRE(++reader->parts <= reader->multipart.limits.parts_max);
    reader->in_part = true;
    note_text(reader->transcript, part->name);
    note_text(reader->transcript, part->filename);
    note_text(reader->transcript, part->content_type);
    note_text(reader->transcript, part->charset);
    for (uint32_t i = 0; i < part->field_count; i++) {
        note_text(reader->transcript, part->fields[i].name);
        note_text(reader->transcript, part->fields[i].value);
    }
    note(reader->transcript, RV_LIT("\3"));
}

static void take_data(struct reader *reader, rv_bytes data, rv_bytes piece)
{
    rv_bytes held = rv_slice(reader->multipart.delimiter, sizeof reader->multipart.delimiter);
    REQUIRE(reader->in_part && data.len > 0);
    REQUIRE(lies_within(data, piece) || lies_within(data, held));
    note(reader->transcript, data);
}

/* False: refused. */
static bool feed(struct reader *reader, const char *octets, size_t count)
{
    rv_bytes piece = block_copy(octets, count), rest = piece, data;
    enum rv_multipart_event event = RV_MULTIPART_PART;
    while (event != RV_MULTIPART_INCOMPLETE && event != RV_MULTIPART_ERROR) {
        event = rv_multipart_next(&reader->multipart, &rest, &data);
        REQUIRE(lies_within(rest, piece));
        if (event == RV_MULTIPART_PART) {
            begin_part(reader);
        } else if (event == RV_MULTIPART_DATA) {
            take_data(reader, data, piece);
        } else if (event == RV_MULTIPART_PART_END) {
            REQUIRE(reader->in_part);
            reader->in_part = false;
            note(reader->transcript, RV_LIT("\4"));
        }
    }
    REQUIRE(event == RV_MULTIPART_ERROR || rest.len == 0);
    block_free(piece);
    return event != RV_MULTIPART_ERROR;
}

/* A first piece of `first` octets, then pieces of `step`. */
static void read_body(rv_bytes type, rv_bytes body, size_t first, size_t step,
                      const struct rv_multipart_limits *limits, struct transcript *transcript)
{
    struct reader reader = {.transcript = transcript};
    char *memory = block_of(RV_MULTIPART_MEMORY(limits->part_head_bytes_max));
    *transcript = (struct transcript){0};
    bool good = rv_multipart_begin(&reader.multipart, type, limits, memory);
    for (size_t at = 0; at < body.len && good;) {
        size_t piece = at == 0 && first > 0 ? first : step;
        if (piece > body.len - at)
            piece = body.len - at;
        good = feed(&reader, body.ptr + at, piece);
        at += piece;
    }
    bool finished = rv_multipart_finish(&reader.multipart);
    if (finished)
        REQUIRE(good && !reader.in_part);
    transcript->status = reader.multipart.status;
    transcript->reason = reader.multipart.reason;
    REQUIRE(finished == (transcript->status == 0) && finished == (transcript->reason == NULL));
    free(memory);
}

static void require_same(const struct transcript *a, const struct transcript *b)
{
    REQUIRE(a->status == b->status && a->reason == b->reason);
    REQUIRE(a->length == b->length && memcmp(a->seen, b->seen, a->length) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct transcript whole;
    static struct transcript cut;
    if (size < 2 || size > OCTETS_MAX)
        return 0;
    const struct rv_multipart_limits limits = {.parts_max = data[1] >> 5,
                                               .part_head_bytes_max = 8U << (data[1] & 7),
                                               .bytes_max = data[1] & 8 ? data[0] * 4 : 0};
    rv_bytes body = rv_slice((const char *)data + 2, size - 2);
    rv_bytes field = rv_bytes_take_until(&body, '\0');
    rv_bytes type = block_copy(field.ptr, field.len);

    read_body(type, body, body.len, body.len, &limits, &whole);
    read_body(type, body, data[0], body.len, &limits, &cut);
    require_same(&whole, &cut);
    read_body(type, body, 0, 1, &limits, &cut);
    require_same(&whole, &cut);
    block_free(type);
    return 0;
}
