/* gguf_source.c - a GGUF file, or the parts of a split one, as the source of a conversion. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/half.h"
#include "base/memory.h"
#include "convert/gguf_config.h"
#include "convert/gguf_vocabulary.h"
#include "convert/name_list.h"
#include "convert/quantize.h"
#include "convert/source.h"

enum { MAX_PARTS = 4096, PIECE_BYTES = 32 << 10 };

struct part {
    char *path;
    struct fct_mapping mapping;
    struct fct_gguf gguf;
};
struct files {
    struct part *parts; /* the first has the metadata */
    size_t n_parts;
    char **names; /* [source->n_tensors]: those that differ from the file's */
    size_t n_names;
};

/* ---- which files ---- */

/* The parts of a split model are called NAME-00002-of-00005.gguf. */
struct split_name {
    size_t n_stem; /* bytes of what stands before */
    unsigned part, n_parts;
};

static bool read_split_name(const char *path, struct split_name *name) {
    static const char pattern[] = "-00001-of-00001.gguf";
    size_t n = strlen(path), n_ending = strlen(pattern);
    if (n <= n_ending) return false;
    const char *ending = path + n - n_ending;
    for (size_t i = 0; i < n_ending; i++) {
        bool digit = ending[i] >= '0' && ending[i] <= '9';
        if (pattern[i] == '0' || pattern[i] == '1' ? !digit : ending[i] != pattern[i]) return false;
    }
    name->n_stem = n - n_ending;
    name->part = (unsigned)strtoul(ending + 1, NULL, 10);
    name->n_parts = (unsigned)strtoul(ending + 10, NULL, 10);
    return name->part >= 1 && name->part <= name->n_parts && name->n_parts <= MAX_PARTS;
}

/* Paths of all parts, whichever of them was given; those that are missing are listed. */
static fct_status find_parts(struct files *files, const char *path, fct_error *err) {
    struct split_name name = {strlen(path), 1, 1};
    struct fct_name_list missing = {0};
    char buffer[600];
    bool split = read_split_name(path, &name);
    files->parts = fct_new_array(name.n_parts, sizeof *files->parts, err);
    if (!files->parts) return FCT_ERR_MEMORY;
    for (unsigned i = 0; i < name.n_parts; i++) {
        struct part *part = &files->parts[i];
        size_t room = name.n_stem + 64;
        part->mapping.fd = -1;
        part->path = fct_new(room, err);
        if (!part->path) return FCT_ERR_MEMORY;
        files->n_parts = i + 1;
        if (split)
            snprintf(part->path, room, "%.*s-%05u-of-%05u.gguf", (int)name.n_stem, path, i + 1,
                     name.n_parts);
        else
            memcpy(part->path, path, name.n_stem);
        if (!fct_is_file(part->path)) fct_name_list_add(&missing, part->path);
    }
    if (missing.n_names == 0) return FCT_OK;
    return fct_fail(err, FCT_ERR_IO, "%s: %zu of %u parts are missing: %s", path, missing.n_names,
                    name.n_parts, fct_name_list_text(&missing, buffer, sizeof buffer));
}

static fct_status open_part(struct part *part, fct_error *err) {
    fct_status status = fct_map_open(&part->mapping, part->path, err);
    if (status != FCT_OK) return status;
    return fct_gguf_parse(&part->gguf, part->path, part->mapping.data, part->mapping.size, err);
}

/* What a part says about itself must be what its name says. */
static fct_status check_split(const struct files *files, size_t i, fct_error *err) {
    const struct part *part = &files->parts[i];
    int64_t number = (int64_t)i, count = (int64_t)files->n_parts;
    const struct fct_gguf_value *no = fct_gguf_find(&part->gguf, "split.no"),
                                *n = fct_gguf_find(&part->gguf, "split.count");
    bool known = (!no || fct_gguf_int(no, 0, &number)) && (!n || fct_gguf_int(n, 0, &count));
    if (count == 0 && files->n_parts == 1) count = 1;
    if (known && number == (int64_t)i && count == (int64_t)files->n_parts) return FCT_OK;
    return fct_fail(err, FCT_ERR_FORMAT,
                    "%s: says it is part %lld of %lld, its name says %zu of %zu", part->path,
                    (long long)number + 1, (long long)count, i + 1, files->n_parts);
}

