/* test_mobile.c - Google's mobile checkpoints keep their own codes and scales of activations, and
 * answer as the reference does. */
#include "mobile_fixture.h"

#include "engine/reference_case.h"
#include "made_model.h"
#include "pack/reader.h"

#define MOBILE TEST_DATA "/mobile/mobile"
#define STATIC TEST_DATA "/mobile/mobile-srq"

/* ---- answers ---- */

static fct_model *converted(const char *folder, const char *weights) {
    fct_error err = {0};
    struct copied copy = copy_folder(folder);
    if (convert_copy(&copy, weights, NULL, &err) != FCT_OK) fail_msg("%s", err.message);
    fct_model *model = fct_model_open(scratch_path("out.facet"), NULL, &err);
    if (!model) fail_msg("%s", err.message);
    return model;
}

static struct fct_distance distance(const char *folder, const char *weights,
                                    fct_session_options options) {
    fct_error err = {0};
    struct fct_reference_case reference;
    struct fct_distance out;
    fct_model *model = converted(folder, weights);
    options.context = 256;
    fct_session *session = made_session(model, &options);
    MUST(fct_reference_case_open(&reference, folder, 512, &err));
    assert_int_equal(reference.n_ids, 100);
    MUST(fct_reference_case_compare(&reference, session, &out, &err));
    fct_reference_case_close(&reference);
    fct_session_free(session);
    fct_model_free(model);
    return out;
}

static const fct_session_options in_float = {.kv = FCT_KV_F32, .activations = FCT_ACTIVATIONS_F32},
                                 in_int8 = {.kv = FCT_KV_F32, .activations = FCT_ACTIVATIONS_Q8},
                                 all_int8 = {.kv = FCT_KV_Q8, .activations = FCT_ACTIVATIONS_Q8};

static void own_codes_give_the_reference_logits(void **state) {
    (void)state;
    struct fct_distance far = distance(MOBILE, NULL, in_float);
    assert_true(far.max_difference <= 5e-4f);
    assert_int_equal(far.n_best_equal, 100);
    assert_true(distance(MOBILE, "f32", in_float).max_difference <= 5e-4f);
}

static void take_greedy(void *user, const char *name, fct_verdict verdict, const char *detail) {
    if (strcmp(name, "reference greedy ids") != 0) return;
    assert_string_equal(detail, "all 48");
    assert_int_equal(verdict, FCT_PASSED);
    *(bool *)user = true;
}

static void own_codes_give_the_reference_ids(void **state) {
    (void)state;
    fct_error err = {0};
    bool passed, seen = false;
    fct_model_free(converted(MOBILE, NULL));
    MUST(fct_verify(scratch_path("out.facet"), NULL, &in_float, MOBILE, take_greedy, NULL, &seen,
                    &passed, &err));
    assert_true(passed && seen);
}

/* Rounding makes single values jump by a step: float32 and float64 are 0.035 apart. */
static void static_scales_round_as_the_reference_does(void **state) {
    (void)state;
    assert_true(distance(STATIC, NULL, in_float).mean_divergence <= 0.1);
    assert_true(distance(STATIC, "f32", in_float).mean_divergence <= 0.1);
    /* Without them it would be another network: the codes are the same in both cases. */
    struct fct_reference_case plain, rounded;
    fct_error err = {0};
    MUST(fct_reference_case_open(&plain, MOBILE, 512, &err));
    MUST(fct_reference_case_open(&rounded, STATIC, 512, &err));
    assert_memory_equal(plain.ids, rounded.ids, sizeof(int) * 100);
    float most = 0;
    for (int i = 0; i < 100 * 512; i++) {
        float d = plain.logits[i] - rounded.logits[i];
        most = d > most ? d : -d > most ? -d : most;
    }
    assert_true(most > 1);
    fct_reference_case_close(&plain);
    fct_reference_case_close(&rounded);
}

/* With a static scale the codes of activations are the same in both ways of computing. */
static void static_scales_leave_nothing_to_choose(void **state) {
    (void)state;
    struct fct_distance a = distance(STATIC, NULL, in_float), b = distance(STATIC, NULL, in_int8);
    assert_true(a.mean_divergence == b.mean_divergence && a.max_difference == b.max_difference);
}

static void int8_activations_are_near(void **state) {
    (void)state;
    assert_true(distance(MOBILE, NULL, in_int8).mean_divergence <= 0.05); /* 0.024 when written */
    assert_true(distance(MOBILE, NULL, all_int8).mean_divergence <= 0.06);
}

static bool keep_row(void *user, int position, const float *logits) {
    memcpy((float *)user + position * 512, logits, 512 * sizeof *logits);
    return true;
}

