/* config.c - the shape of the network, from the checkpoint's configuration. */
#include "pack/config.h"

#include <math.h>
#include <string.h>

#include "base/error.h"

enum { MAX_SIZE = 1 << 20 };

/* The configuration being read; the first fault sticks. */
struct reading {
    const json_t *text;
    bool gemma3; /* leaves out what its class has as default, and has older names for some things */
    const char *path;
    fct_error *err;
    fct_status status;
};

#define REFUSE(r, ...)                                                                             \
    ((r)->status == FCT_OK ? (void)((r)->status = fct_fail((r)->err, __VA_ARGS__)) : (void)0)

static int read_int(struct reading *r, const char *name, int fallback, int min, int max) {
    const json_t *value = json_object_get(r->text, name);
    if (!value || json_is_null(value)) {
        if (fallback < min) REFUSE(r, FCT_ERR_FORMAT, "%s: %s is missing", r->path, name);
        return fallback;
    }
    if (!json_is_integer(value) || json_integer_value(value) < min ||
        json_integer_value(value) > max) {
        REFUSE(r, FCT_ERR_FORMAT, "%s: %s must be a whole number from %d to %d", r->path, name, min,
               max);
        return min;
    }
    return (int)json_integer_value(value);
}

static double read_number(struct reading *r, const json_t *object, const char *name,
                          double fallback, double min, double max) {
    const json_t *value = json_object_get(object, name);
    if (!value || json_is_null(value)) return fallback;
    double number = json_number_value(value);
    if (!json_is_number(value) || !(number > min && number <= max)) {
        REFUSE(r, FCT_ERR_FORMAT, "%s: %s must be a number above %g, at most %g", r->path, name,
               min, max);
        return fallback;
    }
    return number;
}

static bool read_bool(struct reading *r, const char *name, bool fallback) {
    const json_t *value = json_object_get(r->text, name);
    if (!value || json_is_null(value)) return fallback;
    if (!json_is_boolean(value))
        REFUSE(r, FCT_ERR_FORMAT, "%s: %s must be true or false", r->path, name);
    return json_is_true(value);
}

static void read_family(struct reading *r, struct fct_config *out) {
    const char *type = json_string_value(json_object_get(r->text, "model_type"));
    r->gemma3 = type && strcmp(type, "gemma3_text") == 0;
    if (!r->gemma3 && (!type || strcmp(type, "gemma4_text") != 0))
        REFUSE(r, FCT_ERR_UNSUPPORTED,
               "%s: model_type is %s; facet runs gemma4_text and gemma3_text", r->path,
               type ? type : "missing");
    out->family = r->gemma3 ? "gemma3" : "gemma4";
    out->has_value_norm = out->has_layer_scalar = !r->gemma3;
}

static void refuse_unknown(struct reading *r) {
    static const char *const must_be_off[] = {"attention_bias", "attn_logit_softcapping",
                                              "enable_moe_block", "use_bidirectional_attention"};
    for (size_t i = 0; i < sizeof must_be_off / sizeof *must_be_off; i++) {
        const json_t *value = json_object_get(r->text, must_be_off[i]);
        if (value && !json_is_null(value) && !json_is_false(value))
            REFUSE(r, FCT_ERR_UNSUPPORTED, "%s: %s is set; facet cannot run that", r->path,
                   must_be_off[i]);
    }
    const json_t *activation = json_object_get(r->text, "hidden_activation");
    if (activation && (!json_is_string(activation) ||
                       strcmp(json_string_value(activation), "gelu_pytorch_tanh") != 0))
        REFUSE(r, FCT_ERR_UNSUPPORTED, "%s: hidden_activation is not gelu_pytorch_tanh", r->path);
}

