/* forward.c - one pass of tokens through the network. */
#include "transformer/forward.h"

#include "base/error.h"
#include "transformer/blocks_of_layer.h"

static void layer(const struct fct_pass *p, struct fct_team team, int i, struct fct_span readers,
                  struct fct_span live) {
    const struct fct_scratch *s = p->scratch;
    int hidden = p->config->hidden_size;
    fct_attention_block(p, team, i, readers, live);
    if (live.begin == live.end) return;
    fct_mlp_block(p, team, i, live);
    if (p->config->per_layer_size) fct_per_layer_block(p, team, i, live);
    if (!p->config->has_layer_scalar) return;
    struct fct_span mine = fct_token_share(team, live);
    for (int t = mine.begin; t < mine.end; t++) {
        float *h = s->hidden.values + (size_t)t * (size_t)hidden;
        p->kernels->scale(h, p->weights->layers[i].scalar, hidden, h);
    }
}

/* Soft-capped logits of tokens [span) in rows 0 .. of scratch->logits, and the best of each
 * member's part of them. */
static void head(const struct fct_pass *p, struct fct_team team, struct fct_span span) {
    struct fct_scratch *s = p->scratch;
    const struct fct_kernels *k = p->kernels;
    int hidden = p->config->hidden_size, n = span.end - span.begin;
    struct fct_span mine = fct_token_share(team, span), rows;
    for (int t = mine.begin; t < mine.end; t++) {
        const float *h = s->hidden.values + (size_t)t * (size_t)hidden;
        float *normed = s->normed.values + (size_t)(t - span.begin) * (size_t)hidden;
        k->rms_norm(h, p->weights->norm, hidden, p->config->rms_norm_eps, normed);
        fct_input_done(p, &s->normed, t - span.begin, hidden,
                       (const struct fct_linear_layer *const[]){&p->weights->head}, 1);
    }
    fct_team_wait(team);
    fct_linear(p, team, &p->weights->head, &s->normed, (struct fct_span){0, n}, s->logits,
               s->logits_stride, &rows);
    for (int i = 0; i < n; i++) {
        float *logits = s->logits + (size_t)i * (size_t)s->logits_stride + rows.begin;
        struct fct_best *best = &s->best[team.index * FCT_LOGITS_AT_ONCE + i];
        *best = (struct fct_best){.id = -1};
        if (rows.begin >= rows.end) continue;
        if (p->config->final_softcap > 0)
            k->softcap(logits, p->config->final_softcap, rows.end - rows.begin);
        int at = k->argmax(logits, rows.end - rows.begin);
        int n_bad = 0;
        for (int j = 0; j < rows.end - rows.begin; j++) n_bad += !(logits[j] - logits[j] == 0.0f);
        *best = (struct fct_best){.value = logits[at], .id = rows.begin + at, .bad = n_bad > 0};
    }
}

/* The network. Only the layers up to the last that writes the cache need every token; above it only
 * the live ones go on, and in that layer itself the others stop after keys and values. */
static void stack(void *user, struct fct_team team) {
    const struct fct_pass *p = user;
    int n = p->n_tokens, last_cached = p->config->first_shared_layer - 1;
    struct fct_span all = {0, n};
    struct fct_span live = {p->wanted == FCT_WANT_ALL    ? 0
                            : p->wanted == FCT_WANT_LAST ? n - 1
                                                         : n,
                            n};
    fct_rope_tables(p, team, all);
    fct_embed(p, team, all);
    fct_per_layer_inputs(p, team, all, live, last_cached);
    for (int i = 0; i < last_cached; i++) layer(p, team, i, all, all);
    layer(p, team, last_cached, all, live);
    for (int i = last_cached + 1; i < p->config->n_layers && live.begin < live.end; i++)
        layer(p, team, i, live, live);
    if (p->wanted == FCT_WANT_LAST) head(p, team, live);
}

static fct_status check_numbers(const struct fct_pass *pass, int n_rows, int n_threads,
                                fct_error *err) {
    for (int i = 0; i < n_threads; i++)
        for (int row = 0; row < n_rows; row++)
            if (pass->scratch->best[i * FCT_LOGITS_AT_ONCE + row].bad)
                return fct_fail(err, FCT_ERR_NUMERIC,
                                "the logits are not numbers (NaN or infinity): the weights are "
                                "damaged, or too large for this network");
    return FCT_OK;
}

fct_status fct_forward(const struct fct_pass *pass, fct_pool *pool, int n_threads, fct_error *err) {
    fct_pool_run(pool, n_threads, stack, (void *)pass);
    fct_kv_cache_advance(pass->cache, pass->n_tokens);
    return pass->wanted == FCT_WANT_LAST ? check_numbers(pass, 1, n_threads, err) : FCT_OK;
}

struct head_job {
    const struct fct_pass *pass;
    struct fct_span span;
};

static void head_only(void *user, struct fct_team team) {
    const struct head_job *job = user;
    head(job->pass, team, job->span);
}

fct_status fct_forward_logits(const struct fct_pass *pass, int begin, int end, fct_pool *pool,
                              int n_threads, fct_error *err) {
    struct head_job job = {pass, {begin, end}};
    fct_pool_run(pool, n_threads, head_only, &job);
    return check_numbers(pass, end - begin, n_threads, err);
}

int fct_forward_best(const struct fct_pass *pass, int row, int n_threads) {
    struct fct_best best = {.id = -1};
    for (int i = 0; i < n_threads; i++) {
        const struct fct_best *part = &pass->scratch->best[i * FCT_LOGITS_AT_ONCE + row];
        if (part->id >= 0 && (best.id < 0 || part->value > best.value)) best = *part;
    }
    return best.id;
}
