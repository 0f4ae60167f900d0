/*
 * What the wires of all protocols share (wire.h).
 */
#include "server/wire.h"

#include <unistd.h>

void rv_wire_count(struct rv_worker *worker, int status)
{
    rv_counter_values *counters = &worker->counters;
    uint64_t *classes[] = {&counters->responses_1xx, &counters->responses_2xx,
                           &counters->responses_3xx, &counters->responses_4xx,
                           &counters->responses_5xx};
    if (status >= 100 && status < 600)
        rv_count(classes[status / 100 - 1], 1);
}

const struct rv_h1_preamble *rv_wire_preamble(struct rv_worker *worker)
{
    if (worker->preamble.second != worker->loop.wall_s)
        rv_h1_preamble_make(&worker->preamble, rv_str(worker->server->options.server_name),
                            worker->loop.wall_s);
    return &worker->preamble;
}

void rv_content_drop(const struct rv_content *content)
{
    if (content->kind == RV_CONTENT_FILE && content->release == NULL)
        close(content->file);
    if (content->release != NULL)
        content->release(content->ctx);
}
