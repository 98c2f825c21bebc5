/* test_convert.c - checkpoint folders become packed files: the right tensors, numbers and metadata;
 * damaged ones are named. */
#include "checkpoint_fixture.h"

#include <math.h>
#include <signal.h>
#include <sys/resource.h>

#include "convert/pack_metadata.h"
#include "convert/source.h"
#include "pack/reader.h"

static const fct_convert_options in_floats = {.weights = "f32"};

static fct_pack *converted(const struct tiny *t, const fct_convert_options *options) {
    fct_error err = {0};
    char out[128];
    if (fct_convert(t->folder, tiny_out(t, out), options, &err) != FCT_OK)
        fail_msg("%s", err.message);
    fct_pack *pack = fct_pack_open(out, &err);
    if (!pack) fail_msg("%s", err.message);
    return pack;
}

/* Converting t must fail with this code, and leave nothing behind. The message is in err. */
static void assert_refused(const struct tiny *t, fct_status code, fct_error *err) {
    char out[128], part[140];
    *err = (fct_error){0};
    assert_int_equal(fct_convert(t->folder, tiny_out(t, out), &in_floats, err), code);
    assert_int_equal(err->code, code);
    snprintf(part, sizeof part, "%s.part", out);
    assert_int_not_equal(access(out, F_OK), 0);
    assert_int_not_equal(access(part, F_OK), 0);
}

static void assert_says(const fct_error *err, const char *part) {
    if (!strstr(err->message, part)) fail_msg("\"%s\" does not say \"%s\"", err->message, part);
}

static char *read_whole(const char *path, size_t *n) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *n = (size_t)ftell(file);
    rewind(file);
    char *bytes = malloc(*n);
    assert_int_equal(fread(bytes, 1, *n, file), *n);
    fclose(file);
    return bytes;
}

/* The hot part and the tables of both are the same bytes; the header may name another source. */
static void assert_same_data(const fct_pack *a, const fct_pack *b) {
    size_t n_a, n_b;
    char *x = read_whole(fct_pack_path(a), &n_a), *y = read_whole(fct_pack_path(b), &n_b);
    uint64_t start_a = fct_pack_header(a)->data_start, start_b = fct_pack_header(b)->data_start;
    assert_int_equal(n_a - start_a, n_b - start_b);
    assert_memory_equal(x + start_a, y + start_b, n_a - start_a);
    free(x);
    free(y);
}

/* ---- the numbers ---- */

static float weight(const struct fct_matrix *w, int row, int column) { /* FCT_F32 */
    float value;
    memcpy(&value,
           w->data + (size_t)(row / 16) * fct_strip_bytes(FCT_F32, 0, w->columns) +
               (size_t)column * 64 + (size_t)(row % 16) * 4,
           sizeof value);
    return value;
}

/* In floats, every tensor of the pack is the source's, number by number. */
static void compare_tensor(const fct_source *source, const fct_pack *pack, const char *name,
                           bool *compared) {
    const struct fct_source_tensor *from = fct_source_find(source, name);
    if (!from) from = fct_source_find(source, "embed_tokens.weight"); /* a tied head */
    int rows = (int)from->dims[0], columns = from->n_dims > 1 ? (int)from->dims[1] : 1;
    float *x = malloc((size_t)rows * (size_t)columns * sizeof *x);
    struct fct_matrix matrix;
    struct fct_table table;
    assert_int_equal(source->read_rows(source, from, 0, (uint64_t)rows, x, NULL), FCT_OK);
    if (from->n_dims == 1) {
        const float *values = fct_pack_vector(pack, name, rows, NULL);
        assert_non_null(values);
        assert_memory_equal(values, x, (size_t)rows * sizeof *x);
    } else if (fct_pack_matrix(pack, name, rows, columns, &matrix, NULL) == FCT_OK) {
        for (int r = 0; r < rows; r++)
            for (int c = 0; c < columns; c++)
                assert_float_equal(weight(&matrix, r, c), x[r * columns + c], 0.0f);
    } else {
        assert_int_equal(fct_pack_table(pack, name, rows, columns, &table, NULL), FCT_OK);
        for (int r = 0; r < rows; r++)
            assert_memory_equal(table.data +
                                    (size_t)r * fct_table_row_bytes(FCT_F32, table.blocks, columns),
                                x + r * columns, (size_t)columns * sizeof *x);
    }
    *compared = true;
    free(x);
}

static void in_floats_the_reference_cases_keep_every_number(void **state) {
    (void)state;
    static const struct {
        const char *name;
        size_t n_tensors; /* 15 a layer without, 18 with per-layer embeddings, less what sharing
                             layers and keys as values leave out, and those outside the layers;
                             counted by hand */
    } cases[] = {{"dense", 10 * 14 - 2 + 3},
                 {"e2b-like", 10 * 17 - 5 * 3 + 6},
                 {"no-softcap", 6 * 17 + 6},
                 {"two-kv-heads", 10 * 17 - 5 * 3 + 6}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tiny t = {.prefix = ""};
        char folder[200], out[128];
        fct_error err = {0};
        tiny_start(&t); /* for its folder */
        snprintf(folder, sizeof folder, "%s/cases/%s", TEST_DATA, cases[i].name);
        if (fct_convert(folder, tiny_out(&t, out), &in_floats, &err) != FCT_OK)
            fail_msg("%s", err.message);
        fct_source *source = fct_source_open(folder, &err);
        fct_pack *pack = fct_pack_open(out, &err);
        if (!source || !pack) fail_msg("%s", err.message);
        size_t n_compared = 0;
        for (size_t j = 0; j < fct_pack_header(pack)->n_tensors; j++) {
            const char *name = fct_pack_header(pack)->tensors[j].name;
            bool compared = false;
            if (strncmp(name, FCT_PACK_PADDING, strlen(FCT_PACK_PADDING)) == 0) continue;
            compare_tensor(source, pack, name, &compared);
            n_compared += compared;
        }
        assert_int_equal(n_compared, cases[i].n_tensors);
        fct_pack_free(pack);
        fct_source_free(source);
        tiny_free(&t);
    }
}

