/* far_shell.h - a shell on another machine, over the system's ssh: scripts and bytes in, lines out.
 *
 * One connection serves all calls. What the login shell there reads is a constant; scripts come
 * over the connection and are read by sh. */
#ifndef FCT_DEPLOY_FAR_SHELL_H
#define FCT_DEPLOY_FAR_SHELL_H

#include "base/buffer.h"

struct fct_far_options {
    const char *destination; /* checked with fct_destination_check */
    int port;                /* 0: what ssh's configuration says */
    const char *const *ssh_options;
    size_t n_ssh_options; /* each goes behind a -o */
    double
        timeout_seconds; /* without a sign of life from there, logging in included; 0: no limit */
    bool (*cancelled)(void *user);
    void *user;
};

/* 32 random hexadecimal digits: a name that nobody else has. */
enum { FCT_KEY_BYTES = 33 };
fct_status fct_key_make(char key[FCT_KEY_BYTES], fct_error *err);

typedef struct fct_far_shell fct_far_shell;

/* NULL: no connection, and *err has what ssh said last. options stay until the end. */
fct_far_shell *fct_far_open(const struct fct_far_options *options, fct_error *err);
void fct_far_close(fct_far_shell *shell);

/* Is the connection gone? What failed may then be tried again over a new one. After another failure
 * than that, as of a far side that keeps the connection but says nothing for timeout_seconds, the
 * shell is only to be closed. A script that may take longer has to print lines meanwhile. */
bool fct_far_is_lost(const fct_far_shell *shell);

/* Called with what stands behind "= " in a line that the script printed. */
typedef fct_status (*fct_far_line_fn)(void *user, const char *line, fct_error *err);

/* Runs a script in a subshell over there. Lines that begin with "= " go to `line` (may be NULL);
 * the last other one is why it failed, if it did: FCT_ERR_IO. A script that does not know what else
 * to do prints a reason and exits with 1. */
fct_status fct_far_call(fct_far_shell *shell, const char *script, fct_far_line_fn line, void *user,
                        fct_error *err);

/* The same with a script that was put together, which it empties. */
fct_status fct_far_call_text(fct_far_shell *shell, struct fct_text *script, fct_far_line_fn line,
                             void *user, fct_error *err);

/* So many bytes are on their way at most: what is lost when the link is cut. */
#define FCT_FAR_WINDOW (1u << 20)

/* In a script of fct_far_send: `take N` copies N bytes of its input to its output and reports on
 * descriptor 3 what it has. */
extern const char fct_far_take[];

/* The same with n_bytes of the open file fd from `offset` as its input, all of which it has to
 * take. sent is told how many went out, and taken how many arrived. */
struct fct_far_source {
    int fd;
    const char *name; /* for messages */
    uint64_t offset, n_bytes;
    void (*sent)(void *user, uint64_t n_bytes);
    void (*taken)(void *user, uint64_t n_bytes);
    void *user;
};
fct_status fct_far_send(fct_far_shell *shell, const char *script,
                        const struct fct_far_source *source, fct_error *err);

#endif
