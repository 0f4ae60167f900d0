/*
 * The options of framing and compression (shaping.h), and the choice of a coding: RFC 9110 section 12.5.3
 * for what the client accepts, 8.8.1 for what becomes of validators, 12.5.5 for Vary.
 */
#include "server/shaping.h"

#include "http/scan.h"
#include "http/status.h"
#include "server/representation.h"

#include <stdlib.h>

/* Less than that fits into one segment either way. */
#define BYTES_MIN_DEFAULT 1024

/* ---- options ------------------------------------------------------------------------------------------ */

/* "text/html", "text/" and a star, "*+json". */
static bool is_pattern(rv_bytes pattern)
{
    rv_bytes type = rv_bytes_take_until(&pattern, '/');
    if (pattern.len == 0)
        return type.len > 2 && type.ptr[0] == '*' && type.ptr[1] == '+' && rv_is_token(type);
    return type.ptr[0] != '*' && rv_is_token(type) && rv_is_token(pattern);
}

static bool are_patterns(const char *types)
{
    rv_bytes rest = rv_str(types);
    size_t count = 0;
    while (rest.len > 0) {
        rv_bytes pattern = rv_bytes_take_until(&rest, ' ');
        if (pattern.len > 0 && !is_pattern(pattern))
            return false;
        count += pattern.len > 0;
    }
    return types == NULL || count > 0;
}

static const char *set_levels(struct rv_shaping *shaping, const rv_compress_options *options,
                              const char **option)
{
    static const char *const names[] = {[RV_CODING_GZIP] = "compress->gzip_level",
                                        [RV_CODING_BROTLI] = "compress->brotli_level",
                                        [RV_CODING_ZSTD] = "compress->zstd_level"};
    const int levels[] = {[RV_CODING_GZIP] = options->gzip_level,
                          [RV_CODING_BROTLI] = options->brotli_level,
                          [RV_CODING_ZSTD] = options->zstd_level};
    size_t count;
    const enum rv_coding *built = rv_encoder_codings(&count);
    for (enum rv_coding coding = RV_CODING_GZIP; coding < RV_CODINGS; coding++) {
        *option = names[coding];
        int most = rv_encoder_level_max(coding);
        if (levels[coding] > 0 && most == 0)
            return "the library was built without this coding";
        if (levels[coding] > most && most > 0)
            return "more than the coding has";
        if (levels[coding] < RV_COMPRESS_OFF)
            return "must be a level, 0 for the default or RV_COMPRESS_OFF";
        shaping->levels[coding] = levels[coding];
    }
    for (size_t i = 0; i < count; i++)
        if (levels[built[i]] != RV_COMPRESS_OFF)
            shaping->codings[shaping->coding_count++] = built[i];
    *option = "compress";
    return shaping->coding_count > 0 ? NULL : "no coding is left";
}

static const char *set_compression(struct rv_shaping *shaping, const rv_compress_options *options,
                                   const char **option)
{
    shaping->bytes_min = options->bytes_min == 0 ? BYTES_MIN_DEFAULT : options->bytes_min;
    if (!are_patterns(options->types)) {
        *option = "compress->types";
        return "must be media types such as \"text/html\", \"text/*\" or \"*+json\", separated by "
               "spaces";
    }
    if (options->types != NULL && (shaping->types = strdup(options->types)) == NULL)
        return RV_NO_MEMORY_TEXT;
    return set_levels(shaping, options, option);
}

const char *rv_shaping_make(const rv_app_options *options, struct rv_shaping **shaping,
                            const char **option)
{
    *shaping = NULL;
    *option = "framing";
    if ((unsigned)options->framing > RV_FRAMING_RAW)
        return "is none that there is";
    if (options->framing == RV_FRAMING_AUTO && options->compress == NULL)
        return NULL;
    struct rv_shaping *made = calloc(1, sizeof *made);
    if (made == NULL)
        return RV_NO_MEMORY_TEXT;
    made->framing = options->framing;
    made->buffered_bytes_max = options->buffered_bytes_max;
    const char *fault =
        options->compress == NULL ? NULL : set_compression(made, options->compress, option);
    if (fault != NULL)
        rv_shaping_free(made);
    else
        *shaping = made;
    return fault;
}

void rv_shaping_free(struct rv_shaping *shaping)
{
    if (shaping != NULL)
        free(shaping->types);
    free(shaping);
}

/* ---- the choice ----------------------------------------------------------------------------------------- */

static bool is(rv_bytes name, const char *wanted)
{
    return rv_bytes_equal_nocase(name, rv_str(wanted));
}

static bool has_element(rv_bytes list, const char *wanted)
{
    rv_bytes element;
    while (rv_bytes_next_element(&list, &element))
        if (is(element, wanted))
            return true;
    return false;
}

/* Does a field speak of the octets as they are? Those that are coded already, and those that a digest was
   made of, stay. */
static bool forbids(const struct rv_response_field *field)
{
    static const char *const names[] = {"Content-Encoding", "Content-Range", "Content-Digest",
                                        "Repr-Digest",      "Digest",        "Content-MD5"};
    if (is(field->name, "Cache-Control"))
        return has_element(field->value, "no-transform");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is(field->name, names[i]))
            return true;
    return false;
}

