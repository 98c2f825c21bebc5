/* scale_search.h - the scale that loses least when weights become codes of 4 bits, or of 8. */
#ifndef FCT_CONVERT_SCALE_SEARCH_H
#define FCT_CONVERT_SCALE_SEARCH_H

enum { FCT_LANES = 16 };

/* Finite weights x [n][16], value = code * scale with codes -8 .. 7. Sixteen groups side by side,
 * one a lane: scale[lane] is the float16 (as a float) with the least squared error of those tried,
 * the error of x[i] counted importance[i] times (finite, not negative; NULL: |x[i]| times). Among
 * them are GGUF's Q4_0 rule, absmax / 7, and the extreme weight at every code, so that a group that
 * lies on a 4-bit grid comes out on it. 0 if all weights are zero or too small for float16;
 * infinite if they are too large for it. */
void fct_search_group_scales(const float (*x)[FCT_LANES], int n, const float *importance,
                             float scale[FCT_LANES]);

/* The same for codes -127 .. 127, of weights that were codes of fewer bits, as a GGUF file's: tried
 * are the extreme weight at 127, and at every code down to 96. NULL: all errors count alike. */
void fct_search_fine_scales(const float (*x)[FCT_LANES], int n, const float *importance,
                            float scale[FCT_LANES]);

/* Of 4 bits, for one block of 16 n weights that share a float32 scale. */
float fct_search_block_scale(const float (*x)[FCT_LANES], int n);

/* GGUF's Q4_0 rule alone: the weight of largest magnitude, with its sign, becomes code -8. */
void fct_absmax_group_scales(const float (*x)[FCT_LANES], int n, float scale[FCT_LANES]);
float fct_absmax_block_scale(const float (*x)[FCT_LANES], int n);

/* code[i][lane] = x / scale, to the nearest even, within lowest .. highest; 0 where the scale is 0.
 * |x / scale| < 2^22. */
void fct_round_codes(const float (*x)[FCT_LANES], int n, const float scale[FCT_LANES], float lowest,
                     float highest, float (*code)[FCT_LANES]);

#endif
