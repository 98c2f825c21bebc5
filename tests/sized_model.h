/* sized_model.h - for tests: a made-up model that is large enough to be read in pieces, and to run
 * short of memory with: 20 MB that every token reads, and tables. */
#ifndef TESTS_SIZED_MODEL_H
#define TESTS_SIZED_MODEL_H

#include <fcntl.h>
#include <jansson.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "made_model.h"

enum {
    SIZED_HIDDEN = 512,
    SIZED_WIDE = 1024,
    SIZED_HEADS = 4,
    SIZED_HEAD = 128,
    SIZED_FULL_HEAD = 256,
    SIZED_PER_LAYER = 128,
    SIZED_VOCAB = 8192,
    SIZED_LAYERS = 6,
    SIZED_OWN = 3
};

struct sized_writer {
    json_t *header;
    uint64_t bytes, state;
    FILE *data;
};

/* Uniform in (-1, 1) times scale, as bfloat16; scale 0: ones. */
static void sized_add(struct sized_writer *w, const char *name, int rows, int columns,
                      float scale) {
    static uint16_t row[4096];
    int width = columns ? columns : rows, n_rows = columns ? rows : 1;
    uint64_t bytes = 2 * (uint64_t)width * (uint64_t)n_rows;
    json_t *shape = columns ? json_pack("[i, i]", rows, columns) : json_pack("[i]", rows);
    json_object_set_new(w->header, name,
                        json_pack("{s:s, s:o, s:[I, I]}", "dtype", "BF16", "shape", shape,
                                  "data_offsets", (json_int_t)w->bytes,
                                  (json_int_t)(w->bytes + bytes)));
    w->bytes += bytes;
    for (int r = 0; r < n_rows; r++) {
        for (int i = 0; i < width; i++) {
            w->state = w->state * 6364136223846793005u + 1442695040888963407u;
            float value = (float)(int32_t)(w->state >> 32) / 2147483648.0f * scale;
            uint32_t bits;
            memcpy(&bits, &value, sizeof bits);
            row[i] = scale == 0 ? 0x3F80 : (uint16_t)(bits >> 16);
        }
        if (fwrite(row, 2, (size_t)width, w->data) != (size_t)width) abort();
    }
}

static void sized_add_layer(struct sized_writer *w, int i) {
    bool full = i % SIZED_OWN == SIZED_OWN - 1, own = i < SIZED_OWN;
    int d = full ? SIZED_FULL_HEAD : SIZED_HEAD, wide = own ? SIZED_WIDE : 2 * SIZED_WIDE;
    const struct {
        const char *name;
        int rows, columns;
        float scale;
    } parts[] = {{"input_layernorm.weight", SIZED_HIDDEN, 0, 0},
                 {"post_attention_layernorm.weight", SIZED_HIDDEN, 0, 0},
                 {"pre_feedforward_layernorm.weight", SIZED_HIDDEN, 0, 0},
                 {"post_feedforward_layernorm.weight", SIZED_HIDDEN, 0, 0},
                 {"post_per_layer_input_norm.weight", SIZED_HIDDEN, 0, 0},
                 {"layer_scalar", 1, 0, 0},
                 {"self_attn.q_norm.weight", d, 0, 0},
                 {"self_attn.q_proj.weight", SIZED_HEADS * d, SIZED_HIDDEN, 0.05f},
                 {"self_attn.o_proj.weight", SIZED_HIDDEN, SIZED_HEADS * d, 0.05f},
                 {"mlp.gate_proj.weight", wide, SIZED_HIDDEN, 0.05f},
                 {"mlp.up_proj.weight", wide, SIZED_HIDDEN, 0.05f},
                 {"mlp.down_proj.weight", SIZED_HIDDEN, wide, 0.05f},
                 {"per_layer_input_gate.weight", SIZED_PER_LAYER, SIZED_HIDDEN, 0.05f},
                 {"per_layer_projection.weight", SIZED_HIDDEN, SIZED_PER_LAYER, 0.05f},
                 {"self_attn.k_norm.weight", d, 0, 0}, /* from here on: own keys and values */
                 {"self_attn.k_proj.weight", d, SIZED_HIDDEN, 0.05f},
                 {"self_attn.v_proj.weight", d, SIZED_HIDDEN, 0.05f}};
    size_t n = sizeof parts / sizeof *parts - (own ? 0 : 3);
    for (size_t p = 0; p < n; p++) {
        char name[100];
        snprintf(name, sizeof name, "model.layers.%d.%s", i, parts[p].name);
        sized_add(w, name, parts[p].rows, parts[p].columns, parts[p].scale);
    }
}

