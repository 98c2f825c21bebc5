/* pick.c - which of a repository's files a conversion needs. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "fetch/remote_list.h"

static bool ends_with(const char *text, const char *end) {
    size_t n = strlen(text), n_end = strlen(end);
    return n > n_end && strcmp(text + n - n_end, end) == 0;
}

/* ---- kinds of files ---- */

/* Small files beside the weights. */
static bool is_companion(const char *path) {
    static const char *const names[] = {"config.json",         "generation_config.json",
                                        "tokenizer.json",      "tokenizer_config.json",
                                        "chat_template.jinja", "README.md"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(path, names[i]) == 0) return true;
    return false;
}

/* Weights of parts that facet does not run, in files of their own. */
static bool is_other_part(const char *path) {
    static const char *const words[] = {"vision", "audio", "mmproj", "image"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(path, words[i])) return true;
    return false;
}

static bool at_top(const char *path, const char *end) {
    return !strchr(path, '/') && ends_with(path, end);
}

/* Is `other` a part of the split file of which `path` is a part? NAME-00001-of-00003.gguf */
static bool is_sibling(const char *path, const char *other) {
    static const char form[] = "-00001-of-00003.gguf";
    size_t n = strlen(path), n_form = sizeof form - 1;
    if (n <= n_form || strlen(other) != n) return false;
    const char *number = path + n - n_form, *of = number + strlen("-00001");
    if (number[0] != '-' || strncmp(of, "-of-", 4) != 0 || !ends_with(path, ".gguf")) return false;
    size_t before = n - n_form + 1;
    return strncmp(path, other, before) == 0 && strspn(other + before, "0123456789") == 5 &&
           strcmp(other + before + 5, of) == 0;
}

/* ---- keeping ---- */

static void keep(struct fct_remote_list *list, const bool *kept) {
    size_t n = 0;
    for (size_t i = 0; i < list->n_files; i++) {
        if (kept[i])
            list->files[n++] = list->files[i];
        else
            fct_free(list->files[i].path);
    }
    list->n_files = n;
}

static fct_status keep_named(const struct fct_remote_list *list, const char *where,
                             const char *const *names, size_t n_names, bool *kept, fct_error *err) {
    for (size_t i = 0; i < n_names; i++) {
        bool found = false;
        for (size_t j = 0; j < list->n_files; j++) {
            bool named = strcmp(list->files[j].path, names[i]) == 0;
            found = found || named;
            if (named || is_sibling(names[i], list->files[j].path)) kept[j] = true;
        }
        if (!found)
            return fct_fail(err, FCT_ERR_ARGUMENT, "%s: has no file \"%s\"", where, names[i]);
    }
    return FCT_OK;
}

/* A tensor of a part that facet does not run. */
static bool is_other_tensor(const char *name) {
    return strstr(name, "vision") || strstr(name, "audio") || strstr(name, "multi_modal");
}

/* The shards that the index names, but for those that hold nothing the text network has. */
static fct_status keep_shards(const struct fct_remote_list *list, const char *where,
                              const char *index, size_t index_bytes, bool *kept, fct_error *err) {
    fct_status status = FCT_OK;
    json_error_t at;
    json_t *root = json_loadb(index, index_bytes, 0, &at), *file;
    const char *tensor;
    json_t *map = json_object_get(root, "weight_map");
    if (json_object_size(map) == 0)
        status = fct_fail(err, FCT_ERR_FORMAT, "%s: %s is not an index of shards%s%s", where,
                          FCT_REMOTE_INDEX, root ? "" : ": ", root ? "" : at.text);
    json_object_foreach(map, tensor, file) {
        if (is_other_tensor(tensor)) continue;
        const char *name = json_string_value(file);
        const struct fct_remote_file *found = name ? fct_remote_list_find(list, name) : NULL;
        if (found) {
            kept[found - list->files] = true;
        } else {
            status = fct_fail(err, FCT_ERR_FORMAT, "%s: %s names %s for %s, which is not there",
                              where, FCT_REMOTE_INDEX, name ? name : "something", tensor);
            break;
        }
    }
    json_decref(root);
    return status;
}

