/* chat_call.h - a call as the model writes it, and its arguments as JSON. */
#ifndef FCT_TEXT_CHAT_CALL_H
#define FCT_TEXT_CHAT_CALL_H

#include "facet.h"

#define FCT_CALL_QUOTE '\xFF' /* stands for the quote token in a call's text; no byte of UTF-8 */

struct fct_call {
    char *name;      /* NUL-terminated */
    char *arguments; /* JSON text of an object; numbers as the model wrote them */
    size_t n_bytes;  /* of arguments */
};
/* Could text be the beginning of a call, "call:NAME{...}"? */
bool fct_call_begins(const char *text, size_t n_bytes);
/* Reads what stands between a call's markers. The strings are the caller's; FCT_ERR_FORMAT says
 * what is wrong with it. */
fct_status fct_call_read(const char *text, size_t n_bytes, struct fct_call *call, fct_error *err);
void fct_call_free(struct fct_call *call);

#endif