static void tensors_lie_in_the_order_in_which_a_token_meets_them(void **state) {
    (void)state;
    static const char *const order[] = {"per_layer_model_projection.weight",
                                        "per_layer_projection_norm.weight",
                                        "layers.0.input_layernorm.weight",
                                        "layers.0.self_attn.q_proj.weight",
                                        "layers.0.self_attn.k_proj.weight",
                                        "layers.0.self_attn.v_proj.weight",
                                        "layers.0.self_attn.q_norm.weight",
                                        "layers.0.self_attn.k_norm.weight",
                                        "layers.0.self_attn.o_proj.weight",
                                        "layers.0.post_attention_layernorm.weight",
                                        "layers.0.pre_feedforward_layernorm.weight",
                                        "layers.0.mlp.gate_proj.weight",
                                        "layers.0.mlp.up_proj.weight",
                                        "layers.0.mlp.down_proj.weight",
                                        "layers.0.post_feedforward_layernorm.weight",
                                        "layers.0.per_layer_input_gate.weight",
                                        "layers.0.per_layer_projection.weight",
                                        "layers.0.post_per_layer_input_norm.weight",
                                        "layers.0.layer_scalar",
                                        "layers.1.input_layernorm.weight",
                                        "layers.3.layer_scalar",
                                        "norm.weight",
                                        "lm_head.weight",
                                        "embed_tokens.weight",
                                        "embed_tokens_per_layer.weight"};
    struct tiny t = {0};
    tiny_start(&t);
    tiny_write(&t);
    fct_pack *pack = converted(&t, NULL);
    uint64_t before = 0;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        const struct fct_tensor *tensor = fct_safetensors_find(fct_pack_header(pack), order[i]);
        if (!tensor) fail_msg("%s is missing", order[i]);
        assert_true(tensor->offset > before);
        before = tensor->offset;
    }
    const uint8_t *hot;
    size_t hot_bytes;
    struct fct_matrix head;
    struct fct_table table;
    fct_pack_hot(pack, &hot, &hot_bytes);
    assert_int_equal(fct_pack_matrix(pack, "lm_head.weight", TINY_VOCAB, TINY_HIDDEN, &head, NULL),
                     FCT_OK);
    assert_int_equal(
        fct_pack_table(pack, "embed_tokens.weight", TINY_VOCAB, TINY_HIDDEN, &table, NULL), FCT_OK);
    assert_true(head.data + fct_matrix_bytes(&head) <= hot + hot_bytes &&
                table.data >= hot + hot_bytes);
    fct_pack_free(pack);
    tiny_free(&t);
}

static void the_file_does_not_depend_on_the_number_of_threads(void **state) {
    (void)state;
    static const char *const weights[] = {"q4", "q4-g128", "q8", "f32"};
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++) {
        struct tiny one = {0}, many = {0};
        tiny_start(&one);
        tiny_write(&one);
        tiny_start(&many);
        tiny_write(&many);
        fct_pack *a =
                     converted(&one, &(fct_convert_options){.weights = weights[i], .n_threads = 1}),
                 *b = converted(&many,
                                &(fct_convert_options){.weights = weights[i], .n_threads = 5});
        assert_same_data(a, b);
        fct_pack_free(a);
        fct_pack_free(b);
        tiny_free(&one);
        tiny_free(&many);
    }
}

/* ---- layouts of checkpoints ---- */

/* Both convert to the same weights. */
static void assert_alike(struct tiny *a, struct tiny *b) {
    tiny_write(a);
    tiny_write(b);
    fct_pack *x = converted(a, NULL), *y = converted(b, NULL);
    assert_same_data(x, y);
    fct_pack_free(x);
    fct_pack_free(y);
    tiny_free(a);
    tiny_free(b);
}

static void nested_and_flat_checkpoints_are_alike(void **state) {
    (void)state;
    struct tiny flat = {0}, nested = {.nested = true, .prefix = "model.language_model."};
    tiny_start(&flat);
    tiny_start(&nested);
    assert_alike(&flat, &nested);
}

/* F42 */
static void keys_and_values_of_sharing_layers_change_nothing(void **state) {
    (void)state;
    struct tiny without = {0}, with = {.shared_kv = true};
    struct noted noted = {0};
    tiny_start(&without);
    tiny_start(&with);
    assert_int_equal(with.n_tensors, without.n_tensors + 2 * 3);
    tiny_write(&with);
    fct_pack *pack = converted(&with, &(fct_convert_options){.note = take_note, .user = &noted});
    assert_false(fct_pack_has(pack, "layers.2.self_attn.k_proj.weight"));
    assert_null(strstr(noted.text, "left out"));
    fct_pack_free(pack);
    assert_alike(&without, &with);
}

static void shards_with_an_index_are_like_one_file(void **state) {
    (void)state;
    struct tiny one = {0}, three = {.n_shards = 3};
    tiny_start(&one);
    tiny_start(&three);
    for (int i = 0; i < three.n_tensors; i++) three.tensors[i].shard = i % 3;
    assert_alike(&one, &three);
}

