/* password.c - asks on the terminal for what must not show. */
#include "cli/password.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "cli/interrupt.h"

/* Ctrl+C ends waiting, not a read that is begun again behind it. */
static bool read_byte(int terminal, char *byte) {
    struct pollfd typed = {.fd = terminal, .events = POLLIN};
    while (poll(&typed, 1, -1) < 0)
        if (errno != EINTR || fct_interrupted()) return false;
    return read(terminal, byte, 1) == 1;
}

/* A line without its end. What does not fit is no password: it is not cut. */
static bool read_line(int terminal, char *out, size_t size) {
    size_t n = 0;
    for (char byte; read_byte(terminal, &byte);) {
        if (byte == '\n') {
            out[n] = 0;
            return n > 0;
        }
        if (n + 1 == size) return false;
        out[n++] = byte;
    }
    return false;
}

bool fct_password_ask(const char *prompt, char *out, size_t size) {
    struct termios shown, hidden;
    int terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (terminal < 0) return false;
    bool asked = tcgetattr(terminal, &shown) == 0;
    hidden = shown;
    hidden.c_lflag &= ~(tcflag_t)ECHO;
    asked = asked && tcsetattr(terminal, TCSAFLUSH, &hidden) == 0 &&
            write(terminal, prompt, strlen(prompt)) == (ssize_t)strlen(prompt);
    bool given = asked && read_line(terminal, out, size);
    if (asked) {
        tcsetattr(terminal, TCSAFLUSH, &shown);
        asked = write(terminal, "\n", 1) == 1;
    }
    close(terminal);
    if (!given) explicit_bzero(out, size);
    return given;
}
