/* test_pack.c - what the writer writes the reader finds again; what is damaged is named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "pack/reader.h"
#include "pack/writer.h"
#include "scratch_folder.h"

static const char *model_path(void) { return scratch_path("model.facet"); }

enum { ROWS = 20, COLUMNS = 70, TABLE_ROWS = 5, TABLE_COLUMNS = 24, N_TOKENIZER = 77 };

/* The bytes of each tensor count up from its own start. */
static uint8_t byte_at(int start, size_t i) { return (uint8_t)(start + (int)(i % 251)); }

static void write_counting(fct_pack_writer *writer, int start, size_t n_bytes, size_t piece) {
    uint8_t *bytes = malloc(n_bytes);
    for (size_t i = 0; i < n_bytes; i++) bytes[i] = byte_at(start, i);
    for (size_t i = 0; i < n_bytes; i += piece)
        assert_int_equal(fct_pack_writer_write(writer, bytes + i,
                                               n_bytes - i < piece ? n_bytes - i : piece, NULL),
                         FCT_OK);
    free(bytes);
}

static size_t matrix_bytes(void) {
    return fct_matrix_bytes(&(struct fct_matrix){FCT_Q4, 32, ROWS, COLUMNS, NULL});
}
static size_t table_bytes(void) {
    return TABLE_ROWS * fct_table_row_bytes(FCT_Q8, 2, TABLE_COLUMNS);
}

static fct_pack_writer *declare_small_model(void) {
    fct_pack_writer *writer = fct_pack_writer_new(NULL);
    assert_non_null(writer);
    assert_int_equal(fct_pack_writer_metadata(writer, "config", "{\"hidden_size\": 70}", NULL),
                     FCT_OK);
    assert_int_equal(fct_pack_writer_metadata(writer, "source", "a \"test\" of \xC3\xBC", NULL),
                     FCT_OK);
    assert_int_equal(fct_pack_writer_matrix(writer, "a.weight", FCT_Q4, 32, ROWS, COLUMNS, NULL),
                     FCT_OK);
    assert_int_equal(fct_pack_writer_vector(writer, "norm", 7, NULL), FCT_OK);
    assert_int_equal(fct_pack_writer_matrix(writer, "b.weight", FCT_Q4, 32, ROWS, COLUMNS, NULL),
                     FCT_OK);
    assert_int_equal(
        fct_pack_writer_table(writer, "rows", FCT_Q8, 2, TABLE_ROWS, TABLE_COLUMNS, NULL), FCT_OK);
    assert_int_equal(fct_pack_writer_bytes(writer, "nothing", 0, NULL), FCT_OK);
    assert_int_equal(fct_pack_writer_bytes(writer, "tokenizer", N_TOKENIZER, NULL), FCT_OK);
    return writer;
}

static void give_small_model(fct_pack_writer *writer, size_t piece) {
    float norm[7] = {0.0f, 1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f};
    write_counting(writer, 1, matrix_bytes(), piece);
    assert_int_equal(fct_pack_writer_write(writer, norm, sizeof norm, NULL), FCT_OK);
    write_counting(writer, 2, matrix_bytes(), piece);
    write_counting(writer, 3, table_bytes(), piece);
    write_counting(writer, 4, N_TOKENIZER, piece);
}

static void write_small_model(size_t piece) {
    fct_pack_writer *writer = declare_small_model();
    assert_int_equal(fct_pack_writer_begin(writer, model_path(), NULL), FCT_OK);
    give_small_model(writer, piece);
    assert_int_equal(fct_pack_writer_finish(writer, NULL), FCT_OK);
    fct_pack_writer_free(writer);
}

/* The file's bytes, aligned as fct_pack_open_memory wants them. */
static uint8_t *read_small_model(size_t *size) {
    write_small_model(1000);
    char *bytes = fct_file_read(model_path(), 1 << 20, size, NULL);
    assert_non_null(bytes);
    uint8_t *aligned = aligned_alloc(FCT_LINE, fct_round_up(*size, FCT_LINE));
    memcpy(aligned, bytes, *size);
    fct_free(bytes);
    return aligned;
}

static void check_counting(const uint8_t *bytes, int start, size_t n_bytes) {
    assert_int_equal((uintptr_t)bytes % FCT_LINE, 0);
    for (size_t i = 0; i < n_bytes; i++) assert_int_equal(bytes[i], byte_at(start, i));
}

