/* options.c - reads a command line by its command's table of options. */
#include "cli/options.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

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

/* A command line while it is read. */
struct reading {
    const struct fct_command *command;
    int argc;
    char **argv;
    int at; /* the word that is read */
    char *options;
};

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

/* Gives option its value: what stands attached behind '=' or the letter, else the next word. */
static enum fct_parsed take_value(struct reading *reading, const struct fct_option *option,
                                  const char *label, const char *attached, size_t base) {
    const char *command = reading->command->name;
    fct_error err = {0};
    if (option->kind == FCT_OPTION_FLAG && attached) {
        fct_usage_error(command, "%s takes no value", label);
        return FCT_PARSED_USAGE;
    }
    if (option->kind != FCT_OPTION_FLAG && !attached) {
        if (reading->at + 1 >= reading->argc) {
            fct_usage_error(command, "%s needs a value (%s)", label, option->metavar);
            return FCT_PARSED_USAGE;
        }
        attached = reading->argv[++reading->at];
    }
    void *field = reading->options + base + option->offset;
    if (fct_option_set(option, label, field, attached, &err) == FCT_OK) return FCT_PARSED_RUN;
    if (err.code != FCT_ERR_ARGUMENT) {
        fct_failure(command, &err);
        return FCT_PARSED_FAILURE;
    }
    fct_usage_error(command, "%s", err.message);
    return FCT_PARSED_USAGE;
}

static enum fct_parsed read_long(struct reading *reading) {
    const char *name = reading->argv[reading->at] + 2, *equals = strchr(name, '=');
    size_t n_bytes = equals ? (size_t)(equals - name) : strlen(name), base;
    char label[64];
    if (strcmp(name, "help") == 0) return FCT_PARSED_HELP;
    const struct fct_option *option = find_option(reading->command, name, n_bytes, 0, &base);
    if (!option) return unknown_long(reading->command, name, n_bytes);
    snprintf(label, sizeof label, "--%s", option->name);
    return take_value(reading, option, label, equals ? equals + 1 : NULL, base);
}

static enum fct_parsed read_letter(struct reading *reading) {
    const char *word = reading->argv[reading->at];
    char label[3] = {'-', word[1], '\0'};
    size_t base;
    if (strcmp(word, "-h") == 0) return FCT_PARSED_HELP;
    const struct fct_option *option = find_option(reading->command, NULL, 0, word[1], &base);
    if (!option) {
        bool number = word[1] >= '0' && word[1] <= '9';
        fct_usage_error(reading->command->name, "unknown option %s%s", word,
                        number ? "; write -- before an argument that begins with -" : "");
        return FCT_PARSED_USAGE;
    }
    return take_value(reading, option, label, word[2] ? word + 2 : NULL, base);
}

enum fct_parsed fct_options_parse(const struct fct_command *command, int argc, char **argv,
                                  void *options, struct fct_arguments *arguments) {
    struct reading reading = {command, argc, argv, 0, options};
    bool only_arguments = false;
    for (; reading.at < argc; reading.at++) {
        enum fct_parsed parsed = FCT_PARSED_RUN;
        char *word = argv[reading.at];
        if (only_arguments || word[0] != '-' || word[1] == '\0')
            arguments->values[arguments->n_values++] = word;
        else if (strcmp(word, "--") == 0)
            only_arguments = true;
        else if (word[1] == '-')
            parsed = read_long(&reading);
        else
            parsed = read_letter(&reading);
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
