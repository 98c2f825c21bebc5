/* commands.h - the commands of the program. */
#ifndef FCT_CLI_COMMANDS_H
#define FCT_CLI_COMMANDS_H

#include "cli/options.h"

extern const struct fct_command fct_cmd_bench, fct_cmd_calibrate, fct_cmd_chat, fct_cmd_convert,
    fct_cmd_deploy, fct_cmd_doctor, fct_cmd_info, fct_cmd_logits, fct_cmd_parse, fct_cmd_pull,
    fct_cmd_render, fct_cmd_run, fct_cmd_score, fct_cmd_tokenize, fct_cmd_verify;

#endif
