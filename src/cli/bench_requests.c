/*
 * The requests of a bench (bench_plan.h): one for each URL, all with the same fields and body - and the
 * same again for each of the fields that clients have of their own, such as the cookie of a session.
 */
#include "cli/bench_plan.h"

#include "base/buffer.h"
#include "cli/cli.h"
#include "cli/file.h"
#include "load/h2_request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define USER_AGENT "rivulet/" RV_VERSION_TEXT

/* What all requests have in common. */
struct common {
    struct rv_request_field *fields; /* with their texts: owned; room for one more */
    size_t field_count;
    struct rv_request_field *own; /* of clients, in turn, with their texts: owned */
    uint32_t own_count;
    struct rv_buffer body;
    bool has_body;
    const char *method;
    const char *proxy_credentials;
};

static int file_error(rv_error error, char *why)
{
    return error == 0 ? 0 : error == RV_ENOMEM ? rv_bench_no_memory(why) : RV_EXIT_NO_START;
}

/* ---- fields ---------------------------------------------------------------------------------- */

/* "Name: value"; "Name;" for an empty value, "Name:" to leave ours out, as curl has it. */
static int make_field(const char *option, const char *text, struct rv_request_field *field,
                      char *why)
{
    size_t length = strlen(text);
    const char *colon = strchr(text, ':');
    bool is_empty = colon == NULL && length > 1 && text[length - 1] == ';';
    if ((colon == NULL && !is_empty) || colon == text) {
        snprintf(why, RV_BENCH_WHY_MAX, "%s takes \"Name: value\", not \"%.200s\"", option, text);
        return RV_EXIT_USAGE;
    }
    rv_bytes value = is_empty ? rv_str("") : rv_bytes_trim(rv_str(colon + 1));
    field->name = strndup(text, is_empty ? length - 1 : (size_t)(colon - text));
    field->value = is_empty || value.len > 0 ? strndup(value.ptr, value.len) : NULL;
    bool complete = field->name != NULL && (field->value != NULL || (!is_empty && value.len == 0));
    return complete ? 0 : rv_bench_no_memory(why);
}

static int make_fields(const struct rv_bench_options *options, struct common *common, char *why)
{
    common->fields = calloc(options->fields.count + 1, sizeof *common->fields);
    if (common->fields == NULL)
        return rv_bench_no_memory(why);
    int code = 0;
    for (size_t i = 0; i < options->fields.count && code == 0; i++) {
        common->field_count++;
        code = make_field("-H", options->fields.items[i], &common->fields[i], why);
    }
    return code;
}

/* A line that is terminated in its place; the next one begins at `*rest`, NULL: it was the last. */
static char *take_line(char **rest)
{
    char *line = strsep(rest, "\n");
    size_t length = strlen(line);
    if (length > 0 && line[length - 1] == '\r')
        line[length - 1] = '\0';
    if (*rest != NULL && **rest == '\0')
        *rest = NULL; /* what the last line feed ends was the last line */
    return line;
}

static uint32_t count_lines(const struct rv_buffer *file)
{
    uint32_t count = 1;
    for (size_t i = 0; i + 1 < file->len; i++)
        count += file->ptr[i] == '\n';
    return count;
}

/* An empty line is a client without a field of its own. */
static int read_own(struct rv_buffer *file, struct common *common, uint32_t clients, char *why)
{
    char *rest = file->ptr;
    uint32_t lines = count_lines(file), most = lines < clients ? lines : clients;
    common->own = calloc(most, sizeof *common->own);
    if (common->own == NULL)
        return rv_bench_no_memory(why);
    int code = 0;
    while (common->own_count < most && code == 0) {
        const char *line = take_line(&rest);
        common->own_count++;
        if (*line != '\0')
            code = make_field("--client-headers", line, &common->own[common->own_count - 1], why);
    }
    return code;
}

/* Fields of clients: no more of them than there are clients. */
static int make_own(const struct rv_bench_options *options, struct common *common, uint32_t clients,
                    char *why)
{
    struct rv_buffer file = {0};
    if (options->client_fields == NULL)
        return 0;
    rv_error error = rv_file_read(options->client_fields, &file, why);
    int code = file_error(error, why);
    if (code == 0 && (file.len == 0 || memchr(file.ptr, '\0', file.len) != NULL)) {
        snprintf(why, RV_BENCH_WHY_MAX, "--client-headers: \"%.200s\" %s", options->client_fields,
                 file.len == 0 ? "is empty" : "is no text");
        code = RV_EXIT_USAGE;
    }
    if (code == 0 && rv_buffer_append(&file, rv_slice("", 1)) != 0) /* the terminator */
        code = rv_bench_no_memory(why);
    if (code == 0) {
        file.len--;
        code = read_own(&file, common, clients, why);
    }
    rv_buffer_free(&file);
    return code;
}

/* ---- bodies ---------------------------------------------------------------------------------- */

/* A text itself, or the octets of the file that "@" names. */
static int append_data(const char *data, struct rv_buffer *body, char *why)
{
    if (data[0] == '@')
        return file_error(rv_file_read(data + 1, body, why), why);
    return rv_buffer_append(body, rv_str(data)) == 0 ? 0 : rv_bench_no_memory(why);
}

