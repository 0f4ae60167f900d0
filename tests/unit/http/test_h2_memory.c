/*
 * Memory that sessions share: blocks hold what is asked for, are used again, and keep what they had when
 * they grow.
 */
#include "http/h2_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static int set_up(void **state)
{
    *state = rv_h2_memory_new();
    return *state == NULL;
}

static int tear_down(void **state)
{
    rv_h2_memory_free(*state);
    return 0;
}

static void a_block_of_any_size_is_aligned_and_all_its_own(void **state)
{
    char *before = NULL;
    size_t before_size = 0;
    for (size_t size = 0; size < 3000; size += 7) {
        char *block = rv_h2_memory_take(*state, size);
        assert_non_null(block);
        assert_int_equal((uintptr_t)block % _Alignof(max_align_t), 0);
        memset(block, (int)(size % 251), size);
        for (size_t i = 0; i < before_size; i++)
            assert_int_equal((unsigned char)before[i], before_size % 251);
        rv_h2_memory_give(*state, before);
        before = block;
        before_size = size;
    }
    rv_h2_memory_give(*state, before);
}

static void a_small_block_given_back_is_the_next_of_its_size(void **state)
{
    void *first = rv_h2_memory_take(*state, 200), *second = rv_h2_memory_take(*state, 200);
    assert_ptr_not_equal(first, second);
    rv_h2_memory_give(*state, first);
    void *other = rv_h2_memory_take(*state, 500);
    assert_ptr_not_equal(other, first);
    rv_h2_memory_give(*state, other);
    void *third = rv_h2_memory_take(*state, 193);
    assert_ptr_equal(third, first);
    rv_h2_memory_give(*state, second);
    rv_h2_memory_give(*state, third);
}

static void a_block_that_grows_keeps_what_it_had(void **state)
{
    char *block = rv_h2_memory_resize(*state, NULL, 30);
    strcpy(block, "it stays");
    for (size_t size = 31; size < 5000; size *= 2) {
        block = rv_h2_memory_resize(*state, block, size);
        assert_non_null(block);
        assert_string_equal(block, "it stays");
        memset(block + 9, 'x', size - 9);
    }
    rv_h2_memory_give(*state, block);
}

static void more_than_there_can_be_is_refused(void **state)
{
    assert_null(rv_h2_memory_take(*state, SIZE_MAX));
    assert_null(rv_h2_memory_take(*state, SIZE_MAX - 40));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_block_of_any_size_is_aligned_and_all_its_own),
        TEST(a_small_block_given_back_is_the_next_of_its_size),
        TEST(a_block_that_grows_keeps_what_it_had),
        TEST(more_than_there_can_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
