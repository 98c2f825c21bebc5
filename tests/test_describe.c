/* test_describe.c - what fct_describe says of packed files, safetensors files, checkpoint folders,
 * and what is none of them. */
#include "checkpoint_fixture.h"

static json_t *described(const char *path) {
    fct_error err = {0};
    char *text = NULL;
    if (fct_describe(path, &text, &err) != FCT_OK) fail_msg("%s", err.message);
    json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    fct_free(text);
    return json;
}

static const char *text_of(const json_t *json, const char *key) {
    const char *text = json_string_value(json_object_get(json, key));
    return text ? text : "(nothing)";
}
static long long number_of(const json_t *json, const char *key) {
    return json_integer_value(json_object_get(json, key));
}

static const json_t *tensor_of(const json_t *json, const char *name) {
    size_t i;
    const json_t *tensor;
    json_array_foreach(json_object_get(json, "tensors"), i, tensor) {
        if (strcmp(text_of(tensor, "name"), name) == 0) return tensor;
    }
    fail_msg("no tensor %s", name);
    return NULL;
}

static void assert_shape(const json_t *tensor, int rows, int columns) {
    const json_t *shape = json_object_get(tensor, "shape");
    assert_int_equal(json_array_size(shape), columns ? 2 : 1);
    assert_int_equal(json_integer_value(json_array_get(shape, 0)), rows);
    if (columns) assert_int_equal(json_integer_value(json_array_get(shape, 1)), columns);
}

static long long parameters(const struct tiny *t) {
    long long n = 0;
    for (int i = 0; i < t->n_tensors; i++) n += (long long)tiny_elements(&t->tensors[i]);
    return n;
}

static void a_folder_is_a_checkpoint(void **state) {
    (void)state;
    struct tiny t = {.nested = true, .prefix = "model.language_model."};
    tiny_start(&t);
    tiny_write(&t);
    tiny_write_text(&t, "README.md", "---\nlicense: apache-2.0\n---\n");
    json_t *json = described(t.folder);
    assert_string_equal(text_of(json, "kind"), "checkpoint");
    assert_string_equal(text_of(json, "architecture"), "gemma4_text");
    assert_string_equal(text_of(json, "licence"), "apache-2.0");
    assert_true(json_is_true(json_object_get(json, "runnable")));
    assert_int_equal(number_of(json_object_get(json, "config"), "hidden_size"), TINY_HIDDEN);
    assert_int_equal(number_of(json, "n_tensors"), t.n_tensors);
    assert_int_equal(number_of(json, "n_parameters"), parameters(&t));
    assert_int_equal(number_of(json, "tensor_bytes"), 2 * parameters(&t));
    const json_t *tensor = tensor_of(json, "layers.1.mlp.down_proj.weight");
    assert_string_equal(text_of(tensor, "dtype"), "BF16");
    assert_shape(tensor, TINY_HIDDEN, TINY_WIDE);
    assert_int_equal(number_of(tensor, "bytes"), TINY_HIDDEN * TINY_WIDE * 2);
    json_decref(json);
    tiny_free(&t);
}

static void a_checkpoint_that_cannot_be_run_says_why(void **state) {
    (void)state;
    struct tiny t = {0};
    tiny_start(&t);
    json_object_set_new(t.config, "attention_bias", json_true());
    tiny_write(&t);
    json_t *json = described(t.folder);
    assert_true(json_is_false(json_object_get(json, "runnable")));
    assert_non_null(strstr(text_of(json, "why_not"), "attention_bias"));
    json_decref(json);

    json_object_set_new(t.config, "attention_bias", json_false());
    tiny_remove(&t, "model.norm.weight");
    tiny_write(&t);
    json = described(t.folder);
    assert_true(json_is_false(json_object_get(json, "runnable")));
    assert_non_null(strstr(text_of(json, "why_not"), "norm.weight"));
    json_decref(json);
    tiny_free(&t);
}

