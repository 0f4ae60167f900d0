/*
 * Rooms (room.h): one handler for all of them.
 */
#include "server/room.h"

#include "http/mime.h"
#include "http/negotiate.h"
#include "http/uri.h"
#include "server/server.h"

#include <stdlib.h>

/* What a target asks of a room. */
struct asked {
    char *path; /* plain; without a slash at its end */
    bool slash; /* there was one */
};

/* ---- from the target to a name -------------------------------------------------------------------------- */

bool rv_room_shows(const struct rv_room *room, rv_bytes name)
{
    return room->hidden || name.len == 0 || name.ptr[0] != '.';
}

/* RFC 8615: the one name with a dot that is there to be asked for. */
static bool is_well_known(rv_bytes segment, bool first)
{
    return first && rv_equals(segment, ".well-known");
}

/* One segment, decoded. False: no file has such a name, or it is not shown. */
static bool take_segment(const struct rv_room *room, rv_bytes encoded, bool first, char **out)
{
    rv_bytes name = rv_slice(*out, rv_percent_decode(encoded, false, *out));
    if (name.len == 0 || memchr(name.ptr, '/', name.len) != NULL ||
        memchr(name.ptr, '\0', name.len) != NULL || rv_equals(name, ".") || rv_equals(name, ".."))
        return false;
    *out += name.len;
    return rv_room_shows(room, name) || is_well_known(name, first);
}

/* `rest` is still percent-encoded, so that %2F separates nothing. RV_ENOTFOUND: it can be no name. */
static rv_error read_path(const struct rv_room *room, struct rv_talk *talk, rv_bytes rest,
                          struct asked *asked)
{
    char *out = asked->path = rv_arena_alloc(&talk->arena, rest.len + 1);
    if (out == NULL)
        return RV_ENOMEM;
    bool more = rest.len > 0; /* "/" alone is an empty name before its slash: there is none such */
    asked->slash = !more || rest.ptr[rest.len - 1] == '/';
    if (asked->slash && more)
        rest.len--;
    for (bool first = true; more; first = false) {
        const char *slash = memchr(rest.ptr, '/', rest.len);
        rv_bytes segment =
            rv_slice(rest.ptr, slash != NULL ? (size_t)(slash - rest.ptr) : rest.len);
        more = slash != NULL;
        if (more)
            rest = rv_slice(slash + 1, rest.len - segment.len - 1);
        if (!first)
            *out++ = '/';
        if (!take_segment(room, segment, first, &out))
            return RV_ENOTFOUND;
    }
    *out = '\0';
    return 0;
}

/* ---- the redirect to the slash --------------------------------------------------------------------------- */

/* An absolute path made of what was understood, so that it leads to this host whatever was sent. */
static int redirect_to_slash(struct rv_talk *talk)
{
    rv_bytes path = rv_path(talk), parameters = rv_path_extension(talk), query = rv_query(talk);
    char *location = rv_arena_alloc(&talk->arena, 3 * path.len + parameters.len + query.len + 4);
    if (location == NULL)
        return RV_ENOMEM;
    while (path.len > 1 && path.ptr[1] == '/')
        path = rv_slice(path.ptr + 1, path.len - 1);
    char *out = location + rv_percent_encode_path(path, location);
    out = RV_PUT(out, "/");
    if (parameters.ptr != NULL)
        out = rv_put(RV_PUT(out, ";"), parameters);
    if (query.ptr != NULL)
        out = rv_put(RV_PUT(out, "?"), query);
    *out = '\0';
    return rv_redirect(talk, 301, location);
}

/* ---- codings --------------------------------------------------------------------------------------------- */

struct coded {
    enum rv_coding coding;
    const char *suffix;
    const char *tag; /* in entity tags */
};

/* In our order of preference. */
static const struct coded codings[] = {{RV_CODING_BROTLI, ".br", "-br"},
                                       {RV_CODING_ZSTD, ".zst", "-zstd"},
                                       {RV_CODING_GZIP, ".gz", "-gzip"}};
#define CODINGS (sizeof codings / sizeof *codings)

