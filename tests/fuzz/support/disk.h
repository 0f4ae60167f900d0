/*
 * Uploads to the disk, rv_upload and rv_upload_body, of the fuzzed servers: to a folder that is made when the
 * first one of a run begins. Each must be done or aborted, exactly once; and at the end the folder has the
 * files of those that were done, and nothing else.
 */
#ifndef FUZZ_DISK_H
#define FUZZ_DISK_H

#include <rivulet.h>

/* The upload is done: answers. `talk` is NULL when the client has left. */
typedef int fuzz_disk_done(rv_talk *talk, void *ctx);

/* Each is a handler's, and returns what that returns. What `?max=` says is the longest file. */
int fuzz_disk_form(rv_talk *talk, fuzz_disk_done *done, void *ctx);
int fuzz_disk_body(rv_talk *talk, fuzz_disk_done *done, void *ctx);

/* Ends a run, when no client is left and the pool is idle. */
void fuzz_disk_end(void);

#endif
