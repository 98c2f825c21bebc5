/* vocabulary.c - pieces, names and merges looked up in the tokenizer block as it lies (its layout:
 * vocabulary_layout.h). */
#include "text/vocabulary.h"

#include <limits.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/memory.h"
#include "text/vocabulary_layout.h"

struct fct_vocabulary {
    struct fct_vocabulary_counts counts;
    const uint8_t *starts, *bytes, *kinds, *pieces, *characters, *names, *lefts, *merges;
    const char *text;
};

/* Number i of a table of u32; the block may lie at any address. */
static uint32_t number(const uint8_t *table, size_t i) {
    uint32_t n;
    memcpy(&n, table + i * sizeof n, sizeof n);
    return n;
}

static fct_status read_header(struct fct_vocabulary_counts *counts, const uint8_t *block,
                              size_t n_bytes, fct_error *err) {
    struct fct_cursor cursor = fct_cursor_over(block, n_bytes);
    const uint8_t *magic = fct_cursor_take(&cursor, 8);
    if (!magic || memcmp(magic, FCT_VOCABULARY_MAGIC, 8) != 0)
        return fct_fail(err, FCT_ERR_FORMAT, "tokenizer: not a tokenizer block");
    uint32_t version = fct_cursor_u32(&cursor);
    if (version != FCT_VOCABULARY_VERSION)
        return fct_fail(err, FCT_ERR_FORMAT, "tokenizer: version %u is not supported", version);
    counts->flags = fct_cursor_u32(&cursor);
    counts->n_pieces = fct_cursor_u32(&cursor);
    counts->n_merges = fct_cursor_u32(&cursor);
    counts->n_characters = fct_cursor_u32(&cursor);
    counts->n_names = fct_cursor_u32(&cursor);
    counts->n_text = fct_cursor_u32(&cursor);
    if (cursor.failed) return fct_fail(err, FCT_ERR_FORMAT, "tokenizer: the header is cut off");
    if (counts->n_pieces > INT_MAX - 1)
        return fct_fail(err, FCT_ERR_FORMAT, "tokenizer: %u pieces are too many", counts->n_pieces);
    return FCT_OK;
}

fct_vocabulary *fct_vocabulary_open(const uint8_t *block, size_t n_bytes, fct_error *err) {
    struct fct_vocabulary_counts counts;
    if (read_header(&counts, block, n_bytes, err) != FCT_OK) return NULL;
    struct fct_vocabulary_places p = fct_vocabulary_places(&counts);
    if (p.end > n_bytes)
        return fct_fail_null(err, FCT_ERR_FORMAT, "tokenizer: needs %llu bytes, has %zu",
                             (unsigned long long)p.end, n_bytes);
    fct_vocabulary *vocabulary = fct_new(sizeof *vocabulary, err);
    if (!vocabulary) return NULL;
    *vocabulary = (fct_vocabulary){counts,           block + p.starts,
                                   block + p.bytes,  block + p.kinds,
                                   block + p.pieces, block + p.characters,
                                   block + p.names,  block + p.lefts,
                                   block + p.merges, (const char *)block + p.text};
    return vocabulary;
}

void fct_vocabulary_free(fct_vocabulary *vocabulary) { fct_free(vocabulary); }

static bool known(const fct_vocabulary *v, int id) {
    return id >= 0 && (uint32_t)id < v->counts.n_pieces;
}

/* An id that a table names, or -1 if it is none: tables are checked at use. */
static int checked(const fct_vocabulary *v, uint32_t id) {
    return id < v->counts.n_pieces ? (int)id : -1;
}

int fct_vocabulary_size(const fct_vocabulary *v) { return (int)v->counts.n_pieces; }

int fct_vocabulary_text_size(const fct_vocabulary *v) {
    int size = (int)v->counts.n_pieces;
    while (size > 0 && fct_vocabulary_is_control(v, size - 1)) size--;
    return size;
}

const char *fct_vocabulary_piece(const fct_vocabulary *v, int id, size_t *n_bytes) {
    *n_bytes = 0;
    if (!known(v, id)) return NULL;
    uint32_t begin = number(v->pieces, id), end = number(v->pieces, (size_t)id + 1);
    if (begin >= end || end > v->counts.n_text) return NULL;
    *n_bytes = end - begin;
    return v->text + begin;
}

bool fct_vocabulary_is_control(const fct_vocabulary *v, int id) {
    return known(v, id) && v->kinds[id] & FCT_PIECE_CONTROL;
}

