/* float_256.h - attention over a block of the KV cache, and products of floats, with 256-bit
 * registers: for avx2.c and avxvnni.c.
 *
 * Two registers of 8 lanes x up to four queries or tokens at a time; of eight queries, the second
 * four find the block in L1. */
#ifndef FCT_KERNELS_FLOAT_256_H
#define FCT_KERNELS_FLOAT_256_H

#define FCT_OWN_ATTEND_BLOCKS

INLINE __m256 eight(enum fct_kv_type TYPE, const void *block, int i) {
    if (TYPE == FCT_KV_TYPE_F32) return _mm256_loadu_ps((const float *)block + i);
    if (TYPE == FCT_KV_TYPE_F16)
        return _mm256_cvtph_ps(_mm_loadu_si128((const void *)((const uint16_t *)block + i)));
    return _mm256_cvtepi32_ps(
        _mm256_cvtepi8_epi32(_mm_loadl_epi64((const void *)((const int8_t *)block + i))));
}

/* Lane = position. */
INLINE void score_queries(enum fct_kv_type TYPE, int N, const void *keys, int head_dim,
                          const float *queries, float *scores) {
    __m256 s[2][4];
    UNROLL for (int q = 0; q < N; q++) s[0][q] = s[1][q] = _mm256_setzero_ps();
    for (int d = 0; d < head_dim; d++) {
        __m256 upper = eight(TYPE, keys, d * FCT_KV_BLOCK),
               lower = eight(TYPE, keys, d * FCT_KV_BLOCK + 8);
        UNROLL for (int q = 0; q < N; q++) {
            __m256 query = _mm256_set1_ps(queries[(size_t)q * (size_t)head_dim + (size_t)d]);
            s[0][q] = _mm256_fmadd_ps(query, upper, s[0][q]);
            s[1][q] = _mm256_fmadd_ps(query, lower, s[1][q]);
        }
    }
    UNROLL for (int q = 0; q < N; q++) UNROLL for (int h = 0; h < 2; h++)
        _mm256_storeu_ps(scores + q * FCT_KV_CHUNK + 8 * h, s[h][q]);
}

/* Lane = 16 lanes of the head. */
INLINE void value_queries(enum fct_kv_type TYPE, int N, const void *values, int head_dim,
                          const float *weights, int begin, int end, float *out) {
    for (int d = 0; d < head_dim; d += 16) {
        __m256 o[2][4];
        UNROLL for (int q = 0; q < N; q++) UNROLL for (int h = 0; h < 2; h++) o[h][q] =
            _mm256_loadu_ps(out + (size_t)q * (size_t)head_dim + d + 8 * h);
        for (int p = begin; p < end; p++) {
            __m256 upper = eight(TYPE, values, (d + p) * 16),
                   lower = eight(TYPE, values, (d + p) * 16 + 8);
            UNROLL for (int q = 0; q < N; q++) {
                __m256 weight = _mm256_set1_ps(weights[q * FCT_KV_CHUNK + p]);
                o[0][q] = _mm256_fmadd_ps(weight, upper, o[0][q]);
                o[1][q] = _mm256_fmadd_ps(weight, lower, o[1][q]);
            }
        }
        UNROLL for (int q = 0; q < N; q++) UNROLL for (int h = 0; h < 2; h++)
            _mm256_storeu_ps(out + (size_t)q * (size_t)head_dim + d + 8 * h, o[h][q]);
    }
}

#define FOR_QUERIES(TYPE, n, call, ...) FOR_1_TO_4(TYPE, n, call, __VA_ARGS__)

static void score_block(enum fct_kv_type type, const void *keys, int head_dim, const float *queries,
                        int n, float *scores) {
    for (; n > 0; n -= 4, queries += 4 * (size_t)head_dim, scores += 4 * FCT_KV_CHUNK)
        FOR_TYPES(type, n, score_queries, keys, head_dim, queries, scores)
}

static void value_block(enum fct_kv_type type, const void *values, int head_dim,
                        const float *weights, int n, int begin, int end, float *out) {
    for (; n > 0; n -= 4, weights += 4 * FCT_KV_CHUNK, out += 4 * (size_t)head_dim)
        FOR_TYPES(type, n, value_queries, values, head_dim, weights, begin, end, out)
}

/* ---- products of floats: two registers a token ---- */

INLINE void add_products_of(int TOKENS, const float (*weights)[FCT_STRIP], int n, const float *x,
                            size_t x_stride, float (*a)[FCT_STRIP]) {
    __m256 sums[2][4];
    UNROLL for (int t = 0; t < TOKENS; t++) UNROLL for (int h = 0; h < 2; h++) sums[h][t] =
        _mm256_loadu_ps(a[t] + 8 * h);
    for (int i = 0; i < n; i++) {
        __m256 upper = _mm256_loadu_ps(weights[i]), lower = _mm256_loadu_ps(weights[i] + 8);
        UNROLL for (int t = 0; t < TOKENS; t++) {
            __m256 input = _mm256_set1_ps(x[(size_t)t * x_stride + (size_t)i]);
            sums[0][t] = _mm256_fmadd_ps(input, upper, sums[0][t]);
            sums[1][t] = _mm256_fmadd_ps(input, lower, sums[1][t]);
        }
    }
    UNROLL for (int t = 0; t < TOKENS; t++) UNROLL for (int h = 0; h < 2; h++)
        _mm256_storeu_ps(a[t] + 8 * h, sums[h][t]);
}

#define FCT_OWN_ADD_PRODUCTS
static void add_products(const float (*weights)[FCT_STRIP], int n, const float *x, size_t x_stride,
                         int n_tokens, float (*a)[FCT_STRIP]) {
    int t = 0;
    for (; t + 4 <= n_tokens; t += 4)
        add_products_of(4, weights, n, x + (size_t)t * x_stride, x_stride, a + t);
    for (; t < n_tokens; t++)
        add_products_of(1, weights, n, x + (size_t)t * x_stride, x_stride, a + t);
}

#endif
