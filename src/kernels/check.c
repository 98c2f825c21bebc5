/* check.c - does a table give the bits of portable.c? */
#include "kernels/check.h"
#include "base/half.h"
#include "kernels/tables.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- comparing ---- */

static void *lines(size_t bytes) {
    size_t rounded = (bytes + FCT_LINE - 1) / FCT_LINE * FCT_LINE;
    return aligned_alloc(FCT_LINE, rounded ? rounded : FCT_LINE);
}

static float *new_floats(size_t n, uint32_t seed) {
    float *x = lines(n * sizeof *x);
    if (x) fct_made_up_floats(x, n, seed);
    return x;
}

/* Index of the first difference, n if there is none. Any NaN equals any other. */
static size_t first_difference(const float *a, const float *b, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (fct_float_bits(a[i]) != fct_float_bits(b[i]) && !(isnan(a[i]) && isnan(b[i]))) return i;
    return n;
}

__attribute__((format(printf, 3, 4))) static bool fail(char *what, size_t n, const char *format,
                                                       ...) {
    va_list arguments;
    va_start(arguments, format);
    if (n) vsnprintf(what, n, format, arguments);
    va_end(arguments);
    return false;
}

static bool same(const float *got, const float *expected, size_t count, const char *name,
                 char *what, size_t n) {
    size_t i = first_difference(got, expected, count);
    if (i == count) return true;
    return fail(what, n, "%s: element %zu of %zu is %.9g, portable gives %.9g", name, i, count,
                (double)got[i], (double)expected[i]);
}

static const char *const no_memory = "out of memory";

/* ---- matrices ---- */

const struct fct_matmul_case fct_check_kinds[FCT_CHECK_KINDS] = {
    {.scheme = FCT_Q4, .group = 32, .act_group = 32},
    {.scheme = FCT_Q4, .group = 64, .act_group = 64},
    {.scheme = FCT_Q4, .group = 128, .act_group = 128},
    {.scheme = FCT_Q8, .group = 32, .act_group = 32},
    {.scheme = FCT_Q4, .group = 0, .act_group = 32},
    {.scheme = FCT_Q8, .group = 0, .act_group = 32},
    {.scheme = FCT_Q2, .group = 0, .act_group = 32},
    {.scheme = FCT_Q4, .group = 0, .act_group = 0},
    {.scheme = FCT_Q8, .group = 0, .act_group = 0},
    {.scheme = FCT_Q2, .group = 0, .act_group = 0},
};

/* Everything a product needs. */
struct product {
    struct fct_matrix w;
    uint8_t *data;
    float *x, *got, *expected;
    struct fct_act act;
    size_t x_stride, y_stride, y_floats;
};

static void free_product(struct product *p) {
    free(p->data), free(p->x), free(p->got), free(p->expected);
    free(p->act.codes), free(p->act.groups);
}

/* Where one token ends and the next begins depends on the room there is: more than is needed. */
static struct fct_act make_act(size_t tokens, int group, size_t stride) {
    struct fct_act act = {(int)stride, group, lines(tokens * stride), NULL};
    act.groups = lines(tokens * (size_t)fct_act_groups(act.stride) * sizeof *act.groups);
    return act;
}

static bool make_product(struct product *p, const struct fct_matmul_case *it) {
    size_t tokens = (size_t)it->n_tokens, alike = FCT_ACT_ALIGN;
    memset(p, 0, sizeof *p);
    p->w = (struct fct_matrix){it->scheme, it->group, it->rows, it->columns, NULL};
    p->x_stride = ((size_t)it->columns + alike - 1) / alike * alike;
    p->y_stride = (size_t)fct_strips(it->rows) * FCT_STRIP;
    p->y_floats = tokens * p->y_stride;
    p->w.data = p->data = lines(fct_matrix_bytes(&p->w));
    p->x = new_floats(tokens * p->x_stride, 3);
    p->got = new_floats(p->y_floats, 4);
    p->expected = new_floats(p->y_floats, 4);
    p->act = make_act(tokens, it->act_group, p->x_stride + alike);
    if (!p->data || !p->x || !p->got || !p->expected || !p->act.codes || !p->act.groups)
        return false;
    fct_made_up_matrix(&p->w, p->data, 1 + (uint32_t)it->columns);
    memset(p->act.codes, 0x55, tokens * (size_t)p->act.stride);
    for (int t = 0; t < it->n_tokens;
         t++) /* some with a static scale that saturates, to meet -128 */
        fct_kernels_portable.quantize(p->x + (size_t)t * p->x_stride, it->columns,
                                      t % 3 == 1 ? 0.02f : 0.0f, &p->act, t);
    return true;
}

