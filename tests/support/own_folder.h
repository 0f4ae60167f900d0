/*
 * A folder of its own for the tests of a program, which run in it. They may write one file there, "file".
 */
#ifndef RV_TESTS_OWN_FOLDER_H
#define RV_TESTS_OWN_FOLDER_H

#include <stdlib.h>
#include <unistd.h>

static char own_folder[] = "/tmp/rivulet-test.XXXXXX";

/* The fixtures of a group. */
static inline int enter_own_folder(void **state)
{
    (void)state;
    return mkdtemp(own_folder) == NULL ? -1 : chdir(own_folder);
}

static inline int leave_own_folder(void **state)
{
    (void)state;
    unlink("file");
    return chdir("/") == 0 && rmdir(own_folder) == 0 ? 0 : -1;
}

#endif
