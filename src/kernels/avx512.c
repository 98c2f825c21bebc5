/* avx512.c - the table for AVX-512 with VNNI. */
#include "kernels/avx512_dot.h"

#include "kernels/x86_matmul.h"

#include "kernels/float_512.h"

#include "kernels/attend_ops.h"
#include "kernels/matmul_f32.h"
#include "kernels/tables.h"

const struct fct_kernels fct_kernels_avx512 = {.name = "avx512",
                                               .matmul = matmul_strips,
                                               .matmul_f32 = matmul_f32,
                                               FCT_FLOAT_OPS,
                                               FCT_ATTEND_OPS};
