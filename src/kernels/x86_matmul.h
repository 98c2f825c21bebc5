/* x86_matmul.h - a matrix times int8 activations, for one token as for many.
 *
 * A range of strips is walked in two halves side by side: two streams, each of them linear, which
 * memory serves better than one. A prefetch runs ahead in both. Weights are unpacked in registers,
 * for up to PASS_TOKENS tokens at once; more are done PASS_OF_MANY at a time, which find the strips
 * in a cache. To unpack a part of the strips once, into memory, for many tokens was slower.
 *
 * The file that includes this has included registers_*.h and defined how a step is computed:
 *   unpack_part(SCHEME, codes, PART): the weights of four inputs out of a unit;
 *   start_sum(SCHEME, minus_8_sum): what a sum starts with, so that the offset of codes goes away;
 *   begin_run(SCHEME, sum), add_dot4(SCHEME, run, weights, inputs), end_run(SCHEME, sum, run):
 *   a sum over 32 inputs, perhaps kept in 16 bits until its end. */
#ifndef FCT_KERNELS_X86_MATMUL_H
#define FCT_KERNELS_X86_MATMUL_H

enum {
    PREFETCH_AHEAD = 4096,
    CACHED_TOKENS = 96,            /* whose activations stay in L2 while all strips pass */
    HALVES = FCT_STRIP / ROWS,     /* registers of a strip */
    LINE_PART = FCT_LINE / HALVES, /* bytes of a line in one of them */
    MOST_REGISTERS = 2 * HALVES    /* of two strips */
};

INLINE ints four_inputs(const int8_t *x) { return ints_of(*(const any_int32 *)x); }

/* A product, of all tokens or of a pass. */
struct product {
    const struct fct_matrix *w;
    size_t strip_bytes;
    size_t gap, y_gap; /* from a strip to the one that is done beside it: bytes, floats of y */
    int act_group;
    const int8_t *x;
    size_t x_stride;
    const struct fct_act_group *groups;
    size_t groups_stride;
    float *y;
    size_t y_stride;
};

/* Register r has rows of strip r / HALVES. */
#define EACH_REGISTER(r) UNROLL for (int r = 0; r < STRIPS * HALVES; r++)
#define EACH_TOKEN(t) UNROLL for (int t = 0; t < TOKENS; t++)

INLINE const uint8_t *of_register(const struct product *f, const uint8_t *at, int r, int PART) {
    return at + (size_t)(r / HALVES) * f->gap + r % HALVES * PART;
}

/* sums += 32 inputs, whose units begin at `at` and `gap` further. */
INLINE void add_32_inputs(enum fct_scheme SCHEME, int STRIPS, int TOKENS, const struct product *f,
                          const uint8_t *at, const int8_t *x,
                          ints sums[MOST_REGISTERS][PASS_TOKENS]) {
    const int PARTS = PARTS_OF(SCHEME), UNITS = 8 / PARTS;
    ints run[MOST_REGISTERS][PASS_TOKENS];
    EACH_TOKEN(t) EACH_REGISTER(r) run[r][t] = begin_run(SCHEME, sums[r][t]);
    UNROLL for (int unit = 0; unit < UNITS; unit++) {
        ints codes[MOST_REGISTERS];
        EACH_REGISTER(r) {
            const uint8_t *part = of_register(f, at, r, LINE_PART) + 64 * unit;
            if (r % HALVES == 0) _mm_prefetch(part + PREFETCH_AHEAD, _MM_HINT_T0);
            codes[r] = load_ints(part);
        }
        UNROLL for (int part = 0; part < PARTS; part++) {
            ints weights[MOST_REGISTERS];
            EACH_REGISTER(r) weights[r] = unpack_part(SCHEME, codes[r], part);
            EACH_TOKEN(t) {
                ints inputs = four_inputs(x + (size_t)t * f->x_stride + 4 * (unit * PARTS + part));
                EACH_REGISTER(r) run[r][t] = add_dot4(SCHEME, run[r][t], weights[r], inputs);
            }
        }
    }
    EACH_TOKEN(t) EACH_REGISTER(r) sums[r][t] = end_run(SCHEME, sums[r][t], run[r][t]);
}