static void batches_and_threads_change_no_bit(void **state) {
    (void)state;
    static float first[100 * 512], other[100 * 512];
    static const struct { int batch, threads; } ways[] = {{100, 1}, {1, 1}, {7, 2}, {64, 3}};
    fct_error err = {0};
    struct fct_reference_case reference;
    fct_model *model = converted(STATIC, NULL);
    MUST(fct_reference_case_open(&reference, STATIC, 512, &err));
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        fct_session_options options = {.context = 128,
                                       .batch = ways[i].batch,
                                       .prefill_threads = ways[i].threads,
                                       .decode_threads = ways[i].threads,
                                       .kv = FCT_KV_Q8};
        fct_session *session = made_session(model, &options);
        MUST(fct_session_score(session, reference.ids, 100, keep_row, i ? other : first, &err));
        fct_session_free(session);
        if (i) assert_memory_equal(first, other, sizeof first);
    }
    fct_reference_case_close(&reference);
    fct_model_free(model);
}

/* ---- bytes ---- */

static int code_in_file(const uint8_t *row, int bits, int i) {
    if (bits == 8) return (int8_t)row[i];
    return (row[i * bits / 8] >> i * bits % 8 & ((1 << bits) - 1)) - (1 << (bits - 1));
}

/* docs/FORMAT.md: unit, byte, and number within the byte. */
static int code_in_strip(const uint8_t *strip, int bits, int row, int i) {
    int inputs = 32 / bits;
    uint8_t byte = strip[i / inputs * 64 + 4 * row + i % inputs % 4];
    if (bits == 8) return (int8_t)byte;
    return (byte >> i % inputs / 4 * bits & ((1 << bits) - 1)) - (1 << (bits - 1));
}

static void check_matrix(const struct copied *source, const fct_pack *pack, const char *name,
                         int rows, int columns, int bits) {
    char full[128];
    size_t n_codes, n_scales;
    struct fct_matrix w;
    fct_error err = {0};
    snprintf(full, sizeof full, "%s%s.weight", strcmp(name, "lm_head") ? "model." : "", name);
    const uint8_t *codes = tensor_data(source, full, &n_codes);
    snprintf(full, sizeof full, "%s%s.weight_scale", strcmp(name, "lm_head") ? "model." : "", name);
    const uint8_t *scales = tensor_data(source, full, &n_scales);
    snprintf(full, sizeof full, "%s.weight", name);
    MUST(fct_pack_matrix(pack, full, rows, columns, &w, &err));
    assert_int_equal(fct_scheme_bits(w.scheme), bits);
    assert_int_equal(w.group, 0);
    assert_int_equal(n_codes, rows * columns * bits / 8);
    size_t strip_bytes = fct_strip_bytes(w.scheme, 0, columns);
    for (int r = 0; r < rows; r++) {
        const uint8_t *strip = w.data + (size_t)(r / 16) * strip_bytes;
        for (int i = 0; i < columns; i++)
            assert_int_equal(code_in_strip(strip, bits, r % 16, i),
                             code_in_file(codes + r * columns * bits / 8, bits, i));
        assert_memory_equal(strip + strip_bytes - 64 + r % 16 * 4, scales + 4 * r, 4);
    }
}

static void check_table(const struct copied *source, const fct_pack *pack, const char *name,
                        int columns, enum fct_scheme scheme) {
    char full[128];
    size_t n_codes, n_scales, row = (size_t)(columns * fct_scheme_bits(scheme) / 8);
    struct fct_table table;
    fct_error err = {0};
    snprintf(full, sizeof full, "model.%s.embedding_quantized", name);
    const uint8_t *codes = tensor_data(source, full, &n_codes);
    snprintf(full, sizeof full, "model.%s.embedding_scale", name);
    const uint8_t *scales = tensor_data(source, full, &n_scales);
    snprintf(full, sizeof full, "%s.weight", name);
    MUST(fct_pack_table(pack, full, 512, columns, &table, &err));
    assert_true(table.scheme == scheme && table.blocks == 1);
    size_t row_bytes = fct_table_row_bytes(scheme, 1, columns);
    assert_true(row_bytes <= row + 4 + 15);
    for (size_t r = 0; r < 512; r++) {
        assert_memory_equal(table.data + r * row_bytes, scales + 4 * r, 4);
        assert_memory_equal(table.data + r * row_bytes + 4, codes + r * row, row);
    }
}

