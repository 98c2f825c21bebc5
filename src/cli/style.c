/* style.c - colours, where there is a terminal that wants them. */
#include "cli/style.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

bool fct_is_terminal(int fd) {
    const char *terminal = getenv("TERM");
    return isatty(fd) && terminal && *terminal && strcmp(terminal, "dumb") != 0;
}

struct fct_style fct_style_for(int fd) {
    const char *refused = getenv("NO_COLOR");
    if (!fct_is_terminal(fd) || (refused && *refused))
        return (struct fct_style){"", "", "", "", "", ""};
    return (struct fct_style){"\033[2m", "\033[1m",  "\033[33m",
                              "\033[0m", "\033[32m", "\033[1;31m"};
}

int fct_terminal_columns(int fd) {
    struct winsize size;
    return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

int fct_line_columns(int fd) { return isatty(fd) ? fct_terminal_columns(fd) - 1 : INT_MAX; }
