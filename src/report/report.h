/*
 * Results as text, tables and files. Everything here is a function of a result (load/result.h): nothing
 * is measured, no socket is touched. One file for each form.
 */
#ifndef RV_REPORT_REPORT_H
#define RV_REPORT_REPORT_H

#include "load/result.h"

#include <jansson.h>
#include <stdio.h>

#define RV_REPORT_WHY_MAX 512

enum rv_report_format {
    RV_REPORT_TEXT,     /* for people: verdict, rate, causes, times, why (text.c) */
    RV_REPORT_JSON,     /* all there is, to be read back (json_*.c); docs/result.schema.json */
    RV_REPORT_CSV,      /* the series, a line for each period (csv.c) */
    RV_REPORT_AB,       /* ApacheBench's report (ab.c) */
    RV_REPORT_CHERRYPY, /* one row of CherryPy's table, with its header (table.c) */
};

/* "text", "json", "csv", "ab", "cherrypy". False: it is none of them. */
bool rv_report_format_parse(const char *text, enum rv_report_format *format);

/* RV_ENOMEM or RV_EIO (the file could not be written, as ferror says). */
rv_error rv_report_write(const struct rv_load_result *result, enum rv_report_format format,
                         FILE *file);

/* ---- text.c, csv.c --------------------------------------------------------------------------------- */

rv_error rv_report_text(const struct rv_load_result *result, FILE *file);
rv_error rv_report_csv(const struct rv_load_result *result, FILE *file);

/* ---- table.c ---------------------------------------------------------------------------------------- */

rv_error rv_report_cherrypy(const struct rv_load_result *result, FILE *file);

/* ---- json_write.c, json_read.c, json_file.c --------------------------------------------------------- */

/* The version of the form that is written; older ones are read, too. */
#define RV_RESULT_VERSION 1

/* The result as a JSON object; NULL: no memory. */
json_t *rv_result_to_json(const struct rv_load_result *result);

/* Reads an object back into an uninitialised result, which the caller frees when 0 is returned. RV_EINVAL
   with a sentence in `why` (RV_REPORT_WHY_MAX octets) that names the member that is missing or wrong. */
rv_error rv_result_from_json(const json_t *object, struct rv_load_result *result, char *why);

/* The JSON text of it, as a file has it. */
rv_error rv_report_json(const struct rv_load_result *result, FILE *file);

/* The document in a file, which the caller frees; "-" is stdin. RV_EIO, and `why` says what the system
   said; RV_EINVAL: it is no JSON; RV_ENOMEM. */
rv_error rv_json_load(const char *path, json_t **object, char *why);

/* rv_result_from_json, and `why` names the file that the object is from. */
rv_error rv_result_of(const json_t *object, const char *path, struct rv_load_result *result,
                      char *why);

/* Into a file; "-" is stdout. RV_EIO, too, and `why` says what the system said. */
rv_error rv_result_save(const char *path, const struct rv_load_result *result, char *why);

/* ---- ab.c ------------------------------------------------------------------------------------------------ */

/* What ab's options say about its report, beyond the result itself. */
struct rv_ab_options {
    bool no_percentiles;                           /* -d */
    bool no_statistics;                            /* -S */
    bool variable_length;                          /* -l */
    bool keep_alive;                               /* -k */
    bool html;                                     /* -w */
    const char *html_table, *html_row, *html_cell; /* attributes: -x -y -z; NULL: none */
};

/* What ab prints once it is done: from "Server Software:" on. */
rv_error rv_report_ab(const struct rv_load_result *result, const struct rv_ab_options *options,
                      FILE *file);

/* -e: "Percentage served,Time in ms". -g: one line for each sample, by total time. */
rv_error rv_report_ab_csv(const struct rv_load_result *result, FILE *file);
rv_error rv_report_ab_gnuplot(const struct rv_load_result *result, FILE *file);

#endif
