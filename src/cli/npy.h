/* npy.h - float32 matrices as NumPy's .npy files. */
#ifndef FCT_CLI_NPY_H
#define FCT_CLI_NPY_H

#include "facet.h"

#define FCT_NPY_HEADER_BYTES 128

/* Header of a C-ordered little-endian float32 matrix, version 1.0: the data begins right behind it,
 * on a multiple of 64 bytes.
 * (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html) */
void fct_npy_header(char header[FCT_NPY_HEADER_BYTES], uint64_t n_rows, uint64_t n_columns);

#endif
