/*
 * URLs as people type them: what may be missing, what is refused and in which words.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "load/target.h"
#include "random.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool is(rv_bytes bytes, const char *text)
{
    return rv_bytes_equal(bytes, rv_str(text));
}

static void every_part_is_found_and_most_may_be_missing(void **state)
{
    (void)state;
    static const struct {
        const char *text, *userinfo, *host, *target;
        uint16_t port;
        bool has_port, ipv6;
    } cases[] = {
        {"http://h:8080/a/b?x=1", NULL, "h", "/a/b?x=1", 8080, true, false},
        {"http://h/", NULL, "h", "/", 80, false, false},
        {"HTTP://h/", NULL, "h", "/", 80, false, false},
        {"http://h", NULL, "h", "/", 80, false, false},
        {"h", NULL, "h", "/", 80, false, false},
        {"127.0.0.1:8910/ok", NULL, "127.0.0.1", "/ok", 8910, true, false},
        {"localhost:65535", NULL, "localhost", "/", 65535, true, false},
        {"http://h:80/", NULL, "h", "/", 80, true, false},
        {"h?x=1", NULL, "h", "?x=1", 80, false, false},
        {"h:81?x=/y", NULL, "h", "?x=/y", 81, true, false},
        {"[::1]", NULL, "::1", "/", 80, false, true},
        {"http://[fd00::2]:81/x", NULL, "fd00::2", "/x", 81, true, true},
        {"http://u:p@h/", "u:p", "h", "/", 80, false, false},
        {"u:p@[::1]:81/", "u:p", "::1", "/", 81, true, true},
        {"http://u:p@w@h/", "u:p@w", "h", "/", 80, false, false},
        {"http://@h/", NULL, "h", "/", 80, false, false},
        {"http://h/a@b", NULL, "h", "/a@b", 80, false, false},
        {"http://h/a#part", NULL, "h", "/a", 80, false, false},
        {"http://h#part", NULL, "h", "/", 80, false, false},
        {"http://h/x?to=http://o/", NULL, "h", "/x?to=http://o/", 80, false, false},
        {"h/x?to=http://o/", NULL, "h", "/x?to=http://o/", 80, false, false},
        {"h//a", NULL, "h", "//a", 80, false, false},
        {"h/%20", NULL, "h", "/%20", 80, false, false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct rv_url url;
        char why[RV_TARGET_WHY_MAX] = "";
        if (rv_url_parse(cases[i].text, &url, why) != 0)
            fail_msg("\"%s\" was refused: %s", cases[i].text, why);
        bool same_userinfo = cases[i].userinfo == NULL ? url.userinfo.ptr == NULL
                                                       : is(url.userinfo, cases[i].userinfo);
        if (!is(url.host, cases[i].host) || !is(url.target, cases[i].target) || !same_userinfo ||
            url.port != cases[i].port || url.has_port != cases[i].has_port ||
            url.host_is_ipv6 != cases[i].ipv6)
            fail_msg("\"%s\" was taken apart wrongly", cases[i].text);
        assert_true(rv_bytes_equal_nocase(url.scheme, RV_LIT("http")));
    }
}

#if RV_TLS_BUILT
static void https_has_a_port_of_its_own(void **state)
{
    (void)state;
    struct rv_url url;
    char why[RV_TARGET_WHY_MAX] = "";
    assert_int_equal(rv_url_parse("HTTPS://h/x", &url, why), 0);
    assert_true(url.is_tls);
    assert_int_equal(url.port, 443);
    assert_false(url.has_port);
    assert_int_equal(rv_url_parse("https://h:80/x", &url, why), 0);
    assert_true(url.is_tls);
    assert_int_equal(url.port, 80);
    assert_int_equal(rv_url_parse("h:443/x", &url, why), 0);
    assert_false(url.is_tls);
}
#endif

static void what_is_no_url_is_refused_in_a_sentence_that_names_it(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "there is no host"},
        {"http://", "there is no host"},
        {"/ok", "there is no host"},
        {"http:///ok", "there is no host"},
        {"http://:80/", "there is no host"},
#if !RV_TLS_BUILT
        {"https://h/", "https needs TLS, and this rivulet was built without it"},
#endif
        {"httpss://h/", "the scheme must be http or https"},
        {"ftp://h/", "the scheme must be http"},
        {"://h/", "the scheme must be http"},
        {"http:/h", "no port follows the colon"},
        {"h:", "no port follows the colon"},
        {"h:/", "no port follows the colon"},
        {"h:0/", "the port must be a number from 1 to 65535"},
        {"h:65536/", "the port must be a number from 1 to 65535"},
        {"h:99999999999999999999/", "the port must be a number from 1 to 65535"},
        {"h:8x/", "the port must be a number from 1 to 65535"},
        {"h:-1/", "the port must be a number from 1 to 65535"},
        {"::1/", "goes in brackets"},
        {"fe80::1:80", "goes in brackets"},
        {"[::1", "not closed"},
        {"[::1]x", "neither a name nor an address"},
        {"[::1]80", "neither a name nor an address"},
        {"[]", "neither a name nor an address"},
        {"[1.2.3.4]", "neither a name nor an address"},
        {"h<x>/", "neither a name nor an address"},
        {"h/a b", "a space does not go into a URL: percent-encode it, as %20"},
        {" h/", "a space"},
        {"h/a\tb", "a control octet does not go into a URL: percent-encode it, as %09"},
        {"h/a\r\nX: y", "as %0D"},
        {"h/\x7f", "as %7F"},
        {"h/\xc3\xa4", "a non-ASCII octet does not go into a URL: percent-encode it, as %C3"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct rv_url url;
        char why[RV_TARGET_WHY_MAX] = "";
        if (rv_url_parse(cases[i].text, &url, why) != RV_EINVAL)
            fail_msg("\"%s\" was taken", cases[i].text);
        if (strstr(why, cases[i].says) == NULL)
            fail_msg("\"%s\": %s", cases[i].text, why);
        for (const char *at = why; *at != '\0'; at++)
            assert_true((unsigned char)*at >= 0x20 && *at != 0x7f);
    }
}

static void a_sentence_about_a_long_url_is_short(void **state)
{
    (void)state;
    struct rv_url url;
    char why[RV_TARGET_WHY_MAX];
    char *text = malloc(100001);
    assert_non_null(text);
    memset(text, ' ', 100000);
    text[100000] = '\0';
    assert_int_equal(rv_url_parse(text, &url, why), RV_EINVAL);
    assert_true(strlen(why) < RV_TARGET_WHY_MAX);
    assert_non_null(strstr(why, "...\": a space"));
    free(text);
}

static bool lies_in(rv_bytes part, const char *text)
{
    return part.len == 0 || (part.ptr >= text && part.ptr + part.len <= text + strlen(text));
}

/* Texts of the octets that matter to a URL. */
static void whatever_comes_the_parts_lie_in_the_text(void **state)
{
    (void)state;
    static const char octets[] = "htp:/?#@[]:1.% a0";
    uint64_t seed = 20261130;
    unsigned taken = 0;
    for (int round = 0; round < 200000; round++) {
        char why[RV_TARGET_WHY_MAX];
        struct rv_url url;
        size_t length = random_below(&seed, 16);
        char *text = malloc(length + 1); /* of exactly its size */
        assert_non_null(text);
        for (size_t i = 0; i < length; i++)
            text[i] = octets[random_below(&seed, sizeof octets - 1)];
        text[length] = '\0';
        if (rv_url_parse(text, &url, why) == 0) {
            taken++;
            assert_true(url.host.len > 0 && url.port > 0);
            assert_true(url.target.ptr[0] == '/' || url.target.ptr[0] == '?');
            assert_true(lies_in(url.host, text) && lies_in(url.userinfo, text));
            assert_true(rv_bytes_equal(url.target, RV_LIT("/")) || lies_in(url.target, text));
        }
        free(text);
    }
    assert_true(taken > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_part_is_found_and_most_may_be_missing),
#if RV_TLS_BUILT
        cmocka_unit_test(https_has_a_port_of_its_own),
#endif
        cmocka_unit_test(what_is_no_url_is_refused_in_a_sentence_that_names_it),
        cmocka_unit_test(a_sentence_about_a_long_url_is_short),
        cmocka_unit_test(whatever_comes_the_parts_lie_in_the_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
