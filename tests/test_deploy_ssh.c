/* test_deploy_ssh.c - `facet deploy` over a real sshd on the loopback, whose link is cut and whose
 * sender is killed. SKIP without sshd (openssh-server). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

#include "cutting_proxy.h"
#include "deploy_fixture.h"

#define SSHD "/usr/sbin/sshd"
#define MEGABYTE 1000000ull
enum { SKIP = 77, PIECE = 4 << 20, HANDSHAKE = 100000, N_KILLS = 6 };

static char port[16], key[128], hung_key[128], known[128];
static pid_t sshd;

/* ---- an sshd of our own ---- */

static bool make_key(const char *name) {
    char command[512];
    snprintf(command, sizeof command, "ssh-keygen -q -t ed25519 -N '' -f '%s'", scratch_path(name));
    return system(command) == 0;
}

/* Its privileges are separated into this folder, which systemd makes elsewhere. */
static bool may_run_sshd(void) {
    return geteuid() != 0 || mkdir("/run/sshd", 0755) == 0 || access("/run/sshd", F_OK) == 0;
}

static bool write_configuration(int listen_port) {
    FILE *file = fopen(scratch_path("sshd_config"), "w");
    if (!file) return false;
    fprintf(file,
            "Port %d\nListenAddress 127.0.0.1\nHostKey %s/host\n"
            "AuthorizedKeysFile %s/user.pub %s/hung.pub\n"
            "UsePAM no\nStrictModes no\nPidFile none\nPasswordAuthentication no\n"
            "PermitRootLogin yes\n",
            listen_port, scratch_folder, scratch_folder, scratch_folder);
    return fclose(file) == 0;
}

static int start(void **state) {
    int listen_port = 0;
    if (scratch_make(state) || !make_key("host") || !make_key("user") || !make_key("hung") ||
        !may_run_sshd())
        return -1;
    close(proxy_listen(&listen_port)); /* a port that is free */
    if (!write_configuration(listen_port)) return -1;
    const char *arguments[] = {SSHD, "-D", "-e", "-f", scratch_path("sshd_config"), NULL};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 2, scratch_path("sshd_log"), O_WRONLY | O_CREAT,
                                     0600);
    if (posix_spawn(&sshd, SSHD, &actions, NULL, (char *const *)(uintptr_t)arguments, environ))
        return -1;
    posix_spawn_file_actions_destroy(&actions);
    for (int i = 0, fd = -1; i < 200 && fd < 0; i++) {
        const struct timespec moment = {0, 50000000};
        if ((fd = proxy_connect(listen_port)) >= 0) close(fd);
        if (fd < 0) nanosleep(&moment, NULL);
    }
    if (!proxy_start(listen_port)) return -1;
    snprintf(port, sizeof port, "%d", proxy.port);
    snprintf(key, sizeof key, "IdentityFile=%s/user", scratch_folder);
    snprintf(hung_key, sizeof hung_key, "IdentityFile=%s/hung", scratch_folder);
    snprintf(known, sizeof known, "UserKnownHostsFile=%s/known", scratch_folder);
    return 0;
}

static int stop(void **state) {
    proxy_stop();
    kill(sshd, SIGTERM);
    waitpid(sshd, NULL, 0);
    return scratch_remove(state);
}

#define OVER_SSH_AS(key)                                                                           \
    "127.0.0.1", "--port", port, "-o", key, "-o", known, "-o", "IdentitiesOnly=yes", "-o",         \
        "StrictHostKeyChecking=accept-new", "-o", "LogLevel=ERROR", "--retry-delay", "0.1"

#define OVER_SSH OVER_SSH_AS(key)

static pid_t deploy_begin(const char *first, ...) {
    va_list more;
    va_start(more, first);
    pid_t pid = deploy_start(first, more);
    va_end(more);
    return pid;
}

static uint64_t sent_since(uint64_t before) { return proxy.n_up - before; }

/* ---- tests ---- */

static void program_and_model_arrive_and_answer(void **state) {
    (void)state;
    char command[1024], answer[256] = "";
    assert_ended(deploy(OVER_SSH, MODELS "/demo.facet", "--bin", scratch_path("far/bin"),
                        "--folder", scratch_path("far/models"), NULL),
                 0);
    assert_same_file(deploy_program(), scratch_path("far/bin/facet"));
    snprintf(command, sizeof command,
             "'%s' run --quiet -m '%s' 'The capital of France is' 2>/dev/null",
             scratch_path("far/bin/facet"), scratch_path("far/models/demo.facet"));
    FILE *run = popen(command, "r");
    assert_non_null(run);
    assert_non_null(fgets(answer, sizeof answer, run));
    assert_int_equal(pclose(run), 0);
    assert_non_null(strstr(answer, "Paris"));
}

