/* interrupt.c - what Ctrl+C and other ends do: stop an answer, or leave nothing half written. */
#include "cli/interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <termios.h>
#include <unistd.h>

/* A signal handler is given nothing but the signal: what it needs cannot live anywhere else. */
static volatile sig_atomic_t n_interrupts;
static volatile sig_atomic_t on_terminal; /* the cursor stands behind a ^C */
static int told[2] = {-1, -1};            /* a pipe: signals that were told */
static volatile sig_atomic_t echo_is_off;
static struct termios with_echo;
static char removed_path[PATH_MAX];

static void end_line(void) {
    if (on_terminal && write(STDERR_FILENO, "\n", 1) < 0) return;
}

static void tell(int signal_number) {
    int kept = errno;
    unsigned char byte = (unsigned char)signal_number;
    ssize_t n = told[1] >= 0 ? write(told[1], &byte, 1) : 0;
    (void)n; /* a full pipe has told enough */
    errno = kept;
}

static void count_interrupt(int signal_number) {
    tell(signal_number);
    if (n_interrupts++ == 0) return;
    fct_echo_restore();
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

void fct_interrupt_forget(void) { n_interrupts = 0; }

int fct_interrupt_fd(void) {
    if (told[0] < 0 && pipe2(told, O_CLOEXEC | O_NONBLOCK) != 0) told[0] = told[1] = -1;
    return told[0];
}

void fct_interrupt_tell(int signal_number) {
    if (fct_interrupt_fd() >= 0) handle(signal_number, tell);
}

void fct_echo_off(void) {
    struct termios silent;
    if (echo_is_off || tcgetattr(STDIN_FILENO, &with_echo) != 0) return;
    silent = with_echo;
    silent.c_lflag &= ~(tcflag_t)(ECHO | ECHONL);
    silent.c_cc[VEOF] = _POSIX_VDISABLE; /* a Ctrl+D that is typed ahead stays one */
    if (tcsetattr(STDIN_FILENO, TCSANOW, &silent) == 0) echo_is_off = 1;
}

void fct_echo_restore(void) {
    if (!echo_is_off) return;
    tcsetattr(STDIN_FILENO, TCSANOW, &with_echo);
    echo_is_off = 0;
}

void fct_interrupt_removes(const char *path) {
    int n = snprintf(removed_path, sizeof removed_path, "%s", path);
    if (n < 0 || n >= (int)sizeof removed_path) return;
    handle(SIGINT, remove_and_end);
    handle(SIGTERM, remove_and_end);
    handle(SIGHUP, remove_and_end);
}
