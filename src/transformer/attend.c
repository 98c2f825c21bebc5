/* attend.c - attention over the cache: by chunks of positions, always the same ones, merged in
 * order.
 *
 * A chunk's result depends on nothing but the query and the chunk, and results are merged in order
 * of position. So it makes no difference to a single bit whether one thread walks all chunks
 * (prompts: every thread has tokens of its own) or the chunks of one token, and its heads where
 * there are few chunks, are shared among the threads (decoding). No score matrix ever exists beyond
 * a chunk. */
#include "transformer/blocks_of_layer.h"

/* Positions [begin, end) that a token sees. */
static struct fct_span visible(const struct fct_pass *p, int layer, int t) {
    int position = p->cache->n_tokens + t, window = p->config->sliding_window;
    bool cut = !p->config->layers[layer].full && position + 1 > window;
    return (struct fct_span){cut ? position + 1 - window : 0, position + 1};
}

/* The chunks that hold positions of a span. */
static struct fct_span chunks_of(struct fct_span positions) {
    return (struct fct_span){positions.begin / FCT_KV_CHUNK,
                             (positions.end - 1) / FCT_KV_CHUNK + 1};
}

struct fct_input fct_attended(const struct fct_pass *p, int layer) {
    struct fct_input attended = p->scratch->attended;
    attended.stride = p->config->n_heads * p->config->layers[layer].head_dim;
    return attended;
}

/* Some query heads of token t that share a KV head, against what they see of one chunk. False:
 * nothing of it. */
static bool attend_chunk(const struct fct_pass *p, int layer, int t, struct fct_span heads,
                         int chunk, struct fct_partial out) {
    const struct fct_layer_config *shape = &p->config->layers[layer];
    struct fct_span seen = visible(p, layer, t);
    int start = chunk * FCT_KV_CHUNK,
        kv_head = heads.begin / (p->config->n_heads / shape->n_kv_heads);
    struct fct_attend job;
    job.begin = seen.begin > start ? seen.begin - start : 0;
    job.end = seen.end - start < FCT_KV_CHUNK ? seen.end - start : FCT_KV_CHUNK;
    if (job.begin >= job.end) return false;
    fct_kv_layer_chunk(&p->cache->layers[shape->kv_layer], p->cache->type, kv_head, start, &job);
    job.n_queries = heads.end - heads.begin;
    job.queries =
        p->scratch->queries +
        ((size_t)t * (size_t)p->config->n_heads + (size_t)heads.begin) * (size_t)shape->head_dim;
    p->kernels->attend(&job, out);
    return true;
}

/* Where the results of a token's heads from first_head on go: [heads][head_dim]. */
static float *attended_row(const struct fct_pass *p, int layer, int t, int first_head) {
    size_t head_dim = (size_t)p->config->layers[layer].head_dim;
    return p->scratch->attended.values +
           ((size_t)t * (size_t)p->config->n_heads + (size_t)first_head) * head_dim;
}

/* A block of tokens walks through the chunks together, so that a chunk comes into the cache once
 * for all of them. */
static void attend_block(const struct fct_pass *p, struct fct_attention_room *room, int layer,
                         struct fct_span tokens, struct fct_span heads) {
    const struct fct_layer_config *shape = &p->config->layers[layer];
    int group = heads.end - heads.begin, d = shape->head_dim;
    int first = chunks_of(visible(p, layer, tokens.begin)).begin,
        last = chunks_of(visible(p, layer, tokens.end - 1)).end;
    struct fct_partial more = {room->max, room->sum, room->out};
    for (int chunk = first; chunk < last; chunk++)
        for (int t = tokens.begin; t < tokens.end; t++) {
            size_t at = (size_t)(t - tokens.begin) * (size_t)p->config->n_heads;
            struct fct_partial total = {room->total_max + at, room->total_sum + at,
                                        attended_row(p, layer, t, heads.begin)};
            if (chunk == chunks_of(visible(p, layer, t)).begin)
                attend_chunk(p, layer, t, heads, chunk, total);
            else if (attend_chunk(p, layer, t, heads, chunk, more))
                p->kernels->merge(group, d, total, more);
        }
    for (int t = tokens.begin; t < tokens.end; t++) {
        size_t at = (size_t)(t - tokens.begin) * (size_t)p->config->n_heads;
        float *row = attended_row(p, layer, t, heads.begin);
        struct fct_partial total = {room->total_max + at, room->total_sum + at, row};
        p->kernels->finish(group, d, total, row);
    }
}

