/*
 * Facts about the inbox: alone, and with several threads that post while one takes.
 */
#include "io/inbox.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

struct note {
    struct rv_message message; /* first member: a message is its note */
    unsigned poster;
    unsigned number;
};

/* ---- one thread ------------------------------------------------------------------------------ */

static void an_empty_inbox_gives_nothing(void **state)
{
    (void)state;
    struct rv_inbox inbox;
    rv_inbox_init(&inbox);
    assert_null(rv_inbox_take(&inbox));
    assert_int_equal(rv_inbox_run(&inbox, NULL), 0);
}

static void messages_are_taken_all_at_once_oldest_first(void **state)
{
    (void)state;
    struct rv_inbox inbox;
    struct rv_message messages[3];
    rv_inbox_init(&inbox);
    for (int i = 0; i < 3; i++)
        rv_inbox_post(&inbox, &messages[i]);
    assert_ptr_equal(rv_inbox_take(&inbox), &messages[0]);
    assert_ptr_equal(messages[0].next, &messages[1]);
    assert_ptr_equal(messages[1].next, &messages[2]);
    assert_null(messages[2].next);
    assert_null(rv_inbox_take(&inbox));
}

static void only_the_post_into_an_empty_inbox_asks_for_a_wake_up(void **state)
{
    (void)state;
    struct rv_inbox inbox;
    struct rv_message messages[3];
    rv_inbox_init(&inbox);
    for (int round = 0; round < 3; round++) {
        assert_true(rv_inbox_post(&inbox, &messages[0]));
        assert_false(rv_inbox_post(&inbox, &messages[1]));
        assert_false(rv_inbox_post(&inbox, &messages[2]));
        assert_non_null(rv_inbox_take(&inbox));
    }
}

struct log {
    struct rv_inbox *inbox;
    unsigned numbers[8];
    unsigned count;
};

static void write_down(struct rv_message *message, void *owner)
{
    struct log *log = owner;
    log->numbers[log->count++] = ((struct note *)message)->number;
}

static void each_message_runs_once_in_order_with_its_owner(void **state)
{
    (void)state;
    struct rv_inbox inbox;
    struct note notes[3];
    struct log log = {.inbox = &inbox};
    rv_inbox_init(&inbox);
    for (unsigned i = 0; i < 3; i++) {
        notes[i] = (struct note){.message.run = write_down, .number = 10 + i};
        rv_inbox_post(&inbox, &notes[i].message);
    }
    assert_int_equal(rv_inbox_run(&inbox, &log), 3);
    assert_int_equal(log.count, 3);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(log.numbers[i], 10 + i);
}

static void post_itself_again(struct rv_message *message, void *owner)
{
    struct log *log = owner;
    log->count++;
    assert_true(rv_inbox_post(log->inbox, message));
}

static void what_is_posted_while_messages_run_is_left_for_the_next_time(void **state)
{
    (void)state;
    struct rv_inbox inbox;
    struct rv_message message = {.run = post_itself_again};
    struct log log = {.inbox = &inbox};
    rv_inbox_init(&inbox);
    rv_inbox_post(&inbox, &message);
    for (unsigned time = 1; time <= 3; time++) {
        assert_int_equal(rv_inbox_run(&inbox, &log), 1);
        assert_int_equal(log.count, time);
    }
}

static void free_it(struct rv_message *message, void *owner)
{
    (void)owner;
    free(message);
}

static void a_message_may_be_freed_when_it_runs(void **state)
{
    (void)state;
    struct rv_inbox inbox;
    rv_inbox_init(&inbox);
    for (int i = 0; i < 10; i++) {
        struct rv_message *message = malloc(sizeof(*message));
        assert_non_null(message);
        message->run = free_it;
        rv_inbox_post(&inbox, message);
    }
    assert_int_equal(rv_inbox_run(&inbox, NULL), 10);
}

/* ---- several threads ------------------------------------------------------------------------- */

enum { POSTERS = 4, NOTES_EACH = 20000, NOTES = POSTERS * NOTES_EACH };

/* The taker sleeps on the semaphore and is woken by those posts only that ask for it, as a worker
   by its event descriptor. */
struct office {
    struct rv_inbox inbox;
    sem_t wake;
    atomic_uint wakes;
    struct note notes[POSTERS][NOTES_EACH];
    unsigned next[POSTERS]; /* the taker's: the number that is expected of each poster */
    unsigned out_of_order;
};

