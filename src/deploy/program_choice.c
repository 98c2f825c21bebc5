/* program_choice.c - which build of facet goes to the far side. */
#include "deploy/program_choice.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"

static char *own_path(fct_error *err) {
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path);
    if (n < 0 || n == (ssize_t)sizeof path)
        return fct_fail_null(err, FCT_ERR_IO, "/proc/self/exe: this program cannot find itself");
    return fct_copy_text(path, (size_t)n, err);
}

/* In the tree, build/facet has build-pi5/facet beside its folder. */
static char *static_build(const char *own, fct_error *err) {
    struct fct_text path = {0};
    const char *slash = strrchr(own, '/');
    fct_text_add(&path, own, slash ? (size_t)(slash - own) : 0);
    fct_text_puts(&path, "/../build-pi5/facet");
    return fct_text_finish(&path, NULL, err);
}

static fct_status wrong_machine(const char *path, const struct fct_elf *elf, const char *machine,
                                fct_error *err) {
    bool arm = strcmp(machine, "aarch64") == 0 || strcmp(machine, "arm64") == 0;
    bool small = strncmp(machine, "armv", 4) == 0 || strcmp(machine, "i686") == 0;
    const char *step = small ? "facet needs a 64-bit system there (for a Raspberry Pi: the 64-bit "
                               "Raspberry Pi OS)"
                       : arm ? "build one with `make pi5` and give it with --program "
                               "build-pi5/facet"
                             : "give a facet that was built there with --program FILE";
    return fct_fail(err, FCT_ERR_UNSUPPORTED, "the machine there is %s, %s is built for %s: %s",
                    machine, path, elf->machine, step);
}

fct_status fct_program_choose(const char *named, const char *machine, char **path,
                              struct fct_elf *elf, fct_error *err) {
    fct_status status = FCT_OK;
    *path = named ? fct_copy_text(named, strlen(named), err) : own_path(err);
    if (!*path) return FCT_ERR_IO;
    status = fct_elf_read(*path, elf, err);
    if (!status && fct_elf_runs_on(elf, machine)) return FCT_OK;
    if (!status && !named) {
        struct fct_elf other;
        char *beside = static_build(*path, err);
        if (!beside) status = FCT_ERR_MEMORY;
        if (beside && fct_is_file(beside) && fct_elf_read(beside, &other, NULL) == FCT_OK &&
            fct_elf_runs_on(&other, machine)) {
            fct_free(*path);
            *path = beside;
            *elf = other;
            return FCT_OK;
        }
        fct_free(beside);
    }
    if (!status) status = wrong_machine(*path, elf, machine, err);
    fct_free(*path);
    *path = NULL;
    return status;
}

fct_status fct_program_no_loader(const char *path, const struct fct_elf *elf, fct_error *err) {
    const char *step = fct_elf_runs_on(elf, "aarch64")
                           ? "the system there is a 32-bit one, or not Debian's kind: give the "
                             "static build with --program build-pi5/facet (`make pi5`)"
                           : "the system there is a 32-bit one, or not Debian's kind";
    return fct_fail(err, FCT_ERR_UNSUPPORTED, "%s needs %s, which is not there: %s", path,
                    elf->interpreter, step);
}
