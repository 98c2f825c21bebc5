/* test_vocabulary.c - what the builder refuses, what the block says, and blocks that are damaged.
 */
#include "tokenizer_fixture.h"

#include "text/vocabulary_layout.h"

/* A small vocabulary: 256 byte pieces, then these. */
enum { A = 256, B, C, AB, ABC, NEWLINE, NEWLINES, TAB, SPACE, TURN, TURN_END, TAG, N_PIECES };
static const char *const words[] = {"a",    "b",  "c",      "ab",      "abc",      "\n",
                                    "\n\n", "\t", "\u2581", "<|turn>", "<|turn>x", "<b>"};

struct small {
    char bytes[256][8];
    const char *pieces[N_PIECES + 4];
    bool control[N_PIECES + 4], matched[N_PIECES + 4];
    int merges[8][2];
    struct fct_vocabulary_source source;
};

static void make_small(struct small *s) {
    *s = (struct small){.merges = {{A, B}, {AB, C}, {NEWLINE, NEWLINE}}};
    for (int i = 0; i < 256; i++) {
        snprintf(s->bytes[i], sizeof s->bytes[i], "<0x%02X>", i);
        s->pieces[i] = s->bytes[i];
    }
    for (int i = A; i < N_PIECES; i++) s->pieces[i] = words[i - A];
    s->control[TURN] = s->control[TURN_END] = true;
    s->matched[TAG] = true;
    s->source =
        (struct fct_vocabulary_source){N_PIECES, s->pieces, s->control, s->matched, 3, s->merges};
}

static fct_vocabulary *build(struct small *s, uint8_t **block) {
    size_t n_bytes;
    fct_error err;
    if (fct_vocabulary_build(&s->source, block, &n_bytes, &err) != FCT_OK)
        fail_msg("%s", err.message);
    assert_int_equal(n_bytes % 64, 0);
    fct_vocabulary *v = fct_vocabulary_open(*block, n_bytes, &err);
    if (!v) fail_msg("%s", err.message);
    return v;
}

static void check_refused(const struct small *s, fct_status status, const char *words_of_message) {
    uint8_t *block = NULL;
    size_t n_bytes;
    fct_error err;
    assert_int_equal(fct_vocabulary_build(&s->source, &block, &n_bytes, &err), status);
    assert_null(block);
    if (!strstr(err.message, words_of_message))
        fail_msg("\"%s\" lacks \"%s\"", err.message, words_of_message);
    assert_int_equal(fct_vocabulary_build(&s->source, &block, &n_bytes, NULL), status);
}

static void the_block_says_what_went_in(void **state) {
    (void)state;
    struct small s;
    uint8_t *block;
    make_small(&s);
    s.pieces[N_PIECES + 1] = "d"; /* behind a slot without a piece */
    s.source.n_pieces = N_PIECES + 2;
    fct_vocabulary *v = build(&s, &block);
    size_t n;
    uint32_t rank;
    assert_int_equal(fct_vocabulary_size(v), N_PIECES + 2);
    for (int id = 0; id < N_PIECES + 2; id++) {
        const char *piece = fct_vocabulary_piece(v, id, &n);
        if (!s.pieces[id]) {
            assert_null(piece);
            continue;
        }
        assert_int_equal(n, strlen(s.pieces[id]));
        assert_memory_equal(piece, s.pieces[id], n);
        assert_int_equal(fct_vocabulary_byte(v, id), id < 256 ? id : -1);
        assert_int_equal(fct_vocabulary_is_control(v, id), s.control[id]);
    }
    assert_int_equal(fct_vocabulary_byte_id(v, 0xE9), 0xE9);
    assert_int_equal(fct_vocabulary_character(v, 'c'), C);
    assert_int_equal(fct_vocabulary_character(v, 0x2581), SPACE);
    assert_int_equal(fct_vocabulary_character(v, 'x'), -1);
    assert_int_equal(fct_vocabulary_merge(v, AB, C, &rank), ABC);
    assert_int_equal(rank, 1);
    assert_int_equal(fct_vocabulary_merge(v, A, C, &rank), -1);
    assert_int_equal(fct_vocabulary_merge(v, -1, N_PIECES + 9, &rank), -1);
    assert_null(fct_vocabulary_piece(v, -1, &n));
    assert_null(fct_vocabulary_piece(v, N_PIECES + 2, &n));
    assert_true(fct_vocabulary_stands_alone(v, '\n') && fct_vocabulary_stands_alone(v, '\t'));
    assert_false(fct_vocabulary_stands_alone(v, 'a'));
    fct_vocabulary_free(v);
    fct_free(block);
}

