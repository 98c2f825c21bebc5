/* logits_file.h - the logits of a text in a file, to compare other models with (docs/QUALITY.md).
 */
#ifndef FCT_ENGINE_LOGITS_FILE_H
#define FCT_ENGINE_LOGITS_FILE_H

#include "base/file.h"
#include "engine/chunks.h"
#include "engine/model.h"
#include "pack/tensor_file.h"

/* Writing: rows are given in order. */
struct fct_logits_writer {
    fct_tensor_file *file;
    uint16_t *row;
    int vocab_size;
};
fct_status fct_logits_writer_begin(struct fct_logits_writer *writer, const char *path,
                                   const fct_model *model, const struct fct_chunks *chunks,
                                   fct_error *err);
fct_status fct_logits_writer_row(struct fct_logits_writer *writer, const float *logits,
                                 fct_error *err);
fct_status fct_logits_writer_finish(struct fct_logits_writer *writer, fct_error *err);
void fct_logits_writer_free(struct fct_logits_writer *writer); /* zeroed is fine */

/* Reading. */
struct fct_logits_file {
    struct fct_mapping map;
    struct fct_safetensors header;
    struct fct_chunks chunks; /* ids owned */
    int vocab_size;
    const uint8_t *rows; /* float16, in the map */
};
/* Is this a file of logits (and not a packed model)? */
bool fct_logits_file_is(const char *path);
fct_status fct_logits_file_open(struct fct_logits_file *file, const char *path, int vocab_size,
                                fct_progress_fn progress, void *user, fct_error *err);
void fct_logits_file_close(struct fct_logits_file *file);
/* Row i as floats, relative to the largest. */
void fct_logits_file_row(const struct fct_logits_file *file, size_t i, float *logits);

#endif