static fct_status open_parts(struct files *files, fct_error *err) {
    size_t n_tensors = 0;
    for (size_t i = 0; i < files->n_parts; i++) {
        fct_status status = open_part(&files->parts[i], err);
        if (status == FCT_OK) status = check_split(files, i, err);
        if (status != FCT_OK) return status;
        n_tensors += files->parts[i].gguf.n_tensors;
    }
    int64_t wanted;
    const struct fct_gguf *first = &files->parts[0].gguf;
    if (fct_gguf_int(fct_gguf_find(first, "split.tensors.count"), 0, &wanted) &&
        wanted != (int64_t)n_tensors)
        return fct_fail(err, FCT_ERR_FORMAT, "%s: says there are %lld tensors, there are %zu",
                        files->parts[0].path, (long long)wanted, n_tensors);
    return FCT_OK;
}

/* ---- names ---- */

static const char *const names_of_model[][2] = {
    {"token_embd.weight", "embed_tokens.weight"},
    {"output.weight", "lm_head.weight"},
    {"output_norm.weight", "norm.weight"},
    {"per_layer_token_embd.weight", "embed_tokens_per_layer.weight"},
    {"per_layer_model_proj.weight", "per_layer_model_projection.weight"},
    {"per_layer_proj_norm.weight", "per_layer_projection_norm.weight"},
};
static const char *const names_of_layer[][2] = {
    {"attn_norm.weight", "input_layernorm.weight"},
    {"attn_q.weight", "self_attn.q_proj.weight"},
    {"attn_k.weight", "self_attn.k_proj.weight"},
    {"attn_v.weight", "self_attn.v_proj.weight"},
    {"attn_output.weight", "self_attn.o_proj.weight"},
    {"attn_q_norm.weight", "self_attn.q_norm.weight"},
    {"attn_k_norm.weight", "self_attn.k_norm.weight"},
    {"post_attention_norm.weight", "post_attention_layernorm.weight"},
    {"ffn_norm.weight", "pre_feedforward_layernorm.weight"},
    {"ffn_gate.weight", "mlp.gate_proj.weight"},
    {"ffn_up.weight", "mlp.up_proj.weight"},
    {"ffn_down.weight", "mlp.down_proj.weight"},
    {"post_ffw_norm.weight", "post_feedforward_layernorm.weight"},
    {"inp_gate.weight", "per_layer_input_gate.weight"},
    {"proj.weight", "per_layer_projection.weight"},
    {"post_norm.weight", "post_per_layer_input_norm.weight"},
    {"layer_output_scale.weight", "layer_scalar"},
};

static const char *translate(const char *const table[][2], size_t n, const char *name) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(table[i][0], name) == 0) return table[i][1];
    return NULL;
}

/* The packed file's name of a tensor, where it differs. FCT_OK without one: *name stays NULL. */
static fct_status translate_name(const char *from, char **name, fct_error *err) {
    const char *to =
        translate(names_of_model, sizeof names_of_model / sizeof *names_of_model, from);
    char buffer[96], *rest;
    if (!to && strncmp(from, "blk.", 4) == 0 && from[4] >= '0' && from[4] <= '9') {
        unsigned long layer = strtoul(from + 4, &rest, 10);
        const char *part = *rest == '.'
                               ? translate(names_of_layer,
                                           sizeof names_of_layer / sizeof *names_of_layer, rest + 1)
                               : NULL;
        if (part) snprintf(buffer, sizeof buffer, "layers.%lu.%s", layer, part);
        if (part) to = buffer;
    }
    if (!to) return FCT_OK;
    *name = fct_copy_text(to, strlen(to), err);
    return *name ? FCT_OK : FCT_ERR_MEMORY;
}

static void describe_tensor(const struct fct_gguf_tensor *from, struct fct_source_tensor *to) {
    const struct fct_gguf_type *type = from->type;
    if (type)
        snprintf(to->dtype_name, sizeof to->dtype_name, "%s", type->name);
    else
        snprintf(to->dtype_name, sizeof to->dtype_name, "type %u", from->type_id % 100000);
    to->n_dims = from->n_dims;
    for (int d = 0; d < from->n_dims; d++) to->dims[d] = from->dims[from->n_dims - 1 - d];
    to->readable = type && type->unpack && (from->n_dims > 1 || type->block == 1);
    to->n_bytes = from->n_bytes;
    to->place = from;
    if (!to->readable) return;
    to->scheme = type->scheme;
    to->group = type->scheme == FCT_F32 ? 0 : FCT_GGUF_GROUP;
    to->exact = type->codes && from->n_dims == 2;
    if (!to->exact) return;
    to->table_scheme = type->scheme;
    to->table_blocks = (int)(to->dims[1] / FCT_GGUF_GROUP);
}

