/*
 * The open files of a worker: what was found under a path below a directory is kept for a while, with
 * its descriptor, or its contents when they are small, and also that nothing was found. Belongs to one
 * thread.
 *
 * An entry never changes. It is looked at again (one stat) when it was not for the directory's
 * `revalidate_ms`, and what has changed is dropped and found anew: a file that was replaced is served as
 * the old one or as the new one, never as a mixture. Whoever has got an entry holds it until it gives it
 * back, even when the cache has dropped it meanwhile.
 */
#ifndef RV_SERVER_FILE_CACHE_H
#define RV_SERVER_FILE_CACHE_H

#include "base/bytes.h"
#include "server/representation.h"

#include <sys/stat.h>

/* Contents up to this size are held in memory; larger ones are sent from their file. */
#define RV_FILE_CONTENTS_MAX (16 * 1024)

/* A directory whose files are served. Not changed while the server runs. */
struct rv_file_root {
    char *path; /* owned; absolute */
    bool links_out;
    uint64_t revalidate_ms;
};

enum rv_file_kind {
    RV_FILE_MISSING,   /* nothing, or nothing that is served */
    RV_FILE_FORBIDDEN, /* the process may not read it */
    RV_FILE_DIRECTORY,
    RV_FILE_REGULAR
};

/* What tells a file from another, and from itself when it was changed. */
struct rv_file_stamp {
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec modified;
    struct timespec changed;
};

struct rv_file_entry {
    enum rv_file_kind kind;
    uint64_t size;
    struct timespec modified;
    char etag[RV_FILE_ETAG_BYTES];
    int file;       /* owned; -1: none, or its contents are held */
    char *contents; /* owned; NULL: not held */

    /* the cache's */
    unsigned holders; /* the cache is one of them, as long as it is `cached` */
    bool cached;
    bool young; /* changed so shortly before that the next change might not show in the stamp */
    const struct rv_file_root *root;
    uint64_t hash;
    uint64_t looked_ms;
    struct rv_file_stamp stamp;
    struct rv_file_entry *next;          /* with the same slot */
    struct rv_file_entry *newer, *older; /* by last use */
    size_t path_length;
    char path[];
};

struct rv_file_cache;

/* At most so many descriptors are kept. NULL: no memory. */
struct rv_file_cache *rv_file_cache_new(unsigned descriptors_max);

/* Entries that are held elsewhere stay until they are given back. NULL is allowed. */
void rv_file_cache_free(struct rv_file_cache *cache);

/* How many descriptors the cache of each of so many workers may keep in this process. */
unsigned rv_file_cache_descriptors(unsigned workers);

/* A plain path (file_open.h) below the root: the entry, held for the caller. `*hit`: without opening
   anything. Without a cache it is opened every time. RV_EFILES, RV_ENOMEM, RV_EIO. */
rv_error rv_file_cache_get(struct rv_file_cache *cache, const struct rv_file_root *root,
                           const char *path, uint64_t now_ms, struct rv_file_entry **entry,
                           bool *hit);

/* Gives an entry back; the shape of a release. */
void rv_file_entry_release(void *entry);

/* The descriptor of the root's directory, for as long as the next call with the cache; negative: an
   errno. */
int rv_file_cache_directory(struct rv_file_cache *cache, const struct rv_file_root *root,
                            uint64_t now_ms);

#endif
