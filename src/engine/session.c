/* session.c - a session is handed whole prefixes and finds itself what it can keep. */
#include "engine/session.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

enum {
    DEFAULT_CONTEXT = 8192,
    DEFAULT_BATCH = 256,
    MAX_BATCH = 4096,
    MAX_THREADS = 256,
    FEW_TOKENS = 8,
    BYTES_A_THREAD = 4 << 20 /* of weights, about 0.2 ms of reading */
};

/* A thread more is worth its waiting only where a token is work enough for it. */
static int worthwhile_threads(const fct_session *s) {
    uint64_t most = 1 + s->model->weights.bytes_per_token / BYTES_A_THREAD;
    int cpus = fct_cpu_count();
    return most < (uint64_t)cpus ? (int)most : cpus;
}

static fct_status choose_sizes(fct_session *s, const fct_session_options *o, fct_error *err) {
    int max = s->model->config.max_positions, threads = worthwhile_threads(s);
    s->context = o->context ? o->context : max < DEFAULT_CONTEXT ? max : DEFAULT_CONTEXT;
    s->batch = o->batch ? o->batch : DEFAULT_BATCH;
    s->decode_threads = o->decode_threads ? o->decode_threads : threads;
    s->prefill_threads = o->prefill_threads ? o->prefill_threads : threads;
    if (s->context < 1 || s->context > max)
        return fct_fail(err, FCT_ERR_ARGUMENT, "a context of %d positions: the model has 1 to %d",
                        s->context, max);
    if (s->batch < 1 || s->batch > MAX_BATCH)
        return fct_fail(err, FCT_ERR_ARGUMENT, "a batch of %d tokens: it must be 1 to %d", s->batch,
                        MAX_BATCH);
    if (s->batch > s->context) s->batch = s->context;
    if (s->decode_threads < 1 || s->decode_threads > MAX_THREADS || s->prefill_threads < 1 ||
        s->prefill_threads > MAX_THREADS)
        return fct_fail(err, FCT_ERR_ARGUMENT, "%d and %d threads: it must be 1 to %d",
                        s->decode_threads, s->prefill_threads, MAX_THREADS);
    return FCT_OK;
}

static enum fct_kv_type choose_kv(const fct_session *s, fct_kv kv) {
    if (kv == FCT_KV_AUTO) kv = s->model->float_weights ? FCT_KV_F32 : FCT_KV_F16;
    return kv == FCT_KV_F32 ? FCT_KV_TYPE_F32 : kv == FCT_KV_Q8 ? FCT_KV_TYPE_Q8 : FCT_KV_TYPE_F16;
}

/* Memory for marks is taken as they are made. */
static fct_status prepare_marks(fct_session *s, fct_error *err) {
    size_t each = fct_round_up(fct_kv_snapshot_bytes(&s->cache, &s->model->config), 64);
    if (!each) return FCT_OK;
    s->mark_bytes = FCT_MARKS * each;
    s->mark_memory = fct_pages_new(s->mark_bytes, err);
    for (int i = 0; s->mark_memory && i < FCT_MARKS; i++)
        s->marks[i].memory = s->mark_memory + (size_t)i * each;
    return s->mark_memory ? FCT_OK : FCT_ERR_MEMORY;
}

static fct_status reserve(fct_session *s, const fct_session_options *options, fct_error *err) {
    const fct_model *model = s->model;
    enum fct_kv_type kv = choose_kv(s, options->kv);
    int n_threads = s->decode_threads > s->prefill_threads ? s->decode_threads : s->prefill_threads;
    s->ids = fct_new_array((size_t)s->context, sizeof *s->ids, err);
    if (!s->ids) return FCT_ERR_MEMORY;
    fct_status status = fct_kv_cache_init(&s->cache, &model->config, kv, s->context, s->batch, err);
    for (int i = 0; !status && i < model->config.n_layers; i++) {
        s->cache.layers[i].static_key = model->weights.layers[i].key_scale;
        s->cache.layers[i].static_value = model->weights.layers[i].value_scale;
    }
    if (!status) status = prepare_marks(s, err);
    if (!status)
        status =
            fct_scratch_init(&s->scratch, &model->config, s->batch, n_threads, s->context, err);
    if (!status) status = fct_sampler_init(&s->sampler, model->config.vocab_size, s->context, err);
    return status;
}

