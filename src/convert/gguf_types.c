/* gguf_types.c - how GGUF tensors are coded: blocks of a row into floats, and codes as they are.
 *
 * Products and sums are those of the reference, in float32 and in its order, so that every value is
 * the same to the bit. */
#include "convert/gguf_types.h"

#include <string.h>

#include "base/half.h"

static uint16_t read_u16(const uint8_t *at) {
    uint16_t bits;
    memcpy(&bits, at, sizeof bits);
    return bits;
}
static uint32_t read_u32(const uint8_t *at) {
    uint32_t bits;
    memcpy(&bits, at, sizeof bits);
    return bits;
}
static float read_half(const uint8_t *at) { return fct_half_float(read_u16(at)); }

/* ---- floats ---- */

static void unpack_f32(const uint8_t *block, float *out) { memcpy(out, block, sizeof *out); }
static void unpack_f16(const uint8_t *block, float *out) { *out = read_half(block); }
static void unpack_bf16(const uint8_t *block, float *out) {
    *out = fct_bf16_float(read_u16(block));
}

/* ---- blocks of 32: value i of the first half in the low nibble of byte i, of the second half in
 * the high one ---- */

static int nibble(const uint8_t *codes, int i) {
    return i < 16 ? codes[i] & 15 : codes[i - 16] >> 4;
}

/* Scale, codes: (q - 8) * scale. */
static void codes_q4_0(const uint8_t *block, int8_t *codes, uint16_t *scale) {
    *scale = read_u16(block);
    for (int i = 0; i < 32; i++) codes[i] = (int8_t)(nibble(block + 2, i) - 8);
}
static void unpack_q4_0(const uint8_t *block, float *out) {
    float scale = read_half(block);
    for (int i = 0; i < 32; i++) out[i] = scale * (float)(nibble(block + 2, i) - 8);
}

/* Scale, minimum, codes: q * scale + minimum. */
static void unpack_q4_1(const uint8_t *block, float *out) {
    float scale = read_half(block), minimum = read_half(block + 2);
    for (int i = 0; i < 32; i++) out[i] = scale * (float)nibble(block + 4, i) + minimum;
}

/* The fifth bits of all 32 codes stand before the nibbles. */
static int five_bits(const uint8_t *bits, int i) {
    return nibble(bits + 4, i) | (int)(read_u32(bits) >> i & 1) << 4;
}
static void unpack_q5_0(const uint8_t *block, float *out) {
    float scale = read_half(block);
    for (int i = 0; i < 32; i++) out[i] = scale * (float)(five_bits(block + 2, i) - 16);
}
static void unpack_q5_1(const uint8_t *block, float *out) {
    float scale = read_half(block), minimum = read_half(block + 2);
    for (int i = 0; i < 32; i++) out[i] = scale * (float)five_bits(block + 4, i) + minimum;
}

static void codes_q8_0(const uint8_t *block, int8_t *codes, uint16_t *scale) {
    *scale = read_u16(block);
    memcpy(codes, block + 2, 32);
}
static void unpack_q8_0(const uint8_t *block, float *out) {
    float scale = read_half(block);
    for (int i = 0; i < 32; i++) out[i] = scale * (float)(int8_t)block[2 + i];
}

/* ---- blocks of 256 with scales of their own for parts of them ---- */

/* Scale and minimum of part 0 .. 7, six bits each, in 12 bytes: the first four of both lie in the
 * low six bits of bytes 0 .. 3 and 4 .. 7; the others have their low four bits in bytes 8 .. 11
 * and their high two bits on top of the first. */
static int six_bit_scale(const uint8_t *packed, int part) {
    return part < 4 ? packed[part] & 63 : (packed[part + 4] & 15) | packed[part - 4] >> 6 << 4;
}
static int six_bit_minimum(const uint8_t *packed, int part) {
    return part < 4 ? packed[part + 4] & 63 : packed[part + 4] >> 4 | packed[part] >> 6 << 4;
}

/* Scale of scales, scale of minima, their codes; fifth bits (NULL: none), nibbles. Each 32 bytes
 * of nibbles hold two parts: the low ones, then the high ones. */
