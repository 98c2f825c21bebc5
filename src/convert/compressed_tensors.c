/* compressed_tensors.c - folders written by the library compressed-tensors in its format
 * pack-quantized: symmetric codes of 2, 4 or 8 bits with a scale a group or an output row.
 *
 * M.weight_packed: I32 [out][ceil(in * bits / 32)], codes plus half their range, lowest bits first:
 * in memory just what Google's mobile files have. M.weight_shape: [out, in]. M.weight_scale
 * [out][groups]. Static scales of activations: M.input_scale, M.output_scale, one number each. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "convert/module_pattern.h"
#include "convert/quantization.h"
#include "convert/safetensors_source.h"

enum { MAX_GROUPS = 64, MAX_NAME = 256 };
#define FORMAT "pack-quantized"

/* One entry of config_groups. */
struct scheme {
    const char *name;
    const json_t *targets;
    int bits;
    json_int_t group_size; /* 0: a scale a row */
    bool input, output;    /* have static scales */
};
struct schemes {
    struct scheme all[MAX_GROUPS];
    size_t n;
};

/* ---- the configuration ---- */

static const char *text_of(const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "missing";
}

/* What weights and activations have in common. */
static void check_arguments(struct fct_coding *c, const json_t *arguments, const char *where) {
    static const char *const known[] = {
        "num_bits", "type",        "symmetric", "strategy",        "group_size", "observer",
        "zp_dtype", "scale_dtype", "dynamic",   "observer_kwargs", NULL};
    fct_quantization_check_keys(c, arguments, where, known);
    if (strcmp(text_of(arguments, "type"), "int") != 0)
        fct_coding_problem(c, where, "is of type %s, not int", text_of(arguments, "type"));
    if (!json_is_true(json_object_get(arguments, "symmetric")))
        fct_coding_problem(c, where, "is not symmetric");
    const json_t *dynamic = json_object_get(arguments, "dynamic");
    if (dynamic && !json_is_false(dynamic)) fct_coding_problem(c, where, "is dynamic");
}

static void read_weights(struct fct_coding *c, struct scheme *scheme, const json_t *weights) {
    const char *strategy = text_of(weights, "strategy");
    json_int_t bits = json_integer_value(json_object_get(weights, "num_bits"));
    check_arguments(c, weights, scheme->name);
    if (bits != 2 && bits != 4 && bits != 8)
        fct_coding_problem(c, scheme->name, "num_bits is not 2, 4 or 8");
    scheme->bits = (int)bits;
    if (strcmp(strategy, "group") == 0) {
        scheme->group_size = json_integer_value(json_object_get(weights, "group_size"));
        if (scheme->group_size < 1) fct_coding_problem(c, scheme->name, "has no group_size");
    } else if (strcmp(strategy, "channel") != 0)
        fct_coding_problem(c, scheme->name, "has strategy %s, not group or channel", strategy);
}

/* Activations are left as they are, or rounded to int8 with one static scale. */
static bool read_activations(struct fct_coding *c, const struct scheme *scheme, const json_t *group,
                             const char *key) {
    const json_t *activations = json_object_get(group, key);
    char where[MAX_NAME];
    if (!activations || json_is_null(activations)) return false;
    snprintf(where, sizeof where, "%.100s %s", scheme->name, key);
    check_arguments(c, activations, where);
    if (json_integer_value(json_object_get(activations, "num_bits")) != 8 ||
        strcmp(text_of(activations, "strategy"), "tensor") != 0)
        fct_coding_problem(c, where, "is not 8 bits with one scale a tensor");
    return true;
}

static void read_group(struct fct_coding *c, struct schemes *schemes, const char *name,
                       const json_t *group) {
    static const char *const known[] = {
        "targets", "weights", "input_activations", "output_activations", "format", NULL};
    const json_t *format = json_object_get(group, "format");
    if (schemes->n == MAX_GROUPS) {
        fct_coding_problem(c, name, "is one of more than %d groups", MAX_GROUPS);
        return;
    }
    struct scheme *scheme = &schemes->all[schemes->n++];
    *scheme = (struct scheme){.name = name, .targets = json_object_get(group, "targets")};
    fct_quantization_check_keys(c, group, name, known);
    if (!json_is_array(scheme->targets)) fct_coding_problem(c, name, "has no targets");
    if (format && !json_is_null(format) && strcmp(text_of(group, "format"), FORMAT) != 0)
        fct_coding_problem(c, name, "has format %s, not " FORMAT, text_of(group, "format"));
    read_weights(c, scheme, json_object_get(group, "weights"));
    scheme->input = read_activations(c, scheme, group, "input_activations");
    scheme->output = read_activations(c, scheme, group, "output_activations");
}

