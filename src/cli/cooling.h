/* cooling.h - waits for a warm machine to cool down, but not for ever. */
#ifndef FCT_CLI_COOLING_H
#define FCT_CLI_COOLING_H

#include "facet.h"

/* Cool enough is FCT_COOL_CELSIUS, or what the machine does not get below: not a degree less in
 * FCT_COOLING_SECONDS. */
#define FCT_COOL_CELSIUS 60.0
#define FCT_COOLING_SECONDS 20.0

/* How it cools; {0} at first. */
struct fct_cooling {
    bool begun;
    double celsius, since; /* the last temperature that was a degree less, and when */
};
/* Is it cool enough, being so warm at this time? A temperature that is not known is. */
bool fct_cooling_done(struct fct_cooling *cooling, double celsius, double seconds);

struct fct_cooled {
    double seconds, celsius; /* waited; at the end */
    bool done;               /* or did it take longer than the limit? */
};
/* Waits, at most limit seconds, with a bar unless quiet. root as in sensors.h. */
void fct_cool_down(const char *root, double limit, bool quiet, struct fct_cooled *out);

#endif
