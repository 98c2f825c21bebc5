/* reader.c - a packed file, mapped and checked: gives out its matrices, tables and vectors without
 * copying them. */
#include "pack/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "pack/checksum.h"

/* What the metadata says about one matrix or table. */
struct entry {
    const char *name;
    enum fct_scheme scheme;
    int parts; /* group of a matrix, blocks of a table */
    int rows, columns;
    const uint8_t *data;
};

struct list {
    const char *kind, *key; /* "matrix", "matrices" */
    json_t *json;           /* owns the names */
    struct entry *entries;  /* sorted by name */
    size_t n_entries;
};

struct fct_pack {
    char *path;
    struct fct_mapping mapping; /* of a file; empty for memory */
    const uint8_t *data;
    size_t size;
    struct fct_safetensors header;
    struct list matrices, tables;
    uint64_t hot_bytes;
};

static const char *text_of(const fct_pack *pack, const char *key, fct_error *err) {
    const char *text = fct_pack_metadata(pack, key);
    if (!text) fct_fail(err, FCT_ERR_FORMAT, "%s: its metadata has no %s", pack->path, key);
    return text;
}

static fct_status check_format(const fct_pack *pack, fct_error *err) {
    const char *format = fct_pack_metadata(pack, "format");
    if (!format || strcmp(format, FCT_PACK_FORMAT))
        return fct_fail(
            err, FCT_ERR_FORMAT,
            "%s: is a safetensors file, but not a packed model; facet convert makes one",
            pack->path);
    const char *version = text_of(pack, "format_version", err);
    if (!version) return FCT_ERR_FORMAT;
    char ours[16];
    snprintf(ours, sizeof ours, "%d", FCT_PACK_VERSION);
    if (strcmp(version, ours))
        return fct_fail(err, FCT_ERR_UNSUPPORTED,
                        "%s: format version %s is not supported, only %d; convert the model again",
                        pack->path, version, FCT_PACK_VERSION);
    return FCT_OK;
}

static bool is_padding(const struct fct_tensor *tensor) {
    return tensor->dtype == FCT_DTYPE_U8 &&
           !strncmp(tensor->name, FCT_PACK_PADDING, strlen(FCT_PACK_PADDING));
}

static fct_status check_alignment(const fct_pack *pack, fct_error *err) {
    if ((uintptr_t)pack->data % FCT_LINE)
        return fct_fail(err, FCT_ERR_ARGUMENT, "%s: must lie in memory at a multiple of %d",
                        pack->path, FCT_LINE);
    if (pack->header.data_start % FCT_LINE)
        return fct_fail(err, FCT_ERR_FORMAT, "%s: data starts at %llu, no multiple of %d",
                        pack->path, (unsigned long long)pack->header.data_start, FCT_LINE);
    for (size_t i = 0; i < pack->header.n_tensors; i++) {
        const struct fct_tensor *tensor = &pack->header.tensors[i];
        if (tensor->offset % FCT_LINE && !is_padding(tensor))
            return fct_fail(err, FCT_ERR_FORMAT, "%s: tensor %s starts at %llu, no multiple of %d",
                            pack->path, tensor->name, (unsigned long long)tensor->offset, FCT_LINE);
    }
    return FCT_OK;
}

static fct_status read_hot_bytes(fct_pack *pack, fct_error *err) {
    const char *text = text_of(pack, "hot_bytes", err);
    if (!text) return FCT_ERR_FORMAT;
    size_t n_digits = strspn(text, "0123456789");
    uint64_t data_bytes = pack->header.data_end - pack->header.data_start;
    pack->hot_bytes = strtoull(text, NULL, 10); /* too large a number becomes the largest */
    if (n_digits == 0 || text[n_digits] || pack->hot_bytes > data_bytes)
        return fct_fail(err, FCT_ERR_FORMAT, "%s: hot_bytes %s: is no part of %llu bytes of data",
                        pack->path, text, (unsigned long long)data_bytes);
    return FCT_OK;
}

