/* machine_watch.h - a thread that looks at the machine while something is measured: is it slowed
 * down, how warm, what does it draw? */
#ifndef FCT_CLI_MACHINE_WATCH_H
#define FCT_CLI_MACHINE_WATCH_H

#include "cli/energy.h"
#include "cli/power_meter.h"
#include "cli/sensors.h"

/* What was seen; {0} before the first look. */
struct fct_watched {
    int n_looks;
    struct fct_sensors first, last;
    double max_celsius;  /* NAN: unknown */
    double min_clock_hz; /* of the fastest CPU, while something was measured; NAN: unknown */
    bool throttle_known;
    unsigned slowed;       /* FCT_SLOWED bits that were set, or whose memory since boot was set */
    long long n_throttled; /* events that an x86 CPU counted meanwhile; -1: it does not count */
};
void fct_watched_take(struct fct_watched *watched, const struct fct_sensors *now, bool measuring);

typedef struct fct_watch fct_watch;
/* meter may be NULL; it must outlive the watch. */
fct_watch *fct_watch_new(const char *root, fct_power_meter *meter, fct_error *err);
void fct_watch_free(fct_watch *watch); /* ends the thread */

/* From here to the end something is measured. A sample is taken at both ends. */
fct_status fct_watch_begin(fct_watch *watch, fct_error *err);
fct_status fct_watch_end(fct_watch *watch, fct_error *err);

/* A counter is read in the middle of it as well, so that what comes before is told from what comes
 * behind; of watts at one moment nothing could be told. It never waits. */
void fct_watch_split(fct_watch *watch);

/* Between two looks: looking takes time of the CPUs, too. */
#define FCT_WATCH_SECONDS 1.0

/* What was seen so far. Samples belong to the watch, and are looked at between an end and the next
 * begin, or after stopping. */
struct fct_watched fct_watch_seen(fct_watch *watch);
void fct_watch_stop(fct_watch *watch);
const struct fct_energy_samples *fct_watch_samples(const fct_watch *watch);

#endif