static void what_was_written_is_found_again(void **state) {
    (void)state;
    for (size_t piece = 1; piece < 5000; piece += 1663) {
        write_small_model(piece);
        fct_error err = {0};
        fct_pack *pack = fct_pack_open(model_path(), &err);
        if (!pack) fail_msg("%s", err.message);
        struct fct_matrix matrix;
        assert_int_equal(fct_pack_matrix(pack, "a.weight", ROWS, COLUMNS, &matrix, NULL), FCT_OK);
        assert_int_equal(matrix.scheme, FCT_Q4);
        assert_int_equal(matrix.group, 32);
        check_counting(matrix.data, 1, matrix_bytes());
        assert_int_equal(fct_pack_matrix(pack, "b.weight", ROWS, COLUMNS, &matrix, NULL), FCT_OK);
        check_counting(matrix.data, 2, matrix_bytes());
        struct fct_table table;
        assert_int_equal(fct_pack_table(pack, "rows", TABLE_ROWS, TABLE_COLUMNS, &table, NULL),
                         FCT_OK);
        assert_int_equal(table.blocks, 2);
        check_counting(table.data, 3, table_bytes());
        size_t n_bytes;
        check_counting(fct_pack_bytes(pack, "tokenizer", &n_bytes, NULL), 4, N_TOKENIZER);
        assert_int_equal(n_bytes, N_TOKENIZER);
        assert_non_null(fct_pack_bytes(pack, "nothing", &n_bytes, NULL));
        assert_int_equal(n_bytes, 0);
        const float *norm = fct_pack_vector(pack, "norm", 7, NULL);
        for (int i = 0; i < 7; i++) assert_true(norm[i] == (float)i);
        assert_string_equal(fct_pack_metadata(pack, "source"), "a \"test\" of \xC3\xBC");
        json_t *config = fct_pack_metadata_json(pack, "config", NULL);
        assert_int_equal(json_integer_value(json_object_get(config, "hidden_size")), 70);
        json_decref(config);
        assert_int_equal(fct_pack_verify(pack, NULL, NULL, &err), FCT_OK);
        fct_pack_free(pack);
    }
}

static void the_hot_part_is_matrices_and_norms(void **state) {
    (void)state;
    write_small_model(1 << 20);
    fct_pack *pack = fct_pack_open(model_path(), NULL);
    const uint8_t *hot;
    size_t n_bytes;
    struct fct_matrix first;
    struct fct_table table;
    fct_pack_hot(pack, &hot, &n_bytes);
    fct_pack_matrix(pack, "a.weight", ROWS, COLUMNS, &first, NULL);
    fct_pack_table(pack, "rows", TABLE_ROWS, TABLE_COLUMNS, &table, NULL);
    assert_ptr_equal(hot, first.data);
    assert_ptr_equal(hot + n_bytes, table.data);
    assert_true(fct_pack_fd(pack) >= 0);
    fct_pack_free(pack);
}

static void what_is_missing_or_different_is_named(void **state) {
    (void)state;
    write_small_model(1 << 20);
    fct_pack *pack = fct_pack_open(model_path(), NULL);
    fct_error err;
    struct fct_matrix matrix;
    struct fct_table table;
    size_t n_bytes;
    assert_int_equal(fct_pack_matrix(pack, "c.weight", 1, 1, &matrix, &err), FCT_ERR_FORMAT);
    assert_non_null(strstr(err.message, "matrix c.weight is missing"));
    assert_int_equal(fct_pack_matrix(pack, "a.weight", ROWS, 71, &matrix, &err), FCT_ERR_FORMAT);
    assert_non_null(strstr(err.message, "is 20 x 70, the model needs 20 x 71"));
    assert_int_equal(fct_pack_table(pack, "a.weight", ROWS, COLUMNS, &table, &err), FCT_ERR_FORMAT);
    assert_null(fct_pack_vector(pack, "norm", 8, &err));
    assert_non_null(strstr(err.message, "has 7 elements, the model needs 8"));
    assert_null(fct_pack_vector(pack, "norm", -1, &err));
    assert_null(fct_pack_vector(pack, "tokenizer", 7, &err));
    assert_non_null(strstr(err.message, "is U8, not F32"));
    assert_null(fct_pack_bytes(pack, "norm", &n_bytes, &err));
    assert_null(fct_pack_bytes(pack, "absent", &n_bytes, &err));
    assert_null(fct_pack_metadata(pack, "expected"));
    assert_null(fct_pack_metadata_json(pack, "expected", &err));
    assert_null(fct_pack_metadata_json(pack, "source", &err));
    assert_false(fct_pack_has(pack, "absent"));
    assert_true(fct_pack_has(pack, "norm"));
    fct_pack_free(pack);
}

