/*
 * rv_file: one file as a whole answer. The path is the program's own; what comes from a client goes
 * through rv_files (files.c).
 */
#include "http/mime.h"
#include "server/representation.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static rv_error open_regular(const char *path, int *file, struct stat *info)
{
    /* Non-blocking: opening a FIFO must not hang the worker. */
    *file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (*file < 0) {
        if (errno == EACCES || errno == EPERM)
            return RV_EPERM;
        return errno == EMFILE || errno == ENFILE ? RV_EFILES : RV_ENOTFOUND;
    }
    if (fstat(*file, info) != 0 || !S_ISREG(info->st_mode)) {
        close(*file);
        return RV_ENOTFOUND;
    }
    return 0;
}

int rv_file(rv_talk *talk, const char *path, const rv_file_options *options)
{
    static const rv_file_options defaults;
    const rv_file_options *with = options == NULL ? &defaults : options;
    char etag[RV_FILE_ETAG_BYTES];
    struct stat info;
    int file;
    rv_error error = rv_answer_check(talk, 200);
    if (error == 0)
        error = open_regular(path, &file, &info);
    if (error != 0)
        return error;
    rv_file_etag(etag, (uint64_t)info.st_size, info.st_mtim, "");
    return rv_answer_representation(
        talk,
        &(struct rv_representation){
            .content_type =
                with->content_type == NULL ? rv_mime_of(rv_str(path)) : with->content_type,
            .etag = with->etag == NULL ? etag : with->etag,
            .modified_s = info.st_mtim.tv_sec,
            .no_conditions = with->no_conditions,
            .content = {.kind = RV_CONTENT_FILE, .file = file, .length = (uint64_t)info.st_size}});
}
