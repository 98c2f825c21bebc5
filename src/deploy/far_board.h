/* far_board.h - what the machine on the far side is, has free, and how it is doing. */
#ifndef FCT_DEPLOY_FAR_BOARD_H
#define FCT_DEPLOY_FAR_BOARD_H

#include "deploy/far_shell.h"

struct fct_board {
    char system[64], machine[64], kernel[128], model[128], governor[64];
    char lacks[256];     /* the programs we need that are not there */
    char user[64];       /* who is logged in */
    char sudo_says[128]; /* why sudo does nothing without asking; "" if it does, or is not there */
    uint64_t memory_bytes;                                   /* 0: unknown */
    uint64_t memory_available;                               /* 0: unknown */
    long clock_khz, max_clock_khz, millidegrees, page_bytes; /* -1: unknown */
    long throttled;                                          /* vcgencmd's bits; -1: unknown */
    bool root, sudo, systemd;
};

/* Asks. root: "" or a folder that stands for /, for tests. */
fct_status fct_board_ask(fct_far_shell *shell, const char *root, struct fct_board *board,
                         fct_error *err);

fct_status fct_far_exists(fct_far_shell *shell, const char *path, bool *exists, fct_error *err);

/* What the facet in the folder bin, else the one on the path, runs on there, as its --kernels
 * says; "" if there is none, or it does not know. */
enum { FCT_KERNELS_BYTES = 64 };
fct_status fct_far_kernels(fct_far_shell *shell, const char *bin, char kernels[FCT_KERNELS_BYTES],
                           fct_error *err);

/* A place for a file: the nearest folder that is there. */
struct fct_place {
    uint64_t free_bytes;
    char kind[64]; /* of the file system */
    bool writable;
};
fct_status fct_place_ask(fct_far_shell *shell, const char *folder, struct fct_place *place,
                         fct_error *err);

/* One line about the machine, and lines about what makes it slow, each given to note. */
void fct_board_tell(const struct fct_board *board, void (*note)(void *user, const char *line),
                    void *user);

/* Has it what deploying needs? */
fct_status fct_board_check(const struct fct_board *board, fct_error *err);

#endif