static void float32_checkpoints_are_like_bfloat16_ones(void **state) {
    (void)state;
    struct tiny half = {0}, single = {0};
    tiny_start(&half);
    tiny_start(&single);
    for (int i = 0; i < single.n_tensors; i++) single.tensors[i].dtype = "F32";
    assert_alike(&half, &single);
}

static void an_untied_head_is_its_own(void **state) {
    (void)state;
    struct tiny t = {.untied = true};
    struct fct_matrix head;
    tiny_start(&t);
    tiny_write(&t);
    fct_pack *pack = converted(&t, &in_floats);
    assert_int_equal(fct_pack_matrix(pack, "lm_head.weight", TINY_VOCAB, TINY_HIDDEN, &head, NULL),
                     FCT_OK);
    assert_float_equal(weight(&head, 3, 5), tiny_value(&t, "lm_head.weight", 3 * TINY_HIDDEN + 5),
                       0.0f);
    fct_pack_free(pack);

    json_object_set_new(t.config, "tie_word_embeddings", json_true());
    tiny_write(&t);
    pack = converted(&t, &in_floats);
    assert_int_equal(fct_pack_matrix(pack, "lm_head.weight", TINY_VOCAB, TINY_HIDDEN, &head, NULL),
                     FCT_OK);
    assert_float_equal(weight(&head, 3, 5),
                       tiny_value(&t, "embed_tokens.weight", 3 * TINY_HIDDEN + 5), 0.0f);
    fct_pack_free(pack);
    tiny_free(&t);
}

static void heads_tied_above_the_text_part_are_tied(void **state) {
    (void)state;
    struct tiny t = {.untied = true, .nested = true, .prefix = "model.language_model."};
    tiny_start(&t);
    json_object_del(t.config, "tie_word_embeddings");
    tiny_write(&t);
    tiny_write_json(&t, "config.json",
                    json_pack("{s:s, s:O, s:b, s:[i, i]}", "model_type", "gemma4", "text_config",
                              t.config, "tie_word_embeddings", 0, "eos_token_id", 1, 7));
    fct_pack *pack = converted(&t, &in_floats);
    struct fct_matrix head;
    assert_int_equal(fct_pack_matrix(pack, "lm_head.weight", TINY_VOCAB, TINY_HIDDEN, &head, NULL),
                     FCT_OK);
    assert_float_equal(weight(&head, 3, 5), tiny_value(&t, "lm_head.weight", 3 * TINY_HIDDEN + 5),
                       0.0f);
    json_t *config = fct_pack_metadata_json(pack, "config", NULL);
    assert_true(json_is_false(json_object_get(config, "tie_word_embeddings")));
    assert_null(json_object_get(config, "text_config"));
    json_decref(config);
    fct_pack_free(pack);
    tiny_free(&t);
}

static void vision_and_audio_are_left_out_with_a_word(void **state) {
    (void)state;
    struct tiny t = {.nested = true, .prefix = "model.language_model."};
    struct noted noted = {0};
    tiny_start(&t);
    tiny_add(&t, "model.vision_tower.encoder.layers.0.mlp.up_proj.weight", 8, 8);
    tiny_add(&t, "model.audio_tower.norm.weight", 8, 0);
    tiny_add(&t, "model.embed_vision.embedding_projection.weight", 8, 8);
    tiny_add(&t, "model.language_model.layers.0.mystery.weight", 8, 8);
    tiny_write(&t);
    fct_pack *pack = converted(&t, &(fct_convert_options){.note = take_note, .user = &noted});
    assert_non_null(strstr(noted.text, "3 tensors of vision and audio are left out"));
    assert_non_null(strstr(noted.text, "left out: layers.0.mystery.weight\n"));
    assert_non_null(strstr(noted.text, "there is no tokenizer"));
    fct_pack_free(pack);
    tiny_free(&t);
}

/* ---- damaged checkpoints ---- */

static void missing_tensors_are_listed(void **state) {
    (void)state;
    struct tiny t = {0};
    fct_error err;
    tiny_start(&t);
    tiny_remove(&t, "model.layers.1.self_attn.v_proj.weight");
    tiny_remove(&t, "model.norm.weight");
    tiny_write(&t);
    assert_refused(&t, FCT_ERR_FORMAT, &err);
    assert_says(&err, "2 tensors are missing: layers.1.self_attn.v_proj.weight, norm.weight");
    tiny_free(&t);
}

static void a_wrong_shape_is_named_with_the_right_one(void **state) {
    (void)state;
    struct tiny t = {0};
    fct_error err;
    tiny_start(&t);
    tiny_find(&t, "model.layers.1.mlp.down_proj.weight")->columns = 48;
    tiny_write(&t);
    assert_refused(&t, FCT_ERR_FORMAT, &err);
    assert_says(
        &err,
        "layers.1.mlp.down_proj.weight has shape [32, 48], the configuration asks for [32, 64]");
    tiny_free(&t);
}

/* F41 */
static void missing_shards_are_listed(void **state) {
    (void)state;
    struct tiny t = {.n_shards = 3};
    fct_error err;
    char path[128];
    tiny_start(&t);
    for (int i = 0; i < t.n_tensors; i++) t.tensors[i].shard = i % 3;
    tiny_write(&t);
    snprintf(path, sizeof path, "%s/model-00002-of-00003.safetensors", t.folder);
    remove(path);
    assert_refused(&t, FCT_ERR_IO, &err);
    assert_says(&err, "1 of 3 shards are missing: model-00002-of-00003.safetensors");
    tiny_free(&t);
}

