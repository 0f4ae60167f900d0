/*
 * Keeps files: PUT writes one to a directory while it arrives, GET gives it back.
 *
 *     examples/store [ADDRESS [DIRECTORY]]    then: curl -T FILE http://127.0.0.1:8080/
 */
#include <inttypes.h>
#include <rivulet.h>
#include <stdio.h>

static int kept(rv_talk *talk, const rv_uploaded *file, size_t count, void *ctx)
{
    char text[320];
    (void)count, (void)ctx;
    snprintf(text, sizeof text, "%s: %" PRIu64 " octets\n", file->file, file->bytes);
    return rv_text(talk, file->replaced ? 200 : 201, text);
}

static int put(rv_talk *talk, void *directory)
{
    rv_upload_options options = {
        .directory = directory, .done = kept, .replace = true, .file_bytes_max = 1ull << 30};
    return rv_upload_body(talk, rv_param(talk, "name"), &options, NULL);
}

int main(int argc, char **argv)
{
    const char *address = argc > 1 ? argv[1] : "127.0.0.1:8080";
    char *directory = argc > 2 ? argv[2] : ".";
    rv_server *server = rv_server_new(&(rv_server_options){.listen = address});
    rv_app *app = rv_default_app(server);
    rv_route_with(app, "PUT /{name}", put, directory,
                  &(rv_route_options){.body = RV_BODY_STREAMED});
    rv_error error = rv_files(app, "/", directory, &(rv_files_options){.revalidate_ms = 1});
    if (error == 0)
        error = rv_server_run(server);
    if (error != 0)
        fprintf(stderr, "%s\n", rv_server_error_text(server));
    rv_server_free(server);
    return error == 0 ? 0 : 1;
}
