/* fuzz_tokenizer.c - libFuzzer target: any bytes as a tokenizer block, and as text for whatever
 * opens.
 *
 * clang -g -O1 -fsanitize=fuzzer,address,undefined -D_GNU_SOURCE -Isrc -Iinclude
 * tests/fuzz/fuzz_tokenizer.c \ src/text/{vocabulary,encoder,decoder}.c
 * src/base/{buffer,error,memory,utf8}.c -o fuzz_tokenizer Seeds: the tokenizer tensor of
 * models/demo.facet, cut short. */
#include "base/utf8.h"
#include "text/tokenizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Decodes the ids of the bytes, read as text; nothing may be read outside, every text must be UTF-8
 * if the pieces are. */
static void encode_and_decode(const fct_vocabulary *vocabulary, const char *bytes, size_t n_bytes,
                              bool control) {
    size_t n_text, n_back;
    char *text = fct_utf8_repair(bytes, n_bytes, &n_text, NULL, NULL), *back = NULL;
    struct fct_ids ids = {0};
    if (text && fct_encode(vocabulary, text, n_text, control, &ids, NULL) == FCT_OK)
        fct_decode(vocabulary, ids.data, ids.size, control, &back, &n_back, NULL);
    fct_free(back);
    fct_free(text);
    fct_ids_free(&ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fct_vocabulary *vocabulary = fct_vocabulary_open(data, size, NULL);
    if (!vocabulary) return 0;
    const char *tail = (const char *)data + size - size / 8; /* text is the last section */
    encode_and_decode(vocabulary, tail, size / 8, false);
    encode_and_decode(vocabulary, tail, size / 8, true);
    fct_vocabulary_control(vocabulary, "<|turn>");
    fct_vocabulary_free(vocabulary);
    return 0;
}
