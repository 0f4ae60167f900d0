/*
 * A result in any of the forms (report.h).
 */
#include "report/report.h"

rv_error rv_report_write(const struct rv_load_result *result, enum rv_report_format format,
                         FILE *file)
{
    switch (format) {
    case RV_REPORT_TEXT:
        return rv_report_text(result, file);
    case RV_REPORT_JSON:
        return rv_report_json(result, file);
    case RV_REPORT_CSV:
        return rv_report_csv(result, file);
    case RV_REPORT_AB:
        return rv_report_ab(result, &(struct rv_ab_options){.keep_alive = !result->close_each},
                            file);
    case RV_REPORT_CHERRYPY:
        return rv_report_cherrypy(result, file);
    }
    return RV_EINVAL;
}
