/* checkpoint_fixture.h - tiny checkpoint folders, made by a test and broken as it likes. */
#ifndef FCT_TESTS_CHECKPOINT_FIXTURE_H
#define FCT_TESTS_CHECKPOINT_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "facet.h"

/* ---- a network of two layers that own keys and values and two that share them ---- */

enum {
    TINY_HIDDEN = 32,
    TINY_WIDE = 64,
    TINY_HEAD = 16,
    TINY_FULL_HEAD = 32,
    TINY_PER_LAYER = 16,
    TINY_VOCAB = 24,
    TINY_LAYERS = 4,
    TINY_OWN = 2
};

static inline json_t *tiny_config(void) {
    json_t *config = json_pack(
        "{s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:f, s:s, s:b, s:i, "
        "s:b}", //
        "model_type", "gemma4_text", "hidden_size", TINY_HIDDEN, "intermediate_size", TINY_WIDE,
        "num_hidden_layers", TINY_LAYERS, "num_attention_heads", 2, "num_key_value_heads", 1,
        "head_dim", TINY_HEAD, "global_head_dim", TINY_FULL_HEAD, "vocab_size", TINY_VOCAB,
        "vocab_size_per_layer_input", TINY_VOCAB, "hidden_size_per_layer_input", TINY_PER_LAYER,
        "num_kv_shared_layers", TINY_LAYERS - TINY_OWN, "sliding_window", 8,
        "final_logit_softcapping", 30.0, "hidden_activation", "gelu_pytorch_tanh",
        "use_double_wide_mlp", 1, "eos_token_id", 1, "tie_word_embeddings", 1);
    json_object_set_new(config, "layer_types",
                        json_pack("[s, s, s, s]", "sliding_attention", "full_attention",
                                  "sliding_attention", "full_attention"));
    json_object_set_new(config, "rope_parameters",
                        json_pack("{s:{s:s, s:f}, s:{s:s, s:f, s:f}}", "sliding_attention",
                                  "rope_type", "default", "rope_theta", 1e4, "full_attention",
                                  "rope_type", "proportional", "rope_theta", 1e6,
                                  "partial_rotary_factor", 0.25));
    return config;
}

/* ---- its tensors ---- */

struct tiny_tensor {
    char name[128];
    const char *dtype; /* "BF16" or "F32" */
    int rows, columns; /* columns 0: a vector */
    int shard;         /* which file */
    int bad_at;        /* index of an element that is NaN; -1: none */
};

struct tiny {
    char folder[64];
    json_t *config; /* what config.json gets; with nested set, under text_config */
    bool nested;
    const char *prefix; /* of the text network's tensors */
    bool shared_kv;     /* sharing layers have keys and values too */
    bool untied;
    struct tiny_tensor tensors[160];
    int n_tensors;
    int n_shards;
    json_t *index; /* weight_map; made by tiny_write if there are several shards and it is NULL */
};

static inline void tiny_add(struct tiny *t, const char *name, int rows, int columns) {
    struct tiny_tensor *tensor = &t->tensors[t->n_tensors++];
    *tensor = (struct tiny_tensor){.dtype = "BF16", .rows = rows, .columns = columns, .bad_at = -1};
    snprintf(tensor->name, sizeof tensor->name, "%s", name);
}

