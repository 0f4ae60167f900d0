/*
 * The demo application (demo.h), written on the public header alone. Each handler exists once; under
 * /pool/ the same ones run on the pool's threads.
 */
#include "cli/demo.h"

#include "demo_assets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PAGE_BYTES (1024 * 1024)
#define SIZE_MAX_BYTES (10LL * 1024 * 1024 * 1024)
#define SLEEP_MAX_MS 3600000

static char page_of_x[PAGE_BYTES]; /* what /sizer sends, shared by all its clients */
static char static_path[64]; /* of the open, already unlinked file behind /static/index.html */

static int ok(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_reply(talk, 200, "text/plain; charset=UTF-8", RV_LIT("Ok"));
}

static int hello(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_reply(talk, 200, "text/html", RV_LIT("Hello, world\r\n"));
}

/* The page of rv_assets below, for the pool. */
static int index_page(rv_talk *talk, void *ctx)
{
    const rv_asset *page = &demo_assets[0];
    (void)ctx;
    return rv_reply(talk, 200, "text/html; charset=UTF-8", (rv_bytes){page->octets, page->length});
}

static int static_file(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_file(talk, static_path,
                   &(rv_file_options){.content_type = "text/html; charset=UTF-8"});
}

/* ---- /sizer ------------------------------------------------------------------------------------------- */

/* Writes what is left, until the client takes no more; then goes on when it does. */
static int sizer_write(rv_talk *talk, void *ctx)
{
    int64_t *left = ctx;
    while (*left > 0) {
        size_t run = *left < PAGE_BYTES ? (size_t)*left : PAGE_BYTES;
        int result = rv_write_borrowed(talk, (rv_bytes){page_of_x, run}, NULL, NULL);
        if (result < 0)
            return result;
        *left -= (int64_t)run;
        if (result == RV_FULL) {
            rv_error error = rv_on_drain(talk, sizer_write, left);
            return error == 0 ? RV_PENDING : error;
        }
    }
    return rv_end(talk);
}

static int sizer(rv_talk *talk, void *ctx)
{
    int64_t size;
    char length[24];
    (void)ctx;
    rv_error error = rv_param_int(talk, "size", 0, SIZE_MAX_BYTES, &size);
    if (error == RV_ENOTFOUND)
        return rv_problem(talk, 400, "The query must give a size: /sizer?size=1000");
    if (error != 0)
        return rv_problem(talk, 400, "size must be a whole number from 0 to 10737418240.");
    int64_t *left = rv_alloc(talk, sizeof *left);
    if (left == NULL)
        return RV_ENOMEM;
    *left = size;
    snprintf(length, sizeof length, "%lld", (long long)size);
    error = rv_set_header(talk, "Content-Type", "text/plain; charset=UTF-8");
    if (error == 0)
        error = rv_set_header(talk, "Content-Length", length);
    if (error == 0)
        error = rv_begin(talk, 200);
    return error == 0 ? sizer_write(talk, left) : error;
}

/* ---- /sleep ------------------------------------------------------------------------------------------- */

static int slept(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return rv_text(talk, 200, "slept\n");
}

/* The milliseconds asked for; -1: the talk has been answered with a 400. */
static int64_t sleep_ms(rv_talk *talk)
{
    int64_t ms;
    if (rv_param_int(talk, "ms", 0, SLEEP_MAX_MS, &ms) == 0)
        return ms;
    rv_problem(talk, 400, "ms must be a whole number from 0 to 3600000: /sleep?ms=500");
    return -1;
}

static int sleep_deferred(rv_talk *talk, void *ctx)
{
    (void)ctx;
    int64_t ms = sleep_ms(talk);
    if (ms < 0)
        return RV_OK;
    rv_error error = rv_after_ms(talk, (uint64_t)ms, slept, NULL);
    return error == 0 ? RV_PENDING : error;
}

static int sleep_blocking(rv_talk *talk, void *ctx)
{
    int64_t ms = sleep_ms(talk);
    if (ms < 0)
        return RV_OK;
    struct timespec left = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&left, &left) != 0)
        ;
    return slept(talk, ctx);
}