static void a_shard_of_vision_alone_may_be_missing(void **state) {
    (void)state;
    struct tiny one = {0}, two = {.n_shards = 2};
    tiny_start(&one);
    tiny_start(&two);
    for (int i = 0; i < two.n_tensors; i++) two.tensors[i].shard = i % 2;
    two.index = tiny_index(&two);
    json_object_set_new(two.index, "model.vision_tower.patch.weight",
                        json_string("model-00003-of-00003.safetensors"));
    assert_alike(&one, &two);
}

static void tensors_that_the_index_promises_must_be_there(void **state) {
    (void)state;
    struct tiny t = {.n_shards = 2};
    fct_error err;
    tiny_start(&t);
    t.tensors[0].shard = 1;
    t.index = tiny_index(&t);
    json_object_set_new(t.index, "model.ghost.weight",
                        json_string("model-00001-of-00002.safetensors"));
    tiny_write(&t);
    assert_refused(&t, FCT_ERR_FORMAT, &err);
    assert_says(&err, "1 tensors are not in the shards that model.safetensors.index.json names: "
                      "model.ghost.weight");
    tiny_free(&t);
}

static void a_tensor_in_two_shards_is_named(void **state) {
    (void)state;
    struct tiny t = {.n_shards = 2};
    fct_error err;
    tiny_start(&t);
    t.tensors[1].shard = 1;
    t.index = tiny_index(&t);
    t.tensors[t.n_tensors] = *tiny_find(&t, "model.norm.weight");
    t.tensors[t.n_tensors++].shard = 1;
    tiny_write(&t);
    assert_refused(&t, FCT_ERR_FORMAT, &err);
    assert_says(&err, "1 tensors are there more than once: norm.weight");
    tiny_free(&t);
}

static void a_file_of_another_name_will_do_if_it_is_alone(void **state) {
    (void)state;
    struct tiny t = {0};
    fct_error err;
    char from[128], to[128];
    tiny_start(&t);
    tiny_write(&t);
    snprintf(from, sizeof from, "%s/model.safetensors", t.folder);
    snprintf(to, sizeof to, "%s/weights.safetensors", t.folder);
    assert_int_equal(rename(from, to), 0);
    fct_pack_free(converted(&t, NULL));
    tiny_out(&t, from);
    remove(from);

    snprintf(from, sizeof from, "%s/model-00001-of-00002.safetensors", t.folder);
    assert_int_equal(rename(to, from), 0);
    assert_refused(&t, FCT_ERR_FORMAT, &err);
    assert_says(&err, "model.safetensors.index.json is missing");
    remove(from);
    assert_refused(&t, FCT_ERR_IO, &err);
    assert_says(&err, "there is no safetensors file");
    tiny_free(&t);
}

static void an_index_cannot_lead_out_of_the_folder(void **state) {
    (void)state;
    struct tiny t = {.n_shards = 2};
    fct_error err;
    tiny_start(&t);
    t.index = json_pack("{s:s}", "model.norm.weight", "../../etc/passwd");
    tiny_write(&t);
    assert_refused(&t, FCT_ERR_FORMAT, &err);
    assert_says(&err, "model.norm.weight is not in a file of this folder");
    tiny_free(&t);
}

/* F39, F40 */
static void a_damaged_shard_is_named(void **state) {
    (void)state;
    struct tiny t = {0};
    fct_error err;
    char path[128];
    struct stat status;
    tiny_start(&t);
    tiny_write(&t);
    snprintf(path, sizeof path, "%s/model.safetensors", t.folder);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(truncate(path, status.st_size - 1), 0);
    assert_refused(&t, FCT_ERR_FORMAT, &err);
    assert_says(&err, path);
    assert_int_equal(truncate(path, status.st_size / 2), 0);
    assert_refused(&t, FCT_ERR_FORMAT, &err);
    tiny_write_text(&t, "model.safetensors",
                    "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n");
    assert_refused(&t, FCT_ERR_FORMAT, &err);
    assert_says(&err, "LFS");
    tiny_free(&t);
}

/* F39: whatever file of the model it stands in for. */
static void a_stand_in_for_any_file_is_named(void **state) {
    (void)state;
    static const struct {
        const char *text, *says;
    } kinds[] = {{"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n",
                  "is a Git LFS pointer, not the file itself; get it with `git lfs pull`"},
                 {"<!DOCTYPE html><html>404</html>", "is a web page"}};
    static const char *const names[] = {"config.json", "model.safetensors.index.json",
                                        "tokenizer.json", "generation_config.json"};
    for (size_t k = 0; k < 2; k++) {
        char path[128], out[128];
        fct_error err = {0};
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            struct tiny t = {.n_shards = 2};
            tiny_start(&t);
            t.tensors[0].shard = 1;
            tiny_write(&t);
            tiny_write_text(&t, names[i], kinds[k].text);
            assert_refused(&t, FCT_ERR_FORMAT, &err);
            assert_says(&err, names[i]);
            assert_says(&err, kinds[k].says);
            tiny_free(&t);
        }
        struct tiny t = {0};
        tiny_start(&t);
        tiny_write_text(&t, "m.gguf", kinds[k].text);
        snprintf(path, sizeof path, "%s/m.gguf", t.folder);
        assert_int_equal(fct_convert(path, tiny_out(&t, out), NULL, &err), FCT_ERR_FORMAT);
        assert_says(&err, kinds[k].says);
        assert_null(fct_model_open(path, NULL, &err));
        assert_says(&err, kinds[k].says);
        tiny_free(&t);
    }
}