/* One object of rope_parameters, or what Gemma 3 called rope_scaling. */
static void read_rope_object(struct reading *r, const json_t *own, const char *name,
                             struct fct_rope_config *rope) {
    const char *type = json_string_value(json_object_get(own, "rope_type"));
    bool proportional = type && strcmp(type, "proportional") == 0,
         linear = type && strcmp(type, "linear") == 0;
    if (!proportional && !linear && (!type || strcmp(type, "default") != 0))
        REFUSE(r, FCT_ERR_UNSUPPORTED, "%s: %s: rope_type %s is not known", r->path, name,
               type ? type : "(none)");
    rope->theta = read_number(r, own, "rope_theta", rope->theta, 1.0, 1e12);
    rope->partial = read_number(r, own, "partial_rotary_factor", 1.0, 0.0, 1.0);
    rope->factor = read_number(r, own, "factor", 1.0, 0.0, 1e6);
    if ((!proportional && rope->partial != 1.0) || (!linear && rope->factor != 1.0))
        REFUSE(r, FCT_ERR_UNSUPPORTED,
               "%s: %s: partial_rotary_factor without rope_type proportional, or factor without "
               "linear",
               r->path, name);
}

static struct fct_rope_config read_rope(struct reading *r, const char *layer_type, double theta) {
    struct fct_rope_config rope = {theta, 1.0, 1.0};
    const json_t *all = json_object_get(r->text, "rope_parameters"),
                 *own = json_object_get(all, layer_type);
    char name[64];
    snprintf(name, sizeof name, "rope_parameters.%s", layer_type);
    if (json_is_object(own))
        read_rope_object(r, own, name, &rope);
    else
        REFUSE(r, FCT_ERR_FORMAT, "%s: %s is missing", r->path, name);
    return rope;
}

/* Gemma 3 before rope_parameters: a scaling holds for full layers only. */
static void read_older_rope(struct reading *r, struct fct_config *out) {
    const json_t *scaling = json_object_get(r->text, "rope_scaling");
    out->rope_sliding = (struct fct_rope_config){
        read_number(r, r->text, "rope_local_base_freq", 1e4, 1.0, 1e12), 1.0, 1.0};
    out->rope_full =
        (struct fct_rope_config){read_number(r, r->text, "rope_theta", 1e6, 1.0, 1e12), 1.0, 1.0};
    if (json_is_object(scaling)) read_rope_object(r, scaling, "rope_scaling", &out->rope_full);
}

static void read_ropes(struct reading *r, struct fct_config *out) {
    const json_t *all = json_object_get(r->text, "rope_parameters");
    if (r->gemma3 && (!all || json_is_null(all))) {
        read_older_rope(r, out);
        return;
    }
    out->rope_sliding = read_rope(r, "sliding_attention", 1e4);
    out->rope_full = read_rope(r, "full_attention", 1e6);
}

/* What newer transformers write per layer: an object under the layer's number, as "4" or "04". */
static const json_t *layer_overrides(const json_t *text, int layer) {
    const json_t *all = json_object_get(text, "per_layer_config");
    for (int width = 1; width <= 3; width++) {
        char key[16];
        snprintf(key, sizeof key, "%0*d", width, layer);
        const json_t *own = json_object_get(all, key);
        if (own) return own;
    }
    return NULL;
}

static int override_int(struct reading *r, int layer, const char *name, int value) {
    const json_t *own = json_object_get(layer_overrides(r->text, layer), name);
    if (!own || json_is_null(own)) return value;
    if (!json_is_integer(own) || json_integer_value(own) < 1 ||
        json_integer_value(own) > MAX_SIZE) {
        REFUSE(r, FCT_ERR_FORMAT, "%s: per_layer_config: layer %d: %s is out of range", r->path,
               layer, name);
        return value;
    }
    return (int)json_integer_value(own);
}

/* Gemma 3 before layer_types: every so many layers a full one. */
static bool has_layer_types(const struct reading *r) {
    const json_t *kinds = json_object_get(r->text, "layer_types");
    return !r->gemma3 || (kinds && !json_is_null(kinds));
}

