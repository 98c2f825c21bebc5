/* test_score.c - perplexity, divergence and agreement are what their definitions say. */
#include "made_model.h"

#include <math.h>

#include "base/half.h"
#include "engine/logits_file.h"

enum { VOCAB = 512, N_IDS = 150, N_LONG = 300, CHUNK = 64 };

static fct_model *q4, *f32;
static int ids[N_LONG];
static fct_error err;

static int set_up(void **state) {
    (void)state;
    q4 = made_model("e2b-like", "q4", NULL); /* without a tokenizer, so without BOS */
    f32 = made_model("e2b-like", "f32", NULL);
    uint32_t x = 4711;
    for (int i = 0; i < N_LONG; i++) {
        x = x * 1664525u + 1013904223u;
        ids[i] = 3 + (int)(x >> 8) % (VOCAB - 3);
    }
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    fct_model_free(q4);
    fct_model_free(f32);
    return 0;
}

static fct_session *session_of(const fct_model *model, int batch, int threads) {
    return made_session(model, &(fct_session_options){.context = 256,
                                                      .batch = batch,
                                                      .decode_threads = threads,
                                                      .prefill_threads = threads});
}

static fct_scores score(const fct_model *model, const fct_score_options *options) {
    fct_scores scores;
    fct_session *session = session_of(model, 32, 2);
    MUST(fct_score_ids(session, ids, N_IDS, options, &scores, &err));
    fct_session_free(session);
    return scores;
}

/* ---- the definitions, from the logits of whole chunks ---- */

struct table {
    float rows[N_IDS][VOCAB];
    int base;
};

static bool keep(void *user, int position, const float *logits) {
    struct table *table = user;
    memcpy(table->rows[table->base + position], logits, sizeof table->rows[0]);
    return true;
}

static const struct table *table_of(const fct_model *model, int n_chunks) {
    static struct table tables[2];
    struct table *table = &tables[model == f32];
    fct_session *session = session_of(model, 16, 1);
    for (int i = 0; i < n_chunks; i++) {
        table->base = i * CHUNK;
        MUST(fct_session_score(session, ids + i * CHUNK, CHUNK, keep, table, &err));
    }
    fct_session_free(session);
    return table;
}

/* What a logit is above the logarithm of its probability. */
static long double log_sum(const float *logits) {
    long double sum = 0;
    for (int i = 0; i < VOCAB; i++) sum += expl(logits[i]);
    return logl(sum);
}

static int best_of(const float *logits) {
    int best = 0;
    for (int i = 1; i < VOCAB; i++) best = logits[i] > logits[best] ? i : best;
    return best;
}

struct expected {
    double perplexity, error, divergence, agreement, max_divergence;
    int n;
};

/* Over positions first .. CHUNK - 2 of each of two chunks. */
static struct expected by_definition(int first) {
    const struct table *rows = table_of(q4, 2), *reference = table_of(f32, 2);
    struct expected e = {0};
    long double loss = 0, squares = 0;
    for (int i = 0; i < 2 * CHUNK; i++) {
        if (i % CHUNK < first || i % CHUNK == CHUNK - 1) continue;
        const float *row = rows->rows[i], *wanted = reference->rows[i];
        long double of_row = log_sum(row), of_wanted = log_sum(wanted);
        long double one = of_row - row[ids[i + 1]], divergence = 0;
        loss += one;
        squares += one * one;
        for (int j = 0; j < VOCAB; j++) {
            long double p = wanted[j] - of_wanted;
            divergence += expl(p) * (p - (row[j] - of_row));
        }
        e.divergence += (double)divergence;
        if ((double)divergence > e.max_divergence) e.max_divergence = (double)divergence;
        e.agreement += best_of(row) == best_of(wanted);
        e.n++;
    }
    long double mean = loss / e.n, variance = (squares - e.n * mean * mean) / (e.n - 1);
    e.perplexity = (double)expl(mean);
    e.error = e.perplexity * (double)sqrtl(variance / e.n);
    e.divergence /= e.n;
    e.agreement /= e.n;
    return e;
}

/* Double sums of some hundred terms near 6. */
static void check_near(double a, double b) {
    if (!(fabs(a - b) <= 1e-9 * (fabs(b) + 1))) fail_msg("%.12g is not %.12g", a, b);
}

static void scores_are_what_they_are_defined_as(void **state) {
    (void)state;
    for (int whole = 0; whole < 2; whole++) {
        struct expected expected = by_definition(whole ? 0 : CHUNK / 2);
        fct_scores scores = score(
            q4, &(fct_score_options){
                    .chunk = CHUNK, .whole = whole, .against = made_path("e2b-like-f32.facet")});
        assert_int_equal(scores.chunk, CHUNK);
        assert_int_equal(scores.n_chunks, 2);
        assert_int_equal(scores.n_left_out, N_IDS - 2 * CHUNK);
        assert_int_equal(scores.n_positions, whole ? 2 * (CHUNK - 1) : CHUNK - 2);
        assert_int_equal(scores.n_positions, expected.n);
        check_near(scores.perplexity, expected.perplexity);
        check_near(scores.perplexity_error, expected.error);
        assert_true(scores.compared);
        check_near(scores.divergence, expected.divergence);
        check_near(scores.max_divergence, expected.max_divergence);
        check_near(scores.agreement, expected.agreement);
        assert_true(scores.divergence > 0 && scores.agreement < 1);
        check_near(scores.reference_perplexity,
                   score(f32, &(fct_score_options){.chunk = CHUNK, .whole = whole}).perplexity);
    }
}

