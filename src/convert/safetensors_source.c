/* safetensors_source.c - the tensors of a checkpoint folder: one safetensors file, or shards with
 * an index. */
#include "convert/safetensors_source.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/half.h"
#include "base/memory.h"
#include "convert/name_list.h"
#include "pack/stand_in.h"

#define SINGLE_FILE "model.safetensors"
#define INDEX_FILE "model.safetensors.index.json"
enum { INDEX_LIMIT = 64 << 20, MAX_SHARDS = 4096, PIECE_BYTES = 64 << 10 };

struct shard {
    char *file; /* in the folder */
    struct fct_mapping mapping;
    struct fct_safetensors header;
};
struct shards {
    struct shard *list;
    size_t n, capacity;
    json_t *weight_map; /* of the index; NULL without one */
};

/* ---- which files ---- */

static fct_status add_shard(struct shards *shards, const char *file, fct_error *err) {
    for (size_t i = 0; i < shards->n; i++)
        if (strcmp(shards->list[i].file, file) == 0) return FCT_OK;
    if (shards->n == MAX_SHARDS)
        return fct_fail(err, FCT_ERR_FORMAT, "%s: more than %d shards", INDEX_FILE, MAX_SHARDS);
    fct_status status = fct_grow((void **)&shards->list, &shards->capacity, shards->n + 1,
                                 sizeof *shards->list, err);
    if (status != FCT_OK) return status;
    struct shard *shard = &shards->list[shards->n];
    memset(shard, 0, sizeof *shard);
    shard->mapping.fd = -1;
    shard->file = fct_copy_text(file, strlen(file), err);
    if (!shard->file) return FCT_ERR_MEMORY;
    shards->n++;
    return FCT_OK;
}

/* Does the folder of the file `beside` lack this file? */
static bool is_absent(const char *beside, const char *file) {
    char path[PATH_MAX];
    int n_folder = (int)(strrchr(beside, '/') - beside);
    int n = snprintf(path, sizeof path, "%.*s/%s", n_folder, beside, file);
    return n < (int)sizeof path && !fct_is_file(path);
}

/* A shard that is not there is not missed for tensors of vision and audio: who downloads for facet
 * does not need it. */
static fct_status read_index(struct shards *shards, const char *path, fct_error *err) {
    size_t n_bytes;
    char *text = fct_file_read(path, INDEX_LIMIT, &n_bytes, err);
    if (!text) return err ? err->code : FCT_ERR_IO;
    json_error_t at;
    json_t *index = json_loadb(text, n_bytes, 0, &at);
    fct_status status = index ? FCT_OK : fct_stand_in_check(path, text, n_bytes, err);
    fct_free(text);
    if (status != FCT_OK) return status;
    if (!index) return fct_fail(err, FCT_ERR_FORMAT, "%s: line %d: %s", path, at.line, at.text);
    shards->weight_map = json_incref(json_object_get(index, "weight_map"));
    json_decref(index);
    if (!json_is_object(shards->weight_map) || json_object_size(shards->weight_map) == 0)
        return fct_fail(err, FCT_ERR_FORMAT, "%s: weight_map is missing or empty", path);
    const char *tensor;
    json_t *value;
    void *next;
    json_object_foreach_safe(shards->weight_map, next, tensor, value) {
        const char *file = json_string_value(value);
        if (!file || !*file || strchr(file, '/'))
            return fct_fail(err, FCT_ERR_FORMAT, "%s: %s is not in a file of this folder", path,
                            tensor);
        if (fct_source_is_other_modality(tensor) && is_absent(path, file)) {
            json_object_del(shards->weight_map, tensor);
            continue;
        }
        status = add_shard(shards, file, err);
        if (status != FCT_OK) return status;
    }
    return FCT_OK;
}

/* Without an index there must be exactly one file, and it must not be one of many. */
static fct_status find_lone_file(struct shards *shards, const char *folder, fct_error *err) {
    DIR *entries = opendir(folder);
    if (!entries) return fct_fail_errno(err, "%s: cannot list the folder", folder);
    struct fct_name_list found = {0};
    char lone[256] = "", buffer[600];
    for (const struct dirent *entry; (entry = readdir(entries));) {
        size_t length = strlen(entry->d_name), ending = strlen(".safetensors");
        if (length <= ending || strcmp(entry->d_name + length - ending, ".safetensors") != 0)
            continue;
        fct_name_list_add(&found, entry->d_name);
        snprintf(lone, sizeof lone, "%s", entry->d_name);
    }
    closedir(entries);
    if (found.n_names == 0)
        return fct_fail(err, FCT_ERR_IO, "%s: there is no safetensors file in this folder", folder);
    if (found.n_names > 1 || strstr(lone, "-of-"))
        return fct_fail(err, FCT_ERR_FORMAT,
                        "%s: %s is missing, which says what is in the shards %s", folder,
                        INDEX_FILE, fct_name_list_text(&found, buffer, sizeof buffer));
    return add_shard(shards, lone, err);
}

