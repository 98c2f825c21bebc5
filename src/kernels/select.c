/* select.c - which table of kernels this CPU runs. */
#include "kernels/tables.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <errno.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif
#include <pthread.h>
#include <string.h>

struct candidate {
    const struct fct_kernels *kernels;
    bool (*runs)(void);
};

static bool always(void) { return true; }

#if defined(__x86_64__)

/* The registers that the operating system saves: bit 1 XMM, 2 YMM, 5 to 7 masks and ZMM. */
static uint32_t saved_registers(void) {
    uint32_t low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

/* ebx, ecx, edx of leaf 7, eax of its subleaf 1. */
struct features {
    uint32_t ebx, ecx, edx, eax1;
};

/* All zero where the CPU or the operating system lacks AVX2, FMA or F16C. */
static struct features cpu_features(void) {
    struct features none = {0, 0, 0, 0}, found = none;
    uint32_t eax, ebx, ecx, edx, first = bit_FMA | bit_OSXSAVE | bit_AVX | bit_F16C;
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || (ecx & first) != first) return none;
    if ((saved_registers() & 0x06) != 0x06) return none;
    if (!__get_cpuid_count(7, 0, &eax, &found.ebx, &found.ecx, &found.edx) ||
        !(found.ebx & bit_AVX2))
        return none;
    if (eax >= 1 && __get_cpuid_count(7, 1, &found.eax1, &ebx, &ecx, &edx)) return found;
    found.eax1 = 0;
    return found;
}

static bool has_avx2(void) { return cpu_features().ebx & bit_AVX2; }

static bool has_avxvnni(void) { return cpu_features().eax1 & 1 << 4; }

static bool has_avx512(void) {
    struct features found = cpu_features();
    uint32_t needed = bit_AVX512F | bit_AVX512BW | bit_AVX512VL | bit_AVX512DQ;
    return (found.ebx & needed) == needed && (found.ecx & bit_AVX512VNNI) &&
           (saved_registers() & 0xE6) == 0xE6;
}

/* Flags are not enough: Linux wants to be asked for the tiles (for the whole process), and some
 * hypervisors refuse them all the same. So a child tries first. */
static bool tiles_work(void) {
    enum { ASK_FOR_STATE = 0x1023, TILE_DATA = 18 };
    int status;
    if (syscall(SYS_arch_prctl, ASK_FOR_STATE, TILE_DATA) != 0) return false;
    pid_t child = fork();
    if (child == 0) syscall(SYS_exit_group, fct_amx_multiplies() ? 0 : 1); /* the child, at once */
    if (child < 0) return false;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return false;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool amx_runs;
static pthread_once_t amx_once = PTHREAD_ONCE_INIT;

static void try_amx(void) {
    const uint32_t TILES = 1u << 24, INT8 = 1u << 25, SAVED = 3u << 17;
    amx_runs = has_avx512() && (cpu_features().edx & (TILES | INT8)) == (TILES | INT8) &&
               (saved_registers() & SAVED) == SAVED && tiles_work();
}

static bool has_amx(void) {
    pthread_once(&amx_once, try_amx);
    return amx_runs;
}

#elif defined(__aarch64__)

/* Bits of what the kernel says of the CPU, by number: older headers lack their names. */
enum { ASIMDDP = 20, I8MM = 13 };

static bool has_dot_product(void) { return getauxval(AT_HWCAP) >> ASIMDDP & 1; }
static bool has_i8mm(void) { return has_dot_product() && getauxval(AT_HWCAP2) >> I8MM & 1; }

#endif

/* Best first. */
static const struct candidate candidates[] = {
#if defined(__x86_64__)
    {&fct_kernels_amx, has_amx},         {&fct_kernels_avx512, has_avx512},
    {&fct_kernels_avxvnni, has_avxvnni}, {&fct_kernels_avx2, has_avx2},
#elif defined(__aarch64__)
    {&fct_kernels_neon_i8mm, has_i8mm},
    {&fct_kernels_neon_dotprod, has_dot_product},
    {&fct_kernels_neon, always},
#endif
    {&fct_kernels_portable, always},
};

enum { N_CANDIDATES = sizeof candidates / sizeof *candidates };

const struct fct_kernels *fct_kernels_select(const char *name) {
    for (int i = 0; i < N_CANDIDATES; i++) {
        if (name && strcmp(name, candidates[i].kernels->name)) continue;
        if (candidates[i].runs()) return candidates[i].kernels;
    }
    return NULL;
}

static const char *names[N_CANDIDATES + 1];
static pthread_once_t names_once = PTHREAD_ONCE_INIT;

static void find_names(void) {
    for (int i = 0, n = 0; i < N_CANDIDATES; i++)
        if (candidates[i].runs()) names[n++] = candidates[i].kernels->name;
}

const char *const *fct_kernels_names(void) {
    pthread_once(&names_once, find_names);
    return names;
}
