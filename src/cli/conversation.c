/* conversation.c - what was said so far, and what of it the model still hears. */
#include "cli/conversation.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

fct_status fct_conversation_init(struct fct_conversation *c, fct_error *err) {
    *c = (struct fct_conversation){.messages = json_array()};
    if (c->messages) return FCT_OK;
    return fct_fail(err, FCT_ERR_MEMORY, "no memory for a conversation");
}

void fct_conversation_free(struct fct_conversation *c) {
    json_decref(c->messages);
    fct_free(c->system);
    *c = (struct fct_conversation){0};
}

void fct_conversation_clear(struct fct_conversation *c) {
    json_array_clear(c->messages);
    c->first = 0;
}

fct_status fct_conversation_set_system(struct fct_conversation *c, const char *text,
                                       fct_error *err) {
    char *copy = text ? fct_copy_text(text, strlen(text), err) : NULL;
    if (text && !copy) return FCT_ERR_MEMORY;
    fct_free(c->system);
    c->system = copy;
    return FCT_OK;
}

static json_t *message(const char *role, const char *text, size_t n_bytes) {
    return json_pack("{s:s, s:s%}", "role", role, "content", text, n_bytes);
}

fct_status fct_conversation_add(struct fct_conversation *c, const char *role, const char *text,
                                size_t n_bytes, fct_error *err) {
    if (json_array_append_new(c->messages, message(role, text, n_bytes)) == 0) return FCT_OK;
    return fct_fail(err, FCT_ERR_MEMORY, "no memory for a message");
}

static bool is_question(const struct fct_conversation *c, size_t i) {
    const char *role = json_string_value(json_object_get(json_array_get(c->messages, i), "role"));
    return role && strcmp(role, "user") == 0;
}

/* Where the last user message stands; SIZE_MAX: nowhere. */
static size_t last_question(const struct fct_conversation *c) {
    size_t i = json_array_size(c->messages);
    while (i-- > 0)
        if (is_question(c, i)) return i;
    return SIZE_MAX;
}

static void cut(struct fct_conversation *c, size_t n) {
    while (json_array_size(c->messages) > n)
        json_array_remove(c->messages, json_array_size(c->messages) - 1);
    if (c->first > n) c->first = n;
}

bool fct_conversation_undo(struct fct_conversation *c) {
    size_t question = last_question(c);
    if (question == SIZE_MAX) return false;
    cut(c, question);
    return true;
}

bool fct_conversation_reopen(struct fct_conversation *c) {
    size_t question = last_question(c);
    if (question == SIZE_MAX) return false;
    cut(c, question + 1);
    return true;
}

const char *fct_conversation_question(const struct fct_conversation *c) {
    return json_string_value(
        json_object_get(json_array_get(c->messages, last_question(c)), "content"));
}

size_t fct_conversation_turns(const struct fct_conversation *c, bool all) {
    size_t n = 0;
    for (size_t i = all ? 0 : c->first; i < json_array_size(c->messages); i++)
        n += is_question(c, i);
    return n;
}

bool fct_conversation_drop_turn(struct fct_conversation *c) {
    size_t next = c->first + 1;
    while (next < json_array_size(c->messages) && !is_question(c, next)) next++;
    if (next >= json_array_size(c->messages)) return false;
    c->first = next;
    return true;
}

static json_t *sent_messages(const struct fct_conversation *c) {
    json_t *sent = json_array();
    int failed = !sent;
    if (c->system)
        failed |= json_array_append_new(sent, message("system", c->system, strlen(c->system)));
    for (size_t i = c->first; i < json_array_size(c->messages); i++)
        failed |= json_array_append(sent, json_array_get(c->messages, i));
    if (!failed) return sent;
    json_decref(sent);
    return NULL;
}

fct_status fct_conversation_render(const struct fct_conversation *c, const fct_model *model,
                                   bool think, bool answer, int **ids, int *n_ids, fct_error *err) {
    json_t *request = json_pack("{s:o, s:{s:b, s:b}}", "messages", sent_messages(c), "kwargs",
                                "add_generation_prompt", answer, "enable_thinking", think);
    char *text = request ? json_dumps(request, JSON_COMPACT) : NULL;
    fct_status status =
        text ? fct_chat_render(model, text, strlen(text), false, NULL, NULL, ids, n_ids, err)
             : fct_fail(err, FCT_ERR_MEMORY, "no memory for the conversation");
    free(text);
    json_decref(request);
    return status;
}
