/*
 * How long does one request head take? Parses three heads again and again, sixteen of a kind
 * behind each other as pipelining clients send them, and prints nanoseconds per head: the best
 * and the median of many short rounds, because a busy machine only ever adds. No sockets, no
 * server; what is measured is http/h1_parse.c and what it calls. CMake does not build it:
 *
 *   cc -std=gnu17 -O2 -D_GNU_SOURCE -Iinclude -Isrc -o build/parse bench/micro/parse.c \
 *      src/http/h1_parse.c src/http/h1_target.c src/http/h1_fields.c src/http/scan.c \
 *      src/http/method.c src/http/uri.c src/base/bytes.c && build/parse
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/buffer.h"
#include "http/h1_parse.h"

enum {
    PIPELINED = 16,
    HEAD_BYTES_MAX = 2048,
    FIELDS_MAX = 100,
    ROUNDS = 400,
    BATCHES_PER_ROUND = 200,
};

struct sample {
    const char *name;
    const char *head;
};

static const struct sample samples[] = {
    {"least: a path and Host", "GET /ok HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n"},
    {"ab -k: 1.0, four fields", "GET /hello HTTP/1.0\r\n"
                                "Connection: Keep-Alive\r\n"
                                "Host: 127.0.0.1:8910\r\n"
                                "User-Agent: ApacheBench/2.3\r\n"
                                "Accept: */*\r\n\r\n"},
    {"browser: twelve fields",
     "GET /static/app/main.css?v=20240611 HTTP/1.1\r\n"
     "Host: www.example.org\r\n"
     "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:115.0) Gecko/20100101 Firefox/115.0\r\n"
     "Accept: text/css,*/*;q=0.1\r\n"
     "Accept-Language: en-GB,en;q=0.7,de;q=0.3\r\n"
     "Accept-Encoding: gzip, deflate, br\r\n"
     "Referer: https://www.example.org/articles/2024/06/how-octets-travel\r\n"
     "Connection: keep-alive\r\n"
     "Cookie: session=3f1c6cb0a1e84d5f9f3e; theme=dark; consent=analytics%3Dno\r\n"
     "Sec-Fetch-Dest: style\r\n"
     "Sec-Fetch-Mode: no-cors\r\n"
     "Sec-Fetch-Site: same-origin\r\n"
     "If-Modified-Since: Tue, 11 Jun 2024 08:12:31 GMT\r\n\r\n"},
};

static double now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;
    return (left > right) - (left < right);
}

/* Parses all heads of one batch; false when one of them is refused. */
static bool parse_batch(const char *octets, size_t length, struct rv_h1_head *head)
{
    static const struct rv_h1_limits limits = {8192, 32768, FIELDS_MAX};
    const char *reason;

    while (length > 0) {
        if (rv_h1_parse_head(octets, length, &limits, head, &reason) != RV_H1_COMPLETE)
            return false;
        octets += head->length;
        length -= head->length;
    }
    return true;
}

static bool measure(const struct sample *sample)
{
    static char octets[PIPELINED * HEAD_BYTES_MAX + RV_SCAN_PADDING];
    static struct rv_field fields[FIELDS_MAX];
    static double rounds[ROUNDS];
    struct rv_h1_head head = {.fields = fields};
    size_t head_length = strlen(sample->head);

    for (size_t i = 0; i < PIPELINED; i++)
        memcpy(octets + i * head_length, sample->head, head_length);
    for (size_t round = 0; round < ROUNDS; round++) {
        double start = now_ns();
        for (size_t batch = 0; batch < BATCHES_PER_ROUND; batch++)
            if (!parse_batch(octets, PIPELINED * head_length, &head))
                return false;
        rounds[round] = (now_ns() - start) / (PIPELINED * BATCHES_PER_ROUND);
    }
    qsort(rounds, ROUNDS, sizeof(rounds[0]), compare);
    printf("%-26s %4zu octets  %2" PRIu32 " fields  best %6.1f ns  median %6.1f ns\n", sample->name,
           head_length, head.field_count, rounds[0], rounds[ROUNDS / 2]);
    return true;
}

int main(void)
{
    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++)
        if (!measure(&samples[i])) {
            fprintf(stderr, "the head \"%s\" was refused\n", samples[i].name);
            return 1;
        }
    return 0;
}