static bool layer_is_full(struct reading *r, int layer) {
    const json_t *kinds = json_object_get(r->text, "layer_types");
    if (!has_layer_types(r))
        return (layer + 1) % read_int(r, "sliding_window_pattern", 6, 1, FCT_MAX_LAYERS) == 0;
    const char *kind = json_string_value(json_array_get(kinds, (size_t)layer));
    if (kind && strcmp(kind, "full_attention") == 0) return true;
    if (!kind || strcmp(kind, "sliding_attention") != 0)
        REFUSE(r, FCT_ERR_UNSUPPORTED,
               "%s: layer_types[%d] is %s, neither sliding_attention nor full_attention", r->path,
               layer, kind ? kind : "missing");
    return false;
}

static void read_layer(struct reading *r, struct fct_config *c, int i) {
    struct fct_layer_config *layer = &c->layers[i];
    bool k_eq_v = !r->gemma3 && read_bool(r, "attention_k_eq_v", false);
    int n_kv_heads = read_int(r, "num_key_value_heads", r->gemma3 ? 4 : 0, 1, 1024),
        head_dim = read_int(r, "head_dim", r->gemma3 ? 256 : 0, 1, 4096);
    layer->full = layer_is_full(r, i);
    layer->own_kv = i < c->first_shared_layer;
    layer->keys_as_values = k_eq_v && layer->full;
    if (layer->full && k_eq_v)
        n_kv_heads = read_int(r, "num_global_key_value_heads", n_kv_heads, 1, 1024);
    if (layer->full) head_dim = read_int(r, "global_head_dim", head_dim, 1, 4096);
    layer->head_dim = override_int(r, i, "head_dim", head_dim);
    layer->n_kv_heads = override_int(r, i, "num_key_value_heads", n_kv_heads);
    layer->intermediate_size = read_int(r, "intermediate_size", 0, 1, MAX_SIZE / 2);
    if (!layer->own_kv && read_bool(r, "use_double_wide_mlp", false)) layer->intermediate_size *= 2;
    layer->intermediate_size = override_int(r, i, "intermediate_size", layer->intermediate_size);
    if (layer->head_dim % 16 || layer->head_dim > 4096)
        REFUSE(r, FCT_ERR_UNSUPPORTED, "%s: layer %d: head_dim %d is no multiple of 16 up to 4096",
               r->path, i, layer->head_dim);
    if (c->n_heads % layer->n_kv_heads)
        REFUSE(r, FCT_ERR_FORMAT, "%s: layer %d: %d heads cannot share %d key-value heads evenly",
               r->path, i, c->n_heads, layer->n_kv_heads);
    if (layer->intermediate_size % 16)
        REFUSE(r, FCT_ERR_UNSUPPORTED, "%s: layer %d: intermediate_size %d is no multiple of 16",
               r->path, i, layer->intermediate_size);
}

/* A sharing layer reads the cache of the last layer of its type that has one, and must have its
 * shape. */
static void find_kv_layer(struct reading *r, struct fct_config *c, int i) {
    struct fct_layer_config *layer = &c->layers[i];
    layer->kv_layer = layer->own_kv ? i : -1;
    for (int j = c->first_shared_layer - 1; j >= 0 && layer->kv_layer < 0; j--)
        if (c->layers[j].full == layer->full) layer->kv_layer = j;
    if (layer->kv_layer < 0) {
        REFUSE(r, FCT_ERR_FORMAT,
               "%s: layer %d shares keys and values, but no earlier layer of its type has them",
               r->path, i);
        return;
    }
    const struct fct_layer_config *donor = &c->layers[layer->kv_layer];
    if (donor->head_dim != layer->head_dim || donor->n_kv_heads != layer->n_kv_heads)
        REFUSE(r, FCT_ERR_FORMAT,
               "%s: layer %d cannot share the keys and values of layer %d: other heads", r->path, i,
               layer->kv_layer);
}

const json_t *fct_config_text_part(const json_t *config) {
    const json_t *text = json_object_get(config, "text_config");
    return text ? text : config;
}

