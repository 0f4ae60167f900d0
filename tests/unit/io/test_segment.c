/*
 * Facts about the output queue: the order of what is put in, and what is given back when.
 */
#include "io/segment.h"
#include "base/bytes.h"
#include "random.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

/* Of a loop, the queue needs nothing but the slab. */
static struct rv_loop loop;

static struct rv_output *queue(void)
{
    if (loop.segments.record_size == 0)
        rv_slab_init(&loop.segments, sizeof(struct rv_segment));
    struct rv_output *output = rv_output_new();
    assert_non_null(output);
    return output;
}

/* Frees the queue; nothing may be left of it. */
static void free_queue(struct rv_output *output)
{
    rv_output_free(&loop, output);
    assert_int_equal(loop.segments.taken, 0);
}

static void copy(struct rv_output *output, const char *text)
{
    char *room = rv_output_reserve(&loop, output, strlen(text));
    assert_non_null(room);
    memcpy(room, text, strlen(text));
    rv_output_commit(output, strlen(text));
}

static void count_release(void *ctx)
{
    ++*(int *)ctx;
}

static void borrow(struct rv_output *output, const char *text, int *released)
{
    assert_int_equal(rv_output_append_borrowed(&loop, output, rv_str(text),
                                               released != NULL ? count_release : NULL, released),
                     0);
}

static int open_file(void)
{
    int file = memfd_create("output", MFD_CLOEXEC);
    assert_true(file >= 0);
    return file;
}

static bool is_open(int file)
{
    return fcntl(file, F_GETFD) >= 0;
}

/* What lies in memory at the front, as one string. */
static const char *front(const struct rv_output *output)
{
    static char text[256];
    struct iovec pieces[16];
    size_t used = 0;
    int count = rv_output_gather(output, pieces, 16);
    for (int i = 0; i < count; i++) {
        assert_true(used + pieces[i].iov_len < sizeof text);
        memcpy(text + used, pieces[i].iov_base, pieces[i].iov_len);
        used += pieces[i].iov_len;
    }
    text[used] = '\0';
    return text;
}

/* ---- in ---------------------------------------------------------------------------------------- */

static void an_empty_queue_has_nothing_to_send(void **state)
{
    (void)state;
    struct rv_output *output = queue();
    struct iovec piece;
    assert_int_equal(rv_output_gather(output, &piece, 1), 0);
    assert_int_equal(output->octets, 0);
    free_queue(output);
}

static void copies_share_a_block(void **state)
{
    (void)state;
    struct rv_output *output = queue();
    copy(output, "one ");
    copy(output, "two");
    struct iovec pieces[4];
    assert_int_equal(rv_output_gather(output, pieces, 4), 1);
    assert_string_equal(front(output), "one two");
    assert_int_equal(output->octets, 7);
    free_queue(output);
}

static void a_copy_that_does_not_fit_begins_another_block(void **state)
{
    (void)state;
    struct rv_output *output = queue();
    struct iovec pieces[4];
    assert_non_null(rv_output_reserve(&loop, output, RV_SEGMENT_COPY_BYTES - 1));
    rv_output_commit(output, RV_SEGMENT_COPY_BYTES - 1);
    assert_non_null(rv_output_reserve(&loop, output, 1));
    rv_output_commit(output, 1);
    assert_int_equal(rv_output_gather(output, pieces, 4), 1);
    assert_non_null(rv_output_reserve(&loop, output, 1));
    rv_output_commit(output, 1);
    assert_int_equal(rv_output_gather(output, pieces, 4), 2);
    assert_int_equal(pieces[0].iov_len, RV_SEGMENT_COPY_BYTES);
    assert_int_equal(pieces[1].iov_len, 1);
    free_queue(output);
}

static void a_copy_may_be_larger_than_a_block(void **state)
{
    (void)state;
    struct rv_output *output = queue();
    size_t size = 5 * RV_SEGMENT_COPY_BYTES;
    char *room = rv_output_reserve(&loop, output, size);
    assert_non_null(room);
    memset(room, 'x', size);
    rv_output_commit(output, size);
    assert_int_equal(output->octets, size);
    free_queue(output);
}

