/* password.h - asks on the terminal for what must not show. */
#ifndef FCT_CLI_PASSWORD_H
#define FCT_CLI_PASSWORD_H

#include "facet.h"

/* Asks on the terminal of this program, wherever its streams go, without an echo. False: there is
 * none, or nothing was typed, or Ctrl+C. */
bool fct_password_ask(const char *prompt, char *out, size_t size);

#endif
