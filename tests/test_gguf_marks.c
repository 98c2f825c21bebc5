/* test_gguf_marks.c - a GGUF vocabulary whose pieces have lost their byte order marks becomes the
 * one it was (ggml-org/llama.cpp#25739). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "convert/gguf_vocabulary.h"
#include "mobile_fixture.h"

#define M "\xEF\xBB\xBF"

/* ---- a file of nothing but a vocabulary ---- */

struct file {
    uint8_t data[16384];
    size_t n;
};
static void put(struct file *f, const void *what, size_t n) {
    assert_true(f->n + n <= sizeof f->data);
    memcpy(f->data + f->n, what, n);
    f->n += n;
}
static void put_u32(struct file *f, uint32_t x) { put(f, &x, sizeof x); }
static void put_u64(struct file *f, uint64_t x) { put(f, &x, sizeof x); }
static void put_text(struct file *f, const char *text) {
    put_u64(f, strlen(text));
    put(f, text, strlen(text));
}
static void put_list(struct file *f, const char *key, uint64_t n) {
    put_text(f, key);
    put_u32(f, FCT_GGUF_ARRAY);
    put_u32(f, FCT_GGUF_STRING);
    put_u64(f, n);
}

/* As in Gemma's vocabularies, single characters stand last. */
enum { N_PIECES = 13, N_MERGES = 7, N_BYTES = 256 };
static const char *const whole_pieces[N_PIECES] = {"//", "<?", M M, M "//", M "<?", M "#", "a#",
                                                   "/",  "<",  "?", "#",    "a",    M};
static const char *const whole_merges[N_MERGES] = {"/ /",   "< ?",  M " " M, M " //",
                                                   M " <?", M " #", "a #"};

static void put_vocabulary(struct file *f, const char *const *pieces, const char *const *merges) {
    put(f, "GGUF", 4);
    put_u32(f, 3);
    put_u64(f, 0);
    put_u64(f, 3);
    put_text(f, "tokenizer.ggml.model");
    put_u32(f, FCT_GGUF_STRING);
    put_text(f, "gemma4");
    put_list(f, "tokenizer.ggml.tokens", N_BYTES + N_PIECES);
    for (int byte = 0; byte < N_BYTES; byte++) {
        char name[8];
        snprintf(name, sizeof name, "<0x%02X>", byte);
        put_text(f, name);
    }
    for (int i = 0; i < N_PIECES; i++) put_text(f, pieces[i]);
    put_list(f, "tokenizer.ggml.merges", N_MERGES);
    for (int i = 0; i < N_MERGES; i++) put_text(f, merges[i]);
}

struct made {
    uint8_t *block;
    size_t n_bytes;
    int n_restored;
};
static fct_status make(const char *const *pieces, const char *const *merges, struct made *made,
                       fct_error *err) {
    static struct file f;
    struct fct_gguf gguf;
    f.n = 0;
    put_vocabulary(&f, pieces, merges);
    assert_int_equal(fct_gguf_parse(&gguf, "made", f.data, f.n, err), FCT_OK);
    fct_status status = fct_gguf_vocabulary_read(&gguf, "made", &made->block, &made->n_bytes,
                                                 &made->n_restored, err);
    fct_gguf_free(&gguf);
    return status;
}

/* The very vocabulary of the file that lost nothing. */
static void check_same(const char *const *pieces, const char *const *merges, int n_restored) {
    struct made whole, restored;
    fct_error err = {0};
    assert_int_equal(make(whole_pieces, whole_merges, &whole, &err), FCT_OK);
    assert_int_equal(whole.n_restored, 0);
    if (make(pieces, merges, &restored, &err) != FCT_OK) fail_msg("%s", err.message);
    assert_int_equal(restored.n_restored, n_restored);
    assert_int_equal(restored.n_bytes, whole.n_bytes);
    assert_memory_equal(restored.block, whole.block, whole.n_bytes);
    fct_free(whole.block);
    fct_free(restored.block);
}

static void copy_pieces(const char *pieces[N_PIECES]) {
    memcpy(pieces, whole_pieces, sizeof whole_pieces);
}

static void pieces_that_are_there_twice_get_their_marks_back(void **state) {
    (void)state;
    const char *pieces[N_PIECES];
    copy_pieces(pieces);
    for (int i = 3; i < 6; i++) pieces[i] += strlen(M);
    check_same(pieces, whole_merges, 3);
}

static void so_do_marks_alone_and_merges(void **state) {
    (void)state;
    const char *pieces[N_PIECES], *merges[N_MERGES];
    copy_pieces(pieces);
    memcpy(merges, whole_merges, sizeof whole_merges);
    for (int i = 0; i < N_PIECES; i++)
        if (strncmp(pieces[i], M, strlen(M)) == 0) pieces[i] += strlen(M);
    for (int i = 0; i < N_MERGES; i++)
        if (strncmp(merges[i], M, strlen(M)) == 0) merges[i] += strlen(M);
    check_same(pieces, merges, 5);
}

static void check_refused(const char *const *pieces, const char *words) {
    struct made made;
    fct_error err = {0};
    assert_int_equal(make(pieces, whole_merges, &made, &err), FCT_ERR_FORMAT);
    if (!strstr(err.message, words)) fail_msg("\"%s\" lacks \"%s\"", err.message, words);
}

static void others_that_are_there_twice_are_refused(void **state) {
    (void)state;
    const char *pieces[N_PIECES];
    copy_pieces(pieces);
    pieces[6] = "//"; /* and the piece with a mark is there */
    check_refused(pieces, "ids 256 and 262 have the same piece \"//\"");
    copy_pieces(pieces);
    pieces[2] = pieces[3] = pieces[4] = "<?";
    check_refused(pieces, "have the same piece \"<?\"");
}

/* ---- a whole model ---- */

static void a_conversion_says_so(void **state) {
    (void)state;
    static const char old[] = "\2\0\0\0\0\0\0\0  ", new[] = "\2\0\0\0\0\0\0\0he";
    size_t n;
    uint8_t *bytes = read_all(TEST_DATA "/gguf/gemma4.gguf", &n),
            *at = memmem(bytes, n, old, sizeof old - 1);
    assert_non_null(at);
    memcpy(at, new, sizeof new - 1);
    struct noted noted = {{0}};
    fct_convert_options options = {.n_threads = 1, .note = take_note, .user = &noted};
    fct_error err = {0};
    const char *path = scratch_put("twins.gguf", bytes, n);
    if (fct_convert(path, scratch_path("twins.facet"), &options, &err) != FCT_OK)
        fail_msg("%s", err.message);
    assert_non_null(
        strstr(noted.text, "1 pieces of the vocabulary had lost their byte order mark"));
    free(bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_that_are_there_twice_get_their_marks_back),
        cmocka_unit_test(so_do_marks_alone_and_merges),
        cmocka_unit_test(others_that_are_there_twice_are_refused),
        SCRATCH_TEST(a_conversion_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
