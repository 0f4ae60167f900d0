/*
 * Uploads on the disk (upload_disk.h). Every path is one name in a directory that is held open: it does not
 * matter what becomes of the directory's own name meanwhile, and no link is followed.
 */
#include "server/upload_disk.h"

#include "io/tls_digest.h"
#include "io/tls_layer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static rv_error failed(struct rv_upload_disk *disk)
{
    disk->error_number = errno;
    return RV_EIO;
}

static rv_error open_directory(struct rv_upload_disk *disk)
{
    if (disk->directory >= 0)
        return 0;
    disk->directory = open(disk->directory_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return disk->directory < 0 ? failed(disk) : 0;
}

static rv_error open_file(struct rv_upload_disk *disk, struct rv_upload_file *file)
{
    uint64_t random[2];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return failed(disk);
    snprintf(file->temporary, sizeof file->temporary, ".upload-%016" PRIx64 "%016" PRIx64,
             random[0], random[1]);
    disk->file = openat(disk->directory, file->temporary,
                        O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (disk->file < 0)
        return failed(disk);
    file->is_there = true;
    if (RV_TLS_BUILT && disk->hashes && disk->digest == NULL)
        disk->digest = rv_digest_new();
    return disk->hashes && disk->digest == NULL ? RV_ENOMEM : 0;
}

rv_error rv_upload_write(struct rv_upload_disk *disk, struct rv_upload_file *file, rv_bytes octets)
{
    rv_error error = open_directory(disk);
    if (error == 0 && disk->file < 0)
        error = open_file(disk, file);
    if (error != 0)
        return error;
    if (RV_TLS_BUILT && disk->digest != NULL && !rv_digest_add(disk->digest, octets))
        return RV_ENOMEM;
    while (octets.len > 0) {
        ssize_t count = write(disk->file, octets.ptr, octets.len);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return failed(disk);
        octets = (rv_bytes){octets.ptr + count, octets.len - (size_t)count};
    }
    return 0;
}

rv_error rv_upload_close(struct rv_upload_disk *disk, struct rv_upload_file *file)
{
    int descriptor = disk->file;
    rv_error error = 0;
    struct stat info;
    if (RV_TLS_BUILT && disk->digest != NULL && !rv_digest_finish(disk->digest, file->sha256))
        error = RV_ENOMEM;
    if (error == 0 && ((disk->sync && fsync(descriptor) != 0) || fstat(descriptor, &info) != 0))
        error = failed(disk);
    if (error == 0)
        rv_file_etag(file->etag, (uint64_t)info.st_size, info.st_mtim, "");
    disk->file = -1;
    if (close(descriptor) != 0 && error == 0)
        error = failed(disk);
    return error;
}

struct rv_upload_seen rv_upload_look(int directory, const char *name)
{
    struct stat info;
    if (fstatat(directory, name, &info, 0) != 0)
        return (struct rv_upload_seen){.is_there = false};
    return (struct rv_upload_seen){.is_there = true,
                                   .device = info.st_dev,
                                   .inode = info.st_ino,
                                   .bytes = (uint64_t)info.st_size,
                                   .modified = info.st_mtim};
}

/* Does the name still stand for what it did? Between this and the rename is no time to speak of, but some;
   a name that was not there, the rename itself takes from nobody. */
static bool is_as_expected(const struct rv_upload_disk *disk, const char *name)
{
    const struct rv_upload_seen *before = &disk->expected;
    struct rv_upload_seen now = rv_upload_look(disk->directory, name);
    return now.is_there == before->is_there && now.device == before->device &&
           now.inode == before->inode && now.bytes == before->bytes &&
           now.modified.tv_sec == before->modified.tv_sec &&
           now.modified.tv_nsec == before->modified.tv_nsec;
}

/* A file system that does not know RENAME_NOREPLACE (EINVAL) can still replace. */
static rv_error give_name(struct rv_upload_disk *disk, struct rv_upload_file *file)
{
    int at = disk->directory;
    bool replaces = disk->replace && (!disk->expects || disk->expected.is_there);
    if (disk->expects && !is_as_expected(disk, file->name)) {
        disk->error_number = ESTALE;
        return RV_EIO;
    }
    bool is_named = renameat2(at, file->temporary, at, file->name, RENAME_NOREPLACE) == 0;
    if (!is_named && replaces && (errno == EEXIST || errno == EINVAL)) {
        file->has_replaced = faccessat(at, file->name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
        is_named = renameat(at, file->temporary, at, file->name) == 0;
    }
    if (!is_named)
        return failed(disk);
    file->is_renamed = true;
    return 0;
}

rv_error rv_upload_commit(struct rv_upload_disk *disk, struct rv_upload_file *files, size_t count)
{
    rv_error error = 0;
    for (size_t i = 0; i < count && error == 0; i++)
        if (files[i].is_there)
            error = give_name(disk, &files[i]);
    if (error == 0 && disk->sync && disk->directory >= 0 && fsync(disk->directory) != 0)
        error = failed(disk);
    for (size_t i = 0; i < count && error != 0; i++)
        if (files[i].is_renamed && !files[i].has_replaced)
            unlinkat(disk->directory, files[i].name, 0);
    return error;
}

void rv_upload_leave(struct rv_upload_disk *disk, struct rv_upload_file *files, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (files[i].is_there && !files[i].is_renamed)
            unlinkat(disk->directory, files[i].temporary, 0);
    if (disk->file >= 0)
        close(disk->file);
    if (disk->directory >= 0)
        close(disk->directory);
    if (RV_TLS_BUILT && disk->digest != NULL)
        rv_digest_free(disk->digest);
    disk->file = disk->directory = -1;
    disk->digest = NULL;
}
