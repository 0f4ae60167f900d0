/*
 * What is agreed on in a handshake (src/io/tls_context.c, tls_tickets.c): certificates by name, versions,
 * ciphers, protocols, tickets, and certificates of clients, as handlers see them.
 */
#include "http/h2.h"
#include "support/tested.h"
#include "support/tls_peer.h"

#include <openssl/ocsp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define GET(path) "GET " path " HTTP/1.1\r\nHost: localhost\r\n\r\n"

/* "VERSION|NAME|SUBJECT|resumed" */
static int tell_info(rv_talk *talk, void *ctx)
{
    char text[512];
    const rv_tls_info *info = rv_tls(talk);
    (void)ctx;
    if (info == NULL)
        return rv_text(talk, 200, "plain");
    snprintf(text, sizeof text, "%s|%s|%s|%s", info->version, info->server_name,
             info->client_subject == NULL ? "nobody" : info->client_subject,
             info->resumed ? "resumed" : "new");
    return rv_text(talk, 200, text);
}

static int set_up(void **state)
{
    tested_set_up(state);
    assert_int_equal(rv_listen_tls(tested, "127.0.0.1:0"), 0);
    route("GET /info", tell_info, NULL);
    return 0;
}

static int tear_down(void **state)
{
    tls_tear_down();
    return tested_tear_down(state);
}

static void serve_self_signed(rv_tls_options options)
{
    assert_int_equal(rv_tls_self_signed(tested, NULL), 0);
    assert_int_equal(rv_tls_set(tested, &options), 0);
}

static void expect_info(const char *text)
{
    tls_say(GET("/info"));
    tls_expect_answer(200, text);
}

/* ---- certificates by name ----------------------------------------------------------------------------- */

static void serve_names(void)
{
    static const char *const names[] = {"first.example", "second.example", "*.wild.example"};
    for (size_t i = 0; i < 3; i++) {
        char file[8] = {'n', (char)('0' + i), '\0'}, certificate[16], key[16];
        make_certificate(file, (struct wanted_certificate){.name = names[i]});
        snprintf(certificate, sizeof certificate, "%s.crt", file);
        snprintf(key, sizeof key, "%s.key", file);
        assert_int_equal(rv_tls_certificate(tested, made(certificate), made(key), NULL), 0);
    }
}

/* The name that the certificate is for which a client gets that asks for `asked`. */
static void expect_name(const char *asked, const char *name)
{
    char text[128];
    X509 *certificate = SSL_get0_peer_certificate(tls_client()->ssl);
    assert_non_null(certificate);
    X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, text,
                              sizeof text);
    if (strcmp(text, name) != 0)
        fail_msg("%s got the certificate for %s", asked, text);
}

static void ask_for(unsigned number, const char *name)
{
    tls_as(number);
    tls_begin();
    if (name != NULL)
        SSL_set_tlsext_host_name(tls_client()->ssl, name);
}

static void the_name_that_is_asked_for_decides(void **state)
{
    (void)state;
    static const struct {
        const char *asked, *name;
    } cases[] = {{"first.example", "first.example"},    {"second.example", "second.example"},
                 {"SECOND.example", "second.example"},  {"a.wild.example", "*.wild.example"},
                 {"a.b.wild.example", "first.example"}, {"wild.example", "first.example"},
                 {"unknown.example", "first.example"},  {NULL, "first.example"}};
    serve_names();
    for (unsigned i = 0; i < 8; i++) {
        ask_for(i, cases[i].asked);
        assert_true(tls_shake());
        expect_name(cases[i].asked, cases[i].name);
    }
}

static void a_handler_sees_the_name(void **state)
{
    (void)state;
    serve_names();
    ask_for(0, "second.example");
    expect_info("TLSv1.3|second.example|nobody|new");
}

