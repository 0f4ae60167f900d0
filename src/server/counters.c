/*
 * Step 12: counters. Each worker writes its own with plain stores; here they are read and summed from
 * any thread.
 */
#include "server/worker.h"

#include <string.h>

static void add(rv_counter_values *sum, const rv_counter_values *values)
{
#define RV_COUNTER_ADD(name) sum->name += __atomic_load_n(&values->name, __ATOMIC_RELAXED);
    RV_COUNTERS(RV_COUNTER_ADD)
#undef RV_COUNTER_ADD
}

void rv_counters(const rv_server *server, rv_counter_values *values)
{
    pthread_mutex_t *mutex = (pthread_mutex_t *)&server->mutex;
    pthread_mutex_lock(mutex);
    memset(values, 0, sizeof *values);
    for (unsigned i = 0; i < server->worker_count; i++)
        add(values, &server->workers[i]->counters);
    pthread_mutex_unlock(mutex);
}

rv_error rv_worker_counters(const rv_server *server, unsigned worker, rv_counter_values *values)
{
    pthread_mutex_t *mutex = (pthread_mutex_t *)&server->mutex;
    rv_error error = RV_EINVAL;
    pthread_mutex_lock(mutex);
    memset(values, 0, sizeof *values);
    if (worker < server->worker_count) {
        add(values, &server->workers[worker]->counters);
        error = 0;
    }
    pthread_mutex_unlock(mutex);
    return error;
}
