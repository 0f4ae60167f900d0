/*
 * Sessions before the start, and the sweeping: options are checked and copied, an app's tracker is made and
 * freed.
 */
#include "http/cookie.h"
#include "http/scan.h"
#include "server/app.h"
#include "server/session_inner.h"

#include <stdlib.h>

#define TIMEOUT_MS_DEFAULT (15 * 60 * 1000)
#define SESSIONS_MAX_DEFAULT 100000
#define SWEEP_MS_MIN 100
#define SWEEP_MS_MAX 60000
#define NAME_DEFAULT "sid"

/* A cookie that no browser would keep, or that could not be sent, is better known now than at the first
   session. Over TLS it is secure whatever the options say. */
static const char *cookie_fault_of(const rv_session_options *options)
{
    static const char *const same_sites[] = {"Lax", "Strict", "None"};
    const rv_cookie_options *asked = &options->cookie;
    rv_bytes same_site = rv_str(asked->same_site == NULL ? "Lax" : asked->same_site);
    size_t i = 0;
    while (i < 3 && !rv_equals(same_site, same_sites[i]))
        i++;
    if (i == 3)
        return "cookie.same_site must be \"Lax\", \"Strict\" or \"None\"";
    if (asked->max_age_s < 0)
        return "cookie.max_age_s is negative: the cookie would be gone at once";
    const struct rv_set_cookie cookie = {
        .name = rv_str(options->name == NULL ? NAME_DEFAULT : options->name),
        .value = RV_LIT("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
        .path = rv_str(asked->path == NULL ? "/" : asked->path),
        .domain = rv_str(asked->domain),
        .secure = asked->secure,
        .partitioned = asked->partitioned,
        .same_site = i == 2 ? RV_SAME_SITE_NONE : RV_SAME_SITE_LAX,
    };
    enum rv_cookie_fault fault = rv_set_cookie_check(&cookie);
    return fault == RV_COOKIE_GOOD ? NULL : rv_cookie_fault_text(fault);
}

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
    return cookie_fault_of(options);
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
    pthread_mutex_init(&tracker->calls_mutex, NULL);
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
        tracker->memory = rv_session_memory_new(mine->sessions_max, mine->timeout_ms,
                                                rv_session_tell_ended, tracker);
    if (owned && (mine->store != NULL || tracker->memory != NULL))
        return tracker;
    rv_session_tracker_free(tracker);
    return NULL;
}

void rv_session_tracker_free(struct rv_session_tracker *tracker)
{
    if (tracker == NULL)
        return;
    rv_session_calls_free(tracker);
    pthread_mutex_destroy(&tracker->calls_mutex);
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
    rv_error error = options->always ? rv_app_add_first(app, rv_session_ensure, app->sessions) : 0;
    return error == 0 ? rv_app_add_first(app, rv_session_find, app->sessions) : error;
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