/* Does the entry describe the tensor of its name? */
static fct_status read_entry(const fct_pack *pack, const struct list *list, const char *name,
                             const json_t *json, struct entry *entry, fct_error *err) {
    bool is_matrix = list == &pack->matrices;
    const char *scheme = json_string_value(json_object_get(json, "scheme"));
    json_t *parts = json_object_get(json, is_matrix ? "group" : "blocks");
    json_t *rows = json_object_get(json, "rows"), *columns = json_object_get(json, "columns");
    size_t n_bytes;
    *entry = (struct entry){.name = name};
    if (!scheme || !json_is_integer(parts) || !json_is_integer(rows) || !json_is_integer(columns))
        return fct_fail(err, FCT_ERR_FORMAT, "%s: %s %s: needs scheme, %s, rows and columns",
                        pack->path, list->kind, name, is_matrix ? "group" : "blocks");
    if (!fct_scheme_parse(scheme, &entry->scheme))
        return fct_fail(err, FCT_ERR_UNSUPPORTED, "%s: %s %s: scheme %s is not supported",
                        pack->path, list->kind, name, scheme);
    if (!(is_matrix ? fct_matrix_fits : fct_table_fits)(entry->scheme, json_integer_value(parts),
                                                        json_integer_value(rows),
                                                        json_integer_value(columns), &n_bytes))
        return fct_fail(err, FCT_ERR_FORMAT,
                        "%s: %s %s: %lld x %lld by %s and %s %lld is not possible", pack->path,
                        list->kind, name, (long long)json_integer_value(rows),
                        (long long)json_integer_value(columns), scheme,
                        is_matrix ? "group" : "blocks", (long long)json_integer_value(parts));
    const struct fct_tensor *tensor = fct_safetensors_find(&pack->header, name);
    if (!tensor || tensor->dtype != FCT_DTYPE_U8)
        return fct_fail(err, FCT_ERR_FORMAT, "%s: %s %s: there is no U8 tensor of this name",
                        pack->path, list->kind, name);
    if (tensor->n_bytes != n_bytes)
        return fct_fail(err, FCT_ERR_FORMAT, "%s: %s %s: has %llu bytes, %zu are needed",
                        pack->path, list->kind, name, (unsigned long long)tensor->n_bytes, n_bytes);
    entry->parts = (int)json_integer_value(parts);
    entry->rows = (int)json_integer_value(rows);
    entry->columns = (int)json_integer_value(columns);
    entry->data = pack->data + tensor->offset;
    return FCT_OK;
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

static fct_status read_list(const fct_pack *pack, struct list *list, const char *kind,
                            const char *key, fct_error *err) {
    list->kind = kind;
    list->key = key;
    list->json = fct_pack_metadata_json(pack, key, err);
    if (!list->json) return FCT_ERR_FORMAT;
    if (!json_is_object(list->json))
        return fct_fail(err, FCT_ERR_FORMAT, "%s: metadata %s is not an object", pack->path, key);
    list->entries = fct_new_array(json_object_size(list->json), sizeof *list->entries, err);
    if (!list->entries) return FCT_ERR_MEMORY;
    const char *name;
    json_t *value;
    json_object_foreach(list->json, name, value) {
        struct entry *entry = &list->entries[list->n_entries++];
        fct_status status = read_entry(pack, list, name, value, entry, err);
        if (status) return status;
    }
    qsort(list->entries, list->n_entries, sizeof *list->entries, by_name);
    return FCT_OK;
}

static fct_status read_pack(fct_pack *pack, fct_error *err) {
    fct_status status =
        fct_safetensors_parse(&pack->header, pack->path, pack->data, pack->size, err);
    if (!status) status = check_format(pack, err);
    if (!status) status = check_alignment(pack, err);
    if (!status) status = read_hot_bytes(pack, err);
    if (!status) status = read_list(pack, &pack->matrices, "matrix", "matrices", err);
    if (!status) status = read_list(pack, &pack->tables, "table", "tables", err);
    return status;
}

static fct_pack *new_pack(const char *path, fct_error *err) {
    fct_pack *pack = fct_new(sizeof *pack, err);
    if (!pack) return NULL;
    pack->mapping.fd = -1;
    pack->path = fct_copy_text(path, strlen(path), err);
    if (pack->path) return pack;
    fct_free(pack);
    return NULL;
}

/* What a person has who has not converted yet. */
static fct_status refuse_gguf(const fct_pack *pack, fct_error *err) {
    if (pack->size < 4 || memcmp(pack->data, "GGUF", 4) != 0) return FCT_OK;
    return fct_fail(err, FCT_ERR_FORMAT,
                    "%s: is a GGUF file; `facet convert` makes a packed model of it", pack->path);
}

fct_pack *fct_pack_open(const char *path, fct_error *err) {
    if (fct_is_folder(path))
        return fct_fail_null(err, FCT_ERR_ARGUMENT,
                             "%s: is a folder; `facet convert` makes a packed model of a "
                             "checkpoint's folder",
                             path);
    fct_pack *pack = new_pack(path, err);
    if (!pack) return NULL;
    if (fct_map_open(&pack->mapping, path, err)) goto failed;
    pack->data = pack->mapping.data;
    pack->size = pack->mapping.size;
    /* The header comes in one piece, though its padding is looked at from the end. */
    posix_madvise((void *)(uintptr_t)pack->data,
                  pack->size < FCT_PACK_ALIGN ? pack->size : FCT_PACK_ALIGN, POSIX_MADV_WILLNEED);
    if (refuse_gguf(pack, err) || read_pack(pack, err)) goto failed;
    return pack;
failed:
    fct_pack_free(pack);
    return NULL;
}

fct_pack *fct_pack_open_memory(const void *data, size_t size, const char *name, fct_error *err) {
    fct_pack *pack = new_pack(name, err);
    if (!pack) return NULL;
    pack->data = data;
    pack->size = size;
    if (!read_pack(pack, err)) return pack;
    fct_pack_free(pack);
    return NULL;
}

static void free_list(struct list *list) {
    fct_free(list->entries);
    json_decref(list->json);
}

void fct_pack_free(fct_pack *pack) {
    if (!pack) return;
    free_list(&pack->matrices);
    free_list(&pack->tables);
    fct_safetensors_free(&pack->header);
    fct_map_close(&pack->mapping);
    fct_free(pack->path);
    fct_free(pack);
}

const char *fct_pack_path(const fct_pack *pack) { return pack->path; }
const struct fct_safetensors *fct_pack_header(const fct_pack *pack) { return &pack->header; }
uint64_t fct_pack_size(const fct_pack *pack) { return pack->size; }
int fct_pack_fd(const fct_pack *pack) { return pack->mapping.fd; }

const char *fct_pack_metadata(const fct_pack *pack, const char *key) {
    return json_string_value(json_object_get(pack->header.metadata, key));
}

json_t *fct_pack_metadata_json(const fct_pack *pack, const char *key, fct_error *err) {
    const char *text = text_of(pack, key, err);
    if (!text) return NULL;
    json_error_t error;
    json_t *json = json_loads(text, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    if (!json)
        fct_fail(err, FCT_ERR_FORMAT, "%s: metadata %s is not valid JSON: %s at byte %d",
                 pack->path, key, error.text, error.position);
    return json;
}

bool fct_pack_has(const fct_pack *pack, const char *name) {
    return fct_safetensors_find(&pack->header, name) != NULL;
}

static const struct entry *find_entry(const fct_pack *pack, const struct list *list,
                                      const char *name, int rows, int columns, fct_error *err) {
    struct entry wanted = {.name = name}, *entry = NULL;
    if (list->n_entries)
        entry = bsearch(&wanted, list->entries, list->n_entries, sizeof wanted, by_name);
    if (!entry)
        return fct_fail_null(err, FCT_ERR_FORMAT, "%s: %s %s is missing", pack->path, list->kind,
                             name);
    if (entry->rows != rows || entry->columns != columns)
        return fct_fail_null(err, FCT_ERR_FORMAT, "%s: %s %s is %d x %d, the model needs %d x %d",
                             pack->path, list->kind, name, entry->rows, entry->columns, rows,
                             columns);
    return entry;
}

fct_status fct_pack_matrix(const fct_pack *pack, const char *name, int rows, int columns,
                           struct fct_matrix *out, fct_error *err) {
    const struct entry *entry = find_entry(pack, &pack->matrices, name, rows, columns, err);
    if (!entry) return FCT_ERR_FORMAT;
    *out = (struct fct_matrix){entry->scheme, entry->parts, rows, columns, entry->data};
    return FCT_OK;
}

fct_status fct_pack_table(const fct_pack *pack, const char *name, int rows, int columns,
                          struct fct_table *out, fct_error *err) {
    const struct entry *entry = find_entry(pack, &pack->tables, name, rows, columns, err);
    if (!entry) return FCT_ERR_FORMAT;
    *out = (struct fct_table){entry->scheme, entry->parts, rows, columns, entry->data};
    return FCT_OK;
}

static const struct fct_tensor *find_tensor(const fct_pack *pack, const char *name,
                                            enum fct_dtype dtype, fct_error *err) {
    const struct fct_tensor *tensor = fct_safetensors_find(&pack->header, name);
    if (!tensor)
        return fct_fail_null(err, FCT_ERR_FORMAT, "%s: tensor %s is missing", pack->path, name);
    if (tensor->dtype != dtype)
        return fct_fail_null(err, FCT_ERR_FORMAT, "%s: tensor %s is %s, not %s", pack->path, name,
                             tensor->dtype_name, fct_dtype_name(dtype));
    return tensor;
}

const float *fct_pack_vector(const fct_pack *pack, const char *name, int n, fct_error *err) {
    const struct fct_tensor *tensor = find_tensor(pack, name, FCT_DTYPE_F32, err);
    if (!tensor) return NULL;
    if (n < 0 || tensor->n_bytes != (uint64_t)n * sizeof(float))
        return fct_fail_null(err, FCT_ERR_FORMAT,
                             "%s: tensor %s has %llu elements, the model needs %d", pack->path,
                             name, (unsigned long long)(tensor->n_bytes / sizeof(float)), n);
    return (const float *)(pack->data + tensor->offset);
}

const uint8_t *fct_pack_bytes(const fct_pack *pack, const char *name, size_t *n_bytes,
                              fct_error *err) {
    const struct fct_tensor *tensor = find_tensor(pack, name, FCT_DTYPE_U8, err);
    if (!tensor) return NULL;
    *n_bytes = (size_t)tensor->n_bytes;
    return pack->data + tensor->offset;
}

void fct_pack_hot(const fct_pack *pack, const uint8_t **data, size_t *n_bytes) {
    *data = pack->data + pack->header.data_start;
    *n_bytes = (size_t)pack->hot_bytes;
}

fct_status fct_pack_verify(const fct_pack *pack, fct_progress_fn progress, void *user,
                           fct_error *err) {
    return fct_checksum_verify(&pack->header, pack->path, pack->data, progress, user, err);
}
