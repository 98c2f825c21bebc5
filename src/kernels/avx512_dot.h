/* avx512_dot.h - dot products of bytes with 512 bits: for avx512.c and amx.c. */
#ifndef FCT_KERNELS_AVX512_DOT_H
#define FCT_KERNELS_AVX512_DOT_H

#include "kernels/registers_512.h"
#include "kernels/x86_dot.h"

/* Each lane of the sum += the products of four unsigned weights and four signed activations. Not
 * the intrinsic: gcc 12 copies and spills around it in loops. */
INLINE ints add_dot4(enum fct_scheme SCHEME, ints sum, ints weights, ints inputs) {
    (void)SCHEME;
    __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(weights), "v"(inputs));
    return sum;
}

#endif
