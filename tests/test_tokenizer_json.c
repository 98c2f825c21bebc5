/* test_tokenizer_json.c - a tokenizer.json that would give other ids is refused, by the name of
 * what is wrong. */
#include "tokenizer_fixture.h"

#include <unistd.h>

static char path[] = "/tmp/facet-tokenizer-XXXXXX";

static void write_text(const char *text, size_t n_bytes) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, n_bytes, file), n_bytes);
    assert_int_equal(fclose(file), 0);
}

/* A tokenizer.json of 256 byte pieces, "a", "b", "ab", a control token and an always matched one.
 */
static json_t *small(void) {
    json_t *root = json_pack(
        "{s:[{s:i,s:s,s:b},{s:i,s:s,s:b}], s:{s:s,s:{s:s},s:s}, s:n, "
        "s:{s:s,s:[{s:s,s:{s:s},s:s},{s:s},{s:s}]},"
        " s:{s:s,s:b,s:{},s:[[s,s]]}}",
        "added_tokens", "id", 259, "content", "<|turn>", "special", 1, "id", 260, "content", "<b>",
        "special", 0, "normalizer", "type", "Replace", "pattern", "String", " ", "content",
        "\u2581", "pre_tokenizer", "decoder", "type", "Sequence", "decoders", "type", "Replace",
        "pattern", "String", "\u2581", "content", " ", "type", "ByteFallback", "type", "Fuse",
        "model", "type", "BPE", "byte_fallback", 1, "vocab", "merges", "a", "b");
    assert_non_null(root);
    json_t *vocabulary = json_object_get(json_object_get(root, "model"), "vocab");
    for (int i = 0; i < 256; i++) {
        char name[8];
        snprintf(name, sizeof name, "<0x%02X>", i);
        json_object_set_new(vocabulary, name, json_integer(i));
    }
    json_object_set_new(vocabulary, "a", json_integer(256));
    json_object_set_new(vocabulary, "b", json_integer(257));
    json_object_set_new(vocabulary, "ab", json_integer(258));
    json_object_set_new(vocabulary, "<|turn>", json_integer(259));
    return root;
}

/* Reads root (which it takes) with the value at the dotted path `where` replaced by the JSON text
 * `what`. */
static fct_status read_changed(json_t *root, const char *where, const char *what, fct_error *err) {
    char keys[128];
    snprintf(keys, sizeof keys, "%s", where);
    json_t *at = root;
    char *key = strtok(keys, "."), *next;
    while ((next = strtok(NULL, "."))) {
        at = json_is_array(at) ? json_array_get(at, (size_t)atoi(key)) : json_object_get(at, key);
        key = next;
    }
    json_t *value = json_loads(what, JSON_DECODE_ANY, NULL);
    assert_non_null(value);
    if (json_is_array(at))
        json_array_set_new(at, (size_t)atoi(key), value);
    else
        json_object_set_new(at, key, value);
    json_dump_file(root, path, 0);
    json_decref(root);
    uint8_t *block = NULL;
    size_t n_bytes;
    fct_status status = fct_tokenizer_json_read(path, &block, &n_bytes, NULL, err);
    fct_free(block);
    return status;
}

static void check_refused(const char *where, const char *what, fct_status status,
                          const char *words) {
    fct_error err = {0};
    assert_int_equal(read_changed(small(), where, what, &err), status);
    if (!strstr(err.message, words) || !strstr(err.message, path))
        fail_msg("\"%s\" lacks \"%s\" or the file's name", err.message, words);
    assert_int_equal(read_changed(small(), where, what, NULL), status);
}

static void check_accepted(const char *where, const char *what) {
    fct_error err = {0};
    if (read_changed(small(), where, what, &err) != FCT_OK) fail_msg("%s", err.message);
}

