/* source.h - where a conversion reads from: tensors whose rows come as floats, and what stands
 * beside them. */
#ifndef FCT_CONVERT_SOURCE_H
#define FCT_CONVERT_SOURCE_H

#include <jansson.h>

#include "facet.h"
#include "kernels/blocks.h"
#include "pack/safetensors.h"

/* A tensor of the source. Those of the text network have the packed file's names (what stands
 * behind "model.language_model." or "model."; "lm_head.weight"), all others their own. */
struct fct_source_tensor {
    const char *name;
    char dtype_name[12];
    bool readable; /* read_rows can turn it into floats */
    /* The layout that comes closest to what it is stored in; FCT_F32: floats, which may become
     * anything. exact: read_strip has its codes and scales in that layout as they are. */
    enum fct_scheme scheme;
    int group;
    bool exact;
    enum fct_scheme table_scheme;
    int table_blocks; /* read_table_rows has its codes, with so many scales a row; 0: it has not */
    int n_dims;       /* rows first, as in safetensors */
    uint64_t dims[FCT_MAX_DIMS];
    uint64_t n_bytes;  /* in the source */
    int part;          /* the source's own: which file, */
    const void *place; /* and what in it */
};

/* A GGUF file's tensor of factors of full layers' frequencies: its configuration says the same. */
#define FCT_SOURCE_ROPE_FREQS "rope_freqs.weight"

/* What fct_source_open fills; a kind of source brings the functions. */
typedef struct fct_source fct_source;
struct fct_source {
    const char *kind;                  /* "safetensors", "gguf" */
    char *path;                        /* as given, for messages */
    char *name;                        /* the last part of the path, for the packed file */
    struct fct_source_tensor *tensors; /* sorted by name, each name once */
    size_t n_tensors;
    json_t *config;               /* config.json, or the same made from other metadata */
    json_t *generation;           /* generation_config.json; an empty object if there is none */
    char *licence;                /* as the source names it, or NULL */
    char *chat_template;          /* or NULL */
    char *refusal;                /* why its codes cannot be read, or NULL */
    struct fct_coded_list *coded; /* of a folder whose weights are codes (coded.h), or NULL */
    float norm_shift; /* what the weights of norms lack: 1 where they are stored as w - 1 */

    /* Rows [first_row, first_row + n_rows) of a readable tensor (of one dimension: elements) into
     * out. May be called by several threads at once. */
    fct_status (*read_rows)(const fct_source *source, const struct fct_source_tensor *tensor,
                            uint64_t first_row, uint64_t n_rows, float *out, fct_error *err);
    /* One strip (kernels/blocks.h) of an exact tensor, in its scheme and group: rows [first_row,
     * first_row + n_rows), n_rows <= 16. NULL: the kind has no exact tensors. By several threads at
     * once. */
    fct_status (*read_strip)(const fct_source *source, const struct fct_source_tensor *tensor,
                             uint64_t first_row, int n_rows, uint8_t *strip, fct_error *err);
    /* Rows of a table (kernels/blocks.h) in the tensor's scheme, with table_blocks scales each. By
     * several threads at once. */
    fct_status (*read_table_rows)(const fct_source *source, const struct fct_source_tensor *tensor,
                                  uint64_t first_row, int n_rows, uint8_t *rows, fct_error *err);
    /* The vocabulary's block (text/vocabulary.h), the caller's (fct_free); NULL and FCT_OK if the
     * source has none. *n_restored: how many pieces had lost a byte order mark and have it again.
     */
    fct_status (*read_vocabulary)(const fct_source *source, uint8_t **block, size_t *n_bytes,
                                  int *n_restored, fct_error *err);
    /* Is the file at path one of those that the tensors lie in? */
    bool (*holds_file)(const fct_source *source, const char *path);
    void (*free)(fct_source *source); /* all of it */
    void *own;                        /* the kind's */
};

/* Opens what lies at path: a folder with config.json and safetensors, or a GGUF file. Reads headers
 * and JSON, no weights. */
fct_source *fct_source_open(const char *path, fct_error *err);
void fct_source_free(fct_source *source); /* NULL is fine */
const struct fct_source_tensor *fct_source_find(const fct_source *source,
                                                const char *name); /* or NULL */

/* By its name, is a tensor one of vision or audio, which facet does not run? */
bool fct_source_is_other_modality(const char *name);

/* A folder: its JSON files here, its safetensors in safetensors_source.h. */
fct_source *fct_source_open_folder(const char *path, fct_error *err);
/* A GGUF file, or one of the parts of a split one. */
fct_source *fct_source_open_gguf(const char *path, fct_error *err);

/* Sorts source->tensors; FCT_ERR_FORMAT if a name occurs twice. */
fct_status fct_source_sort(fct_source *source, fct_error *err);
/* Gives up everything that the fields of source itself hold, and source. For the kinds' free. */
void fct_source_free_common(fct_source *source);

#endif
