/* float_ops.h - the float operations that all tables share, as plain loops.
 *
 * Included by each table's file and compiled with its flags, so that the compiler makes vectors of
 * them. Each element is computed alone, or in 16 lanes whose sums are folded in one order, and fmaf
 * is written where a multiply-add is fused: so every instruction set gives the same bits. Sign and
 * payload of a NaN are not promised. */
#ifndef FCT_KERNELS_FLOAT_OPS_H
#define FCT_KERNELS_FLOAT_OPS_H

#include "base/half.h"
#include "kernels/kernels.h"

#include <math.h>
#include <string.h>

/* ---- e^x and what is made of it ---- */

/* x = n ln 2 + r with |r| <= ln 2 / 2: e^x = 2^n e^r. Adding 1.5 * 2^23 rounds to an integer, which
 * then stands in the low bits; ln 2 is subtracted in two parts. The polynomial is e^r - 1 = r + r²
 * (c2 + c3 r + ... + c6 r⁴), fitted to least relative error (1.4e-8). */
struct power {
    float two_to_n, minus_one; /* 2^n, e^r - 1 */
};
static inline struct power split_exponent(float x) {
    float shifted = fmaf(x, 0x1.715476p0f, 0x1.8p23f);
    float n = shifted - 0x1.8p23f;
    float r = fmaf(n, -0x1.62e430p-1f, x);
    r = fmaf(n, 0x1.05c610p-29f, r);
    float c = fmaf(r, 0x1.6d9cccp-10f, 0x1.122abep-7f);
    c = fmaf(r, c, 0x1.555482p-5f);
    c = fmaf(r, c, 0x1.5554acp-3f);
    c = fmaf(r, c, 0.5f);
    struct power power = {fct_bits_float((fct_float_bits(shifted) + 127) << 23), fmaf(r * r, c, r)};
    return power;
}

/* e^x within 2 ulp for x in [-87, 88]; 0 below, e^88 above; NaN stays NaN. */
static inline float exponential(float x) {
    float clamped = x < -87.0f ? -87.0f : x;
    clamped = clamped > 88.0f ? 88.0f : clamped;
    struct power power = split_exponent(clamped);
    float y = fmaf(power.two_to_n, power.minus_one, power.two_to_n);
    return x < -87.0f ? 0.0f : y;
}

/* tanh |x| = -q / (2 + q) with q = e^(-2|x|) - 1, which keeps the small ones accurate: within 4 ulp
 * everywhere. */
static inline float hyperbolic_tangent(float x) {
    float z = -2.0f * fabsf(x);
    z = z < -40.0f ? -40.0f : z;
    struct power power = split_exponent(z);
    float q = fmaf(power.two_to_n, power.minus_one, power.two_to_n - 1.0f);
    return copysignf(-q / (2.0f + q), x);
}

/* g / 2 * (1 + tanh u) = g / (1 + e^(-2u)) with u = sqrt(2/pi) (g + 0.044715 g³). */
static inline float gelu_tanh(float g) {
    float minus_2u = g * fmaf(g * g, -2 * 0.7978845608f * 0.044715f, -2 * 0.7978845608f);
    return g / (1.0f + exponential(minus_2u));
}

static inline void gelu_mul(const float *gate, const float *up, int n, float *y) {
#pragma GCC ivdep
    for (int i = 0; i < n; i++) y[i] = gelu_tanh(gate[i]) * up[i];
}

/* An infinity is kept, so that it shows. */
static inline void softcap(float *x, float cap, int n) {
    for (int i = 0; i < n; i++) {
        float y = cap * hyperbolic_tangent(x[i] / cap);
        x[i] = fabsf(x[i]) < INFINITY ? y : x[i];
    }
}

/* ---- norms and sums ---- */

#ifndef FCT_OWN_SUM_OF_SQUARES
static inline float sum_of_squares(const float *x, int n) {
    float lanes[16] = {0};
    for (int i = 0; i < n; i += 16)
        for (int j = 0; j < 16; j++) lanes[j] = fmaf(x[i + j], x[i + j], lanes[j]);
    for (int half = 8; half; half /= 2)
        for (int j = 0; j < half; j++) lanes[j] += lanes[j + half];
    return lanes[0];
}
#endif

static inline void rms_norm(const float *x, const float *w, int n, float eps, float *y) {
    float factor = 1.0f / sqrtf(sum_of_squares(x, n) / (float)n + eps);
    if (w) {
#pragma GCC ivdep
        for (int i = 0; i < n; i++) y[i] = x[i] * factor * w[i];
    } else {
#pragma GCC ivdep
        for (int i = 0; i < n; i++) y[i] = x[i] * factor;
    }
}

