/*
 * Options and limits: defaults, ranges, and what the machine allows. Everything that is out of range is
 * recorded with its name, so that the start can refuse it in a sentence.
 */
#include "http/h1_write.h"
#include "server/server.h"

#include <dirent.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>

#define HEAD_BYTES_MAX (16 * 1024 * 1024)
#define HEAD_BYTES_MIN 128
#define HEAD_FIELDS_MAX 4096
#define BACKLOG_DEFAULT 4096
#define BACKLOG_MAX 65535
#define POOL_THREADS_DEFAULT 8
#define POOL_THREADS_MAX 1024
#define STOP_GRACE_MS_DEFAULT 5000
#define DESCRIPTORS_RESERVED 32 /* for files, logs and whatever the program opens */

static unsigned cpu_count(void)
{
    cpu_set_t cpus;
    int count = sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? CPU_COUNT(&cpus) : 1;
    return count < 1 ? 1 : count > RV_WORKERS_MAX ? RV_WORKERS_MAX : (unsigned)count;
}

static void fill_in_limits(rv_limits *limits)
{
#define RV_LIMIT_DEFAULT(name, value)                                                              \
    if (limits->name == 0)                                                                         \
        limits->name = (value);
    RV_LIMITS(RV_LIMIT_DEFAULT)
#undef RV_LIMIT_DEFAULT
    /* Places in a head are 32-bit numbers and its fields have a fixed room: "off" means the most. */
    if (limits->head_bytes_max == RV_NO_LIMIT)
        limits->head_bytes_max = HEAD_BYTES_MAX;
    if (limits->target_bytes_max == RV_NO_LIMIT)
        limits->target_bytes_max = HEAD_BYTES_MAX;
    if (limits->head_fields_max == RV_NO_LIMIT)
        limits->head_fields_max = HEAD_FIELDS_MAX;
}

static void check(rv_server *server, bool good, const char *name, const char *range)
{
    if (!good)
        rv_server_misconfigured(server, RV_EINVAL, "option %s must be %s", name, range);
}

static void check_ranges(rv_server *server)
{
    const rv_server_options *options = &server->options;
    const rv_limits *limits = &options->limits;
    check(server, options->workers <= RV_WORKERS_MAX, "workers", "at most 255");
    check(server, options->backlog <= BACKLOG_MAX, "backlog", "at most 65535");
    check(server, options->pool_threads <= POOL_THREADS_MAX, "pool_threads", "at most 1024");
    check(server, options->stop_port <= 65535, "stop_port", "at most 65535");
    check(server,
          rv_field_value_is_valid(rv_str(options->server_name)) &&
              strlen(options->server_name) <= RV_SERVER_NAME_MAX,
          "server_name", "a field value of at most 64 octets");
    check(server,
          limits->head_bytes_max >= HEAD_BYTES_MIN && limits->head_bytes_max <= HEAD_BYTES_MAX,
          "limits.head_bytes_max", "from 128 to 16777216");
    check(server, limits->target_bytes_max <= HEAD_BYTES_MAX, "limits.target_bytes_max",
          "at most 16777216");
    check(server, limits->head_fields_max <= HEAD_FIELDS_MAX, "limits.head_fields_max",
          "at most 4096");
    check(server, limits->h2_streams_max <= INT32_MAX, "limits.h2_streams_max",
          "at most 2147483647");
    check(server, limits->h2_stream_window_bytes <= INT32_MAX, "limits.h2_stream_window_bytes",
          "at most 2147483647");
    check(server,
          limits->h2_connection_window_bytes >= 65535 &&
              limits->h2_connection_window_bytes <= INT32_MAX,
          "limits.h2_connection_window_bytes", "from 65535 to 2147483647");
    check(server, limits->output_low_bytes <= limits->output_high_bytes, "limits.output_low_bytes",
          "at most limits.output_high_bytes");
}

static void copy_defaults(rv_server *server)
{
    const char *fault = rv_default_fields_copy(&server->defaults, server->options.default_headers);
    server->options.default_headers = NULL; /* the caller's memory: it has been copied */
    if (fault != NULL)
        rv_server_misconfigured(server, RV_EINVAL, "option default_headers: %s", fault);
}

void rv_server_set_options(rv_server *server, const rv_server_options *options)
{
    if (options != NULL)
        server->options = *options;
    const char *name = server->options.server_name;
    server->options.server_name = strdup(name == NULL ? "rivulet" : name);
    if (server->options.server_name == NULL) {
        rv_server_misconfigured(server, RV_ENOMEM, "out of memory");
        return;
    }
    fill_in_limits(&server->options.limits);
    check_ranges(server);
    copy_defaults(server);
    if (server->options.workers == 0)
        server->options.workers = cpu_count();
    if (server->options.backlog == 0)
        server->options.backlog = BACKLOG_DEFAULT;
    if (server->options.pool_threads == 0)
        server->options.pool_threads = POOL_THREADS_DEFAULT;
    if (server->options.stop_grace_ms == 0)
        server->options.stop_grace_ms = STOP_GRACE_MS_DEFAULT;
}

static uint64_t open_descriptors(void)
{
    uint64_t count = 0;
    DIR *directory = opendir("/proc/self/fd");
    if (directory == NULL)
        return 64;
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count;
}

uint64_t rv_server_connections_max(const rv_server *server)
{
    uint64_t wanted = server->options.limits.connections_max;
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        return wanted == 0 ? 1024 : wanted;
    uint64_t used = open_descriptors() + DESCRIPTORS_RESERVED;
    uint64_t possible = files.rlim_cur > used ? files.rlim_cur - used : 1;
    return wanted == 0 || wanted > possible ? possible : wanted;
}
