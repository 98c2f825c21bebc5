/* gguf_config.c - a GGUF file's hyperparameters under the names of a checkpoint's configuration.
 *
 * Numbers that the file does not hold are those that every file of the architecture means: they
 * stand with the architecture's name below. Whether a number makes sense is asked by
 * fct_config_parse. */
#include "convert/gguf_config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "pack/config.h"

enum { MAX_FREQUENCIES = 4096 };

/* The metadata being read; the first fault sticks. */
struct reading {
    const struct fct_gguf *gguf;
    const struct fct_gguf_tensors *tensors;
    char architecture[16];
    bool gemma3;
    int64_t n_layers;
    json_t *config;
    const char *path;
    fct_error *err;
    fct_status status;
};

static void fail(struct reading *r, const char *name, const char *what) {
    if (r->status == FCT_OK)
        r->status =
            fct_fail(r->err, FCT_ERR_FORMAT, "%s: %s.%s %s", r->path, r->architecture, name, what);
}

static const struct fct_gguf_value *find(const struct reading *r, const char *name) {
    char key[96];
    snprintf(key, sizeof key, "%s.%s", r->architecture, name);
    return fct_gguf_find(r->gguf, key);
}

/* ---- single numbers ---- */

/* The whole number called name into the configuration as to; fallback where there is none, an error
 * if that is negative. */
static void copy_int(struct reading *r, const char *name, const char *to, int64_t fallback) {
    const struct fct_gguf_value *value = find(r, name);
    int64_t number = fallback;
    if (value && (value->is_array || !fct_gguf_int(value, 0, &number)))
        fail(r, name, "is no whole number");
    else if (number < 0)
        fail(r, name, value ? "is negative" : "is missing");
    json_object_set_new(r->config, to, json_integer(number));
}

static double read_number(struct reading *r, const char *name, double fallback) {
    const struct fct_gguf_value *value = find(r, name);
    double number = fallback;
    if (value && (value->is_array || !fct_gguf_number(value, 0, &number) || !isfinite(number))) {
        fail(r, name, "is no number");
        return fallback;
    }
    return number;
}

static void copy_number(struct reading *r, const char *name, const char *to, double fallback) {
    json_object_set_new(r->config, to, json_real(read_number(r, name, fallback)));
}

/* ---- numbers of a layer ---- */

/* Element `layer` of an array, or the number for all layers. */
static int64_t of_layer(struct reading *r, const struct fct_gguf_value *value, const char *name,
                        int64_t layer) {
    int64_t number = 0;
    if (!value)
        fail(r, name, "is missing");
    else if (!fct_gguf_int(value, value->is_array ? (uint64_t)layer : 0, &number))
        fail(r, name, "has no whole number for each layer");
    return number;
}

/* Layer 0's number as the configuration's, and per_layer_config for layers that differ. */
static void copy_per_layer(struct reading *r, const char *name, const char *to) {
    const struct fct_gguf_value *value = find(r, name);
    int64_t first = of_layer(r, value, name, 0);
    json_object_set_new(r->config, to, json_integer(first));
    for (int64_t i = 1; i < r->n_layers && r->status == FCT_OK; i++) {
        int64_t number = of_layer(r, value, name, i);
        if (number == first) continue;
        char key[24];
        snprintf(key, sizeof key, "%lld", (long long)i);
        json_t *all = json_object_get(r->config, "per_layer_config");
        if (!all) json_object_set_new(r->config, "per_layer_config", all = json_object());
        json_t *own = json_object_get(all, key);
        if (!own) json_object_set_new(all, key, own = json_object());
        json_object_set_new(own, to, json_integer(number));
    }
}

/* Is the layer a sliding one? An array says it layer by layer; a number n: all but every n-th. */
static bool is_sliding(struct reading *r, const struct fct_gguf_value *pattern, int64_t layer) {
    int64_t number = 6;
    if (pattern && pattern->is_array)
        return of_layer(r, pattern, "attention.sliding_window_pattern", layer) != 0;
    if (pattern && (!fct_gguf_int(pattern, 0, &number) || number < 1)) {
        fail(r, "attention.sliding_window_pattern", "is no whole number above 0");
        return false;
    }
    return (layer + 1) % number != 0;
}

