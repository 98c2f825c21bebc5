/* measure_kernels.h - check_kernels --bench. Lists are names with commas between, NULL: all. */
#ifndef FCT_TESTS_MEASURE_KERNELS_H
#define FCT_TESTS_MEASURE_KERNELS_H

int measure_kernels(int threads, const char *tables, const char *only_schemes,
                    const char *only_shapes);

#endif
