/* style.h - colours, where there is a terminal that wants them. */
#ifndef FCT_CLI_STYLE_H
#define FCT_CLI_STYLE_H

#include <stdbool.h>

/* Escape sequences; all "" without colours. */
struct fct_style {
    const char *dim, *bold, *warning, *off, *good, *bad;
};

/* Is fd a terminal that understands escape sequences? */
bool fct_is_terminal(int fd);

/* For what is written to fd: colours if it is such a terminal and NO_COLOR is not set
 * (https://no-color.org). */
struct fct_style fct_style_for(int fd);

/* Columns of the terminal behind fd; 80 if they are not known. */
int fct_terminal_columns(int fd);

/* Columns that a line of text on fd may take: those of the terminal but the last; INT_MAX where
 * there is none, as whoever reads a file wants whole lines. */
int fct_line_columns(int fd);

#endif
