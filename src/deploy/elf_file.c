/* elf_file.c - for which machine a program is built, and whether it needs libraries there.
 *
 * Layout: System V ABI, chapters 4 and 5 (https://refspecs.linuxfoundation.org/elf/gabi4+). */
#include "deploy/elf_file.h"

#include <elf.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/file.h"

static const char *machine_name(uint16_t machine) {
    switch (machine) {
    case EM_AARCH64:
        return "aarch64";
    case EM_X86_64:
        return "x86_64";
    case EM_RISCV:
        return "riscv64";
    default:
        return "another machine";
    }
}

/* Bytes from `offset` on; an offset behind the end gives none. */
static struct fct_cursor cursor_at(const struct fct_mapping *file, uint64_t offset) {
    return offset > file->size ? fct_cursor_over(file->data, 0)
                               : fct_cursor_over(file->data + offset, file->size - (size_t)offset);
}

static fct_status read_interpreter(const struct fct_mapping *file, uint64_t offset, uint64_t size,
                                   const char *path, struct fct_elf *elf, fct_error *err) {
    struct fct_cursor at = cursor_at(file, offset);
    const uint8_t *name =
        size < sizeof elf->interpreter && size > 0 ? fct_cursor_take(&at, (size_t)size) : NULL;
    if (!name || name[size - 1])
        return fct_fail(err, FCT_ERR_FORMAT, "%s: the name of its loader is damaged", path);
    memcpy(elf->interpreter, name, (size_t)size);
    return FCT_OK;
}

static fct_status read_segments(const struct fct_mapping *file, uint64_t offset, int n_segments,
                                const char *path, struct fct_elf *elf, fct_error *err) {
    struct fct_cursor at = cursor_at(file, offset);
    for (int i = 0; i < n_segments; i++) {
        uint32_t type = fct_cursor_u32(&at);
        fct_cursor_take(&at, 4); /* flags */
        uint64_t begin = fct_cursor_u64(&at);
        fct_cursor_take(&at, 16); /* addresses */
        uint64_t size = fct_cursor_u64(&at);
        fct_cursor_take(&at, 16); /* size in memory, alignment */
        if (at.failed) return fct_fail(err, FCT_ERR_FORMAT, "%s: the program is cut off", path);
        if (type == PT_INTERP) return read_interpreter(file, begin, size, path, elf, err);
    }
    return FCT_OK;
}

static fct_status read_header(const struct fct_mapping *file, const char *path, struct fct_elf *elf,
                              fct_error *err) {
    struct fct_cursor at = cursor_at(file, 0);
    const uint8_t *ident = fct_cursor_take(&at, EI_NIDENT);
    if (!ident || memcmp(ident, ELFMAG, SELFMAG) != 0)
        return fct_fail(err, FCT_ERR_FORMAT, "%s: is no program for Linux (ELF)", path);
    if (ident[EI_CLASS] != ELFCLASS64 || ident[EI_DATA] != ELFDATA2LSB)
        return fct_fail(err, FCT_ERR_UNSUPPORTED,
                        "%s: is no program for a 64-bit little-endian machine", path);
    uint16_t type = fct_cursor_u16(&at);
    elf->machine = machine_name(fct_cursor_u16(&at));
    fct_cursor_take(&at, 12); /* version, entry */
    uint64_t segments = fct_cursor_u64(&at);
    fct_cursor_take(&at, 14); /* sections, flags, size of this header */
    uint16_t segment_bytes = fct_cursor_u16(&at), n_segments = fct_cursor_u16(&at);
    if (at.failed || (type != ET_EXEC && type != ET_DYN) || segment_bytes != sizeof(Elf64_Phdr))
        return fct_fail(err, FCT_ERR_FORMAT, "%s: is no whole program", path);
    return read_segments(file, segments, n_segments, path, elf, err);
}

fct_status fct_elf_read(const char *path, struct fct_elf *elf, fct_error *err) {
    struct fct_mapping file;
    *elf = (struct fct_elf){.machine = "another machine"};
    fct_status status = fct_map_open(&file, path, err);
    if (status) return status;
    status = read_header(&file, path, elf, err);
    fct_map_close(&file);
    return status;
}

bool fct_elf_runs_on(const struct fct_elf *elf, const char *uname_machine) {
    if (strcmp(uname_machine, "arm64") == 0) uname_machine = "aarch64";
    if (strcmp(uname_machine, "amd64") == 0) uname_machine = "x86_64";
    return strcmp(elf->machine, uname_machine) == 0;
}
