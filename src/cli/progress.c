/* progress.c - a bar on the terminal: what, how much, how fast, how long still. */
#include "cli/progress.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/threads.h"
#include "cli/folded.h"
#include "cli/style.h"
#include "cli/tame.h"

#define FIRST_AFTER 1.0 /* seconds: shorter work needs no bar */
#define REDRAW_AFTER 0.1
#define BAR_CELLS 24
#define BAR_CELLS_NARROW 8
#define NARROW 70 /* columns below which the words matter more than the bar */

const char *fct_size_text(double bytes, char text[32]) {
    static const char *const units[] = {"B", "KB", "MB", "GB", "TB"};
    int unit = 0;
    for (; bytes >= 999.5 && unit < 4; unit++) bytes /= 1000;
    snprintf(text, 32, "%.*f %s", unit && bytes < 99.95 ? 1 : 0, bytes, units[unit]);
    return text;
}

const char *fct_duration_text(double seconds, char text[32]) {
    long whole = (long)(seconds + 0.5);
    if (seconds < 0.9995)
        snprintf(text, 32, "%.*f ms", seconds < 0.00995 ? 1 : 0, seconds * 1000);
    else if (seconds < 9.95)
        snprintf(text, 32, "%.1f s", seconds);
    else if (whole < 100)
        snprintf(text, 32, "%ld s", whole);
    else if (whole < 3600)
        snprintf(text, 32, "%ld:%02ld min", whole / 60, whole % 60);
    else
        snprintf(text, 32, "%ld:%02ld h", whole / 3600, whole / 60 % 60);
    return text;
}

void fct_progress_begin(struct fct_progress *progress, bool quiet, bool bytes) {
    const char *terminal = getenv("TERM");
    bool dumb = !terminal || strcmp(terminal, "dumb") == 0;
    *progress = (struct fct_progress){.bytes = bytes};
    progress->shown = !quiet && !dumb && isatty(STDERR_FILENO);
}

static void draw(const struct fct_progress *progress, const char *what, uint64_t done,
                 double seconds) {
    char line[256], shown[256], rate[48] = "", left[32], size[32], bar[BAR_CELLS + 1];
    int columns = fct_line_columns(STDERR_FILENO);
    int cells = columns < NARROW ? BAR_CELLS_NARROW : BAR_CELLS;
    double share = (double)done / (double)progress->total;
    double speed = (double)(done - progress->step_base) / seconds;
    int full = (int)(share * cells);
    memset(bar, '.', (size_t)cells);
    memset(bar, '#', (size_t)full);
    bar[cells] = '\0';
    if (progress->bytes) snprintf(rate, sizeof rate, "  %s/s", fct_size_text(speed, size));
    fct_duration_text(speed > 0 ? (double)(progress->total - done) / speed : 0, left);
    snprintf(line, sizeof line, "[%s] %3.0f %%%s  %s left  %s", bar, share * 100, rate,
             speed > 0 ? left : "?", what);
    /* A line as wide as the terminal would wrap and could not be taken off again. */
    fct_tame_copy(shown, columns < (int)sizeof shown ? (size_t)columns + 1 : sizeof shown, line);
    fprintf(stderr, "\r\033[K%s", shown);
    fflush(stderr);
}

void fct_progress_update(void *user, const char *what, uint64_t done, uint64_t total) {
    struct fct_progress *progress = user;
    double now = fct_seconds();
    if (!progress->shown || total == 0) return;
    if (done > total) done = total;
    if (total != progress->total || done < progress->step_base) {
        progress->total = total;
        progress->step_began = now;
        progress->step_base = done;
    }
    if (now - progress->step_began < FIRST_AFTER || now - progress->last_drawn < REDRAW_AFTER)
        return;
    draw(progress, what, done, now - progress->step_began);
    progress->last_drawn = now;
    progress->drawn = true;
}

void fct_progress_clear(struct fct_progress *progress) {
    if (progress->drawn) fprintf(stderr, "\r\033[K");
    progress->drawn = false;
}

void fct_progress_note(struct fct_progress *progress, FILE *out, const char *line) {
    char tame[1200];
    int columns = fct_line_columns(fileno(out));
    fct_tame_copy(tame, sizeof tame, line);
    fct_progress_clear(progress);
    if (columns == INT_MAX)
        fprintf(out, "%s\n", tame);
    else
        fct_folded_print(out, tame, 2, 0, columns);
}
