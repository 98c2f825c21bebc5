/* reader.h - a packed file, mapped and checked: gives out its matrices, tables and vectors without
 * copying them. */
#ifndef FCT_PACK_READER_H
#define FCT_PACK_READER_H

#include "pack/layout.h"
#include "pack/safetensors.h"

typedef struct fct_pack fct_pack;

/* Maps the file at path and checks header, shapes, schemes and places; does not read the
 * weights. */
fct_pack *fct_pack_open(const char *path, fct_error *err);
/* The same over memory (the embedded demo), which must outlive the pack. name is for messages. */
fct_pack *fct_pack_open_memory(const void *data, size_t size, const char *name, fct_error *err);
void fct_pack_free(fct_pack *pack);

const char *fct_pack_path(const fct_pack *pack);
const char *fct_pack_metadata(const fct_pack *pack, const char *key); /* or NULL */
/* parsed; the caller decrefs; NULL and err if absent or no JSON */
json_t *fct_pack_metadata_json(const fct_pack *pack, const char *key, fct_error *err);
const struct fct_safetensors *fct_pack_header(const fct_pack *pack);
uint64_t fct_pack_size(const fct_pack *pack);

bool fct_pack_has(const fct_pack *pack, const char *name);
/* The matrix (table) called name, which must have these rows and columns. data points into the
 * map. */
fct_status fct_pack_matrix(const fct_pack *pack, const char *name, int rows, int columns,
                           struct fct_matrix *out, fct_error *err);
fct_status fct_pack_table(const fct_pack *pack, const char *name, int rows, int columns,
                          struct fct_table *out, fct_error *err);
/* An F32 tensor of n elements. */
const float *fct_pack_vector(const fct_pack *pack, const char *name, int n, fct_error *err);
/* A U8 tensor as bytes. */
const uint8_t *fct_pack_bytes(const fct_pack *pack, const char *name, size_t *n_bytes,
                              fct_error *err);

/* The hot part of the map: what every token reads. For placing it in memory (engine). */
void fct_pack_hot(const fct_pack *pack, const uint8_t **data, size_t *n_bytes);
int fct_pack_fd(const fct_pack *pack); /* -1 for memory */

/* Reads all data and compares with the checksum in the header; progress may be NULL. FCT_ERR_FORMAT
 * if it differs. */
fct_status fct_pack_verify(const fct_pack *pack, fct_progress_fn progress, void *user,
                           fct_error *err);

#endif
