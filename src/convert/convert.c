/* convert.c - fct_convert: a checkpoint becomes a packed file. */
#include <stdarg.h>
#include <string.h>

#include <xxhash.h>

#include "base/error.h"
#include "base/memory.h"
#include "convert/coded.h"
#include "convert/pack_metadata.h"
#include "convert/statistics_file.h"
#include "convert/stream.h"
#include "text/vocabulary.h"

/* XXH3-64 of the chat template whose rules facet follows (google/gemma-4-E2B-it, July 2026), white
 * space at the end not counted. */
static const XXH64_hash_t KNOWN_TEMPLATE = 0x6b025fb2ff9052d9;

struct conversion {
    const fct_convert_options *options;
    const char *weights, *tables; /* names of schemes */
    char weights_made[FCT_WEIGHTS_NAME];
    struct fct_loss *losses;      /* [plan.n_entries] */
    struct fct_grid_count *grids; /* the same */
    struct fct_plan_schemes schemes;
    fct_source *source;
    struct fct_config config;
    struct fct_plan plan;
    uint8_t *vocabulary; /* the block; NULL: none */
    size_t vocabulary_bytes;
    const char *chat;
    json_t *expected; /* NULL: none */
    bool absmax;      /* 4-bit scales are not searched */
    struct fct_statistics_file statistics;
    fct_pack_writer *writer;
    fct_error *err;
};

/* ---- what the person is told ---- */

