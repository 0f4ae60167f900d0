/*
 * ApacheBench's request: the same octets in the same order.
 */
#ifndef RV_CLI_AB_REQUEST_H
#define RV_CLI_AB_REQUEST_H

#include "cli/ab_options.h"
#include "load/request.h"

/* `authority` is for Host; `body` counts when the command has one. RV_ENOMEM. */
rv_error rv_ab_request_build(const struct rv_ab_command *command, const char *authority,
                             rv_bytes body, struct rv_load_request *request);

#endif
