/* registers_512.h - what matrix products are written in, with 512 bits: 16 rows a register. */
#ifndef FCT_KERNELS_REGISTERS_512_H
#define FCT_KERNELS_REGISTERS_512_H

#include "kernels/x86.h"

/* Two strips x six tokens have 24 of 32 registers for sums. Eight take all of them, half of which
 * wait in memory: good where one pass is all there is, as the weights then come from there. */
enum { ROWS = 16, PASS_TOKENS = 8, PASS_OF_MANY = 6 };
#define STRIPS_BESIDE(TOKENS) 2

typedef __m512i ints;
typedef __m512 floats;

INLINE ints load_ints(const void *at) { return _mm512_loadu_si512(at); }
INLINE void store_ints(void *at, ints x) { _mm512_storeu_si512(at, x); }
INLINE ints ints_of(int32_t x) { return _mm512_set1_epi32(x); }
INLINE ints bytes_of(uint8_t x) { return _mm512_set1_epi8((char)x); }
INLINE ints and_bits(ints a, ints b) { return _mm512_and_si512(a, b); }
INLINE ints flip_bits(ints a, ints b) { return _mm512_xor_si512(a, b); }
INLINE ints shift_words(ints x, unsigned N) { return _mm512_srli_epi16(x, N); }

INLINE floats load_floats(const float *at) { return _mm512_loadu_ps(at); }
INLINE void store_floats(float *at, floats x) { _mm512_storeu_ps(at, x); }
INLINE floats load_halves(const uint8_t *at) {
    return _mm512_cvtph_ps(_mm256_load_si256((const void *)at));
}
INLINE floats floats_of(float x) { return _mm512_set1_ps(x); }
INLINE floats to_floats(ints x) { return _mm512_cvtepi32_ps(x); }
INLINE floats multiply(floats a, floats b) { return _mm512_mul_ps(a, b); }
INLINE floats multiply_add(floats a, floats b, floats c) { return _mm512_fmadd_ps(a, b, c); }

#endif