/* ---- /echo -------------------------------------------------------------------------------------------- */

static int echo_resume(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_error error = rv_body_resume(talk);
    return error == 0 ? RV_PENDING : error;
}

static int echo_piece(rv_talk *talk, rv_bytes piece, bool last, void *ctx)
{
    (void)ctx;
    int result = piece.len == 0 ? RV_OK : rv_write(talk, piece);
    if (result < 0)
        return result;
    if (last)
        return rv_end(talk);
    if (result == RV_FULL) {
        rv_error error = rv_on_drain(talk, echo_resume, NULL);
        return error == 0 ? RV_FULL : error;
    }
    return RV_OK;
}

/* The response has the type, and if it has one the length, of the request. */
static rv_error echo_head(rv_talk *talk)
{
    char length[24];
    rv_bytes type = rv_header(talk, "Content-Type");
    const char *text = type.len > 0 ? rv_copy(talk, type) : "application/octet-stream";
    if (text == NULL)
        return RV_ENOMEM;
    rv_error error = rv_set_header(talk, "Content-Type", text);
    if (error == 0 && rv_content_length(talk) >= 0) {
        snprintf(length, sizeof length, "%lld", (long long)rv_content_length(talk));
        error = rv_set_header(talk, "Content-Length", length);
    }
    return error == 0 ? rv_begin(talk, 200) : error;
}

static int echo(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_error error = echo_head(talk);
    if (error == 0)
        error = rv_on_body(talk, echo_piece, NULL);
    return error == 0 ? RV_PENDING : error;
}

static int echo_whole(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_error error = echo_head(talk);
    if (error != 0)
        return error;
    int result = rv_write(talk, rv_body(talk));
    return result < 0 ? result : rv_end(talk);
}

/* ---- putting it together -------------------------------------------------------------------------------- */

/* A real file that leaves nothing behind: unlinked at once, and reached through its descriptor. */
static bool make_static_file(void)
{
    const char *directory = getenv("TMPDIR");
    char path[512];
    snprintf(path, sizeof path, "%s/rivulet-demo-XXXXXX",
             directory == NULL || *directory == '\0' ? "/tmp" : directory);
    int file = mkstemp(path);
    if (file < 0)
        return false;
    unlink(path);
    snprintf(static_path, sizeof static_path, "/proc/self/fd/%d", file);
    return write(file, "Hello, world\r\n", 14) == 14;
}

bool rv_demo_add_routes(rv_app *app)
{
    static const rv_route_options on_pool = {.run = RV_ON_POOL};
    static const rv_route_options streamed = {.body = RV_BODY_STREAMED};
    if (!make_static_file())
        return false;
    memset(page_of_x, 'X', sizeof page_of_x);
    rv_assets(app, "/", demo_assets, demo_assets_count);
    rv_route(app, "GET /ok", ok, NULL);
    rv_route(app, "GET /hello", hello, NULL);
    rv_route(app, "GET /sizer", sizer, NULL);
    rv_route(app, "GET /static/index.html", static_file, NULL);
    rv_route(app, "GET /sleep", sleep_deferred, NULL);
    rv_route_with(app, "* /echo", echo, NULL, &streamed);
    rv_route_with(app, "GET /pool/", index_page, NULL, &on_pool);
    rv_route_with(app, "GET /pool/index.html", index_page, NULL, &on_pool);
    rv_route_with(app, "GET /pool/ok", ok, NULL, &on_pool);
    rv_route_with(app, "GET /pool/hello", hello, NULL, &on_pool);
    rv_route_with(app, "GET /pool/sizer", sizer, NULL, &on_pool);
    rv_route_with(app, "GET /pool/static/index.html", static_file, NULL, &on_pool);
    rv_route_with(app, "GET /pool/sleep", sleep_blocking, NULL, &on_pool);
    rv_route_with(app, "* /pool/echo", echo_whole, NULL, &on_pool);
    return true;
}
