/* describe.c - fct_describe: what a packed file, a safetensors or GGUF file, or a checkpoint folder
 * holds, as JSON. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "convert/gguf.h"
#include "convert/tensor_plan.h"
#include "pack/reader.h"

/* What is said of every kind. */
struct description {
    json_t *object, *tensors;
    uint64_t n_parameters, n_bytes;
};

static struct description start(const char *kind, const char *path) {
    struct description d = {json_object(), json_array(), 0, 0};
    json_object_set_new(d.object, "kind", json_string(kind));
    json_object_set_new(d.object, "path", json_string(path));
    return d;
}

static void add_text(struct description *d, const char *key, const char *text) {
    if (text) json_object_set_new(d->object, key, json_string(text));
}

/* The verdict: can facet run it (a checkpoint: when converted), and why not. */
static void add_verdict(struct description *d, fct_status status, const char *why_not) {
    json_object_set_new(d->object, "runnable", json_boolean(status == FCT_OK));
    if (status != FCT_OK) add_text(d, "why_not", why_not);
}

/* The hyperparameters, under the checkpoint's names, and the architecture they are for. */
static void add_config(struct description *d, const json_t *config) {
    const json_t *text = fct_config_text_part(config),
                 *names = json_object_get(config, "architectures");
    const char *name = json_string_value(json_array_get(names, 0));
    add_text(d, "architecture",
             name ? name : json_string_value(json_object_get(text, "model_type")));
    json_object_set_new(d->object, "config", json_deep_copy(text));
}

static json_t *add_tensor(struct description *d, const char *name, const char *dtype,
                          uint64_t n_bytes) {
    json_t *tensor = json_object();
    json_object_set_new(tensor, "name", json_string(name));
    json_object_set_new(tensor, "dtype", json_string(dtype));
    json_object_set_new(tensor, "bytes", json_integer((json_int_t)n_bytes));
    json_array_append_new(d->tensors, tensor);
    d->n_bytes += n_bytes;
    return tensor;
}

static void add_shape(struct description *d, json_t *tensor, const uint64_t *dims, int n_dims) {
    json_t *shape = json_array();
    uint64_t n = 1;
    for (int i = 0; i < n_dims; i++) {
        json_array_append_new(shape, json_integer((json_int_t)dims[i]));
        n *= dims[i];
    }
    json_object_set_new(tensor, "shape", shape);
    d->n_parameters += n;
}

/* The finished JSON text; gives the description up. */
static fct_status finish(struct description *d, char **json, fct_error *err) {
    json_object_set_new(d->object, "n_tensors",
                        json_integer((json_int_t)json_array_size(d->tensors)));
    json_object_set_new(d->object, "n_parameters", json_integer((json_int_t)d->n_parameters));
    json_object_set_new(d->object, "tensor_bytes", json_integer((json_int_t)d->n_bytes));
    json_object_set_new(d->object, "tensors", d->tensors);
    *json = json_dumps(d->object, JSON_COMPACT);
    json_decref(d->object);
    return *json ? FCT_OK : fct_fail(err, FCT_ERR_MEMORY, "no memory for a description");
}

/* ---- a checkpoint folder ---- */

/* What a conversion would make of it; kept apart from what it is. */
static void add_source(struct description *d, const fct_source *source) {
    fct_error failure = {.code = FCT_ERR_FORMAT};
    struct fct_config config;
    struct fct_plan plan;
    struct fct_plan_schemes schemes = {.weights = FCT_F32, .tables = FCT_F32};
    add_config(d, source->config);
    fct_status status = fct_plan_network(&plan, &config, source, schemes, &failure);
    add_verdict(d, status, failure.message);
    add_text(d, "licence", source->licence);
    json_object_set(d->object, "generation", source->generation);
    for (size_t i = 0; i < source->n_tensors; i++) {
        const struct fct_source_tensor *tensor = &source->tensors[i];
        add_shape(d, add_tensor(d, tensor->name, tensor->dtype_name, tensor->n_bytes), tensor->dims,
                  tensor->n_dims);
    }
    fct_plan_free(&plan);
}

static fct_status describe_folder(const char *path, char **json, fct_error *err) {
    fct_error failure = {.code = FCT_ERR_FORMAT};
    fct_source *source = fct_source_open(path, &failure);
    if (!source) return fct_fail(err, failure.code, "%s", failure.message);
    struct description d = start("checkpoint", path);
    add_source(&d, source);
    fct_source_free(source);
    return finish(&d, json, err);
}

/* ---- a GGUF file ---- */

/* A single value; NULL if it is text that is no UTF-8. */
static json_t *value_json(const struct fct_gguf_value *value) {
    size_t n;
    int64_t whole;
    double number = 0;
    const char *text = fct_gguf_text(value, &n);
    if (text) return json_stringn(text, n);
    if (value->kind == FCT_GGUF_BOOL) return json_boolean(*value->at);
    if (fct_gguf_int(value, 0, &whole)) return json_integer(whole);
    return fct_gguf_number(value, 0, &number) ? json_real(number) : NULL;
}

