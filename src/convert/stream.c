/* stream.c - tensors from a source into a packed file, a block of rows at a time, by several
 * threads.
 *
 * A tensor is cut into units (a strip of a matrix, some rows of a table), units are gathered in
 * blocks. The threads claim the units of a block; one of them first writes the block before, so
 * that quantizing and writing overlap. */
#include "convert/stream.h"

#include <stdatomic.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "convert/quantize.h"

enum { BLOCK_BYTES = 8 << 20, TABLE_UNIT_FLOATS = 64 << 10 };

struct fct_stream {
    const fct_source *source;
    fct_pack_writer *writer;
    fct_pool *pool;
    uint8_t *blocks[2];
    float *rows; /* [threads][unit_floats] */
    size_t unit_floats;
    struct fct_loss *losses; /* [threads] */
    fct_progress_fn progress;
    void *user;
    uint64_t done, total;
};

/* How an entry is cut. */
struct cut {
    int rows;     /* of a unit; the last may have fewer */
    size_t bytes; /* of a whole unit */
    int n_units;
    int per_block;
};

/* One block being made. */
struct block {
    fct_stream *stream;
    const struct fct_plan_entry *entry;
    struct cut cut;
    int begin, end;   /* units */
    _Atomic int next; /* the unit to be claimed */
    uint8_t *out;
    const uint8_t *previous; /* to be written first */
    size_t n_previous;
    struct fct_loss *losses; /* [threads]; NULL: nobody wants to know */
    fct_status write_status;
    fct_error write_error;
    struct failure {
        int unit;
        fct_error error;
    } * failures; /* [threads]; unit -1: none */
};

static size_t row_bytes(const struct fct_plan_entry *entry) {
    return entry->kind == FCT_PLAN_TABLE
               ? fct_table_row_bytes(entry->scheme, entry->blocks, entry->columns)
               : sizeof(float);
}

static struct cut cut_entry(const struct fct_plan_entry *entry) {
    struct cut cut = {.rows = entry->rows};
    if (entry->kind == FCT_PLAN_MATRIX) {
        cut.rows = FCT_STRIP;
        cut.bytes = fct_strip_bytes(entry->scheme, entry->group, entry->columns);
    } else {
        if (entry->kind == FCT_PLAN_TABLE && entry->rows > TABLE_UNIT_FLOATS / entry->columns)
            cut.rows = TABLE_UNIT_FLOATS / entry->columns + 1;
        cut.bytes = (size_t)cut.rows * row_bytes(entry);
    }
    cut.n_units = (entry->rows + cut.rows - 1) / cut.rows;
    cut.per_block = cut.bytes < BLOCK_BYTES ? (int)(BLOCK_BYTES / cut.bytes) : 1;
    if (cut.per_block > cut.n_units) cut.per_block = cut.n_units;
    return cut;
}

static int rows_of_unit(const struct fct_plan_entry *entry, struct cut cut, int unit) {
    int left = entry->rows - unit * cut.rows;
    return left < cut.rows ? left : cut.rows;
}

uint64_t fct_plan_entry_bytes(const struct fct_plan_entry *entry) {
    struct cut cut = cut_entry(entry);
    if (entry->kind == FCT_PLAN_MATRIX) return (uint64_t)cut.n_units * cut.bytes;
    return (uint64_t)entry->rows * row_bytes(entry);
}

static uint64_t plan_bytes(const struct fct_plan *plan) {
    uint64_t total = 0;
    for (size_t i = 0; i < plan->n_entries; i++) total += fct_plan_entry_bytes(&plan->entries[i]);
    return total;
}

/* ---- one unit ---- */

static fct_status make_vector(const struct fct_plan_entry *entry, float *rows, int n_rows,
                              struct fct_rows_origin origin, uint8_t *out, fct_error *err) {
    fct_status status = fct_check_finite(rows, (size_t)n_rows, 1, origin, err);
    for (int i = 0; i < n_rows; i++) rows[i] = (rows[i] + entry->shift) * entry->scale;
    memcpy(out, rows, (size_t)n_rows * sizeof *rows);
    return status;
}

