/*
 * Facts about the timer wheel, by example and against a model that is too simple to be wrong: a
 * table of deadlines. Each timer of these tests knows how often and when it fired.
 */
#include "io/timer.h"
#include "random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

struct probe {
    struct rv_timer timer;
    struct rv_wheel *wheel;
    unsigned fired;
    uint64_t fired_at_ms;
    uint64_t order; /* the how manieth of all that fired */
    void (*then)(struct probe *probe);
    struct probe *other;
};

static uint64_t firings;

static void note(struct rv_timer *timer)
{
    struct probe *probe = (struct probe *)timer; /* the timer is its first member */
    assert_false(rv_timer_is_set(timer));
    assert_true(rv_wheel_validate(probe->wheel));
    probe->fired++;
    probe->fired_at_ms = probe->wheel->now_ms;
    probe->order = firings++;
    if (probe->then != NULL)
        probe->then(probe);
}

static struct probe probe_of(struct rv_wheel *wheel)
{
    struct probe probe = {.wheel = wheel};
    rv_timer_init(&probe.timer, note);
    return probe;
}

static void advance(struct rv_wheel *wheel, uint64_t now_ms)
{
    rv_wheel_advance(wheel, now_ms);
    assert_true(rv_wheel_validate(wheel));
}

static void set(struct probe *probe, uint64_t deadline_ms)
{
    rv_timer_set(probe->wheel, &probe->timer, deadline_ms);
    assert_true(rv_timer_is_set(&probe->timer));
    assert_true(rv_wheel_validate(probe->wheel));
}

/* ---- one timer ------------------------------------------------------------------------------- */

static void a_new_wheel_is_empty_and_waits_for_ever(void **state)
{
    (void)state;
    struct rv_wheel wheel;
    rv_wheel_init(&wheel, 12345);
    assert_true(rv_wheel_validate(&wheel));
    assert_int_equal(wheel.count, 0);
    assert_true(rv_wheel_wait_ms(&wheel) == UINT64_MAX);
    advance(&wheel, 99999);
    assert_int_equal(wheel.now_ms, 99999);
}

static void a_timer_fires_once_in_the_first_advance_that_reaches_it(void **state)
{
    (void)state;
    struct rv_wheel wheel;
    for (unsigned bit = 0; bit < 44; bit++) {
        uint64_t distance = UINT64_C(1) << bit;
        rv_wheel_init(&wheel, 1000);
        struct probe probe = probe_of(&wheel);
        set(&probe, 1000 + distance);
        advance(&wheel, 1000 + distance - 1);
        assert_int_equal(probe.fired, 0);
        assert_true(rv_timer_is_set(&probe.timer));
        advance(&wheel, 1000 + distance);
        assert_int_equal(probe.fired, 1);
        assert_false(rv_timer_is_set(&probe.timer));
        advance(&wheel, 1000 + 3 * distance);
        assert_int_equal(probe.fired, 1);
        assert_int_equal(wheel.count, 0);
    }
}

static void an_advance_past_the_deadline_fires_too(void **state)
{
    (void)state;
    struct rv_wheel wheel;
    rv_wheel_init(&wheel, 0);
    struct probe probe = probe_of(&wheel);
    set(&probe, 20000);
    advance(&wheel, 1000000);
    assert_int_equal(probe.fired, 1);
    assert_int_equal(probe.fired_at_ms, 1000000);
}

static void a_deadline_that_is_past_fires_at_the_next_advance(void **state)
{
    (void)state;
    struct rv_wheel wheel;
    rv_wheel_init(&wheel, 5000);
    struct probe past = probe_of(&wheel);
    struct probe present = probe_of(&wheel);
    set(&past, 7);
    set(&present, 5000);
    assert_int_equal(rv_wheel_wait_ms(&wheel), 0);
    advance(&wheel, 5000);
    assert_int_equal(past.fired, 1);
    assert_int_equal(present.fired, 1);
}

static void time_never_goes_back(void **state)
{
    (void)state;
    struct rv_wheel wheel;
    rv_wheel_init(&wheel, 5000);
    struct probe due = probe_of(&wheel);
    struct probe ahead = probe_of(&wheel);
    set(&due, 4000);
    set(&ahead, 5001);
    advance(&wheel, 100);
    assert_int_equal(wheel.now_ms, 5000);
    assert_int_equal(due.fired, 1);
    assert_int_equal(ahead.fired, 0);
    rv_timer_stop(&wheel, &ahead.timer);
}

