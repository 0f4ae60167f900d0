/*
 * Sessions and their values (session.h), and the public functions that read and write them. A session has
 * a handful of values: a list that is searched from its front is the fastest map of that size, and the
 * smallest.
 */
#include "server/session.h"

#include <stdlib.h>
#include <sys/random.h>

/* ---- names ------------------------------------------------------------------------------------------- */

static const char name_alphabet[32] = "abcdefghijklmnopqrstuvwxyz234567";

bool rv_session_make_name(char name[static RV_SESSION_ID_BYTES])
{
    unsigned char random[RV_SESSION_ID_BYTES];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return false;
    for (size_t i = 0; i < RV_SESSION_ID_BYTES; i++)
        name[i] = name_alphabet[random[i] % 32];
    return true;
}

bool rv_session_is_name(rv_bytes id)
{
    if (id.len != RV_SESSION_ID_BYTES)
        return false;
    for (size_t i = 0; i < id.len; i++)
        if (!((id.ptr[i] >= 'a' && id.ptr[i] <= 'z') || (id.ptr[i] >= '2' && id.ptr[i] <= '7')))
            return false;
    return true;
}

/* ---- life -------------------------------------------------------------------------------------------- */

struct rv_session *rv_session_new(void)
{
    struct rv_session *session = calloc(1, sizeof *session);
    if (session == NULL || !rv_session_make_name(session->id)) {
        free(session);
        return NULL;
    }
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&session->mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
    session->holders = 1;
    return session;
}

struct rv_session *rv_session_hold(struct rv_session *session)
{
    atomic_fetch_add_explicit(&session->holders, 1, memory_order_relaxed);
    return session;
}

static void value_free(struct rv_session_value *value)
{
    if (value->kind == RV_SESSION_POINTER && value->destroy != NULL)
        value->destroy(value->pointer);
    free(value);
}

static void values_free(struct rv_session_value *value)
{
    while (value != NULL) {
        struct rv_session_value *next = value->next;
        value_free(value);
        value = next;
    }
}

void rv_session_drop(struct rv_session *session)
{
    if (session == NULL || atomic_fetch_sub(&session->holders, 1) != 1)
        return;
    values_free(session->values);
    pthread_mutex_destroy(&session->mutex);
    free(session);
}

/* ---- values ------------------------------------------------------------------------------------------ */

static struct rv_session_value **find(struct rv_session *session, const char *key)
{
    struct rv_session_value **place = &session->values;
    while (*place != NULL && strcmp((*place)->key, key) != 0)
        place = &(*place)->next;
    return place;
}

static char *octets_of(struct rv_session_value *value)
{
    return value->key + strlen(value->key) + 1;
}

static struct rv_session_value *value_new(const char *key, enum rv_session_kind kind, size_t extra)
{
    size_t key_bytes = strlen(key) + 1;
    struct rv_session_value *value = malloc(sizeof *value + key_bytes + extra);
    if (value == NULL)
        return NULL;
    value->next = NULL;
    value->kind = (uint8_t)kind;
    memcpy(value->key, key, key_bytes);
    return value;
}

/* Puts it in the place of one with the same key. What that was is destroyed outside of the lock, so that
   its destroy function may use the session. */
static rv_error put(struct rv_session *session, struct rv_session_value *value)
{
    if (value == NULL)
        return RV_ENOMEM;
    pthread_mutex_lock(&session->mutex);
    struct rv_session_value **place = find(session, value->key), *old = *place;
    value->next = old == NULL ? NULL : old->next;
    *place = value;
    session->changed = true;
    pthread_mutex_unlock(&session->mutex);
    if (old != NULL)
        value_free(old);
    return 0;
}

static bool is_usable(const struct rv_session *session, const char *key)
{
    return session != NULL && key != NULL && *key != '\0';
}

rv_error rv_session_set_string(rv_session *session, const char *key, rv_bytes string)
{
    if (!is_usable(session, key) || string.ptr == NULL)
        return RV_EINVAL;
    struct rv_session_value *value = value_new(key, RV_SESSION_STRING, string.len);
    if (value != NULL) {
        value->length = string.len;
        if (string.len > 0)
            memcpy(octets_of(value), string.ptr, string.len);
    }
    return put(session, value);
}