static fct_status make_table_rows(const struct fct_plan_entry *entry, const float *rows, int n_rows,
                                  struct fct_rows_origin origin, uint8_t *out,
                                  struct fct_loss *loss, fct_error *err) {
    fct_status status = FCT_OK;
    for (int r = 0; r < n_rows && status == FCT_OK; r++, origin.first_row++) {
        const float *row = rows + (size_t)r * (size_t)entry->columns;
        uint8_t *made = out + (size_t)r * row_bytes(entry);
        status = fct_quantize_table_row(entry->scheme, entry->blocks, entry->rounding, row,
                                        entry->columns, made, origin, err);
        if (status == FCT_OK && loss)
            fct_loss_add_table_row(loss, entry->scheme, entry->blocks, row, entry->columns, made);
    }
    return status;
}

static fct_status make_unit(const struct block *b, int unit, float *rows, struct fct_loss *loss,
                            fct_error *err) {
    const struct fct_plan_entry *entry = b->entry;
    const fct_source *source = b->stream->source;
    int n_rows = rows_of_unit(entry, b->cut, unit), first_row = unit * b->cut.rows;
    struct fct_rows_origin origin = {entry->from->name, first_row};
    uint8_t *out = b->out + (size_t)(unit - b->begin) * b->cut.bytes;
    if (entry->exact && entry->kind == FCT_PLAN_TABLE)
        return source->read_table_rows(source, entry->from, (uint64_t)first_row, n_rows, out, err);
    if (entry->exact)
        return source->read_strip(source, entry->from, (uint64_t)first_row, n_rows, out, err);
    fct_status status =
        source->read_rows(source, entry->from, (uint64_t)first_row, (uint64_t)n_rows, rows, err);
    if (status != FCT_OK) return status;
    if (entry->kind == FCT_PLAN_VECTOR) return make_vector(entry, rows, n_rows, origin, out, err);
    if (entry->kind == FCT_PLAN_TABLE)
        return make_table_rows(entry, rows, n_rows, origin, out, loss, err);
    status = fct_quantize_strip(entry->scheme, entry->group, entry->rounding, rows, n_rows,
                                entry->columns, out, origin, err);
    if (status == FCT_OK && loss)
        fct_loss_add_strip(loss, entry->scheme, entry->group, rows, n_rows, entry->columns, out);
    return status;
}

/* ---- one block ---- */

static void make_block(void *user, struct fct_team team) {
    struct block *b = user;
    if (team.index == 0 && b->n_previous)
        b->write_status =
            fct_pack_writer_write(b->stream->writer, b->previous, b->n_previous, &b->write_error);
    float *rows = b->stream->rows + (size_t)team.index * b->stream->unit_floats;
    struct failure *failure = &b->failures[team.index];
    struct fct_loss *loss = b->losses ? &b->losses[team.index] : NULL;
    for (int unit; failure->unit < 0 && (unit = atomic_fetch_add(&b->next, 1)) < b->end;)
        if (make_unit(b, unit, rows, loss, &failure->error) != FCT_OK) {
            failure->unit = unit;
            atomic_store(&b->next, b->end); /* what was claimed before is still finished */
        }
}

/* The first failure in the order of the file: always the same, for units are claimed in order. */
static fct_status first_failure(const struct block *b, int n_threads, fct_error *err) {
    const struct failure *first = NULL;
    for (int i = 0; i < n_threads; i++)
        if (b->failures[i].unit >= 0 && (!first || b->failures[i].unit < first->unit))
            first = &b->failures[i];
    if (b->write_status != FCT_OK)
        return fct_fail(err, b->write_status, "%s", b->write_error.message);
    return first ? fct_fail(err, first->error.code, "%s", first->error.message) : FCT_OK;
}

static fct_status run_block(struct block *b, fct_error *err) {
    int n_threads = fct_pool_size(b->stream->pool);
    b->failures = fct_new_array((size_t)n_threads, sizeof *b->failures, err);
    if (!b->failures) return FCT_ERR_MEMORY;
    for (int i = 0; i < n_threads; i++) b->failures[i].unit = -1;
    atomic_init(&b->next, b->begin);
    fct_pool_run(b->stream->pool, n_threads, make_block, b);
    fct_status status = first_failure(b, n_threads, err);
    fct_free(b->failures);
    return status;
}

