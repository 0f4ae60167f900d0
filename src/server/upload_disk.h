/*
 * What an upload does on the disk, step by step, each of which may block: on a pool thread, one step at a
 * time. Files have unguessable temporary names in their directory until all of them are whole; then they get
 * their own. Whatever does not come that far is removed.
 */
#ifndef RV_SERVER_UPLOAD_DISK_H
#define RV_SERVER_UPLOAD_DISK_H

#include "base/buffer.h"
#include "server/representation.h"

#include <time.h>

struct rv_digest;

#define RV_UPLOAD_TEMPORARY_BYTES 48

/* What a name stands for. */
struct rv_upload_seen {
    bool is_there;
    uint64_t device, inode, bytes;
    struct timespec modified;
};

struct rv_upload_file {
    const char *name; /* its own; owned by the upload */
    char temporary[RV_UPLOAD_TEMPORARY_BYTES];
    char sha256[65]; /* "": not asked for, or not whole */
    char etag[RV_FILE_ETAG_BYTES];
    bool is_there;     /* under its temporary name */
    bool is_renamed;   /* it has its own ... */
    bool has_replaced; /* ... which another file had */
};

struct rv_upload_disk {
    const char *directory_name;
    bool replace;
    bool sync;
    bool hashes;
    bool expects; /* the name must still stand for what was ... */
    struct rv_upload_seen expected;
    int directory; /* -1: not open */
    int file;      /* the one that is being written; -1: none */
    struct rv_digest *digest;
    int error_number; /* of the step that failed; ESTALE: the name stands for something else */
};

/* Looks at a name in a directory that is open. */
struct rv_upload_seen rv_upload_look(int directory, const char *name);

/* Appends to the file, which is made when it is not there. 0, RV_EIO or RV_ENOMEM. */
rv_error rv_upload_write(struct rv_upload_disk *disk, struct rv_upload_file *file, rv_bytes octets);

/* The file is whole. */
rv_error rv_upload_close(struct rv_upload_disk *disk, struct rv_upload_file *file);

/* All files are: gives them their names. When that fails for one, those that have theirs already are removed,
   but those stay that have replaced another file: it is gone, and nothing in its stead would be worse. */
rv_error rv_upload_commit(struct rv_upload_disk *disk, struct rv_upload_file *files, size_t count);

/* Removes what has not got its name, and closes everything. */
void rv_upload_leave(struct rv_upload_disk *disk, struct rv_upload_file *files, size_t count);

#endif