struct poster {
    struct office *office;
    unsigned number;
};

static void check_in(struct rv_message *message, void *owner)
{
    struct note *note = (struct note *)message;
    struct office *office = owner;
    office->out_of_order += note->number != office->next[note->poster];
    office->next[note->poster] = note->number + 1;
}

static void *post_all(void *argument)
{
    const struct poster *poster = argument;
    struct office *office = poster->office;
    for (unsigned i = 0; i < NOTES_EACH; i++) {
        struct note *note = &office->notes[poster->number][i];
        *note = (struct note){.message.run = check_in, .poster = poster->number, .number = i};
        if (rv_inbox_post(&office->inbox, &note->message)) {
            atomic_fetch_add(&office->wakes, 1);
            sem_post(&office->wake);
        }
    }
    return NULL;
}

/* False: nobody woke the taker for so long that a wake-up must have been lost. */
static bool sleep_until_woken(struct office *office)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 60;
    int failed;
    do
        failed = sem_timedwait(&office->wake, &until);
    while (failed && errno == EINTR);
    return !failed;
}

static void nothing_is_lost_and_the_order_of_each_poster_is_kept(void **state)
{
    (void)state;
    static struct office office;
    struct poster posters[POSTERS];
    pthread_t threads[POSTERS];
    rv_inbox_init(&office.inbox);
    sem_init(&office.wake, 0, 0);
    for (unsigned i = 0; i < POSTERS; i++) {
        posters[i] = (struct poster){&office, i};
        assert_int_equal(pthread_create(&threads[i], NULL, post_all, &posters[i]), 0);
    }

    size_t taken = 0;
    unsigned sleeps = 0;
    while (taken < NOTES && sleep_until_woken(&office)) {
        size_t count = rv_inbox_run(&office.inbox, &office);
        assert_true(count > 0); /* no wake-up is for nothing */
        taken += count;
        sleeps++;
    }
    for (unsigned i = 0; i < POSTERS; i++)
        pthread_join(threads[i], NULL);

    assert_int_equal(taken, NOTES);
    assert_int_equal(office.out_of_order, 0);
    for (unsigned i = 0; i < POSTERS; i++)
        assert_int_equal(office.next[i], NOTES_EACH);
    assert_int_equal(atomic_load(&office.wakes), sleeps);
    assert_null(rv_inbox_take(&office.inbox));
    assert_int_equal(sem_trywait(&office.wake), -1);
    sem_destroy(&office.wake);
}

/* Two threads throw one message back and forth; each writes into it before it posts it. */
struct court {
    struct rv_inbox inboxes[2];
    struct note ball;
    unsigned hits[2];
};

struct player {
    struct court *court;
    unsigned side;
};

enum { HITS = 2000 };

static void *play(void *argument)
{
    const struct player *player = argument;
    struct court *court = player->court;
    unsigned here = player->side;
    while (court->hits[here] < HITS) {
        struct rv_message *message = rv_inbox_take(&court->inboxes[here]);
        if (message == NULL) {
            sched_yield();
            continue;
        }
        court->hits[here]++;
        ((struct note *)message)->number++;
        rv_inbox_post(&court->inboxes[!here], message);
    }
    return NULL;
}

static void what_the_poster_wrote_before_is_seen_by_the_taker(void **state)
{
    (void)state;
    static struct court court;
    struct player players[2] = {{&court, 0}, {&court, 1}};
    pthread_t threads[2];
    for (unsigned i = 0; i < 2; i++) {
        rv_inbox_init(&court.inboxes[i]);
        court.hits[i] = 0;
    }
    rv_inbox_post(&court.inboxes[0], &court.ball.message);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, play, &players[i]), 0);
    for (unsigned i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(court.ball.number, 2 * HITS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_inbox_gives_nothing),
        cmocka_unit_test(messages_are_taken_all_at_once_oldest_first),
        cmocka_unit_test(only_the_post_into_an_empty_inbox_asks_for_a_wake_up),
        cmocka_unit_test(each_message_runs_once_in_order_with_its_owner),
        cmocka_unit_test(what_is_posted_while_messages_run_is_left_for_the_next_time),
        cmocka_unit_test(a_message_may_be_freed_when_it_runs),
        cmocka_unit_test(nothing_is_lost_and_the_order_of_each_poster_is_kept),
        cmocka_unit_test(what_the_poster_wrote_before_is_seen_by_the_taker),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