static void a_chain_is_sent_whole(void **state)
{
    (void)state;
    make_certificate("root", (struct wanted_certificate){.name = "root", .is_ca = true});
    make_certificate("middle",
                     (struct wanted_certificate){.name = "middle", .from = "root", .is_ca = true});
    make_certificate("leaf", (struct wanted_certificate){.name = "localhost", .from = "middle"});
    concatenate("chain.pem", "leaf.crt", "middle.crt");
    assert_int_equal(rv_tls_certificate(tested, made("chain.pem"), made("leaf.key"), NULL), 0);
    SSL_CTX_load_verify_locations(tls_client()->context, made("root.crt"), NULL);
    SSL_CTX_set_verify(tls_client()->context, SSL_VERIFY_PEER, NULL);
    tls_begin();
    SSL_set1_host(tls_client()->ssl, "localhost");
    assert_true(tls_shake());
}

static void a_self_made_certificate_can_be_checked(void **state)
{
    (void)state;
    assert_int_equal(rv_tls_self_signed(tested, "dev.example"), 0);
    assert_true(tls_shake());
    X509 *certificate = SSL_get0_peer_certificate(tls_client()->ssl);
    assert_int_equal(X509_check_host(certificate, "dev.example", 0, 0, NULL), 1);
    assert_int_equal(X509_check_host(certificate, "localhost", 0, 0, NULL), 1);
    assert_int_equal(X509_check_ip_asc(certificate, "127.0.0.1", 0), 1);
    assert_int_equal(X509_check_ip_asc(certificate, "::1", 0), 1);
    assert_int_equal(X509_check_host(certificate, "other.example", 0, 0, NULL), 0);
}

/* ---- versions, ciphers, protocols --------------------------------------------------------------------- */

static void tls_1_2_and_1_3_are_spoken(void **state)
{
    (void)state;
    serve_self_signed((rv_tls_options){0});
    expect_info("TLSv1.3||nobody|new");
    tls_as(1);
    SSL_CTX_set_max_proto_version(tls_client()->context, TLS1_2_VERSION);
    expect_info("TLSv1.2||nobody|new");
}

static void older_versions_are_refused(void **state)
{
    (void)state;
    serve_self_signed((rv_tls_options){0});
    SSL_CTX_set_security_level(tls_client()->context, 0);
    SSL_CTX_set_min_proto_version(tls_client()->context, TLS1_VERSION);
    SSL_CTX_set_max_proto_version(tls_client()->context, TLS1_1_VERSION);
    assert_false(tls_shake());
    assert_non_null(strstr(tls_failure(), "protocol version"));
    expect_closed();
    assert_int_equal(COUNTER(tls_handshakes_failed), 1);
}

static void the_least_version_can_be_set(void **state)
{
    (void)state;
    serve_self_signed((rv_tls_options){.version_min = RV_TLS_1_3});
    SSL_CTX_set_max_proto_version(tls_client()->context, TLS1_2_VERSION);
    assert_false(tls_shake());
    assert_non_null(strstr(tls_failure(), "protocol version"));
}

static void the_most_version_can_be_set(void **state)
{
    (void)state;
    serve_self_signed((rv_tls_options){.version_max = RV_TLS_1_2});
    expect_info("TLSv1.2||nobody|new");
}

static void ciphers_can_be_set(void **state)
{
    (void)state;
    serve_self_signed(
        (rv_tls_options){.version_max = RV_TLS_1_2, .ciphers = "ECDHE-ECDSA-CHACHA20-POLY1305"});
    assert_true(tls_shake());
    assert_string_equal(SSL_get_cipher_name(tls_client()->ssl), "ECDHE-ECDSA-CHACHA20-POLY1305");
}

static void cipher_suites_and_groups_can_be_set(void **state)
{
    (void)state;
    serve_self_signed(
        (rv_tls_options){.cipher_suites = "TLS_AES_128_GCM_SHA256", .groups = "P-384"});
    assert_true(tls_shake());
    assert_string_equal(SSL_get_cipher_name(tls_client()->ssl), "TLS_AES_128_GCM_SHA256");
    assert_int_equal(SSL_get_negotiated_group(tls_client()->ssl), NID_secp384r1);
}

