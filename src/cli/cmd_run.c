/* cmd_run.c - `facet run`: one answer, streamed. */
#include <stdio.h>

#include "base/error.h"
#include "base/memory.h"
#include "cli/answer_stream.h"
#include "cli/commands.h"
#include "cli/format_choice.h"
#include "cli/interrupt.h"
#include "cli/json_output.h"
#include "cli/known_threads.h"
#include "cli/loading.h"
#include "cli/model_choice.h"
#include "cli/progress.h"
#include "cli/run_prompt.h"
#include "cli/run_report.h"
#include "cli/sampling_choice.h"
#include "cli/standard_output.h"
#include "cli/text_input.h"

struct run_options {
    struct fct_model_choice model;
    struct fct_sampling_choice sampling;
    struct fct_format_choice format;
    int max_tokens, max_thought;
    const char *system, *session_path;
    bool think, raw, ids, json;
    struct fct_id_list prompt_ids;
    struct fct_text_list stops;
};

#define AT(field) offsetof(struct run_options, field)
static const struct fct_option own_options[] = {
    {"tokens", 'n', FCT_OPTION_INTEGER, AT(max_tokens), "N",
     "at most N tokens; 0: up to the context", "0", 0, INT32_MAX, NULL},
    {"system", 0, FCT_OPTION_TEXT, AT(system), "TEXT", "the system message", NULL, 0, 0, NULL},
    {"session", 0, FCT_OPTION_TEXT, AT(session_path), "FILE",
     "go on with the conversation in FILE, if there is one, and keep it there", NULL, 0, 0, NULL},
    {"think", 0, FCT_OPTION_FLAG, AT(think), NULL,
     "let the model think before it answers; thoughts go to stderr", NULL, 0, 0, NULL},
    {"think-tokens", 0, FCT_OPTION_INTEGER, AT(max_thought), "N",
     "at most N tokens of thinking, then the model has to answer; 0: no limit", "0", 0, INT32_MAX,
     NULL},
    {"raw", 0, FCT_OPTION_FLAG, AT(raw), NULL,
     "no chat format: the model goes on where the prompt ends", NULL, 0, 0, NULL},
    {"prompt-ids", 0, FCT_OPTION_IDS, AT(prompt_ids), "LIST|@FILE",
     "the whole prompt as token ids, between commas or white space", NULL, 0, 0, NULL},
    {"ids", 0, FCT_OPTION_FLAG, AT(ids), NULL,
     "print token ids instead of text, the end id included", NULL, 0, 0, NULL},
    {"json", 0, FCT_OPTION_FLAG, AT(json), NULL,
     "print one object: text, ids, reason it ended, statistics", NULL, 0, 0, NULL},
    {"stop", 0, FCT_OPTION_TEXTS, AT(stops), "TEXT",
     "end the answer before TEXT; may be given several times", NULL, 0, 0, NULL},
    {0},
};
static const struct fct_option_group groups[] = {
    {"Options", own_options, 0},
    FCT_FORMAT_GROUP(struct run_options, format),
    FCT_SAMPLING_GROUP(struct run_options, sampling),
    FCT_MODEL_GROUP(struct run_options, model),
    {0},
};

/* What is made for one run. */
struct running {
    fct_model *model;
    fct_session *session;
    fct_constraint *constraint; /* NULL: none */
    struct fct_conversation conversation;
    struct fct_id_list prompt;
};

/* What the callbacks of the generation need to write the answer out. */
struct answer {
    const fct_model *model;
    struct fct_answer_stream stream;
    struct fct_progress progress;
    bool ids;
    int n_written; /* ids */
};

static bool write_token(void *user, int id, const char *text, size_t n_bytes) {
    struct answer *answer = user;
    struct fct_answer_stream *stream = &answer->stream;
    fct_progress_clear(&answer->progress);
    if (answer->ids && id >= 0) {
        printf("%s%d", answer->n_written++ ? " " : "", id);
        stream->in_line = true;
        stream->broken = !fct_stdout_flush();
    }
    return fct_answer_stream_text(stream, text, n_bytes) && !fct_interrupted();
}

static bool write_thought(void *user, const char *text, size_t n_bytes) {
    struct answer *answer = user;
    fct_progress_clear(&answer->progress);
    return fct_answer_stream_thought(&answer->stream, text, n_bytes) && !fct_interrupted();
}

static bool show_reading(void *user, int n_done, int n_total) {
    struct answer *answer = user;
    fct_loading_update(&answer->progress, answer->model, n_done, n_total);
    return !fct_interrupted();
}

