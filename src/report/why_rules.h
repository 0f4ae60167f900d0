/*
 * The rules behind why.h: each looks for one cause in a result and, when the evidence proves it, says so.
 * They are grouped by where the cause lies: in the way to the server (why_connect.c), in the server
 * (why_server.c), in the client (why_client.c).
 */
#ifndef RV_REPORT_WHY_RULES_H
#define RV_REPORT_WHY_RULES_H

#include "report/why.h"

/* True: the cause is there, and `finding` has its text and remedy. */
typedef bool rv_why_rule(const struct rv_load_result *result, struct rv_finding *finding);

/* Each returns true, so that a rule can end with it. */
bool rv_finding_says(struct rv_finding *finding, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
bool rv_finding_adds(struct rv_finding *finding, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
bool rv_finding_advises(struct rv_finding *finding, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* "s" for all numbers but one. */
const char *rv_plural(uint64_t count);

rv_why_rule rv_why_refused, rv_why_ports, rv_why_descriptors_here, rv_why_descriptors_there,
    rv_why_accept_queue, rv_why_unix_queue, rv_why_syn_queue, rv_why_unreachable,
    rv_why_connect_timeouts;
rv_why_rule rv_why_certificate, rv_why_handshake, rv_why_http2;
rv_why_rule rv_why_time_outs, rv_why_unanswered, rv_why_broken_off, rv_why_not_http,
    rv_why_error_answers, rv_why_race, rv_why_no_keep_alive, rv_why_stall, rv_why_pool_limit,
    rv_why_server_cpu, rv_why_delayed_ack;
rv_why_rule rv_why_client_limited, rv_why_few_clients, rv_why_shared_cpus, rv_why_memory;

#endif
