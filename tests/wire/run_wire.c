/*
 * Runs every wire case against the library in memory, on the sim back end and a clock that stands
 * still. Each case is three tests: as given; split (in two at every octet, then octet by octet); and
 * pipelined behind a good request. What comes back must be exactly what the case expects, however
 * the octets were cut: a parser that depends on segments fails here and names the boundary.
 */
#include "wire/wire_answer.h"
#include "wire/wire_app.h"
#include "wire/wire_case.h"
#include "wire/wire_client.h"
#include "wire/wire_folder.h"

#include <regex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <cmocka.h>

#define CASES "tests/wire/cases"
#define GOOD_REQUEST "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

static rv_server *server;
static bool over_tls;

/* One way of running a case. */
struct trial {
    const struct wire_case *wire_case;
    size_t before;   /* good responses that come first */
    bool as_given;   /* its own segments: interim responses count, and 100 is awaited */
    const char *how; /* for messages */
    size_t at;       /* the boundary, where there is one */
};

struct octets {
    char *data;
    size_t length;
};

/* ---- expectations ------------------------------------------------------------------------------ */

/* "200x3,404k" to "200,200,200,404k", with `before` good ones in front. */
static void expand(const char *expected, size_t before, char *text, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < before; i++)
        used += (size_t)snprintf(text + used, size - used, "%s200", i > 0 ? "," : "");
    if (expected[0] == '-' && before > 0)
        expected++;
    else if (before > 0)
        used += (size_t)snprintf(text + used, size - used, ",");
    for (; *expected != '\0' && used + 1 < size; expected++) {
        if (*expected != 'x') {
            text[used++] = *expected;
            continue;
        }
        char *end;
        unsigned long times = strtoul(expected + 1, &end, 10);
        if (used < 3)
            fail_msg("an expectation that cannot be read: %s", expected);
        char status[4] = "";
        memcpy(status, text + used - 3, 3);
        for (unsigned long i = 1; i < times; i++)
            used += (size_t)snprintf(text + used, size - used, ",%s", status);
        expected = end - 1;
    }
    text[used] = '\0';
}

static bool fits(const char *expected, const char *actual)
{
    size_t length = strlen(expected);
    if (length != strlen(actual))
        return false;
    if (expected[length - 1] == '*')
        length--;
    return strncmp(expected, actual, length) == 0;
}

static bool is_head(size_t index, const void *ctx)
{
    const struct trial *trial = ctx;
    size_t i;
    json_t *number;
    json_array_foreach(trial->wire_case->head_responses, i,
                       number) if ((size_t)json_integer_value(number) + trial->before ==
                                   index) return true;
    return false;
}

/* ---- what must also hold ----------------------------------------------------------------------- */

static bool matches(const char *pattern, rv_bytes value)
{
    if (value.ptr == NULL)
        return false;
    regex_t regex;
    if (regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) != 0)
        fail_msg("a regular expression that cannot be read: %s", pattern);
    char *text = strndup(value.ptr, value.len);
    bool found = text != NULL && regexec(&regex, text, 0, NULL, 0) == 0;
    free(text);
    regfree(&regex);
    return found;
}

/* The octets of a latin-1 text; the caller frees. */
static struct octets latin1(const json_t *text)
{
    const unsigned char *utf8 = (const unsigned char *)json_string_value(text);
    size_t length = json_string_length(text);
    struct octets made = {malloc(length + 1), 0};
    for (size_t i = 0; i < length; i++) {
        unsigned octet = utf8[i];
        if (octet >= 0x80)
            octet = ((octet & 3U) << 6) | (utf8[++i] & 0x3FU);
        made.data[made.length++] = (char)octet;
    }
    return made;
}

static bool body_is(const struct wire_answer *answer, const json_t *text)
{
    struct octets expected = latin1(text);
    bool same = expected.length == answer->body_length &&
                (expected.length == 0 || memcmp(expected.data, answer->body, expected.length) == 0);
    free(expected.data);
    return same;
}

