/*
 * Facts about bodies that go straight to a file (rv_upload_body of rivulet.h): what is there afterwards, what is
 * refused before anything is read, and that nothing is left when the body was not complete.
 */
#include "io/tls_layer.h"
#include "support/h2_client.h"
#include "support/tested.h"
#include "support/upload_folder.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static rv_upload_options options;
static const char *folder;

static struct {
    int done, aborts, gone;
    rv_error reason;
    char text[512]; /* about the file */
    uint64_t progress;
} seen;

static void progress(rv_talk *talk, uint64_t octets, void *ctx)
{
    (void)talk, (void)ctx;
    assert_true(octets > seen.progress);
    seen.progress = octets;
}

static int done(rv_talk *talk, const rv_uploaded *file, size_t count, void *ctx)
{
    (void)ctx;
    seen.done++;
    assert_int_equal(count, 1);
    assert_null(file->name.ptr);
    assert_null(file->filename.ptr);
    assert_null(file->value.ptr);
    snprintf(seen.text, sizeof seen.text, "%s %.*s %lu %.8s", file->file,
             (int)file->content_type.len,
             file->content_type.ptr == NULL ? "" : file->content_type.ptr,
             (unsigned long)file->bytes, file->sha256);
    rv_set_header(talk, "ETag", file->etag);
    return rv_text(talk, file->replaced ? 200 : 201, file->replaced ? "replaced" : "created");
}

static void aborted(rv_error reason, void *ctx)
{
    (void)ctx;
    seen.aborts++;
    seen.reason = reason;
}

static void gone(void *ctx)
{
    (void)ctx;
    seen.gone++;
}

static int take(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_on_gone(talk, gone, NULL);
    return rv_upload_body(talk, rv_param(talk, "name"), &options, NULL);
}

static int take_nameless(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_upload_body(talk, (rv_bytes){NULL, 0}, &options, NULL);
}

static int set_up(void **state)
{
    memset(&seen, 0, sizeof seen);
    folder = upload_folder_make();
    options = (rv_upload_options){
        .directory = folder, .progress = progress, .done = done, .abort = aborted, .replace = true};
    tested_set_up(state);
    route_with("PUT /{name}", take, NULL, (rv_route_options){.body = RV_BODY_STREAMED});
    route("PUT /whole/{name}", take, NULL);
    rv_files(rv_default_app(tested), "/", folder, &(rv_files_options){.revalidate_ms = 1});
    route_with("POST /", take_nameless, NULL, (rv_route_options){.body = RV_BODY_STREAMED});
    return 0;
}

static int tear_down(void **state)
{
    tested_tear_down(state);
    return upload_folder_remove() == 0 ? 0 : -1;
}

static void expect_kept(const char *name, const char *text)
{
    char octets[64];
    assert_int_equal(upload_folder_read(name, octets, sizeof octets), strlen(text));
    assert_memory_equal(octets, text, strlen(text));
}

static void expect_nothing_left(int status, rv_error reason)
{
    expect_status(status);
    assert_int_equal(seen.aborts, 1);
    assert_int_equal(seen.gone, 1);
    assert_int_equal(seen.done, 0);
    assert_int_equal(seen.reason, reason);
    rv_test_settle(client());
    assert_int_equal(upload_folder_empty(), 0);
}

static void put(const char *path, const char *fields, const char *body)
{
    char all[512];
    snprintf(all, sizeof all, "%sContent-Length: %zu\r\n", fields, strlen(body));
    request("PUT", path, all);
    say(body);
}

/* ---- what is kept ---------------------------------------------------------------------------------------- */

static void a_body_is_a_file(void **state)
{
    (void)state;
    options.sha256 = RV_TLS_BUILT;
    options.sync = true;
    put("/it", "Content-Type: image/png\r\n", "abc");
    expect_answer(201, "created");
    assert_string_equal(seen.text, RV_TLS_BUILT ? "it image/png 3 ba7816bf" : "it image/png 3 ");
    assert_int_equal(seen.progress, 3);
    assert_int_equal(seen.aborts + seen.gone, 0);
    expect_kept("it", "abc");
    assert_int_equal(upload_folder_empty(), 1);
}

static void a_chunked_body_is_one_too(void **state)
{
    static const char chunks[] = "1\r\na\r\n2;x=y\r\nbc\r\n0\r\nX-Trailer: t\r\n\r\n";
    (void)state;
    request("PUT", "/it", "Transfer-Encoding: chunked\r\n");
    for (size_t i = 0; i < sizeof chunks - 1; i++)
        say_octets((rv_bytes){chunks + i, 1});
    expect_answer(201, "created");
    assert_string_equal(seen.text, "it  3 ");
    expect_kept("it", "abc");
    assert_int_equal(upload_folder_empty(), 1);
}

