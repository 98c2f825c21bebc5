/* loading.h - what a cold start waits for, on the bar of progress. */
#ifndef FCT_CLI_LOADING_H
#define FCT_CLI_LOADING_H

#include "cli/progress.h"

/* Shows how much of the prompt is read, or, as long as the model comes from storage, how much of
 * that has come. */
void fct_loading_update(struct fct_progress *progress, const fct_model *model, int n_done,
                        int n_total);

#endif
