/*
 * TLS: a certificate, an address that speaks it, and what a handler sees of it.
 *
 *     tls 127.0.0.1:8443 site.crt site.key       or, for a look: tls 127.0.0.1:8443
 *     curl --insecure https://127.0.0.1:8443/whoami
 */
#include <rivulet.h>
#include <stdio.h>

static int whoami(rv_talk *talk, void *ctx)
{
    char text[512];
    const rv_tls_info *tls = rv_tls(talk);
    (void)ctx;
    if (tls == NULL)
        return rv_text(talk, 200, "in the clear\n");
    snprintf(text, sizeof text, "%s, %s\n", tls->version,
             tls->client_subject == NULL ? "somebody" : tls->client_subject);
    return rv_text(talk, 200, text);
}

int main(int argc, char **argv)
{
    rv_server *server = rv_server_new(NULL);
    if (server == NULL)
        return 1;
    rv_listen_tls(server, argc > 1 ? argv[1] : "127.0.0.1:8443");
    if (argc > 3)
        rv_tls_certificate(server, argv[2], argv[3], NULL);
    else
        rv_tls_self_signed(server, NULL);
    rv_route(rv_default_app(server), "GET /whoami", whoami, NULL);
    rv_error error = rv_server_run(server);
    if (error != 0)
        fprintf(stderr, "%s\n", rv_server_error_text(server));
    rv_server_free(server);
    return error == 0 ? 0 : 1;
}
