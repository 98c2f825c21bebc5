/* logits_file.c - the logits of a text in a file, to compare other models with (docs/QUALITY.md).
 *
 * float16, relative to the largest of each row: that one is exactly 0, so the likeliest token is
 * never lost to rounding, and what is likely is exact to a thousandth. Whoever reads them takes the
 * softmax again. */
#include "engine/logits_file.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/half.h"
#include "base/memory.h"
#include "engine/distribution.h"
#include "kernels/blocks.h"
#include "pack/checksum.h"

#define LOGITS_FORMAT "facet-logits"
#define LOGITS_VERSION "1"

static fct_status put_metadata(fct_tensor_file *file, const fct_model *model,
                               const struct fct_chunks *chunks, fct_error *err) {
    const char *source = fct_pack_metadata(model->pack, "source"),
               *weights = fct_pack_metadata(model->pack, "weights");
    fct_status status = fct_tensor_file_metadata(file, "format", LOGITS_FORMAT, err);
    if (!status) status = fct_tensor_file_metadata(file, "format_version", LOGITS_VERSION, err);
    if (!status) status = fct_tensor_file_metadata(file, "model", source ? source : "", err);
    if (!status) status = fct_tensor_file_metadata(file, "weights", weights ? weights : "", err);
    if (!status) status = fct_tensor_file_number(file, "chunk", (uint64_t)chunks->chunk, err);
    if (!status) status = fct_tensor_file_number(file, "first", (uint64_t)chunks->first, err);
    return status;
}

fct_status fct_logits_writer_begin(struct fct_logits_writer *writer, const char *path,
                                   const fct_model *model, const struct fct_chunks *chunks,
                                   fct_error *err) {
    int vocab_size = model->config.vocab_size;
    uint64_t n_ids = (uint64_t)chunks->n_chunks * (uint64_t)chunks->chunk;
    uint64_t shape[] = {(uint64_t)chunks->n_chunks * (uint64_t)fct_chunk_rows(chunks),
                        (uint64_t)vocab_size};
    *writer = (struct fct_logits_writer){.vocab_size = vocab_size};
    writer->file = fct_tensor_file_new(err);
    writer->row = fct_new_array((size_t)vocab_size, sizeof *writer->row, err);
    if (!writer->file || !writer->row) return FCT_ERR_MEMORY;
    fct_status status = put_metadata(writer->file, model, chunks, err);
    if (!status)
        status = fct_tensor_file_declare(writer->file, "ids", FCT_DTYPE_I32, &n_ids, 1, err);
    if (!status)
        status = fct_tensor_file_declare(writer->file, "logits", FCT_DTYPE_F16, shape, 2, err);
    if (!status) status = fct_tensor_file_begin(writer->file, path, FCT_LINE, err);
    if (!status)
        status = fct_tensor_file_write(writer->file, chunks->ids, n_ids * sizeof(int32_t), err);
    return status;
}

fct_status fct_logits_writer_row(struct fct_logits_writer *writer, const float *logits,
                                 fct_error *err) {
    float largest = logits[fct_best_of(logits, writer->vocab_size)];
    for (int i = 0; i < writer->vocab_size; i++) {
        float below = logits[i] - largest;
        writer->row[i] = fct_float_half(below < -65504.0f ? -65504.0f : below);
    }
    return fct_tensor_file_write(writer->file, writer->row,
                                 (size_t)writer->vocab_size * sizeof *writer->row, err);
}

fct_status fct_logits_writer_finish(struct fct_logits_writer *writer, fct_error *err) {
    return fct_tensor_file_finish(writer->file, err);
}

void fct_logits_writer_free(struct fct_logits_writer *writer) {
    fct_tensor_file_free(writer->file);
    fct_free(writer->row);
    *writer = (struct fct_logits_writer){0};
}

static const char *metadata(const struct fct_safetensors *header, const char *key) {
    const char *text = json_string_value(json_object_get(header->metadata, key));
    return text ? text : "";
}

