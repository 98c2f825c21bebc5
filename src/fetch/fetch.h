/* fetch.h - a checkpoint from a server: listed, downloaded, checked. The one header of this room
 * that the program includes. */
#ifndef FCT_FETCH_FETCH_H
#define FCT_FETCH_FETCH_H

#include "facet.h"

#define FCT_FETCH_ENDPOINT "https://huggingface.co"

struct fct_fetch_options {
    const char *source;       /* "owner/name", or the URL of a folder: "https://host/path/" */
    const char *endpoint;     /* of the hub; NULL: FCT_FETCH_ENDPOINT */
    const char *revision;     /* branch, tag or commit; NULL: main */
    const char *token;        /* for the hub, and sent to no other host; NULL: none */
    const char *folder;       /* where the files go; made when they are fetched */
    const char *const *files; /* n_files names that are wanted; none: what a conversion needs */
    size_t n_files;
    int connections;      /* at once; 0: 4 */
    int retries;          /* failures in a row, without a byte gained, that are one too many */
    double retry_seconds; /* before the first repetition, then twice as long each time */
    int stall_seconds;    /* without a byte for so long, a connection counts as lost; 0: 30 */
    uint64_t piece_bytes; /* larger files come in pieces, several at once; 0: 64 MiB */
    fct_progress_fn progress;
    void (*note)(void *user, const char *line); /* something that the person should know */
    bool (*cancelled)(void *user);              /* asked several times a second */
    void *user;
};

/* What the server has for us. */
typedef struct fct_fetch fct_fetch;

/* Asks the server what there is and picks what is wanted. Nothing is written. options and what it
 * points to stay until the end. FCT_ERR_UNSUPPORTED in a facet without the downloader. */
fct_fetch *fct_fetch_open(const struct fct_fetch_options *options, fct_error *err);
void fct_fetch_free(fct_fetch *fetch);

size_t fct_fetch_n_files(const fct_fetch *fetch);
uint64_t fct_fetch_bytes(const fct_fetch *fetch);   /* of all wanted files */
uint64_t fct_fetch_missing(const fct_fetch *fetch); /* of these, not on disk yet */
/* The path below the folder of the GGUF file (of the first of its parts), or "" if the folder is
 * what is to be converted. */
const char *fct_fetch_model(const fct_fetch *fetch);

/* Downloads what is missing and checks every file: its size, and its SHA-256 or git object id where
 * the server listed one. A file gets its name when it is right; what is cut lies beside it as
 * NAME.part, with NAME.part.state, and a later call goes on there, also after a crash. */
fct_status fct_fetch_run(fct_fetch *fetch, fct_error *err);

/* Removes the files that were fetched, and folders that are empty then. */
fct_status fct_fetch_remove(fct_fetch *fetch, fct_error *err);

#endif
