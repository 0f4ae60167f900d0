/*
 * Facts about addresses: what text means which address, what the refusals say, and what becomes of
 * the sockets.
 */
#include "io/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const struct rv_listen_options plain = {.backlog = 16};

static const char *text_of(const struct rv_address *address)
{
    static char text[RV_ADDRESS_TEXT_MAX];
    rv_address_format((const struct sockaddr *)&address->sockaddr, address->length, text,
                      sizeof text);
    return text;
}

/* `text` is an address of that kind, which formats as `formatted`. */
static struct rv_address expect_address(const char *text, enum rv_address_kind kind,
                                        const char *formatted)
{
    struct rv_address address;
    char why[RV_WHY_MAX] = "";
    rv_error error = rv_address_parse(text, &address, why);
    assert_string_equal(why, "");
    assert_int_equal(error, 0);
    assert_int_equal(address.kind, kind);
    assert_string_equal(text_of(&address), formatted);
    return address;
}

static void expect_bad(const char *text, const char *reason)
{
    struct rv_address address;
    char why[RV_WHY_MAX] = "", expected[RV_WHY_MAX];
    snprintf(expected, sizeof expected, "cannot listen on \"%.*s\": %s", RV_ADDRESS_TEXT_MAX, text,
             reason);
    assert_int_equal(rv_address_parse(text, &address, why), RV_EADDR);
    assert_string_equal(why, expected);
}

static bool ipv6_is_there(void)
{
    int probe = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in6 loopback = {.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};
    bool there = probe >= 0 && bind(probe, (struct sockaddr *)&loopback, sizeof loopback) == 0;
    if (probe >= 0)
        close(probe);
    return there;
}

/* ---- text to address --------------------------------------------------------------------------- */

static void an_ipv4_address_has_a_host_and_a_port(void **state)
{
    (void)state;
    expect_address("127.0.0.1:8080", RV_ADDRESS_TCP, "127.0.0.1:8080");
    expect_address("0.0.0.0:0", RV_ADDRESS_TCP, "0.0.0.0:0");
    expect_address("127.0.0.1:65535", RV_ADDRESS_TCP, "127.0.0.1:65535");
}

static void an_ipv6_address_goes_in_brackets(void **state)
{
    (void)state;
    struct rv_address address = expect_address("[::1]:8080", RV_ADDRESS_TCP, "[::1]:8080");
    assert_false(address.dual_stack);
    expect_address("[::]:80", RV_ADDRESS_TCP, "[::]:80");
}

static void a_name_is_resolved(void **state)
{
    (void)state;
    struct rv_address address;
    char why[RV_WHY_MAX];
    assert_int_equal(rv_address_parse("localhost:8080", &address, why), 0);
    const char *text = text_of(&address);
    assert_true(strcmp(text, "127.0.0.1:8080") == 0 || strcmp(text, "[::1]:8080") == 0);
}

static void no_host_or_a_star_is_every_address(void **state)
{
    (void)state;
    assert_true(expect_address(":8080", RV_ADDRESS_TCP, "[::]:8080").dual_stack);
    assert_true(expect_address("*:8080", RV_ADDRESS_TCP, "[::]:8080").dual_stack);
}

static void a_port_alone_is_on_the_loopback(void **state)
{
    (void)state;
    expect_address("8080", RV_ADDRESS_TCP, "127.0.0.1:8080");
    expect_address("0", RV_ADDRESS_TCP, "127.0.0.1:0");
}

static void a_unix_path_and_an_abstract_name_follow_unix(void **state)
{
    (void)state;
    expect_address("unix:/run/x.sock", RV_ADDRESS_UNIX, "unix:/run/x.sock");
    expect_address("unix:x", RV_ADDRESS_UNIX, "unix:x");
    expect_address("unix:@name", RV_ADDRESS_UNIX, "unix:@name");
}

