/* source.c - what all kinds of sources share: telling them apart, finding a tensor, giving them up.
 */
#include "convert/source.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "convert/coded.h"
#include "convert/gguf.h"
#include "convert/name_list.h"
#include "pack/stand_in.h"

static int compare_names(const void *a, const void *b) {
    return strcmp(((const struct fct_source_tensor *)a)->name,
                  ((const struct fct_source_tensor *)b)->name);
}

fct_status fct_source_sort(fct_source *source, fct_error *err) {
    struct fct_name_list twice = {0};
    char buffer[600];
    qsort(source->tensors, source->n_tensors, sizeof *source->tensors, compare_names);
    for (size_t i = 1; i < source->n_tensors; i++)
        if (compare_names(&source->tensors[i - 1], &source->tensors[i]) == 0)
            fct_name_list_add(&twice, source->tensors[i].name);
    if (twice.n_names == 0) return FCT_OK;
    return fct_fail(err, FCT_ERR_FORMAT, "%s: %zu tensors are there more than once: %s",
                    source->path, twice.n_names, fct_name_list_text(&twice, buffer, sizeof buffer));
}

const struct fct_source_tensor *fct_source_find(const fct_source *source, const char *name) {
    const struct fct_source_tensor key = {.name = name};
    return bsearch(&key, source->tensors, source->n_tensors, sizeof *source->tensors,
                   compare_names);
}

/* A GGUF file says what it is in its first bytes, whatever its name. */
static fct_source *open_file(const char *path, fct_error *err) {
    uint8_t start[64];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return (void)fct_fail_errno(err, "%s", path), NULL;
    ssize_t n = pread(fd, start, sizeof start, 0);
    close(fd);
    size_t n_bytes = n > 0 ? (size_t)n : 0;
    if (fct_gguf_is_start(start, n_bytes)) return fct_source_open_gguf(path, err);
    if (fct_stand_in_check(path, start, n_bytes, err) != FCT_OK) return NULL;
    if (n_bytes > 8 && start[8] == '{')
        return fct_fail_null(err, FCT_ERR_ARGUMENT,
                             "%s: is a safetensors file: a packed model, which needs no "
                             "conversion, or one of a checkpoint, of which the folder is given",
                             path);
    return fct_fail_null(err, FCT_ERR_ARGUMENT,
                         "%s: is no GGUF file; of a checkpoint give the folder that holds "
                         "config.json and the safetensors",
                         path);
}

fct_source *fct_source_open(const char *path, fct_error *err) {
    return fct_is_folder(path) ? fct_source_open_folder(path, err) : open_file(path, err);
}

bool fct_source_is_other_modality(const char *name) {
    return strstr(name, "vision") || strstr(name, "audio") || strstr(name, "multi_modal");
}

void fct_source_free(fct_source *source) {
    if (source) source->free(source);
}

void fct_source_free_common(fct_source *source) {
    fct_free(source->path);
    fct_free(source->name);
    fct_free(source->tensors);
    json_decref(source->config);
    json_decref(source->generation);
    fct_free(source->licence);
    fct_free(source->chat_template);
    fct_free(source->refusal);
    fct_coded_free(source->coded);
    fct_free(source);
}
