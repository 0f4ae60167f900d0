/*
 * The handlers of app.h. Each is the shortest program that uses one thing of rivulet.h; what the
 * library calls, and when, is checked by their jobs.
 */
#include "fuzz/support/app.h"

#include "fuzz/support/conversation.h"
#include "fuzz/support/disk.h"
#include "fuzz/support/forms.h"
#include "fuzz/support/jobs.h"
#include "fuzz/support/label.h"
#include "fuzz/support/memory.h"
#include "fuzz/support/require.h"
#include "fuzz/support/verbs.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CONTENT_MAX = 70000, FILE_BYTES = 50, BIG_FILE_BYTES = 100000 };

const struct rv_h1_limits fuzz_app_limits = {
    .target_bytes_max = FUZZ_TARGET_MAX, .head_bytes_max = 2048, .head_fields_max = 16};

/* ---- what every handler needs ---------------------------------------------------------------- */

/* A number of the query. */
static uint64_t number(rv_talk *talk, const char *name, int64_t otherwise, int64_t most)
{
    int64_t value = otherwise;
    rv_param_int(talk, name, 0, most, &value);
    return (uint64_t)value;
}

/* None that would need a field of its own (RFC 9110 sections 14.4 and 15.5.6). */
static int status_of(rv_talk *talk)
{
    int status = (int)number(talk, "status", 200, 999);
    return status < 200 || status == 206 || status == 405 || status == 416 ? 200 : status;
}

static void label(rv_talk *talk, const char *content, uint64_t length)
{
    fuzz_label(talk, content, length);
    if (number(talk, "close", 0, 1) == 1)
        REQUIRE(rv_set_header(talk, "Connection", "close") == RV_OK);
}

/* ---- whole answers --------------------------------------------------------------------------- */

static int whole(rv_talk *talk, struct fuzz_job *job)
{
    size_t length = number(talk, "n", 10, CONTENT_MAX);
    label(talk, "pattern", length);
    return fuzz_job_answered(
        job, rv_reply(talk, status_of(talk), "text/plain", (rv_bytes){fuzz_pattern, length}));
}

static int borrowed(rv_talk *talk, struct fuzz_job *job)
{
    size_t length = number(talk, "n", 20000, CONTENT_MAX);
    rv_bytes lent = fuzz_lend((rv_bytes){fuzz_pattern, length});
    label(talk, "pattern", length);
    return fuzz_job_answered(job, rv_reply_borrowed(talk, status_of(talk), "text/plain", lent,
                                                    fuzz_release, (void *)lent.ptr));
}

static int twice(rv_talk *talk, struct fuzz_job *job)
{
    int result = whole(talk, job);
    REQUIRE(rv_text(talk, 200, "again") == RV_ESTATE);
    REQUIRE(rv_begin(talk, 200) == RV_ESTATE);
    REQUIRE(rv_set_header(talk, "X-Late", "1") == RV_ESTATE);
    return result;
}

static int nothing(rv_talk *talk, struct fuzz_job *job)
{
    (void)talk, (void)job;
    return RV_OK;
}

static int fields(rv_talk *talk, struct fuzz_job *job)
{
    char value[2001];
    memset(value, 'v', sizeof value - 1);
    value[sizeof value - 1] = '\0';
    for (uint64_t i = number(talk, "n", 3, 20); i > 0; i--)
        fuzz_succeeds(rv_add_header(talk, "X-Large", value));
    REQUIRE(rv_set_header(talk, "X-Bad", "a\r\nb") == RV_EINVAL);
    if (number(talk, "own", 0, 1) == 1) {
        fuzz_succeeds(rv_set_header(talk, "Date", "Fri, 13 Feb 2009 23:31:30 GMT"));
        fuzz_succeeds(rv_add_header(talk, "Content-Type", "text/x"));
        fuzz_succeeds(rv_add_header(talk, "Content-Type", "text/y"));
        REQUIRE(rv_set_header(talk, "Transfer-Encoding", "chunked") == RV_EINVAL);
    }
    return whole(talk, job);
}

static int redirect(rv_talk *talk, struct fuzz_job *job)
{
    char to[FUZZ_TARGET_MAX + 1] = "/";
    rv_bytes wanted = rv_param(talk, "to");
    if (wanted.len > 0)
        memcpy(to, wanted.ptr, wanted.len), to[wanted.len] = '\0';
    label(talk, "any", 0);
    int result = rv_redirect(talk, 302, to);
    if (result == RV_EINVAL) /* an octet that no field may hold */
        result = rv_redirect(talk, 302, "/");
    return fuzz_job_answered(job, result);
}

