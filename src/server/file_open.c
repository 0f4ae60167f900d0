/*
 * Opening beneath a directory (file_open.h). The kernel resolves the whole path and refuses to leave the
 * directory, so that nothing can change between a check and its use.
 */
#include "server/file_open.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define OPEN_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
#define TRIES_MAX 8
#define SEGMENT_MAX 255 /* NAME_MAX of every file system of Linux */

/* The next segment's length; *path is moved to where it begins. 0: there is none. */
static size_t next_segment(const char **path)
{
    if (**path == '/')
        ++*path;
    return strcspn(*path, "/");
}

static bool is_plain(const char *path)
{
    if (*path == '/')
        return false;
    while (*path != '\0') {
        size_t length = next_segment(&path);
        if (length == 0 || (path[0] == '.' && (length == 1 || (length == 2 && path[1] == '.'))))
            return false;
        path += length;
    }
    return true;
}

int rv_open_by_steps(int directory, const char *path)
{
    char segment[SEGMENT_MAX + 1];
    int at = directory;
    if (!is_plain(path))
        return -EINVAL;
    do {
        size_t length = next_segment(&path);
        if (length > SEGMENT_MAX) {
            if (at != directory)
                close(at);
            return -ENAMETOOLONG;
        }
        memcpy(segment, path, length);
        segment[length] = '\0';
        path += length;
        int flags = *path != '\0' ? O_PATH | O_DIRECTORY | O_CLOEXEC : OPEN_FLAGS;
        int next = openat(at, length == 0 ? "." : segment, flags | O_NOFOLLOW);
        int failure = errno;
        if (at != directory)
            close(at);
        if (next < 0)
            return -failure;
        at = next;
    } while (*path != '\0');
    return at;
}

int rv_open_beneath(int directory, const char *path, bool links_out)
{
    struct open_how how = {.flags = OPEN_FLAGS, .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    if (!is_plain(path))
        return -EINVAL;
    const char *name = *path == '\0' ? "." : path;
    if (links_out) {
        int file = openat(directory, name, OPEN_FLAGS);
        return file < 0 ? -errno : file;
    }
    /* EAGAIN: something was renamed meanwhile, and the kernel cannot tell where that leads (openat2(2)). */
    for (int tries = 0; tries < TRIES_MAX; tries++) {
        long file = syscall(SYS_openat2, directory, name, &how, sizeof how);
        if (file >= 0)
            return (int)file;
        if (errno == ENOSYS || errno == EPERM)
            return rv_open_by_steps(directory, path);
        if (errno != EAGAIN)
            return -errno;
    }
    return -EXDEV;
}