static inline void tiny_add_layer(struct tiny *t, int i) {
    bool full = i % 2, own = i < TINY_OWN;
    int d = full ? TINY_FULL_HEAD : TINY_HEAD, wide = own ? TINY_WIDE : 2 * TINY_WIDE;
    const struct {
        const char *name;
        int rows, columns;
        bool kv;
    } parts[] = {{"input_layernorm.weight", TINY_HIDDEN, 0, false},
                 {"self_attn.q_proj.weight", 2 * d, TINY_HIDDEN, false},
                 {"self_attn.k_proj.weight", d, TINY_HIDDEN, true},
                 {"self_attn.v_proj.weight", d, TINY_HIDDEN, true},
                 {"self_attn.q_norm.weight", d, 0, false},
                 {"self_attn.k_norm.weight", d, 0, true},
                 {"self_attn.o_proj.weight", TINY_HIDDEN, 2 * d, false},
                 {"post_attention_layernorm.weight", TINY_HIDDEN, 0, false},
                 {"pre_feedforward_layernorm.weight", TINY_HIDDEN, 0, false},
                 {"mlp.gate_proj.weight", wide, TINY_HIDDEN, false},
                 {"mlp.up_proj.weight", wide, TINY_HIDDEN, false},
                 {"mlp.down_proj.weight", TINY_HIDDEN, wide, false},
                 {"post_feedforward_layernorm.weight", TINY_HIDDEN, 0, false},
                 {"per_layer_input_gate.weight", TINY_PER_LAYER, TINY_HIDDEN, false},
                 {"per_layer_projection.weight", TINY_HIDDEN, TINY_PER_LAYER, false},
                 {"post_per_layer_input_norm.weight", TINY_HIDDEN, 0, false},
                 {"layer_scalar", 1, 0, false}};
    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
        char name[100];
        if (parts[p].kv && !own && !t->shared_kv) continue;
        snprintf(name, sizeof name, "%slayers.%d.%s", t->prefix, i, parts[p].name);
        tiny_add(t, name, parts[p].rows, parts[p].columns);
    }
}

/* A whole checkpoint, not written yet: t's settings are the caller's, folder is made. */
static inline void tiny_start(struct tiny *t) {
    static const struct {
        const char *name;
        int rows, columns;
    } parts[] = {{"embed_tokens.weight", TINY_VOCAB, TINY_HIDDEN},
                 {"embed_tokens_per_layer.weight", TINY_VOCAB, TINY_LAYERS * TINY_PER_LAYER},
                 {"per_layer_model_projection.weight", TINY_LAYERS * TINY_PER_LAYER, TINY_HIDDEN},
                 {"per_layer_projection_norm.weight", TINY_PER_LAYER, 0},
                 {"norm.weight", TINY_HIDDEN, 0}};
    if (!t->prefix) t->prefix = "model.";
    if (!t->n_shards) t->n_shards = 1;
    strcpy(t->folder, "/tmp/facet_tiny_XXXXXX");
    assert_non_null(mkdtemp(t->folder));
    t->config = tiny_config();
    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
        char name[100];
        snprintf(name, sizeof name, "%s%s", t->prefix, parts[p].name);
        tiny_add(t, name, parts[p].rows, parts[p].columns);
    }
    for (int i = 0; i < TINY_LAYERS; i++) tiny_add_layer(t, i);
    if (t->untied) {
        tiny_add(t, "lm_head.weight", TINY_VOCAB, TINY_HIDDEN);
        json_object_set_new(t->config, "tie_word_embeddings", json_false());
    }
}

static inline struct tiny_tensor *tiny_find(struct tiny *t, const char *name) {
    for (int i = 0; i < t->n_tensors; i++)
        if (strcmp(t->tensors[i].name, name) == 0) return &t->tensors[i];
    fail_msg("%s is not a tensor of the tiny checkpoint", name);
    return NULL;
}

static inline void tiny_remove(struct tiny *t, const char *name) {
    struct tiny_tensor *tensor = tiny_find(t, name);
    *tensor = t->tensors[--t->n_tensors];
}

/* Element i of a tensor: depends on what stands behind the prefix, and is exact in bfloat16. */
static inline float tiny_value(const struct tiny *t, const char *name, int i) {
    size_t n = strlen(t->prefix);
    uint32_t hash = 2166136261u;
    for (const char *c = strncmp(name, t->prefix, n) == 0 ? name + n : name; *c; c++)
        hash = (hash ^ (uint8_t)*c) * 16777619u;
    hash = (hash ^ (uint32_t)i) * 2654435761u;
    return (float)((int)(hash >> 20 & 255) - 128) / 256.0f;
}

/* ---- writing it ---- */

static inline void tiny_write_text(const struct tiny *t, const char *name, const char *text) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", t->folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static inline void tiny_write_json(const struct tiny *t, const char *name, json_t *json) {
    char *text = json_dumps(json, 0);
    tiny_write_text(t, name, text);
    free(text);
    json_decref(json);
}

