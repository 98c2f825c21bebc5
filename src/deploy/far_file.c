/* far_file.c - a file on the far side: looked at, brought up to date, given its name. */
#include "deploy/far_file.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "deploy/piece_sum.h"
#include "deploy/shell_words.h"

/* ---- the file here ---- */

fct_status fct_far_file_open(struct fct_far_file *file, const char *path, const char *folder,
                             const char *name, bool program, fct_error *err) {
    *file = (struct fct_far_file){
        .path = path, .folder = folder, .name = name, .program = program, .fd = -1};
    fct_status status = fct_shell_name_check("the name over there", name, err);
    if (!status) status = fct_key_make(file->run, err);
    if (status) return status;
    file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file->fd < 0 || fstat(file->fd, &file->info)) {
        status = fct_fail_errno(err, "%s", path);
    } else if (!S_ISREG(file->info.st_mode) || file->info.st_size == 0) {
        status = fct_fail(err, FCT_ERR_ARGUMENT, "%s: is not a file with something in it", path);
    } else {
        file->size = (uint64_t)file->info.st_size;
        file->n_pieces = (size_t)((file->size + FCT_PIECE_BYTES - 1) / FCT_PIECE_BYTES);
        file->right = fct_new_array(file->n_pieces, sizeof *file->right, err);
        if (!file->right) status = FCT_ERR_MEMORY;
    }
    if (status) fct_far_file_close(file);
    return status;
}

void fct_far_file_close(struct fct_far_file *file) {
    if (file->fd >= 0) close(file->fd);
    fct_free(file->right);
    file->fd = -1;
    file->right = NULL;
}

static fct_status check_same(const struct fct_far_file *file, fct_error *err) {
    struct stat now;
    if (fstat(file->fd, &now)) return fct_fail_errno(err, "%s", file->path);
    if (now.st_size == file->info.st_size && now.st_mtim.tv_sec == file->info.st_mtim.tv_sec &&
        now.st_mtim.tv_nsec == file->info.st_mtim.tv_nsec)
        return FCT_OK;
    return fct_fail(err, FCT_ERR_ARGUMENT, "%s: changed while it was copied", file->path);
}

static uint64_t piece_begin(size_t piece) { return (uint64_t)piece * FCT_PIECE_BYTES; }

/* Bytes of a piece that lie below `end`. */
static uint64_t piece_size(size_t piece, uint64_t end) {
    uint64_t begin = piece_begin(piece);
    if (begin >= end) return 0;
    return end - begin < FCT_PIECE_BYTES ? end - begin : FCT_PIECE_BYTES;
}

static bool is_whole(const struct fct_far_file *file, size_t piece, uint64_t end) {
    return piece_size(piece, end) == piece_size(piece, file->size);
}

uint64_t fct_far_file_missing(const struct fct_far_file *file) {
    uint64_t n = file->size - file->kept_bytes;
    if (file->unchanged) return 0;
    for (size_t i = 0; i < file->n_pieces && is_whole(file, i, file->kept_bytes); i++)
        if (!file->right[i]) n += piece_size(i, file->size);
    return n;
}

uint64_t fct_far_file_room(const struct fct_far_file *file) {
    if (file->unchanged) return 0;
    return file->seeded || !file->has_part || file->part_bytes > file->size
               ? file->size
               : file->size - file->part_bytes;
}

static void step(struct fct_far_file *file, uint64_t total) {
    file->shown = 0;
    file->shown_total = total;
}

static void show(struct fct_far_file *file, const char *what, uint64_t more) {
    file->shown += more;
    if (file->progress) file->progress(file->user, what, file->shown, file->shown_total);
}

/* ---- scripts ---- */

/* $f: the final name, behind links; $p: the part; $o: its owner; $id: this run. */
static void begin_script(const struct fct_far_file *file, struct fct_text *script) {
    fct_text_puts(script, "d=");
    fct_shell_path_add(script, file->folder);
    fct_text_puts(script, "; n=");
    fct_shell_word_add(script, file->name);
    fct_text_printf(script,
                    "; id=%s\n"
                    "f=$d/$n; if [ -L \"$f\" ]; then f=$(readlink -f -- \"$f\") || exit 1; fi\n"
                    "p=$f.part; o=$p.owner\n",
                    file->run);
}

