/*
 * Facts about base64: RFC 4648's own examples, and that nothing but an encoder's text is read.
 */
#include "base/base64.h"
#include "random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct {
    const char *octets, *text;
} examples[] = {
    /* RFC 4648 section 10, RFC 7617 section 2 */
    {"", ""},
    {"f", "Zg=="},
    {"fo", "Zm8="},
    {"foo", "Zm9v"},
    {"foob", "Zm9vYg=="},
    {"fooba", "Zm9vYmE="},
    {"foobar", "Zm9vYmFy"},
    {"Aladdin:open sesame", "QWxhZGRpbjpvcGVuIHNlc2FtZQ=="},
    {"\xfb\xff\xbf", "+/+/"},
};

static void octets_are_written_as_the_standard_writes_them(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        char text[64];
        memset(text, '#', sizeof text);
        size_t length = strlen(examples[i].octets);
        size_t written = rv_base64_encode(examples[i].octets, length, text);
        assert_int_equal(written, strlen(examples[i].text));
        assert_int_equal(written, rv_base64_length(length));
        assert_memory_equal(text, examples[i].text, written);
        assert_int_equal(text[written], '#');
    }
}

static void text_is_read_as_the_standard_reads_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        char octets[64];
        size_t length = 99;
        assert_int_equal(rv_base64_decode(rv_str(examples[i].text), octets, &length), 0);
        assert_int_equal(length, strlen(examples[i].octets));
        assert_memory_equal(octets, examples[i].octets, length);
    }
}

static void any_octets_come_back(void **state)
{
    (void)state;
    uint64_t seed = 64;
    for (size_t length = 0; length < 200; length++) {
        /* Of exactly the size that the header names, so that a step too far is seen. */
        unsigned char *octets = malloc(length + 1);
        char *text = malloc(rv_base64_length(length) + 1);
        unsigned char *back = malloc(rv_base64_length(length) / 4 * 3 + 1);
        for (size_t i = 0; i < length; i++)
            octets[i] = (unsigned char)random_next(&seed);
        size_t written = rv_base64_encode(octets, length, text);
        size_t read = 0;
        assert_int_equal(rv_base64_decode((rv_bytes){text, written}, back, &read), 0);
        assert_int_equal(read, length);
        assert_memory_equal(back, octets, length);
        free(octets);
        free(text);
        free(back);
    }
}

static void what_no_encoder_writes_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "Z",    "Zg",   "Zg=",        "Zm9vY",   "Zg==Zg==", "=",        "==",       "===",  "====",
        "Z===", "A===", "AAAAA===",   "Zg=g",    "=Zg=",     "Zm9v\n",   "Zm 9",     "Zm9-", "Zm9_",
        "Zh==", "Zm9=", "Zm\xc3\xa4", "\x7fm9v", "Zm9vZm9[", "Zm9vZm9@", "Zm9v{m9v",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char octets[64];
        size_t length = 99;
        assert_int_equal(rv_base64_decode(rv_str(wrong[i]), octets, &length), RV_EINVAL);
        assert_int_equal(length, 99);
    }
    char octets[4];
    size_t length;
    assert_int_equal(rv_base64_decode((rv_bytes){"Zm\0v", 4}, octets, &length), RV_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(octets_are_written_as_the_standard_writes_them),
        cmocka_unit_test(text_is_read_as_the_standard_reads_it),
        cmocka_unit_test(any_octets_come_back),
        cmocka_unit_test(what_no_encoder_writes_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
