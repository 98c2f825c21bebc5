/* chat_check.h - a conversation from outside, checked once at the door. */
#ifndef FCT_TEXT_CHAT_CHECK_H
#define FCT_TEXT_CHAT_CHECK_H

#include <jansson.h>

#include "facet.h"

/* What the writers rely on: every field they read has a type they know, and nothing is nested
 * deeper than FCT_JSON_DEPTH. Else FCT_ERR_ARGUMENT, naming the field, such as messages[3].content.
 */
fct_status fct_chat_check(const json_t *messages, const json_t *tools, const json_t *kwargs,
                          fct_error *err);

#endif
