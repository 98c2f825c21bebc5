/* doctor_judge_model.c - what the facts mean for the model: does it fit, from where is it read, how
 * fast can it be? */
#include <math.h>
#include <stdio.h>

#include "cli/doctor.h"
#include "cli/progress.h"

static double gigabytes(uint64_t bytes) { return (double)bytes / 1e9; }

static const char *model_name(const struct fct_doctor_facts *f) {
    return f->model.typical ? "a Gemma 4 E2B in q4" : f->model.name[0] ? f->model.name : "the demo";
}

/* ---- memory ---- */

static bool fits(const struct fct_doctor_facts *f) {
    return !f->memory.available || f->model.needs.together <= f->memory.available;
}

/* "1.28 GB weights + 0.12 GB for keys and values of 8192 positions + ... = 1.50 GB", all in the
 * unit of the sum. */
static void arithmetic(const fct_memory_needs *n, char text[256]) {
    bool large = n->together >= 100000000;
    const char *unit = large ? "GB" : "MB";
    double one = large ? 1e9 : 1e6;
    snprintf(
        text, 256,
        "%.2f %s weights + %.2f %s for keys and values of %d positions + %.2f %s to compute in "
        "= %.2f %s",
        (double)n->weights / one, unit, (double)n->kv / one, unit, n->context,
        (double)(n->scratch + n->rows) / one, unit, (double)n->together / one, unit);
}

static void judge_fit(const struct fct_doctor_facts *f, struct fct_diagnosis *out) {
    char sum[256];
    uint64_t available = f->memory.available, needed = f->model.needs.together;
    arithmetic(&f->model.needs, sum);
    if (!available || f->model.fault[0]) return;
    if (!fits(f))
        fct_finding_add(
            out, FCT_STATE_PROBLEM, "memory",
            "Stop other programs, raise the limit, make the context smaller (-c) or the "
            "cache (--kv q8). With --memory map it runs all the same, and reads from "
            "storage again, for every token, what does not fit.",
            "%s: %s, but %.2f GB are available", model_name(f), sum, gigabytes(available));
    else if (needed + needed / 8 > available)
        fct_finding_add(out, FCT_STATE_WARNING, "memory",
                        "Stop other programs, or make the context smaller (-c).",
                        "%s just fits: %s of %.2f GB available", model_name(f), sum,
                        gigabytes(available));
    else
        fct_finding_add(out, FCT_STATE_OK, "memory", "", "%s: %s of %.2f GB available",
                        model_name(f), sum, gigabytes(available));
}

static void judge_limit(const struct fct_doctor_facts *f, struct fct_diagnosis *out) {
    const struct fct_memory_state *m = &f->memory;
    if (m->group_limit)
        fct_finding_add(
            out, fits(f) ? FCT_STATE_OK : FCT_STATE_NOTE, "limit", "",
            "a control group allows %.2f of the machine's %.2f GB, cached files counted",
            gigabytes(m->group_limit), gigabytes(m->total));
    if (f->memory_groups_off)
        fct_finding_add(out, FCT_STATE_NOTE, "limit",
                        "For a service with a limit: add cgroup_enable=memory to "
                        "/boot/firmware/cmdline.txt, then reboot.",
                        "the kernel runs without control groups of memory: MemoryMax= of a service "
                        "does nothing");
}

static void judge_swap(const struct fct_doctor_facts *f, struct fct_diagnosis *out) {
    const struct fct_memory_state *m = &f->memory;
    enum fct_storage_kind on = f->swap.kind;
    if (!m->total) return;
    bool slow = on == FCT_STORAGE_SD || on == FCT_STORAGE_USB || on == FCT_STORAGE_HARD_DISK;
    uint64_t used = m->swap_total - (m->swap_free < m->swap_total ? m->swap_free : m->swap_total);
    if (!m->swap_total)
        fct_finding_add(out, FCT_STATE_OK, "swap", "", "none; facet needs none");
    else if (slow && used > m->swap_total / 4)
        fct_finding_add(out, FCT_STATE_WARNING, "swap",
                        "Memory has run short before: stop other programs (`top`, then M).",
                        "%.2f of %.2f GB used, on %s", gigabytes(used), gigabytes(m->swap_total),
                        fct_storage_name(on));
    else
        fct_finding_add(out, FCT_STATE_OK, "swap", "", "%.2f GB%s%s, %.2f used; facet needs none",
                        gigabytes(m->swap_total), on ? " on " : "", on ? fct_storage_name(on) : "",
                        gigabytes(used));
}

