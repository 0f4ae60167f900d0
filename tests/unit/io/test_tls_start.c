/*
 * What keeps a server with TLS from starting, and the sentence that says why.
 */
#include "support/tested.h"
#include "support/tls_peer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static int tear_down(void **state)
{
    tls_tear_down();
    return tested_tear_down(state);
}

/* The start fails, and its text has both of these. */
static void expect_no_start(const char *one, const char *two)
{
    assert_null(rv_test_new(tested));
    const char *text = rv_server_error_text(tested);
    if (strstr(text, one) == NULL || strstr(text, two) == NULL)
        fail_msg("\"%s\" does not say \"%s\" and \"%s\"", text, one, two);
}

static rv_error add(const char *certificate, const char *key)
{
    return rv_tls_certificate(tested, made(certificate), made(key), NULL);
}

static int set_up(void **state)
{
    tested_set_up(state);
    make_certificate("good", (struct wanted_certificate){0});
    rv_listen_tls(tested, "127.0.0.1:0");
    return 0;
}

static void a_good_certificate_starts(void **state)
{
    (void)state;
    assert_int_equal(add("good.crt", "good.key"), 0);
    assert_true(tls_shake());
}

static void an_address_needs_a_certificate(void **state)
{
    (void)state;
    expect_no_start("there is no certificate", "rv_tls_certificate");
}

static void a_file_that_is_not_there_is_named(void **state)
{
    (void)state;
    assert_int_equal(add("absent.crt", "good.key"), RV_EIO);
    expect_no_start("absent.crt", "No such file");
}

static void a_key_that_is_not_there_is_named(void **state)
{
    (void)state;
    assert_int_equal(add("good.crt", "absent.key"), RV_EIO);
    expect_no_start("absent.key", "No such file");
}

static void a_directory_is_no_certificate(void **state)
{
    (void)state;
    assert_int_equal(rv_tls_certificate(tested, "/tmp", made("good.key"), NULL), RV_EIO);
    expect_no_start("/tmp", "directory");
}

static void a_key_of_another_certificate_is_refused(void **state)
{
    (void)state;
    make_certificate("other", (struct wanted_certificate){0});
    assert_int_equal(add("good.crt", "other.key"), RV_EINVAL);
    expect_no_start("other.key does not match", "good.crt");
}

static void an_expired_certificate_is_refused(void **state)
{
    (void)state;
    make_certificate("old", (struct wanted_certificate){.begins_s = -7200, .ends_s = -3600});
    assert_int_equal(add("old.crt", "old.key"), RV_EINVAL);
    expect_no_start("old.crt has expired", "valid until 20");
}

static void a_certificate_of_the_future_is_refused(void **state)
{
    (void)state;
    make_certificate("new", (struct wanted_certificate){.begins_s = 3600, .ends_s = 7200});
    assert_int_equal(add("new.crt", "new.key"), RV_EINVAL);
    expect_no_start("new.crt is not valid yet", "from 20");
}

static void files_that_are_mixed_up_are_refused(void **state)
{
    (void)state;
    assert_int_equal(add("good.key", "good.crt"), RV_EINVAL);
    expect_no_start("there is no certificate in", "good.key");
}

static void a_file_without_a_key_is_refused(void **state)
{
    (void)state;
    assert_int_equal(add("good.crt", "good.crt"), RV_EINVAL);
    expect_no_start("there is no private key in", "good.crt");
}

static void one_file_may_hold_both(void **state)
{
    (void)state;
    concatenate("both.pem", "good.crt", "good.key");
    assert_int_equal(add("both.pem", "both.pem"), 0);
    assert_true(tls_shake());
}

static void a_damaged_certificate_is_refused(void **state)
{
    (void)state;
    FILE *file = fopen(made("bad.crt"), "w");
    fputs("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", file);
    fclose(file);
    concatenate("half.crt", "good.crt", "bad.crt");
    assert_int_equal(add("half.crt", "good.key"), RV_EINVAL);
    expect_no_start("half.crt", "damaged");
}

static void a_certificate_that_is_cut_short_is_damaged_and_not_absent(void **state)
{
    (void)state;
    FILE *file = fopen(made("cut.crt"), "w");
    fputs("-----BEGIN CERTIFICATE-----\nMIIBgzCCASmg", file);
    fclose(file);
    assert_int_equal(add("cut.crt", "good.key"), RV_EINVAL);
    expect_no_start("cut.crt", "damaged");
}

static void a_certificate_that_openssl_will_not_use_is_named(void **state)
{
    (void)state;
    make_certificate("weak", (struct wanted_certificate){.is_weak = true});
    assert_int_equal(add("weak.crt", "weak.key"), 0);
    expect_no_start("weak.crt\" cannot be used", "key too small");
}

static void certificates_in_the_wrong_order_are_refused(void **state)
{
    (void)state;
    make_certificate("root", (struct wanted_certificate){.name = "root", .is_ca = true});
    concatenate("chain.crt", "good.crt", "root.crt");
    assert_int_equal(add("chain.crt", "good.key"), RV_EINVAL);
    expect_no_start("chain.crt are no chain", "issued");
}

/* ---- passwords ---------------------------------------------------------------------------------------- */

