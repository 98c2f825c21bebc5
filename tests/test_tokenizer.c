/* test_tokenizer.c - encoding and decoding with the demo model's tokenizer, against the reference.
 */
#include "tokenizer_fixture.h"
#include <math.h>

#include <time.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "base/utf8.h"

static struct tokenizer demo;

static void all_vectors_agree(void **state) {
    (void)state;
    check_vectors(&demo, TEST_DATA "/text/demo_vectors.jsonl", 729);
    check_long_vectors(&demo, "demo");
}

static void check_encoded(const char *text, bool control, const json_t *expected) {
    struct fct_ids ids = {0};
    assert_int_equal(fct_encode(demo.vocabulary, text, strlen(text), control, &ids, NULL), FCT_OK);
    if (!same_ids(&ids, expected)) fail_msg("wrong ids for \"%s\"", text);
    fct_ids_free(&ids);
}

static void add_turns(struct fct_text *text, const json_t *messages) {
    size_t i;
    json_t *message;
    fct_text_puts(text, "<bos>");
    json_array_foreach((json_t *)messages, i, message) {
        const char *role = json_string_value(json_object_get(message, "role"));
        fct_text_printf(text, "<|turn>%s\n%s<turn|>\n",
                        strcmp(role, "assistant") == 0 ? "model" : role,
                        json_string_value(json_object_get(message, "content")));
    }
    fct_text_puts(text, "<|turn>model\n");
}

static void the_demo_conversations_have_the_ids_of_the_reference(void **state) {
    (void)state;
    json_t *expected = json_load_file(TEST_DATA "/text/demo_expected.json", 0, NULL), *entry;
    size_t i;
    json_array_foreach(json_object_get(expected, "entries"), i, entry) {
        struct fct_text text = {0};
        add_turns(&text, json_object_get(entry, "messages"));
        check_encoded(text.data, true, json_object_get(entry, "prompt_ids"));
        struct fct_ids ids = {0};
        json_t *answer = json_pack("{s:O}", "ids", json_object_get(entry, "answer_ids"));
        ids_of_line(&demo, answer, &ids);
        assert_true(is_whole_text(&demo, &ids, true, json_object_get(entry, "answer")));
        json_decref(answer);
        fct_ids_free(&ids);
        fct_text_free(&text);
    }
    assert_int_equal(i, 80);
    json_decref(expected);
}

static void no_control_id_comes_out_of_plain_text(void **state) { /* F06 */
    (void)state;
    struct fct_ids ids = {0};
    for (size_t n = 0; fct_vocabulary_name(demo.vocabulary, n) >= 0; n++) {
        size_t n_bytes;
        const char *name = fct_vocabulary_piece(demo.vocabulary,
                                                fct_vocabulary_name(demo.vocabulary, n), &n_bytes);
        assert_int_equal(fct_encode(demo.vocabulary, name, n_bytes, false, &ids, NULL), FCT_OK);
    }
    assert_true(ids.size > 21);
    for (size_t i = 0; i < ids.size; i++)
        assert_false(fct_vocabulary_is_control(demo.vocabulary, ids.data[i]));
    fct_ids_free(&ids);
}

static void control_names_are_matched_leftmost_and_longest(void **state) {
    (void)state;
    size_t length;
    int turn = fct_vocabulary_control(demo.vocabulary, "<|turn>");
    assert_true(turn > 0);
    assert_int_equal(fct_vocabulary_match(demo.vocabulary, "<|turn><", 8, true, &length), turn);
    assert_int_equal(length, 7);
    assert_int_equal(fct_vocabulary_match(demo.vocabulary, "<|turn>", 6, true, &length), -1);
    assert_int_equal(fct_vocabulary_match(demo.vocabulary, "<|turn>", 7, false, &length), -1);
    assert_int_equal(fct_vocabulary_match(demo.vocabulary, "", 0, true, &length), -1);
    assert_int_equal(fct_vocabulary_match(demo.vocabulary, "<|tool_call>", 12, true, &length),
                     fct_vocabulary_control(demo.vocabulary, "<|tool_call>"));
    assert_int_equal(fct_vocabulary_control(demo.vocabulary, "<|tur"), -1);
    assert_int_equal(fct_vocabulary_control(demo.vocabulary, "<|turn>x"), -1);
    assert_int_equal(fct_vocabulary_control(demo.vocabulary, ""), -1);
}

