/*
 * rv_file: one file as a whole answer, with validators, preconditions and a byte range. The decisions
 * are http/conditional's and http/range's; here they meet a file descriptor.
 */
#include "http/conditional.h"
#include "http/date.h"
#include "http/mime.h"
#include "http/range.h"
#include "server/reply.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static rv_error open_regular(const char *path, int *file, struct stat *info)
{
    /* Non-blocking: opening a FIFO must not hang the worker. */
    *file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (*file < 0) {
        if (errno == EACCES || errno == EPERM)
            return RV_EPERM;
        return errno == EMFILE || errno == ENFILE ? RV_EFILES : RV_ENOTFOUND;
    }
    if (fstat(*file, info) != 0 || !S_ISREG(info->st_mode)) {
        close(*file);
        return RV_ENOTFOUND;
    }
    return 0;
}

/* All values of a list field as one, joined with ", " (RFC 9110 section 5.3). */
static rv_bytes joined(rv_talk *talk, const char *wanted)
{
    rv_bytes first = rv_header(talk, wanted), name, value, all = first;
    size_t size = 0, count = 0;
    for (size_t i = 0; rv_header_at(talk, i, &name, &value); i++)
        if (rv_bytes_equal_nocase(name, rv_str(wanted))) {
            size += value.len + 2;
            count++;
        }
    if (count < 2)
        return first;
    char *out = rv_arena_alloc(&talk->arena, size);
    if (out == NULL)
        return first;
    all = rv_slice(out, 0);
    for (size_t i = 0; rv_header_at(talk, i, &name, &value); i++)
        if (rv_bytes_equal_nocase(name, rv_str(wanted))) {
            if (all.len > 0)
                all.len = (size_t)(rv_put(out + all.len, RV_LIT(", ")) - out);
            all.len = (size_t)(rv_put(out + all.len, value) - out);
        }
    return all;
}

static struct rv_conditions conditions_of(rv_talk *talk)
{
    return (struct rv_conditions){.if_match = joined(talk, "If-Match"),
                                  .if_none_match = joined(talk, "If-None-Match"),
                                  .if_modified_since = rv_header(talk, "If-Modified-Since"),
                                  .if_unmodified_since = rv_header(talk, "If-Unmodified-Since"),
                                  .if_range = rv_header(talk, "If-Range")};
}

/* RFC 9110 section 8.8.2.1: a Last-Modified later than the message's Date is replaced by that. */
static rv_error set_validators(rv_talk *talk, const char *etag, int64_t modified)
{
    int64_t now = talk->wall_s;
    modified = modified < now ? modified : now;
    char date[RV_DATE_LENGTH + 1];
    rv_date_format(date, modified);
    date[RV_DATE_LENGTH] = '\0';
    rv_error error = rv_set_header(talk, "Last-Modified", date);
    if (error == 0)
        error = rv_set_header(talk, "ETag", etag);
    return error == 0 ? rv_set_header(talk, "Accept-Ranges", "bytes") : error;
}

static int answer_without_content(rv_talk *talk, int status, int file)
{
    close(file);
    return status == 304 ? rv_reply(talk, 304, NULL, rv_slice("", 0))
                         : rv_problem(talk, status, NULL);
}

/* Narrows the content to the range that was asked for. 200, 206 or 416. */
static int apply_range(rv_talk *talk, const struct rv_conditions *conditions,
                       const struct rv_validators *validators, struct rv_content *content)
{
    rv_bytes range = joined(talk, "Range"); /* on several lines it is several ranges, or none */
    struct rv_range wanted;
    uint64_t size = content->length;
    size_t count;
    char text[RV_CONTENT_RANGE_MAX + 1];
    /* RFC 9110 section 14.2: only GET has ranges, and only HTTP/1.1 clients have heard of them. */
    if (range.ptr == NULL || talk->head.method_id != RV_METHOD_GET || talk->head.minor == 0 ||
        !rv_if_range_allows(conditions, validators))
        return 200;
    switch (rv_range_decide(range, size, &wanted, 1, &count)) {
    case RV_RANGE_ONE:
        text[rv_content_range_write(&wanted, size, text)] = '\0';
        if (rv_set_header(talk, "Content-Range", text) != 0)
            return 200;
        content->offset = wanted.first;
        content->length = wanted.length;
        return 206;
    case RV_RANGE_UNSATISFIABLE:
        text[rv_content_range_write(NULL, size, text)] = '\0';
        return rv_set_header(talk, "Content-Range", text) == 0 ? 416 : 200;
    default:
        return 200;
    }
}

int rv_file(rv_talk *talk, const char *path, const rv_file_options *options)
{
    static const rv_file_options defaults;
    const rv_file_options *with = options == NULL ? &defaults : options;
    char made_etag[64];
    struct stat info;
    int file, status = 200;
    rv_error error = rv_answer_check(talk, 200);
    if (error == 0)
        error = open_regular(path, &file, &info);
    if (error != 0)
        return error;
    struct rv_content content = {
        .kind = RV_CONTENT_FILE, .file = file, .length = (uint64_t)info.st_size};
    snprintf(made_etag, sizeof made_etag, "\"%llx-%llx.%lx\"", (unsigned long long)info.st_size,
             (unsigned long long)info.st_mtim.tv_sec, (unsigned long)info.st_mtim.tv_nsec);
    const char *etag = with->etag == NULL ? made_etag : with->etag;
    if (!with->no_conditions) {
        struct rv_conditions conditions = conditions_of(talk);
        struct rv_validators validators = {
            .etag = rv_str(etag), .last_modified = info.st_mtim.tv_sec, .now = talk->wall_s};
        bool get_or_head =
            talk->head.method_id == RV_METHOD_GET || talk->head.method_id == RV_METHOD_HEAD;
        switch (rv_conditions_evaluate(&conditions, &validators, get_or_head)) {
        case RV_CONDITION_NOT_MODIFIED:
            status = 304;
            break;
        case RV_CONDITION_FAILED:
            status = 412;
            break;
        case RV_CONDITION_PASS:
            status = apply_range(talk, &conditions, &validators, &content);
        }
        error =
            status == 412 || status == 416 ? 0 : set_validators(talk, etag, info.st_mtim.tv_sec);
    }
    if (error != 0 || status == 304 || status == 412 || status == 416) {
        if (error == 0)
            return answer_without_content(talk, status, file);
        close(file);
        return error;
    }
    const char *type = with->content_type == NULL ? rv_mime_of(rv_str(path)) : with->content_type;
    return rv_answer(talk, status, type, &content);
}
