/* half.h - float16 and bfloat16 as bits, rounded to nearest even. */
#ifndef FCT_BASE_HALF_H
#define FCT_BASE_HALF_H

#include <stdint.h>
#include <string.h>

static inline uint32_t fct_float_bits(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
static inline float fct_bits_float(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline float fct_bf16_float(uint16_t bits) { return fct_bits_float((uint32_t)bits << 16); }

/* Exact. A subnormal half is its mantissa times 2^-24. */
static inline float fct_half_float(uint16_t half) {
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = (half >> 10) & 31,
             mantissa = half & 0x3FF;
    if (exponent == 0) {
        float magnitude = (float)mantissa * 0x1p-24f;
        return sign ? -magnitude : magnitude;
    }
    if (exponent == 31) return fct_bits_float(sign | 0x7F800000 | mantissa << 13);
    return fct_bits_float(sign | (exponent + 112) << 23 | mantissa << 13);
}

/* Round to nearest even; too large becomes infinity, NaN stays NaN (quiet). */
static inline uint16_t fct_float_half(float x) {
    uint32_t bits = fct_float_bits(x), sign = bits >> 16 & 0x8000;
    bits &= 0x7FFFFFFF;
    if (bits > 0x7F800000) return (uint16_t)(sign | 0x7E00 | (bits >> 13 & 0x3FF));
    if (bits >= 0x477FF000) return (uint16_t)(sign | 0x7C00); /* 65520 and above */
    /* below 2^-14: let the float adder round at 2^-24 */
    if (bits < 0x38800000) {
        float shifted = fct_bits_float(bits) + 0.5f; /* the ulp of 0.5 is 2^-24 */
        return (uint16_t)(sign | (fct_float_bits(shifted) - 0x3F000000));
    }
    bits += 0xFFF + (bits >> 13 & 1);
    return (uint16_t)(sign | ((bits >> 13) - (112 << 10)));
}

#endif
