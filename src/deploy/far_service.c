/* far_service.c - the systemd units that answer prompts on a socket of the far side.
 *
 * A connection is a prompt: facet reads it to its end and writes the answer back. The model is
 * mapped, so what one answer has read from the disk the next finds in memory. */
#include "deploy/far_service.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "deploy/deploy.h"
#include "deploy/shell_words.h"

#define PROGRAM "/usr/local/bin/facet"

static const char socket_unit[] = "# Written by facet deploy --service.\n"
                                  "[Unit]\n"
                                  "Description=Prompts for facet, one a connection\n"
                                  "Documentation=man:facet(1)\n"
                                  "\n"
                                  "[Socket]\n"
                                  "ListenStream=" FCT_DEPLOY_SOCKET "\n"
                                  "SocketMode=0660\n"
                                  "SocketUser=@USER@\n"
                                  "Accept=yes\n"
                                  "MaxConnections=2\n"
                                  "\n"
                                  "[Install]\n"
                                  "WantedBy=sockets.target\n";

/* What facet needs: to read its model and itself, /proc/meminfo, and threads. It has no network, no
 * devices, no home folders, and nowhere to write. */
static const char service_unit[] = "# Written by facet deploy --service.\n"
                                   "[Unit]\n"
                                   "Description=facet answers a prompt\n"
                                   "Documentation=man:facet(1)\n"
                                   "CollectMode=inactive-or-failed\n"
                                   "\n"
                                   "[Service]\n"
                                   "ExecStart=" PROGRAM " run --quiet@MODEL@\n"
                                   "StandardInput=socket\n"
                                   "StandardOutput=socket\n"
                                   "StandardError=journal\n"
                                   "RuntimeMaxSec=30min\n"
                                   "User=facet\n"
                                   "DynamicUser=yes\n"
                                   "MemoryHigh=80%\n"
                                   "MemoryMax=90%\n"
                                   "MemorySwapMax=0\n"
                                   "TasksMax=64\n"
                                   "OOMPolicy=kill\n"
                                   "Nice=5\n"
                                   "UMask=0077\n"
                                   "NoNewPrivileges=yes\n"
                                   "CapabilityBoundingSet=\n"
                                   "AmbientCapabilities=\n"
                                   "ProtectSystem=strict\n"
                                   "ProtectHome=yes\n"
                                   "ProtectProc=invisible\n"
                                   "ProtectClock=yes\n"
                                   "ProtectHostname=yes\n"
                                   "ProtectKernelLogs=yes\n"
                                   "ProtectKernelModules=yes\n"
                                   "ProtectKernelTunables=yes\n"
                                   "ProtectControlGroups=yes\n"
                                   "PrivateTmp=yes\n"
                                   "PrivateDevices=yes\n"
                                   "PrivateNetwork=yes\n"
                                   "IPAddressDeny=any\n"
                                   "RestrictAddressFamilies=AF_UNIX\n"
                                   "RestrictNamespaces=yes\n"
                                   "RestrictRealtime=yes\n"
                                   "RestrictSUIDSGID=yes\n"
                                   "LockPersonality=yes\n"
                                   "MemoryDenyWriteExecute=yes\n"
                                   "RemoveIPC=yes\n"
                                   "SystemCallArchitectures=native\n"
                                   "SystemCallFilter=@system-service\n"
                                   "SystemCallFilter=~@privileged @resources\n"
                                   "SystemCallErrorNumber=EPERM\n";

char *fct_service_socket_unit(fct_error *err) {
    return fct_copy_text(socket_unit, sizeof socket_unit - 1, err);
}

/* A word of ExecStart (systemd.service(5), "command lines"): quoted, with its own quotes, escapes,
 * specifiers and variables taken literally. */
static void add_word(struct fct_text *unit, const char *word) {
    fct_text_puts(unit, "\"");
    for (; *word; word++) {
        if (*word == '"' || *word == '\\') fct_text_puts(unit, "\\");
        if (*word == '%' || *word == '$') fct_text_add(unit, word, 1);
        fct_text_add(unit, word, 1);
    }
    fct_text_puts(unit, "\"");
}

char *fct_service_unit(const char *model, fct_error *err) {
    struct fct_text unit = {0};
    const char *at = strstr(service_unit, "@MODEL@");
    fct_text_add(&unit, service_unit, (size_t)(at - service_unit));
    if (model) {
        fct_text_puts(&unit, " -m ");
        add_word(&unit, model);
    }
    fct_text_puts(&unit, at + strlen("@MODEL@"));
    return fct_text_finish(&unit, NULL, err);
}

/* Nobody is there to type a password into sudo: what would the person have to do? */
static fct_status no_root(const struct fct_board *board, fct_error *err) {
    if (!*board->sudo_says)
        return fct_fail(err, FCT_ERR_UNSUPPORTED,
                        "--service: needs root there, and there is no sudo: log in as root");
    return fct_fail(
        err, FCT_ERR_UNSUPPORTED,
        "--service: needs root there, but \"%s\": give the command on a terminal, where it "
        "can ask for the password, or log in as root, or let %s use sudo without one, with "
        "these words there: echo '%s ALL=(ALL) NOPASSWD: ALL' | sudo tee "
        "/etc/sudoers.d/facet-deploy (and remove that file afterwards)",
        board->sudo_says, board->user, board->user);
}

