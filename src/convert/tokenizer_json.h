/* tokenizer_json.h - a Hugging Face tokenizer.json, made into the tokenizer block of a packed file.
 */
#ifndef FCT_CONVERT_TOKENIZER_JSON_H
#define FCT_CONVERT_TOKENIZER_JSON_H

#include "facet.h"

/* What was found. Names of control tokens and their ids are asked of the vocabulary opened over the
 * block. */
struct fct_tokenizer_summary {
    int n_pieces; /* highest id + 1 */
    size_t n_merges;
    int n_control; /* added tokens marked special */
    int n_matched; /* other added tokens: always cut out of a text */
};

/* Reads the file and builds the block; *block is the caller's (fct_free). Only byte-fallback BPE
 * without word splitting, as Gemma 3 and 4 have it, is accepted: anything else that would change
 * ids is FCT_ERR_UNSUPPORTED, by its name. The post_processor is not looked at: the chat format
 * puts <bos>. summary may be NULL. */
fct_status fct_tokenizer_json_read(const char *path, uint8_t **block, size_t *n_bytes,
                                   struct fct_tokenizer_summary *summary, fct_error *err);

#endif