static json_t *sized_config(void) {
    json_t *types = json_array();
    for (int i = 0; i < SIZED_LAYERS; i++)
        json_array_append_new(
            types,
            json_string(i % SIZED_OWN == SIZED_OWN - 1 ? "full_attention" : "sliding_attention"));
    json_t *config = json_pack(
        "{s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:f, s:s, s:b, s:i, "
        "s:b, s:o}",
        "model_type", "gemma4_text", "hidden_size", SIZED_HIDDEN, "intermediate_size", SIZED_WIDE,
        "num_hidden_layers", SIZED_LAYERS, "num_attention_heads", SIZED_HEADS,
        "num_key_value_heads", 1, "head_dim", SIZED_HEAD, "global_head_dim", SIZED_FULL_HEAD,
        "vocab_size", SIZED_VOCAB, "vocab_size_per_layer_input", SIZED_VOCAB,
        "hidden_size_per_layer_input", SIZED_PER_LAYER, "num_kv_shared_layers",
        SIZED_LAYERS - SIZED_OWN, "sliding_window", 64, "final_logit_softcapping", 30.0,
        "hidden_activation", "gelu_pytorch_tanh", "use_double_wide_mlp", 1, "eos_token_id", 1,
        "tie_word_embeddings", 1, "layer_types", types);
    json_object_set_new(config, "rope_parameters",
                        json_pack("{s:{s:s, s:f}, s:{s:s, s:f, s:f}}", "sliding_attention",
                                  "rope_type", "default", "rope_theta", 1e4, "full_attention",
                                  "rope_type", "proportional", "rope_theta", 1e6,
                                  "partial_rotary_factor", 0.25));
    return config;
}

static void sized_write_checkpoint(const char *folder) {
    char path[300];
    struct sized_writer w = {.header = json_object(), .state = 1, .data = tmpfile()};
    sized_add(&w, "model.embed_tokens.weight", SIZED_VOCAB, SIZED_HIDDEN, 0.05f);
    sized_add(&w, "model.embed_tokens_per_layer.weight", SIZED_VOCAB,
              SIZED_LAYERS * SIZED_PER_LAYER, 0.05f);
    sized_add(&w, "model.per_layer_model_projection.weight", SIZED_LAYERS * SIZED_PER_LAYER,
              SIZED_HIDDEN, 0.05f);
    sized_add(&w, "model.per_layer_projection_norm.weight", SIZED_PER_LAYER, 0, 0);
    sized_add(&w, "model.norm.weight", SIZED_HIDDEN, 0, 0);
    for (int i = 0; i < SIZED_LAYERS; i++) sized_add_layer(&w, i);

    snprintf(path, sizeof path, "%s/config.json", folder);
    json_t *config = sized_config();
    assert_int_equal(json_dump_file(config, path, 0), 0);
    json_decref(config);
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    FILE *file = fopen(path, "wb");
    char *header = json_dumps(w.header, JSON_COMPACT), piece[1 << 16];
    uint64_t length = strlen(header);
    fwrite(&length, sizeof length, 1, file);
    fwrite(header, length, 1, file);
    rewind(w.data);
    for (size_t n; (n = fread(piece, 1, sizeof piece, w.data)) > 0;) fwrite(piece, 1, n, file);
    assert_int_equal(fclose(file), 0);
    fclose(w.data);
    free(header);
    json_decref(w.header);
}

/* The checkpoint's folder, made once a process. */
static const char *sized_checkpoint(void) {
    static char folder[256];
    if (*folder) return folder;
    snprintf(folder, sizeof folder, "%s", made_path("checkpoint"));
    assert_int_equal(mkdir(folder, 0700), 0);
    sized_write_checkpoint(folder);
    return folder;
}

/* The packed model, q8, made once a process; its pages are written out, so that they can be dropped
 * from the cache. */
__attribute__((unused)) static const char *sized_model(void) {
    static char path[300];
    fct_error err = {0};
    if (*path) return path;
    const char *folder = sized_checkpoint();
    snprintf(path, sizeof path, "%s", made_path("sized.facet"));
    fct_convert_options options = {.weights = "q8", .rounding = "absmax"};
    MUST(fct_convert(folder, path, &options, &err));
    int fd = open(path, O_RDONLY);
    fsync(fd);
    close(fd);
    return path;
}

/* Drops the file from the page cache; false if that is not possible (a file system in memory). */
__attribute__((unused)) static bool sized_drop(const char *path) {
    struct stat info;
    int fd = open(path, O_RDONLY);
    fstat(fd, &info);
    bool dropped = posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0;
    uint8_t *map = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_SHARED, fd, 0);
    size_t page = (size_t)sysconf(_SC_PAGESIZE), n = ((size_t)info.st_size + page - 1) / page,
           in = 0;
    /* qemu counts in the pages of its own kernel, whatever it says theirs are */
    unsigned char *there = calloc((size_t)info.st_size / 4096 + 1, 1);
    if (map != MAP_FAILED && mincore(map, (size_t)info.st_size, there) == 0)
        for (size_t i = 0; i < n; i++) in += there[i] & 1;
    munmap(map, (size_t)info.st_size);
    free(there);
    close(fd);
    return dropped && in < n / 10;
}

#endif
