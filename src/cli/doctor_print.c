/* doctor_print.c - findings for a person, or as JSON. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "cli/doctor.h"
#include "cli/folded.h"
#include "cli/json_output.h"
#include "cli/style.h"
#include "cli/tame.h"

enum { NARROW = 60, WIDEST = 100, AREA_COLUMN = 10, TEXT_COLUMN = 22, NARROW_TEXT_COLUMN = 2 };

static const char *state_name(enum fct_state state) {
    static const char *const names[] = {"ok", "note", "warning", "problem"};
    return names[state];
}

static const char *colour_of(const struct fct_style *style, enum fct_state state) {
    const char *const colours[] = {style->good, style->bold, style->warning, style->bad};
    return colours[state];
}

/* Text of the system and of file names must not steer the terminal. */
static void print_folded(const char *text, int column, int width) {
    struct fct_text tame = {0};
    fct_tame_add(&tame, text, strlen(text));
    char *line = fct_text_finish(&tame, NULL, NULL);
    fct_folded_print(stdout, line ? line : "", column, column, width);
    fct_free(line);
}

/* Behind its state and area; on a narrow terminal below them. */
static void print_finding(const struct fct_finding *finding, const struct fct_style *style,
                          int width) {
    int column = width < NARROW ? NARROW_TEXT_COLUMN : TEXT_COLUMN;
    printf("%s%-*s%s", colour_of(style, finding->state), AREA_COLUMN, state_name(finding->state),
           style->off);
    if (width < NARROW)
        printf("%s\n%*s", finding->area, column, "");
    else
        printf("%-*s", TEXT_COLUMN - AREA_COLUMN, finding->area);
    print_folded(finding->text, column, width);
    /* What is copied from here must be one line, however long. */
    if (finding->command[0])
        printf("%*s→ %s%s%s\n", column, "", style->bold, finding->command, style->off);
    if (!finding->advice[0]) return;
    printf("%*s→ %s", column, "", style->bold);
    print_folded(finding->advice, column + 2, width);
    fputs(style->off, stdout);
}

/* "2 warnings, 1 note" */
static void print_sum(const struct fct_diagnosis *diagnosis, const struct fct_style *style) {
    int counts[4] = {0};
    const char *comma = "";
    for (int i = 0; i < diagnosis->n_findings; i++) counts[diagnosis->findings[i].state]++;
    putchar('\n');
    for (int state = FCT_STATE_PROBLEM; state > FCT_STATE_OK; state--) {
        if (!counts[state]) continue;
        printf("%s%s%d %s%s%s", comma, colour_of(style, (enum fct_state)state), counts[state],
               state_name((enum fct_state)state), counts[state] == 1 ? "" : "s", style->off);
        comma = ", ";
    }
    printf(*comma ? ", %d ok\n" : "all %d ok\n", counts[FCT_STATE_OK]);
}

static void print_model(const struct fct_doctor_facts *facts) {
    char name[128];
    fct_tame_copy(name, sizeof name, facts->model.name);
    if (facts->model.typical)
        printf("\nno model yet: figures are for a Gemma 4 E2B in q4\n\n");
    else
        printf("\n%s%s%s\n\n", name, facts->model.weights[0] ? " · " : "", facts->model.weights);
}

void fct_doctor_print(const struct fct_doctor_facts *facts, const struct fct_diagnosis *diagnosis) {
    struct fct_style style = fct_style_for(STDOUT_FILENO);
    int width = fct_terminal_columns(STDOUT_FILENO);
    char board[96], cpu[96];
    if (width > WIDEST) width = WIDEST;
    fct_tame_copy(board, sizeof board, facts->board[0] ? facts->board : "this machine");
    fct_tame_copy(cpu, sizeof cpu, facts->cpu);
    printf("%s%s%s", style.bold, board, style.off);
    if (*cpu) printf(" · %d × %s", facts->n_cpus, cpu);
    if (facts->memory.total) printf(" · %.1f GB of memory", (double)facts->memory.total / 1e9);
    print_model(facts);
    for (int i = 0; i < diagnosis->n_findings; i++)
        print_finding(&diagnosis->findings[i], &style, width);
    print_sum(diagnosis, &style);
}

