/* test_tokenizer_vectors.c - the full-size tokenizers against the reference; SKIP where their files
 * are missing.
 *
 * tools/fetch_test_tokenizer.sh makes the files. They are looked for in $FACET_REAL_TOKENIZER
 * (Gemma 4's) and $FACET_REAL_TOKENIZER_3 (Gemma 3's), else in ~/.cache/facet-test. */
#include "tokenizer_fixture.h"

#include <unistd.h>

static struct tokenizer gemma4, gemma3;

/* Loads what the variable or the cache names; false and the word SKIP without it. */
static bool load(struct tokenizer *t, const char *variable, const char *name) {
    char path[4096];
    const char *given = getenv(variable), *home = getenv("HOME");
    if (given)
        snprintf(path, sizeof path, "%s", given);
    else
        snprintf(path, sizeof path, "%s/.cache/facet-test/%s", home ? home : "", name);
    if (access(path, R_OK) != 0) {
        printf("SKIP: %s is not there; tools/fetch_test_tokenizer.sh makes it\n", path);
        return false;
    }
    load_tokenizer(t, path);
    return true;
}

static void need(const struct tokenizer *t) {
    if (!t->vocabulary) skip();
}

static void encode(const char *text, size_t n_bytes, bool control, struct fct_ids *ids) {
    assert_int_equal(fct_encode(gemma4.vocabulary, text, n_bytes, control, ids, NULL), FCT_OK);
}

/* ids: the expected ones, ended by -1. */
static void check_ids(const char *text, size_t n_bytes, bool control, const int *expected) {
    struct fct_ids ids = {0};
    encode(text, n_bytes, control, &ids);
    size_t n = 0;
    while (expected[n] >= 0) n++;
    if (ids.size != n || (n && memcmp(ids.data, expected, n * sizeof *expected) != 0))
        fail_msg("wrong ids for \"%s\"", text);
    fct_ids_free(&ids);
}
#define IDS(text, ...) check_ids(text, sizeof text - 1, false, (const int[]){__VA_ARGS__, -1})
#define CONTROL_IDS(text, ...)                                                                     \
    check_ids(text, sizeof text - 1, true, (const int[]){__VA_ARGS__, -1})

static void all_vectors_of_gemma4_agree(void **state) {
    (void)state;
    need(&gemma4);
    check_vectors(&gemma4, TEST_DATA "/text/tokenizer_vectors.jsonl", 527);
    check_vectors(&gemma4, TEST_DATA "/text/detok_vectors.jsonl", 40);
}

static void all_vectors_of_gemma3_agree(void **state) {
    (void)state;
    need(&gemma3);
    check_vectors(&gemma3, TEST_DATA "/text/gemma3_vectors.jsonl", 729);
    assert_int_equal(gemma3.summary.n_control, 9);
    assert_int_equal(gemma3.summary.n_matched, 6406);
}

static void gemma4_has_24_control_tokens_and_nothing_else_is_matched(void **state) {
    (void)state;
    need(&gemma4);
    assert_int_equal(fct_vocabulary_size(gemma4.vocabulary), 262144);
    assert_int_equal(gemma4.summary.n_merges, 514906);
    assert_int_equal(gemma4.summary.n_control, 24);
    assert_int_equal(gemma4.summary.n_matched, 0);
    assert_int_equal(fct_vocabulary_control(gemma4.vocabulary, "<|video|>"), 258884);
    assert_int_equal(fct_vocabulary_control(gemma4.vocabulary, "<unused0>"), -1);
}

static void merging_goes_by_rank_and_digits_stay_single(void **state) { /* F01 */
    (void)state;
    need(&gemma4);
    IDS("50000", 236810, 236771, 236771, 236771, 236771);
    IDS("3.14159", 236800, 236761, 236770, 236812, 236770, 236810, 236819);
    IDS("Linnea und Ruprecht", 15953, 17802, 941, 109420, 40516);
}

