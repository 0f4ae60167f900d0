/*
 * Facts about the growable buffer.
 */
#include "base/buffer.h"
#include "base/bytes.h"
#include "base/poison.h"
#include "random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void assert_contents(const struct rv_buffer *buffer, const char *text)
{
    assert_int_equal(buffer->len, strlen(text));
    assert_memory_equal(buffer->ptr, text, buffer->len);
}

static void what_is_appended_lies_behind_what_was_there(void **state)
{
    (void)state;
    struct rv_buffer buffer = {0};
    assert_int_equal(rv_buffer_append(&buffer, RV_LIT("GET ")), RV_OK);
    assert_int_equal(rv_buffer_append(&buffer, RV_LIT("/ok")), RV_OK);
    assert_contents(&buffer, "GET /ok");
    rv_buffer_free(&buffer);
}

static void a_buffer_without_contents_has_no_block(void **state)
{
    (void)state;
    struct rv_buffer buffer = {0};
    assert_int_equal(rv_buffer_append(&buffer, (rv_bytes){NULL, 0}), RV_OK);
    assert_int_equal(rv_buffer_reserve(&buffer, 0), RV_OK);
    rv_buffer_consume(&buffer, 0);
    assert_null(buffer.ptr);
    rv_buffer_free(&buffer);
}

static void reserved_room_may_be_written_and_counted_in(void **state)
{
    (void)state;
    struct rv_buffer buffer = {0};
    assert_int_equal(rv_buffer_append(&buffer, RV_LIT("ab")), RV_OK);
    assert_int_equal(rv_buffer_reserve(&buffer, 5000), RV_OK);
    assert_true(buffer.capacity - buffer.len >= 5000);
    memset(buffer.ptr + buffer.len, 'x', 5000);
    buffer.len += 5000;
    assert_memory_equal(buffer.ptr, "abx", 3);
    char *block = buffer.ptr;
    assert_int_equal(rv_buffer_reserve(&buffer, buffer.capacity - buffer.len), RV_OK);
    assert_ptr_equal(buffer.ptr, block);
    rv_buffer_free(&buffer);
}

static void consuming_drops_octets_from_the_front(void **state)
{
    (void)state;
    struct rv_buffer buffer = {0};
    assert_int_equal(rv_buffer_append(&buffer, RV_LIT("firstsecond")), RV_OK);
    rv_buffer_consume(&buffer, 5);
    assert_contents(&buffer, "second");
    rv_buffer_consume(&buffer, 0);
    assert_contents(&buffer, "second");
    assert_int_equal(rv_buffer_append(&buffer, RV_LIT("third")), RV_OK);
    assert_contents(&buffer, "secondthird");
    rv_buffer_free(&buffer);
}

static void an_emptied_buffer_keeps_its_block(void **state)
{
    (void)state;
    struct rv_buffer buffer = {0};
    assert_int_equal(rv_buffer_append(&buffer, RV_LIT("contents")), RV_OK);
    char *block = buffer.ptr;
    size_t capacity = buffer.capacity;
    rv_buffer_consume(&buffer, 8);
    assert_int_equal(buffer.len, 0);
    assert_ptr_equal(buffer.ptr, block);
    assert_int_equal(buffer.capacity, capacity);
    rv_buffer_free(&buffer);
}

static void a_freed_buffer_may_be_used_again(void **state)
{
    (void)state;
    struct rv_buffer buffer = {0};
    assert_int_equal(rv_buffer_append(&buffer, RV_LIT("old")), RV_OK);
    rv_buffer_free(&buffer);
    assert_null(buffer.ptr);
    assert_int_equal(buffer.len, 0);
    assert_int_equal(buffer.capacity, 0);
    assert_int_equal(rv_buffer_append(&buffer, RV_LIT("new")), RV_OK);
    assert_contents(&buffer, "new");
    rv_buffer_free(&buffer);
}

/* Reads the padding, so that the sanitizer looks at every octet of it. */
static void assert_padding_readable(const struct rv_buffer *buffer)
{
#ifdef RV_POISONS
    assert_null(__asan_region_is_poisoned(buffer->ptr, buffer->len + RV_SCAN_PADDING));
#endif
    volatile char seen;
    for (size_t i = 0; i < RV_SCAN_PADDING; i++)
        seen = ((volatile char *)buffer->ptr)[buffer->len + i];
    (void)seen;
}

