/*
 * A folder for the tests of uploads (upload_folder.h).
 */
#include "support/upload_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64];

const char *upload_folder_make(void)
{
    snprintf(folder, sizeof folder, "/tmp/test-upload-XXXXXX");
    assert_non_null(mkdtemp(folder));
    return folder;
}

static unsigned count(bool removes)
{
    unsigned files = 0;
    DIR *listing = opendir(folder);
    assert_non_null(listing);
    for (struct dirent *entry; (entry = readdir(listing)) != NULL;)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            files++;
            if (removes)
                assert_true(unlinkat(dirfd(listing), entry->d_name, 0) == 0 ||
                            unlinkat(dirfd(listing), entry->d_name, AT_REMOVEDIR) == 0);
        }
    closedir(listing);
    return files;
}

unsigned upload_folder_empty(void)
{
    return count(true);
}

unsigned upload_folder_count(void)
{
    return count(false);
}

unsigned upload_folder_remove(void)
{
    unsigned files = upload_folder_empty();
    rmdir(folder);
    return files;
}

static FILE *open_file(const char *name, const char *mode)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, mode);
    assert_non_null(file);
    return file;
}

size_t upload_folder_read(const char *name, char *octets, size_t size)
{
    FILE *file = open_file(name, "r");
    size_t length = fread(octets, 1, size, file);
    fclose(file);
    return length;
}

void upload_folder_write(const char *name, const char *text)
{
    FILE *file = open_file(name, "w");
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    fclose(file);
}