static rv_error set_integer(struct rv_session *session, const char *key, enum rv_session_kind kind,
                            int64_t integer)
{
    if (!is_usable(session, key))
        return RV_EINVAL;
    struct rv_session_value *value = value_new(key, kind, 0);
    if (value != NULL)
        value->integer = integer;
    return put(session, value);
}

rv_error rv_session_set_int(rv_session *session, const char *key, int64_t value)
{
    return set_integer(session, key, RV_SESSION_INT, value);
}

rv_error rv_session_set_bool(rv_session *session, const char *key, bool value)
{
    return set_integer(session, key, RV_SESSION_BOOL, value);
}

rv_error rv_session_set_time(rv_session *session, const char *key, int64_t seconds)
{
    return set_integer(session, key, RV_SESSION_TIME, seconds);
}

rv_error rv_session_set_double(rv_session *session, const char *key, double number)
{
    if (!is_usable(session, key))
        return RV_EINVAL;
    struct rv_session_value *value = value_new(key, RV_SESSION_DOUBLE, 0);
    if (value != NULL)
        value->number = number;
    return put(session, value);
}

rv_error rv_session_set_pointer(rv_session *session, const char *key, void *pointer,
                                void (*destroy)(void *pointer))
{
    if (!is_usable(session, key))
        return RV_EINVAL;
    struct rv_session_value *value = value_new(key, RV_SESSION_POINTER, 0);
    if (value != NULL) {
        value->pointer = pointer;
        value->destroy = destroy;
    }
    return put(session, value);
}

/* The value of that key and kind; NULL and why there is none. The lock is held when there is one. */
static struct rv_session_value *lock_value(struct rv_session *session, const char *key,
                                           enum rv_session_kind kind, rv_error *error)
{
    *error = RV_EINVAL;
    if (!is_usable(session, key))
        return NULL;
    pthread_mutex_lock(&session->mutex);
    struct rv_session_value *value = *find(session, key);
    *error = value == NULL ? RV_ENOTFOUND : value->kind == kind ? 0 : RV_EINVAL;
    if (*error == 0)
        return value;
    pthread_mutex_unlock(&session->mutex);
    return NULL;
}

static rv_error get_integer(struct rv_session *session, const char *key, enum rv_session_kind kind,
                            int64_t *integer)
{
    rv_error error;
    struct rv_session_value *value = lock_value(session, key, kind, &error);
    if (value != NULL) {
        *integer = value->integer;
        pthread_mutex_unlock(&session->mutex);
    }
    return error;
}

rv_error rv_session_get_int(rv_session *session, const char *key, int64_t *value)
{
    return get_integer(session, key, RV_SESSION_INT, value);
}

rv_error rv_session_get_time(rv_session *session, const char *key, int64_t *seconds)
{
    return get_integer(session, key, RV_SESSION_TIME, seconds);
}

rv_error rv_session_get_bool(rv_session *session, const char *key, bool *value)
{
    int64_t integer = 0;
    rv_error error = get_integer(session, key, RV_SESSION_BOOL, &integer);
    if (error == 0)
        *value = integer != 0;
    return error;
}

rv_error rv_session_get_double(rv_session *session, const char *key, double *number)
{
    rv_error error;
    struct rv_session_value *value = lock_value(session, key, RV_SESSION_DOUBLE, &error);
    if (value != NULL) {
        *number = value->number;
        pthread_mutex_unlock(&session->mutex);
    }
    return error;
}

rv_error rv_session_get_pointer(rv_session *session, const char *key, void **pointer)
{
    rv_error error;
    struct rv_session_value *value = lock_value(session, key, RV_SESSION_POINTER, &error);
    if (value != NULL) {
        *pointer = value->pointer;
        pthread_mutex_unlock(&session->mutex);
    }
    return error;
}