/* The tag of a coding of a file: the sibling's own, and the coding's name before its last quote. */
static const char *coded_etag(struct rv_talk *talk, const char *etag, const char *tag)
{
    if (etag == NULL)
        return NULL;
    size_t length = strlen(etag);
    char *made = rv_arena_alloc(&talk->arena, length + strlen(tag) + 1);
    if (made == NULL)
        return NULL;
    char *out = rv_put(made, rv_slice(etag, length - 1));
    out = rv_put(out, rv_str(tag));
    memcpy(out, "\"", 2);
    return made;
}

/* The siblings of a file that are there; where they are not, `kind` says so. Returns how many. */
static size_t find_siblings(const struct rv_room *room, struct rv_talk *talk, const char *path,
                            struct rv_resource *siblings, enum rv_coding *ours)
{
    size_t length = strlen(path), count = 0;
    char *name = rv_arena_alloc(&talk->arena, length + sizeof ".zst");
    for (size_t i = 0; i < CODINGS; i++) {
        siblings[i].kind = RV_FILE_MISSING;
        if (name == NULL)
            continue;
        memcpy(name, path, length);
        memcpy(name + length, codings[i].suffix, strlen(codings[i].suffix) + 1);
        if (room->source->find(room, talk, name, &siblings[i]) != 0) {
            siblings[i].kind = RV_FILE_MISSING;
            continue;
        }
        if (siblings[i].kind == RV_FILE_REGULAR)
            ours[count++] = codings[i].coding;
        else
            room->source->drop(&siblings[i]);
    }
    return count;
}

/* Answers with one of them. */
static int answer_as(const struct rv_room *room, struct rv_talk *talk,
                     const struct rv_resource *resource, struct rv_representation *what)
{
    what->modified_s = resource->modified_s;
    rv_error error = room->source->open(resource, &what->content);
    if (error == 0 && room->cache_control != NULL)
        error = rv_set_header(talk, "Cache-Control", room->cache_control);
    return error == 0 ? rv_answer_representation(talk, what) : error;
}

static int answer_file(const struct rv_room *room, struct rv_talk *talk, const char *path,
                       const struct rv_resource *resource)
{
    struct rv_resource siblings[CODINGS];
    enum rv_coding ours[CODINGS];
    const struct rv_resource *chosen = resource;
    struct rv_representation what = {.content_type = resource->content_type != NULL
                                                         ? resource->content_type
                                                         : rv_mime_of(rv_str(path)),
                                     .etag = resource->etag};
    size_t count = room->siblings ? find_siblings(room, talk, path, siblings, ours) : 0;
    enum rv_coding coding = RV_CODING_IDENTITY;
    if (count > 0) {
        what.varies = true;
        coding = rv_negotiate_coding(rv_header_joined(talk, "Accept-Encoding"), ours, count);
    }
    for (size_t i = 0; count > 0 && i < CODINGS; i++)
        if (siblings[i].kind == RV_FILE_REGULAR && codings[i].coding == coding) {
            chosen = &siblings[i];
            what.coding = rv_coding_name(coding);
            what.etag = coded_etag(talk, chosen->etag, codings[i].tag);
        }
    int result = answer_as(room, talk, chosen, &what);
    for (size_t i = 0; count > 0 && i < CODINGS; i++)
        if (siblings[i].kind == RV_FILE_REGULAR)
            room->source->drop(&siblings[i]);
    return result;
}

/* ---- directories ------------------------------------------------------------------------------------------- */

static int answer_directory(const struct rv_room *room, struct rv_talk *talk,
                            const struct asked *asked)
{
    size_t length = strlen(asked->path);
    for (char **index = room->indexes; *index != NULL; index++) {
        struct rv_resource resource;
        char *path = rv_arena_alloc(&talk->arena, length + 1 + strlen(*index) + 1);
        if (path == NULL)
            return RV_ENOMEM;
        char *out = rv_put(path, rv_slice(asked->path, length));
        if (length > 0)
            *out++ = '/';
        memcpy(out, *index, strlen(*index) + 1);
        rv_error error = room->source->find(room, talk, path, &resource);
        if (error != 0)
            return error;
        bool is_file = resource.kind == RV_FILE_REGULAR;
        int result = is_file ? answer_file(room, talk, path, &resource) : 0;
        room->source->drop(&resource);
        if (is_file)
            return result;
    }
    return room->source->list != NULL ? room->source->list(room, talk, asked->path)
                                      : rv_problem(talk, 404, NULL);
}

