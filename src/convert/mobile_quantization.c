/* mobile_quantization.c - Google's mobile checkpoints: codes of 2, 4 or 8 bits with one scale an
 * output row, chosen module by module, and static scales of activations.
 *
 * M.weight: U8, 8 / bits codes a byte, or I8 for 8 bits; M.weight_scale [out][1]; the same for
 * tables with .embedding_quantized and .embedding_scale [rows][blocks]. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "convert/module_pattern.h"
#include "convert/quantization.h"

enum { MAX_RULES = 256, MAX_NAME = 256 };

/* module_quant_configs, in the order of the file. */
struct rules {
    struct {
        regex_t pattern;
        int bits;
    } all[MAX_RULES];
    size_t n;
    int bits; /* of all others */
    bool embeddings;
    const json_t *plain; /* modules_to_not_convert */
};

/* ---- the configuration ---- */

static int read_bits(struct fct_coding *c, const json_t *object, const char *where) {
    json_int_t bits = json_integer_value(json_object_get(object, "num_bits"));
    if (bits != 2 && bits != 4 && bits != 8)
        fct_coding_problem(c, where, "num_bits is not 2, 4 or 8");
    return (int)bits;
}

static void add_rule(struct fct_coding *c, struct rules *rules, const char *pattern,
                     const json_t *options) {
    static const char *const known[] = {"num_bits", NULL};
    fct_error fault = {0};
    if (rules->n == MAX_RULES) {
        fct_coding_problem(c, pattern, "is one of more than %d patterns", MAX_RULES);
        return;
    }
    if (fct_pattern_compile(&rules->all[rules->n].pattern, pattern, &fault) != FCT_OK) {
        fct_coding_problem(c, "module_quant_configs", "%s", fault.message);
        return;
    }
    rules->all[rules->n++].bits = read_bits(c, options, pattern);
    fct_quantization_check_keys(c, options, pattern, known);
}

static void read_rules(struct fct_coding *c, struct rules *rules, const json_t *config) {
    static const char *const known[] = {"quant_method",           "num_bits",
                                        "quantize_embeddings",    "module_quant_configs",
                                        "modules_to_not_convert", NULL};
    const json_t *embeddings = json_object_get(config, "quantize_embeddings");
    json_t *list = json_object_get(config, "module_quant_configs"), *options;
    const char *pattern;
    fct_quantization_check_keys(c, config, "quantization_config", known);
    rules->bits = read_bits(c, config, "quantization_config");
    rules->embeddings = json_is_true(embeddings);
    rules->plain = json_object_get(config, "modules_to_not_convert");
    json_object_foreach(list, pattern, options) add_rule(c, rules, pattern, options);
}

static int bits_of(const struct rules *rules, const char *module) {
    for (size_t i = 0; i < rules->n; i++)
        if (fct_pattern_matches(&rules->all[i].pattern, module)) return rules->all[i].bits;
    return rules->bits;
}

/* Is the module, or one that holds it, among those left as they are? */
static bool is_plain(const struct rules *rules, const char *module) {
    size_t i, n_module = strlen(module);
    const json_t *value;
    json_array_foreach(rules->plain, i, value) {
        const char *name = json_string_value(value);
        size_t n = name ? strlen(name) : 0;
        if (!n || n > n_module) continue;
        if (strncmp(module, name, n) == 0 && (module[n] == 0 || module[n] == '.')) return true;
        const char *end = module + n_module - n;
        if (strcmp(end, name) == 0 && (end == module || end[-1] == '.')) return true;
    }
    return false;
}

/* ---- tensors ---- */

/* name without .suffix in module; false: it does not end so. */
static bool split(const char *name, const char *suffix, char module[MAX_NAME]) {
    size_t n = strlen(name), n_suffix = strlen(suffix);
    if (n <= n_suffix + 1 || n - n_suffix > MAX_NAME || name[n - n_suffix - 1] != '.' ||
        strcmp(name + n - n_suffix, suffix) != 0)
        return false;
    snprintf(module, MAX_NAME, "%.*s", (int)(n - n_suffix - 1), name);
    return true;
}

