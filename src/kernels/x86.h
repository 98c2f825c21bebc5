/* x86.h - what the files with intrinsics for x86 share. */
#ifndef FCT_KERNELS_X86_H
#define FCT_KERNELS_X86_H

#include "kernels/kernels.h"

#include <immintrin.h>

/* Arguments named in capitals are constants after inlining: loops over them disappear, and arrays
 * become registers. */
#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 16")

/* Four activations at any address. */
typedef int32_t __attribute__((may_alias, aligned(1))) any_int32;

#endif
