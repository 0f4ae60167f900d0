/*
 * The command line of `rivulet bench`: what each option does to the struct, what is refused and in
 * which words.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "cli/bench_options.h"
#include "support/memory_file.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define WORDS_MAX 32

static char why[RV_BENCH_WHY_MAX];

/* Splits at spaces, puts "bench" before, and parses. The words live until the next call. */
static rv_error parse(const char *line, struct rv_bench_options *options)
{
    static char copy[1000];
    char *argv[WORDS_MAX + 2] = {(char *)"bench"};
    int argc = 1;
    strcpy(copy, line);
    for (char *word = strtok(copy, " "); word != NULL; word = strtok(NULL, " ")) {
        assert_true(argc < WORDS_MAX);
        argv[argc++] = word;
    }
    why[0] = '\0';
    return rv_bench_options_parse(argc, argv, options, why);
}

static struct rv_bench_options parsed(const char *line)
{
    struct rv_bench_options options;
    if (parse(line, &options) != 0)
        fail_msg("\"%s\" was refused: %s", line, why);
    return options;
}

static void nothing_said_is_nothing_set(void **state)
{
    (void)state;
    struct rv_bench_options options = parsed("h");
    assert_int_equal(options.given, 0);
    assert_int_equal(options.clients, 0);
    assert_int_equal(options.requests, 0);
    assert_int_equal(options.duration_us, 0);
    assert_int_equal(options.timeout_us, 30000000);
    assert_int_equal(options.connect_timeout_us, 0);
    assert_int_equal(options.seed, 1);
    assert_int_equal(options.format, RV_REPORT_TEXT);
    assert_int_equal(CPU_COUNT(&options.cpus), 0);
    assert_int_equal(options.urls.count, 1);
    assert_string_equal(options.urls.items[0], "h");
    rv_bench_options_free(&options);
}

static void numbers_take_units(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        size_t at;
        uint64_t value;
    } cases[] = {
        {"-c 10 h", offsetof(struct rv_bench_options, clients), 10},
        {"-c10 h", offsetof(struct rv_bench_options, clients), 10},
        {"--clients=1k h", offsetof(struct rv_bench_options, clients), 1000},
        {"-c 1M h", offsetof(struct rv_bench_options, clients), 1000000},
        {"-n 2k h", offsetof(struct rv_bench_options, requests), 2000},
        {"--requests 1G h", offsetof(struct rv_bench_options, requests), 1000000000},
        {"--quota 7 h", offsetof(struct rv_bench_options, quota), 7},
        {"-t 10s h", offsetof(struct rv_bench_options, duration_us), 10000000},
        {"-t 2 h", offsetof(struct rv_bench_options, duration_us), 2000000},
        {"--time 5m h", offsetof(struct rv_bench_options, duration_us), 300000000},
        {"--think 10ms h", offsetof(struct rv_bench_options, think_us), 10000},
        {"--think 0 h", offsetof(struct rv_bench_options, think_us), 0},
        {"--pipeline 16 h", offsetof(struct rv_bench_options, pipeline), 16},
        {"-R 1 --arrivals poisson --seed 0 h", offsetof(struct rv_bench_options, seed), 0},
        {"-R 1 --seed 18446744073709551615 h", offsetof(struct rv_bench_options, seed), UINT64_MAX},
        {"-R 1 --max-clients 5 h", offsetof(struct rv_bench_options, max_clients), 5},
        {"--requests-per-connection 3 h",
         offsetof(struct rv_bench_options, requests_per_connection), 3},
        {"--timeout 250us h", offsetof(struct rv_bench_options, timeout_us), 250},
        {"--timeout 0 h", offsetof(struct rv_bench_options, timeout_us), 0},
        {"--connect-timeout 1.5s h", offsetof(struct rv_bench_options, connect_timeout_us),
         1500000},
        {"--threads 2 h", offsetof(struct rv_bench_options, threads), 2},
        {"-c 5 -c 6 h", offsetof(struct rv_bench_options, clients), 6},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct rv_bench_options options = parsed(cases[i].line);
        uint64_t value;
        memcpy(&value, (const char *)&options + cases[i].at, sizeof value);
        if (value != cases[i].value)
            fail_msg("\"%s\" is %llu", cases[i].line, (unsigned long long)value);
        rv_bench_options_free(&options);
    }
}

static void rates_are_per_second(void **state)
{
    (void)state;
    struct rv_bench_options options = parsed("-R 20k --connect-rate 600/m h");
    assert_float_equal(options.rate_per_s, 20000, 0);
    assert_float_equal(options.connect_rate_per_s, 10, 0);
    assert_true(rv_bench_is_given(&options, RV_BENCH_RATE));
    rv_bench_options_free(&options);
}

