/*
 * Facts about opening below a directory: both ways open what is there, and neither anything else.
 */
#include "server/file_open.h"
#include "support/own_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static int root;

static int make_tree(void **state)
{
    if (enter_own_folder(state) != 0 || mkdir("root", 0755) != 0 || mkdir("root/sub", 0755) != 0)
        return -1;
    int inside = open("root/sub/file", O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
    int outside = open("file", O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
    if (inside < 0 || outside < 0 || close(inside) != 0 || close(outside) != 0)
        return -1;
    root = open("root", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return symlink("../file", "root/out") + symlink("sub/file", "root/in") +
           symlink("..", "root/up") + mkfifo("root/fifo", 0644);
}

static int remove_tree(void **state)
{
    static const char *const names[] = {"root/out", "root/in", "root/up", "root/fifo",
                                        "root/sub/file"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unlink(names[i]);
    rmdir("root/sub");
    rmdir("root");
    close(root);
    return leave_own_folder(state);
}

static int beneath(const char *path)
{
    return rv_open_beneath(root, path, false);
}

static int by_steps(const char *path)
{
    return rv_open_by_steps(root, path);
}

static void opens(int (*way)(const char *path), const char *path)
{
    int file = way(path);
    assert_true(file >= 0);
    assert_int_equal(close(file), 0);
}

static void what_is_below_is_opened(void **state)
{
    (void)state;
    int (*const ways[])(const char *path) = {beneath, by_steps};
    for (size_t i = 0; i < 2; i++) {
        opens(ways[i], "");
        opens(ways[i], "sub");
        opens(ways[i], "sub/file");
        opens(ways[i], "fifo"); /* without a writer: it does not wait */
        assert_int_equal(ways[i]("none"), -ENOENT);
        assert_int_equal(ways[i]("sub/file/x"), -ENOTDIR);
    }
    opens(beneath, "in");
}

static void nothing_else_is_opened(void **state)
{
    (void)state;
    int (*const ways[])(const char *path) = {beneath, by_steps};
    static const char *const paths[] = {"..",          ".",    "../file",   "sub/../../file",
                                        "/etc/passwd", "sub/", "sub//file", "./sub",
                                        "sub/."};
    for (size_t i = 0; i < 2; i++) {
        for (size_t j = 0; j < sizeof paths / sizeof *paths; j++)
            assert_int_equal(ways[i](paths[j]), -EINVAL);
        assert_true(ways[i]("out") < 0);
        assert_true(ways[i]("up") < 0);
        assert_true(ways[i]("up/file") < 0);
    }
    assert_true(by_steps("in") < 0);
    char longest[400];
    memset(longest, 'a', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    assert_int_equal(by_steps(longest), -ENAMETOOLONG);
}

static void links_lead_out_where_that_is_wanted(void **state)
{
    (void)state;
    int file = rv_open_beneath(root, "out", true);
    assert_true(file >= 0);
    close(file);
    assert_int_equal(rv_open_beneath(root, "../file", true), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_below_is_opened),
        cmocka_unit_test(nothing_else_is_opened),
        cmocka_unit_test(links_lead_out_where_that_is_wanted),
    };
    return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
