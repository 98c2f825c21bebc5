/* avx2.c - the table for AVX2 with FMA and F16C. */
#include "kernels/registers_256.h"

/* Q4 and Q2: vpmaddubsw multiplies unsigned codes with signed activations and adds two neighbours
 * in 16 bits. A sum over 32 inputs stays in 16 bits: 8 steps of 2 * 15 * 128 are 30,720, less than
 * 32,768. Q8: neither order of signs keeps two products of bytes in 16 bits, so even and odd bytes
 * are widened for vpmaddwd. */
INLINE ints unpack_part(enum fct_scheme SCHEME, ints codes, int PART) {
    if (SCHEME == FCT_Q8) return codes;
    return and_bits(shift_words(codes, PART * (SCHEME == FCT_Q4 ? 4 : 2)),
                    bytes_of(SCHEME == FCT_Q4 ? 15 : 3));
}

INLINE ints start_sum(enum fct_scheme SCHEME, int32_t minus_8_sum) {
    return ints_of(SCHEME == FCT_Q4 ? minus_8_sum : SCHEME == FCT_Q8 ? 0 : minus_8_sum / 4);
}

INLINE ints begin_run(enum fct_scheme SCHEME, ints sum) {
    return SCHEME == FCT_Q8 ? sum : ints_of(0);
}

INLINE ints even_bytes(ints bytes) { return _mm256_srai_epi16(_mm256_slli_epi16(bytes, 8), 8); }
INLINE ints odd_bytes(ints bytes) { return _mm256_srai_epi16(bytes, 8); }

INLINE ints add_dot4(enum fct_scheme SCHEME, ints run, ints weights, ints inputs) {
    if (SCHEME != FCT_Q8) return _mm256_add_epi16(run, _mm256_maddubs_epi16(weights, inputs));
    run = _mm256_add_epi32(run, _mm256_madd_epi16(even_bytes(weights), even_bytes(inputs)));
    return _mm256_add_epi32(run, _mm256_madd_epi16(odd_bytes(weights), odd_bytes(inputs)));
}

INLINE ints end_run(enum fct_scheme SCHEME, ints sum, ints run) {
    return SCHEME == FCT_Q8 ? run
                            : _mm256_add_epi32(sum, _mm256_madd_epi16(run, _mm256_set1_epi16(1)));
}

#include "kernels/float_256.h"
#include "kernels/x86_matmul.h"

#include "kernels/attend_ops.h"
#include "kernels/matmul_f32.h"
#include "kernels/tables.h"

const struct fct_kernels fct_kernels_avx2 = {.name = "avx2",
                                             .matmul = matmul_strips,
                                             .matmul_f32 = matmul_f32,
                                             FCT_FLOAT_OPS,
                                             FCT_ATTEND_OPS};
