/* commands.h - the commands of the program. */
#ifndef FCT_CLI_COMMANDS_H
#define FCT_CLI_COMMANDS_H

#include "cli/options.h"

extern const struct fct_command fct_cmd_convert, fct_cmd_logits;

#endif