static void ciphers_without_forward_secrecy_are_refused(void **state)
{
    (void)state;
    serve_self_signed((rv_tls_options){0});
    SSL_CTX_set_max_proto_version(tls_client()->context, TLS1_2_VERSION);
    SSL_CTX_set_cipher_list(tls_client()->context, "kRSA:ECDHE-ECDSA-AES128-SHA");
    assert_false(tls_shake());
    assert_non_null(strstr(tls_failure(), "handshake failure"));
}

static void expect_protocol(const char *offered, size_t offered_length, const char *expected)
{
    const unsigned char *protocol;
    unsigned length;
    serve_self_signed((rv_tls_options){0});
    SSL_CTX_set_alpn_protos(tls_client()->context, (const unsigned char *)offered,
                            (unsigned)offered_length);
    assert_true(tls_shake());
    SSL_get0_alpn_selected(tls_client()->ssl, &protocol, &length);
    assert_int_equal(length, strlen(expected));
    assert_memory_equal(protocol, expected, length);
}

static void http_1_1_is_chosen_among_protocols(void **state)
{
    (void)state;
    expect_protocol("\x06spdy/3\x08http/1.1", 16, "http/1.1");
}

static void http_2_is_chosen_before_http_1_1(void **state)
{
    (void)state;
    expect_protocol("\x08http/1.1\x02h2", 12, RV_H2_BUILT ? "h2" : "http/1.1");
}

static void protocols_that_are_not_spoken_are_refused(void **state)
{
    (void)state;
    serve_self_signed((rv_tls_options){0});
    SSL_CTX_set_alpn_protos(tls_client()->context, (const unsigned char *)"\x06spdy/3", 7);
    assert_false(tls_shake());
    assert_non_null(strstr(tls_failure(), "no application protocol"));
}

static void renegotiation_is_refused(void **state)
{
    (void)state;
    serve_self_signed((rv_tls_options){.version_max = RV_TLS_1_2});
    assert_true(tls_shake());
    SSL_renegotiate(tls_client()->ssl);
    SSL_do_handshake(tls_client()->ssl);
    tls_carry();
    assert_non_null(strstr(tls_failure(), "no renegotiation"));
}

static void a_key_update_is_followed(void **state)
{
    (void)state;
    serve_self_signed((rv_tls_options){0});
    assert_true(tls_shake());
    assert_int_equal(SSL_key_update(tls_client()->ssl, SSL_KEY_UPDATE_REQUESTED), 1);
    expect_info("TLSv1.3||nobody|new");
    expect_info("TLSv1.3||nobody|new");
}

/* ---- tickets ------------------------------------------------------------------------------------------ */

static SSL_SESSION *session;

static int keep_session(SSL *ssl, SSL_SESSION *fresh)
{
    (void)ssl;
    SSL_SESSION_free(session);
    session = fresh;
    return 1;
}

static void take_ticket(int version)
{
    SSL_CTX_set_session_cache_mode(tls_client()->context, SSL_SESS_CACHE_CLIENT);
    SSL_CTX_sess_set_new_cb(tls_client()->context, keep_session);
    SSL_CTX_set_max_proto_version(tls_client()->context, version);
    tls_say(GET("/info"));
    tls_expect_answer(200, NULL);
}

static void come_back(unsigned number, int version)
{
    tls_as(number);
    SSL_CTX_set_max_proto_version(tls_client()->context, version);
    tls_begin();
    if (session != NULL)
        assert_int_equal(SSL_set_session(tls_client()->ssl, session), 1);
}

static int forget_session(void **state)
{
    SSL_SESSION_free(session);
    session = NULL;
    return tear_down(state);
}

static void a_ticket_resumes_tls_1_3(void **state)
{
    (void)state;
    serve_self_signed((rv_tls_options){0});
    take_ticket(TLS1_3_VERSION);
    come_back(1, TLS1_3_VERSION);
    expect_info("TLSv1.3||nobody|resumed");
    assert_int_equal(COUNTER(tls_handshakes), 2);
    assert_int_equal(COUNTER(tls_handshakes_resumed), 1);
}

static void a_ticket_resumes_tls_1_2(void **state)
{
    (void)state;
    serve_self_signed((rv_tls_options){0});
    take_ticket(TLS1_2_VERSION);
    come_back(1, TLS1_2_VERSION);
    expect_info("TLSv1.2||nobody|resumed");
}

