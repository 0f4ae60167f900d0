/*
 * Any octets as a saved result, and every report of what is read. An input that begins with an octet below
 * 128 is a file as it stands. Any other one is a list of changes to the file of a run: each takes eleven
 * octets, two that choose a member, one that chooses what becomes of it, and eight for its value. So
 * changes get past the reader, and reports see numbers that no run has.
 *
 * What has been read must be written and read again as the same; nothing that a report does may depend on
 * numbers making sense.
 */
#include <stdint.h>
#include <stdlib.h>

#include "fuzz/support/require.h"
#include "report/report.h"

#include <errno.h>
#include <string.h>

enum { OCTETS_MAX = 1 << 17, CHANGE_OCTETS = 11, MEMBERS_MAX = 2048 };

/* ---- the file of a run ----------------------------------------------------------------------------- */

/* Small ones: each place between the smallest and the largest is walked over again and again. */
static void fill_times(struct rv_load_result *result)
{
    for (uint64_t i = 1; i <= 200; i++) {
        rv_hist_record(&result->connect, i % 7);
        rv_hist_record(&result->opening, i);
        rv_hist_record(&result->wait, 2 * i);
        rv_hist_record(&result->transfer, i / 10);
        rv_hist_record(&result->service, 2 * i + i / 10);
        rv_hist_record(&result->total[i % 6], 3 * i + i / 10);
        rv_hist_record(&result->lateness, i % 3);
    }
    rv_hist_record(&result->failing, 3000000);
    rv_hist_record(&result->unfinished, 1000);
}

static void fill_counts(struct rv_load_result *result)
{
    result->port = 8080;
    result->clients = 10;
    result->threads = 2;
    result->requests_max = result->due = result->started = 202;
    result->elapsed_us = 2500000;
    result->answered = 200;
    result->failed = result->in_flight = 1;
    result->failures[RV_FAILURE_WAIT_RESET] = 1;
    result->errnos[0] = (struct rv_load_errno){RV_FAILURE_WAIT_RESET, ECONNRESET, 1};
    result->errno_count = 1;
    result->statuses[200] = 199;
    result->statuses[503] = 1;
    result->connects = result->connects_tried = result->open_peak = 10;
    result->sent_octets = result->received_octets = 20000;
    result->content_octets = 200;
    result->period_s = 1;
    result->series_count = 3;
    result->sample_count = 2;
    result->evidence.has_counters = true;
    result->evidence.thread_count = 2;
    result->evidence.server.found = result->evidence.server.pid_known = true;
}

static const json_t *a_result(void)
{
    static json_t *object;
    static struct rv_load_result result;
    if (object != NULL)
        return object;
    REQUIRE(rv_load_result_init(&result) == 0);
    result.command = strdup("rivulet bench http://127.0.0.1:8080/ok");
    result.url = strdup("http://127.0.0.1:8080/ok");
    result.host = strdup("127.0.0.1");
    result.document = strdup("/ok");
    result.series = calloc(3, sizeof *result.series);
    result.samples = calloc(2, sizeof *result.samples);
    fill_times(&result);
    fill_counts(&result);
    object = rv_result_to_json(&result);
    REQUIRE(object != NULL);
    rv_load_result_free(&result);
    return object;
}

/* ---- changes ---------------------------------------------------------------------------------------- */

struct member {
    json_t *holder; /* an object with `name`, or an array with `index` */
    const char *name;
    size_t index;
};

static void collect(json_t *holder, struct member *members, size_t *count)
{
    const char *name;
    size_t index;
    json_t *value;
    if (json_is_object(holder)) {
        json_object_foreach(holder, name, value)
        {
            if (strcmp(name, "hdr") == 0 || strcmp(name, "all") == 0)
                continue; /* another target's, and one that nobody reads */
            REQUIRE(*count < MEMBERS_MAX);
            members[(*count)++] = (struct member){holder, name, 0};
            collect(value, members, count);
        }
    } else if (json_is_array(holder)) {
        json_array_foreach(holder, index, value)
        {
            REQUIRE(*count < MEMBERS_MAX);
            members[(*count)++] = (struct member){holder, NULL, index};
            collect(value, members, count);
        }
    }
}

