/* help.c - the help of the program and of its commands, printed from the tables. */
#include <stdio.h>

#include "cli/folded.h"
#include "cli/options.h"

#define WIDTH 80
#define COLUMN 29 /* where the explanations of options begin */

static int print_names(const struct fct_option *option) {
    char text[96];
    if (option->letter && option->name)
        snprintf(text, sizeof text, "  -%c, --%s", option->letter, option->name);
    else if (option->letter)
        snprintf(text, sizeof text, "  -%c", option->letter);
    else
        snprintf(text, sizeof text, "      --%s", option->name);
    return printf("%s%s%s", text, option->metavar ? " " : "",
                  option->metavar ? option->metavar : "");
}

static void print_option(const struct fct_option *option) {
    char help[512];
    int column = print_names(option);
    if (column + 2 > COLUMN)
        printf("\n%*s", COLUMN, "");
    else
        printf("%*s", COLUMN - column, "");
    snprintf(help, sizeof help, "%s%s%s%s", option->help, option->by_default ? " (default: " : "",
             option->by_default ? option->by_default : "", option->by_default ? ")" : "");
    fct_folded_print(stdout, help, COLUMN, COLUMN, WIDTH);
}

void fct_help_command(const struct fct_command *command) {
    printf("Usage: facet %s%s%s\n\n", command->name, *command->synopsis ? " " : "",
           command->synopsis);
    fct_folded_print(stdout, command->about, 0, 0, WIDTH);
    for (const struct fct_option_group *group = command->groups; group->title; group++) {
        printf("\n%s:\n", group->title);
        for (const struct fct_option *option = group->options; fct_is_option(option); option++)
            print_option(option);
        if (group == command->groups) printf("  -h, --help%*sthis help\n", COLUMN - 12, "");
    }
}

void fct_help_program(const struct fct_command *const *commands) {
    printf("facet %s - runs Gemma 4 on small computers\n\n"
           "Usage: facet COMMAND [OPTIONS] [ARGUMENTS]\n\nCommands:\n",
           FCT_VERSION);
    for (; *commands; commands++) printf("  %-10s %s\n", (*commands)->name, (*commands)->summary);
    printf("\n`facet COMMAND --help` explains a command; `facet --version` prints the version,\n"
           "`facet --kernels` what runs on this CPU.\n\n");
    fct_folded_print(
        stdout,
        "The model is the file given with -m, else $FACET_MODEL, else the newest *.facet in "
        "~/.local/share/facet, else a small demo inside the program.",
        0, 0, WIDTH);
    fct_folded_print(stdout,
                     "$FACET_KERNELS forces a kernel table: portable, avx2, avx512, neon ...", 0, 0,
                     WIDTH);
    printf("\nExit code: 0 good, 1 failure, 2 wrong usage, 130 after a second Ctrl+C.\n");
}
