/* run_report.c - what an answer took, as a line and as JSON. */
#include "cli/run_report.h"

#include <stdio.h>
#include <unistd.h>

#include "base/buffer.h"
#include "cli/folded.h"
#include "cli/json_output.h"
#include "cli/progress.h"
#include "cli/run_rates.h"
#include "cli/style.h"

const char *fct_reason_name(fct_reason reason) {
    switch (reason) {
    case FCT_REASON_END:
        return "end";
    case FCT_REASON_LENGTH:
        return "length";
    case FCT_REASON_STOP:
        return "stop";
    case FCT_REASON_CONTEXT:
        return "context";
    case FCT_REASON_CANCELLED:
        return "cancelled";
    }
    return "unknown";
}

/* "7 tokens · first after 60 ms, then 41.3 tok/s, 33.0 tok/s with the prompt · prompt 14 at 240.1
 * tok/s" */
static void add_times(struct fct_text *line, const fct_generation *generation) {
    struct fct_run_times times = fct_run_times_of(generation);
    char text[32];
    fct_text_printf(line, "%d token%s", times.n_tokens, times.n_tokens == 1 ? "" : "s");
    if (times.n_tokens > 0)
        fct_text_printf(line, " · first after %s",
                        fct_duration_text(times.first_token_seconds, text));
    if (times.n_steps > 0) {
        fct_text_printf(line, ", then %s", fct_rate_text(fct_answer_rate(&times), text));
        fct_text_printf(line, ", %s with the prompt", fct_rate_text(fct_whole_rate(&times), text));
    }
    fct_text_printf(line, " · prompt %d", generation->n_prompt);
    if (times.n_prompt > 0)
        fct_text_printf(line, " at %s", fct_rate_text(fct_prompt_rate(&times), text));
}

void fct_report_print(const fct_model *model, const fct_session *session,
                      const fct_generation *generation) {
    fct_model_info info = fct_model_describe(model);
    fct_session_info state = fct_session_describe(session);
    struct fct_text line = {0};
    add_times(&line, generation);
    fct_text_printf(&line, " · %d reused · context %d/%d · CPU, kernels %s, memory %s",
                    generation->n_reused, state.n_tokens, state.context, info.kernels, info.memory);
    if (generation->reason != FCT_REASON_END)
        fct_text_printf(&line, " · ended by %s", fct_reason_name(generation->reason));
    if (!line.failed) fct_folded_print(stderr, line.data, 0, 0, fct_line_columns(STDERR_FILENO));
    fct_text_free(&line);
}

json_t *fct_report_json(const fct_model *model, const fct_session *session,
                        const fct_generation *generation) {
    fct_model_info info = fct_model_describe(model);
    fct_session_info state = fct_session_describe(session);
    struct fct_run_times times = fct_run_times_of(generation);
    char seed[24]; /* as text: a JSON number need not hold 64 bits */
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)generation->seed);
    return json_pack("{s:i, s:i, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:i, s:s, "
                     "s:s, s:s, s:s, "
                     "s:s}",
                     "tokens", generation->n_ids, "prompt_tokens", generation->n_prompt,
                     "reused_tokens", generation->n_reused, "decode_steps", generation->n_decoded,
                     "prompt_seconds", fct_json_number(times.prompt_seconds), "first_token_seconds",
                     times.n_tokens > 0 ? fct_json_number(times.first_token_seconds) : json_null(),
                     "decode_seconds", fct_json_number(times.decode_seconds), "whole_seconds",
                     fct_json_number(times.whole_seconds), "prompt_tokens_per_second",
                     fct_json_number(fct_prompt_rate(&times)), "decode_tokens_per_second",
                     fct_json_number(fct_answer_rate(&times)), "whole_tokens_per_second",
                     fct_json_number(fct_whole_rate(&times)), "load_seconds",
                     fct_json_number(info.load_seconds), "context_used", state.n_tokens, "context",
                     state.context, "kernels", info.kernels, "memory", info.memory, "kv", state.kv,
                     "activations", state.activations, "seed", seed);
}