static void nap_ms(long ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static void a_ticket_of_the_former_key_is_taken_and_renewed(void **state)
{
    (void)state;
    serve_self_signed((rv_tls_options){.ticket_key_ms = 1000});
    take_ticket(TLS1_2_VERSION);
    nap_ms(1100);
    come_back(1, TLS1_2_VERSION);
    expect_info("TLSv1.2||nobody|resumed");
    assert_true(SSL_SESSION_has_ticket(SSL_get_session(tls_client()->ssl)));
}

static void a_ticket_of_an_older_key_is_not_taken(void **state)
{
    (void)state;
    serve_self_signed((rv_tls_options){.ticket_key_ms = 5});
    take_ticket(TLS1_3_VERSION);
    nap_ms(20);
    come_back(1, TLS1_3_VERSION);
    expect_info("TLSv1.3||nobody|new");
}

static void tickets_can_be_switched_off(void **state)
{
    (void)state;
    serve_self_signed((rv_tls_options){.ticket_key_ms = RV_NO_LIMIT});
    take_ticket(TLS1_3_VERSION);
    assert_null(session);
    come_back(1, TLS1_2_VERSION);
    expect_info("TLSv1.2||nobody|new");
    assert_false(SSL_SESSION_has_ticket(SSL_get_session(tls_client()->ssl)));
}

/* ---- new certificates while it runs ------------------------------------------------------------------- */

static void serve_file(const char *name)
{
    make_certificate("site", (struct wanted_certificate){.name = name});
    assert_int_equal(rv_tls_certificate(tested, made("site.crt"), made("site.key"), NULL), 0);
}

static void a_new_certificate_is_for_new_clients(void **state)
{
    (void)state;
    char why[128] = "?";
    serve_file("old.example");
    assert_true(tls_shake());
    expect_name("", "old.example");
    make_certificate("site", (struct wanted_certificate){.name = "new.example"});
    assert_int_equal(rv_tls_reload(tested, why, sizeof why), 0);
    assert_string_equal(why, "");
    rv_test_settle(client());
    expect_info("TLSv1.3||nobody|new");
    tls_as(1);
    assert_true(tls_shake());
    expect_name("", "new.example");
}

static void a_new_certificate_that_is_bad_changes_nothing(void **state)
{
    (void)state;
    char why[512];
    serve_file("old.example");
    assert_true(tls_shake());
    make_certificate("site", (struct wanted_certificate){.begins_s = -7200, .ends_s = -3600});
    assert_int_equal(rv_tls_reload(tested, why, sizeof why), RV_EINVAL);
    assert_non_null(strstr(why, "site.crt has expired"));
    assert_int_equal(rv_tls_reload(tested, NULL, 0), RV_EINVAL);
    rv_test_settle(client());
    tls_as(1);
    assert_true(tls_shake());
    expect_name("", "old.example");
}

static void a_handshake_may_span_a_reload(void **state)
{
    (void)state;
    serve_file("old.example");
    rv_test_window(client(), 100);
    assert_false(tls_shake());
    make_certificate("site", (struct wanted_certificate){.name = "new.example"});
    assert_int_equal(rv_tls_reload(tested, NULL, 0), 0);
    rv_test_settle(client());
    rv_test_window(client(), RV_NO_LIMIT);
    expect_info("TLSv1.3||nobody|new");
    expect_name("", "old.example");
}

static void a_ticket_outlives_a_reload(void **state)
{
    (void)state;
    serve_file("localhost");
    take_ticket(TLS1_3_VERSION);
    make_certificate("site", (struct wanted_certificate){0});
    assert_int_equal(rv_tls_reload(tested, NULL, 0), 0);
    rv_test_settle(client());
    come_back(1, TLS1_3_VERSION);
    expect_info("TLSv1.3||nobody|resumed");
}

static void only_a_server_that_runs_reloads(void **state)
{
    (void)state;
    char why[128];
    serve_file("localhost");
    assert_int_equal(rv_tls_reload(tested, why, sizeof why), RV_ESTATE);
    assert_non_null(strstr(why, "does not run"));
}

/* ---- OCSP --------------------------------------------------------------------------------------------- */

static X509 *read_certificate(const char *name)
{
    FILE *in = fopen(made(name), "r");
    X509 *certificate = PEM_read_X509(in, NULL, NULL, NULL);
    fclose(in);
    assert_non_null(certificate);
    return certificate;
}

/* A response of "ca" about "leaf". */
static void make_response(int status, long from_s, long until_s)
{
    X509 *ca = read_certificate("ca.crt"), *leaf = read_certificate("leaf.crt");
    FILE *in = fopen(made("ca.key"), "r");
    EVP_PKEY *key = PEM_read_PrivateKey(in, NULL, NULL, NULL);
    fclose(in);
    OCSP_BASICRESP *basic = OCSP_BASICRESP_new();
    OCSP_CERTID *id = OCSP_cert_to_id(NULL, leaf, ca);
    ASN1_TIME *from = X509_gmtime_adj(NULL, from_s), *until = X509_gmtime_adj(NULL, until_s);
    bool revoked = status == V_OCSP_CERTSTATUS_REVOKED;
    assert_non_null(OCSP_basic_add1_status(basic, id, status, OCSP_REVOKED_STATUS_UNSPECIFIED,
                                           revoked ? from : NULL, from, until));
    assert_int_equal(OCSP_basic_sign(basic, ca, key, EVP_sha256(), NULL, 0), 1);
    OCSP_RESPONSE *response = OCSP_response_create(OCSP_RESPONSE_STATUS_SUCCESSFUL, basic);
    BIO *out = BIO_new_file(made("leaf.ocsp"), "w");
    assert_int_equal(i2d_OCSP_RESPONSE_bio(out, response), 1);
    BIO_free(out);
    OCSP_RESPONSE_free(response);
    OCSP_BASICRESP_free(basic);
    OCSP_CERTID_free(id);
    ASN1_TIME_free(from);
    ASN1_TIME_free(until);
    EVP_PKEY_free(key);
    X509_free(ca);
    X509_free(leaf);
}

static rv_error serve_with_response(void)
{
    rv_tls_certificate_options options = {.ocsp_file = made("leaf.ocsp")};
    return rv_tls_certificate(tested, made("leaf.crt"), made("leaf.key"), &options);
}

static void make_issued(void)
{
    make_certificate("ca", (struct wanted_certificate){.name = "ca", .is_ca = true});
    make_certificate("leaf", (struct wanted_certificate){.from = "ca"});
}

static void a_client_that_asks_gets_the_response(void **state)
{
    (void)state;
    const unsigned char *octets;
    make_issued();
    make_response(V_OCSP_CERTSTATUS_GOOD, -60, 3600);
    assert_int_equal(serve_with_response(), 0);
    tls_begin();
    SSL_set_tlsext_status_type(tls_client()->ssl, TLSEXT_STATUSTYPE_ocsp);
    assert_true(tls_shake());
    long length = SSL_get_tlsext_status_ocsp_resp(tls_client()->ssl, &octets);
    assert_true(length > 0);
    OCSP_RESPONSE *response = d2i_OCSP_RESPONSE(NULL, &octets, length);
    assert_non_null(response);
    OCSP_RESPONSE_free(response);
    tls_as(1);
    assert_true(tls_shake());
    assert_true(SSL_get_tlsext_status_ocsp_resp(tls_client()->ssl, &octets) <= 0);
}

static void a_response_outlives_a_reload_in_a_handshake(void **state)
{
    (void)state;
    const unsigned char *octets;
    make_issued();
    make_response(V_OCSP_CERTSTATUS_GOOD, -60, 3600);
    assert_int_equal(serve_with_response(), 0);
    tls_begin();
    SSL_set_tlsext_status_type(tls_client()->ssl, TLSEXT_STATUSTYPE_ocsp);
    rv_test_send(client(), RV_LIT("")); /* it is there, and has not begun */
    assert_int_equal(rv_tls_reload(tested, NULL, 0), 0);
    rv_test_settle(client());
    assert_true(tls_shake());
    assert_true(SSL_get_tlsext_status_ocsp_resp(tls_client()->ssl, &octets) > 0);
}

static void a_response_that_is_not_good_is_refused(void **state)
{
    (void)state;
    make_issued();
    make_response(V_OCSP_CERTSTATUS_REVOKED, -60, 3600);
    assert_int_equal(serve_with_response(), RV_EINVAL);
    assert_non_null(strstr(rv_server_error_text(tested), "leaf.ocsp cannot be used"));
    assert_non_null(strstr(rv_server_error_text(tested), "certificate is good"));
}

static void a_response_of_yesterday_is_refused(void **state)
{
    (void)state;
    make_issued();
    make_response(V_OCSP_CERTSTATUS_GOOD, -7200, -3600);
    assert_int_equal(serve_with_response(), RV_EINVAL);
    assert_non_null(strstr(rv_server_error_text(tested), "its time is over"));
}

static void a_response_about_another_certificate_is_refused(void **state)
{
    (void)state;
    make_issued();
    make_response(V_OCSP_CERTSTATUS_GOOD, -60, 3600);
    make_certificate("leaf", (struct wanted_certificate){.from = "ca"});
    assert_int_equal(serve_with_response(), RV_EINVAL);
    assert_non_null(strstr(rv_server_error_text(tested), "about another certificate"));
}

static void a_file_that_is_no_response_is_refused(void **state)
{
    (void)state;
    make_issued();
    concatenate("leaf.ocsp", "ca.crt", "leaf.crt");
    assert_int_equal(serve_with_response(), RV_EINVAL);
    assert_non_null(strstr(rv_server_error_text(tested), "no OCSP response"));
}

/* ---- clients with certificates ------------------------------------------------------------------------ */

static void serve_clients(rv_tls_client_mode mode)
{
    make_certificate("ca", (struct wanted_certificate){.name = "clients", .is_ca = true});
    make_certificate("ada", (struct wanted_certificate){.name = "Ada, Countess", .from = "ca"});
    make_certificate("eve", (struct wanted_certificate){.name = "Eve"});
    serve_self_signed((rv_tls_options){.client = mode, .client_ca_file = made("ca.crt")});
}

static void come_as(const char *certificate, const char *key)
{
    SSL_CTX *context = tls_client()->context;
    assert_int_equal(SSL_CTX_use_certificate_file(context, made(certificate), SSL_FILETYPE_PEM), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey_file(context, made(key), SSL_FILETYPE_PEM), 1);
}

static void a_client_can_be_required_to_identify_itself(void **state)
{
    (void)state;
    serve_clients(RV_TLS_CLIENT_REQUIRED);
    come_as("ada.crt", "ada.key");
    expect_info("TLSv1.3||CN=Ada\\, Countess|new");
}

static void a_client_without_the_required_certificate_is_refused(void **state)
{
    (void)state;
    serve_clients(RV_TLS_CLIENT_REQUIRED);
    tls_shake();
    assert_non_null(strstr(tls_failure(), "certificate required"));
    expect_closed();
    tls_as(1);
    come_as("eve.crt", "eve.key");
    tls_shake();
    assert_non_null(strstr(tls_failure(), "unknown ca"));
    expect_closed();
    assert_int_equal(COUNTER(tls_handshakes), 0);
    assert_int_equal(COUNTER(tls_handshakes_failed), 2);
}

static void a_client_may_identify_itself(void **state)
{
    (void)state;
    serve_clients(RV_TLS_CLIENT_OPTIONAL);
    expect_info("TLSv1.3||nobody|new");
    tls_as(1);
    come_as("ada.crt", "ada.key");
    expect_info("TLSv1.3||CN=Ada\\, Countess|new");
    tls_as(2);
    come_as("eve.crt", "eve.key");
    tls_shake();
    assert_non_null(strstr(tls_failure(), "unknown ca"));
}

/* "low" is vouched for by "middle", which "top" vouches for. */
static void serve_a_chain(unsigned depth_max)
{
    make_certificate("top", (struct wanted_certificate){.name = "top", .is_ca = true});
    make_certificate("middle",
                     (struct wanted_certificate){.name = "middle", .from = "top", .is_ca = true});
    make_certificate("low", (struct wanted_certificate){.name = "low", .from = "middle"});
    concatenate("low.pem", "low.crt", "middle.crt");
    serve_self_signed((rv_tls_options){.client = RV_TLS_CLIENT_REQUIRED,
                                       .client_ca_file = made("top.crt"),
                                       .client_depth_max = depth_max});
    SSL_CTX *context = tls_client()->context;
    assert_int_equal(SSL_CTX_use_certificate_chain_file(context, made("low.pem")), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey_file(context, made("low.key"), SSL_FILETYPE_PEM), 1);
}

static void a_client_may_be_as_far_below_as_is_allowed(void **state)
{
    (void)state;
    serve_a_chain(2);
    expect_info("TLSv1.3||CN=low|new");
}

static void a_client_too_far_below_is_refused(void **state)
{
    (void)state;
    serve_a_chain(1);
    tls_shake();
    assert_non_null(tls_failure());
    assert_int_equal(COUNTER(tls_handshakes_failed), 1);
    expect_closed();
}

static void a_depth_that_cannot_be_is_named(void **state)
{
    (void)state;
    assert_int_equal(rv_tls_set(tested, &(rv_tls_options){.client_depth_max = 101}), RV_EINVAL);
    assert_non_null(strstr(rv_server_error_text(tested), "client_depth_max is above 100"));
}

static void a_resumed_client_is_who_it_was(void **state)
{
    (void)state;
    serve_clients(RV_TLS_CLIENT_REQUIRED);
    come_as("ada.crt", "ada.key");
    take_ticket(TLS1_3_VERSION);
    come_back(1, TLS1_3_VERSION);
    expect_info("TLSv1.3||CN=Ada\\, Countess|resumed");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, forget_session)
    const struct CMUnitTest tests[] = {
        TEST(the_name_that_is_asked_for_decides),
        TEST(a_handler_sees_the_name),
        TEST(a_chain_is_sent_whole),
        TEST(a_self_made_certificate_can_be_checked),
        TEST(tls_1_2_and_1_3_are_spoken),
        TEST(older_versions_are_refused),
        TEST(the_least_version_can_be_set),
        TEST(the_most_version_can_be_set),
        TEST(ciphers_can_be_set),
        TEST(cipher_suites_and_groups_can_be_set),
        TEST(ciphers_without_forward_secrecy_are_refused),
        TEST(http_1_1_is_chosen_among_protocols),
        TEST(http_2_is_chosen_before_http_1_1),
        TEST(protocols_that_are_not_spoken_are_refused),
        TEST(renegotiation_is_refused),
        TEST(a_key_update_is_followed),
        TEST(a_ticket_resumes_tls_1_3),
        TEST(a_ticket_resumes_tls_1_2),
        TEST(a_ticket_of_the_former_key_is_taken_and_renewed),
        TEST(a_ticket_of_an_older_key_is_not_taken),
        TEST(tickets_can_be_switched_off),
        TEST(a_new_certificate_is_for_new_clients),
        TEST(a_new_certificate_that_is_bad_changes_nothing),
        TEST(a_handshake_may_span_a_reload),
        TEST(a_ticket_outlives_a_reload),
        TEST(only_a_server_that_runs_reloads),
        TEST(a_client_that_asks_gets_the_response),
        TEST(a_response_outlives_a_reload_in_a_handshake),
        TEST(a_response_that_is_not_good_is_refused),
        TEST(a_response_of_yesterday_is_refused),
        TEST(a_response_about_another_certificate_is_refused),
        TEST(a_file_that_is_no_response_is_refused),
        TEST(a_client_can_be_required_to_identify_itself),
        TEST(a_client_without_the_required_certificate_is_refused),
        TEST(a_client_may_identify_itself),
        TEST(a_client_may_be_as_far_below_as_is_allowed),
        TEST(a_client_too_far_below_is_refused),
        TEST(a_depth_that_cannot_be_is_named),
        TEST(a_resumed_client_is_who_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