static inline void rms_norm_add(const float *x, const float *w, const float *r, int n, float eps,
                                float *y) {
    float factor = 1.0f / sqrtf(sum_of_squares(x, n) / (float)n + eps);
    if (w) {
#pragma GCC ivdep
        for (int i = 0; i < n; i++) y[i] = fmaf(x[i] * factor, w[i], r[i]);
    } else {
#pragma GCC ivdep
        for (int i = 0; i < n; i++) y[i] = x[i] * factor + r[i];
    }
}

static inline void scale(const float *x, float factor, int n, float *y) {
#pragma GCC ivdep
    for (int i = 0; i < n; i++) y[i] = x[i] * factor;
}

static inline void add_scale(const float *a, const float *b, float factor, int n, float *y) {
#pragma GCC ivdep
    for (int i = 0; i < n; i++) y[i] = (a[i] + b[i]) * factor;
}

static inline void rope(float *x, const float *cosines, const float *sines, int n_pairs, int half) {
#pragma GCC ivdep
    for (int i = 0; i < n_pairs; i++) {
        float a = x[i], b = x[i + half];
        x[i] = fmaf(a, cosines[i], -(b * sines[i]));
        x[i + half] = fmaf(b, cosines[i], a * sines[i]);
    }
}

/* Finds the run of 64 with the largest maximum, then the place in it. */
static inline int argmax(const float *x, int n) {
    float best = -INFINITY;
    int run = 0, i = 0;
    bool found = false;
    for (; i + 64 <= n; i += 64) {
        float lanes[16];
        for (int j = 0; j < 16; j++) lanes[j] = -INFINITY;
        for (int k = 0; k < 64; k += 16)
            for (int j = 0; j < 16; j++)
                lanes[j] = x[i + k + j] > lanes[j] ? x[i + k + j] : lanes[j];
        for (int half = 8; half; half /= 2)
            for (int j = 0; j < half; j++)
                lanes[j] = lanes[j + half] > lanes[j] ? lanes[j + half] : lanes[j];
        if (lanes[0] > best) best = lanes[0], run = i;
    }
    for (int j = run; j < run + 64 && j < i; j++)
        if (x[j] == best) {
            run = j, found = true;
            break;
        }
    for (; i < n; i++)
        if (x[i] > best) best = x[i], run = i, found = true;
    if (found) return run;
    for (i = 0; i < n; i++) /* nothing above -infinity */
        if (x[i] == best) return i;
    return 0;
}

/* ---- int8 activations ---- */

/* The largest |x| as bits: infinities and NaN compare as larger than any number. */
static inline uint32_t largest_magnitude(const float *x, int n) {
    int32_t largest = 0;
    for (int i = 0; i < n; i++) {
        int32_t bits = (int32_t)(fct_float_bits(x[i]) & 0x7FFFFFFF);
        largest = bits > largest ? bits : largest;
    }
    return (uint32_t)largest;
}

/* Adding 1.5 * 2^23 rounds to the nearest integer, ties to even, and leaves it in the low bits. */
static inline int32_t nearest_integer(float v) {
    return (int32_t)(fct_float_bits(v + 0x1.8p23f) - fct_float_bits(0x1.8p23f));
}

/* How a vector becomes codes: its scale, and what its numbers are multiplied with (dynamic) or
 * divided by (static). */
struct coder {
    float scale, inverse, divisor; /* inverse and divisor 0: all codes are 0 */
};

/* A vector without a finite scale, or with none whose inverse is finite (below 2^-100 a number
 * counts as 0), gets codes 0. */
static inline struct coder choose_coder(const float *x, int n, float fixed) {
    uint32_t bits = largest_magnitude(x, n);
    float largest = fct_bits_float(bits);
    if (bits >= 0x7F800000) return (struct coder){bits > 0x7F800000 ? NAN : INFINITY, 0, 0};
    if (fixed > 0) return (struct coder){fixed, 0, fixed};
    if (largest < 0x1p-100f) return (struct coder){0, 0, 0};
    return (struct coder){largest / 127.0f, 127.0f / largest, 0};
}

/* Returns the sum of the codes. */
static inline int32_t encode(const struct coder *coder, const float *restrict x, int n,
                             int8_t *restrict codes) {
    float inverse = coder->inverse, divisor = coder->divisor;
    int32_t sum = 0;
    if (divisor > 0) {
        for (int i = 0; i < n; i++) {
            float v = x[i] / divisor;
            v = v < -128.0f ? -128.0f : v;
            int32_t code = nearest_integer(v > 127.0f ? 127.0f : v);
            codes[i] = (int8_t)code;
            sum += code;
        }
    } else if (inverse > 0) {
        for (int i = 0; i < n; i++) {
            int32_t code = nearest_integer(x[i] * inverse);
            codes[i] = (int8_t)code;
            sum += code;
        }
    } else {
        memset(codes, 0, (size_t)n);
    }
    return sum;
}

