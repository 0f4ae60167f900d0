/*
 * rv_files: a folder as a room. Its files come from the worker's cache; on a pool thread, which has
 * none, they are opened each time.
 */
#include "server/listing.h"
#include "server/room.h"
#include "server/server.h"
#include "server/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define REVALIDATE_MS_DEFAULT 100

struct folder {
    struct rv_room room; /* first */
    struct rv_file_root root;
};

static const struct folder *folder_of(const struct rv_room *room)
{
    return (const struct folder *)room;
}

static struct rv_file_cache *cache_of(struct rv_talk *talk)
{
    struct rv_worker *worker = talk->worker;
    if (talk->on_pool)
        return NULL;
    if (worker->files == NULL)
        worker->files = rv_file_cache_new(rv_file_cache_descriptors(worker->server->worker_count));
    return worker->files;
}

static rv_error find(const struct rv_room *room, struct rv_talk *talk, const char *path,
                     struct rv_resource *resource)
{
    struct rv_file_entry *entry;
    struct rv_file_cache *cache = cache_of(talk);
    bool hit;
    rv_error error = rv_file_cache_get(cache, &folder_of(room)->root, path,
                                       cache == NULL ? 0 : talk->worker->loop.now_ms, &entry, &hit);
    if (cache != NULL) {
        if (hit)
            RV_COUNT(talk->worker, file_cache_hits);
        else
            RV_COUNT(talk->worker, file_cache_misses);
    }
    if (error != 0)
        return error;
    *resource = (struct rv_resource){.kind = entry->kind,
                                     .etag = entry->etag,
                                     .modified_s = entry->modified.tv_sec,
                                     .what = entry};
    return 0;
}

static void drop(const struct rv_resource *resource)
{
    if (resource->what != NULL)
        rv_file_entry_release((void *)resource->what);
}

static rv_error open_content(const struct rv_resource *resource, struct rv_content *content)
{
    struct rv_file_entry *entry = (struct rv_file_entry *)resource->what;
    *content = (struct rv_content){.kind = RV_CONTENT_FILE,
                                   .file = entry->file,
                                   .length = entry->size,
                                   .release = rv_file_entry_release,
                                   .ctx = entry};
    if (entry->contents != NULL) {
        content->kind = RV_CONTENT_BORROWED;
        content->octets = rv_slice(entry->contents, (size_t)entry->size);
    }
    entry->holders++;
    return 0;
}

static int list(const struct rv_room *room, struct rv_talk *talk, const char *path)
{
    return rv_listing_answer(talk, room, &folder_of(room)->root, path);
}

static void free_folder(struct rv_room *room)
{
    struct folder *folder = (struct folder *)room;
    rv_room_clear(room);
    free(folder->root.path);
    free(folder);
}

static const struct rv_room_source unlisted = {
    .find = find, .open = open_content, .drop = drop, .free = free_folder};
static const struct rv_room_source listed = {
    .find = find, .open = open_content, .drop = drop, .list = list, .free = free_folder};

/* ---- making ------------------------------------------------------------------------------------------- */

/* The program may change its working directory later. */
static char *absolute(const char *path)
{
    char *made = NULL, *here = path[0] == '/' ? NULL : getcwd(NULL, 0);
    if (path[0] != '/' && here == NULL)
        return NULL;
    if (asprintf(&made, "%s%s%s", here == NULL ? "" : here, here == NULL ? "" : "/", path) < 0)
        made = NULL;
    free(here);
    return made;
}

static rv_error check_directory(const char *path)
{
    int directory = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (directory >= 0) {
        close(directory);
        return 0;
    }
    return errno == EACCES || errno == EPERM ? RV_EPERM : RV_ENOTFOUND;
}

static bool fill(struct folder *folder, const char *directory, const rv_files_options *with)
{
    folder->room.source = with->listing ? &listed : &unlisted;
    folder->room.hidden = with->hidden;
    folder->room.siblings = !with->no_precompressed;
    folder->root.links_out = with->links_out;
    folder->root.revalidate_ms =
        with->revalidate_ms == 0 ? REVALIDATE_MS_DEFAULT : with->revalidate_ms;
    folder->root.path = absolute(directory);
    if (with->cache_control != NULL)
        folder->room.cache_control = strdup(with->cache_control);
    return rv_room_set_indexes(&folder->room, with->indexes) && folder->root.path != NULL &&
           (with->cache_control == NULL || folder->room.cache_control != NULL);
}

rv_error rv_files(rv_app *app, const char *prefix, const char *directory,
                  const rv_files_options *options)
{
    static const rv_files_options defaults;
    if (app == NULL)
        return RV_EINVAL;
    if (atomic_load(&app->server->phase) != RV_SERVER_IDLE)
        return rv_server_fail(app->server, RV_ESTATE, "files are added before the start");
    if (directory == NULL || *directory == '\0')
        return rv_server_misconfigured(app->server, RV_EINVAL, "files: a directory is needed");
    rv_error error = check_directory(directory);
    if (error != 0)
        return rv_server_misconfigured(app->server, error, "files: cannot serve \"%s\": %s",
                                       directory, strerror(errno));
    struct folder *folder = calloc(1, sizeof *folder);
    if (folder == NULL || !fill(folder, directory, options == NULL ? &defaults : options)) {
        if (folder != NULL)
            free_folder(&folder->room);
        return rv_server_misconfigured(app->server, RV_ENOMEM, "files: out of memory");
    }
    return rv_room_add(app, prefix, &folder->room, "files");
}