static int answer_resource(const struct rv_room *room, struct rv_talk *talk,
                           const struct asked *asked, const struct rv_resource *resource)
{
    switch (resource->kind) {
    case RV_FILE_DIRECTORY:
        return asked->slash ? answer_directory(room, talk, asked) : redirect_to_slash(talk);
    case RV_FILE_REGULAR:
        if (asked->slash)
            break; /* "file/" is no name of it: links in it would lead astray */
        return answer_file(room, talk, asked->path, resource);
    case RV_FILE_FORBIDDEN:
        return rv_problem(talk, 403, NULL);
    case RV_FILE_MISSING:
        break;
    }
    return rv_problem(talk, 404, NULL);
}

/* ---- the handler --------------------------------------------------------------------------------------------- */

static int serve(rv_talk *talk, void *ctx)
{
    const struct rv_room *room = ctx;
    struct asked asked;
    struct rv_resource resource;
    if (talk->route->param_count == 0) /* the prefix itself */
        return redirect_to_slash(talk);
    rv_error error = read_path(room, talk, talk->params[0], &asked);
    if (error == RV_ENOTFOUND)
        return rv_problem(talk, 404, NULL);
    if (error == 0)
        error = room->source->find(room, talk, asked.path, &resource);
    if (error != 0)
        return error;
    int result = answer_resource(room, talk, &asked, &resource);
    room->source->drop(&resource);
    return result;
}

/* ---- making and freeing ---------------------------------------------------------------------------------------- */

bool rv_room_set_indexes(struct rv_room *room, const char *const *names)
{
    static const char *const usual[] = {"index.html", NULL};
    size_t count = 0;
    if (names == NULL)
        names = usual;
    while (names[count] != NULL)
        count++;
    room->indexes = calloc(count + 1, sizeof *room->indexes);
    for (size_t i = 0; room->indexes != NULL && i < count; i++)
        if ((room->indexes[i] = strdup(names[i])) == NULL)
            return false;
    return room->indexes != NULL;
}

void rv_room_clear(struct rv_room *room)
{
    for (char **index = room->indexes; index != NULL && *index != NULL; index++)
        free(*index);
    free(room->indexes);
    free(room->cache_control);
}

void rv_rooms_free(rv_server *server)
{
    for (struct rv_room *room = server->rooms, *next; room != NULL; room = next) {
        next = room->next;
        room->source->free(room);
    }
    server->rooms = NULL;
}

rv_error rv_room_add(rv_app *app, const char *prefix, struct rv_room *room, const char *what)
{
    rv_server *server = app->server;
    room->next = server->rooms;
    server->rooms = room;
    if (prefix == NULL || prefix[0] != '/' || strpbrk(prefix, "{}?") != NULL)
        return rv_server_misconfigured(server, RV_EINVAL,
                                       "%s: the prefix \"%s\" must begin with a slash and have no "
                                       "parameters",
                                       what, prefix == NULL ? "" : prefix);
    size_t length = strlen(prefix);
    while (length > 0 && prefix[length - 1] == '/')
        length--;
    char *pattern = malloc(length + sizeof "GET /{path...}");
    if (pattern == NULL)
        return rv_server_misconfigured(server, RV_ENOMEM, "%s: out of memory", what);
    char *out = rv_put(RV_PUT(pattern, "GET "), rv_slice(prefix, length));
    *out = '\0';
    rv_error error = length > 0 ? rv_route(app, pattern, serve, room) : 0;
    memcpy(out, "/{path...}", sizeof "/{path...}");
    if (error == 0)
        error = rv_route(app, pattern, serve, room);
    free(pattern);
    return error;
}
