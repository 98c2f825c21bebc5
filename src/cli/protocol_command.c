/* protocol_command.c - what `facet bench --protocol` and `--compare` print and keep. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/folded.h"
#include "cli/json_output.h"
#include "cli/protocol.h"
#include "cli/style.h"

/* Sentences are folded where a terminal is narrower, tables are not. */
static void print_page(const char *page) {
    int width = fct_line_columns(STDOUT_FILENO);
    for (const char *end; (end = strchr(page, '\n')); page = end + 1) {
        char line[1024];
        size_t n_bytes = (size_t)(end - page);
        if (strncmp(page, "- ", 2) != 0 || n_bytes >= sizeof line) {
            printf("%.*s\n", (int)n_bytes, page);
            continue;
        }
        snprintf(line, sizeof line, "%.*s", (int)n_bytes - 2, page + 2);
        fputs("- ", stdout);
        fct_folded_print(stdout, line, 2, 2, width);
    }
}

/* The result is told and kept also when it is not clean; the exit code then says so. */
int fct_protocol_command(const struct fct_protocol_options *options, const char *out, bool json) {
    fct_error err = {0};
    json_t *result;
    if (fct_protocol_run(options, &result, &err) != FCT_OK) return fct_failure("bench", &err);
    bool clean = json_is_true(json_object_get(result, "clean"));
    char *page = fct_protocol_page(result, false, &err);
    fct_status status = page ? FCT_OK : err.code;
    if (!status && out) status = fct_protocol_write(result, out, &err);
    if (!status && !json) print_page(page);
    int code = status ? fct_failure("bench", &err) : FCT_EXIT_GOOD;
    if (!status && json) code = fct_json_print("bench", json_incref(result));
    fct_free(page);
    json_decref(result);
    if (code || clean) return code;
    fprintf(stderr, "facet bench: this was not a clean run, so its figures are not to be quoted\n");
    return FCT_EXIT_FAILURE;
}

int fct_protocol_compare_command(char *const *paths) {
    fct_error err = {0};
    json_t *a = fct_protocol_read(paths[0], &err), *b = NULL;
    if (a) b = fct_protocol_read(paths[1], &err);
    char *page = b ? fct_protocol_compare(a, b, &err) : NULL;
    if (page) print_page(page);
    fct_free(page);
    json_decref(a);
    json_decref(b);
    return page ? FCT_EXIT_GOOD : fct_failure("bench", &err);
}
