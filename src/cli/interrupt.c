/* interrupt.c - what Ctrl+C and other ends do: stop an answer, or leave nothing half written. */
#include "cli/interrupt.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

/* A signal handler is given nothing but the signal: what it needs cannot live anywhere else. */
static volatile sig_atomic_t n_interrupts;
static volatile sig_atomic_t on_terminal; /* the cursor stands behind a ^C */
static char removed_path[PATH_MAX];

static void end_line(void) {
    if (on_terminal && write(STDERR_FILENO, "\n", 1) < 0) return;
}

static void count_interrupt(int signal_number) {
    (void)signal_number;
    if (n_interrupts++ == 0) return;
    end_line();
    _exit(130);
}

static void remove_and_end(int signal_number) {
    unlink(removed_path);
    end_line();
    _exit(128 + signal_number);
}

/* A signal that the program was started to ignore, as in the background of a script, stays ignored.
 */
static void handle(int signal_number, void (*handler)(int)) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART}, inherited;
    sigemptyset(&action.sa_mask);
    on_terminal = isatty(STDERR_FILENO);
    if (sigaction(signal_number, NULL, &inherited) == 0 && inherited.sa_handler != SIG_IGN)
        sigaction(signal_number, &action, NULL);
}

void fct_interrupt_catch(void) { handle(SIGINT, count_interrupt); }

bool fct_interrupted(void) { return n_interrupts > 0; }

void fct_interrupt_removes(const char *path) {
    int n = snprintf(removed_path, sizeof removed_path, "%s", path);
    if (n < 0 || n >= (int)sizeof removed_path) return;
    handle(SIGINT, remove_and_end);
    handle(SIGTERM, remove_and_end);
    handle(SIGHUP, remove_and_end);
}
