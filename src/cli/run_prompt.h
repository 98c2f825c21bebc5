/* run_prompt.h - what `facet run` asks: plain text, or the next turn of a conversation. */
#ifndef FCT_CLI_RUN_PROMPT_H
#define FCT_CLI_RUN_PROMPT_H

#include "cli/conversation.h"
#include "cli/options.h"

/* Ids of plain text behind one BOS, if the model has one. What the text says is never control.
 * ids->ids is the caller's (fct_free). */
fct_status fct_run_prompt_raw(const fct_model *model, const char *text, size_t n_bytes,
                              struct fct_id_list *ids, fct_error *err);

/* Adds text (valid UTF-8) to the conversation as its next question, and gives the ids that ask for
 * the answer. */
fct_status fct_run_prompt_turn(struct fct_conversation *conversation, const fct_model *model,
                               bool think, const char *text, size_t n_bytes,
                               struct fct_id_list *ids, fct_error *err);

/* The conversation that path keeps, if there is one; what is not taken is told on stderr. system
 * (may be NULL) becomes its system message. */
fct_status fct_run_prompt_begin(struct fct_conversation *conversation, fct_session *session,
                                const char *path, const char *system, fct_error *err);

#endif
