/* transfer.h - one connection that brings one piece of a part. */
#ifndef FCT_FETCH_TRANSFER_H
#define FCT_FETCH_TRANSFER_H

#include "fetch/part.h"
#include "fetch/request.h"

struct fct_transfer {
    struct fct_request request;
    struct fct_part *part; /* NULL: idle */
    size_t piece;
    int generation;   /* of the part when it began */
    uint64_t offset;  /* in the file, of the first byte asked for */
    uint64_t dropped; /* bytes of an explanation that nobody reads */
    bool ranged;      /* asked for less than the file */
    bool checked;     /* the answer is to our question */
    bool other;       /* the server has another version by now */
    fct_error broken; /* code not 0: what repeating does not help */
};

fct_status fct_transfer_start(struct fct_transfer *transfer, const struct fct_http *http,
                              struct fct_part *part, size_t piece, fct_error *err);
void fct_transfer_close(struct fct_transfer *transfer);

enum fct_transfer_end {
    FCT_TRANSFER_GOOD,  /* the piece is there */
    FCT_TRANSFER_STALE, /* the part was started over meanwhile */
    FCT_TRANSFER_AGAIN, /* ask for the rest */
    FCT_TRANSFER_OTHER, /* what the part holds is of another version */
    FCT_TRANSFER_FATAL
};
/* What became of it, after curl ended it with code. The piece is free again. */
enum fct_transfer_end fct_transfer_finish(struct fct_transfer *transfer,
                                          const struct fct_http *http, CURLcode code,
                                          fct_error *err);

#endif
