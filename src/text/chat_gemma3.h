/* chat_gemma3.h - conversations as Gemma 3 was trained to see them. */
#ifndef FCT_TEXT_CHAT_GEMMA3_H
#define FCT_TEXT_CHAT_GEMMA3_H

#include "text/chat.h"

/* As fct_chat_write, for what has passed fct_chat_check. Roles must alternate; tools are
 * FCT_ERR_UNSUPPORTED. */
fct_status fct_chat_write_gemma3(const json_t *messages, const json_t *tools, const json_t *kwargs,
                                 struct fct_rendering *out, fct_error *err);

#endif
