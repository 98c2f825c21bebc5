/* tensor_plan.c - which tensors the packed file of a network has, in which order, and where each
 * comes from. */
#include "convert/tensor_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "convert/name_list.h"
#include "convert/quantize.h"

/* The plan being made; the first fault sticks. */
struct planning {
    struct fct_plan *plan;
    const fct_source *source;
    struct fct_plan_schemes schemes;
    char prefix[32]; /* "layers.3." or "" */
    fct_error *err;
    fct_status status;
    struct fct_name_list missing;
};

/* ---- one tensor ---- */

static const char *shape_text(const struct fct_source_tensor *tensor, char *buffer, size_t n) {
    size_t used = 0;
    buffer[0] = 0;
    for (int d = 0; d < tensor->n_dims && used < n; d++)
        used += (size_t)snprintf(buffer + used, n - used, "%s%llu", d ? ", " : "",
                                 (unsigned long long)tensor->dims[d]);
    return buffer;
}

static fct_status check_tensor(const struct fct_plan_entry *entry, const fct_source *source,
                               fct_error *err) {
    const struct fct_source_tensor *from = entry->from;
    char shape[200];
    bool vector = entry->kind == FCT_PLAN_VECTOR;
    if (from->n_dims != (vector ? 1 : 2) || from->dims[0] != (uint64_t)entry->rows ||
        (!vector && from->dims[1] != (uint64_t)entry->columns)) {
        shape_text(from, shape, sizeof shape);
        if (vector)
            return fct_fail(err, FCT_ERR_FORMAT,
                            "%s: %s has shape [%s], the configuration asks for [%d]", source->path,
                            from->name, shape, entry->rows);
        return fct_fail(err, FCT_ERR_FORMAT,
                        "%s: %s has shape [%s], the configuration asks for [%d, %d]", source->path,
                        from->name, shape, entry->rows, entry->columns);
    }
    if (!from->readable)
        return fct_fail(err, FCT_ERR_UNSUPPORTED,
                        "%s: %s is of type %s, which this version cannot convert", source->path,
                        from->name, from->dtype_name);
    return FCT_OK;
}

static void find_origin(struct planning *p, const char *origin, struct fct_plan_entry *entry) {
    entry->from = fct_source_find(p->source, origin);
    if (entry->from)
        p->status = check_tensor(entry, p->source, p->err);
    else
        fct_name_list_add(&p->missing, origin);
}

/* What was asked for, or what the source has; a matrix of other columns gets another group. */
static void choose_layout(const struct planning *p, struct fct_plan_entry *entry) {
    const struct fct_source_tensor *from = entry->from;
    bool own = p->schemes.keep && from && from->scheme != FCT_F32;
    enum fct_scheme scheme = own ? from->scheme : p->schemes.weights;
    int group = own ? from->group : p->schemes.group;
    entry->scheme = scheme;
    entry->group = group;
    entry->exact = from && from->exact && from->scheme == scheme && from->group == group;
    if (!entry->exact) fct_choose_layout(&entry->scheme, &entry->group, entry->columns);
    entry->fell_back = entry->scheme != scheme || entry->group != group;
}

/* A table stays what it is, or gets what was asked for. */
static void choose_table_layout(const struct planning *p, struct fct_plan_entry *entry) {
    const struct fct_source_tensor *from = entry->from;
    if (!p->schemes.keep_tables || !from || !from->table_blocks) return;
    entry->scheme = from->table_scheme;
    entry->blocks = from->table_blocks;
    entry->exact = true;
}

/* Adds an entry that is filled from the source's tensor called origin; NULL: called like the entry.
 */
static void add(struct planning *p, const char *name, const char *origin,
                struct fct_plan_entry entry) {
    struct fct_plan *plan = p->plan;
    if (p->status != FCT_OK) return;
    snprintf(entry.name, sizeof entry.name, "%s%s", p->prefix, name);
    if (p->source) find_origin(p, origin ? origin : entry.name, &entry);
    if (p->source && !entry.from) return;
    if (entry.kind == FCT_PLAN_MATRIX) choose_layout(p, &entry);
    if (entry.kind == FCT_PLAN_TABLE) choose_table_layout(p, &entry);
    if (p->status == FCT_OK)
        p->status = fct_grow((void **)&plan->entries, &plan->capacity, plan->n_entries + 1,
                             sizeof entry, p->err);
    if (p->status == FCT_OK) plan->entries[plan->n_entries++] = entry;
}

static void add_vector(struct planning *p, const char *name, int n, float shift, float scale) {
    add(p, name, NULL,
        (struct fct_plan_entry){
            .kind = FCT_PLAN_VECTOR, .rows = n, .columns = 1, .shift = shift, .scale = scale});
}

/* Two static scales, if the source has them. */
static void scales(struct planning *p, const char *name) {
    char full[120];
    snprintf(full, sizeof full, "%s%s", p->prefix, name);
    if (p->source && fct_source_find(p->source, full)) add_vector(p, name, 2, 0.0f, 1.0f);
}

