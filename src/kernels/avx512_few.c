/* avx512_few.c - matrix times 1 to 8 tokens: reads weights as fast as memory gives them.
 *
 * A range of strips is walked in two halves side by side: two streams, each of them linear, which
 * memory serves better than one. A prefetch runs 4 KiB ahead in both. Weights are unpacked once, in
 * registers, for all tokens. */
#include "kernels/avx512.h"

enum { AHEAD = 4096 };

struct few {
    const struct fct_matrix *w;
    size_t strip_bytes;
    size_t gap, y_gap; /* from a strip to the one that is done beside it: bytes, floats of y */
    const int8_t *x;
    size_t x_stride;
    const int32_t *offsets;
    size_t offsets_stride;
    const float *scales;
    float *y;
    size_t y_stride;
};

/* Sums of up to two strips and eight tokens. */
#define EACH_SUM(s, t)                                                                             \
    UNROLL for (int t = 0; t < TOKENS; t++) UNROLL for (int s = 0; s < STRIPS; s++)

/* sums += 32 inputs, whose units begin at `at` and `gap` further. */
INLINE void add_32_inputs(enum fct_scheme SCHEME, int STRIPS, int TOKENS, const struct few *f,
                          const uint8_t *at, const int8_t *x, __m512i sums[2][8]) {
    const int PARTS = PARTS_OF(SCHEME), UNITS = 8 / PARTS;
    UNROLL for (int unit = 0; unit < UNITS; unit++) {
        __m512i codes[2];
        UNROLL for (int s = 0; s < STRIPS; s++) {
            const uint8_t *line = at + (size_t)s * f->gap + 64 * unit;
            _mm_prefetch(line + AHEAD, _MM_HINT_T0);
            codes[s] = _mm512_load_si512(line);
        }
        UNROLL for (int part = 0; part < PARTS; part++) {
            __m512i weights[2];
            UNROLL for (int s = 0; s < STRIPS; s++) weights[s] =
                unpack_part(SCHEME, codes[s], part);
            UNROLL for (int t = 0; t < TOKENS; t++) {
                const int8_t *four = x + (size_t)t * f->x_stride + 4 * (unit * PARTS + part);
                if (STRIPS == 1) {
                    sums[0][t] = add_dot4_from(sums[0][t], weights[0], four);
                } else {
                    __m512i inputs = four_inputs(four);
                    sums[0][t] = add_dot4(sums[0][t], weights[0], inputs);
                    sums[1][t] = add_dot4(sums[1][t], weights[1], inputs);
                }
            }
        }
    }
}

/* The sums over one group, or over a row. */
INLINE void sum_inputs(enum fct_scheme SCHEME, int STRIPS, int TOKENS, const struct few *f,
                       const uint8_t *at, int n_inputs, const int8_t *x, const int32_t *offsets,
                       __m512i sums[2][8]) {
    EACH_SUM(s, t) sums[s][t] = offset_sums(SCHEME, offsets[(size_t)t * f->offsets_stride]);
    for (int i = 0; i < n_inputs; i += 32, at += 64 * 8 / PARTS_OF(SCHEME))
        add_32_inputs(SCHEME, STRIPS, TOKENS, f, at, x + i, sums);
}

INLINE void write(int STRIPS, int TOKENS, const struct few *f, __m512 a[2][8], float *y) {
    EACH_SUM(s, t)
    _mm512_storeu_ps(y + (size_t)t * f->y_stride + (size_t)s * f->y_gap,
                     _mm512_mul_ps(a[s][t], _mm512_set1_ps(f->scales[t])));
}

INLINE void grouped(enum fct_scheme SCHEME, int STRIPS, int TOKENS, const struct few *f,
                    const uint8_t *at, float *y) {
    const size_t group_bytes =
        (size_t)f->w->group * FCT_STRIP * (size_t)fct_scheme_bits(SCHEME) / 8;
    const uint8_t *end = at + f->strip_bytes;
    const int8_t *x = f->x;
    const int32_t *offsets = f->offsets;
    __m512 a[2][8];
    EACH_SUM(s, t) a[s][t] = _mm512_setzero_ps();
    while (at < end) {
        const uint8_t *halves = at;
        UNROLL for (int s = 0; s < STRIPS; s++)
            _mm_prefetch(at + (size_t)s * f->gap + AHEAD, _MM_HINT_T0);
        at += 64;
        for (int group = 0; group < 2; group++, at += group_bytes, x += f->w->group, halves += 32) {
            __m512i sums[2][8];
            sum_inputs(SCHEME, STRIPS, TOKENS, f, at, f->w->group, x, offsets++, sums);
            UNROLL for (int s = 0; s < STRIPS; s++) {
                const void *half = halves + (size_t)s * f->gap;
                __m512 scale = _mm512_cvtph_ps(_mm256_load_si256(half));
                UNROLL for (int t = 0; t < TOKENS; t++) a[s][t] =
                    _mm512_fmadd_ps(_mm512_cvtepi32_ps(sums[s][t]), scale, a[s][t]);
            }
        }
    }
    write(STRIPS, TOKENS, f, a, y);
}