static void a_stopped_timer_does_not_fire(void **state)
{
    (void)state;
    struct rv_wheel wheel;
    rv_wheel_init(&wheel, 0);
    struct probe stopped = probe_of(&wheel);
    struct probe beside = probe_of(&wheel);
    set(&stopped, 100);
    set(&beside, 100);
    rv_timer_stop(&wheel, &stopped.timer);
    assert_false(rv_timer_is_set(&stopped.timer));
    assert_true(rv_wheel_validate(&wheel));
    advance(&wheel, 100);
    assert_int_equal(stopped.fired, 0);
    assert_int_equal(beside.fired, 1);
}

static void stopping_a_timer_that_is_not_set_is_harmless(void **state)
{
    (void)state;
    struct rv_wheel wheel;
    rv_wheel_init(&wheel, 0);
    struct probe probe = probe_of(&wheel);
    rv_timer_stop(&wheel, &probe.timer);
    set(&probe, 10);
    rv_timer_stop(&wheel, &probe.timer);
    rv_timer_stop(&wheel, &probe.timer);
    assert_int_equal(wheel.count, 0);
    assert_true(rv_wheel_validate(&wheel));
}

static void a_deadline_moved_forward_is_kept(void **state)
{
    (void)state;
    struct rv_wheel wheel;
    rv_wheel_init(&wheel, 0);
    struct probe probe = probe_of(&wheel);
    set(&probe, 20000);
    set(&probe, 50);
    advance(&wheel, 49);
    assert_int_equal(probe.fired, 0);
    advance(&wheel, 50);
    assert_int_equal(probe.fired, 1);
    assert_int_equal(wheel.count, 0);
}

/* ---- lazy re-arming -------------------------------------------------------------------------- */

static void setting_a_timer_back_only_stores_the_deadline(void **state)
{
    (void)state;
    struct rv_wheel wheel;
    rv_wheel_init(&wheel, 0);
    struct probe probe = probe_of(&wheel);
    set(&probe, 20000);
    struct rv_wheel before = wheel;
    uint64_t slot_ms = probe.timer.slot_ms;
    set(&probe, 25000);
    assert_memory_equal(&wheel, &before, sizeof(wheel));
    assert_int_equal(probe.timer.slot_ms, slot_ms);
    assert_int_equal(probe.timer.deadline_ms, 25000);
    rv_timer_stop(&wheel, &probe.timer);
}

static void a_timer_that_was_set_back_fires_at_its_last_deadline(void **state)
{
    (void)state;
    struct rv_wheel wheel;
    rv_wheel_init(&wheel, 0);
    struct probe probe = probe_of(&wheel);
    uint64_t now_ms = 0;
    for (; now_ms < 1000000; now_ms += 1700) { /* a request every 1.7 s, an idle timeout of 20 s */
        advance(&wheel, now_ms);
        set(&probe, now_ms + 20000);
    }
    assert_int_equal(probe.fired, 0);
    uint64_t deadline_ms = probe.timer.deadline_ms;
    advance(&wheel, deadline_ms - 1);
    assert_int_equal(probe.fired, 0);
    advance(&wheel, deadline_ms);
    assert_int_equal(probe.fired, 1);
}

static void a_deadline_between_the_slot_and_the_former_one_needs_no_move(void **state)
{
    (void)state;
    struct rv_wheel wheel;
    rv_wheel_init(&wheel, 0);
    struct probe probe = probe_of(&wheel);
    set(&probe, 5000); /* waits in the slot of 4096 */
    assert_int_equal(probe.timer.slot_ms, 4096);
    set(&probe, 4500);
    assert_int_equal(probe.timer.slot_ms, 4096);
    advance(&wheel, 4499);
    assert_int_equal(probe.fired, 0);
    advance(&wheel, 4500);
    assert_int_equal(probe.fired, 1);
}

/* ---- many timers ----------------------------------------------------------------------------- */