static void read_sizes(struct reading *r, struct fct_config *out, const json_t *config) {
    out->hidden_size = read_int(r, "hidden_size", 0, 16, MAX_SIZE);
    out->n_layers = read_int(r, "num_hidden_layers", 0, 1, FCT_MAX_LAYERS);
    out->n_heads = read_int(r, "num_attention_heads", r->gemma3 ? 8 : 0, 1, 1024);
    out->vocab_size = read_int(r, "vocab_size", r->gemma3 ? 262208 : 0, 1, 1 << 24);
    out->per_layer_size =
        r->gemma3 ? 0 : read_int(r, "hidden_size_per_layer_input", 0, 0, FCT_MAX_PER_LAYER_SIZE);
    out->per_layer_vocab_size =
        out->per_layer_size ? read_int(r, "vocab_size_per_layer_input", out->vocab_size, 1, 1 << 24)
                            : 0;
    out->sliding_window = read_int(r, "sliding_window", 0, 1, 1 << 24);
    out->max_positions = read_int(r, "max_position_embeddings", 131072, 1, 1 << 28);
    out->rms_norm_eps = (float)read_number(r, r->text, "rms_norm_eps", 1e-6, 0.0, 1.0);
    out->final_softcap = (float)read_number(r, r->text, "final_logit_softcapping", 0.0, 0.0, 1e6);
    double scalar =
        r->gemma3 ? read_number(r, r->text, "query_pre_attn_scalar", 256.0, 0.0, 1e6) : 1.0;
    out->query_scale = (float)(1.0 / sqrt(scalar));
    const json_t *tied = json_object_get(r->text, "tie_word_embeddings");
    if (!tied) tied = json_object_get(config, "tie_word_embeddings");
    out->tied_head = !tied || !json_is_false(tied);
    out->first_shared_layer =
        out->n_layers -
        (r->gemma3 ? 0 : read_int(r, "num_kv_shared_layers", 0, 0, out->n_layers - 1));
    if (out->hidden_size % 16 || out->per_layer_size % 16)
        REFUSE(r, FCT_ERR_UNSUPPORTED,
               "%s: hidden_size %d and hidden_size_per_layer_input %d must be multiples of 16",
               r->path, out->hidden_size, out->per_layer_size);
    if (out->per_layer_size && out->per_layer_vocab_size < out->vocab_size)
        REFUSE(r, FCT_ERR_UNSUPPORTED, "%s: vocab_size_per_layer_input %d is below vocab_size %d",
               r->path, out->per_layer_vocab_size, out->vocab_size);
}

fct_status fct_config_parse(struct fct_config *out, const json_t *config, const char *path,
                            fct_error *err) {
    memset(out, 0, sizeof *out);
    struct reading r = {fct_config_text_part(config), false, path, err, FCT_OK};
    if (!json_is_object(r.text))
        return fct_fail(err, FCT_ERR_FORMAT, "%s: no configuration object", path);
    read_family(&r, out);
    refuse_unknown(&r);
    if (r.status == FCT_OK) read_sizes(&r, out, config);
    read_ropes(&r, out);
    if (r.status != FCT_OK) return r.status;
    const json_t *kinds = json_object_get(r.text, "layer_types");
    if (has_layer_types(&r) &&
        (!json_is_array(kinds) || json_array_size(kinds) != (size_t)out->n_layers))
        return fct_fail(err, FCT_ERR_FORMAT, "%s: layer_types does not list %d layers", path,
                        out->n_layers);
    for (int i = 0; i < out->n_layers && r.status == FCT_OK; i++) read_layer(&r, out, i);
    for (int i = 0; i < out->n_layers && r.status == FCT_OK; i++) find_kv_layer(&r, out, i);
    return r.status;
}

int fct_config_max_query_size(const struct fct_config *config) {
    int max = 0;
    for (int i = 0; i < config->n_layers; i++)
        if (config->n_heads * config->layers[i].head_dim > max)
            max = config->n_heads * config->layers[i].head_dim;
    return max;
}

int fct_config_max_intermediate_size(const struct fct_config *config) {
    int max = 0;
    for (int i = 0; i < config->n_layers; i++)
        if (config->layers[i].intermediate_size > max) max = config->layers[i].intermediate_size;
    return max;
}
