/* encoder.c - text to ids: names cut out, characters, and merges by rank. */
#include <limits.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "text/tokenizer.h"

#define SPACE_PIECE 0x2581u /* how the vocabulary writes U+0020 */
#define NO_RANK UINT32_MAX

/* A piece of the text so far. Its place in the array is that of its first character, so places
 * order as the text does. */
struct symbol {
    int id, merged; /* merged: what it and the next one make */
    uint32_t rank;  /* of that merge; NO_RANK if there is none */
    int previous, next;
};

/* Merges that were possible at some time, as rank << 32 | place in a 4-ary heap: the lowest rank is
 * on top, among equals the leftmost. An entry whose symbol no longer has that rank is out of date;
 * ranks are unique, so nothing else need be checked. */
struct scratch {
    struct symbol *symbols;
    uint64_t *heap;
    size_t n_symbols, n_heap, capacity;
};

static void scratch_free(struct scratch *s) {
    fct_free(s->symbols);
    fct_free(s->heap);
}

/* Room for a stretch of n bytes. Each merge takes an entry off the heap and adds two at most, so 2
 * n entries are enough. */
static fct_status scratch_reserve(struct scratch *s, size_t n, fct_error *err) {
    if (n <= s->capacity) return FCT_OK;
    size_t capacity = n < 256 ? 256 : n;
    scratch_free(s);
    s->capacity = 0;
    s->symbols = fct_new_array(capacity, sizeof *s->symbols, err);
    s->heap = fct_new_array(capacity, 2 * sizeof *s->heap, err);
    if (!s->symbols || !s->heap) return FCT_ERR_MEMORY;
    s->capacity = capacity;
    return FCT_OK;
}

static void sift_down(uint64_t *heap, size_t n, size_t at, uint64_t entry) {
    for (;;) {
        size_t child = 4 * at + 1, last = child + 4 < n ? child + 4 : n;
        if (child >= n) break;
        size_t least = child;
        for (size_t i = child + 1; i < last; i++)
            if (heap[i] < heap[least]) least = i;
        if (heap[least] >= entry) break;
        heap[at] = heap[least];
        at = least;
    }
    heap[at] = entry;
}

static void heap_push(struct scratch *s, uint64_t entry) {
    size_t at = s->n_heap++;
    for (; at > 0 && s->heap[(at - 1) / 4] > entry; at = (at - 1) / 4)
        s->heap[at] = s->heap[(at - 1) / 4];
    s->heap[at] = entry;
}

static uint64_t heap_pop(struct scratch *s) {
    uint64_t top = s->heap[0];
    s->n_heap--;
    sift_down(s->heap, s->n_heap, 0, s->heap[s->n_heap]);
    return top;
}

static void add_symbol(struct scratch *s, int id) {
    int at = (int)s->n_symbols++;
    s->symbols[at] = (struct symbol){.id = id, .rank = NO_RANK, .previous = at - 1, .next = at + 1};
}

/* One symbol a character; a character that is no piece becomes the pieces of its bytes. */
static fct_status read_characters(const fct_vocabulary *v, const char *text, size_t n_bytes,
                                  struct scratch *s, fct_error *err) {
    int n;
    bool valid;
    s->n_symbols = 0;
    for (size_t at = 0; at < n_bytes; at += (size_t)n) {
        uint32_t c = fct_utf8_read(text + at, n_bytes - at, &n, &valid);
        int id = fct_vocabulary_character(v, c == ' ' ? SPACE_PIECE : c);
        if (id >= 0) {
            add_symbol(s, id);
            continue;
        }
        char bytes[4];
        int n_encoded = fct_utf8_write(c, bytes);
        for (int i = 0; i < n_encoded; i++) {
            id = fct_vocabulary_byte_id(v, (uint8_t)bytes[i]);
            if (id < 0)
                return fct_fail(err, FCT_ERR_FORMAT, "tokenizer: byte piece %d is missing",
                                (uint8_t)bytes[i]);
            add_symbol(s, id);
        }
    }
    if (s->n_symbols > 0) s->symbols[s->n_symbols - 1].next = -1;
    return FCT_OK;
}

static uint64_t entry_of(const struct scratch *s, int at) {
    return (uint64_t)s->symbols[at].rank << 32 | (uint32_t)at;
}

/* Finds the merge of the symbol at `at` with the next one; true if there is one. */
static bool look_up(const fct_vocabulary *v, struct scratch *s, int at) {
    struct symbol *symbol = &s->symbols[at];
    symbol->rank = NO_RANK;
    if (symbol->next < 0) return false;
    symbol->merged =
        fct_vocabulary_merge(v, symbol->id, s->symbols[symbol->next].id, &symbol->rank);
    if (symbol->merged < 0) symbol->rank = NO_RANK;
    return symbol->rank != NO_RANK;
}

