/*
 * From requests to sessions and back (session_track.h), and the public functions that need a talk.
 */
#include "server/session_track.h"

#include "http/scan.h"
#include "server/app.h"
#include "server/session_memory.h"

#include <stdio.h>
#include <stdlib.h>

#define TIMEOUT_MS_DEFAULT (15 * 60 * 1000)
#define SESSIONS_MAX_DEFAULT 100000
#define SWEEP_MS_MIN 100
#define SWEEP_MS_MAX 60000
#define NAME_DEFAULT "sid"

struct rv_session_tracker {
    rv_app *app;
    rv_session_options options;       /* its texts are owned */
    struct rv_session_memory *memory; /* owned; NULL: the store is the program's */
};

/* ---- a question to a store ------------------------------------------------------------------------------- */

enum call_state { CALL_ASKED, CALL_ANSWERED, CALL_WAITED_FOR };

/* Whoever comes second - the asker who waits, or the answer - lets the talk go on. */
struct rv_session_call {
    rv_server *server;
    rv_handle handle;
    rv_session *session; /* held */
    rv_error error;
    _Atomic int state; /* enum call_state */
};

/* The session that the store has found is the talk's. */
static int take_answer(struct rv_talk *talk, struct rv_session_call *call)
{
    rv_error error = call->error;
    if (talk == NULL || talk->session != NULL)
        rv_session_drop(call->session);
    else
        talk->session = call->session;
    free(call);
    return error == RV_ENOTFOUND ? RV_OK : error;
}

static int go_on(rv_talk *talk, void *value)
{
    return take_answer(talk, value);
}

void rv_session_answer(rv_session_call *call, rv_error error, rv_session *session)
{
    call->error = error;
    call->session = error == 0 ? session : NULL;
    if (call->session != NULL)
        session->changed = false; /* it is as the store has it */
    if (atomic_exchange(&call->state, CALL_ANSWERED) == CALL_WAITED_FOR &&
        rv_resume(call->server, call->handle, go_on, call) != 0)
        take_answer(NULL, call);
}

static int ask(struct rv_talk *talk, const struct rv_session_tracker *tracker, rv_bytes id)
{
    const rv_session_store *store = tracker->options.store;
    struct rv_session_call *call = calloc(1, sizeof *call);
    if (call == NULL)
        return RV_ENOMEM;
    call->server = rv_server_of(talk);
    call->handle = rv_suspend(talk);
    store->load(store->ctx, id, call);
    if (atomic_exchange(&call->state, CALL_WAITED_FOR) == CALL_ANSWERED)
        return take_answer(talk, call);
    return RV_PENDING;
}

/* ---- the name in the request, and in the response ------------------------------------------------------ */

static bool is_by_cookie(const struct rv_session_tracker *tracker)
{
    return tracker->options.track == RV_SESSION_BY_COOKIE;
}

static rv_bytes name_in_request(struct rv_talk *talk, const struct rv_session_tracker *tracker)
{
    return is_by_cookie(tracker) ? rv_cookie(talk, tracker->options.name)
                                 : rv_path_extension_param(talk, tracker->options.name);
}

/* The cookie with the session's name, or without one and expired. */
static rv_error set_cookie(struct rv_talk *talk, const struct rv_session_tracker *tracker,
                           const struct rv_session *session)
{
    rv_cookie_options options = tracker->options.cookie;
    char value[RV_SESSION_ID_BYTES + 1] = "";
    if (!is_by_cookie(tracker))
        return 0;
    if (session != NULL)
        memcpy(value, session->id, RV_SESSION_ID_BYTES);
    else
        options.max_age_s = -1;
    options.path = options.path == NULL ? "/" : options.path;
    options.same_site = options.same_site == NULL ? "Lax" : options.same_site;
    options.http_only = !tracker->options.cookie_for_scripts;
    options.secure = options.secure || talk->is_tls;
    return rv_set_cookie(talk, tracker->options.name, value, &options);
}

/* ---- beginning ---------------------------------------------------------------------------------------------- */

static struct rv_session_tracker *tracker_of(const rv_talk *talk)
{
    return talk->app == NULL ? NULL : talk->app->sessions;
}

/* A session of the talk's own, and its name on the way to the client. */
static rv_error begin(struct rv_talk *talk, const struct rv_session_tracker *tracker)
{
    if (is_by_cookie(tracker) && talk->response >= RV_RESPONSE_OPEN)
        return RV_ESTATE; /* the head has left without it */
    struct rv_session *session = rv_session_new();
    if (session == NULL)
        return RV_ENOMEM;
    rv_error error = 0;
    if (tracker->memory != NULL)
        error = rv_session_memory_save(tracker->memory, session, talk->arrived_ms);
    if (error == 0)
        error = set_cookie(talk, tracker, session);
    if (error != 0) {
        if (tracker->memory != NULL)
            rv_session_memory_remove(tracker->memory, rv_session_id(session));
        rv_session_drop(session);
        return error;
    }
    talk->session = session;
    talk->session_is_new = true;
    return 0;
}