/* The sums over one group of activations, or over a row. */
INLINE void sum_inputs(enum fct_scheme SCHEME, int STRIPS, int TOKENS, const struct product *f,
                       const uint8_t *at, int n_inputs, const int8_t *x,
                       const struct fct_act_group *group, ints sums[MOST_REGISTERS][PASS_TOKENS]) {
    EACH_TOKEN(t)
    EACH_REGISTER(r)
    sums[r][t] = start_sum(SCHEME, group[(size_t)t * f->groups_stride].minus_8_sum);
    for (int i = 0; i < n_inputs; i += 32, at += 64 * 8 / PARTS_OF(SCHEME))
        add_32_inputs(SCHEME, STRIPS, TOKENS, f, at, x + i, sums);
}

/* a += sums * scales of the activations, and of the weights where `halves` are theirs. */
INLINE void add_scaled(bool GROUPED, int STRIPS, int TOKENS, const struct product *f,
                       const uint8_t *halves, const struct fct_act_group *group,
                       ints sums[MOST_REGISTERS][PASS_TOKENS],
                       floats a[MOST_REGISTERS][PASS_TOKENS]) {
    EACH_REGISTER(r) {
        floats weights = GROUPED ? load_halves(of_register(f, halves, r, 2 * ROWS)) : floats_of(1);
        EACH_TOKEN(t) {
            floats scale = floats_of(group[(size_t)t * f->groups_stride].scale);
            if (GROUPED) scale = multiply(weights, scale);
            a[r][t] = multiply_add(to_floats(sums[r][t]), scale, a[r][t]);
        }
    }
}

/* Activations in groups: those of the weights (GROUPED), or of 32 where these have one scale a row.
 * Tiles of two groups. */
INLINE void in_groups(enum fct_scheme SCHEME, bool GROUPED, int LENGTH, int STRIPS, int TOKENS,
                      const struct product *f, const uint8_t *at, float *y) {
    const size_t group_bytes = (size_t)(LENGTH * FCT_STRIP * fct_scheme_bits(SCHEME) / 8);
    const uint8_t *end = at + f->strip_bytes - (GROUPED ? 0 : 64), *halves = at;
    const int8_t *x = f->x;
    const struct fct_act_group *groups = f->groups;
    floats a[MOST_REGISTERS][PASS_TOKENS];
    EACH_TOKEN(t) EACH_REGISTER(r) a[r][t] = floats_of(0);
    while (at < end) {
        halves = at;
        EACH_REGISTER(r)
        if (GROUPED && r % HALVES == 0)
            _mm_prefetch(of_register(f, at, r, 0) + PREFETCH_AHEAD, _MM_HINT_T0);
        at += GROUPED ? 64 : 0;
        for (int i = 0; i < 2; i++, at += group_bytes, x += LENGTH, halves += 32, groups++) {
            ints sums[MOST_REGISTERS][PASS_TOKENS];
            sum_inputs(SCHEME, STRIPS, TOKENS, f, at, LENGTH, x, groups, sums);
            add_scaled(GROUPED, STRIPS, TOKENS, f, halves, groups, sums, a);
        }
    }
    EACH_REGISTER(r) {
        const float *rows = (const float *)of_register(f, end, r, 4 * ROWS);
        floats scale = GROUPED ? floats_of(1) : load_floats(rows);
        EACH_TOKEN(t)
        store_floats(y + (size_t)t * f->y_stride + (size_t)(r / HALVES) * f->y_gap +
                         r % HALVES * ROWS,
                     GROUPED ? a[r][t] : multiply(a[r][t], scale));
    }
}

