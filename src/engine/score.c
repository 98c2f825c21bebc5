/* score.c - how well a model foresees a text, and how far it is from another one. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "engine/distribution.h"
#include "engine/logits_file.h"
#include "engine/session.h"

/* What one position gives. */
struct row {
    double loss, reference_loss, divergence;
    bool same;
};

struct scoring {
    fct_session *session;
    const fct_score_options *options;
    fct_scores *out;
    struct fct_chunks chunks;
    struct fct_logits_writer writer;
    /* What is compared with: a file, */
    struct fct_logits_file saved;
    float *saved_rows; /* [FCT_LOGITS_AT_ONCE][vocab_size] */
    /* or another model. */
    fct_model *other_model;
    fct_session *other;
    struct row rows[FCT_LOGITS_AT_ONCE];
    double loss, loss_squares, reference_loss, divergence, divergence_squares;
    int n_same, n_done;
};

/* ---- what is compared with ---- */

static fct_status check_vocabulary(const struct scoring *s, fct_error *err) {
    const fct_model *a = s->session->model, *b = s->other_model;
    size_t n_a = 0, n_b = 0;
    const uint8_t *text_a = a->vocabulary ? fct_pack_bytes(a->pack, FCT_TENSOR_TOKENIZER, &n_a, err)
                                          : NULL,
                  *text_b = b->vocabulary ? fct_pack_bytes(b->pack, FCT_TENSOR_TOKENIZER, &n_b, err)
                                          : NULL;
    bool same = !text_a || !text_b || (n_a == n_b && memcmp(text_a, text_b, n_a) == 0);
    if (a->config.vocab_size == b->config.vocab_size && same) return FCT_OK;
    return fct_fail(err, FCT_ERR_ARGUMENT, "%s: has another vocabulary than %s",
                    fct_pack_path(b->pack), fct_pack_path(a->pack));
}

static fct_status open_other(struct scoring *s, fct_error *err) {
    const fct_session *session = s->session;
    fct_model_options model_options = {.kernels = session->model->kernels->name};
    fct_session_options options = {.context = s->chunks.chunk,
                                   .batch = session->batch < s->chunks.chunk ? session->batch : 0,
                                   .decode_threads = session->decode_threads,
                                   .prefill_threads = session->prefill_threads};
    fct_error local;
    if (!err) err = &local;
    s->other_model = fct_model_open(s->options->against, &model_options, err);
    if (!s->other_model) return err->code;
    fct_status status = check_vocabulary(s, err);
    if (status) return status;
    s->other = fct_session_new(s->other_model, &options, err);
    return s->other ? FCT_OK : err->code;
}

static fct_status open_saved(struct scoring *s, fct_error *err) {
    int vocab_size = s->session->model->config.vocab_size;
    fct_status status = fct_logits_file_open(&s->saved, s->options->against, vocab_size,
                                             s->options->progress, s->options->user, err);
    if (status) return status;
    s->saved_rows =
        fct_new_array((size_t)FCT_LOGITS_AT_ONCE * (size_t)vocab_size, sizeof(float), err);
    return s->saved_rows ? FCT_OK : FCT_ERR_MEMORY;
}

/* The file's text begins with ours, in the same chunks. */
static fct_status check_saved(const struct scoring *s, fct_error *err) {
    const struct fct_chunks *ours = &s->chunks, *theirs = &s->saved.chunks;
    if (ours->chunk != theirs->chunk || ours->first != theirs->first)
        return fct_fail(err, FCT_ERR_ARGUMENT,
                        "%s: its chunks are of %d tokens, counted from %d; these of %d, from %d",
                        s->options->against, theirs->chunk, theirs->first, ours->chunk,
                        ours->first);
    size_t n = (size_t)ours->n_chunks * (size_t)ours->chunk;
    if (ours->n_chunks > theirs->n_chunks || memcmp(ours->ids, theirs->ids, n * sizeof(int)))
        return fct_fail(err, FCT_ERR_ARGUMENT, "%s: was made of another text", s->options->against);
    return FCT_OK;
}

static fct_status take_saved_text(struct scoring *s, fct_error *err) {
    const struct fct_chunks *saved = &s->saved.chunks;
    size_t n = (size_t)saved->n_chunks * (size_t)saved->chunk;
    s->chunks = *saved;
    if (s->options->max_chunks && saved->n_chunks > s->options->max_chunks)
        s->chunks.n_chunks = s->options->max_chunks;
    s->chunks.ids = fct_new_array(n, sizeof *s->chunks.ids, err);
    if (!s->chunks.ids) return FCT_ERR_MEMORY;
    memcpy(s->chunks.ids, saved->ids, n * sizeof *s->chunks.ids);
    return FCT_OK;
}

