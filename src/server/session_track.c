/*
 * From requests to sessions and back (session_track.h): which session a request has, how one is begun, gets
 * another name and ends, and what its client is told of that. A name is read and changed with the session's
 * lock held, since another talk may hold the session on another thread.
 */
#include "server/app.h"
#include "server/session_inner.h"

#include <stdio.h>

/* ---- the name in the response -------------------------------------------------------------------------- */

static void copy_name(struct rv_session *session, char *name)
{
    rv_session_lock(session);
    memcpy(name, session->id, RV_SESSION_ID_BYTES);
    rv_session_unlock(session);
    name[RV_SESSION_ID_BYTES] = '\0';
}

/* The app's mount: what others on the host have is their own, be it of the same name. A mount that a browser
   may spell in more than one way is no path to give it. */
static const char *default_path(const struct rv_session_tracker *tracker)
{
    const char *mount = tracker->app->mount;
    if (mount == NULL || *mount == '\0')
        return "/";
    for (const char *c = mount; *c != '\0'; c++)
        if (strchr("/-._~", *c) == NULL && !(*c >= '0' && *c <= '9') &&
            !((*c | 0x20) >= 'a' && (*c | 0x20) <= 'z'))
            return "/";
    return mount;
}

/* The cookie with the session's name, or without one and expired, in the place of what this talk has said
   of it before. */
