/* tokenizer_fixture.h - a vocabulary from a tokenizer.json, and lines of vectors held against it.
 */
#ifndef FCT_TESTS_TOKENIZER_FIXTURE_H
#define FCT_TESTS_TOKENIZER_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "convert/tokenizer_json.h"
#include "text/tokenizer.h"

struct tokenizer {
    uint8_t *block;
    size_t n_bytes;
    fct_vocabulary *vocabulary;
    struct fct_tokenizer_summary summary;
};

static inline void load_tokenizer(struct tokenizer *t, const char *path) {
    fct_error err;
    if (fct_tokenizer_json_read(path, &t->block, &t->n_bytes, &t->summary, &err) != FCT_OK)
        fail_msg("%s", err.message);
    t->vocabulary = fct_vocabulary_open(t->block, t->n_bytes, &err);
    if (!t->vocabulary) fail_msg("%s", err.message);
}

static inline void free_tokenizer(struct tokenizer *t) {
    fct_vocabulary_free(t->vocabulary);
    fct_free(t->block);
}

static inline bool same_ids(const struct fct_ids *ids, const json_t *expected) {
    if (ids->size != json_array_size(expected)) return false;
    for (size_t i = 0; i < ids->size; i++)
        if (ids->data[i] != json_integer_value(json_array_get(expected, i))) return false;
    return true;
}

/* The ids of a line, encoded anew or, for a line that only decodes, as it lists them. */
static inline void ids_of_line(const struct tokenizer *t, const json_t *line, struct fct_ids *ids) {
    const json_t *text = json_object_get(line, "text"), *special = json_object_get(line, "special");
    const json_t *listed = json_object_get(line, "ids");
    if (special)
        assert_int_equal(fct_encode(t->vocabulary, json_string_value(text),
                                    json_string_length(text), json_is_true(special), ids, NULL),
                         FCT_OK);
    for (size_t i = 0; !special && i < json_array_size(listed); i++)
        fct_ids_add(ids, (int)json_integer_value(json_array_get(listed, i)), NULL);
}

static inline bool is_whole_text(const struct tokenizer *t, const struct fct_ids *ids, bool skip,
                                 const json_t *text) {
    char *got;
    size_t n_bytes;
    assert_int_equal(fct_decode(t->vocabulary, ids->data, ids->size, skip, &got, &n_bytes, NULL),
                     FCT_OK);
    bool same =
        n_bytes == json_string_length(text) && memcmp(got, json_string_value(text), n_bytes) == 0;
    fct_free(got);
    return same;
}

/* Lines that disagree are printed; every line must agree, and there must be n_lines of them. */
static inline void check_vectors(const struct tokenizer *t, const char *path, int n_lines) {
    FILE *file = fopen(path, "r");
    if (!file) fail_msg("%s is missing", path);
    char *text = NULL;
    size_t capacity = 0;
    int n_read = 0, n_wrong = 0;
    while (getline(&text, &capacity, file) > 0) {
        json_t *line = json_loads(text, JSON_ALLOW_NUL, NULL);
        assert_non_null(line);
        const json_t *decoded = json_object_get(line, "decoded");
        struct fct_ids ids = {0};
        ids_of_line(t, line, &ids);
        bool good = same_ids(&ids, json_object_get(line, "ids")) &&
                    is_whole_text(t, &ids, json_is_true(json_object_get(line, "skip")),
                                  decoded ? decoded : json_object_get(line, "text"));
        if (!good) print_message("wrong: %.200s\n", text);
        n_wrong += !good;
        n_read++;
        fct_ids_free(&ids);
        json_decref(line);
    }
    free(text);
    fclose(file);
    assert_int_equal(n_wrong, 0);
    assert_int_equal(n_read, n_lines);
}

static inline char *repeat(const char *unit, size_t n_units, size_t *n_bytes) {
    size_t n_unit = strlen(unit);
    char *text = malloc(n_unit * n_units + 1);
    assert_non_null(text);
    for (size_t i = 0; i < n_units; i++) memcpy(text + i * n_unit, unit, n_unit);
    *n_bytes = n_unit * n_units;
    return text;
}

/* FNV-1a over the ids, each as 4 bytes, little-endian. */
static inline uint64_t hash_ids(const struct fct_ids *ids) {
    uint64_t hash = 0xCBF29CE484222325u;
    for (size_t i = 0; i < ids->size; i++)
        for (int shift = 0; shift < 32; shift += 8)
            hash = (hash ^ ((uint32_t)ids->data[i] >> shift & 0xFF)) * 0x100000001B3u;
    return hash;
}

/* Long texts without breaks, as many as are listed for this tokenizer. */
static inline void check_long_vectors(const struct tokenizer *t, const char *name) {
    FILE *file = fopen(TEST_DATA "/text/long_vectors.jsonl", "r");
    assert_non_null(file);
    char *text = NULL;
    size_t capacity = 0;
    int n_read = 0;
    while (getline(&text, &capacity, file) > 0) {
        json_t *line = json_loads(text, 0, NULL);
        assert_non_null(line);
        const char *unit = json_string_value(json_object_get(line, "unit"));
        if (strcmp(json_string_value(json_object_get(line, "tokenizer")), name) == 0) {
            size_t n_bytes;
            char *input = repeat(unit, (size_t)json_integer_value(json_object_get(line, "n_units")),
                                 &n_bytes);
            struct fct_ids ids = {0};
            assert_int_equal(fct_encode(t->vocabulary, input, n_bytes, false, &ids, NULL), FCT_OK);
            char hash[17];
            snprintf(hash, sizeof hash, "%016llx", (unsigned long long)hash_ids(&ids));
            if ((json_int_t)ids.size != json_integer_value(json_object_get(line, "n_ids")) ||
                strcmp(hash, json_string_value(json_object_get(line, "fnv1a"))) != 0)
                fail_msg("wrong: %s", text);
            fct_ids_free(&ids);
            free(input);
            n_read++;
        }
        json_decref(line);
    }
    free(text);
    fclose(file);
    assert_int_equal(n_read, 22);
}

#endif
