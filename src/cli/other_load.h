/* other_load.h - who else uses the CPUs while something is measured. */
#ifndef FCT_CLI_OTHER_LOAD_H
#define FCT_CLI_OTHER_LOAD_H

#include "facet.h"

/* What had been used by a moment, in seconds of one CPU. */
struct fct_load_mark {
    bool known;
    double seconds;           /* of the clock */
    double busy, stolen, own; /* by anybody; taken by a hypervisor; by this process and children */
};
void fct_load_mark_set(const char *root, struct fct_load_mark *mark); /* root as in sensors.h */

/* Shares of all n_cpus between two marks; NAN: unknown. */
struct fct_load_shares {
    double seconds, others, stolen;
};
struct fct_load_shares fct_load_between(const struct fct_load_mark *begin,
                                        const struct fct_load_mark *end, int n_cpus);

/* The first line of /proc/stat, in clock ticks; false if it is none. */
bool fct_load_parse(const char *text, uint64_t *busy, uint64_t *stolen);

#endif
