/* quantization.c - what config.json says about the codes of a folder's weights: which method it is,
 * and that all went well. */
#include "convert/quantization.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "pack/config.h"

static const struct {
    const char *name;
    void (*read)(struct fct_coding *c, const json_t *config);
} methods[] = {{"gemma", fct_quantization_mobile},
               {"compressed-tensors", fct_quantization_compressed}};

static bool says_nothing(const json_t *value) {
    return json_is_null(value) || json_is_false(value) ||
           (json_is_array(value) && json_array_size(value) == 0) ||
           (json_is_object(value) && json_object_size(value) == 0);
}

void fct_quantization_check_keys(struct fct_coding *c, const json_t *object, const char *where,
                                 const char *const known[]) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value) {
        size_t i = 0;
        while (known[i] && strcmp(known[i], key) != 0) i++;
        if (!known[i] && !says_nothing(value))
            fct_coding_problem(c, where, "has %s, which is not known", key);
    }
}

const char *fct_quantization_full_name(const struct fct_source_tensor *raw) {
    return ((const struct fct_tensor *)raw->place)->name;
}

static fct_status refuse(fct_source *source, const char *text, fct_error *err) {
    source->refusal = fct_copy_text(text, strlen(text), err);
    return source->refusal ? FCT_OK : FCT_ERR_MEMORY;
}

static fct_status refuse_method(fct_source *source, const char *method, fct_error *err) {
    char text[300];
    snprintf(text, sizeof text,
             "config.json has a quantization_config (%.80s) that is not known; facet reads codes "
             "of the methods gemma and compressed-tensors",
             method ? method : "no quant_method");
    return refuse(source, text, err);
}

static fct_status finish(struct fct_coding *c, const char *method) {
    char text[900], list[700];
    if (c->status != FCT_OK || !c->problems.n_names) return c->status;
    snprintf(text, sizeof text, "quantization method %s is known, but these deviate: %s", method,
             fct_name_list_text(&c->problems, list, sizeof list));
    return refuse(c->source, text, c->err);
}

fct_status fct_quantization_open(fct_source *source, fct_error *err) {
    const json_t *config = json_object_get(source->config, "quantization_config");
    if (!config || json_is_null(config))
        config = json_object_get(fct_config_text_part(source->config), "quantization_config");
    if (!config || json_is_null(config)) return FCT_OK;
    const char *method = json_string_value(json_object_get(config, "quant_method"));
    size_t i = 0, n_methods = sizeof methods / sizeof *methods;
    while (i < n_methods && (!method || strcmp(methods[i].name, method) != 0)) i++;
    if (i == n_methods) return refuse_method(source, method, err);
    struct fct_coding c = {.source = source, .err = err};
    c.taken = fct_new_array(source->n_tensors + 1, sizeof *c.taken, err);
    c.list = fct_new(sizeof *c.list, err);
    if (!c.taken || !c.list) c.status = FCT_ERR_MEMORY;
    if (c.status == FCT_OK) methods[i].read(&c, config);
    fct_status status = finish(&c, method);
    if (status == FCT_OK && !source->refusal) {
        status = fct_coded_install(source, c.list, c.taken, err);
        c.list = NULL;
    }
    fct_coded_free(c.list);
    fct_free(c.taken);
    return status;
}
