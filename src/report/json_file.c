/*
 * Results in files, and what is wrong with a file that holds none.
 */
#include "report/report.h"

#include <errno.h>
#include <string.h>

#define DOCUMENT_BYTES_MAX (UINT64_C(1) << 30)

/* ---- writing ------------------------------------------------------------------------------------------ */

static rv_error dump(const json_t *object, FILE *file)
{
    if (json_dumpf(object, file, JSON_INDENT(2)) != 0)
        return ferror(file) ? RV_EIO : RV_ENOMEM;
    putc('\n', file);
    return fflush(file) != 0 || ferror(file) ? RV_EIO : 0;
}

rv_error rv_report_json(const struct rv_load_result *result, FILE *file)
{
    json_t *object = rv_result_to_json(result);
    if (object == NULL)
        return RV_ENOMEM;
    rv_error error = dump(object, file);
    json_decref(object);
    return error;
}

static rv_error explain(rv_error error, const char *path, char *why)
{
    if (error == RV_ENOMEM)
        snprintf(why, RV_REPORT_WHY_MAX, "out of memory");
    else if (error != 0)
        snprintf(why, RV_REPORT_WHY_MAX, "cannot write %.300s: %s", path, strerror(errno));
    return error;
}

rv_error rv_result_save(const char *path, const struct rv_load_result *result, char *why)
{
    if (strcmp(path, "-") == 0)
        return explain(rv_report_json(result, stdout), "to standard output", why);

    /* A file that is there is left alone until there is something to put in its place. */
    json_t *object = rv_result_to_json(result);
    if (object == NULL)
        return explain(RV_ENOMEM, path, why);
    FILE *file = fopen(path, "we");
    rv_error error = file == NULL ? RV_EIO : dump(object, file);
    explain(error, path, why);
    json_decref(object);
    if (file != NULL && fclose(file) != 0 && error == 0)
        error = explain(RV_EIO, path, why);
    return error;
}

/* ---- reading -------------------------------------------------------------------------------------------- */

struct document {
    FILE *file;
    uint64_t length; /* read so far */
    int error_number;
};

static size_t read_on(void *buffer, size_t room, void *ctx)
{
    struct document *document = ctx;
    size_t count = fread(buffer, 1, room, document->file);
    document->length += count;
    if (document->length > DOCUMENT_BYTES_MAX)
        document->error_number = EFBIG;
    else if (ferror(document->file))
        document->error_number = errno;
    return document->error_number != 0 ? (size_t)-1 : count;
}

static rv_error parse(FILE *file, const char *name, json_t **object, char *why)
{
    struct document document = {.file = file};
    json_error_t error;
    *object = json_load_callback(read_on, &document, JSON_REJECT_DUPLICATES, &error);
    if (*object != NULL)
        return 0;
    if (document.error_number != 0) {
        snprintf(why, RV_REPORT_WHY_MAX, "cannot read %.300s: %s", name,
                 strerror(document.error_number));
        return RV_EIO;
    }
    if (json_error_code(&error) == json_error_out_of_memory) {
        snprintf(why, RV_REPORT_WHY_MAX, "out of memory");
        return RV_ENOMEM;
    }
    snprintf(why, RV_REPORT_WHY_MAX, "%.250s is no JSON: line %d, column %d: %s", name, error.line,
             error.column, error.text);
    return RV_EINVAL;
}

static bool is_stdin(const char *path)
{
    return strcmp(path, "-") == 0;
}

static const char *name_of(const char *path)
{
    return is_stdin(path) ? "what came on standard input" : path;
}

rv_error rv_json_load(const char *path, json_t **object, char *why)
{
    FILE *file = is_stdin(path) ? stdin : fopen(path, "re");
    if (file == NULL) {
        snprintf(why, RV_REPORT_WHY_MAX, "cannot open %.300s: %s", path, strerror(errno));
        return RV_EIO;
    }
    rv_error error = parse(file, name_of(path), object, why);
    if (file != stdin)
        fclose(file);
    return error;
}

rv_error rv_result_of(const json_t *object, const char *path, struct rv_load_result *result,
                      char *why)
{
    char what[RV_REPORT_WHY_MAX];
    rv_error error = rv_result_from_json(object, result, what);
    if (error == RV_EINVAL)
        snprintf(why, RV_REPORT_WHY_MAX, "%.200s is no result of rivulet: %.280s", name_of(path),
                 what);
    else if (error != 0)
        snprintf(why, RV_REPORT_WHY_MAX, "%s", what);
    return error;
}