static void codes_and_scales_are_taken_over_bit_for_bit(void **state) {
    (void)state;
    fct_error err = {0};
    fct_model_free(converted(MOBILE, NULL));
    struct copied source = copy_folder(MOBILE);
    fct_pack *pack = fct_pack_open(scratch_path("out.facet"), &err);
    check_matrix(&source, pack, "layers.0.self_attn.k_proj", 32, 64, 4);
    check_matrix(&source, pack, "layers.9.self_attn.o_proj", 64, 256, 4);
    check_matrix(&source, pack, "layers.4.mlp.down_proj", 64, 128, 4);
    check_matrix(&source, pack, "layers.5.mlp.up_proj", 256, 64, 2);
    check_matrix(&source, pack, "layers.7.per_layer_projection", 64, 32, 8);
    check_matrix(&source, pack, "per_layer_model_projection", 320, 64, 8);
    check_matrix(&source, pack, "lm_head", 512, 64, 2);
    check_table(&source, pack, "embed_tokens", 64, FCT_Q2);
    check_table(&source, pack, "embed_tokens_per_layer", 320, FCT_Q4);
    fct_pack_free(pack);
    json_decref(source.config);
    free(source.bytes);
}

/* Everything but the header takes what the source's tensors take, the rounding up to strips, lines
 * and rows of 16 bytes, and 64 bytes for each number that stands alone. */
static void the_file_is_as_large_as_its_codes(void **state) {
    (void)state;
    fct_error err = {0};
    size_t codes = 0, packed = 0, n_matrices = 0;
    fct_model_free(converted(MOBILE, NULL));
    struct copied source = copy_folder(MOBILE);
    struct fct_safetensors header;
    MUST(fct_safetensors_parse(&header, "source", source.bytes, source.n_bytes, &err));
    for (size_t i = 0; i < header.n_tensors; i++)
        if (!strstr(header.tensors[i].name, "activation")) codes += header.tensors[i].n_bytes;
    fct_safetensors_free(&header);
    fct_pack *pack = fct_pack_open(scratch_path("out.facet"), &err);
    const struct fct_safetensors *made = fct_pack_header(pack);
    for (size_t i = 0; i < made->n_tensors; i++) {
        packed += made->tensors[i].n_bytes;
        n_matrices += strstr(made->tensors[i].name, "proj") != NULL;
    }
    /* Norms are twice as large in float32, a table's row ends at 16 bytes, and the projections from
     * 32 inputs are padded to 64. */
    assert_true(packed >= codes);
    assert_true(packed <= codes + codes / 6);
    assert_true(n_matrices > 60);
    fct_pack_free(pack);
    json_decref(source.config);
    free(source.bytes);
}

static void scales_of_activations_are_in_the_file(void **state) {
    (void)state;
    fct_error err = {0};
    size_t n;
    fct_model_free(converted(STATIC, NULL));
    struct copied source = copy_folder(STATIC);
    fct_pack *pack = fct_pack_open(scratch_path("out.facet"), &err);
    const float *scales =
        fct_pack_vector(pack, "layers.2.mlp.down_proj.activation_scales", 2, &err);
    assert_non_null(scales);
    assert_memory_equal(
        scales, tensor_data(&source, "model.layers.2.mlp.down_proj.input_activation_scale", &n), 4);
    assert_memory_equal(
        scales + 1,
        tensor_data(&source, "model.layers.2.mlp.down_proj.output_activation_scale", &n), 4);
    assert_non_null(fct_pack_vector(pack, "lm_head.activation_scales", 2, &err));
    const float *cache = fct_pack_vector(pack, "layers.0.self_attn.cache_scales", 2, &err);
    assert_true(cache && cache[0] == 0.05f && cache[1] == 0.05f);
    fct_pack_free(pack);
    fct_model_free(converted(MOBILE, NULL));
    pack = fct_pack_open(scratch_path("out.facet"), &err);
    assert_false(fct_pack_has(pack, "lm_head.activation_scales")); /* 0: none */
    fct_pack_free(pack);
    json_decref(source.config);
    free(source.bytes);
}

/* ---- what deviates ---- */

static void refused(struct copied *copy, const char *says) {
    fct_error err = {0};
    fct_status status = convert_copy(copy, NULL, NULL, &err);
    if (status == FCT_OK) fail_msg("converts, though it should say: %s", says);
    if (!strstr(err.message, says)) fail_msg("says \"%s\", not \"%s\"", err.message, says);
    assert_int_equal(status, FCT_ERR_UNSUPPORTED);
}

