/*
 * Figures that follow from a result and that several reports need, and how they are written. Each is a
 * function of what was measured; where it was not measured the function says so.
 */
#ifndef RV_REPORT_FIGURES_H
#define RV_REPORT_FIGURES_H

#include "load/result.h"

#define RV_FIGURE_MAX 32 /* the longest written figure, with terminator */

/* "0 us", "812 us", "1.23 ms", "312 ms", "4.02 s", "75.3 s": three digits. */
void rv_write_us(uint64_t us, char text[RV_FIGURE_MAX]);

/* "2 B", "14.3 kB", "1.20 GB": powers of 1000. */
void rv_write_octets(double octets, char text[RV_FIGURE_MAX]);

/* "0.037", "3.14", "61240": at least three digits of what there is, and no more behind the point. */
void rv_write_number(double number, char text[RV_FIGURE_MAX]);

/* "0.74 %", "100 %". 0 when the whole is. */
void rv_write_share(double part, double whole, char text[RV_FIGURE_MAX]);

/* "TCP" listeners: what the kernel counted in the time of the run; 0 when it does not count that. */
uint64_t rv_counted(const struct rv_load_result *result, enum rv_kernel_counter counter);

/* Answers a second; 0 for a run of no time. */
double rv_answers_per_s(const struct rv_load_result *result);

/* CPUs that the server's processes kept busy, on average; < 0: not known. */
double rv_server_cpus(const struct rv_load_result *result);

/* The share of the time that the busiest load thread was on a CPU, 0 to 1; < 0: not known. */
double rv_client_busiest(const struct rv_load_result *result);

/* Requests that were under way at one time, on average, from when a client took them up. */
double rv_in_flight(const struct rv_load_result *result);

/* May this percentile of `count` values be shown? The upper ones need a hundred values above them, or they
   are a matter of chance: their 95 % interval is then about 20 % wide (of an exponential distribution). */
bool rv_percentile_is_founded(uint64_t count, double percent);

#endif
