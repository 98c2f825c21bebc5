/* test_gguf.c - GGUF files: what is in them, what is wrong with them, and what becomes of them.
 *
 * The fixtures and the expected values were made by tests/tools/make_gguf_fixtures.py with the
 * reference's own package. */
#include <math.h>

#include <jansson.h>

#include "base/file.h"
#include "base/half.h"
#include "base/memory.h"
#include "base/threads.h"
#include "convert/gguf.h"
#include "convert/loss.h"
#include "convert/source.h"
#include "convert/tensor_plan.h"
#include "made_model.h"
#include "pack/reader.h"
#include "text/tokenizer.h"

#define DATA TEST_DATA "/gguf/"
#define SPLIT DATA "gemma3-00001-of-00003.gguf"

/* ---- types ---- */

static void *read_file(const char *path, size_t *n_bytes) {
    fct_error err;
    void *data = fct_file_read(path, 1 << 24, n_bytes, &err);
    if (!data) fail_msg("%s", err.message);
    return data;
}

static void every_value_is_the_references(void **state) {
    (void)state;
    size_t n_data, n_expected, at = 0;
    uint8_t *data = read_file(DATA "types.gguf", &n_data);
    float *expected = read_file(DATA "types.f32", &n_expected);
    struct fct_gguf gguf;
    assert_int_equal(fct_gguf_parse(&gguf, "types", data, n_data, NULL), FCT_OK);
    assert_int_equal(gguf.n_tensors, 11);
    for (size_t i = 0; i < gguf.n_tensors; i++) {
        const struct fct_gguf_tensor *tensor = &gguf.tensors[i];
        const struct fct_gguf_type *type = tensor->type;
        assert_true(type && type->unpack && tensor->dims[0] == 512 && tensor->dims[1] == 3);
        for (uint64_t b = 0; b < 3 * 512 / (uint64_t)type->block; b++) {
            float values[FCT_GGUF_MAX_BLOCK];
            type->unpack(data + tensor->offset + b * (uint64_t)type->block_bytes, values);
            if (memcmp(values, expected + at, (size_t)type->block * sizeof *values) != 0)
                fail_msg("%s: block %d differs", type->name, (int)b);
            at += (size_t)type->block;
        }
    }
    assert_int_equal(at * sizeof *expected, n_expected);
    fct_gguf_free(&gguf);
    fct_free(data);
    fct_free(expected);
}

/* ---- files that are wrong ---- */

struct bytes {
    uint8_t data[512];
    size_t n;
};
static void put(struct bytes *b, const void *what, size_t n) {
    memcpy(b->data + b->n, what, n);
    b->n += n;
}
static void put_u32(struct bytes *b, uint32_t x) { put(b, &x, sizeof x); }
static void put_u64(struct bytes *b, uint64_t x) { put(b, &x, sizeof x); }
static void put_text(struct bytes *b, const char *text) {
    put_u64(b, strlen(text));
    put(b, text, strlen(text));
}
static struct bytes start(uint32_t version, uint64_t n_tensors, uint64_t n_values) {
    struct bytes b = {.n = 0};
    put(&b, "GGUF", 4);
    put_u32(&b, version);
    put_u64(&b, n_tensors);
    put_u64(&b, n_values);
    return b;
}
static void put_tensor(struct bytes *b, const char *name, int n_dims, const uint64_t *dims,
                       uint32_t type, uint64_t offset) {
    put_text(b, name);
    put_u32(b, (uint32_t)n_dims);
    for (int i = 0; i < n_dims; i++) put_u64(b, dims[i]);
    put_u32(b, type);
    put_u64(b, offset);
}
static void put_number(struct bytes *b, const char *key, uint32_t kind, uint32_t number) {
    put_text(b, key);
    put_u32(b, kind);
    put_u32(b, number);
}

/* Refused, with these words, at once and without memory worth mentioning. */
static void assert_refused(const struct bytes *b, const char *words) {
    struct fct_gguf gguf;
    fct_error err = {0};
    double begin = fct_seconds();
    assert_int_not_equal(fct_gguf_parse(&gguf, "made", b->data, b->n, &err), FCT_OK);
    assert_true(fct_seconds() - begin < 0.1);
    if (!strstr(err.message, words)) fail_msg("\"%s\" lacks \"%s\"", err.message, words);
    assert_int_equal(gguf.n_values + gguf.n_tensors, 0);
}

