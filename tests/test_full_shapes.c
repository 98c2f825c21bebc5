/* test_full_shapes.c - the published sizes of Gemma 4: every tensor that a checkpoint of that shape
 * has is the one that the network asks for. The files are all holes, so they take no space. */
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "facet.h"
#include "scratch_folder.h"

struct size {
    int n_layers, n_shared, hidden, wide, n_kv_heads, period; /* every period-th layer is full */
    bool double_wide;                                         /* of sharing layers */
    double billions; /* of parameters, keys and values of sharing layers left out */
};
static const struct size e2b = {35, 20, 1536, 6144, 1, 5, true, 4.629},
                         e4b = {42, 18, 2560, 10240, 2, 6, false, 7.463};
enum { VOCAB = 262144, N_HEADS = 8, HEAD = 256, FULL_HEAD = 512, PER_LAYER = 256 };

static bool is_full(const struct size *s, int i) {
    return i % s->period == s->period - 1 || i == s->n_layers - 1;
}

static json_t *config_of(const struct size *s) {
    json_t *config = json_pack(
        "{s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:f, s:s, s:b, s:b, "
        "s:i}",
        "model_type", "gemma4_text", "hidden_size", s->hidden, "intermediate_size", s->wide,
        "num_hidden_layers", s->n_layers, "num_attention_heads", N_HEADS, "num_key_value_heads",
        s->n_kv_heads, "head_dim", HEAD, "global_head_dim", FULL_HEAD, "vocab_size", VOCAB,
        "vocab_size_per_layer_input", VOCAB, "hidden_size_per_layer_input", PER_LAYER,
        "num_kv_shared_layers", s->n_shared, "sliding_window", 512, "final_logit_softcapping", 30.0,
        "hidden_activation", "gelu_pytorch_tanh", "use_double_wide_mlp", s->double_wide,
        "tie_word_embeddings", 1, "eos_token_id", 1);
    json_t *types = json_array();
    for (int i = 0; i < s->n_layers; i++)
        json_array_append_new(types,
                              json_string(is_full(s, i) ? "full_attention" : "sliding_attention"));
    json_object_set_new(config, "layer_types", types);
    json_object_set_new(config, "rope_parameters",
                        json_pack("{s:{s:s, s:f}, s:{s:s, s:f, s:f}}", "sliding_attention",
                                  "rope_type", "default", "rope_theta", 1e4, "full_attention",
                                  "rope_type", "proportional", "rope_theta", 1e6,
                                  "partial_rotary_factor", 0.25));
    return config;
}

/* ---- the header of its file ---- */

struct header {
    json_t *json;
    json_int_t n_bytes; /* of data so far */
};

static void add(struct header *h, int layer, const char *name, int rows, int columns) {
    char key[128];
    json_int_t n_bytes = (json_int_t)2 * rows * (columns ? columns : 1);
    json_t *shape = columns ? json_pack("[i, i]", rows, columns) : json_pack("[i]", rows);
    if (layer < 0)
        snprintf(key, sizeof key, "model.%s", name);
    else
        snprintf(key, sizeof key, "model.layers.%d.%s", layer, name);
    json_object_set_new(h->json, key,
                        json_pack("{s:s, s:o, s:[I, I]}", "dtype", "BF16", "shape", shape,
                                  "data_offsets", h->n_bytes, h->n_bytes + n_bytes));
    h->n_bytes += n_bytes;
}