static int problem(rv_talk *talk, struct fuzz_job *job)
{
    label(talk, "any", 0);
    return fuzz_job_answered(job, rv_problem(talk, status_of(talk), "by design"));
}

/* ---- what was asked -------------------------------------------------------------------------- */

/* Reads every octet, so that a sanitizer sees one that is not there. */
static void look_at(rv_bytes octets)
{
    static volatile char seen;
    for (size_t i = 0; i < octets.len; i++)
        seen = octets.ptr[i];
    (void)seen;
}

static int param(rv_talk *talk, struct fuzz_job *job)
{
    look_at(rv_param(talk, "name"));
    look_at(rv_path(talk));
    look_at(rv_query(talk));
    look_at(rv_host(talk));
    look_at(rv_method(talk));
    label(talk, "any", 0);
    return fuzz_job_answered(job, rv_reply(talk, 200, "text/plain", rv_param(talk, "rest")));
}

static int cookies(rv_talk *talk, struct fuzz_job *job)
{
    rv_bytes name, value;
    for (size_t i = 0; rv_cookie_at(talk, i, &name, &value); i++)
        look_at(name), look_at(value);
    for (size_t i = 0; rv_header_at(talk, i, &name, &value); i++)
        look_at(name), look_at(value);
    look_at(rv_peer(talk));
    label(talk, "any", 0);
    fuzz_succeeds(rv_set_cookie(talk, "a", "b", NULL));
    return fuzz_job_answered(job, rv_reply(talk, 200, "text/plain", rv_cookie(talk, "a")));
}

/* ---- files ----------------------------------------------------------------------------------- */

static char file_path[64], big_file_path[64];
static int big_file_descriptor;
static uint64_t big_file_bytes;

/* A file without a place in the file system; its time is fixed, and with it the validators. */
static int make_file(char path[64], size_t length)
{
    struct timespec times[2] = {{1234567890, 0}, {1234567890, 0}};
    int file = memfd_create("rivulet", MFD_CLOEXEC);
    REQUIRE(file >= 0);
    REQUIRE(write(file, fuzz_pattern, length) == (ssize_t)length);
    REQUIRE(futimens(file, times) == 0);
    snprintf(path, 64, "/proc/self/fd/%d", file);
    return file;
}

static void restore_big_file(void)
{
    if (big_file_bytes == BIG_FILE_BYTES)
        return;
    big_file_bytes = BIG_FILE_BYTES;
    REQUIRE(pwrite(big_file_descriptor, fuzz_pattern, BIG_FILE_BYTES, 0) == BIG_FILE_BYTES);
}

static int file_of(rv_talk *talk, struct fuzz_job *job, const char *path, uint64_t length)
{
    bool partial = rv_header(talk, "Range").ptr != NULL ||
                   rv_header(talk, "If-Match").ptr != NULL ||
                   rv_header(talk, "If-Unmodified-Since").ptr != NULL;
    label(talk, partial ? "any" : "pattern", length);
    return fuzz_job_answered(job, rv_file(talk, path, NULL));
}

static int file(rv_talk *talk, struct fuzz_job *job)
{
    return file_of(talk, job, file_path, FILE_BYTES);
}

static int big_file(rv_talk *talk, struct fuzz_job *job)
{
    return file_of(talk, job, big_file_path, big_file_bytes);
}

/* Whoever is being sent more than that of the big file will not get it. */
static int shrink(rv_talk *talk, struct fuzz_job *job)
{
    uint64_t length = number(talk, "n", 20000, BIG_FILE_BYTES);
    if (length < big_file_bytes) {
        REQUIRE(ftruncate(big_file_descriptor, (off_t)length) == 0);
        big_file_bytes = length;
        fuzz_jobs_fail();
    }
    return whole(talk, job);
}

static int no_file(rv_talk *talk, struct fuzz_job *job)
{
    return file_of(talk, job, "/proc/self/fd/no", 0);
}

/* ---- bodies out, streamed -------------------------------------------------------------------- */

static int write_on(rv_talk *talk, struct fuzz_job *job);

static int write_piece(rv_talk *talk, struct fuzz_job *job)
{
    uint64_t left = job->total - job->at;
    rv_bytes piece = {fuzz_pattern + job->at, left < job->step ? left : job->step};
    job->at += piece.len;
    if (!job->borrows)
        return rv_write(talk, piece);
    piece = fuzz_lend(piece);
    return rv_write_borrowed(talk, piece, fuzz_release, (void *)piece.ptr);
}