static void copy_layer_types(struct reading *r) {
    const struct fct_gguf_value *pattern = find(r, "attention.sliding_window_pattern");
    bool windowed = find(r, "attention.sliding_window") != NULL;
    if (!r->gemma3 && !pattern) fail(r, "attention.sliding_window_pattern", "is missing");
    json_t *types = json_array();
    for (int64_t i = 0; i < r->n_layers && r->status == FCT_OK; i++)
        json_array_append_new(types, json_string(windowed && is_sliding(r, pattern, i)
                                                     ? "sliding_attention"
                                                     : "full_attention"));
    json_object_set_new(r->config, "layer_types", types);
}

static bool is_full(const struct reading *r, int64_t layer) {
    const json_t *types = json_object_get(r->config, "layer_types"),
                 *type = json_array_get(types, (size_t)layer);
    return json_is_string(type) && strcmp(json_string_value(type), "full_attention") == 0;
}

/* ---- what tensors tell ---- */

static const struct fct_gguf_tensor *find_tensor(const struct reading *r, const char *name) {
    return r->tensors->find(r->tensors->files, name);
}

/* Rows of a table: they are the vocabulary. */
static void copy_rows(struct reading *r, const char *tensor, const char *to) {
    const struct fct_gguf_tensor *table = find_tensor(r, tensor);
    if (table && table->n_dims == 2 && table->dims[1] <= INT32_MAX)
        json_object_set_new(r->config, to, json_integer((json_int_t)table->dims[1]));
    else if (r->status == FCT_OK)
        r->status =
            fct_fail(r->err, FCT_ERR_FORMAT, "%s: %s is missing or no table", r->path, tensor);
}

/* A full layer that has keys and no values of its own takes its keys as values. */
static bool has_keys_as_values(const struct reading *r) {
    char k[48], v[48];
    for (int64_t i = 0; i < r->n_layers; i++) {
        snprintf(k, sizeof k, "blk.%lld.attn_k.weight", (long long)i);
        snprintf(v, sizeof v, "blk.%lld.attn_v.weight", (long long)i);
        if (is_full(r, i) && find_tensor(r, k) && !find_tensor(r, v)) return true;
    }
    return false;
}

/* Full layers rotate a part of their lanes: the others' frequencies are divided by 1e30. */
static double partial_of(struct reading *r, const struct fct_gguf_tensor *factors) {
    float values[MAX_FREQUENCIES];
    uint64_t n = factors->dims[0], n_rotated = 0;
    if (factors->n_dims != 1 || n > MAX_FREQUENCIES) {
        r->status = fct_fail(r->err, FCT_ERR_FORMAT, "%s: %s has an impossible shape", r->path,
                             factors->name);
        return 1.0;
    }
    r->status = r->tensors->read(r->tensors->files, factors, values, n, r->err);
    if (r->status != FCT_OK) return 1.0;
    while (n_rotated < n && values[n_rotated] == 1.0f) n_rotated++;
    for (uint64_t i = n_rotated; i < n; i++)
        if (!(values[i] >= 1e20f)) n_rotated = 0;
    if (n_rotated == 0)
        r->status = fct_fail(r->err, FCT_ERR_UNSUPPORTED,
                             "%s: %s scales frequencies in a way that facet does not know", r->path,
                             factors->name);
    return (double)n_rotated / (double)n;
}

/* ---- rotary embeddings ---- */

static json_t *rope(double theta, const char *type) {
    json_t *own = json_object();
    json_object_set_new(own, "rope_theta", json_real(theta));
    json_object_set_new(own, "rope_type", json_string(type));
    return own;
}

static json_t *full_rope_of_gemma3(struct reading *r, double theta) {
    const struct fct_gguf_value *type = find(r, "rope.scaling.type");
    size_t n;
    const char *name = fct_gguf_text(type, &n);
    double factor = read_number(r, "rope.scaling.factor", 1.0);
    if (factor == 1.0 || (name && n == 4 && memcmp(name, "none", n) == 0))
        return rope(theta, "default");
    if (type && !(name && n == 6 && memcmp(name, "linear", n) == 0))
        fail(r, "rope.scaling.type", "is not linear, and facet knows no other");
    json_t *own = rope(theta, "linear");
    json_object_set_new(own, "factor", json_real(factor));
    return own;
}

