/* options.c - reads a command line by its command's table of options. */
#include "cli/options.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"

#define ID_FILE_LIMIT ((size_t)256 << 20)
#define LABEL_BYTES 64

int fct_usage_error(const char *command, const char *format, ...) {
    va_list arguments;
    fprintf(stderr, "facet%s%s: ", command ? " " : "", command ? command : "");
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\nTry `facet %s%s--help`.\n", command ? command : "", command ? " " : "");
    return FCT_EXIT_USAGE;
}

int fct_failure(const char *command, const fct_error *err) {
    fprintf(stderr, "facet %s: %s\n", command, err->message);
    return FCT_EXIT_FAILURE;
}

/* The option as a person writes it: "--top-k" or "-n". */
static const char *label_of(const struct fct_option *option, char label[LABEL_BYTES]) {
    if (option->name)
        snprintf(label, LABEL_BYTES, "--%s", option->name);
    else
        snprintf(label, LABEL_BYTES, "-%c", option->letter);
    return label;
}

static bool read_long(const char *text, long long *value) {
    char *end;
    if (*text != '-' && !(*text >= '0' && *text <= '9')) return false;
    errno = 0;
    *value = strtoll(text, &end, 10);
    return end != text && *end == '\0' && errno == 0;
}

/* Decimal notation only: strtod would also read "nan", "inf" and hexadecimal. */
static bool read_number(const char *text, double *value) {
    char *end;
    if (text[strspn(text, "+-.0123456789eE")] != '\0') return false;
    *value = strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*value);
}

static fct_status set_integer(const struct fct_option *option, const char *label, int *field,
                              const char *value, fct_error *err) {
    long long number;
    if (!read_long(value, &number))
        return fct_fail(err, FCT_ERR_ARGUMENT, "%s: \"%s\" is not a whole number", label, value);
    if ((double)number < option->min || (double)number > option->max)
        return fct_fail(err, FCT_ERR_ARGUMENT, "%s: %lld is not between %.0f and %.0f", label,
                        number, option->min, option->max);
    *field = (int)number;
    return FCT_OK;
}

static fct_status set_seed(const char *label, uint64_t *field, const char *value, fct_error *err) {
    char *end;
    errno = 0;
    unsigned long long number = strtoull(value, &end, 10);
    if (*value < '0' || *value > '9' || *end != '\0' || errno)
        return fct_fail(err, FCT_ERR_ARGUMENT, "%s: \"%s\" is not a whole number below 2^64", label,
                        value);
    *field = number;
    return FCT_OK;
}

static fct_status set_number(const struct fct_option *option, const char *label, float *field,
                             const char *value, fct_error *err) {
    double number;
    if (!read_number(value, &number))
        return fct_fail(err, FCT_ERR_ARGUMENT, "%s: \"%s\" is not a number", label, value);
    if (number < option->min || number > option->max)
        return fct_fail(err, FCT_ERR_ARGUMENT, "%s: %s is not between %g and %g", label, value,
                        option->min, option->max);
    *field = (float)number;
    return FCT_OK;
}