rv_error rv_session_get_string(rv_talk *talk, rv_session *session, const char *key,
                               rv_bytes *string)
{
    rv_error error;
    struct rv_session_value *value = lock_value(session, key, RV_SESSION_STRING, &error);
    if (value == NULL)
        return error;
    rv_bytes octets = rv_slice(octets_of(value), (size_t)value->length);
    char *copy = rv_copy(talk, octets);
    if (copy != NULL)
        *string = rv_slice(copy, octets.len);
    pthread_mutex_unlock(&session->mutex);
    return copy == NULL ? RV_ENOMEM : 0;
}

rv_error rv_session_add_int(rv_session *session, const char *key, int64_t delta, int64_t *sum)
{
    if (!is_usable(session, key))
        return RV_EINVAL;
    pthread_mutex_lock(&session->mutex);
    struct rv_session_value **place = find(session, key);
    rv_error error = 0;
    if (*place == NULL) {
        *place = value_new(key, RV_SESSION_INT, 0);
        if (*place != NULL)
            (*place)->integer = 0;
        else
            error = RV_ENOMEM;
    }
    int64_t result = 0;
    if (error == 0 && (*place)->kind != RV_SESSION_INT)
        error = RV_EINVAL;
    else if (error == 0 && __builtin_add_overflow((*place)->integer, delta, &result))
        error = RV_ELIMIT;
    if (error == 0) {
        (*place)->integer = result;
        session->changed = true;
        if (sum != NULL)
            *sum = result;
    }
    pthread_mutex_unlock(&session->mutex);
    return error;
}

/* ---- all of them ---------------------------------------------------------------------------------------- */

rv_error rv_session_remove(rv_session *session, const char *key)
{
    if (!is_usable(session, key))
        return RV_EINVAL;
    pthread_mutex_lock(&session->mutex);
    struct rv_session_value **place = find(session, key), *value = *place;
    if (value != NULL) {
        *place = value->next;
        session->changed = true;
    }
    pthread_mutex_unlock(&session->mutex);
    if (value == NULL)
        return RV_ENOTFOUND;
    value_free(value);
    return 0;
}

static bool is_among(const char *key, const char *const *keys)
{
    for (; keys != NULL && *keys != NULL; keys++)
        if (strcmp(key, *keys) == 0)
            return true;
    return false;
}

void rv_session_clear(rv_session *session, const char *const *keep)
{
    if (session == NULL)
        return;
    struct rv_session_value *removed = NULL;
    pthread_mutex_lock(&session->mutex);
    struct rv_session_value **place = &session->values;
    while (*place != NULL) {
        struct rv_session_value *value = *place;
        if (is_among(value->key, keep)) {
            place = &value->next;
            continue;
        }
        *place = value->next;
        value->next = removed;
        removed = value;
        session->changed = true;
    }
    pthread_mutex_unlock(&session->mutex);
    values_free(removed);
}

size_t rv_session_count(rv_session *session)
{
    size_t count = 0;
    if (session == NULL)
        return 0;
    pthread_mutex_lock(&session->mutex);
    for (const struct rv_session_value *value = session->values; value != NULL; value = value->next)
        count++;
    pthread_mutex_unlock(&session->mutex);
    return count;
}

void rv_session_each(rv_session *session, bool (*visit)(const char *key, void *ctx), void *ctx)
{
    if (session == NULL || visit == NULL)
        return;
    pthread_mutex_lock(&session->mutex);
    const struct rv_session_value *value = session->values;
    while (value != NULL && visit(value->key, ctx))
        value = value->next;
    pthread_mutex_unlock(&session->mutex);
}

void rv_session_lock(rv_session *session)
{
    if (session != NULL)
        pthread_mutex_lock(&session->mutex);
}

void rv_session_unlock(rv_session *session)
{
    if (session != NULL)
        pthread_mutex_unlock(&session->mutex);
}

/* For stores that keep sessions elsewhere: an empty one of that name. */
rv_session *rv_session_restore(rv_bytes id)
{
    struct rv_session *session = rv_session_is_name(id) ? rv_session_new() : NULL;
    if (session != NULL)
        memcpy(session->id, id.ptr, RV_SESSION_ID_BYTES);
    return session;
}

rv_bytes rv_session_id(const rv_session *session)
{
    return session == NULL ? rv_slice(NULL, 0) : rv_slice(session->id, RV_SESSION_ID_BYTES);
}