static size_t block_bytes(const struct block *b) {
    size_t bytes = (size_t)(b->end - b->begin) * b->cut.bytes;
    if (b->entry->kind == FCT_PLAN_MATRIX || b->end < b->cut.n_units) return bytes;
    int missing = b->cut.rows - rows_of_unit(b->entry, b->cut, b->end - 1);
    return bytes - (size_t)missing * row_bytes(b->entry);
}

/* The threads' losses, summed up and forgotten. */
static void gather_loss(fct_stream *stream, struct fct_loss *loss) {
    size_t n_threads = (size_t)fct_pool_size(stream->pool);
    for (size_t i = 0; i < n_threads; i++) {
        loss->error += stream->losses[i].error;
        loss->power += stream->losses[i].power;
    }
    memset(stream->losses, 0, n_threads * sizeof *stream->losses);
}

fct_status fct_stream_tensor(fct_stream *stream, const struct fct_plan_entry *entry,
                             struct fct_loss *loss, fct_error *err) {
    struct cut cut = cut_entry(entry);
    const uint8_t *previous = NULL;
    size_t n_previous = 0;
    for (int begin = 0, turn = 0; begin < cut.n_units; begin += cut.per_block, turn = !turn) {
        struct block block = {.stream = stream,
                              .entry = entry,
                              .cut = cut,
                              .begin = begin,
                              .end = cut.n_units - begin < cut.per_block ? cut.n_units
                                                                         : begin + cut.per_block,
                              .out = stream->blocks[turn],
                              .losses = loss ? stream->losses : NULL,
                              .previous = previous,
                              .n_previous = n_previous};
        fct_status status = run_block(&block, err);
        if (status != FCT_OK) return status;
        stream->done += n_previous;
        previous = block.out;
        n_previous = block_bytes(&block);
        if (stream->progress)
            stream->progress(stream->user, entry->name, stream->done, stream->total);
    }
    if (loss) gather_loss(stream, loss);
    stream->done += n_previous;
    return fct_pack_writer_write(stream->writer, previous, n_previous, err);
}

/* ---- the stream ---- */

/* Largest block and unit over the plan. */
static fct_status allocate(fct_stream *stream, const struct fct_plan *plan, fct_error *err) {
    size_t largest_block = 0, n_threads = (size_t)fct_pool_size(stream->pool);
    for (size_t i = 0; i < plan->n_entries; i++) {
        struct cut cut = cut_entry(&plan->entries[i]);
        size_t block = cut.bytes * (size_t)cut.per_block,
               floats = (size_t)cut.rows * (size_t)plan->entries[i].columns;
        if (block > largest_block) largest_block = block;
        if (floats > stream->unit_floats) stream->unit_floats = floats;
    }
    for (int i = 0; i < 2; i++) {
        stream->blocks[i] = fct_new(largest_block, err);
        if (!stream->blocks[i]) return FCT_ERR_MEMORY;
    }
    stream->rows = fct_new_array(n_threads * stream->unit_floats, sizeof *stream->rows, err);
    stream->losses = fct_new_array(n_threads, sizeof *stream->losses, err);
    return stream->rows && stream->losses ? FCT_OK : FCT_ERR_MEMORY;
}

fct_stream *fct_stream_new(const fct_source *source, const struct fct_plan *plan,
                           fct_pack_writer *writer, fct_pool *pool, fct_error *err) {
    fct_stream *stream = fct_new(sizeof *stream, err);
    if (!stream) return NULL;
    stream->source = source;
    stream->writer = writer;
    stream->pool = pool;
    stream->total = plan_bytes(plan);
    if (allocate(stream, plan, err) == FCT_OK) return stream;
    fct_stream_free(stream);
    return NULL;
}

void fct_stream_free(fct_stream *stream) {
    if (!stream) return;
    fct_free(stream->blocks[0]);
    fct_free(stream->blocks[1]);
    fct_free(stream->rows);
    fct_free(stream->losses);
    fct_free(stream);
}

void fct_stream_on_progress(fct_stream *stream, fct_progress_fn progress, void *user) {
    stream->progress = progress;
    stream->user = user;
}