static void data_of_a_large_file_starts_on_2_mib(void **state) {
    (void)state;
    static const size_t sizes[] = {FCT_PACK_LARGE - 64, FCT_PACK_LARGE};
    static const size_t aligns[] = {FCT_PACK_ALIGN_SMALL, FCT_PACK_ALIGN};
    for (int i = 0; i < 2; i++) {
        fct_pack_writer *writer = fct_pack_writer_new(NULL);
        assert_int_equal(fct_pack_writer_bytes(writer, "large", sizes[i], NULL), FCT_OK);
        assert_int_equal(fct_pack_writer_begin(writer, model_path(), NULL), FCT_OK);
        write_counting(writer, 9, sizes[i], 1 << 20);
        assert_int_equal(fct_pack_writer_finish(writer, NULL), FCT_OK);
        fct_pack_writer_free(writer);
        fct_pack *pack = fct_pack_open(model_path(), NULL);
        assert_int_equal(fct_pack_header(pack)->data_start, aligns[i]);
        assert_int_equal(fct_pack_size(pack), aligns[i] + sizes[i]);
        assert_int_equal(fct_pack_verify(pack, NULL, NULL, NULL), FCT_OK);
        fct_pack_free(pack);
    }
}

/* F40: our own format carries its size, wherever it is cut. */
static void a_file_cut_at_any_byte_is_refused(void **state) {
    (void)state;
    size_t size;
    uint8_t *bytes = read_small_model(&size);
    for (size_t cut = 0; cut < size; cut++) {
        fct_error err = {0};
        uint8_t *part = aligned_alloc(FCT_LINE, fct_round_up(cut + 1, FCT_LINE));
        memcpy(part, bytes, cut); /* a copy of its own, so that a sanitizer sees reads behind it */
        assert_null(fct_pack_open_memory(part, cut, "cut.facet", &err));
        assert_int_equal(err.code, FCT_ERR_FORMAT);
        assert_non_null(strstr(err.message, "cut.facet: "));
        free(part);
    }
    fct_error err;
    assert_null(fct_pack_open_memory(bytes, size - 1, "cut.facet", &err));
    char sizes[100];
    snprintf(sizes, sizeof sizes, "truncated: its header describes %zu bytes, the file has %zu",
             size, size - 1);
    assert_non_null(strstr(err.message, sizes));
    free(bytes);
}

/* Whatever byte differs, either the door or the checksums notice. */
static void a_changed_byte_anywhere_is_found(void **state) {
    (void)state;
    size_t size;
    uint8_t *bytes = read_small_model(&size);
    for (size_t i = 0; i < size; i++) {
        for (int bit = 0; bit < 8; bit += i < 4096 ? 1 : 7) {
            fct_error err = {0};
            bytes[i] ^= (uint8_t)(1 << bit);
            fct_pack *pack = fct_pack_open_memory(bytes, size, "flipped.facet", &err);
            if (pack && !fct_pack_verify(pack, NULL, NULL, &err))
                fail_msg("bit %d of byte %zu was not missed", bit, i);
            fct_pack_free(pack);
            assert_true(err.code == FCT_ERR_FORMAT || err.code == FCT_ERR_UNSUPPORTED);
            bytes[i] ^= (uint8_t)(1 << bit);
        }
    }
    free(bytes);
}

/* Replaces the only occurrence of `from` by `to` of the same length and opens. */
static void check_refused(const char *from, const char *to, fct_status code, const char *why) {
    size_t size;
    uint8_t *bytes = read_small_model(&size);
    uint8_t *found = memmem(bytes, size, from, strlen(from));
    assert_non_null(found);
    assert_int_equal(strlen(from), strlen(to));
    memcpy(found, to, strlen(to));
    fct_error err = {0};
    fct_pack *pack = fct_pack_open_memory(bytes, size, "wrong.facet", &err);
    assert_null(pack);
    if (err.code != code || !strstr(err.message, why)) fail_msg("%d: %s", err.code, err.message);
    free(bytes);
}

