/* far_service.h - the systemd units that answer prompts on a socket of the far side. */
#ifndef FCT_DEPLOY_FAR_SERVICE_H
#define FCT_DEPLOY_FAR_SERVICE_H

#include "deploy/far_board.h"

/* The units' texts; the caller frees (fct_free). model: its path there, or NULL for the demo inside
 * the program; socket_user: who may ask. */
char *fct_service_socket_unit(fct_error *err);
char *fct_service_unit(const char *model, fct_error *err);

/* How its user becomes root there. */
struct fct_far_root {
    const char *root;     /* "" or a folder that stands for /, for tests */
    const char *password; /* what sudo is given; "": it wants none */
};

/* Does sudo take the password? */
fct_status fct_service_try_password(fct_far_shell *shell, const char *password, bool *taken,
                                    fct_error *err);

/* Is there systemd, and may we? */
fct_status fct_service_check(const struct fct_board *board, const char *folder, fct_error *err);

/* Makes the folder of the model, writable for who copies. */
fct_status fct_service_make_folder(fct_far_shell *shell, const struct fct_far_root *as,
                                   const char *folder, fct_error *err);

/* Copies the program from bin to where root alone may change it, writes the units if they changed,
 * and starts the socket, now and at every boot. */
fct_status fct_service_install(fct_far_shell *shell, const struct fct_far_root *as, const char *bin,
                               const char *model, fct_error *err);

#endif
