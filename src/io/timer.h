/*
 * A hierarchical timer wheel: 7 levels of 64 slots, one slot of the lowest level is a millisecond.
 * Setting, moving and stopping are O(1). When a slot comes up its timers go down a level, or fire.
 *
 * Re-arming is lazy: a timer that is set to a deadline not before the slot it sits in only has the
 * new deadline stored; when the slot comes up, the timer is put in again for what is left. So the
 * hot path of a keep-alive connection, which pushes its deadline on with every request, costs one
 * store.
 *
 * Timers are embedded in their owners; the wheel owns nothing but its slots. One thread.
 */
#ifndef RV_IO_TIMER_H
#define RV_IO_TIMER_H

#include <rivulet.h>

#define RV_WHEEL_LEVELS 7
#define RV_WHEEL_SLOTS 64

struct rv_timer {
    struct rv_timer *next;
    struct rv_timer **link; /* what points to this timer; NULL: not in the wheel */
    uint64_t deadline_ms;   /* when it is really due */
    uint64_t slot_ms;       /* the time its slot stands for, <= deadline_ms; 0: not in the wheel */
    void (*fire)(struct rv_timer *timer); /* the timer is out of the wheel when this is called */
};

struct rv_wheel {
    uint64_t now_ms;                    /* the time of the last advance */
    uint64_t occupied[RV_WHEEL_LEVELS]; /* a bit for each slot that holds timers */
    struct rv_timer *slots[RV_WHEEL_LEVELS][RV_WHEEL_SLOTS];
    struct rv_timer *due; /* what the running advance has yet to fire; NULL when none runs */
    size_t count;         /* timers in the wheel, those in `due` among them */
};

void rv_wheel_init(struct rv_wheel *wheel, uint64_t now_ms);

/* Makes a timer that is not in the wheel. */
void rv_timer_init(struct rv_timer *timer, void (*fire)(struct rv_timer *timer));

/* Puts the timer in, or moves it. A deadline in the past fires at the next advance. */
void rv_timer_insert(struct rv_wheel *wheel, struct rv_timer *timer, uint64_t deadline_ms);

/* Takes it out; harmless when it is not in. */
void rv_timer_stop(struct rv_wheel *wheel, struct rv_timer *timer);

static inline bool rv_timer_is_set(const struct rv_timer *timer)
{
    return timer->link != NULL;
}

/* The lazy setter: one store when the timer sits in a slot ahead and its deadline is not before
   that. */
static inline void rv_timer_set(struct rv_wheel *wheel, struct rv_timer *timer,
                                uint64_t deadline_ms)
{
    if (timer->slot_ms > wheel->now_ms && deadline_ms >= timer->slot_ms)
        timer->deadline_ms = deadline_ms;
    else
        rv_timer_insert(wheel, timer, deadline_ms);
}

/* Fires everything due up to `now_ms`, in order of the deadlines. A `fire` may set or stop its own
   and any other timer, and may free its own; what it sets to a time that is past fires at the next
   advance, so an advance always ends. Time never goes back: an earlier `now_ms` counts as the
   wheel's own. */
void rv_wheel_advance(struct rv_wheel *wheel, uint64_t now_ms);

/* How long a wait may last before the wheel must be advanced: a lower bound of the time to the next
   deadline (0: a timer is due at once); UINT64_MAX when the wheel is empty. The advance then either
   fires a timer or moves some down a level, or finds that a lazily set one has been moved on. */
uint64_t rv_wheel_wait_ms(const struct rv_wheel *wheel);

/* Checks every invariant (links, bits, counts, each timer in the slot its slot_ms asks for). */
bool rv_wheel_validate(const struct rv_wheel *wheel);

#endif
