/*
 * Random numbers for schedules and spreading, not for secrets: a generator of 64 bits of state, whose
 * sequence is the same for the same seed on every machine.
 */
#ifndef RV_BASE_RANDOM_H
#define RV_BASE_RANDOM_H

#include <stdint.h>

struct rv_random {
    uint64_t state;
};

/* Steele, Lea, Flood: "Fast splittable pseudorandom number generators" (OOPSLA 2014). */
static inline uint64_t rv_random_next(struct rv_random *random)
{
    uint64_t mixed = random->state += 0x9e3779b97f4a7c15;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return mixed ^ (mixed >> 31);
}

/* Evenly in (0, 1]: its logarithm is finite. */
static inline double rv_random_unit(struct rv_random *random)
{
    return (double)((rv_random_next(random) >> 11) + 1) * 0x1p-53;
}

#endif