/* name.weight and what rounds around it. */
static void add_matrix(struct planning *p, const char *name, const char *origin, int rows,
                       int columns) {
    char full[80];
    snprintf(full, sizeof full, "%s.weight", name);
    add(p, full, origin,
        (struct fct_plan_entry){.kind = FCT_PLAN_MATRIX, .rows = rows, .columns = columns});
    snprintf(full, sizeof full, "%s.activation_scales", name);
    scales(p, full);
}

static void matrix(struct planning *p, const char *name, int rows, int columns) {
    add_matrix(p, name, NULL, rows, columns);
}

/* A norm's weights, made such that they are multiplied with as they are. */
static void norm(struct planning *p, const char *name, int n) {
    add_vector(p, name, n, p->source ? p->source->norm_shift : 0.0f, 1.0f);
}

static void table(struct planning *p, const char *name, int rows, int columns, int blocks) {
    add(p, name, NULL,
        (struct fct_plan_entry){.kind = FCT_PLAN_TABLE,
                                .rows = rows,
                                .columns = columns,
                                .scheme = p->schemes.tables,
                                .blocks = blocks});
}

/* ---- the network ---- */

static void plan_layer(struct planning *p, const struct fct_config *c, int i) {
    const struct fct_layer_config *layer = &c->layers[i];
    int hidden = c->hidden_size, d = layer->head_dim, kv = layer->n_kv_heads * d,
        wide = layer->intermediate_size;
    snprintf(p->prefix, sizeof p->prefix, "layers.%d.", i);
    norm(p, "input_layernorm.weight", hidden);
    matrix(p, "self_attn.q_proj", c->n_heads * d, hidden);
    if (layer->own_kv) {
        matrix(p, "self_attn.k_proj", kv, hidden);
        if (!layer->keys_as_values) matrix(p, "self_attn.v_proj", kv, hidden);
    }
    /* The scale of the scores goes into the queries: attention itself knows none. */
    add_vector(p, "self_attn.q_norm.weight", d, p->source ? p->source->norm_shift : 0.0f,
               c->query_scale);
    if (layer->own_kv) {
        norm(p, "self_attn.k_norm.weight", d);
        scales(p, "self_attn.cache_scales");
    }
    matrix(p, "self_attn.o_proj", hidden, c->n_heads * d);
    norm(p, "post_attention_layernorm.weight", hidden);
    norm(p, "pre_feedforward_layernorm.weight", hidden);
    matrix(p, "mlp.gate_proj", wide, hidden);
    matrix(p, "mlp.up_proj", wide, hidden);
    matrix(p, "mlp.down_proj", hidden, wide);
    norm(p, "post_feedforward_layernorm.weight", hidden);
    if (c->per_layer_size) {
        matrix(p, "per_layer_input_gate", c->per_layer_size, hidden);
        matrix(p, "per_layer_projection", hidden, c->per_layer_size);
        norm(p, "post_per_layer_input_norm.weight", hidden);
    }
    if (c->has_layer_scalar) add_vector(p, "layer_scalar", 1, 0.0f, 1.0f);
    p->prefix[0] = 0;
}

static void plan_network(struct planning *p, const struct fct_config *c) {
    int per_layer = c->n_layers * c->per_layer_size;
    if (per_layer) {
        matrix(p, "per_layer_model_projection", per_layer, c->hidden_size);
        norm(p, "per_layer_projection_norm.weight", c->per_layer_size);
    }
    for (int i = 0; i < c->n_layers; i++) plan_layer(p, c, i);
    norm(p, "norm.weight", c->hidden_size);
    add_matrix(p, "lm_head", c->tied_head ? "embed_tokens.weight" : NULL, c->vocab_size,
               c->hidden_size);
    table(p, "embed_tokens.weight", c->vocab_size, c->hidden_size, 1);
    if (per_layer)
        table(p, "embed_tokens_per_layer.weight", c->per_layer_vocab_size, per_layer, c->n_layers);
}

/* ---- what is left over ---- */

/* Keys and values that the network takes from elsewhere: a checkpoint may carry them. */
static bool is_idle_kv(const char *name, const struct fct_config *c) {
    static const char stack[] = "layers.", block[] = ".self_attn.";
    if (strncmp(name, stack, strlen(stack)) != 0) return false;
    char *part;
    long i = strtol(name + strlen(stack), &part, 10);
    if (i < 0 || i >= c->n_layers || strncmp(part, block, strlen(block)) != 0) return false;
    part += strlen(block);
    const struct fct_layer_config *layer = &c->layers[i];
    if (strncmp(part, "v_proj.", 7) == 0) return !layer->own_kv || layer->keys_as_values;
    return !layer->own_kv &&
           (strncmp(part, "k_proj.", 7) == 0 || strcmp(part, "k_norm.weight") == 0 ||
            strcmp(part, "v_norm.weight") == 0 || strcmp(part, "cache_scales") == 0);
}

