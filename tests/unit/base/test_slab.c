/*
 * Facts about the slab.
 */
#include "base/slab.h"
#include "base/poison.h"
#include "random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void a_record_that_was_given_back_last_is_taken_first(void **state)
{
    (void)state;
    struct rv_slab slab;
    rv_slab_init(&slab, 48);
    void *a = rv_slab_take(&slab);
    void *b = rv_slab_take(&slab);
    void *c = rv_slab_take(&slab);
    rv_slab_give(&slab, b);
    rv_slab_give(&slab, a);
    rv_slab_give(&slab, c);
    assert_ptr_equal(rv_slab_take(&slab), c);
    assert_ptr_equal(rv_slab_take(&slab), a);
    assert_ptr_equal(rv_slab_take(&slab), b);
    rv_slab_free(&slab);
}

static void the_size_is_rounded_up_to_a_multiple_of_16(void **state)
{
    (void)state;
    struct rv_slab slab;
    for (size_t size = 1; size <= 300; size++) {
        rv_slab_init(&slab, size);
        assert_int_equal(slab.record_size % 16, 0);
        assert_true(slab.record_size >= size && slab.record_size < size + 16);
    }
}

static void every_record_is_aligned(void **state)
{
    (void)state;
    for (size_t size = 16; size <= 640; size += 16) {
        struct rv_slab slab;
        rv_slab_init(&slab, size);
        for (int i = 0; i < 300; i++)
            assert_int_equal((uintptr_t)rv_slab_take(&slab) % (size % 64 == 0 ? 64 : 16), 0);
        rv_slab_free(&slab);
    }
}

static void the_records_in_use_are_counted(void **state)
{
    (void)state;
    struct rv_slab slab;
    rv_slab_init(&slab, 100);
    assert_int_equal(slab.taken, 0);
    void *a = rv_slab_take(&slab);
    void *b = rv_slab_take(&slab);
    assert_int_equal(slab.taken, 2);
    rv_slab_give(&slab, a);
    assert_int_equal(slab.taken, 1);
    rv_slab_give(&slab, b);
    assert_int_equal(slab.taken, 0);
    rv_slab_free(&slab);
}

/* Takes and gives at random; each record in use is filled with a number of its own. */
static void check_records_apart(size_t record_size, uint64_t seed)
{
    enum { RECORDS = 3000, STEPS = 20000 };
    static unsigned char *records[RECORDS];
    struct rv_slab slab;
    size_t count = 0;
    memset(records, 0, sizeof(records));
    rv_slab_init(&slab, record_size);
    for (int step = 0; step < STEPS; step++) {
        size_t i = random_below(&seed, RECORDS);
        if (records[i] == NULL) {
            records[i] = rv_slab_take(&slab);
            assert_non_null(records[i]);
            memset(records[i], (int)(i % 251), record_size);
            count++;
        } else {
            for (size_t at = 0; at < record_size; at++)
                if (records[i][at] != i % 251)
                    fail_msg("record %zu was overwritten at %zu", i, at);
            rv_slab_give(&slab, records[i]);
            records[i] = NULL;
            count--;
        }
        assert_int_equal(slab.taken, count);
    }
    rv_slab_free(&slab);
}

static void records_do_not_overlap(void **state)
{
    (void)state;
    check_records_apart(1, 1);
    check_records_apart(64, 2);
    check_records_apart(200, 3);
    check_records_apart(1008, 4);
}

static void a_record_may_be_larger_than_a_block(void **state)
{
    (void)state;
    enum { SIZE = 200000 };
    struct rv_slab slab;
    rv_slab_init(&slab, SIZE);
    char *records[20];
    for (int i = 0; i < 20; i++) {
        records[i] = rv_slab_take(&slab);
        assert_non_null(records[i]);
        memset(records[i], i, SIZE);
    }
    for (int i = 0; i < 20; i++) {
        assert_int_equal(records[i][0], i);
        assert_int_equal(records[i][SIZE - 1], i);
    }
    rv_slab_free(&slab);
}

static size_t resident_octets(void)
{
    unsigned long total;
    unsigned long resident;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%lu %lu", &total, &resident), 2);
    fclose(file);
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}

static void records_that_were_never_taken_cost_no_memory(void **state)
{
    (void)state;
    enum { SLABS = 500, BLOCK_SIZE = 64 * 1024 };
    static struct rv_slab slabs[SLABS];
    size_t before = resident_octets();
    for (int i = 0; i < SLABS; i++) {
        rv_slab_init(&slabs[i], 128);
        memset(rv_slab_take(&slabs[i]), 1, 128);
    }
    size_t grown = resident_octets() - before;
    /* One or two pages of each block's sixteen; the sanitizer's shadow is another one. */
    assert_true(grown < SLABS * BLOCK_SIZE / 3);
    for (int i = 0; i < SLABS; i++)
        rv_slab_free(&slabs[i]);
}

static void a_freed_slab_may_be_used_again(void **state)
{
    (void)state;
    struct rv_slab slab;
    rv_slab_init(&slab, 128);
    void *record = rv_slab_take(&slab);
    rv_slab_take(&slab);
    rv_slab_give(&slab, record);
    rv_slab_free(&slab);
    assert_int_equal(slab.taken, 0);
    assert_null(slab.free);
    memset(rv_slab_take(&slab), 'x', 128);
    assert_int_equal(slab.taken, 1);
    rv_slab_free(&slab);
}

#ifdef RV_POISONS
static void a_record_that_is_not_taken_is_out_of_bounds(void **state)
{
    (void)state;
    struct rv_slab slab;
    rv_slab_init(&slab, 128);
    char *record = rv_slab_take(&slab);
    assert_null(__asan_region_is_poisoned(record, 128));
    assert_true(__asan_address_is_poisoned(record + 128));
    rv_slab_give(&slab, record);
    for (int i = 0; i < 128; i++)
        assert_true(__asan_address_is_poisoned(record + i));
    assert_ptr_equal(rv_slab_take(&slab), record);
    assert_null(__asan_region_is_poisoned(record, 128));
    rv_slab_free(&slab);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* The first one, while the heap has nothing to hand out again. */
        cmocka_unit_test(records_that_were_never_taken_cost_no_memory),
        cmocka_unit_test(a_record_that_was_given_back_last_is_taken_first),
        cmocka_unit_test(the_size_is_rounded_up_to_a_multiple_of_16),
        cmocka_unit_test(every_record_is_aligned),
        cmocka_unit_test(the_records_in_use_are_counted),
        cmocka_unit_test(records_do_not_overlap),
        cmocka_unit_test(a_record_may_be_larger_than_a_block),
        cmocka_unit_test(a_freed_slab_may_be_used_again),
#ifdef RV_POISONS
        cmocka_unit_test(a_record_that_is_not_taken_is_out_of_bounds),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
