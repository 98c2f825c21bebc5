/* made_up.h - numbers and weights that nobody trained, for checking and measuring kernels: the same
 * ones for the same seed. */
#ifndef FCT_KERNELS_MADE_UP_H
#define FCT_KERNELS_MADE_UP_H

#include "kernels/blocks.h"

/* Both signs, magnitudes from 2^-10 to 2^3. */
void fct_made_up_floats(float *x, size_t n, uint32_t seed);
/* data [fct_matrix_bytes(w)]: random codes with scales of 0.01 to 0.11 (groups) or up to 0.08. */
void fct_made_up_matrix(const struct fct_matrix *w, uint8_t *data, uint32_t seed);

#endif