static int write_on(rv_talk *talk, struct fuzz_job *job)
{
    while (job->at < job->total) {
        int result = write_piece(talk, job);
        if (result < 0)
            return result;
        if (job->fail_at > 0 && job->at >= job->fail_at)
            return RV_EIO;
        if (result == RV_FULL && job->at < job->total)
            return fuzz_job_drain(talk, job, write_on);
    }
    return fuzz_job_answered(job, rv_end(talk));
}

static int begin_stream(rv_talk *talk, struct fuzz_job *job)
{
    job->total = number(talk, "n", 30, CONTENT_MAX);
    job->step = number(talk, "k", 10, CONTENT_MAX);
    if (job->step < job->total / 64 + 1)
        job->step = job->total / 64 + 1;
    label(talk, "pattern", job->total);
    fuzz_succeeds(rv_set_header(talk, "Content-Type", "text/plain"));
    return rv_begin(talk, status_of(talk));
}

static int stream(rv_talk *talk, struct fuzz_job *job)
{
    uint64_t length = number(talk, "length", 0, 200);
    job->fail_at = number(talk, "fail", 0, CONTENT_MAX);
    job->borrows = number(talk, "borrow", 0, 1) == 1;
    if (number(talk, "trailer", 0, 1) == 1)
        fuzz_succeeds(rv_set_trailer(talk, "X-Check", "done"));
    int result = begin_stream(talk, job);
    if (length > 0) {
        uint64_t promised = job->total + length < 100 ? 0 : job->total + length - 100;
        fuzz_set_number(talk, "Content-Length", promised);
        fuzz_set_number(talk, "X-Length", promised);
    }
    return result < 0 ? result : write_on(talk, job);
}

static int tick(rv_talk *talk, struct fuzz_job *job)
{
    int result = job->at < job->total ? write_piece(talk, job) : RV_OK;
    if (result < 0)
        return result;
    if (job->at < job->total)
        return fuzz_job_after(talk, job, job->delay_ms, tick);
    return fuzz_job_answered(job, rv_end(talk));
}

static int ticks(rv_talk *talk, struct fuzz_job *job)
{
    job->delay_ms = number(talk, "ms", 5, 100);
    int result = begin_stream(talk, job);
    return result < 0 ? result : tick(talk, job);
}

/* The library ends what was begun. */
static int begin_only(rv_talk *talk, struct fuzz_job *job)
{
    label(talk, "pattern", 0);
    return fuzz_job_answered(job, rv_begin(talk, 200));
}

static int begin_and_fail(rv_talk *talk, struct fuzz_job *job)
{
    int result = begin_stream(talk, job);
    return result < 0 ? result : RV_EBUSY;
}

/* ---- bodies in ------------------------------------------------------------------------------- */

static int body(rv_talk *talk, struct fuzz_job *job)
{
    label(talk, "echo", 0);
    return fuzz_job_answered(job, rv_reply(talk, 200, "text/plain", rv_body(talk)));
}

static int trailer(rv_talk *talk, struct fuzz_job *job)
{
    look_at(rv_body(talk));
    label(talk, "any", 0);
    return fuzz_job_answered(job, rv_reply(talk, 200, "text/plain", rv_trailer(talk, "X-T")));
}

static int resume_body(rv_talk *talk, struct fuzz_job *job)
{
    (void)job;
    rv_error error = rv_body_resume(talk);
    return error != 0 ? error : RV_PENDING;
}

static int echo_piece(rv_talk *talk, struct fuzz_job *job, rv_bytes octets, bool last)
{
    if (!job->is_begun) {
        job->is_begun = true;
        label(talk, "echo", 0);
        fuzz_succeeds(rv_set_header(talk, "Content-Type", "text/plain"));
        if (rv_content_length(talk) >= 0)
            fuzz_set_number(talk, "Content-Length", (uint64_t)rv_content_length(talk));
        REQUIRE(rv_begin(talk, 200) == RV_OK);
    }
    int result = octets.len > 0 ? rv_write(talk, octets) : RV_OK;
    if (result < 0)
        return result;
    if (last)
        return fuzz_job_answered(job, rv_end(talk));
    if (result == RV_FULL)
        fuzz_job_drain(talk, job, resume_body);
    return result;
}