static void an_abstract_name_begins_with_a_nul_and_is_not_padded(void **state)
{
    (void)state;
    struct rv_address address = expect_address("unix:@ab", RV_ADDRESS_UNIX, "unix:@ab");
    const struct sockaddr_un *name = (const struct sockaddr_un *)&address.sockaddr;
    assert_int_equal(address.length, offsetof(struct sockaddr_un, sun_path) + 3);
    assert_memory_equal(name->sun_path, "\0ab", 3);
}

static void a_unix_path_has_107_octets_at_most(void **state)
{
    (void)state;
    char text[128] = "unix:";
    memset(text + 5, 'p', 107);
    expect_address(text, RV_ADDRESS_UNIX, text);
    text[5 + 107] = 'p';
    expect_bad(text, "the path of a unix socket may have at most 107 octets");
}

static void a_descriptor_is_named_by_its_number(void **state)
{
    (void)state;
    struct rv_address address;
    char why[RV_WHY_MAX];
    assert_int_equal(rv_address_parse("fd:3", &address, why), 0);
    assert_int_equal(address.kind, RV_ADDRESS_DESCRIPTOR);
    assert_int_equal(address.descriptor, 3);
}

static void a_port_that_is_no_number_up_to_65535_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"",           "localhost",       "127.0.0.1",
                                        "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1",
                                        "8080x",      ":http",           "[::1]",
                                        "[::1]:",     "127.0.0.1: 80",   "127.0.0.1:99999999999"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        expect_bad(texts[i], "the port must be a number from 0 to 65535");
}

static void an_ipv6_address_without_brackets_is_refused(void **state)
{
    (void)state;
    expect_bad("::1:8080", "an IPv6 address goes in brackets, such as [::1]:8080");
    expect_bad("[::1:8080", "an IPv6 address goes in brackets, such as [::1]:8080");
}

static void a_host_that_cannot_be_resolved_is_refused(void **state)
{
    (void)state;
    struct rv_address address;
    char why[RV_WHY_MAX];
    assert_int_equal(rv_address_parse("no such host:80", &address, why), RV_EADDR);
    assert_non_null(strstr(why, "cannot listen on \"no such host:80\": "));
    char text[400];
    memset(text, 'h', 300);
    strcpy(text + 300, ":80");
    expect_bad(text, "the host is too long");
}

static void an_empty_unix_path_is_refused(void **state)
{
    (void)state;
    expect_bad("unix:", "a path, or @ and a name, must follow \"unix:\"");
}

static void a_descriptor_that_is_no_number_is_refused(void **state)
{
    (void)state;
    expect_bad("fd:", "the number of an open descriptor must follow \"fd:\"");
    expect_bad("fd:x", "the number of an open descriptor must follow \"fd:\"");
    expect_bad("fd:-1", "the number of an open descriptor must follow \"fd:\"");
}

/* ---- address to text --------------------------------------------------------------------------- */

static void a_peer_without_a_name_is_unix(void **state)
{
    (void)state;
    char text[RV_ADDRESS_TEXT_MAX];
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    rv_address_format((struct sockaddr *)&name, sizeof(sa_family_t), text, sizeof text);
    assert_string_equal(text, "unix:");
}

static void an_address_of_no_family_is_nothing(void **state)
{
    (void)state;
    char text[RV_ADDRESS_TEXT_MAX] = "something";
    struct sockaddr none = {.sa_family = AF_UNSPEC};
    rv_address_format(&none, sizeof none, text, sizeof text);
    assert_string_equal(text, "");
}

static void the_longest_addresses_fit(void **state)
{
    (void)state;
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(65535)};
    char text[RV_ADDRESS_TEXT_MAX];
    memset(&v6.sin6_addr, 0xff, sizeof v6.sin6_addr);
    rv_address_format((struct sockaddr *)&v6, sizeof v6, text, sizeof text);
    assert_string_equal(text, "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535");

    struct sockaddr_un name = {.sun_family = AF_UNIX};
    memset(name.sun_path, 'p', sizeof name.sun_path); /* without a terminator: unix(7) */
    rv_address_format((struct sockaddr *)&name, sizeof name, text, sizeof text);
    assert_int_equal(strlen(text), strlen("unix:") + 108);
}

