/*
 * TLS in the kernel (src/io/ktls.h), as far as it can be seen in any kernel: the probe, and sockets that
 * do not take the keys. That records are made there is proved by tests/ktls/prove.
 */
#include "io/ktls.h"

#include <errno.h>
#include <linux/tls.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static bool kernel_lists_it(void)
{
    char names[512] = "";
    FILE *file = fopen("/proc/sys/net/ipv4/tcp_available_ulp", "re");
    if (file == NULL)
        return false;
    size_t length = fread(names, 1, sizeof names - 1, file);
    fclose(file);
    names[length] = '\0';
    for (char *rest = names, *name; (name = strsep(&rest, " \n")) != NULL;)
        if (strcmp(name, "tls") == 0)
            return true;
    return false;
}

static void the_probe_says_what_the_kernel_lists(void **state)
{
    (void)state;
    bool offered = rv_ktls_is_offered(); /* first: it may load the module */
    assert_int_equal(offered, kernel_lists_it());
    assert_int_equal(rv_ktls_is_offered(), offered);
}

static void the_probe_leaves_no_descriptor(void **state)
{
    (void)state;
    int before = dup(0);
    close(before);
    rv_ktls_is_offered();
    int after = dup(0);
    close(after);
    assert_int_equal(after, before);
}

static void connected_pair(int ends[2])
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listening = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(listening, (struct sockaddr *)&address, length), 0);
    assert_int_equal(listen(listening, 1), 0);
    assert_int_equal(getsockname(listening, (struct sockaddr *)&address, &length), 0);
    ends[0] = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(ends[0], (struct sockaddr *)&address, length), 0);
    ends[1] = accept(listening, NULL, NULL);
    assert_true(ends[1] >= 0);
    close(listening);
}

static void a_socket_that_took_no_keys_is_as_before(void **state)
{
    (void)state;
    int ends[2];
    char octets[8] = "";
    struct tls12_crypto_info_aes_gcm_128 keys = {.info = {TLS_1_3_VERSION, 9999}};
    connected_pair(ends);
    assert_false(rv_ktls_begin(ends[0], &keys));
    assert_int_equal(write(ends[0], "plain", 5), 5);
    assert_int_equal(read(ends[1], octets, sizeof octets), 5);
    assert_string_equal(octets, "plain");
    close(ends[0]);
    close(ends[1]);
}

static void a_socket_that_is_not_connected_takes_no_keys(void **state)
{
    (void)state;
    struct tls12_crypto_info_aes_gcm_128 keys = {.info = {TLS_1_3_VERSION, TLS_CIPHER_AES_GCM_128}};
    int alone = socket(AF_INET, SOCK_STREAM, 0);
    assert_false(rv_ktls_begin(alone, &keys));
    close(alone);
}

static void a_record_through_a_broken_socket_fails(void **state)
{
    (void)state;
    assert_int_equal(rv_ktls_send_record(-1, 21, "\1", 2), EBADF);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_probe_says_what_the_kernel_lists),
        cmocka_unit_test(the_probe_leaves_no_descriptor),
        cmocka_unit_test(a_socket_that_took_no_keys_is_as_before),
        cmocka_unit_test(a_socket_that_is_not_connected_takes_no_keys),
        cmocka_unit_test(a_record_through_a_broken_socket_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
