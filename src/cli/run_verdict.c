/* run_verdict.c - a run that was throttled or disturbed is not clean, and is told why. */
#include "cli/run_verdict.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

/* As bench/machine.py has them: shares of all CPUs over the whole, and in one part; but never as
 * much as a quarter or half of one CPU. */
#define LIMIT_WHOLE 0.02
#define LIMIT_PART 0.08

__attribute__((format(printf, 2, 3))) static void say(json_t *list, const char *format, ...) {
    char sentence[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    json_array_append_new(list, json_string(sentence));
}

static void judge_throttling(json_t *list, const struct fct_watched *watched) {
    char words[96];
    if (watched->slowed)
        say(list, "the board was slowed down while it ran: %s",
            fct_throttle_words(watched->slowed, words));
    if (watched->n_throttled > 0)
        say(list, "the CPU throttled %lld times while it ran", watched->n_throttled);
}

/* Is the share above the limit, also if every CPU's clocks, which count hundredths of a second, are
 * one off at both ends? */
static bool is_above(double share, double seconds, double limit) {
    return seconds > 0 && share - 0.02 / seconds > limit;
}

static void judge_load(json_t *list, const struct fct_run_facts *facts) {
    double limit = fmin(LIMIT_WHOLE, 0.25 / facts->n_cpus);
    double limit_part = fmin(LIMIT_PART, 0.5 / facts->n_cpus);
    const struct fct_load_shares *whole = &facts->load, *worst = &facts->worst;
    if (is_above(whole->others, whole->seconds, limit))
        say(list, "others used %.1f %% of the CPUs while it ran", whole->others * 100);
    if (is_above(whole->stolen, whole->seconds, limit))
        say(list, "the hypervisor took %.1f %% of the CPUs while it ran", whole->stolen * 100);
    double shared = worst->others + worst->stolen;
    if (is_above(shared, worst->seconds, limit_part))
        say(list, "one prompt shared %.1f %% of the CPUs with others", shared * 100);
}

json_t *fct_run_reasons(const struct fct_run_facts *facts) {
    json_t *list = json_array();
    if (!list) return NULL;
    judge_throttling(list, &facts->watched);
    if (facts->governor.slow)
        say(list, "the governor \"%s\" holds the clock down", facts->governor.name);
    judge_load(list, facts);
    return list;
}

json_t *fct_run_notes(const struct fct_run_facts *facts) {
    json_t *list = json_array();
    char words[96];
    const struct fct_watched *watched = &facts->watched;
    if (!list) return NULL;
    unsigned before = watched->first.throttle >> FCT_SINCE_BOOT & FCT_SLOWED;
    if (before)
        say(list, "slowed down before the run, some time since boot: %s",
            fct_throttle_words(before, words));
    if (!watched->throttle_known) say(list, "nothing here tells whether the CPU was throttled");
    if (!facts->cooled)
        say(list, "it was still warm when a prompt began: waiting to cool down took too long");
    if (isnan(facts->load.others)) say(list, "nothing here tells whether others used the CPUs");
    return list;
}
