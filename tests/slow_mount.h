/* slow_mount.h - a folder with one file that is read slowly, and remembers in which order: a small
 * FUSE server, for tests of a cold start. */
#ifndef TESTS_SLOW_MOUNT_H
#define TESTS_SLOW_MOUNT_H

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What was read, in order; shared with the server's process. */
struct slow_log {
    volatile uint32_t n_reads;
    struct {
        uint64_t offset, size;
    } reads[1 << 16];
};

struct slow_mount {
    char folder[64], path[96]; /* of the mount, and of the file in it */
    struct slow_log *log;
    pid_t server;
};

enum { SLOW_FILE = 2, SLOW_MOST = 1 << 20 };

struct slow_server {
    int fuse, file;
    uint64_t size;
    double bytes_per_second, busy_until;
    struct slow_log *log;
    const char *name;
};

static inline double slow_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static inline void slow_reply(const struct slow_server *s, uint64_t unique, int error,
                              const void *body, size_t n_bytes) {
    static char out[sizeof(struct fuse_out_header) + SLOW_MOST];
    struct fuse_out_header head = {(uint32_t)(sizeof head + n_bytes), error, unique};
    memcpy(out, &head, sizeof head);
    if (n_bytes) memcpy(out + sizeof head, body, n_bytes);
    if (write(s->fuse, out, head.len) < 0 && errno != ENOENT) _exit(1);
}

static inline struct fuse_attr slow_attr(const struct slow_server *s, uint64_t node) {
    bool file = node == SLOW_FILE;
    return (struct fuse_attr){.ino = node,
                              .size = file ? s->size : 0,
                              .mode = file ? S_IFREG | 0644 : S_IFDIR | 0755,
                              .nlink = 1,
                              .blksize = 4096};
}

/* As from a disk that can do nothing else meanwhile. */
static inline void slow_read(struct slow_server *s, uint64_t unique,
                             const struct fuse_read_in *in) {
    static char bytes[SLOW_MOST];
    size_t wanted = in->size < SLOW_MOST ? in->size : SLOW_MOST;
    ssize_t n = pread(s->file, bytes, wanted, (off_t)in->offset);
    double now = slow_now();
    if (s->busy_until < now) s->busy_until = now;
    s->busy_until += (double)(n > 0 ? n : 0) / s->bytes_per_second;
    struct timespec left = {(time_t)(s->busy_until - now),
                            (long)((s->busy_until - now - (time_t)(s->busy_until - now)) * 1e9)};
    nanosleep(&left, NULL);
    uint32_t at = s->log->n_reads;
    if (at < sizeof s->log->reads / sizeof s->log->reads[0]) {
        s->log->reads[at].offset = in->offset;
        s->log->reads[at].size = (uint64_t)(n > 0 ? n : 0);
        s->log->n_reads = at + 1;
    }
    slow_reply(s, unique, n < 0 ? -EIO : 0, bytes, n > 0 ? (size_t)n : 0);
}

static inline void slow_look_up(const struct slow_server *s, uint64_t unique, const char *name) {
    struct fuse_entry_out entry = {
        .nodeid = SLOW_FILE, .entry_valid = 60, .attr_valid = 60, .attr = slow_attr(s, SLOW_FILE)};
    bool known = !strcmp(name, s->name);
    slow_reply(s, unique, known ? 0 : -ENOENT, &entry, known ? sizeof entry : 0);
}

static inline void slow_answer(struct slow_server *s, const char *request) {
    struct fuse_in_header head;
    memcpy(&head, request, sizeof head);
    const void *body = request + sizeof head;
    struct fuse_init_out init = {.major = FUSE_KERNEL_VERSION,
                                 .minor = 31,
                                 .max_readahead = SLOW_MOST,
                                 .flags = FUSE_ASYNC_READ | FUSE_MAX_PAGES,
                                 .max_write = SLOW_MOST,
                                 .max_pages = (uint16_t)(SLOW_MOST / sysconf(_SC_PAGESIZE))};
    struct fuse_attr_out attr = {.attr_valid = 60, .attr = slow_attr(s, head.nodeid)};
    struct fuse_open_out open_out = {.fh = 1};
    struct fuse_statfs_out statfs_out = {.st = {.bsize = 4096, .namelen = 255}};
    switch (head.opcode) {
    case FUSE_INIT:
        slow_reply(s, head.unique, 0, &init, sizeof init);
        break;
    case FUSE_LOOKUP:
        slow_look_up(s, head.unique, body);
        break;
    case FUSE_GETATTR:
        slow_reply(s, head.unique, 0, &attr, sizeof attr);
        break;
    case FUSE_OPEN:
        slow_reply(s, head.unique, 0, &open_out, sizeof open_out);
        break;
    case FUSE_READ:
        slow_read(s, head.unique, body);
        break;
    case FUSE_STATFS:
        slow_reply(s, head.unique, 0, &statfs_out, sizeof statfs_out);
        break;
    case FUSE_FLUSH:
    case FUSE_RELEASE:
        slow_reply(s, head.unique, 0, NULL, 0);
        break;
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
    case FUSE_INTERRUPT:
        break; /* nobody waits for an answer */
    default:
        slow_reply(s, head.unique, -ENOSYS, NULL, 0);
    }
}

static inline void slow_serve(struct slow_server *s) {
    static char request[SLOW_MOST + 4096];
    for (;;) {
        ssize_t n = read(s->fuse, request, sizeof request);
        if (n < 0 && (errno == EINTR || errno == EAGAIN || errno == ENOENT)) continue;
        if (n < (ssize_t)sizeof(struct fuse_in_header)) _exit(0); /* unmounted */
        slow_answer(s, request);
    }
}

/* Mounts of this process only, which go away with it, however it ends. */
static inline bool slow_own_mounts(void) {
    static bool own;
    if (!own)
        own = unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
    return own;
}

/* Shows the file at path, read at no more than so many bytes a second, in a folder of its own.
 * False: this process may not mount (no root, no /dev/fuse). */
static inline bool slow_mount(struct slow_mount *m, const char *path, double bytes_per_second) {
    struct stat info;
    char options[128];
    struct slow_server s = {.fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC),
                            .file = open(path, O_RDONLY | O_CLOEXEC),
                            .bytes_per_second = bytes_per_second,
                            .name = strrchr(path, '/') + 1};
    *m = (struct slow_mount){.server = -1};
    strcpy(m->folder, "/tmp/facet-slow-XXXXXX");
    if (s.fuse < 0 || s.file < 0 || !slow_own_mounts() || fstat(s.file, &info) != 0 ||
        !mkdtemp(m->folder))
        return false;
    s.size = (uint64_t)info.st_size;
    s.log = m->log =
        mmap(NULL, sizeof *m->log, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=%d,group_id=%d,allow_other",
             s.fuse, (int)getuid(), (int)getgid());
    snprintf(m->path, sizeof m->path, "%s/%s", m->folder, s.name);
    if (m->log == MAP_FAILED ||
        mount("facet-slow", m->folder, "fuse", MS_NOSUID | MS_NODEV | MS_RDONLY, options) != 0) {
        rmdir(m->folder);
        return false;
    }
    chmod(m->folder, 0755);
    m->server = fork();
    if (m->server == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        slow_serve(&s);
    }
    close(s.fuse);
    close(s.file);
    return m->server > 0;
}

static inline void slow_unmount(struct slow_mount *m) {
    umount2(m->folder, MNT_DETACH);
    if (m->server > 0) {
        kill(m->server, SIGKILL);
        waitpid(m->server, NULL, 0);
    }
    rmdir(m->folder);
    munmap(m->log, sizeof *m->log);
}

#endif
