/* test_compressed_tensors.c - checkpoints of compressed-tensors keep their codes, and mean what the
 * library says they mean. */
#include "mobile_fixture.h"

#include "convert/loss.h"
#include "pack/reader.h"

#define FOLDER TEST_DATA "/compressed/"

static void convert_case(const char *name, const char *weights, struct noted *noted) {
    char folder[300];
    fct_error err = {0};
    snprintf(folder, sizeof folder, FOLDER "%s", name);
    struct copied copy = copy_folder(folder);
    if (convert_copy(&copy, weights, noted, &err) != FCT_OK) fail_msg("%s", err.message);
}

/* What the packed file's matrices differ from the library's, all together; *n of them. */
static struct fct_loss distance(const char *name, int *n) {
    char path[300];
    size_t n_bytes;
    fct_error err = {0};
    struct fct_safetensors header;
    struct fct_loss loss = {0, 0};
    snprintf(path, sizeof path, FOLDER "%s/decompressed.safetensors", name);
    uint8_t *bytes = read_all(path, &n_bytes);
    assert_int_equal(fct_safetensors_parse(&header, path, bytes, n_bytes, &err), FCT_OK);
    fct_pack *pack = fct_pack_open(scratch_path("out.facet"), &err);
    assert_non_null(pack);
    for (size_t i = 0; i < header.n_tensors; i++) {
        const struct fct_tensor *tensor = &header.tensors[i];
        int rows = (int)tensor->dims[0], columns = (int)tensor->dims[1];
        struct fct_matrix w;
        if (fct_pack_matrix(pack, tensor->name + strlen("model."), rows, columns, &w, &err))
            fail_msg("%s", err.message);
        float *x = malloc((size_t)tensor->n_bytes);
        memcpy(x, bytes + tensor->offset, (size_t)tensor->n_bytes);
        for (int r = 0; r < rows; r += 16)
            fct_loss_add_strip(
                &loss, w.scheme, w.group, x + r * columns, rows - r < 16 ? rows - r : 16, columns,
                w.data + (size_t)(r / 16) * fct_strip_bytes(w.scheme, w.group, columns));
        free(x);
    }
    *n = (int)header.n_tensors;
    fct_pack_free(pack);
    fct_safetensors_free(&header);
    free(bytes);
    return loss;
}

static void groups_of_32_are_taken_over_exactly(void **state) {
    (void)state;
    static struct noted noted;
    int n;
    convert_case("w4a16", NULL, &noted);
    struct fct_loss loss = distance("w4a16", &n);
    assert_true(n > 6 && loss.error == 0 && loss.power > 0);
    assert_non_null(strstr(noted.text, "mlp.up_proj.weight: q4, groups of 32"));
    assert_non_null(strstr(noted.text, "scales of groups are float16 as they are"));
    convert_case("w4a16", "f32", NULL);
    loss = distance("w4a16", &n);
    assert_true(loss.error == 0 && loss.power > 0);
}

static void scales_that_are_no_float16_are_counted(void **state) {
    (void)state;
    static struct noted noted;
    int n;
    fct_error err = {0};
    convert_case("floats", NULL, &noted);
    struct fct_loss loss = distance("floats", &n);
    assert_true(loss.error > 0 && fct_loss_relative(&loss) < 0x1p-11); /* half a step of float16 */
    assert_non_null(strstr(noted.text, "scales of groups were no float16"));
    fct_pack *pack = fct_pack_open(scratch_path("out.facet"), &err);
    const float *scales = fct_pack_vector(pack, "layers.0.mlp.up_proj.activation_scales", 2, &err);
    assert_true(scales && scales[0] == 0.05f && scales[1] == 0.11f);
    fct_pack_free(pack);
}

