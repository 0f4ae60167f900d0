/*
 * Tells AddressSanitizer which octets of a block nobody may touch for now. The allocators of this
 * room keep memory that is nobody's: a touch of it is a fault that the sanitizer then reports where
 * it happens. Without the sanitizer both lines cost nothing. It owns nothing.
 */
#ifndef RV_BASE_POISON_H
#define RV_BASE_POISON_H

#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__)
#define RV_POISONS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RV_POISONS 1
#endif
#endif

#ifdef RV_POISONS
#include <sanitizer/asan_interface.h>
#endif

/* Exact when both ends are multiples of 8; otherwise a few octets at the ends may stay usable. */
static inline void rv_poison(void *at, size_t size)
{
#ifdef RV_POISONS
    ASAN_POISON_MEMORY_REGION(at, size);
#else
    (void)at;
    (void)size;
#endif
}

static inline void rv_unpoison(void *at, size_t size)
{
#ifdef RV_POISONS
    ASAN_UNPOISON_MEMORY_REGION(at, size);
#else
    (void)at;
    (void)size;
#endif
}

#endif
