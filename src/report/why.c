/*
 * All rules, the gravest first (why.h): what kept requests from being answered, what spoilt answers, what
 * made them slow, who was the limit.
 */
#include "report/why.h"

#include "report/why_rules.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *id;
    rv_why_rule *rule;
} rules[] = {
    {"refused", rv_why_refused},
    {"unreachable", rv_why_unreachable},
    {"certificate", rv_why_certificate},
    {"tls_handshake", rv_why_handshake},
    {"http2_refused", rv_why_http2},
    {"descriptors_here", rv_why_descriptors_here},
    {"ports_exhausted", rv_why_ports},
    {"memory", rv_why_memory},
    {"descriptors_at_server", rv_why_descriptors_there},
    {"accept_queue_overflow", rv_why_accept_queue},
    {"accept_queue_full", rv_why_unix_queue},
    {"syn_queue_overflow", rv_why_syn_queue},
    {"connect_timeouts", rv_why_connect_timeouts},
    {"timeouts", rv_why_time_outs},
    {"unanswered", rv_why_unanswered},
    {"broken_off", rv_why_broken_off},
    {"not_http", rv_why_not_http},
    {"error_answers", rv_why_error_answers},
    {"keep_alive_race", rv_why_race},
    {"no_keep_alive", rv_why_no_keep_alive},
    {"stall", rv_why_stall},
    {"pool_limit", rv_why_pool_limit},
    {"delayed_ack", rv_why_delayed_ack},
    {"client_limited", rv_why_client_limited},
    {"too_few_clients", rv_why_few_clients},
    {"server_cpu", rv_why_server_cpu},
    {"shared_cpus", rv_why_shared_cpus},
};

static void put(char *text, size_t size, const char *format, va_list arguments)
{
    size_t length = strlen(text);
    vsnprintf(text + length, size - length, format, arguments);
}

bool rv_finding_says(struct rv_finding *finding, const char *format, ...)
{
    va_list arguments;
    finding->text[0] = '\0';
    va_start(arguments, format);
    put(finding->text, sizeof finding->text, format, arguments);
    va_end(arguments);
    return true;
}

bool rv_finding_adds(struct rv_finding *finding, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    put(finding->text, sizeof finding->text, format, arguments);
    va_end(arguments);
    return true;
}

bool rv_finding_advises(struct rv_finding *finding, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    put(finding->remedy, sizeof finding->remedy, format, arguments);
    va_end(arguments);
    return true;
}

const char *rv_plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

uint32_t rv_why(const struct rv_load_result *result, struct rv_finding findings[RV_FINDINGS_MAX])
{
    uint32_t count = 0;
    for (size_t i = 0; i < sizeof rules / sizeof *rules && count < RV_FINDINGS_MAX; i++) {
        struct rv_finding *finding = &findings[count];
        *finding = (struct rv_finding){.id = rules[i].id};
        count += rules[i].rule(result, finding);
    }
    return count;
}