/* F45: products that wrap, or that only a signed number cannot hold. */
static void dimensions_that_multiply_too_far_are_refused(void **state) {
    (void)state;
    static const uint64_t dims[][2] = {
        {1ull << 62, 4}, {(1ull << 63) - 1, 2}, {1ull << 32, 1u << 31}};
    for (size_t i = 0; i < 3; i++) {
        struct bytes b = start(3, 1, 0);
        put_tensor(&b, "t", 2, dims[i], 0, 0);
        assert_refused(&b, "multiply to more than 2^63");
    }
    struct bytes b = start(3, 1, 0);
    put_tensor(&b, "t", 1, (const uint64_t[]){1ull << 61}, 0, 0);
    assert_refused(&b, "is cut off");
}

/* F46 */
static void dimensions_of_0_and_odd_alignments_are_refused(void **state) {
    (void)state;
    struct bytes b = start(3, 1, 0);
    put_tensor(&b, "t", 1, (const uint64_t[]){0}, 0, 0);
    assert_refused(&b, "has a dimension of 0");
    for (uint32_t alignment = 0; alignment <= 3; alignment += 3) {
        b = start(3, 0, 1);
        put_number(&b, "general.alignment", FCT_GGUF_U32, alignment);
        assert_refused(&b, "must be a power of two");
    }
    b = start(3, 0, 1);
    put_text(&b, "general.alignment");
    put_u32(&b, FCT_GGUF_STRING);
    put_text(&b, "32");
    assert_refused(&b, "must be a power of two");
}

static void counts_and_lengths_that_are_only_claimed_are_refused(void **state) {
    (void)state;
    struct bytes b = start(3, 0, 1ull << 60);
    assert_refused(&b, "is cut off in a metadata key");
    b = start(3, 1ull << 60, 0);
    assert_refused(&b, "is cut off in a tensor's name");
    b = start(3, 0, 1);
    put_text(&b, "k");
    put_u32(&b, FCT_GGUF_STRING);
    put_u64(&b, 1ull << 62);
    assert_refused(&b, "is cut off in k");
    for (uint32_t kind = 0; kind < FCT_GGUF_KINDS; kind++) {
        if (kind == FCT_GGUF_ARRAY) continue;
        b = start(3, 0, 1);
        put_text(&b, "k");
        put_u32(&b, FCT_GGUF_ARRAY);
        put_u32(&b, kind);
        put_u64(&b, (1ull << 62) + 1);
        assert_refused(&b, "is cut off in k");
    }
}

static void what_is_no_gguf_of_a_known_kind_is_refused(void **state) {
    (void)state;
    struct bytes b = start(1, 0, 0);
    assert_refused(&b, "is GGUF version 1");
    b = start(0x03000000, 0, 0);
    assert_refused(&b, "big-endian");
    b = start(3, 0, 1);
    put_number(&b, "k", 13, 0);
    assert_refused(&b, "type 13");
    b = start(3, 0, 1);
    put_text(&b, "k");
    put_u32(&b, FCT_GGUF_ARRAY);
    put_u32(&b, FCT_GGUF_ARRAY);
    put_u64(&b, 1);
    assert_refused(&b, "type 9, which does not exist in an array");
    b = start(3, 0, 0);
    b.data[0] = 'X';
    assert_refused(&b, "is no GGUF file");
    b = start(3, 1, 0);
    put_tensor(&b, "t", 4, (const uint64_t[]){1, 1, 1, 1}, 0, 0);
    b.data[24 + 9] = 5;
    assert_refused(&b, "has 5 dimensions");
}

static void names_that_are_there_twice_are_refused(void **state) {
    (void)state;
    struct bytes b = start(3, 0, 2);
    put_number(&b, "k", FCT_GGUF_U32, 1);
    put_number(&b, "k", FCT_GGUF_U32, 2);
    assert_refused(&b, "the metadata key k is there twice");
    b = start(3, 2, 0);
    put_tensor(&b, "t", 1, (const uint64_t[]){8}, 0, 0);
    put_tensor(&b, "t", 1, (const uint64_t[]){8}, 0, 32);
    b.n = 192;
    assert_refused(&b, "the tensor t is there twice");
    b = start(3, 0, 1);
    put_number(&b, "", FCT_GGUF_U32, 1);
    assert_refused(&b, "is empty");
}

