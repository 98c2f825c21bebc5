/* gguf_types.h - how GGUF tensors are coded: blocks of a row into floats, and codes as they are. */
#ifndef FCT_CONVERT_GGUF_TYPES_H
#define FCT_CONVERT_GGUF_TYPES_H

#include "facet.h"
#include "kernels/blocks.h"

enum { FCT_GGUF_MAX_BLOCK = 256, FCT_GGUF_GROUP = 32 };

struct fct_gguf_type {
    uint32_t id;
    const char *name;
    int block, block_bytes; /* values of a block, and what they take */
    /* One block into floats, as the reference computes them; NULL: facet cannot read it. */
    void (*unpack)(const uint8_t *block, float *out);
    /* The codes and the float16 scale of one block of 32, that code * scale is each value; NULL:
     * the type is not like that. */
    void (*codes)(const uint8_t *block, int8_t codes[FCT_GGUF_GROUP], uint16_t *scale);
    /* What comes closest to it; FCT_F32: floats, which may become anything. */
    enum fct_scheme scheme;
};

const struct fct_gguf_type *fct_gguf_type_find(uint32_t id); /* or NULL */

#endif