static void read_config(struct fct_coding *c, struct schemes *schemes, const json_t *config) {
    static const char *const known[] = {
        "quant_method",  "format",         "quantization_status",
        "config_groups", "ignore",         "global_compression_ratio",
        "version",       "run_compressed", NULL};
    json_t *groups = json_object_get(config, "config_groups"), *group;
    const char *name, *where = "quantization_config";
    fct_quantization_check_keys(c, config, where, known);
    if (strcmp(text_of(config, "format"), FORMAT) != 0)
        fct_coding_problem(c, where, "has format %s, not " FORMAT, text_of(config, "format"));
    if (strcmp(text_of(config, "quantization_status"), "compressed") != 0)
        fct_coding_problem(c, where, "has status %s, not compressed",
                           text_of(config, "quantization_status"));
    if (!json_is_object(groups)) fct_coding_problem(c, where, "has no config_groups");
    json_object_foreach(groups, name, group) read_group(c, schemes, name, group);
}

/* ---- which group a module belongs to ---- */

/* re.match: from the beginning of the name. */
static bool matches_pattern(struct fct_coding *c, const char *pattern, const char *module) {
    char anchored[600];
    regex_t compiled;
    fct_error fault = {0};
    if ((size_t)snprintf(anchored, sizeof anchored, "^(?:%s)", pattern) >= sizeof anchored ||
        fct_pattern_compile(&compiled, anchored, &fault) != FCT_OK) {
        fct_coding_problem(c, "targets", "%s", fault.message[0] ? fault.message : "has a long one");
        return false;
    }
    bool matches = fct_pattern_matches(&compiled, module);
    regfree(&compiled);
    return matches;
}

/* Targets are names, patterns or classes, the more special first. */
enum kind { NAME, PATTERN, CLASS, N_KINDS };
static bool is_target(struct fct_coding *c, const char *target, enum kind kind,
                      const char *module) {
    bool pattern = strncmp(target, "re:", 3) == 0, table = strstr(module, "embed_tokens") != NULL;
    switch (kind) {
    case NAME:
        return strcmp(target, module) == 0;
    case PATTERN:
        return pattern && matches_pattern(c, target + 3, module);
    default:
        return strcmp(target, table ? "Embedding" : "Linear") == 0;
    }
}

static const struct scheme *scheme_of(struct fct_coding *c, const struct schemes *schemes,
                                      const char *module) {
    for (int kind = NAME; kind < N_KINDS; kind++)
        for (size_t g = 0; g < schemes->n; g++) {
            size_t i;
            const json_t *value;
            json_array_foreach(schemes->all[g].targets, i, value) {
                const char *target = json_string_value(value);
                if (target && is_target(c, target, (enum kind)kind, module))
                    return &schemes->all[g];
            }
        }
    return NULL;
}

/* ---- tensors ---- */

/* The two numbers of M.weight_shape. */
static bool read_shape(struct fct_coding *c, const char *module, uint64_t shape[2]) {
    const struct fct_source_tensor *raw = fct_coding_take(c, module, "weight_shape");
    if (!raw || c->status != FCT_OK) return false;
    enum fct_dtype dtype = ((const struct fct_tensor *)raw->place)->dtype;
    int64_t wide[2];
    int32_t narrow[2];
    bool is_wide = dtype == FCT_DTYPE_I64;
    if ((!is_wide && dtype != FCT_DTYPE_I32) || raw->n_dims != 1 || raw->dims[0] != 2) return false;
    c->status = fct_shards_read_bytes(c->source, raw, 0, is_wide ? (void *)wide : (void *)narrow,
                                      is_wide ? sizeof wide : sizeof narrow, c->err);
    for (int d = 0; d < 2; d++) shape[d] = (uint64_t)(is_wide ? wide[d] : (int64_t)narrow[d]);
    return c->status == FCT_OK && shape[0] >= 1 && shape[0] <= INT32_MAX / 32 && shape[1] >= 1 &&
           shape[1] <= INT32_MAX / 32;
}

