/* run_report.c - what an answer took, as a line and as JSON. */
#include "cli/run_report.h"

#include <stdio.h>

#include "cli/json_output.h"

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

/* Steps of one token a second, without the prompt and the token that it gave; 0 if there were none.
 */
static double decode_rate(const fct_generation *generation) {
    return generation->decode_seconds > 0 ? generation->n_decoded / generation->decode_seconds : 0;
}

static int n_read(const fct_generation *generation) {
    return generation->n_prompt - generation->n_reused;
}

static double prompt_rate(const fct_generation *generation) {
    return generation->prompt_seconds > 0 ? n_read(generation) / generation->prompt_seconds : 0;
}

static void print_rate(double rate) { fprintf(stderr, "%.*f tok/s", rate < 1000 ? 1 : 0, rate); }

void fct_report_print(const fct_model *model, const fct_session *session,
                      const fct_generation *generation) {
    fct_model_info info = fct_model_describe(model);
    fct_session_info state = fct_session_describe(session);
    fprintf(stderr, "%d token%s", generation->n_ids, generation->n_ids == 1 ? "" : "s");
    if (generation->n_decoded > 0) {
        fprintf(stderr, " · ");
        print_rate(decode_rate(generation));
    }
    fprintf(stderr, " · prompt %d", generation->n_prompt);
    if (n_read(generation) > 0 && generation->prompt_seconds > 0) {
        fprintf(stderr, " at ");
        print_rate(prompt_rate(generation));
    }
    fprintf(stderr, " · %d reused · context %d/%d · %s · %s", generation->n_reused, state.n_tokens,
            state.context, info.kernels, info.memory);
    if (generation->reason != FCT_REASON_END)
        fprintf(stderr, " · ended by %s", fct_reason_name(generation->reason));
    fputc('\n', stderr);
}

json_t *fct_report_json(const fct_model *model, const fct_session *session,
                        const fct_generation *generation) {
    fct_model_info info = fct_model_describe(model);
    fct_session_info state = fct_session_describe(session);
    char seed[24]; /* as text: a JSON number need not hold 64 bits */
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)generation->seed);
    return json_pack(
        "{s:i, s:i, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:i, s:i, s:s, s:s, s:s, s:s, s:s}",
        "tokens", generation->n_ids, "prompt_tokens", generation->n_prompt, "reused_tokens",
        generation->n_reused, "decode_steps", generation->n_decoded, "prompt_seconds",
        fct_json_number(generation->prompt_seconds), "decode_seconds",
        fct_json_number(generation->decode_seconds), "prompt_tokens_per_second",
        fct_json_number(prompt_rate(generation)), "decode_tokens_per_second",
        fct_json_number(decode_rate(generation)), "load_seconds",
        fct_json_number(info.load_seconds), "context_used", state.n_tokens, "context",
        state.context, "kernels", info.kernels, "memory", info.memory, "kv", state.kv,
        "activations", state.activations, "seed", seed);
}