static void what_is_there_is_not_sent_again(void **state) {
    (void)state;
    struct stat before, after;
    uint64_t sent = proxy.n_up;
    assert_int_equal(stat(scratch_path("far/bin/facet"), &before), 0);
    assert_ended(deploy(OVER_SSH, MODELS "/demo.facet", "--bin", scratch_path("far/bin"),
                        "--folder", scratch_path("far/models"), NULL),
                 0);
    assert_int_equal(stat(scratch_path("far/bin/facet"), &after), 0);
    assert_true(before.st_ino == after.st_ino && before.st_mtime == after.st_mtime);
    assert_told("is there already");
    assert_true(sent_since(sent) < HANDSHAKE);
}

static void a_link_that_is_cut_ten_times_costs_less_than_a_tenth(void **state) {
    (void)state;
    const uint64_t size = 200 * MEGABYTE;
    const char *big = deploy_big_program("big", size);
    uint64_t before = proxy.n_up;
    proxy.n_cuts = 10;
    proxy.n_cut = 0;
    proxy.cut_every = size / 11;
    assert_ended(deploy(OVER_SSH, "--no-model", "--program", big, "--bin", scratch_path("far/cut"),
                        "--retries", "2", NULL),
                 0);
    assert_int_equal(proxy.n_cut, 10);
    assert_same_file(big, scratch_path("far/cut/facet"));
    print_message("%.1f MB were sent for %.1f MB\n", (double)sent_since(before) / 1e6,
                  (double)size / 1e6);
    assert_true(sent_since(before) < size / 10 * 11);
    assert_told("again in");
    remove(scratch_path("far/cut/facet"));
}

/* F76. Looks at the final name at any time: it is not there, or it is whole. */
static void a_sender_that_is_killed_goes_on_where_it_was(void **state) {
    (void)state;
    const uint64_t size = 90 * MEGABYTE;
    const char *big = deploy_big_program("big", size);
    const struct timespec moment = {0, 10000000};
    char final[1024], part[1024];
    snprintf(final, sizeof final, "%s", scratch_path("far/killed/facet"));
    snprintf(part, sizeof part, "%s", scratch_path("far/killed/facet.part"));
    uint64_t before = proxy.n_up;
    for (int i = 1; i <= N_KILLS; i++) {
        pid_t pid = deploy_begin(OVER_SSH, "--no-model", "--program", big, "--bin",
                                 scratch_path("far/killed"), NULL);
        for (int wait = 0; wait < 3000 && size_of(part) < (int64_t)size / (N_KILLS + 1) * i; wait++)
            nanosleep(&moment, NULL);
        kill(pid, i % 2 ? SIGKILL : SIGINT);
        assert_ended(deploy_wait(pid), i % 2 ? DEPLOY_KILLED : DEPLOY_INTERRUPTED);
        assert_int_equal(size_of(final), -1);
    }
    assert_int_equal(
        deploy(OVER_SSH, "--no-model", "--program", big, "--bin", scratch_path("far/killed"), NULL),
        0);
    assert_same_file(big, final);
    assert_int_equal(size_of(part), -1);
    print_message("%.1f MB were sent for %.1f MB\n", (double)sent_since(before) / 1e6,
                  (double)size / 1e6);
    assert_true(sent_since(before) < size / 10 * 11 + N_KILLS * (uint64_t)HANDSHAKE);
}

static void damage_costs_the_pieces_that_have_it(void **state) {
    (void)state;
    const uint64_t size = 80 * MEGABYTE;
    const char *big = deploy_big_program("big", size);
    char part[1024];
    snprintf(part, sizeof part, "%s", scratch_path("far/bin/facet.part"));
    remove(scratch_path("far/bin/facet"));
    copy_begin(big, part, 60 * MEGABYTE);
    flip_byte(part, 9 * MEGABYTE);      /* in the middle */
    flip_byte(part, 60 * MEGABYTE - 1); /* and at the end */
    uint64_t before = proxy.n_up;
    assert_int_equal(
        deploy(OVER_SSH, "--no-model", "--program", big, "--bin", scratch_path("far/bin"), NULL),
        0);
    assert_same_file(big, scratch_path("far/bin/facet"));
    assert_true(sent_since(before) > size / 4);
    assert_true(sent_since(before) < size / 4 + 2 * (uint64_t)PIECE + HANDSHAKE);

    before = proxy.n_up; /* another build, alike but for one place and its length */
    flip_byte(big, 21 * MEGABYTE);
    assert_int_equal(truncate(big, 81 * MEGABYTE), 0);
    assert_int_equal(
        deploy(OVER_SSH, "--no-model", "--program", big, "--bin", scratch_path("far/bin"), NULL),
        0);
    assert_same_file(big, scratch_path("far/bin/facet"));
    assert_true(sent_since(before) < 3 * (uint64_t)PIECE + HANDSHAKE);
}

