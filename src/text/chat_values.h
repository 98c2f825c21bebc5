/* chat_values.h - JSON values in Gemma 4's tool notation. */
#ifndef FCT_TEXT_CHAT_VALUES_H
#define FCT_TEXT_CHAT_VALUES_H

#include "text/rendering.h"

/* A value; the keys of objects sorted, and quoted or bare. No deeper than FCT_JSON_DEPTH. */
void fct_chat_value(struct fct_rendering *out, const json_t *value, bool quoted_keys);
/* The members of an object, without its braces: k:v,k:v with bare keys. */
void fct_chat_members(struct fct_rendering *out, const json_t *object);
/* A value as Jinja prints it between texts: a string as it is, the rest as Python writes it. */
void fct_chat_printed(struct fct_rendering *out, const json_t *value);
/* The same in capitals; NULL gives nothing. */
void fct_chat_capitals(struct fct_rendering *out, const json_t *value);

#endif
