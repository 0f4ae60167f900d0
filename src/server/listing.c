/*
 * Listings (listing.h): reads a directory, some names in each turn of the loop so that no other client
 * waits for a large one, sorts, and answers.
 */
#include "server/listing.h"

#include "server/file_open.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define ENTRIES_PER_TURN 256

/* A listing on its way. Owned by its talk: freed with the answer, or when the client leaves. */
struct reading {
    struct rv_listing listing;
    const struct rv_room *room;
    bool links_out;
    int root; /* owned; only where links have to be looked up */
    DIR *directory;
    size_t entries_room;
    struct rv_buffer page;
};

static void reading_free(void *ctx)
{
    struct reading *reading = ctx;
    if (reading->directory != NULL)
        closedir(reading->directory);
    if (reading->root >= 0)
        close(reading->root);
    free(reading->listing.entries);
    rv_buffer_free(&reading->page);
    free(reading);
}

/* ---- one name ------------------------------------------------------------------------------------------- */

/* A link is described as what it leads to, if that would be served. */
static bool describe_link(struct rv_talk *talk, const struct reading *reading, const char *name,
                          struct stat *info)
{
    const char *path = reading->listing.path;
    size_t length = strlen(path);
    char *whole = rv_arena_alloc(&talk->arena, length + strlen(name) + 2);
    if (whole == NULL)
        return false;
    char *out = rv_put(whole, rv_slice(path, length));
    if (length > 0)
        *out++ = '/';
    memcpy(out, name, strlen(name) + 1);
    int file = rv_open_beneath(reading->root, whole, reading->links_out);
    bool found = file >= 0 && fstat(file, info) == 0;
    if (file >= 0)
        close(file);
    return found;
}

static bool describe(struct rv_talk *talk, const struct reading *reading, const char *name,
                     struct stat *info)
{
    if (fstatat(dirfd(reading->directory), name, info, AT_SYMLINK_NOFOLLOW) != 0)
        return false;
    if (S_ISLNK(info->st_mode) && !describe_link(talk, reading, name, info))
        return false;
    return S_ISREG(info->st_mode) || S_ISDIR(info->st_mode);
}

static rv_error add(struct rv_talk *talk, struct reading *reading, const char *name,
                    const struct stat *info)
{
    struct rv_listing *listing = &reading->listing;
    if (listing->count == reading->entries_room) {
        size_t room = reading->entries_room == 0 ? 64 : reading->entries_room * 2;
        struct rv_listed *entries = realloc(listing->entries, room * sizeof *entries);
        if (entries == NULL)
            return RV_ENOMEM;
        listing->entries = entries;
        reading->entries_room = room;
    }
    char *copy = rv_arena_copy(&talk->arena, rv_str(name));
    if (copy == NULL)
        return RV_ENOMEM;
    listing->entries[listing->count++] = (struct rv_listed){
        copy, (uint64_t)info->st_size, info->st_mtim.tv_sec, S_ISDIR(info->st_mode)};
    return 0;
}

/* ---- all names -------------------------------------------------------------------------------------------- */

/* Some of them. RV_OK: that was all. RV_PENDING: there are more. */
static int read_some(struct rv_talk *talk, struct reading *reading)
{
    struct stat info;
    for (int i = 0; i < ENTRIES_PER_TURN; i++) {
        errno = 0;
        const struct dirent *entry = readdir(reading->directory);
        if (entry == NULL)
            return errno == 0 ? RV_OK : RV_EIO;
        rv_bytes name = rv_str(entry->d_name);
        if (rv_equals(name, ".") || rv_equals(name, "..") || !rv_room_shows(reading->room, name) ||
            !describe(talk, reading, entry->d_name, &info))
            continue;
        if (reading->listing.count == RV_LISTING_ENTRIES_MAX) {
            reading->listing.cut = true;
            return RV_OK;
        }
        rv_error error = add(talk, reading, entry->d_name, &info);
        if (error != 0)
            return error;
    }
    return RV_PENDING;
}

/* Directories first, then by name. */
static int compare(const void *left, const void *right)
{
    const struct rv_listed *a = left, *b = right;
    if (a->is_directory != b->is_directory)
        return a->is_directory ? -1 : 1;
    return strcmp(a->name, b->name);
}

static int finish(struct rv_talk *talk, struct reading *reading)
{
    struct rv_listing *listing = &reading->listing;
    if (listing->count > 0)
        qsort(listing->entries, listing->count, sizeof *listing->entries, compare);
    rv_error error = rv_listing_write(listing, &reading->page);
    if (error != 0) {
        reading_free(reading);
        return error;
    }
    rv_bytes page = rv_slice(reading->page.ptr, reading->page.len);
    return rv_reply_borrowed(talk, 200, "text/html; charset=UTF-8", page, reading_free, reading);
}

static int go_on(rv_talk *talk, void *ctx)
{
    struct reading *reading = ctx;
    int result;
    do
        result = read_some(talk, reading);
    while (result == RV_PENDING && talk->on_pool);
    if (result == RV_PENDING) {
        rv_error error = rv_on_gone(talk, reading_free, reading);
        if (error == 0)
            error = rv_after_ms(talk, 0, go_on, reading);
        if (error == 0)
            return RV_PENDING;
        result = error;
    }
    if (!talk->on_pool)
        rv_on_gone(talk, NULL, NULL);
    if (result == RV_OK)
        return finish(talk, reading);
    reading_free(reading);
    return result;
}

static int open_directory(struct reading *reading, const struct rv_file_root *root)
{
    reading->root = open(root->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (reading->root < 0)
        return -errno;
    int file = rv_open_beneath(reading->root, reading->listing.path, root->links_out);
    if (file < 0)
        return file;
    reading->directory = fdopendir(file);
    if (reading->directory != NULL)
        return 0;
    int failure = errno;
    close(file);
    return -failure;
}

int rv_listing_answer(struct rv_talk *talk, const struct rv_room *room,
                      const struct rv_file_root *root, const char *path)
{
    rv_bytes parameters = rv_path_extension(talk);
    struct reading *reading = calloc(1, sizeof *reading);
    if (reading == NULL)
        return RV_ENOMEM;
    reading->listing.path = path;
    if (parameters.ptr != NULL) { /* the head may move */
        reading->listing.parameters =
            rv_slice(rv_arena_copy(&talk->arena, parameters), parameters.len);
        if (reading->listing.parameters.ptr == NULL) {
            free(reading);
            return RV_ENOMEM;
        }
    }
    reading->room = room;
    reading->links_out = root->links_out;
    int opened = open_directory(reading, root);
    if (opened == 0)
        return go_on(talk, reading);
    reading_free(reading);
    if (opened == -EMFILE || opened == -ENFILE)
        return RV_EFILES;
    return rv_problem(talk, opened == -EACCES || opened == -EPERM ? 403 : 404, NULL);
}
