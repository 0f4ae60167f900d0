/*
 * The two arrival laws (pace.h). An even schedule is computed from the number of the request, so that no
 * rounding adds up over hours.
 */
#include "load/pace.h"

#include <math.h>

void rv_pace_start(struct rv_pace *pace, const struct rv_load_plan *plan, unsigned index,
                   unsigned count, uint64_t start_us)
{
    *pace = (struct rv_pace){
        .arrivals = plan->arrivals,
        .period_us = 1e6 / plan->rate_per_s * count,
        .start_us = start_us,
        .random = {plan->seed + 0x9e3779b97f4a7c15 * (index + 1)},
    };
    if (plan->arrivals == RV_ARRIVALS_EVEN)
        pace->start_us += (uint64_t)(pace->period_us * index / count);
    else
        pace->at_us = -log(rv_random_unit(&pace->random)) * pace->period_us;
}

void rv_pace_advance(struct rv_pace *pace)
{
    pace->taken++;
    if (pace->arrivals == RV_ARRIVALS_EVEN)
        pace->at_us = (double)pace->taken * pace->period_us;
    else
        pace->at_us += -log(rv_random_unit(&pace->random)) * pace->period_us;
}

uint64_t rv_pace_give_up(struct rv_pace *pace, uint64_t end_us)
{
    uint64_t count = 0;
    for (; rv_pace_due_us(pace) < end_us; count++)
        rv_pace_advance(pace);
    return count;
}
