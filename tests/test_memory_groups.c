/* test_memory_groups.c - control groups of versions 1 and 2 as trees of files: base/machine.h,
 * facet doctor and the engine's refusal see the same limit in each.
 *
 * CMakeLists.txt links this test so that what the engine asks of base/machine.h is answered from
 * the tree (ld's --wrap). */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/machine.h"
#include "cli/doctor.h"
#include "machine_tree.h"

#define NO_LIMIT_1 "9223372036854771712" /* how version 1 writes it */

void __real_fct_memory_read(const char *root, struct fct_memory_state *out);
void __wrap_fct_memory_read(const char *root, struct fct_memory_state *out);
uint64_t __wrap_fct_memory_available(void);

static bool in_tree;

void __wrap_fct_memory_read(const char *root, struct fct_memory_state *out) {
    __real_fct_memory_read(in_tree && !*root ? scratch_folder : root, out);
}

uint64_t __wrap_fct_memory_available(void) {
    struct fct_memory_state memory;
    __wrap_fct_memory_read("", &memory);
    return memory.available;
}

/* ---- trees ---- */

enum { USED = 5000000, CACHED = 3000000 };

/* A group below /sys/fs/cgroup with this in the file `limit` (NULL: it has none): a text, or NULL
 * for the number that is looked for. USED bytes are in use, CACHED of them of files. */
struct group {
    const char *path, *limit, *text;
};
struct tree {
    const char *name, *own; /* /proc/self/cgroup */
    bool bound;             /* there is a limit */
    struct group groups[4];
};

static const struct tree trees[] = {
    {"version 2, no limit anywhere",
     "0::/user.slice/a\n",
     false,
     {{"/user.slice", "memory.max", "max"}, {"/user.slice/a", "memory.max", "max"}}},
    {"version 2, the group's own", "0::/job\n", true, {{"/job", "memory.max", NULL}}},
    {"version 2, two groups above",
     "0::/a/b/c\n",
     true,
     {{"/a", "memory.max", NULL},
      {"/a/b", "memory.max", "max"},
      {"/a/b/c", "memory.max", "900000000000"}}},
    {"version 2, lower than what is above",
     "0::/a/b\n",
     true,
     {{"/a", "memory.max", "900000000000"}, {"/a/b", "memory.max", NULL}}},
    {"version 2, held up above memory.high",
     "0::/system.slice/facet.service\n",
     true,
     {{"/system.slice/facet.service", "memory.high", NULL},
      {"/system.slice/facet.service", "memory.max", "900000000000"}}},
    {"version 2, memory.high is not the lower one",
     "0::/job\n",
     true,
     {{"/job", "memory.high", "max"}, {"/job", "memory.max", NULL}}},
    {"version 2, a container with a name space of groups",
     "0::/\n",
     true,
     {{"", "memory.max", NULL}}},
    {"version 2, a container without one",
     "0::/system.slice/docker-17.scope\n",
     true,
     {{"", "memory.max", NULL}}},
    {"version 2, entered from outside", "0::/../../user.slice\n", true, {{"", "memory.max", NULL}}},
    {"version 1, no limit anywhere",
     "5:cpu,cpuacct:/job\n4:memory:/job\n",
     false,
     {{"/memory", "memory.limit_in_bytes", NO_LIMIT_1},
      {"/memory/job", "memory.limit_in_bytes", NO_LIMIT_1}}},
    {"version 1, the group's own",
     "5:cpu,cpuacct:/other\n4:memory:/job\n",
     true,
     {{"/memory", "memory.limit_in_bytes", NO_LIMIT_1},
      {"/memory/job", "memory.limit_in_bytes", NULL}}},
    {"version 1, above it",
     "4:memory:/a/b\n",
     true,
     {{"/memory/a", "memory.limit_in_bytes", NULL},
      {"/memory/a/b", "memory.limit_in_bytes", NO_LIMIT_1}}},
    {"version 1, a container, whose path is the host's",
     "4:memory:/docker/17\n",
     true,
     {{"/memory", "memory.limit_in_bytes", NULL}}},
    {"version 1, a container that does not see the group above",
     "4:memory:/\n",
     true,
     {{"/memory", "memory.limit_in_bytes", NO_LIMIT_1},
      {"/memory", "hierarchical_memory_limit", NULL}}},
    {"hybrid, memory belongs to version 1",
     "4:memory:/job\n1:name=systemd:/x\n0::/x\n",
     true,
     {{"/unified/x", NULL, NULL}, {"/memory/job", "memory.limit_in_bytes", NULL}}},
    {"hybrid, memory belongs to version 2",
     "5:cpu,cpuacct:/x\n0::/x\n",
     true,
     {{"/unified/x", "memory.max", NULL}, {"/cpu,cpuacct/x", NULL, NULL}}},
};
enum { N_TREES = sizeof trees / sizeof *trees };

/* memory.stat of both versions, and how much is in use. */
static void put_use(const char *folder, const char *above) {
    char path[200], text[400];
    bool first = strstr(folder, "/memory") != NULL;
    const char *total = first ? "total_" : "";
    snprintf(path, sizeof path, "%s/%s", folder,
             first ? "memory.usage_in_bytes" : "memory.current");
    snprintf(text, sizeof text, "%d\n", USED);
    machine_has(path, text);
    snprintf(path, sizeof path, "%s/memory.stat", folder);
    snprintf(text, sizeof text,
             "inactive_anon 1\nactive_anon 2\n%sinactive_file %d\n%sactive_file %d\n%s%s\n", total,
             CACHED / 3, total, CACHED - CACHED / 3, above ? "hierarchical_memory_limit " : "",
             above ? above : "");
    machine_has(path, text);
}

