/* layout.h - names and numbers of the packed file (docs/FORMAT.md): a safetensors file whose tensors the kernels read as they lie. */
#ifndef FCT_PACK_LAYOUT_H
#define FCT_PACK_LAYOUT_H

#include "kernels/blocks.h"

#define FCT_PACK_FORMAT "facet"
enum { FCT_PACK_VERSION = 1 };
enum { FCT_PACK_ALIGN = 2 << 20 }; /* the data starts on a multiple of this, and the file is written in such pieces */

/* Keys of __metadata__; all values are strings.
 *   format "facet"; format_version "1"; config: JSON, the text config as read from the checkpoint (Hugging Face's names);
 *   weights: "q4", ...; matrices: JSON {"name": {"scheme": "q4", "group": 32, "rows": r, "columns": c}, ...};
 *   tables: JSON {"name": {"scheme": "q8", "blocks": b, "rows": r, "columns": c}, ...};
 *   generation: JSON, the checkpoint's generation_config; chat: "gemma4" | "gemma3" | "none"; source; licence; changes;
 *   expected: JSON list of {"prompt_ids": [...], "answer_ids": [...]}, absent if none;
 *   hot_bytes: bytes of the hot part (matrices and norms), which comes first; checksum: XXH3-64 of the data part, 16 hex digits. */
const char *fct_scheme_name(enum fct_scheme scheme);               /* "q4" */
bool fct_scheme_parse(const char *name, enum fct_scheme *scheme);

/* Tensor names are those of the checkpoint behind "model." ("layers.0.mlp.gate_proj.weight"), the head is "lm_head.weight" also
 * when tied, and "tokenizer" is the vocabulary (text/vocabulary.h). */
#define FCT_TENSOR_TOKENIZER "tokenizer"

#endif