static void invalid_utf8_is_refused_and_repaired_text_is_not(void **state) { /* F08 */
    (void)state;
    static const struct {
        const char *bytes;
        int n_replaced;
    } cases[] = {{"a\xE3\x81", 1},    {"\xC0\x80", 2},
                 {"\xED\xA0\x80", 3}, {"\xF8\x88\x80\x80\x80", 5},
                 {"\xFF", 1},         {"x\x80y", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        /* Exactly as many bytes as there are, so that a read past the end is found. */
        size_t n_bytes = strlen(cases[i].bytes), n_repaired;
        char *exact = malloc(n_bytes);
        memcpy(exact, cases[i].bytes, n_bytes);
        struct fct_ids ids = {0};
        assert_int_equal(fct_encode(demo.vocabulary, exact, n_bytes, true, &ids, NULL),
                         FCT_ERR_ARGUMENT);
        assert_int_equal(ids.size, 0);
        int n_replaced;
        char *repaired = fct_utf8_repair(exact, n_bytes, &n_repaired, &n_replaced, NULL);
        assert_int_equal(n_replaced, cases[i].n_replaced);
        assert_int_equal(fct_encode(demo.vocabulary, repaired, n_repaired, true, &ids, NULL),
                         FCT_OK);
        json_t *text = json_stringn(repaired, n_repaired);
        assert_true(is_whole_text(&demo, &ids, false, text));
        json_decref(text);
        fct_ids_free(&ids);
        fct_free(repaired);
        free(exact);
    }
}

static double cpu_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double encoding_time(const char *text, size_t n_bytes) {
    struct fct_ids ids = {0};
    double begin = cpu_seconds();
    fct_encode(demo.vocabulary, text, n_bytes, true, &ids, NULL);
    double seconds = cpu_seconds() - begin;
    fct_ids_free(&ids);
    return seconds;
}

/* F07. n log n takes about 12 times as long, a square 100 times. A busy machine only ever makes a
 * run longer: the shortest of some count, and there are more of them while the bound is not met. */
static void ten_times_the_text_takes_at_most_fifteen_times_as_long(void **state) {
    (void)state;
    enum { ROUNDS = 12 };
    static const char *const units[] = {"capital of ", "a", " ", "今日は雨が", "<|tur", "\n"};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        size_t n_bytes, n = 30000 / strlen(units[i]);
        char *text = repeat(units[i], 10 * n, &n_bytes);
        double little = 1e9, much = 1e9;
        for (int round = 0; round < 2 || (round < ROUNDS && much > 15 * little); round++) {
            little = fmin(little, encoding_time(text, n_bytes / 10));
            much = fmin(much, encoding_time(text, n_bytes));
        }
        free(text);
        if (much > 15 * little)
            fail_msg("\"%s\": %g s, ten times of it %g s", units[i], little, much);
    }
}

/* ---- streaming ---- */

static int byte_id(int byte) { return fct_vocabulary_byte_id(demo.vocabulary, (uint8_t)byte); }

static void check_push(fct_decoder *decoder, int id, const char *expected) {
    size_t n_bytes;
    assert_string_equal(fct_decoder_push(decoder, id, &n_bytes), expected);
    assert_int_equal(n_bytes, strlen(expected));
}
static void check_finish(fct_decoder *decoder, const char *expected) {
    size_t n_bytes;
    assert_string_equal(fct_decoder_finish(decoder, &n_bytes), expected);
    assert_int_equal(n_bytes, strlen(expected));
}