static void runs_of_white_space_stay_together(void **state) { /* F02, F03 */
    (void)state;
    need(&gemma4);
    IDS("x\n\n\ny", 236781, 109, 236762);
    IDS("\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n", 137,
        115);
    IDS("\n \n", 107, 236743, 107);
    IDS("a   b", 236746, 139, 236763);
    IDS("def f(x):\n\treturn x\n", 2063, 517, 236769, 236781, 1473, 107, 255968, 2060, 1123, 107);
    IDS("tabs:\t\t\tend", 39218, 236787, 255970, 643);
    IDS("hello", 23391);
    IDS(" hello", 29104);
    IDS("end  ", 643, 138);
}

static void unknown_characters_become_bytes(void **state) { /* F04 */
    (void)state;
    need(&gemma4);
    IDS("\U0001B002", 478, 393, 366, 368);
    IDS("a\u00A0b", 236746, 432, 398, 236763);
    IDS("\r\n", 251, 107);
    IDS("\U0001D6D1≈3", 478, 395, 393, 383, 240443, 236800);
    IDS("\0a", 238, 236746);
}

static void names_of_bytes_are_text(void **state) { /* F05 */
    (void)state;
    need(&gemma4);
    IDS("x<0x0A>y", 236781, 236820, 236771, 236781, 236771, 236776, 236813, 236762);
}

static void control_names_in_plain_text_stay_text(void **state) { /* F06, F11 */
    (void)state;
    need(&gemma4);
    IDS("please print <turn|> now", 40970, 1887, 655, 887, 111038, 1492);
    IDS("<eos>", 236820, 211827, 236813);
    CONTROL_IDS("<eos>", 1);
    struct fct_ids ids = {0};
    encode("<start_of_turn>", 15, true, &ids);
    assert_int_equal(ids.size, 7);
    fct_ids_free(&ids);
}

static void accents_split_no_word(void **state) { /* F09 */
    (void)state;
    need(&gemma4);
    IDS("naïve café", 1789, 238527, 560, 33443);
}

static void one_user_turn_is_fourteen_ids(void **state) { /* F10, F70 */
    (void)state;
    need(&gemma4);
    CONTROL_IDS("<bos><|turn>user\nThe capital of France is<turn|>\n<|turn>model\n", 2, 105, 2364,
                107, 818, 5279, 529, 7001, 563, 106, 107, 105, 4368, 107);
    IDS("\uFEFFhi\r\n", 237922, 2202, 251, 107);
}

static void long_texts_without_breaks_agree(void **state) { /* F07 */
    (void)state;
    need(&gemma4);
    need(&gemma3);
    check_long_vectors(&gemma4, "gemma4");
    check_long_vectors(&gemma3, "gemma3");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_vectors_of_gemma4_agree),
        cmocka_unit_test(all_vectors_of_gemma3_agree),
        cmocka_unit_test(gemma4_has_24_control_tokens_and_nothing_else_is_matched),
        cmocka_unit_test(merging_goes_by_rank_and_digits_stay_single),
        cmocka_unit_test(runs_of_white_space_stay_together),
        cmocka_unit_test(unknown_characters_become_bytes),
        cmocka_unit_test(names_of_bytes_are_text),
        cmocka_unit_test(control_names_in_plain_text_stay_text),
        cmocka_unit_test(accents_split_no_word),
        cmocka_unit_test(one_user_turn_is_fourteen_ids),
        cmocka_unit_test(long_texts_without_breaks_agree),
    };
    bool has4 = load(&gemma4, "FACET_REAL_TOKENIZER", "gemma4-tokenizer.json");
    bool has3 = load(&gemma3, "FACET_REAL_TOKENIZER_3", "gemma3-tokenizer.json");
    if (!has4 && !has3) return 77;
    int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    free_tokenizer(&gemma4);
    free_tokenizer(&gemma3);
    return n_failed;
}
