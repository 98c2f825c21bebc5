/* run_verdict.h - may a measured run be called clean? */
#ifndef FCT_CLI_RUN_VERDICT_H
#define FCT_CLI_RUN_VERDICT_H

#include <jansson.h>

#include "cli/machine_watch.h"
#include "cli/other_load.h"

struct fct_run_facts {
    struct fct_watched watched;
    struct fct_governor governor;
    struct fct_load_shares load;  /* of the whole run */
    struct fct_load_shares worst; /* of the prompt that shared most */
    int n_cpus;
    bool cooled; /* there was time enough for it, before every prompt */
};

/* Sentences, as JSON lists of strings; NULL without memory. reasons: why the run is not clean,
 * empty if it is. notes: what a reader should know all the same. */
json_t *fct_run_reasons(const struct fct_run_facts *facts);
json_t *fct_run_notes(const struct fct_run_facts *facts);

#endif
