/*
 * Facts about the arena. A first block of the test's own lies on the stack, so every test that uses
 * one lets go of it with rv_arena_free.
 */
#include "base/arena.h"
#include "base/poison.h"
#include "random.h"

#include <setjmp.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { FIRST_SIZE = 512, ALIGNMENT = alignof(max_align_t) };

struct first_block {
    alignas(max_align_t) char octets[FIRST_SIZE];
};

static bool lies_in(const struct first_block *first, const void *piece)
{
    uintptr_t at = (uintptr_t)piece;
    return at >= (uintptr_t)first && at < (uintptr_t)(first + 1);
}

static void pieces_come_from_the_first_block_while_it_is_enough(void **state)
{
    (void)state;
    struct first_block first;
    struct rv_arena arena;
    rv_arena_init(&arena, &first, sizeof(first));
    for (int i = 0; i < FIRST_SIZE / 64; i++)
        assert_true(lies_in(&first, rv_arena_alloc(&arena, 64)));
    assert_null(arena.blocks);
    void *piece = rv_arena_alloc(&arena, 1);
    assert_non_null(piece);
    assert_false(lies_in(&first, piece));
    rv_arena_free(&arena);
}

static void every_piece_is_aligned_for_any_type(void **state)
{
    (void)state;
    struct first_block first;
    struct rv_arena arena;
    for (size_t skew = 0; skew < ALIGNMENT; skew++) {
        rv_arena_init(&arena, first.octets + skew, sizeof(first) - skew);
        for (size_t size = 0; size < 3000; size = size * 2 + 1)
            assert_int_equal((uintptr_t)rv_arena_alloc(&arena, size) % ALIGNMENT, 0);
        rv_arena_free(&arena);
    }
}

static void an_arena_needs_no_first_block(void **state)
{
    (void)state;
    struct rv_arena arena;
    rv_arena_init(&arena, NULL, 0);
    char *piece = rv_arena_alloc(&arena, 100);
    assert_non_null(piece);
    memset(piece, 'x', 100);
    rv_arena_reset(&arena);
    assert_null(arena.blocks);
    assert_non_null(rv_arena_alloc(&arena, 0));
    rv_arena_free(&arena);
}

static void a_first_block_smaller_than_its_misalignment_is_no_use_but_no_harm(void **state)
{
    (void)state;
    struct first_block first;
    struct rv_arena arena;
    rv_arena_init(&arena, first.octets + 1, 3);
    void *piece = rv_arena_alloc(&arena, 1);
    assert_non_null(piece);
    assert_false(lies_in(&first, piece));
    rv_arena_free(&arena);
}

static void pieces_of_no_size_are_still_apart(void **state)
{
    (void)state;
    struct first_block first;
    struct rv_arena arena;
    rv_arena_init(&arena, &first, sizeof(first));
    void *one = rv_arena_alloc(&arena, 0);
    void *other = rv_arena_alloc(&arena, 0);
    assert_non_null(one);
    assert_non_null(other);
    assert_ptr_not_equal(one, other);
    rv_arena_free(&arena);
}

static void a_large_piece_leaves_the_current_block_in_use(void **state)
{
    (void)state;
    struct first_block first;
    struct rv_arena arena;
    rv_arena_init(&arena, &first, sizeof(first));
    char *before = rv_arena_alloc(&arena, ALIGNMENT);
    char *large = rv_arena_alloc(&arena, 100000);
    char *after = rv_arena_alloc(&arena, ALIGNMENT);
    assert_non_null(large);
    assert_false(lies_in(&first, large));
    memset(large, 'x', 100000);
    assert_ptr_equal(after, before + ALIGNMENT);
    rv_arena_free(&arena);
}

static void small_pieces_share_a_block(void **state)
{
    (void)state;
    struct rv_arena arena;
    rv_arena_init(&arena, NULL, 0);
    rv_arena_alloc(&arena, 16);
    struct rv_arena_block *block = arena.blocks;
    for (int i = 0; i < 100; i++)
        rv_arena_alloc(&arena, 32);
    assert_ptr_equal(arena.blocks, block);
    rv_arena_free(&arena);
}

static void a_copy_has_a_terminator_and_is_no_view(void **state)
{
    (void)state;
    struct first_block first;
    struct rv_arena arena;
    char text[] = "rivulet";
    rv_arena_init(&arena, &first, sizeof(first));
    char *copy = rv_arena_copy(&arena, rv_str(text));
    text[0] = 'R';
    assert_string_equal(copy, "rivulet");
    assert_string_equal(rv_arena_copy(&arena, (rv_bytes){NULL, 0}), "");
    assert_memory_equal(rv_arena_copy(&arena, RV_LIT("a\0b")), "a\0b", 4);
    rv_arena_free(&arena);
}

