/* known_threads.c - how many threads answer fastest on this machine, as earlier runs found out. */
#include "cli/known_threads.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/threads.h"
#include "cli/user_folder.h"

#define FILE_LIMIT ((size_t)1 << 20)
/* What one run finds may be an accident of what else ran. */
enum { SURE = 2, MOST_CASES = 64, MOST_THREADS = 1024 };

static void name_case(const struct fct_thread_case *at, char name[128]) {
    snprintf(name, 128, "%s, %d CPUs, %" PRIu64 " bytes a token", at->kernels, at->n_cpus,
             at->bytes_per_token);
}

/* All that is known: an object of cases. */
static json_t *read_all(const char *path) {
    size_t n_bytes;
    char *text = fct_file_read(path, FILE_LIMIT, &n_bytes, NULL);
    json_t *all = text ? json_loadb(text, n_bytes, JSON_REJECT_DUPLICATES, NULL) : NULL;
    fct_free(text);
    if (json_is_object(all) && json_object_size(all) <= MOST_CASES) return all;
    json_decref(all);
    return json_object();
}

/* A number of a case, or 0. */
static int number_of(const json_t *known, const char *key) {
    json_int_t value = json_integer_value(json_object_get(known, key));
    return value >= 1 && value <= MOST_THREADS ? (int)value : 0;
}

int fct_known_threads(const struct fct_thread_case *at) {
    char name[128], *path = fct_user_path(FCT_USER_CACHE, "threads.json", NULL);
    if (!path) return 0;
    name_case(at, name);
    json_t *all = read_all(path);
    const json_t *known = json_object_get(all, name);
    int n_threads = number_of(known, "runs") >= SURE ? number_of(known, "threads") : 0;
    json_decref(all);
    fct_free(path);
    return n_threads <= at->n_cpus ? n_threads : 0;
}

void fct_known_threads_note(const struct fct_thread_case *at, int n_threads) {
    char name[128], *path = fct_user_path(FCT_USER_CACHE, "threads.json", NULL);
    if (!path) return;
    name_case(at, name);
    json_t *all = read_all(path);
    const json_t *known = json_object_get(all, name);
    int runs = number_of(known, "threads") == n_threads ? number_of(known, "runs") : 0;
    json_object_set_new(
        all, name,
        json_pack("{s:i, s:i}", "threads", n_threads, "runs", runs < SURE ? runs + 1 : SURE));
    char *text = json_dumps(all, JSON_INDENT(1));
    if (text) fct_file_write(path, text, strlen(text), NULL);
    free(text);
    json_decref(all);
    fct_free(path);
}

static struct fct_thread_case case_of(const fct_model *model) {
    const fct_model_info info = fct_model_describe(model);
    return (struct fct_thread_case){info.kernels, fct_cpu_count(), info.bytes_per_token};
}

void fct_known_threads_use(const fct_model *model, fct_session_options *options) {
    const struct fct_thread_case at = case_of(model);
    if (!options->decode_threads) options->decode_threads = fct_known_threads(&at);
}

void fct_known_threads_keep(const fct_model *model, const fct_session *session) {
    if (!session) return;
    const fct_session_info info = fct_session_describe(session);
    const struct fct_thread_case at = case_of(model);
    if (info.decode_threads_found) fct_known_threads_note(&at, info.decode_threads);
}
