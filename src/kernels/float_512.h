/* float_512.h - attention over blocks of the KV cache, and products of floats, with 512-bit
 * registers: for avx512.c and amx.c. */
#ifndef FCT_KERNELS_FLOAT_512_H
#define FCT_KERNELS_FLOAT_512_H

#define FCT_OWN_ATTEND_BLOCKS
#define FCT_OWN_SCORE_BLOCKS

INLINE __m512 sixteen(enum fct_kv_type TYPE, const void *block, int i) {
    if (TYPE == FCT_KV_TYPE_F32) return _mm512_loadu_ps((const float *)block + i);
    if (TYPE == FCT_KV_TYPE_F16)
        return _mm512_cvtph_ps(_mm256_loadu_si256((const void *)((const uint16_t *)block + i)));
    return _mm512_cvtepi32_ps(
        _mm512_cvtepi8_epi32(_mm_loadu_si128((const void *)((const int8_t *)block + i))));
}

/* A long context is read from memory, in order: what comes next is asked for early. */
INLINE void ahead_of(enum fct_kv_type TYPE, const void *block, int i) {
    enum { AHEAD = 4096 };
    _mm_prefetch((const char *)block + (size_t)i * fct_kv_type_bytes(TYPE) + AHEAD, _MM_HINT_T0);
}

/* A register a query and block, lane = position. */
INLINE void score_queries(enum fct_kv_type TYPE, int N, int BLOCKS, const void *keys, int head_dim,
                          const float *queries, float *scores) {
    __m512 s[2][8], key[2];
    UNROLL for (int i = 0; i < BLOCKS * N; i++) s[i / N][i % N] = _mm512_setzero_ps();
    for (int d = 0; d < head_dim; d++) {
        UNROLL for (int b = 0; b < BLOCKS; b++) {
            key[b] = sixteen(TYPE, keys, (b * head_dim + d) * FCT_KV_BLOCK);
            ahead_of(TYPE, keys, (b * head_dim + d) * FCT_KV_BLOCK);
        }
        UNROLL for (int q = 0; q < N; q++) {
            __m512 x = _mm512_set1_ps(queries[(size_t)q * (size_t)head_dim + (size_t)d]);
            UNROLL for (int b = 0; b < BLOCKS; b++) s[b][q] = _mm512_fmadd_ps(x, key[b], s[b][q]);
        }
    }
    UNROLL for (int i = 0; i < BLOCKS * N; i++)
        _mm512_storeu_ps(scores + i % N * FCT_KV_CHUNK + i / N * FCT_KV_BLOCK, s[i / N][i % N]);
}

/* A register a query and 16 lanes of the head. */
INLINE void value_lanes(enum fct_kv_type TYPE, int N, int WIDTH, const void *values, int head_dim,
                        const float *weights, int begin, int end, float *out) {
    __m512 o[2][8], value[2];
    UNROLL for (int i = 0; i < WIDTH * N; i++) o[i / N][i % N] =
        _mm512_loadu_ps(out + (size_t)(i % N) * (size_t)head_dim + i / N * 16);
    for (int p = begin; p < end; p++) {
        UNROLL for (int w = 0; w < WIDTH; w++) {
            value[w] = sixteen(TYPE, values, (w * 16 + p) * 16);
            ahead_of(TYPE, values, (w * 16 + p) * 16);
        }
        UNROLL for (int q = 0; q < N; q++) {
            __m512 weight = _mm512_set1_ps(weights[q * FCT_KV_CHUNK + p]);
            UNROLL for (int w = 0; w < WIDTH; w++) o[w][q] =
                _mm512_fmadd_ps(weight, value[w], o[w][q]);
        }
    }
    UNROLL for (int i = 0; i < WIDTH * N; i++)
        _mm512_storeu_ps(out + (size_t)(i % N) * (size_t)head_dim + i / N * 16, o[i / N][i % N]);
}

