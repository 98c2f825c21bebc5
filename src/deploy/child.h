/* child.h - a program of the system, run with pipes at its ends. */
#ifndef FCT_DEPLOY_CHILD_H
#define FCT_DEPLOY_CHILD_H

#include <sys/types.h>

#include "facet.h"

struct fct_child {
    pid_t pid;        /* 0: none */
    int in, out, err; /* our ends of its stdin, stdout and stderr; -1: closed */
};
#define FCT_CHILD_NONE ((struct fct_child){0, -1, -1, -1})

/* Starts arguments[0], looked for in PATH. Without with_err it shares our stderr. */
fct_status fct_child_start(struct fct_child *child, const char *const *arguments, bool with_err,
                           fct_error *err);
/* Closes the pipes, sees it ended (after seconds, by force) and returns what it exited with, 128 +
 * the signal that ended it, or -1 if there was none. */
int fct_child_end(struct fct_child *child, double seconds);

#endif
