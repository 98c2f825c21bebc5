/* test_calibrate.c - statistics are the mean squares of what matrices are multiplied with, and
 * converting heeds them. */
#include "made_model.h"

#include <math.h>

#include "convert/statistics_file.h"
#include "engine/model.h"
#include "pack/tensor_file.h"
#include "rounds.h"

enum { N_IDS = 100, CHUNK = 32, VOCAB = 512 };

static fct_model *model;
static int ids[N_IDS];
static fct_error err;

static int set_up(void **state) {
    (void)state;
    model = made_model("e2b-like", "f32", NULL);
    uint32_t x = 31;
    for (int i = 0; i < N_IDS; i++) {
        x = x * 1664525u + 1013904223u;
        ids[i] = 3 + (int)(x >> 8) % (VOCAB - 3);
    }
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    fct_model_free(model);
    return 0;
}

static const char *statistics_of(const char *name, int batch, int threads) {
    static char path[256];
    snprintf(path, sizeof path, "%s", made_path(name));
    fct_session *session = made_session(model, &(fct_session_options){.context = 128,
                                                                      .batch = batch,
                                                                      .decode_threads = threads,
                                                                      .prefill_threads = threads});
    MUST(fct_calibrate(session, ids, N_IDS, &(fct_calibrate_options){.chunk = CHUNK}, path, &err));
    fct_session_free(session);
    return path;
}

static struct fct_statistics_file opened(const char *path) {
    struct fct_statistics_file file;
    MUST(fct_statistics_file_open(&file, path, &err));
    return file;
}

static const float *means(const struct fct_statistics_file *file, const char *name, int columns) {
    const float *found;
    MUST(fct_statistics_file_find(file, name, columns, &found, &err));
    if (!found) fail_msg("nothing about %s", name);
    return found;
}

/* What goes into the first layer's attention: the embedding times sqrt(hidden), rounded as the
 * checkpoint's type rounds it, normed. The first token of a chunk does not count. */
static void the_first_layers_inputs_are_normed_embeddings(void **state) {
    (void)state;
    int hidden = model->config.hidden_size, n = 0;
    double *squares = calloc((size_t)hidden, sizeof *squares);
    float *row = malloc((size_t)hidden * sizeof *row);
    for (int i = 0; i < N_IDS / CHUNK * CHUNK; i++) {
        double power = 0;
        if (i % CHUNK == 0) continue;
        model->kernels->lookup(&model->weights.embedding, ids[i], 0, 1, 1.0f, row);
        for (int j = 0; j < hidden; j++) power += (double)row[j] * hidden * (double)row[j];
        double scale = hidden / (power / hidden + (double)model->config.rms_norm_eps);
        for (int j = 0; j < hidden; j++) {
            double norm = (double)model->weights.layers[0].input_norm[j];
            squares[j] += (double)row[j] * (double)row[j] * scale * norm * norm;
        }
        n++;
    }
    struct fct_statistics_file file = opened(statistics_of("one.statistics", 16, 2));
    const float *q = means(&file, "layers.0.self_attn.q_proj.weight", hidden),
                *k = means(&file, "layers.0.self_attn.k_proj.weight", hidden);
    for (int j = 0; j < hidden; j++) {
        double expected = squares[j] / n;
        /* sqrt(hidden) may be rounded to eight bits */
        if (fabs((double)q[j] - expected) > 1e-2 * expected)
            fail_msg("column %d: %g, not %g", j, (double)q[j], expected);
    }
    assert_memory_equal(q, k, (size_t)hidden * sizeof *q);
    assert_string_equal(json_string_value(json_object_get(file.header.metadata, "tokens")), "93");
    fct_statistics_file_close(&file);
    free(squares);
    free(row);
}

static void every_matrix_has_its_statistics(void **state) {
    (void)state;
    struct fct_statistics_file file = opened(statistics_of("one.statistics", 16, 1));
    json_t *matrices = fct_pack_metadata_json(model->pack, "matrices", &err);
    const char *name;
    json_t *entry;
    json_object_foreach(matrices, name, entry) {
        int columns = (int)json_integer_value(json_object_get(entry, "columns"));
        const float *found = means(&file, name, columns);
        double sum = 0;
        for (int i = 0; i < columns; i++) sum += (double)found[i];
        assert_true(sum > 0);
    }
    assert_int_equal(file.header.n_tensors, json_object_size(matrices));
    json_decref(matrices);
    fct_statistics_file_close(&file);
}

static size_t bytes_of(const char *path, uint8_t *bytes, size_t room) {
    FILE *file = fopen(path, "rb");
    size_t size = fread(bytes, 1, room, file);
    fclose(file);
    assert_in_range(size, 1, room - 1);
    return size;
}

static void batch_and_threads_change_no_bit(void **state) {
    (void)state;
    static uint8_t first[1 << 20], next[1 << 20];
    size_t size = bytes_of(statistics_of("a.statistics", 1, 1), first, sizeof first);
    for (int batch = 7; batch <= 64; batch += 19) {
        assert_int_equal(bytes_of(statistics_of("b.statistics", batch, 3), next, sizeof next),
                         size);
        assert_memory_equal(first, next, size);
    }
}