/* ---- sockets ----------------------------------------------------------------------------------- */

static int listen_on(const char *text, struct rv_address *address)
{
    char why[RV_WHY_MAX] = "";
    int descriptor = -1;
    assert_int_equal(rv_address_parse(text, address, why), 0);
    rv_error error = rv_address_listen(address, &plain, &descriptor, why);
    assert_string_equal(why, "");
    assert_int_equal(error, 0);
    return descriptor;
}

/* What listening there is refused with, and the sentence. */
static rv_error refusal(const char *text, char *why)
{
    struct rv_address address;
    int descriptor = -1;
    assert_int_equal(rv_address_parse(text, &address, why), 0);
    rv_error error = rv_address_listen(&address, &plain, &descriptor, why);
    assert_int_equal(descriptor, -1);
    return error;
}

static int option_of(int descriptor, int level, int name)
{
    int value = -1;
    socklen_t size = sizeof value;
    assert_int_equal(getsockopt(descriptor, level, name, &value, &size), 0);
    return value;
}

static bool connects(const struct rv_address *address)
{
    int client = socket(address->sockaddr.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int result = connect(client, (const struct sockaddr *)&address->sockaddr, address->length);
    close(client);
    return result == 0;
}

static void port_0_becomes_the_port_that_the_kernel_chose(void **state)
{
    (void)state;
    struct rv_address address;
    int descriptor = listen_on("127.0.0.1:0", &address);
    assert_null(strstr(text_of(&address), ":0"));
    assert_int_not_equal(((struct sockaddr_in *)&address.sockaddr)->sin_port, 0);
    assert_true(connects(&address));
    rv_address_close(&address, descriptor);
    assert_false(connects(&address));
}

static void a_listening_socket_is_set_up_for_a_server(void **state)
{
    (void)state;
    struct rv_address address;
    int descriptor = listen_on("127.0.0.1:0", &address);
    assert_true((fcntl(descriptor, F_GETFL) & O_NONBLOCK) != 0);
    assert_true((fcntl(descriptor, F_GETFD) & FD_CLOEXEC) != 0);
    assert_int_equal(option_of(descriptor, SOL_SOCKET, SO_ACCEPTCONN), 1);
    assert_int_not_equal(option_of(descriptor, SOL_SOCKET, SO_REUSEADDR), 0);
    assert_int_not_equal(option_of(descriptor, IPPROTO_TCP, TCP_NODELAY), 0);
    assert_int_equal(option_of(descriptor, SOL_SOCKET, SO_REUSEPORT), 0);
    assert_int_equal(option_of(descriptor, IPPROTO_TCP, TCP_DEFER_ACCEPT), 0);
    rv_address_close(&address, descriptor);
}

static void an_accepted_socket_inherits_nodelay(void **state)
{
    (void)state;
    struct rv_address address;
    int descriptor = listen_on("127.0.0.1:0", &address);
    int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(client, (struct sockaddr *)&address.sockaddr, address.length), 0);
    int accepted = accept(descriptor, NULL, NULL);
    assert_true(accepted >= 0);
    assert_int_not_equal(option_of(accepted, IPPROTO_TCP, TCP_NODELAY), 0);
    close(accepted);
    close(client);
    rv_address_close(&address, descriptor);
}

static void a_port_is_shared_where_that_is_asked_for(void **state)
{
    (void)state;
    static const struct rv_listen_options shared = {.backlog = 16, .reuse_port = true};
    struct rv_address address;
    char why[RV_WHY_MAX];
    int first, second;
    assert_int_equal(rv_address_parse("127.0.0.1:0", &address, why), 0);
    assert_int_equal(rv_address_listen(&address, &shared, &first, why), 0);
    assert_int_equal(rv_address_listen(&address, &shared, &second, why), 0);
    assert_int_not_equal(first, second);
    rv_address_close(&address, first);
    rv_address_close(&address, second);
}

