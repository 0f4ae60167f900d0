/*
 * What public conformance suites expect to find on a port:
 *
 *     GET /          "OK"                any method with a body on /   the body back
 *     /headers       the request's fields, one "Name: value" on each line
 *     /cookie        one "name=value" on each line
 *
 *     conformance_target PORT
 */
#include <rivulet.h>
#include <stdio.h>
#include <string.h>

static int root(rv_talk *talk, void *ctx)
{
    rv_bytes body = rv_body(talk), type = rv_header(talk, "Content-Type");
    (void)ctx;
    if (body.len == 0)
        return rv_text(talk, 200, "OK");
    const char *text = type.len > 0 ? rv_copy(talk, type) : "application/octet-stream";
    if (text == NULL)
        return RV_ENOMEM;
    return rv_reply(talk, 200, text, body);
}

/* Lines of a name, a separator and a value, from either of the two walks. */
static int list(rv_talk *talk, const char *separator,
                bool (*at)(rv_talk *talk, size_t index, rv_bytes *name, rv_bytes *value))
{
    rv_bytes name, value;
    size_t size = 1, gap = strlen(separator), length = 0;
    for (size_t i = 0; at(talk, i, &name, &value); i++)
        size += name.len + gap + value.len + 1;
    char *text = rv_alloc(talk, size);
    if (text == NULL)
        return RV_ENOMEM;
    for (size_t i = 0; at(talk, i, &name, &value); i++)
        length += (size_t)sprintf(text + length, "%.*s%s%.*s\n", (int)name.len, name.ptr, separator,
                                  (int)value.len, value.ptr);
    return rv_reply(talk, 200, "text/plain; charset=UTF-8", (rv_bytes){text, length});
}

static bool header_at(rv_talk *talk, size_t index, rv_bytes *name, rv_bytes *value)
{
    return rv_header_at(talk, index, name, value);
}

static int headers(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return list(talk, ": ", header_at);
}

static int cookies(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return list(talk, "=", rv_cookie_at);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: conformance_target PORT\n");
        return 1;
    }
    rv_server *server = rv_server_new(&(rv_server_options){.listen = argv[1]});
    if (server == NULL)
        return 2;
    rv_app *app = rv_default_app(server);
    rv_route(app, "* /", root, NULL);
    rv_route(app, "* /headers", headers, NULL);
    rv_route(app, "* /cookie", cookies, NULL);
    rv_error error = rv_server_run(server);
    if (error != 0)
        fprintf(stderr, "%s\n", rv_server_error_text(server));
    rv_server_free(server);
    return error == 0 ? 0 : 2;
}