static int answer_with(char *text, size_t size, void *ctx)
{
    snprintf(text, size, "%s", (const char *)ctx);
    return (int)strlen(text);
}

static rv_error add_encrypted(const char *password)
{
    make_certificate("secret", (struct wanted_certificate){.password = "open sesame"});
    rv_tls_certificate_options options = {.password = answer_with, .ctx = (void *)password};
    return rv_tls_certificate(tested, made("secret.crt"), made("secret.key"),
                              password == NULL ? NULL : &options);
}

static void an_encrypted_key_is_opened_by_its_password(void **state)
{
    (void)state;
    assert_int_equal(add_encrypted("open sesame"), 0);
    assert_true(tls_shake());
}

static void an_encrypted_key_without_a_callback_is_refused(void **state)
{
    (void)state;
    assert_int_equal(add_encrypted(NULL), RV_EINVAL);
    expect_no_start("secret.key is encrypted, and there is no callback", "openssl pkey");
}

static void a_wrong_password_is_told(void **state)
{
    (void)state;
    assert_int_equal(add_encrypted("sesame"), RV_EINVAL);
    expect_no_start("secret.key is encrypted", "password does not open it");
}

/* ---- options ------------------------------------------------------------------------------------------ */

static void set(rv_tls_options options)
{
    add("good.crt", "good.key");
    rv_tls_set(tested, &options);
}

static void a_list_that_openssl_does_not_know_is_quoted(void **state)
{
    (void)state;
    set((rv_tls_options){.ciphers = "ROT13"});
    expect_no_start("cipher list", "ROT13");
}

static void a_suite_that_openssl_does_not_know_is_quoted(void **state)
{
    (void)state;
    set((rv_tls_options){.cipher_suites = "TLS_ROT13"});
    expect_no_start("cipher suites", "TLS_ROT13");
}

static void a_group_that_openssl_does_not_know_is_quoted(void **state)
{
    (void)state;
    set((rv_tls_options){.groups = "P-123"});
    expect_no_start("groups", "P-123");
}

static void versions_must_be_in_order(void **state)
{
    (void)state;
    set((rv_tls_options){.version_min = RV_TLS_1_3, .version_max = RV_TLS_1_2});
    expect_no_start("version_min", "above version_max");
}

static void a_version_that_is_none_is_refused(void **state)
{
    (void)state;
    set((rv_tls_options){.version_min = (rv_tls_version)0x0301});
    expect_no_start("version_min", "RV_TLS_1_2");
}

static void clients_need_somebody_who_vouches(void **state)
{
    (void)state;
    set((rv_tls_options){.client = RV_TLS_CLIENT_REQUIRED});
    expect_no_start("client_ca_file", "vouch");
}

static void a_client_ca_file_that_is_not_there_is_named(void **state)
{
    (void)state;
    set((rv_tls_options){.client = RV_TLS_CLIENT_REQUIRED, .client_ca_file = made("no.crt")});
    expect_no_start("no.crt", "No such file");
}

static void a_name_that_is_none_gets_no_certificate(void **state)
{
    (void)state;
    assert_int_equal(rv_tls_self_signed(tested, "a,DNS:b"), RV_EINVAL);
    expect_no_start("a,DNS:b", "host name");
}

static void nothing_is_configured_while_it_runs(void **state)
{
    (void)state;
    add("good.crt", "good.key");
    assert_true(tls_shake());
    assert_int_equal(add("good.crt", "good.key"), RV_ESTATE);
    assert_int_equal(rv_listen_tls(tested, "127.0.0.1:0"), RV_ESTATE);
    assert_int_equal(rv_tls_set(tested, NULL), RV_ESTATE);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_good_certificate_starts),
        TEST(an_address_needs_a_certificate),
        TEST(a_file_that_is_not_there_is_named),
        TEST(a_key_that_is_not_there_is_named),
        TEST(a_directory_is_no_certificate),
        TEST(a_key_of_another_certificate_is_refused),
        TEST(an_expired_certificate_is_refused),
        TEST(a_certificate_of_the_future_is_refused),
        TEST(files_that_are_mixed_up_are_refused),
        TEST(a_file_without_a_key_is_refused),
        TEST(one_file_may_hold_both),
        TEST(a_damaged_certificate_is_refused),
        TEST(a_certificate_that_is_cut_short_is_damaged_and_not_absent),
        TEST(a_certificate_that_openssl_will_not_use_is_named),
        TEST(certificates_in_the_wrong_order_are_refused),
        TEST(an_encrypted_key_is_opened_by_its_password),
        TEST(an_encrypted_key_without_a_callback_is_refused),
        TEST(a_wrong_password_is_told),
        TEST(a_list_that_openssl_does_not_know_is_quoted),
        TEST(a_suite_that_openssl_does_not_know_is_quoted),
        TEST(a_group_that_openssl_does_not_know_is_quoted),
        TEST(versions_must_be_in_order),
        TEST(a_version_that_is_none_is_refused),
        TEST(clients_need_somebody_who_vouches),
        TEST(a_client_ca_file_that_is_not_there_is_named),
        TEST(a_name_that_is_none_gets_no_certificate),
        TEST(nothing_is_configured_while_it_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