static json_t *full_rope_of_gemma4(struct reading *r, double theta) {
    const struct fct_gguf_tensor *factors = find_tensor(r, "rope_freqs.weight");
    double partial = 1.0;
    if (factors)
        partial = partial_of(r, factors);
    else if (find(r, "rope.partial_rotary_factor"))
        partial = read_number(r, "rope.partial_rotary_factor", 1.0);
    else
        r->status = fct_fail(r->err, FCT_ERR_FORMAT,
                             "%s: rope_freqs.weight is missing, which says what full layers rotate",
                             r->path);
    json_t *own = rope(theta, "proportional");
    json_object_set_new(own, "partial_rotary_factor", json_real(partial));
    return own;
}

static void copy_rope(struct reading *r) {
    double theta = read_number(r, "rope.freq_base", 1e6);
    json_t *both = json_object();
    json_object_set_new(both, "sliding_attention",
                        rope(read_number(r, "rope.freq_base_swa", 1e4), "default"));
    json_object_set_new(both, "full_attention",
                        r->gemma3 ? full_rope_of_gemma3(r, theta) : full_rope_of_gemma4(r, theta));
    json_object_set_new(r->config, "rope_parameters", both);
}

/* ---- the architectures ---- */

/* Scores are multiplied with one over the root of this. The files do not hold it: it is the size of
 * a head, but in the model of 62 layers the width over the number of heads. */
static void add_query_scalar(struct reading *r) {
    double scale = read_number(r, "attention.scale", 0.0);
    double scalar = (double)json_integer_value(json_object_get(r->config, "head_dim"));
    const json_t *hidden = json_object_get(r->config, "hidden_size"),
                 *heads = json_object_get(r->config, "num_attention_heads");
    if (r->n_layers == 62 && json_integer_value(heads) > 0)
        scalar = (double)json_integer_value(hidden) / (double)json_integer_value(heads);
    if (scale > 0.0) scalar = 1.0 / (scale * scale);
    json_object_set_new(r->config, "query_pre_attn_scalar", json_real(scalar));
}

static void copy_gemma3(struct reading *r) {
    copy_int(r, "attention.key_length", "head_dim", 256);
    copy_number(r, "final_logit_softcapping", "final_logit_softcapping", 0.0);
    if (json_real_value(json_object_get(r->config, "final_logit_softcapping")) == 0.0)
        json_object_set_new(r->config, "final_logit_softcapping", json_null());
    add_query_scalar(r);
}

static void copy_gemma4(struct reading *r) {
    copy_int(r, "attention.key_length", "global_head_dim", -1);
    copy_int(r, "attention.key_length_swa", "head_dim", -1);
    copy_int(r, "attention.shared_kv_layers", "num_kv_shared_layers", 0);
    copy_int(r, "embedding_length_per_layer_input", "hidden_size_per_layer_input", 0);
    copy_number(r, "final_logit_softcapping", "final_logit_softcapping", 30.0);
    if (json_integer_value(json_object_get(r->config, "hidden_size_per_layer_input")))
        copy_rows(r, "per_layer_token_embd.weight", "vocab_size_per_layer_input");
    json_object_set_new(r->config, "attention_k_eq_v", json_boolean(has_keys_as_values(r)));
    int64_t n_experts = 0;
    if (fct_gguf_int(find(r, "expert_count"), 0, &n_experts) && n_experts)
        json_object_set_new(r->config, "enable_moe_block", json_true());
}

