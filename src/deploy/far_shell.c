/* far_shell.c - a shell on another machine, over the system's ssh: scripts and bytes in, lines out.
 */
#include "deploy/far_shell.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "deploy/child.h"

enum {
    LINE_BYTES = 1024,
    READ_BYTES = 1 << 16,
    CHUNK_BYTES = 1 << 17,
    NOISE_LIMIT = 1 << 20, /* what a login may print before our shell runs */
    FIXED_ARGUMENTS = 32,
    LOOK_MILLISECONDS = 200,
    END_SECONDS = 2
};

/* What the login shell runs, whichever it is: between single quotes sh, csh and fish agree on this
 * text. head takes the bytes of a script and no more (read takes a line byte by byte), so that what
 * follows is the script's input. Each script is announced with the key: bytes of a file can never
 * be taken for one. */
#define LOOP                                                                                       \
    "exec sh -c 'LC_ALL=C; export LC_ALL; echo \"= hello $0\"; "                                   \
    "while read -r k n && [ \"$k\" = \"$0\" ]; do eval \"$(head -c \"$n\")\"; done' "

/* One end of the conversation, gathered into lines. */
struct lines {
    char line[LINE_BYTES];
    size_t n;
    char last[LINE_BYTES]; /* the last one that is not empty */
};

struct fct_far_shell {
    const struct fct_far_options *options;
    struct fct_child ssh;
    char key[FCT_KEY_BYTES];
    bool lost, greeted, silent;
    int n_looks; /* in vain, since bytes last went or came */
    struct lines out, err;
    size_t n_noise;
    /* of the running call */
    fct_far_line_fn line;
    void *user;
    fct_status line_status;
    fct_error *line_err;
    bool ended;
    int exit_code;
};

/* ---- what comes back ---- */

static bool begins_with(const char *text, const char *begin) {
    return strncmp(text, begin, strlen(begin)) == 0;
}

static void take_line(fct_far_shell *shell, const char *line) {
    if (!shell->greeted) {
        shell->greeted = begins_with(line, "= hello ") && strcmp(line + 8, shell->key) == 0;
    } else if (begins_with(line, "= end ")) {
        shell->ended = true;
        shell->exit_code = atoi(line + 6);
    } else if (begins_with(line, "= ")) {
        if (shell->line && !shell->line_status)
            shell->line_status = shell->line(shell->user, line + 2, shell->line_err);
    } else if (*line) {
        snprintf(shell->out.last, LINE_BYTES, "%s", line);
    }
}

/* Gathers bytes into lines; what is longer than a line can be is cut. */
static void take_bytes(fct_far_shell *shell, struct lines *lines, const char *bytes, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (bytes[i] != '\n') {
            if (lines->n < LINE_BYTES - 1 && bytes[i] != '\r' && bytes[i])
                lines->line[lines->n++] = bytes[i];
            continue;
        }
        lines->line[lines->n] = 0;
        lines->n = 0;
        if (lines == &shell->out)
            take_line(shell, lines->line);
        else if (*lines->line)
            snprintf(lines->last, LINE_BYTES, "%s", lines->line);
    }
}

/* Reads what is there; false at the end. */
static bool read_some(fct_far_shell *shell, int fd, struct lines *lines) {
    char bytes[READ_BYTES];
    ssize_t n = read(fd, bytes, sizeof bytes);
    if (n < 0) return errno == EINTR || errno == EAGAIN;
    if (n > 0) {
        shell->n_looks = 0;
        take_bytes(shell, lines, bytes, (size_t)n);
    }
    if (!shell->greeted) shell->n_noise += (size_t)n;
    return n > 0 && shell->n_noise < NOISE_LIMIT;
}

/* ---- the connection ---- */

static fct_status too_silent(const fct_far_shell *shell, fct_error *err) {
    return fct_fail(err, FCT_ERR_IO,
                    shell->greeted
                        ? "%s: the connection is there, but nothing came from it for %g seconds: "
                          "a command or a disk hangs there (--timeout)"
                        : "%s: nobody was logged in and no shell answered for %g seconds "
                          "(--timeout)",
                    shell->options->destination, shell->options->timeout_seconds);
}

/* Failing because the connection is gone: ssh's last words say why. Or it is there, and silent. */
static fct_status lost(fct_far_shell *shell, fct_error *err) {
    shell->lost = !shell->silent;
    struct pollfd words = {.fd = shell->ssh.err, .events = POLLIN};
    while (words.fd >= 0 && poll(&words, 1, LOOK_MILLISECONDS) > 0 &&
           read_some(shell, words.fd, &shell->err))
        continue;
    fct_child_end(&shell->ssh, END_SECONDS);
    if (shell->options->cancelled && shell->options->cancelled(shell->options->user))
        return fct_fail(err, FCT_ERR_CANCELLED, "stopped");
    if (shell->silent) return too_silent(shell, err);
    const char *why = *shell->err.last ? shell->err.last
                      : shell->greeted ? "the connection ended"
                                       : "no shell answered there";
    return fct_fail(err, FCT_ERR_IO, "%s: %s", shell->options->destination, why);
}

