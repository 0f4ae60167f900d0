/*
 * Telling the program (tell.h).
 */
#include "server/tell.h"

static void tell_bad_input(const struct rv_server *server, int status, const char *doing,
                           const char *peer, const char *detail)
{
    const rv_hooks *hooks = &server->options.hooks;
    hooks->on_bad_input((rv_server *)server, status, doing, peer, detail, hooks->ctx);
}

/* A pool thread leaves the connection alone: its address was written down before. */
static void peer_of(const struct rv_talk *talk, char text[RV_ADDRESS_TEXT_MAX])
{
    text[0] = '\0';
    if (talk->peer.len > 0 && talk->peer.len < RV_ADDRESS_TEXT_MAX)
        *rv_put(text, talk->peer) = '\0';
    else if (talk->conn != NULL && !talk->on_pool)
        rv_conn_peer_text(talk->conn, text);
}

void rv_tell_failure(const struct rv_talk *talk, rv_error error, const char *doing,
                     const char *detail)
{
    char peer[RV_ADDRESS_TEXT_MAX];
    peer_of(talk, peer);
    rv_server_report(talk->worker->server, error, doing, peer, detail);
}

void rv_tell_bad_input(const struct rv_talk *talk, int status, const char *doing,
                       const char *detail)
{
    char peer[RV_ADDRESS_TEXT_MAX];
    if (!rv_hears_of_bad_input(talk))
        return;
    peer_of(talk, peer);
    tell_bad_input(talk->worker->server, status, doing, peer, detail);
}

void rv_tell_bad_client(const struct rv_conn *conn, int status, const char *doing,
                        const char *detail)
{
    const struct rv_server *server = rv_conn_worker(conn)->server;
    char peer[RV_ADDRESS_TEXT_MAX];
    if (server->options.hooks.on_bad_input == NULL)
        return;
    rv_conn_peer_text(conn, peer);
    tell_bad_input(server, status, doing, peer, detail);
}

int rv_refuse_bad_input(struct rv_talk *talk, int status, const char *doing, const char *detail)
{
    rv_tell_bad_input(talk, status, doing, detail);
    return rv_problem(talk, status, detail);
}
