/* conversation.h - what was said so far, and what of it the model still hears. */
#ifndef FCT_CLI_CONVERSATION_H
#define FCT_CLI_CONVERSATION_H

#include <jansson.h>

#include "facet.h"

/* Of an answer only the content is kept: thoughts are not sent back. */
struct fct_conversation {
    json_t *messages; /* {"role": "user" or "assistant", "content": text}, in turn */
    char *system;     /* valid UTF-8; NULL: none */
    size_t first;     /* messages before this one no longer fit and are not sent */
};
fct_status fct_conversation_init(struct fct_conversation *conversation, fct_error *err);
void fct_conversation_free(struct fct_conversation *conversation);

/* Forgets all messages; the system message stays. */
void fct_conversation_clear(struct fct_conversation *conversation);
/* text is valid UTF-8; NULL: no system message from now on. */
fct_status fct_conversation_set_system(struct fct_conversation *conversation, const char *text,
                                       fct_error *err);

fct_status fct_conversation_add(struct fct_conversation *conversation, const char *role,
                                const char *text, size_t n_bytes, fct_error *err);
/* Takes the last user message away, and what came behind it. False: there is none. */
bool fct_conversation_undo(struct fct_conversation *conversation);
/* Takes the answer to the last user message away. False: there is nothing to answer again. */
bool fct_conversation_reopen(struct fct_conversation *conversation);
/* The last user message; NULL: there is none. It lives as long as the message. */
const char *fct_conversation_question(const struct fct_conversation *conversation);

/* User messages from `first` on, or of all. */
size_t fct_conversation_turns(const struct fct_conversation *conversation, bool all);
/* Stops sending the oldest turn. False: only one is left. */
bool fct_conversation_drop_turn(struct fct_conversation *conversation);

/* Token ids of what is sent, by the model's chat format; answer: with the beginning of the model's
 * turn. *ids is the caller's (fct_free). */
fct_status fct_conversation_render(const struct fct_conversation *conversation,
                                   const fct_model *model, bool think, bool answer, int **ids,
                                   int *n_ids, fct_error *err);

/* The file of a conversation, whole or not at all: what the session holds goes with it
 * (docs/SESSION.md), unless that is nothing, or path ends in ".json": then it is the text. */
fct_status fct_conversation_save(const struct fct_conversation *conversation,
                                 const fct_session *session, const char *path, fct_error *err);
/* Either kind of file, told apart by its content. refusal: "", or why what the session held was not
 * taken although the conversation was. On failure the conversation is as it was. */
fct_status fct_conversation_load(struct fct_conversation *conversation, fct_session *session,
                                 const char *path, char refusal[256], fct_error *err);

#endif
