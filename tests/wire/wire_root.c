/*
 * The files of the wire app (wire_root.h).
 */
#include "wire/wire_root.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define ASSETS_MAX 64

/* ---- a folder in memory -------------------------------------------------------------------------- */

/* The table lives to the end of the program, as one that is compiled in does. */
static rv_asset assets[ASSETS_MAX];
static size_t asset_count;
static size_t folder_length;

static int read_asset(const char *path, const struct stat *info, int type, struct FTW *at)
{
    (void)at;
    if (type != FTW_F)
        return 0;
    size_t length = (size_t)info->st_size;
    char *octets = malloc(length + 1), *name = strdup(path + folder_length + 1);
    FILE *file = fopen(path, "r");
    bool done = octets != NULL && name != NULL && file != NULL && asset_count < ASSETS_MAX &&
                fread(octets, 1, length, file) == length;
    if (file != NULL)
        fclose(file);
    if (!done)
        return -1;
    assets[asset_count++] = (rv_asset){
        .path = name, .octets = octets, .length = length, .modified_s = info->st_mtim.tv_sec};
    return 0;
}

static rv_error add_assets(rv_app *app, const char *folder)
{
    folder_length = strlen(folder);
    if (nftw(folder, read_asset, 8, FTW_PHYS) != 0)
        return RV_EIO;
    return rv_assets(app, "/", assets, asset_count);
}

/* ---- one file ------------------------------------------------------------------------------------ */

static int serve_file(rv_talk *talk, void *ctx)
{
    char path[512];
    snprintf(path, sizeof path, "%s/index.html", (const char *)ctx);
    return rv_file(talk, path, NULL);
}

static rv_error add_file(rv_app *app, const char *folder)
{
    rv_error error = rv_route(app, "GET /", serve_file, (void *)folder);
    return error != RV_OK ? error : rv_route(app, "GET /index.html", serve_file, (void *)folder);
}

/* The same file with what an application says of it. */
static int describe_file(rv_talk *talk, void *ctx)
{
    rv_set_header(talk, "Cache-Control", "max-age=60");
    rv_set_header(talk, "Expires", "Fri, 13 Feb 2099 23:31:30 GMT");
    rv_set_header(talk, "Content-Location", "/index.html");
    rv_set_header(talk, "Vary", "Accept-Language");
    return serve_file(talk, ctx);
}

/* ---- which --------------------------------------------------------------------------------------- */

bool wire_root_read(const char *name, enum wire_root *root)
{
    static const char *const names[] = {
        [WIRE_FOLDER] = "folder", [WIRE_ASSETS] = "assets", [WIRE_FILE] = "file"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) {
            *root = (enum wire_root)i;
            return true;
        }
    return false;
}

rv_error wire_root_add(rv_app *app, enum wire_root root, const char *folder)
{
    rv_error error = rv_route(app, "GET /described", describe_file, (void *)folder);
    if (error != RV_OK)
        return error;
    switch (root) {
    case WIRE_ASSETS:
        return add_assets(app, folder);
    case WIRE_FILE:
        return add_file(app, folder);
    case WIRE_FOLDER:
        break;
    }
    return rv_files(app, "/", folder, &(rv_files_options){.cache_control = "max-age=60"});
}