static void note(const struct conversion *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void note(const struct conversion *c, const char *format, ...) {
    char line[1024];
    va_list arguments;
    if (!c->options->note) return;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    c->options->note(c->options->user, line);
}

static const char *layout_text(const struct fct_plan_entry *entry, char buffer[64]) {
    const char *scheme = fct_scheme_name(entry->scheme);
    if (entry->kind == FCT_PLAN_TABLE && entry->blocks > 1)
        snprintf(buffer, 64, "%s, %d scales a row", scheme, entry->blocks);
    else if (entry->kind == FCT_PLAN_MATRIX && entry->group)
        snprintf(buffer, 64, "%s, groups of %d", scheme, entry->group);
    else
        snprintf(buffer, 64, entry->scheme == FCT_F32 ? "%s" : "%s, one scale a row", scheme);
    return buffer;
}

/* One line for all layers of a matrix: they share what stands behind "layers.N.". */
static const char *without_layer(const char *name) {
    if (strncmp(name, "layers.", 7) != 0) return name;
    return strchr(name + 7, '.') + 1;
}
static bool same_line(const struct fct_plan_entry *a, const struct fct_plan_entry *b) {
    return a->kind == b->kind && a->blocks == b->blocks && a->scheme == b->scheme &&
           a->group == b->group && a->exact == b->exact &&
           strcmp(without_layer(a->name), without_layer(b->name)) == 0;
}

static void note_types(const struct conversion *c) {
    char layout[64];
    for (size_t i = 0; i < c->plan.n_entries; i++) {
        const struct fct_plan_entry *entry = &c->plan.entries[i];
        uint64_t bytes = 0;
        size_t n = 0, first = c->plan.n_entries;
        for (size_t j = 0; j < c->plan.n_entries; j++)
            if (same_line(entry, &c->plan.entries[j])) {
                first = j < first ? j : first;
                bytes += fct_plan_entry_bytes(&c->plan.entries[j]);
                n++;
            }
        if (first != i || entry->kind == FCT_PLAN_VECTOR) continue;
        note(c, "%s%s: %s; %zu %s, %.1f MB%s", n > 1 ? "layers.*." : "",
             n > 1 ? without_layer(entry->name) : entry->name, layout_text(entry, layout), n,
             entry->kind == FCT_PLAN_TABLE ? "table"
             : n > 1                       ? "matrices"
                                           : "matrix",
             (double)bytes / 1e6,
             entry->exact       ? "; the source's own codes"
             : entry->fell_back ? "; its width is no multiple of the group asked for"
                                : "");
    }
}

/* Codes of the source that became other codes. */
static bool is_requantized(const struct fct_plan_entry *entry) {
    return entry->kind != FCT_PLAN_VECTOR && entry->scheme != FCT_F32 && !entry->exact &&
           entry->from->scheme != FCT_F32;
}

/* Who named no scheme got 4 bits, also for codes that had more, or other ones. */
static void hint_at_closer(const struct conversion *c) {
    bool is_coarse = false;
    for (size_t i = 0; i < c->plan.n_entries; i++)
        is_coarse |= c->plan.entries[i].kind == FCT_PLAN_MATRIX &&
                     c->plan.entries[i].scheme == FCT_Q4 && is_requantized(&c->plan.entries[i]);
    if (is_coarse && !c->options->weights)
        note(c, "hint: --weights q8 keeps these matrices closer to the source's, in about twice "
                "the bytes");
}

/* One line for what was stored alike and has become alike. */
static void note_losses(const struct conversion *c) {
    const struct fct_plan_entry *entries = c->plan.entries;
    char layout[64];
    for (size_t i = 0; i < c->plan.n_entries; i++) {
        struct fct_loss sum = {0, 0};
        size_t n = 0, first = i;
        if (!is_requantized(&entries[i])) continue;
        for (size_t j = 0; j < c->plan.n_entries; j++)
            if (is_requantized(&entries[j]) && same_line(&entries[i], &entries[j]) &&
                strcmp(entries[i].from->dtype_name, entries[j].from->dtype_name) == 0) {
                first = j < first ? j : first;
                sum.error += c->losses[j].error;
                sum.power += c->losses[j].power;
                n++;
            }
        if (first != i) continue;
        note(c, "%s%s: %s to %s: %zu of them, rms error %.2f %% of their rms",
             n > 1 ? "layers.*." : "", n > 1 ? without_layer(entries[i].name) : entries[i].name,
             entries[i].from->dtype_name, layout_text(&entries[i], layout), n,
             100 * fct_loss_relative(&sum));
    }
    hint_at_closer(c);
}

/* Only bfloat16 can hold the weights of a grid rounded; what is as exact as float16 needs no help.
 */
static void look_for_grids(struct conversion *c) {
    for (size_t i = 0; i < c->plan.n_entries; i++) {
        struct fct_plan_entry *entry = &c->plan.entries[i];
        if (entry->kind == FCT_PLAN_MATRIX && entry->scheme == FCT_Q4 && entry->group &&
            !c->absmax && strcmp(entry->from->dtype_name, "BF16") == 0)
            entry->rounding.grid = &c->grids[i];
    }
}

static void note_grid(const struct conversion *c, const char *what, uint64_t n_exact,
                      uint64_t n_groups) {
    note(c, "%s: %llu of %llu groups lie on a 4-bit grid and are kept exactly (%.2f %%)", what,
         (unsigned long long)n_exact, (unsigned long long)n_groups,
         100.0 * (double)n_exact / (double)n_groups);
}

/* One line for all layers of a matrix, and a total: of checkpoints that were trained so. Elsewhere
 * a group may lie on a grid by chance. */
static void note_grids(const struct conversion *c) {
    const struct fct_plan_entry *entries = c->plan.entries;
    uint64_t n_groups = 0, n_exact = 0;
    for (size_t i = 0; i < c->plan.n_entries; i++) {
        n_groups += c->grids[i].n_groups;
        n_exact += c->grids[i].n_exact;
    }
    if (n_exact < n_groups / 10 || n_groups == 0) return;
    for (size_t i = 0; i < c->plan.n_entries; i++) {
        uint64_t own_groups = 0, own_exact = 0;
        size_t first = c->plan.n_entries;
        for (size_t j = 0; j < c->plan.n_entries; j++)
            if (c->grids[j].n_groups && same_line(&entries[i], &entries[j])) {
                first = j < first ? j : first;
                own_groups += c->grids[j].n_groups;
                own_exact += c->grids[j].n_exact;
            }
        if (first == i) note_grid(c, without_layer(entries[i].name), own_exact, own_groups);
    }
    note_grid(c, "all matrices", n_exact, n_groups);
}

static void note_rounded_scales(const struct conversion *c) {
    const struct fct_coded_list *coded = c->source->coded;
    if (coded && coded->n_scales && !coded->n_rounded)
        note(c, "all %llu scales of groups are float16 as they are",
             (unsigned long long)coded->n_scales);
    else if (coded && coded->n_scales)
        note(c, "%llu of %llu scales of groups were no float16 and have been rounded to it",
             (unsigned long long)coded->n_rounded, (unsigned long long)coded->n_scales);
}

static bool is_known_template(const char *text) {
    size_t n = strlen(text);
    while (n && strchr(" \t\r\n", text[n - 1])) n--;
    return XXH3_64bits(text, n) == KNOWN_TEMPLATE;
}

static void note_source(const struct conversion *c) {
    if (c->plan.n_other_modalities)
        note(c, "%zu tensors of vision and audio are left out: facet runs the text network",
             c->plan.n_other_modalities);
    if (c->plan.n_unused)
        note(c, "%zu tensors that the text network does not use are left out: %s", c->plan.n_unused,
             c->plan.unused);
    if (!c->vocabulary) note(c, "there is no tokenizer: only ids go in and out");
    if (c->source->chat_template && strcmp(c->chat, "gemma4") == 0 &&
        !is_known_template(c->source->chat_template))
        note(c, "the chat template differs from Gemma 4's of July 2026, whose rules are used");
    if (c->config.per_layer_size && c->schemes.tables == FCT_Q4)
        note(c, "warning: embed_tokens_per_layer in 4 bits is known to harm answers; q8 is the "
                "default");
}

/* ---- reading what is small ---- */

static fct_status read_options(struct conversion *c) {
    c->weights = c->options->weights ? c->options->weights : "q4";
    c->schemes.keep = !c->options->weights;
    c->schemes.keep_tables = !c->options->tables;
    if (!fct_plan_parse_weights(c->weights, &c->schemes))
        return fct_fail(c->err, FCT_ERR_ARGUMENT,
                        "weights %s: not one of q4, q4-g64, q4-g128, q8, f32", c->weights);
    c->tables = c->options->tables              ? c->options->tables
                : c->schemes.weights == FCT_F32 ? "f32"
                                                : "q8";
    if (!fct_plan_parse_tables(c->tables, &c->schemes))
        return fct_fail(c->err, FCT_ERR_ARGUMENT, "tables %s: not one of q8, q4, f32", c->tables);
    const char *rounding = c->options->rounding ? c->options->rounding : "search";
    c->absmax = strcmp(rounding, "absmax") == 0;
    if (!c->absmax && strcmp(rounding, "search") != 0)
        return fct_fail(c->err, FCT_ERR_ARGUMENT, "rounding %s: not one of search, absmax",
                        rounding);
    if (c->absmax && c->options->statistics)
        return fct_fail(c->err, FCT_ERR_ARGUMENT,
                        "statistics are of use only where scales are searched, not with absmax");
    if (c->options->n_threads < 0)
        return fct_fail(c->err, FCT_ERR_ARGUMENT, "%d threads make no sense",
                        c->options->n_threads);
    return FCT_OK;
}

static fct_status read_vocabulary(struct conversion *c) {
    c->chat = "none";
    int n_restored;
    fct_status status = c->source->read_vocabulary(c->source, &c->vocabulary, &c->vocabulary_bytes,
                                                   &n_restored, c->err);
    if (status != FCT_OK || !c->vocabulary) return status;
    if (n_restored)
        note(c, "%d pieces of the vocabulary had lost their byte order mark and have it again",
             n_restored);
    fct_vocabulary *vocabulary = fct_vocabulary_open(c->vocabulary, c->vocabulary_bytes, c->err);
    if (!vocabulary) return FCT_ERR_FORMAT;
    if (fct_vocabulary_control(vocabulary, "<|turn>") >= 0)
        c->chat = "gemma4";
    else if (fct_vocabulary_control(vocabulary, "<start_of_turn>") >= 0)
        c->chat = "gemma3";
    int size = fct_vocabulary_text_size(vocabulary);
    fct_vocabulary_free(vocabulary);
    if (size <= c->config.vocab_size) return FCT_OK;
    return fct_fail(c->err, FCT_ERR_FORMAT,
                    "%s: the tokenizer has %d pieces, the configuration's vocab_size is %d",
                    c->source->path, size, c->config.vocab_size);
}

/* How the scales of each matrix are chosen. */
static fct_status plan_rounding(struct conversion *c) {
    size_t n_found = 0, n_wanted = 0;
    fct_status status = FCT_OK;
    if (c->options->statistics)
        status = fct_statistics_file_open(&c->statistics, c->options->statistics, c->err);
    for (size_t i = 0; i < c->plan.n_entries && status == FCT_OK; i++) {
        struct fct_plan_entry *entry = &c->plan.entries[i];
        entry->rounding.absmax = c->absmax;
        entry->rounding.fine = !c->absmax && entry->from && entry->from->scheme != FCT_F32;
        if (!c->options->statistics || entry->kind != FCT_PLAN_MATRIX) continue;
        status = fct_statistics_file_find(&c->statistics, entry->name, entry->columns,
                                          &entry->rounding.importance, c->err);
        n_found += entry->rounding.importance != NULL;
        n_wanted++;
    }
    if (status != FCT_OK || n_found == n_wanted) return status;
    if (!n_found)
        return fct_fail(c->err, FCT_ERR_ARGUMENT, "%s: has nothing about the matrices of %s",
                        c->options->statistics, c->source->path);
    note(c, "%s: has nothing about %zu of %zu matrices", c->options->statistics, n_wanted - n_found,
         n_wanted);
    return FCT_OK;
}

static fct_status read_expected(struct conversion *c) {
    if (!c->options->expected) {
        c->expected = fct_expected_known(c->source, &c->config);
        return FCT_OK;
    }
    fct_error failure = {.code = FCT_ERR_FORMAT};
    c->expected = fct_expected_read(c->options->expected, c->config.vocab_size, &failure);
    return c->expected ? FCT_OK : fct_fail(c->err, failure.code, "%s", failure.message);
}

static fct_status read_source(struct conversion *c, const char *path) {
    fct_error failure = {.code = FCT_ERR_FORMAT};
    c->source = fct_source_open(path, &failure);
    if (!c->source) return fct_fail(c->err, failure.code, "%s", failure.message);
    fct_status status = fct_plan_network(&c->plan, &c->config, c->source, c->schemes, c->err);
    if (status == FCT_OK && *fct_plan_weights_name(&c->plan, c->weights_made))
        c->weights = c->weights_made;
    if (status == FCT_OK) status = plan_rounding(c);
    if (status == FCT_OK) status = read_vocabulary(c);
    if (status == FCT_OK) status = read_expected(c);
    return status;
}

/* ---- writing ---- */

/* Where every matrix (or table) is what the source has, nothing was converted. */
static const char *made_of(const struct conversion *c, enum fct_plan_kind kind, const char *name) {
    for (size_t i = 0; i < c->plan.n_entries; i++)
        if (c->plan.entries[i].kind == kind && !c->plan.entries[i].exact) return name;
    return "the source's own codes";
}

static fct_status declare_metadata(struct conversion *c) {
    fct_pack_writer *writer = c->writer;
    char changes[240];
    snprintf(changes, sizeof changes,
             "weights of linear layers made %s and of lookup tables %s by facet %s%s; "
             "parts other than the text "
             "network left out",
             made_of(c, FCT_PLAN_MATRIX, c->weights), made_of(c, FCT_PLAN_TABLE, c->tables),
             FCT_VERSION,
             c->absmax                ? ", 4-bit scales by the largest weight"
             : c->options->statistics ? ", 4-bit scales weighed with statistics of activations"
                                      : "");
    const char *const pairs[][2] = {
        {"weights", c->weights},
        {"chat", c->chat},
        {"source", c->source->name},
        {"licence", c->source->licence ? c->source->licence : "unknown"},
        {"changes", changes}};
    fct_status status = fct_metadata_json(writer, "config", fct_metadata_config(c->source), c->err);
    if (status == FCT_OK)
        status = fct_metadata_json(writer, "generation",
                                   fct_metadata_generation(c->source, &c->config), c->err);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs && status == FCT_OK; i++)
        status = fct_pack_writer_metadata(writer, pairs[i][0], pairs[i][1], c->err);
    if (status == FCT_OK && c->expected)
        status = fct_metadata_json(writer, "expected", json_incref(c->expected), c->err);
    return status;
}

