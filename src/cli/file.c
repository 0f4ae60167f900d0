/*
 * Reads whole files (file.h), pipes among them: nothing is known of their size beforehand.
 */
#include "cli/file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE_BYTES 65536

static rv_error cannot(const char *doing, const char *path, int error_number, char *why)
{
    snprintf(why, RV_FILE_WHY_MAX, "cannot %s \"%.300s\": %s", doing, path, strerror(error_number));
    return RV_EIO;
}

static rv_error read_all(int descriptor, const char *path, struct rv_buffer *buffer, char *why)
{
    for (;;) {
        rv_error error = rv_buffer_reserve(buffer, PIECE_BYTES);
        if (error != 0)
            return error;
        ssize_t count = read(descriptor, buffer->ptr + buffer->len, PIECE_BYTES);
        if (count == 0)
            return 0;
        if (count < 0 && errno != EINTR)
            return cannot("read", path, errno, why);
        if (count > 0)
            buffer->len += (size_t)count;
    }
}

rv_error rv_file_read(const char *path, struct rv_buffer *buffer, char *why)
{
    bool is_stdin = strcmp(path, "-") == 0;
    int descriptor = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return cannot("read", path, errno, why);
    rv_error error = read_all(descriptor, path, buffer, why);
    if (!is_stdin)
        close(descriptor);
    return error;
}

rv_error rv_file_may_write(const char *path, char *why)
{
    struct stat info;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return cannot("write", path, EISDIR, why);
    if (access(path, W_OK) == 0)
        return 0;
    if (errno != ENOENT)
        return cannot("write", path, errno, why);
    char *copy = strdup(path);
    if (copy == NULL)
        return RV_ENOMEM;
    int result = access(dirname(copy), W_OK | X_OK);
    int error_number = errno;
    free(copy);
    return result == 0 ? 0 : cannot("write", path, error_number, why);
}
