/* transfers.h - several connections at once bring what parts still lack. */
#ifndef FCT_FETCH_TRANSFERS_H
#define FCT_FETCH_TRANSFERS_H

#include "fetch/part.h"
#include "fetch/request.h"

struct fct_transfers {
    const struct fct_http *http;
    struct fct_part *parts;
    size_t n_parts;
    int n_connections;
    fct_progress_fn progress; /* may be NULL */
    void (*note)(void *user, const char *line);
    void *user;
};

/* Returns when all pieces of all parts that are not finished are there, or something is wrong that
 * repeating does not help. Whatever came stays in the parts. */
fct_status fct_transfers_run(const struct fct_transfers *transfers, fct_error *err);

/* Is this the beginning of a web page, or of the text that git has in the place of a large file?
 * FCT_ERR_FORMAT if so, naming the file. */
fct_status fct_beginning_check(const char *name, const char *bytes, size_t n_bytes, fct_error *err);

#endif
