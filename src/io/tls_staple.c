/*
 * OCSP responses (RFC 6960) that are given to clients with the certificate (RFC 6066 section 8): whether
 * one is worth giving, and the giving. They come from a file; nothing is asked of anybody.
 */
#include "io/tls_inner.h"

#include <openssl/err.h>
#include <openssl/ocsp.h>
#include <pthread.h>

/* What the response says about the certificate of this number; NULL: nothing. */
static OCSP_SINGLERESP *word_about(OCSP_BASICRESP *basic, const ASN1_INTEGER *wanted)
{
    for (int i = 0; i < OCSP_resp_count(basic); i++) {
        OCSP_SINGLERESP *single = OCSP_resp_get0(basic, i);
        ASN1_INTEGER *number = NULL;
        /* Reads only, but takes an identifier that it may write to. */
        OCSP_id_get0_info(NULL, NULL, NULL, &number,
                          (OCSP_CERTID *)(uintptr_t)OCSP_SINGLERESP_get0_id(single));
        if (number != NULL && ASN1_INTEGER_cmp(number, wanted) == 0)
            return single;
    }
    return NULL;
}

/* What a client would make of the response; NULL: it would take it. It must be about the certificate, good
   and of today; that it is signed by the right one is for the client to see. */
static const char *fault_of(OCSP_RESPONSE *response, const X509 *leaf)
{
    OCSP_BASICRESP *basic = response == NULL ? NULL : OCSP_response_get1_basic(response);
    ASN1_GENERALIZEDTIME *from = NULL, *until = NULL;
    int reason;
    if (basic == NULL)
        return "it is no OCSP response in DER that says anything";
    OCSP_SINGLERESP *single = word_about(basic, X509_get0_serialNumber(leaf));
    int status =
        single == NULL ? -1 : OCSP_single_get0_status(single, &reason, NULL, &from, &until);
    const char *fault = NULL;
    if (single == NULL)
        fault = "it is about another certificate";
    else if (status != V_OCSP_CERTSTATUS_GOOD)
        fault = "it does not say that the certificate is good";
    else if (OCSP_check_validity(from, until, 300, -1) != 1)
        fault = "its time is over, or has not come";
    OCSP_BASICRESP_free(basic);
    return fault;
}

const char *rv_tls_staple_fault(rv_bytes der, const X509 *leaf)
{
    const unsigned char *octets = (const unsigned char *)der.ptr;
    OCSP_RESPONSE *response = d2i_OCSP_RESPONSE(NULL, &octets, (long)der.len);
    const char *fault = fault_of(response, leaf);
    OCSP_RESPONSE_free(response);
    ERR_clear_error();
    return fault;
}

/* A client has asked whether the certificate is still good (RFC 6066 section 8). */
static int on_status_asked(SSL *ssl, void *argument)
{
    const struct rv_tls_der *staple = argument;
    unsigned char *copy = OPENSSL_memdup(staple->octets, (size_t)staple->length);
    if (copy == NULL || SSL_set_tlsext_status_ocsp_resp(ssl, copy, staple->length) != 1) {
        OPENSSL_free(copy);
        return SSL_TLSEXT_ERR_NOACK;
    }
    return SSL_TLSEXT_ERR_OK;
}

static int holder_index = -1;

static void forget_holder(void *parent, void *identity, CRYPTO_EX_DATA *data, int index,
                          long number, void *argument)
{
    (void)parent;
    (void)data;
    (void)index;
    (void)number;
    (void)argument;
    rv_tls_identity_drop(identity);
}

static void make_holder_index(void)
{
    holder_index = SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, forget_holder);
}

/* A handshake that has begun may outlive the identity's place in the settings: the server context, to
   which it holds on, holds on to the identity. */
bool rv_tls_use_staple(SSL_CTX *server, struct rv_tls_identity *identity)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (identity->staple.octets == NULL)
        return true;
    pthread_once(&once, make_holder_index);
    if (holder_index < 0 || SSL_CTX_set_ex_data(server, holder_index, identity) != 1)
        return false;
    rv_tls_identity_keep(identity);
    SSL_CTX_set_tlsext_status_cb(server, on_status_asked);
    SSL_CTX_set_tlsext_status_arg(server, &identity->staple);
    return true;
}
