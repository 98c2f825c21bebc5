/* gguf_vocabulary.h - a GGUF file's tokenizer, made into the tokenizer block of a packed file. */
#ifndef FCT_CONVERT_GGUF_VOCABULARY_H
#define FCT_CONVERT_GGUF_VOCABULARY_H

#include "convert/gguf.h"

/* Builds the block; *block is the caller's (fct_free), NULL with FCT_OK if the file has no
 * tokenizer. Only Gemma's byte-fallback BPE is accepted, with merges ("gemma4") or with scores,
 * from which the merges follow ("llama"). *n_restored: pieces that had lost a byte order mark
 * (gguf_marks.h). */
fct_status fct_gguf_vocabulary_read(const struct fct_gguf *gguf, const char *path, uint8_t **block,
                                    size_t *n_bytes, int *n_restored, fct_error *err);

/* Id of the token called name, or -1. */
int fct_gguf_find_token(const struct fct_gguf *gguf, const char *name);

#endif