static void names_are_found_by_what_they_are(void **state) {
    (void)state;
    struct small s;
    uint8_t *block;
    make_small(&s);
    fct_vocabulary *v = build(&s, &block);
    size_t length = 0;
    assert_int_equal(fct_vocabulary_match(v, "<|turn>xy", 9, true, &length), TURN_END);
    assert_int_equal(length, 8);
    assert_int_equal(fct_vocabulary_match(v, "<|turn>y", 8, true, &length), TURN);
    assert_int_equal(fct_vocabulary_match(v, "<|turn>y", 8, false, &length), -1);
    assert_int_equal(fct_vocabulary_match(v, "<b>", 3, false, &length), TAG);
    assert_int_equal(fct_vocabulary_match(v, "<b>", 3, true, &length), TAG);
    assert_int_equal(fct_vocabulary_control(v, "<|turn>"), TURN);
    assert_int_equal(fct_vocabulary_control(v, "<b>"), -1);
    assert_int_equal(fct_vocabulary_name(v, 0), TAG); /* '<b' sorts before '<|' ... */
    assert_int_equal(fct_vocabulary_name(v, 1), TURN);
    assert_int_equal(fct_vocabulary_name(v, 3), -1);
    fct_vocabulary_free(v);
    fct_free(block);
}

/* Where a merge mixes a newline with something, a text must not be cut there. */
static void a_merge_across_a_newline_is_not_cut_off(void **state) {
    (void)state;
    struct small s;
    uint8_t *block;
    make_small(&s);
    s.pieces[N_PIECES] = "a\n";
    s.source.n_pieces = N_PIECES + 1;
    s.merges[3][0] = A, s.merges[3][1] = NEWLINE;
    s.source.n_merges = 4;
    fct_vocabulary *v = build(&s, &block);
    struct fct_ids ids = {0};
    assert_false(fct_vocabulary_stands_alone(v, '\n'));
    assert_int_equal(fct_encode(v, "ca\n", 3, false, &ids, NULL), FCT_OK);
    assert_int_equal(ids.size, 2);
    assert_int_equal(ids.data[1], N_PIECES);
    fct_ids_free(&ids);
    fct_vocabulary_free(v);
    fct_free(block);
}

static void what_makes_no_vocabulary_is_refused(void **state) {
    (void)state;
    struct small s;
    make_small(&s), s.pieces[C] = "a";
    check_refused(&s, FCT_ERR_FORMAT, "ids 256 and 258 have the same piece");
    make_small(&s), s.pieces[C] = "";
    check_refused(&s, FCT_ERR_FORMAT, "piece 258 is empty");
    make_small(&s), s.pieces[C] = "\xC0\x80";
    check_refused(&s, FCT_ERR_FORMAT, "piece 258 is not UTF-8");
    make_small(&s), s.pieces[0x41] = NULL;
    check_refused(&s, FCT_ERR_UNSUPPORTED, "byte piece <0x41> is missing");
    make_small(&s), s.merges[1][1] = N_PIECES;
    check_refused(&s, FCT_ERR_FORMAT, "merge 1 names a piece that is not there");
    make_small(&s), s.merges[1][0] = -1;
    check_refused(&s, FCT_ERR_FORMAT, "merge 1 names a piece that is not there");
    make_small(&s), s.merges[1][1] = A;
    check_refused(&s, FCT_ERR_FORMAT, "makes no piece");
    make_small(&s), s.merges[2][0] = A, s.merges[2][1] = B;
    check_refused(&s, FCT_ERR_FORMAT, "two merges of");
    make_small(&s), s.control[AB] = true;
    check_refused(&s, FCT_ERR_UNSUPPORTED, "which plain text must not become");
}