static fct_status list_tensors(fct_source *source, struct files *files, fct_error *err) {
    size_t n = 0;
    for (size_t i = 0; i < files->n_parts; i++) n += files->parts[i].gguf.n_tensors;
    source->tensors = fct_new_array(n ? n : 1, sizeof *source->tensors, err);
    files->names = fct_new_array(n ? n : 1, sizeof *files->names, err);
    if (!source->tensors || !files->names) return FCT_ERR_MEMORY;
    source->n_tensors = files->n_names = n;
    for (size_t i = 0, at = 0; i < files->n_parts; i++)
        for (size_t j = 0; j < files->parts[i].gguf.n_tensors; j++, at++) {
            const struct fct_gguf_tensor *from = &files->parts[i].gguf.tensors[j];
            fct_status status = translate_name(from->name, &files->names[at], err);
            if (status != FCT_OK) return status;
            source->tensors[at].name = files->names[at] ? files->names[at] : from->name;
            source->tensors[at].part = (int)i;
            describe_tensor(from, &source->tensors[at]);
        }
    return fct_source_sort(source, err);
}

/* ---- reading ---- */

static uint64_t bytes_of(const struct fct_gguf_type *type, uint64_t n_values) {
    return n_values / (uint64_t)type->block * (uint64_t)type->block_bytes;
}

/* n_values from value number `first` on, both multiples of a block. */
static fct_status read_values(const struct part *part, const struct fct_gguf_tensor *tensor,
                              uint64_t first, uint64_t n_values, float *out, fct_error *err) {
    const struct fct_gguf_type *type = tensor->type;
    uint8_t piece[PIECE_BYTES];
    uint64_t offset = tensor->offset + bytes_of(type, first);
    size_t block_bytes = (size_t)type->block_bytes, most = sizeof piece / block_bytes;
    for (uint64_t left = n_values / (uint64_t)type->block; left;) {
        size_t n = left < most ? (size_t)left : most;
        fct_status status =
            fct_file_read_at(part->mapping.fd, part->path, offset, piece, n * block_bytes, err);
        if (status != FCT_OK) return status;
        for (size_t i = 0; i < n; i++, out += type->block)
            type->unpack(piece + i * block_bytes, out);
        offset += n * block_bytes;
        left -= n;
    }
    return FCT_OK;
}

static fct_status read_rows(const fct_source *source, const struct fct_source_tensor *tensor,
                            uint64_t first_row, uint64_t n_rows, float *out, fct_error *err) {
    const struct files *files = source->own;
    uint64_t columns = 1;
    for (int d = 1; d < tensor->n_dims; d++) columns *= tensor->dims[d];
    return read_values(&files->parts[tensor->part], tensor->place, first_row * columns,
                       n_rows * columns, out, err);
}

static fct_status check_scale(const struct fct_source_tensor *tensor, uint16_t scale, uint64_t row,
                              int column, fct_error *err) {
    if ((scale & 0x7C00) != 0x7C00) return FCT_OK;
    return fct_fail(err, FCT_ERR_NUMERIC,
                    "%s: the scale of row %llu, column %d is not a finite number", tensor->name,
                    (unsigned long long)row, column);
}

/* The blocks of some rows as they lie in the file; the caller frees them. */
static fct_status read_blocks(const fct_source *source, const struct fct_source_tensor *tensor,
                              uint64_t first_row, int n_rows, uint8_t **blocks, size_t *row_bytes,
                              fct_error *err) {
    const struct files *files = source->own;
    const struct part *part = &files->parts[tensor->part];
    const struct fct_gguf_tensor *from = tensor->place;
    *row_bytes = (size_t)bytes_of(from->type, tensor->dims[1]);
    *blocks = fct_new_array((size_t)n_rows, *row_bytes, err);
    if (!*blocks) return FCT_ERR_MEMORY;
    return fct_file_read_at(part->mapping.fd, part->path, from->offset + first_row * *row_bytes,
                            *blocks, (size_t)n_rows * *row_bytes, err);
}