static void one_scale_a_row_and_three_widths_are_taken_over_exactly(void **state) {
    (void)state;
    static struct noted noted;
    int n;
    convert_case("channel", NULL, &noted);
    struct fct_loss loss = distance("channel", &n);
    assert_true(n > 6 && loss.error == 0 && loss.power > 0);
    assert_non_null(strstr(noted.text, "layers.1.mlp.up_proj.weight: q2, one scale a row"));
    assert_non_null(strstr(noted.text, "layers.0.self_attn.o_proj.weight: q8, one scale a row"));
    assert_non_null(strstr(noted.text, "self_attn.q_proj.weight: q4, one scale a row"));
    convert_case("channel", "f32", NULL);
    loss = distance("channel", &n);
    assert_true(loss.error == 0 && loss.power > 0);
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
        const char *part; /* of config_groups.group_0; "": of the whole */
        const char *key, *value, *says;
    } cases[] = {
        {"", "format", "\"marlin-24\"", "has format marlin-24, not pack-quantized"},
        {"", "quantization_status", "\"frozen\"", "has status frozen"},
        {"", "kv_cache_scheme", "{\"num_bits\": 8}", "has kv_cache_scheme, which is not known"},
        {"", "config_groups", "[]", "has no config_groups"},
        {"weights", "num_bits", "3", "group_0 num_bits is not 2, 4 or 8"},
        {"weights", "num_bits", "8", "is not I32 [64, 32], as 8 bits would be"},
        {"weights", "symmetric", "false", "group_0 is not symmetric"},
        {"weights", "type", "\"float\"", "group_0 is of type float"},
        {"weights", "strategy", "\"block\"", "group_0 has strategy block"},
        {"weights", "actorder", "\"group\"", "group_0 has actorder, which is not known"},
        {"weights", "group_size", "64", "does not have 2 scales a row"},
        {"group", "targets", "[\"re:.*mlp\"]", "self_attn.k_proj is no target of a group"},
        {"group", "targets", "[\"re:(?=a)\"]", "is not in the subset that facet reads"},
        {"group", "input_activations",
         "{\"num_bits\": 8, \"type\": \"int\", \"symmetric\": true, \"strategy\": \"token\", "
         "\"dynamic\": true}",
         "group_0 input_activations is dynamic"},
        {"group", "output_activations",
         "{\"num_bits\": 8, \"type\": \"int\", \"symmetric\": true, \"strategy\": \"tensor\"}",
         "has scales of activations where group_0 has none, or none where it has"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct copied copy = copy_folder(FOLDER "w4a16");
        json_t *whole = quantization_of(&copy),
               *group = json_object_get(json_object_get(whole, "config_groups"), "group_0"),
               *part = !cases[i].part[0]                     ? whole
                       : strcmp(cases[i].part, "group") == 0 ? group
                                                             : json_object_get(group, "weights");
        assert_true(json_is_object(part));
        json_object_set_new(part, cases[i].key, json_loads(cases[i].value, JSON_DECODE_ANY, NULL));
        refused(&copy, cases[i].says);
    }
}

static void deviating_tensors_are_refused_by_name(void **state) {
    (void)state;
    struct copied copy = copy_folder(FOLDER "w4a16");
    replace_text(&copy, "layers.1.mlp.up_proj.weight_scale\"",
                 "layers.1.mlp.up_proj.weight_scali\"");
    refused(&copy, "layers.1.mlp.up_proj.weight_packed has no weight_scale");
    copy = copy_folder(FOLDER "w4a16");
    replace_text(&copy, "layers.1.mlp.up_proj.weight_shape\"",
                 "layers.1.mlp.up_proj.weight_g_idx\"");
    refused(&copy, "layers.1.mlp.up_proj.weight_packed has no weight_shape");
    copy = copy_folder(FOLDER "w4a16");
    size_t n;
    int64_t large = INT64_MAX;
    memcpy(tensor_data(&copy, "model.layers.1.mlp.up_proj.weight_shape", &n), &large, 8);
    refused(&copy, "layers.1.mlp.up_proj.weight_packed has no weight_shape of two numbers");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(groups_of_32_are_taken_over_exactly),
        SCRATCH_TEST(scales_that_are_no_float16_are_counted),
        SCRATCH_TEST(one_scale_a_row_and_three_widths_are_taken_over_exactly),
        SCRATCH_TEST(a_deviating_configuration_is_refused_by_name),
        SCRATCH_TEST(deviating_tensors_are_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