static void attend_by_tokens(const struct fct_pass *p, struct fct_team team, int layer,
                             struct fct_span span) {
    const struct fct_linear_layer *reader = &p->weights->layers[layer].o;
    struct fct_input attended = fct_attended(p, layer);
    int n = span.end - span.begin, size = n / (4 * team.size), n_heads = p->config->n_heads,
        group = n_heads / p->config->layers[layer].n_kv_heads;
    size = size < 1 ? 1 : size > FCT_TOKEN_BLOCK ? FCT_TOKEN_BLOCK : size;
    for (int begin = span.begin + team.index * size; begin < span.end; begin += team.size * size) {
        struct fct_span tokens = {begin, begin + size < span.end ? begin + size : span.end};
        for (int head = 0; head < n_heads; head += group)
            attend_block(p, &p->scratch->rooms[team.index], layer, tokens,
                         (struct fct_span){head, head + group});
        for (int t = tokens.begin; t < tokens.end; t++)
            fct_input_done(p, &attended, t, attended.stride, &reader, 1);
    }
}

/* The partial result of a chunk, heads from first_head on; t counts from the span's begin. */
static struct fct_partial partial_of(const struct fct_pass *p, int layer, int t, int first_head,
                                     int chunk) {
    const struct fct_scratch *s = p->scratch;
    size_t at = ((size_t)t * (size_t)s->max_chunks + (size_t)chunk) * (size_t)p->config->n_heads +
                (size_t)first_head;
    return (struct fct_partial){s->partial_max + at, s->partial_sum + at,
                                s->partial_out + at * (size_t)p->config->layers[layer].head_dim};
}

/* Into how many parts the query heads of a KV head are split, so that n chunks keep all members
 * busy and are done soonest: a part costs what its heads cost, and keys and values for about one
 * more. */
static int parts_of_group(struct fct_team team, int n, int group) {
    int best = 1, best_cost = 0;
    for (int parts = 1; group % parts == 0; parts *= 2) {
        int cost = (n * parts + team.size - 1) / team.size * (1 + group / parts);
        if (parts > 1 && cost >= best_cost) continue;
        best = parts;
        best_cost = cost;
    }
    return best;
}

/* Every member takes some chunks of every token, perhaps for some of the heads only, then some
 * heads to merge. */
static void attend_by_chunks(const struct fct_pass *p, struct fct_team team, int layer,
                             struct fct_span span) {
    const struct fct_layer_config *shape = &p->config->layers[layer];
    const struct fct_linear_layer *reader = &p->weights->layers[layer].o;
    struct fct_input attended = fct_attended(p, layer);
    int n_kv = shape->n_kv_heads, n_heads = p->config->n_heads, group = n_heads / n_kv,
        d = shape->head_dim, begin, end;
    bool by_heads = fct_parts_stand_alone(attended.stride, n_heads, reader);
    for (int t = span.begin; t < span.end; t++) {
        struct fct_span chunks = chunks_of(visible(p, layer, t));
        int n = (chunks.end - chunks.begin) * n_kv, parts = n_kv * parts_of_group(team, n, group),
            size = n_heads / parts;
        fct_team_share(team, (chunks.end - chunks.begin) * parts, 1, &begin, &end);
        for (int i = begin; i < end; i++) {
            int chunk = i / parts, head = i % parts * size;
            attend_chunk(p, layer, t, (struct fct_span){head, head + size}, chunks.begin + chunk,
                         partial_of(p, layer, t - span.begin, head, chunk));
        }
    }
    fct_team_wait(team);
    fct_team_share(team, (span.end - span.begin) * n_heads, 1, &begin, &end);
    for (int i = begin; i < end; i++) {
        int t = i / n_heads, head = i % n_heads;
        struct fct_span chunks = chunks_of(visible(p, layer, span.begin + t));
        struct fct_partial total = partial_of(p, layer, t, head, 0);
        for (int chunk = 1; chunk < chunks.end - chunks.begin; chunk++)
            p->kernels->merge(1, d, total, partial_of(p, layer, t, head, chunk));
        p->kernels->finish(1, d, total, attended_row(p, layer, span.begin + t, head));
        if (by_heads)
            fct_input_part_done(p, &attended, span.begin + t,
                                (struct fct_span){head * d, (head + 1) * d}, reader);
    }
    if (by_heads) return;
    fct_team_wait(team);
    struct fct_span mine = fct_token_share(team, span);
    for (int t = mine.begin; t < mine.end; t++)
        fct_input_done(p, &attended, t, attended.stride, &reader, 1);
}

void fct_attend(const struct fct_pass *p, struct fct_team team, int layer, struct fct_span span) {
    int n = span.end - span.begin;
    if (n < team.size && n <= FCT_FEW_TOKENS)
        attend_by_chunks(p, team, layer, span);
    else
        attend_by_tokens(p, team, layer, span);
}
