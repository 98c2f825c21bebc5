/* test_linear.c - linear layers with static scales: each rounds its own input and output. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/threads.h"
#include "transformer/blocks_of_layer.h"

enum { COLUMNS = 64, ROWS = 40, TOKENS = 3, BATCH = 4 };

/* A pass of three tokens over a network of hidden size 64, with an input of made-up numbers. */
struct bench {
    struct fct_config config;
    struct fct_scratch scratch;
    struct fct_pass pass;
    fct_pool *pool;
};

static void set_up(struct bench *b, bool float_activations) {
    json_t *json = json_load_file(TEST_DATA "/mobile/mobile/config.json", 0, NULL);
    fct_error err = {0};
    memset(b, 0, sizeof *b);
    assert_int_equal(fct_config_parse(&b->config, json, "config.json", &err), FCT_OK);
    json_decref(json);
    assert_int_equal(b->config.hidden_size, COLUMNS);
    assert_int_equal(fct_scratch_init(&b->scratch, &b->config, BATCH, 2, 128, &err), FCT_OK);
    b->pool = fct_pool_new(2, &err);
    b->pass = (struct fct_pass){.config = &b->config,
                                .kernels = fct_kernels_select(NULL),
                                .scratch = &b->scratch,
                                .float_activations = float_activations,
                                .n_tokens = TOKENS};
    srand(7);
    for (int i = 0; i < TOKENS * COLUMNS; i++)
        b->scratch.normed.values[i] = (float)(rand() % 2001 - 1000) / 300.0f;
}

static void tear_down(struct bench *b) {
    fct_scratch_free(&b->scratch);
    fct_pool_free(b->pool);
}

/* A layer of int8 codes, one scale a row, or of the same numbers as floats. */
struct layer {
    struct fct_linear_layer w;
    float weights[ROWS][COLUMNS];
    _Alignas(64) uint8_t data[3 * COLUMNS * 64];
};

static void make_layer(struct layer *l, enum fct_scheme scheme, int seed) {
    memset(l, 0, sizeof *l);
    srand((unsigned)seed);
    l->w.matrix = (struct fct_matrix){scheme, 0, ROWS, COLUMNS, l->data};
    size_t strip_bytes = fct_strip_bytes(scheme, 0, COLUMNS);
    assert_true(fct_matrix_bytes(&l->w.matrix) <= sizeof l->data);
    for (int r = 0; r < ROWS; r++) {
        uint8_t *strip = l->data + (size_t)(r / 16) * strip_bytes;
        float scale = 0.001f * (float)(1 + r);
        for (int i = 0; i < COLUMNS; i++) {
            int code = rand() % 255 - 127;
            float weight = (float)code * scale;
            l->weights[r][i] = weight;
            if (scheme == FCT_F32)
                memcpy(strip + i * 64 + r % 16 * 4, &weight, sizeof weight);
            else
                strip[i / 4 * 64 + r % 16 * 4 + i % 4] = (uint8_t)(int8_t)code;
        }
        if (scheme != FCT_F32) memcpy(strip + strip_bytes - 64 + r % 16 * 4, &scale, sizeof scale);
    }
}

static double rounded(double v, double scale) {
    if (scale == 0) return v;
    double code = rint((double)((float)v / (float)scale));
    return fmin(fmax(code, -128), 127) * scale;
}

static double expected(const struct bench *b, const struct layer *l, int token, int row) {
    double sum = 0;
    for (int i = 0; i < COLUMNS; i++)
        sum += (double)l->weights[row][i] *
               rounded((double)b->scratch.normed.values[token * COLUMNS + i],
                       (double)l->w.input_scale);
    return rounded(sum, (double)l->w.output_scale);
}

struct job {
    const struct bench *b;
    struct layer *layers;
    int n;
    float *y;
};

static void run(void *user, struct fct_team team) {
    struct job *job = user;
    const struct bench *b = job->b;
    const struct fct_linear_layer *readers[FCT_MAX_FORMS];
    struct fct_span span = {0, TOKENS}, mine = fct_token_share(team, span);
    for (int i = 0; i < job->n; i++) readers[i] = &job->layers[i].w;
    for (int t = mine.begin; t < mine.end; t++)
        fct_input_done(&b->pass, &b->scratch.normed, t, COLUMNS, readers, job->n);
    fct_team_wait(team);
    for (int i = 0; i < job->n; i++)
        fct_linear(&b->pass, team, readers[i], &b->scratch.normed, span, job->y + i * TOKENS * 48,
                   48, NULL);
}