/* A group of which n numbers are there. */
static inline __attribute__((always_inline)) struct fct_act_group
quantize_group(const float *x, int n, float fixed, int8_t *codes) {
    struct coder coder = choose_coder(x, n, fixed);
    int32_t sum = encode(&coder, x, n, codes);
    return (struct fct_act_group){coder.scale, -8 * sum};
}

/* Whole groups have a constant length, for the compiler's sake. */
static inline void quantize(const float *x, int n, float fixed, struct fct_act *act, int token) {
    int8_t *codes = act->codes + (size_t)token * (size_t)act->stride;
    struct fct_act_group *groups =
        act->groups + (size_t)token * (size_t)fct_act_groups(act->stride);
    int padded = (n + FCT_ACT_ALIGN - 1) / FCT_ACT_ALIGN * FCT_ACT_ALIGN,
        length = act->group ? act->group : padded, i = 0;
    if (length == 32)
        for (; i + 32 <= n; i += 32) *groups++ = quantize_group(x + i, 32, fixed, codes + i);
    else
        for (; i + length <= n; i += length)
            *groups++ = quantize_group(x + i, length, fixed, codes + i);
    memset(codes + n, 0, (size_t)(padded - n));
    for (; i < padded; i += length)
        *groups++ = quantize_group(x + i, n > i ? n - i : 0, fixed, codes + i);
}

/* ---- lookup tables ---- */

static inline float four_bit_code(int nibble) { return (float)(nibble - 8); }
static inline float two_bit_code(int bits) { return (float)(bits - 2); }

/* Codes [begin, begin + n) of a row: y = (code * scale) * factor, both rounded. A block may begin
 * inside a byte. */
static inline void lookup_block(enum fct_scheme scheme, const uint8_t *codes, int begin, int n,
                                float block_scale, float factor, float *restrict y) {
    if (scheme == FCT_Q8) {
        const int8_t *bytes = (const int8_t *)codes + begin;
        for (int i = 0; i < n; i++) y[i] = (float)bytes[i] * block_scale * factor;
        return;
    }
    int per_byte = scheme == FCT_Q4 ? 2 : 4, i = 0;
    if (begin % per_byte == 0 && scheme == FCT_Q4) {
        const uint8_t *bytes = codes + begin / 2;
        for (int j = 0; j < n / 2; j++) {
            y[2 * j] = four_bit_code(bytes[j] & 15) * block_scale * factor;
            y[2 * j + 1] = four_bit_code(bytes[j] >> 4) * block_scale * factor;
        }
        i = n / 2 * 2;
    } else if (begin % per_byte == 0) {
        const uint8_t *bytes = codes + begin / 4;
        for (int j = 0; j < n / 4; j++)
            for (int part = 0; part < 4; part++)
                y[4 * j + part] = two_bit_code(bytes[j] >> (2 * part) & 3) * block_scale * factor;
        i = n / 4 * 4;
    }
    for (; i < n; i++) {
        int at = begin + i;
        float code = scheme == FCT_Q4 ? four_bit_code(codes[at / 2] >> (4 * (at % 2)) & 15)
                                      : two_bit_code(codes[at / 4] >> (2 * (at % 4)) & 3);
        y[i] = code * block_scale * factor;
    }
}

static inline void lookup(const struct fct_table *table, int row, int first_block, int n_blocks,
                          float factor, float *y) {
    const uint8_t *data =
        table->data +
        (size_t)row * fct_table_row_bytes(table->scheme, table->blocks, table->columns);
    int width = table->columns / table->blocks;
    if (table->scheme == FCT_F32) {
        scale((const float *)data + (size_t)first_block * (size_t)width, factor, n_blocks * width,
              y);
        return;
    }
    const float *scales = (const float *)data;
    for (int b = first_block; b < first_block + n_blocks; b++, y += width)
        lookup_block(table->scheme, data + 4 * (size_t)table->blocks, b * width, width, scales[b],
                     factor, y);
}

#define FCT_FLOAT_OPS                                                                              \
    .quantize = quantize, .rms_norm = rms_norm, .rms_norm_add = rms_norm_add, .scale = scale,      \
    .add_scale = add_scale, .gelu_mul = gelu_mul, .rope = rope, .softcap = softcap,                \
    .argmax = argmax, .lookup = lookup

#endif
