/* cmd_tokenize.c - `facet tokenize`: ids of text, and text of ids. */
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/json_output.h"
#include "cli/model_choice.h"
#include "cli/text_input.h"

struct tokenize_options {
    struct fct_model_choice model;
    bool special, decode, json;
};

#define AT(field) offsetof(struct tokenize_options, field)
static const struct fct_option own_options[] = {
    {"special", 0, FCT_OPTION_FLAG, AT(special), NULL, "names of control tokens become their ids",
     NULL, 0, 0, NULL},
    {"decode", 0, FCT_OPTION_FLAG, AT(decode), NULL,
     "ids in, text out, names of control tokens included", NULL, 0, 0, NULL},
    {"json", 0, FCT_OPTION_FLAG, AT(json), NULL, "print {\"ids\": [...]}, or {\"text\": ...}", NULL,
     0, 0, NULL},
    {0},
};
static const struct fct_option_group groups[] = {
    {"Options", own_options, 0},
    FCT_MODEL_FILE_GROUP(struct tokenize_options, model),
    {0},
};

static int encode(const struct tokenize_options *options, const fct_model *model, const char *text,
                  size_t n_bytes, fct_error *err) {
    int *ids, n_ids, n_replaced, code = FCT_EXIT_GOOD;
    unsigned flags = options->special ? FCT_TOKENIZE_CONTROL : 0;
    if (fct_tokenize(model, text, n_bytes, flags, &ids, &n_ids, &n_replaced, err) != FCT_OK)
        return fct_failure("tokenize", err);
    if (n_replaced)
        fprintf(stderr,
                "facet tokenize: the text is not valid UTF-8: %d bad part%s became U+FFFD\n",
                n_replaced, n_replaced == 1 ? "" : "s");
    if (options->json) {
        code = fct_json_print("tokenize", json_pack("{s:o}", "ids", fct_json_ids(ids, n_ids)));
    } else {
        for (int i = 0; i < n_ids; i++) printf("%s%d", i ? " " : "", ids[i]);
        putchar('\n');
    }
    fct_free(ids);
    return code;
}

static fct_status decode_ids(const fct_model *model, const char *list, size_t n_bytes, char **text,
                             size_t *n_text, fct_error *err) {
    struct fct_id_list ids = {0};
    fct_status status = FCT_OK;
    /* No ids are no text: an empty text comes back as what it was. */
    if (strspn(list, " \t\r\n\v\f,") < n_bytes)
        status = fct_ids_read("--decode", list, n_bytes, &ids, err);
    if (!status) status = fct_ids_check(model, "--decode", ids.ids, (size_t)ids.n_ids, err);
    if (!status) status = fct_detokenize(model, ids.ids, ids.n_ids, text, n_text, err);
    fct_free(ids.ids);
    return status;
}

static int decode(const struct tokenize_options *options, const fct_model *model, const char *list,
                  size_t n_bytes, fct_error *err) {
    char *text = NULL;
    size_t n_text;
    int code = FCT_EXIT_GOOD;
    if (decode_ids(model, list, n_bytes, &text, &n_text, err) != FCT_OK)
        code = fct_failure("tokenize", err);
    else if (options->json)
        code = fct_json_print("tokenize", json_pack("{s:s%}", "text", text, n_text));
    else
        fwrite(text, 1, n_text, stdout);
    fct_free(text);
    return code;
}

static int run(const void *command_options, struct fct_arguments arguments) {
    const struct tokenize_options *options = command_options;
    fct_error err = {0};
    char *text = NULL;
    size_t n_bytes;
    int code;
    if (options->decode && options->special)
        return fct_usage_error("tokenize", "--special has no meaning with --decode");
    fct_model *model = fct_model_choice_open(&options->model, "tokenize", &err);
    if (!model || fct_tokenizer_check(model, "there is nothing to tokenize with", &err) != FCT_OK ||
        fct_input_read("tokenize", arguments, &text, &n_bytes, &err) != FCT_OK)
        code = fct_failure("tokenize", &err);
    else if (options->decode)
        code = decode(options, model, text, n_bytes, &err);
    else
        code = encode(options, model, text, n_bytes, &err);
    fct_free(text);
    fct_model_free(model);
    return code;
}

const struct fct_command fct_cmd_tokenize = {
    .name = "tokenize",
    .synopsis = "[OPTIONS] [TEXT...]",
    .summary = "token ids of a text, or the text of ids",
    .about =
        "Prints the token ids of TEXT (several arguments are joined by spaces), or of standard "
        "input "
        "if there is none. Every byte counts, the last newline too; no BOS is added. What is not "
        "valid UTF-8 becomes U+FFFD, with a warning. With --decode it reads ids, between commas or "
        "white space, and prints exactly their text.",
    .groups = groups,
    .max_arguments = -1,
    .options_bytes = sizeof(struct tokenize_options),
    .run = run,
};
