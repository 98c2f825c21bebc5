/* generate.h - the loop that answers, with ids that are chosen elsewhere. */
#ifndef FCT_ENGINE_GENERATE_H
#define FCT_ENGINE_GENERATE_H

#include "facet.h"

/* The id to take for what the model would have said as its (n_chosen + 1)-th. */
struct fct_chooser {
    int (*choose)(void *user, int n_chosen);
    void *user;
};

/* fct_generate; chooser NULL: the ids are the model's own. With one, tests see what the loop does
 * with ids that no model at hand would choose: everything but the choice is as ever. */
fct_status fct_generate_chosen(fct_session *session, const int *prompt, int n_prompt,
                               const fct_generate_options *options,
                               const struct fct_chooser *chooser, fct_generation *out,
                               fct_error *err);

#endif