static const char *case_name(const struct fct_matmul_case *it, const char *operation,
                             char name[96]) {
    static const char *const schemes[] = {"f32", "q8", "q4", "q2"};
    snprintf(name, 96, "%s %s group %d, %d x %d, strips %d to %d, %d tokens in groups of %d",
             operation, schemes[it->scheme], it->group, it->rows, it->columns, it->begin, it->end,
             it->n_tokens, it->act_group);
    return name;
}

bool fct_check_matmul(const struct fct_kernels *kernels, const struct fct_matmul_case *it,
                      char *what, size_t n) {
    struct product p;
    char name[96];
    bool good = make_product(&p, it) || fail(what, n, "%s", no_memory);
    if (!good) goto done;
    fct_kernels_portable.matmul(&p.w, &p.act, it->n_tokens, it->begin, it->end, p.expected,
                                p.y_stride);
    kernels->matmul(&p.w, &p.act, it->n_tokens, it->begin, it->end, p.got, p.y_stride);
    good = same(p.got, p.expected, p.y_floats, case_name(it, "matmul", name), what, n);
    if (!good) goto done;
    fct_made_up_floats(p.got, p.y_stride, 4);
    kernels->matmul(&p.w, &p.act, 1, it->begin, it->end, p.got, p.y_stride);
    good = same(p.got, p.expected, p.y_stride, case_name(it, "matmul of one token out of", name),
                what, n);
done:
    free_product(&p);
    return good;
}

bool fct_check_matmul_f32(const struct fct_kernels *kernels, const struct fct_matmul_case *it,
                          char *what, size_t n) {
    struct product p;
    char name[96];
    bool good = make_product(&p, it) || fail(what, n, "%s", no_memory);
    if (good) {
        fct_kernels_portable.matmul_f32(&p.w, p.x, p.x_stride, it->n_tokens, it->begin, it->end,
                                        p.expected, p.y_stride);
        kernels->matmul_f32(&p.w, p.x, p.x_stride, it->n_tokens, it->begin, it->end, p.got,
                            p.y_stride);
        good = same(p.got, p.expected, p.y_floats, case_name(it, "matmul_f32", name), what, n);
    }
    free_product(&p);
    return good;
}

/* ---- vectors ---- */

/* y and its twin by portable.c, out of x, w and r. */
struct vectors {
    int length;
    float *x, *w, *r, *got, *expected;
    struct fct_act act; /* two rows */
};

static bool check_norms(const struct fct_kernels *k, const struct vectors *v, char *what,
                        size_t n) {
    const struct fct_kernels *p = &fct_kernels_portable;
    size_t count = (size_t)v->length;
    for (int weighted = 0; weighted < 2; weighted++) {
        const float *w = weighted ? v->w : NULL;
        p->rms_norm(v->x, w, v->length, 1e-6f, v->expected);
        k->rms_norm(v->x, w, v->length, 1e-6f, v->got);
        if (!same(v->got, v->expected, count, "rms_norm", what, n)) return false;
        memcpy(v->got, v->x, count * 4);
        k->rms_norm(v->got, w, v->length, 1e-6f, v->got);
        if (!same(v->got, v->expected, count, "rms_norm in place", what, n)) return false;
        p->rms_norm_add(v->x, w, v->r, v->length, 1e-6f, v->expected);
        k->rms_norm_add(v->x, w, v->r, v->length, 1e-6f, v->got);
        if (!same(v->got, v->expected, count, "rms_norm_add", what, n)) return false;
        memcpy(v->got, v->r, count * 4);
        k->rms_norm_add(v->x, w, v->got, v->length, 1e-6f, v->got);
        if (!same(v->got, v->expected, count, "rms_norm_add in place", what, n)) return false;
    }
    return true;
}

static bool check_elements(const struct fct_kernels *k, const struct vectors *v, char *what,
                           size_t n) {
    const struct fct_kernels *p = &fct_kernels_portable;
    size_t count = (size_t)v->length;
    p->scale(v->x, 0.3f, v->length, v->expected);
    k->scale(v->x, 0.3f, v->length, v->got);
    if (!same(v->got, v->expected, count, "scale", what, n)) return false;
    p->add_scale(v->x, v->r, 0.3f, v->length, v->expected);
    k->add_scale(v->x, v->r, 0.3f, v->length, v->got);
    if (!same(v->got, v->expected, count, "add_scale", what, n)) return false;
    p->gelu_mul(v->x, v->r, v->length, v->expected);
    k->gelu_mul(v->x, v->r, v->length, v->got);
    if (!same(v->got, v->expected, count, "gelu_mul", what, n)) return false;
    memcpy(v->got, v->r, count * 4);
    k->gelu_mul(v->x, v->got, v->length, v->got);
    return same(v->got, v->expected, count, "gelu_mul in place", what, n);
}

