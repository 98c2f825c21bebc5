/* doctor_storage.c - what a file lies on, and how fast it is read from there. */
#include <ctype.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/threads.h"
#include "cli/doctor.h"

const char *fct_storage_name(enum fct_storage_kind kind) {
    static const char *const names[] = {
        [FCT_STORAGE_UNKNOWN] = "storage of an unknown kind",
        [FCT_STORAGE_SD] = "SD card",
        [FCT_STORAGE_EMMC] = "eMMC",
        [FCT_STORAGE_NVME] = "NVMe",
        [FCT_STORAGE_USB] = "USB disk",
        [FCT_STORAGE_SSD] = "SSD",
        [FCT_STORAGE_HARD_DISK] = "hard disk",
        [FCT_STORAGE_VIRTUAL] = "virtual disk",
        [FCT_STORAGE_COMPRESSED_MEMORY] = "compressed memory",
        [FCT_STORAGE_MEMORY] = "memory",
        [FCT_STORAGE_NETWORK] = "network",
    };
    return names[kind];
}

/* ---- which mount ---- */

struct mount {
    char point[PATH_MAX], number[32], file_system[32], source[PATH_MAX];
};

/* \040 and the like, in place. */
static void unescape(char *text) {
    char *out = text;
    for (const char *at = text; *at; out++) {
        bool octal = at[0] == '\\' && isdigit((unsigned char)at[1]) &&
                     isdigit((unsigned char)at[2]) && isdigit((unsigned char)at[3]);
        *out = octal ? (char)((at[1] - '0') << 6 | (at[2] - '0') << 3 | (at[3] - '0')) : *at;
        at += octal ? 4 : 1;
    }
    *out = 0;
}

/* A line of mountinfo: "36 35 98:0 /root /point options [fields] - type source options". */
static bool read_mount(const char *line, struct mount *out) {
    const char *rest = strstr(line, " - ");
    if (!rest || sscanf(line, "%*s %*s %31s %*s %4095s", out->number, out->point) != 2)
        return false;
    if (sscanf(rest, " - %31s %4095s", out->file_system, out->source) != 2) return false;
    unescape(out->point);
    return true;
}

static bool is_below(const char *path, const char *point) {
    size_t n = strlen(point);
    return strcmp(point, "/") == 0 ||
           (strncmp(path, point, n) == 0 && (!path[n] || path[n] == '/'));
}

/* The last of the mounts that reach furthest: later ones lie on top. */
static bool find_mount(const char *root, const char *path, struct mount *out) {
    char name[PATH_MAX], line[2 * PATH_MAX];
    struct mount one;
    bool found = false;
    snprintf(name, sizeof name, "%s/proc/self/mountinfo", root);
    FILE *file = fopen(name, "re");
    while (file && fgets(line, sizeof line, file)) {
        if (!read_mount(line, &one) || !is_below(path, one.point)) continue;
        if (found && strlen(one.point) < strlen(out->point)) continue;
        *out = one;
        found = true;
    }
    if (file) fclose(file);
    return found;
}

/* ---- which device ---- */

/* folder becomes its parent. */
static void go_up(char *folder) {
    char *slash = strrchr(folder, '/');
    if (slash) *slash = 0;
}

static char *text_in(const char *folder, const char *name) {
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "/%s", name);
    return n > 0 ? fct_system_text(folder, path) : NULL;
}

static bool has_file(const char *folder, const char *name) {
    char *text = text_in(folder, name);
    fct_free(text);
    return text != NULL;
}

/* folder, of a partition or of a disk that is made of another (encryption, LVM), becomes the
 * disk's. */
static void find_disk(char folder[PATH_MAX]) {
    for (int depth = 0; depth < 8; depth++) {
        char pattern[PATH_MAX + 16], real[PATH_MAX];
        glob_t found;
        if (has_file(folder, "partition")) go_up(folder);
        snprintf(pattern, sizeof pattern, "%s/slaves/*", folder);
        if (glob(pattern, 0, NULL, &found) != 0) return;
        bool moved = realpath(found.gl_pathv[0], real) != NULL;
        globfree(&found);
        if (!moved) return;
        snprintf(folder, PATH_MAX, "%s", real);
    }
}

/* The first file of this name in folder or above it, as far as the bus. */
static char *text_above(const char *folder, const char *name) {
    char at[PATH_MAX];
    snprintf(at, sizeof at, "%s", folder);
    for (int depth = 0; depth < 12 && strchr(at + 1, '/'); depth++) {
        char *text = text_in(at, name);
        if (text) return text;
        go_up(at);
    }
    return NULL;
}

