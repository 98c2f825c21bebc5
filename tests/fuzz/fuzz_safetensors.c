/* fuzz_safetensors.c - whatever a safetensors header says, each of its tensors lies in the file,
 * and none on another. */
#include <stdlib.h>
#include <string.h>

#include "pack/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct fct_safetensors *header, size_t size) {
    uint64_t sum = 0;
    for (size_t i = 0; i < header->n_tensors; i++) {
        const struct fct_tensor *tensor = &header->tensors[i];
        if (tensor->offset < header->data_start || tensor->offset > size) abort();
        if (tensor->n_bytes > size - tensor->offset) abort();
        if (fct_safetensors_find(header, tensor->name) != tensor) abort();
        sum += tensor->n_bytes;
    }
    if (header->data_end != size || sum > size - header->data_start) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct fct_safetensors header;
    fct_error err = {0};
    fct_status status = fct_safetensors_parse(&header, "fuzz", data, size, &err);
    if (status == FCT_OK)
        check(&header, size);
    else if (!err.message[0] || err.code != status)
        abort();
    fct_safetensors_free(&header);
    return 0;
}