static void tensors_lie_on_the_alignment_and_on_no_other(void **state) {
    (void)state;
    struct bytes b = start(3, 1, 0);
    put_tensor(&b, "t", 1, (const uint64_t[]){4}, 0, 8);
    b.n = 256;
    assert_refused(&b, "does not begin on a multiple of 32");
    b = start(3, 2, 0);
    put_tensor(&b, "t", 1, (const uint64_t[]){16}, 0, 0);
    put_tensor(&b, "u", 1, (const uint64_t[]){8}, 0, 32);
    b.n = 256;
    assert_refused(&b, "u overlaps another tensor");
    b = start(3, 1, 0);
    put_tensor(&b, "t", 1, (const uint64_t[]){33}, 2, 0);
    b.n = 256;
    assert_refused(&b, "Q4_0 packs blocks of 32");
}

static size_t end_of_data(const struct fct_gguf *gguf) {
    size_t end = 0;
    for (size_t i = 0; i < gguf->n_tensors; i++) {
        size_t last = (size_t)(gguf->tensors[i].offset + gguf->tensors[i].n_bytes);
        if (last > end) end = last;
    }
    return end;
}

/* F40: cut anywhere, also by the last byte alone. The padding behind the last tensor holds nothing,
 * and some writers leave it out. */
static void a_file_that_is_cut_off_is_refused(void **state) {
    (void)state;
    size_t size;
    uint8_t *data = read_file(DATA "gemma4.gguf", &size);
    struct fct_gguf gguf;
    assert_int_equal(fct_gguf_parse(&gguf, "whole", data, size, NULL), FCT_OK);
    size_t header = (size_t)gguf.data_start, end = end_of_data(&gguf);
    fct_gguf_free(&gguf);
    for (size_t cut = 0; cut < end; cut += cut < header ? 1 : 97) {
        uint8_t *part = malloc(cut ? cut : 1);
        memcpy(part, data, cut);
        assert_int_not_equal(fct_gguf_parse(&gguf, "cut", part, cut, NULL), FCT_OK);
        free(part);
    }
    fct_error err = {0};
    char sizes[100];
    assert_int_equal(fct_gguf_parse(&gguf, "cut", data, end - 1, &err), FCT_ERR_FORMAT);
    snprintf(sizes, sizeof sizes,
             "cut: is cut off: its header describes %zu bytes, the file has %zu", end, end - 1);
    assert_string_equal(err.message, sizes);
    assert_true(end < size);
    assert_int_equal(fct_gguf_parse(&gguf, "cut", data, end, NULL), FCT_OK);
    fct_gguf_free(&gguf);
    fct_free(data);
}

/* ---- the source ---- */

static fct_source *open_source(const char *path, struct fct_config *config) {
    fct_error err;
    fct_source *source = fct_source_open(path, &err);
    if (!source) fail_msg("%s", err.message);
    if (fct_config_parse(config, source->config, path, &err) != FCT_OK) fail_msg("%s", err.message);
    return source;
}

static void gemma4_hyperparameters_become_a_configuration(void **state) {
    (void)state;
    struct fct_config c;
    fct_source *source = open_source(DATA "gemma4.gguf", &c);
    assert_string_equal(c.family, "gemma4");
    assert_true(c.has_value_norm && c.has_layer_scalar && c.query_scale == 1.0f);
    assert_int_equal(c.first_shared_layer, 4);
    assert_int_equal(c.per_layer_size, 32);
    assert_int_equal(c.vocab_size, 280);
    assert_true(c.final_softcap == 30.0f); /* F23: the file does not hold it */
    assert_true(c.rope_full.partial == 0.25 && c.rope_full.theta == 1e6);
    assert_true(c.rope_sliding.partial == 1.0 && c.rope_sliding.theta == 1e4);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(c.layers[i].full, i % 3 == 2);
        assert_int_equal(c.layers[i].head_dim, i % 3 == 2 ? 32 : 16);
        assert_int_equal(c.layers[i].intermediate_size, i < 4 ? 32 : 64);
        assert_false(c.layers[i].keys_as_values);
    }
    const json_t *ends = json_object_get(source->generation, "eos_token_id");
    assert_int_equal(json_array_size(ends), 2); /* 1 and that of a tool's result */
    assert_int_equal(json_integer_value(json_array_get(ends, 1)), 262);
    assert_int_equal(json_integer_value(json_object_get(source->generation, "top_k")), 64);
    assert_true(json_is_true(json_object_get(source->generation, "do_sample")));
    fct_source_free(source);
}