static void the_padding_behind_the_contents_is_always_readable(void **state)
{
    (void)state;
    struct rv_buffer buffer = {0};
    uint64_t seed = 1;
    static const char text[2048];
    for (int i = 0; i < 2000; i++) {
        size_t size = random_of_any_size(&seed, 11);
        assert_int_equal(rv_buffer_append(&buffer, rv_slice(text, size)), RV_OK);
        if (buffer.ptr == NULL)
            continue;
        assert_padding_readable(&buffer);
        if (random_below(&seed, 3) == 0) {
            size_t room = buffer.capacity - buffer.len;
            assert_int_equal(rv_buffer_reserve(&buffer, room), RV_OK);
            memset(buffer.ptr + buffer.len, 0, room);
            buffer.len += room;
            assert_padding_readable(&buffer);
        }
        rv_buffer_consume(&buffer, random_below(&seed, buffer.len + 1));
        assert_padding_readable(&buffer);
    }
    rv_buffer_free(&buffer);
}

static void room_that_no_machine_has_is_refused_and_the_contents_stay(void **state)
{
    (void)state;
    struct rv_buffer buffer = {0};
    assert_int_equal(rv_buffer_append(&buffer, RV_LIT("kept")), RV_OK);
    assert_int_equal(rv_buffer_reserve(&buffer, SIZE_MAX), RV_ENOMEM);
    assert_int_equal(rv_buffer_reserve(&buffer, SIZE_MAX - buffer.len), RV_ENOMEM);
    assert_int_equal(rv_buffer_reserve(&buffer, SIZE_MAX - 100), RV_ENOMEM);
    assert_int_equal(rv_buffer_reserve(&buffer, PTRDIFF_MAX), RV_ENOMEM);
    assert_contents(&buffer, "kept");
    rv_buffer_free(&buffer);
}

static void growing_octet_by_octet_moves_the_contents_rarely(void **state)
{
    (void)state;
    struct rv_buffer buffer = {0};
    int growths = 0;
    for (size_t i = 0; i < 1 << 20; i++) {
        size_t capacity = buffer.capacity;
        char octet = (char)(i * 31 >> 3);
        assert_int_equal(rv_buffer_append(&buffer, rv_slice(&octet, 1)), RV_OK);
        growths += buffer.capacity != capacity;
    }
    for (size_t i = 0; i < 1 << 20; i++)
        if (buffer.ptr[i] != (char)(i * 31 >> 3))
            fail_msg("octet %zu is another", i);
    assert_true(growths <= 14);
    rv_buffer_free(&buffer);
}

static void a_first_reserve_takes_no_more_than_is_asked_for(void **state)
{
    (void)state;
    struct rv_buffer buffer = {0};
    assert_int_equal(rv_buffer_reserve(&buffer, 1000000), RV_OK);
    assert_int_equal(buffer.capacity, 1000000);
    rv_buffer_free(&buffer);
}

#ifdef RV_POISONS
static void what_was_consumed_is_out_of_bounds_until_the_next_reserve(void **state)
{
    (void)state;
    struct rv_buffer buffer = {0};
    assert_int_equal(rv_buffer_reserve(&buffer, 1000), RV_OK);
    buffer.len = 1000;
    rv_buffer_consume(&buffer, 900);
    assert_null(__asan_region_is_poisoned(buffer.ptr, 100 + RV_SCAN_PADDING));
    assert_true(__asan_address_is_poisoned(buffer.ptr + 100 + RV_SCAN_PADDING));
    assert_true(__asan_address_is_poisoned(buffer.ptr + 999));
    assert_int_equal(rv_buffer_reserve(&buffer, 900), RV_OK);
    assert_null(__asan_region_is_poisoned(buffer.ptr, 1000 + RV_SCAN_PADDING));
    rv_buffer_free(&buffer);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_appended_lies_behind_what_was_there),
        cmocka_unit_test(a_buffer_without_contents_has_no_block),
        cmocka_unit_test(reserved_room_may_be_written_and_counted_in),
        cmocka_unit_test(consuming_drops_octets_from_the_front),
        cmocka_unit_test(an_emptied_buffer_keeps_its_block),
        cmocka_unit_test(a_freed_buffer_may_be_used_again),
        cmocka_unit_test(the_padding_behind_the_contents_is_always_readable),
        cmocka_unit_test(room_that_no_machine_has_is_refused_and_the_contents_stay),
        cmocka_unit_test(growing_octet_by_octet_moves_the_contents_rarely),
        cmocka_unit_test(a_first_reserve_takes_no_more_than_is_asked_for),
#ifdef RV_POISONS
        cmocka_unit_test(what_was_consumed_is_out_of_bounds_until_the_next_reserve),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