/* F44 */
static void a_weight_that_is_no_number_ends_it(void **state) {
    (void)state;
    static const char *const weights[] = {"q4", "q8", "f32"};
    static const struct {
        const char *tensor, *place;
        int at;
    } cases[] = {{"model.layers.3.mlp.up_proj.weight",
                  "layers.3.mlp.up_proj.weight: the weight in row 17, column 3 ",
                  17 * TINY_HIDDEN + 3},
                 {"model.embed_tokens_per_layer.weight",
                  "embed_tokens_per_layer.weight: the weight in row 20, column 33 ",
                  20 * TINY_LAYERS * TINY_PER_LAYER + 33},
                 {"model.layers.0.input_layernorm.weight",
                  "layers.0.input_layernorm.weight: the weight in row 9, ", 9}};
    for (size_t i = 0; i < 9; i++) {
        struct tiny t = {0};
        char out[128];
        fct_error err = {0};
        tiny_start(&t);
        tiny_find(&t, cases[i / 3].tensor)->bad_at = cases[i / 3].at;
        tiny_write(&t);
        assert_int_equal(fct_convert(t.folder, tiny_out(&t, out),
                                     &(fct_convert_options){.weights = weights[i % 3]}, &err),
                         FCT_ERR_NUMERIC);
        assert_says(&err, cases[i / 3].place);
        assert_int_not_equal(access(out, F_OK), 0);
        tiny_free(&t);
    }
}

