/* rendering.h - a conversation being written: scaffold and contents kept apart. */
#ifndef FCT_TEXT_RENDERING_H
#define FCT_TEXT_RENDERING_H

#include "text/chat.h"
#include "text/python_space.h"

/* A control token of the format, by name. A failed addition sticks in text.failed. */
void fct_rendering_control(struct fct_rendering *out, const char *name);

/* Plain text: contents, and those words of the format that are no control tokens. Plain pieces that
 * touch become one segment, so that it is encoded as the reference encodes it. */
void fct_rendering_plain(struct fct_rendering *out, const char *bytes, size_t n_bytes);
void fct_rendering_puts(struct fct_rendering *out, const char *string);
void fct_rendering_span(struct fct_rendering *out, struct fct_text_span span);
void fct_rendering_string(struct fct_rendering *out, const json_t *string);

#endif