static void a_reset_frees_the_further_blocks_and_starts_the_first_again(void **state)
{
    (void)state;
    struct first_block first;
    struct rv_arena arena;
    rv_arena_init(&arena, &first, sizeof(first));
    void *begin = rv_arena_alloc(&arena, 10);
    for (int i = 0; i < 100; i++)
        assert_non_null(rv_arena_alloc(&arena, 300)); /* the leak checker sees what is not freed */
    assert_non_null(arena.blocks);
    rv_arena_reset(&arena);
    assert_null(arena.blocks);
    assert_ptr_equal(rv_arena_alloc(&arena, 10), begin);
    rv_arena_free(&arena);
}

static void a_piece_that_no_machine_can_hold_is_refused(void **state)
{
    (void)state;
    struct first_block first;
    struct rv_arena arena;
    rv_arena_init(&arena, &first, sizeof(first));
    char *before = rv_arena_alloc(&arena, ALIGNMENT);
    assert_null(rv_arena_alloc(&arena, SIZE_MAX));
    assert_null(rv_arena_alloc(&arena, SIZE_MAX - ALIGNMENT));
    assert_null(rv_arena_alloc(&arena, PTRDIFF_MAX));
    assert_ptr_equal(rv_arena_alloc(&arena, ALIGNMENT), before + ALIGNMENT);
    rv_arena_free(&arena);
}

static void pieces_do_not_overlap(void **state)
{
    (void)state;
    enum { PIECES = 400 };
    static struct {
        unsigned char *octets;
        size_t size;
    } pieces[PIECES];
    struct first_block first;
    struct rv_arena arena;
    uint64_t seed = 1;
    rv_arena_init(&arena, &first, sizeof(first));
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < PIECES; i++) {
            pieces[i].size = random_of_any_size(&seed, 12);
            pieces[i].octets = rv_arena_alloc(&arena, pieces[i].size);
            assert_non_null(pieces[i].octets);
            memset(pieces[i].octets, i % 251, pieces[i].size);
        }
        for (int i = 0; i < PIECES; i++)
            for (size_t at = 0; at < pieces[i].size; at++)
                assert_int_equal(pieces[i].octets[at], i % 251);
        rv_arena_reset(&arena);
    }
    rv_arena_free(&arena);
}

#ifdef RV_POISONS
static void a_piece_is_out_of_bounds_after_the_reset(void **state)
{
    (void)state;
    struct first_block first;
    struct rv_arena arena;
    rv_arena_init(&arena, &first, sizeof(first));
    char *piece = rv_arena_alloc(&arena, 40);
    assert_null(__asan_region_is_poisoned(piece, 40));
    assert_true(__asan_address_is_poisoned(piece + 40));
    rv_arena_reset(&arena);
    for (int i = 0; i < 40; i++)
        assert_true(__asan_address_is_poisoned(piece + i));
    rv_arena_free(&arena);
}

static void a_first_block_that_was_let_go_is_its_embedders_again(void **state)
{
    (void)state;
    struct first_block first;
    struct rv_arena arena;
    rv_arena_init(&arena, &first, sizeof(first));
    rv_arena_alloc(&arena, 40);
    rv_arena_free(&arena);
    assert_null(__asan_region_is_poisoned(&first, sizeof(first)));
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_come_from_the_first_block_while_it_is_enough),
        cmocka_unit_test(every_piece_is_aligned_for_any_type),
        cmocka_unit_test(an_arena_needs_no_first_block),
        cmocka_unit_test(a_first_block_smaller_than_its_misalignment_is_no_use_but_no_harm),
        cmocka_unit_test(pieces_of_no_size_are_still_apart),
        cmocka_unit_test(a_large_piece_leaves_the_current_block_in_use),
        cmocka_unit_test(small_pieces_share_a_block),
        cmocka_unit_test(a_copy_has_a_terminator_and_is_no_view),
        cmocka_unit_test(a_reset_frees_the_further_blocks_and_starts_the_first_again),
        cmocka_unit_test(a_piece_that_no_machine_can_hold_is_refused),
        cmocka_unit_test(pieces_do_not_overlap),
#ifdef RV_POISONS
        cmocka_unit_test(a_piece_is_out_of_bounds_after_the_reset),
        cmocka_unit_test(a_first_block_that_was_let_go_is_its_embedders_again),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
