/* sampler.c - choosing the next id from logits. */
#include "engine/sampler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/error.h"
#include "base/memory.h"

fct_status fct_sampler_init(struct fct_sampler *s, int vocab_size, int context, fct_error *err) {
    memset(s, 0, sizeof *s);
    s->vocab_size = vocab_size;
    s->context = context;
    s->candidates = fct_new_array((size_t)vocab_size, sizeof *s->candidates, err);
    s->adjusted = fct_new_array((size_t)vocab_size, sizeof *s->adjusted, err);
    s->seen = fct_new_array((size_t)vocab_size, 1, err);
    return s->candidates && s->adjusted && s->seen ? FCT_OK : FCT_ERR_MEMORY;
}

void fct_sampler_free(struct fct_sampler *s) {
    free(s->candidates);
    free(s->adjusted);
    free(s->seen);
}

uint64_t fct_sampler_seed(struct fct_sampler *s, uint64_t seed) {
    while (seed == 0)
        if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != sizeof seed)
            seed = (uint64_t)time(NULL);
    s->state = seed;
    return seed;
}

/* SplitMix64 (Steele, Lea, Flood 2014): a counter, well mixed. Uniform in [0, 1), 53 bits. */
static double draw_uniform(struct fct_sampler *s) {
    uint64_t z = s->state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

bool fct_sampling_is_greedy(const fct_sampling *sampling) {
    return sampling->temperature == 0 && sampling->repeat_penalty == 1 &&
           sampling->presence_penalty == 0 && sampling->frequency_penalty == 0 &&
           sampling->n_biases == 0;
}

fct_status fct_sampling_check(const fct_sampling *sampling, int vocab_size, fct_error *err) {
    if (!(sampling->temperature >= 0 && sampling->temperature <= 100))
        return fct_fail(err, FCT_ERR_ARGUMENT, "temperature %g: it must be 0 to 100",
                        (double)sampling->temperature);
    if (sampling->top_k < 0)
        return fct_fail(err, FCT_ERR_ARGUMENT, "top-k %d: it must be 0 or more", sampling->top_k);
    if (!(sampling->top_p > 0 && sampling->top_p <= 1))
        return fct_fail(err, FCT_ERR_ARGUMENT, "top-p %g: it must be above 0, at most 1",
                        (double)sampling->top_p);
    if (!(sampling->min_p >= 0 && sampling->min_p <= 1))
        return fct_fail(err, FCT_ERR_ARGUMENT, "min-p %g: it must be 0 to 1",
                        (double)sampling->min_p);
    if (!(sampling->repeat_penalty > 0 && sampling->repeat_penalty <= 100))
        return fct_fail(err, FCT_ERR_ARGUMENT, "repeat penalty %g: it must be above 0, at most 100",
                        (double)sampling->repeat_penalty);
    if (!(fabsf(sampling->presence_penalty) <= 100) || !(fabsf(sampling->frequency_penalty) <= 100))
        return fct_fail(err, FCT_ERR_ARGUMENT,
                        "presence and frequency penalties must be -100 to 100");
    for (int i = 0; i < sampling->n_biases; i++)
        if (sampling->bias_ids[i] < 0 || sampling->bias_ids[i] >= vocab_size ||
            isnan(sampling->bias_values[i]))
            return fct_fail(err, FCT_ERR_ARGUMENT,
                            "logit bias for id %d: the vocabulary has ids 0 to %d",
                            sampling->bias_ids[i], vocab_size - 1);
    return FCT_OK;
}

/* Penalties touch each id once, however often it occurred; seen is left all zero again. */
static void penalize(struct fct_sampler *s, const fct_sampling *sampling, const int *ids,
                     int n_prompt, int n_ids) {
    for (int i = 0; i < n_ids; i++) {
        float *logit = &s->adjusted[ids[i]];
        if (!s->seen[ids[i]])
            *logit =
                *logit > 0 ? *logit / sampling->repeat_penalty : *logit * sampling->repeat_penalty;
        s->seen[ids[i]] = 1;
    }
    for (int i = 0; i < n_ids; i++) s->seen[ids[i]] = 0;
    for (int i = n_prompt; i < n_ids; i++) {
        s->adjusted[ids[i]] -=
            sampling->frequency_penalty + (s->seen[ids[i]] ? 0 : sampling->presence_penalty);
        s->seen[ids[i]] = 1;
    }
    for (int i = n_prompt; i < n_ids; i++) s->seen[ids[i]] = 0;
}

/* What is not allowed gets the logit of the impossible. */
static void forbid(const struct fct_sampler *s) {
    for (int i = 0; i < s->vocab_size; i++)
        if (!(s->allowed[i / 32] >> i % 32 & 1)) s->adjusted[i] = -INFINITY;
}

static int largest(const float *logits, int n) {
    int best = 0;
    for (int i = 1; i < n; i++)
        if (logits[i] > logits[best]) best = i;
    return best;
}

/* Is a likelier than b? Of equals the smaller id. */
static bool likelier(const struct fct_candidate *a, const struct fct_candidate *b) {
    return a->logit > b->logit || (a->logit == b->logit && a->id < b->id);
}

/* A heap whose top `worst_on_top` ? the least : the most likely. */
static void sift_down(struct fct_candidate *heap, int n, int i, bool worst_on_top) {
    for (;;) {
        int child = 2 * i + 1;
        if (child >= n) return;
        if (child + 1 < n && likelier(&heap[child + 1], &heap[child]) != worst_on_top) child++;
        if (likelier(&heap[child], &heap[i]) == worst_on_top) return;
        struct fct_candidate swap = heap[i];
        heap[i] = heap[child];
        heap[child] = swap;
        i = child;
    }
}

/* The k likeliest, likeliest first, in heap[0 .. k). */
static void take_top(struct fct_candidate *heap, const float *logits, int n, int k) {
    for (int i = 0; i < k; i++) heap[i] = (struct fct_candidate){logits[i], 0, i};
    for (int i = k / 2 - 1; i >= 0; i--) sift_down(heap, k, i, true);
    for (int i = k; i < n; i++) {
        struct fct_candidate c = {logits[i], 0, i};
        if (!likelier(&c, &heap[0])) continue;
        heap[0] = c;
        sift_down(heap, k, 0, true);
    }
    for (int end = k - 1; end > 0; end--) {
        struct fct_candidate swap = heap[0];
        heap[0] = heap[end];
        heap[end] = swap;
        sift_down(heap, end, 0, true);
    }
}

/* Probabilities of n candidates at a temperature, the likeliest being best; returns their sum. */
static double weigh(struct fct_candidate *c, int n, float best, float temperature) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += c[i].probability = expf((c[i].logit - best) / temperature);
    return sum;
}

