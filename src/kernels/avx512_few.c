/* avx512_few.c - matrix times 1 to 8 tokens: reads weights as fast as memory gives them.
 *
 * Two strips at once are two streams, which memory serves better than one; the prefetch runs 2 KiB
 * ahead and, at the end of a pair of strips, on into the next pair. Weights are unpacked once, in
 * registers, for all tokens. */
#include "kernels/avx512.h"

enum { AHEAD = 2048 };

/* sums[strip][token] += 32 inputs. `at` is the first strip's unit, the second one lies strip_bytes
 * further. */
INLINE void add_32_inputs(enum fct_scheme SCHEME, int STRIPS, int TOKENS, const uint8_t *at,
                          size_t strip_bytes, size_t ahead, const int8_t *x, size_t x_stride,
                          __m512i sums[2][8]) {
    const int PARTS = 8 / (SCHEME == FCT_Q8 ? 8 : SCHEME == FCT_Q4 ? 4 : 2), UNITS = 8 / PARTS;
    const __m512i mask = _mm512_set1_epi8(SCHEME == FCT_Q8   ? (char)0x80
                                          : SCHEME == FCT_Q4 ? 15
                                                             : 3);
    UNROLL for (int unit = 0; unit < UNITS; unit++) {
        __m512i codes[2];
        UNROLL for (int s = 0; s < STRIPS; s++) {
            const uint8_t *line = at + (size_t)s * strip_bytes + 64 * unit;
            _mm_prefetch(line + ahead, _MM_HINT_T0);
            codes[s] = _mm512_load_si512(line);
        }
        UNROLL for (int part = 0; part < PARTS; part++) {
            __m512i weights[2];
            UNROLL for (int s = 0; s < STRIPS; s++) weights[s] =
                SCHEME == FCT_Q8
                    ? _mm512_xor_si512(codes[s], mask)
                    : _mm512_and_si512(_mm512_srli_epi16(codes[s], (unsigned)(part * (8 / PARTS))),
                                       mask);
            UNROLL for (int t = 0; t < TOKENS; t++) {
                const int8_t *four = x + (size_t)t * x_stride + 4 * (unit * PARTS + part);
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

INLINE void start_sums(enum fct_scheme SCHEME, int STRIPS, int TOKENS, const int32_t *offsets,
                       size_t stride, __m512i sums[2][8]) {
    UNROLL for (int t = 0; t < TOKENS; t++) {
        sums[0][t] = offset_sums(SCHEME, offsets[(size_t)t * stride]);
        if (STRIPS == 2) sums[1][t] = sums[0][t];
    }
}

INLINE void write(int STRIPS, int TOKENS, __m512 a[2][8], const float *scales, float *y,
                  size_t y_stride) {
    UNROLL for (int t = 0; t < TOKENS; t++) UNROLL for (int s = 0; s < STRIPS; s++)
        _mm512_storeu_ps(y + (size_t)t * y_stride + 16 * s,
                         _mm512_mul_ps(a[s][t], _mm512_set1_ps(scales[t])));
}

/* One or two strips of a matrix with a scale a group. */
INLINE void grouped(enum fct_scheme SCHEME, int STRIPS, int TOKENS, const struct fct_matrix *w,
                    const uint8_t *at, const int8_t *x, size_t x_stride, const int32_t *offsets,
                    size_t offsets_stride, const float *scales, float *y, size_t y_stride) {
    const size_t strip_bytes = fct_strip_bytes(SCHEME, w->group, w->columns);
    const uint8_t *end = at + strip_bytes, *last = end - AHEAD;
    __m512 a[2][8];
    __m512i sums[2][8];
    UNROLL for (int t = 0; t < TOKENS; t++) UNROLL for (int s = 0; s < STRIPS; s++) a[s][t] =
        _mm512_setzero_ps();
    while (at < end) {
        const uint8_t *halves = at;
        size_t ahead = AHEAD + (STRIPS == 2 && at >= last ? strip_bytes : 0);
        UNROLL for (int s = 0; s < STRIPS; s++)
            _mm_prefetch(at + (size_t)s * strip_bytes + ahead, _MM_HINT_T0);
        at += 64;
        for (int group = 0; group < 2; group++) {
            start_sums(SCHEME, STRIPS, TOKENS, offsets++, offsets_stride, sums);
            for (int i = 0; i < w->group; i += 32) {
                add_32_inputs(SCHEME, STRIPS, TOKENS, at, strip_bytes, ahead, x, x_stride, sums);
                at += 64 * fct_scheme_bits(SCHEME);
                x += 32;
            }
            UNROLL for (int s = 0; s < STRIPS; s++) {
                const void *half = halves + (size_t)s * strip_bytes + 32 * group;
                __m512 scale = _mm512_cvtph_ps(_mm256_load_si256(half));
                UNROLL for (int t = 0; t < TOKENS; t++) a[s][t] =
                    _mm512_fmadd_ps(_mm512_cvtepi32_ps(sums[s][t]), scale, a[s][t]);
            }
        }
    }
    write(STRIPS, TOKENS, a, scales, y, y_stride);
}

/* One or two strips of a matrix with a scale a row. */
INLINE void by_row(enum fct_scheme SCHEME, int STRIPS, int TOKENS, const struct fct_matrix *w,
                   const uint8_t *at, const int8_t *x, size_t x_stride, const int32_t *offsets,
                   size_t offsets_stride, const float *scales, float *y, size_t y_stride) {
    const size_t strip_bytes = fct_strip_bytes(SCHEME, 0, w->columns);
    const uint8_t *end = at + strip_bytes - 64, *last = end - AHEAD;
    __m512 a[2][8];
    __m512i sums[2][8];
    start_sums(SCHEME, STRIPS, TOKENS, offsets, offsets_stride, sums);
    while (at < end) {
        size_t ahead = AHEAD + (STRIPS == 2 && at >= last ? strip_bytes : 0);
        add_32_inputs(SCHEME, STRIPS, TOKENS, at, strip_bytes, ahead, x, x_stride, sums);
        at += 64 * fct_scheme_bits(SCHEME);
        x += 32;
    }
    UNROLL for (int s = 0; s < STRIPS; s++) {
        __m512 scale = _mm512_load_ps((const float *)(end + (size_t)s * strip_bytes));
        UNROLL for (int t = 0; t < TOKENS; t++) a[s][t] =
            _mm512_mul_ps(_mm512_cvtepi32_ps(sums[s][t]), scale);
    }
    write(STRIPS, TOKENS, a, scales, y, y_stride);
}

INLINE void walk(enum fct_scheme SCHEME, int TOKENS, const struct fct_matrix *w,
                 const struct fct_act *act, int first, int begin, int end, float *y,
                 size_t y_stride) {
    const size_t strip_bytes = fct_strip_bytes(SCHEME, w->group, w->columns);
    const size_t x_stride = (size_t)act->stride, offsets_stride = (size_t)fct_act_sums(act->stride);
    const int8_t *x = act->codes + (size_t)first * x_stride;
    const int32_t *offsets =
        act->sums + (size_t)first * offsets_stride + fct_act_sums_at(act->stride, w->group);
    const float *scales = act->scales + first;
    int strip = begin;
    y += (size_t)first * y_stride;
    for (; strip + 2 <= end; strip += 2) {
        const uint8_t *at = w->data + (size_t)strip * strip_bytes;
        float *to = y + (size_t)strip * FCT_STRIP;
        if (SCHEME != FCT_Q2 && w->group)
            grouped(SCHEME, 2, TOKENS, w, at, x, x_stride, offsets, offsets_stride, scales, to,
                    y_stride);
        else
            by_row(SCHEME, 2, TOKENS, w, at, x, x_stride, offsets, offsets_stride, scales, to,
                   y_stride);
    }
    if (strip < end) {
        const uint8_t *at = w->data + (size_t)strip * strip_bytes;
        float *to = y + (size_t)strip * FCT_STRIP;
        if (SCHEME != FCT_Q2 && w->group)
            grouped(SCHEME, 1, TOKENS, w, at, x, x_stride, offsets, offsets_stride, scales, to,
                    y_stride);
        else
            by_row(SCHEME, 1, TOKENS, w, at, x, x_stride, offsets, offsets_stride, scales, to,
                   y_stride);
    }
}

INLINE void for_tokens(enum fct_scheme SCHEME, const struct fct_matrix *w,
                       const struct fct_act *act, int first, int n_tokens, int begin, int end,
                       float *y, size_t y_stride) {
    switch (n_tokens) {
    case 1:
        walk(SCHEME, 1, w, act, first, begin, end, y, y_stride);
        break;
    case 2:
        walk(SCHEME, 2, w, act, first, begin, end, y, y_stride);
        break;
    case 3:
        walk(SCHEME, 3, w, act, first, begin, end, y, y_stride);
        break;
    case 4:
        walk(SCHEME, 4, w, act, first, begin, end, y, y_stride);
        break;
    case 5:
        walk(SCHEME, 5, w, act, first, begin, end, y, y_stride);
        break;
    case 6:
        walk(SCHEME, 6, w, act, first, begin, end, y, y_stride);
        break;
    case 7:
        walk(SCHEME, 7, w, act, first, begin, end, y, y_stride);
        break;
    case 8:
        walk(SCHEME, 8, w, act, first, begin, end, y, y_stride);
        break;
    }
}

void fct_avx512_matmul_few(const struct fct_matrix *w, const struct fct_act *act, int first,
                           int n_tokens, int begin, int end, float *y, size_t y_stride) {
    switch (w->scheme) {
    case FCT_Q4:
        for_tokens(FCT_Q4, w, act, first, n_tokens, begin, end, y, y_stride);
        break;
    case FCT_Q8:
        for_tokens(FCT_Q8, w, act, first, n_tokens, begin, end, y, y_stride);
        break;
    case FCT_Q2:
        for_tokens(FCT_Q2, w, act, first, n_tokens, begin, end, y, y_stride);
        break;
    case FCT_F32:
        break;
    }
}