/* Lists can be as long as the vocabulary: only their length is told. */
static json_t *metadata_json(const struct fct_gguf *gguf) {
    json_t *all = json_object();
    for (size_t i = 0; i < gguf->n_values; i++) {
        const struct fct_gguf_value *value = &gguf->values[i];
        json_t *told = value->is_array
                           ? json_sprintf("%llu values of type %s", (unsigned long long)value->n,
                                          fct_gguf_kind_name(value->kind))
                           : value_json(value);
        if (!told) told = json_string("(no text, or no number)");
        json_object_set_new(all, value->key, told); /* a key that is no UTF-8 is left out */
    }
    return all;
}

static void add_gguf_tensors(struct description *d, const struct fct_gguf *gguf) {
    for (size_t i = 0; i < gguf->n_tensors; i++) {
        const struct fct_gguf_tensor *tensor = &gguf->tensors[i];
        uint64_t dims[FCT_GGUF_MAX_DIMS];
        for (int k = 0; k < tensor->n_dims; k++) dims[k] = tensor->dims[tensor->n_dims - 1 - k];
        add_shape(d,
                  add_tensor(d, tensor->name, tensor->type ? tensor->type->name : "unknown",
                             tensor->n_bytes),
                  dims, tensor->n_dims);
    }
}

/* The parts of a split model are described together; one that is no model for facet by what stands
 * in this file. */
static fct_status describe_gguf(const char *path, const struct fct_mapping *mapping, char **json,
                                fct_error *err) {
    struct fct_gguf gguf;
    fct_error failure = {.code = FCT_ERR_FORMAT};
    fct_status status = fct_gguf_parse(&gguf, path, mapping->data, mapping->size, err);
    if (status != FCT_OK) return status;
    struct description d = start("gguf", path);
    json_object_set_new(d.object, "gguf_version", json_integer(gguf.version));
    json_object_set_new(d.object, "file_bytes", json_integer((json_int_t)mapping->size));
    fct_source *source = fct_source_open_gguf(path, &failure);
    if (source) {
        add_source(&d, source);
    } else {
        add_verdict(&d, failure.code, failure.message);
        add_gguf_tensors(&d, &gguf);
    }
    json_object_set_new(d.object, "metadata", metadata_json(&gguf));
    fct_source_free(source);
    fct_gguf_free(&gguf);
    return finish(&d, json, err);
}

/* ---- a safetensors file ---- */

static fct_status describe_safetensors(const char *path, const struct fct_safetensors *header,
                                       uint64_t size, char **json, fct_error *err) {
    struct description d = start("safetensors", path);
    add_verdict(&d, FCT_ERR_UNSUPPORTED,
                "tensors alone are no model: convert the folder that holds them");
    json_object_set_new(d.object, "file_bytes", json_integer((json_int_t)size));
    if (header->metadata) json_object_set(d.object, "metadata", header->metadata);
    for (size_t i = 0; i < header->n_tensors; i++) {
        const struct fct_tensor *tensor = &header->tensors[i];
        add_shape(&d, add_tensor(&d, tensor->name, tensor->dtype_name, tensor->n_bytes),
                  tensor->dims, tensor->n_dims);
    }
    return finish(&d, json, err);
}

/* ---- a packed file ---- */

/* Every tensor that the configuration asks for must be there in its shape. */
static fct_status check_pack(const fct_pack *pack, const json_t *config_json, fct_error *err) {
    struct fct_config config;
    struct fct_plan plan = {0};
    struct fct_matrix matrix;
    struct fct_table table;
    struct fct_plan_schemes schemes = {.weights = FCT_F32, .tables = FCT_F32};
    fct_status status = fct_config_parse(&config, config_json, fct_pack_path(pack), err);
    if (status == FCT_OK) status = fct_plan_make(&plan, &config, NULL, schemes, err);
    for (size_t i = 0; i < plan.n_entries && status == FCT_OK; i++) {
        const struct fct_plan_entry *e = &plan.entries[i];
        if (e->kind == FCT_PLAN_MATRIX)
            status = fct_pack_matrix(pack, e->name, e->rows, e->columns, &matrix, err);
        else if (e->kind == FCT_PLAN_TABLE)
            status = fct_pack_table(pack, e->name, e->rows, e->columns, &table, err);
        else if (!fct_pack_vector(pack, e->name, e->rows, err))
            status = FCT_ERR_FORMAT;
    }
    fct_plan_free(&plan);
    return status;
}