/* How many of the sorted candidates to keep: the likeliest until their share reaches top_p, none
 * below min_p of the first. */
static int cut(const struct fct_candidate *c, int n, double sum, const fct_sampling *sampling) {
    double before = 0;
    int kept = 0;
    while (kept < n && (kept == 0 || (before < (double)sampling->top_p * sum &&
                                      c[kept].probability >= sampling->min_p * c[0].probability)))
        before += (double)c[kept++].probability;
    return kept;
}

static int draw(struct fct_sampler *s, int n) {
    double sum = 0, at = 0;
    int last = 0; /* that can be drawn at all */
    for (int i = 0; i < n; i++) sum += (double)s->candidates[i].probability;
    double target = draw_uniform(s) * sum;
    for (int i = 0; i < n; i++) {
        at += (double)s->candidates[i].probability;
        if (target < at) return s->candidates[i].id;
        if (s->candidates[i].probability > 0) last = i;
    }
    return s->candidates[last].id;
}

/* All candidates, those that top_p and min_p keep sorted to the front: popped from a heap until
 * they are found. */
static int cut_of_all(struct fct_sampler *s, const float *logits, const fct_sampling *sampling) {
    struct fct_candidate *c = s->candidates;
    int n = s->vocab_size, kept = 0;
    float best = logits[largest(logits, n)];
    for (int i = 0; i < n; i++) c[i] = (struct fct_candidate){logits[i], 0, i};
    double sum = weigh(c, n, best, sampling->temperature), before = 0;
    if (sampling->top_p >= 1 && sampling->min_p <= 0) return n;
    for (int i = n / 2 - 1; i >= 0; i--) sift_down(c, n, i, false);
    /* The popped ones go to the end of the array, the likeliest last. */
    for (int left = n; left > 0; left--) {
        struct fct_candidate top = c[0];
        if (kept && !(before < (double)sampling->top_p * sum &&
                      top.probability >= sampling->min_p * c[n - 1].probability))
            break;
        before += (double)top.probability;
        kept++;
        c[0] = c[left - 1];
        c[left - 1] = top;
        sift_down(c, left - 1, 0, false);
    }
    for (int i = 0; i < kept && i < n - 1 - i; i++) {
        struct fct_candidate swap = c[i];
        c[i] = c[n - 1 - i];
        c[n - 1 - i] = swap;
    }
    return kept;
}

int fct_sampler_choose(struct fct_sampler *s, const fct_sampling *sampling, const float *logits,
                       const int *ids, int n_prompt, int n_ids) {
    bool penalties = sampling->repeat_penalty != 1 || sampling->presence_penalty != 0 ||
                     sampling->frequency_penalty != 0;
    if (penalties || sampling->n_biases || s->allowed) {
        memcpy(s->adjusted, logits, (size_t)s->vocab_size * sizeof *logits);
        for (int i = 0; i < sampling->n_biases; i++)
            s->adjusted[sampling->bias_ids[i]] += sampling->bias_values[i];
        if (penalties) penalize(s, sampling, ids, n_prompt, n_ids);
        if (s->allowed) forbid(s);
        logits = s->adjusted;
    }
    if (sampling->temperature == 0) return largest(logits, s->vocab_size);
    if (sampling->top_k == 0 || sampling->top_k >= s->vocab_size)
        return draw(s, cut_of_all(s, logits, sampling));
    take_top(s->candidates, logits, s->vocab_size, sampling->top_k);
    double sum =
        weigh(s->candidates, sampling->top_k, s->candidates[0].logit, sampling->temperature);
    return draw(s, cut(s->candidates, sampling->top_k, sum, sampling));
}