static fct_status count_leftovers(struct planning *p, const struct fct_config *c) {
    struct fct_name_list unused = {0};
    bool *planned = fct_new_array(p->source->n_tensors, sizeof *planned, p->err);
    if (!planned) return FCT_ERR_MEMORY;
    for (size_t i = 0; i < p->plan->n_entries; i++)
        planned[p->plan->entries[i].from - p->source->tensors] = true;
    for (size_t i = 0; i < p->source->n_tensors; i++) {
        const char *name = p->source->tensors[i].name;
        if (planned[i] || is_idle_kv(name, c) || strcmp(name, FCT_SOURCE_ROPE_FREQS) == 0) continue;
        if (fct_source_is_other_modality(name))
            p->plan->n_other_modalities++;
        else
            fct_name_list_add(&unused, name);
    }
    fct_free(planned);
    p->plan->n_unused = unused.n_names;
    fct_name_list_text(&unused, p->plan->unused, sizeof p->plan->unused);
    return FCT_OK;
}

fct_status fct_plan_make(struct fct_plan *plan, const struct fct_config *config,
                         const fct_source *source, struct fct_plan_schemes schemes,
                         fct_error *err) {
    struct planning p = {
        .plan = plan, .source = source, .schemes = schemes, .err = err, .status = FCT_OK};
    char buffer[600];
    memset(plan, 0, sizeof *plan);
    plan_network(&p, config);
    if (p.status == FCT_OK && p.missing.n_names)
        p.status =
            fct_fail(err, FCT_ERR_FORMAT, "%s: %zu tensors are missing: %s", source->path,
                     p.missing.n_names, fct_name_list_text(&p.missing, buffer, sizeof buffer));
    if (p.status == FCT_OK && source) p.status = count_leftovers(&p, config);
    if (p.status != FCT_OK) fct_plan_free(plan);
    return p.status;
}

fct_status fct_plan_network(struct fct_plan *plan, struct fct_config *config,
                            const fct_source *source, struct fct_plan_schemes schemes,
                            fct_error *err) {
    memset(plan, 0, sizeof *plan);
    fct_status status = fct_config_parse(config, source->config, source->path, err);
    if (status == FCT_OK && source->refusal)
        status = fct_fail(err, FCT_ERR_UNSUPPORTED, "%s: %s", source->path, source->refusal);
    if (status == FCT_OK) status = fct_plan_make(plan, config, source, schemes, err);
    return status;
}

void fct_plan_free(struct fct_plan *plan) {
    fct_free(plan->entries);
    memset(plan, 0, sizeof *plan);
}

/* ---- names of schemes ---- */

static const struct {
    const char *name;
    enum fct_scheme scheme;
    int group;
} known_weights[] = {{"q4", FCT_Q4, 32},
                     {"q4-g64", FCT_Q4, 64},
                     {"q4-g128", FCT_Q4, 128},
                     {"q8", FCT_Q8, 32},
                     {"f32", FCT_F32, 0}};
enum { N_KNOWN_WEIGHTS = sizeof known_weights / sizeof *known_weights };

bool fct_plan_parse_weights(const char *name, struct fct_plan_schemes *schemes) {
    for (size_t i = 0; i < N_KNOWN_WEIGHTS; i++)
        if (strcmp(name, known_weights[i].name) == 0) {
            schemes->weights = known_weights[i].scheme;
            schemes->group = known_weights[i].group;
            return true;
        }
    return false;
}

/* Number of matrices of this layout, those that fell back not counted. */
static size_t count_weights(const struct fct_plan *plan, enum fct_scheme scheme, int group) {
    size_t n = 0;
    for (size_t i = 0; i < plan->n_entries; i++) {
        const struct fct_plan_entry *entry = &plan->entries[i];
        n += entry->kind == FCT_PLAN_MATRIX && !entry->fell_back && entry->scheme == scheme &&
             entry->group == group;
    }
    return n;
}

const char *fct_plan_weights_name(const struct fct_plan *plan, char buffer[FCT_WEIGHTS_NAME]) {
    size_t used = 0, n_named = 0, n_all = 0;
    buffer[0] = 0;
    for (size_t i = 0; i < plan->n_entries; i++)
        n_all += plan->entries[i].kind == FCT_PLAN_MATRIX && !plan->entries[i].fell_back;
    for (size_t i = 0; i < N_KNOWN_WEIGHTS; i++) {
        size_t n = count_weights(plan, known_weights[i].scheme, known_weights[i].group);
        n_named += n;
        if (n)
            used += (size_t)snprintf(buffer + used, FCT_WEIGHTS_NAME - used, "%s%s",
                                     used ? "+" : "", known_weights[i].name);
    }
    if (n_named < n_all) snprintf(buffer, FCT_WEIGHTS_NAME, "mixed");
    return buffer;
}

bool fct_plan_parse_tables(const char *name, struct fct_plan_schemes *schemes) {
    if (strcmp(name, "q4") == 0)
        schemes->tables = FCT_Q4;
    else if (strcmp(name, "q8") == 0)
        schemes->tables = FCT_Q8;
    else if (strcmp(name, "f32") == 0)
        schemes->tables = FCT_F32;
    else
        return false;
    return true;
}