bool fct_logits_file_is(const char *path) {
    struct fct_mapping map;
    struct fct_safetensors header = {0};
    if (fct_map_open(&map, path, NULL) != FCT_OK) return false;
    bool is = fct_safetensors_parse(&header, path, map.data, map.size, NULL) == FCT_OK &&
              strcmp(metadata(&header, "format"), LOGITS_FORMAT) == 0;
    fct_safetensors_free(&header);
    fct_map_close(&map);
    return is;
}

/* A count in the metadata, from 0 to max; -1 if it is none. */
static int count_of(const struct fct_safetensors *header, const char *key, int max) {
    const char *text = metadata(header, key);
    size_t n = strspn(text, "0123456789");
    if (n == 0 || n > 9 || text[n]) return -1;
    int value = atoi(text);
    return value <= max ? value : -1;
}

static fct_status check_shape(struct fct_logits_file *file, const char *path, fct_error *err) {
    const struct fct_safetensors *header = &file->header;
    struct fct_chunks *chunks = &file->chunks;
    const struct fct_tensor *ids = fct_safetensors_find(header, "ids"),
                            *logits = fct_safetensors_find(header, "logits");
    chunks->chunk = count_of(header, "chunk", INT32_MAX);
    chunks->first = count_of(header, "first", chunks->chunk - 2);
    if (!ids || ids->dtype != FCT_DTYPE_I32 || ids->n_dims != 1 || chunks->chunk < 2 ||
        ids->dims[0] > INT32_MAX || ids->dims[0] % (uint64_t)chunks->chunk || chunks->first < 0 ||
        ids->dims[0] == 0)
        return fct_fail(err, FCT_ERR_FORMAT, "%s: has no ids in chunks", path);
    chunks->n_chunks = (int)(ids->dims[0] / (uint64_t)chunks->chunk);
    uint64_t n_rows = (uint64_t)chunks->n_chunks * (uint64_t)fct_chunk_rows(chunks);
    if (!logits || logits->dtype != FCT_DTYPE_F16 || logits->n_dims != 2 ||
        logits->dims[0] != n_rows)
        return fct_fail(err, FCT_ERR_FORMAT, "%s: has no logits for its ids", path);
    if (logits->dims[1] != (uint64_t)file->vocab_size)
        return fct_fail(err, FCT_ERR_ARGUMENT,
                        "%s: is of a vocabulary of %llu, this model has one of %d", path,
                        (unsigned long long)logits->dims[1], file->vocab_size);
    file->rows = file->map.data + logits->offset;
    chunks->ids = fct_new_array((size_t)ids->dims[0], sizeof *chunks->ids, err);
    if (!chunks->ids) return FCT_ERR_MEMORY;
    memcpy(chunks->ids, file->map.data + ids->offset, (size_t)ids->n_bytes);
    return FCT_OK;
}

fct_status fct_logits_file_open(struct fct_logits_file *file, const char *path, int vocab_size,
                                fct_progress_fn progress, void *user, fct_error *err) {
    *file = (struct fct_logits_file){.vocab_size = vocab_size};
    fct_status status = fct_map_open(&file->map, path, err);
    if (status) return status;
    status = fct_safetensors_parse(&file->header, path, file->map.data, file->map.size, err);
    if (!status && (strcmp(metadata(&file->header, "format"), LOGITS_FORMAT) ||
                    strcmp(metadata(&file->header, "format_version"), LOGITS_VERSION)))
        status = fct_fail(err, FCT_ERR_FORMAT, "%s: is no file of logits of version %s", path,
                          LOGITS_VERSION);
    if (!status)
        status = fct_checksum_verify(&file->header, path, file->map.data, progress, user, err);
    if (!status) status = check_shape(file, path, err);
    if (status) fct_logits_file_close(file);
    return status;
}

void fct_logits_file_close(struct fct_logits_file *file) {
    fct_safetensors_free(&file->header);
    fct_map_close(&file->map);
    fct_chunks_free(&file->chunks);
}

void fct_logits_file_row(const struct fct_logits_file *file, size_t i, float *logits) {
    size_t n = (size_t)file->vocab_size;
    const uint8_t *row = file->rows + i * n * sizeof(uint16_t);
    for (size_t j = 0; j < n; j++) {
        uint16_t half;
        memcpy(&half, row + j * sizeof half, sizeof half);
        logits[j] = fct_half_float(half);
    }
}