static inline size_t tiny_elements(const struct tiny_tensor *tensor) {
    return (size_t)tensor->rows * (size_t)(tensor->columns ? tensor->columns : 1);
}

static inline void tiny_write_tensor(const struct tiny *t, const struct tiny_tensor *tensor,
                                     FILE *file) {
    for (size_t i = 0; i < tiny_elements(tensor); i++) {
        float value = tiny_value(t, tensor->name, (int)i);
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        if ((int)i == tensor->bad_at) bits = 0x7FC00000;
        if (strcmp(tensor->dtype, "F32") == 0)
            fwrite(&bits, 4, 1, file);
        else
            fwrite((const char *)&bits + 2, 2, 1, file);
    }
}

static inline const char *tiny_shard_name(const struct tiny *t, int shard, char buffer[64]) {
    if (t->n_shards == 1)
        strcpy(buffer, "model.safetensors");
    else
        snprintf(buffer, 64, "model-%05d-of-%05d.safetensors", shard + 1, t->n_shards);
    return buffer;
}

static inline void tiny_write_shard(const struct tiny *t, int shard) {
    json_t *header = json_object();
    size_t offset = 0;
    for (int i = 0; i < t->n_tensors; i++) {
        const struct tiny_tensor *tensor = &t->tensors[i];
        if (tensor->shard != shard) continue;
        size_t bytes = tiny_elements(tensor) * (strcmp(tensor->dtype, "F32") == 0 ? 4 : 2);
        json_t *shape = tensor->columns ? json_pack("[i, i]", tensor->rows, tensor->columns)
                                        : json_pack("[i]", tensor->rows);
        json_object_set_new(header, tensor->name,
                            json_pack("{s:s, s:o, s:[I, I]}", "dtype", tensor->dtype, "shape",
                                      shape, "data_offsets", (json_int_t)offset,
                                      (json_int_t)(offset + bytes)));
        offset += bytes;
    }
    char name[64], path[128], *text = json_dumps(header, JSON_COMPACT);
    snprintf(path, sizeof path, "%s/%s", t->folder, tiny_shard_name(t, shard, name));
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    uint64_t length = strlen(text);
    fwrite(&length, sizeof length, 1, file);
    fwrite(text, length, 1, file);
    for (int i = 0; i < t->n_tensors; i++)
        if (t->tensors[i].shard == shard) tiny_write_tensor(t, &t->tensors[i], file);
    fclose(file);
    free(text);
    json_decref(header);
}

static inline json_t *tiny_index(const struct tiny *t) {
    json_t *map = json_object();
    char name[64];
    for (int i = 0; i < t->n_tensors; i++)
        json_object_set_new(map, t->tensors[i].name,
                            json_string(tiny_shard_name(t, t->tensors[i].shard, name)));
    return map;
}

static inline void tiny_write(struct tiny *t) {
    json_t *config = t->nested
                         ? json_pack("{s:s, s:O}", "model_type", "gemma4", "text_config", t->config)
                         : json_incref(t->config);
    tiny_write_json(t, "config.json", config);
    for (int shard = 0; shard < t->n_shards; shard++) tiny_write_shard(t, shard);
    if (t->n_shards > 1 && !t->index) t->index = tiny_index(t);
    if (t->index)
        tiny_write_json(t, "model.safetensors.index.json",
                        json_pack("{s:O}", "weight_map", t->index));
}

static inline void tiny_free(struct tiny *t) {
    char command[100];
    snprintf(command, sizeof command, "rm -rf '%s'", t->folder);
    assert_int_equal(system(command), 0);
    json_decref(t->config);
    json_decref(t->index);
}

/* ---- converting it ---- */

/* Lines of notes, one after the other. */
struct noted {
    char text[8192];
};
static inline void take_note(void *user, const char *line) {
    struct noted *noted = user;
    size_t used = strlen(noted->text);
    snprintf(noted->text + used, sizeof noted->text - used, "%s\n", line);
}

/* folder/out.facet in path. */
static inline const char *tiny_out(const struct tiny *t, char path[128]) {
    snprintf(path, 128, "%s/out.facet", t->folder);
    return path;
}

#endif
