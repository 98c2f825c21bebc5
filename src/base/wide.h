/* wide.h - plain C loops compiled for wide registers too, one of them chosen when the program
 * starts.
 *
 * For work outside the network (kernels/ has tables of its own), where the same loop gives the same
 * bits at every width: nothing is fused (-ffp-contract=off), no sum is reordered. */
#ifndef FCT_BASE_WIDE_H
#define FCT_BASE_WIDE_H

/* Not under a sanitizer, nor with clang (the fuzz targets), whose version 14 gives such functions
 * names that other files do not find. */
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__) &&                        \
    !defined(__SANITIZE_ADDRESS__) && defined(__OPTIMIZE__)
#define FCT_WIDE __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define FCT_WIDE
#endif

#endif
