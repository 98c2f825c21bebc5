/* x86.h - what the files with intrinsics for x86 share. */
#ifndef FCT_KERNELS_X86_H
#define FCT_KERNELS_X86_H

#include "kernels/kernels.h"

#include <immintrin.h>

/* Arguments named in capitals are constants after inlining: loops over them disappear, and arrays
 * become registers. */
#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 16")

/* call(CONSTANT, ...) for the scheme, or for a count from 1 to MOST, a constant up to 8. */
#define WITH_SCHEME(scheme, call, ...)                                                             \
    switch (scheme) {                                                                              \
    case FCT_Q4:                                                                                   \
        call(FCT_Q4, __VA_ARGS__);                                                                 \
        break;                                                                                     \
    case FCT_Q8:                                                                                   \
        call(FCT_Q8, __VA_ARGS__);                                                                 \
        break;                                                                                     \
    case FCT_Q2:                                                                                   \
        call(FCT_Q2, __VA_ARGS__);                                                                 \
        break;                                                                                     \
    case FCT_F32:                                                                                  \
        break;                                                                                     \
    }
#define COUNT_CASE_(COUNT, MOST, call, ...)                                                        \
    case COUNT:                                                                                    \
        if (COUNT <= (MOST)) call(COUNT <= (MOST) ? COUNT : 1, __VA_ARGS__);                       \
        break;
#define WITH_COUNT(count, MOST, call, ...)                                                         \
    switch (count) {                                                                               \
        COUNT_CASE_(1, MOST, call, __VA_ARGS__)                                                    \
        COUNT_CASE_(2, MOST, call, __VA_ARGS__)                                                    \
        COUNT_CASE_(3, MOST, call, __VA_ARGS__)                                                    \
        COUNT_CASE_(4, MOST, call, __VA_ARGS__)                                                    \
        COUNT_CASE_(5, MOST, call, __VA_ARGS__)                                                    \
        COUNT_CASE_(6, MOST, call, __VA_ARGS__)                                                    \
        COUNT_CASE_(7, MOST, call, __VA_ARGS__)                                                    \
        COUNT_CASE_(8, MOST, call, __VA_ARGS__)                                                    \
    }

/* Pieces of four inputs a row in a unit. */
#define PARTS_OF(SCHEME) ((SCHEME) == FCT_Q8 ? 1 : (SCHEME) == FCT_Q4 ? 2 : 4)

/* Four activations at any address. */
typedef int32_t __attribute__((may_alias, aligned(1))) any_int32;

/* call(TYPE, N, ...) with constants for the type of the cache and the number of queries; whoever
 * uses FOR_TYPES says with FOR_QUERIES up to how many. */
#define FOR_1_TO_4(TYPE, n, call, ...)                                                             \
    switch (n) {                                                                                   \
    case 1:                                                                                        \
        call(TYPE, 1, __VA_ARGS__);                                                                \
        break;                                                                                     \
    case 2:                                                                                        \
        call(TYPE, 2, __VA_ARGS__);                                                                \
        break;                                                                                     \
    case 3:                                                                                        \
        call(TYPE, 3, __VA_ARGS__);                                                                \
        break;                                                                                     \
    default:                                                                                       \
        call(TYPE, 4, __VA_ARGS__);                                                                \
        break;                                                                                     \
    }
#define FOR_TYPES(type, n, call, ...)                                                              \
    switch (type) {                                                                                \
    case FCT_KV_TYPE_F32:                                                                          \
        FOR_QUERIES(FCT_KV_TYPE_F32, n, call, __VA_ARGS__) break;                                  \
    case FCT_KV_TYPE_F16:                                                                          \
        FOR_QUERIES(FCT_KV_TYPE_F16, n, call, __VA_ARGS__) break;                                  \
    case FCT_KV_TYPE_Q8:                                                                           \
        FOR_QUERIES(FCT_KV_TYPE_Q8, n, call, __VA_ARGS__) break;                                   \
    }

#endif
