/* neon_matmul.h - a matrix times a few tokens on NEON: each strip is read from memory once.
 *
 * The shapes of a tile are what 32 registers hold: for one token two strips at once (two streams,
 * shared activations), for two a strip, for three or four half a strip, whose other half then comes
 * out of the cache. */
#ifndef FCT_KERNELS_NEON_MATMUL_H
#define FCT_KERNELS_NEON_MATMUL_H

#include "kernels/neon_tile.h"

/* A tile of t + 1 tokens is of[t]; pair: one token, two strips. A tile takes vectors[t] vectors of
 * a strip. */
typedef void tile_function(const struct tile_job *job);
struct tile_shapes {
    tile_function *pair, *of[TILE_TOKENS];
};
static const int shape_vectors[TILE_TOKENS] = {4, 4, 2, 2};

#define TILE_SHAPES(name, tile, ...)                                                               \
    static void name##_pair(const struct tile_job *job) { tile(job, __VA_ARGS__, 2, 4, 1); }       \
    static void name##_1(const struct tile_job *job) { tile(job, __VA_ARGS__, 1, 4, 1); }          \
    static void name##_2(const struct tile_job *job) { tile(job, __VA_ARGS__, 1, 4, 2); }          \
    static void name##_3(const struct tile_job *job) { tile(job, __VA_ARGS__, 1, 2, 3); }          \
    static void name##_4(const struct tile_job *job) { tile(job, __VA_ARGS__, 1, 2, 4); }          \
    static const struct tile_shapes name = {name##_pair, {name##_1, name##_2, name##_3, name##_4}};

TILE_SHAPES(q4_32, tile_in_groups, FCT_Q4, true, 32)
TILE_SHAPES(q4_more, tile_in_groups, FCT_Q4, true, job->group)
TILE_SHAPES(q8_32, tile_in_groups, FCT_Q8, true, 32)
TILE_SHAPES(q4_rows, tile_in_groups, FCT_Q4, false, 32)
TILE_SHAPES(q8_rows, tile_in_groups, FCT_Q8, false, 32)
TILE_SHAPES(q2_rows, tile_in_groups, FCT_Q2, false, 32)
TILE_SHAPES(q4_static, tile_rows, FCT_Q4)
TILE_SHAPES(q8_static, tile_rows, FCT_Q8)
TILE_SHAPES(q2_static, tile_rows, FCT_Q2)

static const struct tile_shapes *shapes_of(const struct fct_matrix *w, int act_group) {
    static const struct tile_shapes *const by_row[2][3] = {{&q8_static, &q4_static, &q2_static},
                                                           {&q8_rows, &q4_rows, &q2_rows}};
    if (w->group) return w->scheme == FCT_Q8 ? &q8_32 : w->group == 32 ? &q4_32 : &q4_more;
    return by_row[act_group > 0][w->scheme - FCT_Q8];
}

/* One strip times n_tokens tokens, up to most_tokens of them a tile. */
static void strip_times_tokens(const struct tile_shapes *shapes, struct tile_job job, int n_tokens,
                               int most_tokens) {
    for (int t = 0; t < n_tokens;) {
        int n = n_tokens - t < most_tokens ? n_tokens - t : most_tokens;
        for (job.first = 0; job.first < 4; job.first += shape_vectors[n - 1])
            shapes->of[n - 1](&job);
        job.x += (size_t)n * job.stride;
        job.groups += (size_t)n * job.groups_stride;
        job.y += (size_t)n * job.y_stride;
        t += n;
    }
}

/* The job of one token and one strip. */
static struct tile_job job_of(const struct fct_matrix *w, const struct fct_act *act, int token,
                              int strip, float *y, size_t y_stride) {
    size_t strip_bytes = fct_strip_bytes(w->scheme, w->group, w->columns);
    size_t groups_stride = (size_t)fct_act_groups(act->stride);
    return (struct tile_job){
        .strip = w->data + (size_t)strip * strip_bytes,
        .strip_bytes = strip_bytes,
        .group = w->group,
        .columns = fct_padded_columns(w->scheme, w->group, w->columns),
        .x = act->codes + (size_t)token * (size_t)act->stride,
        .stride = (size_t)act->stride,
        .groups = act->groups + (size_t)token * groups_stride,
        .groups_stride = groups_stride,
        .y = y + (size_t)token * y_stride + (size_t)strip * FCT_STRIP,
        .y_stride = y_stride,
    };
}

/* Tokens [token, token + n_tokens), at most most_tokens a tile. */
static void matmul_few(const struct fct_matrix *w, const struct fct_act *act, int token,
                       int n_tokens, int most_tokens, int begin, int end, float *y,
                       size_t y_stride) {
    const struct tile_shapes *shapes = shapes_of(w, act->group);
    int strip = begin;
    if (n_tokens == 1) {
        for (; strip + 1 < end; strip += 2) {
            struct tile_job job = job_of(w, act, token, strip, y, y_stride);
            shapes->pair(&job);
        }
    }
    for (; strip < end; strip++) {
        strip_times_tokens(shapes, job_of(w, act, token, strip, y, y_stride), n_tokens,
                           most_tokens);
    }
}

#endif