/* ---- a machine that keeps the connection, and says nothing ---- */

/* The key "hung" gets this command there, whatever is asked for. */
static void force_command(const char *command) {
    char line[2000];
    snprintf(line, sizeof line,
             "cd '%s' && ssh-keygen -y -f hung >hung.key && { printf '%%s ' 'command=\"%s\"'; cat "
             "hung.key; } >hung.pub",
             scratch_folder, command);
    assert_int_equal(system(line), 0);
}

/* A program of the machine there that sleeps when it is called with these arguments. */
static void put_sleeper(const char *name, const char *arguments) {
    char script[600];
    snprintf(
        script, sizeof script,
        "#!/bin/sh\ncase \"$*\" in %s) exec sleep 60 ;; esac\nPATH=${PATH#*:}\nexec %s \"$@\"\n",
        arguments, name);
    assert_int_equal(chmod(scratch_put(name, script, strlen(script)), 0755), 0);
}

static time_t began;

static void assert_ended_soon(int code) {
    assert_ended(code, DEPLOY_FAILURE);
    assert_true(time(NULL) - began < 45); /* it does not wait for the sleeper, nor try again */
}

static void a_far_side_that_sleeps_is_given_up(void **state) {
    (void)state;
    force_command("exec sleep 60");
    began = time(NULL);
    assert_ended_soon(
        deploy(OVER_SSH_AS(hung_key), "--no-model", "--timeout", "1", "--bin", "/nowhere", NULL));
    assert_told("127.0.0.1: nobody was logged in and no shell answered for 1 seconds (--timeout)");
}

static void a_far_disk_that_never_answers_is_given_up(void **state) {
    (void)state;
    char command[1200];
    const char *big = deploy_big_program("big", 40 * MEGABYTE);
    snprintf(command, sizeof command,
             "PATH=%s:$PATH; export PATH; eval \\\"$SSH_ORIGINAL_COMMAND\\\"", scratch_folder);
    force_command(command);
    static const struct {
        const char *name, *arguments;
    } hung[] = {{"df", "*"}, {"head", "*524288"}, {"sync", "*"}};
    for (size_t i = 0; i < sizeof hung / sizeof *hung; i++) {
        put_sleeper(hung[i].name, hung[i].arguments);
        began = time(NULL);
        assert_ended_soon(deploy(OVER_SSH_AS(hung_key), "--no-model", "--timeout", "2", "--program",
                                 big, "--bin", scratch_path("far/hung"), NULL));
        assert_told("127.0.0.1: the connection is there, but nothing came from it for 2 seconds: a "
                    "command or a disk hangs there (--timeout)");
        assert_null(strstr(told, "again in"));
        assert_int_equal(size_of(scratch_path("far/hung/facet")), -1);
        remove(scratch_path(hung[i].name));
    }
    /* What had arrived is used once the disk answers again. */
    assert_ended(deploy(OVER_SSH_AS(hung_key), "--no-model", "--program", big, "--bin",
                        scratch_path("far/hung"), NULL),
                 0);
    assert_told("facet: 0.0 of 40.0 MB are missing");
    assert_same_file(big, scratch_path("far/hung/facet"));
}

static void who_is_not_let_in_is_told_by_ssh(void **state) {
    (void)state;
    assert_ended(deploy("127.0.0.1", "--port", port, "-o", known, "-o", "BatchMode=yes", "-o",
                        "IdentityFile=/dev/null", "-o", "IdentitiesOnly=yes", "-o",
                        "IdentityAgent=none", "--no-model", "--program", deploy_program(), NULL),
                 DEPLOY_FAILURE);
    assert_told("Permission denied");
    proxy.n_cuts = 0;
    assert_int_equal(
        deploy("127.0.0.1", "--port", "1", "--no-model", "--program", deploy_program(), NULL),
        DEPLOY_FAILURE);
    assert_told("Connection refused");
}

int main(void) {
    if (TEST_EMULATED || access(SSHD, X_OK)) {
        printf("SKIP: %s\n", TEST_EMULATED ? "built for another machine" : "there is no " SSHD);
        return SKIP;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(program_and_model_arrive_and_answer),
        cmocka_unit_test(what_is_there_is_not_sent_again),
        cmocka_unit_test(a_link_that_is_cut_ten_times_costs_less_than_a_tenth),
        cmocka_unit_test(a_sender_that_is_killed_goes_on_where_it_was),
        cmocka_unit_test(damage_costs_the_pieces_that_have_it),
        cmocka_unit_test(a_far_side_that_sleeps_is_given_up),
        cmocka_unit_test(a_far_disk_that_never_answers_is_given_up),
        cmocka_unit_test(who_is_not_let_in_is_told_by_ssh),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