/* ---- rows ---- */

struct rows_job {
    struct scoring *scoring;
    const int *next; /* the ids that came behind each row */
    int n_rows, first_row;
};

static const float *reference_row(const struct scoring *s, int row, int saved_row) {
    size_t n = (size_t)s->session->model->config.vocab_size;
    if (s->other)
        return s->other->scratch.logits + (size_t)row * (size_t)s->other->scratch.logits_stride;
    if (!s->saved_rows) return NULL;
    float *values = s->saved_rows + (size_t)row * n;
    fct_logits_file_row(&s->saved, (size_t)saved_row, values);
    return values;
}

static void score_row(const struct rows_job *job, int i) {
    struct scoring *s = job->scoring;
    const struct fct_scratch *scratch = &s->session->scratch;
    const float *logits = scratch->logits + (size_t)i * (size_t)scratch->logits_stride,
                *reference = reference_row(s, i, job->first_row + i);
    int n = s->session->model->config.vocab_size;
    double sum = fct_log_sum(logits, n);
    s->rows[i] = (struct row){.loss = sum - (double)logits[job->next[i]]};
    if (!reference) return;
    double reference_sum = fct_log_sum(reference, n);
    s->rows[i].reference_loss = reference_sum - (double)reference[job->next[i]];
    s->rows[i].divergence = fct_divergence_of(reference, reference_sum, logits, sum, n);
    s->rows[i].same = fct_best_of(logits, n) == fct_best_of(reference, n);
}

static void score_share(void *user, struct fct_team team) {
    const struct rows_job *job = user;
    int begin, end;
    fct_team_share(team, job->n_rows, 1, &begin, &end);
    for (int i = begin; i < end; i++) score_row(job, i);
}

/* Added up in the order of the text. */
static fct_status add_rows(struct scoring *s, int n_rows, fct_error *err) {
    fct_status status = FCT_OK;
    for (int i = 0; i < n_rows && !status; i++) {
        const struct row *row = &s->rows[i];
        s->n_done++;
        s->loss += row->loss;
        s->loss_squares += row->loss * row->loss;
        s->reference_loss += row->reference_loss;
        s->divergence += row->divergence;
        s->divergence_squares += row->divergence * row->divergence;
        s->n_same += row->same;
        if (row->divergence > s->out->max_divergence) s->out->max_divergence = row->divergence;
        if (s->writer.file) {
            const struct fct_scratch *scratch = &s->session->scratch;
            status = fct_logits_writer_row(
                &s->writer, scratch->logits + (size_t)i * (size_t)scratch->logits_stride, err);
        }
    }
    return status;
}

/* Rows [begin, end) of a pass that began at position `at` of a chunk. */
static fct_status score_rows(struct scoring *s, const struct fct_pass *pass,
                             const struct fct_pass *other_pass, int chunk, int at, int begin,
                             int end, fct_error *err) {
    fct_session *session = s->session;
    fct_status status =
        fct_forward_logits(pass, begin, end, session->pool, session->prefill_threads, err);
    if (!status && s->other)
        status = fct_forward_logits(other_pass, begin, end, s->other->pool,
                                    s->other->prefill_threads, err);
    if (status) return status;
    struct rows_job job = {
        .scoring = s,
        .next = s->chunks.ids + (size_t)chunk * (size_t)s->chunks.chunk + at + begin + 1,
        .n_rows = end - begin,
        .first_row = chunk * fct_chunk_rows(&s->chunks) + at + begin - s->chunks.first};
    fct_pool_run(session->pool, session->prefill_threads, score_share, &job);
    return add_rows(s, end - begin, err);
}

static fct_status restart(fct_session *session, const struct fct_chunks *c, int chunk,
                          fct_error *err) {
    struct fct_pass pass;
    fct_status status =
        fct_session_restart(session, c->ids + (size_t)chunk * (size_t)c->chunk, c->chunk, err);
    for (int at = 0; at < c->first && !status; at = session->cache.n_tokens) {
        int n = c->first - at < session->batch ? c->first - at : session->batch;
        status = fct_session_step(session, n, FCT_WANT_CACHE, &pass, err);
    }
    return status;
}