static fct_status set_choice(const struct fct_option *option, const char *label, int *field,
                             const char *value, fct_error *err) {
    char list[256] = "";
    size_t n = 0;
    for (; option->choices[n]; n++) {
        if (strcmp(option->choices[n], value) == 0) {
            *field = (int)n;
            return FCT_OK;
        }
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", n ? ", " : "", option->choices[n]);
    }
    const char *near = fct_nearest(value, option->choices, n);
    return fct_fail(err, FCT_ERR_ARGUMENT, "%s: \"%s\" is not one of %s%s%s%s", label, value, list,
                    near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static fct_status set_ids(const char *label, struct fct_id_list *list, const char *value,
                          fct_error *err) {
    fct_free(list->ids);
    *list = (struct fct_id_list){0};
    if (value[0] != '@') return fct_ids_read(label, value, strlen(value), list, err);
    size_t n_bytes;
    char *text = fct_file_read(value + 1, ID_FILE_LIMIT, &n_bytes, err);
    if (!text) return err->code;
    fct_status status = fct_ids_read(value + 1, text, n_bytes, list, err);
    fct_free(text);
    return status;
}

static fct_status add_text(const char *label, struct fct_text_list *list, const char *value,
                           fct_error *err) {
    if (!*value) return fct_fail(err, FCT_ERR_ARGUMENT, "%s: the text is empty", label);
    fct_status status = fct_grow((void **)&list->texts, &list->capacity, list->n_texts + 1,
                                 sizeof *list->texts, err);
    if (status) return status;
    list->texts[list->n_texts++] = value;
    return FCT_OK;
}

static fct_status add_bias(const char *label, struct fct_bias_list *list, const char *value,
                           fct_error *err) {
    char id_text[16];
    long long id;
    double bias;
    const char *equals = strchr(value, '=');
    if (!equals || equals - value >= (int)sizeof id_text)
        return fct_fail(err, FCT_ERR_ARGUMENT, "%s: \"%s\" is not of the form ID=B", label, value);
    memcpy(id_text, value, (size_t)(equals - value));
    id_text[equals - value] = '\0';
    if (!read_long(id_text, &id) || id < 0 || id > INT32_MAX)
        return fct_fail(err, FCT_ERR_ARGUMENT, "%s: \"%s\" is not a token id", label, id_text);
    if (!read_number(equals + 1, &bias))
        return fct_fail(err, FCT_ERR_ARGUMENT, "%s: \"%s\" is not a number", label, equals + 1);
    fct_status status = fct_grow((void **)&list->ids, &list->ids_capacity, list->n_biases + 1,
                                 sizeof *list->ids, err);
    if (!status)
        status = fct_grow((void **)&list->values, &list->values_capacity, list->n_biases + 1,
                          sizeof *list->values, err);
    if (status) return status;
    list->ids[list->n_biases] = (int)id;
    list->values[list->n_biases++] = (float)bias;
    return FCT_OK;
}

static fct_status set_value(const struct fct_option *option, void *field, const char *value,
                            fct_error *err) {
    char label[LABEL_BYTES];
    label_of(option, label);
    switch (option->kind) {
    case FCT_OPTION_FLAG:
        *(bool *)field = true;
        return FCT_OK;
    case FCT_OPTION_TEXT:
        *(const char **)field = value;
        return FCT_OK;
    case FCT_OPTION_CHOICE:
        return set_choice(option, label, field, value, err);
    case FCT_OPTION_INTEGER:
        return set_integer(option, label, field, value, err);
    case FCT_OPTION_SEED:
        return set_seed(label, field, value, err);
    case FCT_OPTION_NUMBER:
        return set_number(option, label, field, value, err);
    case FCT_OPTION_IDS:
        return set_ids(label, field, value, err);
    case FCT_OPTION_TEXTS:
        return add_text(label, field, value, err);
    case FCT_OPTION_BIASES:
        return add_bias(label, field, value, err);
    }
    return FCT_ERR_ARGUMENT;
}

/* The option whose long name is name[0 .. n_bytes), or (name NULL) whose letter is `letter`. *base
 * gets its group's. */
static const struct fct_option *find_option(const struct fct_command *command, const char *name,
                                            size_t n_bytes, char letter, size_t *base) {
    for (const struct fct_option_group *group = command->groups; group->title; group++)
        for (const struct fct_option *option = group->options; fct_is_option(option); option++) {
            bool found = name ? option->name && strlen(option->name) == n_bytes &&
                                    memcmp(option->name, name, n_bytes) == 0
                              : option->letter == letter;
            *base = group->base;
            if (found) return option;
        }
    return NULL;
}

static enum fct_parsed unknown_long(const struct fct_command *command, const char *name,
                                    size_t n_bytes) {
    const char *names[64] = {"help"};
    size_t n = 1;
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)(n_bytes < 60 ? n_bytes : 60), name);
    for (const struct fct_option_group *group = command->groups; group->title; group++)
        for (const struct fct_option *option = group->options; fct_is_option(option); option++)
            if (option->name && n < 64) names[n++] = option->name;
    const char *near = fct_nearest(word, names, n);
    fct_usage_error(command->name, "unknown option --%s%s%s%s", word,
                    near ? "; did you mean --" : "", near ? near : "", near ? "?" : "");
    return FCT_PARSED_USAGE;
}