static void timers_fire_in_order_of_their_deadlines(void **state)
{
    (void)state;
    enum { COUNT = 500 };
    static struct probe probes[COUNT];
    struct rv_wheel wheel;
    uint64_t seed = 3;
    rv_wheel_init(&wheel, 123456789);
    for (int i = 0; i < COUNT; i++) {
        probes[i] = probe_of(&wheel);
        set(&probes[i], wheel.now_ms + random_of_any_size(&seed, 30));
    }
    advance(&wheel, wheel.now_ms + (UINT64_C(1) << 30));
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(probes[i].fired, 1);
        for (int j = 0; j < i; j++)
            if (probes[i].timer.deadline_ms < probes[j].timer.deadline_ms)
                assert_true(probes[i].order < probes[j].order);
            else if (probes[i].timer.deadline_ms > probes[j].timer.deadline_ms)
                assert_true(probes[i].order > probes[j].order);
    }
}

static void silence_is_skipped_not_counted_off(void **state)
{
    (void)state;
    struct rv_wheel wheel;
    rv_wheel_init(&wheel, 1);
    struct probe probe = probe_of(&wheel);
    /* A step per millisecond would take this test longer than anyone waits. */
    for (unsigned i = 0; i < 1000; i++) {
        set(&probe, wheel.now_ms + (UINT64_C(1) << 40));
        advance(&wheel, wheel.now_ms + (UINT64_C(1) << 40) - 1);
        assert_int_equal(probe.fired, i);
        advance(&wheel, wheel.now_ms + 1);
        assert_int_equal(probe.fired, i + 1);
    }
}

/* ---- what a timer may do when it fires ------------------------------------------------------- */

static void set_itself_to_now(struct probe *probe)
{
    rv_timer_set(probe->wheel, &probe->timer, probe->wheel->now_ms);
}

static void a_timer_set_to_now_when_it_fires_waits_for_the_next_advance(void **state)
{
    (void)state;
    struct rv_wheel wheel;
    rv_wheel_init(&wheel, 0);
    struct probe probe = probe_of(&wheel);
    probe.then = set_itself_to_now;
    set(&probe, 10);
    advance(&wheel, 500);
    assert_int_equal(probe.fired, 1);
    assert_int_equal(rv_wheel_wait_ms(&wheel), 0);
    advance(&wheel, 500);
    assert_int_equal(probe.fired, 2);
    rv_timer_stop(&wheel, &probe.timer);
}

static void set_itself_to_a_millisecond_later(struct probe *probe)
{
    rv_timer_set(probe->wheel, &probe->timer, probe->wheel->now_ms + 1);
}

static void a_periodic_timer_fires_once_after_a_long_silence(void **state)
{
    (void)state;
    struct rv_wheel wheel;
    rv_wheel_init(&wheel, 0);
    struct probe probe = probe_of(&wheel);
    probe.then = set_itself_to_a_millisecond_later;
    set(&probe, 1);
    advance(&wheel, 3600000);
    assert_int_equal(probe.fired, 1);
    assert_int_equal(probe.timer.deadline_ms, 3600001);
    rv_timer_stop(&wheel, &probe.timer);
}

static void stop_the_other(struct probe *probe)
{
    rv_timer_stop(probe->wheel, &probe->other->timer);
    assert_true(rv_wheel_validate(probe->wheel));
}

static void a_due_timer_may_still_be_stopped_by_one_that_fires_before(void **state)
{
    (void)state;
    struct rv_wheel wheel;
    rv_wheel_init(&wheel, 0);
    struct probe first = probe_of(&wheel);
    struct probe second = probe_of(&wheel);
    struct probe third = probe_of(&wheel);
    first.then = stop_the_other;
    first.other = &second;
    set(&first, 10);
    set(&second, 20);
    set(&third, 30);
    advance(&wheel, 100);
    assert_int_equal(first.fired, 1);
    assert_int_equal(second.fired, 0);
    assert_int_equal(third.fired, 1);
    assert_int_equal(wheel.count, 0);
}

static void ask_how_long_to_wait(struct probe *probe)
{
    assert_int_equal(rv_wheel_wait_ms(probe->wheel), probe->other != NULL ? 0 : 400);
}

static void while_others_are_still_to_fire_the_wait_is_0(void **state)
{
    (void)state;
    struct rv_wheel wheel;
    rv_wheel_init(&wheel, 0);
    struct probe first = probe_of(&wheel);
    struct probe second = probe_of(&wheel);
    struct probe ahead = probe_of(&wheel);
    first.then = second.then = ask_how_long_to_wait;
    first.other = &second;
    set(&first, 10);
    set(&second, 20);
    set(&ahead, 512);
    advance(&wheel, 112);
    assert_int_equal(second.fired, 1);
    rv_timer_stop(&wheel, &ahead.timer);
}