static int only_id(const char *text) {
    struct fct_ids ids = {0};
    assert_int_equal(fct_encode(demo.vocabulary, text, strlen(text), true, &ids, NULL), FCT_OK);
    assert_int_equal(ids.size, 1);
    int id = ids.data[0];
    fct_ids_free(&ids);
    return id;
}

static void a_character_split_over_tokens_comes_out_whole(void **state) { /* F48, F05 */
    (void)state;
    fct_decoder *decoder = fct_decoder_new(demo.vocabulary, false, NULL);
    check_push(decoder, byte_id(0xF0), "");
    check_push(decoder, byte_id(0x9B), "");
    check_push(decoder, byte_id(0x80), "");
    check_push(decoder, byte_id(0x82), "");
    check_push(decoder, only_id("a"), "\U0001B002a");
    check_push(decoder, only_id("b"), "b"); /* what is no byte piece never waits */
    check_finish(decoder, "");
    fct_decoder_free(decoder);
}

static void an_unfinished_character_gives_one_replacement_a_byte(void **state) {
    (void)state;
    fct_decoder *decoder = fct_decoder_new(demo.vocabulary, false, NULL);
    check_push(decoder, byte_id(0xF0), "");
    check_push(decoder, byte_id(0x9F), "");
    check_finish(decoder, "\uFFFD\uFFFD");
    check_finish(decoder, "");
    check_push(decoder, byte_id(0xC3), ""); /* ready for a new text */
    check_push(decoder, byte_id(0xA9), "");
    check_finish(decoder, "é");
    fct_decoder_free(decoder);
}

/* The reference judges the whole run: bytes that were fine so far turn into replacements, too. */
static void a_run_of_bytes_is_judged_as_a_whole(void **state) {
    (void)state;
    fct_decoder *decoder = fct_decoder_new(demo.vocabulary, false, NULL);
    check_push(decoder, byte_id('A'), "");
    check_push(decoder, byte_id(0xFF), "");
    check_push(decoder, only_id("x"), "\uFFFD\uFFFDx");
    fct_decoder_free(decoder);
}

static void skipped_control_tokens_do_not_end_a_run(void **state) {
    (void)state;
    int turn = fct_vocabulary_control(demo.vocabulary, "<turn|>");
    fct_decoder *decoder = fct_decoder_new(demo.vocabulary, true, NULL);
    check_push(decoder, byte_id(0xC3), "");
    check_push(decoder, turn, "");
    check_push(decoder, -1, "");
    check_push(decoder, fct_vocabulary_size(demo.vocabulary), "");
    check_push(decoder, byte_id(0xA9), "");
    check_finish(decoder, "é");
    fct_decoder_free(decoder);
    decoder = fct_decoder_new(demo.vocabulary, false, NULL);
    check_push(decoder, byte_id(0xC3), "");
    check_push(decoder, turn, "\uFFFD<turn|>");
    fct_decoder_free(decoder);
}

static void pushing_allocates_nothing(void **state) {
    (void)state;
    fct_decoder *decoder = fct_decoder_new(demo.vocabulary, false, NULL);
    uint64_t before = fct_allocation_count();
    size_t n_bytes;
    for (int id = 0; id < fct_vocabulary_size(demo.vocabulary); id++)
        fct_decoder_push(decoder, id, &n_bytes);
    fct_decoder_finish(decoder, &n_bytes);
    assert_true(fct_allocation_count() == before);
    fct_decoder_free(decoder);
}

static void a_nul_is_a_character(void **state) {
    (void)state;
    fct_decoder *decoder = fct_decoder_new(demo.vocabulary, false, NULL);
    size_t n_bytes;
    check_push(decoder, byte_id(0), "");
    const char *text = fct_decoder_push(decoder, only_id("a"), &n_bytes);
    assert_int_equal(n_bytes, 2);
    assert_memory_equal(text, "\0a", 3);
    fct_decoder_free(decoder);
}

