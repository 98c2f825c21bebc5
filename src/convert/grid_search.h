/* grid_search.h - weights that were trained for 4 bits and stored as bfloat16: the scale they were
 * trained with. */
#ifndef FCT_CONVERT_GRID_SEARCH_H
#define FCT_CONVERT_GRID_SEARCH_H

#include "convert/scale_search.h"

/* Finite weights x [n][16] as in fct_search_group_scales, each a bfloat16. Returns a bit a lane:
 * set where there is a float16 scale such that every weight is code * scale, rounded to bfloat16,
 * with codes -8 .. 7, and not all are zero; scale[lane] is it then, the nearest to the middle of
 * all that would do. Other lanes of scale stay as they are. */
unsigned fct_find_grid(const float (*x)[FCT_LANES], int n, float scale[FCT_LANES]);

#endif
