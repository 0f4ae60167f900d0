/*
 * A file whose text is looked at: what a report wrote, as a string.
 */
#ifndef RV_TESTS_MEMORY_FILE_H
#define RV_TESTS_MEMORY_FILE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

struct memory_file {
    char *text;
    size_t length;
    FILE *file;
};

/* It stays where it is until memory_file_text. */
static inline FILE *memory_file_open(struct memory_file *memory)
{
    memory->file = open_memstream(&memory->text, &memory->length);
    assert_non_null(memory->file);
    return memory->file;
}

/* Closes it; the caller frees the text. */
static inline char *memory_file_text(struct memory_file *memory)
{
    assert_int_equal(fclose(memory->file), 0);
    return memory->text;
}

#endif