static void add_layer(struct header *h, const struct size *s, int i) {
    bool own = i < s->n_layers - s->n_shared;
    int d = is_full(s, i) ? FULL_HEAD : HEAD, wide = s->double_wide && !own ? 2 * s->wide : s->wide;
    add(h, i, "input_layernorm.weight", s->hidden, 0);
    add(h, i, "self_attn.q_proj.weight", N_HEADS * d, s->hidden);
    add(h, i, "self_attn.q_norm.weight", d, 0);
    if (own) {
        add(h, i, "self_attn.k_proj.weight", s->n_kv_heads * d, s->hidden);
        add(h, i, "self_attn.v_proj.weight", s->n_kv_heads * d, s->hidden);
        add(h, i, "self_attn.k_norm.weight", d, 0);
    }
    add(h, i, "self_attn.o_proj.weight", s->hidden, N_HEADS * d);
    add(h, i, "post_attention_layernorm.weight", s->hidden, 0);
    add(h, i, "pre_feedforward_layernorm.weight", s->hidden, 0);
    add(h, i, "mlp.gate_proj.weight", wide, s->hidden);
    add(h, i, "mlp.up_proj.weight", wide, s->hidden);
    add(h, i, "mlp.down_proj.weight", s->hidden, wide);
    add(h, i, "post_feedforward_layernorm.weight", s->hidden, 0);
    add(h, i, "per_layer_input_gate.weight", PER_LAYER, s->hidden);
    add(h, i, "per_layer_projection.weight", s->hidden, PER_LAYER);
    add(h, i, "post_per_layer_input_norm.weight", s->hidden, 0);
    add(h, i, "layer_scalar", 1, 0);
}

static void write_weights(const struct size *s) {
    struct header h = {json_object(), 0};
    add(&h, -1, "embed_tokens.weight", VOCAB, s->hidden);
    add(&h, -1, "embed_tokens_per_layer.weight", VOCAB, s->n_layers * PER_LAYER);
    add(&h, -1, "per_layer_model_projection.weight", s->n_layers * PER_LAYER, s->hidden);
    add(&h, -1, "per_layer_projection_norm.weight", PER_LAYER, 0);
    add(&h, -1, "norm.weight", s->hidden, 0);
    for (int i = 0; i < s->n_layers; i++) add_layer(&h, s, i);
    char *text = json_dumps(h.json, JSON_COMPACT);
    uint64_t n = strlen(text);
    int fd = open(scratch_path("model.safetensors"), O_CREAT | O_TRUNC | O_WRONLY, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, &n, sizeof n), sizeof n);
    assert_int_equal(write(fd, text, (size_t)n), n);
    assert_int_equal(ftruncate(fd, (off_t)(sizeof n + n) + (off_t)h.n_bytes), 0);
    close(fd);
    free(text);
    json_decref(h.json);
}

/* ---- what facet says of it ---- */

static void check_size(const struct size *s) {
    fct_error err = {0};
    json_t *config = config_of(s);
    assert_int_equal(json_dump_file(config, scratch_path("config.json"), 0), 0);
    json_decref(config);
    write_weights(s);
    char *text = NULL;
    if (fct_describe(scratch_path(""), &text, &err) != FCT_OK) fail_msg("%s", err.message);
    json_t *json = json_loads(text, 0, NULL);
    const char *why_not = json_string_value(json_object_get(json, "why_not"));
    if (!json_is_true(json_object_get(json, "runnable"))) fail_msg("%s", why_not ? why_not : "");
    double n = json_number_value(json_object_get(json, "n_parameters"));
    if (fabs(n / 1e9 - s->billions) > 0.001) fail_msg("%.4f billion parameters", n / 1e9);
    json_decref(json);
    fct_free(text);
}

static void e2b_is_what_the_network_asks_for(void **state) {
    (void)state;
    check_size(&e2b);
}

static void e4b_is_what_the_network_asks_for(void **state) {
    (void)state;
    check_size(&e4b);
}

/* One that is neither: the shape that is wrong is named. */
static void another_width_is_refused(void **state) {
    (void)state;
    fct_error err = {0};
    struct size odd = e4b;
    json_t *config = config_of(&odd);
    odd.n_kv_heads = 1;
    write_weights(&odd);
    assert_int_equal(json_dump_file(config, scratch_path("config.json"), 0), 0);
    json_decref(config);
    char *text = NULL;
    assert_int_equal(fct_describe(scratch_path(""), &text, &err), FCT_OK);
    json_t *json = json_loads(text, 0, NULL);
    assert_true(json_is_false(json_object_get(json, "runnable")));
    assert_non_null(strstr(json_string_value(json_object_get(json, "why_not")), "k_proj"));
    json_decref(json);
    fct_free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(e2b_is_what_the_network_asks_for),
        SCRATCH_TEST(e4b_is_what_the_network_asks_for),
        SCRATCH_TEST(another_width_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