static int make_body(const struct rv_bench_options *options, struct common *common, char *why)
{
    const struct rv_texts *data = options->json.count > 0 ? &options->json : &options->data;
    for (size_t i = 0; i < data->count; i++) {
        if (i > 0 && data == &options->data && rv_buffer_append(&common->body, RV_LIT("&")) != 0)
            return rv_bench_no_memory(why);
        int code = append_data(data->items[i], &common->body, why);
        if (code != 0)
            return code;
    }
    common->has_body = data->count > 0;
    common->method = options->method != NULL ? options->method
                     : options->head         ? "HEAD"
                     : common->has_body      ? "POST"
                                             : "GET";
    /* A request of a method that has a body says so when it is empty, too (RFC 9110 section
       8.6). */
    if (strcmp(common->method, "POST") == 0 || strcmp(common->method, "PUT") == 0 ||
        strcmp(common->method, "PATCH") == 0)
        common->has_body = true;
    return 0;
}

static void fields_free(struct rv_request_field *fields, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free((char *)fields[i].name);
        free((char *)fields[i].value);
    }
    free(fields);
}

static void common_free(struct common *common)
{
    fields_free(common->fields, common->field_count);
    fields_free(common->own, common->own_count);
    rv_buffer_free(&common->body);
}

/* ---- requests -------------------------------------------------------------------------------- */

/* The absolute form, "http://host:81/path?query", that a proxy is asked with; NULL: no memory. */
static char *absolute_form(const char *authority, rv_bytes target)
{
    char *text;
    const char *slash = target.ptr[0] == '?' ? "/" : "";
    int length = asprintf(&text, "http://%s%s%.*s", authority, slash, (int)target.len, target.ptr);
    return length < 0 ? NULL : text;
}

static int build_for(const struct rv_bench_options *options, const struct common *common,
                     const struct rv_load_target *to, rv_bytes target, const char *credentials,
                     const struct rv_request_field *own, struct rv_load_request *request, char *why)
{
    size_t field_count = common->field_count;
    if (own != NULL && own->name != NULL)
        common->fields[field_count++] = *own;
    bool is_json = options->json.count > 0;
    const struct rv_request_parts parts = {
        .method = common->method,
        .target = target,
        .authority = to->authority,
        .user_agent = USER_AGENT,
        .accept = is_json ? "application/json" : "*/*",
        .http_1_0 = options->http_1_0,
        .http2 = options->http2,
        .says_keep_alive = options->http_1_0 && !options->no_keepalive,
        .says_close = !options->http_1_0 && options->no_keepalive,
        .fields = common->fields,
        .field_count = field_count,
        .credentials = options->credentials != NULL ? options->credentials : credentials,
        .proxy_credentials = common->proxy_credentials,
        .has_body = common->has_body,
        .body = rv_slice(common->body.ptr, common->body.len),
        .content_type = is_json                   ? "application/json"
                        : options->data.count > 0 ? "application/x-www-form-urlencoded"
                                                  : NULL,
    };
    rv_error error = rv_request_build(&parts, request, why);
    if (error == 0 && RV_H2_BUILT && options->http2 &&
        rv_h2_request_make(request, to->is_tls) != 0) {
        rv_request_free(request);
        error = RV_ENOMEM;
    }
    return error == 0 ? 0 : error == RV_ENOMEM ? rv_bench_no_memory(why) : RV_EXIT_USAGE;
}

static int make_request(const struct rv_bench_options *options, const struct common *common,
                        const struct rv_load_target *to, const struct rv_url *url,
                        const struct rv_request_field *own, struct rv_load_request *request,
                        char *why)
{
    char *credentials;
    int code = rv_bench_url_credentials(url, &credentials, why);
    if (code != 0)
        return code;
    char *absolute = to->proxy == NULL ? NULL : absolute_form(to->authority, url->target);
    if (to->proxy != NULL && absolute == NULL)
        code = rv_bench_no_memory(why);
    else
        code = build_for(options, common, to, absolute == NULL ? url->target : rv_str(absolute),
                         credentials, own, request, why);
    free(absolute);
    free(credentials);
    return code;
}

/* All sets; on failure the plan knows those that were made. */
static int make_sets(const struct rv_bench_options *options, const struct common *common,
                     const struct rv_bench_urls *urls, struct rv_load_plan *plan, char *why)
{
    uint32_t sets = common->own_count > 0 ? common->own_count : 1;
    plan->requests = calloc(urls->texts.count * sets, sizeof *plan->requests);
    if (plan->requests == NULL)
        return rv_bench_no_memory(why);
    plan->request_count = (uint32_t)urls->texts.count;
    plan->set_count = sets;
    for (uint32_t set = 0; set < sets; set++)
        for (uint32_t i = 0; i < plan->request_count; i++) {
            const struct rv_request_field *own = common->own_count > 0 ? &common->own[set] : NULL;
            int code = make_request(options, common, &plan->target, &urls->urls[i], own,
                                    &plan->requests[set * plan->request_count + i], why);
            if (code != 0)
                return code;
        }
    return 0;
}

int rv_bench_requests_make(const struct rv_bench_options *options, const struct rv_bench_urls *urls,
                           const char *proxy_credentials, struct rv_load_plan *plan, char *why)
{
    struct common common = {.proxy_credentials = proxy_credentials};
    int code = make_fields(options, &common, why);
    if (code == 0)
        code = make_own(options, &common, plan->clients, why);
    if (code == 0)
        code = make_body(options, &common, why);
    if (code == 0)
        code = make_sets(options, &common, urls, plan, why);
    common_free(&common);
    return code;
}