static fct_status find_shards(struct shards *shards, const char *folder, fct_error *err) {
    char *single = fct_path_join(folder, SINGLE_FILE, err),
         *index = fct_path_join(folder, INDEX_FILE, err);
    fct_status status = FCT_ERR_MEMORY;
    if (!single || !index) goto done;
    if (fct_is_file(single))
        status = add_shard(shards, SINGLE_FILE, err);
    else if (fct_is_file(index))
        status = read_index(shards, index, err);
    else
        status = find_lone_file(shards, folder, err);
done:
    fct_free(single);
    fct_free(index);
    return status;
}

/* ---- opening them ---- */

static fct_status open_shard(struct shard *shard, const char *folder, fct_error *err) {
    char *path = fct_path_join(folder, shard->file, err);
    if (!path) return FCT_ERR_MEMORY;
    fct_status status = fct_map_open(&shard->mapping, path, err);
    if (status == FCT_OK)
        status = fct_safetensors_parse(&shard->header, path, shard->mapping.data,
                                       shard->mapping.size, err);
    fct_free(path);
    return status;
}

static fct_status open_shards(struct shards *shards, const char *folder, fct_error *err) {
    struct fct_name_list missing = {0};
    char buffer[600];
    for (size_t i = 0; i < shards->n; i++) {
        char *path = fct_path_join(folder, shards->list[i].file, err);
        if (!path) return FCT_ERR_MEMORY;
        if (!fct_is_file(path)) fct_name_list_add(&missing, shards->list[i].file);
        fct_free(path);
    }
    if (missing.n_names)
        return fct_fail(err, FCT_ERR_IO, "%s: %zu of %zu shards are missing: %s", folder,
                        missing.n_names, shards->n,
                        fct_name_list_text(&missing, buffer, sizeof buffer));
    fct_status status = FCT_OK;
    for (size_t i = 0; i < shards->n && status == FCT_OK; i++)
        status = open_shard(&shards->list[i], folder, err);
    return status;
}

/* Every tensor that the index names must be in the shard it names. */
static fct_status check_index(const struct shards *shards, const char *folder, fct_error *err) {
    struct fct_name_list missing = {0};
    char buffer[600];
    const char *tensor;
    json_t *value;
    json_object_foreach(shards->weight_map, tensor, value) {
        size_t i = 0;
        while (strcmp(shards->list[i].file, json_string_value(value)) != 0) i++;
        if (!fct_safetensors_find(&shards->list[i].header, tensor))
            fct_name_list_add(&missing, tensor);
    }
    if (missing.n_names == 0) return FCT_OK;
    return fct_fail(err, FCT_ERR_FORMAT, "%s: %zu tensors are not in the shards that %s names: %s",
                    folder, missing.n_names, INDEX_FILE,
                    fct_name_list_text(&missing, buffer, sizeof buffer));
}

/* ---- names ---- */

/* What stands before the names of the text network. */
static const char *find_prefix(const struct shards *shards) {
    static const char *const prefixes[] = {"model.language_model.", "model."};
    for (size_t p = 0; p < sizeof prefixes / sizeof *prefixes; p++)
        for (size_t i = 0; i < shards->n; i++)
            for (size_t j = 0; j < shards->list[i].header.n_tensors; j++)
                if (strncmp(shards->list[i].header.tensors[j].name, prefixes[p],
                            strlen(prefixes[p])) == 0)
                    return prefixes[p];
    return "";
}

static bool is_readable(enum fct_dtype dtype) {
    return dtype == FCT_DTYPE_F32 || dtype == FCT_DTYPE_F16 || dtype == FCT_DTYPE_BF16;
}

