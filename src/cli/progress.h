/* progress.h - a bar on the terminal for work that takes longer than a second. */
#ifndef FCT_CLI_PROGRESS_H
#define FCT_CLI_PROGRESS_H

#include <stdio.h>

#include "facet.h"

struct fct_progress {
    bool shown;     /* is there a terminal to draw on? */
    bool bytes;     /* done and total count bytes */
    bool drawn;     /* a bar stands on the current line */
    uint64_t total; /* of the step it belongs to */
    double step_began, last_drawn;
    uint64_t step_base; /* done when the step began */
};
void fct_progress_begin(struct fct_progress *progress, bool quiet, bool bytes);

/* An fct_progress_fn; user is the struct fct_progress. A new total begins a new step; within one,
 * `what` may change. */
void fct_progress_update(void *user, const char *what, uint64_t done, uint64_t total);

/* Takes the bar off, before something else is printed or at the end. */
void fct_progress_clear(struct fct_progress *progress);

/* Takes the bar off and prints a line, which may come from a file, with a hanging indent where a
 * terminal is narrower. */
void fct_progress_note(struct fct_progress *progress, FILE *out, const char *line);

/* "2.6 GB", "41 s", "1:07 min" */
const char *fct_size_text(double bytes, char text[32]);
const char *fct_duration_text(double seconds, char text[32]);

#endif