static fct_status declare_entry(struct conversion *c, const struct fct_plan_entry *e) {
    switch (e->kind) {
    case FCT_PLAN_MATRIX:
        return fct_pack_writer_matrix(c->writer, e->name, e->scheme, e->group, e->rows, e->columns,
                                      c->err);
    case FCT_PLAN_TABLE:
        return fct_pack_writer_table(c->writer, e->name, e->scheme, e->blocks, e->rows, e->columns,
                                     c->err);
    default:
        return fct_pack_writer_vector(c->writer, e->name, e->rows, c->err);
    }
}

static fct_status begin_file(struct conversion *c, const char *out) {
    if (c->source->holds_file(c->source, out))
        return fct_fail(c->err, FCT_ERR_ARGUMENT, "%s: is part of what is being converted", out);
    c->writer = fct_pack_writer_new(c->err);
    if (!c->writer) return FCT_ERR_MEMORY;
    fct_status status = declare_metadata(c);
    for (size_t i = 0; i < c->plan.n_entries && status == FCT_OK; i++)
        status = declare_entry(c, &c->plan.entries[i]);
    if (status == FCT_OK && c->vocabulary)
        status =
            fct_pack_writer_bytes(c->writer, FCT_TENSOR_TOKENIZER, c->vocabulary_bytes, c->err);
    if (status == FCT_OK) status = fct_pack_writer_begin(c->writer, out, c->err);
    return status;
}