static void a_safetensors_file_is_a_list_of_tensors(void **state) {
    (void)state;
    struct tiny t = {0};
    char path[128];
    tiny_start(&t);
    tiny_write(&t);
    snprintf(path, sizeof path, "%s/model.safetensors", t.folder);
    json_t *json = described(path);
    assert_string_equal(text_of(json, "kind"), "safetensors");
    assert_true(json_is_false(json_object_get(json, "runnable")));
    assert_int_equal(number_of(json, "n_tensors"), t.n_tensors);
    assert_shape(tensor_of(json, "model.norm.weight"), TINY_HIDDEN, 0);
    json_decref(json);
    tiny_free(&t);
}

static void a_packed_file_has_the_shapes_of_its_checkpoint(void **state) {
    (void)state;
    struct tiny t = {0};
    char out[128];
    fct_error err = {0};
    tiny_start(&t);
    tiny_write(&t);
    if (fct_convert(t.folder, tiny_out(&t, out), NULL, &err) != FCT_OK) fail_msg("%s", err.message);
    json_t *json = described(out);
    assert_string_equal(text_of(json, "kind"), "packed");
    assert_string_equal(text_of(json, "weights"), "q4");
    assert_string_equal(text_of(json, "licence"), "unknown");
    assert_true(json_is_true(json_object_get(json, "runnable")));
    assert_true(json_is_false(json_object_get(json, "has_tokenizer")));
    assert_int_equal(number_of(json, "n_parameters"),
                     parameters(&t)); /* the tied head is not counted again */
    const json_t *gate = tensor_of(json, "layers.0.mlp.gate_proj.weight"),
                 *table = tensor_of(json, "embed_tokens_per_layer.weight");
    assert_shape(gate, TINY_WIDE, TINY_HIDDEN);
    assert_string_equal(text_of(gate, "scheme"), "q4");
    assert_int_equal(number_of(gate, "group"), 32);
    assert_int_equal(number_of(gate, "bytes"), 4 * 576); /* four strips of one tile */
    assert_shape(table, TINY_VOCAB, TINY_LAYERS * TINY_PER_LAYER);
    assert_string_equal(text_of(table, "scheme"), "q8");
    assert_int_equal(number_of(table, "blocks"), TINY_LAYERS);
    json_decref(json);
    tiny_free(&t);
}

static void what_is_no_model_is_an_error(void **state) {
    (void)state;
    struct tiny t = {0};
    char path[128], *json = NULL;
    fct_error err = {0};
    tiny_start(&t);
    assert_int_equal(fct_describe(t.folder, &json, &err), FCT_ERR_IO);
    tiny_write_text(&t, "x.gguf", "GGUF and more");
    snprintf(path, sizeof path, "%s/x.gguf", t.folder);
    assert_int_equal(fct_describe(path, &json, &err), FCT_ERR_FORMAT);
    tiny_write_text(&t, "page.safetensors", "<!DOCTYPE html><html></html>");
    snprintf(path, sizeof path, "%s/page.safetensors", t.folder);
    assert_int_equal(fct_describe(path, &json, &err), FCT_ERR_FORMAT);
    snprintf(path, sizeof path, "%s/nothing", t.folder);
    assert_int_equal(fct_describe(path, &json, &err), FCT_ERR_IO);
    assert_null(json);
    tiny_free(&t);
}

/* F40: a packed file cut anywhere is refused, not described wrongly. */
static void a_cut_packed_file_is_refused(void **state) {
    (void)state;
    struct tiny t = {0};
    char out[128], *json = NULL;
    struct stat status;
    tiny_start(&t);
    tiny_write(&t);
    assert_int_equal(fct_convert(t.folder, tiny_out(&t, out), NULL, NULL), FCT_OK);
    assert_int_equal(stat(out, &status), 0);
    for (off_t size = status.st_size - 1; size >= 0; size = size > 5000 ? size - 3001 : size - 97) {
        assert_int_equal(truncate(out, size), 0);
        assert_int_not_equal(fct_describe(out, &json, NULL), FCT_OK);
    }
    tiny_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_folder_is_a_checkpoint),
        cmocka_unit_test(a_checkpoint_that_cannot_be_run_says_why),
        cmocka_unit_test(a_safetensors_file_is_a_list_of_tensors),
        cmocka_unit_test(a_packed_file_has_the_shapes_of_its_checkpoint),
        cmocka_unit_test(what_is_no_model_is_an_error),
        cmocka_unit_test(a_cut_packed_file_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