static void unpack_parts(const uint8_t *block, const uint8_t *fifth, const uint8_t *nibbles,
                         float *out) {
    float scale = read_half(block), minimum = read_half(block + 2);
    for (int part = 0; part < 8; part++) {
        float d = scale * (float)six_bit_scale(block + 4, part),
              m = minimum * (float)six_bit_minimum(block + 4, part);
        for (int i = 0; i < 32; i++) {
            int q = nibbles[part / 2 * 32 + i] >> 4 * (part % 2) & 15;
            if (fifth) q |= (fifth[i] >> part & 1) << 4;
            out[32 * part + i] = d * (float)q - m;
        }
    }
}
static void unpack_q4_k(const uint8_t *block, float *out) {
    unpack_parts(block, NULL, block + 16, out);
}
static void unpack_q5_k(const uint8_t *block, float *out) {
    unpack_parts(block, block + 16, block + 48, out);
}

/* 128 bytes of nibbles, 64 of upper bit pairs, 16 scales of parts of 16, the scale of scales. In a
 * half of 128 values, quarter k has its nibbles in bytes 32 (k % 2) .. + 31, low for k < 2, and
 * its pairs at bits 2 k of 32 bytes. */
static void unpack_q6_k(const uint8_t *block, float *out) {
    float scale = read_half(block + 208);
    for (int at = 0; at < 256; at++) {
        int half = at / 128, k = at % 128 / 32, i = at % 32;
        int low = block[64 * half + 32 * (k % 2) + i] >> 4 * (k / 2) & 15;
        int high = block[128 + 32 * half + i] >> 2 * k & 3;
        float d = scale * (float)(int8_t)block[192 + at / 16];
        out[at] = d * (float)((low | high << 4) - 32);
    }
}

static const struct fct_gguf_type types[] = {
    {0, "F32", 1, 4, unpack_f32, NULL, FCT_F32},
    {1, "F16", 1, 2, unpack_f16, NULL, FCT_F32},
    {2, "Q4_0", 32, 18, unpack_q4_0, codes_q4_0, FCT_Q4},
    {3, "Q4_1", 32, 20, unpack_q4_1, NULL, FCT_Q4},
    {6, "Q5_0", 32, 22, unpack_q5_0, NULL, FCT_Q8},
    {7, "Q5_1", 32, 24, unpack_q5_1, NULL, FCT_Q8},
    {8, "Q8_0", 32, 34, unpack_q8_0, codes_q8_0, FCT_Q8},
    {9, "Q8_1", 32, 40, NULL, NULL, FCT_F32},
    {10, "Q2_K", 256, 84, NULL, NULL, FCT_F32},
    {11, "Q3_K", 256, 110, NULL, NULL, FCT_F32},
    {12, "Q4_K", 256, 144, unpack_q4_k, NULL, FCT_Q4},
    {13, "Q5_K", 256, 176, unpack_q5_k, NULL, FCT_Q8},
    {14, "Q6_K", 256, 210, unpack_q6_k, NULL, FCT_Q8},
    {15, "Q8_K", 256, 292, NULL, NULL, FCT_F32},
    {16, "IQ2_XXS", 256, 66, NULL, NULL, FCT_F32},
    {17, "IQ2_XS", 256, 74, NULL, NULL, FCT_F32},
    {18, "IQ3_XXS", 256, 98, NULL, NULL, FCT_F32},
    {19, "IQ1_S", 256, 50, NULL, NULL, FCT_F32},
    {20, "IQ4_NL", 32, 18, NULL, NULL, FCT_F32},
    {21, "IQ3_S", 256, 110, NULL, NULL, FCT_F32},
    {22, "IQ2_S", 256, 82, NULL, NULL, FCT_F32},
    {23, "IQ4_XS", 256, 136, NULL, NULL, FCT_F32},
    {24, "I8", 1, 1, NULL, NULL, FCT_F32},
    {25, "I16", 1, 2, NULL, NULL, FCT_F32},
    {26, "I32", 1, 4, NULL, NULL, FCT_F32},
    {27, "I64", 1, 8, NULL, NULL, FCT_F32},
    {28, "F64", 1, 8, NULL, NULL, FCT_F32},
    {29, "IQ1_M", 256, 56, NULL, NULL, FCT_F32},
    {30, "BF16", 1, 2, unpack_bf16, NULL, FCT_F32},
    {34, "TQ1_0", 256, 54, NULL, NULL, FCT_F32},
    {35, "TQ2_0", 256, 66, NULL, NULL, FCT_F32},
    {39, "MXFP4", 32, 17, NULL, NULL, FCT_F32},
};

const struct fct_gguf_type *fct_gguf_type_find(uint32_t id) {
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].id == id) return &types[i];
    return NULL;
}
