/*
 * Tables of text, in the form of CherryPy's benchmark: every column is as wide as its widest cell, cells
 * stand to the right and are joined by " | ", each line ends " |". And what stands in the cells of such a
 * report's row.
 */
#ifndef RV_REPORT_TABLE_H
#define RV_REPORT_TABLE_H

#include "load/result.h"

#include <stdio.h>

/* ---- any table ----------------------------------------------------------------------------------------- */

/* Cells row by row, the header's first. Begin with {.columns = n}. */
struct rv_table {
    size_t columns;
    char **cells; /* owned, and so is each of them */
    size_t count; /* a multiple of `columns` when it is written */
    bool out_of_memory;
};

/* Appends the next cell, UTF-8. A lack of memory is remembered until the table is written. */
void rv_table_cell(struct rv_table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* RV_ENOMEM: a cell is missing, and nothing has been written. RV_EIO: as ferror says. */
rv_error rv_table_write(const struct rv_table *table, FILE *file);

void rv_table_free(struct rv_table *table);

/* ---- a row of CherryPy's reports ------------------------------------------------------------------------- */

/* The figures as they are shown: rounded, so that an average is that of what one reads. NAN: there is
   none, as of a row without one good answer; it is shown as "-". */
struct rv_cherrypy_row {
    uint64_t completed; /* whole answers with a status of 200 to 399, of the length asked for */
    uint64_t failed;    /* all others that were begun and have ended */
    double requests_per_s;
    double ms_per_request; /* across all concurrent requests: 1000 / requests_per_s */
    double kib_per_s;      /* received, heads and all */
};

struct rv_cherrypy_row rv_cherrypy_row_of(const struct rv_load_result *result);

/* Rounds to what the columns show: 2, 3 and 2 places. */
void rv_cherrypy_round(struct rv_cherrypy_row *row);

/* "Completed" to "KB/sec"; the five cells of a row. */
#define RV_CHERRYPY_COLUMNS 5
void rv_cherrypy_header_cells(struct rv_table *table);
void rv_cherrypy_cells(struct rv_table *table, const struct rv_cherrypy_row *row);

/* "Average" and the five averages, each of the rows that have the figure. */
void rv_cherrypy_average_cells(struct rv_table *table, const struct rv_cherrypy_row *rows,
                               size_t count);

/* At most 12 significant digits, and always a decimal point: "1000.0", "410.226". */
#define RV_SHORT_FLOAT_MAX 352
void rv_short_float(double value, char text[RV_SHORT_FLOAT_MAX]);

#endif
