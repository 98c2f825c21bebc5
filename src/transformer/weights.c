/* weights.c - the network's tensors, as they lie in the packed file. */
#include "transformer/weights.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

/* The pack being read; the first fault sticks. */
struct opening {
    const fct_pack *pack;
    fct_error *err;
    fct_status status;
    uint64_t matrix_bytes;
    char prefix[32]; /* "layers.3." or "" */
};

static const char *full_name(const struct opening *o, const char *name, char buffer[128]) {
    snprintf(buffer, 128, "%s%s", o->prefix, name);
    return buffer;
}

static void matrix(struct opening *o, struct fct_matrix *out, const char *name, int rows,
                   int columns) {
    char buffer[128];
    if (o->status == FCT_OK)
        o->status =
            fct_pack_matrix(o->pack, full_name(o, name, buffer), rows, columns, out, o->err);
    if (o->status == FCT_OK) o->matrix_bytes += fct_matrix_bytes(out);
}

static void table(struct opening *o, struct fct_table *out, const char *name, int rows,
                  int columns) {
    char buffer[128];
    if (o->status == FCT_OK)
        o->status = fct_pack_table(o->pack, full_name(o, name, buffer), rows, columns, out, o->err);
    if (o->status == FCT_OK && (out->blocks < 1 || columns % out->blocks != 0))
        o->status = fct_fail(o->err, FCT_ERR_FORMAT, "%s: %s has rows of %d blocks",
                             fct_pack_path(o->pack), name, out->blocks);
}

static const float *vector(struct opening *o, const char *name, int n) {
    char buffer[128];
    if (o->status != FCT_OK) return NULL;
    const float *values = fct_pack_vector(o->pack, full_name(o, name, buffer), n, o->err);
    if (!values) o->status = FCT_ERR_FORMAT;
    return values;
}

/* Two numbers that may be absent, none of them negative. */
static void scales(struct opening *o, const char *name, float *first, float *second) {
    char buffer[128];
    *first = *second = 0;
    if (o->status != FCT_OK || !fct_pack_has(o->pack, full_name(o, name, buffer))) return;
    const float *values = vector(o, name, 2);
    if (!values) return;
    for (int i = 0; i < 2; i++)
        if (!(values[i] >= 0 && isfinite(values[i])))
            o->status = fct_fail(o->err, FCT_ERR_FORMAT, "%s: %s holds a scale of %g",
                                 fct_pack_path(o->pack), buffer, (double)values[i]);
    *first = values[0];
    *second = values[1];
}

/* The matrix name.weight, and how its input and output are rounded. */
static void linear(struct opening *o, struct fct_linear_layer *out, const char *name, int rows,
                   int columns) {
    char buffer[96];
    snprintf(buffer, sizeof buffer, "%s.weight", name);
    matrix(o, &out->matrix, buffer, rows, columns);
    snprintf(buffer, sizeof buffer, "%s.activation_scales", name);
    scales(o, buffer, &out->input_scale, &out->output_scale);
}

/* Do two readers of an input see the same in it? */
static bool alike(const struct fct_linear_layer *a, const struct fct_linear_layer *b) {
    return a->input_scale == b->input_scale && fct_linear_act_group(a) == fct_linear_act_group(b) &&
           (a->matrix.scheme == FCT_F32) == (b->matrix.scheme == FCT_F32);
}

/* Numbers the forms of an input by its readers, in their order. */
static void share_forms(struct fct_linear_layer *const readers[], int n_readers) {
    int n_forms = 0;
    for (int i = 0; i < n_readers; i++) {
        int same = 0;
        while (same < i && !alike(readers[same], readers[i])) same++;
        readers[i]->form = same < i ? readers[same]->form : n_forms++;
    }
}

static void open_attention(struct opening *o, struct fct_layer_weights *w,
                           const struct fct_config *c, const struct fct_layer_config *layer) {
    int hidden = c->hidden_size, d = layer->head_dim, kv = layer->n_kv_heads * d;
    linear(o, &w->q, "self_attn.q_proj", c->n_heads * d, hidden);
    w->q_norm = vector(o, "self_attn.q_norm.weight", d);
    if (layer->own_kv) {
        linear(o, &w->k, "self_attn.k_proj", kv, hidden);
        if (!layer->keys_as_values) linear(o, &w->v, "self_attn.v_proj", kv, hidden);
        w->k_norm = vector(o, "self_attn.k_norm.weight", d);
        scales(o, "self_attn.cache_scales", &w->key_scale, &w->value_scale);
    }
    share_forms((struct fct_linear_layer *const[]){&w->q, &w->k, &w->v}, !layer->own_kv ? 1
                                                                         : layer->keys_as_values
                                                                             ? 2
                                                                             : 3);
    linear(o, &w->o, "self_attn.o_proj", hidden, c->n_heads * d);
}