static bool is_codes(const struct fct_source_tensor *raw) {
    enum fct_dtype dtype = ((const struct fct_tensor *)raw->place)->dtype;
    return dtype == FCT_DTYPE_U8 || dtype == FCT_DTYPE_I8;
}

/* Codes `raw` of a module with so many bits, and its scales. */
static void add_codes(struct fct_coding *c, const struct rules *rules,
                      const struct fct_source_tensor *raw, const char *module, const char *suffix,
                      const char *scale_suffix) {
    char full[MAX_NAME];
    if (!split(fct_quantization_full_name(raw), suffix, full)) {
        fct_coding_problem(c, raw->name, "has too long a name");
        return;
    }
    int bits = bits_of(rules, full);
    bool is_signed = ((const struct fct_tensor *)raw->place)->dtype == FCT_DTYPE_I8;
    if (is_plain(rules, full))
        fct_coding_problem(c, raw->name, "has codes, but modules_to_not_convert names it");
    if (is_signed != (bits == 8))
        fct_coding_problem(c, raw->name, "is %s, which %d bits are not stored in", raw->dtype_name,
                           bits);
    fct_coding_take(c, module, suffix);
    const struct fct_source_tensor *scales = fct_coding_take(c, module, scale_suffix);
    if (!scales) {
        fct_coding_problem(c, raw->name, "has no %s", scale_suffix);
        return;
    }
    fct_coding_add(
        c, module,
        (struct fct_coded){.codes = *raw,
                           .scales = *scales,
                           .bits = bits,
                           .is_signed = is_signed,
                           .columns = (int)(raw->n_dims == 2 && raw->dims[1] < INT32_MAX / 8
                                                ? raw->dims[1] * 8 / (uint64_t)bits
                                                : 0)});
}

static void add_linear(struct fct_coding *c, const struct rules *rules,
                       const struct fct_source_tensor *raw, const char *module) {
    char full[MAX_NAME];
    if (is_codes(raw)) {
        add_codes(c, rules, raw, module, "weight", "weight_scale");
        fct_coding_add_pair(c, module, "activation_scales",
                            fct_coding_number(c, module, "input_activation_scale"),
                            fct_coding_number(c, module, "output_activation_scale"));
        return;
    }
    /* Norms have one dimension; what has two is a matrix or a table. */
    if (raw->n_dims == 2 && split(fct_quantization_full_name(raw), "weight", full) &&
        !is_plain(rules, full) && (rules->embeddings || !strstr(full, "embed_tokens")))
        fct_coding_problem(c, raw->name, "is %s, and modules_to_not_convert does not name it",
                           raw->dtype_name);
}

static void add_tensor(struct fct_coding *c, const struct rules *rules,
                       const struct fct_source_tensor *raw) {
    char module[MAX_NAME];
    if (split(raw->name, "weight", module))
        add_linear(c, rules, raw, module);
    else if (split(raw->name, "embedding_quantized", module)) {
        if (!rules->embeddings)
            fct_coding_problem(c, raw->name, "has codes, but quantize_embeddings is not true");
        add_codes(c, rules, raw, module, "embedding_quantized", "embedding_scale");
    } else if (split(raw->name, "k_cache_scale", module)) {
        float key = fct_coding_number(c, module, "k_cache_scale");
        fct_coding_add_pair(c, module, "cache_scales", key,
                            fct_coding_number(c, module, "v_cache_scale"));
    }
}

void fct_quantization_mobile(struct fct_coding *c, const json_t *config) {
    struct rules *rules = fct_new(sizeof *rules, c->err);
    if (!rules) {
        c->status = FCT_ERR_MEMORY;
        return;
    }
    read_rules(c, rules, config);
    bool read = c->problems.n_names == 0;
    for (size_t i = 0; read && i < c->source->n_tensors && c->status == FCT_OK; i++)
        if (!fct_source_is_other_modality(c->source->tensors[i].name))
            add_tensor(c, rules, &c->source->tensors[i]);
    if (read) fct_coding_refuse_leftovers(c, "_scale", "is a scale without codes");
    for (size_t i = 0; i < rules->n; i++) regfree(&rules->all[i].pattern);
    fct_free(rules);
}