static void check(const struct bench *b, struct layer *layers, int n) {
    float y[FCT_MAX_FORMS * TOKENS * 48];
    struct job job = {b, layers, n, y};
    fct_pool_run(b->pool, 2, run, &job);
    for (int i = 0; i < n; i++)
        for (int t = 0; t < TOKENS; t++)
            for (int r = 0; r < ROWS; r++) {
                double wanted = expected(b, &layers[i], t, r),
                       got = (double)y[(i * TOKENS + t) * 48 + r];
                /* 64 products below 50 each, in float32 */
                if (!(fabs(got - wanted) <= 2e-4))
                    fail_msg("layer %d token %d row %d: %g, not %g", i, t, r, got, wanted);
            }
}

/* Queries, keys and values with scales of their own: two alike share what is rounded. */
static void each_layer_rounds_its_input_with_its_own_scale(void **state) {
    (void)state;
    static struct layer layers[3];
    for (int floats = 0; floats < 2; floats++)
        for (int scheme = FCT_F32; scheme <= FCT_Q8; scheme++) {
            struct bench b;
            set_up(&b, floats);
            for (int i = 0; i < 3; i++) make_layer(&layers[i], (enum fct_scheme)scheme, 10 + i);
            layers[0].w.input_scale = layers[2].w.input_scale = 0.02f;
            layers[1].w.input_scale = 0.05f;
            layers[1].w.form = 1;
            check(&b, layers, 3);
            layers[2].w.input_scale = 0.01f; /* clips: 127 * 0.01 is less than 3.3 */
            layers[2].w.form = 2;
            check(&b, layers, 3);
            tear_down(&b);
        }
}

/* In float, a layer without a scale takes the numbers as they are, beside one that rounds. */
static void a_layer_without_a_scale_stays_in_float(void **state) {
    (void)state;
    static struct layer layers[2];
    struct bench b;
    set_up(&b, true);
    for (int first = 0; first < 2; first++) {
        for (int i = 0; i < 2; i++) make_layer(&layers[i], FCT_Q8, 20 + i);
        layers[first].w.input_scale = 0.03f;
        layers[1].w.form = 1;
        check(&b, layers, 2);
    }
    tear_down(&b);
}

/* Sums that lie on the border between two steps could fall to either side: the step is such that
 * none is nearer to one than float32 can be wrong. */
static void an_output_is_rounded_to_steps_and_clipped(void **state) {
    (void)state;
    static struct layer layer;
    struct bench b;
    set_up(&b, true);
    make_layer(&layer, FCT_Q8, 30);
    const float steps[] = {0.17f, 0.0313f};
    for (int i = 0; i < 2; i++) {
        layer.w.output_scale = steps[i];
        for (int t = 0; t < TOKENS; t++)
            for (int r = 0; r < ROWS; r++) {
                struct layer plain = layer;
                plain.w.output_scale = 0;
                double at = expected(&b, &plain, t, r) / (double)steps[i];
                assert_true(fabs(fabs(at - floor(at)) - 0.5) > 1e-4);
            }
        check(&b, &layer, 1);
    }
    tear_down(&b);
}

static void a_static_scale_of_the_cache_stays(void **state) {
    (void)state;
    struct bench b;
    struct fct_kv_cache cache;
    fct_error err = {0};
    float key[64], value[64];
    set_up(&b, true);
    for (int i = 0; i < 64; i++) key[i] = value[i] = (float)(i - 20) / 10.0f;
    assert_int_equal(fct_kv_cache_init(&cache, &b.config, FCT_KV_TYPE_Q8, 128, 16, &err), FCT_OK);
    struct fct_kv_layer *layer = &cache.layers[0];
    fct_kv_layer_store(layer, FCT_KV_TYPE_Q8, b.pass.kernels, 0, 0, key, value);
    layer->static_key = 0.25f;
    layer->static_value = 0.01f;
    fct_kv_layer_store(layer, FCT_KV_TYPE_Q8, b.pass.kernels, 0, 1, key, value);
    assert_true(layer->key_scales[0] == layer->value_scales[0] && layer->key_scales[0] > 0);
    assert_true(layer->key_scales[1] == 0.25f && layer->value_scales[1] == 0.01f);
    assert_int_equal((int8_t)layer->keys[31 * 16 + 1], 4);               /* 1.1 / 0.25 = 4.4 */
    assert_int_equal((int8_t)layer->keys[1], -8);                        /* -2 / 0.25 */
    assert_int_equal((int8_t)layer->values[16 * 16 + 1 * 16 + 15], 110); /* 1.1 / 0.01 */
    assert_int_equal((int8_t)layer->values[16], -128);                   /* -2 / 0.01, clipped */
    fct_kv_cache_free(&cache);
    tear_down(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_layer_rounds_its_input_with_its_own_scale),
        cmocka_unit_test(a_layer_without_a_scale_stays_in_float),
        cmocka_unit_test(an_output_is_rounded_to_steps_and_clipped),
        cmocka_unit_test(a_static_scale_of_the_cache_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