fct_session *fct_session_reserve(const fct_model *model, const fct_session_options *options,
                                 fct_error *err) {
    static const fct_session_options defaults;
    if (!options) options = &defaults;
    fct_session *s = fct_new(sizeof *s, err);
    if (!s) return NULL;
    s->model = model;
    if (choose_sizes(s, options, err) != FCT_OK) goto failed;
    fct_thread_choice_init(&s->choice, s->decode_threads);
    if (options->decode_threads) s->choice.chosen = options->decode_threads;
    s->float_activations = options->activations == FCT_ACTIVATIONS_F32 ||
                           (options->activations == FCT_ACTIVATIONS_AUTO && model->float_weights);
    if (reserve(s, options, err) != FCT_OK) goto failed;
    return s;
failed:
    fct_session_free(s);
    return NULL;
}

fct_session *fct_session_new(const fct_model *model, const fct_session_options *options,
                             fct_error *err) {
    fct_session *s = fct_session_reserve(model, options, err);
    if (!s) return NULL;
    int n_threads = s->decode_threads > s->prefill_threads ? s->decode_threads : s->prefill_threads;
    if (fct_session_fits(s, err) != FCT_OK) goto failed;
    s->pool = fct_pool_new(n_threads, err);
    if (!s->pool) goto failed;
    return s;
failed:
    fct_session_free(s);
    return NULL;
}

void fct_session_free(fct_session *s) {
    if (!s) return;
    if (s->mark_memory) fct_pages_free(s->mark_memory, s->mark_bytes);
    fct_pool_free(s->pool);
    fct_sampler_free(&s->sampler);
    fct_scratch_free(&s->scratch);
    fct_kv_cache_free(&s->cache);
    free(s->ids);
    free(s);
}

fct_session_info fct_session_describe(const fct_session *s) {
    static const char *const kinds[] = {"f32", "f16", "q8"};
    return (fct_session_info){.context = s->context,
                              .batch = s->batch,
                              .decode_threads = fct_thread_choice_next(&s->choice),
                              .prefill_threads = s->prefill_threads,
                              .decode_threads_found = fct_thread_choice_found(&s->choice),
                              .kv = kinds[s->cache.type],
                              .activations = s->float_activations ? "f32" : "q8",
                              .kv_bytes = s->cache.n_bytes,
                              .scratch_bytes = s->scratch.n_bytes,
                              .n_tokens = s->n_ids,
                              .n_reused = s->n_reused,
                              .n_read = s->n_read};
}

fct_status fct_session_check(const fct_session *s, const int *ids, int n_ids, fct_error *err) {
    if (n_ids < 1)
        return fct_fail(err, FCT_ERR_ARGUMENT, "an empty prompt: there must be at least one id");
    if (n_ids > s->context)
        return fct_fail(err, FCT_ERR_CONTEXT,
                        "the prompt has %d tokens, the context only %d: make it larger with -c",
                        n_ids, s->context);
    for (int i = 0; i < n_ids; i++)
        if (ids[i] < 0 || ids[i] >= s->model->config.vocab_size)
            return fct_fail(err, FCT_ERR_ARGUMENT,
                            "id %d at position %d: the vocabulary has ids 0 to %d", ids[i], i,
                            s->model->config.vocab_size - 1);
    return FCT_OK;
}

static struct fct_pass pass_of(fct_session *s, const int *ids, int n_tokens,
                               enum fct_wanted wanted) {
    return (struct fct_pass){.config = &s->model->config,
                             .weights = &s->model->weights,
                             .kernels = s->model->kernels,
                             .cache = &s->cache,
                             .scratch = &s->scratch,
                             .float_activations = s->float_activations,
                             .ids = ids,
                             .n_tokens = n_tokens,
                             .wanted = wanted,
                             .statistics = s->statistics};
}

/* Pages of the lookup tables, now and then. */
static void give_tables_back(fct_session *s, int n_tokens) {
    s->n_looked_up += n_tokens;
    if (s->n_looked_up < FCT_ROWS_AT_MOST) return;
    fct_placement_forget_tables(s->model->placement);
    s->n_looked_up = 0;
}

/* Of the next n ids to read. A token's rows lie anywhere, and storage is slow: it can look for many
 * of them at once, while earlier tokens are computed. Not as long as weights come from it in order:
 * that would be interrupted. */
static void expect_rows(const fct_session *s, int first, int n) {
    const struct fct_weights *weights = &s->model->weights;
    const uint8_t *hot;
    size_t n_bytes;
    fct_pack_hot(s->model->pack, &hot, &n_bytes);
    if (fct_placement_n_read(s->model->placement) < n_bytes) return;
    for (int i = first; i < first + n; i++) {
        fct_placement_expect_row(s->model->placement, &weights->embedding, s->ids[i]);
        if (s->model->config.per_layer_size)
            fct_placement_expect_row(s->model->placement, &weights->per_layer_embedding, s->ids[i]);
    }
}

static int next_batch(const fct_session *s, int at) {
    return s->n_ids - at < s->batch ? s->n_ids - at : s->batch;
}

