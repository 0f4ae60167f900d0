/*
 * From a path to a media type: finds the extension and looks it up. Looks at names only, never into
 * a file, and owns nothing but a constant table.
 */
#include "http/mime.h"
#include "http/mime_types.h"

struct mime_type {
    rv_bytes extension; /* in lower case */
    const char *type;
};

static const struct mime_type mime_types[] = {
#define RV_MIME_ENTRY(extension, type) {RV_LIT(extension), type},
    RV_MIME_TYPES(RV_MIME_ENTRY)
#undef RV_MIME_ENTRY
};

/* What follows the last dot. When that dot stands in an earlier segment there is a slash behind it,
   and no extension has one. */
static rv_bytes extension_of(rv_bytes path)
{
    const char *dot = path.len > 0 ? memrchr(path.ptr, '.', path.len) : NULL;
    if (dot == NULL)
        return (rv_bytes){0};
    return rv_slice(dot + 1, path.len - (size_t)(dot + 1 - path.ptr));
}

/* Negative, zero or positive, as `extension` in lower case sorts before, with or behind `known`. */
static int compare_extension(rv_bytes extension, rv_bytes known)
{
    for (size_t i = 0; i < extension.len && i < known.len; i++) {
        int difference = (unsigned char)rv_lower(extension.ptr[i]) - (unsigned char)known.ptr[i];
        if (difference != 0)
            return difference;
    }
    return (extension.len > known.len) - (extension.len < known.len);
}

const char *rv_mime_of(rv_bytes path)
{
    rv_bytes extension = extension_of(path);
    size_t low = 0;
    size_t high = sizeof mime_types / sizeof mime_types[0];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare_extension(extension, mime_types[middle].extension);
        if (order == 0)
            return mime_types[middle].type;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return "application/octet-stream";
}
