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

static rv_bytes extension_of(rv_bytes path)
{
    for (size_t at = path.len; at > 0; at--) {
        if (path.ptr[at - 1] == '.')
            return rv_slice(path.ptr + at, path.len - at);
        if (path.ptr[at - 1] == '/')
            break;
    }
    return (rv_bytes){0};
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