static void what_changes_no_ids_is_accepted(void **state) {
    (void)state;
    check_accepted("version", "\"1.0\"");
    check_accepted("model.merges", "[\"a b\"]");
    check_accepted("model.merges", "[]");
    check_accepted("model.dropout", "null");
    check_accepted("model.dropout", "0.0");
    check_accepted("model.end_of_word_suffix", "\"\"");
    check_accepted("added_tokens", "null");
    check_accepted(
        "pre_tokenizer",
        "{\"type\":\"Split\",\"pattern\":{\"String\":\" \"},\"behavior\":\"MergedWithPrevious\"}");
    check_accepted("normalizer", "{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Replace\","
                                 "\"pattern\":{\"String\":\" \"},\"content\":\"\u2581\"}]}");
}

static void another_scheme_is_refused_by_its_name(void **state) {
    (void)state;
    check_refused("model.type", "\"Unigram\"", FCT_ERR_UNSUPPORTED, "model type Unigram");
    check_refused("model.byte_fallback", "false", FCT_ERR_UNSUPPORTED, "byte_fallback");
    check_refused("model.ignore_merges", "true", FCT_ERR_UNSUPPORTED, "ignore_merges");
    check_refused("model.dropout", "0.1", FCT_ERR_UNSUPPORTED, "dropout");
    check_refused("model.end_of_word_suffix", "\"</w>\"", FCT_ERR_UNSUPPORTED,
                  "end_of_word_suffix");
    check_refused("normalizer", "null", FCT_ERR_UNSUPPORTED, "normalizer null");
    check_refused("normalizer", "{\"type\":\"Prepend\",\"prepend\":\"\u2581\"}",
                  FCT_ERR_UNSUPPORTED, "normalizer Prepend");
    check_refused(
        "normalizer",
        "{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Prepend\"},{\"type\":\"Replace\"}]}",
        FCT_ERR_UNSUPPORTED, "normalizer Prepend");
    check_refused("normalizer.content", "\"_\"", FCT_ERR_UNSUPPORTED, "normalizer Replace");
    check_refused("pre_tokenizer", "{\"type\":\"Metaspace\"}", FCT_ERR_UNSUPPORTED,
                  "pre_tokenizer Metaspace");
    check_refused("pre_tokenizer", "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"x\"}}",
                  FCT_ERR_UNSUPPORTED, "pre_tokenizer Split");
    check_refused("decoder", "{\"type\":\"ByteLevel\"}", FCT_ERR_UNSUPPORTED, "decoder ByteLevel");
    check_refused("decoder.decoders.2", "{\"type\":\"Strip\"}", FCT_ERR_UNSUPPORTED,
                  "decoder Strip");
    check_refused("added_tokens.0.lstrip", "true", FCT_ERR_UNSUPPORTED, "lstrip");
    check_refused("added_tokens.0.normalized", "true", FCT_ERR_UNSUPPORTED, "normalized");
}

static void damage_is_refused_by_its_place(void **state) {
    (void)state;
    check_refused("model", "[]", FCT_ERR_FORMAT, "model");
    check_refused("model.vocab", "7", FCT_ERR_FORMAT, "vocab");
    check_refused("model.vocab", "{}", FCT_ERR_FORMAT, "id 260 for 0 pieces");
    check_refused("model.vocab.a", "\"256\"", FCT_ERR_FORMAT, "\"a\"");
    check_refused("model.vocab.a", "-1", FCT_ERR_FORMAT, "\"a\" is out of range");
    check_refused("model.vocab.a", "1e3", FCT_ERR_FORMAT, "\"a\"");
    check_refused("model.vocab.a", "9223372036854775807", FCT_ERR_FORMAT, "\"a\" is out of range");
    check_refused("model.vocab.a", "4000000", FCT_ERR_FORMAT, "id 4000000 for 260 pieces");
    check_refused("model.vocab.a", "257", FCT_ERR_FORMAT, "the same id 257");
}