static bool check_odd_lengths(const struct fct_kernels *k, const struct vectors *v, int length,
                              char *what, size_t n) {
    const struct fct_kernels *p = &fct_kernels_portable;
    size_t count = (size_t)v->length;
    memcpy(v->expected, v->x, count * 4);
    memcpy(v->got, v->x, count * 4);
    p->softcap(v->expected, 3.0f, length);
    k->softcap(v->got, 3.0f, length);
    if (!same(v->got, v->expected, count, "softcap", what, n)) return false;
    memcpy(v->expected, v->x, count * 4);
    memcpy(v->got, v->x, count * 4);
    p->rope(v->expected, v->w, v->r, length / 2, v->length / 2);
    k->rope(v->got, v->w, v->r, length / 2, v->length / 2);
    if (!same(v->got, v->expected, count, "rope", what, n)) return false;
    int expected = p->argmax(v->x, length), got = k->argmax(v->x, length);
    if (got != expected)
        return fail(what, n, "argmax: %d of %d, portable gives %d", got, length, expected);
    return true;
}

static bool check_quantize(const struct fct_kernels *k, const struct vectors *v, int length,
                           int group, float scale, char *what, size_t n) {
    struct fct_act act = v->act;
    size_t stride = (size_t)act.stride;
    act.group = group;
    memset(act.codes, 0x55, 2 * stride);
    memset(act.groups, 0x55, 2 * stride / 32 * sizeof *act.groups);
    fct_kernels_portable.quantize(v->x, length, scale, &act, 0);
    k->quantize(v->x, length, scale, &act, 1);
    for (size_t i = 0; i < stride; i++)
        if (act.codes[i] != act.codes[stride + i])
            return fail(what, n, "quantize: code %zu of %d is %d, portable gives %d", i, length,
                        act.codes[stride + i], act.codes[i]);
    for (size_t i = 0; i < stride / 32; i++) {
        const struct fct_act_group *expected = &act.groups[i], *got = expected + stride / 32;
        if (!same(&got->scale, &expected->scale, 1, "scale of quantize", what, n)) return false;
        if (got->minus_8_sum != expected->minus_8_sum)
            return fail(what, n, "quantize: sum %zu of %d inputs is %d, portable gives %d", i,
                        length, got->minus_8_sum, expected->minus_8_sum);
    }
    return true;
}

static bool check_one_input(const struct fct_kernels *k, const struct vectors *v, char *what,
                            size_t n) {
    static const int groups[] = {0, 32, 64, 128};
    bool good = check_norms(k, v, what, n) && check_elements(k, v, what, n);
    for (int less = 0; less < 16 && good; less += 5) {
        good = check_odd_lengths(k, v, v->length - less, what, n);
        for (int i = 0; i < 4 && good; i++)
            good = check_quantize(k, v, v->length - less, groups[i], 0.0f, what, n) &&
                   check_quantize(k, v, v->length - less, groups[i], 0.01f, what, n);
    }
    return good;
}

bool fct_check_vectors(const struct fct_kernels *kernels, int length, char *what, size_t n) {
    static const float specials[] = {NAN,    -INFINITY, INFINITY, -0.0f,
                                     1e-40f, 3e38f,     3e-32f,   -20.0f};
    size_t count = (size_t)length, alike = FCT_ACT_ALIGN;
    struct vectors v = {length,
                        new_floats(count, 1),
                        new_floats(count, 2),
                        new_floats(count, 3),
                        new_floats(count, 4),
                        new_floats(count, 5),
                        make_act(2, 0, (count + alike - 1) / alike * alike + alike)};
    bool good = v.x && v.w && v.r && v.got && v.expected && v.act.codes && v.act.groups;
    if (!good) fail(what, n, "%s", no_memory);
    good = good && check_one_input(kernels, &v, what, n);
    for (size_t i = 0; i < sizeof specials / sizeof *specials && good; i++) {
        fct_made_up_floats(v.x, count, 1);
        v.x[(i * 7 + 3) % count] = v.x[count - 1 - i % 2] = specials[i];
        good = check_one_input(kernels, &v, what, n);
    }
    for (size_t i = 0; i < count && good; i++) v.x[i] = i % 3 ? 0.0f : 1e-33f;
    good = good && check_one_input(kernels, &v, what, n);
    for (size_t i = 0; i < count && good; i++) v.x[i] = NAN;
    good = good && check_one_input(kernels, &v, what, n);
    free(v.x), free(v.w), free(v.r), free(v.got), free(v.expected);
    free(v.act.codes), free(v.act.groups);
    return good;
}