static void nonsense_in_the_header_is_refused(void **state) {
    (void)state;
    check_refused("\"format\":\"facet\"", "\"format\":\"faced\"", FCT_ERR_FORMAT,
                  "not a packed model");
    check_refused("\"format_version\":\"1\"", "\"format_version\":\"2\"", FCT_ERR_UNSUPPORTED,
                  "version 2");
    check_refused("\\\"rows\\\":20", "\\\"rows\\\":40", FCT_ERR_FORMAT, "bytes");
    check_refused("\\\"rows\\\":20", "\\\"rows\\\":-5", FCT_ERR_FORMAT, "not possible");
    check_refused("\\\"rows\\\":20", "\\\"rows\\\":00", FCT_ERR_FORMAT, "not valid JSON");
    check_refused("\\\"group\\\":32", "\\\"group\\\":33", FCT_ERR_FORMAT, "not possible");
    check_refused("\\\"group\\\":32", "\\\"groop\\\":32", FCT_ERR_FORMAT, "needs scheme, group");
    check_refused("\\\"scheme\\\":\\\"q4\\\"", "\\\"scheme\\\":\\\"q5\\\"", FCT_ERR_UNSUPPORTED,
                  "q5");
    check_refused("\\\"blocks\\\":2", "\\\"blocks\\\":7", FCT_ERR_FORMAT, "not possible");
    check_refused("\\\"blocks\\\":2", "\\\"blocks\\\":0", FCT_ERR_FORMAT, "not possible");
    check_refused("\"{\\\"a.weight\\\"", "\"{\\\"x.weight\\\"", FCT_ERR_FORMAT, "no U8 tensor");
    check_refused("\"hot_bytes\":\"", "\"not_bytes\":\"", FCT_ERR_FORMAT, "hot_bytes");
    check_refused("\"tables\":\"{", "\"tables\":\"[", FCT_ERR_FORMAT, "tables");
    check_refused("\"matrices\":\"{", "\"metrices\":\"{", FCT_ERR_FORMAT, "no matrices");
}

static void impossible_sizes_do_not_overflow(void **state) {
    (void)state;
    size_t n_bytes;
    assert_false(fct_matrix_fits(FCT_F32, 0, INT32_MAX, 1, &n_bytes));
    assert_false(fct_matrix_fits(FCT_F32, 0, 1LL << 32, 1, &n_bytes));
    assert_false(fct_matrix_fits(FCT_F32, 0, INT32_MAX - 256, INT32_MAX - 256, &n_bytes) &&
                 n_bytes < (size_t)1 << 62);
    assert_false(fct_matrix_fits(FCT_Q4, 128, 1, INT32_MAX - 255, &n_bytes));
    assert_true(fct_matrix_fits(FCT_Q4, 128, 1, INT32_MAX - 256, &n_bytes));
    assert_true(n_bytes > (size_t)INT32_MAX * 8);
    assert_false(fct_matrix_fits(FCT_Q4, 0, 0, 1, &n_bytes));
    assert_false(fct_matrix_fits(FCT_Q4, -32, 1, 1, &n_bytes));
    assert_false(fct_matrix_fits(FCT_Q8, 64, 1, 1, &n_bytes));
    assert_false(fct_table_fits(FCT_Q8, -1, 1, 4, &n_bytes));
    assert_false(fct_table_fits(FCT_Q8, 1LL << 33, 1, 4, &n_bytes));
    assert_true(fct_table_fits(FCT_F32, 0, 3, 5, &n_bytes));
    assert_int_equal(n_bytes, 3 * 32);
}

static void memory_must_be_aligned(void **state) {
    (void)state;
    size_t size;
    uint8_t *bytes = read_small_model(&size);
    uint8_t *shifted = aligned_alloc(FCT_LINE, fct_round_up(size + 8, FCT_LINE));
    memcpy(shifted + 8, bytes, size);
    fct_error err;
    assert_null(fct_pack_open_memory(shifted + 8, size, "shifted", &err));
    assert_int_equal(err.code, FCT_ERR_ARGUMENT);
    fct_pack *pack = fct_pack_open_memory(bytes, size, "straight", &err);
    assert_non_null(pack);
    assert_int_equal(fct_pack_fd(pack), -1);
    assert_string_equal(fct_pack_path(pack), "straight");
    fct_pack_free(pack);
    free(shifted);
    free(bytes);
}

