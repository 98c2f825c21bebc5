/* cmd_parse.c - `facet parse`: an answer in text form, read back into a message. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/text_input.h"

static const struct fct_option no_options[] = {{0}};
static const struct fct_option_group groups[] = {
    {"Options", no_options, 0},
    {0},
};

/* The text under key, which must be a string without NUL: the chat format has none. */
static fct_status string_under(const json_t *request, const char *key, const char **text,
                               fct_error *err) {
    const json_t *value = json_object_get(request, key);
    *text = json_string_value(value);
    if (!value) return fct_fail(err, FCT_ERR_ARGUMENT, "standard input: no \"%s\"", key);
    if (!*text)
        return fct_fail(err, FCT_ERR_ARGUMENT, "standard input: \"%s\" is not a string", key);
    if (strlen(*text) != json_string_length(value))
        return fct_fail(err, FCT_ERR_ARGUMENT, "standard input: \"%s\" holds a NUL character", key);
    return FCT_OK;
}

static fct_status parse(const char *input, size_t n_bytes, char **message, char warning[256],
                        fct_error *err) {
    json_error_t fault;
    const char *prefix, *answer;
    json_t *request = json_loadb(input, n_bytes, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &fault);
    fct_status status;
    if (!request)
        return fct_fail(err, FCT_ERR_FORMAT, "standard input: line %d, column %d: %s", fault.line,
                        fault.column, fault.text);
    if (!json_is_object(request))
        status = fct_fail(err, FCT_ERR_ARGUMENT, "standard input: not a JSON object");
    else if ((status = string_under(request, "prefix", &prefix, err)) == FCT_OK &&
             (status = string_under(request, "answer", &answer, err)) == FCT_OK)
        status = fct_chat_parse(prefix, answer, message, warning, err);
    json_decref(request);
    return status;
}

static int run(const void *command_options, struct fct_arguments arguments) {
    (void)command_options;
    fct_error err = {0};
    char *input = NULL, *message = NULL, warning[256] = "";
    size_t n_bytes;
    int code = FCT_EXIT_GOOD;
    if (fct_input_read("parse", arguments, &input, &n_bytes, &err) != FCT_OK ||
        parse(input, n_bytes, &message, warning, &err) != FCT_OK) {
        code = fct_failure("parse", &err);
    } else {
        if (*warning) fprintf(stderr, "facet parse: %s\n", warning);
        puts(message);
    }
    fct_free(message);
    fct_free(input);
    return code;
}

const struct fct_command fct_cmd_parse = {
    .name = "parse",
    .synopsis = "< ANSWER",
    .summary = "an answer of the model as a message",
    .about =
        "Reads {\"prefix\": ..., \"answer\": ...} from standard input: the end of the prompt, and "
        "what "
        "the model wrote, as text with names of control tokens. Prints the message object: role, "
        "content, thinking, tool_calls. It needs no model.",
    .groups = groups,
    .max_arguments = 0,
    .options_bytes = 1,
    .run = run,
};
