/*
 * The timer wheel. A time is read as digits of base 64: level 0 is the last digit, level 1 the one
 * before it, and so on. A timer sits at the level of the first digit, from the left, in which its
 * time differs from now, in the slot that this digit names; its slot_ms is the time with all lower
 * digits zero. Two things follow, and everything below rests on them:
 *
 *  - Every slot of a level that holds timers lies ahead of now, and all of them come up before any
 *    of the next level. So the lowest level that has any holds the next event, and it is the next
 *    bit.
 *  - When now reaches slot_ms, the digits before agree, so the timer goes to a lower level, or is
 *    due.
 *
 * Two cases stand beside the rule. A deadline in the past becomes "now", in the slot of level 0
 * that now itself names, which is otherwise empty. And the last level is a ring: what is more than
 * 63 of its slots away waits in the farthest one and is put in again from there.
 */
#include "io/timer.h"

#include <assert.h>
#include <string.h>

enum { LEVELS = RV_WHEEL_LEVELS, SLOTS = RV_WHEEL_SLOTS, DIGIT_BITS = 6, LAST_LEVEL = LEVELS - 1 };

static_assert(1 << DIGIT_BITS == SLOTS, "a slot for each value of a digit");

void rv_wheel_init(struct rv_wheel *wheel, uint64_t now_ms)
{
    memset(wheel, 0, sizeof(*wheel));
    wheel->now_ms = now_ms;
}

void rv_timer_init(struct rv_timer *timer, void (*fire)(struct rv_timer *timer))
{
    *timer = (struct rv_timer){.fire = fire};
}

/* ---- lists ----------------------------------------------------------------------------------- */

static void push(struct rv_timer **head, struct rv_timer *timer)
{
    timer->next = *head;
    timer->link = head;
    if (timer->next != NULL)
        timer->next->link = &timer->next;
    *head = timer;
}

/* Takes the timer out of its list, be that a slot or `due`. */
static void unlink_timer(struct rv_wheel *wheel, struct rv_timer *timer)
{
    *timer->link = timer->next;
    if (timer->next != NULL) {
        timer->next->link = timer->link;
    } else {
        /* It was the last. If it was the first, too, and its list is a slot, the bit goes. */
        uintptr_t offset = (uintptr_t)timer->link - (uintptr_t)wheel->slots;
        if (offset < sizeof(wheel->slots)) {
            size_t slot = offset / sizeof(wheel->slots[0][0]);
            wheel->occupied[slot / SLOTS] &= ~(UINT64_C(1) << slot % SLOTS);
        }
    }
    timer->next = NULL;
    timer->link = NULL;
    timer->slot_ms = 0;
}

/* ---- setting --------------------------------------------------------------------------------- */

/* Where a timer for `at_ms` belongs while it is `now_ms`, which is not later. */
static unsigned place(uint64_t now_ms, uint64_t at_ms, uint64_t *slot_ms)
{
    uint64_t differing = now_ms ^ at_ms;
    unsigned level = differing == 0 ? 0 : (63 - (unsigned)__builtin_clzll(differing)) / DIGIT_BITS;
    if (level <= LAST_LEVEL) {
        unsigned shift = level * DIGIT_BITS;
        *slot_ms = at_ms >> shift << shift;
        return level;
    }
    unsigned shift = LAST_LEVEL * DIGIT_BITS;
    uint64_t digits = at_ms >> shift;
    uint64_t farthest = (now_ms >> shift) + SLOTS - 1;
    *slot_ms = (digits < farthest ? digits : farthest) << shift;
    return LAST_LEVEL;
}

/* Puts a timer whose deadline is not before now into its slot. */
static void put(struct rv_wheel *wheel, struct rv_timer *timer)
{
    unsigned level = place(wheel->now_ms, timer->deadline_ms, &timer->slot_ms);
    unsigned slot = (timer->slot_ms >> level * DIGIT_BITS) % SLOTS;
    push(&wheel->slots[level][slot], timer);
    wheel->occupied[level] |= UINT64_C(1) << slot;
}

void rv_timer_insert(struct rv_wheel *wheel, struct rv_timer *timer, uint64_t deadline_ms)
{
    if (timer->link != NULL)
        unlink_timer(wheel, timer);
    else
        wheel->count++;
    timer->deadline_ms = deadline_ms > wheel->now_ms ? deadline_ms : wheel->now_ms;
    put(wheel, timer);
}