static int echo(rv_talk *talk, struct fuzz_job *job)
{
    return fuzz_job_body(talk, job, echo_piece);
}

static int pause_piece(rv_talk *talk, struct fuzz_job *job, rv_bytes octets, bool last)
{
    look_at(octets);
    if (last)
        return whole(talk, job);
    fuzz_job_after(talk, job, 1, resume_body);
    return RV_FULL;
}

static int pause_body(rv_talk *talk, struct fuzz_job *job)
{
    return fuzz_job_body(talk, job, pause_piece);
}

static int early_piece(rv_talk *talk, struct fuzz_job *job, rv_bytes octets, bool last)
{
    (void)last;
    look_at(octets);
    return whole(talk, job);
}

static int early(rv_talk *talk, struct fuzz_job *job)
{
    return fuzz_job_body(talk, job, early_piece);
}

static int broken_piece(rv_talk *talk, struct fuzz_job *job, rv_bytes octets, bool last)
{
    job->at += octets.len;
    if (!last && job->at < job->fail_at)
        return RV_OK;
    if (number(talk, "answer", 0, 1) == 1) {
        int result = whole(talk, job);
        if (result < 0)
            return result;
    }
    return RV_EPROTO;
}

static int broken(rv_talk *talk, struct fuzz_job *job)
{
    job->fail_at = number(talk, "n", 3, CONTENT_MAX);
    return fuzz_job_body(talk, job, broken_piece);
}

/* ---- later ----------------------------------------------------------------------------------- */

/* The request must be what it was when it came: its name, its target (label), and its body, which
   is echoed when there is one. */
static int kept(rv_talk *talk, struct fuzz_job *job)
{
    rv_bytes name = rv_param(talk, "name");
    REQUIRE(name.len >= job->name_length || fuzz_memory_has_failed());
    REQUIRE(name.len == 0 || memcmp(name.ptr, job->name, job->name_length) == 0);
    return rv_body(talk).len > 0 ? body(talk, job) : whole(talk, job);
}

static void keep_name(rv_talk *talk, struct fuzz_job *job)
{
    rv_bytes name = rv_param(talk, "name");
    job->name_length = name.len < sizeof job->name ? name.len : sizeof job->name;
    if (job->name_length > 0)
        memcpy(job->name, name.ptr, job->name_length);
}

static int later(rv_talk *talk, struct fuzz_job *job)
{
    keep_name(talk, job);
    return fuzz_job_after(talk, job, number(talk, "ms", 10, 1000), kept);
}

static int suspend(rv_talk *talk, struct fuzz_job *job)
{
    keep_name(talk, job);
    return fuzz_job_suspend(talk, job);
}

static int answer(rv_talk *talk, struct fuzz_job *job, unsigned way)
{
    if (job->when_resumed != NULL && way != 3)
        return job->when_resumed(talk, job);
    switch (way % 8) {
    case 0:
        return kept(talk, job);
    case 1:
        return borrowed(talk, job);
    case 2:
        return stream(talk, job);
    case 3:
        return RV_EIO;
    case 4:
        return fuzz_job_suspend(talk, job);
    case 5:
        return later(talk, job);
    case 6:
        if (rv_method(talk).len > 0 && rv_equals(rv_path(talk), "/suspend-body") &&
            job->on_piece == NULL)
            return echo(talk, job);
        return ticks(talk, job);
    default:
        break;
    }
    int result = whole(talk, job);
    if (result == RV_OK)
        fuzz_job_answer_again(rv_server_of(talk), job);
    return result;
}

static int wake(rv_talk *talk, struct fuzz_job *job)
{
    fuzz_jobs_answer(rv_server_of(talk), 0, answer, (unsigned)number(talk, "way", 0, 7));
    return whole(talk, job);
}

/* ---- the table ------------------------------------------------------------------------------- */

static const rv_route_options streamed = {.body = RV_BODY_STREAMED};
static const rv_route_options sized = {.length_required = true};

