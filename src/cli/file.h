/*
 * Whole files, for commands that send or list what is in them.
 */
#ifndef RV_CLI_FILE_H
#define RV_CLI_FILE_H

#include "base/buffer.h"

#define RV_FILE_WHY_MAX 512

/* Appends all that is in the file to `buffer`; "-" is stdin. RV_EIO with a sentence in `why`
   (RV_FILE_WHY_MAX octets) that names the file and the reason; RV_ENOMEM. */
rv_error rv_file_read(const char *path, struct rv_buffer *buffer, char *why);

/* Can the file be written, as far as one can tell without writing it? RV_EIO with `why`. */
rv_error rv_file_may_write(const char *path, char *why);

#endif
