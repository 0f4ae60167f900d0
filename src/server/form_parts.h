/*
 * The parts of a whole body of multipart/form-data, found when the first of them is asked for, and kept in
 * the talk's arena.
 */
#ifndef RV_SERVER_FORM_PARTS_H
#define RV_SERVER_FORM_PARTS_H

#include "server/talk.h"

struct rv_form_parts {
    rv_form_part *parts;
    size_t count;
    rv_error error; /* the form cannot be used; then it has no parts here */
    int status;     /* what that is worth to its client ... */
    const char *reason;
};

/* NULL: the talk has no such body. */
const struct rv_form_parts *rv_form_parts_of(struct rv_talk *talk);

#endif
