/* chat.h - conversations as the model was trained to see them, and its answers read back. */
#ifndef FCT_TEXT_CHAT_H
#define FCT_TEXT_CHAT_H

#include <jansson.h>

#include "base/buffer.h"
#include "text/tokenizer.h"

enum fct_chat_format { FCT_CHAT_NONE, FCT_CHAT_GEMMA4, FCT_CHAT_GEMMA3 };

/* A rendered conversation: text, and which parts of it are the scaffold (control names count) and
 * which are contents (they do not, unless in reference mode). */
struct fct_rendering {
    struct fct_text text;
    struct fct_segment {
        size_t end;   /* ends here; begins where the one before ends */
        bool control; /* control names in it are control tokens */
    } * segments;
    size_t n_segments, capacity;
};
void fct_rendering_free(struct fct_rendering *rendering);

/* messages: array; tools: array or NULL; kwargs: object with add_generation_prompt,
 * enable_thinking, preserve_thinking, or NULL. To be read with fct_json_read, for integers of any
 * length. Wrong types are FCT_ERR_ARGUMENT, naming the message and the field; so is nesting deeper
 * than FCT_JSON_DEPTH. On failure *out is empty. */
fct_status fct_chat_write(enum fct_chat_format format, const json_t *messages, const json_t *tools,
                          const json_t *kwargs, struct fct_rendering *out, fct_error *err);
/* Appends the ids of a rendering; with reference set the whole text is encoded with control names,
 * else only the scaffold's are control tokens, and one that the vocabulary lacks is
 * FCT_ERR_UNSUPPORTED. On failure ids are as they were. */
fct_status fct_chat_encode(const struct fct_rendering *rendering, const fct_vocabulary *vocabulary,
                           bool reference, struct fct_ids *ids, fct_error *err);

/* An answer in text form, read into a message object (role, content, thinking, tool_calls). prefix:
 * the end of the prompt; what it holds of the answer is part of it. warning ("" or why a call
 * stayed content) and prefix may be NULL. To be written with fct_json_write, for its integers of
 * any length. */
json_t *fct_chat_read(const char *prefix, const char *answer, char warning[256], fct_error *err);

/* A call as messages hold it; arguments is a JSON object. NULL: no memory. */
json_t *fct_chat_call_object(const char *name, const char *arguments, size_t n_bytes);

#endif
