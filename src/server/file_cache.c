/*
 * The open files of a worker (file_cache.h): a hash table of paths, a list by last use, and the
 * directories that they are in.
 */
#include "server/file_cache.h"

#include "base/clock.h"
#include "server/file_open.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#define ENTRIES_MAX 1024
#define SLOTS 2048 /* a power of two */
#define CONTENTS_BYTES_MAX (8 * 1024 * 1024)
#define DESCRIPTORS_MAX 256
#define LOAD_TRIES_MAX 3

/* A directory, as it was opened. */
struct opened_root {
    const struct rv_file_root *root;
    struct opened_root *next;
    int directory; /* owned; negative: an errno */
    uint64_t looked_ms;
    struct rv_file_stamp stamp;
};

struct rv_file_cache {
    struct opened_root *roots; /* owned */
    struct rv_file_entry *slots[SLOTS];
    struct rv_file_entry *newest, *oldest;
    size_t entries;
    size_t contents_bytes;
    unsigned descriptors;
    unsigned descriptors_max;
};

/* ---- stamps ----------------------------------------------------------------------------------------- */

static struct rv_file_stamp stamp_of(const struct stat *info)
{
    return (struct rv_file_stamp){info->st_dev, info->st_ino, info->st_size, info->st_mtim,
                                  info->st_ctim};
}

static bool same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool same_stamp(const struct rv_file_stamp *a, const struct rv_file_stamp *b)
{
    return a->device == b->device && a->inode == b->inode && a->size == b->size &&
           same_time(a->modified, b->modified) && same_time(a->changed, b->changed);
}

/* ---- entries ---------------------------------------------------------------------------------------- */

void rv_file_entry_release(void *held)
{
    struct rv_file_entry *entry = held;
    if (--entry->holders > 0)
        return;
    if (entry->file >= 0)
        close(entry->file);
    free(entry->contents);
    free(entry);
}

/* The keys are chosen by clients, but a slot's list is never longer than the whole cache: that keeps
   what a collision costs small. */
static uint64_t hash_of(const struct rv_file_root *root, const char *path)
{
    uint64_t hash = 14695981039346656037u ^ (uintptr_t)root;
    for (; *path != '\0'; path++)
        hash = (hash ^ (unsigned char)*path) * 1099511628211u;
    return hash ^ hash >> 29;
}

static struct rv_file_entry **slot_of(struct rv_file_cache *cache, uint64_t hash)
{
    return &cache->slots[hash & (SLOTS - 1)];
}

static void unlink_by_use(struct rv_file_cache *cache, struct rv_file_entry *entry)
{
    *(entry->newer != NULL ? &entry->newer->older : &cache->newest) = entry->older;
    *(entry->older != NULL ? &entry->older->newer : &cache->oldest) = entry->newer;
}

static void link_newest(struct rv_file_cache *cache, struct rv_file_entry *entry)
{
    entry->newer = NULL;
    entry->older = cache->newest;
    *(cache->newest != NULL ? &cache->newest->newer : &cache->oldest) = entry;
    cache->newest = entry;
}

static void drop(struct rv_file_cache *cache, struct rv_file_entry *entry)
{
    struct rv_file_entry **place = slot_of(cache, entry->hash);
    while (*place != entry)
        place = &(*place)->next;
    *place = entry->next;
    unlink_by_use(cache, entry);
    cache->entries--;
    cache->descriptors -= entry->file >= 0;
    cache->contents_bytes -= entry->contents != NULL ? (size_t)entry->size : 0;
    entry->cached = false;
    rv_file_entry_release(entry);
}

static void make_room(struct rv_file_cache *cache)
{
    while (cache->oldest != NULL &&
           (cache->entries > ENTRIES_MAX || cache->descriptors > cache->descriptors_max ||
            cache->contents_bytes > CONTENTS_BYTES_MAX))
        drop(cache, cache->oldest);
}

static void keep(struct rv_file_cache *cache, struct rv_file_entry *entry)
{
    struct rv_file_entry **slot = slot_of(cache, entry->hash);
    entry->holders++;
    entry->cached = true;
    entry->next = *slot;
    *slot = entry;
    link_newest(cache, entry);
    cache->entries++;
    cache->descriptors += entry->file >= 0;
    cache->contents_bytes += entry->contents != NULL ? (size_t)entry->size : 0;
    make_room(cache);
}

static void drop_all(struct rv_file_cache *cache, const struct rv_file_root *root)
{
    for (struct rv_file_entry *entry = cache->newest, *older; entry != NULL; entry = older) {
        older = entry->older;
        if (root == NULL || entry->root == root)
            drop(cache, entry);
    }
}

