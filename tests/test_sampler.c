/* test_sampler.c - each way of choosing, on its distribution. */
#include "made_model.h"

#include <math.h>

#include "engine/sampler.h"

enum { VOCAB = 8, DRAWS = 40000 };

static const float logits[VOCAB] = {0.0f, 1.0f, 2.0f, -1.0f, 3.0f, 2.5f, -4.0f, 0.5f};
static const fct_sampling plain = {.temperature = 1, .top_p = 1, .repeat_penalty = 1};

static uint32_t only; /* the ids that are allowed (bits); 0: all */

/* What softmax gives for the ids in `kept` (bits), others 0. */
static void softmax_of(const float *x, unsigned kept, float temperature, double *p) {
    double sum = 0;
    for (int i = 0; i < VOCAB; i++)
        sum += p[i] = kept >> i & 1 ? exp((double)x[i] / (double)temperature) : 0;
    for (int i = 0; i < VOCAB; i++) p[i] /= sum;
}

/* Draws many times; each share must be within five standard deviations of what is expected, and
 * what is cut never comes. */
static void check_distribution(const fct_sampling *sampling, const float *effective, unsigned kept,
                               float temperature) {
    struct fct_sampler s;
    fct_error err = {0};
    int counts[VOCAB] = {0}, ids[4] = {1, 4, 4, 5};
    double p[VOCAB];
    MUST(fct_sampler_init(&s, VOCAB, 16, &err));
    fct_sampler_seed(&s, 7);
    if (only) s.allowed = &only;
    for (int i = 0; i < DRAWS; i++) counts[fct_sampler_choose(&s, sampling, logits, ids, 1, 4)]++;
    softmax_of(effective, kept, temperature, p);
    for (int i = 0; i < VOCAB; i++) {
        if (p[i] == 0) assert_int_equal(counts[i], 0);
        assert_true(fabs(counts[i] - p[i] * DRAWS) <= 5 * sqrt(DRAWS * p[i] * (1 - p[i])) + 1e-9);
    }
    fct_sampler_free(&s);
}

static void temperature_scales_the_logits(void **state) {
    (void)state;
    for (float t = 0.5f; t <= 2; t += 0.5f) {
        fct_sampling sampling = plain;
        sampling.temperature = t;
        check_distribution(&sampling, logits, 0xFF, t);
    }
}

static void top_k_keeps_the_likeliest(void **state) {
    (void)state;
    fct_sampling sampling = plain;
    sampling.top_k = 3;
    check_distribution(&sampling, logits, 1 << 4 | 1 << 5 | 1 << 2, 1);
    sampling.top_k = 1;
    check_distribution(&sampling, logits, 1 << 4, 1);
    sampling.top_k = 100;
    check_distribution(&sampling, logits, 0xFF, 1);
}

/* Shares: 4: .445, 5: .270, 2: .164, 1: .060 ... of all; the smallest set that reaches p. */
static void top_p_keeps_the_smallest_set_that_reaches_it(void **state) {
    (void)state;
    fct_sampling sampling = plain;
    sampling.top_p = 0.4f;
    check_distribution(&sampling, logits, 1 << 4, 1);
    sampling.top_p = 0.5f;
    check_distribution(&sampling, logits, 1 << 4 | 1 << 5, 1);
    sampling.top_p = 0.8f;
    check_distribution(&sampling, logits, 1 << 4 | 1 << 5 | 1 << 2, 1);
    sampling.top_k = 2; /* shares are of what top-k left */
    sampling.top_p = 0.6f;
    check_distribution(&sampling, logits, 1 << 4, 1);
}

static void min_p_is_relative_to_the_likeliest(void **state) {
    (void)state;
    fct_sampling sampling = plain;
    sampling.min_p = 0.3f; /* e^(2-3) = .37 stays, e^(1-3) = .14 goes */
    check_distribution(&sampling, logits, 1 << 4 | 1 << 5 | 1 << 2, 1);
    sampling.top_k = 7;
    check_distribution(&sampling, logits, 1 << 4 | 1 << 5 | 1 << 2, 1);
}

/* The ids so far are 1 | 4 4 5: the first is the prompt. */
static void penalties_count_the_answer_and_repetition_everything(void **state) {
    (void)state;
    float effective[VOCAB];
    fct_sampling sampling = plain;
    memcpy(effective, logits, sizeof effective);
    sampling.presence_penalty = 0.75f;
    sampling.frequency_penalty = 0.5f;
    effective[4] -= 0.75f + 2 * 0.5f;
    effective[5] -= 0.75f + 0.5f;
    check_distribution(&sampling, effective, 0xFF, 1);
    memcpy(effective, logits, sizeof effective);
    sampling = plain;
    sampling.repeat_penalty = 2;
    effective[1] /= 2, effective[4] /= 2, effective[5] /= 2;
    check_distribution(&sampling, effective, 0xFF, 1);
}

