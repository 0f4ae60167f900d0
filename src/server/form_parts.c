/*
 * Parts of a whole body (form_parts.h). The reader works on pieces, and gives data in runs: so content is
 * gathered in the arena, which takes no more than the body has.
 */
#include "server/form_parts.h"

#include "http/multipart.h"
#include "server/body.h"

#define PART_HEAD_BYTES_MAX 4096

static const struct rv_form_parts no_memory = {.error = RV_ENOMEM};

struct reading {
    struct rv_multipart multipart;
    char heads[RV_MULTIPART_MEMORY(PART_HEAD_BYTES_MAX)];
};

static void refuse(struct rv_form_parts *form, int status, const char *reason)
{
    form->count = 0;
    form->status = status;
    form->reason = reason;
    form->error = status == 413 ? RV_ELIMIT : RV_EPROTO;
}

static bool begin(struct rv_talk *talk, struct reading *reading)
{
    uint64_t most = talk->worker->server->options.limits.form_fields_max;
    struct rv_multipart_limits limits = {.parts_max =
                                             most > UINT32_MAX ? UINT32_MAX : (uint32_t)most,
                                         .part_head_bytes_max = PART_HEAD_BYTES_MAX};
    return rv_multipart_begin(&reading->multipart, rv_header(talk, "Content-Type"), &limits,
                              reading->heads);
}

/* How many parts there are; false: the form cannot be used. */
static bool count_parts(struct rv_talk *talk, struct reading *reading, size_t *count)
{
    rv_bytes octets = talk->body, data;
    enum rv_multipart_event event;
    if (!begin(talk, reading))
        return false;
    while ((event = rv_multipart_next(&reading->multipart, &octets, &data)) !=
           RV_MULTIPART_INCOMPLETE) {
        if (event == RV_MULTIPART_ERROR)
            return false;
        *count += event == RV_MULTIPART_PART;
    }
    return rv_multipart_finish(&reading->multipart);
}

static rv_bytes keep(struct rv_talk *talk, rv_bytes text, bool *good)
{
    char *copy = text.ptr == NULL ? NULL : rv_arena_copy(&talk->arena, text);
    *good = *good && (copy != NULL || text.ptr == NULL);
    return rv_slice(copy, text.len);
}

static bool take_parts(struct rv_talk *talk, struct reading *reading, struct rv_form_parts *form)
{
    rv_bytes octets = talk->body, data;
    char *content = rv_arena_alloc(&talk->arena, talk->body.len);
    bool good = content != NULL && begin(talk, reading);
    rv_form_part *part = form->parts;
    while (good) {
        const struct rv_part *head = &reading->multipart.part;
        switch (rv_multipart_next(&reading->multipart, &octets, &data)) {
        case RV_MULTIPART_PART:
            *part = (rv_form_part){.name = keep(talk, head->name, &good),
                                   .filename = keep(talk, head->filename, &good),
                                   .content_type = keep(talk, head->content_type, &good),
                                   .content = rv_slice(content, 0)};
            break;
        case RV_MULTIPART_DATA:
            memcpy(content, data.ptr, data.len);
            content += data.len;
            part->content.len += data.len;
            break;
        case RV_MULTIPART_PART_END:
            part++;
            break;
        default:
            return true;
        }
    }
    return false;
}

static bool is_multipart(const struct rv_talk *talk)
{
    return talk->body.len > 0 &&
           rv_bytes_equal_nocase(rv_content_type(talk), RV_LIT("multipart/form-data"));
}

const struct rv_form_parts *rv_form_parts_of(struct rv_talk *talk)
{
    if (talk->form_parts != NULL || !is_multipart(talk))
        return talk->form_parts;
    struct rv_form_parts *form = rv_arena_alloc(&talk->arena, sizeof *form);
    struct reading *reading = rv_arena_alloc(&talk->arena, sizeof *reading);
    if (form == NULL || reading == NULL)
        return &no_memory;
    *form = (struct rv_form_parts){0};
    if (rv_body_is_coded(talk)) {
        refuse(form, 415, RV_BODY_CODED);
    } else if (!count_parts(talk, reading, &form->count)) {
        refuse(form, reading->multipart.status, reading->multipart.reason);
    } else if (form->count > 0) {
        form->parts = rv_arena_alloc(&talk->arena, form->count * sizeof *form->parts);
        if (form->parts == NULL || !take_parts(talk, reading, form))
            return &no_memory;
    }
    talk->form_parts = form;
    return form;
}

bool rv_form_part_at(rv_talk *talk, size_t index, rv_form_part *part)
{
    const struct rv_form_parts *form = talk == NULL ? NULL : rv_form_parts_of(talk);
    if (form == NULL || index >= form->count)
        return false;
    *part = form->parts[index];
    return true;
}
