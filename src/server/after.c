/*
 * After-handlers (after.h). While they run the response is in a phase of its own, in which fields may be
 * changed and nothing can be answered.
 */
#include "server/after.h"

#include "server/tell.h"

/* It is the program's fault, and no reason to leave the client without an answer. */
static void report(const struct rv_talk *talk, int result)
{
    rv_tell_failure(talk, result < 0 ? result : RV_ESTATE, "in an after-handler",
                    result < 0 ? "" : "it has returned something other than RV_OK");
}

void rv_afters_run(struct rv_talk *talk)
{
    const struct rv_app *app = talk->app;
    enum rv_response_phase phase = talk->response;
    bool is_streamed = phase == RV_RESPONSE_BEGUN;
    if (is_streamed && talk->afters_run)
        return; /* on a pool thread, which has ended it without a write */
    talk->afters_run = is_streamed;
    talk->response = RV_RESPONSE_LEAVING;
    for (size_t i = app->afters.count; i-- > 0;) {
        const struct rv_side_handler *after = &app->afters.list[i];
        if (!rv_side_handler_covers(app, after, rv_path(talk)))
            continue;
        int result = after->handler(talk, after->ctx);
        if (result != RV_OK)
            report(talk, result);
    }
    talk->response = phase;
}