static void open_layer(struct opening *o, struct fct_layer_weights *w, const struct fct_config *c,
                       int i) {
    const struct fct_layer_config *layer = &c->layers[i];
    int hidden = c->hidden_size, wide = layer->intermediate_size;
    snprintf(o->prefix, sizeof o->prefix, "layers.%d.", i);
    w->input_norm = vector(o, "input_layernorm.weight", hidden);
    open_attention(o, w, c, layer);
    w->post_attention_norm = vector(o, "post_attention_layernorm.weight", hidden);
    w->pre_feedforward_norm = vector(o, "pre_feedforward_layernorm.weight", hidden);
    linear(o, &w->gate, "mlp.gate_proj", wide, hidden);
    linear(o, &w->up, "mlp.up_proj", wide, hidden);
    share_forms((struct fct_linear_layer *const[]){&w->gate, &w->up}, 2);
    linear(o, &w->down, "mlp.down_proj", hidden, wide);
    w->post_feedforward_norm = vector(o, "post_feedforward_layernorm.weight", hidden);
    if (c->per_layer_size) {
        linear(o, &w->per_layer_gate, "per_layer_input_gate", c->per_layer_size, hidden);
        linear(o, &w->per_layer_projection, "per_layer_projection", hidden, c->per_layer_size);
        w->post_per_layer_norm = vector(o, "post_per_layer_input_norm.weight", hidden);
    }
    if (c->has_layer_scalar) {
        const float *scalar = vector(o, "layer_scalar", 1);
        w->scalar = scalar ? *scalar : 0;
    }
    o->prefix[0] = 0;
}

fct_status fct_weights_open(struct fct_weights *weights, const struct fct_config *config,
                            const fct_pack *pack, fct_error *err) {
    struct opening o = {pack, err, FCT_OK, 0, ""};
    int hidden = config->hidden_size, per_layer = config->per_layer_size * config->n_layers;
    memset(weights, 0, sizeof *weights);
    table(&o, &weights->embedding, "embed_tokens.weight", config->vocab_size, hidden);
    if (per_layer) {
        table(&o, &weights->per_layer_embedding, "embed_tokens_per_layer.weight",
              config->per_layer_vocab_size, per_layer);
        linear(&o, &weights->per_layer_model_projection, "per_layer_model_projection", per_layer,
               hidden);
        weights->per_layer_projection_norm =
            vector(&o, "per_layer_projection_norm.weight", config->per_layer_size);
    }
    for (int i = 0; i < config->n_layers; i++) open_layer(&o, &weights->layers[i], config, i);
    weights->norm = vector(&o, "norm.weight", hidden);
    linear(&o, &weights->head, "lm_head", config->vocab_size, hidden);
    weights->bytes_per_token = o.matrix_bytes;
    return o.status;
}

enum { LAYER_MATRICES = 9 };

/* Those that the layer does not have are empty. */
static void matrices_of_layer(struct fct_layer_weights *w,
                              struct fct_linear_layer *matrices[LAYER_MATRICES]) {
    struct fct_linear_layer *const all[] = {&w->q,
                                            &w->k,
                                            &w->v,
                                            &w->o,
                                            &w->gate,
                                            &w->up,
                                            &w->down,
                                            &w->per_layer_gate,
                                            &w->per_layer_projection};
    memcpy(matrices, all, sizeof all);
}

int fct_weights_matrices(const struct fct_weights *weights, int n_layers,
                         const struct fct_matrix **matrices) {
    int n = 0;
    if (weights->per_layer_model_projection.matrix.data) {
        if (matrices) matrices[n] = &weights->per_layer_model_projection.matrix;
        n++;
    }
    for (int i = 0; i < n_layers; i++) {
        struct fct_linear_layer *of_layer[LAYER_MATRICES];
        matrices_of_layer((struct fct_layer_weights *)&weights->layers[i], of_layer);
        for (int j = 0; j < LAYER_MATRICES; j++) {
            if (!of_layer[j]->matrix.data) continue;
            if (matrices) matrices[n] = &of_layer[j]->matrix;
            n++;
        }
    }
    if (matrices) matrices[n] = &weights->head.matrix;
    return n + 1;
}
