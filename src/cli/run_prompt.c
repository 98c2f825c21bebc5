/* run_prompt.c - what `facet run` asks: plain text, or the next turn of a conversation. */
#include "cli/run_prompt.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "cli/text_input.h"

fct_status fct_run_prompt_raw(const fct_model *model, const char *text, size_t n_bytes,
                              struct fct_id_list *ids, fct_error *err) {
    int *text_ids = NULL, n_text_ids = 0, bos = fct_bos_id(model), n_bos = bos >= 0;
    fct_status status = fct_tokenize(model, text, n_bytes, 0, &text_ids, &n_text_ids, NULL, err);
    if (status) return status;
    ids->ids = fct_new_array((size_t)n_text_ids + 1, sizeof(int), err);
    if (ids->ids) {
        ids->ids[0] = bos;
        if (n_text_ids > 0) memcpy(ids->ids + n_bos, text_ids, (size_t)n_text_ids * sizeof(int));
        ids->n_ids = n_bos + n_text_ids;
        if (ids->n_ids == 0) status = fct_fail(err, FCT_ERR_ARGUMENT, "the prompt is empty");
    } else {
        status = FCT_ERR_MEMORY;
    }
    fct_free(text_ids);
    return status;
}

fct_status fct_run_prompt_turn(struct fct_conversation *conversation, const fct_model *model,
                               bool think, const char *text, size_t n_bytes,
                               struct fct_id_list *ids, fct_error *err) {
    fct_status status = fct_conversation_add(conversation, "user", text, n_bytes, err);
    if (status) return status;
    return fct_conversation_render(conversation, model, think, true, &ids->ids, &ids->n_ids, err);
}

static fct_status set_system(struct fct_conversation *conversation, const char *system,
                             fct_error *err) {
    size_t n_bytes = strlen(system);
    char *copy = fct_copy_text(system, n_bytes, err);
    if (!copy) return FCT_ERR_MEMORY;
    fct_status status = fct_input_repair("run", "--system", &copy, &n_bytes, err);
    if (!status) status = fct_conversation_set_system(conversation, copy, err);
    fct_free(copy);
    return status;
}

fct_status fct_run_prompt_begin(struct fct_conversation *conversation, fct_session *session,
                                const char *path, const char *system, fct_error *err) {
    char refusal[256] = "";
    fct_status status = fct_conversation_init(conversation, err);
    if (!status && path && access(path, F_OK) == 0)
        status = fct_conversation_load(conversation, session, path, refusal, err);
    if (*refusal && !status)
        fprintf(stderr, "facet run: only the conversation is taken, and read again: %s\n", refusal);
    if (!status && system) status = set_system(conversation, system, err);
    return status;
}