static void a_model_is_at_no_distance_from_itself(void **state) {
    (void)state;
    fct_scores scores = score(q4, &(fct_score_options){.against = made_path("e2b-like-q4.facet")});
    assert_int_equal(scores.n_chunks, 1);
    assert_int_equal(scores.chunk, N_IDS); /* shorter than 512: one chunk */
    assert_true(scores.divergence == 0 && scores.divergence_error == 0);
    assert_true(scores.agreement == 1 && scores.agreement_error == 0);
    assert_true(scores.perplexity == scores.reference_perplexity);
}

/* float16 keeps logits to 2^-11 of their distance from the largest: what is likely is within about
 * a thousandth, and the error of a divergence is of second order. */
static void saved_logits_stand_for_their_model(void **state) {
    (void)state;
    char path[256];
    snprintf(path, sizeof path, "%s", made_path("f32.logits"));
    fct_scores direct =
        score(q4, &(fct_score_options){.chunk = CHUNK, .against = made_path("e2b-like-f32.facet")});
    fct_scores saving = score(f32, &(fct_score_options){.chunk = CHUNK, .save = path});
    assert_false(saving.compared);
    fct_scores same = score(f32, &(fct_score_options){.against = path});
    assert_true(same.divergence >= 0 && same.divergence < 1e-6);
    assert_true(same.agreement == 1);
    assert_true(same.perplexity == saving.perplexity);
    fct_scores other = score(q4, &(fct_score_options){.against = path});
    assert_true(fabs(other.divergence - direct.divergence) < 1e-3 * direct.divergence + 1e-6);
    assert_true(other.perplexity == direct.perplexity);
    assert_true(other.agreement == direct.agreement);
    assert_true(fabs(other.reference_perplexity / saving.perplexity - 1) < 1e-3);
}

static void saved_logits_bring_their_text_along(void **state) {
    (void)state;
    char path[256];
    snprintf(path, sizeof path, "%s", made_path("f32.logits"));
    score(f32, &(fct_score_options){.chunk = CHUNK, .save = path});
    fct_scores with_text = score(q4, &(fct_score_options){.against = path}), without;
    fct_session *session = session_of(q4, 7, 1);
    MUST(fct_score_ids(session, NULL, 0, &(fct_score_options){.against = path}, &without, &err));
    with_text.n_left_out = 0;
    assert_memory_equal(&with_text, &without, sizeof without);
    MUST(fct_score_ids(session, NULL, 0, &(fct_score_options){.against = path, .max_chunks = 1},
                       &without, &err));
    assert_int_equal(without.n_chunks, 1);
    fct_session_free(session);
}

static void saved_logits_are_float16_below_the_largest(void **state) {
    (void)state;
    static float row[VOCAB];
    struct fct_logits_file file;
    char path[256];
    snprintf(path, sizeof path, "%s", made_path("f32.logits"));
    score(f32, &(fct_score_options){.chunk = CHUNK, .save = path});
    const struct table *table = table_of(f32, 2);
    MUST(fct_logits_file_open(&file, path, VOCAB, NULL, NULL, &err));
    assert_int_equal(file.chunks.n_chunks, 2);
    for (int i = 0; i < CHUNK - 2; i++) {
        int position = i < CHUNK / 2 - 1 ? CHUNK / 2 + i : CHUNK + i + 1;
        const float *logits = table->rows[position];
        fct_logits_file_row(&file, (size_t)i, row);
        for (int j = 0; j < VOCAB; j++) {
            float below = logits[j] - logits[best_of(logits)];
            assert_true(row[j] == fct_half_float(fct_float_half(below)));
        }
    }
    fct_logits_file_close(&file);
}

static void batch_and_threads_change_no_bit(void **state) {
    (void)state;
    fct_scores first, next;
    for (int batch = 1; batch <= 64; batch += 21)
        for (int threads = 1; threads <= 3; threads += 2) {
            fct_session *session = session_of(q4, batch, threads);
            fct_score_options options = {.chunk = CHUNK,
                                         .against = made_path("e2b-like-f32.facet")};
            MUST(fct_score_ids(session, ids, N_IDS, &options, &next, &err));
            if (batch == 1 && threads == 1) first = next;
            assert_memory_equal(&first, &next, sizeof first);
            fct_session_free(session);
        }
}