static void merge_at(const fct_vocabulary *v, struct scratch *s, int at) {
    struct symbol *symbol = &s->symbols[at], *gone = &s->symbols[symbol->next];
    symbol->id = symbol->merged;
    symbol->next = gone->next;
    gone->rank = NO_RANK;
    if (symbol->next >= 0) s->symbols[symbol->next].previous = at;
    if (look_up(v, s, at)) heap_push(s, entry_of(s, at));
    if (symbol->previous >= 0 && look_up(v, s, symbol->previous))
        heap_push(s, entry_of(s, symbol->previous));
}

static void merge_all(const fct_vocabulary *v, struct scratch *s) {
    s->n_heap = 0;
    for (size_t at = 0; at < s->n_symbols; at++)
        if (look_up(v, s, (int)at)) s->heap[s->n_heap++] = entry_of(s, (int)at);
    for (size_t at = s->n_heap / 4 + 1; at-- > 0;)
        if (at < s->n_heap) sift_down(s->heap, s->n_heap, at, s->heap[at]);
    while (s->n_heap > 0) {
        uint64_t entry = heap_pop(s);
        int at = (int)(uint32_t)entry;
        if (s->symbols[at].rank == entry >> 32) merge_at(v, s, at);
    }
}

/* A stretch that no merge leaves. */
static fct_status encode_stretch(const fct_vocabulary *v, const char *text, size_t n_bytes,
                                 struct scratch *s, struct fct_ids *ids, fct_error *err) {
    fct_status status = scratch_reserve(s, n_bytes, err);
    if (status == FCT_OK) status = read_characters(v, text, n_bytes, s, err);
    if (status != FCT_OK || s->n_symbols == 0) return status;
    merge_all(v, s);
    for (int at = 0; at >= 0 && status == FCT_OK; at = s->symbols[at].next)
        status = fct_ids_add(ids, s->symbols[at].id, err);
    return status;
}

/* Text between names, cut at the borders of runs of newlines and of tabs: short stretches stay in
 * the processor's cache. */
static fct_status encode_between(const fct_vocabulary *v, const char *text, size_t n_bytes,
                                 struct scratch *s, struct fct_ids *ids, fct_error *err) {
    bool newlines = fct_vocabulary_stands_alone(v, '\n'),
         tabs = fct_vocabulary_stands_alone(v, '\t');
    size_t begin = 0;
    for (size_t at = 1; at < n_bytes; at++) {
        bool cut = (newlines && (text[at] == '\n') != (text[at - 1] == '\n')) ||
                   (tabs && (text[at] == '\t') != (text[at - 1] == '\t'));
        if (!cut) continue;
        fct_status status = encode_stretch(v, text + begin, at - begin, s, ids, err);
        if (status != FCT_OK) return status;
        begin = at;
    }
    return encode_stretch(v, text + begin, n_bytes - begin, s, ids, err);
}

static fct_status encode(const fct_vocabulary *v, const char *text, size_t n_bytes, bool control,
                         struct scratch *s, struct fct_ids *ids, fct_error *err) {
    size_t begin = 0, at = 0;
    while (at < n_bytes) {
        size_t length;
        int name = fct_vocabulary_match(v, text + at, n_bytes - at, control, &length);
        if (name < 0) {
            at++;
            continue;
        }
        fct_status status = encode_between(v, text + begin, at - begin, s, ids, err);
        if (status == FCT_OK) status = fct_ids_add(ids, name, err);
        if (status != FCT_OK) return status;
        begin = at += length;
    }
    return encode_between(v, text + begin, n_bytes - begin, s, ids, err);
}

fct_status fct_encode(const fct_vocabulary *v, const char *text, size_t n_bytes, bool control,
                      struct fct_ids *ids, fct_error *err) {
    if (!fct_utf8_valid(text, n_bytes))
        return fct_fail(err, FCT_ERR_ARGUMENT, "text is not valid UTF-8");
    if (n_bytes > INT_MAX / 4)
        return fct_fail(err, FCT_ERR_ARGUMENT, "text of %zu bytes is too long", n_bytes);
    struct scratch scratch = {0};
    size_t n_before = ids->size;
    fct_status status = encode(v, text, n_bytes, control, &scratch, ids, err);
    if (status != FCT_OK) ids->size = n_before;
    scratch_free(&scratch);
    return status;
}

fct_status fct_ids_add(struct fct_ids *ids, int id, fct_error *err) {
    void *data = ids->data;
    fct_status status = fct_grow(&data, &ids->capacity, ids->size + 1, sizeof id, err);
    if (status != FCT_OK) return status;
    ids->data = data;
    ids->data[ids->size++] = id;
    return FCT_OK;
}

void fct_ids_free(struct fct_ids *ids) {
    fct_free(ids->data);
    *ids = (struct fct_ids){0};
}
