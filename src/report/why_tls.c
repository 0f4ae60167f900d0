/*
 * What TLS kept from coming about (why_rules.h): certificates that were not accepted, handshakes that
 * failed, in the words of the library that judged them; a server that does not speak HTTP/2.
 */
#include "report/why_rules.h"

#include <inttypes.h>
#include <string.h>

bool rv_why_certificate(const struct rv_load_result *result, struct rv_finding *finding)
{
    uint64_t failed = result->failures[RV_FAILURE_CONNECT_CERTIFICATE];
    if (failed == 0)
        return false;
    rv_finding_says(finding,
                    "The certificate was not accepted: %" PRIu64 " handshake%s ended with it (%s).",
                    failed, rv_plural(failed), result->tls_failure);
    return rv_finding_advises(finding,
                              "Name who vouches for it (--cacert FILE), ask for the name that "
                              "is in it, or take any certificate (--insecure).");
}

bool rv_why_handshake(const struct rv_load_result *result, struct rv_finding *finding)
{
    uint64_t failed = result->failures[RV_FAILURE_CONNECT_TLS];
    if (failed == 0)
        return false;
    rv_finding_says(finding,
                    "TLS failed: %" PRIu64 " connection%s had no handshake, %" PRIu64
                    " had one. The first reason: %s.",
                    failed, rv_plural(failed), result->tls_full + result->tls_resumed,
                    result->tls_failure);
    if (strstr(result->tls_failure, "plain HTTP") != NULL)
        return rv_finding_advises(finding, "Ask for an http URL, or for the port that speaks TLS.");
    return rv_finding_advises(finding,
                              "Compare what both sides take: --tls-version, --ciphers, and --cert "
                              "where the server wants a client's certificate.");
}

bool rv_why_http2(const struct rv_load_result *result, struct rv_finding *finding)
{
    uint64_t failed = result->failures[RV_FAILURE_CONNECT_PROTOCOL];
    if (failed == 0)
        return false;
    rv_finding_says(finding,
                    "The server does not speak HTTP/2 here: %" PRIu64 " request%s failed by it",
                    failed, rv_plural(failed));
    if (result->tls && result->tls_failure[0] != '\0')
        rv_finding_adds(finding, " (%s).", result->tls_failure);
    else
        rv_finding_adds(finding, ".");
    return rv_finding_advises(finding,
                              result->tls ? "Leave out --http2, or have the server offer h2 (ALPN)."
                                          : "Leave out --http2, or have the server take HTTP/2 in "
                                            "the clear; most speak it over https alone.");
}