static bool is_among(const char *types, rv_bytes type)
{
    rv_bytes rest = rv_str(types);
    while (rest.len > 0) {
        rv_bytes pattern = rv_bytes_take_until(&rest, ' ');
        if (pattern.len > 0 && rv_type_matches(type, pattern))
            return true;
    }
    return false;
}

static bool is_worth_it(const struct rv_shaping *shaping, rv_bytes type, uint64_t length)
{
    if (type.len == 0 || length < shaping->bytes_min)
        return false;
    return shaping->types == NULL ? rv_type_is_compressible(type) : is_among(shaping->types, type);
}

/* May this response be coded at all? A 304 stands for a 200 of which nothing is known but perhaps the
   type. */
static bool may_be_coded(const struct rv_talk *talk, const struct rv_shaping *shaping, int status,
                         rv_bytes type, uint64_t length)
{
    if (talk->route != NULL && talk->route->options.no_compress)
        return false;
    if (talk->coding_settled || status == 206)
        return false;
    if (status == 304 ? type.len > 0 && !is_worth_it(shaping, type, RV_LENGTH_UNKNOWN)
                      : !rv_status_has_body(status) || !is_worth_it(shaping, type, length))
        return false;
    for (const struct rv_response_field *field = talk->fields; field != NULL; field = field->next)
        if (forbids(field))
            return false;
    return true;
}

struct rv_coding_choice rv_choose_coding(struct rv_talk *talk, int status, rv_bytes type,
                                         uint64_t length)
{
    struct rv_coding_choice choice = {false, RV_CODING_IDENTITY};
    const struct rv_shaping *shaping = rv_shaping_of(talk);
    if (shaping->coding_count == 0 || !may_be_coded(talk, shaping, status, type, length))
        return choice;
    choice.varies = true;
    choice.coding = rv_negotiate_coding(rv_header_joined(talk, "Accept-Encoding"), shaping->codings,
                                        shaping->coding_count);
    return choice;
}

/* ---- fields ------------------------------------------------------------------------------------------- */

/* A list of fields under construction, in the talk's arena. */
struct draft {
    struct rv_talk *talk;
    struct rv_response_field *first, **last;
    bool failed;
};

static void put(struct draft *draft, rv_bytes name, rv_bytes value)
{
    struct rv_response_field *field = rv_arena_alloc(&draft->talk->arena, sizeof *field);
    if (field == NULL) {
        draft->failed = true;
        return;
    }
    *field = (struct rv_response_field){name, value, NULL};
    *draft->last = field;
    draft->last = &field->next;
}

/* In memory of the talk's own. */
static rv_bytes joined(struct draft *draft, rv_bytes front, rv_bytes back)
{
    char *text = rv_arena_alloc(&draft->talk->arena, front.len + back.len);
    if (text == NULL) {
        draft->failed = true;
        return front;
    }
    rv_put(rv_put(text, front), back);
    return rv_slice(text, front.len + back.len);
}

static bool says_vary(const struct rv_response_field *field)
{
    for (; field != NULL; field = field->next)
        if (is(field->name, "Vary") &&
            (has_element(field->value, "Accept-Encoding") || has_element(field->value, "*")))
            return true;
    return false;
}

/* Those that there are. Of what is coded while it is sent the octets may come out otherwise the next time:
   only a weak tag is true of them, and there are no ranges. */
static void put_those_there(struct draft *draft, bool coded, bool *varies)
{
    const struct rv_response_field *field = draft->talk->fields;
    for (; field != NULL && !draft->failed; field = field->next) {
        rv_bytes value = field->value;
        bool is_strong = value.len > 0 && value.ptr[0] == '"';
        if (coded && is(field->name, "Accept-Ranges"))
            continue;
        if (coded && is_strong && is(field->name, "ETag"))
            value = joined(draft, RV_LIT("W/"), value);
        if (!*varies && is(field->name, "Vary")) {
            value = joined(draft, value, RV_LIT(", Accept-Encoding"));
            *varies = true;
        }
        put(draft, field->name, value);
    }
}

static void set_fields(struct rv_talk *talk, struct rv_response_field *fields)
{
    talk->fields = fields;
    talk->fields_last = &talk->fields;
    while (*talk->fields_last != NULL)
        talk->fields_last = &(*talk->fields_last)->next;
}

rv_error rv_coding_fields(struct rv_talk *talk, int status, struct rv_coding_choice choice,
                          rv_bytes type, struct rv_fields_before *before)
{
    struct draft draft = {.talk = talk};
    bool coded = choice.coding != RV_CODING_IDENTITY;
    bool varies = !choice.varies || says_vary(talk->fields);
    draft.last = &draft.first;
    *before = (struct rv_fields_before){talk->fields, talk->type_set};
    if (type.ptr != NULL)
        put(&draft, RV_LIT("Content-Type"), joined(&draft, type, RV_LIT("")));
    put_those_there(&draft, coded, &varies);
    if (coded && status != 304)
        put(&draft, RV_LIT("Content-Encoding"), rv_coding_name(choice.coding));
    if (!varies)
        put(&draft, RV_LIT("Vary"), RV_LIT("Accept-Encoding"));
    if (draft.failed)
        return RV_ENOMEM;
    set_fields(talk, draft.first);
    talk->type_set = talk->type_set || type.ptr != NULL;
    return 0;
}

void rv_fields_restore(struct rv_talk *talk, const struct rv_fields_before *before)
{
    set_fields(talk, before->fields);
    talk->type_set = before->type_set;
}