/* Uses everything in a block that may be damaged: whatever comes out, nothing may be read outside
 * of it. */
static void use(const uint8_t *block, size_t n_bytes) {
    static const char text[] = "abc ab\n\n\n\t<|turn>x<b>é\U0001B002aabbcc";
    fct_vocabulary *v = fct_vocabulary_open(block, n_bytes, NULL);
    if (!v) return;
    struct fct_ids ids = {0};
    int last = fct_vocabulary_size(v) - 1;
    for (int control = 0; control < 2; control++) {
        fct_encode(v, text, sizeof text - 1, control, &ids, NULL);
        fct_ids_add(&ids, last, NULL);
        char *back;
        size_t n;
        assert_int_equal(fct_decode(v, ids.data, ids.size, control, &back, &n, NULL), FCT_OK);
        fct_free(back);
    }
    fct_vocabulary_control(v, "<|turn>");
    for (int id = 0; id < N_PIECES; id++) fct_vocabulary_byte(v, id);
    fct_ids_free(&ids);
    fct_vocabulary_free(v);
}

static void a_block_cut_anywhere_is_refused(void **state) {
    (void)state;
    struct small s;
    uint8_t *block;
    size_t n_bytes;
    fct_error err;
    make_small(&s);
    assert_int_equal(fct_vocabulary_build(&s.source, &block, &n_bytes, NULL), FCT_OK);
    for (size_t n = 0; n < n_bytes; n++) {
        uint8_t *cut = malloc(n ? n : 1);
        memcpy(cut, block, n);
        assert_null(fct_vocabulary_open(cut, n, &err));
        assert_int_equal(err.code, FCT_ERR_FORMAT);
        free(cut);
    }
    fct_free(block);
}

static void a_block_with_wrong_bytes_reads_nothing_outside(void **state) {
    (void)state;
    static const uint8_t values[] = {0, 1, 0x7F, 0x80, 0xFF};
    struct small s;
    uint8_t *block;
    size_t n_bytes;
    make_small(&s);
    assert_int_equal(fct_vocabulary_build(&s.source, &block, &n_bytes, NULL), FCT_OK);
    uint8_t *odd = malloc(n_bytes + 1); /* and it may lie at any address */
    memcpy(odd + 1, block, n_bytes);
    for (size_t at = 0; at < n_bytes; at++) {
        uint8_t right = odd[1 + at];
        for (size_t i = 0; i < sizeof values; i++) {
            odd[1 + at] = values[i];
            use(odd + 1, n_bytes);
        }
        odd[1 + at] = right;
    }
    free(odd);
    fct_free(block);
}

static void a_block_of_another_kind_is_refused(void **state) {
    (void)state;
    struct small s;
    uint8_t *block;
    size_t n_bytes;
    fct_error err;
    make_small(&s);
    assert_int_equal(fct_vocabulary_build(&s.source, &block, &n_bytes, NULL), FCT_OK);
    block[8] = 2;
    assert_null(fct_vocabulary_open(block, n_bytes, &err));
    assert_string_equal(err.message, "tokenizer: version 2 is not supported");
    block[0] = 'X';
    assert_null(fct_vocabulary_open(block, n_bytes, &err));
    assert_string_equal(err.message, "tokenizer: not a tokenizer block");
    fct_free(block);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_block_says_what_went_in),
        cmocka_unit_test(names_are_found_by_what_they_are),
        cmocka_unit_test(a_merge_across_a_newline_is_not_cut_off),
        cmocka_unit_test(what_makes_no_vocabulary_is_refused),
        cmocka_unit_test(a_block_cut_anywhere_is_refused),
        cmocka_unit_test(a_block_with_wrong_bytes_reads_nothing_outside),
        cmocka_unit_test(a_block_of_another_kind_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