/* Group g of the rows at `rows` (each row_bytes long) into a strip. */
static fct_status place_group(const struct fct_source_tensor *tensor, const uint8_t *rows,
                              size_t row_bytes, int n_rows, uint64_t first_row, int g,
                              uint8_t *strip, fct_error *err) {
    const struct fct_gguf_type *type = ((const struct fct_gguf_tensor *)tensor->place)->type;
    float codes[FCT_GGUF_GROUP][FCT_STRIP] = {{0}};
    uint16_t scales[FCT_STRIP] = {0};
    int8_t own[FCT_GGUF_GROUP];
    bool there = (uint64_t)g * FCT_GGUF_GROUP < tensor->dims[1];
    for (int r = 0; there && r < n_rows; r++) {
        type->codes(rows + (size_t)r * row_bytes + (size_t)g * (size_t)type->block_bytes, own,
                    &scales[r]);
        fct_status status =
            check_scale(tensor, scales[r], first_row + (unsigned)r, g * FCT_GGUF_GROUP, err);
        if (status != FCT_OK) return status;
        for (int i = 0; i < FCT_GGUF_GROUP; i++) codes[i][r] = (float)own[i];
    }
    fct_pack_group(tensor->scheme, FCT_GGUF_GROUP, g, (const float(*)[FCT_STRIP])codes, scales,
                   strip);
    return FCT_OK;
}

static fct_status read_strip(const fct_source *source, const struct fct_source_tensor *tensor,
                             uint64_t first_row, int n_rows, uint8_t *strip, fct_error *err) {
    int columns = (int)tensor->dims[1],
        n_groups = fct_padded_columns(tensor->scheme, tensor->group, columns) / FCT_GGUF_GROUP;
    size_t row_bytes = 0;
    uint8_t *blocks = NULL;
    fct_status status = read_blocks(source, tensor, first_row, n_rows, &blocks, &row_bytes, err);
    for (int g = 0; g < n_groups && status == FCT_OK; g++)
        status = place_group(tensor, blocks, row_bytes, n_rows, first_row, g, strip, err);
    fct_free(blocks);
    return status;
}

/* One row of a table from the row's blocks: all scales, then all codes. */
static fct_status place_row(const struct fct_source_tensor *tensor, const uint8_t *blocks,
                            uint64_t row, uint8_t *out, fct_error *err) {
    const struct fct_gguf_type *type = ((const struct fct_gguf_tensor *)tensor->place)->type;
    uint8_t *codes = out + (size_t)tensor->table_blocks * sizeof(float);
    int8_t own[FCT_GGUF_GROUP];
    for (int b = 0; b < tensor->table_blocks; b++) {
        uint16_t half;
        type->codes(blocks + (size_t)b * (size_t)type->block_bytes, own, &half);
        fct_status status = check_scale(tensor, half, row, b * FCT_GGUF_GROUP, err);
        if (status != FCT_OK) return status;
        float scale = fct_half_float(half);
        memcpy(out + (size_t)b * sizeof scale, &scale, sizeof scale);
        for (int i = 0; i < FCT_GGUF_GROUP; i++) {
            int at = b * FCT_GGUF_GROUP + i;
            if (tensor->table_scheme == FCT_Q8)
                codes[at] = (uint8_t)own[i];
            else
                codes[at / 2] = (uint8_t)(codes[at / 2] | (own[i] + 8) << 4 * (at % 2));
        }
    }
    return FCT_OK;
}

static fct_status read_table_rows(const fct_source *source, const struct fct_source_tensor *tensor,
                                  uint64_t first_row, int n_rows, uint8_t *rows, fct_error *err) {
    int columns = (int)tensor->dims[1];
    size_t made_bytes = fct_table_row_bytes(tensor->table_scheme, tensor->table_blocks, columns),
           row_bytes = 0;
    uint8_t *blocks = NULL;
    fct_status status = read_blocks(source, tensor, first_row, n_rows, &blocks, &row_bytes, err);
    memset(rows, 0, (size_t)n_rows * made_bytes);
    for (int r = 0; r < n_rows && status == FCT_OK; r++)
        status = place_row(tensor, blocks + (size_t)r * row_bytes, first_row + (unsigned)r,
                           rows + (size_t)r * made_bytes, err);
    fct_free(blocks);
    return status;
}

static fct_status read_vocabulary(const fct_source *source, uint8_t **block, size_t *n_bytes,
                                  int *n_restored, fct_error *err) {
    const struct files *files = source->own;
    return fct_gguf_vocabulary_read(&files->parts[0].gguf, source->path, block, n_bytes, n_restored,
                                    err);
}

static bool holds_file(const fct_source *source, const char *path) {
    const struct files *files = source->own;
    for (size_t i = 0; i < files->n_parts; i++)
        if (files->parts[i].mapping.fd >= 0 && fct_file_is_at(files->parts[i].mapping.fd, path))
            return true;
    return false;
}

/* ---- what the configuration asks ---- */

static const struct part *part_of(const struct files *files, const char *name,
                                  const struct fct_gguf_tensor **tensor) {
    for (size_t i = 0; i < files->n_parts; i++)
        if ((*tensor = fct_gguf_find_tensor(&files->parts[i].gguf, name))) return &files->parts[i];
    return NULL;
}

