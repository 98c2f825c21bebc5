/* grid_search.c - weights that were trained for 4 bits and stored as bfloat16: the scale they were
 * trained with.
 *
 * The weight of largest magnitude is some code m times the scale, 1 <= |m| <= 8. With m assumed,
 * every other weight has its code, and each says between which bounds the scale must lie so that
 * code * scale rounds to just this bfloat16. Where all bounds have something in common, that is the
 * grid. Rounding to bfloat16 moves a weight by up to 2^-9 of itself, so 32 weights that were not
 * trained so have no grid in practice, and nearly all fail at the first of them. */
#include "convert/grid_search.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/half.h"
#include "base/wide.h"

typedef const float (*lanes)[FCT_LANES];

/* Code * scale is exact in float32: 4 bits times 11. */
static float rounded_to_bf16(float x) {
    uint32_t bits = fct_float_bits(x);
    return fct_bits_float((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000u);
}

/* The magnitude half a step above (below) that of a bfloat16 that is not zero. */
static float half_step(float x, bool above) {
    uint32_t bits = fct_float_bits(fabsf(x));
    return fct_bits_float(above ? bits + 0x8000 : bits - 0x8000);
}

static int nearest_code(float x, float inverse) { return (int)rintf(x * inverse); }

/* Does every weight of the lane come out? */
static bool reproduces(lanes x, int n, int lane, float scale) {
    float inverse = 1.0f / scale;
    for (int i = 0; i < n; i++) {
        int code = nearest_code(x[i][lane], inverse);
        if (code < -8 || code > 7 || rounded_to_bf16((float)code * scale) != x[i][lane])
            return false;
    }
    return true;
}

/* The bounds of |scale|, if it is about wish. False: nothing lies in them. */
static bool bounds_of(lanes x, int n, int lane, float wish, double *low, double *high) {
    float inverse = 1.0f / wish;
    *low = 0;
    *high = INFINITY;
    for (int i = 0; i < n; i++) {
        float v = x[i][lane];
        if (v == 0) continue;
        int code = nearest_code(v, inverse);
        if (code < -8 || code > 7 || code == 0) return false;
        double least = (double)half_step(v, false) / abs(code),
               most = (double)half_step(v, true) / abs(code);
        *low = least > *low ? least : *low;
        *high = most < *high ? most : *high;
        if (*low > *high) return false;
    }
    return true;
}

static float extreme_of(lanes x, int n, int lane) {
    float extreme = 0;
    for (int i = 0; i < n; i++)
        if (fabsf(x[i][lane]) > fabsf(extreme)) extreme = x[i][lane];
    return extreme;
}

/* Codes of either sign: with a negative scale, +8 can stand beside -7. Positive scales first. */
static bool find_in_lane(lanes x, int n, int lane, float *scale) {
    float extreme = extreme_of(x, n, lane);
    if (extreme == 0 || !isfinite(extreme)) return false;
    for (int sign = 1; sign >= -1; sign -= 2)
        for (int m = 1; m <= 8; m++) {
            double low, high;
            float wish = (float)sign * fabsf(extreme) / (float)m;
            if (!isfinite(1.0f / wish) || !bounds_of(x, n, lane, wish, &low, &high)) continue;
            float middle = fct_half_float(fct_float_half((float)((low + high) / 2)));
            if (middle == 0 || !isfinite(middle)) continue;
            if (!reproduces(x, n, lane, (float)sign * middle)) continue;
            *scale = (float)sign * middle;
            return true;
        }
    return false;
}

FCT_WIDE unsigned fct_find_grid(lanes x, int n, float scale[FCT_LANES]) {
    unsigned found = 0;
    for (int lane = 0; lane < FCT_LANES; lane++)
        if (find_in_lane(x, n, lane, &scale[lane])) found |= 1u << lane;
    return found;
}
