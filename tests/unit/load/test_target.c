/*
 * Where connections go: from a URL to addresses, by unix path, proxy, override or resolver. Only
 * what every machine resolves is asked for: literals, localhost, and names that nobody can have.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/un.h>

#include "load/target.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static char why[RV_TARGET_WHY_MAX];

static struct rv_load_target target_of(const char *text)
{
    struct rv_load_target target = {0};
    struct rv_url url;
    assert_int_equal(rv_url_parse(text, &url, why), 0);
    assert_int_equal(rv_target_set_url(&target, text, &url), 0);
    return target;
}

/* "127.0.0.1:80" or "[::1]:80". */
static void check_address(const struct rv_load_target *target, uint32_t n, const char *expected)
{
    char host[INET6_ADDRSTRLEN];
    char text[INET6_ADDRSTRLEN + 16];
    assert_true(n < target->address_count);
    const struct rv_endpoint *endpoint = &target->addresses[n];
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)&endpoint->sockaddr;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&endpoint->sockaddr;
    if (endpoint->sockaddr.ss_family == AF_INET6) {
        assert_int_equal(endpoint->length, sizeof *v6);
        inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof host);
        snprintf(text, sizeof text, "[%s]:%u", host, ntohs(v6->sin6_port));
    } else {
        assert_int_equal(endpoint->length, sizeof *v4);
        inet_ntop(AF_INET, &v4->sin_addr, host, sizeof host);
        snprintf(text, sizeof text, "%s:%u", host, ntohs(v4->sin_port));
    }
    assert_string_equal(text, expected);
}