static void what_the_network_cannot_do_is_refused_by_name(void **state) {
    (void)state;
    static const struct {
        const char *key, *value, *says;
    } cases[] = {
        {"attention_bias", "true", "attention_bias"},
        {"enable_moe_block", "true", "enable_moe_block"},
        {"use_bidirectional_attention", "\"vision\"", "use_bidirectional_attention"},
        {"hidden_activation", "\"silu\"", "hidden_activation"},
        {"model_type", "\"llama\"", "llama"},
        {"num_key_value_heads", "3", "key-value heads"},
        {"head_dim", "24", "head_dim"},
        {"quantization_config", "{\"quant_method\": \"gptq\"}", "quantization_config (gptq)"},
        {"num_hidden_layers", "5", "layer_types"},
        {"layer_types",
         "[\"full_attention\", \"full_attention\", \"linear_attention\", \"full_attention\"]",
         "linear_attention"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tiny t = {0};
        fct_error err = {0};
        char out[128];
        tiny_start(&t);
        json_object_set_new(t.config, cases[i].key,
                            json_loads(cases[i].value, JSON_DECODE_ANY, NULL));
        tiny_write(&t);
        assert_int_not_equal(fct_convert(t.folder, tiny_out(&t, out), NULL, &err), FCT_OK);
        assert_says(&err, cases[i].says);
        tiny_free(&t);
    }
}

static void what_is_no_checkpoint_is_refused(void **state) {
    (void)state;
    struct tiny t = {0};
    fct_error err = {0};
    char path[128], out[128];
    tiny_start(&t);
    assert_refused(&t, FCT_ERR_IO, &err);
    assert_says(&err, "there is no config.json");
    tiny_write_text(&t, "config.json", "{\"model_type\": ");
    assert_refused(&t, FCT_ERR_FORMAT, &err);
    assert_says(&err, "config.json: line 1");
    tiny_write_text(&t, "config.json", "[]");
    assert_refused(&t, FCT_ERR_FORMAT, &err);
    tiny_write_text(&t, "x.gguf", "GGUF....");
    snprintf(path, sizeof path, "%s/x.gguf", t.folder);
    assert_int_equal(fct_convert(path, tiny_out(&t, out), NULL, &err), FCT_ERR_FORMAT);
    snprintf(path, sizeof path, "%s/config.json", t.folder);
    assert_int_equal(fct_convert(path, out, NULL, &err), FCT_ERR_ARGUMENT);
    snprintf(path, sizeof path, "%s/nothing", t.folder);
    assert_int_equal(fct_convert(path, out, NULL, &err), FCT_ERR_IO);
    tiny_free(&t);
}

/* ---- where the file goes ---- */

/* F47 */
static void a_target_that_is_no_file_is_refused(void **state) {
    (void)state;
    struct tiny t = {0};
    fct_error err = {0};
    char path[128];
    tiny_start(&t);
    tiny_write(&t);
    assert_int_not_equal(fct_convert(t.folder, "/dev/full", NULL, &err), FCT_OK);
    assert_int_equal(access("/dev/full", F_OK), 0);
    assert_int_not_equal(fct_convert(t.folder, t.folder, NULL, &err), FCT_OK);
    snprintf(path, sizeof path, "%s/model.safetensors", t.folder);
    assert_int_equal(fct_convert(t.folder, path, NULL, &err), FCT_ERR_ARGUMENT);
    assert_says(&err, "is part of what is being converted");
    fct_pack_free(converted(&t, NULL)); /* and it is still whole */
    snprintf(path, sizeof path, "%s/no/such/folder.facet", t.folder);
    assert_int_equal(fct_convert(t.folder, path, NULL, &err), FCT_ERR_IO);
    tiny_free(&t);
}

/* The system stops the file at 20 kB, as a full disk would. */
static void a_full_disk_leaves_nothing_behind(void **state) {
    (void)state;
    struct tiny t = {0};
    fct_error err;
    struct rlimit before, limit;
    tiny_start(&t);
    tiny_write(&t);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    limit = (struct rlimit){20000, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
    assert_refused(&t, FCT_ERR_IO, &err);
    setrlimit(RLIMIT_FSIZE, &before);
    tiny_free(&t);
}

static void a_failed_conversion_leaves_the_old_file(void **state) {
    (void)state;
    struct tiny t = {0};
    char out[128];
    size_t n_before, n_after;
    tiny_start(&t);
    tiny_write(&t);
    fct_pack_free(converted(&t, NULL));
    char *before = read_whole(tiny_out(&t, out), &n_before);
    tiny_find(&t, "model.norm.weight")->bad_at = 0;
    tiny_write(&t);
    assert_int_equal(fct_convert(t.folder, out, NULL, NULL), FCT_ERR_NUMERIC);
    char *after = read_whole(out, &n_after);
    assert_int_equal(n_before, n_after);
    assert_memory_equal(before, after, n_before);
    free(before);
    free(after);
    tiny_free(&t);
}

/* ---- options and metadata ---- */

static void schemes_that_do_not_exist_are_refused(void **state) {
    (void)state;
    fct_error err;
    assert_int_equal(fct_convert("x", "y", &(fct_convert_options){.weights = "q5"}, &err),
                     FCT_ERR_ARGUMENT);
    assert_says(&err, "q5");
    assert_int_equal(fct_convert("x", "y", &(fct_convert_options){.tables = "q2"}, &err),
                     FCT_ERR_ARGUMENT);
    assert_int_equal(fct_convert("x", "y", &(fct_convert_options){.n_threads = -1}, &err),
                     FCT_ERR_ARGUMENT);
}

static void layouts_follow_the_options(void **state) {
    (void)state;
    static const struct {
        const char *weights, *tables;
        enum fct_scheme gate; /* 32 columns */
        int group;
        enum fct_scheme projection; /* 16 columns: no group divides them */
        enum fct_scheme table;
        const char *note;
    } cases[] = {
        {NULL, NULL, FCT_Q4, 32, FCT_Q8, FCT_Q8,
         "layers.*.mlp.down_proj.weight: q4, groups of 32; 4 matrices"},
        {"q4-g64", NULL, FCT_Q4, 32, FCT_Q8, FCT_Q8, "width is no multiple of the group asked for"},
        /* F43: 8 bits unless asked otherwise */
        {"q8", "q4", FCT_Q8, 32, FCT_Q8, FCT_Q4, "warning: embed_tokens_per_layer in 4 bits"},
        {"f32", NULL, FCT_F32, 0, FCT_F32, FCT_F32, "embed_tokens.weight: f32; 1 table"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tiny t = {0};
        struct noted noted = {0};
        struct fct_matrix matrix;
        struct fct_table table;
        tiny_start(&t);
        tiny_write(&t);
        fct_pack *pack = converted(&t, &(fct_convert_options){.weights = cases[i].weights,
                                                              .tables = cases[i].tables,
                                                              .note = take_note,
                                                              .user = &noted});
        assert_int_equal(fct_pack_matrix(pack, "layers.0.mlp.gate_proj.weight", TINY_WIDE,
                                         TINY_HIDDEN, &matrix, NULL),
                         FCT_OK);
        assert_int_equal(matrix.scheme, cases[i].gate);
        assert_int_equal(matrix.group, cases[i].group);
        assert_int_equal(fct_pack_matrix(pack, "layers.0.per_layer_projection.weight", TINY_HIDDEN,
                                         TINY_PER_LAYER, &matrix, NULL),
                         FCT_OK);
        assert_int_equal(matrix.scheme, cases[i].projection);
        assert_int_equal(matrix.group, 0);
        assert_int_equal(fct_pack_table(pack, "embed_tokens_per_layer.weight", TINY_VOCAB,
                                        TINY_LAYERS * TINY_PER_LAYER, &table, NULL),
                         FCT_OK);
        assert_int_equal(table.scheme, cases[i].table);
        if (table.scheme != FCT_F32) assert_int_equal(table.blocks, TINY_LAYERS);
        if (!strstr(noted.text, cases[i].note))
            fail_msg("no \"%s\" in:\n%s", cases[i].note, noted.text);
        fct_pack_free(pack);
        tiny_free(&t);
    }
}

/* F19 */
static void end_ids_are_those_of_all_files_together(void **state) {
    (void)state;
    static const struct {
        const char *generation, *expected;
    } cases[] = {{"{\"eos_token_id\": [1, 16, 5], \"top_k\": 64}", "[1, 16, 5, 7]"},
                 {"{\"eos_token_id\": 3}", "[3, 7, 1]"},
                 {"{\"temperature\": 1.0}", "[7, 1]"},
                 {NULL, "[7, 1]"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tiny t = {.nested = true, .prefix = "model.language_model."};
        tiny_start(&t);
        tiny_write(&t);
        tiny_write_json(&t, "config.json",
                        json_pack("{s:s, s:O, s:[i, i]}", "model_type", "gemma4", "text_config",
                                  t.config, "eos_token_id", 7, 1));
        if (cases[i].generation) tiny_write_text(&t, "generation_config.json", cases[i].generation);
        fct_pack *pack = converted(&t, NULL);
        json_t *generation = fct_pack_metadata_json(pack, "generation", NULL),
               *expected = json_loads(cases[i].expected, 0, NULL);
        assert_true(json_equal(json_object_get(generation, "eos_token_id"), expected));
        json_decref(generation);
        json_decref(expected);
        fct_pack_free(pack);
        tiny_free(&t);
    }
}

static void the_licence_is_the_readmes(void **state) {
    (void)state;
    static const struct {
        const char *readme, *licence;
    } cases[] = {{"---\nlibrary_name: x\nlicense: apache-2.0\n---\n# Model\n", "apache-2.0"},
                 {"---\r\nlicense: 'gemma' # theirs\r\n---\r\n", "gemma"},
                 {"# Model\nlicense: mit\n", "unknown"},
                 {"---\ntags: x\n---\nlicense: mit\n", "unknown"},
                 {NULL, "unknown"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tiny t = {0};
        tiny_start(&t);
        tiny_write(&t);
        if (cases[i].readme) tiny_write_text(&t, "README.md", cases[i].readme);
        fct_pack *pack = converted(&t, NULL);
        assert_string_equal(fct_pack_metadata(pack, "licence"), cases[i].licence);
        assert_string_equal(fct_pack_metadata(pack, "source"), strrchr(t.folder, '/') + 1);
        assert_string_equal(fct_pack_metadata(pack, "weights"), "q4");
        assert_string_equal(fct_pack_metadata(pack, "chat"), "none");
        fct_pack_free(pack);
        tiny_free(&t);
    }
}

static void expected_answers_are_carried_and_checked(void **state) {
    (void)state;
    static const struct {
        const char *text, *expected; /* NULL: refused */
    } cases[] = {{"[{\"prompt_ids\": [2, 3], \"answer_ids\": [4], \"note\": \"x\"}]",
                  "[{\"prompt_ids\": [2, 3], \"answer_ids\": [4]}]"},
                 {"{\"entries\": [{\"prompt_ids\": [2], \"answer_ids\": [23, 1]}]}",
                  "[{\"prompt_ids\": [2], \"answer_ids\": [23, 1]}]"},
                 {"[{\"prompt_ids\": [2], \"answer_ids\": [24]}]", NULL},
                 {"[{\"prompt_ids\": [-1], \"answer_ids\": [2]}]", NULL},
                 {"[{\"prompt_ids\": [], \"answer_ids\": [2]}]", NULL},
                 {"[{\"prompt_ids\": [1.5], \"answer_ids\": [2]}]", NULL},
                 {"[{\"answer_ids\": [2]}]", NULL},
                 {"[3]", NULL},
                 {"[]", NULL},
                 {"{}", NULL},
                 {"[", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tiny t = {0};
        char path[128], out[128];
        fct_error err = {0};
        tiny_start(&t);
        tiny_write(&t);
        tiny_write_text(&t, "expected.json", cases[i].text);
        snprintf(path, sizeof path, "%s/expected.json", t.folder);
        fct_convert_options options = {.expected = path};
        if (cases[i].expected) {
            fct_pack *pack = converted(&t, &options);
            json_t *got = fct_pack_metadata_json(pack, "expected", NULL),
                   *right = json_loads(cases[i].expected, 0, NULL);
            assert_true(json_equal(got, right));
            json_decref(got);
            json_decref(right);
            fct_pack_free(pack);
        } else {
            assert_int_equal(fct_convert(t.folder, tiny_out(&t, out), &options, &err),
                             FCT_ERR_FORMAT);
            assert_says(&err, path);
        }
        tiny_free(&t);
    }
}

static char *read_text(const char *path, size_t *n_bytes) {
    char *text = read_whole(path, n_bytes);
    text = realloc(text, *n_bytes + 1);
    text[*n_bytes] = 0;
    return text;
}

static void write_tokenizer(const struct tiny *t) {
    size_t n_bytes;
    char *text = read_text(TEST_DATA "/text/demo_tokenizer.json", &n_bytes);
    tiny_write_text(t, "tokenizer.json", text);
    free(text);
}

/* A written checkpoint with the demo's tokenizer and as many rows. */
static void tiny_start_with_tokenizer(struct tiny *t) {
    tiny_start(t);
    json_object_set_new(t->config, "vocab_size", json_integer(2048));
    json_object_set_new(t->config, "vocab_size_per_layer_input", json_integer(2048));
    tiny_find(t, "model.embed_tokens.weight")->rows = 2048;
    tiny_find(t, "model.embed_tokens_per_layer.weight")->rows = 2048;
    tiny_write(t);
    write_tokenizer(t);
}

static void a_tokenizer_is_carried(void **state) {
    (void)state;
    struct tiny t = {0};
    struct noted noted = {0};
    size_t n_bytes;
    tiny_start_with_tokenizer(&t);
    tiny_write_text(&t, "chat_template.jinja", "{{ something else }}");
    fct_pack *pack = converted(&t, &(fct_convert_options){.note = take_note, .user = &noted});
    assert_non_null(fct_pack_bytes(pack, FCT_TENSOR_TOKENIZER, &n_bytes, NULL));
    assert_string_equal(fct_pack_metadata(pack, "chat"), "gemma4");
    assert_non_null(strstr(noted.text, "the chat template differs"));
    fct_pack_free(pack);
    tiny_free(&t);
}

static void a_tokenizer_larger_than_the_vocabulary_is_refused(void **state) {
    (void)state;
    struct tiny t = {0};
    fct_error err;
    tiny_start(&t);
    tiny_write(&t);
    write_tokenizer(&t);
    assert_refused(&t, FCT_ERR_FORMAT, &err);
    assert_says(&err, "the tokenizer has 2048 pieces, the configuration's vocab_size is 24");
    tiny_free(&t);
}

static void the_published_template_is_known(void **state) {
    (void)state;
    static const struct {
        const char *end;
        bool known;
    } cases[] = {{"", true}, {"\n", true}, {"{{ x }}", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tiny t = {0};
        struct noted noted = {0};
        size_t n;
        tiny_start_with_tokenizer(&t);
        char *text = read_text(TEST_DATA "/convert/chat_template.jinja", &n);
        text = realloc(text, n + 16);
        strcpy(text + n, cases[i].end);
        tiny_write_json(&t, "tokenizer_config.json", json_pack("{s:s}", "chat_template", text));
        free(text);
        fct_pack *pack = converted(&t, &(fct_convert_options){.note = take_note, .user = &noted});
        assert_int_equal(!strstr(noted.text, "the chat template differs"), cases[i].known);
        fct_pack_free(pack);
        tiny_free(&t);
    }
}

/* Only the model of that name and shape has the answer that is known of it. */
static void the_published_model_has_an_answer_to_be_held_to(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int hidden_size, n_layers;
        bool known;
    } cases[] = {{"gemma-4-E2B-it", 1536, 35, true},
                 {"gemma-4-e2b-it", 1536, 35, true},
                 {"gemma-4-E2B", 1536, 35, false},
                 {"gemma-4-E2B-it", 1536, 10, false},
                 {"gemma-4-E2B-it-assistant", 1536, 35, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fct_source source = {.name = (char *)cases[i].name};
        struct fct_config config = {.hidden_size = cases[i].hidden_size,
                                    .n_layers = cases[i].n_layers,
                                    .vocab_size = 262144};
        json_t *known = fct_expected_known(&source, &config);
        assert_int_equal(known != NULL, cases[i].known);
        const json_t *entry = json_array_get(known, 0);
        if (known) assert_int_equal(json_array_size(json_object_get(entry, "prompt_ids")), 14);
        if (known) assert_int_equal(json_array_size(json_object_get(entry, "answer_ids")), 9);
        json_decref(known);
    }
}

struct progress {
    uint64_t last, total;
    int n_calls;
};
static void take_progress(void *user, const char *what, uint64_t done, uint64_t total) {
    struct progress *p = user;
    assert_non_null(what);
    assert_true(done >= p->last && done <= total && (p->n_calls == 0 || total == p->total));
    p->last = done;
    p->total = total;
    p->n_calls++;
}

static void progress_only_goes_forward(void **state) {
    (void)state;
    struct tiny t = {0};
    struct progress progress = {0};
    tiny_start(&t);
    tiny_write(&t);
    fct_pack_free(
        converted(&t, &(fct_convert_options){.progress = take_progress, .user = &progress}));
    assert_true(progress.n_calls > 0 && progress.total > 0);
    tiny_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_floats_the_reference_cases_keep_every_number),
        cmocka_unit_test(tensors_lie_in_the_order_in_which_a_token_meets_them),
        cmocka_unit_test(the_file_does_not_depend_on_the_number_of_threads),
        cmocka_unit_test(nested_and_flat_checkpoints_are_alike),
        cmocka_unit_test(keys_and_values_of_sharing_layers_change_nothing),
        cmocka_unit_test(shards_with_an_index_are_like_one_file),
        cmocka_unit_test(float32_checkpoints_are_like_bfloat16_ones),
        cmocka_unit_test(an_untied_head_is_its_own),
        cmocka_unit_test(heads_tied_above_the_text_part_are_tied),
        cmocka_unit_test(vision_and_audio_are_left_out_with_a_word),
        cmocka_unit_test(missing_tensors_are_listed),
        cmocka_unit_test(a_wrong_shape_is_named_with_the_right_one),
        cmocka_unit_test(missing_shards_are_listed),
        cmocka_unit_test(a_shard_of_vision_alone_may_be_missing),
        cmocka_unit_test(tensors_that_the_index_promises_must_be_there),
        cmocka_unit_test(a_tensor_in_two_shards_is_named),
        cmocka_unit_test(a_file_of_another_name_will_do_if_it_is_alone),
        cmocka_unit_test(an_index_cannot_lead_out_of_the_folder),
        cmocka_unit_test(a_damaged_shard_is_named),
        cmocka_unit_test(a_stand_in_for_any_file_is_named),
        cmocka_unit_test(a_weight_that_is_no_number_ends_it),
        cmocka_unit_test(what_the_network_cannot_do_is_refused_by_name),
        cmocka_unit_test(what_is_no_checkpoint_is_refused),
        cmocka_unit_test(a_target_that_is_no_file_is_refused),
        cmocka_unit_test(a_full_disk_leaves_nothing_behind),
        cmocka_unit_test(a_failed_conversion_leaves_the_old_file),
        cmocka_unit_test(schemes_that_do_not_exist_are_refused),
        cmocka_unit_test(layouts_follow_the_options),
        cmocka_unit_test(end_ids_are_those_of_all_files_together),
        cmocka_unit_test(the_licence_is_the_readmes),
        cmocka_unit_test(expected_answers_are_carried_and_checked),
        cmocka_unit_test(a_tokenizer_is_carried),
        cmocka_unit_test(a_tokenizer_larger_than_the_vocabulary_is_refused),
        cmocka_unit_test(the_published_template_is_known),
        cmocka_unit_test(the_published_model_has_an_answer_to_be_held_to),
        cmocka_unit_test(progress_only_goes_forward),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
