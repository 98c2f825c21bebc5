/* x86_dot.h - weights and sums for CPUs that have vpdpbusd, which multiplies unsigned with signed
 * bytes.
 *
 * Included behind registers_*.h by a file that then defines add_dot4. */
#ifndef FCT_KERNELS_X86_DOT_H
#define FCT_KERNELS_X86_DOT_H

/* The weights of four inputs of each row out of a unit. */
INLINE ints unpack_part(enum fct_scheme SCHEME, ints codes, int PART) {
    if (SCHEME == FCT_Q8) return flip_bits(codes, bytes_of(0x80));
    return and_bits(shift_words(codes, PART * (SCHEME == FCT_Q4 ? 4 : 2)),
                    bytes_of(SCHEME == FCT_Q4 ? 15 : 3));
}

/* Codes are offset by 8 (Q4), 128 (Q8, now that the sign bit is flipped) or 2 (Q2). */
INLINE ints start_sum(enum fct_scheme SCHEME, int32_t minus_8_sum) {
    return ints_of(SCHEME == FCT_Q4   ? minus_8_sum
                   : SCHEME == FCT_Q8 ? (int32_t)((uint32_t)minus_8_sum * 16)
                                      : minus_8_sum / 4);
}

INLINE ints begin_run(enum fct_scheme SCHEME, ints sum) {
    (void)SCHEME;
    return sum;
}
INLINE ints end_run(enum fct_scheme SCHEME, ints sum, ints run) {
    (void)SCHEME, (void)sum;
    return run;
}

#endif