/* The prompt's ids, from whichever form it was given in. */
static fct_status read_prompt(const struct run_options *options, struct fct_arguments arguments,
                              struct running *run, fct_error *err) {
    char *prompt = NULL;
    size_t n_bytes;
    fct_status status = fct_tokenizer_check(run->model, "use --prompt-ids and --ids", err);
    if (!status) status = fct_input_read("run", arguments, &prompt, &n_bytes, err);
    if (status) return status;
    status = fct_input_repair("run", "the prompt", &prompt, &n_bytes, err);
    if (!status && options->raw) {
        status = fct_run_prompt_raw(run->model, prompt, n_bytes, &run->prompt, err);
    } else if (!status) {
        fct_input_tidy(prompt, &n_bytes);
        status = fct_run_prompt_begin(&run->conversation, run->session, options->session_path,
                                      options->system, err);
        if (!status)
            status = fct_run_prompt_turn(&run->conversation, run->model, options->think, prompt,
                                         n_bytes, &run->prompt, err);
    }
    fct_free(prompt);
    return status;
}

/* The answer becomes part of the conversation that --session keeps; one that was stopped before it
 * began is none. */
static fct_status keep_answer(const struct run_options *options, struct running *run,
                              const fct_generation *generation, fct_error *err) {
    bool none = generation->reason == FCT_REASON_CANCELLED && generation->n_bytes == 0;
    if (!options->session_path || none) return FCT_OK;
    fct_status status = fct_conversation_add(&run->conversation, "assistant", generation->text,
                                             generation->n_bytes, err);
    if (status) return status;
    return fct_conversation_save(&run->conversation, run->session, options->session_path, err);
}

/* jansson refuses integers beyond 64 bits: a call that has one shows all its numbers as reals. */
static json_t *calls_of(const fct_generation *generation) {
    json_t *calls = json_loads(generation->calls, 0, NULL);
    return calls ? calls : json_loads(generation->calls, JSON_DECODE_INT_AS_REAL, NULL);
}

/* "thinking" and "tool_calls" are there if the answer has them, "complete" if it has to have a
 * form. */
static json_t *answer_object(const struct running *run, const fct_generation *generation) {
    json_t *text =
        generation->text ? json_stringn(generation->text, generation->n_bytes) : json_null();
    json_t *object = json_pack("{s:o}", "text", text);
    if (generation->thought)
        json_object_set_new(object, "thinking", json_string(generation->thought));
    if (generation->calls) json_object_set_new(object, "tool_calls", calls_of(generation));
    if (run->constraint)
        json_object_set_new(object, "complete", json_boolean(generation->complete));
    json_t *rest =
        json_pack("{s:o, s:s, s:o}", "ids", fct_json_ids(generation->ids, generation->n_ids),
                  "reason", fct_reason_name(generation->reason), "statistics",
                  fct_report_json(run->model, run->session, generation));
    if (!rest || json_object_update(object, rest) != 0) {
        json_decref(object);
        object = NULL;
    }
    json_decref(rest);
    return object;
}

static fct_generate_options generation_for(const struct run_options *options,
                                           const struct running *run, struct answer *answer) {
    fct_generate_options generate = fct_generate_defaults(run->model);
    generate.constraint = run->constraint;
    generate.max_tokens = options->max_tokens;
    generate.max_thought = options->max_thought;
    generate.raw = options->raw;
    generate.stops = options->stops.texts;
    generate.n_stops = (int)options->stops.n_texts;
    generate.token = write_token;
    generate.thought = write_thought;
    generate.reading = show_reading;
    generate.user = answer;
    return generate;
}

/* Calls are not answers' text: a person who did not ask for JSON is told of them. */
static void report(const struct run_options *options, const fct_model *model,
                   const fct_session *session, const fct_generation *generation) {
    if (options->model.quiet) return;
    if (generation->warning[0]) fprintf(stderr, "facet run: %s\n", generation->warning);
    if (generation->calls && !options->json)
        fprintf(stderr, "facet run: the model calls tools: %s\n", generation->calls);
    fct_report_print(model, session, generation);
}

