/*
 * A folder for the tests of uploads, and what is in it.
 */
#ifndef RV_TESTS_UPLOAD_FOLDER_H
#define RV_TESTS_UPLOAD_FOLDER_H

#include <stddef.h>

/* Makes it; its path lives until the next one is made. */
const char *upload_folder_make(void);

/* Removes it, with whatever is in it. How many files that was. */
unsigned upload_folder_remove(void);

/* How many files it has; removes them. */
unsigned upload_folder_empty(void);

/* How many it has. */
unsigned upload_folder_count(void);

/* Reads or writes the file of that name, which is there or is made; the length that was read. */
size_t upload_folder_read(const char *name, char *octets, size_t size);
void upload_folder_write(const char *name, const char *text);

#endif