static void host_says_the_port_unless_it_is_80(void **state)
{
    (void)state;
    static const struct {
        const char *url, *authority, *host;
    } cases[] = {
        {"http://example.org/x", "example.org", "example.org"},
        {"http://example.org:80/", "example.org", "example.org"},
        {"127.0.0.1:8910/ok", "127.0.0.1:8910", "127.0.0.1"},
        {"[::1]:8080", "[::1]:8080", "::1"},
        {"u:p@[::1]", "[::1]", "::1"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct rv_load_target target = target_of(cases[i].url);
        assert_string_equal(target.authority, cases[i].authority);
        assert_string_equal(target.host, cases[i].host);
        assert_string_equal(target.url, cases[i].url);
        rv_target_free(&target);
    }
}

static void literals_are_their_own_address(void **state)
{
    (void)state;
    struct rv_load_target v4 = target_of("127.0.0.1:8910/ok");
    assert_int_equal(rv_target_resolve(&v4, NULL, 0, why), 0);
    assert_int_equal(v4.address_count, 1);
    check_address(&v4, 0, "127.0.0.1:8910");
    rv_target_free(&v4);
    struct rv_load_target v6 = target_of("[::1]:8910/ok");
    assert_int_equal(rv_target_resolve(&v6, NULL, 0, why), 0);
    assert_int_equal(v6.address_count, 1);
    check_address(&v6, 0, "[::1]:8910");
    rv_target_free(&v6);
}

static void localhost_is_resolved_without_twins(void **state)
{
    (void)state;
    struct rv_load_target target = target_of("localhost:8910");
    assert_int_equal(rv_target_resolve(&target, NULL, 0, why), 0);
    assert_in_range(target.address_count, 1, 2);
    uint32_t count = target.address_count;
    assert_int_equal(rv_target_resolve(&target, NULL, 0, why), 0);
    assert_int_equal(target.address_count, count);
    rv_target_free(&target);
}

static void a_name_that_nobody_has_is_an_error_with_the_resolvers_words(void **state)
{
    (void)state;
    struct rv_load_target target = target_of("http://a..b/");
    assert_int_equal(rv_target_resolve(&target, NULL, 0, why), RV_EADDR);
    assert_non_null(strstr(why, "\"a..b\" could not be resolved: "));
    assert_int_equal(target.address_count, 0);
    rv_target_free(&target);
}

/* ---- unix sockets ---------------------------------------------------------------------------- */

static void a_unix_path_is_the_address_whatever_the_url_says(void **state)
{
    (void)state;
    struct rv_load_target target = target_of("http://a..b/");
    target.unix_path = strdup("/run/x.sock");
    assert_int_equal(rv_target_resolve(&target, NULL, 0, why), 0);
    assert_int_equal(target.address_count, 1);
    const struct sockaddr_un *name = (const struct sockaddr_un *)&target.addresses[0].sockaddr;
    assert_int_equal(name->sun_family, AF_UNIX);
    assert_string_equal(name->sun_path, "/run/x.sock");
    rv_target_free(&target);
}

static void an_abstract_name_is_exactly_as_long_as_it_is(void **state)
{
    (void)state;
    struct rv_load_target target = target_of("h");
    target.unix_path = strdup("@name");
    assert_int_equal(rv_target_resolve(&target, NULL, 0, why), 0);
    const struct sockaddr_un *name = (const struct sockaddr_un *)&target.addresses[0].sockaddr;
    assert_int_equal(target.addresses[0].length, offsetof(struct sockaddr_un, sun_path) + 5);
    assert_memory_equal(name->sun_path, "\0name", 5);
    rv_target_free(&target);
}

static void a_unix_path_that_no_address_holds_is_refused(void **state)
{
    (void)state;
    char path[109];
    memset(path, 'x', sizeof path - 1);
    path[108] = '\0';
    struct rv_load_target target = target_of("h");
    target.unix_path = strdup(path);
    assert_int_equal(rv_target_resolve(&target, NULL, 0, why), RV_EINVAL);
    assert_non_null(strstr(why, "1 to 107 octets, not 108"));
    target.unix_path[107] = '\0';
    assert_int_equal(rv_target_resolve(&target, NULL, 0, why), 0);
    target.unix_path[0] = '\0';
    assert_int_equal(rv_target_resolve(&target, NULL, 0, why), RV_EINVAL);
    rv_target_free(&target);
}

/* ---- overrides ------------------------------------------------------------------------------- */

static void an_override_gives_its_addresses_in_order(void **state)
{
    (void)state;
    const char *const overrides[] = {"other.invalid:80:127.0.0.9",
                                     "a.INVALID:81:[::1],127.0.0.7,127.0.0.7, ::2",
                                     "a.invalid:81:127.0.0.8"};
    struct rv_load_target target = target_of("http://A.invalid:81/");
    assert_int_equal(rv_target_resolve(&target, overrides, COUNT(overrides), why), 0);
    assert_int_equal(target.address_count, 3);
    check_address(&target, 0, "[::1]:81");
    check_address(&target, 1, "127.0.0.7:81");
    check_address(&target, 2, "[::2]:81");
    rv_target_free(&target);
}

static void an_override_for_any_host_or_an_ipv6_host_holds(void **state)
{
    (void)state;
    const char *const any[] = {"*:80:127.0.0.7"};
    struct rv_load_target target = target_of("a.invalid");
    assert_int_equal(rv_target_resolve(&target, any, 1, why), 0);
    check_address(&target, 0, "127.0.0.7:80");
    rv_target_free(&target);
    const char *const v6[] = {"[fd00::1]:80:127.0.0.7"};
    target = target_of("[fd00::1]");
    assert_int_equal(rv_target_resolve(&target, v6, 1, why), 0);
    check_address(&target, 0, "127.0.0.7:80");
    rv_target_free(&target);
}

static void an_override_that_is_none_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *override, *says;
    } cases[] = {
        {"", "is not host:port:address"},
        {"a.invalid", "is not host:port:address"},
        {"a.invalid:80", "is not host:port:address"},
        {"a.invalid:80:", "is not host:port:address"},
        {":80:127.0.0.1", "is not host:port:address"},
        {"a.invalid:0:127.0.0.1", "is not host:port:address"},
        {"a.invalid:65536:127.0.0.1", "is not host:port:address"},
        {"a.invalid::127.0.0.1", "is not host:port:address"},
        {"a.invalid:x:127.0.0.1", "is not host:port:address"},
        {"[::1:80:127.0.0.1", "is not host:port:address"},
        {"a.invalid:80:name", "\"name\" is no IP address"},
        {"a.invalid:80:127.0.0.1,,127.0.0.300", "\"127.0.0.300\" is no IP address"},
        {"b.invalid:80:127.0.0.1", "is for another host or port than a.invalid:80"},
        {"a.invalid:81:127.0.0.1", "is for another host or port than a.invalid:80"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct rv_load_target target = target_of("http://a.invalid/");
        if (rv_target_resolve(&target, &cases[i].override, 1, why) != RV_EINVAL)
            fail_msg("\"%s\" was taken", cases[i].override);
        if (strstr(why, cases[i].says) == NULL)
            fail_msg("\"%s\": %s", cases[i].override, why);
        rv_target_free(&target);
    }
}