static rv_error set_cookie(struct rv_talk *talk, const struct rv_session_tracker *tracker,
                           struct rv_session *session)
{
    rv_cookie_options options = tracker->options.cookie;
    char value[RV_SESSION_ID_BYTES + 1] = "";
    if (!rv_session_by_cookie(tracker))
        return 0;
    if (session != NULL) {
        copy_name(session, value);
    } else {
        options.max_age_s = -1;
        options.expires_s = 0;
    }
    options.path = options.path == NULL ? default_path(tracker) : options.path;
    options.same_site = options.same_site == NULL ? "Lax" : options.same_site;
    options.http_only = !tracker->options.cookie_for_scripts;
    options.secure = options.secure || talk->is_tls;
    rv_fields_remove_cookie(talk, tracker->options.name);
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
    if (rv_session_by_cookie(tracker) && talk->response >= RV_RESPONSE_OPEN)
        return RV_ESTATE; /* the head has left without it */
    struct rv_session *session = rv_session_new();
    if (session == NULL)
        return RV_ENOMEM;
    session->changed = true; /* no store has it yet */
    rv_error error = 0;
    if (tracker->memory != NULL)
        error = rv_session_memory_save(tracker->memory, session, talk->arrived_ms);
    if (error == RV_EBUSY)
        talk->sessions_full = true;
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

/* The cookies of a request in turn, or its one path parameter: the next that could be a session's name. A
   browser sends all cookies of a name whose paths match, an app's and that of the app around it. */
static bool next_name(struct rv_talk *talk, const struct rv_session_tracker *tracker, size_t *index,
                      rv_bytes *id)
{
    rv_bytes name;
    if (!rv_session_by_cookie(tracker)) {
        *id = *index == 0 ? rv_path_extension_param(talk, tracker->options.name) : rv_str(NULL);
        return (*index)++ == 0 && rv_session_is_name(*id);
    }
    while (rv_cookie_at(talk, (*index)++, &name, id))
        if (rv_equals(name, tracker->options.name) && rv_session_is_name(*id))
            return true;
    return false;
}

int rv_session_find(rv_talk *talk, void *ctx)
{
    struct rv_session_tracker *tracker = ctx;
    rv_bytes id;
    size_t index = 0;
    if (talk->session_sought)
        return RV_OK; /* a callback has asked for it before */
    talk->session_sought = true;
    while (talk->session == NULL && next_name(talk, tracker, &index, &id)) {
        if (tracker->memory == NULL)
            return rv_session_ask(talk, tracker, id); /* one question is enough */
        talk->session = rv_session_memory_load(tracker->memory, id, talk->arrived_ms);
    }
    return RV_OK;
}

int rv_session_ensure(rv_talk *talk, void *ctx)
{
    return talk->session != NULL ? RV_OK : begin(talk, ctx);
}

/* Callbacks of the app may ask before its before-handlers have run, or where they do not: errors in its
   style, and what resolves. A store that is the program's cannot be waited for there. */
static rv_error seek(struct rv_talk *talk, struct rv_session_tracker *tracker)
{
    rv_bytes id;
    size_t index = 0;
    if (talk->session_sought)
        return 0;
    if (tracker->memory != NULL)
        return rv_session_find(talk, tracker);
    return next_name(talk, tracker, &index, &id) ? RV_ESTATE : 0;
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
    rv_error error = seek(talk, tracker);
    if (error == 0 && talk->session == NULL)
        error = begin(talk, tracker);
    if (error == 0)
        *session = talk->session;
    return error;
}

rv_session *rv_session_found(rv_talk *talk)
{
    struct rv_session_tracker *tracker = talk == NULL ? NULL : tracker_of(talk);
    return tracker != NULL && seek(talk, tracker) == 0 ? talk->session : NULL;
}

bool rv_session_is_new(const rv_talk *talk)
{
    return talk != NULL && talk->session_is_new;
}

/* ---- the name in links ------------------------------------------------------------------------------------- */

/* Do links of this talk carry the session's name? Then `*name` is it. */
static bool is_in_links(struct rv_talk *talk, const char **key, char *name)
{
    const struct rv_session_tracker *tracker = talk == NULL ? NULL : tracker_of(talk);
    if (tracker == NULL || talk->session == NULL || rv_session_by_cookie(tracker))
        return false;
    *key = tracker->options.name;
    copy_name(talk->session, name);
    return true;
}

const char *rv_session_phrase(rv_talk *talk)
{
    const char *key;
    char name[RV_SESSION_ID_BYTES + 1];
    if (!is_in_links(talk, &key, name))
        return "";
    size_t size = strlen(key) + sizeof name + 2;
    char *phrase = rv_alloc(talk, size);
    if (phrase == NULL)
        return "";
    snprintf(phrase, size, ";%s=%s", key, name);
    return phrase;
}

/* Does a reference have a path of its own, on this host? Browsers take a backslash for a slash. */
static bool is_local_path(const char *reference)
{
    size_t first = strcspn(reference, ":/?#");
    if (first == 0 && reference[0] != '/')
        return false; /* a query or a fragment alone, or nothing */
    if (reference[first] == ':')
        return false; /* a scheme */
    return strchr("/\\", reference[0]) == NULL || reference[1] == '\0' ||
           strchr("/\\", reference[1]) == NULL;
}

const char *rv_session_link(rv_talk *talk, const char *reference)
{
    const char *key;
    char name[RV_SESSION_ID_BYTES + 1];
    if (reference == NULL || !is_in_links(talk, &key, name) || !is_local_path(reference))
        return reference;
    size_t path = strcspn(reference, "?#");
    size_t size = strlen(reference) + strlen(key) + sizeof name + 2;
    char *link = rv_alloc(talk, size);
    if (link != NULL)
        snprintf(link, size, "%.*s;%s=%s%s", (int)path, reference, key, name, reference + path);
    return link;
}

/* ---- changing names, ending ---------------------------------------------------------------------------------- */

/* With the session's lock. */
static rv_error rename_in_store(const struct rv_session_tracker *tracker, rv_session *session)
{
    char old[RV_SESSION_ID_BYTES], name[RV_SESSION_ID_BYTES];
    if (!rv_session_make_name(name))
        return RV_EIO;
    if (tracker->memory != NULL)
        return rv_session_memory_rename(tracker->memory, session, name);
    const rv_session_store *store = tracker->options.store;
    memcpy(old, session->id, sizeof old);
    memcpy(session->id, name, sizeof name);
    store->remove(store->ctx, rv_slice(old, sizeof old));
    return 0;
}

rv_error rv_session_renew(rv_talk *talk)
{
    if (talk == NULL)
        return RV_EGONE;
    struct rv_session_tracker *tracker = tracker_of(talk);
    if (tracker == NULL || talk->session == NULL ||
        (rv_session_by_cookie(tracker) && talk->response >= RV_RESPONSE_OPEN))
        return RV_ESTATE;
    rv_session_lock(talk->session);
    rv_error error = rename_in_store(tracker, talk->session);
    rv_session_unlock(talk->session);
    if (error != 0)
        return error;
    talk->session->changed = true;
    return set_cookie(talk, tracker, talk->session);
}

void rv_session_tell_ended(struct rv_session *session, void *tracker_of_it)
{
    const struct rv_session_tracker *tracker = tracker_of_it;
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
    rv_session_lock(session); /* nobody gives it another name meanwhile */
    if (tracker->memory != NULL)
        first = rv_session_memory_remove(tracker->memory, rv_session_id(session)) == 0;
    else
        store->remove(store->ctx, rv_session_id(session));
    rv_session_unlock(session);
    talk->session = NULL;
    talk->session_is_new = false;
    if (first)
        rv_session_tell_ended(session, tracker);
    rv_session_drop(session);
    if (talk->response < RV_RESPONSE_OPEN)
        set_cookie(talk, tracker, NULL);
    return 0;
}

/* ---- keeping ------------------------------------------------------------------------------------------------- */

void rv_session_keep(struct rv_talk *talk)
{
    const struct rv_session_tracker *tracker = tracker_of(talk);
    const rv_session_store *store = tracker->options.store;
    if (tracker->memory != NULL || !atomic_exchange(&talk->session->changed, false))
        return;
    talk->session_is_kept = true;
    store->save(store->ctx, talk->session);
}

void rv_session_leave(struct rv_talk *talk)
{
    const struct rv_session_tracker *tracker = tracker_of(talk);
    rv_session_keep(talk);
    if (tracker->memory == NULL && !talk->session_is_kept) {
        const rv_session_store *store = tracker->options.store;
        store->touch(store->ctx, rv_session_id(talk->session));
    }
    rv_session_drop(talk->session);
    talk->session = NULL;
    talk->session_sought = talk->session_is_new = talk->session_is_kept = false;
}
