/* avxvnni.c - the table for AVX2 with AVX-VNNI: vpdpbusd on 256 bits, for CPUs without AVX-512. */
#include "kernels/x86.h"

#define TILE_TOKENS 6

INLINE __m256i unpack_part(enum fct_scheme SCHEME, __m256i codes, int PART) {
    if (SCHEME == FCT_Q8) return _mm256_xor_si256(codes, _mm256_set1_epi8((char)0x80));
    return _mm256_and_si256(_mm256_srli_epi16(codes, PART * (SCHEME == FCT_Q4 ? 4 : 2)),
                            _mm256_set1_epi8(SCHEME == FCT_Q4 ? 15 : 3));
}

/* Codes are offset by 8 (Q4), 128 (Q8, now that the sign bit is flipped) or 2 (Q2). */
INLINE __m256i start_sum(enum fct_scheme SCHEME, int32_t minus_8_sum) {
    return _mm256_set1_epi32(SCHEME == FCT_Q4   ? minus_8_sum
                             : SCHEME == FCT_Q8 ? (int32_t)((uint32_t)minus_8_sum * 16)
                                                : minus_8_sum / 4);
}

INLINE __m256i begin_run(enum fct_scheme SCHEME, __m256i sum) {
    (void)SCHEME;
    return sum;
}

/* Not the intrinsic: gcc 12 copies and spills around it in loops. */
INLINE __m256i add_dot4(enum fct_scheme SCHEME, __m256i run, __m256i weights, __m256i inputs) {
    (void)SCHEME;
    __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(run) : "x"(weights), "x"(inputs));
    return run;
}

INLINE __m256i end_run(enum fct_scheme SCHEME, __m256i sum, __m256i run) {
    (void)SCHEME, (void)sum;
    return run;
}

#include "kernels/float_256.h"
#include "kernels/matmul_256.h"

#include "kernels/attend_ops.h"
#include "kernels/matmul_f32.h"
#include "kernels/tables.h"

const struct fct_kernels fct_kernels_avxvnni = {
    .name = "avxvnni", .matmul = matmul, .matmul_f32 = matmul_f32, FCT_FLOAT_OPS, FCT_ATTEND_OPS};
