/*
 * What a client notes of TLS (client_inner.h): what was agreed on in the first handshake, how long each
 * took, and in which words the first one failed that did.
 */
#include "io/tls.h"

#if RV_TLS_BUILT

#include "load/client_inner.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void note_facts(struct rv_load_result *result, const struct rv_stream *stream,
                       const struct rv_tls_facts *facts)
{
    snprintf(result->tls_version, sizeof result->tls_version, "%s", facts->version);
    snprintf(result->tls_cipher, sizeof result->tls_cipher, "%s", facts->cipher);
    snprintf(result->tls_name, sizeof result->tls_name, "%s",
             facts->server_name == NULL ? "" : facts->server_name);
    result->tls_key_bits = facts->cipher_bits;
    result->tls_certificate_bits = facts->certificate_bits;
    rv_tls_describe_key(stream, result->tls_temp_key, sizeof result->tls_temp_key);
}

uint64_t rv_client_secured(struct rv_client *client, uint64_t now_us)
{
    struct rv_recorder *recorder = &client->thread->recorder;
    struct rv_tls_facts facts;
    rv_tls_facts(&client->stream, &facts);
    if (recorder->result.tls_version[0] == '\0')
        note_facts(&recorder->result, &client->stream, &facts);
    uint64_t there_us = facts.begun_ns / 1000;
    rv_recorder_secured(recorder, now_us - there_us, facts.resumed);
    return there_us;
}

bool rv_client_chose_h2(struct rv_client *client)
{
    struct rv_load_result *result = &client->thread->recorder.result;
    struct rv_tls_facts facts;
    rv_tls_facts(&client->stream, &facts);
    if (facts.protocol != NULL && facts.protocol_length == 2 &&
        memcmp(facts.protocol, "h2", 2) == 0)
        return true;
    if (result->tls_failure[0] == '\0')
        snprintf(result->tls_failure, sizeof result->tls_failure,
                 facts.protocol == NULL ? "the server chose no protocol"
                                        : "the server chose \"%.*s\"",
                 (int)facts.protocol_length, facts.protocol);
    return false;
}

static const char *reason_of(const struct rv_tls_failure *failure, int error_number)
{
    if (failure->reason != NULL)
        return failure->reason;
    if (error_number == ETIMEDOUT)
        return "it was not done within the time limit";
    return error_number == 0 ? "the server closed the connection" : strerror(error_number);
}

bool rv_client_failed_by_tls(struct rv_client *client, int error_number,
                             enum rv_load_failure *failure)
{
    struct rv_load_result *result = &client->thread->recorder.result;
    struct rv_tls_failure tls;
    rv_tls_failure(&client->stream, &tls);
    if (!tls.begun || (client->state == RV_CLIENT_OPEN && !tls.told))
        return false;
    *failure = tls.certificate ? RV_FAILURE_CONNECT_CERTIFICATE
               : tls.protocol  ? RV_FAILURE_CONNECT_PROTOCOL
                               : RV_FAILURE_CONNECT_TLS;
    if (result->tls_failure[0] == '\0')
        snprintf(result->tls_failure, sizeof result->tls_failure, "%s",
                 reason_of(&tls, error_number));
    return true;
}

#endif
