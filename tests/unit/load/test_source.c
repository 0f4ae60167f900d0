/*
 * Source addresses: one, a network, a run of them; the nth of each.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>

#include "load/target.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *text_of(const struct rv_endpoint *endpoint, char text[INET6_ADDRSTRLEN])
{
    bool v6 = endpoint->sockaddr.ss_family == AF_INET6;
    const void *octets =
        v6 ? (const void *)&((const struct sockaddr_in6 *)&endpoint->sockaddr)->sin6_addr
           : (const void *)&((const struct sockaddr_in *)&endpoint->sockaddr)->sin_addr;
    assert_int_equal(endpoint->length,
                     v6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in));
    return inet_ntop(endpoint->sockaddr.ss_family, octets, text, INET6_ADDRSTRLEN);
}

static void a_range_has_a_first_address_a_last_one_and_a_count(void **state)
{
    (void)state;
    static const struct {
        const char *text, *first, *last;
        uint64_t count;
    } cases[] = {
        {"127.0.0.5", "127.0.0.5", "127.0.0.5", 1},
        {"::1", "::1", "::1", 1},
        {"127.0.0.0/8", "127.0.0.1", "127.255.255.254", 16777214},
        {"127.1.2.3/8", "127.0.0.1", "127.255.255.254", 16777214},
        {"10.0.0.0/30", "10.0.0.1", "10.0.0.2", 2},
        {"10.0.0.0/31", "10.0.0.0", "10.0.0.1", 2},
        {"10.0.0.7/32", "10.0.0.7", "10.0.0.7", 1},
        {"0.0.0.0/0", "0.0.0.1", "255.255.255.254", 4294967294},
        {"127.0.0.2-127.0.0.9", "127.0.0.2", "127.0.0.9", 8},
        {"127.0.0.255-127.0.1.0", "127.0.0.255", "127.0.1.0", 2},
        {"127.0.0.2-127.0.0.2", "127.0.0.2", "127.0.0.2", 1},
        {"0.0.0.0-255.255.255.255", "0.0.0.0", "255.255.255.255", 4294967296},
        {"fd00::/126", "fd00::1", "fd00::2", 2},
        {"fd00::/128", "fd00::", "fd00::", 1},
        {"fd00::/64", "fd00::1", "fd00::1:0:0", 4294967296},
        {"::/0", "::1", "::1:0:0", 4294967296},
        {"fd00::ffff-fd00::1:1", "fd00::ffff", "fd00::1:1", 3},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct rv_source_range range;
        char why[RV_TARGET_WHY_MAX] = "";
        char text[INET6_ADDRSTRLEN];
        if (rv_source_parse(cases[i].text, &range, why) != 0)
            fail_msg("\"%s\" was refused: %s", cases[i].text, why);
        assert_int_equal(range.count, cases[i].count);
        struct rv_endpoint first = rv_source_nth(&range, 0);
        struct rv_endpoint last = rv_source_nth(&range, range.count - 1);
        assert_string_equal(text_of(&first, text), cases[i].first);
        assert_string_equal(text_of(&last, text), cases[i].last);
        struct rv_endpoint again = rv_source_nth(&range, range.count);
        assert_string_equal(text_of(&again, text), cases[i].first);
    }
}

static void no_range_lets_the_kernel_choose(void **state)
{
    (void)state;
    struct rv_source_range none = {0};
    assert_int_equal(rv_source_nth(&none, 7).length, 0);
}

static void what_is_no_range_is_refused_in_a_sentence_that_names_it(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "not an IP address"},
        {"localhost", "not an IP address"},
        {"127.0.0", "not an IP address"},
        {"127.0.0.256", "not an IP address"},
        {"127.0.0.1:80", "not an IP address"},
        {"[::1]", "not an IP address"},
        {"127.0.0.0/33", "from 0 to 32"},
        {"127.0.0.0/", "from 0 to 32"},
        {"127.0.0.0/-1", "from 0 to 32"},
        {"127.0.0.0/8x", "from 0 to 32"},
        {"::/129", "from 0 to 128"},
        {"127.0.0.9-127.0.0.2", "before the first"},
        {"127.0.0.9-", "no IP address"},
        {"127.0.0.9-::1", "both ends"},
        {"fd00::-fd01::", "at most 4294967296"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct rv_source_range range = {.count = 42};
        char why[RV_TARGET_WHY_MAX] = "";
        if (rv_source_parse(cases[i].text, &range, why) != RV_EINVAL)
            fail_msg("\"%s\" was taken", cases[i].text);
        if (strstr(why, cases[i].says) == NULL || strstr(why, cases[i].text) == NULL)
            fail_msg("\"%s\": %s", cases[i].text, why);
        assert_int_equal(range.count, 42);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_range_has_a_first_address_a_last_one_and_a_count),
        cmocka_unit_test(no_range_lets_the_kernel_choose),
        cmocka_unit_test(what_is_no_range_is_refused_in_a_sentence_that_names_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