/* Codes of shape and scales as the scheme says they are. */
static bool check_layout(struct fct_coding *c, const struct scheme *scheme,
                         const struct fct_source_tensor *raw,
                         const struct fct_source_tensor *scales, const uint64_t shape[2]) {
    uint64_t words = (shape[1] * (uint64_t)scheme->bits + 31) / 32,
             size = (uint64_t)scheme->group_size, blocks = size ? shape[1] / size : 1;
    if (((const struct fct_tensor *)raw->place)->dtype != FCT_DTYPE_I32 || raw->n_dims != 2 ||
        raw->dims[0] != shape[0] || raw->dims[1] != words) {
        fct_coding_problem(c, raw->name, "is not I32 [%llu, %llu], as %d bits would be",
                           (unsigned long long)shape[0], (unsigned long long)words, scheme->bits);
        return false;
    }
    if ((size && shape[1] % size != 0) || scales->n_dims != 2 || scales->dims[1] != blocks) {
        fct_coding_problem(c, scales->name, "does not have %llu scales a row",
                           (unsigned long long)blocks);
        return false;
    }
    return true;
}

static void add_scales(struct fct_coding *c, const struct scheme *scheme, const char *module) {
    float input = fct_coding_number(c, module, "input_scale"),
          output = fct_coding_number(c, module, "output_scale");
    if (scheme->input != (input > 0) || scheme->output != (output > 0))
        fct_coding_problem(c, module,
                           "has scales of activations where %s has none, or none where "
                           "it has",
                           scheme->name);
    fct_coding_add_pair(c, module, "activation_scales", input, output);
}

static void add_packed(struct fct_coding *c, const struct schemes *schemes,
                       const struct fct_source_tensor *raw, const char *module, const char *full) {
    uint64_t shape[2];
    const struct scheme *scheme = scheme_of(c, schemes, full);
    fct_coding_take(c, module, "weight_packed");
    const struct fct_source_tensor *scales = fct_coding_take(c, module, "weight_scale");
    bool shaped = read_shape(c, module, shape);
    if (!scheme)
        fct_coding_problem(c, module, "is no target of a group");
    else if (!scales)
        fct_coding_problem(c, raw->name, "has no weight_scale");
    else if (!shaped)
        fct_coding_problem(c, raw->name, "has no weight_shape of two numbers");
    else if (check_layout(c, scheme, raw, scales, shape)) {
        fct_coding_add(
            c, module,
            (struct fct_coded){
                .codes = *raw, .scales = *scales, .bits = scheme->bits, .columns = (int)shape[1]});
        add_scales(c, scheme, module);
    }
}

void fct_quantization_compressed(struct fct_coding *c, const json_t *config) {
    static const char suffix[] = ".weight_packed";
    struct schemes schemes = {.n = 0};
    read_config(c, &schemes, config);
    if (c->problems.n_names) return;
    for (size_t i = 0; i < c->source->n_tensors && c->status == FCT_OK; i++) {
        const struct fct_source_tensor *raw = &c->source->tensors[i];
        const char *full = fct_quantization_full_name(raw);
        size_t n = strlen(raw->name), n_full = strlen(full), n_suffix = strlen(suffix);
        char module[MAX_NAME], full_module[MAX_NAME];
        if (n <= n_suffix || n_full >= MAX_NAME || fct_source_is_other_modality(raw->name) ||
            strcmp(raw->name + n - n_suffix, suffix) != 0)
            continue;
        snprintf(module, sizeof module, "%.*s", (int)(n - n_suffix), raw->name);
        snprintf(full_module, sizeof full_module, "%.*s", (int)(n_full - n_suffix), full);
        add_packed(c, &schemes, raw, module, full_module);
    }
    static const char *const foreign[] = {"_scale", "_shape", "_zero_point", "_g_idx",
                                          "_global_scale"};
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        fct_coding_refuse_leftovers(c, foreign[i], "is not expected");
}