static void no_octets_are_an_empty_file(void **state)
{
    static const char *const fields[] = {"Content-Length: 0\r\n", NULL};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        request("PUT", "/it", fields[i]);
        expect_answer(201, "created");
        expect_kept("it", "");
        assert_int_equal(upload_folder_empty(), 1);
    }
}

static void a_form_is_kept_as_it_came(void **state)
{
    static const char form[] = "--xy\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n";
    (void)state;
    put("/it", "Content-Type: multipart/form-data; boundary=xy\r\n", form);
    expect_status(201);
    expect_kept("it", form);
    assert_int_equal(upload_folder_empty(), 1);
}

static void the_name_is_random_when_nobody_says_one(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        seen.progress = 0;
        request("POST", "/", "Content-Length: 1\r\n");
        say("x");
        expect_answer(201, "created");
        assert_int_equal(strcspn(seen.text, " "), 32);
    }
    assert_int_equal(upload_folder_empty(), 2);
}

static void a_file_of_that_name_is_replaced(void **state)
{
    (void)state;
    upload_folder_write("it", "old and longer");
    put("/it", "", "new");
    expect_answer(200, "replaced");
    expect_kept("it", "new");
    assert_int_equal(upload_folder_empty(), 1);
}

static void the_old_one_is_there_until_the_new_one_is_whole(void **state)
{
    (void)state;
    upload_folder_write("it", "old");
    request("PUT", "/it", "Content-Length: 3\r\n");
    say("ne");
    expect_silence();
    expect_kept("it", "old");
    rv_test_reset(client());
    assert_int_equal(seen.reason, RV_EGONE);
    expect_kept("it", "old");
    assert_int_equal(upload_folder_empty(), 1);
}

static void a_name_that_is_taken_is_409_when_nothing_may_be_replaced(void **state)
{
    (void)state;
    options.replace = false;
    upload_folder_write("it", "old");
    put("/it", "", "new");
    expect_status(409);
    assert_int_equal(seen.aborts, 1);
    assert_int_equal(seen.gone, 1);
    expect_kept("it", "old");
    assert_int_equal(upload_folder_empty(), 1);
}

static void a_directory_is_never_replaced(void **state)
{
    char path[128];
    (void)state;
    snprintf(path, sizeof path, "%s/it", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    put("/it", "", "new");
    expect_status(409);
    assert_int_equal(seen.aborts, 1);
    assert_int_equal(upload_folder_empty(), 1);
}

static void a_link_is_replaced_and_not_followed(void **state)
{
    char path[128], target[128];
    (void)state;
    upload_folder_write("target", "old");
    snprintf(target, sizeof target, "%s/target", folder);
    snprintf(path, sizeof path, "%s/it", folder);
    assert_int_equal(symlink(target, path), 0);
    put("/it", "", "new");
    expect_answer(200, "replaced");
    expect_kept("target", "old");
    expect_kept("it", "new");
    assert_int_equal(upload_folder_empty(), 2);
}

static void of_two_at_once_the_one_that_is_whole_last_stays(void **state)
{
    (void)state;
    for (unsigned number = 0; number < 2; number++) {
        as(number);
        request("PUT", "/it", "Content-Length: 3\r\n");
        say(number == 0 ? "fi" : "se");
        seen.progress = 0;
    }
    as(1);
    say("c");
    expect_answer(201, "created");
    expect_kept("it", "sec");
    as(0);
    seen.progress = 2;
    say("r");
    expect_answer(200, "replaced");
    expect_kept("it", "fir");
    assert_int_equal(upload_folder_empty(), 1);
}

/* ---- what the head alone refuses ------------------------------------------------------------------------- */

static void expect_refusal(int status)
{
    expect_status(status);
    assert_int_equal(seen.aborts + seen.done, 0);
    assert_int_equal(upload_folder_empty(), 0);
}

static void what_is_no_name_is_400(void **state)
{
    char long_one[300] = "/";
    const char *const paths[] = {"/%2E%2E", "/a%2Fb", "/%2Fetc%2Fpasswd", "/a%00b", long_one};
    (void)state;
    memset(long_one + 1, 'n', 256);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        as((unsigned)i);
        request("PUT", paths[i], "Content-Length: 3\r\n");
        expect_refusal(400);
    }
}