static void the_writer_refuses_what_makes_no_file(void **state) {
    (void)state;
    fct_error err;
    fct_pack_writer *writer = declare_small_model();
    assert_int_equal(fct_pack_writer_vector(writer, "late", 16, &err), FCT_ERR_ARGUMENT);
    assert_non_null(strstr(err.message, "late belongs to the hot part"));
    assert_int_equal(fct_pack_writer_bytes(writer, "rows", 4, &err), FCT_ERR_ARGUMENT);
    assert_non_null(strstr(err.message, "rows is declared twice"));
    assert_int_equal(fct_pack_writer_bytes(writer, "padding.7", 4, &err), FCT_ERR_ARGUMENT);
    assert_int_equal(fct_pack_writer_bytes(writer, "huge", SIZE_MAX, &err), FCT_ERR_ARGUMENT);
    assert_int_equal(fct_pack_writer_bytes(writer, "bad\xFF", 4, &err), FCT_ERR_ARGUMENT);
    assert_int_equal(fct_pack_writer_metadata(writer, "checksum", "x", &err), FCT_ERR_ARGUMENT);
    assert_int_equal(fct_pack_writer_metadata(writer, "source", "\xFF", &err), FCT_ERR_ARGUMENT);
    assert_int_equal(fct_pack_writer_matrix(writer, "odd", FCT_Q4, 48, 4, 4, &err),
                     FCT_ERR_ARGUMENT);
    assert_int_equal(fct_pack_writer_write(writer, "x", 1, &err), FCT_ERR_ARGUMENT);
    assert_int_equal(fct_pack_writer_finish(writer, &err), FCT_ERR_ARGUMENT);
    fct_pack_writer_free(writer);
    fct_pack_writer_free(NULL);
}

static void too_little_or_too_much_data_leaves_no_file(void **state) {
    (void)state;
    fct_error err;
    const char *part = scratch_path("model.facet.part");
    fct_pack_writer *writer = declare_small_model();
    assert_int_equal(fct_pack_writer_begin(writer, model_path(), NULL), FCT_OK);
    assert_int_equal(fct_pack_writer_begin(writer, model_path(), &err), FCT_ERR_ARGUMENT);
    assert_int_equal(fct_pack_writer_bytes(writer, "more", 4, &err), FCT_ERR_ARGUMENT);
    write_counting(writer, 1, matrix_bytes(), 100);
    assert_int_equal(fct_pack_writer_finish(writer, &err), FCT_ERR_ARGUMENT);
    assert_true(fct_is_file(part));
    fct_pack_writer_free(writer);
    assert_false(fct_is_file(part));

    writer = declare_small_model();
    assert_int_equal(fct_pack_writer_begin(writer, model_path(), NULL), FCT_OK);
    give_small_model(writer, 100);
    assert_int_equal(fct_pack_writer_write(writer, "x", 1, &err), FCT_ERR_ARGUMENT);
    fct_pack_writer_free(writer);
    assert_false(fct_is_file(part));
    assert_false(fct_is_file(model_path()));
}

static void opening_what_is_no_file_says_so(void **state) {
    (void)state;
    fct_error err;
    assert_null(fct_pack_open(scratch_folder, &err));
    assert_non_null(strstr(err.message, "is a folder"));
    assert_null(fct_pack_open("/nowhere/model.facet", &err));
    assert_non_null(strstr(err.message, "No such file"));
    assert_null(fct_pack_open("/dev/zero", &err));
    assert_non_null(strstr(err.message, "not a regular file"));
    fct_pack_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(what_was_written_is_found_again),
        SCRATCH_TEST(the_hot_part_is_matrices_and_norms),
        SCRATCH_TEST(what_is_missing_or_different_is_named),
        SCRATCH_TEST(data_of_a_large_file_starts_on_2_mib),
        SCRATCH_TEST(a_file_cut_at_any_byte_is_refused),
        SCRATCH_TEST(a_changed_byte_anywhere_is_found),
        SCRATCH_TEST(nonsense_in_the_header_is_refused),
        SCRATCH_TEST(impossible_sizes_do_not_overflow),
        SCRATCH_TEST(memory_must_be_aligned),
        SCRATCH_TEST(the_writer_refuses_what_makes_no_file),
        SCRATCH_TEST(too_little_or_too_much_data_leaves_no_file),
        SCRATCH_TEST(opening_what_is_no_file_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
