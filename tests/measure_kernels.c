/* measure_kernels.c - how fast the kernels are on the shapes of Gemma 4 E2B: check_kernels --bench.
 *
 * Weights come from memory: each round walks through one region that is larger than the caches. A
 * plain read loop over the same region, in the same round, says what memory gives. Medians of the
 * rounds. */
#include "measure_kernels.h"
#include "base/memory.h"
#include "base/threads.h"
#include "kernels/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* up to MOST_FEW tokens, memory is what counts */
enum { ROUNDS = 7, MOST_FEW = 16, MOST_TOKENS = 512, MOST_COLUMNS = 12288 };
static const size_t region_bytes = (size_t)256 << 20;

static const struct {
    const char *name;
    int rows, columns;
} shapes[] = {{"q", 2048, 1536},        {"q full", 4096, 1536},      {"k, v", 256, 1536},
              {"k, v full", 512, 1536}, {"o", 1536, 2048},           {"o full", 1536, 4096},
              {"gate, up", 6144, 1536}, {"gate, up 2", 12288, 1536}, {"down", 1536, 6144},
              {"down 2", 1536, 12288},  {"ple gate", 256, 1536},     {"ple up", 1536, 256},
              {"head", 262144, 1536}};

static const struct {
    const char *name;
    enum fct_scheme scheme;
    int group, act_group;
} schemes[] = {{"q4-32", FCT_Q4, 32, 32},    {"q4-64", FCT_Q4, 64, 64},
               {"q4-128", FCT_Q4, 128, 128}, {"q4-row", FCT_Q4, 0, 32},
               {"q8-32", FCT_Q8, 32, 32},    {"q8-row", FCT_Q8, 0, 32},
               {"q2-row", FCT_Q2, 0, 32},    {"q4-static", FCT_Q4, 0, 0},
               {"q8-static", FCT_Q8, 0, 0},  {"q2-static", FCT_Q2, 0, 0}};

/* Everything a round works on. */
struct bench {
    fct_pool *pool;
    int threads;
    uint8_t *region;
    size_t bytes;
    struct fct_act act;
    float *y;
    size_t y_stride;
    const struct fct_kernels *kernels;
    struct fct_matrix w;
    int copies, tokens;
    volatile uint64_t sink;
};

static void multiply(void *user, struct fct_team team) {
    struct bench *b = user;
    int begin, end;
    fct_team_share(team, fct_strips(b->w.rows), 2, &begin, &end);
    for (int i = 0; i < b->copies; i++) {
        struct fct_matrix w = b->w;
        w.data += (size_t)i * fct_matrix_bytes(&w);
        b->kernels->matmul(&w, &b->act, b->tokens, begin, end, b->y, b->y_stride);
        fct_team_wait(team);
    }
}

static void read_all(void *user, struct fct_team team) {
    typedef uint64_t line __attribute__((vector_size(64), may_alias));
    struct bench *b = user;
    int begin, end;
    fct_team_share(team, (int)(b->bytes >> 12), 2, &begin, &end);
    const line *at = (const line *)(b->region + ((size_t)begin << 12)),
               *stop = (const line *)(b->region + ((size_t)end << 12));
    line sums[4] = {{0}};
    for (; at < stop; at += 4)
        for (int i = 0; i < 4; i++) sums[i] += at[i];
    sums[0] += sums[1] + sums[2] + sums[3];
    b->sink += sums[0][0] + sums[0][5];
}

static double seconds_of(struct bench *b, void (*work)(void *, struct fct_team)) {
    double start = fct_seconds();
    fct_pool_run(b->pool, b->threads, work, b);
    return fct_seconds() - start;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}
static double median(double *values, int n) {
    qsort(values, (size_t)n, sizeof *values, compare);
    return values[n / 2];
}

