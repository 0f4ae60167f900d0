/*
 * Whole files: read from paths and from stdin; what cannot be read or written is said by name.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/file.h"
#include "support/own_folder.h"

static char why[RV_FILE_WHY_MAX];

static void a_file_of_several_pieces_is_read_whole(void **state)
{
    (void)state;
    static char octets[200000];
    struct rv_buffer buffer = {0};
    for (size_t i = 0; i < sizeof octets; i++)
        octets[i] = (char)(i * 7 + i / 251);
    int file = open("file", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(write(file, octets, sizeof octets), sizeof octets);
    close(file);
    assert_int_equal(rv_buffer_append(&buffer, RV_LIT("before ")), 0);
    assert_int_equal(rv_file_read("file", &buffer, why), 0);
    assert_int_equal(buffer.len, 7 + sizeof octets);
    assert_memory_equal(buffer.ptr, "before ", 7);
    assert_memory_equal(buffer.ptr + 7, octets, sizeof octets);
    rv_buffer_free(&buffer);
}

static void a_dash_is_stdin(void **state)
{
    (void)state;
    int ends[2];
    struct rv_buffer buffer = {0};
    int saved = dup(STDIN_FILENO);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "octets", 6), 6);
    close(ends[1]);
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    assert_int_equal(rv_file_read("-", &buffer, why), 0);
    dup2(saved, STDIN_FILENO);
    close(saved);
    assert_int_equal(buffer.len, 6);
    assert_memory_equal(buffer.ptr, "octets", 6);
    rv_buffer_free(&buffer);
}

static void what_cannot_be_read_is_named_with_the_reason(void **state)
{
    (void)state;
    struct rv_buffer buffer = {0};
    assert_int_equal(rv_file_read("nothing", &buffer, why), RV_EIO);
    assert_string_equal(why, "cannot read \"nothing\": No such file or directory");
    assert_int_equal(rv_file_read(".", &buffer, why), RV_EIO);
    assert_string_equal(why, "cannot read \".\": Is a directory");
    rv_buffer_free(&buffer);
}

static void what_can_be_written_is_not_made(void **state)
{
    (void)state;
    unlink("file");
    assert_int_equal(rv_file_may_write("file", why), 0);
    assert_int_not_equal(access("file", F_OK), 0);
    close(open("file", O_WRONLY | O_CREAT, 0600));
    assert_int_equal(rv_file_may_write("file", why), 0);
}

static void what_cannot_be_written_is_named_with_the_reason(void **state)
{
    (void)state;
    assert_int_equal(rv_file_may_write("nothing/file", why), RV_EIO);
    assert_string_equal(why, "cannot write \"nothing/file\": No such file or directory");
    assert_int_equal(rv_file_may_write(".", why), RV_EIO);
    assert_string_equal(why, "cannot write \".\": Is a directory");
    close(open("file", O_WRONLY | O_CREAT, 0600));
    assert_int_equal(rv_file_may_write("file/below", why), RV_EIO);
    assert_string_equal(why, "cannot write \"file/below\": Not a directory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_of_several_pieces_is_read_whole),
        cmocka_unit_test(a_dash_is_stdin),
        cmocka_unit_test(what_cannot_be_read_is_named_with_the_reason),
        cmocka_unit_test(what_can_be_written_is_not_made),
        cmocka_unit_test(what_cannot_be_written_is_named_with_the_reason),
    };
    return cmocka_run_group_tests(tests, enter_own_folder, leave_own_folder);
}
