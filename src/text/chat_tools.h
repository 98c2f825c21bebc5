/* chat_tools.h - tool declarations of Gemma 4's system turn. */
#ifndef FCT_TEXT_CHAT_TOOLS_H
#define FCT_TEXT_CHAT_TOOLS_H

#include "text/rendering.h"

/* One declaration, its tool tokens included. The tool has passed fct_chat_check. */
void fct_chat_declaration(struct fct_rendering *out, const json_t *tool);

#endif
