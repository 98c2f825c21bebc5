/* coded.c - matrices and tables that a folder holds as codes and scales: put together from its raw
 * tensors, read out as floats, strips and rows. */
#include "convert/coded.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/half.h"
#include "base/memory.h"
#include "convert/quantize.h"
#include "convert/safetensors_source.h"

enum { CODED = -1 }; /* a tensor's part: its place is a struct fct_coded */

/* ---- putting together ---- */

void fct_coding_problem(struct fct_coding *c, const char *name, const char *format, ...) {
    char why[256], line[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    snprintf(line, sizeof line, "%.120s %s", name, why);
    fct_name_list_add(&c->problems, line);
}

static char *join(struct fct_coding *c, const char *module, const char *suffix) {
    size_t room = strlen(module) + strlen(suffix) + 2;
    char *name = fct_new(room, c->err);
    if (name)
        snprintf(name, room, "%s.%s", module, suffix);
    else
        c->status = FCT_ERR_MEMORY;
    return name;
}

const struct fct_source_tensor *fct_coding_take(struct fct_coding *c, const char *module,
                                                const char *suffix) {
    char *name = join(c, module, suffix);
    const struct fct_source_tensor *raw = name ? fct_source_find(c->source, name) : NULL;
    fct_free(name);
    if (raw) c->taken[raw - c->source->tensors] = true;
    return raw;
}

float fct_coding_number(struct fct_coding *c, const char *module, const char *suffix) {
    const struct fct_source_tensor *raw = fct_coding_take(c, module, suffix);
    float number = 0;
    if (!raw || c->status != FCT_OK) return 0;
    uint64_t n = 1;
    for (int d = 0; d < raw->n_dims; d++) n *= raw->dims[d];
    if (n != 1 || !raw->readable) {
        fct_coding_problem(c, raw->name, "is not one number");
        return 0;
    }
    c->status = c->source->read_rows(c->source, raw, 0, 1, &number, c->err);
    if (c->status != FCT_OK || (number >= 0 && isfinite(number))) return number;
    fct_coding_problem(c, raw->name, "is %g", (double)number);
    return 0;
}

static void append(struct fct_coding *c, struct fct_coded coded) {
    struct fct_coded_list *list = c->list;
    if (c->status == FCT_OK)
        c->status =
            fct_grow((void **)&list->all, &list->capacity, list->n + 1, sizeof coded, c->err);
    if (c->status == FCT_OK)
        list->all[list->n++] = coded;
    else
        fct_free(coded.name);
}

void fct_coding_add(struct fct_coding *c, const char *module, struct fct_coded coded) {
    const struct fct_source_tensor *codes = &coded.codes, *scales = &coded.scales;
    uint64_t columns = (uint64_t)coded.columns, blocks = scales->n_dims == 2 ? scales->dims[1] : 1;
    coded.row_bytes = codes->n_dims == 2 && codes->dims[0] ? codes->n_bytes / codes->dims[0] : 0;
    if (!coded.row_bytes || codes->dims[0] > INT32_MAX / 2 || columns == 0 ||
        coded.row_bytes * 8 / (uint64_t)coded.bits < columns) {
        fct_coding_problem(c, codes->name, "has not the shape of %d-bit codes", coded.bits);
        return;
    }
    if (!scales->readable || scales->n_dims < 1 || scales->n_dims > 2 ||
        scales->dims[0] != codes->dims[0] || blocks == 0 || columns % blocks != 0) {
        fct_coding_problem(c, scales->name, "does not fit %llu rows of %llu codes",
                           (unsigned long long)codes->dims[0], (unsigned long long)columns);
        return;
    }
    coded.rows = (int)codes->dims[0];
    coded.blocks = (int)blocks;
    coded.name = join(c, module, "weight");
    append(c, coded);
}

void fct_coding_add_pair(struct fct_coding *c, const char *module, const char *suffix, float first,
                         float second) {
    if (first == 0 && second == 0) return;
    append(c, (struct fct_coded){
                  .name = join(c, module, suffix), .is_pair = true, .pair = {first, second}});
}

void fct_coding_refuse_leftovers(struct fct_coding *c, const char *suffix, const char *why) {
    size_t n_suffix = strlen(suffix);
    for (size_t i = 0; i < c->source->n_tensors; i++) {
        const char *name = c->source->tensors[i].name;
        size_t n = strlen(name);
        if (!c->taken[i] && n > n_suffix && strcmp(name + n - n_suffix, suffix) == 0 &&
            !fct_source_is_other_modality(name))
            fct_coding_problem(c, name, "%s", why);
    }
}

/* ---- reading ---- */

static fct_status read_scales(const fct_source *source, const struct fct_coded *coded,
                              uint64_t first_row, int n_rows, float *scales, fct_error *err) {
    fct_status status = source->coded->read_raw_rows(source, &coded->scales, first_row,
                                                     (uint64_t)n_rows, scales, err);
    for (int i = 0; i < n_rows * coded->blocks && status == FCT_OK; i++)
        if (!isfinite(scales[i]))
            status = fct_fail(err, FCT_ERR_NUMERIC,
                              "%s: a scale of row %llu is not a finite number", coded->name,
                              (unsigned long long)first_row + (unsigned)(i / coded->blocks));
    return status;
}

/* Some rows as they lie in the files. */
struct rows {
    uint8_t *codes; /* [n_rows][row_bytes] */
    float *scales;  /* [n_rows][blocks] */
};

static void free_rows(struct rows *rows) {
    fct_free(rows->codes);
    fct_free(rows->scales);
}

static fct_status read_both(const fct_source *source, const struct fct_coded *coded,
                            uint64_t first_row, int n_rows, struct rows *rows, fct_error *err) {
    rows->codes = fct_new_array((size_t)n_rows, (size_t)coded->row_bytes, err);
    rows->scales = fct_new_array((size_t)n_rows, (size_t)coded->blocks * sizeof(float), err);
    if (!rows->codes || !rows->scales) return FCT_ERR_MEMORY;
    fct_status status =
        fct_shards_read_bytes(source, &coded->codes, first_row * coded->row_bytes, rows->codes,
                              (size_t)n_rows * (size_t)coded->row_bytes, err);
    if (status == FCT_OK) status = read_scales(source, coded, first_row, n_rows, rows->scales, err);
    return status;
}

static int code_at(const struct fct_coded *coded, const uint8_t *row, int column) {
    int per_byte = 8 / coded->bits, byte = row[column / per_byte];
    if (coded->is_signed) return (int8_t)byte;
    return (byte >> column % per_byte * coded->bits & ((1 << coded->bits) - 1)) -
           (1 << (coded->bits - 1));
}

static fct_status read_rows(const fct_source *source, const struct fct_source_tensor *tensor,
                            uint64_t first_row, uint64_t n_rows, float *out, fct_error *err) {
    const struct fct_coded *coded = tensor->place;
    if (tensor->part != CODED)
        return source->coded->read_raw_rows(source, tensor, first_row, n_rows, out, err);
    if (coded->is_pair) {
        memcpy(out, coded->pair + first_row, (size_t)n_rows * sizeof *out);
        return FCT_OK;
    }
    struct rows rows = {0};
    int width = coded->columns / coded->blocks;
    fct_status status = read_both(source, coded, first_row, (int)n_rows, &rows, err);
    for (int r = 0; r < (int)n_rows && status == FCT_OK; r++) {
        const uint8_t *codes = rows.codes + (size_t)r * (size_t)coded->row_bytes;
        const float *scales = rows.scales + (size_t)r * (size_t)coded->blocks;
        for (int i = 0; i < coded->columns; i++)
            *out++ = (float)code_at(coded, codes, i) * scales[i / width];
    }
    free_rows(&rows);
    return status;
}

/* Inputs [first, first + n) of all rows, a lane a row; zeros where there is nothing. */
static void load_codes(const struct fct_coded *coded, const struct rows *rows, int n_rows,
                       int first, int n, float (*codes)[FCT_STRIP]) {
    memset(codes, 0, (size_t)n * sizeof *codes);
    int end = first + n < coded->columns ? first + n : coded->columns;
    for (int r = 0; r < n_rows; r++)
        for (int i = first; i < end; i++)
            codes[i - first][r] =
                (float)code_at(coded, rows->codes + (size_t)r * (size_t)coded->row_bytes, i);
}

static void fill_row_strip(const struct fct_coded *coded, enum fct_scheme scheme,
                           const struct rows *rows, int n_rows, uint8_t *strip) {
    float codes[FCT_PACK_CHUNK][FCT_STRIP], scales[FCT_STRIP] = {0};
    int padded = fct_padded_columns(scheme, 0, coded->columns);
    for (int first = 0; first < padded; first += FCT_PACK_CHUNK) {
        load_codes(coded, rows, n_rows, first, FCT_PACK_CHUNK, codes);
        fct_pack_chunk(scheme, first / FCT_PACK_CHUNK, (const float(*)[FCT_STRIP])codes, strip);
    }
    memcpy(scales, rows->scales, (size_t)n_rows * sizeof *scales);
    memcpy(strip + fct_strip_bytes(scheme, 0, coded->columns) - FCT_LINE, scales, sizeof scales);
}

/* float16 scales of the rows for the inputs from `first` on. */
static fct_status half_scales(struct fct_coded_list *list, const struct fct_coded *coded,
                              const struct rows *rows, int n_rows, int first,
                              uint16_t halves[FCT_STRIP], fct_error *err) {
    int block = first / (coded->columns / coded->blocks);
    memset(halves, 0, FCT_STRIP * sizeof *halves);
    if (first >= coded->columns) return FCT_OK;
    unsigned n_rounded = 0;
    for (int r = 0; r < n_rows; r++) {
        float scale = rows->scales[(size_t)r * (size_t)coded->blocks + (size_t)block];
        halves[r] = fct_float_half(scale);
        if ((halves[r] & 0x7C00) == 0x7C00)
            return fct_fail(err, FCT_ERR_NUMERIC, "%s: a scale of %g is beyond float16",
                            coded->name, (double)scale);
        n_rounded += fct_half_float(halves[r]) != scale;
    }
    atomic_fetch_add(&list->n_scales, (uint64_t)n_rows);
    atomic_fetch_add(&list->n_rounded, n_rounded);
    return FCT_OK;
}

static fct_status fill_group_strip(struct fct_coded_list *list, const struct fct_coded *coded,
                                   const struct fct_source_tensor *tensor, const struct rows *rows,
                                   int n_rows, uint8_t *strip, fct_error *err) {
    float codes[FCT_PACK_MAX_GROUP][FCT_STRIP];
    uint16_t halves[FCT_STRIP];
    int group = tensor->group,
        n_groups = fct_padded_columns(tensor->scheme, group, coded->columns) / group;
    for (int g = 0; g < n_groups; g++) {
        load_codes(coded, rows, n_rows, g * group, group, codes);
        fct_status status = half_scales(list, coded, rows, n_rows, g * group, halves, err);
        if (status != FCT_OK) return status;
        fct_pack_group(tensor->scheme, group, g, (const float(*)[FCT_STRIP])codes, halves, strip);
    }
    return FCT_OK;
}

static fct_status read_strip(const fct_source *source, const struct fct_source_tensor *tensor,
                             uint64_t first_row, int n_rows, uint8_t *strip, fct_error *err) {
    const struct fct_coded *coded = tensor->place;
    struct rows rows = {0};
    fct_status status = read_both(source, coded, first_row, n_rows, &rows, err);
    if (status == FCT_OK && tensor->group)
        status = fill_group_strip(source->coded, coded, tensor, &rows, n_rows, strip, err);
    else if (status == FCT_OK)
        fill_row_strip(coded, tensor->scheme, &rows, n_rows, strip);
    free_rows(&rows);
    return status;
}

/* A table's codes lie in the packed file as in the source, but for 8 bits with an offset. */
static fct_status read_table_rows(const fct_source *source, const struct fct_source_tensor *tensor,
                                  uint64_t first_row, int n_rows, uint8_t *out, fct_error *err) {
    const struct fct_coded *coded = tensor->place;
    struct rows rows = {0};
    size_t made_bytes = fct_table_row_bytes(tensor->table_scheme, coded->blocks, coded->columns),
           n_scales = (size_t)coded->blocks * sizeof(float),
           n_codes = ((size_t)coded->columns * (size_t)coded->bits + 7) / 8;
    fct_status status = read_both(source, coded, first_row, n_rows, &rows, err);
    for (int r = 0; r < n_rows && status == FCT_OK; r++, out += made_bytes) {
        memset(out, 0, made_bytes);
        memcpy(out, rows.scales + (size_t)r * (size_t)coded->blocks, n_scales);
        memcpy(out + n_scales, rows.codes + (size_t)r * (size_t)coded->row_bytes, n_codes);
        for (size_t i = 0; i < n_codes && coded->bits == 8 && !coded->is_signed; i++)
            out[n_scales + i] ^= 0x80;
    }
    free_rows(&rows);
    return status;
}

/* ---- in place of the raw tensors ---- */

static void choose_layout(const struct fct_coded *coded, struct fct_source_tensor *to) {
    enum fct_scheme own = coded->bits == 2 ? FCT_Q2 : coded->bits == 4 ? FCT_Q4 : FCT_Q8;
    int width = coded->columns / coded->blocks;
    to->scheme = own;
    to->group = 0;
    to->exact = coded->blocks == 1;
    to->table_scheme = own;
    to->table_blocks = coded->blocks;
    if (to->exact) return;
    /* Two bits have no groups of their own, but four bits hold their codes. A group may be a part
     * of the source's. */
    to->scheme = own == FCT_Q8 ? FCT_Q8 : FCT_Q4;
    for (to->group = own == FCT_Q8 ? 32 : 128; to->group > 32 && width % to->group; to->group /= 2)
        ;
    to->exact = width % to->group == 0;
}

static void describe(const struct fct_coded *coded, struct fct_source_tensor *to) {
    *to = (struct fct_source_tensor){
        .name = coded->name, .readable = true, .part = CODED, .place = coded};
    if (coded->is_pair) {
        snprintf(to->dtype_name, sizeof to->dtype_name, "F32");
        to->n_dims = 1;
        to->dims[0] = 2;
        to->n_bytes = sizeof coded->pair;
        return;
    }
    snprintf(to->dtype_name, sizeof to->dtype_name, "%d bits", coded->bits);
    to->n_dims = 2;
    to->dims[0] = (uint64_t)coded->rows;
    to->dims[1] = (uint64_t)coded->columns;
    to->n_bytes = coded->codes.n_bytes + coded->scales.n_bytes;
    choose_layout(coded, to);
}

fct_status fct_coded_install(fct_source *source, struct fct_coded_list *list, const bool *taken,
                             fct_error *err) {
    size_t n = 0;
    source->coded = list;
    list->raw = source->tensors;
    list->n_raw = source->n_tensors;
    source->tensors = fct_new_array(list->n_raw + list->n + 1, sizeof *source->tensors, err);
    source->n_tensors = 0;
    if (!source->tensors) return FCT_ERR_MEMORY;
    for (size_t i = 0; i < list->n_raw; i++)
        if (!taken[i]) source->tensors[n++] = list->raw[i];
    for (size_t i = 0; i < list->n; i++) describe(&list->all[i], &source->tensors[n++]);
    source->n_tensors = n;
    list->read_raw_rows = source->read_rows;
    source->read_rows = read_rows;
    source->read_strip = read_strip;
    source->read_table_rows = read_table_rows;
    return fct_source_sort(source, err);
}

void fct_coded_free(struct fct_coded_list *list) {
    if (!list) return;
    for (size_t i = 0; i < list->n; i++) fct_free(list->all[i].name);
    fct_free(list->all);
    fct_free(list->raw);
    fct_free(list);
}
