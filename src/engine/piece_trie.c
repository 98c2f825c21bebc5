/* piece_trie.c - the bytes of tokens as a tree, in the order of a walk. */
#include "engine/piece_trie.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/memory.h"

#define SPACE_PIECE "\xE2\x96\x81" /* U+2581, how the vocabulary writes a space */

int fct_piece_bytes(const fct_vocabulary *vocabulary, int id, uint8_t bytes[FCT_PIECE_BYTES]) {
    size_t n_piece = 0;
    int n = 0, byte = fct_vocabulary_byte(vocabulary, id);
    if (byte >= 0) {
        bytes[0] = (uint8_t)byte;
        return 1;
    }
    if (fct_vocabulary_is_control(vocabulary, id)) return 0;
    const char *piece = fct_vocabulary_piece(vocabulary, id, &n_piece);
    for (size_t i = 0; piece && i < n_piece; n++) {
        if (n == FCT_PIECE_BYTES) return 0;
        bool space = n_piece - i >= 3 && memcmp(piece + i, SPACE_PIECE, 3) == 0;
        bytes[n] = space ? ' ' : (uint8_t)piece[i];
        i += space ? 3 : 1;
    }
    return n;
}

/* ---- sorting ---- */

struct entry {
    uint32_t begin; /* in the text of all pieces */
    uint8_t n_bytes;
    int id;
};

/* The byte of an entry at a depth; -1: it ends before. */
static int byte_at(const struct entry *e, const uint8_t *text, int depth) {
    return depth < e->n_bytes ? text[e->begin + (uint32_t)depth] : -1;
}

static void swap(struct entry *a, struct entry *b) {
    struct entry c = *a;
    *a = *b;
    *b = c;
}

static int median(int a, int b, int c) {
    if (a > b) return median(b, a, c);
    return c <= a ? a : c >= b ? b : c;
}

/* Splits entries [0, n) by their byte at depth: below the pivot, at it, above it. */
static int split(struct entry *e, int n, const uint8_t *text, int depth, int *below, int *above) {
    int pivot = median(byte_at(&e[0], text, depth), byte_at(&e[n / 2], text, depth),
                       byte_at(&e[n - 1], text, depth));
    int low = 0, i = 0, high = n;
    while (i < high) {
        int byte = byte_at(&e[i], text, depth);
        if (byte < pivot)
            swap(&e[low++], &e[i++]);
        else if (byte > pivot)
            swap(&e[i], &e[--high]);
        else
            i++;
    }
    *below = low;
    *above = high;
    return pivot;
}

/* Quicksort by one byte after another (Bentley and Sedgewick 1997). The largest part goes on in the
 * loop, so that calls nest at most log2 n deep. */
static void sort(struct entry *e, int n, const uint8_t *text, int depth) {
    while (n > 1) {
        int below, above, pivot = split(e, n, text, depth, &below, &above);
        struct {
            struct entry *entries;
            int n, depth;
        } parts[] = {{e, below, depth},
                     {e + below, pivot < 0 ? 0 : above - below, depth + 1},
                     {e + above, n - above, depth}};
        int largest = parts[1].n > parts[0].n;
        if (parts[2].n > parts[largest].n) largest = 2;
        for (int i = 0; i < 3; i++)
            if (i != largest) sort(parts[i].entries, parts[i].n, text, parts[i].depth);
        e = parts[largest].entries;
        n = parts[largest].n;
        depth = parts[largest].depth;
    }
}

/* ---- building ---- */

struct pieces {
    struct entry *entries;
    int n;
    struct fct_text text;
};