static void gemma3_hyperparameters_become_a_configuration(void **state) {
    (void)state;
    struct fct_config c;
    fct_source *source = open_source(SPLIT, &c);
    assert_string_equal(c.family, "gemma3");
    assert_true(!c.has_value_norm && !c.has_layer_scalar);
    assert_true(c.query_scale == (float)(1 / sqrt(32.0)));
    assert_true(c.final_softcap == 0.0f);
    assert_true(c.rope_full.factor == 8.0 && c.rope_sliding.factor == 1.0);
    assert_int_equal(c.first_shared_layer, 7);
    for (int i = 0; i < 7; i++) assert_int_equal(c.layers[i].full, i == 5);
    assert_string_equal(source->licence, "gemma");
    assert_string_equal(source->name, "gemma3");
    assert_int_equal(source->n_tensors, 93);
    fct_source_free(source);
}

static void copy_file(const char *from, const char *to) {
    size_t n;
    void *data = read_file(from, &n);
    FILE *file = fopen(to, "wb");
    assert_int_equal(fwrite(data, 1, n, file), n);
    fclose(file);
    fct_free(data);
}

static void a_part_that_is_missing_is_named(void **state) {
    (void)state;
    fct_error err;
    char path[256];
    snprintf(path, sizeof path, "%s", made_path("x-00001-of-00003.gguf"));
    copy_file(SPLIT, path);
    assert_null(fct_source_open(path, &err));
    assert_non_null(strstr(err.message, "2 of 3 parts are missing"));
    copy_file(SPLIT, made_path("x-00002-of-00003.gguf"));
    copy_file(SPLIT, made_path("x-00003-of-00003.gguf"));
    assert_null(fct_source_open(path, &err));
    assert_non_null(strstr(err.message, "says it is part 1 of 3, its name says 2 of 3"));
}

/* ---- conversion ---- */

static const char *convert(const char *from, const char *weights, const char *name) {
    fct_error err;
    fct_convert_options options = {.weights = weights, .n_threads = 2};
    const char *path = made_path(name);
    if (fct_convert(from, path, &options, &err) != FCT_OK) fail_msg("%s", err.message);
    return path;
}

static fct_pack *convert_and_open(const char *from, const char *weights, const char *name) {
    fct_error err;
    fct_pack *pack = fct_pack_open(convert(from, weights, name), &err);
    if (!pack) fail_msg("%s", err.message);
    return pack;
}

/* What a matrix of one file differs from the same in floats. */
static struct fct_loss compare(const fct_pack *pack, const fct_pack *floats, const char *name,
                               int rows, int columns, enum fct_scheme scheme) {
    struct fct_matrix made, wanted;
    struct fct_loss loss = {0, 0};
    float x[16 * 256];
    assert_int_equal(fct_pack_matrix(pack, name, rows, columns, &made, NULL), FCT_OK);
    assert_int_equal(fct_pack_matrix(floats, name, rows, columns, &wanted, NULL), FCT_OK);
    assert_int_equal(made.scheme, scheme);
    assert_int_equal(made.group, 32);
    for (int strip = 0; strip < fct_strips(rows); strip++) {
        int n_rows = rows - 16 * strip < 16 ? rows - 16 * strip : 16;
        const float *lines =
            (const float *)(const void *)(wanted.data + (size_t)strip * (size_t)columns * 64);
        for (int r = 0; r < n_rows; r++)
            for (int i = 0; i < columns; i++) x[r * columns + i] = lines[16 * i + r];
        fct_loss_add_strip(&loss, made.scheme, made.group, x, n_rows, columns,
                           made.data + (size_t)strip * fct_strip_bytes(scheme, 32, columns));
    }
    assert_true(loss.power > 0);
    return loss;
}

static void q4_0_and_q8_0_keep_their_own_codes(void **state) {
    (void)state;
    fct_pack *own = convert_and_open(SPLIT, NULL, "own.facet"),
             *floats = convert_and_open(SPLIT, "f32", "f32.facet");
    struct fct_loss loss =
        compare(own, floats, "layers.3.self_attn.q_proj.weight", 128, 64, FCT_Q4);
    assert_true(loss.error == 0);
    loss = compare(own, floats, "layers.6.mlp.up_proj.weight", 96, 64, FCT_Q4);
    assert_true(loss.error == 0);
    loss = compare(own, floats, "layers.0.self_attn.v_proj.weight", 32, 64, FCT_Q8);
    assert_true(loss.error == 0);
    loss = compare(own, floats, "lm_head.weight", 280, 64, FCT_Q8);
    assert_true(loss.error == 0);
    loss = compare(own, floats, "layers.2.self_attn.k_proj.weight", 32, 64, FCT_Q8); /* Q5_0 */
    assert_true(loss.error > 0 && fct_loss_relative(&loss) < 0.01);
    assert_string_equal(fct_pack_metadata(own, "weights"), "q4+q8");
    fct_pack_free(own);
    fct_pack_free(floats);
}

