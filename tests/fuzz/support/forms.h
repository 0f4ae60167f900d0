/*
 * Handlers that take forms part by part. /form tells how many parts and octets there were, and a sum that
 * depends on all of them; the answer is the same however the octets came. /parts is programmed by its query's
 * "do": each time that the library tells of something - a part opens, data, a part closes, the form is done -
 * the next letter is what comes of it:
 *
 *    p    pauses, for a millisecond          i e l x  returns RV_EINVAL, RV_EPERM, RV_ELIMIT, RV_EIO
 *    s S  pauses until it is answered from   a A b    answers and returns RV_OK, RV_FULL, RV_EINVAL
 *         outside, which resumes; answers    w        writes a piece of a streamed response
 *    o    asks for the body once more        any other letter, and none: goes on
 *
 * The library must keep what it promises: each part that was opened is closed or aborted, and the form done or
 * aborted, exactly once, one part at a time and nothing in a pause, nothing behind the end.
 */
#ifndef FUZZ_FORMS_H
#define FUZZ_FORMS_H

#include "fuzz/support/jobs.h"

/* For streamed routes, on the loop. */
int fuzz_form(rv_talk *talk, struct fuzz_job *job);
int fuzz_parts(rv_talk *talk, struct fuzz_job *job);

/* With the files going to the disk (disk.h): /to-disk a form, /to-file/{name} the body. */
int fuzz_to_disk(rv_talk *talk, struct fuzz_job *job);
int fuzz_to_file(rv_talk *talk, struct fuzz_job *job);

#endif