/* The before-handler. */
static int find(rv_talk *talk, void *ctx)
{
    const struct rv_session_tracker *tracker = ctx;
    rv_bytes id = name_in_request(talk, tracker);
    int result = RV_OK;
    if (rv_session_is_name(id)) {
        if (tracker->memory != NULL)
            talk->session = rv_session_memory_load(tracker->memory, id, talk->arrived_ms);
        else
            result = ask(talk, tracker, id);
    }
    return result;
}

/* The next one: every request has a session. */
static int ensure(rv_talk *talk, void *ctx)
{
    return talk->session != NULL ? RV_OK : begin(talk, ctx);
}

rv_error rv_session_of(rv_talk *talk, rv_session **session)
{
    if (talk == NULL)
        return RV_EGONE;
    struct rv_session_tracker *tracker = tracker_of(talk);
    if (tracker == NULL)
        return RV_ESTATE;
    if (session == NULL)
        return RV_EINVAL;
    rv_error error = talk->session == NULL ? begin(talk, tracker) : 0;
    if (error == 0)
        *session = talk->session;
    return error;
}

rv_session *rv_session_found(const rv_talk *talk)
{
    return talk == NULL ? NULL : talk->session;
}

bool rv_session_is_new(const rv_talk *talk)
{
    return talk != NULL && talk->session_is_new;
}

const char *rv_session_phrase(rv_talk *talk)
{
    struct rv_session_tracker *tracker = talk == NULL ? NULL : tracker_of(talk);
    if (tracker == NULL || talk->session == NULL || is_by_cookie(tracker))
        return "";
    size_t size = strlen(tracker->options.name) + RV_SESSION_ID_BYTES + 3;
    char *phrase = rv_alloc(talk, size);
    if (phrase == NULL)
        return "";
    snprintf(phrase, size, ";%s=%.*s", tracker->options.name, RV_SESSION_ID_BYTES,
             talk->session->id);
    return phrase;
}

/* ---- changing names, ending ---------------------------------------------------------------------------------- */

static rv_error rename_in_store(const struct rv_session_tracker *tracker, rv_session *session)
{
    if (tracker->memory != NULL)
        return rv_session_memory_rename(tracker->memory, session);
    const rv_session_store *store = tracker->options.store;
    store->remove(store->ctx, rv_session_id(session));
    return rv_session_name(session) ? 0 : RV_EIO;
}

rv_error rv_session_renew(rv_talk *talk)
{
    if (talk == NULL)
        return RV_EGONE;
    struct rv_session_tracker *tracker = tracker_of(talk);
    if (tracker == NULL || talk->session == NULL ||
        (is_by_cookie(tracker) && talk->response >= RV_RESPONSE_OPEN))
        return RV_ESTATE;
    rv_error error = rename_in_store(tracker, talk->session);
    if (error != 0)
        return error;
    talk->session->changed = true;
    return set_cookie(talk, tracker, talk->session);
}

static void tell_ended(struct rv_session *session, void *ctx)
{
    const struct rv_session_tracker *tracker = ctx;
    if (tracker->options.on_end != NULL)
        tracker->options.on_end(tracker->app, session, tracker->options.ctx);
}

rv_error rv_session_end(rv_talk *talk)
{
    if (talk == NULL)
        return RV_EGONE;
    struct rv_session_tracker *tracker = tracker_of(talk);
    if (tracker == NULL || talk->session == NULL)
        return RV_ESTATE;
    struct rv_session *session = talk->session;
    const rv_session_store *store = tracker->options.store;
    bool first = true;
    if (tracker->memory != NULL)
        first = rv_session_memory_remove(tracker->memory, rv_session_id(session)) == 0;
    else
        store->remove(store->ctx, rv_session_id(session));
    talk->session = NULL;
    talk->session_is_new = false;
    if (first)
        tell_ended(session, tracker);
    rv_session_drop(session);
    if (talk->response < RV_RESPONSE_OPEN)
        set_cookie(talk, tracker, NULL);
    return 0;
}

