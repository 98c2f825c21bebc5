/* stream.h - tensors from a source into a packed file, a block of rows at a time, by several
 * threads. */
#ifndef FCT_CONVERT_STREAM_H
#define FCT_CONVERT_STREAM_H

#include "base/threads.h"
#include "convert/loss.h"
#include "convert/tensor_plan.h"
#include "pack/writer.h"

typedef struct fct_stream fct_stream;

/* Memory for the largest entry's blocks: some megabytes, whatever the size of the tensors. Borrows
 * all it is given. */
fct_stream *fct_stream_new(const fct_source *source, const struct fct_plan *plan,
                           fct_pack_writer *writer, fct_pool *pool, fct_error *err);
void fct_stream_free(fct_stream *stream);

/* Called with the bytes written so far, now and then; NULL: nobody. */
void fct_stream_on_progress(fct_stream *stream, fct_progress_fn progress, void *user);

/* Reads, quantizes and writes one tensor. The file does not depend on the number of threads. Adds
 * what quantizing lost to *loss, unless that is NULL. */
fct_status fct_stream_tensor(fct_stream *stream, const struct fct_plan_entry *entry,
                             struct fct_loss *loss, fct_error *err);

/* Bytes that an entry takes in the packed file. */
uint64_t fct_plan_entry_bytes(const struct fct_plan_entry *entry);

#endif
