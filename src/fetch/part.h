/* part.h - a file while it comes in pieces: the bytes there are, and which, beside its name. */
#ifndef FCT_FETCH_PART_H
#define FCT_FETCH_PART_H

#include "fetch/remote_list.h"

#define FCT_ETAG_BYTES 160

struct fct_part {
    const struct fct_remote_file *file;
    char *url;
    char *path, *part, *state; /* final name, NAME.part, NAME.part.state */
    int fd, state_fd;          /* of the latter two; -1: not open */
    bool finished;             /* right, and under its final name */
    char etag[FCT_ETAG_BYTES]; /* of the bytes there are; "": unknown */
    uint64_t piece_bytes;
    size_t n_pieces;
    uint64_t *done; /* [n_pieces] bytes from the piece's start on */
    bool *busy;     /* [n_pieces] a transfer is at it */
    int generation; /* counts resets: a transfer from before one is stale */
    /* of the transfers */
    int n_failures, n_attempts, n_mismatches;
    uint64_t best;     /* the most bytes there ever were */
    double not_before; /* fct_seconds() of the next attempt */
};

/* Names and url (taken over, NULL is a failure) of a file below folder; touches no disk. */
fct_status fct_part_init(struct fct_part *part, const struct fct_remote_file *file,
                         const char *folder, char *url, fct_error *err);
void fct_part_close(struct fct_part *part); /* keeps what is on disk */

/* Bytes that need no more room: of the final file if it has the right size, else of the part. */
uint64_t fct_part_on_disk(const struct fct_part *part);
bool fct_part_is_there(const struct fct_part *part); /* the final file, of the right size */

/* Opens the files, made if they are not there with their folders below `folder`; goes on with what
 * they hold if it is of this file. */
fct_status fct_part_begin(struct fct_part *part, const char *folder, uint64_t piece_bytes,
                          fct_error *err);

/* Starts over; whole: as one piece from now on. */
fct_status fct_part_reset(struct fct_part *part, bool whole, fct_error *err);
/* Remembers the version that the bytes are of. */
fct_status fct_part_tag(struct fct_part *part, const char *etag, fct_error *err);
/* The next bytes of a piece: first the bytes, then that they are there. */
fct_status fct_part_write(struct fct_part *part, size_t piece, const void *bytes, size_t n_bytes,
                          fct_error *err);

uint64_t fct_part_piece_size(const struct fct_part *part, size_t piece);
uint64_t fct_part_done(const struct fct_part *part);

/* Brought to disk and renamed. */
fct_status fct_part_finish(struct fct_part *part, fct_error *err);
/* Closed, and removed from disk. */
void fct_part_discard(struct fct_part *part);

#endif
