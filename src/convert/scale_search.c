/* scale_search.c - the scale that loses least when weights become codes of 4 bits, or of 8.
 *
 * Everything is done for 16 lanes at once, each lane its own sum in order of i, in the compiler's
 * vectors: whatever registers a machine has, the bits are the same, and so is the file. */
#include "convert/scale_search.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/half.h"
#include "base/wide.h"

/* The extreme weight (largest magnitude, with its sign) divided by these. -8: GGUF's Q4_0. 8: the
 * same mirrored, the extreme is clipped to 7. 7 down to 1: the extreme lies on that code. Beyond 8:
 * the extreme is clipped for the sake of the others; between: the extreme falls between codes. */
static const float divisors[] = {-8.0f, 7.0f, 8.0f, -7.5f, -8.5f, -9.0f, 7.5f, 8.5f,
                                 6.5f,  6.0f, 5.0f, 4.0f,  3.0f,  2.0f,  1.0f};
enum { N_DIVISORS = sizeof divisors / sizeof *divisors, N_REFITS = 2 };

/* Codes of 8 bits. Weights that were codes of up to 5 bits and a scale have an extreme of 1 to 16
 * steps, which divides one of these: there all of them are whole again. */
enum { MOST_FINE = 127, LEAST_FINE = 96 };

typedef const float (*lanes)[FCT_LANES];
#define COARSE .lowest = -8.0f, .highest = 7.0f

struct search {
    lanes x;
    int n;
    const float *importance; /* [n]; NULL: all alike, or by their size */
    bool by_size;            /* the error of a large weight counts more */
    float lowest, highest;   /* codes */
    bool shared;             /* all lanes have one scale, a float32; else each its own, a float16 */
    float scale[FCT_LANES], error[FCT_LANES]; /* the best so far */
};

/* Added and taken away again, it leaves a float without its fraction, rounded to the nearest even
 * (|v| < 2^22). */
static const float ROUNDER = 0x1.8p23f;

typedef float floats __attribute__((vector_size(4 * FCT_LANES), aligned(4), may_alias));
typedef int32_t masks __attribute__((vector_size(4 * FCT_LANES), aligned(4), may_alias));

#define FLOATS(array) (*(const floats *)(array))

/* To whole numbers in [lowest, highest]; a NaN stays one. */
#define SELECT(condition, a, b) ((floats)(((condition) & (masks)(a)) | (~(condition) & (masks)(b))))
static inline __attribute__((always_inline)) void round_to_codes(floats *v, float lowest,
                                                                 float highest) {
    floats least = (floats){0} + lowest, most = (floats){0} + highest;
    *v = (*v + ROUNDER) - ROUNDER;
    *v = SELECT(*v < least, least, *v);
    *v = SELECT(*v > most, most, *v);
}

static void invert(const float scale[FCT_LANES], float inverse[FCT_LANES]) {
    for (int r = 0; r < FCT_LANES; r++) inverse[r] = scale[r] == 0.0f ? 0.0f : 1.0f / scale[r];
}

FCT_WIDE void fct_round_codes(lanes x, int n, const float scale[FCT_LANES], float lowest,
                              float highest, float (*code)[FCT_LANES]) {
    float inverse[FCT_LANES];
    invert(scale, inverse);
    for (int i = 0; i < n; i++) {
        floats v = FLOATS(x[i]) * FLOATS(inverse);
        round_to_codes(&v, lowest, highest);
        memcpy(code[i], &v, sizeof v);
    }
}

/* Sums over lanes if they share a scale: every lane gets the whole. */
static void share(const struct search *s, float sum[FCT_LANES]) {
    if (!s->shared) return;
    float total = 0.0f;
    for (int r = 0; r < FCT_LANES; r++) total += sum[r];
    for (int r = 0; r < FCT_LANES; r++) sum[r] = total;
}

/* How much the errors of x[i] count. Without statistics a weight's own size stands for that of its
 * input: training lets weights grow where inputs are large. Were all alike, wide groups would clip
 * just those for the sake of the many small ones. */
static inline __attribute__((always_inline)) void weigh(const struct search *s, int i,
                                                        floats *weight) {
    if (s->importance)
        *weight = (floats){0} + s->importance[i];
    else if (s->by_size)
        *weight = (floats)((masks)FLOATS(s->x[i]) & 0x7FFFFFFF);
    else
        *weight = (floats){0} + 1.0f;
}

/* The squared error of every lane with these scales. */
FCT_WIDE static void measure(const struct search *s, const float scale[FCT_LANES],
                             float error[FCT_LANES]) {
    float inverse[FCT_LANES];
    floats sum = {0};
    invert(scale, inverse);
    for (int i = 0; i < s->n; i++) {
        floats x = FLOATS(s->x[i]), code = x * FLOATS(inverse);
        round_to_codes(&code, s->lowest, s->highest);
        floats left = x - code * FLOATS(scale), weight;
        weigh(s, i, &weight);
        sum += weight * (left * left);
    }
    memcpy(error, &sum, sizeof sum);
    share(s, error);
}

/* What can be stored of a scale: a float16, or a float32 that is not so small that its inverse
 * overflows. Zero has no sign. */
