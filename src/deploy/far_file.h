/* far_file.h - a file on the far side: looked at, brought up to date, given its name. */
#ifndef FCT_DEPLOY_FAR_FILE_H
#define FCT_DEPLOY_FAR_FILE_H

#include <sys/stat.h>

#include "deploy/far_shell.h"

/* Sums are compared, and what is wrong is sent again, in pieces of this size. */
#define FCT_PIECE_BYTES (4u << 20)

/* A file that is to lie over there as FOLDER/NAME. Until it is right it is FOLDER/NAME.part, and
 * FOLDER/NAME.part.owner says which run is at it and which process writes. */
struct fct_far_file {
    const char *path, *folder, *name; /* folder: as fct_shell_path_add takes it */
    bool program;
    char run[FCT_KEY_BYTES];
    int fd;
    uint64_t size;
    struct stat info; /* when it was opened: a file that changes meanwhile is not copied */

    /* what is over there, as of the last look */
    bool has_final, has_part, unchanged;
    uint64_t final_bytes, part_bytes;
    uint64_t kept_bytes; /* so much of the part stays; pieces in it that are not right are mended */
    bool seeded;         /* the part is to begin as a copy of the file that has the final name */
    bool *right;         /* [n_pieces] known to be over there, in the part or its seed ... */
    char right_of;       /* ... as the scripts call them: p or f */
    size_t n_pieces;

    bool compared_final, owned;
    uint64_t sent_bytes; /* that went out in all, with those that were lost */

    fct_progress_fn progress;
    void *user;
    uint64_t shown, shown_total; /* of the step that the bar shows */
};

fct_status fct_far_file_open(struct fct_far_file *file, const char *path, const char *folder,
                             const char *name, bool program, fct_error *err);
void fct_far_file_close(struct fct_far_file *file);

/* Looks what is there and compares it with the file here. Changes nothing over there. */
fct_status fct_far_file_look(struct fct_far_file *file, fct_far_shell *shell, fct_error *err);
uint64_t fct_far_file_missing(const struct fct_far_file *file); /* bytes that are to be sent */
uint64_t fct_far_file_room(const struct fct_far_file *file);    /* more that its disk must hold */

/* Behind a look: sends what is missing and compares what came. FCT_ERR_FORMAT if something came
 * damaged; another look and another send mend it. */
fct_status fct_far_file_send(struct fct_far_file *file, fct_far_shell *shell, fct_error *err);

/* Runs the part, a program, with --version. */
fct_status fct_far_file_try(struct fct_far_file *file, fct_far_shell *shell, fct_error *err);

/* Brings the part to disk and gives it its final name; of an unchanged file only what is left of
 * earlier runs is removed. */
fct_status fct_far_file_finish(struct fct_far_file *file, fct_far_shell *shell, fct_error *err);

#endif