static void copy_all(struct reading *r) {
    copy_int(r, "embedding_length", "hidden_size", -1);
    copy_int(r, "attention.head_count", "num_attention_heads", -1);
    copy_int(r, "context_length", "max_position_embeddings", 131072);
    int64_t context = json_integer_value(json_object_get(r->config, "max_position_embeddings"));
    copy_int(r, "attention.sliding_window", "sliding_window", r->gemma3 ? context : -1);
    copy_number(r, "attention.layer_norm_rms_epsilon", "rms_norm_eps", 1e-6);
    copy_layer_types(r);
    copy_per_layer(r, "feed_forward_length", "intermediate_size");
    copy_per_layer(r, "attention.head_count_kv", "num_key_value_heads");
    copy_rows(r, "token_embd.weight", "vocab_size");
    json_object_set_new(r->config, "tie_word_embeddings",
                        json_boolean(!find_tensor(r, "output.weight")));
    json_object_set_new(r->config, "hidden_activation", json_string("gelu_pytorch_tanh"));
    if (r->gemma3)
        copy_gemma3(r);
    else
        copy_gemma4(r);
    if (r->status == FCT_OK) copy_rope(r);
}

static fct_status read_architecture(struct reading *r) {
    size_t n;
    const char *name = fct_gguf_text(fct_gguf_find(r->gguf, "general.architecture"), &n);
    if (!name)
        return fct_fail(r->err, FCT_ERR_FORMAT, "%s: general.architecture is missing", r->path);
    r->gemma3 = n == 6 && memcmp(name, "gemma3", n) == 0;
    if (!r->gemma3 && !(n == 6 && memcmp(name, "gemma4", n) == 0))
        return fct_fail(r->err, FCT_ERR_UNSUPPORTED,
                        "%s: the architecture is %.*s; facet runs gemma4 and gemma3", r->path,
                        n < 64 ? (int)n : 64, name);
    snprintf(r->architecture, sizeof r->architecture, "%.*s", (int)n, name);
    if (!fct_gguf_int(find(r, "block_count"), 0, &r->n_layers) || r->n_layers < 1 ||
        r->n_layers > FCT_MAX_LAYERS)
        fail(r, "block_count", "is missing or out of range");
    return r->status;
}

json_t *fct_gguf_config(const struct fct_gguf *gguf, const struct fct_gguf_tensors *tensors,
                        const char *path, fct_error *err) {
    struct reading r = {.gguf = gguf, .tensors = tensors, .path = path, .err = err};
    if (read_architecture(&r) != FCT_OK) return NULL;
    r.config = json_object();
    if (!r.config) return fct_fail_null(err, FCT_ERR_MEMORY, "%s: no memory", path);
    json_object_set_new(r.config, "model_type",
                        json_string(r.gemma3 ? "gemma3_text" : "gemma4_text"));
    json_object_set_new(r.config, "num_hidden_layers", json_integer(r.n_layers));
    copy_all(&r);
    if (r.status == FCT_OK) return r.config;
    json_decref(r.config);
    return NULL;
}

/* ---- generation ---- */

static void add_id(json_t *ids, const struct fct_gguf *gguf, const char *key) {
    int64_t id;
    const struct fct_gguf_value *value = fct_gguf_find(gguf, key);
    for (uint64_t i = 0; value && i < value->n && i < 64; i++)
        if (fct_gguf_int(value, i, &id) && id >= 0) json_array_append_new(ids, json_integer(id));
}

json_t *fct_gguf_generation(const struct fct_gguf *gguf) {
    static const char *const ends[] = {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id",
                                       "tokenizer.ggml.eom_token_id",
                                       "tokenizer.ggml.eos_token_ids"};
    static const char *const sampling[][2] = {{"general.sampling.temp", "temperature"},
                                              {"general.sampling.top_p", "top_p"},
                                              {"general.sampling.min_p", "min_p"},
                                              {"general.sampling.top_k", "top_k"}};
    json_t *generation = json_object(), *ids = json_array();
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) add_id(ids, gguf, ends[i]);
    if (json_array_size(ids)) json_object_set(generation, "eos_token_id", ids);
    json_decref(ids);
    for (size_t i = 0; i < sizeof sampling / sizeof *sampling; i++) {
        const struct fct_gguf_value *value = fct_gguf_find(gguf, sampling[i][0]);
        double number;
        int64_t whole;
        if (fct_gguf_int(value, 0, &whole))
            json_object_set_new(generation, sampling[i][1], json_integer(whole));
        else if (fct_gguf_number(value, 0, &number) && isfinite(number))
            json_object_set_new(generation, sampling[i][1], json_real(number));
        else
            continue;
        json_object_set_new(generation, "do_sample", json_true());
    }
    return generation;
}
