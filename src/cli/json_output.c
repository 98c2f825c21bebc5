/* json_output.c - answers as JSON. */
#include "cli/json_output.h"

#include <math.h>
#include <stdio.h>

int fct_json_print(const char *command, json_t *value) {
    if (!value) {
        fprintf(stderr, "facet %s: no memory for the answer\n", command);
        return FCT_EXIT_FAILURE;
    }
    /* That writing failed shows at the end, when stdout is closed. */
    json_dumpf(value, stdout, JSON_REAL_PRECISION(7) | JSON_ENCODE_ANY);
    putchar('\n');
    json_decref(value);
    return FCT_EXIT_GOOD;
}

json_t *fct_json_ids(const int *ids, int n_ids) {
    json_t *array = json_array();
    for (int i = 0; array && i < n_ids; i++)
        if (json_array_append_new(array, json_integer(ids[i])) < 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

json_t *fct_json_number(double value) { return isfinite(value) ? json_real(value) : json_null(); }
