/* writer.h - writes a packed file: the tensors are declared first, then given in that order, piece
 * by piece. */
#ifndef FCT_PACK_WRITER_H
#define FCT_PACK_WRITER_H

#include <jansson.h>

#include "facet.h"
#include "pack/layout.h"

typedef struct fct_pack_writer fct_pack_writer;

fct_pack_writer *fct_pack_writer_new(fct_error *err);
void fct_pack_writer_free(fct_pack_writer *writer); /* without finish: leaves nothing behind */

fct_status fct_pack_writer_metadata(fct_pack_writer *writer, const char *key, const char *value,
                                    fct_error *err);
/* Declares the next tensor; hot ones before all others. */
fct_status fct_pack_writer_matrix(fct_pack_writer *writer, const char *name, enum fct_scheme scheme,
                                  int group, int rows, int columns, fct_error *err);
fct_status fct_pack_writer_table(fct_pack_writer *writer, const char *name, enum fct_scheme scheme,
                                 int blocks, int rows, int columns, fct_error *err);
/* An F32 tensor. */
fct_status fct_pack_writer_vector(fct_pack_writer *writer, const char *name, int n, fct_error *err);
/* A U8 tensor. */
fct_status fct_pack_writer_bytes(fct_pack_writer *writer, const char *name, size_t n_bytes,
                                 fct_error *err);
/* All is declared: the file is begun beside path, header first. Checks free space. */
fct_status fct_pack_writer_begin(fct_pack_writer *writer, const char *path, fct_error *err);
/* The next bytes of the data, in the order declared; padding between tensors is the writer's. A
 * tensor may come in pieces. */
fct_status fct_pack_writer_write(fct_pack_writer *writer, const void *bytes, size_t n_bytes,
                                 fct_error *err);
/* Checks that everything was given, puts in the checksum, and makes the file appear under its
 * name. */
fct_status fct_pack_writer_finish(fct_pack_writer *writer, fct_error *err);

#endif
