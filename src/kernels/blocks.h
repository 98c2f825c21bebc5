/* blocks.h - how weights, lookup tables, activations and the KV cache lie in memory: the same for
 * every instruction set.
 *
 * A matrix W [rows][columns] (y = x Wᵀ) is cut into strips of 16 rows; a strip is one stream of
 * bytes, so that a kernel reads memory in order. Inside it four consecutive inputs of a row are
 * adjacent, 16 rows make a line of 64 bytes: what vpdpbusd and sdot both eat. docs/FORMAT.md
 * describes the same for readers of the file. */
#ifndef FCT_KERNELS_BLOCKS_H
#define FCT_KERNELS_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FCT_STRIP = 16 }; /* rows of a strip */
/* activations are padded with zeros to a multiple of this many inputs */
enum { FCT_ACT_ALIGN = 256 };
enum { FCT_LINE = 64 }; /* every tile and strip starts on a multiple of this */

/* How the weights of a matrix are coded.
 *
 * FCT_Q4   4 bits, unsigned code q stands for q - 8.  A unit of 64 bytes = 16 rows x 8 inputs: byte
 *          4r+i has input i of row r in the low nibble and input 4+i in the high one (i = 0 .. 3).
 * FCT_Q8   signed bytes.  A unit of 64 bytes = 16 rows x 4 inputs: byte 4r+i has input i.
 * FCT_Q2   2 bits, unsigned code q stands for q - 2.  A unit of 64 bytes = 16 rows x 16 inputs:
 *          byte 4r+i has inputs i, 4+i, 8+i, 12+i in bits 0-1, 2-3, 4-5, 6-7.
 * FCT_F32  floats.                                     A unit of 64 bytes = 16 rows x 1 input.
 *
 * group > 0 (Q4: 32, 64, 128; Q8: 32): that many inputs share a float16 scale. A tile holds two
 *     groups: first their scales (64 bytes: 16 rows of the first group, 16 rows of the second),
 *     then the units of the first group, then of the second. Groups of 32: 576 bytes = 9 lines a
 *     tile for Q4. Columns are padded to a multiple of 2 * group: code 0 (Q4: 8), scale 0.
 * group == 0 (Q4, Q8, Q2): one float32 scale a row. Units only, then one line of 16 scales. Columns
 *     are padded to a multiple of 64. FCT_F32 has no scales and no padding of columns.
 * Rows are padded to a multiple of 16 with zero weights. */
enum fct_scheme { FCT_F32, FCT_Q8, FCT_Q4, FCT_Q2 };

struct fct_matrix {
    enum fct_scheme scheme;
    int group;           /* inputs a scale; 0: the whole row */
    int rows, columns;   /* as in the checkpoint, without padding */
    const uint8_t *data; /* [strips][fct_strip_bytes], 64-byte aligned; not owned */
};

static inline int fct_strips(int rows) { return (rows + FCT_STRIP - 1) / FCT_STRIP; }
static inline int fct_padded_columns(enum fct_scheme scheme, int group, int columns) {
    int multiple = scheme == FCT_F32 ? 1 : group ? 2 * group : 64;
    return (columns + multiple - 1) / multiple * multiple;
}
static inline int fct_scheme_bits(enum fct_scheme scheme) {
    return scheme == FCT_F32 ? 32 : scheme == FCT_Q8 ? 8 : scheme == FCT_Q4 ? 4 : 2;
}
/* Bytes of one tile (group > 0). */
static inline size_t fct_tile_bytes(enum fct_scheme scheme, int group) {
    return 64 + (size_t)2 * group * FCT_STRIP * fct_scheme_bits(scheme) / 8;
}
/* Bytes of one strip. */
static inline size_t fct_strip_bytes(enum fct_scheme scheme, int group, int columns) {
    size_t padded = (size_t)fct_padded_columns(scheme, group, columns);
    if (group) return padded / (2 * (size_t)group) * fct_tile_bytes(scheme, group);
    return padded * FCT_STRIP * (size_t)fct_scheme_bits(scheme) / 8 + (scheme == FCT_F32 ? 0 : 64);
}
static inline size_t fct_matrix_bytes(const struct fct_matrix *w) {
    return (size_t)fct_strips(w->rows) * fct_strip_bytes(w->scheme, w->group, w->columns);
}

/* A table whose rows are looked up one at a time: [rows][row_bytes]. A row is `blocks` float32
 * scales (none for FCT_F32), then columns codes: FCT_F32 floats; FCT_Q8 signed bytes; FCT_Q4
 * nibbles, input 2j low and 2j+1 high in byte j, unsigned, minus 8; FCT_Q2 two bits each, lowest
 * first, unsigned, minus 2. value = code * scale of its block, a block being columns / blocks
 * inputs. row_bytes is rounded up to a multiple of 16. */
struct fct_table {
    enum fct_scheme scheme;
    int blocks;
    int rows, columns;
    const uint8_t *data; /* 64-byte aligned; not owned */
};
static inline size_t fct_table_row_bytes(enum fct_scheme scheme, int blocks, int columns) {
    size_t codes = ((size_t)columns * (size_t)fct_scheme_bits(scheme) + 7) / 8;
    size_t scales = scheme == FCT_F32 ? 0 : (size_t)blocks * 4;
    return (scales + codes + 15) / 16 * 16;
}

/* What the activations of a group have in common. */
struct fct_act_group {
    float scale;         /* value = code * scale */
    int32_t minus_8_sum; /* -8 * the sum of the codes: undoes the offset of unsigned weight codes */
};

/* Int8 activations of up to `tokens` tokens, made by fct_kernels.quantize and read by
 * fct_kernels.matmul. Weights in groups take activations in groups of the same size; weights with
 * one scale a row take groups of 32, or one scale a token where it is a static one. Codes beyond
 * the inputs are zero up to the next multiple of FCT_ACT_ALIGN, and their groups have the sum 0. */
struct fct_act {
    int stride;                   /* inputs a token has room for, a multiple of FCT_ACT_ALIGN */
    int group;                    /* inputs that share a scale: 32, 64 or 128; 0: all of a token */
    int8_t *codes;                /* [tokens][stride] */
    struct fct_act_group *groups; /* [tokens][fct_act_groups(stride)], in use from the first on */
};
static inline int fct_act_groups(int stride) { return stride / 32; }

/* The KV cache of one layer and KV head, in blocks of 16 positions so that a kernel reads each
 * element once, in order, for all query heads that share it:
 *   keys    [position / 16][head_dim][16]            lane = position: scores need no horizontal sum
 *   values  [position / 16][head_dim / 16][16][16]   16 positions x 16 lanes of the head
 * as float32, float16 or int8; int8 has one float32 scale a position for keys and one for values.
 * head_dim is a multiple of 16. Attention works on chunks of FCT_KV_CHUNK positions, always the
 * same ones, whatever the batch or the number of threads, and merges their results in order: so
 * every way to compute a token gives the same bits. */
enum { FCT_KV_BLOCK = 16, FCT_KV_CHUNK = 128 };
enum fct_kv_type { FCT_KV_TYPE_F32, FCT_KV_TYPE_F16, FCT_KV_TYPE_Q8 };
static inline size_t fct_kv_type_bytes(enum fct_kv_type type) {
    return type == FCT_KV_TYPE_F32 ? 4 : type == FCT_KV_TYPE_F16 ? 2 : 1;
}

#endif