fct_status fct_service_check(const struct fct_board *board, const char *folder, fct_error *err) {
    if (!board->systemd)
        return fct_fail(err, FCT_ERR_UNSUPPORTED,
                        "--service: the machine there does not run systemd");
    if (!board->root && !board->sudo) return no_root(board, err);
    if (folder[0] != '/' || strncmp(folder, "/home/", 6) == 0 || strncmp(folder, "/root", 5) == 0 ||
        strncmp(folder, "/tmp", 4) == 0 || strncmp(folder, "/run/user", 9) == 0)
        return fct_fail(err, FCT_ERR_ARGUMENT,
                        "--folder %s: the service sees no home folder and no /tmp; leave it out "
                        "for " FCT_DEPLOY_SERVICE_FOLDER,
                        folder);
    return FCT_OK;
}

static void assign(struct fct_text *script, const char *variable, const char *value) {
    fct_text_printf(script, "%s=", variable);
    fct_shell_word_add(script, value);
    fct_text_puts(script, "\n");
}

/* A password goes from one process over there to the other, never through a command line. */
static void begin_as(struct fct_text *script, const struct fct_far_root *as) {
    assign(script, "r", as->root);
    assign(script, "pw", as->password);
    fct_text_puts(script, "as() {\n"
                          "    if [ \"$(id -u)\" = 0 ]; then \"$@\"\n"
                          "    elif [ -z \"$pw\" ]; then sudo -n \"$@\"\n"
                          "    else printf '%s\\n' \"$pw\" | sudo -S -p '' \"$@\"; fi\n"
                          "}\n");
}

static fct_status take_yes(void *user, const char *line, fct_error *err) {
    (void)err;
    if (strcmp(line, "yes") == 0) *(bool *)user = true;
    return FCT_OK;
}

fct_status fct_service_try_password(fct_far_shell *shell, const char *password, bool *taken,
                                    fct_error *err) {
    struct fct_text script = {0};
    *taken = false;
    begin_as(&script, &(struct fct_far_root){"", password});
    fct_text_puts(&script, "if as true 2>/dev/null; then echo '= yes'; fi\n");
    return fct_far_call_text(shell, &script, take_yes, taken, err);
}

fct_status fct_service_make_folder(fct_far_shell *shell, const struct fct_far_root *as,
                                   const char *folder, fct_error *err) {
    struct fct_text script = {0};
    begin_as(&script, as);
    fct_text_puts(&script, "d=$r");
    fct_shell_word_add(&script, folder);
    fct_text_puts(&script, "\nif [ ! -d \"$d\" ]; then\n"
                           "as mkdir -p -- \"$d\" && as chown -- \"$(id -u)\" \"$d\" && "
                           "as chmod 755 -- \"$d\"\n"
                           "fi\n");
    return fct_far_call_text(shell, &script, NULL, NULL, err);
}

/* A file that root owns appears whole; one that is the same already stays. */
static const char install_script[] =
    "put() {\n" /* FROM TO MODE */
    "    as cp -- \"$1\" \"$2.new\" && as chmod \"$3\" -- \"$2.new\" &&\n"
    "        as sync -- \"$2.new\" && as mv -fT -- \"$2.new\" \"$2\" || exit 1\n"
    "}\n"
    "sum() { sha256sum 2>/dev/null <\"$1\"; }\n"
    "umask 077; t=$(mktemp -d) || exit 1; trap 'rm -rf \"$t\"' EXIT\n"
    "u=$(id -un); printf '%s' \"$socket\" >\"$t/facet.socket\" || exit 1\n"
    "while IFS= read -r l; do case $l in SocketUser=*) l=SocketUser=$u ;; esac; echo \"$l\"; done "
    "<\"$t/facet.socket\" >\"$t/s\"; mv -f \"$t/s\" \"$t/facet.socket\"\n"
    "printf '%s' \"$service\" >\"$t/facet@.service\" || exit 1\n"
    "for n in facet.socket facet@.service; do\n"
    "    if [ \"$(sum \"$t/$n\")\" != \"$(sum \"$r/etc/systemd/system/$n\")\" ]; then\n"
    "        put \"$t/$n\" \"$r/etc/systemd/system/$n\" 644; changed=yes\n"
    "    fi\n"
    "done\n"
    "if [ -n \"$b\" ] && [ \"$(sum \"$b\")\" != \"$(sum \"$r" PROGRAM "\")\" ]; then put \"$b\" "
    "\"$r" PROGRAM "\" 755; fi\n"
    "[ -x \"$r" PROGRAM "\" ] || { echo 'there is no " PROGRAM " there'; exit 1; }\n"
    "if [ -n \"$changed\" ]; then as systemctl daemon-reload || exit 1; fi\n"
    "as systemctl enable --quiet facet.socket || exit 1\n"
    "if [ -n \"$changed\" ]; then as systemctl restart facet.socket; else as systemctl start "
    "facet.socket; fi\n";

fct_status fct_service_install(fct_far_shell *shell, const struct fct_far_root *as, const char *bin,
                               const char *model, fct_error *err) {
    struct fct_text script = {0};
    char *socket = fct_service_socket_unit(err), *service = fct_service_unit(model, err);
    fct_status status = socket && service ? FCT_OK : FCT_ERR_MEMORY;
    if (!status) {
        begin_as(&script, as);
        assign(&script, "socket", socket);
        assign(&script, "service", service);
        fct_text_puts(&script, "changed=; b=");
        if (bin) {
            fct_shell_path_add(&script, bin);
            fct_text_puts(&script, "/facet");
        }
        fct_text_printf(&script, "\n%s", install_script);
        status = fct_far_call_text(shell, &script, NULL, NULL, err);
    }
    fct_free(socket);
    fct_free(service);
    return status;
}
