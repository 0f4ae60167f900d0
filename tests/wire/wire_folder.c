/*
 * Makes and removes the folder of the wire app (wire_folder.h).
 */
#include "wire/wire_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TABLE "tests/wire/folder.json"

/* Fri, 13 Feb 2009 23:31:30 GMT. A Last-Modified of this very second would be weak. */
static const struct timespec times[2] = {{1234567890, 0}, {1234567890, 0}};

static char top[] = "/tmp/rivulet-wire-XXXXXX";
static char served[sizeof top + 8];

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "%s: %s: %s\n", TABLE, what, strerror(errno));
    exit(1);
}

/* Makes the directories that a path goes through. */
static void make_way(char *path)
{
    for (char *slash = strchr(path + sizeof top, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, 0755) != 0 && errno != EEXIST)
            fail(path);
        *slash = '/';
    }
}

/* What is in a file: a text, or one that is repeated. All of them are ASCII. */
static void write_file(const char *path, const json_t *contents)
{
    const json_t *repeat = json_object_get(contents, "repeat");
    const json_t *text = repeat != NULL ? repeat : contents;
    json_int_t count = repeat != NULL ? json_integer_value(json_object_get(contents, "times")) : 1;
    FILE *file = fopen(path, "w");
    if (file == NULL || !json_is_string(text))
        fail(path);
    for (json_int_t i = 0; i < count; i++)
        fwrite(json_string_value(text), 1, json_string_length(text), file);
    if (fclose(file) != 0 || utimensat(AT_FDCWD, path, times, 0) != 0)
        fail(path);
}

const char *wire_folder_make(void)
{
    json_error_t error;
    json_t *table = json_load_file(TABLE, 0, &error), *value;
    if (table == NULL || mkdtemp(top) == NULL)
        fail(table == NULL ? error.text : top);
    char path[512];
    const char *name;
    size_t index;
    json_array_foreach(json_object_get(table, "directories"), index, value)
    {
        snprintf(path, sizeof path, "%s/%s/", top, json_string_value(value));
        make_way(path);
    }
    json_object_foreach(json_object_get(table, "files"), name, value)
    {
        snprintf(path, sizeof path, "%s/%s", top, name);
        make_way(path);
        write_file(path, value);
    }
    json_object_foreach(json_object_get(table, "links"), name, value)
    {
        snprintf(path, sizeof path, "%s/%s", top, name);
        if (symlink(json_string_value(value), path) != 0)
            fail(path);
    }
    json_decref(table);
    snprintf(served, sizeof served, "%s/pub", top);
    return served;
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *at)
{
    (void)info, (void)type, (void)at;
    return remove(path);
}

void wire_folder_remove(void)
{
    nftw(top, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}