static const char *check_values(const struct wire_answer *answer, const char *name,
                                const json_t *values)
{
    size_t found = 0;
    for (size_t i = 0; i < answer->fields.count; i++) {
        rv_bytes field = answer->fields.all[i].name;
        if (field.len != strlen(name) || strncasecmp(field.ptr, name, field.len) != 0)
            continue;
        const char *expected = json_string_value(json_array_get(values, found++));
        if (expected == NULL || !rv_equals(answer->fields.all[i].value, expected))
            return name;
    }
    return found == json_array_size(values) ? NULL : name;
}

/* NULL, or the name of the field that is not as it must be. */
static const char *check_fields(const struct wire_answer *answer, json_t *also)
{
    const char *name;
    json_t *value;
    json_object_foreach(json_object_get(also, "has"), name,
                        value) if (!rv_equals(wire_fields_find(&answer->fields, name),
                                              json_string_value(value))) return name;
    json_object_foreach(json_object_get(also, "matches"), name,
                        value) if (!matches(json_string_value(value),
                                            wire_fields_find(&answer->fields, name))) return name;
    json_object_foreach(json_object_get(also, "values"), name, value)
    {
        const char *wrong = check_values(answer, name, value);
        if (wrong != NULL)
            return wrong;
    }
    json_object_foreach(json_object_get(also, "trailers"), name,
                        value) if (!rv_equals(wire_fields_find(&answer->trailers, name),
                                              json_string_value(value))) return name;
    size_t index;
    json_array_foreach(json_object_get(also, "lacks"), index,
                       value) if (wire_fields_find(&answer->fields, json_string_value(value)).ptr !=
                                  NULL) return json_string_value(value);
    return NULL;
}

static const char *check_body(const struct wire_answer *answer, const json_t *also)
{
    const json_t *value;
    rv_bytes body = {answer->body != NULL ? answer->body : "", answer->body_length};
    if ((value = json_object_get(also, "line")) != NULL &&
        !rv_equals(answer->line, json_string_value(value)))
        return "the status line";
    if ((value = json_object_get(also, "body")) != NULL && !body_is(answer, value))
        return "the body";
    if ((value = json_object_get(also, "body_length")) != NULL &&
        (size_t)json_integer_value(value) != answer->body_length)
        return "the length of the body";
    if ((value = json_object_get(also, "body_lacks")) != NULL &&
        strstr(body.ptr, json_string_value(value)) != NULL)
        return "the body holds what it must not hold";
    if ((value = json_object_get(also, "body_matches")) != NULL &&
        !matches(json_string_value(value), body))
        return "the body does not match";
    return NULL;
}

static const char *check_also(const struct trial *trial, const struct wire_answers *answers)
{
    size_t index;
    json_t *also;
    json_array_foreach(trial->wire_case->also, index, also)
    {
        size_t number =
            trial->before + (size_t)json_integer_value(json_object_get(also, "response"));
        if (number >= answers->count)
            return "the response that something is said of is not there";
        const char *wrong = check_body(&answers->final[number], also);
        if (wrong == NULL)
            wrong = check_fields(&answers->final[number], also);
        if (wrong != NULL)
            return wrong;
    }
    return NULL;
}

/* ---- running ----------------------------------------------------------------------------------- */

static void take(struct wire_client *client, struct octets *received)
{
    rv_bytes piece = wire_client_received(client);
    if (piece.len == 0)
        return;
    received->data = realloc(received->data, received->length + piece.len);
    assert_non_null(received->data);
    memcpy(received->data + received->length, piece.ptr, piece.len);
    received->length += piece.len;
}

static _Noreturn void explain(const struct trial *trial, const struct octets *received,
                              const char *what, const char *actual)
{
    print_error("%s %s, at octet %zu: %s; got %s, %zu octets:\n", trial->wire_case->id, trial->how,
                trial->at, what, actual, received->length);
    if (received->length > 0)
        fwrite(received->data, 1, received->length < 2000 ? received->length : 2000, stderr);
    fputs("\n", stderr);
    fail();
    abort();
}

