/* tables.h - the tables that exist; select.c picks one. */
#ifndef FCT_KERNELS_TABLES_H
#define FCT_KERNELS_TABLES_H

#include "kernels/kernels.h"

extern const struct fct_kernels fct_kernels_portable;
#if defined(__x86_64__)
extern const struct fct_kernels fct_kernels_avx2, fct_kernels_avxvnni, fct_kernels_avx512,
    fct_kernels_amx;
/* Does a product of tiles come out? The process dies of it where they are refused. */
bool fct_amx_multiplies(void);
#elif defined(__aarch64__)
extern const struct fct_kernels fct_kernels_neon, fct_kernels_neon_dotprod, fct_kernels_neon_i8mm;
#endif

#endif