/* One scale a row and one a token: integer sums all the way. */
INLINE void by_row(enum fct_scheme SCHEME, int STRIPS, int TOKENS, const struct product *f,
                   const uint8_t *at, float *y) {
    const uint8_t *end = at + f->strip_bytes - 64;
    ints sums[MOST_REGISTERS][PASS_TOKENS];
    sum_inputs(SCHEME, STRIPS, TOKENS, f, at, fct_padded_columns(SCHEME, 0, f->w->columns), f->x,
               f->groups, sums);
    EACH_REGISTER(r) {
        floats scale = load_floats((const float *)of_register(f, end, r, 4 * ROWS));
        EACH_TOKEN(t)
        store_floats(y + (size_t)t * f->y_stride + (size_t)(r / HALVES) * f->y_gap +
                         r % HALVES * ROWS,
                     multiply(multiply(to_floats(sums[r][t]), scale),
                              floats_of(f->groups[(size_t)t * f->groups_stride].scale)));
    }
}

INLINE void strips_of_scheme(enum fct_scheme SCHEME, int STRIPS, int TOKENS,
                             const struct product *f, int strip) {
    const uint8_t *at = f->w->data + (size_t)strip * f->strip_bytes;
    float *y = f->y + (size_t)strip * FCT_STRIP;
    if (SCHEME == FCT_Q4 && f->w->group > 32)
        in_groups(SCHEME, true, f->w->group, STRIPS, TOKENS, f, at, y);
    else if (SCHEME != FCT_Q2 && f->w->group)
        in_groups(SCHEME, true, 32, STRIPS, TOKENS, f, at, y);
    else if (f->act_group)
        in_groups(SCHEME, false, 32, STRIPS, TOKENS, f, at, y);
    else
        by_row(SCHEME, STRIPS, TOKENS, f, at, y);
}

INLINE void strips_of_tokens(int TOKENS, const struct product *f, int strip){
    WITH_SCHEME(f->w->scheme, strips_of_scheme, STRIPS_BESIDE(TOKENS), TOKENS, f, strip)}

INLINE struct product from_token(const struct product *f, int first) {
    struct product rest = *f;
    rest.x += (size_t)first * f->x_stride;
    rest.groups += (size_t)first * f->groups_stride;
    rest.y += (size_t)first * f->y_stride;
    return rest;
}

/* One strip, or two of them, for all tokens, in passes of nearly the same size. */
static void for_tokens(const struct product *f, int n_tokens, int strip) {
    int n_passes = n_tokens <= PASS_TOKENS ? 1 : (n_tokens + PASS_OF_MANY - 1) / PASS_OF_MANY;
    for (int i = 0; i < n_passes; i++) {
        int first = i * n_tokens / n_passes, next = (i + 1) * n_tokens / n_passes;
        struct product pass = from_token(f, first);
        WITH_COUNT(next - first, PASS_TOKENS, strips_of_tokens, &pass, strip)
    }
}

/* `half` strips beside as many others; one that is left over is its own neighbour. */
static void for_strips(struct product f, int n_tokens, int begin, int end) {
    int half = STRIPS_BESIDE(n_tokens) == 2 ? (end - begin) / 2 : 0;
    f.gap = (size_t)half * f.strip_bytes;
    f.y_gap = (size_t)half * FCT_STRIP;
    for (int strip = begin; strip < begin + half; strip++) for_tokens(&f, n_tokens, strip);
    f.gap = f.y_gap = 0;
    for (int strip = begin + 2 * half; strip < end; strip++) for_tokens(&f, n_tokens, strip);
}

static void matmul_strips(const struct fct_matrix *w, const struct fct_act *act, int n_tokens,
                          int begin, int end, float *y, size_t y_stride) {
    const struct product f = {.w = w,
                              .strip_bytes = fct_strip_bytes(w->scheme, w->group, w->columns),
                              .act_group = act->group,
                              .x = act->codes,
                              .x_stride = (size_t)act->stride,
                              .groups = act->groups,
                              .groups_stride = (size_t)fct_act_groups(act->stride),
                              .y = y,
                              .y_stride = y_stride};
    int n_blocks = (n_tokens + CACHED_TOKENS - 1) / CACHED_TOKENS;
    for (int i = 0; i < n_blocks; i++) {
        int first = (int)((long long)i * n_tokens / n_blocks),
            next = (int)((long long)(i + 1) * n_tokens / n_blocks);
        for_strips(from_token(&f, first), next - first, begin, end);
    }
}

#endif