/* The tree with the limit that is looked for. */
static void put_tree(const struct tree *tree, uint64_t limit) {
    char command[200], number[32];
    snprintf(command, sizeof command, "rm -rf '%s/proc' '%s/sys'", scratch_folder, scratch_folder);
    assert_int_equal(system(command), 0);
    machine_has("proc/meminfo", "MemTotal: 8000000 kB\nMemAvailable: 6000000 kB\n");
    machine_has("proc/self/cgroup", tree->own);
    snprintf(number, sizeof number, "%" PRIu64, limit);
    for (const struct group *g = tree->groups; g < tree->groups + 4 && g->path; g++) {
        char folder[120], path[200];
        bool above = g->limit && !strcmp(g->limit, "hierarchical_memory_limit");
        snprintf(folder, sizeof folder, "sys/fs/cgroup%s", g->path);
        put_use(folder, above ? number : NULL);
        snprintf(path, sizeof path, "%s/%s", folder, g->limit ? g->limit : "");
        if (g->limit && !above) machine_has(path, g->text ? g->text : number);
    }
}

/* ---- what sees it ---- */

static fct_model *model;
static fct_memory_needs needs;
static const fct_session_options sizes = {
    .context = 512, .batch = 16, .decode_threads = 1, .prefill_threads = 1};

static int find_needs(void **state) {
    (void)state;
    fct_model_options options = {.memory = FCT_MEMORY_HUGE};
    model = fct_model_open(MODELS "/demo.facet", &options, NULL);
    return model ? (int)fct_model_needs(model, &sizes, &needs, NULL) : -1;
}

static int close_model(void **state) {
    (void)state;
    fct_model_free(model);
    return 0;
}

/* Leaves so many bytes to facet, and no more. */
static void leave(const struct tree *tree, uint64_t bytes) {
    put_tree(tree, bytes + USED - CACHED);
}

static void every_kind_of_tree_is_read(void **state) {
    (void)state;
    for (int i = 0; i < N_TREES; i++) {
        struct fct_memory_state memory;
        leave(&trees[i], 700000000);
        fct_memory_read(scratch_folder, &memory);
        uint64_t limit = trees[i].bound ? 700000000 + USED - CACHED : 0;
        uint64_t available = trees[i].bound ? 700000000 : 6000000ull << 10;
        if (memory.group_limit != limit || memory.available != available ||
            memory.bound_by_group != trees[i].bound)
            fail_msg("%s: a limit of %" PRIu64 ", %" PRIu64 " available", trees[i].name,
                     memory.group_limit, memory.available);
    }
}

/* F74: what the doctor finds ... */
static void doctor_judges_by_it(void **state) {
    (void)state;
    for (int i = 0; i < N_TREES; i++) {
        static struct fct_doctor_facts facts;
        static struct fct_diagnosis diagnosis;
        const char *text = "", *limit = "";
        leave(&trees[i], 700000000);
        fct_doctor_gather(scratch_folder, "/", &facts);
        fct_doctor_typical(&facts.model);
        fct_doctor_judge(&facts, &diagnosis);
        for (int f = 0; f < diagnosis.n_findings; f++) {
            if (!strcmp(diagnosis.findings[f].area, "memory")) text = diagnosis.findings[f].text;
            if (!strcmp(diagnosis.findings[f].area, "limit")) limit = diagnosis.findings[f].text;
        }
        bool refuses = strstr(text, "but 0.70 GB are available") != NULL;
        bool told = strstr(limit, "allows 0.70 of the machine's 8.19 GB") != NULL;
        if (refuses != trees[i].bound || told != trees[i].bound)
            fail_msg("%s: \"%s\", \"%s\"", trees[i].name, text, limit);
    }
}

/* ... is what the engine refuses by, to the byte. */
static void the_engine_refuses_by_it(void **state) {
    (void)state;
    in_tree = true;
    for (int i = 0; i < N_TREES; i++)
        for (int missing = 0; missing < 2; missing++) {
            fct_error err = {0};
            fct_memory_needs now;
            leave(&trees[i], needs.together - (uint64_t)missing);
            fct_session *session = fct_session_new(model, &sizes, &err);
            bool refused = !session;
            fct_session_free(session);
            if (refused != (trees[i].bound && missing) ||
                (refused && !strstr(err.message, "are available in its control group")))
                fail_msg("%s: %s", trees[i].name, refused ? err.message : "not refused");
            assert_int_equal(fct_model_needs(model, &sizes, &now, NULL), FCT_OK);
            if (trees[i].bound) assert_true(now.available == needs.together - (uint64_t)missing);
        }
    in_tree = false;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(every_kind_of_tree_is_read),
        SCRATCH_TEST(doctor_judges_by_it),
        SCRATCH_TEST(the_engine_refuses_by_it),
    };
    return cmocka_run_group_tests(tests, find_needs, close_model);
}