static void the_longest_name_is_one(void **state)
{
    char path[300] = "/";
    (void)state;
    memset(path + 1, 'n', 255);
    put(path, "", "abc");
    expect_answer(201, "created");
    assert_int_equal(upload_folder_empty(), 1);
}

/* RFC 9110 section 14.5. */
static void a_part_of_a_file_is_400(void **state)
{
    (void)state;
    request("PUT", "/it", "Content-Range: bytes 0-2/10\r\nContent-Length: 3\r\n");
    expect_refusal(400);
}

static void a_coded_body_is_415(void **state)
{
    (void)state;
    request("PUT", "/it",
            "Content-Encoding: identity\r\ncontent-encoding: gzip\r\nContent-Length: 3\r\n");
    expect_refusal(415);
    expect_field("Accept-Encoding", "identity");
    as(1);
    put("/it", "Content-Encoding: Identity\r\n", "abc");
    expect_answer(201, "created");
    assert_int_equal(upload_folder_empty(), 1);
}

static void what_will_be_too_long_is_413_before_it_is_sent(void **state)
{
    (void)state;
    options.file_bytes_max = 3;
    request("PUT", "/it", "Expect: 100-continue\r\nContent-Length: 4\r\n");
    expect_refusal(413);
    assert_int_equal(COUNTER(body_too_large), 1);
    as(1);
    put("/it", "", "abc");
    expect_answer(201, "created");
    assert_int_equal(upload_folder_empty(), 1);
}

/* ---- conditions ------------------------------------------------------------------------------------------ */

static const char *etag_of(const char *name)
{
    static char field[200];
    char path[64];
    snprintf(path, sizeof path, "/%s", name);
    get(path);
    expect_status(200);
    snprintf(field, sizeof field, "%s", answer_field(last_answer(), "ETag"));
    return field;
}

static void the_entity_tag_is_that_of_the_file(void **state)
{
    char tag[200];
    (void)state;
    put("/it", "", "abc");
    expect_answer(201, "created");
    snprintf(tag, sizeof tag, "%s", answer_field(last_answer(), "ETag"));
    assert_string_equal(etag_of("it"), tag);
    assert_int_equal(upload_folder_empty(), 1);
}

static void what_the_conditions_do_not_allow_is_412_before_it_is_sent(void **state)
{
    static const char *const fields[] = {"If-None-Match: *\r\n", "If-Match: \"other\"\r\n",
                                         "If-Unmodified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n",
                                         NULL};
    char line[300], tag_line[256];
    (void)state;
    upload_folder_write("it", "old");
    snprintf(tag_line, sizeof tag_line, "If-None-Match: \"x\", %.200s\r\n", etag_of("it"));
    for (unsigned i = 0; i < 4; i++) {
        as(i + 1);
        snprintf(line, sizeof line, "%sExpect: 100-continue\r\nContent-Length: 3\r\n",
                 fields[i] == NULL ? tag_line : fields[i]);
        request("PUT", "/it", line);
        expect_status(412);
        expect_kept("it", "old");
    }
    as(5);
    request("PUT", "/none", "If-Match: *\r\nContent-Length: 3\r\n");
    expect_status(412);
    assert_int_equal(seen.aborts + seen.done, 0);
    assert_int_equal(upload_folder_empty(), 1);
}

static void what_the_conditions_allow_is_kept(void **state)
{
    char line[300];
    (void)state;
    put("/it", "If-None-Match: *\r\n", "one");
    expect_answer(201, "created");
    seen.progress = 0;
    snprintf(line, sizeof line, "If-Match: %.200s\r\n", etag_of("it"));
    put("/it", line, "longer");
    expect_answer(200, "replaced");
    seen.progress = 0;
    put("/it", "If-Unmodified-Since: Fri, 31 Dec 2999 23:59:59 GMT\r\n", "three");
    expect_answer(200, "replaced");
    expect_kept("it", "three");
    assert_int_equal(upload_folder_empty(), 1);
}

/* Two that both have seen that there was no file, or that one: the second loses nothing of the first. */
static void what_has_changed_while_the_body_came_is_412(void **state)
{
    char line[300] = "If-None-Match: *\r\nContent-Length: 6\r\n";
    (void)state;
    for (unsigned round = 0; round < 2; round++) {
        const char *other = round == 0 ? "first" : "second one";
        as(2 * round);
        seen.progress = 0;
        request("PUT", "/it", line);
        say("abc");
        as(2 * round + 1);
        seen.progress = 0;
        put("/it", "", other);
        expect_status(round == 0 ? 201 : 200);
        as(2 * round);
        seen.progress = 3;
        say("def");
        expect_status(412);
        assert_int_equal(seen.aborts, round + 1);
        assert_int_equal(seen.gone, round + 1);
        expect_kept("it", other);
        snprintf(line, sizeof line, "If-Match: %.200s\r\nContent-Length: 6\r\n", etag_of("it"));
    }
    assert_int_equal(upload_folder_empty(), 1);
}

