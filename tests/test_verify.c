/* test_verify.c - facet verify passes what is whole, and would not if a weight, a merge, the
 * configuration or a kernel were wrong. */
#include "made_model.h"

#include "kernels/kernels.h"
#include "pack/reader.h"

/* What the checks said. */
struct said {
    int n[3];
    char failed[64], detail[1024];
};

static void hear(void *user, const char *name, fct_verdict verdict, const char *detail) {
    struct said *said = user;
    said->n[verdict]++;
    if (verdict != FCT_FAILED) return;
    snprintf(said->failed, sizeof said->failed, "%s", name);
    snprintf(said->detail, sizeof said->detail, "%s", detail);
}

static bool verify(const char *path, const char *case_folder, struct said *said) {
    fct_error err = {0};
    bool passed = true;
    memset(said, 0, sizeof *said);
    MUST(fct_verify(path, NULL, &(fct_session_options){.context = 256}, case_folder, hear, NULL,
                    said, &passed, &err));
    assert_true(passed == (said->n[FCT_FAILED] == 0));
    return passed;
}

static uint8_t *read_demo(size_t *n) {
    FILE *file = fopen(MODELS "/demo.facet", "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *n = (size_t)ftell(file);
    rewind(file);
    uint8_t *bytes = malloc(*n);
    assert_int_equal(fread(bytes, 1, *n, file), *n);
    fclose(file);
    return bytes;
}

static const char *write_model(const uint8_t *bytes, size_t n) {
    const char *path = made_path("changed.facet");
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    fclose(file);
    return path;
}

static void the_demo_passes(void **state) {
    (void)state;
    struct said said;
    assert_true(verify(NULL, NULL, &said));
    assert_true(verify(MODELS "/demo.facet", NULL, &said));
    assert_int_equal(said.n[FCT_PASSED], 4);
    assert_int_equal(said.n[FCT_SKIPPED], 0);
}

/* Where a tensor lies in the file. */
static uint64_t offset_of(const char *name) {
    fct_error err = {0};
    fct_pack *pack = fct_pack_open(MODELS "/demo.facet", &err);
    const struct fct_tensor *tensor = fct_safetensors_find(fct_pack_header(pack), name);
    assert_non_null(tensor);
    uint64_t offset = tensor->offset + tensor->n_bytes / 2;
    fct_pack_free(pack);
    return offset;
}

static void a_changed_byte_fails(void **state) {
    (void)state;
    static const char *const names[] = {"layers.3.mlp.down_proj.weight", "norm.weight",
                                        "lm_head.weight", "embed_tokens_per_layer.weight",
                                        "tokenizer"};
    struct said said;
    size_t n;
    uint8_t *bytes = read_demo(&n);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        uint64_t at = offset_of(names[i]);
        bytes[at] ^= 1;
        assert_false(verify(write_model(bytes, n), NULL, &said));
        assert_string_equal(said.failed, "checksum");
        bytes[at] ^= 1;
    }
    free(bytes);
}

static void a_changed_configuration_fails(void **state) {
    (void)state;
    static const char *const places[] = {"rms_norm_eps", "final_logit_softcapping", "answer_ids"};
    struct said said;
    size_t n;
    uint8_t *bytes = read_demo(&n);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        uint8_t *at = memmem(bytes, n, places[i], strlen(places[i]));
        assert_non_null(at);
        while (*at < '0' || *at > '9') at++; /* the first digit of its value */
        uint8_t kept = *at;
        *at = kept == '1' ? '2' : '1';
        assert_false(verify(write_model(bytes, n), NULL, &said));
        *at = kept;
    }
    free(bytes);
}

/* Not a byte is wrong, but the file expects another answer than this network gives. */
static void other_answers_than_expected_fail(void **state) {
    (void)state;
    struct said said;
    fct_error err = {0};
    const char *expected = made_path("expected.json");
    FILE *file = fopen(expected, "w");
    fputs("[{\"prompt_ids\": [2, 15, 387], \"answer_ids\": [7, 7, 7, 7]}]", file);
    fclose(file);
    char list[256], model[256];
    snprintf(list, sizeof list, "%s", expected);
    snprintf(model, sizeof model, "%s", made_path("other.facet"));
    MUST(fct_convert(TEST_DATA "/demo/checkpoint", model, &(fct_convert_options){.expected = list},
                     &err));
    assert_false(verify(model, NULL, &said));
    assert_string_equal(said.failed, "expected answers");
}

static void a_reference_case_passes_and_another_fails(void **state) {
    (void)state;
    struct said said;
    fct_model_free(made_model("e2b-like", "f32", NULL));
    const char *path = made_path("e2b-like-f32.facet");
    assert_true(verify(path, TEST_DATA "/cases/e2b-like", &said));
    assert_int_equal(said.n[FCT_SKIPPED], 1); /* it carries no expected answers */
    assert_false(verify(path, TEST_DATA "/cases/two-kv-heads", &said));
    assert_false(verify(path, TEST_DATA "/cases/nowhere", &said));
    assert_non_null(strstr(said.detail, "nowhere"));
}