static void merges_and_added_tokens_are_checked(void **state) {
    (void)state;
    check_refused("model.merges", "{}", FCT_ERR_FORMAT, "merges");
    check_refused("model.merges.0", "[\"a\"]", FCT_ERR_FORMAT, "merges[0]");
    check_refused("model.merges.0", "[\"a\",7]", FCT_ERR_FORMAT, "merges[0]");
    check_refused("model.merges.0", "\"ab\"", FCT_ERR_FORMAT, "merges[0]");
    check_refused("model.merges.0", "\"a zzz\"", FCT_ERR_FORMAT, "merges[0]");
    check_refused("model.merges.0", "[\"b\",\"a\"]", FCT_ERR_FORMAT, "makes no piece");
    check_refused("model.merges", "[\"a b\",[\"a\",\"b\"]]", FCT_ERR_FORMAT, "two merges");
    check_refused("added_tokens", "{}", FCT_ERR_FORMAT, "added_tokens");
    check_refused("added_tokens.0", "7", FCT_ERR_FORMAT, "added_tokens[0]");
    check_refused("added_tokens.0.id", "-5", FCT_ERR_FORMAT, "added_tokens[0]");
    check_refused("added_tokens.0.id", "260", FCT_ERR_FORMAT, "260");
    check_refused("added_tokens.0.content", "\"<|other>\"", FCT_ERR_FORMAT, "\"<|other>\"");
    check_refused("added_tokens.0.content", "7", FCT_ERR_FORMAT, "added_tokens[0]: content");
    check_refused("added_tokens.1.content", "\"a\"", FCT_ERR_FORMAT, "same piece");
}

static fct_status read_text(const char *text, size_t n_bytes, fct_error *err) {
    write_text(text, n_bytes);
    uint8_t *block = NULL;
    size_t n;
    fct_status status = fct_tokenizer_json_read(path, &block, &n, NULL, err);
    fct_free(block);
    return status;
}
#define READ(text, err) read_text(text, sizeof text - 1, err)

static void what_is_no_json_is_refused(void **state) {
    (void)state;
    fct_error err;
    assert_int_equal(READ("", &err), FCT_ERR_FORMAT);
    assert_int_equal(READ("[]", &err), FCT_ERR_FORMAT);
    assert_int_equal(READ("version https://git-lfs", &err), FCT_ERR_FORMAT);
    assert_int_equal(READ("{\"model\":{\"type\":\"BPE\",\"type\":\"BPE\"}}", &err), FCT_ERR_FORMAT);
    assert_non_null(strstr(err.message, "duplicate"));
    uint8_t *block = NULL;
    size_t n;
    assert_int_equal(fct_tokenizer_json_read("/nowhere/tokenizer.json", &block, &n, NULL, &err),
                     FCT_ERR_IO);
    assert_null(block);
}

/* Every cut of a file is refused; the last byte is only a brace. */
static void a_file_cut_anywhere_is_refused(void **state) {
    (void)state;
    json_t *root = small();
    char *text = json_dumps(root, 0);
    for (size_t n = 0; n < strlen(text); n += n < 400 ? 1 : 97)
        assert_int_equal(read_text(text, n, NULL), FCT_ERR_FORMAT);
    assert_int_equal(read_text(text, strlen(text) - 1, NULL), FCT_ERR_FORMAT);
    assert_int_equal(read_text(text, strlen(text), NULL), FCT_OK);
    free(text);
    json_decref(root);
}

static void the_summary_counts_what_was_found(void **state) {
    (void)state;
    struct tokenizer t;
    load_tokenizer(&t, TEST_DATA "/text/demo_tokenizer.json");
    assert_int_equal(t.summary.n_pieces, 2048);
    assert_int_equal(t.summary.n_merges, 1675);
    assert_int_equal(t.summary.n_control, 21);
    assert_int_equal(t.summary.n_matched, 0);
    free_tokenizer(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_changes_no_ids_is_accepted),
        cmocka_unit_test(another_scheme_is_refused_by_its_name),
        cmocka_unit_test(damage_is_refused_by_its_place),
        cmocka_unit_test(merges_and_added_tokens_are_checked),
        cmocka_unit_test(what_is_no_json_is_refused),
        cmocka_unit_test(a_file_cut_anywhere_is_refused),
        cmocka_unit_test(the_summary_counts_what_was_found),
    };
    int fd = mkstemp(path);
    if (fd < 0) return 1;
    close(fd);
    int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return n_failed;
}