/* Gives option its value: what stands behind '=' or the letter, else the next word. */
static enum fct_parsed take_value(const struct fct_command *command,
                                  const struct fct_option *option, char *field,
                                  const char *attached, int argc, char **argv, int *i) {
    char label[LABEL_BYTES];
    fct_error err = {0};
    label_of(option, label);
    if (option->kind == FCT_OPTION_FLAG && attached) {
        fct_usage_error(command->name, "%s takes no value", label);
        return FCT_PARSED_USAGE;
    }
    if (option->kind != FCT_OPTION_FLAG && !attached) {
        if (*i + 1 >= argc) {
            fct_usage_error(command->name, "%s needs a value (%s)", label, option->metavar);
            return FCT_PARSED_USAGE;
        }
        attached = argv[++*i];
    }
    if (set_value(option, field, attached, &err) == FCT_OK) return FCT_PARSED_RUN;
    if (err.code != FCT_ERR_ARGUMENT) {
        fct_failure(command->name, &err);
        return FCT_PARSED_FAILURE;
    }
    fct_usage_error(command->name, "%s", err.message);
    return FCT_PARSED_USAGE;
}

static enum fct_parsed parse_long(const struct fct_command *command, char *options, int argc,
                                  char **argv, int *i) {
    const char *name = argv[*i] + 2, *equals = strchr(name, '=');
    size_t n_bytes = equals ? (size_t)(equals - name) : strlen(name), base;
    if (strcmp(name, "help") == 0) return FCT_PARSED_HELP;
    const struct fct_option *option = find_option(command, name, n_bytes, 0, &base);
    if (!option) return unknown_long(command, name, n_bytes);
    return take_value(command, option, options + base + option->offset, equals ? equals + 1 : NULL,
                      argc, argv, i);
}

static enum fct_parsed parse_letter(const struct fct_command *command, char *options, int argc,
                                    char **argv, int *i) {
    const char *word = argv[*i];
    size_t base;
    if (strcmp(word, "-h") == 0) return FCT_PARSED_HELP;
    const struct fct_option *option = find_option(command, NULL, 0, word[1], &base);
    if (!option) {
        bool number = word[1] >= '0' && word[1] <= '9';
        fct_usage_error(command->name, "unknown option %s%s", word,
                        number ? "; write -- before an argument that begins with -" : "");
        return FCT_PARSED_USAGE;
    }
    return take_value(command, option, options + base + option->offset, word[2] ? word + 2 : NULL,
                      argc, argv, i);
}

enum fct_parsed fct_options_parse(const struct fct_command *command, int argc, char **argv,
                                  void *options, struct fct_arguments *arguments) {
    bool only_arguments = false;
    for (int i = 0; i < argc; i++) {
        enum fct_parsed parsed = FCT_PARSED_RUN;
        const char *word = argv[i];
        if (only_arguments || word[0] != '-' || word[1] == '\0')
            arguments->values[arguments->n_values++] = argv[i];
        else if (strcmp(word, "--") == 0)
            only_arguments = true;
        else if (word[1] == '-')
            parsed = parse_long(command, options, argc, argv, &i);
        else
            parsed = parse_letter(command, options, argc, argv, &i);
        if (parsed != FCT_PARSED_RUN) return parsed;
    }
    if (command->max_arguments >= 0 && arguments->n_values > command->max_arguments) {
        fct_usage_error(command->name, "unexpected argument \"%s\"",
                        arguments->values[command->max_arguments]);
        return FCT_PARSED_USAGE;
    }
    return FCT_PARSED_RUN;
}

void fct_options_free(const struct fct_command *command, void *options) {
    for (const struct fct_option_group *group = command->groups; group->title; group++)
        for (const struct fct_option *option = group->options; fct_is_option(option); option++) {
            void *field = (char *)options + group->base + option->offset;
            if (option->kind == FCT_OPTION_IDS) fct_free(((struct fct_id_list *)field)->ids);
            if (option->kind == FCT_OPTION_TEXTS) fct_free(((struct fct_text_list *)field)->texts);
            if (option->kind == FCT_OPTION_BIASES) {
                fct_free(((struct fct_bias_list *)field)->ids);
                fct_free(((struct fct_bias_list *)field)->values);
            }
        }
}
