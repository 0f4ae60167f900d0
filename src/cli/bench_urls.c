/*
 * Lists of URLs (bench_urls.h). A list in a file has one in a line; empty lines and those that
 * begin with "#" are passed over.
 */
#include "cli/bench_urls.h"

#include "cli/cli.h"
#include "cli/file.h"
#include "http/uri.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int rv_bench_no_memory(char *why)
{
    snprintf(why, RV_BENCH_WHY_MAX, "out of memory");
    return RV_EXIT_NO_START;
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* A line without blanks around it and without CR, terminated in its place. */
static const char *clean_line(char *line)
{
    line += strspn(line, " \t");
    size_t length = strlen(line);
    while (length > 0 && strchr(" \t\r", line[length - 1]) != NULL)
        length--;
    line[length] = '\0';
    return line;
}

static int split_lines(const char *path, struct rv_bench_urls *urls, char *why)
{
    char *rest = urls->file.ptr;
    while (rest != NULL) {
        const char *line = clean_line(strsep(&rest, "\n"));
        if (*line != '\0' && *line != '#' && rv_texts_add(&urls->texts, line) != 0)
            return rv_bench_no_memory(why);
    }
    if (urls->texts.count > 0)
        return 0;
    snprintf(why, RV_BENCH_WHY_MAX, "--urls: there is no URL in \"%.200s\"", path);
    return RV_EXIT_USAGE;
}

static int read_list(const char *path, struct rv_bench_urls *urls, char *why)
{
    rv_error error = rv_file_read(path, &urls->file, why);
    if (error == 0 && memchr(urls->file.ptr, '\0', urls->file.len) != NULL) {
        snprintf(why, RV_BENCH_WHY_MAX, "--urls: \"%.200s\" is no text", path);
        return RV_EXIT_USAGE;
    }
    if (error == 0)
        error = rv_buffer_append(&urls->file, rv_slice("", 1)); /* the terminator */
    if (error == RV_ENOMEM)
        return rv_bench_no_memory(why);
    return error != 0 ? RV_EXIT_NO_START : split_lines(path, urls, why);
}

/* ---- parsing --------------------------------------------------------------------------------- */

static bool same_origin(const struct rv_url *a, const struct rv_url *b)
{
    return rv_bytes_equal_nocase(a->host, b->host) && a->port == b->port && a->is_tls == b->is_tls;
}

static int parse_all(struct rv_bench_urls *urls, char *why)
{
    for (size_t i = 0; i < urls->texts.count; i++) {
        if (rv_url_parse(urls->texts.items[i], &urls->urls[i], why) != 0)
            return RV_EXIT_USAGE;
        if (same_origin(&urls->urls[0], &urls->urls[i]))
            continue;
        snprintf(why, RV_BENCH_WHY_MAX,
                 "\"%.200s\" has another scheme, host or port than \"%.200s\": all URLs of a run "
                 "must go to "
                 "one server",
                 urls->texts.items[i], urls->texts.items[0]);
        return RV_EXIT_USAGE;
    }
    return 0;
}

int rv_bench_urls_make(const struct rv_bench_options *options, struct rv_bench_urls *urls,
                       char *why)
{
    int code = 0;
    memset(urls, 0, sizeof *urls);
    if (options->urls_file != NULL)
        code = read_list(options->urls_file, urls, why);
    for (size_t i = 0; i < options->urls.count && code == 0; i++)
        if (rv_texts_add(&urls->texts, options->urls.items[i]) != 0)
            code = rv_bench_no_memory(why);
    if (code != 0)
        return code;
    urls->urls = calloc(urls->texts.count, sizeof *urls->urls);
    return urls->urls == NULL ? rv_bench_no_memory(why) : parse_all(urls, why);
}

void rv_bench_urls_free(struct rv_bench_urls *urls)
{
    free(urls->texts.items);
    free(urls->urls);
    rv_buffer_free(&urls->file);
    memset(urls, 0, sizeof *urls);
}

int rv_bench_url_credentials(const struct rv_url *url, char **credentials, char *why)
{
    *credentials = NULL;
    if (url->userinfo.ptr == NULL)
        return 0;
    char *text = malloc(url->userinfo.len + 2);
    if (text == NULL)
        return rv_bench_no_memory(why);
    size_t length = rv_percent_decode(url->userinfo, false, text);
    if (memchr(text, '\0', length) != NULL) {
        free(text);
        snprintf(why, RV_BENCH_WHY_MAX, "the user and password of a URL cannot have %%00 in them");
        return RV_EXIT_USAGE;
    }
    if (memchr(text, ':', length) == NULL)
        text[length++] = ':'; /* a user with an empty password */
    text[length] = '\0';
    *credentials = text;
    return 0;
}