bool fct_check_lookup(const struct fct_kernels *kernels, enum fct_scheme scheme, int blocks,
                      int columns, char *what, size_t n) {
    enum { ROWS = 3 };
    size_t row_bytes = fct_table_row_bytes(scheme, blocks, columns),
           width = (size_t)(columns / blocks);
    float *floats = new_floats(ROWS * row_bytes / 4, 5), *got = new_floats((size_t)columns, 6),
          *expected = new_floats((size_t)columns, 6);
    bool good = (floats && got && expected) || fail(what, n, "%s", no_memory);
    struct fct_table table = {scheme, blocks, ROWS, columns, (const uint8_t *)floats};
    for (int first = 0; first < blocks && good; first++) {
        int n_blocks = blocks - first;
        fct_kernels_portable.lookup(&table, first % ROWS, first, n_blocks, 1.7f, expected);
        kernels->lookup(&table, first % ROWS, first, n_blocks, 1.7f, got);
        good = same(got, expected, (size_t)n_blocks * width, "lookup", what, n);
    }
    free(floats), free(got), free(expected);
    return good;
}

/* ---- attention ---- */

/* Caches and results, [0] by portable.c and [1] by the table. */
struct chunk {
    float *x, *queries;
    char *keys[2], *values[2];
    float *key_scales[2], *value_scales[2];
    struct fct_partial partials[2], totals[2];
    size_t cache_bytes;
};

static void free_chunk(struct chunk *c) {
    free(c->x), free(c->queries);
    for (int i = 0; i < 2; i++) {
        free(c->keys[i]), free(c->values[i]), free(c->key_scales[i]), free(c->value_scales[i]);
        free(c->partials[i].max), free(c->partials[i].sum), free(c->partials[i].out);
        free(c->totals[i].max), free(c->totals[i].sum), free(c->totals[i].out);
    }
}

static bool make_partial(struct fct_partial *p, size_t n_queries, size_t head_dim) {
    p->max = new_floats(n_queries, 7);
    p->sum = lines(n_queries * sizeof(float));
    p->out = new_floats(n_queries * head_dim, 8);
    if (!p->max || !p->sum || !p->out) return false;
    memset(p->sum, 0, n_queries * sizeof(float));
    return true;
}

static bool make_chunk(struct chunk *c, const struct fct_attend_case *it) {
    size_t head_dim = (size_t)it->head_dim, n_queries = (size_t)it->n_queries;
    memset(c, 0, sizeof *c);
    c->cache_bytes = head_dim * FCT_KV_CHUNK * fct_kv_type_bytes(it->type);
    c->x = new_floats(head_dim * FCT_KV_CHUNK, 1);
    c->queries = new_floats(n_queries * head_dim, 2);
    bool good = c->x && c->queries;
    for (int i = 0; i < 2; i++) {
        c->keys[i] = lines(c->cache_bytes), c->values[i] = lines(c->cache_bytes);
        c->key_scales[i] = new_floats(FCT_KV_CHUNK, 9),
        c->value_scales[i] = new_floats(FCT_KV_CHUNK, 10);
        good = good && c->keys[i] && c->values[i] && c->key_scales[i] && c->value_scales[i] &&
               make_partial(&c->partials[i], n_queries, head_dim) &&
               make_partial(&c->totals[i], n_queries, head_dim);
    }
    return good;
}

/* Fills the cache of one table, all bits set (NaN in floats) where nothing may look. */
static void fill_cache(const struct fct_kernels *k, const struct fct_attend_case *it,
                       struct chunk *c, int i) {
    size_t block_bytes = c->cache_bytes / (FCT_KV_CHUNK / FCT_KV_BLOCK);
    memset(c->keys[i], 0xFF, c->cache_bytes);
    memset(c->values[i], 0xFF, c->cache_bytes);
    for (int p = 0; p < FCT_KV_CHUNK; p++) {
        size_t at = (size_t)(p / FCT_KV_BLOCK) * block_bytes;
        const float *x = c->x + (size_t)p * (size_t)it->head_dim;
        c->key_scales[i][p] = c->value_scales[i][p] = NAN;
        if (p < it->begin || p >= it->end) continue;
        c->key_scales[i][p] = p % 5 ? 0 : 0.05f;
        c->value_scales[i][p] = p % 7 ? 0 : 0.05f;
        k->store_key(it->type, x, it->head_dim, c->keys[i] + at, p % FCT_KV_BLOCK,
                     &c->key_scales[i][p]);
        k->store_value(it->type, x, it->head_dim, c->values[i] + at, p % FCT_KV_BLOCK,
                       &c->value_scales[i][p]);
    }
}