void rv_timer_stop(struct rv_wheel *wheel, struct rv_timer *timer)
{
    if (timer->link == NULL)
        return;
    unlink_timer(wheel, timer);
    wheel->count--;
}

/* ---- time passes ----------------------------------------------------------------------------- */

/* The next slot that comes up; false when the wheel is empty. */
static bool next_event(const struct rv_wheel *wheel, unsigned *level, uint64_t *at_ms)
{
    for (unsigned i = 0; i < LEVELS; i++) {
        uint64_t occupied = wheel->occupied[i];
        if (occupied == 0)
            continue;
        uint64_t digits = wheel->now_ms >> i * DIGIT_BITS;
        unsigned here = digits % SLOTS;
        uint64_t ahead = occupied >> here | occupied << (SLOTS - here) % SLOTS;
        *level = i;
        *at_ms = (digits + (unsigned)__builtin_ctzll(ahead)) << i * DIGIT_BITS;
        return true;
    }
    return false;
}

/* Empties the slot that has come up: what is due goes to the end of `due`, the rest is put in
   again. Returns the new end. */
static struct rv_timer **empty_slot(struct rv_wheel *wheel, unsigned level, struct rv_timer **end)
{
    unsigned slot = (wheel->now_ms >> level * DIGIT_BITS) % SLOTS;
    struct rv_timer *timer = wheel->slots[level][slot];
    wheel->slots[level][slot] = NULL;
    wheel->occupied[level] &= ~(UINT64_C(1) << slot);
    while (timer != NULL) {
        struct rv_timer *next = timer->next;
        if (timer->deadline_ms <= wheel->now_ms) {
            push(end, timer);
            end = &timer->next;
        } else {
            put(wheel, timer);
        }
        timer = next;
    }
    return end;
}

void rv_wheel_advance(struct rv_wheel *wheel, uint64_t now_ms)
{
    assert(wheel->due == NULL);
    struct rv_timer **end = &wheel->due;
    unsigned level;
    uint64_t at_ms;
    while (next_event(wheel, &level, &at_ms) && (at_ms <= now_ms || at_ms == wheel->now_ms)) {
        wheel->now_ms = at_ms;
        end = empty_slot(wheel, level, end);
    }
    if (wheel->now_ms < now_ms)
        wheel->now_ms = now_ms;

    /* Only now do the timers fire, when the wheel is in order again and everything that they set is
       seen from the new time. One that is due may still be stopped or set by one that fires before
       it: then it is no longer in this list. */
    while (wheel->due != NULL) {
        struct rv_timer *timer = wheel->due;
        rv_timer_stop(wheel, timer);
        timer->fire(timer);
    }
}

uint64_t rv_wheel_wait_ms(const struct rv_wheel *wheel)
{
    unsigned level;
    uint64_t at_ms;
    if (wheel->due != NULL)
        return 0;
    return next_event(wheel, &level, &at_ms) ? at_ms - wheel->now_ms : UINT64_MAX;
}

/* ---- validation ------------------------------------------------------------------------------ */

static bool slot_is_valid(const struct rv_wheel *wheel, unsigned level, unsigned slot,
                          size_t *count)
{
    struct rv_timer *const *link = &wheel->slots[level][slot];
    bool occupied = wheel->occupied[level] >> slot & 1;
    if (occupied != (*link != NULL))
        return false;
    for (const struct rv_timer *timer = *link; timer != NULL; timer = timer->next) {
        uint64_t slot_ms;
        if (timer->link != link || timer->slot_ms > timer->deadline_ms)
            return false;
        if (timer->slot_ms < wheel->now_ms || (timer->slot_ms == wheel->now_ms && level > 0))
            return false;
        if (place(wheel->now_ms, timer->slot_ms, &slot_ms) != level || slot_ms != timer->slot_ms)
            return false;
        if ((slot_ms >> level * DIGIT_BITS) % SLOTS != slot)
            return false;
        link = &timer->next;
        (*count)++;
    }
    return true;
}

bool rv_wheel_validate(const struct rv_wheel *wheel)
{
    size_t count = 0;
    for (unsigned level = 0; level < LEVELS; level++)
        for (unsigned slot = 0; slot < SLOTS; slot++)
            if (!slot_is_valid(wheel, level, slot, &count))
                return false;
    struct rv_timer *const *link = &wheel->due;
    for (const struct rv_timer *timer = *link; timer != NULL; timer = timer->next) {
        if (timer->link != link || timer->deadline_ms > wheel->now_ms)
            return false;
        link = &timer->next;
        count++;
    }
    return count == wheel->count;
}
