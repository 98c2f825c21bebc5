/* fuzz_tokenizer_json.c - whatever a tokenizer.json says, it becomes a vocabulary that opens, or an
 * error. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "convert/tokenizer_json.h"
#include "text/vocabulary.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static int file = -1;
    char path[64];
    fct_error err = {0};
    uint8_t *block = NULL;
    size_t n_bytes = 0;
    struct fct_tokenizer_summary summary;
    if (file < 0) file = memfd_create("tokenizer.json", 0);
    if (file < 0 || ftruncate(file, 0) || pwrite(file, data, size, 0) != (ssize_t)size) abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    fct_status status = fct_tokenizer_json_read(path, &block, &n_bytes, &summary, &err);
    if (status != FCT_OK) {
        if (!err.message[0] || err.code != status || block) abort();
        return 0;
    }
    fct_vocabulary *vocabulary = fct_vocabulary_open(block, n_bytes, &err);
    if (!vocabulary || fct_vocabulary_size(vocabulary) != summary.n_pieces) abort();
    fct_vocabulary_free(vocabulary);
    fct_free(block);
    return 0;
}