/* The demo has BOS: in front of the text, and over the first token of each chunk. */
static void every_chunk_begins_with_bos(void **state) {
    (void)state;
    static const char text[] = "The capital of France is Paris. The capital of Norway is Oslo. "
                               "The capital of Peru is Lima.";
    int *tokens, n;
    char path[256];
    snprintf(path, sizeof path, "%s", made_path("demo.logits"));
    struct fct_logits_file file;
    fct_scores scores;
    fct_model *demo = fct_model_open(NULL, NULL, &err);
    fct_session *session = made_session(demo, NULL);
    MUST(fct_tokenize(demo, text, strlen(text), 0, &tokens, &n, NULL, &err));
    fct_score_options options = {.chunk = 8, .save = path};
    MUST(fct_score_ids(session, tokens, n, &options, &scores, &err));
    assert_int_equal(scores.n_chunks, (n + 1) / 8);
    MUST(fct_logits_file_open(&file, path, fct_model_describe(demo).vocab_size, NULL, NULL, &err));
    for (int i = 0; i < 8 * scores.n_chunks; i++)
        assert_int_equal(file.chunks.ids[i], i % 8 ? tokens[i - 1] : fct_bos_id(demo));
    fct_logits_file_close(&file);
    fct_free(tokens);
    fct_session_free(session);
    fct_model_free(demo);
}

static void check_refused(const fct_model *model, int n, const fct_score_options *options,
                          fct_status code, const char *part) {
    fct_scores scores;
    fct_session *session = session_of(model, 32, 1);
    err = (fct_error){0};
    assert_int_equal(fct_score_ids(session, ids, n, options, &scores, &err), code);
    if (!strstr(err.message, part)) fail_msg("\"%s\" is not in: %s", part, err.message);
    fct_session_free(session);
}

static void what_cannot_be_scored_is_refused(void **state) {
    (void)state;
    char path[256];
    snprintf(path, sizeof path, "%s", made_path("f32.logits"));
    score(f32, &(fct_score_options){.chunk = CHUNK, .save = path});
    fct_model *other = made_model(MODELS "/../tests/data/demo/checkpoint", "q8", NULL);
    check_refused(q4, 3, NULL, FCT_ERR_ARGUMENT, "at least 4");
    check_refused(q4, N_LONG, &(fct_score_options){.chunk = 257}, FCT_ERR_CONTEXT, "257");
    check_refused(q4, N_IDS, &(fct_score_options){.chunk = 32, .against = path}, FCT_ERR_ARGUMENT,
                  "chunks");
    check_refused(q4, N_IDS, &(fct_score_options){.whole = true, .against = path}, FCT_ERR_ARGUMENT,
                  "chunks");
    ids[70]++;
    check_refused(q4, N_IDS, &(fct_score_options){.against = path}, FCT_ERR_ARGUMENT,
                  "another text");
    ids[70]--;
    check_refused(q4, N_IDS, &(fct_score_options){.against = made_path("checkpoint-q8.facet")},
                  FCT_ERR_ARGUMENT, "another vocabulary");
    check_refused(other, 100, &(fct_score_options){.against = path}, FCT_ERR_ARGUMENT,
                  "vocabulary");
    check_refused(q4, N_IDS, &(fct_score_options){.against = "/nowhere/at.all"}, FCT_ERR_IO,
                  "/nowhere/at.all");
    fct_model_free(other);
}

/* Cut or changed anywhere, a file of logits is refused, and nothing is read behind its end. */
static void damaged_logits_are_refused(void **state) {
    (void)state;
    char path[256];
    snprintf(path, sizeof path, "%s", made_path("damaged.logits"));
    score(f32, &(fct_score_options){.chunk = 16, .max_chunks = 1, .save = path});
    FILE *file = fopen(path, "rb");
    static uint8_t bytes[1 << 16];
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    assert_in_range(size, 1000, sizeof bytes - 1);
    for (size_t at = 0; at < size; at += at < 600 ? 7 : 211)
        for (int cut = 0; cut < 2; cut++) {
            struct fct_logits_file opened;
            bytes[at] ^= 5;
            file = fopen(path, "wb");
            assert_int_equal(fwrite(bytes, 1, cut ? at : size, file), cut ? at : size);
            fclose(file);
            bytes[at] ^= 5;
            err = (fct_error){0};
            assert_int_not_equal(fct_logits_file_open(&opened, path, VOCAB, NULL, NULL, &err),
                                 FCT_OK);
            assert_true(err.message[0]);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_are_what_they_are_defined_as),
        cmocka_unit_test(a_model_is_at_no_distance_from_itself),
        cmocka_unit_test(saved_logits_stand_for_their_model),
        cmocka_unit_test(saved_logits_bring_their_text_along),
        cmocka_unit_test(saved_logits_are_float16_below_the_largest),
        cmocka_unit_test(batch_and_threads_change_no_bit),
        cmocka_unit_test(every_chunk_begins_with_bos),
        cmocka_unit_test(what_cannot_be_scored_is_refused),
        cmocka_unit_test(damaged_logits_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