static char *make_script(const struct fct_far_file *file, fct_error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static char *make_script(const struct fct_far_file *file, fct_error *err, const char *format, ...) {
    struct fct_text script = {0};
    char *body = NULL;
    va_list arguments;
    va_start(arguments, format);
    int n = vasprintf(&body, format, arguments);
    va_end(arguments);
    begin_script(file, &script);
    if (n < 0)
        script.failed = true;
    else
        fct_text_puts(&script, body);
    if (n >= 0) free(body);
    return fct_text_finish(&script, NULL, err);
}

static fct_status call(struct fct_far_file *file, fct_far_shell *shell, char *script,
                       fct_far_line_fn line, fct_error *err) {
    if (!script) return FCT_ERR_MEMORY;
    fct_status status = fct_far_call(shell, script, line, file, err);
    fct_free(script);
    return status;
}

/* ---- looking ---- */

static const char look_script[] =
    "if [ -d \"$f\" ]; then echo \"$f is a folder\"; exit 1; fi\n"
    "if [ -L \"$p\" ] || [ -d \"$p\" ]; then echo \"$p is no file\"; exit 1; fi\n"
    "if [ -f \"$f\" ]; then s=$(wc -c <\"$f\") || exit 1; echo \"= final $s\"; fi\n"
    "if [ -f \"$p\" ]; then s=$(wc -c <\"$p\") || exit 1; echo \"= part $s\"; fi\n";

static fct_status take_sizes(void *user, const char *line, fct_error *err) {
    struct fct_far_file *file = user;
    unsigned long long n;
    (void)err;
    if (sscanf(line, "final %llu", &n) == 1) {
        file->has_final = true;
        file->final_bytes = n;
    } else if (sscanf(line, "part %llu", &n) == 1) {
        file->has_part = true;
        file->part_bytes = n;
    }
    return FCT_OK;
}

/* Pieces that are being compared, one after the other as their sums arrive. */
struct comparison {
    struct fct_far_file *file;
    size_t piece, end_piece;
    uint64_t end;    /* of the bytes that are over there */
    bool tail_right; /* of the last piece, if it is not whole */
};

static fct_status take_sum(void *user, const char *line, fct_error *err) {
    struct comparison *at = user;
    struct fct_far_file *file = at->file;
    char sum[FCT_SUM_BYTES];
    if (at->piece == at->end_piece || !fct_is_sum(line))
        return fct_fail(err, FCT_ERR_IO, "the far side printed \"%s\" instead of a checksum", line);
    size_t piece = at->piece++;
    uint64_t n = piece_size(piece, at->end);
    fct_status status = fct_piece_sum(file->fd, file->path, piece_begin(piece), n, sum, err);
    if (status) return status;
    bool same = strcmp(sum, line) == 0;
    if (is_whole(file, piece, at->end))
        file->right[piece] = same;
    else
        at->tail_right = same;
    show(file, "comparing", n);
    return FCT_OK;
}

/* Compares pieces [first, end) of the file behind the shell variable. */
static fct_status compare_run(struct comparison *at, fct_far_shell *shell, const char *variable,
                              size_t first, size_t end, fct_error *err) {
    at->piece = first;
    at->end_piece = end;
    char *script = make_script(at->file, err,
                               "i=%zu; while [ $i -lt %zu ]; do\n"
                               "set -- $(dd if=\"$%s\" bs=%u skip=$i count=1 status=none | "
                               "sha256sum)\n"
                               "echo \"= $1\"; i=$((i + 1)); done\n",
                               first, end, variable, FCT_PIECE_BYTES);
    if (!script) return FCT_ERR_MEMORY;
    fct_status status = fct_far_call(shell, script, take_sum, at, err);
    fct_free(script);
    if (!status && at->piece != at->end_piece)
        status = fct_fail(err, FCT_ERR_IO, "the far side printed too few checksums");
    return status;
}

static void forget(struct fct_far_file *file) {
    memset(file->right, 0, file->n_pieces * sizeof *file->right);
}

/* Compares what is not known to be right of the first `end` bytes of $f or $p. A piece that is not
 * whole yet counts as right in *tail_right. */
static fct_status compare(struct fct_far_file *file, fct_far_shell *shell, const char *variable,
                          uint64_t end, bool *tail_right, fct_error *err) {
    struct comparison at = {.file = file, .end = end};
    size_t n = (size_t)((end + FCT_PIECE_BYTES - 1) / FCT_PIECE_BYTES);
    uint64_t total = 0;
    if (file->right_of != *variable) forget(file);
    file->right_of = *variable;
    for (size_t i = 0; i < n; i++)
        if (!file->right[i]) total += piece_size(i, end);
    step(file, total);
    for (size_t i = 0; i < n;) {
        size_t first = i;
        while (i < n && !file->right[i]) i++;
        if (i > first) {
            fct_status status = compare_run(&at, shell, variable, first, i, err);
            if (status) return status;
        } else {
            i++;
        }
    }
    if (tail_right) *tail_right = at.tail_right;
    return FCT_OK;
}

static size_t count_right(const struct fct_far_file *file) {
    size_t n = 0;
    for (size_t i = 0; i < file->n_pieces; i++) n += file->right[i];
    return n;
}

static uint64_t lesser(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* Is the file that has the final name the one, or near enough to begin with a copy of it? */
static fct_status compare_final(struct fct_far_file *file, fct_far_shell *shell, fct_error *err) {
    uint64_t end = lesser(file->final_bytes, file->size);
    if (!file->compared_final) {
        fct_status status = compare(file, shell, "f", end, NULL, err);
        if (status) return status;
    }
    size_t n = count_right(file);
    file->compared_final = true;
    file->unchanged = n == file->n_pieces && file->final_bytes == file->size;
    file->seeded = !file->unchanged && !file->has_part && n > file->n_pieces / 2;
    file->kept_bytes = end / FCT_PIECE_BYTES * FCT_PIECE_BYTES;
    if (is_whole(file, file->n_pieces - 1, end)) file->kept_bytes = end;
    return FCT_OK;
}

static fct_status compare_part(struct fct_far_file *file, fct_far_shell *shell, fct_error *err) {
    uint64_t end = lesser(file->part_bytes, file->size);
    bool tail_right = false;
    for (size_t i = 0; i < file->n_pieces; i++)
        if (!is_whole(file, i, end)) file->right[i] = false;
    fct_status status = compare(file, shell, "p", end, &tail_right, err);
    if (status) return status;
    size_t last = (size_t)(end / FCT_PIECE_BYTES);
    file->kept_bytes = end;
    if (last < file->n_pieces && !is_whole(file, last, end) && !tail_right)
        file->kept_bytes = piece_begin(last);
    return FCT_OK;
}

fct_status fct_far_file_look(struct fct_far_file *file, fct_far_shell *shell, fct_error *err) {
    file->has_final = file->has_part = file->unchanged = file->seeded = false;
    file->final_bytes = file->part_bytes = file->kept_bytes = 0;
    char *script = make_script(file, err, "%s", look_script);
    fct_status status = call(file, shell, script, take_sizes, err);
    bool near = file->has_final && (file->final_bytes == file->size || !file->has_part);
    if (!status && near && (!file->compared_final || file->right_of == 'f')) {
        status = compare_final(file, shell, err);
        if (status || file->unchanged || file->seeded) return status;
    }
    if (!status && file->has_part) return compare_part(file, shell, err);
    forget(file);
    file->kept_bytes = 0;
    return status;
}

/* ---- sending ---- */

/* A shell whose connection was lost may still wait for bytes, and those that come late would spoil
 * the part: it is ended first, with all that it runs. That it is the one is told by its number and
 * the time it began (the fields of /proc/PID/stat, of which ") " ends the second: the fifth is its
 * group, the 22nd its begin). */
static const char prepare_script[] =
    "mkdir -p -- \"$(dirname -- \"$f\")\" || exit 1\n"
    "if read -r who pid began 2>/dev/null <\"$o\"; then\n"
    "    if [ \"$again\" = 1 ] && [ \"$who\" != \"$id\" ]; then\n"
    "        echo \"$p: another deploy took it over\"; exit 1\n"
    "    fi\n"
    "    case $pid in '' | *[!0-9]*) pid=none ;; esac\n"
    "    if [ \"$pid\" != $$ ] && read -r s 2>/dev/null <\"/proc/$pid/stat\"; then\n"
    "        set -- ${s##*\") \"}; g=$3; shift 19\n"
    "        if [ \"$1\" = \"$began\" ]; then\n"
    "            if [ \"$g\" = \"$pid\" ]; then kill -s TERM -- \"-$pid\"; else kill \"$pid\"; fi\n"
    "            n=0; while [ -d \"/proc/$pid\" ] && [ $n -lt 50 ]; do sleep 0.1; n=$((n + 1)); "
    "done\n"
    "        fi\n"
    "    fi\n"
    "fi\n"
    "began=; if read -r s 2>/dev/null </proc/$$/stat; then\n"
    "    set -- ${s##*\") \"}; shift 19; began=$1\n"
    "fi\n"
    "echo \"$id $$ $began\" >\"$o\" || exit 1\n"
    /* Piece by piece, as a slow disk takes long, and each is a sign of life. */
    "if [ $seed = 1 ]; then\n"
    "    umask 077; : >\"$p\" || exit 1\n"
    "    n=0; while [ $((n * 4194304)) -lt $keep ]; do\n"
    "        dd if=\"$f\" bs=4194304 skip=$n count=8 status=none >>\"$p\" || exit 1\n"
    "        echo '= copied'; n=$((n + 8))\n"
    "    done\n"
    "fi\n"
    "if [ -f \"$p\" ]; then chmod 600 -- \"$p\" && truncate -s $keep -- \"$p\"; fi\n";

static fct_status prepare(struct fct_far_file *file, fct_far_shell *shell, fct_error *err) {
    char *script = make_script(file, err, "again=%d; seed=%d; keep=%llu\n%s", file->owned,
                               file->seeded, (unsigned long long)file->kept_bytes, prepare_script);
    fct_status status = call(file, shell, script, NULL, err);
    if (!status) file->owned = true;
    return status;
}

static void count_sent(void *user, uint64_t n_bytes) {
    struct fct_far_file *file = user;
    file->sent_bytes += n_bytes;
}

static void show_taken(void *user, uint64_t n_bytes) { show(user, "sending", n_bytes); }

static fct_status send_bytes(struct fct_far_file *file, fct_far_shell *shell, char *script,
                             uint64_t begin, uint64_t n_bytes, fct_error *err) {
    const struct fct_far_source source = {.fd = file->fd,
                                          .name = file->path,
                                          .offset = begin,
                                          .n_bytes = n_bytes,
                                          .sent = count_sent,
                                          .taken = show_taken,
                                          .user = file};
    if (!script) return FCT_ERR_MEMORY;
    fct_status status = fct_far_send(shell, script, &source, err);
    fct_free(script);
    return status;
}

static fct_status mend(struct fct_far_file *file, fct_far_shell *shell, size_t piece,
                       fct_error *err) {
    uint64_t n = piece_size(piece, file->size);
    char *script = make_script(file, err,
                               "%s{ take %llu | dd of=\"$p\" bs=%u seek=%zu conv=notrunc "
                               "iflag=fullblock status=none; } 3>&1\n",
                               fct_far_take, (unsigned long long)n, FCT_PIECE_BYTES, piece);
    return send_bytes(file, shell, script, piece_begin(piece), n, err);
}

static fct_status append(struct fct_far_file *file, fct_far_shell *shell, fct_error *err) {
    uint64_t n = file->size - file->kept_bytes;
    if (n == 0) return FCT_OK;
    char *script = make_script(
        file, err,
        "umask 077; : >>\"$p\" || exit 1\n"
        "if [ \"$(wc -c <\"$p\")\" -ne %llu ]; then echo \"$p: another deploy is at it\"; exit 1; "
        "fi\n"
        "%stake %llu 3>&1 >>\"$p\"\n",
        (unsigned long long)file->kept_bytes, fct_far_take, (unsigned long long)n);
    return send_bytes(file, shell, script, file->kept_bytes, n, err);
}

fct_status fct_far_file_send(struct fct_far_file *file, fct_far_shell *shell, fct_error *err) {
    uint64_t kept = file->kept_bytes;
    fct_status status = file->unchanged ? FCT_OK : prepare(file, shell, err);
    if (status || file->unchanged) return status;
    step(file, fct_far_file_missing(file));
    for (size_t i = 0; !status && i < file->n_pieces && is_whole(file, i, kept); i++)
        if (!file->right[i]) status = mend(file, shell, i, err);
    if (!status) status = append(file, shell, err);
    if (!status) status = compare(file, shell, "p", file->size, NULL, err);
    if (!status) status = check_same(file, err);
    if (!status && count_right(file) != file->n_pieces)
        status = fct_fail(err, FCT_ERR_FORMAT, "%s: %zu of %zu pieces arrived damaged", file->name,
                          file->n_pieces - count_right(file), file->n_pieces);
    return status;
}

/* ---- the end ---- */

static fct_status take_words(void *user, const char *line, fct_error *err) {
    const struct fct_far_file *file = user;
    if (strncmp(line, "said 0 facet ", 13) == 0) return FCT_OK;
    const char *words = strncmp(line, "said ", 5) == 0 ? strchr(line + 5, ' ') : NULL;
    return fct_fail(err, FCT_ERR_UNSUPPORTED, "%s does not run there: %s", file->path,
                    words && words[1] ? words + 1 : line);
}

fct_status fct_far_file_try(struct fct_far_file *file, fct_far_shell *shell, fct_error *err) {
    char *script = make_script(file, err,
                               "chmod 700 -- \"$p\" || exit 1\n"
                               "v=$(\"$p\" --version 2>&1); s=$?\n"
                               "echo \"= said $s $(printf '%%s\\n' \"$v\" | tail -n 1)\"\n");
    return call(file, shell, script, take_words, err);
}

/* Gigabytes may be waiting to be written: as long as they become fewer, that is told. */
static const char sync_script[] =
    "left() {\n"
    "    least=; while kill -0 $$ 2>/dev/null; do\n"
    "        n=0; while read -r k v u; do\n"
    "            case $k in Dirty: | Writeback:) n=$((n + v)) ;; esac\n"
    "        done </proc/meminfo\n"
    "        if [ -z \"$least\" ] || [ $n -lt $least ]; then least=$n; echo \"= left $n\"; fi\n"
    "        sleep 1\n"
    "    done\n"
    "}\n"
    "if [ -r /proc/meminfo ]; then left & w=$!; else w=; fi\n"
    "sync -- \"$p\"; s=$?\n"
    "[ -z \"$w\" ] || { kill $w; wait $w; } 2>/dev/null\n"
    "[ $s = 0 ] || exit 1\n";

fct_status fct_far_file_finish(struct fct_far_file *file, fct_far_shell *shell, fct_error *err) {
    const char *mode = file->program ? "755" : "644";
    char *script =
        file->unchanged
            ? make_script(file, err, "chmod %s -- \"$f\"; rm -f -- \"$p\" \"$o\"\n", mode)
            : make_script(file, err,
                          "if [ \"$(wc -c <\"$p\")\" -ne %llu ]; then echo \"$p: has another "
                          "size\"; exit 1; fi\n"
                          "%schmod %s -- \"$p\" && sync -- \"$p\" && mv -fT -- \"$p\" \"$f\" &&\n"
                          "sync -- \"$(dirname -- \"$f\")\" && rm -f -- \"$o\"\n",
                          (unsigned long long)file->size, sync_script, mode);
    return call(file, shell, script, NULL, err);
}