static void measure_shape(struct bench *b, int shape, int scheme, int tokens) {
    struct fct_matrix w = {schemes[scheme].scheme, schemes[scheme].group, shapes[shape].rows,
                           shapes[shape].columns, b->region};
    size_t bytes = fct_matrix_bytes(&w), most = tokens > MOST_FEW ? bytes : b->bytes;
    if (bytes > b->bytes || (tokens > MOST_FEW && (size_t)w.rows > b->y_stride)) return;
    double times[ROUNDS], shares[ROUNDS];
    b->w = w, b->tokens = tokens, b->copies = (int)(most / bytes);
    b->act.group = schemes[scheme].act_group;
    b->bytes = (size_t)b->copies * bytes & ~(size_t)8191;
    for (int i = 0; i < ROUNDS; i++) {
        double read = seconds_of(b, read_all);
        times[i] = seconds_of(b, multiply);
        shares[i] = read / times[i];
    }
    double seconds = median(times, ROUNDS) / b->copies;
    double gmacs = (double)w.rows * w.columns * tokens / seconds * 1e-9;
    printf("%-9s %-9s %-11s %6d x %-5d M=%-3d %8.1f GMAC/s (best %.1f) %6.2f GB/s",
           b->kernels->name, schemes[scheme].name, shapes[shape].name, w.rows, w.columns, tokens,
           gmacs, gmacs * seconds * b->copies / times[0], (double)bytes / seconds * 1e-9);
    if (tokens <= MOST_FEW) printf("  %5.2f of a plain read", median(shares, ROUNDS));
    printf("\n");
    fflush(stdout);
    b->bytes = region_bytes;
}

static void measure_attend(const struct fct_kernels *kernels, enum fct_kv_type type, int head_dim,
                           int chunks, const uint8_t *region, float *floats) {
    static const char *const types[] = {"f32", "f16", "q8"};
    enum { QUERIES = 8 };
    size_t bytes = (size_t)head_dim * FCT_KV_CHUNK * fct_kv_type_bytes(type);
    float *out = floats, *scales = floats + 8192, *queries = floats + 16384;
    struct fct_partial partial = {out, out + 64, out + 128};
    double times[ROUNDS];
    for (int i = 0; i < FCT_KV_CHUNK; i++) scales[i] = 0.01f;
    for (int i = 0; i < ROUNDS; i++) {
        double start = fct_seconds();
        for (int c = 0; c < chunks; c++) {
            const uint8_t *at = region + (size_t)(c % 512) * 2 * bytes % ((size_t)128 << 20);
            struct fct_attend job = {type,   head_dim, at,           at + bytes, scales,
                                     scales, 0,        FCT_KV_CHUNK, queries,    QUERIES};
            kernels->attend(&job, partial);
        }
        times[i] = (fct_seconds() - start) / chunks;
    }
    double seconds = median(times, ROUNDS);
    printf("%-9s attend %s, head %d, 8 queries, 1 thread, %s: %6.1f GMAC/s %6.2f GB/s\n",
           kernels->name, types[type], head_dim, chunks > 512 ? "cache from memory" : "same chunk",
           2.0 * QUERIES * FCT_KV_CHUNK * head_dim / seconds * 1e-9,
           2.0 * (double)bytes / seconds * 1e-9);
}

static void measure_vectors(const struct fct_kernels *k, struct bench *b, float *x) {
    enum { N = 6144, TIMES = 200 };
    float *y = x + N, *w = x + 2 * N;
    double start, seconds[8];
    const char *const names[] = {"rms_norm", "rms_norm_add", "gelu_mul", "quantize",
                                 "softcap",  "argmax",       "rope"};
    for (int op = 0; op < 7; op++) {
        start = fct_seconds();
        for (int i = 0; i < TIMES; i++) switch (op) {
            case 0:
                k->rms_norm(x, w, N, 1e-6f, y);
                break;
            case 1:
                k->rms_norm_add(x, w, w, N, 1e-6f, y);
                break;
            case 2:
                k->gelu_mul(x, w, N, y);
                break;
            case 3:
                k->quantize(x, N, 0, &b->act, 0);
                break;
            case 4:
                k->softcap(y, 30.0f, N);
                break;
            case 5:
                b->sink += (uint64_t)k->argmax(x, N);
                break;
            case 6:
                k->rope(y, w, w, N / 2, N / 2);
                break;
            }
        seconds[op] = (fct_seconds() - start) / TIMES;
        printf("%-9s %-12s of %d: %8.2f us, %6.2f elements/ns\n", k->name, names[op], N,
               seconds[op] * 1e6, N / seconds[op] * 1e-9);
    }
}