static fct_status answer_prompt(const struct run_options *options, struct running *run,
                                const struct fct_id_list *prompt, fct_error *err) {
    const fct_model *model = run->model;
    fct_session *session = run->session;
    struct answer answer = {.model = model, .ids = options->ids && !options->json};
    fct_generation generation = {0};
    fct_generate_options generate = generation_for(options, run, &answer);
    bool shows_thoughts =
        options->think && !options->model.quiet && !options->ids && !options->json;
    fct_status status =
        fct_sampling_choice_apply(&options->sampling, model, &generate.sampling, err);
    if (status) return status;
    fct_answer_stream_begin(&answer.stream,
                            shows_thoughts ? FCT_THOUGHTS_SHOWN : FCT_THOUGHTS_HIDDEN);
    answer.stream.silent = options->ids || options->json;
    fct_progress_begin(&answer.progress, options->model.quiet, false);
    fct_interrupt_catch();
    status = fct_generate(session, prompt->ids, prompt->n_ids, &generate, &generation, err);
    fct_progress_clear(&answer.progress);
    fct_answer_stream_end(&answer.stream);
    if (!status && options->json) fct_json_print("run", answer_object(run, &generation));
    if (!status && !answer.stream.broken) report(options, model, session, &generation);
    if (!status) status = keep_answer(options, run, &generation, err);
    if (!status) status = fct_format_check(run->constraint, &generation, err);
    fct_answer_stream_free(&answer.stream);
    fct_generation_free(&generation);
    return status;
}

static int check_usage(const struct run_options *options, struct fct_arguments arguments) {
    if (options->prompt_ids.ids && arguments.n_values > 0)
        return fct_usage_error("run", "--prompt-ids and a PROMPT exclude each other");
    if (options->prompt_ids.ids && (options->raw || options->system || options->think))
        return fct_usage_error("run",
                               "--prompt-ids is the whole prompt: no --raw, --system, --think");
    if (options->raw && (options->system || options->think))
        return fct_usage_error("run", "--raw has no chat format: no --system, --think");
    if (options->session_path && (options->raw || options->prompt_ids.ids))
        return fct_usage_error("run", "--session keeps a conversation: no --raw, --prompt-ids");
    return FCT_EXIT_GOOD;
}

static fct_status run_model(const struct run_options *options, struct fct_arguments arguments,
                            struct running *run, fct_error *err) {
    fct_session_options sizes = fct_model_choice_session(&options->model);
    const struct fct_id_list *given = options->prompt_ids.ids ? &options->prompt_ids : NULL;
    fct_status status = FCT_OK;
    run->model = fct_model_choice_open(&options->model, "run", err);
    if (!run->model) return FCT_ERR_IO;
    if (!options->ids && !options->json)
        status = fct_tokenizer_check(run->model, "use --prompt-ids and --ids", err);
    if (!status && given)
        status = fct_ids_check(run->model, "--prompt-ids", given->ids, (size_t)given->n_ids, err);
    if (status) return status;
    status = fct_format_choice_constraint(&options->format, run->model, &run->constraint, err);
    if (status) return status;
    fct_known_threads_use(run->model, &sizes);
    run->session = fct_session_new(run->model, &sizes, err);
    if (!run->session) return FCT_ERR_MEMORY;
    if (!given) status = read_prompt(options, arguments, run, err);
    return status ? status : answer_prompt(options, run, given ? given : &run->prompt, err);
}

static int run(const void *command_options, struct fct_arguments arguments) {
    const struct run_options *options = command_options;
    struct running run = {0};
    fct_error err = {0};
    int code = check_usage(options, arguments);
    if (code) return code;
    if (run_model(options, arguments, &run, &err) != FCT_OK) code = fct_failure("run", &err);
    fct_conversation_free(&run.conversation);
    fct_free(run.prompt.ids);
    fct_known_threads_keep(run.model, run.session);
    fct_session_free(run.session);
    fct_constraint_free(run.constraint);
    fct_model_free(run.model);
    return code;
}

static void set_defaults(void *command_options) {
    struct run_options *options = command_options;
    fct_sampling_choice_defaults(&options->sampling);
}

const struct fct_command fct_cmd_run = {
    .name = "run",
    .synopsis = "[OPTIONS] [PROMPT...]",
    .summary = "answer one prompt",
    .about =
        "Answers PROMPT (several arguments are joined by spaces), or standard input if there is "
        "none, and streams the answer to standard output.\n\n"
        "A prompt becomes one user message in the model's chat format. There a byte order mark in "
        "front is dropped, CR LF is read as LF, and white space around the text goes; with --raw "
        "every byte counts, and the model's BOS is put in front once. Names of control tokens in "
        "a prompt are plain text. What is not valid UTF-8 becomes U+FFFD, with a warning.\n\n"
        "Only the text of the answer is printed: thoughts and calls of tools are told on standard "
        "error, and are fields of --json. With --format json or --schema it is JSON and nothing "
        "else; what was cut off before it was complete is an error. Ctrl+C ends the answer, also "
        "while the prompt is read, "
        "a second one the program.",
    .groups = groups,
    .max_arguments = -1,
    .options_bytes = sizeof(struct run_options),
    .set_defaults = set_defaults,
    .run = run,
};