void fct_judge_memory(const struct fct_doctor_facts *f, struct fct_diagnosis *out) {
    if (f->model.fault[0])
        fct_finding_add(out, FCT_STATE_PROBLEM, "model",
                        "`facet verify FILE` says whether a file is whole.", "%s", f->model.fault);
    judge_fit(f, out);
    judge_limit(f, out);
    judge_swap(f, out);
}

/* ---- storage ---- */

static void describe_storage(const struct fct_storage *s, char text[320]) {
    char rate[32], usb[32] = "", link[48] = "", speed[64] = "";
    if (s->usb_megabits) snprintf(usb, sizeof usb, " at %d Mbit/s", s->usb_megabits);
    if (s->link[0]) snprintf(link, sizeof link, " (%.36s)", s->link);
    if (!isnan(s->bytes_per_second))
        snprintf(speed, sizeof speed, ", read at %s/s%s", fct_size_text(s->bytes_per_second, rate),
                 s->around_cache ? "" : " (perhaps from memory)");
    snprintf(text, 320, "%s%s%s%s%s%s", fct_storage_name(s->kind), s->device[0] ? " " : "",
             s->device, usb, link, speed);
}

static bool is_usb_2(const struct fct_storage *s) {
    return s->kind == FCT_STORAGE_USB && s->usb_megabits && s->usb_megabits <= 480;
}

static const char *storage_advice(const struct fct_storage *s) {
    if (is_usb_2(s)) return "Plug it into a blue USB 3 port.";
    if (s->kind == FCT_STORAGE_SD) return "An NVMe or USB 3 SSD starts several times faster.";
    return "Put the model on an SSD.";
}

/* start: seconds of a cold start, NAN if not measured. */
static enum fct_state state_of_storage(const struct fct_storage *s, double start) {
    bool slow = s->kind == FCT_STORAGE_HARD_DISK || s->kind == FCT_STORAGE_NETWORK;
    if (is_usb_2(s) || start > 30) return FCT_STATE_WARNING;
    return slow || start > 10 ? FCT_STATE_NOTE : FCT_STATE_OK;
}

void fct_judge_storage(const struct fct_doctor_facts *f, struct fct_diagnosis *out) {
    const struct fct_storage *s = &f->storage;
    char text[320], time[32];
    double start = (double)f->model.needs.weights / s->bytes_per_second;
    if (s->kind == FCT_STORAGE_UNKNOWN && isnan(s->bytes_per_second)) return;
    describe_storage(s, text);
    enum fct_state state = state_of_storage(s, start);
    fct_finding_add(out, state, "storage", state ? storage_advice(s) : "", "%s%s%s", text,
                    isnan(start) ? "" : "; a cold start takes ",
                    isnan(start) ? "" : fct_duration_text(start, time));
}

/* ---- speed ---- */

/* What does not fit is read again for every token; and as weights are read round and round, the
 * kernel keeps the wrong ones: all of them are taken to come from storage. */
static double from_storage(const struct fct_doctor_facts *f) {
    return f->storage.bytes_per_second / (double)f->model.bytes_per_token;
}

void fct_judge_speed(const struct fct_doctor_facts *f, struct fct_diagnosis *out) {
    char bytes[32], rate[32];
    if (isnan(f->bandwidth) || !f->model.bytes_per_token) return;
    double most = f->bandwidth / (double)f->model.bytes_per_token;
    fct_size_text((double)f->model.bytes_per_token, bytes);
    fct_size_text(f->bandwidth, rate);
    out->tokens_per_second = fits(f) ? most : fmin(most, from_storage(f));
    if (!fits(f) && isnan(out->tokens_per_second)) return;
    if (!fits(f))
        fct_finding_add(out, FCT_STATE_NOTE, "speed", "",
                        "about %.2f tok/s with --memory map: %s a token come from storage",
                        out->tokens_per_second, bytes);
    else
        fct_finding_add(out, FCT_STATE_OK, "speed", "",
                        "up to %.1f tok/s for %s: a token reads %s of weights, and %d thread%s "
                        "read%s %s/s; `facet bench` measures what it really is",
                        most, model_name(f), bytes, f->bandwidth_threads,
                        f->bandwidth_threads == 1 ? "" : "s", f->bandwidth_threads == 1 ? "s" : "",
                        rate);
}