/* Runs a pass on as many threads as it is worth, and learns from passes of one token. Returns how
 * many. */
static fct_status run_pass(fct_session *s, const struct fct_pass *pass, int *n_threads,
                           fct_error *err) {
    *n_threads =
        pass->n_tokens > FEW_TOKENS ? s->prefill_threads : fct_thread_choice_next(&s->choice);
    double start = fct_seconds();
    fct_status status = fct_forward(pass, s->pool, *n_threads, err);
    if (pass->n_tokens == 1 && fct_placement_done(s->model->placement))
        fct_thread_choice_note(&s->choice, fct_seconds() - start);
    give_tables_back(s, pass->n_tokens);
    return status;
}

/* Somebody said stop: what was read until then is what the session holds. */
static fct_status stop_reading(fct_session *s, fct_error *err) {
    int wanted = s->n_ids;
    s->n_ids = s->cache.n_tokens;
    return fct_fail(err, FCT_ERR_CANCELLED, "reading was stopped at token %d of %d", s->n_ids,
                    wanted);
}

/* How much of the hot part, which lies in the order of its use, a pass goes through. A prompt but
 * for its end passes the layers that own keys and values. */
static size_t hot_bytes_of(const fct_session *s, bool last) {
    const struct fct_config *config = &s->model->config;
    const uint8_t *hot;
    size_t n_bytes;
    fct_pack_hot(s->model->pack, &hot, &n_bytes);
    if (last || config->first_shared_layer >= config->n_layers) return n_bytes;
    const uint8_t *next = s->model->weights.layers[config->first_shared_layer].q.matrix.data;
    return next > hot && next < hot + n_bytes ? (size_t)(next - hot) : n_bytes;
}

/* On a cold start: until storage has given what the pass reads. False: reading (may be NULL) said
 * stop. */
static bool await_weights(const fct_session *s, bool last, bool (*reading)(void *, int, int),
                          void *user, int n_done, int n_total) {
    static const double asked_after = 0.05;
    size_t n_bytes = hot_bytes_of(s, last);
    while (!fct_placement_wait(s->model->placement, n_bytes, asked_after))
        if (reading && !reading(user, n_done, n_total)) return false;
    return true;
}

/* Reads s->ids from where the cache ends. */
static fct_status read_rest(fct_session *s, bool (*reading)(void *, int, int), void *user,
                            fct_error *err) {
    int first = s->cache.n_tokens;
    expect_rows(s, first, next_batch(s, first));
    while (s->cache.n_tokens < s->n_ids) {
        int at = s->cache.n_tokens, n = next_batch(s, at);
        expect_rows(s, at + n, next_batch(s, at + n));
        if (reading && !reading(user, at - first, s->n_ids - first)) return stop_reading(s, err);
        bool last = at + n == s->n_ids;
        if (!await_weights(s, last, reading, user, at - first, s->n_ids - first))
            return stop_reading(s, err);
        struct fct_pass pass = pass_of(s, s->ids + at, n, last ? FCT_WANT_LAST : FCT_WANT_CACHE);
        int n_threads;
        fct_status status = run_pass(s, &pass, &n_threads, err);
        if (status != FCT_OK) return status;
        if (last) s->best = fct_forward_best(&pass, 0, n_threads);
    }
    s->logits_valid = true;
    return FCT_OK;
}

void fct_session_mark(fct_session *s) {
    if (!s->cache.ring || s->cache.n_tokens == 0) return;
    for (int i = 0; i < FCT_MARKS; i++)
        if (s->marks[i].n_tokens == s->cache.n_tokens) return;
    fct_kv_snapshot_take(&s->marks[s->next_mark], &s->cache, &s->model->config);
    s->next_mark = (s->next_mark + 1) % FCT_MARKS;
}

/* Takes the cache back to the most of its first `wanted` positions that it, or a mark, still has
 * whole. Returns how many. Marks behind that are void: what they stand for is about to be
 * overwritten. */
static int take_back(fct_session *s, int wanted) {
    int kept = fct_kv_cache_keepable(&s->cache, wanted);
    const struct fct_kv_snapshot *best = NULL;
    for (int i = 0; i < FCT_MARKS; i++) {
        int serves =
            s->marks[i].n_tokens ? fct_kv_snapshot_serves(&s->marks[i], &s->cache, wanted) : 0;
        if (serves > kept) kept = serves, best = &s->marks[i];
    }
    if (best)
        fct_kv_snapshot_restore(best, kept, &s->cache, &s->model->config);
    else
        fct_kv_cache_rewind(&s->cache, kept);
    for (int i = 0; i < FCT_MARKS; i++)
        if (s->marks[i].n_tokens > kept) s->marks[i].n_tokens = 0;
    return kept;
}

