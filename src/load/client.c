/*
 * What becomes of exchanges whatever protocol is spoken (client.h): how they are taken up, wait in the ring,
 * and outlive their connection.
 */
#include "load/client_inner.h"

#include "load/h2_client.h"

#include <string.h>

rv_error rv_client_init(struct rv_client *client, struct rv_load_thread *thread,
                        struct rv_exchange *ring, uint32_t number)
{
    const struct rv_load_plan *plan = thread->plan;
    memset(client, 0, sizeof *client);
    client->thread = thread;
    client->ring = ring;
    client->room = thread->pipeline;
    client->quota_left = plan->quota == 0 ? UINT64_MAX : plan->quota;
    if (plan->set_count > 1)
        client->first_request = number % plan->set_count * plan->request_count;
    rv_timer_init(&client->pause, rv_client_pause_over);
    return RV_H2_BUILT && plan->http2 ? rv_h2_client_new(client) : 0;
}

void rv_client_free(struct rv_client *client)
{
    rv_buffer_free(&client->partial);
    if (RV_H2_BUILT)
        rv_h2_client_free(client);
}

struct rv_exchange rv_client_pop(struct rv_client *client)
{
    struct rv_exchange exchange = *rv_client_exchange(client, 0);
    client->first = client->first + 1 == client->thread->pipeline ? 0 : client->first + 1;
    client->count--;
    if (client->unsent > client->count) /* it was never sent */
        client->unsent = client->count;
    client->thread->exchanges--;
    client->phase = RV_ANSWER_NONE;
    return exchange;
}

void rv_client_put_back(struct rv_client *client, const struct rv_exchange *exchange)
{
    client->first = (client->first == 0 ? client->thread->pipeline : client->first) - 1;
    client->ring[client->first] = *exchange;
    client->count++;
    client->unsent++;
    client->thread->exchanges++;
}

void rv_client_set_timer(struct rv_client *client, uint64_t timeout_ms)
{
    if (timeout_ms != UINT64_MAX)
        rv_stream_set_timer(&client->stream, client->thread->loop.now_ms + timeout_ms);
}

void rv_client_start(struct rv_client *client, uint64_t due_us, uint64_t now_us)
{
    struct rv_load_thread *thread = client->thread;
    struct rv_exchange *exchange = rv_client_exchange(client, client->count);
    *exchange = (struct rv_exchange){
        .due_us = due_us,
        .taken_us = now_us,
        .request = client->first_request + client->next_request,
        .opens = client->state != RV_CLIENT_OPEN,
    };
    client->next_request =
        client->next_request + 1 == thread->plan->request_count ? 0 : client->next_request + 1;
    client->count++;
    client->unsent++;
    thread->exchanges++;
    rv_recorder_started(&thread->recorder, exchange, thread->plan->model == RV_LOAD_OPEN);
    if (client->state == RV_CLIENT_OPEN)
        rv_client_speaks(client)->send(client, now_us);
    else if (client->state == RV_CLIENT_CLOSED)
        rv_load_thread_want_open(thread, client, now_us);
}

void rv_client_close(struct rv_client *client)
{
    if (client->state != RV_CLIENT_OPEN && client->state != RV_CLIENT_CONNECTING)
        return;
    if (client->state == RV_CLIENT_OPEN)
        client->thread->open--;
    client->state = RV_CLIENT_CLOSING;
    rv_client_speaks(client)->closing(client);
    rv_stream_close(&client->stream);
}

void rv_client_stop(struct rv_client *client, uint64_t now_us)
{
    rv_timer_stop(&client->thread->loop.wheel, &client->pause);
    rv_client_close(client);
    while (client->count > 0) {
        struct rv_exchange exchange = rv_client_pop(client);
        rv_recorder_unfinished(&client->thread->recorder, &exchange, now_us);
    }
}
