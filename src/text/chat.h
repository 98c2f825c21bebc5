/* chat.h - conversations as the model was trained to see them, and its answers read back. */
#ifndef FCT_TEXT_CHAT_H
#define FCT_TEXT_CHAT_H

#include <jansson.h>

#include "base/buffer.h"
#include "text/tokenizer.h"

enum fct_chat_format { FCT_CHAT_NONE, FCT_CHAT_GEMMA4, FCT_CHAT_GEMMA3 };

/* A rendered conversation: text, and which parts of it are the scaffold (control names count) and which are contents (they do
 * not, unless in reference mode). */
struct fct_rendering {
    struct fct_text text;
    struct fct_segment {
        size_t end;   /* ends here; begins where the one before ends */
        bool control; /* control names in it are control tokens */
    } *segments;
    size_t n_segments, capacity;
};
void fct_rendering_free(struct fct_rendering *rendering);

/* messages: array; tools: array or NULL; kwargs: object with add_generation_prompt, enable_thinking, preserve_thinking, or NULL.
 * Wrong types are FCT_ERR_ARGUMENT, naming the message and the field. */
fct_status fct_chat_write(enum fct_chat_format format, const json_t *messages, const json_t *tools, const json_t *kwargs, struct fct_rendering *out, fct_error *err);
/* The ids of a rendering; with reference set the whole text is encoded with control names. */
fct_status fct_chat_encode(const struct fct_rendering *rendering, const fct_vocabulary *vocabulary, bool reference, struct fct_ids *ids, fct_error *err);

/* An answer in text form, read into a message object (role, content, thinking, tool_calls); see spec/chat.md section 7. */
json_t *fct_chat_read(const char *prefix, const char *answer, char warning[256], fct_error *err);

#endif
