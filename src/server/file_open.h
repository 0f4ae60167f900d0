/*
 * Opening what lies below a directory, and nothing else, whatever the path says and whatever symbolic
 * links are in its way.
 */
#ifndef RV_SERVER_FILE_OPEN_H
#define RV_SERVER_FILE_OPEN_H

#include <stdbool.h>

/*
 * Opens `path`, relative to the directory, to read ("" is the directory itself). A descriptor, or a
 * negative errno. Never waits, for a FIFO neither. A path that is absolute, or has an empty, "." or ".."
 * segment, is -EINVAL. A symbolic link is followed when it stays below the directory, or with
 * `links_out` wherever it leads; else the error is -EXDEV, or -ELOOP.
 */
int rv_open_beneath(int directory, const char *path, bool links_out);

/* The same without `links_out`, for kernels that have no openat2 (before 5.6, and where it is filtered
   away): a segment at a time, and no symbolic link is followed. */
int rv_open_by_steps(int directory, const char *path);

#endif
