/*
 * Tests its handlers without a port and without waiting, before it serves them.
 *
 *     examples/testing [ADDRESS]   then: curl 'http://127.0.0.1:8080/sum?a=20&b=22'
 */
#include <rivulet.h>
#include <stdio.h>
#include <string.h>

static int sum(rv_talk *talk, void *ctx)
{
    int64_t a, b;
    char text[32];
    (void)ctx;
    if (rv_param_int(talk, "a", -99, 99, &a) != 0 || rv_param_int(talk, "b", -99, 99, &b) != 0)
        return rv_problem(talk, 400, "a and b must be numbers from -99 to 99.");
    snprintf(text, sizeof text, "%d\n", (int)(a + b));
    return rv_text(talk, 200, text);
}

/* What is tested is what is served. */
static rv_server *make(const char *address)
{
    rv_server *server = rv_server_new(&(rv_server_options){.listen = address});
    if (server != NULL)
        rv_route(rv_default_app(server), "GET /sum", sum, NULL);
    return server;
}

static bool answers(rv_test *client, rv_bytes request, const char *status, const char *ending)
{
    rv_test_send(client, request);
    rv_bytes got = rv_test_received(client);
    size_t length = strlen(ending);
    return got.len > 12 + length && memcmp(got.ptr + 9, status, 3) == 0 &&
           memcmp(got.ptr + got.len - length, ending, length) == 0;
}

#define GET(target) RV_LIT("GET " target " HTTP/1.1\r\nHost: example.com\r\n\r\n")

static bool passes(void)
{
    rv_server *server = make(NULL);
    rv_test *client = server == NULL ? NULL : rv_test_new(server);
    bool good = client != NULL && answers(client, GET("/sum?a=20&b=22"), "200", "\r\n\r\n42\n") &&
                answers(client, GET("/sum?a=1&b=x"), "400", "to 99.\n");
    rv_test_free(client);
    rv_server_free(server);
    return good;
}

int main(int argc, char **argv)
{
    rv_server *server = passes() ? make(argc > 1 ? argv[1] : "127.0.0.1:8080") : NULL;
    rv_error error = server == NULL ? RV_ENOMEM : rv_server_run(server);
    rv_server_free(server);
    return error == 0 ? 0 : 1;
}