static void judge(const struct trial *trial, const struct octets *received, bool closed)
{
    const struct wire_case *wire_case = trial->wire_case;
    struct wire_answers answers =
        wire_answers_read((rv_bytes){received->data, received->length}, closed, is_head, trial);
    char actual[512], expected[512] = "";
    wire_answers_summary(&answers, closed, actual, sizeof actual);

    bool fitting = false;
    size_t index;
    json_t *text;
    json_array_foreach(wire_case->expect, index, text)
    {
        expand(json_string_value(text), trial->before, expected, sizeof expected);
        fitting = fitting || fits(expected, actual);
    }
    struct wire_segment joined = wire_case_joined(wire_case, "");
    bool may_just_close = wire_case->half_close || wire_case->unannounced ||
                          memmem(joined.octets, joined.length, "HTTP/1.0", 8) != NULL;
    free(joined.octets);
    const char *fault =
        fitting ? wire_answers_check(&answers, closed, may_just_close) : "not what was expected";
    if (fault == NULL)
        fault = check_also(trial, &answers);
    if (fault == NULL && wire_case->interim >= 0 && answers.interim != wire_case->interim &&
        (trial->as_given || wire_case->interim == 0))
        fault = "the number of interim responses";
    if (fault != NULL)
        explain(trial, received, fault, actual);
    wire_answers_free(&answers);
}

static void send_octets(struct wire_client *client, const char *octets, size_t length)
{
    wire_client_send(client, (rv_bytes){octets, length});
}

static void finish(const struct trial *trial, struct wire_client *client, struct octets *received)
{
    if (trial->wire_case->half_close)
        wire_client_half_close(client);
    if (trial->wire_case->advance_ms > 0)
        wire_client_advance_ms(client, trial->wire_case->advance_ms);
    take(client, received);
    judge(trial, received, wire_client_closed(client));
    wire_client_free(client);
    free(received->data);
}

static struct wire_client *connect_client(void)
{
    struct wire_client *client = wire_client_new(server, over_tls);
    if (client == NULL)
        fail_msg("no client: %s", rv_server_error_text(server));
    return client;
}

static void run_as_given(void **state)
{
    struct trial trial = {.wire_case = *state, .as_given = true, .how = "as given"};
    struct wire_client *client = connect_client();
    struct octets received = {0};
    for (size_t i = 0; i < trial.wire_case->segment_count; i++) {
        if (i > 0 && trial.wire_case->awaits_continue) {
            take(client, &received);
            if (memmem(received.data, received.length, "100 Continue\r\n\r\n", 16) == NULL)
                explain(&trial, &received, "no 100 before the body", "nothing");
        }
        send_octets(client, trial.wire_case->segments[i].octets,
                    trial.wire_case->segments[i].length);
    }
    finish(&trial, client, &received);
}

static void run_split_at(const struct trial *trial, const struct wire_segment *joined)
{
    struct wire_client *client = connect_client();
    struct octets received = {0};
    send_octets(client, joined->octets, trial->at);
    take(client, &received);
    send_octets(client, joined->octets + trial->at, joined->length - trial->at);
    finish(trial, client, &received);
}

/*
 * The next boundary to try. Every one of a short case; of a long one (only limits need them) those at
 * both ends, and those around each multiple of 4096, where buffers end.
 */
static size_t next_boundary(size_t at, size_t length)
{
    at++;
    if (length <= 3000)
        return at;
    while (at > 200 && at + 200 < length && (at + 4) % 4096 > 8)
        at++;
    return at;
}

static void run_split(void **state)
{
    struct trial trial = {.wire_case = *state, .how = "split"};
    struct wire_segment joined = wire_case_joined(trial.wire_case, "");
    /* Over TLS a boundary costs a handshake and shows nothing that octet by octet does not. */
    size_t boundaries = over_tls ? 0 : joined.length;
    for (trial.at = 1; trial.at < boundaries; trial.at = next_boundary(trial.at, joined.length))
        run_split_at(&trial, &joined);

    trial.how = "octet by octet";
    trial.at = 0;
    struct wire_client *client = connect_client();
    struct octets received = {0};
    for (size_t i = 0; i < joined.length; i++) {
        send_octets(client, joined.octets + i, 1);
        take(client, &received);
    }
    finish(&trial, client, &received);
    free(joined.octets);
}

static void run_pipelined(void **state)
{
    struct trial trial = {.wire_case = *state, .before = 1, .how = "pipelined"};
    struct wire_segment joined = wire_case_joined(trial.wire_case, GOOD_REQUEST);
    struct wire_client *client = connect_client();
    struct octets received = {0};
    send_octets(client, joined.octets, joined.length);
    free(joined.octets);
    finish(&trial, client, &received);
}

