/* doctor_cpu.c - names and features of CPUs, as /proc/cpuinfo has them. */
#include "cli/doctor_cpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool fct_has_word(const char *text, const char *word) {
    size_t n = strlen(word);
    for (const char *at = text; (at = strstr(at, word)); at += n)
        if ((at == text || at[-1] == ' ') && (at[n] == 0 || at[n] == ' ')) return true;
    return false;
}

/* The number behind a key of the first CPU; 0 if there is none. */
static unsigned long number_of(const char *cpuinfo, const char *key) {
    const char *at = strstr(cpuinfo, key);
    at = at ? strchr(at, ':') : NULL;
    return at ? strtoul(at + 1, NULL, 0) : 0;
}

/* Parts of Arm's own (implementer 0x41), from its manuals. */
static const struct {
    unsigned part;
    const char *name;
} arm_parts[] = {
    {0xd03, "Cortex-A53"},  {0xd04, "Cortex-A35"},  {0xd05, "Cortex-A55"},  {0xd07, "Cortex-A57"},
    {0xd08, "Cortex-A72"},  {0xd09, "Cortex-A73"},  {0xd0a, "Cortex-A75"},  {0xd0b, "Cortex-A76"},
    {0xd0c, "Neoverse N1"}, {0xd0d, "Cortex-A77"},  {0xd40, "Neoverse V1"}, {0xd41, "Cortex-A78"},
    {0xd44, "Cortex-X1"},   {0xd46, "Cortex-A510"}, {0xd47, "Cortex-A710"}, {0xd48, "Cortex-X2"},
    {0xd49, "Neoverse N2"}, {0xd4d, "Cortex-A715"}, {0xd4e, "Cortex-X3"},   {0xd4f, "Neoverse V2"},
    {0xd80, "Cortex-A520"}, {0xd81, "Cortex-A720"},
};

void fct_doctor_arm_name(const char *cpuinfo, char *out, size_t size) {
    unsigned long maker = number_of(cpuinfo, "CPU implementer"),
                  part = number_of(cpuinfo, "CPU part");
    *out = 0;
    if (!maker) return;
    snprintf(out, size, "CPU 0x%02lx:0x%03lx", maker, part);
    for (size_t i = 0; i < sizeof arm_parts / sizeof arm_parts[0]; i++)
        if (maker == 0x41 && arm_parts[i].part == part)
            snprintf(out, size, "%s", arm_parts[i].name);
}

void fct_doctor_features(const char *flags, char *out, size_t size) {
    static const char *const looked_at[] = {
        "asimd",   "asimddp",  "i8mm",     "avx2",     "fma",         "f16c",     "avx_vnni",
        "avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni", "amx_tile", "amx_int8"};
    size_t n = 0;
    *out = 0;
    for (size_t i = 0; i < sizeof looked_at / sizeof looked_at[0] && n < size; i++)
        if (fct_has_word(flags, looked_at[i]))
            n += (size_t)snprintf(out + n, size - n, "%s%s", n ? " " : "", looked_at[i]);
}

static bool has_all(const char *flags, const char *const *words) {
    for (; *words; words++)
        if (!fct_has_word(flags, *words)) return false;
    return true;
}

const char *fct_doctor_kernels_for(const char *flags) {
    /* best first */
    static const struct {
        const char *kernels, *needed[10];
    } tables[] = {
        {"amx",
         {"avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni",
          "amx_tile", "amx_int8"}},
        {"avx512",
         {"avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni"}},
        {"avxvnni", {"avx2", "fma", "f16c", "avx_vnni"}},
        {"avx2", {"avx2", "fma", "f16c"}},
        {"neon_i8mm", {"asimd", "asimddp", "i8mm"}},
        {"neon_dotprod", {"asimd", "asimddp"}},
        {"neon", {"asimd"}},
        {"portable", {NULL}},
    };
    if (!*flags) return "";
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        const char *needed[11] = {NULL};
        memcpy(needed, tables[i].needed, sizeof tables[i].needed);
        if (has_all(flags, needed)) return tables[i].kernels;
    }
    return "";
}
