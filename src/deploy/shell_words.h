/* shell_words.h - names that a shell reads as they are. */
#ifndef FCT_DEPLOY_SHELL_WORDS_H
#define FCT_DEPLOY_SHELL_WORDS_H

#include "base/buffer.h"

/* Adds text as one word of a POSIX shell, whatever is in it. */
void fct_shell_word_add(struct fct_text *script, const char *text);

/* The same for a path of the far side: "~" and what begins with "~/" lie below its home. */
void fct_shell_path_add(struct fct_text *script, const char *path);

/* FCT_ERR_ARGUMENT if what the option `what` names cannot be a name on the far side: it is empty,
 * or has control characters. */
fct_status fct_shell_name_check(const char *what, const char *name, fct_error *err);

/* FCT_ERR_ARGUMENT if it is no host, user@host or ssh://... as ssh takes them. */
fct_status fct_destination_check(const char *destination, fct_error *err);

#endif