static float storable(const struct search *s, float scale) {
    if (!s->shared) return fct_half_float(fct_float_half(scale)) + 0.0f;
    return fabsf(scale) < FLT_MIN ? 0.0f : scale;
}

/* Keeps the candidate in the lanes where it is better. An infinite scale has a NaN for an error:
 * nothing is better, and it is better than nothing. */
static void try_scales(struct search *s, const float wish[FCT_LANES]) {
    float scale[FCT_LANES], error[FCT_LANES];
    for (int r = 0; r < FCT_LANES; r++) scale[r] = storable(s, wish[r]);
    measure(s, scale, error);
    for (int r = 0; r < FCT_LANES; r++)
        if (error[r] < s->error[r]) {
            s->scale[r] = scale[r];
            s->error[r] = error[r];
        }
}

/* The weight of largest magnitude, with its sign; the first of equals. */
static void find_extremes(const struct search *s, float extreme[FCT_LANES]) {
    float best[FCT_LANES] = {0};
    for (int i = 0; i < s->n; i++)
        for (int r = 0; r < FCT_LANES; r++)
            best[r] = fabsf(s->x[i][r]) > fabsf(best[r]) ? s->x[i][r] : best[r];
    for (int r = 1; s->shared && r < FCT_LANES; r++)
        if (fabsf(best[r]) > fabsf(best[0])) best[0] = best[r];
    for (int r = 0; r < FCT_LANES; r++) extreme[r] = s->shared ? best[0] : best[r];
}

/* The scale that fits best to the codes that the present one gives: sum(w x q) / sum(w q q). */
FCT_WIDE static void refit(struct search *s) {
    float xq[FCT_LANES], qq[FCT_LANES], inverse[FCT_LANES], scale[FCT_LANES];
    floats x_by_code = {0}, code_by_code = {0};
    invert(s->scale, inverse);
    for (int i = 0; i < s->n; i++) {
        floats x = FLOATS(s->x[i]), code = x * FLOATS(inverse), weight;
        round_to_codes(&code, s->lowest, s->highest);
        weigh(s, i, &weight);
        x_by_code += weight * (x * code);
        code_by_code += weight * (code * code);
    }
    memcpy(xq, &x_by_code, sizeof xq);
    memcpy(qq, &code_by_code, sizeof qq);
    share(s, xq);
    share(s, qq);
    for (int r = 0; r < FCT_LANES; r++) scale[r] = qq[r] > 0.0f ? xq[r] / qq[r] : s->scale[r];
    try_scales(s, scale);
}

static void take_absmax(struct search *s, const float extreme[FCT_LANES]) {
    for (int r = 0; r < FCT_LANES; r++) s->scale[r] = storable(s, extreme[r] / divisors[0]);
}

static void search(struct search *s) {
    float extreme[FCT_LANES], scale[FCT_LANES];
    find_extremes(s, extreme);
    take_absmax(s, extreme);
    measure(s, s->scale, s->error);
    for (int c = 1; c < N_DIVISORS; c++) {
        for (int r = 0; r < FCT_LANES; r++) scale[r] = extreme[r] / divisors[c];
        try_scales(s, scale);
    }
    for (int i = 0; i < N_REFITS; i++) refit(s);
}

void fct_search_group_scales(lanes x, int n, const float *importance, float scale[FCT_LANES]) {
    struct search s = {COARSE, .x = x, .n = n, .importance = importance, .by_size = true};
    search(&s);
    memcpy(scale, s.scale, sizeof s.scale);
}

void fct_search_fine_scales(lanes x, int n, const float *importance, float scale[FCT_LANES]) {
    struct search s = {
        .x = x, .n = n, .importance = importance, .lowest = -MOST_FINE, .highest = MOST_FINE};
    float extreme[FCT_LANES], wish[FCT_LANES];
    find_extremes(&s, extreme);
    for (int r = 0; r < FCT_LANES; r++) s.scale[r] = storable(&s, fabsf(extreme[r]) / MOST_FINE);
    measure(&s, s.scale, s.error);
    for (int steps = MOST_FINE - 1; steps >= LEAST_FINE; steps--) {
        for (int r = 0; r < FCT_LANES; r++) wish[r] = fabsf(extreme[r]) / (float)steps;
        try_scales(&s, wish);
    }
    for (int i = 0; i < N_REFITS; i++) refit(&s);
    memcpy(scale, s.scale, sizeof s.scale);
}

float fct_search_block_scale(lanes x, int n) {
    struct search s = {COARSE, .x = x, .n = n, .shared = true};
    search(&s);
    return s.scale[0];
}

void fct_absmax_group_scales(lanes x, int n, float scale[FCT_LANES]) {
    struct search s = {COARSE, .x = x, .n = n};
    float extreme[FCT_LANES];
    find_extremes(&s, extreme);
    take_absmax(&s, extreme);
    memcpy(scale, s.scale, sizeof s.scale);
}

float fct_absmax_block_scale(lanes x, int n) {
    struct search s = {COARSE, .x = x, .n = n, .shared = true};
    float extreme[FCT_LANES];
    find_extremes(&s, extreme);
    take_absmax(&s, extreme);
    return s.scale[0];
}