/* Looks are counted, not time: a person may have stopped this program for a while. */
static bool is_silent(fct_far_shell *shell) {
    double limit = shell->options->timeout_seconds;
    shell->n_looks++;
    shell->silent = limit > 0 && shell->n_looks * (LOOK_MILLISECONDS / 1e3) > limit;
    return shell->silent;
}

/* Waits until something can be read (and is read), or written; false: the connection is gone, or
 * silent for too long. */
static bool wait_for(fct_far_shell *shell, bool *writable) {
    struct pollfd ends[3] = {
        {.fd = shell->ssh.out, .events = POLLIN},
        {.fd = shell->ssh.err, .events = POLLIN},
        {.fd = writable ? shell->ssh.in : -1, .events = POLLOUT},
    };
    int n_ends = poll(ends, 3, LOOK_MILLISECONDS);
    if (n_ends < 0) return errno == EINTR;
    if (shell->options->cancelled && shell->options->cancelled(shell->options->user)) return false;
    if (ends[1].revents && !read_some(shell, shell->ssh.err, &shell->err)) {
        close(shell->ssh.err);
        shell->ssh.err = -1;
    }
    if (ends[0].revents) return read_some(shell, shell->ssh.out, &shell->out);
    if (ends[2].revents & (POLLERR | POLLHUP)) return false;
    if (writable) *writable = ends[2].revents & POLLOUT;
    return n_ends > 0 || !is_silent(shell);
}

static fct_status write_all(fct_far_shell *shell, const char *bytes, size_t n_bytes,
                            fct_error *err) {
    while (n_bytes) {
        bool writable = false;
        if (!wait_for(shell, &writable)) return lost(shell, err);
        if (shell->ended) return FCT_OK; /* failed before it had read all */
        if (!writable) continue;
        ssize_t n = write(shell->ssh.in, bytes, n_bytes);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
        if (n < 0) {
            while (wait_for(shell, NULL)) continue; /* its reasons may be on their way */
            return shell->ended ? FCT_OK : lost(shell, err);
        }
        shell->n_looks = 0;
        bytes += n;
        n_bytes -= (size_t)n;
    }
    return FCT_OK;
}

fct_status fct_key_make(char key[FCT_KEY_BYTES], fct_error *err) {
    unsigned char random[(FCT_KEY_BYTES - 1) / 2];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return fct_fail_errno(err, "no random numbers");
    for (size_t i = 0; i < sizeof random; i++) snprintf(key + 2 * i, 3, "%02x", random[i]);
    return FCT_OK;
}

/* What a person's configuration may ask of ssh, but cannot be had here: a command of its own,
 * forwarded ports that another ssh holds already. A link that says nothing for 20 seconds is
 * cut. */
static fct_status start_ssh(fct_far_shell *shell, fct_error *err) {
    static const char *const fixed[] = {
        "-T",
        "-o",
        "RemoteCommand=none",
        "-o",
        "ClearAllForwardings=yes",
        "-o",
        "ConnectTimeout=20",
        "-o",
        "ServerAliveInterval=5",
        "-o",
        "ServerAliveCountMax=4",
    };
    const struct fct_far_options *options = shell->options;
    size_t n = 0, n_options = options->n_ssh_options;
    char port[16], command[sizeof LOOP + FCT_KEY_BYTES];
    const char **arguments = fct_new_array(FIXED_ARGUMENTS + 2 * n_options, sizeof *arguments, err);
    if (!arguments) return FCT_ERR_MEMORY;
    arguments[n++] = "ssh";
    for (size_t i = 0; i < n_options; i++) { /* the first value of an option counts */
        arguments[n++] = "-o";
        arguments[n++] = options->ssh_options[i];
    }
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) arguments[n++] = fixed[i];
    if (options->port) {
        snprintf(port, sizeof port, "%d", options->port);
        arguments[n++] = "-p";
        arguments[n++] = port;
    }
    arguments[n++] = "--";
    arguments[n++] = options->destination;
    snprintf(command, sizeof command, LOOP "%s", shell->key);
    arguments[n++] = command;
    fct_status status = fct_child_start(&shell->ssh, arguments, true, err);
    fct_free(arguments);
    if (status) return status;
    if (fcntl(shell->ssh.in, F_SETFL, O_NONBLOCK)) return fct_fail_errno(err, "ssh");
    return FCT_OK;
}

fct_far_shell *fct_far_open(const struct fct_far_options *options, fct_error *err) {
    fct_far_shell *shell = fct_new(sizeof *shell, err);
    if (!shell) return NULL;
    shell->options = options;
    shell->ssh = FCT_CHILD_NONE;
    fct_status status = fct_key_make(shell->key, err);
    if (!status) status = start_ssh(shell, err);
    while (!status && !shell->greeted)
        if (!wait_for(shell, NULL) && !shell->greeted) status = lost(shell, err);
    if (!status) return shell;
    fct_far_close(shell);
    return NULL;
}