static void a_deviating_configuration_is_refused_by_name(void **state) {
    (void)state;
    static const struct {
        const char *key, *value, *says;
    } cases[] = {
        {"num_bits", "3", "quantization_config num_bits is not 2, 4 or 8"},
        {"group_size", "32", "quantization_config has group_size, which is not known"},
        {"quantize_embeddings", "false", "embed_tokens.embedding_quantized has codes"},
        {"modules_to_not_convert", "[\"lm_head\"]",
         "lm_head.weight has codes, but modules_to_not_convert names it"},
        {"module_quant_configs", "{\"a(?!b)\": {\"num_bits\": 4}}", "a(?!b)"},
        {"module_quant_configs", "{\"mlp\": {\"num_bits\": 5}}", "mlp num_bits is not 2, 4 or 8"},
        {"module_quant_configs", "{\"mlp\": {\"num_bits\": 4, \"axis\": 1}}", "mlp has axis"},
        {"module_quant_configs", "{\"per_layer\": {\"num_bits\": 8}}",
         "embed_tokens_per_layer.embedding_quantized is U8, which 8 bits are not stored in"},
        {"quant_method", "\"gptq\"", "quantization_config (gptq)"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct copied copy = copy_folder(MOBILE);
        json_object_set_new(quantization_of(&copy), cases[i].key,
                            json_loads(cases[i].value, JSON_DECODE_ANY, NULL));
        refused(&copy, cases[i].says);
    }
}

static void deviating_tensors_are_refused_by_name(void **state) {
    (void)state;
    struct copied copy = copy_folder(MOBILE);
    replace_text(&copy, "layers.3.mlp.up_proj.weight_scale\"",
                 "layers.3.mlp.up_proj.weight_scali\"");
    refused(&copy, "layers.3.mlp.up_proj.weight has no weight_scale");
    copy = copy_folder(MOBILE);
    replace_text(&copy, "\"model.layers.3.mlp.up_proj.weight\"",
                 "\"model.layers.3.mlp.up_proj.waight\"");
    refused(&copy, "layers.3.mlp.up_proj.weight_scale is a scale without codes");
    copy = copy_folder(STATIC);
    size_t n;
    float negative = -1;
    memcpy(tensor_data(&copy, "lm_head.input_activation_scale", &n), &negative, sizeof negative);
    refused(&copy, "lm_head.input_activation_scale is -1");
    copy = copy_folder(MOBILE);
    json_object_set_new(copy.config, "intermediate_size", json_integer(256));
    fct_error err = {0};
    assert_int_equal(convert_copy(&copy, NULL, NULL, &err), FCT_ERR_FORMAT);
    assert_non_null(strstr(err.message, "mlp.gate_proj.weight has shape [128, 64]"));
}

static void a_scale_that_is_no_number_is_found(void **state) {
    (void)state;
    size_t n;
    fct_error err = {0};
    uint32_t nan = 0x7FC00000;
    struct copied copy = copy_folder(MOBILE);
    memcpy(tensor_data(&copy, "model.layers.1.mlp.up_proj.weight_scale", &n) + 4 * 17, &nan, 4);
    assert_int_equal(convert_copy(&copy, NULL, NULL, &err), FCT_ERR_NUMERIC);
    assert_non_null(strstr(err.message, "layers.1.mlp.up_proj.weight: a scale of row 17"));
}

/* The first pattern that is found decides, as the file has them in order. */
static void the_first_pattern_decides(void **state) {
    (void)state;
    fct_error err = {0};
    struct copied copy = copy_folder(MOBILE);
    json_t *rules = json_object_get(quantization_of(&copy), "module_quant_configs"), *first;
    first = json_pack("{s:{s:i}}", "layers\\.\\d+\\.mlp\\.(?:gate|up|down)_proj$", "num_bits", 4);
    json_object_update(first, rules);
    json_object_set_new(quantization_of(&copy), "module_quant_configs", first);
    /* now the 2-bit layers would be half as wide */
    assert_int_equal(convert_copy(&copy, NULL, NULL, &err), FCT_ERR_FORMAT);
    assert_non_null(strstr(err.message, "layers.5.mlp.gate_proj.weight has shape [256, 32]"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(own_codes_give_the_reference_logits),
        SCRATCH_TEST(own_codes_give_the_reference_ids),
        SCRATCH_TEST(static_scales_round_as_the_reference_does),
        SCRATCH_TEST(static_scales_leave_nothing_to_choose),
        SCRATCH_TEST(int8_activations_are_near),
        SCRATCH_TEST(batches_and_threads_change_no_bit),
        SCRATCH_TEST(codes_and_scales_are_taken_over_bit_for_bit),
        SCRATCH_TEST(the_file_is_as_large_as_its_codes),
        SCRATCH_TEST(scales_of_activations_are_in_the_file),
        SCRATCH_TEST(a_deviating_configuration_is_refused_by_name),
        SCRATCH_TEST(deviating_tensors_are_refused_by_name),
        SCRATCH_TEST(a_scale_that_is_no_number_is_found),
        SCRATCH_TEST(the_first_pattern_decides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