/* ---- what is not completed ----------------------------------------------------------------------------- */

static void what_gets_too_long_leaves_nothing(void **state)
{
    (void)state;
    options.file_bytes_max = 3;
    request("PUT", "/it", "Transfer-Encoding: chunked\r\n");
    say("2\r\nab\r\n2\r\ncd\r\n");
    expect_nothing_left(413, RV_ELIMIT);
    assert_int_equal(COUNTER(body_too_large), 1);
}

static void a_malformed_body_leaves_nothing(void **state)
{
    (void)state;
    request("PUT", "/it", "Transfer-Encoding: chunked\r\n");
    say("2\r\nab\r\nxyz\r\n");
    expect_nothing_left(400, RV_EPROTO);
}

static void a_body_that_comes_too_slowly_leaves_nothing(void **state)
{
    (void)state;
    request("PUT", "/it", "Content-Length: 10000\r\n");
    say("ab");
    advance_ms(6000);
    expect_nothing_left(408, RV_ETIMEOUT);
}

static void a_client_that_goes_leaves_nothing(void **state)
{
    static const char body[] = "abcdef";
    (void)state;
    for (size_t cut = 0; cut < sizeof body - 1; cut++) {
        memset(&seen, 0, sizeof seen);
        rv_test *test = rv_test_new(tested);
        rv_test_send(test, rv_str("PUT /it HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\n"));
        rv_test_send(test, (rv_bytes){body, cut});
        rv_test_reset(test);
        assert_int_equal(seen.aborts, 1);
        assert_int_equal(seen.reason, RV_EGONE);
        assert_int_equal(upload_folder_empty(), 0);
        rv_test_free(test);
    }
}

static void a_directory_that_nobody_may_write_to_is_a_failure(void **state)
{
    (void)state;
    options.directory = "/proc/self";
    put("/it", "", "abc");
    expect_nothing_left(500, RV_EIO);
    assert_int_equal(last_error, RV_EIO);
}

/* A file that may not grow stands for a disk that is full. */
static void a_full_disk_is_507(void **state)
{
    struct rlimit before, small;
    (void)state;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 2;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    put("/it", "", "abc");
    rv_test_settle(client());
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, handler);
    expect_nothing_left(507, RV_EIO);
}

static void options_that_cannot_be_are_errors(void **state)
{
    (void)state;
    options.done = NULL;
    request("PUT", "/it", NULL);
    expect_status(500);
    assert_int_equal(last_error, RV_EINVAL);
    options.done = done;
    options.directory = NULL;
    as(1);
    request("PUT", "/it", NULL);
    expect_status(500);
    assert_int_equal(last_error, RV_EINVAL);
    assert_int_equal(rv_upload_body(NULL, RV_LIT("x"), &options, NULL), RV_EGONE);
    options.directory = folder;
    as(2);
    request("PUT", "/whole/it", NULL);
    expect_status(500);
    assert_int_equal(last_error, RV_ESTATE);
}

/* ---- large ones ------------------------------------------------------------------------------------------ */

enum { LARGE = 3000000 };

static const char *large_body(void)
{
    static char octets[LARGE];
    for (size_t i = 0; i < LARGE; i++)
        octets[i] = (char)(i * 2654435761u >> 13);
    return octets;
}

static void expect_large_file(void)
{
    static char kept[LARGE + 1];
    assert_int_equal(upload_folder_read("it", kept, sizeof kept), LARGE);
    assert_memory_equal(kept, large_body(), LARGE);
    assert_int_equal(upload_folder_empty(), 1);
}

static void a_large_body_arrives_whole(void **state)
{
    const char *octets = large_body();
    (void)state;
    options.sha256 = RV_TLS_BUILT;
    request("PUT", "/it", "Content-Length: 3000000\r\n");
    for (size_t at = 0, piece; at < LARGE; at += piece) {
        piece = LARGE - at < 50000 ? LARGE - at : 50000;
        say_octets((rv_bytes){octets + at, piece});
    }
    expect_answer(201, "created");
    assert_string_equal(seen.text, RV_TLS_BUILT ? "it  3000000 c7763b8e" : "it  3000000 ");
    expect_large_file();
}