void fct_far_close(fct_far_shell *shell) {
    if (!shell) return;
    fct_child_end(&shell->ssh, END_SECONDS);
    fct_free(shell);
}

bool fct_far_is_lost(const fct_far_shell *shell) { return !shell || shell->lost; }

/* ---- calls ---- */

/* With input that was not read to its end there is no more telling where scripts begin: then the
 * shell over there ends. */
static fct_status begin(fct_far_shell *shell, const char *script, bool with_input, fct_error *err) {
    struct fct_text body = {0}, head = {0};
    fct_text_printf(&body, "( %s\n) 2>&1%s; s=$?; echo \"= end $s\"", script,
                    with_input ? "" : " </dev/null");
    if (with_input) fct_text_puts(&body, "; [ $s = 0 ] || exit 1");
    fct_text_printf(&head, "%s %zu\n", shell->key, body.size);
    shell->ended = false;
    shell->n_looks = 0;
    shell->line_status = FCT_OK;
    shell->out.last[0] = 0;
    fct_status status = FCT_OK;
    if (head.failed || body.failed) status = fct_fail(err, FCT_ERR_MEMORY, "no memory");
    if (!status) status = write_all(shell, head.data, head.size, err);
    if (!status) status = write_all(shell, body.data, body.size, err);
    fct_text_free(&head);
    fct_text_free(&body);
    return status;
}

static fct_status finish(fct_far_shell *shell, fct_error *err) {
    while (!shell->ended && !shell->line_status)
        if (!wait_for(shell, NULL) && !shell->ended) return lost(shell, err);
    if (shell->line_status || shell->exit_code == 0) return shell->line_status;
    const char *why = *shell->out.last ? shell->out.last : "a command failed there";
    return fct_fail(err, FCT_ERR_IO, "%s: %s", shell->options->destination, why);
}

fct_status fct_far_call(fct_far_shell *shell, const char *script, fct_far_line_fn line, void *user,
                        fct_error *err) {
    shell->line = line;
    shell->user = user;
    shell->line_err = err;
    fct_status status = begin(shell, script, false, err);
    return status ? status : finish(shell, err);
}

fct_status fct_far_call_text(fct_far_shell *shell, struct fct_text *script, fct_far_line_fn line,
                             void *user, fct_error *err) {
    char *text = fct_text_finish(script, NULL, err);
    if (!text) return FCT_ERR_MEMORY;
    fct_status status = fct_far_call(shell, text, line, user, err);
    fct_free(text);
    return status;
}

/* Blocks are half a window, so that the next is on its way while one is written. */
const char fct_far_take[] = "take() { n=$1; while [ \"$n\" -gt 0 ]; do\n"
                            "b=524288; [ \"$n\" -ge $b ] || b=$n\n"
                            "head -c $b || return 1\n"
                            "echo \"= took $b\" >&3; n=$((n - b)); done; }\n";

struct sending {
    const struct fct_far_source *source;
    uint64_t taken;
};

static fct_status take_taken(void *user, const char *line, fct_error *err) {
    struct sending *sending = user;
    unsigned long long n;
    if (sscanf(line, "took %llu", &n) != 1 || n > sending->source->n_bytes - sending->taken)
        return fct_fail(err, FCT_ERR_IO, "the far side printed \"%s\" while it was sent to", line);
    sending->taken += n;
    sending->source->taken(sending->source->user, n);
    return FCT_OK;
}

static fct_status send_chunk(fct_far_shell *shell, const struct fct_far_source *source,
                             uint64_t done, char *chunk, size_t n, fct_error *err) {
    fct_status status =
        fct_file_read_at(source->fd, source->name, source->offset + done, chunk, n, err);
    if (!status) status = write_all(shell, chunk, n, err);
    if (!status) source->sent(source->user, n);
    return status;
}

fct_status fct_far_send(fct_far_shell *shell, const char *script,
                        const struct fct_far_source *source, fct_error *err) {
    struct sending sending = {source, 0};
    char *chunk = fct_new(CHUNK_BYTES, err);
    if (!chunk) return FCT_ERR_MEMORY;
    shell->line = take_taken;
    shell->user = &sending;
    shell->line_err = err;
    fct_status status = begin(shell, script, true, err);
    for (uint64_t done = 0; !status && !shell->ended && done < source->n_bytes;) {
        uint64_t left = source->n_bytes - done;
        size_t n = left < CHUNK_BYTES ? (size_t)left : CHUNK_BYTES;
        if (shell->line_status) break;
        if (done + n <= sending.taken + FCT_FAR_WINDOW) {
            status = send_chunk(shell, source, done, chunk, n, err);
            done += n;
        } else if (!wait_for(shell, NULL) && !shell->ended) {
            status = lost(shell, err);
        }
    }
    fct_free(chunk);
    return status ? status : finish(shell, err);
}
