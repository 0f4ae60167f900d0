/*
 * From the name of a form to the file that writes it.
 */
#include "report/report.h"

#include <string.h>

static const struct {
    const char *name;
    enum rv_report_format format;
} formats[] = {
    {"text", RV_REPORT_TEXT}, {"json", RV_REPORT_JSON},         {"csv", RV_REPORT_CSV},
    {"ab", RV_REPORT_AB},     {"cherrypy", RV_REPORT_CHERRYPY},
};

bool rv_report_format_parse(const char *text, enum rv_report_format *format)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (strcmp(text, formats[i].name) == 0) {
            *format = formats[i].format;
            return true;
        }
    }
    return false;
}