/* ---- the whole run ----------------------------------------------------------------------------- */

static bool never_head(size_t index, const void *ctx)
{
    (void)index, (void)ctx;
    return false;
}

/* Asks for "/" once: templates need its validators. */
static struct wire_validators fetch_validators(void)
{
    struct wire_validators validators = {0};
    struct wire_client *client = wire_client_new(server, over_tls);
    if (client == NULL) {
        fprintf(stderr, "no client: %s\n", rv_server_error_text(server));
        exit(1);
    }
    wire_client_send(client, RV_LIT(GOOD_REQUEST));
    struct wire_answers answers =
        wire_answers_read(wire_client_received(client), false, never_head, NULL);
    rv_bytes etag = wire_fields_find(&answers.final[0].fields, "ETag");
    rv_bytes date = wire_fields_find(&answers.final[0].fields, "Last-Modified");
    snprintf(validators.etag, sizeof validators.etag, "%.*s", (int)etag.len, etag.ptr);
    snprintf(validators.last_modified, sizeof validators.last_modified, "%.*s", (int)date.len,
             date.ptr);
    wire_answers_free(&answers);
    wire_client_free(client);
    return validators;
}

/* Of "/" as assets, or as one file: what is said of files. Of a folder: everything. */
static bool is_of(const struct wire_case *wire_case, enum wire_root root)
{
    static const char *const of_assets[] = {"conditional", "ranges", "paths", "files", NULL};
    static const char *const of_file[] = {"conditional", "ranges", NULL};
    if (root == WIRE_FOLDER)
        return true;
    for (const char *const *group = root == WIRE_ASSETS ? of_assets : of_file; *group != NULL;
         group++)
        if (strcmp(wire_case->group, *group) == 0)
            return true;
    return false;
}

static int run_all(const struct wire_cases *cases, enum wire_root root)
{
    static const struct {
        const char *name;
        CMUnitTestFunction function;
    } modes[] = {{"as given", run_as_given}, {"split", run_split}, {"pipelined", run_pipelined}};
    size_t count = 0;
    struct CMUnitTest *tests = calloc(cases->count * 3, sizeof *tests);
    if (tests == NULL)
        return 1;
    for (size_t i = 0; i < cases->count * 3; i++) {
        struct wire_case *wire_case = &cases->all[i / 3];
        char *name;
        if (!is_of(wire_case, root))
            continue;
        if (asprintf(&name, "%s %s, %s: %s", wire_case->group, wire_case->id, modes[i % 3].name,
                     wire_case->note) < 0)
            return 1;
        tests[count++] = (struct CMUnitTest){
            .name = name, .test_func = modes[i % 3].function, .initial_state = wire_case};
    }
    int failed = _cmocka_run_group_tests("wire", tests, count, NULL, NULL);
    for (size_t i = 0; i < count; i++)
        free((char *)tests[i].name);
    free(tests);
    return failed > 0 ? 1 : 0;
}

static int run(enum wire_root root)
{
    const char *folder = wire_folder_make();
    server = rv_server_new(&(rv_server_options){.workers = 1, .pool_threads = 1});
    if (server == NULL || wire_app_add_routes(server, root, folder) != RV_OK)
        return 1;
    if (over_tls && (rv_listen_tls(server, "127.0.0.1:0") != 0 || rv_tls_self_signed(server, NULL)))
        return 1;
    struct wire_validators validators = fetch_validators();
    struct wire_cases cases = wire_cases_load(CASES, &validators);
    int status = run_all(&cases, root);
    wire_cases_free(&cases);
    rv_server_free(server);
    wire_app_join();
    wire_folder_remove();
    return status;
}

int main(int argc, char **argv)
{
    enum wire_root root = WIRE_FOLDER;
    int at = 1;
    for (; at < argc && strncmp(argv[at], "--", 2) == 0; at++) {
        if (strcmp(argv[at], "--tls") == 0)
            over_tls = true;
        else if (!wire_root_read(argv[at] + 2, &root))
            return 1;
    }
    if (at < argc) /* such as "*RL0?*split*" */
        cmocka_set_test_filter(argv[at]);
    return run(root);
}