static fct_status score_chunk(struct scoring *s, int chunk, fct_error *err) {
    const struct fct_chunks *c = &s->chunks;
    struct fct_pass pass, other_pass;
    int end = c->chunk - 1, most = s->session->batch;
    if (s->other && s->other->batch < most) most = s->other->batch;
    fct_status status = restart(s->session, c, chunk, err);
    if (!status && s->other) status = restart(s->other, c, chunk, err);
    for (int at = c->first; at < end && !status; at += most) {
        int n = end - at < most ? end - at : most;
        status = fct_session_step(s->session, n, FCT_WANT_ALL, &pass, err);
        if (!status && s->other)
            status = fct_session_step(s->other, n, FCT_WANT_ALL, &other_pass, err);
        for (int begin = 0; begin < n && !status; begin += FCT_LOGITS_AT_ONCE) {
            int stop = n - begin < FCT_LOGITS_AT_ONCE ? n : begin + FCT_LOGITS_AT_ONCE;
            status = score_rows(s, &pass, &other_pass, chunk, at, begin, stop, err);
            if (!status && s->options->progress)
                s->options->progress(s->options->user, "scoring", (uint64_t)s->n_done,
                                     (uint64_t)c->n_chunks * (uint64_t)fct_chunk_rows(c));
        }
    }
    return status;
}

/* ---- the whole ---- */

/* Of a mean of n values with these sums. */
static double standard_error(double sum, double squares, int n) {
    if (n < 2) return 0;
    double mean = sum / n, variance = (squares / n - mean * mean) * n / (n - 1);
    return variance > 0 ? sqrt(variance / n) : 0;
}

static void conclude(struct scoring *s) {
    fct_scores *out = s->out;
    int n = s->n_done;
    out->chunk = s->chunks.chunk;
    out->n_chunks = s->chunks.n_chunks;
    out->n_positions = n;
    out->n_left_out = s->chunks.n_left_out;
    out->perplexity = exp(s->loss / n);
    out->perplexity_error = standard_error(s->loss, s->loss_squares, n) * out->perplexity;
    out->compared = s->options->against != NULL;
    if (!out->compared) return;
    out->reference_perplexity = exp(s->reference_loss / n);
    out->divergence = s->divergence / n;
    out->divergence_error = standard_error(s->divergence, s->divergence_squares, n);
    out->agreement = (double)s->n_same / n;
    out->agreement_error = standard_error(s->n_same, s->n_same, n);
}

static fct_status prepare(struct scoring *s, const int *ids, int n_ids, fct_error *err) {
    const fct_score_options *o = s->options;
    bool saved = o->against && fct_logits_file_is(o->against);
    if (o->chunk < 0 || o->max_chunks < 0)
        return fct_fail(err, FCT_ERR_ARGUMENT, "%d chunks of %d tokens", o->max_chunks, o->chunk);
    fct_status status = saved ? open_saved(s, err) : FCT_OK;
    int chunk = o->chunk ? o->chunk : saved ? s->saved.chunks.chunk : FCT_DEFAULT_CHUNK;
    if (!status && ids)
        status = fct_chunks_cut(&s->chunks, ids, n_ids, s->session->model->bos_id, chunk,
                                o->max_chunks, err);
    if (!o->whole && ids) s->chunks.first = s->chunks.chunk / 2;
    if (!status && !ids && !saved)
        status = fct_fail(err, FCT_ERR_ARGUMENT, "there is no text to score%s%s%s",
                          o->against ? ": " : "", o->against ? o->against : "",
                          o->against ? " is no file of logits, which would bring one" : "");
    if (!status && !ids) status = take_saved_text(s, err);
    if (!status && saved && ids) status = check_saved(s, err);
    if (!status) status = fct_chunks_fit(&s->chunks, s->session->context, err);
    if (!status && o->against && !saved) status = open_other(s, err);
    if (!status && o->save)
        status = fct_logits_writer_begin(&s->writer, o->save, s->session->model, &s->chunks, err);
    return status;
}

fct_status fct_score_ids(fct_session *session, const int *ids, int n_ids,
                         const fct_score_options *options, fct_scores *out, fct_error *err) {
    static const fct_score_options defaults;
    struct scoring s = {.session = session, .options = options ? options : &defaults, .out = out};
    *out = (fct_scores){0};
    s.saved.map.fd = -1;
    fct_status status = prepare(&s, ids, n_ids, err);
    for (int i = 0; i < s.chunks.n_chunks && !status; i++) status = score_chunk(&s, i, err);
    if (!status && s.writer.file) status = fct_logits_writer_finish(&s.writer, err);
    if (!status) conclude(&s);
    fct_logits_writer_free(&s.writer);
    fct_logits_file_close(&s.saved);
    fct_session_free(s.other);
    fct_model_free(s.other_model);
    fct_free(s.saved_rows);
    fct_chunks_free(&s.chunks);
    return status;
}
