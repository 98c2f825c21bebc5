/* avxvnni.c - the table for AVX2 with AVX-VNNI: vpdpbusd on 256 bits, for CPUs without AVX-512. */
#include "kernels/registers_256.h"
#include "kernels/x86_dot.h"

/* Not the intrinsic: gcc 12 copies and spills around it in loops. */
INLINE ints add_dot4(enum fct_scheme SCHEME, ints sum, ints weights, ints inputs) {
    (void)SCHEME;
    __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum) : "x"(weights), "x"(inputs));
    return sum;
}

#include "kernels/float_256.h"
#include "kernels/x86_matmul.h"

#include "kernels/attend_ops.h"
#include "kernels/matmul_f32.h"
#include "kernels/tables.h"

const struct fct_kernels fct_kernels_avxvnni = {.name = "avxvnni",
                                                .matmul = matmul_strips,
                                                .matmul_f32 = matmul_f32,
                                                FCT_FLOAT_OPS,
                                                FCT_ATTEND_OPS};