/* Rows of a table with their own codes are the same floats; --tables makes them others. */
static void tables_keep_their_own_codes(void **state) {
    (void)state;
    fct_pack *own = convert_and_open(DATA "gemma4.gguf", NULL, "own4.facet"), *floats = NULL;
    struct fct_table made, wanted;
    fct_error err;
    fct_convert_options options = {.tables = "f32"};
    const char *path = made_path("tables.facet");
    assert_int_equal(fct_convert(DATA "gemma4.gguf", path, &options, &err), FCT_OK);
    floats = fct_pack_open(path, &err);
    static const struct {
        const char *name;
        int columns;
        enum fct_scheme scheme;
    } tables[] = {{"embed_tokens.weight", 64, FCT_Q8},
                  {"embed_tokens_per_layer.weight", 192, FCT_Q4}};
    for (size_t t = 0; t < 2; t++) {
        struct fct_loss loss = {0, 0};
        int columns = tables[t].columns;
        assert_int_equal(fct_pack_table(own, tables[t].name, 280, columns, &made, &err), FCT_OK);
        assert_int_equal(fct_pack_table(floats, tables[t].name, 280, columns, &wanted, &err),
                         FCT_OK);
        assert_int_equal(made.scheme, tables[t].scheme);
        assert_int_equal(made.blocks, columns / 32);
        assert_int_equal(wanted.scheme, FCT_F32);
        for (int row = 0; row < 280; row++)
            fct_loss_add_table_row(
                &loss, made.scheme, made.blocks,
                (const float *)(const void *)(wanted.data + (size_t)row * (size_t)columns * 4),
                columns,
                made.data + (size_t)row * fct_table_row_bytes(made.scheme, made.blocks, columns));
        assert_true(loss.power > 0 && loss.error == 0);
    }
    fct_pack_free(own);
    fct_pack_free(floats);
}

static void asked_otherwise_they_change(void **state) {
    (void)state;
    fct_pack *q4 = convert_and_open(SPLIT, "q4", "q4.facet"),
             *floats = convert_and_open(SPLIT, "f32", "f32b.facet");
    struct fct_loss loss = compare(q4, floats, "lm_head.weight", 280, 64, FCT_Q4);
    assert_true(fct_loss_relative(&loss) > 0.01 && fct_loss_relative(&loss) < 0.15);
    loss = compare(q4, floats, "layers.6.mlp.up_proj.weight", 96, 64, FCT_Q4);
    assert_true(loss.error == 0);
    assert_string_equal(fct_pack_metadata(q4, "weights"), "q4");
    assert_string_equal(fct_pack_metadata(q4, "chat"), "gemma3");
    fct_pack_free(q4);
    fct_pack_free(floats);
}

static void take_line(void *user, const char *line) {
    const char **hint = user;
    if (strncmp(line, "hint: ", 6) == 0) *hint = strstr(line, "--weights q8") ? "closer" : line;
}