static void what_is_no_model_fails_with_its_name(void **state) {
    (void)state;
    struct said said;
    fct_error err = {0};
    bool passed = true;
    assert_false(
        verify(write_model((const uint8_t *)"version https://git-lfs.github.com/spec/v1\n", 43),
               NULL, &said));
    assert_string_equal(said.failed, "file");
    assert_int_equal(
        fct_verify("/nowhere.facet", NULL, NULL, NULL, hear, NULL, &said, &passed, &err),
        FCT_ERR_IO);
    assert_non_null(strstr(err.message, "/nowhere.facet"));
    assert_false(passed);
}

/* Tables with one wrong operation each. */
static const struct fct_kernels *right;
static void wrong_matmul(const struct fct_matrix *w, const struct fct_act *act, int n_tokens,
                         int begin, int end, float *y, size_t y_stride) {
    right->matmul(w, act, n_tokens, begin, end, y, y_stride);
    if (end > begin) y[begin * FCT_STRIP] += 1e-6f + y[begin * FCT_STRIP] * 1e-6f;
}
static void wrong_quantize(const float *x, int n, float scale, struct fct_act *act, int token) {
    right->quantize(x, n, scale, act, token);
    act->codes[(size_t)token * (size_t)act->stride] ^= 1;
}
static void wrong_rms_norm(const float *x, const float *w, int n, float eps, float *y) {
    right->rms_norm(x, w, n, eps * 2, y);
}
static void wrong_gelu_mul(const float *gate, const float *up, int n, float *y) {
    right->gelu_mul(gate, up, n, y);
    y[n - 1] *= 1.0001f;
}
static void wrong_rope(float *x, const float *cosines, const float *sines, int n_pairs, int half) {
    right->rope(x, sines, cosines, n_pairs, half);
}
static int wrong_argmax(const float *x, int n) { return n - 1 - right->argmax(x, n); }
static void wrong_attend(const struct fct_attend *job, struct fct_partial out) {
    right->attend(job, out);
    out.sum[0] *= 1.01f;
}
static void wrong_finish(int n_queries, int head_dim, struct fct_partial total, float *y) {
    right->finish(n_queries, head_dim, total, y);
    y[0] += 1;
}

static void a_wrong_kernel_is_found(void **state) {
    (void)state;
    char what[256];
    for (const char *const *name = fct_kernels_names(); *name; name++) {
        right = fct_kernels_select(*name);
        assert_true(fct_kernels_check(right, what, sizeof what));
        struct fct_kernels wrong[8];
        for (int i = 0; i < 8; i++) wrong[i] = *right;
        wrong[0].matmul = wrong_matmul;
        wrong[1].quantize = wrong_quantize;
        wrong[2].rms_norm = wrong_rms_norm;
        wrong[3].gelu_mul = wrong_gelu_mul;
        wrong[4].rope = wrong_rope;
        wrong[5].argmax = wrong_argmax;
        wrong[6].attend = wrong_attend;
        wrong[7].finish = wrong_finish;
        for (int i = 0; i < 8; i++) {
            what[0] = 0;
            assert_false(fct_kernels_check(&wrong[i], what, sizeof what));
            assert_true(what[0] != 0);
        }
    }
}

/* A weight that is no number ends the run with an error, not with an endless answer. */
static void a_weight_that_is_no_number_ends_the_run(void **state) {
    (void)state;
    fct_error err = {0};
    size_t n;
    uint8_t *bytes = read_demo(&n);
    float nan = 0.0f / 0.0f;
    memcpy(bytes + (offset_of("norm.weight") & ~(uint64_t)3), &nan, sizeof nan);
    fct_model *model = fct_model_open(write_model(bytes, n), NULL, &err);
    assert_non_null(model);
    fct_session *session = made_session(model, &(fct_session_options){.context = 64});
    fct_generation out;
    assert_int_equal(fct_generate(session, (int[]){2, 15, 387}, 3, NULL, &out, &err),
                     FCT_ERR_NUMERIC);
    fct_session_free(session);
    fct_model_free(model);
    free(bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_demo_passes),
        cmocka_unit_test(a_changed_byte_fails),
        cmocka_unit_test(a_changed_configuration_fails),
        cmocka_unit_test(other_answers_than_expected_fail),
        cmocka_unit_test(a_reference_case_passes_and_another_fails),
        cmocka_unit_test(what_is_no_model_fails_with_its_name),
        cmocka_unit_test(a_wrong_kernel_is_found),
        cmocka_unit_test(a_weight_that_is_no_number_ends_the_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
