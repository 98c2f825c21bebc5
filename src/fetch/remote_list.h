/* remote_list.h - the files that a server says it has. */
#ifndef FCT_FETCH_REMOTE_LIST_H
#define FCT_FETCH_REMOTE_LIST_H

#include "facet.h"

#define FCT_REMOTE_ID_BYTES 65
#define FCT_REMOTE_SIZE_LIMIT (1ull << 40) /* no checkpoint has a file of a terabyte */
#define FCT_REMOTE_SIZE_UNKNOWN UINT64_MAX

struct fct_remote_file {
    char *path; /* below the folder, safe to be used there */
    uint64_t size;
    /* lower-case hex: 64 digits of SHA-256, 40 of a git object id, or none */
    char id[FCT_REMOTE_ID_BYTES];
};
struct fct_remote_list {
    struct fct_remote_file *files;
    size_t n_files, capacity;
};
void fct_remote_list_free(struct fct_remote_list *list);

/* Adds a file; `where` names the listing. FCT_ERR_FORMAT if the path leads out of the folder or
 * holds what no name should, or the size or the id cannot be. */
fct_status fct_remote_list_add(struct fct_remote_list *list, const char *where, const char *path,
                               uint64_t size, const char *id, fct_error *err);
struct fct_remote_file *fct_remote_list_find(const struct fct_remote_list *list, const char *path);

/* May a file be written under this name below a folder? UTF-8 without control characters,
 * backslashes, empty parts, "." and ".."; relative; not the name of a part file. */
bool fct_remote_path_is_safe(const char *path);

/* Keeps what is wanted: the named files, with the other parts of a GGUF file that is split, or, if
 * none are named, what a conversion needs. `index` is the text of INDEX or NULL; shards that it
 * does not name are not needed. */
#define FCT_REMOTE_INDEX "model.safetensors.index.json"
fct_status fct_remote_list_pick(struct fct_remote_list *list, const char *where,
                                const char *const *names, size_t n_names, const char *index,
                                size_t index_bytes, fct_error *err);

#endif