static void set_the_other_back(struct probe *probe)
{
    set(probe->other, probe->wheel->now_ms + 1000);
}

static void a_due_timer_may_still_be_set_back_by_one_that_fires_before(void **state)
{
    (void)state;
    struct rv_wheel wheel;
    rv_wheel_init(&wheel, 0);
    struct probe first = probe_of(&wheel);
    struct probe second = probe_of(&wheel);
    first.then = set_the_other_back;
    first.other = &second;
    set(&first, 10);
    set(&second, 20);
    advance(&wheel, 100);
    assert_int_equal(second.fired, 0);
    advance(&wheel, 1099);
    assert_int_equal(second.fired, 0);
    advance(&wheel, 1100);
    assert_int_equal(second.fired, 1);
}

static void set_the_other_to_the_past(struct probe *probe)
{
    set(probe->other, 5);
}

static void a_due_timer_that_is_set_to_the_past_fires_once(void **state)
{
    (void)state;
    struct rv_wheel wheel;
    rv_wheel_init(&wheel, 0);
    struct probe first = probe_of(&wheel);
    struct probe second = probe_of(&wheel);
    first.then = set_the_other_to_the_past;
    first.other = &second;
    set(&first, 10);
    set(&second, 20);
    advance(&wheel, 100);
    advance(&wheel, 100);
    advance(&wheel, 200);
    assert_int_equal(second.fired, 1);
}

static void free_itself(struct probe *probe)
{
    free(probe);
}

static void a_timer_may_be_freed_when_it_fires(void **state)
{
    (void)state;
    struct rv_wheel wheel;
    rv_wheel_init(&wheel, 0);
    for (int i = 0; i < 10; i++) {
        struct probe *probe = malloc(sizeof(*probe));
        assert_non_null(probe);
        *probe = probe_of(&wheel);
        probe->then = free_itself;
        set(probe, 10);
    }
    advance(&wheel, 10);
    assert_int_equal(wheel.count, 0);
}

/* ---- waiting --------------------------------------------------------------------------------- */

static void a_wait_is_never_past_the_next_deadline_and_comes_to_it_in_few_steps(void **state)
{
    (void)state;
    uint64_t seed = 4;
    for (int i = 0; i < 3000; i++) {
        struct rv_wheel wheel;
        rv_wheel_init(&wheel, random_of_any_size(&seed, 42));
        struct probe probe = probe_of(&wheel);
        uint64_t deadline_ms = wheel.now_ms + 1 + random_of_any_size(&seed, 41);
        set(&probe, deadline_ms);
        int steps = 0;
        while (probe.fired == 0) {
            uint64_t wait_ms = rv_wheel_wait_ms(&wheel);
            assert_true(wait_ms > 0);
            assert_true(wait_ms <= deadline_ms - wheel.now_ms);
            advance(&wheel, wheel.now_ms + wait_ms);
            steps++;
        }
        assert_true(probe.fired_at_ms == deadline_ms);
        assert_true(steps <= RV_WHEEL_LEVELS);
        assert_true(rv_wheel_wait_ms(&wheel) == UINT64_MAX);
    }
}

static void a_near_deadline_is_waited_for_exactly(void **state)
{
    (void)state;
    struct rv_wheel wheel;
    rv_wheel_init(&wheel, 64 * 1000);
    struct probe probe = probe_of(&wheel);
    struct probe later = probe_of(&wheel);
    set(&later, 64 * 1000 + 5000);
    for (uint64_t wait_ms = 63; wait_ms > 0; wait_ms--) {
        set(&probe, wheel.now_ms + wait_ms);
        assert_int_equal(rv_wheel_wait_ms(&wheel), wait_ms);
    }
    rv_timer_stop(&wheel, &probe.timer);
    rv_timer_stop(&wheel, &later.timer);
}

static void a_timer_that_was_due_and_is_set_back_is_not_waited_for_with_0(void **state)
{
    (void)state;
    struct rv_wheel wheel;
    rv_wheel_init(&wheel, 5000);
    struct probe probe = probe_of(&wheel);
    set(&probe, 5000);
    assert_int_equal(rv_wheel_wait_ms(&wheel), 0);
    set(&probe, 5010);
    assert_int_equal(rv_wheel_wait_ms(&wheel), 10);
    rv_timer_stop(&wheel, &probe.timer);
}

/* ---- the ends of time ------------------------------------------------------------------------ */