static void biases_are_added(void **state) {
    (void)state;
    float effective[VOCAB], values[2] = {2, -100};
    int ids[2] = {3, 4};
    fct_sampling sampling = plain;
    memcpy(effective, logits, sizeof effective);
    effective[3] += 2, effective[4] -= 100;
    sampling.bias_ids = ids, sampling.bias_values = values, sampling.n_biases = 2;
    check_distribution(&sampling, effective, 0xFF, 1);
}

static void greedy_takes_the_first_of_equals(void **state) {
    (void)state;
    struct fct_sampler s;
    fct_error err = {0};
    float flat[VOCAB] = {1, 5, 5, 2, 5, 0, 0, 0};
    fct_sampling sampling = plain;
    sampling.temperature = 0;
    MUST(fct_sampler_init(&s, VOCAB, 16, &err));
    assert_int_equal(fct_sampler_choose(&s, &sampling, flat, NULL, 0, 0), 1);
    assert_true(fct_sampling_is_greedy(&sampling));
    sampling.n_biases = 1;
    assert_false(fct_sampling_is_greedy(&sampling));
    fct_sampler_free(&s);
}

static void a_seed_gives_the_same_draws_again(void **state) {
    (void)state;
    struct fct_sampler s;
    fct_error err = {0};
    int first[64];
    MUST(fct_sampler_init(&s, VOCAB, 16, &err));
    for (int round = 0; round < 2; round++) {
        assert_int_equal(fct_sampler_seed(&s, 42), 42);
        for (int i = 0; i < 64; i++) {
            int id = fct_sampler_choose(&s, &plain, logits, NULL, 0, 0);
            if (round) assert_int_equal(id, first[i]);
            first[i] = id;
        }
    }
    assert_true(fct_sampler_seed(&s, 0) != fct_sampler_seed(&s, 0));
    fct_sampler_free(&s);
}

/* What is not allowed never comes, whatever the settings; the rest is as if it were not there. */
static void only_what_is_allowed_is_chosen(void **state) {
    (void)state;
    const unsigned allowed = 1 << 0 | 1 << 3 | 1 << 5 | 1 << 6;
    const fct_sampling settings[] = {
        plain,
        {.temperature = 1, .top_k = 2, .top_p = 1, .repeat_penalty = 1},
        {.temperature = 1, .top_k = 7, .top_p = 1, .repeat_penalty = 1},
        {.temperature = 1, .top_p = 0.95f, .repeat_penalty = 1},
        {.temperature = 1, .min_p = 0.05f, .top_p = 1, .repeat_penalty = 1}};
    const unsigned kept[] = {allowed, 1 << 0 | 1 << 5, allowed, 1 << 0 | 1 << 5, 1 << 0 | 1 << 5};
    only = allowed;
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        check_distribution(&settings[i], logits, kept[i], 1);
    only = 0;
}

static void nonsense_is_refused_by_name(void **state) {
    (void)state;
    fct_error err = {0};
    fct_sampling s = plain;
    assert_int_equal(fct_sampling_check(&s, VOCAB, &err), FCT_OK);
    s.temperature = -1;
    assert_int_equal(fct_sampling_check(&s, VOCAB, &err), FCT_ERR_ARGUMENT);
    assert_non_null(strstr(err.message, "temperature"));
    s = plain, s.top_p = 0;
    assert_int_equal(fct_sampling_check(&s, VOCAB, &err), FCT_ERR_ARGUMENT);
    s = plain, s.min_p = NAN;
    assert_int_equal(fct_sampling_check(&s, VOCAB, &err), FCT_ERR_ARGUMENT);
    s = plain, s.top_k = -1;
    assert_int_equal(fct_sampling_check(&s, VOCAB, &err), FCT_ERR_ARGUMENT);
    int id = VOCAB;
    float value = 1;
    s = plain, s.bias_ids = &id, s.bias_values = &value, s.n_biases = 1;
    assert_int_equal(fct_sampling_check(&s, VOCAB, &err), FCT_ERR_ARGUMENT);
    assert_non_null(strstr(err.message, "8"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(temperature_scales_the_logits),
        cmocka_unit_test(top_k_keeps_the_likeliest),
        cmocka_unit_test(top_p_keeps_the_smallest_set_that_reaches_it),
        cmocka_unit_test(min_p_is_relative_to_the_likeliest),
        cmocka_unit_test(penalties_count_the_answer_and_repetition_everything),
        cmocka_unit_test(biases_are_added),
        cmocka_unit_test(greedy_takes_the_first_of_equals),
        cmocka_unit_test(a_seed_gives_the_same_draws_again),
        cmocka_unit_test(only_what_is_allowed_is_chosen),
        cmocka_unit_test(nonsense_is_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
