/* cooling.c - looks at the temperature once a second until it is low, or no longer falls. */
#include "cli/cooling.h"

#include <stdio.h>
#include <time.h>

#include "base/threads.h"
#include "cli/progress.h"
#include "cli/sensors.h"

bool fct_cooling_done(struct fct_cooling *cooling, double celsius, double seconds) {
    if (!(celsius > FCT_COOL_CELSIUS)) return true;
    if (!cooling->begun || celsius <= cooling->celsius - 1)
        *cooling = (struct fct_cooling){true, celsius, seconds};
    return seconds - cooling->since >= FCT_COOLING_SECONDS;
}

void fct_cool_down(const char *root, double limit, bool quiet, struct fct_cooled *out) {
    struct fct_cooling cooling = {0};
    struct fct_progress progress;
    struct fct_sensors now;
    double began = fct_seconds();
    *out = (struct fct_cooled){0};
    fct_progress_begin(&progress, quiet, false);
    for (;;) {
        char what[64];
        fct_sensors_read(root, &now);
        out->celsius = now.celsius;
        out->done = fct_cooling_done(&cooling, now.celsius, out->seconds);
        if (out->done || out->seconds >= limit) break;
        snprintf(what, sizeof what, "at most, cooling down: %.0f °C, %.0f °C is cool enough",
                 now.celsius, FCT_COOL_CELSIUS);
        fct_progress_update(&progress, what, (uint64_t)out->seconds, (uint64_t)limit);
        nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
        out->seconds = fct_seconds() - began;
    }
    fct_progress_clear(&progress);
}
