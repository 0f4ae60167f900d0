/*
 * The names of the evidence (evidence.h). What they are read from is kernel_counters.c's affair.
 */
#include "load/evidence.h"

static const char *const names[RV_KERNEL_COUNT] = {
#define RV_KERNEL_NAME(id, table, name) name,
    RV_KERNEL_COUNTERS(RV_KERNEL_NAME)
#undef RV_KERNEL_NAME
};

const char *rv_kernel_counter_name(enum rv_kernel_counter counter)
{
    return names[counter];
}
