/* protocol_command.c - what `facet bench --protocol` and `--compare` print and keep. */
#include <stdio.h>

#include "cli/json_output.h"
#include "cli/protocol.h"

/* The result is told and kept also when it is not clean; the exit code then says so. */
int fct_protocol_command(const struct fct_protocol_options *options, const char *out, bool json) {
    fct_error err = {0};
    json_t *result;
    if (fct_protocol_run(options, &result, &err) != FCT_OK) return fct_failure("bench", &err);
    bool clean = json_is_true(json_object_get(result, "clean"));
    char *page = fct_protocol_page(result, false, &err);
    fct_status status = page ? FCT_OK : err.code;
    if (!status && out) status = fct_protocol_write(result, out, &err);
    if (!status && !json) fputs(page, stdout);
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
    if (page) fputs(page, stdout);
    fct_free(page);
    json_decref(a);
    json_decref(b);
    return page ? FCT_EXIT_GOOD : fct_failure("bench", &err);
}
