/* attend_ops.h - attention over one chunk of the KV cache, and merging of chunks: the part that all
 * tables share.
 *
 * A table's file may bring its own score_block and value_block (and define FCT_OWN_ATTEND_BLOCKS
 * before it includes this), or score_blocks in place of the former (FCT_OWN_SCORE_BLOCKS too); the
 * order of operations is fixed by kernels.h, so the bits are the same. */
#ifndef FCT_KERNELS_ATTEND_OPS_H
#define FCT_KERNELS_ATTEND_OPS_H

#include "kernels/float_ops.h"

enum { QUERIES_AT_ONCE = 8 };

#ifndef FCT_OWN_ATTEND_BLOCKS
static inline float kv_element(enum fct_kv_type type, const void *block, int i) {
    if (type == FCT_KV_TYPE_F32) return ((const float *)block)[i];
    if (type == FCT_KV_TYPE_F16) return fct_half_float(((const uint16_t *)block)[i]);
    return ((const int8_t *)block)[i];
}

/* scores[q * FCT_KV_CHUNK + 0 .. 15] of n queries against one block of 16 keys: lane = position,
 * inputs in order. */
static inline void score_block(enum fct_kv_type type, const void *keys, int head_dim,
                               const float *queries, int n, float *scores) {
    for (int q = 0; q < n; q++)
        for (int j = 0; j < FCT_KV_BLOCK; j++) scores[q * FCT_KV_CHUNK + j] = 0;
    for (int d = 0; d < head_dim; d++) {
        float key[FCT_KV_BLOCK];
        for (int j = 0; j < FCT_KV_BLOCK; j++)
            key[j] = kv_element(type, keys, d * FCT_KV_BLOCK + j);
        for (int q = 0; q < n; q++)
            for (int j = 0; j < FCT_KV_BLOCK; j++)
                scores[q * FCT_KV_CHUNK + j] =
                    fmaf(queries[(size_t)q * (size_t)head_dim + (size_t)d], key[j],
                         scores[q * FCT_KV_CHUNK + j]);
    }
}

/* out[q][0..head_dim) += weights[q * FCT_KV_CHUNK + p] * value p for the positions p in [begin,
 * end) of one block, in order. */
static inline void value_block(enum fct_kv_type type, const void *values, int head_dim,
                               const float *weights, int n, int begin, int end, float *out) {
    for (int d = 0; d < head_dim; d += 16)
        for (int p = begin; p < end; p++) {
            float value[16];
            for (int j = 0; j < 16; j++) value[j] = kv_element(type, values, (d + p) * 16 + j);
            for (int q = 0; q < n; q++) {
                float *o = out + (size_t)q * (size_t)head_dim + d;
                for (int j = 0; j < 16; j++)
                    o[j] = fmaf(weights[q * FCT_KV_CHUNK + p], value[j], o[j]);
            }
        }
}
#endif

#ifndef FCT_OWN_SCORE_BLOCKS
/* The same against blocks that follow each other. */
static inline void score_blocks(enum fct_kv_type type, const void *keys, int n_blocks, int head_dim,
                                const float *queries, int n, float *scores) {
    size_t block_bytes = (size_t)head_dim * FCT_KV_BLOCK * fct_kv_type_bytes(type);
    for (int b = 0; b < n_blocks; b++)
        score_block(type, (const char *)keys + (size_t)b * block_bytes, head_dim, queries, n,
                    scores + b * FCT_KV_BLOCK);
}
#endif

/* Scores become weights e^(score - max), those outside [begin, end) in its blocks 0; sets max and
 * sum. Both are found in 16 lanes, lane = position modulo 16, which are then folded. NaN never wins
 * a maximum; it comes back as the exponential of NaN. */
static inline void softmax_weights(float *scores, int begin, int end, float *max, float *sum) {
    float largest[16], total[16];
    int first = begin / 16 * 16, last = (end + 15) / 16 * 16;
    for (int p = first; p < begin; p++) scores[p] = -INFINITY;
    for (int p = end; p < last; p++) scores[p] = -INFINITY;
    for (int j = 0; j < 16; j++) largest[j] = -INFINITY, total[j] = 0;
    for (int p = first; p < last; p += 16)
        for (int j = 0; j < 16; j++)
            largest[j] = scores[p + j] > largest[j] ? scores[p + j] : largest[j];
    for (int half = 8; half; half /= 2)
        for (int j = 0; j < half; j++)
            largest[j] = largest[j + half] > largest[j] ? largest[j + half] : largest[j];
    for (int p = first; p < last; p++) scores[p] = exponential(scores[p] - largest[0]);
    for (int p = first; p < last; p += 16)
        for (int j = 0; j < 16; j++) total[j] += scores[p + j];
    for (int half = 8; half; half /= 2)
        for (int j = 0; j < half; j++) total[j] += total[j + half];
    *max = largest[0];
    *sum = total[0];
}

