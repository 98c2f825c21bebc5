/* layout.c - names, limits and sizes of the packed file. */
#include "pack/layout.h"

#include <string.h>

#include "base/memory.h"

static const char *const scheme_names[] = {
    [FCT_F32] = "f32", [FCT_Q8] = "q8", [FCT_Q4] = "q4", [FCT_Q2] = "q2"};

const char *fct_scheme_name(enum fct_scheme scheme) { return scheme_names[scheme]; }

bool fct_scheme_parse(const char *name, enum fct_scheme *scheme) {
    for (int i = FCT_F32; i <= FCT_Q2; i++)
        if (!strcmp(name, scheme_names[i])) return *scheme = (enum fct_scheme)i, true;
    return false;
}

/* The arithmetic of blocks.h rounds ints up by at most two groups. */
static bool is_side(int64_t n) { return n >= 1 && n <= INT32_MAX - 256; }

static bool has_group(enum fct_scheme scheme, int64_t group) {
    if (group == 0) return true;
    if (scheme == FCT_Q4) return group == 32 || group == 64 || group == 128;
    return scheme == FCT_Q8 && group == 32;
}

bool fct_matrix_fits(enum fct_scheme scheme, int64_t group, int64_t rows, int64_t columns,
                     size_t *n_bytes) {
    if (!is_side(rows) || !is_side(columns) || !has_group(scheme, group)) return false;
    return fct_mul((size_t)fct_strips((int)rows), fct_strip_bytes(scheme, (int)group, (int)columns),
                   n_bytes);
}

bool fct_table_fits(enum fct_scheme scheme, int64_t blocks, int64_t rows, int64_t columns,
                    size_t *n_bytes) {
    if (!is_side(rows) || !is_side(columns) || blocks < 0 || blocks > columns) return false;
    if (scheme != FCT_F32 && (blocks == 0 || columns % blocks != 0)) return false;
    return fct_mul((size_t)rows, fct_table_row_bytes(scheme, (int)blocks, (int)columns), n_bytes);
}
