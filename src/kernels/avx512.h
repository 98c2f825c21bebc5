/* avx512.h - what the AVX-512 files share. */
#ifndef FCT_KERNELS_AVX512_H
#define FCT_KERNELS_AVX512_H

#include "kernels/x86.h"

/* Each lane of sums += the products of four unsigned weights and four signed activations. Not the
 * intrinsic: gcc 12 copies and spills around it in loops. */
INLINE __m512i add_dot4(__m512i sums, __m512i weights, __m512i x) {
    __asm__("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(weights), "v"(x));
    return sums;
}
/* The same with four activations from memory for all lanes. */
INLINE __m512i add_dot4_from(__m512i sums, __m512i weights, const int8_t *x) {
    __asm__("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(sums) : "v"(weights), "m"(*(const any_int32 *)x));
    return sums;
}
INLINE __m512i four_inputs(const int8_t *x) { return _mm512_set1_epi32(*(const any_int32 *)x); }

/* Where a sum has to start so that the offset of unsigned codes goes away, from -8 * the sum of the
 * activations: codes are offset by 8 (Q4), 128 (Q8, once the sign bit is flipped) or 2 (Q2). */
INLINE __m512i offset_sums(enum fct_scheme SCHEME, int32_t minus_8_sum) {
    return _mm512_set1_epi32(SCHEME == FCT_Q4   ? minus_8_sum
                             : SCHEME == FCT_Q8 ? (int32_t)((uint32_t)minus_8_sum * 16)
                                                : minus_8_sum / 4);
}

/* The weights of four inputs of 16 rows out of a unit. */
INLINE __m512i unpack_part(enum fct_scheme SCHEME, __m512i codes, int PART) {
    if (SCHEME == FCT_Q8) return _mm512_xor_si512(codes, _mm512_set1_epi8((char)0x80));
    return _mm512_and_si512(_mm512_srli_epi16(codes, (unsigned)(PART * (SCHEME == FCT_Q4 ? 4 : 2))),
                            _mm512_set1_epi8(SCHEME == FCT_Q4 ? 15 : 3));
}

/* 1 to 8 tokens: each weight is read once. */
void fct_avx512_matmul_few(const struct fct_matrix *w, const struct fct_act *act, int n_tokens,
                           int begin, int end, float *y, size_t y_stride);
/* Any number of tokens, worth it above 8. */
void fct_avx512_matmul_many(const struct fct_matrix *w, const struct fct_act *act, int n_tokens,
                            int begin, int end, float *y, size_t y_stride);

#endif
