/* registers_256.h - what matrix products are written in, with 256 bits: 8 rows a register. */
#ifndef FCT_KERNELS_REGISTERS_256_H
#define FCT_KERNELS_REGISTERS_256_H

#include "kernels/x86.h"

/* 16 registers: two strips of one token, or one strip of up to four. */
enum { ROWS = 8, PASS_TOKENS = 4, PASS_OF_MANY = 4 };
#define STRIPS_BESIDE(TOKENS) ((TOKENS) == 1 ? 2 : 1)

typedef __m256i ints;
typedef __m256 floats;

INLINE ints load_ints(const void *at) { return _mm256_loadu_si256(at); }
INLINE void store_ints(void *at, ints x) { _mm256_storeu_si256(at, x); }
INLINE ints ints_of(int32_t x) { return _mm256_set1_epi32(x); }
INLINE ints bytes_of(uint8_t x) { return _mm256_set1_epi8((char)x); }
INLINE ints and_bits(ints a, ints b) { return _mm256_and_si256(a, b); }
INLINE ints flip_bits(ints a, ints b) { return _mm256_xor_si256(a, b); }
INLINE ints shift_words(ints x, int N) { return _mm256_srli_epi16(x, N); }

INLINE floats load_floats(const float *at) { return _mm256_loadu_ps(at); }
INLINE void store_floats(float *at, floats x) { _mm256_storeu_ps(at, x); }
INLINE floats load_halves(const uint8_t *at) {
    return _mm256_cvtph_ps(_mm_load_si128((const void *)at));
}
INLINE floats floats_of(float x) { return _mm256_set1_ps(x); }
INLINE floats to_floats(ints x) { return _mm256_cvtepi32_ps(x); }
INLINE floats multiply(floats a, floats b) { return _mm256_mul_ps(a, b); }
INLINE floats multiply_add(floats a, floats b, floats c) { return _mm256_fmadd_ps(a, b, c); }

#endif