static void calibrating_leaves_nothing_behind_in_the_session(void **state) {
    (void)state;
    fct_session *session = made_session(model, &(fct_session_options){.context = 128}),
                *cold = made_session(model, &(fct_session_options){.context = 128});
    MUST(fct_calibrate(session, ids, N_IDS, NULL, made_path("c.statistics"), &err));
    MUST(fct_session_prefill(session, ids, 50, &err));
    MUST(fct_session_prefill(cold, ids, 50, &err));
    assert_memory_equal(fct_session_logits(session), fct_session_logits(cold),
                        VOCAB * sizeof(float));
    fct_session_free(session);
    fct_session_free(cold);
}

/* ---- converting ---- */

static char notes[4096];

static void keep_note(void *user, const char *line) {
    (void)user;
    strncat(notes, line, sizeof notes - strlen(notes) - 2);
    strcat(notes, "\n");
}

static fct_status convert(const char *statistics, const char *rounding, const char *out) {
    fct_convert_options options = {
        .weights = "q4", .statistics = statistics, .rounding = rounding, .note = keep_note};
    err = (fct_error){0};
    notes[0] = 0;
    return fct_convert(TEST_DATA "/cases/e2b-like", out, &options, &err);
}

/* All inputs alike, for every matrix but those of a layer whose name begins with `without`. */
static const char *made_statistics(const char *name, const char *without, int more_columns,
                                   float value) {
    static char path[256];
    snprintf(path, sizeof path, "%s", made_path(name));
    fct_tensor_file *file = fct_tensor_file_new(&err);
    json_t *matrices = fct_pack_metadata_json(model->pack, "matrices", &err), *entry;
    const char *matrix;
    MUST(fct_tensor_file_metadata(file, "format", FCT_STATISTICS_FORMAT, &err));
    MUST(fct_tensor_file_number(file, "format_version", FCT_STATISTICS_VERSION, &err));
    for (int pass = 0; pass < 2; pass++) {
        json_object_foreach(matrices, matrix, entry) {
            uint64_t columns = (uint64_t)json_integer_value(json_object_get(entry, "columns")) +
                               (uint64_t)more_columns;
            if (strncmp(matrix, without, strlen(without)) == 0) continue;
            if (pass == 0)
                MUST(fct_tensor_file_declare(file, matrix, FCT_DTYPE_F32, &columns, 1, &err));
            for (uint64_t i = 0; i < columns && pass == 1; i++)
                MUST(fct_tensor_file_write(file, &value, sizeof value, &err));
        }
        if (pass == 0) MUST(fct_tensor_file_begin(file, path, 64, &err));
    }
    MUST(fct_tensor_file_finish(file, &err));
    fct_tensor_file_free(file);
    json_decref(matrices);
    return path;
}

static void check_same_weights(const char *a_path, const char *b_path) {
    fct_pack *a = fct_pack_open(a_path, &err), *b = fct_pack_open(b_path, &err);
    const uint8_t *a_hot, *b_hot;
    size_t a_bytes, b_bytes;
    fct_pack_hot(a, &a_hot, &a_bytes);
    fct_pack_hot(b, &b_hot, &b_bytes);
    assert_int_equal(a_bytes, b_bytes);
    assert_memory_equal(a_hot, b_hot, a_bytes);
    fct_pack_free(a);
    fct_pack_free(b);
}

/* How large inputs are together does not matter, and columns that nothing was ever put in are as
 * those without statistics. */
static void only_the_proportions_of_inputs_count(void **state) {
    (void)state;
    char one[256], other[256];
    snprintf(one, sizeof one, "%s", made_path("one.facet"));
    snprintf(other, sizeof other, "%s", made_path("other.facet"));
    MUST(convert(made_statistics("ones", "none", 0, 1.0f), NULL, one));
    MUST(convert(made_statistics("fours", "none", 0, 4.0f), NULL, other));
    check_same_weights(one, other);
    MUST(convert(NULL, "search", one));
    MUST(convert(made_statistics("zeros", "none", 0, 0.0f), NULL, other));
    check_same_weights(one, other);
}

static void what_is_missing_is_noted(void **state) {
    (void)state;
    char out[256];
    snprintf(out, sizeof out, "%s", made_path("noted.facet"));
    MUST(convert(made_statistics("some", "layers.0.", 0, 1.0f), NULL, out));
    assert_non_null(strstr(notes, "has nothing about"));
}

static void check_refused(const char *statistics, const char *rounding, fct_status code,
                          const char *part) {
    char out[256];
    snprintf(out, sizeof out, "%s", made_path("refused.facet"));
    assert_int_equal(convert(statistics, rounding, out), code);
    if (!strstr(err.message, part)) fail_msg("\"%s\" is not in: %s", part, err.message);
    assert_int_equal(access(out, F_OK), -1);
}