/* Two blocks, or 32 lanes of the head, at a time: each query or weight is loaded once for both. */
INLINE void score_all(enum fct_kv_type TYPE, int N, const void *keys, int n_blocks, int head_dim,
                      const float *queries, float *scores) {
    const char *block = keys;
    size_t block_bytes = (size_t)head_dim * FCT_KV_BLOCK * fct_kv_type_bytes(TYPE);
    int b = 0;
    for (; b + 2 <= n_blocks; b += 2)
        score_queries(TYPE, N, 2, block + (size_t)b * block_bytes, head_dim, queries,
                      scores + b * FCT_KV_BLOCK);
    if (b < n_blocks)
        score_queries(TYPE, N, 1, block + (size_t)b * block_bytes, head_dim, queries,
                      scores + b * FCT_KV_BLOCK);
}
INLINE void value_queries(enum fct_kv_type TYPE, int N, const void *values, int head_dim,
                          const float *weights, int begin, int end, float *out) {
    const char *lanes = values;
    size_t lane_bytes = FCT_KV_BLOCK * fct_kv_type_bytes(TYPE);
    int d = 0;
    for (; d + 32 <= head_dim; d += 32)
        value_lanes(TYPE, N, 2, lanes + (size_t)d * lane_bytes, head_dim, weights, begin, end,
                    out + d);
    if (d < head_dim)
        value_lanes(TYPE, N, 1, lanes + (size_t)d * lane_bytes, head_dim, weights, begin, end,
                    out + d);
}

#define FOR_QUERIES(TYPE, n, call, ...)                                                            \
    switch (n) {                                                                                   \
    case 5:                                                                                        \
        call(TYPE, 5, __VA_ARGS__);                                                                \
        break;                                                                                     \
    case 6:                                                                                        \
        call(TYPE, 6, __VA_ARGS__);                                                                \
        break;                                                                                     \
    case 7:                                                                                        \
        call(TYPE, 7, __VA_ARGS__);                                                                \
        break;                                                                                     \
    case 8:                                                                                        \
        call(TYPE, 8, __VA_ARGS__);                                                                \
        break;                                                                                     \
    default:                                                                                       \
        FOR_1_TO_4(TYPE, n, call, __VA_ARGS__)                                                     \
    }

static void score_blocks(enum fct_kv_type type, const void *keys, int n_blocks, int head_dim,
                         const float *queries, int n, float *scores) {
    FOR_TYPES(type, n, score_all, keys, n_blocks, head_dim, queries, scores)
}

static void value_block(enum fct_kv_type type, const void *values, int head_dim,
                        const float *weights, int n, int begin, int end, float *out){
    FOR_TYPES(type, n, value_queries, values, head_dim, weights, begin, end, out)}

/* A register a token. */
INLINE void add_products_of(int TOKENS, const float (*weights)[FCT_STRIP], int n, const float *x,
                            size_t x_stride, float (*a)[FCT_STRIP]) {
    __m512 sums[8];
    UNROLL for (int t = 0; t < TOKENS; t++) sums[t] = _mm512_loadu_ps(a[t]);
    for (int i = 0; i < n; i++) {
        __m512 weight = _mm512_loadu_ps(weights[i]);
        UNROLL for (int t = 0; t < TOKENS; t++) sums[t] =
            _mm512_fmadd_ps(_mm512_set1_ps(x[(size_t)t * x_stride + (size_t)i]), weight, sums[t]);
    }
    UNROLL for (int t = 0; t < TOKENS; t++) _mm512_storeu_ps(a[t], sums[t]);
}

#define FCT_OWN_ADD_PRODUCTS
static void add_products(const float (*weights)[FCT_STRIP], int n, const float *x, size_t x_stride,
                         int n_tokens, float (*a)[FCT_STRIP]) {
    int t = 0;
    if (n_tokens == 8) {
        add_products_of(8, weights, n, x, x_stride, a);
        return;
    }
    for (; t + 4 <= n_tokens; t += 4)
        add_products_of(4, weights, n, x + (size_t)t * x_stride, x_stride, a + t);
    for (; t < n_tokens; t++)
        add_products_of(1, weights, n, x + (size_t)t * x_stride, x_stride, a + t);
}

#endif
