/*
 * Uploads to a folder, and what must be there afterwards (disk.h).
 */
#include "fuzz/support/disk.h"

#include "fuzz/support/memory.h"
#include "fuzz/support/require.h"
#include "io/tls_layer.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* One upload, of this run. */
struct upload {
    struct upload *next;
    fuzz_disk_done *done;
    void *ctx;
    uint64_t octets;
    bool is_over;
};

static struct upload *uploads; /* newest first */
static char folder[32];        /* "": not made */
static size_t files;           /* that must be in it */

static void over(struct upload *upload)
{
    REQUIRE(!upload->is_over);
    upload->is_over = true;
}

static void progress(rv_talk *talk, uint64_t octets, void *ctx)
{
    struct upload *upload = ctx;
    REQUIRE(talk != NULL && !upload->is_over && octets > upload->octets);
    upload->octets = octets;
}

static int done(rv_talk *talk, const rv_uploaded *parts, size_t count, void *ctx)
{
    struct upload *upload = ctx;
    uint64_t octets = 0;
    over(upload);
    for (size_t i = 0; i < count; i++) {
        octets += parts[i].bytes;
        files += parts[i].file != NULL && !parts[i].replaced;
        REQUIRE(parts[i].file != NULL || parts[i].value.len == parts[i].bytes);
        REQUIRE(parts[i].file == NULL || !RV_TLS_BUILT || strlen(parts[i].sha256) == 64);
    }
    REQUIRE(octets == upload->octets);
    return upload->done(talk, upload->ctx);
}

static void aborted(rv_error reason, void *ctx)
{
    REQUIRE(reason < 0);
    over(ctx);
}

static int begin(rv_talk *talk, fuzz_disk_done *answer, void *ctx, bool is_form)
{
    int64_t most = 0;
    rv_param_int(talk, "max", 0, 1 << 20, &most);
    if (folder[0] == '\0') {
        strcpy(folder, "/tmp/rivulet-fuzz-XXXXXX");
        REQUIRE(mkdtemp(folder) != NULL);
    }
    struct upload *upload = fuzz_memory_take(sizeof *upload);
    *upload = (struct upload){.done = answer, .ctx = ctx};
    rv_upload_options options = {.directory = folder,
                                 .progress = progress,
                                 .done = done,
                                 .abort = aborted,
                                 .file_bytes_max = (uint64_t)most,
                                 .parts_max = 4,
                                 .replace = rv_query(talk).len > 0,
                                 .sha256 = RV_TLS_BUILT};
    int result = is_form ? rv_upload(talk, &options, upload)
                         : rv_upload_body(talk, rv_param(talk, "name"), &options, upload);
    if (result != RV_PENDING) {
        free(upload);
        return result;
    }
    upload->next = uploads;
    uploads = upload;
    return RV_PENDING;
}

int fuzz_disk_form(rv_talk *talk, fuzz_disk_done *answer, void *ctx)
{
    return begin(talk, answer, ctx, true);
}

int fuzz_disk_body(rv_talk *talk, fuzz_disk_done *answer, void *ctx)
{
    return begin(talk, answer, ctx, false);
}

static void empty_folder(void)
{
    size_t count = 0;
    DIR *listing = opendir(folder);
    REQUIRE(listing != NULL);
    for (struct dirent *entry; (entry = readdir(listing)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        REQUIRE(unlinkat(dirfd(listing), entry->d_name, 0) == 0);
        count++;
    }
    closedir(listing);
    REQUIRE(count == files);
    REQUIRE(rmdir(folder) == 0);
}

void fuzz_disk_end(void)
{
    while (uploads != NULL) {
        struct upload *upload = uploads;
        uploads = upload->next;
        REQUIRE(upload->is_over);
        free(upload);
    }
    if (folder[0] != '\0')
        empty_folder();
    folder[0] = '\0';
    files = 0;
}
