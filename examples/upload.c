/*
 * Takes a body of any length, piece by piece, and says how long it was.
 *
 *     examples/upload [ADDRESS]    then: curl -T FILE http://127.0.0.1:8080/upload
 */
#include <inttypes.h>
#include <rivulet.h>
#include <stdio.h>

static int count(rv_talk *talk, rv_bytes piece, bool last, void *ctx)
{
    uint64_t *octets = ctx;
    char text[40];
    *octets += piece.len; /* or written to a file, hashed, parsed, sent on */
    if (!last)
        return RV_OK;
    snprintf(text, sizeof text, "%" PRIu64 " octets\n", *octets);
    return rv_text(talk, 200, text);
}

static int upload(rv_talk *talk, void *ctx)
{
    (void)ctx;
    uint64_t *octets = rv_alloc(talk, sizeof *octets); /* lives as long as the talk */
    if (octets == NULL)
        return RV_ENOMEM;
    *octets = 0;
    rv_error error = rv_on_body(talk, count, octets);
    return error == 0 ? RV_PENDING : error;
}

int main(int argc, char **argv)
{
    const char *address = argc > 1 ? argv[1] : "127.0.0.1:8080";
    rv_server *server = rv_server_new(&(rv_server_options){.listen = address});
    rv_route_options streamed = {.body = RV_BODY_STREAMED,
                                 .body_bytes_max = 1ull << 40}; /* more than a TiB: 413 */
    if (server == NULL)
        return 1;
    rv_route_with(rv_default_app(server), "PUT /upload", upload, NULL, &streamed);
    rv_route_with(rv_default_app(server), "POST /upload", upload, NULL, &streamed);
    rv_error error = rv_server_run(server);
    if (error != 0)
        fprintf(stderr, "%s\n", rv_server_error_text(server));
    rv_server_free(server);
    return error == 0 ? 0 : 1;
}