static void less_may_be_committed_than_was_reserved(void **state)
{
    (void)state;
    struct rv_output *output = queue();
    char *room = rv_output_reserve(&loop, output, 100);
    memcpy(room, "abc", 3);
    rv_output_commit(output, 3);
    copy(output, "def");
    assert_string_equal(front(output), "abcdef");
    assert_int_equal(output->octets, 6);
    free_queue(output);
}

static void borrowed_octets_are_not_copied(void **state)
{
    (void)state;
    struct rv_output *output = queue();
    struct iovec piece;
    const char *text = "theirs";
    borrow(output, text, NULL);
    assert_int_equal(rv_output_gather(output, &piece, 1), 1);
    assert_ptr_equal(piece.iov_base, text);
    assert_int_equal(piece.iov_len, 6);
    free_queue(output);
}

static void copies_and_borrowed_octets_keep_their_order(void **state)
{
    (void)state;
    struct rv_output *output = queue();
    copy(output, "1");
    borrow(output, "2", NULL);
    copy(output, "3");
    copy(output, "4");
    borrow(output, "5", NULL);
    borrow(output, "6", NULL);
    assert_string_equal(front(output), "123456");
    free_queue(output);
}

static void a_file_ends_what_lies_in_memory_at_the_front(void **state)
{
    (void)state;
    struct rv_output *output = queue();
    copy(output, "before");
    assert_int_equal(rv_output_append_file(&loop, output, open_file(), 10, 20), 0);
    copy(output, "behind");
    assert_string_equal(front(output), "before");
    assert_int_equal(output->octets, 6 + 20 + 6);
    rv_output_consume(&loop, output, 6);
    assert_string_equal(front(output), "");
    assert_int_equal(output->first->kind, RV_SEGMENT_FILE);
    assert_int_equal(output->first->start, 10);
    assert_int_equal(output->first->length, 20);
    rv_output_consume(&loop, output, 20);
    assert_string_equal(front(output), "behind");
    free_queue(output);
}

static void no_more_is_gathered_than_there_is_room_for(void **state)
{
    (void)state;
    struct rv_output *output = queue();
    struct iovec pieces[2];
    borrow(output, "1", NULL);
    borrow(output, "2", NULL);
    borrow(output, "3", NULL);
    assert_int_equal(rv_output_gather(output, pieces, 2), 2);
    assert_int_equal(rv_output_gather(output, pieces, 0), 0);
    free_queue(output);
}

static void a_prepended_copy_goes_before_everything(void **state)
{
    (void)state;
    struct rv_output *output = queue();
    borrow(output, "2", NULL);
    copy(output, "3");
    assert_int_equal(rv_output_prepend(&loop, output, RV_LIT("1")), 0);
    assert_int_equal(rv_output_prepend(&loop, output, RV_LIT("0")), 0);
    copy(output, "4");
    assert_string_equal(front(output), "01234");
    assert_int_equal(output->octets, 5);
    free_queue(output);
}

static void an_empty_queue_can_be_prepended_to(void **state)
{
    (void)state;
    struct rv_output *output = queue();
    assert_int_equal(rv_output_prepend(&loop, output, RV_LIT("1")), 0);
    copy(output, "2");
    borrow(output, "3", NULL);
    assert_string_equal(front(output), "123");
    free_queue(output);
}

/* ---- out --------------------------------------------------------------------------------------- */

static void consuming_drops_from_the_front(void **state)
{
    (void)state;
    struct rv_output *output = queue();
    copy(output, "abc");
    borrow(output, "def", NULL);
    copy(output, "ghi");
    rv_output_consume(&loop, output, 2);
    assert_string_equal(front(output), "cdefghi");
    rv_output_consume(&loop, output, 3);
    assert_string_equal(front(output), "fghi");
    rv_output_consume(&loop, output, 0);
    assert_string_equal(front(output), "fghi");
    assert_int_equal(output->octets, 4);
    rv_output_consume(&loop, output, 4);
    assert_int_equal(output->octets, 0);
    assert_null(output->first);
    free_queue(output);
}