/* ---- JSON ---- */

static json_t *findings_json(const struct fct_diagnosis *diagnosis) {
    json_t *list = json_array();
    for (int i = 0; i < diagnosis->n_findings; i++) {
        const struct fct_finding *f = &diagnosis->findings[i];
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s, s:s}", "area", f->area, "state",
                                              state_name(f->state), "text", f->text, "advice",
                                              f->advice, "command", f->command));
    }
    return list;
}

static json_t *machine_json(const struct fct_doctor_facts *f) {
    return json_pack("{s:s, s:s, s:s, s:s, s:i, s:i, s:s, s:s, s:I, s:o}", "board", f->board, "cpu",
                     f->cpu, "system", f->system, "kernel", f->release, "cpus", f->n_cpus,
                     "usable_cpus", f->n_usable, "features", f->features, "kernels",
                     f->kernels[0] ? f->kernels : f->best_kernels, "page_bytes",
                     (json_int_t)f->page_bytes, "load", fct_json_number(f->load));
}

static json_t *memory_json(const struct fct_doctor_facts *f) {
    const fct_memory_needs *n = &f->model.needs;
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "total_bytes",
                     (json_int_t)f->memory.total, "available_bytes",
                     (json_int_t)f->memory.available, "limit_bytes",
                     (json_int_t)f->memory.group_limit, "swap_bytes",
                     (json_int_t)f->memory.swap_total, "needed_bytes", (json_int_t)n->together,
                     "weights_bytes", (json_int_t)n->weights, "tables_bytes", (json_int_t)n->tables,
                     "kv_bytes", (json_int_t)n->kv, "scratch_bytes", (json_int_t)n->scratch,
                     "rows_bytes", (json_int_t)n->rows, "context", (json_int_t)n->context);
}

static json_t *board_json(const struct fct_doctor_facts *f) {
    const struct fct_sensors *s = &f->sensors;
    json_t *bits = s->throttle_known ? json_integer(s->throttle) : json_null();
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:i, s:i, s:I}", "governor", f->governor.name,
                     "clock_hz", fct_json_number(s->clock_hz), "busy_clock_hz",
                     fct_json_number(f->busy_clock_hz), "max_clock_hz",
                     fct_json_number(s->max_clock_hz), "celsius", fct_json_number(s->celsius),
                     "throttled", bits, "numa_nodes", f->banks.n_nodes, "sdram_banklow",
                     f->banks.banklow, "bootloader_seconds", (json_int_t)f->banks.bootloader_date);
}

static json_t *model_json(const struct fct_doctor_facts *f) {
    return json_pack("{s:s, s:s, s:I, s:b, s:s, s:s, s:o}", "name", f->model.name, "weights",
                     f->model.weights, "bytes_per_token", (json_int_t)f->model.bytes_per_token,
                     "typical", f->model.typical, "storage", fct_storage_name(f->storage.kind),
                     "device", f->storage.device, "storage_bytes_per_second",
                     fct_json_number(f->storage.bytes_per_second));
}

/* Names of boards and files may be no UTF-8: jansson refuses them, and the answer is an error. */
int fct_doctor_print_json(const struct fct_doctor_facts *facts,
                          const struct fct_diagnosis *diagnosis) {
    json_t *all = json_pack(
        "{s:s, s:o, s:o, s:i, s:o, s:o, s:o, s:o, s:o}", "worst",
        state_name(fct_diagnosis_worst(diagnosis)), "tokens_per_second",
        fct_json_number(diagnosis->tokens_per_second), "bandwidth_bytes_per_second",
        fct_json_number(facts->bandwidth), "bandwidth_threads", facts->bandwidth_threads, "machine",
        machine_json(facts), "board", board_json(facts), "memory", memory_json(facts), "model",
        model_json(facts), "findings", findings_json(diagnosis));
    return fct_json_print("doctor", all);
}
