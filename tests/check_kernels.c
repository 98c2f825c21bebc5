/* check_kernels.c - every table that this CPU runs against portable.c, bit for bit, over many
 * shapes. check_kernels [NAME...] checks the tables named. Exit code 1 if a table differs. */
#include "kernels/check.h"
#include "measure_kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 256 };

static const struct {
    int rows, columns, begin, end;
} shapes[] = {{16, 32, 0, 1},   {17, 96, 0, 2},  {40, 160, 1, 3}, {48, 256, 0, 3},
              {80, 1536, 1, 4}, {64, 512, 0, 4}, {33, 608, 2, 3}, {16, 6144, 0, 1}};

static bool check_shapes(const struct fct_kernels *kernels, struct fct_matmul_case it, char *what) {
    static const int many_tokens[] = {29, 64, 130};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int tokens = 1; tokens <= 20; tokens++) {
            it.rows = shapes[i].rows, it.columns = shapes[i].columns;
            it.begin = shapes[i].begin, it.end = shapes[i].end;
            it.n_tokens = tokens < 18 ? tokens : many_tokens[tokens - 18];
            if (it.scheme != FCT_F32 && !fct_check_matmul(kernels, &it, what, TEXT)) return false;
            if (tokens % 6 < 2 && !fct_check_matmul_f32(kernels, &it, what, TEXT)) return false;
        }
    return true;
}

static bool check_matrices(const struct fct_kernels *kernels, char *what) {
    for (int i = 0; i < FCT_CHECK_KINDS; i++)
        if (!check_shapes(kernels, fct_check_kinds[i], what)) return false;
    return check_shapes(kernels, (struct fct_matmul_case){.scheme = FCT_F32}, what);
}

static bool check_attention(const struct fct_kernels *kernels, char *what) {
    static const int heads[] = {16, 32, 64, 256, 512},
                     queries[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 19};
    static const int windows[][2] = {{0, 128}, {0, 1}, {127, 128}, {15, 17}, {16, 32}, {37, 105}};
    for (int type = FCT_KV_TYPE_F32; type <= FCT_KV_TYPE_Q8; type++)
        for (size_t h = 0; h < sizeof heads / sizeof *heads; h++)
            for (size_t q = 0; q < sizeof queries / sizeof *queries; q++)
                for (size_t w = 0; w < sizeof windows / sizeof *windows; w++) {
                    struct fct_attend_case it = {(enum fct_kv_type)type, heads[h], queries[q],
                                                 windows[w][0], windows[w][1]};
                    if (!fct_check_attend(kernels, &it, what, TEXT)) return false;
                }
    return true;
}

static bool check_vectors(const struct fct_kernels *kernels, char *what) {
    static const int lengths[] = {16, 32, 48, 64, 256, 1536, 6144};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        if (!fct_check_vectors(kernels, lengths[i], what, TEXT)) return false;
    for (int scheme = FCT_F32; scheme <= FCT_Q2; scheme++)
        for (int blocks = 1; blocks <= 7; blocks += 2)
            if (!fct_check_lookup(kernels, (enum fct_scheme)scheme, blocks, blocks * 37, what,
                                  TEXT) ||
                !fct_check_lookup(kernels, (enum fct_scheme)scheme, blocks, blocks * 256, what,
                                  TEXT))
                return false;
    return true;
}

#if defined(__x86_64__)
/* amx.c with its tiles as plain C: see amx_tiles.h. */
extern const struct fct_kernels amx_in_c;
bool amx_in_c_multiplies(void);

static const struct fct_kernels *amx_without_amx(void) {
    return fct_kernels_select("avx512") ? &amx_in_c : NULL;
}
static bool tiles_multiply(const struct fct_kernels *kernels, char *what) {
    snprintf(what, TEXT, "a product of tiles");
    return kernels != &amx_in_c || amx_in_c_multiplies();
}
#else
static const struct fct_kernels *amx_without_amx(void) { return NULL; }
static bool tiles_multiply(const struct fct_kernels *kernels, char *what) {
    return kernels && what;
}
#endif

static int check_table(const char *name) {
    char what[TEXT] = "";
    const struct fct_kernels *kernels =
        strcmp(name, "amx-in-c") == 0 ? amx_without_amx() : fct_kernels_select(name);
    if (!kernels) {
        printf("%s: SKIP, this CPU cannot run it\n", name);
        return 0;
    }
    bool good = tiles_multiply(kernels, what) && check_vectors(kernels, what) &&
                check_attention(kernels, what) && check_matrices(kernels, what) &&
                fct_kernels_check(kernels, what, sizeof what);
    printf("%s: %s%s\n", name, good ? "same bits as portable" : "DIFFERS, ", good ? "" : what);
    return good ? 0 : 1;
}

static int bench(int argc, char **argv) {
    const char *tables = NULL, *only_schemes = NULL, *only_shapes = NULL;
    int threads = 1;
    for (int i = 2; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--threads")) threads = atoi(argv[i + 1]);
        if (!strcmp(argv[i], "--tables")) tables = argv[i + 1];
        if (!strcmp(argv[i], "--schemes")) only_schemes = argv[i + 1];
        if (!strcmp(argv[i], "--shapes")) only_shapes = argv[i + 1];
    }
    return measure_kernels(threads > 0 ? threads : 1, tables, only_schemes, only_shapes);
}

int main(int argc, char **argv) {
    int result = 0;
    if (argc > 1 && !strcmp(argv[1], "--bench")) return bench(argc, argv);
    if (argc > 1)
        for (int i = 1; i < argc; i++) result |= check_table(argv[i]);
    else
        for (const char *const *name = fct_kernels_names(); *name; name++)
            result |= check_table(*name);
    if (argc == 1) result |= check_table("amx-in-c");
    return result;
}