static bool same_partials(const struct fct_partial p[2], const struct fct_attend_case *it,
                          const char *name, char *what, size_t n) {
    size_t n_queries = (size_t)it->n_queries;
    return same(p[1].max, p[0].max, n_queries, name, what, n) &&
           same(p[1].sum, p[0].sum, n_queries, name, what, n) &&
           same(p[1].out, p[0].out, n_queries * (size_t)it->head_dim, name, what, n);
}

static bool compare_attend(const struct fct_kernels *kernels, const struct fct_attend_case *it,
                           struct chunk *c, char *what, size_t n) {
    const struct fct_kernels *tables[2] = {&fct_kernels_portable, kernels};
    static const char *const types[] = {"f32", "f16", "q8"};
    size_t floats = (size_t)it->n_queries * (size_t)it->head_dim;
    char name[96];
    for (int i = 0; i < 2; i++) {
        fill_cache(tables[i], it, c, i);
        struct fct_attend job = {it->type,         it->head_dim,       c->keys[i], c->values[i],
                                 c->key_scales[i], c->value_scales[i], it->begin,  it->end,
                                 c->queries,       it->n_queries};
        tables[i]->attend(&job, c->partials[i]);
    }
    snprintf(name, sizeof name, "%s of %s, head %d, %d queries, positions %d to %d", "attend",
             types[it->type], it->head_dim, it->n_queries, it->begin, it->end);
    if (memcmp(c->keys[0], c->keys[1], c->cache_bytes))
        return fail(what, n, "store_key of %s", types[it->type]);
    if (memcmp(c->values[0], c->values[1], c->cache_bytes))
        return fail(what, n, "store_value of %s", types[it->type]);
    if (!same_partials(c->partials, it, name, what, n)) return false;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 2; i++) {
            tables[i]->merge(it->n_queries, it->head_dim, c->totals[i], c->partials[i]);
            for (int q = 0; q < it->n_queries; q++) c->partials[i].max[q] += q % 2 ? 0.7f : -0.4f;
        }
        if (!same_partials(c->totals, it, "merge", what, n)) return false;
    }
    for (int i = 0; i < 2; i++)
        tables[i]->finish(it->n_queries, it->head_dim, c->totals[i], c->totals[i].out);
    return same(c->totals[1].out, c->totals[0].out, floats, "finish", what, n);
}

bool fct_check_attend(const struct fct_kernels *kernels, const struct fct_attend_case *it,
                      char *what, size_t n) {
    struct chunk c;
    bool good = make_chunk(&c, it) ? compare_attend(kernels, it, &c, what, n)
                                   : fail(what, n, "%s", no_memory);
    free_chunk(&c);
    return good;
}

/* ---- the short check ---- */

static bool check_matrices(const struct fct_kernels *kernels, char *what, size_t n) {
    static const int tokens[] = {1, 2, 3, 4, 5, 6, 7, 8, 11, 29};
    for (int i = 0; i < FCT_CHECK_KINDS; i++)
        for (size_t t = 0; t < sizeof tokens / sizeof *tokens; t++) {
            struct fct_matmul_case it = fct_check_kinds[i];
            it.rows = 72, it.columns = 608, it.n_tokens = tokens[t], it.begin = 0, it.end = 5;
            if (!fct_check_matmul(kernels, &it, what, n)) return false;
            if (t % 4 == 3 && !fct_check_matmul_f32(kernels, &it, what, n)) return false;
        }
    struct fct_matmul_case floats = {FCT_F32, 0, 0, 72, 608, 7, 0, 5};
    return fct_check_matmul_f32(kernels, &floats, what, n);
}

bool fct_kernels_check(const struct fct_kernels *kernels, char *what, size_t n) {
    bool good = check_matrices(kernels, what, n) && fct_check_vectors(kernels, 528, what, n);
    for (int scheme = FCT_F32; scheme <= FCT_Q2 && good; scheme++)
        good = fct_check_lookup(kernels, (enum fct_scheme)scheme, 3, 3 * 48, what, n);
    for (int type = FCT_KV_TYPE_F32; type <= FCT_KV_TYPE_Q8 && good; type++)
        for (int queries = 1; queries <= 11 && good; queries++) {
            struct fct_attend_case it = {(enum fct_kv_type)type, 64, queries, queries * 3,
                                         128 - queries};
            good = fct_check_attend(kernels, &it, what, n);
        }
    return good;
}
