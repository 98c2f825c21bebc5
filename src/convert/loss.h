/* loss.h - what quantizing lost: the error of all weights against their size. */
#ifndef FCT_CONVERT_LOSS_H
#define FCT_CONVERT_LOSS_H

#include "kernels/blocks.h"

struct fct_loss {
    double error, power; /* sums of squares: of what differs, of the weights themselves */
};
/* Adds the weights x [n_rows][columns] against the strip, or the table's row, made from them. */
void fct_loss_add_strip(struct fct_loss *loss, enum fct_scheme scheme, int group, const float *x,
                        int n_rows, int columns, const uint8_t *strip);
void fct_loss_add_table_row(struct fct_loss *loss, enum fct_scheme scheme, int blocks,
                            const float *x, int columns, const uint8_t *row);
/* Root mean square of the error, relative to that of the weights; 0 without any. */
double fct_loss_relative(const struct fct_loss *loss);

#endif
