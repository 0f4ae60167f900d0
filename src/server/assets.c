/*
 * rv_assets: a table in the program as a room. An index over it, sorted by path, is made once; what is
 * below a name is then next to it.
 */
#include "server/room.h"
#include "server/server.h"

#include <stdio.h>
#include <stdlib.h>

#define ETAG_BYTES 40

struct indexed {
    const rv_asset *asset;
    char etag[ETAG_BYTES]; /* where the asset has none of its own */
};

struct shelf {
    struct rv_room room; /* first */
    size_t count;
    struct indexed *index; /* owned; sorted by path */
};

/* ---- finding ------------------------------------------------------------------------------------------ */

/* Compares a path with the first octets of another, as many as it has. */
static int compare_start(const char *path, rv_bytes start)
{
    return strncmp(path, start.ptr, start.len);
}

/* The first whose path is not before `start`. */
static size_t first_not_before(const struct shelf *shelf, rv_bytes start)
{
    size_t low = 0, high = shelf->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_start(shelf->index[middle].asset->path, start) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void describe(const struct indexed *found, struct rv_resource *resource)
{
    const rv_asset *asset = found->asset;
    *resource = (struct rv_resource){
        .kind = RV_FILE_REGULAR,
        .etag = asset->etag != NULL ? asset->etag : found->etag,
        .content_type = asset->content_type,
        .modified_s = asset->modified_s > 0 ? asset->modified_s : -1,
        .what = asset,
    };
}

static rv_error find(const struct rv_room *room, struct rv_talk *talk, const char *path,
                     struct rv_resource *resource)
{
    const struct shelf *shelf = (const struct shelf *)room;
    size_t length = strlen(path), at = first_not_before(shelf, rv_slice(path, length));
    *resource = (struct rv_resource){.kind = length == 0 ? RV_FILE_DIRECTORY : RV_FILE_MISSING};
    if (length == 0)
        return 0;
    if (at < shelf->count && strcmp(shelf->index[at].asset->path, path) == 0) {
        describe(&shelf->index[at], resource);
        return 0;
    }
    char *below = rv_arena_alloc(&talk->arena, length + 1);
    if (below == NULL)
        return RV_ENOMEM;
    memcpy(below, path, length);
    below[length] = '/';
    at = first_not_before(shelf, rv_slice(below, length + 1));
    if (at < shelf->count &&
        compare_start(shelf->index[at].asset->path, rv_slice(below, length + 1)) == 0)
        resource->kind = RV_FILE_DIRECTORY;
    return 0;
}

static rv_error open_content(const struct rv_resource *resource, struct rv_content *content)
{
    const rv_asset *asset = resource->what;
    *content = (struct rv_content){.kind = RV_CONTENT_BORROWED,
                                   .octets = rv_slice(asset->octets, asset->length),
                                   .length = asset->length};
    return 0;
}

static void drop(const struct rv_resource *resource)
{
    (void)resource; /* the table stays */
}

static void free_shelf(struct rv_room *room)
{
    struct shelf *shelf = (struct shelf *)room;
    rv_room_clear(room);
    free(shelf->index);
    free(shelf);
}

static const struct rv_room_source source = {
    .find = find, .open = open_content, .drop = drop, .free = free_shelf};

/* ---- making ------------------------------------------------------------------------------------------- */

/* FNV-1a: it tells versions of a program's own file apart, and nobody else chooses them. */
static void make_etag(struct indexed *indexed)
{
    const unsigned char *octets = indexed->asset->octets;
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < indexed->asset->length; i++)
        hash = (hash ^ octets[i]) * 1099511628211u;
    snprintf(indexed->etag, sizeof indexed->etag, "\"%zx-%016llx\"", indexed->asset->length,
             (unsigned long long)hash);
}

static int compare(const void *left, const void *right)
{
    const struct indexed *a = left, *b = right;
    return strcmp(a->asset->path, b->asset->path);
}

/* What is wrong with an asset; NULL: nothing. */
static const char *fault_of(const rv_asset *asset)
{
    const char *path = asset->path;
    if (path == NULL || *path == '\0' || *path == '/' || path[strlen(path) - 1] == '/')
        return "its path is none below the prefix: it begins and ends without a slash";
    return asset->octets == NULL && asset->length > 0 ? "it has a length, but no octets" : NULL;
}

static rv_error fill(rv_server *server, struct shelf *shelf, const rv_asset *table, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *fault = fault_of(&table[i]);
        if (fault != NULL)
            return rv_server_misconfigured(server, RV_EINVAL, "assets: \"%s\": %s",
                                           table[i].path == NULL ? "" : table[i].path, fault);
        shelf->index[i].asset = &table[i];
        if (table[i].etag == NULL)
            make_etag(&shelf->index[i]);
    }
    shelf->count = count;
    if (count > 0)
        qsort(shelf->index, count, sizeof *shelf->index, compare);
    for (size_t i = 1; i < count; i++)
        if (compare(&shelf->index[i - 1], &shelf->index[i]) == 0)
            return rv_server_misconfigured(server, RV_EINVAL, "assets: \"%s\" is there twice",
                                           shelf->index[i].asset->path);
    return 0;
}

rv_error rv_assets(rv_app *app, const char *prefix, const rv_asset *table, size_t count)
{
    if (app == NULL)
        return RV_EINVAL;
    rv_server *server = app->server;
    if (atomic_load(&server->phase) != RV_SERVER_IDLE)
        return rv_server_fail(server, RV_ESTATE, "assets are added before the start");
    if (table == NULL && count > 0)
        return rv_server_misconfigured(server, RV_EINVAL, "assets: a table is needed");
    struct shelf *shelf = calloc(1, sizeof *shelf);
    if (shelf != NULL) {
        shelf->room.source = &source;
        shelf->room.siblings = true;
        shelf->room.hidden = true; /* what is in the program is there to be served */
        shelf->index = calloc(count + 1, sizeof *shelf->index);
    }
    rv_error error =
        shelf == NULL || shelf->index == NULL || !rv_room_set_indexes(&shelf->room, NULL)
            ? rv_server_misconfigured(server, RV_ENOMEM, "assets: out of memory")
            : fill(server, shelf, table, count);
    if (error == 0)
        return rv_room_add(app, prefix, &shelf->room, "assets");
    if (shelf != NULL)
        free_shelf(&shelf->room);
    return error;
}
