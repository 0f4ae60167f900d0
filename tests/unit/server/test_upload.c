/*
 * Facts about forms whose files go to the disk (rv_upload of rivulet.h): what is there afterwards, and that
 * nothing is when the form was not complete.
 */
#include "io/tls_layer.h"
#include "support/h2_client.h"
#include "support/tested.h"
#include "support/upload_folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define FORM_TYPE "multipart/form-data; boundary=xy"

static rv_upload_options options;
static const char *chosen; /* the name that files get */

static struct {
    int done, aborts;
    rv_error reason;
    bool without_talk;
    char text[512]; /* about the parts */
    uint64_t progress;
} seen;

static int choose(rv_talk *talk, const rv_part *part, char *name, size_t size, void *ctx)
{
    (void)talk, (void)part, (void)ctx;
    snprintf(name, size, "%s", chosen);
    return RV_OK;
}

static void progress(rv_talk *talk, uint64_t octets, void *ctx)
{
    (void)talk, (void)ctx;
    assert_true(octets > seen.progress);
    seen.progress = octets;
}

static int done(rv_talk *talk, const rv_uploaded *parts, size_t count, void *ctx)
{
    size_t length = 0;
    (void)ctx;
    seen.done++;
    seen.without_talk = talk == NULL;
    for (size_t i = 0; i < count; i++)
        length += (size_t)snprintf(
            seen.text + length, sizeof seen.text - length, "%.*s=%.*s%s %lu %.8s%s;",
            (int)parts[i].name.len, parts[i].name.ptr, (int)parts[i].value.len,
            parts[i].value.ptr == NULL ? "" : parts[i].value.ptr,
            parts[i].file == NULL ? "" : parts[i].file, (unsigned long)parts[i].bytes,
            parts[i].sha256, parts[i].replaced ? "replaced" : "");
    return rv_text(talk, 200, "done");
}

static void aborted(rv_error reason, void *ctx)
{
    (void)ctx;
    seen.aborts++;
    seen.reason = reason;
}

static int take(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_upload(talk, &options, NULL);
}

static int set_up(void **state)
{
    memset(&seen, 0, sizeof seen);
    chosen = "kept";
    options = (rv_upload_options){.directory = upload_folder_make(),
                                  .name = choose,
                                  .progress = progress,
                                  .done = done,
                                  .abort = aborted};
    tested_set_up(state);
    route_with("POST /", take, NULL, (rv_route_options){.body = RV_BODY_STREAMED});
    return 0;
}

static int tear_down(void **state)
{
    tested_tear_down(state);
    return upload_folder_remove() == 0 ? 0 : -1;
}

static const char form[] =
    "--xy\r\nContent-Disposition: form-data; name=\"who\"\r\n\r\nAda\r\n"
    "--xy\r\nContent-Disposition: form-data; name=\"it\"; filename=\"../../etc/passwd\"\r\n\r\n"
    "abc\r\n--xy--\r\n";

static void post_head(size_t length)
{
    char fields[160];
    snprintf(fields, sizeof fields, "Content-Type: " FORM_TYPE "\r\nContent-Length: %zu\r\n",
             length);
    request("POST", "/", fields);
}

static void post(const char *body)
{
    post_head(strlen(body));
    say(body);
}

static void expect_nothing_left(int status, rv_error reason)
{
    expect_status(status);
    assert_int_equal(seen.aborts, 1);
    assert_int_equal(seen.done, 0);
    assert_int_equal(seen.reason, reason);
    rv_test_settle(client());
    assert_int_equal(upload_folder_empty(), 0);
}

static void a_file_gets_the_name_that_was_chosen(void **state)
{
    char octets[16];
    (void)state;
    options.sha256 = RV_TLS_BUILT;
    options.sync = true;
    post(form);
    expect_answer(200, "done");
    assert_string_equal(seen.text,
                        RV_TLS_BUILT ? "who=Ada 3 ;it=kept 3 ba7816bf;" : "who=Ada 3 ;it=kept 3 ;");
    assert_int_equal(seen.progress, 6);
    assert_int_equal(upload_folder_read("kept", octets, sizeof octets), 3);
    assert_memory_equal(octets, "abc", 3);
    assert_int_equal(upload_folder_empty(), 1);
    assert_int_equal(seen.aborts, 0);
}

static void an_empty_file_is_one_too(void **state)
{
    (void)state;
    post("--xy\r\nContent-Disposition: form-data; name=\"it\"; filename=\"\"\r\n\r\n\r\n--xy--");
    expect_answer(200, "done");
    assert_string_equal(seen.text, "it=kept 0 ;");
    assert_int_equal(upload_folder_empty(), 1);
}

static void names_are_random_when_nobody_chooses(void **state)
{
    (void)state;
    options.name = NULL;
    for (int i = 0; i < 2; i++) {
        seen.progress = 0;
        post(form);
        expect_answer(200, "done");
    }
    assert_int_equal(upload_folder_empty(), 2);
}

static void what_is_no_name_is_refused(void **state)
{
    static const char *const names[] = {"", ".", "..", "a/b", "/etc/x", "../x"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        memset(&seen, 0, sizeof seen);
        chosen = names[i];
        post(form);
        expect_nothing_left(400, RV_EINVAL);
    }
}