/* ---- proxies and sources --------------------------------------------------------------------- */

static void a_proxy_is_where_connections_go_and_has_port_1080_by_default(void **state)
{
    (void)state;
    struct rv_load_target target = target_of("http://a..b/");
    target.proxy = strdup("127.0.0.5:3128");
    assert_int_equal(rv_target_resolve(&target, NULL, 0, why), 0);
    check_address(&target, 0, "127.0.0.5:3128");
    free(target.proxy);
    target.proxy = strdup("[::1]");
    assert_int_equal(rv_target_resolve(&target, NULL, 0, why), 0);
    assert_int_equal(target.address_count, 1);
    check_address(&target, 0, "[::1]:1080");
    rv_target_free(&target);
}

static void a_proxy_that_is_no_address_is_refused(void **state)
{
    (void)state;
    struct rv_load_target target = target_of("h");
    target.proxy = strdup("p:x");
    assert_int_equal(rv_target_resolve(&target, NULL, 0, why), RV_EADDR);
    assert_non_null(strstr(why, "\"p:x\": the port must be"));
    rv_target_free(&target);
}

static void addresses_that_the_source_cannot_reach_are_left_out(void **state)
{
    (void)state;
    const char *const both[] = {"h:80:[::1],127.0.0.1"};
    struct rv_load_target target = target_of("h");
    assert_int_equal(rv_source_parse("127.0.0.0/8", &target.source, why), 0);
    assert_int_equal(rv_target_resolve(&target, both, 1, why), 0);
    assert_int_equal(target.address_count, 1);
    check_address(&target, 0, "127.0.0.1:80");
    rv_target_free(&target);
    target = target_of("127.0.0.1");
    assert_int_equal(rv_source_parse("::1", &target.source, why), 0);
    assert_int_equal(rv_target_resolve(&target, NULL, 0, why), RV_EADDR);
    assert_non_null(strstr(why, "\"127.0.0.1\" has no IPv6 address"));
    rv_target_free(&target);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_says_the_port_unless_it_is_80),
        cmocka_unit_test(literals_are_their_own_address),
        cmocka_unit_test(localhost_is_resolved_without_twins),
        cmocka_unit_test(a_name_that_nobody_has_is_an_error_with_the_resolvers_words),
        cmocka_unit_test(a_unix_path_is_the_address_whatever_the_url_says),
        cmocka_unit_test(an_abstract_name_is_exactly_as_long_as_it_is),
        cmocka_unit_test(a_unix_path_that_no_address_holds_is_refused),
        cmocka_unit_test(an_override_gives_its_addresses_in_order),
        cmocka_unit_test(an_override_for_any_host_or_an_ipv6_host_holds),
        cmocka_unit_test(an_override_that_is_none_is_refused),
        cmocka_unit_test(a_proxy_is_where_connections_go_and_has_port_1080_by_default),
        cmocka_unit_test(a_proxy_that_is_no_address_is_refused),
        cmocka_unit_test(addresses_that_the_source_cannot_reach_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