/* A quantized tensor's shape and scheme stand in the metadata; in the file it is bytes. */
static bool add_quantized(struct description *d, json_t *tensor, const json_t *layouts) {
    const json_t *layout =
        json_object_get(layouts, json_string_value(json_object_get(tensor, "name")));
    if (!layout) return false;
    const uint64_t dims[] = {(uint64_t)json_integer_value(json_object_get(layout, "rows")),
                             (uint64_t)json_integer_value(json_object_get(layout, "columns"))};
    static const char *const keys[] = {"scheme", "group", "blocks"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        json_t *value = json_object_get(layout, keys[i]);
        if (value) json_object_set(tensor, keys[i], value);
    }
    add_shape(d, tensor, dims, 2);
    return true;
}

/* A tied head is the same parameters as the table it was made from. */
static bool counts(const char *name, bool tied) {
    return strcmp(name, FCT_TENSOR_TOKENIZER) != 0 &&
           !(tied && strcmp(name, "lm_head.weight") == 0);
}

static void add_packed_tensors(struct description *d, const fct_pack *pack, bool tied) {
    const struct fct_safetensors *header = fct_pack_header(pack);
    json_t *matrices = fct_pack_metadata_json(pack, "matrices", NULL),
           *tables = fct_pack_metadata_json(pack, "tables", NULL);
    for (size_t i = 0; i < header->n_tensors; i++) {
        const struct fct_tensor *from = &header->tensors[i];
        if (strncmp(from->name, FCT_PACK_PADDING, strlen(FCT_PACK_PADDING)) == 0) continue;
        json_t *tensor = add_tensor(d, from->name, from->dtype_name, from->n_bytes);
        uint64_t before = d->n_parameters;
        if (!add_quantized(d, tensor, matrices) && !add_quantized(d, tensor, tables))
            add_shape(d, tensor, from->dims, from->n_dims);
        if (!counts(from->name, tied)) d->n_parameters = before;
    }
    json_decref(matrices);
    json_decref(tables);
}

static fct_status describe_pack(const char *path, char **json, fct_error *err) {
    static const char *const texts[] = {"format_version", "weights", "chat",    "source",
                                        "licence",        "changes", "checksum"};
    fct_error failure = {.code = FCT_ERR_FORMAT};
    fct_pack *pack = fct_pack_open(path, &failure);
    if (!pack) return fct_fail(err, failure.code, "%s", failure.message);
    struct description d = start("packed", path);
    json_t *config = fct_pack_metadata_json(pack, "config", NULL),
           *generation = fct_pack_metadata_json(pack, "generation", NULL),
           *expected = fct_pack_metadata_json(pack, "expected", NULL);
    const uint8_t *hot;
    size_t hot_bytes;
    add_config(&d, config);
    add_verdict(&d, check_pack(pack, config, &failure), failure.message);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        add_text(&d, texts[i], fct_pack_metadata(pack, texts[i]));
    if (generation) json_object_set(d.object, "generation", generation);
    json_object_set_new(d.object, "has_tokenizer",
                        json_boolean(fct_pack_has(pack, FCT_TENSOR_TOKENIZER)));
    json_object_set_new(d.object, "n_expected",
                        json_integer((json_int_t)json_array_size(expected)));
    fct_pack_hot(pack, &hot, &hot_bytes);
    json_object_set_new(d.object, "hot_bytes", json_integer((json_int_t)hot_bytes));
    json_object_set_new(d.object, "file_bytes", json_integer((json_int_t)fct_pack_size(pack)));
    add_packed_tensors(&d, pack, !json_is_false(json_object_get(config, "tie_word_embeddings")));
    json_decref(config);
    json_decref(generation);
    json_decref(expected);
    fct_pack_free(pack);
    return finish(&d, json, err);
}

/* ---- telling them apart ---- */

static bool is_pack(const struct fct_safetensors *header) {
    const char *format = json_string_value(json_object_get(header->metadata, "format"));
    return format && strcmp(format, FCT_PACK_FORMAT) == 0;
}

static fct_status describe_file(const char *path, char **json, fct_error *err) {
    struct fct_mapping mapping;
    struct fct_safetensors header;
    fct_status status = fct_map_open(&mapping, path, err);
    if (status != FCT_OK) return status;
    if (fct_gguf_is_start(mapping.data, mapping.size)) {
        status = describe_gguf(path, &mapping, json, err);
        fct_map_close(&mapping);
        return status;
    }
    status = fct_safetensors_parse(&header, path, mapping.data, mapping.size, err);
    if (status == FCT_OK) {
        status = is_pack(&header) ? describe_pack(path, json, err)
                                  : describe_safetensors(path, &header, mapping.size, json, err);
        fct_safetensors_free(&header);
    }
    fct_map_close(&mapping);
    return status;
}

fct_status fct_describe(const char *path, char **json, fct_error *err) {
    *json = NULL;
    return fct_is_folder(path) ? describe_folder(path, json, err) : describe_file(path, json, err);
}
