/*
 * Tables in the form of CherryPy's benchmark (table.h), and its row for a single result.
 */
#include "report/report.h"
#include "report/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- any table ----------------------------------------------------------------------------------------- */

void rv_table_cell(struct rv_table *table, const char *format, ...)
{
    char *text = NULL;
    char **cells = realloc(table->cells, (table->count + 1) * sizeof *cells);
    if (cells != NULL)
        table->cells = cells;
    va_list arguments;
    va_start(arguments, format);
    int length = cells == NULL ? -1 : vasprintf(&text, format, arguments);
    va_end(arguments);
    if (length < 0) {
        table->out_of_memory = true;
        return;
    }
    table->cells[table->count++] = text;
}

/* Characters, not octets: those that continue one in UTF-8 take no room. */
static size_t width_of(const char *text)
{
    size_t width = 0;
    for (; *text != '\0'; text++)
        width += (*text & 0xc0) != 0x80;
    return width;
}

static size_t column_width(const struct rv_table *table, size_t column)
{
    size_t widest = 0;
    for (size_t i = column; i < table->count; i += table->columns) {
        size_t width = width_of(table->cells[i]);
        widest = width > widest ? width : widest;
    }
    return widest;
}

rv_error rv_table_write(const struct rv_table *table, FILE *file)
{
    size_t *widths = calloc(table->columns, sizeof *widths);
    if (widths == NULL || table->out_of_memory) {
        free(widths);
        return RV_ENOMEM;
    }
    for (size_t column = 0; column < table->columns; column++)
        widths[column] = column_width(table, column);
    for (size_t i = 0; i < table->count; i++) {
        size_t column = i % table->columns;
        int blanks = (int)(widths[column] - width_of(table->cells[i]));
        fprintf(file, "%s%*s%s", column == 0 ? "" : " | ", blanks, "", table->cells[i]);
        if (column + 1 == table->columns)
            fputs(" |\n", file);
    }
    free(widths);
    return ferror(file) ? RV_EIO : 0;
}

void rv_table_free(struct rv_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        free(table->cells[i]);
    free(table->cells);
    *table = (struct rv_table){.columns = table->columns};
}

/* ---- a row of CherryPy's reports ------------------------------------------------------------------------- */

void rv_cherrypy_round(struct rv_cherrypy_row *row)
{
    row->requests_per_s = round(row->requests_per_s * 100) / 100;
    row->ms_per_request = round(row->ms_per_request * 1000) / 1000;
    row->kib_per_s = round(row->kib_per_s * 100) / 100;
}

struct rv_cherrypy_row rv_cherrypy_row_of(const struct rv_load_result *result)
{
    uint64_t good = rv_load_answered_between(result, 200, 399);
    double elapsed_s = (double)result->elapsed_us / 1e6;
    struct rv_cherrypy_row row = {
        .completed = good,
        .failed = result->failed + (result->answered - good),
        .requests_per_s = NAN,
        .ms_per_request = NAN,
        .kib_per_s = NAN,
    };
    if (result->elapsed_us > 0) {
        row.requests_per_s = (double)good / elapsed_s;
        row.kib_per_s = (double)result->received_octets / 1024 / elapsed_s;
    }
    if (good > 0)
        row.ms_per_request = elapsed_s * 1000 / (double)good;
    rv_cherrypy_round(&row);
    return row;
}

void rv_cherrypy_header_cells(struct rv_table *table)
{
    static const char *const titles[RV_CHERRYPY_COLUMNS] = {"Completed", "Failed", "req/sec",
                                                            "msec/req", "KB/sec"};
    for (size_t i = 0; i < RV_CHERRYPY_COLUMNS; i++)
        rv_table_cell(table, "%s", titles[i]);
}

static void number_cell(struct rv_table *table, double value, int places)
{
    if (isfinite(value))
        rv_table_cell(table, "%.*f", places, value);
    else
        rv_table_cell(table, "-");
}

void rv_cherrypy_cells(struct rv_table *table, const struct rv_cherrypy_row *row)
{
    rv_table_cell(table, "%" PRIu64, row->completed);
    rv_table_cell(table, "%" PRIu64, row->failed);
    number_cell(table, row->requests_per_s, 2);
    number_cell(table, row->ms_per_request, 3);
    number_cell(table, row->kib_per_s, 2);
}

/* ---- averages -------------------------------------------------------------------------------------------- */

void rv_short_float(double value, char text[RV_SHORT_FLOAT_MAX])
{
    /* From 10^12 on, %g would turn to an exponent. */
    if (fabs(value) >= 1e12) {
        snprintf(text, RV_SHORT_FLOAT_MAX, "%.1f", value);
        return;
    }
    snprintf(text, RV_SHORT_FLOAT_MAX, "%.12g", value);
    if (strchr(text, 'e') != NULL)
        snprintf(text, RV_SHORT_FLOAT_MAX, "%.15f", value);
    else if (strchr(text, '.') == NULL)
        strcat(text, ".0");
}

struct average {
    double sum;
    size_t count;
};

static void take_in(struct average *average, double value)
{
    if (!isfinite(value))
        return;
    average->sum += value;
    average->count++;
}

void rv_cherrypy_average_cells(struct rv_table *table, const struct rv_cherrypy_row *rows,
                               size_t count)
{
    struct average averages[RV_CHERRYPY_COLUMNS] = {0};
    for (size_t i = 0; i < count; i++) {
        take_in(&averages[0], (double)rows[i].completed);
        take_in(&averages[1], (double)rows[i].failed);
        take_in(&averages[2], rows[i].requests_per_s);
        take_in(&averages[3], rows[i].ms_per_request);
        take_in(&averages[4], rows[i].kib_per_s);
    }
    rv_table_cell(table, "Average");
    for (size_t i = 0; i < RV_CHERRYPY_COLUMNS; i++) {
        char text[RV_SHORT_FLOAT_MAX] = "-";
        if (averages[i].count > 0)
            rv_short_float(averages[i].sum / (double)averages[i].count, text);
        rv_table_cell(table, "%s", text);
    }
}

/* ---- one result ------------------------------------------------------------------------------------------- */

rv_error rv_report_cherrypy(const struct rv_load_result *result, FILE *file)
{
    struct rv_cherrypy_row row = rv_cherrypy_row_of(result);
    struct rv_table table = {.columns = 1 + RV_CHERRYPY_COLUMNS};
    rv_table_cell(&table, "threads");
    rv_cherrypy_header_cells(&table);
    rv_table_cell(&table, "%" PRIu32, result->clients);
    rv_cherrypy_cells(&table, &row);
    rv_error error = rv_table_write(&table, file);
    rv_table_free(&table);
    return error;
}