static fct_status gather(struct pieces *p, const fct_vocabulary *vocabulary, int n_ids,
                         const uint32_t *wanted, fct_error *err) {
    uint8_t bytes[FCT_PIECE_BYTES];
    p->entries = fct_new_array((size_t)n_ids, sizeof *p->entries, err);
    if (!p->entries) return FCT_ERR_MEMORY;
    for (int id = 0; id < n_ids; id++) {
        if (wanted && !(wanted[id / 32] >> id % 32 & 1)) continue;
        int n = fct_piece_bytes(vocabulary, id, bytes);
        if (n == 0) continue;
        p->entries[p->n++] = (struct entry){(uint32_t)p->text.size, (uint8_t)n, id};
        fct_text_add(&p->text, (const char *)bytes, (size_t)n);
    }
    if (p->text.failed || p->text.size >= UINT32_MAX)
        return fct_fail(err, FCT_ERR_MEMORY, "no memory for the text of %d tokens", n_ids);
    return FCT_OK;
}

static int shared(const struct entry *a, const struct entry *b, const uint8_t *text) {
    int n = 0;
    while (n < a->n_bytes && n < b->n_bytes && text[a->begin + n] == text[b->begin + n]) n++;
    return n;
}

static uint32_t count_nodes(const struct pieces *p, const uint8_t *text) {
    uint32_t n = 0;
    for (int i = 0; i < p->n; i++)
        n += (uint32_t)(p->entries[i].n_bytes -
                        (i ? shared(&p->entries[i - 1], &p->entries[i], text) : 0));
    return n;
}

static fct_status allocate(struct fct_piece_trie *t, uint32_t n_nodes, int n_ids, fct_error *err) {
    memset(t, 0, sizeof *t);
    t->bytes = fct_new_array(n_nodes, 1, err);
    t->depths = fct_new_array(n_nodes, 1, err);
    t->ends = fct_new_array(n_nodes, sizeof *t->ends, err);
    t->first = fct_new_array((size_t)n_nodes + 1, sizeof *t->first, err);
    t->ids = fct_new_array((size_t)n_ids, sizeof *t->ids, err);
    if (t->bytes && t->depths && t->ends && t->first && t->ids) return FCT_OK;
    fct_piece_trie_free(t);
    return FCT_ERR_MEMORY;
}

/* Lays the sorted entries out. open: the nodes from the first byte down to the last one written. */
static void lay_out(struct fct_piece_trie *t, const struct pieces *p, const uint8_t *text) {
    uint32_t open[FCT_PIECE_BYTES];
    int depth = 0;
    for (int i = 0; i < p->n; i++) {
        const struct entry *e = &p->entries[i];
        int same = i ? shared(&p->entries[i - 1], e, text) : 0;
        while (depth > same) t->ends[open[--depth]] = t->n_nodes;
        for (; depth < e->n_bytes; depth++) {
            open[depth] = t->n_nodes;
            t->bytes[t->n_nodes] = text[e->begin + (uint32_t)depth];
            t->depths[t->n_nodes] = (uint8_t)depth;
            t->first[t->n_nodes++] = t->n_ids;
        }
        t->ids[t->n_ids++] = e->id;
        if (e->n_bytes > t->height) t->height = e->n_bytes;
    }
    while (depth > 0) t->ends[open[--depth]] = t->n_nodes;
    t->first[t->n_nodes] = t->n_ids;
}

fct_status fct_piece_trie_init(struct fct_piece_trie *trie, const fct_vocabulary *vocabulary,
                               int n_ids, const uint32_t *wanted, fct_error *err) {
    struct pieces p = {0};
    memset(trie, 0, sizeof *trie);
    fct_status status = gather(&p, vocabulary, n_ids, wanted, err);
    if (!status) {
        const uint8_t *text = (const uint8_t *)p.text.data;
        sort(p.entries, p.n, text, 0);
        status = allocate(trie, count_nodes(&p, text), p.n, err);
        if (!status) lay_out(trie, &p, text);
    }
    fct_text_free(&p.text);
    free(p.entries);
    return status;
}

void fct_piece_trie_free(struct fct_piece_trie *t) {
    free(t->bytes);
    free(t->depths);
    free(t->ends);
    free(t->first);
    free(t->ids);
    memset(t, 0, sizeof *t);
}
