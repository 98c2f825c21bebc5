/* program_choice.h - which build of facet goes to the far side. */
#ifndef FCT_DEPLOY_PROGRAM_CHOICE_H
#define FCT_DEPLOY_PROGRAM_CHOICE_H

#include "deploy/elf_file.h"

/* The one that is named; else this program, if it is built for `machine` (as `uname -m` there
 * says); else the static build of the tree that this program lies in. *path is the caller's, to be
 * freed with fct_free; the message of a failure says what to do. */
fct_status fct_program_choose(const char *named, const char *machine, char **path,
                              struct fct_elf *elf, fct_error *err);

/* FCT_ERR_UNSUPPORTED, with what to do about it: its loader is not over there. */
fct_status fct_program_no_loader(const char *path, const struct fct_elf *elf, fct_error *err);

#endif