static inline void attend_few(const struct fct_attend *job, int first, int n,
                              struct fct_partial out) {
    float scores[QUERIES_AT_ONCE][FCT_KV_CHUNK];
    size_t row = (size_t)first * (size_t)job->head_dim;
    size_t block_bytes = (size_t)job->head_dim * FCT_KV_BLOCK * fct_kv_type_bytes(job->type);
    int first_block = job->begin / FCT_KV_BLOCK, last_block = (job->end - 1) / FCT_KV_BLOCK;

    score_blocks(job->type, (const char *)job->keys + (size_t)first_block * block_bytes,
                 last_block + 1 - first_block, job->head_dim, job->queries + row, n,
                 scores[0] + first_block * FCT_KV_BLOCK);
    for (int q = 0; q < n; q++) {
        if (job->type == FCT_KV_TYPE_Q8)
            for (int p = job->begin; p < job->end; p++) scores[q][p] *= job->key_scales[p];
        softmax_weights(scores[q], job->begin, job->end, &out.max[first + q], &out.sum[first + q]);
        if (job->type == FCT_KV_TYPE_Q8)
            for (int p = job->begin; p < job->end; p++) scores[q][p] *= job->value_scales[p];
    }
    memset(out.out + row, 0, (size_t)n * (size_t)job->head_dim * sizeof(float));
    for (int b = first_block; b <= last_block; b++) {
        int start = b * FCT_KV_BLOCK;
        int begin = job->begin > start ? job->begin - start : 0;
        int end = job->end < start + FCT_KV_BLOCK ? job->end - start : FCT_KV_BLOCK;
        value_block(job->type, (const char *)job->values + (size_t)b * block_bytes, job->head_dim,
                    scores[0] + start, n, begin, end, out.out + row);
    }
}

static inline void attend(const struct fct_attend *job, struct fct_partial out) {
    for (int first = 0; first < job->n_queries; first += QUERIES_AT_ONCE) {
        int left = job->n_queries - first;
        attend_few(job, first, left < QUERIES_AT_ONCE ? left : QUERIES_AT_ONCE, out);
    }
}

static inline void merge(int n_queries, int head_dim, struct fct_partial total,
                         struct fct_partial more) {
    for (int q = 0; q < n_queries; q++) {
        float *restrict to = total.out + (size_t)q * (size_t)head_dim;
        const float *restrict from = more.out + (size_t)q * (size_t)head_dim;
        if (total.sum[q] == 0) {
            total.max[q] = more.max[q];
            total.sum[q] = more.sum[q];
            memcpy(to, from, (size_t)head_dim * sizeof *to);
            continue;
        }
        float max = more.max[q] > total.max[q] ? more.max[q] : total.max[q];
        float a = exponential(total.max[q] - max), b = exponential(more.max[q] - max);
        total.max[q] = max;
        total.sum[q] = fmaf(total.sum[q], a, more.sum[q] * b);
        for (int d = 0; d < head_dim; d++) to[d] = fmaf(to[d], a, from[d] * b);
    }
}

static inline void finish(int n_queries, int head_dim, struct fct_partial total, float *y) {
    for (int q = 0; q < n_queries; q++) {
        size_t row = (size_t)q * (size_t)head_dim;
        float sum = total.sum[q];
#pragma GCC ivdep
        for (int d = 0; d < head_dim; d++) y[row + (size_t)d] = total.out[row + (size_t)d] / sum;
    }
}

/* ---- into the cache ---- */

/* Writes element i of x [n], n <= 16, to element place + i * step of the block. */
static inline void store(enum fct_kv_type type, const struct coder *coder, const float *x, int n,
                         void *block, size_t place, size_t step) {
    int8_t codes[FCT_KV_BLOCK];
    if (type == FCT_KV_TYPE_F32) {
        for (int i = 0; i < n; i++) ((float *)block)[place + (size_t)i * step] = x[i];
    } else if (type == FCT_KV_TYPE_F16) {
        for (int i = 0; i < n; i++)
            ((uint16_t *)block)[place + (size_t)i * step] = fct_float_half(x[i]);
    } else {
        encode(coder, x, n, codes);
        for (int i = 0; i < n; i++) ((int8_t *)block)[place + (size_t)i * step] = codes[i];
    }
}

static inline struct coder cache_coder(enum fct_kv_type type, const float *x, int head_dim,
                                       float *scale) {
    struct coder coder = {0, 0, 0};
    if (type == FCT_KV_TYPE_Q8) {
        coder = choose_coder(x, head_dim, *scale);
        *scale = coder.scale;
    }
    return coder;
}

static inline void store_key(enum fct_kv_type type, const float *x, int head_dim, void *block,
                             int slot, float *scale) {
    struct coder coder = cache_coder(type, x, head_dim, scale);
    for (int d = 0; d < head_dim; d += 16)
        store(type, &coder, x + d, 16, block, (size_t)d * FCT_KV_BLOCK + (size_t)slot,
              FCT_KV_BLOCK);
}

static inline void store_value(enum fct_kv_type type, const float *x, int head_dim, void *block,
                               int slot, float *scale) {
    struct coder coder = cache_coder(type, x, head_dim, scale);
    for (int d = 0; d < head_dim; d += 16)
        store(type, &coder, x + d, 16, block, (size_t)(d + slot) * 16, 1);
}

#define FCT_ATTEND_OPS                                                                             \
    .store_key = store_key, .store_value = store_value, .attend = attend, .merge = merge,          \
    .finish = finish

#endif
