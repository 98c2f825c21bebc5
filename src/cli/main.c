/* main.c - the program: finds the command, runs it, and sees that its answer got out. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/kernel_list.h"
#include "cli/standard_output.h"

static const struct fct_command *const commands[] = {
    &fct_cmd_pull,      &fct_cmd_convert,  &fct_cmd_run,    &fct_cmd_chat,
    &fct_cmd_verify,    &fct_cmd_bench,    &fct_cmd_doctor, &fct_cmd_score,
    &fct_cmd_calibrate, &fct_cmd_tokenize, &fct_cmd_render, &fct_cmd_parse,
    &fct_cmd_logits,    &fct_cmd_info,     &fct_cmd_deploy, NULL,
};

static const struct fct_command *find_command(const char *name) {
    for (const struct fct_command *const *at = commands; *at; at++)
        if (strcmp((*at)->name, name) == 0) return *at;
    return NULL;
}

static int unknown_command(const char *name) {
    const char *names[sizeof commands / sizeof commands[0]];
    size_t n = 0;
    for (; commands[n]; n++) names[n] = commands[n]->name;
    const char *near = fct_nearest(name, names, n);
    return fct_usage_error(NULL, "unknown command \"%s\"%s%s%s", name,
                           near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static int run_command(const struct fct_command *command, int argc, char **argv) {
    int code = FCT_EXIT_FAILURE;
    void *options = calloc(1, command->options_bytes);
    struct fct_arguments arguments = {calloc((size_t)argc + 1, sizeof(char *)), 0};
    if (!options || !arguments.values) {
        fprintf(stderr, "facet: no memory\n");
        goto done;
    }
    if (command->set_defaults) command->set_defaults(options);
    switch (fct_options_parse(command, argc, argv, options, &arguments)) {
    case FCT_PARSED_HELP:
        fct_help_command(command);
        code = FCT_EXIT_GOOD;
        break;
    case FCT_PARSED_USAGE:
        code = FCT_EXIT_USAGE;
        break;
    case FCT_PARSED_FAILURE:
        code = FCT_EXIT_FAILURE;
        break;
    case FCT_PARSED_RUN:
        code = command->run(options, arguments);
        break;
    }
    fct_options_free(command, options);
done:
    free(arguments.values);
    free(options);
    return code;
}

static int run_program(int argc, char **argv) {
    if (argc < 2) {
        fct_usage_error(NULL, "no command");
        return FCT_EXIT_USAGE;
    }
    const char *word = argv[1];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        fct_help_program(commands);
        return FCT_EXIT_GOOD;
    }
    if (strcmp(word, "--version") == 0) {
        printf("facet %s\n", FCT_VERSION);
        return FCT_EXIT_GOOD;
    }
    if (strcmp(word, "--kernels") == 0) return fct_kernel_list_print();
    if (word[0] == '-') {
        static const char *const flags[] = {"--help", "--version", "--kernels"};
        const char *near = fct_nearest(word, flags, 3);
        return fct_usage_error(NULL, "unknown option %s%s%s%s", word, near ? "; did you mean " : "",
                               near ? near : "", near ? "?" : "");
    }
    const struct fct_command *command = find_command(word);
    return command ? run_command(command, argc - 2, argv + 2) : unknown_command(word);
}

int main(int argc, char **argv) {
    fct_standard_streams_guard();
    signal(SIGPIPE, SIG_IGN);
    int code = run_program(argc, argv);
    bool written = fct_stdout_close();
    return written || code != FCT_EXIT_GOOD ? code : FCT_EXIT_FAILURE;
}
