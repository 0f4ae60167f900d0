/*
 * The live line of a run (progress.h). It is written over itself: back to its beginning, the new text,
 * and the rest erased.
 */
#include "cli/progress.h"

#include "report/figures.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ERASE_REST "\033[K" /* of the line, ECMA-48 */

void rv_progress_start(struct rv_progress *progress, FILE *file)
{
    const char *terminal = getenv("TERM");
    bool moves = terminal == NULL || strcmp(terminal, "dumb") != 0;
    progress->file = moves && isatty(fileno(file)) ? file : NULL;
    progress->line_stands = false;
    progress->label = NULL;
}

void rv_progress_text(const struct rv_load_progress *now, char text[RV_PROGRESS_MAX])
{
    char p99[RV_FIGURE_MAX];
    char so_far[RV_FIGURE_MAX + 8] = "";
    char left[40] = "";
    rv_write_us(now->p99_us, p99);
    if (now->p99_us > 0)
        snprintf(so_far, sizeof so_far, "  p99 %s", p99);
    if (now->left_us != UINT64_MAX)
        snprintf(left, sizeof left, "  %.1f s left", (double)now->left_us / 1e6);
    snprintf(text, RV_PROGRESS_MAX, "%.1f s  %.0f/s  %" PRIu64 " failed%s%s",
             (double)now->elapsed_us / 1e6, now->rate_per_s, now->failed, so_far, left);
}

void rv_progress_show(const struct rv_load_progress *now, void *ctx)
{
    struct rv_progress *progress = ctx;
    char text[RV_PROGRESS_MAX];
    if (progress->file == NULL)
        return;
    rv_progress_text(now, text);
    fprintf(progress->file, "\r%s%s%s" ERASE_REST, progress->label == NULL ? "" : progress->label,
            progress->label == NULL ? "" : "  ", text);
    fflush(progress->file);
    progress->line_stands = true;
}

void rv_progress_end(struct rv_progress *progress)
{
    if (!progress->line_stands)
        return;
    fputs("\r" ERASE_REST, progress->file);
    fflush(progress->file);
    progress->line_stands = false;
}
