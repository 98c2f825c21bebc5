/* doctor_judge.c - what the facts mean: CPU, kernels, pages, load; and all parts together. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/doctor.h"

void fct_finding_add(struct fct_diagnosis *out, enum fct_state state, const char *area,
                     const char *advice, const char *format, ...) {
    if (out->n_findings >= FCT_MAX_FINDINGS) return;
    struct fct_finding *finding = &out->findings[out->n_findings++];
    *finding = (struct fct_finding){.area = area, .state = state};
    if (strncmp(advice, "$ ", 2) == 0)
        snprintf(finding->command, sizeof finding->command, "%s", advice + 2);
    else
        snprintf(finding->advice, sizeof finding->advice, "%s", advice);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(finding->text, sizeof finding->text, format, arguments);
    va_end(arguments);
}

static void judge_cpus(const struct fct_doctor_facts *f, struct fct_diagnosis *out) {
    if (f->n_cpus < 1) return;
    if (f->n_usable < f->n_cpus)
        fct_finding_add(out, FCT_STATE_NOTE, "cpu",
                        "More of them: taskset, or the CPU quota of the container or service.",
                        "facet may use %d of %d CPUs (affinity, or a control group's quota)",
                        f->n_usable, f->n_cpus);
    else
        fct_finding_add(out, FCT_STATE_OK, "cpu", "", "%d CPUs, all of them usable", f->n_cpus);
}

static void judge_kernels(const struct fct_doctor_facts *f, struct fct_diagnosis *out) {
    const char *runs = f->kernels[0] ? f->kernels : f->best_kernels;
    if (!*runs) return;
    if (f->kernels_forced && f->best_kernels[0] && strcmp(runs, f->best_kernels) != 0)
        fct_finding_add(out, FCT_STATE_WARNING, "kernels", "$ unset FACET_KERNELS",
                        "%s, forced by FACET_KERNELS; this CPU is made for %s", runs,
                        f->best_kernels);
    else if (!strcmp(runs, "portable"))
        fct_finding_add(out, FCT_STATE_WARNING, "kernels",
                        "Right, but slow: facet is fast from AVX2 on, and on every 64-bit Arm.",
                        "portable: this CPU has none of the instructions that facet knows");
    else if (!strcmp(runs, "neon"))
        fct_finding_add(out, FCT_STATE_NOTE, "kernels", "",
                        "neon: this CPU has no dot product instructions (asimddp), so that prompts "
                        "are read slower than on a Raspberry Pi 5");
    else
        fct_finding_add(out, FCT_STATE_OK, "kernels", "", "%s (%s)", runs, f->features);
}

static void judge_pages(const struct fct_doctor_facts *f, struct fct_diagnosis *out) {
    enum { FACETS_OWN = 2 << 20 };
    if (!f->page_bytes) return;
    if (f->pi == 5 && f->page_bytes < 16384) {
        fct_finding_add(out, FCT_STATE_NOTE, "pages",
                        "Raspberry Pi OS boots a kernel with 16 KiB pages unless config.txt says "
                        "kernel=kernel8.img: take that line out of /boot/firmware/config.txt.",
                        "%ld KiB; this board's own kernel has 16 KiB", f->page_bytes / 1024);
        return;
    }
    bool possible = f->huge_page_bytes == FACETS_OWN && f->huge_pages[0];
    if (possible && !strcmp(f->huge_pages, "never"))
        fct_finding_add(
            out, FCT_STATE_NOTE, "pages",
            "$ echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
            "%ld KiB, and huge pages are switched off; facet reads weights faster from them",
            f->page_bytes / 1024);
    else
        fct_finding_add(out, FCT_STATE_OK, "pages", "", "%ld KiB%s", f->page_bytes / 1024,
                        possible ? ", and 2 MiB where asked for" : "");
}

/* The 1-minute average counts what runs and what waits for a disk. */
static void judge_load(const struct fct_doctor_facts *f, struct fct_diagnosis *out) {
    if (isnan(f->load)) return;
    bool much = f->n_cpus > 0 && f->load >= 0.5 * f->n_cpus;
    if (f->load >= 0.5 && f->load >= 0.1 * f->n_cpus)
        fct_finding_add(out, much ? FCT_STATE_WARNING : FCT_STATE_NOTE, "load",
                        "See what runs with `top`; facet shares CPUs and memory with it.",
                        "%.2f on %d CPUs: something else is running", f->load, f->n_cpus);
    else
        fct_finding_add(out, FCT_STATE_OK, "load", "", "%.2f: little else is running", f->load);
}

static void judge_system(const struct fct_doctor_facts *f, struct fct_diagnosis *out) {
    int major = 0, minor = 0;
    if (sscanf(f->release, "%d.%d", &major, &minor) != 2) return;
    if (f->pi == 5 && (major < 6 || (major == 6 && minor < 6)))
        fct_finding_add(out, FCT_STATE_WARNING, "system",
                        "$ sudo apt update && sudo apt full-upgrade && sudo reboot",
                        "Linux %s: older than 6.6, which knows this board well", f->release);
    else
        fct_finding_add(out, FCT_STATE_OK, "system", "", "Linux %s%s%s%s", f->release,
                        f->system[0] ? ", " : "", f->system,
                        f->container         ? ", in a container"
                        : f->virtual_machine ? ", on a virtual machine"
                                             : "");
}

static void judge_cpu(const struct fct_doctor_facts *f, struct fct_diagnosis *out) {
    judge_system(f, out);
    judge_cpus(f, out);
    judge_kernels(f, out);
    judge_pages(f, out);
    judge_load(f, out);
}

void fct_doctor_judge(const struct fct_doctor_facts *facts, struct fct_diagnosis *out) {
    *out = (struct fct_diagnosis){.tokens_per_second = NAN};
    judge_cpu(facts, out);
    fct_judge_heat(facts, out);
    fct_judge_banks(facts, out);
    fct_judge_memory(facts, out);
    fct_judge_storage(facts, out);
    fct_judge_speed(facts, out);
}

enum fct_state fct_diagnosis_worst(const struct fct_diagnosis *diagnosis) {
    enum fct_state worst = FCT_STATE_OK;
    for (int i = 0; i < diagnosis->n_findings; i++)
        if (diagnosis->findings[i].state > worst) worst = diagnosis->findings[i].state;
    return worst;
}
