/*
 * The listing of a directory as a page.
 */
#ifndef RV_SERVER_LISTING_H
#define RV_SERVER_LISTING_H

#include "server/room.h"

/* A directory with more names than these is listed in part, and the page says so. */
#define RV_LISTING_ENTRIES_MAX 10000

/* One line of a listing. */
struct rv_listed {
    const char *name; /* in the talk's arena */
    uint64_t size;
    int64_t modified_s;
    bool is_directory;
};

struct rv_listing {
    const char *path;    /* below the room's root, without a slash at its end */
    rv_bytes parameters; /* of the target's path, that links keep: "name=value"; absent: none */
    struct rv_listed *entries;
    size_t count;
    bool cut; /* there are more */
};

/* Answers with the listing of a directory below the root, at once or, when it is large, in some turns of
   the worker's loop: RV_OK or RV_PENDING. */
int rv_listing_answer(struct rv_talk *talk, const struct rv_room *room,
                      const struct rv_file_root *root, const char *path);

/* The page of a listing that is sorted (listing_page.c). RV_ENOMEM. */
rv_error rv_listing_write(const struct rv_listing *listing, struct rv_buffer *page);

#endif