static void foreign_and_senseless_statistics_are_refused(void **state) {
    (void)state;
    check_refused(made_statistics("wide", "none", 16, 1.0f), NULL, FCT_ERR_ARGUMENT,
                  "another model");
    check_refused(made_statistics("empty", "", 0, 1.0f), NULL, FCT_ERR_ARGUMENT, "nothing about");
    check_refused(made_statistics("negative", "none", 0, -1.0f), NULL, FCT_ERR_NUMERIC, "-1");
    check_refused(made_statistics("nan", "none", 0, NAN), NULL, FCT_ERR_NUMERIC, "nan");
    check_refused(made_statistics("ones", "none", 0, 1.0f), "absmax", FCT_ERR_ARGUMENT, "absmax");
    check_refused(NULL, "nearest", FCT_ERR_ARGUMENT, "nearest");
    check_refused("/nowhere/at.all", NULL, FCT_ERR_IO, "/nowhere/at.all");
    check_refused(TEST_DATA "/cases/e2b-like/reference.safetensors", NULL, FCT_ERR_FORMAT,
                  "no file of statistics");
}

static void damaged_statistics_are_refused(void **state) {
    (void)state;
    static uint8_t bytes[1 << 20];
    char path[256];
    snprintf(path, sizeof path, "%s", statistics_of("damaged.statistics", 32, 1));
    size_t size = bytes_of(path, bytes, sizeof bytes);
    for (size_t at = 0; at < size; at += at < 800 ? 13 : size / 150)
        for (int cut = 0; cut < 2; cut++) {
            struct fct_statistics_file file;
            bytes[at] ^= 3;
            FILE *out = fopen(path, "wb");
            assert_int_equal(fwrite(bytes, 1, cut ? at : size, out), cut ? at : size);
            fclose(out);
            bytes[at] ^= 3;
            err = (fct_error){0};
            assert_int_not_equal(fct_statistics_file_open(&file, path, &err), FCT_OK);
            assert_true(err.message[0]);
        }
}

/* Conversations of the demo as the reference wrote them: those with even numbers, or odd ones. */
static int conversations(int part, int tokens[2000]) {
    json_t *file = json_load_file(TEST_DATA "/text/demo_expected.json", 0, NULL), *id;
    json_t *entries = json_object_get(file, "entries");
    int n = 0;
    size_t j;
    for (size_t i = (size_t)part; i < json_array_size(entries); i += 2)
        for (int answer = 0; answer < 2; answer++)
            json_array_foreach(
                json_object_get(json_array_get(entries, i), answer ? "answer_ids" : "prompt_ids"),
                j, id) tokens[n++] = (int)json_integer_value(id);
    json_decref(file);
    assert_in_range(n, 800, 2000);
    return n;
}

static double divergence_of_demo(const fct_convert_options *how, const int *tokens, int n) {
    char path[256], reference[256];
    fct_scores scores;
    snprintf(reference, sizeof reference, "%s", made_path("checkpoint-f32.facet"));
    snprintf(path, sizeof path, "%s", made_path("demo-q4.facet"));
    fct_convert_options options = *how;
    options.weights = "q4";
    MUST(fct_convert(TEST_DATA "/demo/checkpoint", path, &options, &err));
    fct_model *demo = fct_model_open(path, NULL, &err);
    fct_session *session = made_session(demo, NULL);
    fct_score_options score = {.chunk = 128, .max_chunks = ROUNDS(8), .against = reference};
    MUST(fct_score_ids(session, tokens, n, &score, &scores, &err));
    fct_session_free(session);
    fct_model_free(demo);
    return scores.divergence;
}

/* On a trained model, and on other text than it was calibrated with. docs/QUALITY.md has the
 * numbers. */
static void calibrated_and_searched_scales_are_closer_to_float(void **state) {
    (void)state;
    static int even[2000], odd[2000];
    int n_even = conversations(0, even), n_odd = conversations(1, odd);
    char statistics[256];
    snprintf(statistics, sizeof statistics, "%s", made_path("demo.statistics"));
    fct_model *demo = made_model(TEST_DATA "/demo/checkpoint", "f32", NULL);
    fct_session *session = made_session(demo, NULL);
    MUST(fct_calibrate(session, odd, n_odd, &(fct_calibrate_options){.chunk = 128}, statistics,
                       &err));
    double absmax = divergence_of_demo(&(fct_convert_options){.rounding = "absmax"}, even, n_even);
    double searched = divergence_of_demo(&(fct_convert_options){0}, even, n_even);
    double calibrated =
        divergence_of_demo(&(fct_convert_options){.statistics = statistics}, even, n_even);
    assert_true(searched < 0.9 * absmax);
    assert_true(calibrated < searched);
    fct_session_free(session);
    fct_model_free(demo);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_layers_inputs_are_normed_embeddings),
        cmocka_unit_test(every_matrix_has_its_statistics),
        cmocka_unit_test(batch_and_threads_change_no_bit),
        cmocka_unit_test(calibrating_leaves_nothing_behind_in_the_session),
        cmocka_unit_test(only_the_proportions_of_inputs_count),
        cmocka_unit_test(what_is_missing_is_noted),
        cmocka_unit_test(foreign_and_senseless_statistics_are_refused),
        cmocka_unit_test(damaged_statistics_are_refused),
        cmocka_unit_test(calibrated_and_searched_scales_are_closer_to_float),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