INLINE void by_row(enum fct_scheme SCHEME, int STRIPS, int TOKENS, const struct few *f,
                   const uint8_t *at, float *y) {
    const uint8_t *end = at + f->strip_bytes - 64;
    int n_inputs = fct_padded_columns(SCHEME, 0, f->w->columns);
    __m512 a[2][8];
    __m512i sums[2][8];
    sum_inputs(SCHEME, STRIPS, TOKENS, f, at, n_inputs, f->x, f->offsets, sums);
    UNROLL for (int s = 0; s < STRIPS; s++) {
        __m512 scale = _mm512_load_ps((const float *)(end + (size_t)s * f->gap));
        UNROLL for (int t = 0; t < TOKENS; t++) a[s][t] =
            _mm512_mul_ps(_mm512_cvtepi32_ps(sums[s][t]), scale);
    }
    write(STRIPS, TOKENS, f, a, y);
}

INLINE void strips(enum fct_scheme SCHEME, int STRIPS, int TOKENS, const struct few *f, int strip) {
    const uint8_t *at = f->w->data + (size_t)strip * f->strip_bytes;
    float *y = f->y + (size_t)strip * FCT_STRIP;
    if (SCHEME != FCT_Q2 && f->w->group)
        grouped(SCHEME, STRIPS, TOKENS, f, at, y);
    else
        by_row(SCHEME, STRIPS, TOKENS, f, at, y);
}

INLINE void walk(enum fct_scheme SCHEME, int TOKENS, const struct few *f, int begin, int end) {
    int half = (end - begin) / 2;
    for (int strip = begin; strip < begin + half; strip++) strips(SCHEME, 2, TOKENS, f, strip);
    if (begin + 2 * half < end) strips(SCHEME, 1, TOKENS, f, end - 1);
}

INLINE void for_tokens(enum fct_scheme SCHEME, const struct few *f, int n_tokens, int begin,
                       int end) {
    switch (n_tokens) {
    case 1:
        walk(SCHEME, 1, f, begin, end);
        break;
    case 2:
        walk(SCHEME, 2, f, begin, end);
        break;
    case 3:
        walk(SCHEME, 3, f, begin, end);
        break;
    case 4:
        walk(SCHEME, 4, f, begin, end);
        break;
    case 5:
        walk(SCHEME, 5, f, begin, end);
        break;
    case 6:
        walk(SCHEME, 6, f, begin, end);
        break;
    case 7:
        walk(SCHEME, 7, f, begin, end);
        break;
    case 8:
        walk(SCHEME, 8, f, begin, end);
        break;
    }
}

void fct_avx512_matmul_few(const struct fct_matrix *w, const struct fct_act *act, int n_tokens,
                           int begin, int end, float *y, size_t y_stride) {
    const size_t strip_bytes = fct_strip_bytes(w->scheme, w->group, w->columns),
                 half = (size_t)(end - begin) / 2;
    struct few f = {w,
                    strip_bytes,
                    half * strip_bytes,
                    half * FCT_STRIP,
                    act->codes,
                    (size_t)act->stride,
                    act->sums + fct_act_sums_at(act->stride, w->group),
                    (size_t)fct_act_sums(act->stride),
                    act->scales,
                    y,
                    y_stride};
    switch (w->scheme) {
    case FCT_Q4:
        for_tokens(FCT_Q4, &f, n_tokens, begin, end);
        break;
    case FCT_Q8:
        for_tokens(FCT_Q8, &f, n_tokens, begin, end);
        break;
    case FCT_Q2:
        for_tokens(FCT_Q2, &f, n_tokens, begin, end);
        break;
    case FCT_F32:
        break;
    }
}