static fct_status write_tensors(struct conversion *c) {
    fct_status status = FCT_ERR_MEMORY;
    fct_stream *stream = NULL;
    fct_pool *pool =
        fct_pool_new(c->options->n_threads ? c->options->n_threads : fct_cpu_count(), c->err);
    if (pool) stream = fct_stream_new(c->source, &c->plan, c->writer, pool, c->err);
    if (stream) {
        fct_stream_on_progress(stream, c->options->progress, c->options->user);
        status = FCT_OK;
    }
    c->losses = fct_new_array(c->plan.n_entries, sizeof *c->losses, c->err);
    c->grids = fct_new_array(c->plan.n_entries, sizeof *c->grids, c->err);
    if (!c->losses || !c->grids) status = FCT_ERR_MEMORY;
    if (c->grids) look_for_grids(c);
    for (size_t i = 0; i < c->plan.n_entries && status == FCT_OK; i++)
        status =
            fct_stream_tensor(stream, &c->plan.entries[i],
                              is_requantized(&c->plan.entries[i]) ? &c->losses[i] : NULL, c->err);
    if (status == FCT_OK && c->vocabulary)
        status = fct_pack_writer_write(c->writer, c->vocabulary, c->vocabulary_bytes, c->err);
    fct_stream_free(stream);
    fct_pool_free(pool);
    return status;
}

fct_status fct_convert(const char *source, const char *out, const fct_convert_options *options,
                       fct_error *err) {
    static const fct_convert_options defaults = {0};
    struct conversion c = {.options = options ? options : &defaults, .err = err};
    c.statistics.map.fd = -1;
    fct_status status = read_options(&c);
    if (status == FCT_OK) status = read_source(&c, source);
    if (status == FCT_OK) note_source(&c);
    if (status == FCT_OK) status = begin_file(&c, out);
    if (status == FCT_OK) note_types(&c);
    if (status == FCT_OK) status = write_tensors(&c);
    if (status == FCT_OK) note_losses(&c);
    if (status == FCT_OK) note_grids(&c);
    if (status == FCT_OK) note_rounded_scales(&c);
    if (status == FCT_OK) status = fct_pack_writer_finish(c.writer, err);
    fct_pack_writer_free(c.writer);
    json_decref(c.expected);
    fct_free(c.vocabulary);
    fct_free(c.losses);
    fct_free(c.grids);
    fct_statistics_file_close(&c.statistics);
    fct_plan_free(&c.plan);
    fct_source_free(c.source);
    return status;
}
