/* chat_pty.h - for tests: facet chat on a terminal, in a home of its own. */
#ifndef CHAT_PTY_H
#define CHAT_PTY_H

#include "pty.h"

static char home[64];

/* What the program looks at is the same everywhere. */
static void make_home(void) {
    strcpy(home, "/tmp/facet-chat-XXXXXX");
    assert_non_null(mkdtemp(home));
    setenv("HOME", home, 1);
    setenv("TERM", "xterm", 1);
    setenv("LC_ALL", "C.UTF-8", 1);
    unsetenv("XDG_STATE_HOME");
    unsetenv("XDG_DATA_HOME");
    unsetenv("NO_COLOR");
    unsetenv("FACET_MODEL");
}

static int remove_home(void) {
    char command[96];
    snprintf(command, sizeof command, "rm -rf %s", home);
    return system(command);
}

/* Waits for the prompt, where the terminal is asked to tell pasted text from typed, and until keys
 * are read there. */
static void prompt(struct pty *pty) {
    pty_expect(pty, "\033[?2004h");
    pty_expect(pty, ">");
    pty_expect_keys(pty);
}

static void type(struct pty *pty, const char *line) {
    pty_send(pty, line);
    pty_send(pty, "\r");
}

static void end(struct pty *pty) {
    type(pty, "/quit");
    assert_int_equal(pty_finish(pty), 0);
}

#endif