/* ---- opening ---------------------------------------------------------------------------------------- */

/* Reads small contents whole. False: the file was changed meanwhile. */
static bool read_contents(struct rv_file_entry *entry)
{
    size_t size = (size_t)entry->size, got = 0;
    struct stat info;
    char *octets = malloc(size + 1); /* one more: a file that has grown shows */
    if (octets == NULL)
        return true; /* it is sent from its file */
    while (got < size + 1) {
        ssize_t count = pread(entry->file, octets + got, size + 1 - got, (off_t)got);
        if (count <= 0)
            break;
        got += (size_t)count;
    }
    struct rv_file_stamp stamp = {0};
    if (fstat(entry->file, &info) == 0)
        stamp = stamp_of(&info);
    if (got != size || !same_stamp(&stamp, &entry->stamp)) {
        free(octets);
        return false;
    }
    entry->contents = octets;
    close(entry->file);
    entry->file = -1;
    return true;
}

static enum rv_file_kind kind_of(const struct stat *info)
{
    return S_ISREG(info->st_mode)   ? RV_FILE_REGULAR
           : S_ISDIR(info->st_mode) ? RV_FILE_DIRECTORY
                                    : RV_FILE_MISSING;
}

/* Takes the descriptor over. False: try again. */
static bool describe(struct rv_file_entry *entry, int file)
{
    struct stat info;
    entry->file = -1;
    entry->kind = RV_FILE_MISSING;
    if (fstat(file, &info) == 0)
        entry->kind = kind_of(&info);
    if (entry->kind == RV_FILE_MISSING) {
        close(file);
        return true;
    }
    entry->size = (uint64_t)info.st_size;
    entry->modified = info.st_mtim;
    entry->stamp = stamp_of(&info);
    entry->young = info.st_ctim.tv_sec + 2 > rv_clock_wall_s();
    if (entry->kind == RV_FILE_DIRECTORY) {
        close(file);
        return true;
    }
    rv_file_etag(entry->etag, entry->size, info.st_mtim, "");
    entry->file = file;
    if (entry->size > RV_FILE_CONTENTS_MAX || read_contents(entry))
        return true;
    close(file);
    entry->file = -1;
    return false;
}

/* What a failure to open means: a kind, or an error. */
static rv_error failed_to_open(struct rv_file_entry *entry, int failure)
{
    switch (failure) {
    case EACCES:
    case EPERM:
        entry->kind = RV_FILE_FORBIDDEN;
        return 0;
    case EMFILE:
    case ENFILE:
        return RV_EFILES;
    case ENOMEM:
        return RV_ENOMEM;
    case EIO:
        return RV_EIO;
    default: /* ENOENT, ENOTDIR, ENAMETOOLONG, ELOOP, EXDEV, EINVAL, ENXIO … */
        entry->kind = RV_FILE_MISSING;
        return 0;
    }
}

static rv_error load(int directory, struct rv_file_entry *entry)
{
    for (int tries = 0; tries < LOAD_TRIES_MAX; tries++) {
        int file = directory < 0 ? directory
                                 : rv_open_beneath(directory, entry->path, entry->root->links_out);
        if (file < 0)
            return failed_to_open(entry, -file);
        if (describe(entry, file))
            return 0;
    }
    return RV_EBUSY; /* it changes all the time */
}

/* ---- directories -------------------------------------------------------------------------------------- */

static int open_root(const struct rv_file_root *root, struct rv_file_stamp *stamp)
{
    struct stat info;
    int directory = open(root->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0)
        return -errno;
    *stamp = fstat(directory, &info) == 0 ? stamp_of(&info) : (struct rv_file_stamp){0};
    return directory;
}

static struct opened_root *find_root(struct rv_file_cache *cache, const struct rv_file_root *root)
{
    struct opened_root *opened = cache->roots;
    while (opened != NULL && opened->root != root)
        opened = opened->next;
    if (opened != NULL)
        return opened;
    opened = calloc(1, sizeof *opened);
    if (opened == NULL)
        return NULL;
    opened->root = root;
    opened->directory = -ENOENT;
    opened->next = cache->roots;
    cache->roots = opened;
    return opened;
}

/* Is the directory another one than it was? Then a link was turned, or it was renamed. */
static bool is_replaced(const struct opened_root *opened)
{
    struct stat info;
    return opened->directory < 0 || stat(opened->root->path, &info) != 0 ||
           info.st_dev != opened->stamp.device || info.st_ino != opened->stamp.inode;
}