#if RV_H2_BUILT
static struct h2_client peer;

static struct h2_exchange *put_over_http2(size_t length, bool last)
{
    peer = (struct h2_client){0};
    h2_client_open(&peer, tested, 0, 0);
    struct h2_exchange *exchange = h2_ask(&peer, "PUT", "/it", NULL, true);
    h2_put(exchange, (rv_bytes){large_body(), length}, last);
    for (int i = 0; i < 1000 && !exchange->ended && exchange->upload.len > 0; i++) {
        h2_client_pump(&peer);
        rv_test_settle(peer.test);
    }
    return exchange;
}

static void a_large_body_arrives_whole_over_http2(void **state)
{
    (void)state;
    struct h2_exchange *exchange = put_over_http2(LARGE, true);
    for (int i = 0; i < 100 && !exchange->ended; i++) {
        rv_test_settle(peer.test);
        h2_client_pump(&peer);
    }
    h2_expect(exchange, 201, "created");
    expect_large_file();
    h2_client_close(&peer);
}

static void a_stream_that_is_reset_leaves_nothing_and_harms_no_other(void **state)
{
    (void)state;
    struct h2_exchange *exchange = put_over_http2(LARGE, false);
    assert_int_equal(upload_folder_count(), 1);
    struct h2_exchange *other = h2_ask(&peer, "PUT", "/other", NULL, true);
    seen.progress = 0;
    h2_put(other, RV_LIT("o"), false);
    h2_client_pump(&peer);
    h2_reset(exchange, RV_H2_CANCEL);
    h2_client_pump(&peer);
    rv_test_settle(peer.test);
    assert_int_equal(seen.aborts, 1);
    assert_int_equal(seen.reason, RV_EGONE);
    h2_put(other, RV_LIT("k"), true);
    for (int i = 0; i < 100 && !other->ended; i++) {
        h2_client_pump(&peer);
        rv_test_settle(peer.test);
    }
    h2_expect(other, 201, "created");
    expect_kept("other", "ok");
    assert_int_equal(upload_folder_empty(), 1);
    h2_client_close(&peer);
}

static void a_body_that_gets_too_long_is_413_over_http2_too(void **state)
{
    (void)state;
    options.file_bytes_max = 1000000;
    struct h2_exchange *exchange = put_over_http2(LARGE, true);
    rv_test_settle(peer.test);
    assert_int_equal(exchange->status, 413);
    assert_int_equal(seen.aborts, 1);
    assert_int_equal(seen.reason, RV_ELIMIT);
    assert_int_equal(upload_folder_empty(), 0);
    h2_client_close(&peer);
}
#endif

#define FACT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        FACT(a_body_is_a_file),
        FACT(a_chunked_body_is_one_too),
        FACT(no_octets_are_an_empty_file),
        FACT(a_form_is_kept_as_it_came),
        FACT(the_name_is_random_when_nobody_says_one),
        FACT(a_file_of_that_name_is_replaced),
        FACT(the_old_one_is_there_until_the_new_one_is_whole),
        FACT(a_name_that_is_taken_is_409_when_nothing_may_be_replaced),
        FACT(a_directory_is_never_replaced),
        FACT(a_link_is_replaced_and_not_followed),
        FACT(of_two_at_once_the_one_that_is_whole_last_stays),
        FACT(what_is_no_name_is_400),
        FACT(the_longest_name_is_one),
        FACT(a_part_of_a_file_is_400),
        FACT(a_coded_body_is_415),
        FACT(what_will_be_too_long_is_413_before_it_is_sent),
        FACT(the_entity_tag_is_that_of_the_file),
        FACT(what_the_conditions_do_not_allow_is_412_before_it_is_sent),
        FACT(what_the_conditions_allow_is_kept),
        FACT(what_has_changed_while_the_body_came_is_412),
        FACT(what_gets_too_long_leaves_nothing),
        FACT(a_malformed_body_leaves_nothing),
        FACT(a_body_that_comes_too_slowly_leaves_nothing),
        FACT(a_client_that_goes_leaves_nothing),
        FACT(a_directory_that_nobody_may_write_to_is_a_failure),
        FACT(a_full_disk_is_507),
        FACT(options_that_cannot_be_are_errors),
        FACT(a_large_body_arrives_whole),
#if RV_H2_BUILT
        FACT(a_large_body_arrives_whole_over_http2),
        FACT(a_stream_that_is_reset_leaves_nothing_and_harms_no_other),
        FACT(a_body_that_gets_too_long_is_413_over_http2_too),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