static fct_status list_tensors(fct_source *source, const struct shards *shards, fct_error *err) {
    size_t n = 0, at = 0;
    for (size_t i = 0; i < shards->n; i++) n += shards->list[i].header.n_tensors;
    source->tensors = fct_new_array(n ? n : 1, sizeof *source->tensors, err);
    if (!source->tensors) return FCT_ERR_MEMORY;
    source->n_tensors = n;
    const char *prefix = find_prefix(shards);
    for (size_t i = 0; i < shards->n; i++)
        for (size_t j = 0; j < shards->list[i].header.n_tensors; j++) {
            const struct fct_tensor *from = &shards->list[i].header.tensors[j];
            struct fct_source_tensor *to = &source->tensors[at++];
            bool text = strncmp(from->name, prefix, strlen(prefix)) == 0;
            to->name = from->name + (text ? strlen(prefix) : 0);
            memcpy(to->dtype_name, from->dtype_name, sizeof to->dtype_name);
            to->readable = is_readable(from->dtype);
            to->n_dims = from->n_dims;
            memcpy(to->dims, from->dims, sizeof to->dims);
            to->n_bytes = from->n_bytes;
            to->part = (int)i;
            to->place = from;
        }
    return fct_source_sort(source, err);
}

/* ---- reading ---- */

static fct_status read_at(const struct shard *shard, uint64_t offset, void *out, size_t n_bytes,
                          fct_error *err) {
    return fct_file_read_at(shard->mapping.fd, shard->file, offset, out, n_bytes, err);
}

fct_status fct_shards_read_bytes(const fct_source *source, const struct fct_source_tensor *tensor,
                                 uint64_t offset, void *out, size_t n_bytes, fct_error *err) {
    const struct shards *shards = source->own;
    const struct fct_tensor *place = tensor->place;
    return read_at(&shards->list[tensor->part], place->offset + offset, out, n_bytes, err);
}

static void widen(enum fct_dtype dtype, const uint16_t *half, size_t n, float *out) {
    if (dtype == FCT_DTYPE_BF16)
        for (size_t i = 0; i < n; i++) out[i] = fct_bf16_float(half[i]);
    else
        for (size_t i = 0; i < n; i++) out[i] = fct_half_float(half[i]);
}

static fct_status read_rows(const fct_source *source, const struct fct_source_tensor *tensor,
                            uint64_t first_row, uint64_t n_rows, float *out, fct_error *err) {
    const struct shards *shards = source->own;
    const struct shard *shard = &shards->list[tensor->part];
    const struct fct_tensor *place = tensor->place;
    uint64_t columns = 1;
    for (int d = 1; d < tensor->n_dims; d++)
        columns *= tensor->dims[d]; /* checked with the header */
    size_t size = fct_dtype_bytes(place->dtype), left = (size_t)(n_rows * columns);
    uint64_t offset = place->offset + first_row * columns * size;
    if (place->dtype == FCT_DTYPE_F32) return read_at(shard, offset, out, left * size, err);
    uint16_t piece[PIECE_BYTES / sizeof(uint16_t)];
    for (size_t n; left; left -= n, out += n, offset += n * size) {
        n = left < sizeof piece / sizeof *piece ? left : sizeof piece / sizeof *piece;
        fct_status status = read_at(shard, offset, piece, n * size, err);
        if (status != FCT_OK) return status;
        widen(place->dtype, piece, n, out);
    }
    return FCT_OK;
}

static bool holds_file(const fct_source *source, const char *path) {
    const struct shards *shards = source->own;
    for (size_t i = 0; i < shards->n; i++)
        if (fct_file_is_at(shards->list[i].mapping.fd, path)) return true;
    return false;
}

void fct_shards_close(fct_source *source) {
    struct shards *shards = source->own;
    if (!shards) return;
    for (size_t i = 0; i < shards->n; i++) {
        fct_safetensors_free(&shards->list[i].header);
        if (shards->list[i].mapping.fd >= 0) fct_map_close(&shards->list[i].mapping);
        fct_free(shards->list[i].file);
    }
    fct_free(shards->list);
    json_decref(shards->weight_map);
    fct_free(shards);
    source->own = NULL;
}

fct_status fct_shards_open(fct_source *source, const char *folder, fct_error *err) {
    struct shards *shards = fct_new(sizeof *shards, err);
    if (!shards) return FCT_ERR_MEMORY;
    source->own = shards;
    source->read_rows = read_rows;
    source->holds_file = holds_file;
    fct_status status = find_shards(shards, folder, err);
    if (status == FCT_OK) status = open_shards(shards, folder, err);
    if (status == FCT_OK) status = check_index(shards, folder, err);
    if (status == FCT_OK) status = list_tensors(source, shards, err);
    return status;
}