static struct {
    const char *pattern;
    struct fuzz_route_ctx ctx;
    const rv_route_options *options;
} routes[] = {
    {"GET /whole", {whole}, NULL},
    {"* /borrowed", {borrowed}, NULL},
    {"GET /twice", {twice}, NULL},
    {"GET /nothing", {nothing}, NULL},
    {"GET /fields", {fields}, NULL},
    {"GET /redirect", {redirect}, NULL},
    {"* /problem", {problem}, NULL},
    {"* /param/{name}/{rest...}", {param}, NULL},
    {"GET /cookies", {cookies}, NULL},
    {"GET /file", {file}, NULL},
    {"GET /big-file", {big_file}, NULL},
    {"GET /no-file", {no_file}, NULL},
    {"GET /shrink", {shrink}, NULL},
    {"* /stream", {stream}, NULL},
    {"GET /ticks", {ticks}, NULL},
    {"GET /begin", {begin_only}, NULL},
    {"GET /begin-fail", {begin_and_fail}, NULL},
    {"* /body", {body}, NULL},
    {"* /sized", {body}, &sized},
    {"* /trailer", {trailer}, NULL},
    {"* /echo", {echo}, &streamed},
    {"* /unread", {whole}, &streamed},
    {"* /pause", {pause_body}, &streamed},
    {"* /early", {early}, &streamed},
    {"* /broken", {broken}, &streamed},
    {"* /later", {later}, NULL},
    {"* /suspend", {suspend}, NULL},
    {"* /suspend/{name}", {suspend}, NULL},
    {"* /suspend-body", {suspend}, &streamed},
    {"* /wake", {wake}, NULL},
    {"* /verbs", {fuzz_verbs}, NULL},
    {"* /form", {fuzz_form}, &streamed},
    {"* /to-disk", {fuzz_to_disk}, &streamed},
    {"* /to-file/{name}", {fuzz_to_file}, &streamed},
};

/* What depends on the pieces that a body comes in. */
static struct fuzz_route_ctx verbs_ctx = {fuzz_verbs}, parts_ctx = {fuzz_parts};

static rv_server *make_server(const rv_server_options *options, bool with_pieces)
{
    if (file_path[0] == '\0') {
        fuzz_pattern_make();
        make_file(file_path, FILE_BYTES);
        big_file_descriptor = make_file(big_file_path, BIG_FILE_BYTES);
        big_file_bytes = BIG_FILE_BYTES;
    }
    rv_server *server = rv_server_new(options);
    REQUIRE(server != NULL);
    rv_app *app = rv_default_app(server);
    /* Of the one coding that judges read (conversation.c). */
    const rv_compress_options compress = {
        .bytes_min = 20, .brotli_level = RV_COMPRESS_OFF, .zstd_level = RV_COMPRESS_OFF};
    REQUIRE(rv_app_set(app, &(rv_app_options){.compress = &compress}) == RV_OK);
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++)
        REQUIRE(rv_route_with(app, routes[i].pattern, fuzz_job_run, &routes[i].ctx,
                              routes[i].options) == RV_OK);
    if (with_pieces) {
        REQUIRE(rv_route_with(app, "* /verbs-body", fuzz_job_run, &verbs_ctx, &streamed) == RV_OK);
        REQUIRE(rv_route_with(app, "* /parts", fuzz_job_run, &parts_ctx, &streamed) == RV_OK);
    }
    return server;
}

static const rv_server_options small = {
    .workers = 1,
    .pool_threads = 1, /* for uploads alone, which every call of the test waits for */
    .no_http2 = true,
    .limits = {.target_bytes_max = FUZZ_TARGET_MAX,
               .head_bytes_max = 2048,
               .head_fields_max = 16,
               .body_bytes_max = 4096,
               .output_high_bytes = 8192,
               .output_low_bytes = 2048,
               .requests_per_connection_max = FUZZ_REQUESTS_OF_A_CONNECTION,
               .connections_max = 3},
};

rv_server *fuzz_app_server(bool with_pieces)
{
    return make_server(&small, with_pieces);
}

rv_server *fuzz_app_server_h2(void)
{
    rv_server_options options = small;
    options.no_http2 = false;
    options.limits.h2_streams_max = 8;
    options.limits.h2_stream_window_bytes = 3000;
    options.limits.h2_connection_window_bytes = 65535;
    return make_server(&options, true);
}

void fuzz_app_begin(void)
{
    restore_big_file();
    fuzz_jobs_begin();
}

size_t fuzz_app_suspended(void)
{
    return fuzz_jobs_suspended();
}

bool fuzz_app_is_suspended(rv_handle handle)
{
    return fuzz_jobs_has_suspended(handle);
}

void fuzz_app_answer(rv_server *server, size_t which, unsigned way)
{
    fuzz_jobs_answer(server, which, answer, way);
}

bool fuzz_app_has_failed(void)
{
    return fuzz_jobs_have_failed();
}

void fuzz_app_end(void)
{
    fuzz_disk_end();
    fuzz_jobs_end();
}