void rv_session_leave(struct rv_talk *talk)
{
    const struct rv_session_tracker *tracker = tracker_of(talk);
    struct rv_session *session = talk->session;
    talk->session = NULL;
    if (tracker->memory == NULL) {
        const rv_session_store *store = tracker->options.store;
        if (atomic_exchange(&session->changed, false))
            store->save(store->ctx, session);
        else
            store->touch(store->ctx, rv_session_id(session));
    }
    rv_session_drop(session);
}

/* ---- configuring ----------------------------------------------------------------------------------------------- */

static const char *fault_of(const rv_session_options *options)
{
    const rv_session_store *store = options->store;
    if (options->track != RV_SESSION_BY_COOKIE && options->track != RV_SESSION_BY_URI)
        return "track must be RV_SESSION_BY_COOKIE or RV_SESSION_BY_URI";
    if (options->name != NULL && !rv_is_token(rv_str(options->name)))
        return "name must be a token, such as \"sid\"";
    if (store != NULL && (store->load == NULL || store->save == NULL || store->remove == NULL ||
                          store->touch == NULL || store->sweep == NULL))
        return "store must have all of its five functions";
    return NULL;
}

/* A copy of a text, if there is one. False: no memory. */
static bool own(const char **text)
{
    if (*text == NULL)
        return true;
    *text = strdup(*text);
    return *text != NULL;
}

static struct rv_session_tracker *tracker_new(rv_app *app, const rv_session_options *options)
{
    struct rv_session_tracker *tracker = calloc(1, sizeof *tracker);
    if (tracker == NULL)
        return NULL;
    tracker->app = app;
    rv_session_options *mine = &tracker->options;
    *mine = *options;
    mine->name = options->name == NULL ? NAME_DEFAULT : options->name;
    if (mine->timeout_ms == 0)
        mine->timeout_ms = TIMEOUT_MS_DEFAULT;
    if (mine->sessions_max == 0)
        mine->sessions_max = SESSIONS_MAX_DEFAULT;
    bool owned = own(&mine->name);
    owned = own(&mine->cookie.path) && owned;
    owned = own(&mine->cookie.domain) && owned;
    owned = own(&mine->cookie.same_site) && owned;
    if (mine->store == NULL)
        tracker->memory =
            rv_session_memory_new(mine->sessions_max, mine->timeout_ms, tell_ended, tracker);
    if (owned && (mine->store != NULL || tracker->memory != NULL))
        return tracker;
    rv_session_tracker_free(tracker);
    return NULL;
}

void rv_session_tracker_free(struct rv_session_tracker *tracker)
{
    if (tracker == NULL)
        return;
    rv_session_memory_free(tracker->memory);
    free((char *)tracker->options.name);
    free((char *)tracker->options.cookie.path);
    free((char *)tracker->options.cookie.domain);
    free((char *)tracker->options.cookie.same_site);
    free(tracker);
}

rv_error rv_sessions(rv_app *app, const rv_session_options *options)
{
    static const rv_session_options defaults;
    if (app == NULL)
        return RV_EINVAL;
    if (atomic_load(&app->server->phase) != RV_SERVER_IDLE || app->sessions != NULL)
        return RV_ESTATE;
    if (options == NULL)
        options = &defaults;
    const char *fault = fault_of(options);
    if (fault != NULL)
        return rv_server_misconfigured(app->server, RV_EINVAL, "sessions: %s", fault);
    app->sessions = tracker_new(app, options);
    if (app->sessions == NULL)
        return rv_server_misconfigured(app->server, RV_ENOMEM, "out of memory");
    rv_error error = options->always ? rv_app_add_first(app, ensure, app->sessions) : 0;
    return error == 0 ? rv_app_add_first(app, find, app->sessions) : error;
}

/* ---- expiry ------------------------------------------------------------------------------------------------------- */

static uint64_t sweep(const rv_app *app, uint64_t now_ms)
{
    const struct rv_session_tracker *tracker = app->sessions;
    if (tracker == NULL)
        return UINT64_MAX;
    const rv_session_store *store = tracker->options.store;
    if (tracker->memory != NULL)
        rv_session_memory_sweep(tracker->memory, now_ms);
    else
        store->sweep(store->ctx);
    uint64_t period_ms = tracker->options.timeout_ms / 4;
    return period_ms < SWEEP_MS_MIN   ? SWEEP_MS_MIN
           : period_ms > SWEEP_MS_MAX ? SWEEP_MS_MAX
                                      : period_ms;
}

uint64_t rv_sessions_sweep(rv_server *server, uint64_t now_ms)
{
    uint64_t next_ms = sweep(&server->app, now_ms);
    for (size_t i = 0; i < server->app_count; i++) {
        uint64_t period_ms = sweep(server->apps[i], now_ms);
        if (period_ms < next_ms)
            next_ms = period_ms;
    }
    return next_ms;
}