static void every_address_is_ipv4_and_ipv6(void **state)
{
    (void)state;
    if (!ipv6_is_there())
        skip();
    struct rv_address address;
    int descriptor = listen_on("*:0", &address);
    in_port_t port = ((struct sockaddr_in6 *)&address.sockaddr)->sin6_port;
    struct rv_address v4 = {.length = sizeof(struct sockaddr_in)}, v6 = address;
    *(struct sockaddr_in *)&v4.sockaddr = (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = port, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    ((struct sockaddr_in6 *)&v6.sockaddr)->sin6_addr = in6addr_loopback;
    assert_true(connects(&v4));
    assert_true(connects(&v6));
    rv_address_close(&address, descriptor);
}

static void an_ipv6_address_is_not_also_ipv4(void **state)
{
    (void)state;
    if (!ipv6_is_there())
        skip();
    struct rv_address address;
    int descriptor = listen_on("[::1]:0", &address);
    assert_int_equal(option_of(descriptor, IPPROTO_IPV6, IPV6_V6ONLY), 1);
    assert_true(connects(&address));
    rv_address_close(&address, descriptor);
}

static void a_taken_port_is_refused_by_name(void **state)
{
    (void)state;
    struct rv_address address;
    char why[RV_WHY_MAX] = "", expected[RV_WHY_MAX], text[RV_ADDRESS_TEXT_MAX];
    int descriptor = listen_on("127.0.0.1:0", &address);
    strcpy(text, text_of(&address));
    snprintf(expected, sizeof expected,
             "cannot listen on %s: bind: the address is already in use by another server", text);
    assert_int_equal(refusal(text, why), RV_EADDRINUSE);
    assert_string_equal(why, expected);
    rv_address_close(&address, descriptor);
}

static void an_address_of_another_machine_is_refused(void **state)
{
    (void)state;
    char why[RV_WHY_MAX] = "";
    assert_int_equal(refusal("192.0.2.1:0", why), RV_EADDR);
    assert_non_null(strstr(why, "cannot listen on 192.0.2.1:0: bind: "));
}

/* ---- unix sockets ------------------------------------------------------------------------------ */

static char directory[] = "/tmp/rivulet-test-XXXXXX";
static char path[64];      /* of a socket in there */
static char path_text[80]; /* the same as an address */

static int make_directory(void **state)
{
    (void)state;
    if (mkdtemp(directory) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/socket", directory);
    snprintf(path_text, sizeof path_text, "unix:%s", path);
    return 0;
}

static int remove_directory(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(directory);
}

static bool exists(const char *name)
{
    struct stat info;
    return lstat(name, &info) == 0;
}

static void a_unix_path_is_there_while_somebody_listens(void **state)
{
    (void)state;
    struct rv_address address;
    int descriptor = listen_on(path_text, &address);
    assert_true(exists(path));
    assert_true(connects(&address));
    rv_address_close(&address, descriptor);
    assert_false(exists(path));
}

static void a_stale_unix_path_is_taken_over(void **state)
{
    (void)state;
    struct rv_address address;
    int descriptor = listen_on(path_text, &address);
    close(descriptor); /* as a crash does: the path stays */
    assert_true(exists(path));
    descriptor = listen_on(path_text, &address);
    assert_true(connects(&address));
    rv_address_close(&address, descriptor);
}

static void a_live_unix_path_is_refused_and_stays(void **state)
{
    (void)state;
    struct rv_address address;
    char why[RV_WHY_MAX] = "", expected[RV_WHY_MAX];
    int descriptor = listen_on(path_text, &address);
    snprintf(expected, sizeof expected,
             "cannot listen on %s: bind: the address is already in use by another server",
             path_text);
    assert_int_equal(refusal(path_text, why), RV_EADDRINUSE);
    assert_string_equal(why, expected);
    assert_true(connects(&address));
    rv_address_close(&address, descriptor);
}

static void a_file_in_the_way_is_not_removed(void **state)
{
    (void)state;
    char why[RV_WHY_MAX] = "";
    int file = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(file >= 0);
    close(file);
    assert_int_equal(refusal(path_text, why), RV_EADDRINUSE);
    assert_true(exists(path));
    unlink(path);
}

static void a_unix_path_in_a_folder_that_is_not_there_is_refused(void **state)
{
    (void)state;
    char why[RV_WHY_MAX] = "";
    assert_int_equal(refusal("unix:/no/such/folder/socket", why), RV_EADDR);
    assert_string_equal(
        why, "cannot listen on unix:/no/such/folder/socket: bind: No such file or directory");
}

static void an_abstract_name_leaves_no_file(void **state)
{
    (void)state;
    char text[80];
    struct rv_address address;
    snprintf(text, sizeof text, "unix:@rivulet-test-%ld", (long)getpid());
    int descriptor = listen_on(text, &address);
    assert_true(connects(&address));
    assert_false(exists(text + strlen("unix:")));
    rv_address_close(&address, descriptor);
    assert_false(connects(&address));
}

/* ---- descriptors ------------------------------------------------------------------------------- */

static void a_listening_descriptor_is_adopted(void **state)
{
    (void)state;
    struct rv_address address, adopted;
    char text[32], name[RV_ADDRESS_TEXT_MAX];
    int original = listen_on("127.0.0.1:0", &address);
    fcntl(original, F_SETFL, 0);
    snprintf(text, sizeof text, "fd:%d", original);
    int descriptor = listen_on(text, &adopted);
    strcpy(name, text_of(&address));
    assert_string_equal(text_of(&adopted), name);
    assert_int_not_equal(descriptor, original);
    assert_true((fcntl(descriptor, F_GETFL) & O_NONBLOCK) != 0);
    assert_true((fcntl(descriptor, F_GETFD) & FD_CLOEXEC) != 0);
    rv_address_close(&adopted, descriptor);
    assert_true(connects(&address)); /* whoever opened it goes on */
    rv_address_close(&address, original);
}

static void the_path_of_an_adopted_unix_socket_stays(void **state)
{
    (void)state;
    struct rv_address address, adopted;
    char text[32];
    int original = listen_on(path_text, &address);
    snprintf(text, sizeof text, "fd:%d", original);
    int descriptor = listen_on(text, &adopted);
    assert_string_equal(text_of(&adopted), path_text);
    rv_address_close(&adopted, descriptor);
    assert_true(exists(path));
    rv_address_close(&address, original);
}

static void a_descriptor_that_does_not_listen_is_refused(void **state)
{
    (void)state;
    int descriptors[] = {socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0),
                         open("/dev/null", O_RDONLY | O_CLOEXEC)};
    for (int i = 0; i < 2; i++) {
        char text[32], why[RV_WHY_MAX] = "", expected[96];
        snprintf(text, sizeof text, "fd:%d", descriptors[i]);
        snprintf(expected, sizeof expected, "cannot listen on %s: not a listening socket", text);
        assert_int_equal(refusal(text, why), RV_EADDR);
        assert_non_null(strstr(why, expected));
        close(descriptors[i]);
    }
}

static void a_descriptor_that_is_not_open_is_refused(void **state)
{
    (void)state;
    char why[RV_WHY_MAX] = "";
    assert_true(refusal("fd:9999", why) < 0);
    assert_non_null(strstr(why, "cannot listen on fd:9999: "));
}

static void inherited_descriptors_are_counted_for_this_process_only(void **state)
{
    (void)state;
    char own[16], other[16];
    snprintf(own, sizeof own, "%ld", (long)getpid());
    snprintf(other, sizeof other, "%ld", (long)getpid() + 1);
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_PID");
    assert_int_equal(rv_address_inherited(), 0);
    setenv("LISTEN_FDS", "2", 1);
    assert_int_equal(rv_address_inherited(), 2);
    setenv("LISTEN_PID", own, 1);
    assert_int_equal(rv_address_inherited(), 2);
    setenv("LISTEN_PID", other, 1);
    assert_int_equal(rv_address_inherited(), 0);
    setenv("LISTEN_PID", "nonsense", 1);
    assert_int_equal(rv_address_inherited(), 0);
    setenv("LISTEN_PID", own, 1);
    setenv("LISTEN_FDS", "-1", 1);
    assert_int_equal(rv_address_inherited(), 0);
    setenv("LISTEN_FDS", "many", 1);
    assert_int_equal(rv_address_inherited(), 0);
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_PID");
}

static void the_longest_accept_queue_is_the_kernels(void **state)
{
    (void)state;
    unsigned granted = 0;
    FILE *file = fopen("/proc/sys/net/core/somaxconn", "re");
    if (file == NULL)
        skip();
    assert_int_equal(fscanf(file, "%u", &granted), 1);
    fclose(file);
    assert_int_equal(rv_address_somaxconn(), granted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_ipv4_address_has_a_host_and_a_port),
        cmocka_unit_test(an_ipv6_address_goes_in_brackets),
        cmocka_unit_test(a_name_is_resolved),
        cmocka_unit_test(no_host_or_a_star_is_every_address),
        cmocka_unit_test(a_port_alone_is_on_the_loopback),
        cmocka_unit_test(a_unix_path_and_an_abstract_name_follow_unix),
        cmocka_unit_test(an_abstract_name_begins_with_a_nul_and_is_not_padded),
        cmocka_unit_test(a_unix_path_has_107_octets_at_most),
        cmocka_unit_test(a_descriptor_is_named_by_its_number),
        cmocka_unit_test(a_port_that_is_no_number_up_to_65535_is_refused),
        cmocka_unit_test(an_ipv6_address_without_brackets_is_refused),
        cmocka_unit_test(a_host_that_cannot_be_resolved_is_refused),
        cmocka_unit_test(an_empty_unix_path_is_refused),
        cmocka_unit_test(a_descriptor_that_is_no_number_is_refused),
        cmocka_unit_test(a_peer_without_a_name_is_unix),
        cmocka_unit_test(an_address_of_no_family_is_nothing),
        cmocka_unit_test(the_longest_addresses_fit),
        cmocka_unit_test(port_0_becomes_the_port_that_the_kernel_chose),
        cmocka_unit_test(a_listening_socket_is_set_up_for_a_server),
        cmocka_unit_test(an_accepted_socket_inherits_nodelay),
        cmocka_unit_test(a_port_is_shared_where_that_is_asked_for),
        cmocka_unit_test(every_address_is_ipv4_and_ipv6),
        cmocka_unit_test(an_ipv6_address_is_not_also_ipv4),
        cmocka_unit_test(a_taken_port_is_refused_by_name),
        cmocka_unit_test(an_address_of_another_machine_is_refused),
        cmocka_unit_test(a_unix_path_is_there_while_somebody_listens),
        cmocka_unit_test(a_stale_unix_path_is_taken_over),
        cmocka_unit_test(a_live_unix_path_is_refused_and_stays),
        cmocka_unit_test(a_file_in_the_way_is_not_removed),
        cmocka_unit_test(a_unix_path_in_a_folder_that_is_not_there_is_refused),
        cmocka_unit_test(an_abstract_name_leaves_no_file),
        cmocka_unit_test(a_listening_descriptor_is_adopted),
        cmocka_unit_test(the_path_of_an_adopted_unix_socket_stays),
        cmocka_unit_test(a_descriptor_that_does_not_listen_is_refused),
        cmocka_unit_test(a_descriptor_that_is_not_open_is_refused),
        cmocka_unit_test(inherited_descriptors_are_counted_for_this_process_only),
        cmocka_unit_test(the_longest_accept_queue_is_the_kernels),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
