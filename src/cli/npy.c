/* npy.c - the header of NumPy's .npy files. */
#include "cli/npy.h"

#include <stdio.h>
#include <string.h>

#define PREFIX_BYTES 10 /* magic, version, length of the rest */

void fct_npy_header(char header[FCT_NPY_HEADER_BYTES], uint64_t n_rows, uint64_t n_columns) {
    char text[FCT_NPY_HEADER_BYTES];
    unsigned rest = FCT_NPY_HEADER_BYTES - PREFIX_BYTES;
    int n = snprintf(text, sizeof text,
                     "{'descr': '<f4', 'fortran_order': False, 'shape': (%llu, %llu), }",
                     (unsigned long long)n_rows, (unsigned long long)n_columns);
    memset(header, ' ', FCT_NPY_HEADER_BYTES);
    memcpy(header, "\x93NUMPY\x01\x00", 8);
    header[8] = (char)(rest & 0xFF);
    header[9] = (char)(rest >> 8);
    memcpy(header + PREFIX_BYTES, text,
           (size_t)n); /* 57 characters and two numbers of at most 20 */
    header[FCT_NPY_HEADER_BYTES - 1] = '\n';
}
