/*
 * Numbers that look random and are the same in every run: for property tests, whose failures must
 * come back. A generator is one word that its test owns and seeds.
 */
#ifndef RV_TESTS_RANDOM_H
#define RV_TESTS_RANDOM_H

#include <stdint.h>

/* A step of Marsaglia's 64-bit xorshift (13, 7, 17), its high half mixed into the low one. The
   state is never 0. */
static inline uint64_t random_next(uint64_t *state)
{
    uint64_t x = *state != 0 ? *state : UINT64_C(0x9e3779b97f4a7c15);
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    *state = x;
    return x * UINT64_C(0xd1342543de82ef95) ^ x >> 32;
}

/* 0 .. bound - 1. */
static inline uint64_t random_below(uint64_t *state, uint64_t bound)
{
    return (random_next(state) >> 11) % bound;
}

/* Any magnitude up to `bits` bits is as likely as any other. */
static inline uint64_t random_of_any_size(uint64_t *state, unsigned bits)
{
    unsigned size = (unsigned)random_below(state, bits + 1);
    return size == 0 ? 0 : random_next(state) >> (64 - size);
}

#endif
