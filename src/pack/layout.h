/* layout.h - names and numbers of the packed file (docs/FORMAT.md): a safetensors file whose
 * tensors the kernels read as they lie. */
#ifndef FCT_PACK_LAYOUT_H
#define FCT_PACK_LAYOUT_H

#include "kernels/blocks.h"

#define FCT_PACK_FORMAT "facet"
enum { FCT_PACK_VERSION = 1 };

/* The header is padded with spaces so that the data starts on a multiple of FCT_PACK_ALIGN, and the
 * file is written in such pieces. With less than FCT_PACK_LARGE bytes of data, a multiple of
 * FCT_PACK_ALIGN_SMALL will do. Readers demand no more than FCT_LINE. */
enum { FCT_PACK_ALIGN = 2 << 20, FCT_PACK_LARGE = 4 * FCT_PACK_ALIGN, FCT_PACK_ALIGN_SMALL = 4096 };

/* Every tensor starts on a multiple of FCT_LINE. One whose length is no such multiple is followed
 * by a U8 tensor of zeros named FCT_PACK_PADDING and a number, as a safetensors file has no holes:
 * so each other tensor has exactly its own length. */
#define FCT_PACK_PADDING "padding."

/* Keys of __metadata__; all values are strings.
 *   format "facet"; format_version "1"; config: JSON, the text config as read from the checkpoint
 *       (Hugging Face's names);
 *   weights: "q4", ...; matrices: JSON {"name": {"scheme": "q4", "group": 32, "rows": r, "columns":
 *       c}, ...};
 *   tables: JSON {"name": {"scheme": "q8", "blocks": b, "rows": r, "columns": c}, ...};
 *   generation: JSON, the checkpoint's generation_config; chat: "gemma4" | "gemma3" | "none";
 *       source; licence; changes;
 *   expected: JSON list of {"prompt_ids": [...], "answer_ids": [...]}, absent if none;
 *   hot_bytes: bytes of the hot part (matrices and norms), which comes first;
 *   checksum: XXH3-64 of the data part, from data_start to the end of the file, 16 lower-case hex
 *       digits;
 *   header_checksum: XXH3-64 of the header's text, padding included, in which the digits of both
 *       checksums are "0". */
#define FCT_KEY_CHECKSUM "checksum"
#define FCT_KEY_HEADER_CHECKSUM "header_checksum"
#define FCT_CHECKSUM_ZERO "0000000000000000"
const char *fct_scheme_name(enum fct_scheme scheme); /* "q4" */
bool fct_scheme_parse(const char *name, enum fct_scheme *scheme);

/* May a matrix (table) be like this, and how many bytes does it take? The numbers may come from
 * outside. */
bool fct_matrix_fits(enum fct_scheme scheme, int64_t group, int64_t rows, int64_t columns,
                     size_t *n_bytes);
bool fct_table_fits(enum fct_scheme scheme, int64_t blocks, int64_t rows, int64_t columns,
                    size_t *n_bytes);

/* Tensor names are those of the checkpoint behind "model." ("layers.0.mlp.gate_proj.weight"), the
 * head is "lm_head.weight" also when tied, and "tokenizer" is the vocabulary
 * (text/vocabulary.h). */
#define FCT_TENSOR_TOKENIZER "tokenizer"

/* A file of statistics (docs/QUALITY.md): for matrices, by their names, the mean square of each
 * input as F32 [columns]. */
#define FCT_STATISTICS_FORMAT "facet-statistics"
enum { FCT_STATISTICS_VERSION = 1 };

#endif