static uint32_t next_random(uint32_t *state) { return *state = *state * 1664525u + 1013904223u; }

/* Random ids, half of them bytes of characters, sometimes cut short. */
static int random_ids(uint32_t *state, int *ids, int n) {
    static const char *const characters[] = {"é", "€", "😀", "A", "\xFF", "\xE2\x82", "\n"};
    int at = 0;
    while (at + 4 <= n) {
        uint32_t r = next_random(state) >> 8;
        if (r % 2) {
            ids[at++] = (int)(r / 2 % (uint32_t)fct_vocabulary_size(demo.vocabulary));
            continue;
        }
        for (const char *c = characters[r / 2 % 7]; *c; c++) ids[at++] = byte_id((uint8_t)*c);
    }
    return at;
}

static void streamed_text_is_the_whole_text_and_always_utf8(void **state) {
    (void)state;
    uint32_t chance = 1;
    int ids[40];
    for (int round = 0; round < 2000; round++) {
        bool skip = round % 2;
        int n = random_ids(&chance, ids, 40);
        fct_decoder *decoder = fct_decoder_new(demo.vocabulary, skip, NULL);
        struct fct_text joined = {0};
        size_t n_bytes, n_whole;
        for (int i = 0; i <= n; i++) {
            const char *text = i < n ? fct_decoder_push(decoder, ids[i], &n_bytes)
                                     : fct_decoder_finish(decoder, &n_bytes);
            assert_true(fct_utf8_valid(text, n_bytes));
            fct_text_add(&joined, text, n_bytes);
        }
        char *whole;
        assert_int_equal(fct_decode(demo.vocabulary, ids, (size_t)n, skip, &whole, &n_whole, NULL),
                         FCT_OK);
        assert_int_equal(n_whole, joined.size);
        assert_memory_equal(whole, joined.data, n_whole);
        fct_free(whole);
        fct_text_free(&joined);
        fct_decoder_free(decoder);
    }
}

static void nothing_encodes_to_nothing(void **state) {
    (void)state;
    struct fct_ids ids = {0};
    assert_int_equal(fct_encode(demo.vocabulary, "", 0, true, &ids, NULL), FCT_OK);
    assert_int_equal(ids.size, 0);
    char *text;
    size_t n_bytes;
    assert_int_equal(fct_decode(demo.vocabulary, NULL, 0, true, &text, &n_bytes, NULL), FCT_OK);
    assert_string_equal(text, "");
    fct_free(text);
    fct_ids_free(&ids);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_vectors_agree),
        cmocka_unit_test(the_demo_conversations_have_the_ids_of_the_reference),
        cmocka_unit_test(no_control_id_comes_out_of_plain_text),
        cmocka_unit_test(control_names_are_matched_leftmost_and_longest),
        cmocka_unit_test(invalid_utf8_is_refused_and_repaired_text_is_not),
        cmocka_unit_test(ten_times_the_text_takes_at_most_fifteen_times_as_long),
        cmocka_unit_test(a_character_split_over_tokens_comes_out_whole),
        cmocka_unit_test(an_unfinished_character_gives_one_replacement_a_byte),
        cmocka_unit_test(a_run_of_bytes_is_judged_as_a_whole),
        cmocka_unit_test(skipped_control_tokens_do_not_end_a_run),
        cmocka_unit_test(pushing_allocates_nothing),
        cmocka_unit_test(a_nul_is_a_character),
        cmocka_unit_test(streamed_text_is_the_whole_text_and_always_utf8),
        cmocka_unit_test(nothing_encodes_to_nothing),
    };
    load_tokenizer(&demo, TEST_DATA "/text/demo_tokenizer.json");
    int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    free_tokenizer(&demo);
    return n_failed;
}