static void a_queue_that_was_emptied_may_be_filled_again(void **state)
{
    (void)state;
    struct rv_output *output = queue();
    for (int round = 0; round < 3; round++) {
        copy(output, "ab");
        borrow(output, "cd", NULL);
        assert_string_equal(front(output), "abcd");
        rv_output_consume(&loop, output, 4);
        assert_string_equal(front(output), "");
    }
    free_queue(output);
}

static void a_copy_goes_behind_a_block_that_was_sent_in_part(void **state)
{
    (void)state;
    struct rv_output *output = queue();
    copy(output, "abcd");
    rv_output_consume(&loop, output, 3);
    copy(output, "efg");
    assert_string_equal(front(output), "defg");
    free_queue(output);
}

static void a_file_that_was_sent_in_part_goes_on_where_it_stopped(void **state)
{
    (void)state;
    struct rv_output *output = queue();
    int file = open_file();
    assert_int_equal(rv_output_append_file(&loop, output, file, 100, 50), 0);
    rv_output_consume(&loop, output, 49);
    assert_int_equal(output->first->start, 149);
    assert_int_equal(output->first->length, 1);
    assert_true(is_open(file));
    rv_output_consume(&loop, output, 1);
    assert_false(is_open(file));
    free_queue(output);
}

/* ---- giving back ------------------------------------------------------------------------------- */

static void borrowed_octets_are_released_once_when_the_last_is_consumed(void **state)
{
    (void)state;
    struct rv_output *output = queue();
    int released = 0;
    borrow(output, "abc", &released);
    copy(output, "d");
    rv_output_consume(&loop, output, 2);
    assert_int_equal(released, 0);
    rv_output_consume(&loop, output, 1);
    assert_int_equal(released, 1);
    rv_output_consume(&loop, output, 1);
    free_queue(output);
    assert_int_equal(released, 1);
}

static void what_is_left_is_released_with_the_queue(void **state)
{
    (void)state;
    struct rv_output *output = queue();
    int sent = 0, half_sent = 0, unsent = 0, file = open_file();
    borrow(output, "ab", &sent);
    borrow(output, "cd", &half_sent);
    borrow(output, "ef", &unsent);
    assert_int_equal(rv_output_append_file(&loop, output, file, 0, 9), 0);
    rv_output_consume(&loop, output, 3);
    assert_int_equal(sent, 1);
    assert_int_equal(half_sent, 0);
    free_queue(output);
    assert_int_equal(sent, 1);
    assert_int_equal(half_sent, 1);
    assert_int_equal(unsent, 1);
    assert_false(is_open(file));
}

static void a_lent_file_stays_open_and_is_released_once(void **state)
{
    (void)state;
    struct rv_output *output = queue();
    int sent = 0, unsent = 0, file = open_file();
    assert_int_equal(rv_output_append_lent_file(&loop, output, file, 0, 9, count_release, &sent),
                     0);
    assert_int_equal(rv_output_append_lent_file(&loop, output, file, 3, 2, count_release, &unsent),
                     0);
    rv_output_consume(&loop, output, 8);
    assert_int_equal(sent, 0);
    rv_output_consume(&loop, output, 1);
    assert_int_equal(sent, 1);
    assert_int_equal(output->first->start, 3);
    free_queue(output);
    assert_int_equal(sent, 1);
    assert_int_equal(unsent, 1);
    assert_true(is_open(file));
    close(file);
}

static void borrowed_octets_that_are_none_are_released_with_what_goes_before(void **state)
{
    (void)state;
    struct rv_output *output = queue();
    int released = 0;
    copy(output, "ab");
    borrow(output, "", &released);
    rv_output_consume(&loop, output, 1);
    assert_int_equal(released, 0);
    rv_output_consume(&loop, output, 1);
    assert_int_equal(released, 1);
    free_queue(output);
    assert_int_equal(released, 1);
}

/* ---- any order --------------------------------------------------------------------------------- */

