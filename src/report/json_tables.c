/*
 * The tables, in the order of the structs.
 */
#include "report/json_tables.h"

#include "load/result.h"

#define TABLE(rows)                                                                                \
    {                                                                                              \
        rows, sizeof rows / sizeof *rows                                                           \
    }

#define RESULT(member) RV_JSON_MEMBER(struct rv_load_result, member)
#define RESULT_AS(member, kind) RV_JSON_MEMBER_AS(struct rv_load_result, member, kind)
#define PERIOD(member) RV_JSON_MEMBER(struct rv_load_period, member)
#define SAMPLE(member) RV_JSON_MEMBER(struct rv_load_sample, member)
#define EVIDENCE(member) RV_JSON_MEMBER(struct rv_evidence, member)
#define EVIDENCE_AS(member, kind) RV_JSON_MEMBER_AS(struct rv_evidence, member, kind)
#define SERVER(member) RV_JSON_MEMBER(struct rv_server_evidence, member)
#define SERVER_AS(member, kind) RV_JSON_MEMBER_AS(struct rv_server_evidence, member, kind)

/* clang-format off */

static const struct rv_json_member asked[] = {
    RESULT_AS(command, RV_JSON_STRING_OR_NOT),
    RESULT(url),
    RESULT(host),
    RESULT(document),
    RESULT(port),
};

static const struct rv_json_member plan[] = {
    RESULT(open_model),
    RESULT(poisson),
    RESULT(close_each),
    RESULT(keep_alive_1_0),
    RESULT(clients),
    RESULT(threads),
    RESULT(pipeline),
    RESULT(request_kinds),
    RESULT(requests_max),
    RESULT(quota),
    RESULT(duration_us),
    RESULT(requests_per_connection),
    RESULT(think_us),
    RESULT(timeout_us),
    RESULT(rate_per_s),
    RESULT(connect_rate_per_s),
    RESULT_AS(seed, RV_JSON_UINT64_TEXT),
    RESULT_AS(content_expected, RV_JSON_UINT64_ANY),
    RESULT(request_bytes),
    RESULT(has_body),
};

static const struct rv_json_member when[] = {
    RESULT(started_us),
    RESULT(elapsed_us),
};

static const struct rv_json_member requests[] = {
    RESULT(due),
    RESULT(started),
    RESULT(answered),
    RESULT(failed),
    RESULT(in_flight),
    RESULT(not_started),
    RESULT(queued),
    RESULT(interim),
    RESULT(other_length),
    RESULT(kept_alive),
};

static const struct rv_json_member connections[] = {
    RESULT(connects),
    RESULT(connects_tried),
    RESULT(open_peak),
    RESULT(reopened),
    RESULT(races),
};

static const struct rv_json_member http2[] = {
    RESULT(http2),
    RESULT(streams),
    RESULT(streams_limit),
    RESULT(goaways),
    RESULT(sent_again),
};

static const struct rv_json_member tls[] = {
    RESULT(tls),
    RESULT_AS(tls_version, RV_JSON_TEXT),
    RESULT_AS(tls_cipher, RV_JSON_TEXT),
    RESULT(tls_key_bits),
    RESULT(tls_certificate_bits),
    RESULT_AS(tls_temp_key, RV_JSON_TEXT),
    RESULT_AS(tls_name, RV_JSON_TEXT),
    RESULT(tls_full),
    RESULT(tls_resumed),
    RESULT_AS(tls_failure, RV_JSON_TEXT),
};

static const struct rv_json_member octets[] = {
    RESULT(sent_octets),
    RESULT(received_octets),
    RESULT(content_octets),
    RESULT(first_content),
};

static const struct rv_json_member first[] = {
    RESULT_AS(server_software, RV_JSON_TEXT),
    RESULT_AS(first_head, RV_JSON_STRING_OR_NOT),
};

static const struct rv_json_member period[] = {
    PERIOD(answered),
    PERIOD(failed),
    PERIOD(octets),
    PERIOD(connects),
    PERIOD(p50_us),
    PERIOD(p99_us),
    PERIOD(max_us),
};

static const struct rv_json_member sample[] = {
    SAMPLE(start_us),
    SAMPLE(opening_us),
    SAMPLE(wait_us),
    SAMPLE(service_us),
    SAMPLE(status),
};

static const struct rv_json_member evidence[] = {
    EVIDENCE(has_counters),
    EVIDENCE(client_cpu_us),
    EVIDENCE(turns),
    EVIDENCE(cpus_client),
    EVIDENCE(cpus_shared),
    EVIDENCE(cpus_online),
    EVIDENCE_AS(descriptor_limit, RV_JSON_UINT64_ANY),
    EVIDENCE(somaxconn),
    EVIDENCE(syn_backlog_max),
    EVIDENCE(port_first),
    EVIDENCE(port_last),
    EVIDENCE(time_wait_before),
    EVIDENCE(time_wait_after),
    EVIDENCE(steal_us),
    EVIDENCE_AS(other_cpu_us, RV_JSON_INT64_OR_NOT),
    EVIDENCE_AS(kernel, RV_JSON_TEXT),
};

static const struct rv_json_member server[] = {
    SERVER(found),
    SERVER(pid_known),
    SERVER(pid),
    SERVER(processes),
    SERVER_AS(name, RV_JSON_TEXT),
    SERVER_AS(address, RV_JSON_TEXT),
    SERVER(sockets),
    SERVER(backlog),
    SERVER(queue_peak),
    SERVER(queue_samples),
    SERVER(queue_full_samples),
    SERVER_AS(queue_drops, RV_JSON_INT64_OR_NOT),
    SERVER(cpu_us),
    SERVER(user_us),
    SERVER(system_us),
    SERVER(thread_busiest_us),
    SERVER(cpu_wait_us),
    SERVER(cpus),
    SERVER(threads),
    SERVER(descriptors),
    SERVER_AS(descriptor_limit, RV_JSON_UINT64_ANY),
};

const struct rv_json_table rv_json_asked = TABLE(asked);
const struct rv_json_table rv_json_plan = TABLE(plan);
const struct rv_json_table rv_json_when = TABLE(when);
const struct rv_json_table rv_json_requests = TABLE(requests);
const struct rv_json_table rv_json_connections = TABLE(connections);
const struct rv_json_table rv_json_http2 = TABLE(http2);
const struct rv_json_table rv_json_tls = TABLE(tls);
const struct rv_json_table rv_json_octets = TABLE(octets);
const struct rv_json_table rv_json_first = TABLE(first);
const struct rv_json_table rv_json_period = TABLE(period);
const struct rv_json_table rv_json_sample = TABLE(sample);
const struct rv_json_table rv_json_evidence = TABLE(evidence);
const struct rv_json_table rv_json_server = TABLE(server);

const char *const rv_json_end_names[RV_JSON_ENDS] = {
    [RV_END_DONE] = "done",
    [RV_END_INTERRUPTED] = "interrupted",
    [RV_END_UNREACHED] = "unreached",
    [RV_END_FAILURES] = "failures",
};

#define TIME(member) {#member, offsetof(struct rv_load_result, member)}
const struct rv_json_time rv_json_times[RV_JSON_TIMES] = {
    TIME(connect),
    TIME(opening),
    TIME(wait),
    TIME(transfer),
    TIME(service),
    TIME(lateness),
    TIME(failing),
    TIME(unfinished),
    TIME(handshake),
};

const char *const rv_json_total_names[RV_JSON_TOTALS] = {
    "other", "1xx", "2xx", "3xx", "4xx", "5xx",
};