static bool set_up(struct bench *b, int threads) {
    memset(b, 0, sizeof *b);
    b->threads = threads, b->bytes = region_bytes, b->y_stride = MOST_COLUMNS;
    b->pool = fct_pool_new(threads, NULL);
    b->region = fct_pages_new(region_bytes, NULL);
    b->act.stride = MOST_COLUMNS;
    b->act.codes = fct_pages_new((size_t)MOST_TOKENS * MOST_COLUMNS, NULL);
    b->act.group = 32;
    b->act.groups = fct_pages_new(
        (size_t)MOST_TOKENS * (size_t)fct_act_groups(MOST_COLUMNS) * sizeof *b->act.groups, NULL);
    b->y = fct_pages_new((size_t)MOST_TOKENS * MOST_COLUMNS * 4 + 262144 * 4 * MOST_FEW, NULL);
    return b->pool && b->region && b->act.codes && b->act.groups && b->y;
}

static bool wanted(const char *list, const char *name) {
    size_t length = strlen(name);
    if (!list) return true;
    for (const char *at = list; (at = strstr(at, name)); at += length)
        if ((at == list || at[-1] == ',') && (at[length] == ',' || !at[length])) return true;
    return false;
}

int measure_kernels(int threads, const char *tables, const char *only_schemes,
                    const char *only_shapes) {
    static const int batches[] = {1, 2, 4, 8, 9, 12, 16, 128, 512};
    struct bench b;
    if (!set_up(&b, threads)) return 1;
    /* Scales inside random bits may be anything; what is timed does not depend on it. */
    fct_made_up_floats((float *)b.region, region_bytes / 4, 1);
    for (int t = 0; t < MOST_TOKENS; t++) {
        fct_made_up_floats(b.y, MOST_COLUMNS, (uint32_t)t + 1);
        fct_kernels_select(NULL)->quantize(b.y, MOST_COLUMNS, 0, &b.act, t);
    }
    printf("%d threads; plain read of %zu MiB: ", threads, region_bytes >> 20);
    double read[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) read[i] = seconds_of(&b, read_all);
    printf("%.1f GB/s\n", (double)region_bytes / median(read, ROUNDS) * 1e-9);
    for (const char *const *name = fct_kernels_names(); *name; name++) {
        if (!wanted(tables, *name) || (!tables && !strcmp(*name, "portable"))) continue;
        b.kernels = fct_kernels_select(*name);
        for (size_t scheme = 0; scheme < sizeof schemes / sizeof *schemes; scheme++)
            for (size_t shape = 0; shape < sizeof shapes / sizeof *shapes; shape++)
                for (size_t m = 0; m < sizeof batches / sizeof *batches; m++) {
                    bool listed = wanted(only_schemes, schemes[scheme].name) &&
                                  wanted(only_shapes, shapes[shape].name);
                    b.y_stride = batches[m] > MOST_FEW ? MOST_COLUMNS : 262144;
                    if (listed) measure_shape(&b, (int)shape, (int)scheme, batches[m]);
                }
        if (wanted(only_shapes, "attend"))
            for (int type = FCT_KV_TYPE_F32; type <= FCT_KV_TYPE_Q8; type++)
                for (int head_dim = 256; head_dim <= 512; head_dim *= 2) {
                    fct_made_up_floats(b.y, 65536, 3);
                    measure_attend(b.kernels, (enum fct_kv_type)type, head_dim, 64, b.region, b.y);
                    measure_attend(b.kernels, (enum fct_kv_type)type, head_dim, 1024, b.region,
                                   b.y);
                }
        if (wanted(only_shapes, "vectors")) {
            fct_made_up_floats(b.y, 65536, 3);
            measure_vectors(b.kernels, &b, b.y);
        }
    }
    fct_pool_free(b.pool);
    return 0;
}
