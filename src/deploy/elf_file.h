/* elf_file.h - for which machine a program is built, and whether it needs libraries there. */
#ifndef FCT_DEPLOY_ELF_FILE_H
#define FCT_DEPLOY_ELF_FILE_H

#include "facet.h"

struct fct_elf {
    const char *machine;   /* as `uname -m` names it: "aarch64", "x86_64"; "another machine" */
    char interpreter[256]; /* the loader of its libraries; "" for a static program */
};

/* FCT_ERR_FORMAT if it is no 64-bit little-endian ELF program. */
fct_status fct_elf_read(const char *path, struct fct_elf *elf, fct_error *err);

/* Does a machine with this `uname -m` run it? */
bool fct_elf_runs_on(const struct fct_elf *elf, const char *uname_machine);

#endif