static const struct fct_gguf_tensor *find_tensor(const void *files, const char *name) {
    const struct fct_gguf_tensor *tensor;
    return part_of(files, name, &tensor) ? tensor : NULL;
}

static fct_status read_tensor(const void *files, const struct fct_gguf_tensor *tensor, float *out,
                              uint64_t n, fct_error *err) {
    const struct fct_gguf_tensor *same;
    const struct part *part = part_of(files, tensor->name, &same);
    if (!tensor->type || !tensor->type->unpack || tensor->type->block != 1)
        return fct_fail(err, FCT_ERR_UNSUPPORTED, "%s: %s is no list of floats", part->path,
                        tensor->name);
    return read_values(part, tensor, 0, n, out, err);
}

/* A metadata text as new text, or NULL. */
static fct_status copy_text(const struct fct_gguf *gguf, const char *key, char **text,
                            fct_error *err) {
    size_t n;
    const char *found = fct_gguf_text(fct_gguf_find(gguf, key), &n);
    if (!found || memchr(found, 0, n)) return FCT_OK;
    *text = fct_copy_text(found, n, err);
    return *text ? FCT_OK : FCT_ERR_MEMORY;
}

/* An answer ends also where a tool's result is awaited; files do not list that end. */
static void add_tool_end(json_t *generation, const struct fct_gguf *gguf) {
    int id = fct_gguf_find_token(gguf, "<|tool_response>");
    json_t *ends = json_object_get(generation, "eos_token_id");
    if (id < 0) return;
    if (!ends) json_object_set_new(generation, "eos_token_id", ends = json_array());
    json_array_append_new(ends, json_integer(id));
}

static fct_status read_metadata(fct_source *source, const struct files *files, fct_error *err) {
    const struct fct_gguf *gguf = &files->parts[0].gguf;
    const struct fct_gguf_tensors tensors = {find_tensor, read_tensor, files};
    fct_error failure = {.code = FCT_ERR_FORMAT};
    source->config = fct_gguf_config(gguf, &tensors, source->path, &failure);
    if (!source->config) return fct_fail(err, failure.code, "%s", failure.message);
    source->generation = fct_gguf_generation(gguf);
    if (!source->generation) return fct_fail(err, FCT_ERR_MEMORY, "%s: no memory", source->path);
    add_tool_end(source->generation, gguf);
    fct_status status = copy_text(gguf, "general.license", &source->licence, err);
    if (status == FCT_OK)
        status = copy_text(gguf, "tokenizer.chat_template", &source->chat_template, err);
    return status;
}

/* ---- the source ---- */

static void free_gguf(fct_source *source) {
    struct files *files = source->own;
    for (size_t i = 0; files && i < files->n_parts; i++) {
        fct_gguf_free(&files->parts[i].gguf);
        if (files->parts[i].mapping.fd >= 0) fct_map_close(&files->parts[i].mapping);
        fct_free(files->parts[i].path);
    }
    for (size_t i = 0; files && i < files->n_names; i++) fct_free(files->names[i]);
    if (files) {
        fct_free(files->names);
        fct_free(files->parts);
    }
    fct_free(files);
    fct_source_free_common(source);
}

/* The file's name without .gguf and without the number of the part. */
static char *model_name(const char *path, fct_error *err) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t n = strlen(name);
    struct split_name split;
    if (read_split_name(name, &split))
        n = split.n_stem;
    else if (n > 5 && strcmp(name + n - 5, ".gguf") == 0)
        n -= 5;
    return fct_copy_text(name, n, err);
}

fct_source *fct_source_open_gguf(const char *path, fct_error *err) {
    fct_source *source = fct_new(sizeof *source, err);
    if (!source) return NULL;
    struct files *files = fct_new(sizeof *files, err);
    source->kind = "gguf";
    source->own = files;
    source->read_rows = read_rows;
    source->read_strip = read_strip;
    source->read_table_rows = read_table_rows;
    source->read_vocabulary = read_vocabulary;
    source->holds_file = holds_file;
    source->free = free_gguf;
    source->path = fct_copy_text(path, strlen(path), err);
    source->name = model_name(path, err);
    if (!files || !source->path || !source->name) goto failed;
    if (find_parts(files, path, err) != FCT_OK || open_parts(files, err) != FCT_OK) goto failed;
    if (list_tensors(source, files, err) != FCT_OK) goto failed;
    if (read_metadata(source, files, err) != FCT_OK) goto failed;
    return source;
failed:
    fct_source_free(source);
    return NULL;
}