/* Without an index: model.safetensors if there is one, else the only one. */
static size_t keep_safetensors(const struct fct_remote_list *list, bool *kept) {
    size_t n = 0;
    const struct fct_remote_file *model = fct_remote_list_find(list, "model.safetensors");
    for (size_t i = 0; i < list->n_files; i++) {
        const char *path = list->files[i].path;
        if (!at_top(path, ".safetensors") || is_other_part(path)) continue;
        if (model && &list->files[i] != model) continue;
        kept[i] = true;
        n++;
    }
    return n;
}

/* A repository of GGUF files: the only one, else they are named in the message. */
static fct_status keep_gguf(const struct fct_remote_list *list, const char *where, bool *kept,
                            fct_error *err) {
    const char *first = NULL;
    char names[600] = "";
    size_t n = 0, used = 0;
    for (size_t i = 0; i < list->n_files; i++) {
        const char *path = list->files[i].path;
        if (!ends_with(path, ".gguf") || is_other_part(path)) continue;
        kept[i] = true;
        if (first && is_sibling(first, path)) continue;
        if (!first) first = path;
        if (n++ < 12 && used < sizeof names)
            used +=
                (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", path);
    }
    if (n == 1) return FCT_OK;
    if (n == 0)
        return fct_fail(err, FCT_ERR_UNSUPPORTED,
                        "%s: has neither safetensors nor GGUF files that facet could convert",
                        where);
    return fct_fail(err, FCT_ERR_ARGUMENT, "%s: has %zu GGUF models; choose one with --file: %s",
                    where, n, names);
}

static fct_status keep_folder(const struct fct_remote_list *list, const char *where, bool indexed,
                              size_t n_safetensors, bool *kept, fct_error *err) {
    if (!fct_remote_list_find(list, "config.json"))
        return fct_fail(err, FCT_ERR_UNSUPPORTED, "%s: has safetensors but no config.json", where);
    if (n_safetensors > 1)
        return fct_fail(err, FCT_ERR_UNSUPPORTED,
                        "%s: has %zu safetensors files, but no %s that says what they are", where,
                        n_safetensors, FCT_REMOTE_INDEX);
    for (size_t i = 0; i < list->n_files; i++)
        if (is_companion(list->files[i].path) ||
            (indexed && strcmp(list->files[i].path, FCT_REMOTE_INDEX) == 0))
            kept[i] = true;
    return FCT_OK;
}

static fct_status keep_needed(const struct fct_remote_list *list, const char *where,
                              const char *index, size_t index_bytes, bool *kept, fct_error *err) {
    size_t n_safetensors = 0;
    if (index) {
        fct_status status = keep_shards(list, where, index, index_bytes, kept, err);
        if (status) return status;
    } else {
        n_safetensors = keep_safetensors(list, kept);
        if (n_safetensors == 0) return keep_gguf(list, where, kept, err);
    }
    return keep_folder(list, where, index != NULL, n_safetensors, kept, err);
}

static int compare_paths(const void *a, const void *b) {
    return strcmp(((const struct fct_remote_file *)a)->path,
                  ((const struct fct_remote_file *)b)->path);
}

/* Two transfers into one file would spoil each other. */
static fct_status check_twice(struct fct_remote_list *list, const char *where, fct_error *err) {
    qsort(list->files, list->n_files, sizeof *list->files, compare_paths);
    for (size_t i = 1; i < list->n_files; i++)
        if (compare_paths(&list->files[i - 1], &list->files[i]) == 0)
            return fct_fail(err, FCT_ERR_FORMAT, "%s: lists %s twice", where, list->files[i].path);
    return FCT_OK;
}

fct_status fct_remote_list_pick(struct fct_remote_list *list, const char *where,
                                const char *const *names, size_t n_names, const char *index,
                                size_t index_bytes, fct_error *err) {
    if (list->n_files == 0) return fct_fail(err, FCT_ERR_FORMAT, "%s: lists no files", where);
    fct_status status = check_twice(list, where, err);
    if (status) return status;
    bool *kept = calloc(list->n_files, sizeof *kept);
    if (!kept) return fct_fail(err, FCT_ERR_MEMORY, "no memory for a list of files");
    status = n_names ? keep_named(list, where, names, n_names, kept, err)
                     : keep_needed(list, where, index, index_bytes, kept, err);
    if (!status) keep(list, kept);
    free(kept);
    return status;
}