/* place is the folder's path from the root on. */
static enum fct_storage_kind kind_of_disk(const char *folder, const char *place, const char *name) {
    if (!strncmp(name, "zram", 4)) return FCT_STORAGE_COMPRESSED_MEMORY;
    if (!strncmp(name, "nvme", 4)) return FCT_STORAGE_NVME;
    if (!strncmp(name, "vd", 2) || !strncmp(name, "xvd", 3)) return FCT_STORAGE_VIRTUAL;
    if (strstr(place, "/usb")) return FCT_STORAGE_USB;
    if (!strncmp(name, "mmcblk", 6)) {
        char *type = text_in(folder, "device/type");
        bool card = !type || strcmp(type, "MMC") != 0;
        fct_free(type);
        return card ? FCT_STORAGE_SD : FCT_STORAGE_EMMC;
    }
    char *rotational = text_in(folder, "queue/rotational");
    enum fct_storage_kind kind = !rotational                ? FCT_STORAGE_UNKNOWN
                                 : !strcmp(rotational, "1") ? FCT_STORAGE_HARD_DISK
                                                            : FCT_STORAGE_SSD;
    fct_free(rotational);
    return kind;
}

static void read_link(const char *folder, struct fct_storage *out) {
    char *speed = text_above(folder, out->kind == FCT_STORAGE_USB ? "speed" : "current_link_speed");
    char *width = text_above(folder, "current_link_width");
    if (speed && out->kind == FCT_STORAGE_USB) out->usb_megabits = atoi(speed);
    if (speed && width && out->kind == FCT_STORAGE_NVME)
        snprintf(out->link, sizeof out->link, "%.20s x%.6s", speed, width);
    fct_free(speed);
    fct_free(width);
}

/* The disk of a block device, by its link in /sys. */
static bool read_disk(const char *root, const char *link, struct fct_storage *out) {
    char path[PATH_MAX], folder[PATH_MAX], top[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s%s", root, link);
    if (n <= 0 || (size_t)n >= sizeof path || !realpath(path, folder)) return false;
    if (!realpath(*root ? root : "/", top)) return false;
    find_disk(folder);
    const char *name = strrchr(folder, '/') + 1;
    snprintf(out->device, sizeof out->device, "%.63s", name);
    out->kind = kind_of_disk(folder, folder + strlen(top), name);
    read_link(folder, out);
    return true;
}

static enum fct_storage_kind kind_of_file_system(const char *name) {
    static const char *const network[] = {"nfs", "nfs4",       "cifs",    "smb3",
                                          "9p",  "fuse.sshfs", "virtiofs"};
    if (!strcmp(name, "tmpfs") || !strcmp(name, "ramfs")) return FCT_STORAGE_MEMORY;
    for (size_t i = 0; i < sizeof network / sizeof network[0]; i++)
        if (!strcmp(name, network[i])) return FCT_STORAGE_NETWORK;
    return FCT_STORAGE_UNKNOWN;
}

void fct_storage_find(const char *root, const char *path, struct fct_storage *out) {
    char full[PATH_MAX], link[PATH_MAX + 32];
    struct mount mount;
    *out = (struct fct_storage){.bytes_per_second = NAN};
    if (strncmp(path, "/dev/", 5) == 0) { /* a device itself, as swap may be */
        snprintf(link, sizeof link, "/sys/class/block/%s", strrchr(path, '/') + 1);
        read_disk(root, link, out);
        return;
    }
    if (*root || !realpath(path, full)) snprintf(full, sizeof full, "%s", path);
    if (!find_mount(root, full, &mount)) return;
    snprintf(out->file_system, sizeof out->file_system, "%s", mount.file_system);
    snprintf(link, sizeof link, "/sys/dev/block/%s", mount.number);
    if (read_disk(root, link, out)) return;
    snprintf(link, sizeof link, "/sys/class/block/%s",
             strrchr(mount.source, '/') ? strrchr(mount.source, '/') + 1 : mount.source);
    if (strncmp(mount.source, "/dev/", 5) == 0 && read_disk(root, link, out)) return;
    out->kind = kind_of_file_system(mount.file_system);
}

/* ---- how fast ---- */

enum { PIECE = 2 << 20, ALIGNED = 1 << 16, LEAST = 16 << 20 };
static const double most_seconds = 1.0;

/* Bytes read until the end of the file or of the time; *seconds is how long that took. */
static uint64_t read_in_sequence(int fd, void *piece, double *seconds) {
    uint64_t done = 0;
    double start = fct_seconds();
    while (fct_seconds() - start < most_seconds) {
        ssize_t n = pread(fd, piece, PIECE, (off_t)done);
        if (n <= 0) break;
        done += (uint64_t)n;
        if (n < PIECE) break; /* the end, which direct reading may not be aligned to */
    }
    *seconds = fct_seconds() - start;
    return done;
}

/* Past the page cache where the file system can; else what is cached is dropped first, which is a
 * wish. */
void fct_storage_measure(const char *path, struct fct_storage *out) {
    struct stat info;
    void *piece = NULL;
    double seconds;
    out->around_cache = true;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_DIRECT);
    if (fd < 0) {
        out->around_cache = false;
        fd = open(path, O_RDONLY | O_CLOEXEC);
    }
    if (fd < 0) return;
    out->small = fstat(fd, &info) == 0 && info.st_size < LEAST;
    if (!out->around_cache) posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    if (!out->small && posix_memalign(&piece, ALIGNED, PIECE) == 0) {
        uint64_t n = read_in_sequence(fd, piece, &seconds);
        if (n >= PIECE && seconds > 0) out->bytes_per_second = (double)n / seconds;
    }
    free(piece);
    close(fd);
}
