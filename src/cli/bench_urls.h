/*
 * The URLs of a bench: from the command line or a file, taken apart, and all of one origin, since a
 * client has one connection.
 */
#ifndef RV_CLI_BENCH_URLS_H
#define RV_CLI_BENCH_URLS_H

#include "base/buffer.h"
#include "cli/bench_options.h"

struct rv_bench_urls {
    struct rv_texts texts; /* as they were given */
    struct rv_url *urls;   /* owned; one for each text */
    struct rv_buffer file; /* that the texts may point into */
};

/* 0, or an exit code with `why` (RV_BENCH_WHY_MAX octets). To be freed whatever comes. */
int rv_bench_urls_make(const struct rv_bench_options *options, struct rv_bench_urls *urls,
                       char *why);
void rv_bench_urls_free(struct rv_bench_urls *urls);

/* RV_EXIT_NO_START, and `why` says that memory is short. */
int rv_bench_no_memory(char *why);

/* "user:password" of a URL's userinfo, decoded, into `*credentials`, which the caller frees;
   NULL when the URL has none. 0 or an exit code with `why`. */
int rv_bench_url_credentials(const struct rv_url *url, char **credentials, char *why);

#endif
