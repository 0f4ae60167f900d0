/*
 * The plan's side of a result (describe.h).
 */
#include "load/describe.h"

#include <string.h>

static char *document_of(const struct rv_load_request *request)
{
    const char *start = memchr(request->octets, ' ', request->head_length);
    if (start == NULL)
        return strdup("/");
    start++;
    const char *end = memchr(start, ' ', request->head_length - (size_t)(start - request->octets));
    return strndup(start, end == NULL ? 0 : (size_t)(end - start));
}

rv_error rv_load_describe(const struct rv_load_plan *plan, struct rv_load_result *result)
{
    result->url = strdup(plan->target.url == NULL ? "" : plan->target.url);
    result->host = strdup(plan->target.host == NULL ? "" : plan->target.host);
    result->document = document_of(&plan->requests[0]);
    if (result->url == NULL || result->host == NULL || result->document == NULL)
        return RV_ENOMEM;
    result->port = plan->target.port;
    result->tls = plan->target.is_tls;
    result->open_model = plan->model == RV_LOAD_OPEN;
    result->poisson = plan->arrivals == RV_ARRIVALS_POISSON;
    result->close_each = plan->close_each;
    result->clients = plan->clients;
    result->threads = plan->threads;
    result->pipeline = plan->pipeline > 1 ? plan->pipeline : 1;
    result->http2 = plan->http2;
    result->streams = plan->http2 && plan->think_us == 0 && plan->streams > 1 ? plan->streams : 1;
    result->request_kinds = plan->request_count;
    result->requests_max = plan->requests_max;
    result->quota = plan->quota;
    result->duration_us = plan->duration_us;
    result->requests_per_connection = plan->requests_per_connection;
    result->think_us = plan->think_us;
    result->timeout_us = plan->timeout_us;
    result->rate_per_s = plan->rate_per_s;
    result->connect_rate_per_s = plan->connect_rate_per_s;
    result->seed = plan->seed;
    result->content_expected = plan->requests[0].content_expected;
    result->request_bytes = plan->requests[0].length;
    result->has_body = plan->requests[0].length > plan->requests[0].head_length;
    return 0;
}