static void a_name_that_is_taken_is_409_and_the_file_stays(void **state)
{
    char octets[16];
    (void)state;
    post(form);
    expect_answer(200, "done");
    memset(&seen, 0, sizeof seen);
    post("--xy\r\nContent-Disposition: form-data; name=\"it\"; filename=\"\"\r\n\r\nnew\r\n--xy--");
    expect_status(409);
    assert_int_equal(seen.aborts, 1);
    assert_int_equal(upload_folder_read("kept", octets, sizeof octets), 3);
    assert_memory_equal(octets, "abc", 3);
    memset(&seen, 0, sizeof seen);
    options.replace = true;
    post("--xy\r\nContent-Disposition: form-data; name=\"it\"; filename=\"\"\r\n\r\nnew\r\n--xy--");
    expect_answer(200, "done");
    assert_string_equal(seen.text, "it=kept 3 replaced;");
    assert_int_equal(upload_folder_read("kept", octets, sizeof octets), 3);
    assert_memory_equal(octets, "new", 3);
    assert_int_equal(upload_folder_empty(), 1);
}

static void a_client_that_goes_leaves_nothing(void **state)
{
    char head[256];
    (void)state;
    snprintf(head, sizeof head,
             "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: " FORM_TYPE
             "\r\nContent-Length: %zu\r\n\r\n",
             sizeof form - 1);
    for (size_t cut = 1; cut < sizeof form - 1; cut++) {
        memset(&seen, 0, sizeof seen);
        rv_test *test = rv_test_new(tested);
        rv_test_send(test, rv_str(head));
        rv_test_send(test, (rv_bytes){form, cut});
        rv_test_reset(test);
        assert_int_equal(seen.aborts, 1);
        assert_int_equal(seen.reason, RV_EGONE);
        assert_int_equal(upload_folder_empty(), 0);
        rv_test_free(test);
    }
}

static void a_form_that_is_cut_short_leaves_nothing(void **state)
{
    (void)state;
    post("--xy\r\nContent-Disposition: form-data; name=\"it\"; filename=\"n\"\r\n\r\nabc\r\n--xy");
    expect_nothing_left(400, RV_EPROTO);
}

static void a_file_that_is_too_large_leaves_nothing(void **state)
{
    (void)state;
    options.file_bytes_max = 2;
    post(
        "--xy\r\nContent-Disposition: form-data; name=\"it\"; filename=\"n\"\r\n\r\nabc\r\n--xy--");
    expect_nothing_left(413, RV_ELIMIT);
}

static void a_directory_that_is_not_there_is_a_failure(void **state)
{
    (void)state;
    options.directory = "/tmp/there/is/none";
    post(form);
    expect_nothing_left(500, RV_EIO);
    assert_int_equal(last_error, RV_EIO);
}

/* ---- large ones --------------------------------------------------------------------------------------- */

enum { LARGE = 3000000 };

static const char large_head[] =
    "--xy\r\nContent-Disposition: form-data; name=\"it\"; filename=\"n\"\r\n\r\n";

static char *large_form(size_t *length)
{
    static char octets[LARGE + 256];
    size_t at = sizeof large_head - 1;
    memcpy(octets, large_head, at);
    for (size_t i = 0; i < LARGE; i++)
        octets[at + i] = (char)(i * 2654435761u >> 13);
    memcpy(octets + at + LARGE, "\r\n--xy--", 8);
    *length = at + LARGE + 8;
    return octets;
}

static void expect_large_file(const char *octets)
{
    static char kept[LARGE + 1];
    assert_int_equal(upload_folder_read("kept", kept, sizeof kept), LARGE);
    assert_memory_equal(kept, octets + sizeof large_head - 1, LARGE);
    assert_int_equal(upload_folder_empty(), 1);
}

static void a_large_file_arrives_whole(void **state)
{
    size_t length;
    const char *octets = large_form(&length);
    (void)state;
    post_head(length);
    for (size_t at = 0, piece; at < length; at += piece) {
        piece = length - at < 50000 ? length - at : 50000;
        say_octets((rv_bytes){octets + at, piece});
    }
    expect_answer(200, "done");
    expect_large_file(octets);
}

#if RV_H2_BUILT
static void a_large_file_arrives_whole_over_http2(void **state)
{
    struct h2_client peer = {0};
    size_t length;
    const char *octets = large_form(&length);
    (void)state;
    h2_client_open(&peer, tested, 0, 0);
    struct h2_exchange *exchange =
        h2_ask(&peer, "POST", "/", "content-type: " FORM_TYPE "\n", true);
    h2_put(exchange, (rv_bytes){octets, length}, true);
    for (int i = 0; i < 1000 && !exchange->ended; i++) {
        h2_client_pump(&peer);
        rv_test_settle(peer.test);
    }
    h2_expect(exchange, 200, "done");
    expect_large_file(octets);
    h2_client_close(&peer);
}
#endif

#define FACT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        FACT(a_file_gets_the_name_that_was_chosen),
        FACT(an_empty_file_is_one_too),
        FACT(names_are_random_when_nobody_chooses),
        FACT(what_is_no_name_is_refused),
        FACT(a_name_that_is_taken_is_409_and_the_file_stays),
        FACT(a_client_that_goes_leaves_nothing),
        FACT(a_form_that_is_cut_short_leaves_nothing),
        FACT(a_file_that_is_too_large_leaves_nothing),
        FACT(a_directory_that_is_not_there_is_a_failure),
        FACT(a_large_file_arrives_whole),
#if RV_H2_BUILT
        FACT(a_large_file_arrives_whole_over_http2),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