static void a_deadline_beyond_the_last_level_is_kept(void **state)
{
    (void)state;
    static const uint64_t starts[] = {0, 77, (UINT64_C(1) << 42) - 1, (UINT64_C(1) << 42) + 5,
                                      (UINT64_C(1) << 50) - 3};
    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
        struct rv_wheel wheel;
        rv_wheel_init(&wheel, starts[i]);
        struct probe probe = probe_of(&wheel);
        uint64_t deadline_ms = starts[i] + (UINT64_C(1) << 45) + 12345;
        set(&probe, deadline_ms);
        advance(&wheel, deadline_ms - 1);
        assert_int_equal(probe.fired, 0);
        advance(&wheel, deadline_ms);
        assert_int_equal(probe.fired, 1);
    }
}

static void a_millisecond_over_any_digit_is_a_millisecond(void **state)
{
    (void)state;
    for (unsigned bit = 0; bit < 64; bit++) {
        struct rv_wheel wheel;
        rv_wheel_init(&wheel, (UINT64_C(1) << bit) - 1);
        struct probe probe = probe_of(&wheel);
        set(&probe, UINT64_C(1) << bit);
        assert_int_equal(rv_wheel_wait_ms(&wheel), 1);
        advance(&wheel, UINT64_C(1) << bit);
        assert_int_equal(probe.fired, 1);
    }
}

static void the_latest_of_all_deadlines_stands_for_never(void **state)
{
    (void)state;
    struct rv_wheel wheel;
    rv_wheel_init(&wheel, 1000);
    struct probe probe = probe_of(&wheel);
    set(&probe, UINT64_MAX);
    advance(&wheel, UINT64_C(1) << 60);
    assert_int_equal(probe.fired, 0);
    rv_timer_stop(&wheel, &probe.timer);
    assert_true(rv_wheel_validate(&wheel));

    rv_wheel_init(&wheel, UINT64_MAX - 1);
    set(&probe, UINT64_MAX);
    assert_int_equal(rv_wheel_wait_ms(&wheel), 1);
    advance(&wheel, UINT64_MAX);
    assert_int_equal(probe.fired, 1);
}

/* ---- the model ------------------------------------------------------------------------------- */

enum { MODEL_TIMERS = 40 };

static struct model {
    struct rv_wheel wheel;
    struct probe probes[MODEL_TIMERS];
    bool is_set[MODEL_TIMERS];
    bool must_fire[MODEL_TIMERS]; /* in the advance that runs */
    uint64_t deadline_ms[MODEL_TIMERS];
    uint64_t fired_last_ms; /* the deadline of the last one that fired in this advance */
    uint64_t seed;
    unsigned span_bits; /* how far away deadlines are, and how long the steps of time */
} model;

static void model_stop(size_t i)
{
    rv_timer_stop(&model.wheel, &model.probes[i].timer);
    model.is_set[i] = false;
    model.must_fire[i] = false;
}

/* Stops a timer or sets it, to the past, to now or to later. */
static void model_change(size_t i)
{
    struct rv_timer *timer = &model.probes[i].timer;
    uint64_t now_ms = model.wheel.now_ms;
    uint64_t distance = random_of_any_size(&model.seed, model.span_bits);
    uint64_t deadline_ms = now_ms + distance;
    switch (random_below(&model.seed, 8)) {
    case 0:
    case 1:
        model_stop(i);
        return;
    case 2:
        deadline_ms = now_ms - (distance < now_ms ? distance : now_ms);
        rv_timer_set(&model.wheel, timer, deadline_ms);
        break;
    case 3:
        rv_timer_insert(&model.wheel, timer, deadline_ms);
        break;
    default:
        rv_timer_set(&model.wheel, timer, deadline_ms);
    }
    model.is_set[i] = true;
    model.must_fire[i] = false;
    model.deadline_ms[i] = deadline_ms;
}

/* What fires may be nothing but what must, in order; one time in four it changes some timer. */
static void model_fires(struct probe *probe)
{
    size_t i = (size_t)(probe - model.probes);
    assert_true(model.must_fire[i]);
    assert_true(model.deadline_ms[i] >= model.fired_last_ms);
    model.fired_last_ms = model.deadline_ms[i];
    model.is_set[i] = false;
    model.must_fire[i] = false;
    if (random_below(&model.seed, 4) == 0)
        model_change(random_below(&model.seed, MODEL_TIMERS));
    if (random_below(&model.seed, 4) == 0)
        model_change(i);
}