#define MODEL_BYTES 200000

struct model {
    char *octets; /* everything that was ever put in, in order */
    size_t filled;
    size_t consumed;
    int borrowed;
    int released;
};

/* The next octets of the model, to be put in; they follow each other so that any mix-up shows. */
static rv_bytes more_of(struct model *model, size_t size)
{
    for (size_t i = 0; i < size; i++)
        model->octets[model->filled + i] = (char)((model->filled + i) % 251);
    model->filled += size;
    return rv_slice(model->octets + model->filled - size, size);
}

static void put_in(struct rv_output *output, struct model *model, uint64_t *random)
{
    size_t most = random_below(random, 8) == 0 ? 40000 : 300;
    rv_bytes octets = more_of(model, random_below(random, most));
    if (random_below(random, 2) == 0) {
        char *room = rv_output_reserve(&loop, output, octets.len);
        memcpy(room, octets.ptr, octets.len);
        rv_output_commit(output, octets.len);
    } else {
        rv_output_append_borrowed(&loop, output, octets, count_release, &model->released);
        model->borrowed++;
    }
}

static void take_out(struct rv_output *output, struct model *model, uint64_t *random)
{
    struct iovec pieces[16];
    int count = rv_output_gather(output, pieces, 16);
    size_t total = 0, at = model->consumed;
    for (int i = 0; i < count; i++) {
        assert_memory_equal(pieces[i].iov_base, model->octets + at, pieces[i].iov_len);
        at += pieces[i].iov_len;
        total += pieces[i].iov_len;
    }
    size_t some = random_below(random, total + 1);
    rv_output_consume(&loop, output, some);
    model->consumed += some;
}

static void octets_come_out_as_they_were_put_in(void **state)
{
    (void)state;
    uint64_t random = 1;
    for (int round = 0; round < 20; round++) {
        struct rv_output *output = queue();
        struct model model = {.octets = malloc(MODEL_BYTES)};
        while (model.filled < MODEL_BYTES - 40000) {
            put_in(output, &model, &random);
            if (random_below(&random, 3) == 0)
                take_out(output, &model, &random);
            assert_int_equal(output->octets, model.filled - model.consumed);
        }
        free_queue(output);
        assert_int_equal(model.released, model.borrowed);
        free(model.octets);
    }
}

static int free_slab(void **state)
{
    (void)state;
    rv_slab_free(&loop.segments);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_queue_has_nothing_to_send),
        cmocka_unit_test(copies_share_a_block),
        cmocka_unit_test(a_copy_that_does_not_fit_begins_another_block),
        cmocka_unit_test(a_copy_may_be_larger_than_a_block),
        cmocka_unit_test(less_may_be_committed_than_was_reserved),
        cmocka_unit_test(borrowed_octets_are_not_copied),
        cmocka_unit_test(copies_and_borrowed_octets_keep_their_order),
        cmocka_unit_test(a_file_ends_what_lies_in_memory_at_the_front),
        cmocka_unit_test(no_more_is_gathered_than_there_is_room_for),
        cmocka_unit_test(a_prepended_copy_goes_before_everything),
        cmocka_unit_test(an_empty_queue_can_be_prepended_to),
        cmocka_unit_test(consuming_drops_from_the_front),
        cmocka_unit_test(a_queue_that_was_emptied_may_be_filled_again),
        cmocka_unit_test(a_copy_goes_behind_a_block_that_was_sent_in_part),
        cmocka_unit_test(a_file_that_was_sent_in_part_goes_on_where_it_stopped),
        cmocka_unit_test(borrowed_octets_are_released_once_when_the_last_is_consumed),
        cmocka_unit_test(what_is_left_is_released_with_the_queue),
        cmocka_unit_test(a_lent_file_stays_open_and_is_released_once),
        cmocka_unit_test(borrowed_octets_that_are_none_are_released_with_what_goes_before),
        cmocka_unit_test(octets_come_out_as_they_were_put_in),
    };
    return cmocka_run_group_tests(tests, NULL, free_slab);
}
