/* x86.h - what the files with intrinsics for x86 share. */
#ifndef FCT_KERNELS_X86_H
#define FCT_KERNELS_X86_H

#include "kernels/kernels.h"

#include <immintrin.h>

/* Arguments named in capitals are constants after inlining: loops over them disappear, and arrays
 * become registers. */
#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 16")

/* Pieces of four inputs a row in a unit. */
#define PARTS_OF(SCHEME) ((SCHEME) == FCT_Q8 ? 1 : (SCHEME) == FCT_Q4 ? 2 : 4)

/* Four activations at any address. */
typedef int32_t __attribute__((may_alias, aligned(1))) any_int32;

#endif