/* Only where nobody named a scheme, and codes of the source became others of 4 bits. */
static void what_loses_by_default_hints_at_8_bits(void **state) {
    (void)state;
    static const struct {
        const char *source, *weights;
        bool hints;
    } cases[] = {{SPLIT, NULL, true},
                 {SPLIT, "q4", false},
                 {SPLIT, "q8", false},
                 {DATA "gemma4.gguf", NULL, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *hint = NULL;
        fct_error err = {0};
        fct_convert_options options = {
            .weights = cases[i].weights, .note = take_line, .user = &hint};
        if (fct_convert(cases[i].source, made_path("hint.facet"), &options, &err) != FCT_OK)
            fail_msg("%s", err.message);
        assert_string_equal(hint ? hint : "none", cases[i].hints ? "closer" : "none");
    }
}

/* F44: a scale that is no number is named with its place. */
static void a_scale_that_is_no_number_is_refused(void **state) {
    (void)state;
    size_t size;
    fct_error err;
    char path[256];
    uint8_t *data = read_file(DATA "gemma4.gguf", &size);
    struct fct_gguf gguf;
    assert_int_equal(fct_gguf_parse(&gguf, "whole", data, size, NULL), FCT_OK);
    const struct fct_gguf_tensor *tensor = fct_gguf_find_tensor(&gguf, "blk.1.attn_q.weight");
    data[tensor->offset + 18 * 5 + 1] = 0x7E; /* row 2, second block: a NaN */
    fct_gguf_free(&gguf);
    snprintf(path, sizeof path, "%s", made_path("nan.gguf"));
    FILE *file = fopen(path, "wb");
    assert_int_equal(fwrite(data, 1, size, file), size);
    fclose(file);
    assert_int_equal(fct_convert(path, made_path("nan.facet"), NULL, &err), FCT_ERR_NUMERIC);
    assert_non_null(strstr(err.message, "layers.1.self_attn.q_proj.weight"));
    assert_non_null(strstr(err.message, "row 2, column 32"));
    fct_free(data);
}

/* F33 and the rest of Gemma 3: norms of 1 + w in one form and of w in the other, a score scale, a
 * window, two thetas, linear scaling; the expected logits are numpy's. */
static void both_forms_of_a_model_give_the_references_logits(void **state) {
    (void)state;
    static const char *const forms[] = {DATA "small-gemma3.gguf", DATA "small-gemma3"};
    size_t n_ids, n_logits;
    int *ids = read_file(DATA "small-gemma3.ids", &n_ids);
    float *expected = read_file(DATA "small-gemma3.f32", &n_logits);
    assert_int_equal(n_ids, 24 * sizeof *ids);
    assert_int_equal(n_logits, 24 * 280 * sizeof *expected);
    for (int form = 0; form < 2; form++) {
        fct_error err;
        fct_model *model = fct_model_open(convert(forms[form], "f32", "small.facet"), NULL, &err);
        if (!model) fail_msg("%s", err.message);
        assert_string_equal(fct_model_describe(model).architecture, "gemma3");
        fct_session_options options = {.context = 64};
        fct_session *session = fct_session_new(model, &options, &err);
        for (int n = 1; n <= 24; n++) {
            assert_int_equal(fct_session_prefill(session, ids, n, NULL), FCT_OK);
            const float *logits = fct_session_logits(session);
            for (int i = 0; i < 280; i++)
                if (fabsf(logits[i] - expected[(n - 1) * 280 + i]) > 5e-4f)
                    fail_msg("%s: token %d, id %d: %f, not %f", forms[form], n, i,
                             (double)logits[i], (double)expected[(n - 1) * 280 + i]);
        }
        fct_session_free(session);
        fct_model_free(model);
    }
    fct_free(ids);
    fct_free(expected);
}

/* ---- the tokenizer ---- */

static fct_vocabulary *read_vocabulary(const char *path, uint8_t **block) {
    struct fct_config config;
    fct_error err;
    size_t n_bytes;
    int n_restored;
    fct_source *source = open_source(path, &config);
    if (source->read_vocabulary(source, block, &n_bytes, &n_restored, &err) != FCT_OK)
        fail_msg("%s", err.message);
    assert_int_equal(n_restored, 0);
    fct_source_free(source);
    fct_vocabulary *vocabulary = fct_vocabulary_open(*block, n_bytes, &err);
    if (!vocabulary) fail_msg("%s", err.message);
    return vocabulary;
}

static void assert_ids(const fct_vocabulary *vocabulary, const char *text, const int *expected) {
    struct fct_ids ids = {0};
    assert_int_equal(fct_encode(vocabulary, text, strlen(text), false, &ids, NULL), FCT_OK);
    size_t n = 0;
    while (expected[n] >= 0) n++;
    if (ids.size != n || memcmp(ids.data, expected, n * sizeof *expected) != 0)
        fail_msg("wrong ids for \"%s\"", text);
    fct_ids_free(&ids);
}
#define IDS(text, ...) assert_ids(vocabulary, text, (const int[]){__VA_ARGS__, -1})

/* F01: pieces 266 .. 279 are the words; what merges first follows from the scores. */
static void scores_alone_give_the_merges(void **state) {
    (void)state;
    uint8_t *block;
    fct_vocabulary *vocabulary = read_vocabulary(SPLIT, &block);
    IDS(" the and", 275, 278);
    IDS("the  an", 267, 274, 263, 276);
    IDS("x\n\ny", 4 + 'x', 265, 4 + 'y');
    IDS("<start_of_turn>", 4 + '<', 4 + 's', 267, 270, 4 + 'r', 267, 4 + '_', 4 + 'o', 4 + 'f',
        4 + '_', 267, 4 + 'u', 4 + 'r', 271, 4 + '>');
    IDS("<unused0>", 262); /* the published tokenizer always matches it */
    assert_int_equal(fct_vocabulary_control(vocabulary, "<start_of_turn>"), 260);
    assert_int_equal(fct_vocabulary_control(vocabulary, "<unused0>"), -1);
    fct_vocabulary_free(vocabulary);
    fct_free(block);
}

/* The file calls <eos> an ordinary piece and <|tool_response> a user-defined one. */
static void merges_go_before_scores_and_names_before_types(void **state) {
    (void)state;
    uint8_t *block;
    fct_vocabulary *vocabulary = read_vocabulary(DATA "gemma4.gguf", &block);
    IDS(" the and", 275, 278);
    IDS("a  an", 270, 266, 266, 276); /* scores would make the two spaces one */
    assert_int_equal(fct_vocabulary_control(vocabulary, "<eos>"), 1);
    assert_int_equal(fct_vocabulary_control(vocabulary, "<|turn>"), 260);
    assert_int_equal(fct_vocabulary_control(vocabulary, "<|tool_response>"), 262);
    fct_vocabulary_free(vocabulary);
    fct_free(block);
}

/* ---- describing ---- */

static json_t *describe(const char *path) {
    char *text;
    fct_error err;
    if (fct_describe(path, &text, &err) != FCT_OK) fail_msg("%s", err.message);
    json_t *object = json_loads(text, 0, NULL);
    assert_non_null(object);
    fct_free(text);
    return object;
}

static void info_tells_what_a_file_holds(void **state) {
    (void)state;
    json_t *d = describe(SPLIT);
    assert_string_equal(json_string_value(json_object_get(d, "kind")), "gguf");
    assert_true(json_is_true(json_object_get(d, "runnable")));
    assert_string_equal(json_string_value(json_object_get(d, "licence")), "gemma");
    assert_int_equal(json_integer_value(json_object_get(d, "n_tensors")), 93);
    const json_t *metadata = json_object_get(d, "metadata");
    assert_int_equal(json_integer_value(json_object_get(metadata, "gemma3.block_count")), 7);
    assert_string_equal(json_string_value(json_object_get(metadata, "tokenizer.ggml.tokens")),
                        "280 values of type string");
    json_decref(d);
    d = describe(DATA "types.gguf");
    assert_true(json_is_false(json_object_get(d, "runnable")));
    assert_non_null(
        strstr(json_string_value(json_object_get(d, "why_not")), "gemma4.block_count is missing"));
    assert_int_equal(json_integer_value(json_object_get(d, "n_tensors")), 11);
    json_decref(d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_value_is_the_references),
        cmocka_unit_test(dimensions_that_multiply_too_far_are_refused),
        cmocka_unit_test(dimensions_of_0_and_odd_alignments_are_refused),
        cmocka_unit_test(counts_and_lengths_that_are_only_claimed_are_refused),
        cmocka_unit_test(what_is_no_gguf_of_a_known_kind_is_refused),
        cmocka_unit_test(names_that_are_there_twice_are_refused),
        cmocka_unit_test(tensors_lie_on_the_alignment_and_on_no_other),
        cmocka_unit_test(a_file_that_is_cut_off_is_refused),
        cmocka_unit_test(gemma4_hyperparameters_become_a_configuration),
        cmocka_unit_test(gemma3_hyperparameters_become_a_configuration),
        cmocka_unit_test(a_part_that_is_missing_is_named),
        cmocka_unit_test(q4_0_and_q8_0_keep_their_own_codes),
        cmocka_unit_test(tables_keep_their_own_codes),
        cmocka_unit_test(asked_otherwise_they_change),
        cmocka_unit_test(what_loses_by_default_hints_at_8_bits),
        cmocka_unit_test(a_scale_that_is_no_number_is_refused),
        cmocka_unit_test(both_forms_of_a_model_give_the_references_logits),
        cmocka_unit_test(scores_alone_give_the_merges),
        cmocka_unit_test(merges_go_before_scores_and_names_before_types),
        cmocka_unit_test(info_tells_what_a_file_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