int rv_file_cache_directory(struct rv_file_cache *cache, const struct rv_file_root *root,
                            uint64_t now_ms)
{
    struct opened_root *opened = find_root(cache, root);
    if (opened == NULL)
        return -ENOMEM;
    if (opened->directory >= 0 && now_ms - opened->looked_ms < root->revalidate_ms)
        return opened->directory;
    opened->looked_ms = now_ms;
    if (!is_replaced(opened))
        return opened->directory;
    drop_all(cache, root);
    if (opened->directory >= 0)
        close(opened->directory);
    opened->directory = open_root(root, &opened->stamp);
    return opened->directory;
}

/* ---- the cache ---------------------------------------------------------------------------------------- */

unsigned rv_file_cache_descriptors(unsigned workers)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        return 16;
    uint64_t share = files.rlim_cur / 8 / (workers > 0 ? workers : 1);
    return share > DESCRIPTORS_MAX ? DESCRIPTORS_MAX : (unsigned)share;
}

struct rv_file_cache *rv_file_cache_new(unsigned descriptors_max)
{
    struct rv_file_cache *cache = calloc(1, sizeof *cache);
    if (cache != NULL)
        cache->descriptors_max = descriptors_max;
    return cache;
}

void rv_file_cache_free(struct rv_file_cache *cache)
{
    if (cache == NULL)
        return;
    drop_all(cache, NULL);
    for (struct opened_root *opened = cache->roots, *next; opened != NULL; opened = next) {
        next = opened->next;
        if (opened->directory >= 0)
            close(opened->directory);
        free(opened);
    }
    free(cache);
}

static struct rv_file_entry *find(struct rv_file_cache *cache, const struct rv_file_root *root,
                                  const char *path, uint64_t hash)
{
    struct rv_file_entry *entry = *slot_of(cache, hash);
    while (entry != NULL &&
           (entry->hash != hash || entry->root != root || strcmp(entry->path, path) != 0))
        entry = entry->next;
    return entry;
}

/* Is it still what it was? */
static bool is_fresh(const struct rv_file_entry *entry, int directory)
{
    struct stat info;
    const char *name = *entry->path == '\0' ? "." : entry->path;
    bool found = fstatat(directory, name, &info, 0) == 0;
    if (entry->kind == RV_FILE_MISSING)
        return !found;
    struct rv_file_stamp stamp = found ? stamp_of(&info) : (struct rv_file_stamp){0};
    return found && !entry->young && same_stamp(&stamp, &entry->stamp);
}

static struct rv_file_entry *entry_new(const struct rv_file_root *root, const char *path,
                                       uint64_t hash, uint64_t now_ms)
{
    size_t length = strlen(path);
    struct rv_file_entry *entry = calloc(1, sizeof *entry + length + 1);
    if (entry == NULL)
        return NULL;
    entry->holders = 1;
    entry->file = -1;
    entry->root = root;
    entry->hash = hash;
    entry->looked_ms = now_ms;
    entry->path_length = length;
    memcpy(entry->path, path, length + 1);
    return entry;
}

static rv_error get_uncached(const struct rv_file_root *root, struct rv_file_entry *entry)
{
    struct rv_file_stamp stamp;
    int directory = open_root(root, &stamp);
    rv_error error = load(directory, entry);
    if (directory >= 0)
        close(directory);
    return error;
}

rv_error rv_file_cache_get(struct rv_file_cache *cache, const struct rv_file_root *root,
                           const char *path, uint64_t now_ms, struct rv_file_entry **found,
                           bool *hit)
{
    uint64_t hash = hash_of(root, path);
    int directory = cache == NULL ? -1 : rv_file_cache_directory(cache, root, now_ms);
    struct rv_file_entry *entry = cache == NULL ? NULL : find(cache, root, path, hash);
    *hit = entry != NULL &&
           (now_ms - entry->looked_ms < root->revalidate_ms || is_fresh(entry, directory));
    if (*hit) {
        if (now_ms - entry->looked_ms >= root->revalidate_ms)
            entry->looked_ms = now_ms;
        entry->holders++;
        unlink_by_use(cache, entry);
        link_newest(cache, entry);
        *found = entry;
        return 0;
    }
    if (entry != NULL)
        drop(cache, entry);
    entry = entry_new(root, path, hash, now_ms);
    if (entry == NULL)
        return RV_ENOMEM;
    rv_error error = cache == NULL ? get_uncached(root, entry) : load(directory, entry);
    if (error == RV_EFILES && cache != NULL && cache->descriptors > 0) {
        drop_all(cache, NULL);
        error = load(directory, entry);
    }
    if (error != 0) {
        rv_file_entry_release(entry);
        return error;
    }
    if (cache != NULL)
        keep(cache, entry);
    *found = entry;
    return 0;
}