static void words_are_kept_as_they_are(void **state)
{
    (void)state;
    struct rv_bench_options options =
        parsed("-X PUT -H A:1 --header B: -d a -d @f --data b=c -u u:p --source 127.0.0.5 "
               "--resolve h:1:::1 -x p -o f.json h:1/a h:1/b");
    assert_string_equal(options.method, "PUT");
    assert_int_equal(options.fields.count, 2);
    assert_string_equal(options.fields.items[0], "A:1");
    assert_string_equal(options.fields.items[1], "B:");
    assert_int_equal(options.data.count, 3);
    assert_string_equal(options.data.items[1], "@f");
    assert_string_equal(options.data.items[2], "b=c");
    assert_string_equal(options.credentials, "u:p");
    assert_string_equal(options.source, "127.0.0.5");
    assert_string_equal(options.resolve.items[0], "h:1:::1");
    assert_string_equal(options.proxy, "p");
    assert_string_equal(options.output, "f.json");
    assert_int_equal(options.urls.count, 2);
    assert_string_equal(options.urls.items[1], "h:1/b");
    rv_bench_options_free(&options);
    options = parsed("--json {} --json [] --unix-socket /s h");
    assert_int_equal(options.json.count, 2);
    assert_string_equal(options.unix_path, "/s");
    rv_bench_options_free(&options);
    options = parsed("--urls -");
    assert_string_equal(options.urls_file, "-");
    rv_bench_options_free(&options);
}

static void flags_are_set_by_either_name(void **state)
{
    (void)state;
    struct rv_bench_options options = parsed("-I --no-keepalive --http1.0 -q h");
    assert_true(options.head && options.no_keepalive && options.http_1_0 && options.quiet);
    rv_bench_options_free(&options);
    options = parsed("--head --quiet h");
    assert_true(options.head && options.quiet);
    assert_false(options.no_keepalive || options.http_1_0 || options.help);
    rv_bench_options_free(&options);
}

static void choices_are_named(void **state)
{
    (void)state;
    struct rv_bench_options options = parsed("-R 1 --arrivals poisson --format csv --cpus 0 h");
    assert_int_equal(options.arrivals, RV_ARRIVALS_POISSON);
    assert_int_equal(options.format, RV_REPORT_CSV);
    assert_int_equal(CPU_COUNT(&options.cpus), 1);
    assert_true(CPU_ISSET(0, &options.cpus));
    rv_bench_options_free(&options);
    options = parsed("-R 1 --arrivals even --cpus 0-0,0 h");
    assert_int_equal(options.arrivals, RV_ARRIVALS_EVEN);
    assert_int_equal(CPU_COUNT(&options.cpus), 1);
    rv_bench_options_free(&options);
}

static void help_asks_for_nothing_else(void **state)
{
    (void)state;
    struct rv_bench_options options = parsed("--help");
    assert_true(options.help);
    rv_bench_options_free(&options);
    options = parsed("-R 1 -c 1 -h --nonsense");
    assert_true(options.help);
    rv_bench_options_free(&options);
}

static void options_end_at_two_dashes(void **state)
{
    (void)state;
    struct rv_bench_options options = parsed("-c 1 -- -h");
    assert_false(options.help);
    assert_string_equal(options.urls.items[0], "-h");
    rv_bench_options_free(&options);
}

struct refused_case {
    const char *line, *says;
};

static void check_refused(const struct refused_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct rv_bench_options options;
        if (parse(cases[i].line, &options) != RV_EINVAL)
            fail_msg("\"%s\" was taken", cases[i].line);
        if (strstr(why, cases[i].says) == NULL)
            fail_msg("\"%s\": %s", cases[i].line, why);
        assert_null(strchr(why, '\n'));
        rv_bench_options_free(&options);
    }
}

static void a_value_that_is_none_is_refused_by_name(void **state)
{
    (void)state;
    static const struct refused_case cases[] = {
        {"-c 0 h", "-c takes a whole number from 1 to 1000000, not \"0\""},
        {"-c 1000001 h", "-c takes a whole number"},
        {"-c -1 h", "-c takes a whole number"},
        {"-c ten h", "not \"ten\""},
        {"-n 0 h", "-n takes a whole number from 1"},
        {"-n 99999999999999999999 h", "-n takes a whole number from 1"},
        {"--quota 0 h", "--quota takes a whole number from 1"},
        {"-t 0 h", "-t takes a time from 1us to 8760h"},
        {"-t 10x h", "not \"10x\""},
        {"-t 9000h h", "-t takes a time"},
        {"--think 1d h", "--think takes a time from 0"},
        {"--pipeline 0 h", "--pipeline takes a whole number from 1 to 1024"},
        {"--pipeline 1025 h", "--pipeline takes"},
        {"-R 0 h", "-R takes a rate above 0"},
        {"-R x h", "-R takes a rate above 0"},
        {"--connect-rate 0 h", "--connect-rate takes a rate above 0"},
        {"-R 1 --arrivals random h", "--arrivals takes even or poisson, not \"random\""},
        {"-R 1 --seed x h", "--seed takes a whole number from 0"},
        {"-R 1 --max-clients 0 h", "--max-clients takes a whole number from 1 to 1000000"},
        {"--requests-per-connection 0 h", "--requests-per-connection takes a whole number from 1"},
        {"--timeout x h", "--timeout takes a time from 0"},
        {"--connect-timeout 0 h", "--connect-timeout takes a time from 1us"},
        {"-u user h", "-u takes USER:PASS"},
        {"--threads 0 h", "--threads takes a whole number from 1 to 256"},
        {"--threads 257 h", "--threads takes a whole number from 1 to 256"},
        {"--cpus x h", "--cpus takes a list such as 0,2-3"},
        {"--cpus 0, h", "--cpus takes a list"},
        {"--cpus 1-0 h", "--cpus takes a list"},
        {"--cpus 99999 h", "--cpus takes a list"},
        {"--cpus 0-18446744073709551615 h", "--cpus takes a list"},
        {"--format xml h", "--format takes text, json, csv, ab or cherrypy, not \"xml\""},
        {"--output= h", "-o takes FILE, not \"\""},
    };
    check_refused(cases, COUNT(cases));
}