static void model_advance(uint64_t now_ms)
{
    for (size_t i = 0; i < MODEL_TIMERS; i++) {
        /* A deadline that was past when it was set became the present of that time. */
        if (model.is_set[i] && model.deadline_ms[i] < model.wheel.now_ms)
            model.deadline_ms[i] = model.wheel.now_ms;
        model.must_fire[i] = model.is_set[i] && model.deadline_ms[i] <= now_ms;
    }
    model.fired_last_ms = 0;
    rv_wheel_advance(&model.wheel, now_ms);
    assert_true(model.wheel.now_ms == now_ms);
    for (size_t i = 0; i < MODEL_TIMERS; i++)
        assert_false(model.must_fire[i]);
}

static void model_compare(void)
{
    assert_true(rv_wheel_validate(&model.wheel));
    size_t count = 0;
    uint64_t nearest_ms = UINT64_MAX;
    for (size_t i = 0; i < MODEL_TIMERS; i++) {
        assert_int_equal(rv_timer_is_set(&model.probes[i].timer), model.is_set[i]);
        if (!model.is_set[i])
            continue;
        count++;
        uint64_t left_ms = model.deadline_ms[i] > model.wheel.now_ms
                               ? model.deadline_ms[i] - model.wheel.now_ms
                               : 0;
        nearest_ms = left_ms < nearest_ms ? left_ms : nearest_ms;
    }
    assert_int_equal(model.wheel.count, count);
    uint64_t wait_ms = rv_wheel_wait_ms(&model.wheel);
    assert_true(wait_ms <= nearest_ms);
    assert_int_equal(wait_ms == 0, nearest_ms == 0);
    assert_int_equal(wait_ms == UINT64_MAX, count == 0);
}

static void check_against_the_model(uint64_t start_ms, unsigned span_bits, uint64_t seed)
{
    model = (struct model){.seed = seed, .span_bits = span_bits};
    rv_wheel_init(&model.wheel, start_ms);
    for (size_t i = 0; i < MODEL_TIMERS; i++) {
        model.probes[i] = probe_of(&model.wheel);
        model.probes[i].then = model_fires;
    }
    for (int step = 0; step < 4000; step++) {
        uint64_t now_ms = model.wheel.now_ms;
        uint64_t wait_ms = rv_wheel_wait_ms(&model.wheel);
        switch (random_below(&model.seed, 8)) {
        case 0:
            model_advance(now_ms + random_of_any_size(&model.seed, span_bits));
            break;
        case 1:
            model_advance(now_ms + random_below(&model.seed, 70));
            break;
        case 2: /* as a loop does: to where the wheel says */
            model_advance(wait_ms == UINT64_MAX ? now_ms : now_ms + wait_ms);
            break;
        default:
            model_change(random_below(&model.seed, MODEL_TIMERS));
        }
        model_compare();
    }
    for (size_t i = 0; i < MODEL_TIMERS; i++)
        model_stop(i);
    model_compare();
}

static void random_operations_agree_with_a_table_of_deadlines(void **state)
{
    (void)state;
    static const uint64_t starts[] = {
        0,
        1000,
        (UINT64_C(1) << 24) - 10,
        (UINT64_C(1) << 36) - 10,
        (UINT64_C(1) << 40) - 100000,
        (UINT64_C(1) << 40) + 1,
        (UINT64_C(1) << 42) - 100000, /* the last level turns round */
        UINT64_C(1) << 62,
    };
    static const unsigned spans[] = {4, 7, 13, 20, 32, 44};
    uint64_t seed = 5;
    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
        for (size_t j = 0; j < sizeof(spans) / sizeof(spans[0]); j++)
            check_against_the_model(starts[i], spans[j], ++seed);
}

/* ---- the validator --------------------------------------------------------------------------- */

