/*
 * What the wire app has at "/": the same folder in each of the three ways in which the library serves
 * files.
 */
#ifndef WIRE_ROOT_H
#define WIRE_ROOT_H

#include <rivulet.h>

enum wire_root {
    WIRE_FOLDER, /* rv_files */
    WIRE_ASSETS, /* rv_assets: what is in the folder was read into memory */
    WIRE_FILE    /* rv_file, of its index.html alone */
};

/* "folder", "assets" or "file"; false: it is none of these. */
bool wire_root_read(const char *name, enum wire_root *root);

/* Routes "/" and what is below it. `folder` must live as long as the server. */
rv_error wire_root_add(rv_app *app, enum wire_root root, const char *folder);

#endif
