/* quantize.h - floats into the layouts of kernels/blocks.h: strips of a matrix, rows of a table. */
#ifndef FCT_CONVERT_QUANTIZE_H
#define FCT_CONVERT_QUANTIZE_H

#include <stdatomic.h>

#include "facet.h"
#include "kernels/blocks.h"

/* Where numbers come from, for messages: a tensor and the row that x begins with. */
struct fct_rows_origin {
    const char *tensor;
    int first_row;
};

/* Groups of weights, those that are all zero not counted, and how many of them lie on a grid of 4
 * bits and come out as they were. */
struct fct_grid_count {
    _Atomic uint64_t n_groups, n_exact;
};

/* How scales are chosen; all zero: of 4 bits by searching, large weights with more care, of 8 by
 * the largest weight. */
struct fct_rounding {
    bool absmax;                 /* not searched: GGUF's Q4_0 rule */
    const float *importance;     /* [columns]: how much the error of each column counts; or NULL */
    struct fct_grid_count *grid; /* the weights are bfloat16, perhaps trained for 4 bits: first look
                                    whether a group lies on a grid, and count; or NULL */
    bool fine; /* scales of 8 bits are searched, too: the weights are codes of fewer bits, which 8
                  can hold nearly as they are */
};

/* Writes one strip, fct_strip_bytes(scheme, group, columns) long, from its n_rows (1 .. 16) rows x
 * [n_rows][columns]; rows that are missing become zeros. Schemes: FCT_F32; FCT_Q8 with group 32 or
 * 0; FCT_Q4 with group 32, 64 or 128. FCT_ERR_NUMERIC if a weight is NaN or infinite, or too large
 * for a float16 scale: the message has its place. */
fct_status fct_quantize_strip(enum fct_scheme scheme, int group, struct fct_rounding rounding,
                              const float *x, int n_rows, int columns, uint8_t *strip,
                              struct fct_rows_origin origin, fct_error *err);

/* Puts group g of a strip with groups in its place: codes [group][16 rows], whole numbers (q4: -8
 * .. 7, q8: -128 .. 127), and the float16 scales of the rows. */
void fct_pack_group(enum fct_scheme scheme, int group, int g, const float (*codes)[FCT_STRIP],
                    const uint16_t scales[FCT_STRIP], uint8_t *strip);

/* Puts inputs [FCT_PACK_CHUNK c, FCT_PACK_CHUNK (c + 1)) of a strip with one scale a row (q8, q4,
 * q2) in their place: codes as above, q2: -2 .. 1. The scales are the caller's to write. */
enum { FCT_PACK_CHUNK = 64, FCT_PACK_MAX_GROUP = 128 };
void fct_pack_chunk(enum fct_scheme scheme, int c, const float (*codes)[FCT_STRIP], uint8_t *strip);

/* Writes one row of a table, fct_table_row_bytes(scheme, blocks, columns) long. Schemes: FCT_F32,
 * FCT_Q8, FCT_Q4, the last with blocks of a multiple of 16 inputs. What is looked up is multiplied
 * with nothing: importance does not count. Fails as fct_quantize_strip does. */
fct_status fct_quantize_table_row(enum fct_scheme scheme, int blocks, struct fct_rounding rounding,
                                  const float *x, int columns, uint8_t *row,
                                  struct fct_rows_origin origin, fct_error *err);

/* FCT_ERR_NUMERIC if one of x [n_rows][columns] is NaN or infinite. */
fct_status fct_check_finite(const float *x, size_t n_rows, int columns,
                            struct fct_rows_origin origin, fct_error *err);

/* The scheme and group that a matrix of this many columns gets when `scheme` with `group` was asked
 * for: the group must divide the columns, or else the largest of 128, 64, 32 that does and exists
 * for the scheme, or else int8 with one scale a row. */
void fct_choose_layout(enum fct_scheme *scheme, int *group, int columns);

#endif