static void what_is_no_option_is_refused_by_name(void **state)
{
    (void)state;
    static const struct refused_case cases[] = {
        {"--nonsense h", "there is no option --nonsense"},
        {"-Z h", "there is no option -Z"},
        {"-qZ h", "there is no option -Z"},
        {"--no-keepalive=1 h", "there is no option --no-keepalive=1"},
        {"h -c", "-c needs a value: N"},
        {"h --time", "-t needs a value: TIME"},
        {"h --quota", "--quota needs a value: N"},
    };
    check_refused(cases, COUNT(cases));
}

static void what_does_not_go_together_is_refused_with_a_way_out(void **state)
{
    (void)state;
    static const struct refused_case cases[] = {
        {"", "a URL is needed"},
        {"--urls f h", "give one or the other"},
        {"-R 1 -c 1 h", "-R and -c exclude each other: a schedule waits for no client; limit"},
        {"-R 1 --quota 1 h", "-R and --quota exclude each other"},
        {"-R 1 --think 1 h", "-R and --think exclude each other"},
        {"-n 1 --quota 1 h", "-n and --quota exclude each other"},
        {"--pipeline 2 --no-keepalive h", "--pipeline and --no-keepalive exclude each other"},
        {"--pipeline 2 --http1.0 h", "--pipeline and --http1.0 exclude each other"},
        {"--pipeline 2 --think 1 h", "--pipeline and --think exclude each other"},
        {"--requests-per-connection 2 --no-keepalive h",
         "--requests-per-connection and --no-keepalive exclude each other"},
        {"-I -X GET h", "-I and -X exclude each other"},
        {"-I -d x h", "-I and -d exclude each other"},
        {"-I --json x h", "-I and --json exclude each other"},
        {"-d x --json x h", "-d and --json exclude each other"},
        {"--unix-socket /s -x p h", "--unix-socket and -x exclude each other"},
        {"--unix-socket /s --resolve h:80:::1 h", "--unix-socket and --resolve exclude each other"},
        {"--unix-socket /s --source ::1 h", "--unix-socket and --source exclude each other"},
        {"--arrivals poisson h", "--arrivals is of no use without -R"},
        {"--seed 5 h", "--seed is of no use without -R"},
        {"--max-clients 5 h", "--max-clients is of no use without -R"},
        {"--threads 51 h", "--threads 51 is more than there are clients: 50 at most"},
        {"--threads 3 -c 2 h", "--threads 3 is more than there are clients: 2 at most"},
        {"--threads 3 -R 1 --max-clients 2 h", "2 at most"},
    };
    check_refused(cases, COUNT(cases));
}

static void every_option_is_in_the_help(void **state)
{
    (void)state;
    struct memory_file memory;
    rv_bench_print_help(memory_file_open(&memory));
    char *text = memory_file_text(&memory);
    for (int i = 0; i < RV_BENCH_OPTION_COUNT; i++) {
        const char *name = rv_bench_option_name((enum rv_bench_option)i);
        assert_non_null(name);
        assert_non_null(strstr(text, name));
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_said_is_nothing_set),
        cmocka_unit_test(numbers_take_units),
        cmocka_unit_test(rates_are_per_second),
        cmocka_unit_test(words_are_kept_as_they_are),
        cmocka_unit_test(flags_are_set_by_either_name),
        cmocka_unit_test(choices_are_named),
        cmocka_unit_test(help_asks_for_nothing_else),
        cmocka_unit_test(options_end_at_two_dashes),
        cmocka_unit_test(a_value_that_is_none_is_refused_by_name),
        cmocka_unit_test(what_is_no_option_is_refused_by_name),
        cmocka_unit_test(what_does_not_go_together_is_refused_with_a_way_out),
        cmocka_unit_test(every_option_is_in_the_help),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