static void the_validator_sees_what_is_broken(void **state)
{
    (void)state;
    struct rv_wheel wheel;
    rv_wheel_init(&wheel, 1000);
    struct probe near = probe_of(&wheel);
    struct probe far = probe_of(&wheel);
    set(&near, 1010);
    set(&far, 90000);
    struct rv_wheel sound = wheel;
    struct rv_timer timer = near.timer;

    wheel.count++;
    assert_false(rv_wheel_validate(&wheel));
    wheel = sound;
    wheel.occupied[0] ^= 1; /* a bit without timers */
    assert_false(rv_wheel_validate(&wheel));
    wheel = sound;
    wheel.occupied[0] = 0; /* timers without a bit */
    assert_false(rv_wheel_validate(&wheel));
    wheel = sound;
    wheel.now_ms = 1010; /* time has passed a slot: near stands for now, far not yet */
    assert_true(rv_wheel_validate(&wheel));
    wheel.now_ms = 1011;
    assert_false(rv_wheel_validate(&wheel));
    wheel = sound;
    near.timer.slot_ms++; /* another slot's time */
    assert_false(rv_wheel_validate(&wheel));
    near.timer.slot_ms -= 2;
    assert_false(rv_wheel_validate(&wheel));
    near.timer = timer;
    far.timer.slot_ms++; /* more than its level can tell */
    assert_false(rv_wheel_validate(&wheel));
    far.timer.slot_ms--;
    near.timer.deadline_ms = 1009; /* it would fire too late */
    assert_false(rv_wheel_validate(&wheel));
    near.timer = timer;
    near.timer.link = &far.timer.next; /* not what points to it */
    assert_false(rv_wheel_validate(&wheel));
    near.timer = timer;
    wheel.due = &near.timer; /* in two lists */
    assert_false(rv_wheel_validate(&wheel));
    wheel = sound;
    assert_true(rv_wheel_validate(&wheel));
}

static void the_validator_sees_what_is_broken_among_those_that_are_due(void **state)
{
    (void)state;
    struct rv_wheel wheel;
    rv_wheel_init(&wheel, 1000);
    struct rv_timer due = {.link = &wheel.due, .deadline_ms = 1000};
    wheel.due = &due;
    wheel.count = 1;
    assert_true(rv_wheel_validate(&wheel));
    due.deadline_ms = 1001;
    assert_false(rv_wheel_validate(&wheel));
    due.deadline_ms = 1000;
    due.link = &due.next;
    assert_false(rv_wheel_validate(&wheel));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_wheel_is_empty_and_waits_for_ever),
        cmocka_unit_test(a_timer_fires_once_in_the_first_advance_that_reaches_it),
        cmocka_unit_test(an_advance_past_the_deadline_fires_too),
        cmocka_unit_test(a_deadline_that_is_past_fires_at_the_next_advance),
        cmocka_unit_test(time_never_goes_back),
        cmocka_unit_test(a_stopped_timer_does_not_fire),
        cmocka_unit_test(stopping_a_timer_that_is_not_set_is_harmless),
        cmocka_unit_test(a_deadline_moved_forward_is_kept),
        cmocka_unit_test(setting_a_timer_back_only_stores_the_deadline),
        cmocka_unit_test(a_timer_that_was_set_back_fires_at_its_last_deadline),
        cmocka_unit_test(a_deadline_between_the_slot_and_the_former_one_needs_no_move),
        cmocka_unit_test(timers_fire_in_order_of_their_deadlines),
        cmocka_unit_test(silence_is_skipped_not_counted_off),
        cmocka_unit_test(a_timer_set_to_now_when_it_fires_waits_for_the_next_advance),
        cmocka_unit_test(a_periodic_timer_fires_once_after_a_long_silence),
        cmocka_unit_test(a_due_timer_may_still_be_stopped_by_one_that_fires_before),
        cmocka_unit_test(while_others_are_still_to_fire_the_wait_is_0),
        cmocka_unit_test(a_due_timer_may_still_be_set_back_by_one_that_fires_before),
        cmocka_unit_test(a_due_timer_that_is_set_to_the_past_fires_once),
        cmocka_unit_test(a_timer_may_be_freed_when_it_fires),
        cmocka_unit_test(a_wait_is_never_past_the_next_deadline_and_comes_to_it_in_few_steps),
        cmocka_unit_test(a_near_deadline_is_waited_for_exactly),
        cmocka_unit_test(a_timer_that_was_due_and_is_set_back_is_not_waited_for_with_0),
        cmocka_unit_test(a_deadline_beyond_the_last_level_is_kept),
        cmocka_unit_test(a_millisecond_over_any_digit_is_a_millisecond),
        cmocka_unit_test(the_latest_of_all_deadlines_stands_for_never),
        cmocka_unit_test(random_operations_agree_with_a_table_of_deadlines),
        cmocka_unit_test(the_validator_sees_what_is_broken),
        cmocka_unit_test(the_validator_sees_what_is_broken_among_those_that_are_due),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
