/*
 * Histograms as text: HdrHistogram's V2 compressed form in base64 ("HISTFAAA…"), which its tools in all
 * languages read.
 */
#ifndef RV_REPORT_HIST_WIRE_H
#define RV_REPORT_HIST_WIRE_H

#include "base/hist.h"

/* A string that the caller frees; NULL: no memory. */
char *rv_hist_encode(const struct rv_hist *hist);

/* Into an uninitialised histogram, which the caller frees when 0 is returned. Count and places are as they
   were; min and max as exactly as places tell; sum and squares are computed from them. RV_EINVAL with a
   static sentence for anything that is no such text, whatever it is; RV_ENOMEM. */
rv_error rv_hist_decode(const char *text, struct rv_hist *hist, const char **reason);

#endif
