/* run_report.h - what an answer took. */
#ifndef FCT_CLI_RUN_REPORT_H
#define FCT_CLI_RUN_REPORT_H

#include <jansson.h>

#include "facet.h"

/* The reason's name: end, length, stop, context, cancelled. */
const char *fct_reason_name(fct_reason reason);

/* One line on stderr, folded where a terminal is narrower: tokens, the wait for the first, the
 * speed of the others and of all with the prompt, the prompt's own, what was reused, how full the
 * context is, and what ran: the path (there is one, the CPU) and its kernels. Loading is in none of
 * the figures. */
void fct_report_print(const fct_model *model, const fct_session *session,
                      const fct_generation *generation);
json_t *fct_report_json(const fct_model *model, const fct_session *session,
                        const fct_generation *generation);

#endif