static int hex_digit(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

int fct_vocabulary_byte(const fct_vocabulary *v, int id) {
    if (!known(v, id) || !(v->kinds[id] & FCT_PIECE_BYTE)) return -1;
    size_t n;
    const char *piece = fct_vocabulary_piece(v, id, &n);
    if (!piece || n != 6) return -1;
    int high = hex_digit(piece[3]), low = hex_digit(piece[4]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

int fct_vocabulary_byte_id(const fct_vocabulary *v, uint8_t byte) {
    return checked(v, number(v->bytes, byte));
}

/* Index of the row whose first number is key, among rows [begin, end) of n numbers each that are
 * sorted by it; -1 if none. */
static int64_t find_row(const uint8_t *table, size_t n, uint32_t begin, uint32_t end,
                        uint32_t key) {
    while (begin < end) {
        uint32_t middle = begin + (end - begin) / 2, here = number(table, middle * n);
        if (here == key) return middle;
        if (here < key)
            begin = middle + 1;
        else
            end = middle;
    }
    return -1;
}

int fct_vocabulary_character(const fct_vocabulary *v, uint32_t c) {
    int64_t row = find_row(v->characters, 2, 0, v->counts.n_characters, c);
    return row < 0 ? -1 : checked(v, number(v->characters, (size_t)row * 2 + 1));
}

int fct_vocabulary_merge(const fct_vocabulary *v, int left, int right, uint32_t *rank) {
    if (!known(v, left) || right < 0) return -1;
    uint32_t begin = number(v->lefts, left), end = number(v->lefts, (size_t)left + 1);
    if (end > v->counts.n_merges) return -1;
    int64_t row = find_row(v->merges, 3, begin, end, (uint32_t)right);
    if (row < 0) return -1;
    *rank = number(v->merges, (size_t)row * 3 + 1);
    return checked(v, number(v->merges, (size_t)row * 3 + 2));
}

bool fct_vocabulary_stands_alone(const fct_vocabulary *v, char c) {
    return (c == '\n' && v->counts.flags & FCT_VOCABULARY_NEWLINE_ALONE) ||
           (c == '\t' && v->counts.flags & FCT_VOCABULARY_TAB_ALONE);
}

int fct_vocabulary_name(const fct_vocabulary *v, size_t n) {
    return n < v->counts.n_names ? checked(v, number(v->names, n)) : -1;
}

/* Byte `at` of the n-th name; -1 behind its end, so that a name sorts before those it begins. */
static int name_byte(const fct_vocabulary *v, size_t n, size_t at) {
    size_t length;
    const char *name = fct_vocabulary_piece(v, fct_vocabulary_name(v, n), &length);
    return name && at < length ? (uint8_t)name[at] : -1;
}

/* First name in [begin, end) whose byte `at` is not below byte; they agree in all bytes before. */
static size_t first_name(const fct_vocabulary *v, size_t begin, size_t end, size_t at, int byte) {
    while (begin < end) {
        size_t middle = begin + (end - begin) / 2;
        if (name_byte(v, middle, at) < byte)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

/* The names that begin like text are a shrinking range of the sorted list; the first of a range is
 * the one, if any, that ends here. */
int fct_vocabulary_match(const fct_vocabulary *v, const char *text, size_t n_bytes, bool control,
                         size_t *length) {
    int wanted = FCT_PIECE_MATCHED | (control ? FCT_PIECE_CONTROL : 0), found = -1;
    if (n_bytes == 0 || !(v->starts[(uint8_t)text[0]] & wanted)) return -1;
    size_t begin = 0, end = v->counts.n_names;
    for (size_t at = 0; at < n_bytes; at++) {
        int byte = (uint8_t)text[at];
        begin = first_name(v, begin, end, at, byte);
        end = first_name(v, begin, end, at, byte + 1);
        if (begin == end) break;
        int id = fct_vocabulary_name(v, begin);
        size_t n;
        if (!fct_vocabulary_piece(v, id, &n) || n != at + 1 || !(v->kinds[id] & wanted)) continue;
        found = id;
        *length = n;
    }
    return found;
}

int fct_vocabulary_control(const fct_vocabulary *v, const char *name) {
    size_t n = strlen(name), length;
    int id = fct_vocabulary_match(v, name, n, true, &length);
    return id >= 0 && length == n && fct_vocabulary_is_control(v, id) ? id : -1;
}