fct_status fct_session_read(fct_session *s, const int *ids, int n_ids,
                            bool (*reading)(void *user, int n_done, int n_total), void *user,
                            fct_error *err) {
    fct_status status = fct_session_check(s, ids, n_ids, err);
    if (status != FCT_OK) return status;
    int same = 0, held = s->cache.n_tokens;
    while (same < n_ids && same < held && s->ids[same] == ids[same]) same++;
    bool nothing_to_do = same == n_ids && held == n_ids && s->n_ids == n_ids && s->logits_valid;
    if (!nothing_to_do) {
        /* The last token is read again even if its keys are there: its logits are what is wanted.
         */
        same = take_back(s, same < n_ids ? same : n_ids - 1);
        s->logits_valid = false;
        if (s->ids != ids) memmove(s->ids, ids, (size_t)n_ids * sizeof *ids);
        s->n_ids = n_ids;
    }
    s->n_reused = same;
    s->n_read = n_ids - same;
    return nothing_to_do ? FCT_OK : read_rest(s, reading, user, err);
}

fct_status fct_session_prefill(fct_session *s, const int *ids, int n_ids, fct_error *err) {
    return fct_session_read(s, ids, n_ids, NULL, NULL, err);
}

fct_status fct_session_append(fct_session *s, int id, fct_error *err) {
    if (s->n_ids >= s->context)
        return fct_fail(err, FCT_ERR_CONTEXT, "the context of %d tokens is full", s->context);
    fct_status status = fct_session_check(s, &id, 1, err);
    if (status != FCT_OK) return status;
    s->n_reused = s->cache.n_tokens;
    s->ids[s->n_ids++] = id;
    s->n_read = s->n_ids - s->n_reused;
    s->logits_valid = false;
    return read_rest(s, NULL, NULL, err);
}

const float *fct_session_logits(fct_session *s) { return s->scratch.logits; }

void fct_session_rewind(fct_session *s, int n_tokens) {
    if (n_tokens >= s->n_ids) return;
    s->n_ids = n_tokens < 0 ? 0 : n_tokens;
    take_back(s, s->n_ids);
    s->logits_valid = false;
}

/* Hands out the logits of a whole pass, some rows at a time. */
static fct_status hand_out(fct_session *s, const struct fct_pass *pass, int first,
                           fct_logits_fn row, void *user, fct_error *err) {
    for (int begin = 0; begin < pass->n_tokens; begin += FCT_LOGITS_AT_ONCE) {
        int end = begin + FCT_LOGITS_AT_ONCE < pass->n_tokens ? begin + FCT_LOGITS_AT_ONCE
                                                              : pass->n_tokens;
        fct_status status = fct_forward_logits(pass, begin, end, s->pool, s->prefill_threads, err);
        if (status != FCT_OK) return status;
        for (int i = begin; i < end; i++)
            if (!row(user, first + i,
                     s->scratch.logits + (size_t)(i - begin) * (size_t)s->scratch.logits_stride))
                return fct_fail(err, FCT_ERR_CANCELLED, "cancelled at position %d", first + i);
    }
    return FCT_OK;
}

fct_status fct_session_restart(fct_session *s, const int *ids, int n_ids, fct_error *err) {
    fct_status status = fct_session_check(s, ids, n_ids, err);
    if (status != FCT_OK) return status;
    take_back(s, 0);
    memmove(s->ids, ids, (size_t)n_ids * sizeof *ids);
    s->n_ids = 0;
    s->n_reused = 0;
    s->n_read = n_ids;
    s->logits_valid = false;
    return FCT_OK;
}

fct_status fct_session_step(fct_session *s, int n, enum fct_wanted wanted, struct fct_pass *pass,
                            fct_error *err) {
    *pass = pass_of(s, s->ids + s->cache.n_tokens, n, wanted);
    fct_status status = fct_forward(pass, s->pool, s->prefill_threads, err);
    give_tables_back(s, n);
    s->n_ids = s->cache.n_tokens;
    return status;
}

fct_status fct_session_score(fct_session *s, const int *ids, int n_ids, fct_logits_fn row,
                             void *user, fct_error *err) {
    struct fct_pass pass;
    fct_status status = fct_session_restart(s, ids, n_ids, err);
    for (int at = 0; at < n_ids && status == FCT_OK; at += s->batch) {
        int n = n_ids - at < s->batch ? n_ids - at : s->batch;
        status = fct_session_step(s, n, FCT_WANT_ALL, &pass, err);
        if (status == FCT_OK) status = hand_out(s, &pass, at, row, user, err);
    }
    return status;
}
