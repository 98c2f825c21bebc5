/* sorted_keys.c - an object's members in the order of Jinja's dictsort: without regard to case,
 * ties as they stand. */
#include "text/sorted_keys.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "base/utf8.h"

static const struct {
    uint32_t first, last, step;
    int32_t distance;
} lower_cases[] = {
#include "text/lowercase_table.h"
};

static uint32_t lower(uint32_t c) {
    if (c < 0x80) return c >= 'A' && c <= 'Z' ? c + 32 : c;
    size_t low = 0, high = sizeof lower_cases / sizeof lower_cases[0];
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (c > lower_cases[middle].last)
            low = middle + 1;
        else if (c < lower_cases[middle].first)
            high = middle;
        else if ((c - lower_cases[middle].first) % lower_cases[middle].step == 0)
            return c + (uint32_t)lower_cases[middle].distance;
        else
            break;
    }
    return c;
}

/* As Python's str.lower(), but that a capital sigma at the end of a word becomes the ordinary small
 * one. */
static char *lower_text(const char *text, fct_error *err) {
    struct fct_text out = {0};
    for (size_t left = strlen(text); left > 0;) {
        char bytes[4];
        int length;
        bool valid;
        uint32_t c = fct_utf8_read(text, left, &length, &valid);
        if (c == 0x130)
            fct_text_puts(&out, "i\u0307");
        else
            fct_text_add(&out, bytes, (size_t)fct_utf8_write(lower(c), bytes));
        text += length;
        left -= (size_t)length;
    }
    return fct_text_finish(&out, NULL, err);
}

/* UTF-8 compared by bytes is code points compared by value. */
static int compare(const void *a, const void *b) {
    const struct fct_sorted_key *left = a, *right = b;
    int order = strcmp(left->lower, right->lower);
    if (order != 0) return order;
    return (left->place > right->place) - (left->place < right->place);
}

struct fct_sorted_key *fct_sorted_keys(const json_t *object, size_t *n, fct_error *err) {
    json_t *members = (json_t *)object; /* jansson iterates only over what it may change */
    size_t size = json_object_size(object);
    struct fct_sorted_key *keys = fct_new_array(size + 1, sizeof *keys, err);
    if (!keys) return NULL;
    *n = 0;
    for (void *at = json_object_iter(members); at; at = json_object_iter_next(members, at)) {
        struct fct_sorted_key *key = &keys[*n];
        key->key = json_object_iter_key(at);
        key->value = json_object_iter_value(at);
        key->place = *n;
        key->lower = lower_text(key->key, err);
        if (!key->lower) goto failed;
        ++*n;
    }
    qsort(keys, *n, sizeof *keys, compare);
    return keys;
failed:
    fct_sorted_keys_free(keys, *n);
    *n = 0;
    return NULL;
}

void fct_sorted_keys_free(struct fct_sorted_key *keys, size_t n) {
    if (!keys) return;
    for (size_t i = 0; i < n; i++) fct_free(keys[i].lower);
    fct_free(keys);
}
