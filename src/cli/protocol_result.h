/* protocol_result.h - what the measuring protocol measured, and the result that it makes of it. */
#ifndef FCT_CLI_PROTOCOL_RESULT_H
#define FCT_CLI_PROTOCOL_RESULT_H

#include "cli/cooling.h"
#include "cli/machine_facts.h"
#include "cli/machine_watch.h"
#include "cli/other_load.h"
#include "cli/protocol.h"
#include "cli/run_rates.h"

struct fct_protocol_prompt_figures {
    struct fct_id_list prompt;
    struct fct_run_times runs[FCT_PROTOCOL_RUNS];
    int *answer; /* ids of the first run */
    int n_answer;
    bool same;                /* the other runs said the same */
    struct fct_cooled cooled; /* before the first run */
    struct fct_load_shares load;
};

struct fct_protocol_figures {
    struct fct_machine_facts machine;
    struct fct_governor governor;
    int n_cpus; /* of the whole machine */
    double cold_first_token_seconds, settle_seconds, bandwidth;
    uint64_t peak_bytes;
    struct fct_load_shares load;
    struct fct_watched watched;
    const struct fct_energy_samples *samples;
    const char *meter; /* NULL: none */
    struct fct_protocol_prompt_figures prompts[FCT_PROTOCOL_PROMPTS];
};

/* NULL without memory; the caller decrefs. */
json_t *fct_protocol_result(const fct_model *model, const fct_session *session,
                            const struct fct_protocol_figures *figures, fct_error *err);

#endif