static json_t *any_value(const uint8_t octets[9])
{
    switch (octets[0] % 8) {
    case 0:
        return json_integer(-1 - octets[1]);
    case 1:
        return json_boolean(octets[1] % 2);
    case 2:
        return json_string("something");
    case 3:
        return json_object();
    case 4:
        return json_array();
    }
    return json_null();
}

/* Mostly one of the type that was there: others are refused, and that is soon tried. */
static json_t *value_like(const json_t *before, const uint8_t octets[9])
{
    uint64_t number;
    char text[8];
    memcpy(&number, octets + 1, sizeof number);
    memcpy(text, octets + 1, sizeof text);
    for (size_t i = 0; i < sizeof text; i++)
        text[i] &= 0x7f;
    if (octets[0] >= 240)
        return any_value(octets);
    if (json_is_integer(before)) /* of any size */
        return json_integer((json_int_t)(number >> 1 >> octets[0] % 64));
    if (json_is_real(before))
        return json_real((double)number / (double)(UINT64_C(1) << octets[0] % 64));
    if (json_is_boolean(before))
        return json_boolean(number & 1);
    if (json_is_string(before))
        return json_stringn(text, strnlen(text, sizeof text));
    return octets[0] % 2 == 0 ? json_integer((json_int_t)(number >> 1)) : json_null();
}

static void change(json_t *object, const uint8_t *octets)
{
    static struct member members[MEMBERS_MAX];
    size_t count = 0;
    collect(object, members, &count);
    if (count == 0)
        return;
    const struct member *member = &members[((unsigned)octets[0] << 8 | octets[1]) % count];
    if (member->name != NULL) {
        char *name = strdup(member->name);
        json_t *before = json_object_get(member->holder, name);
        json_object_set_new(member->holder, name, value_like(before, octets + 2));
        free(name);
    } else {
        json_t *before = json_array_get(member->holder, member->index);
        json_array_set_new(member->holder, member->index, value_like(before, octets + 2));
    }
}

static json_t *changed(const uint8_t *octets, size_t length)
{
    json_t *object = json_deep_copy(a_result());
    for (size_t at = 0; at + CHANGE_OCTETS <= length; at += CHANGE_OCTETS)
        change(object, octets + at);
    return object;
}

/* ---- what is done with it --------------------------------------------------------------------------- */

static void render(const struct rv_load_result *result)
{
    static FILE *nowhere;
    if (nowhere == NULL)
        nowhere = fopen("/dev/null", "w");
    for (enum rv_report_format format = RV_REPORT_TEXT; format <= RV_REPORT_CHERRYPY; format++)
        REQUIRE(rv_report_write(result, format, nowhere) == 0);
    struct rv_ab_options html = {.html = true};
    REQUIRE(rv_report_ab(result, &html, nowhere) == 0);
    REQUIRE(rv_report_ab_csv(result, nowhere) == 0);
    REQUIRE(rv_report_ab_gnuplot(result, nowhere) == 0);
}

static void read_object(const json_t *object)
{
    static struct rv_load_result result, again;
    static char why[RV_REPORT_WHY_MAX];
    why[0] = '\0';
    if (rv_result_from_json(object, &result, why) != 0) {
        REQUIRE(why[0] != '\0' && memchr(why, '\0', sizeof why) != NULL);
        return;
    }
    render(&result);
    json_t *written = rv_result_to_json(&result);
    REQUIRE(written != NULL);
    REQUIRE(rv_result_from_json(written, &again, why) == 0);
    json_t *twice = rv_result_to_json(&again);
    REQUIRE(json_equal(written, twice));
    json_decref(written);
    json_decref(twice);
    rv_load_result_free(&result);
    rv_load_result_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || size > OCTETS_MAX)
        return 0;
    json_t *object = data[0] < 128
                         ? json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL)
                         : changed(data + 1, size - 1);
    if (object != NULL)
        read_object(object);
    json_decref(object);
    return 0;
}
