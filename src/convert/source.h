/* source.h - where a conversion reads from: tensors whose rows come as floats, and what stands
 * beside them. */
#ifndef FCT_CONVERT_SOURCE_H
#define FCT_CONVERT_SOURCE_H

#include <jansson.h>

#include "facet.h"
#include "pack/safetensors.h"

/* A tensor of the source. Those of the text network have the packed file's names (what stands
 * behind "model.language_model." or "model."; "lm_head.weight"), all others their own. */
struct fct_source_tensor {
    const char *name;
    char dtype_name[12];
    bool readable; /* read_rows can turn it into floats */
    int n_dims;    /* rows first, as in safetensors */
    uint64_t dims[FCT_MAX_DIMS];
    uint64_t n_bytes;  /* in the source */
    int part;          /* the source's own: which file, */
    const void *place; /* and what in it */
};

/* What fct_source_open fills; a kind of source brings the functions. */
typedef struct fct_source fct_source;
struct fct_source {
    const char *kind;                  /* "safetensors" */
    char *path;                        /* as given, for messages */
    char *name;                        /* the last part of the path, for the packed file */
    struct fct_source_tensor *tensors; /* sorted by name, each name once */
    size_t n_tensors;
    json_t *config;      /* config.json, or the same made from other metadata */
    json_t *generation;  /* generation_config.json; an empty object if there is none */
    char *licence;       /* as the source names it, or NULL */
    char *chat_template; /* or NULL */

    /* Rows [first_row, first_row + n_rows) of a readable tensor (of one dimension: elements) into
     * out. May be called by several threads at once. */
    fct_status (*read_rows)(const fct_source *source, const struct fct_source_tensor *tensor,
                            uint64_t first_row, uint64_t n_rows, float *out, fct_error *err);
    /* The vocabulary's block (text/vocabulary.h), the caller's (fct_free); NULL and FCT_OK if the
     * source has none. */
    fct_status (*read_vocabulary)(const fct_source *source, uint8_t **block, size_t *n_bytes,
                                  fct_error *err);
    /* Is the file at path one of those that the tensors lie in? */
    bool (*holds_file)(const fct_source *source, const char *path);
    void (*free)(fct_source *source); /* all of it */
    void *own;                        /* the kind's */
};

/* Opens what lies at path: a folder with config.json and safetensors. Reads headers and JSON, no
 * weights. */
fct_source *fct_source_open(const char *path, fct_error *err);
void fct_source_free(fct_source *source); /* NULL is fine */
const struct fct_source_tensor *fct_source_find(const fct_source *source,
                                                const char *name); /* or NULL */

/* A folder: its JSON files here, its safetensors in shards.h. */
fct_source *fct_source_open_folder(const char *path, fct_error *err);

/* Sorts source->tensors; FCT_ERR_FORMAT if a name occurs twice. */
fct_status fct_source_sort(fct_source *source, fct_error *err);
/* Gives up everything that the fields of source itself hold, and source. For the kinds' free. */
void fct_source_free_common(fct_source *source);

#endif
