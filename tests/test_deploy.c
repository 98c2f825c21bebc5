/* test_deploy.c - deploying to a far side that is a shell of this machine: what it finds out first,
 * what it refuses, what it never does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "deploy/deploy.h"
#include "deploy/elf_file.h"
#include "deploy/far_service.h"
#include "deploy/model_need.h"
#include "deploy/piece_sum.h"
#include "deploy/shell_words.h"
#include "deploy_fixture.h"
#include "pty.h"

#define MEGABYTE 1000000

/* ---- a far side: what sshd would do with the command, in a session of its own ---- */

static char old_path[4096];

static void put_script(const char *name, const char *text) {
    assert_int_equal(chmod(scratch_put(name, text, strlen(text)), 0755), 0);
}

/* Passes so many bytes on as they come; head would gather them first. */
#define PASS(n) "dd bs=65536 iflag=count_bytes status=none count=" #n "; "

/* before: a pipe that the bytes to the far side pass. */
static void put_ssh(const char *before) {
    char script[2000];
    snprintf(script, sizeof script,
             "#!/bin/sh\n"
             "while [ \"$1\" != -- ]; do shift; done; shift 2\n"
             "%s setsid sh -c \"PATH='%s/far-bin':\\$PATH; $*\"\n",
             before, scratch_folder);
    put_script("ssh-bin/ssh", script);
}

static int start(void **state) {
    char path[5000];
    if (scratch_make(state)) return -1;
    for (int i = 0; i < 3; i++)
        if (mkdir(scratch_path(((const char *[]){"ssh-bin", "far-bin", "home"})[i]), 0755))
            return -1;
    put_ssh("exec");
    snprintf(old_path, sizeof old_path, "%s", getenv("PATH"));
    snprintf(path, sizeof path, "%s/ssh-bin:%s", scratch_folder, old_path);
    setenv("PATH", path, 1);
    setenv("HOME", scratch_path("home"), 1);
    unsetenv("FACET_MODEL");
    return 0;
}

static int stop(void **state) {
    setenv("PATH", old_path, 1);
    return scratch_remove(state);
}

#define FAR_TEST(test) cmocka_unit_test_setup_teardown(test, start, stop)

/* ---- the program as a person runs it ---- */

static void default_places_are_below_the_home_there(void **state) {
    (void)state;
    assert_ended(deploy("pi@board", MODELS "/demo.facet", "--program", deploy_program(), NULL), 0);
    assert_same_file(deploy_program(), scratch_path("home/.local/bin/facet"));
    assert_same_file(MODELS "/demo.facet", scratch_path("home/.local/share/facet/demo.facet"));
    assert_int_equal(size_of(scratch_path("home/.local/bin/facet.part")), -1);
    assert_int_equal(size_of(scratch_path("home/.local/bin/facet.part.owner")), -1);
    struct stat info;
    assert_int_equal(stat(scratch_path("home/.local/bin/facet"), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0755);
}

static const char *last_line(void) {
    static char line[512];
    size_t n = strlen(told);
    while (n > 0 && told[n - 1] == '\n') n--;
    const char *begin = told + n;
    while (begin > told && begin[-1] != '\n') begin--;
    snprintf(line, sizeof line, "%.*s", (int)(told + n - begin), begin);
    return line;
}

/* F79: the last line tells what it runs on over there, as the program itself says there; kernels
 * are none of deploy's business. */
static void the_last_line_tells_the_path_and_the_kernels(void **state) {
    (void)state;
    char wanted[100];
    unsetenv("FACET_KERNELS");
    assert_ended(deploy("pi@board", "--no-model", "--program", deploy_program(), NULL), 0);
    snprintf(wanted, sizeof wanted, "facet runs there on: CPU, kernels %s", fct_kernel_names()[0]);
    assert_string_equal(last_line(), wanted);
    put_ssh("export FACET_KERNELS=portable; exec");
    assert_ended(deploy("pi@board", "--no-model", "--program", deploy_program(), NULL), 0);
    assert_told("is there already");
    assert_string_equal(last_line(), "facet runs there on: CPU, kernels portable");
    /* What cannot run there is not chosen for it, and no failure of deploying. */
    put_ssh("export FACET_KERNELS=gpu; exec");
    assert_ended(deploy("pi@board", "--no-model", "--program", deploy_program(), NULL), 0);
    assert_null(strstr(told, "facet runs there on"));
}

static void a_dry_run_changes_nothing(void **state) {
    (void)state;
    assert_ended(
        deploy("pi@board", MODELS "/demo.facet", "--dry-run", "--program", deploy_program(), NULL),
        0);
    assert_told("demo.facet: 2.5 of 2.5 MB would be sent");
    assert_int_equal(size_of(scratch_path("home/.local")), -1);
}

static void names_reach_the_far_shell_as_they_are(void **state) {
    (void)state;
    static const char *const names[] = {
        "it's a model", "$(touch owned)", "`touch owned`",        "a;touch owned;\"b\\",
        "-rf",          "*?[a]",          "\xC3\xBC & > <owned #"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char folder[200], model[400];
        snprintf(folder, sizeof folder, "%s", scratch_path(names[i]));
        snprintf(model, sizeof model, "%s/%s.facet", scratch_folder, names[i]);
        copy_begin(MODELS "/demo.facet", scratch_path("plain"), 100 * MEGABYTE);
        assert_int_equal(rename(scratch_path("plain"), model), 0);
        assert_ended(deploy("pi@board", model, "--no-program", "--folder", folder, NULL), 0);
        char arrived[800];
        snprintf(arrived, sizeof arrived, "%s/%s.facet", folder, names[i]);
        assert_same_file(MODELS "/demo.facet", arrived);
        assert_int_equal(size_of("owned"), -1);
        assert_int_equal(size_of(scratch_path("home/owned")), -1);
    }
}

static void what_is_no_machine_is_refused_before_ssh_sees_it(void **state) {
    (void)state;
    static const char *const bad[] = {"-oProxyCommand=touch owned",
                                      "pi@-oProxyCommand=x",
                                      "pi@ho st",
                                      "pi@$(touch owned)",
                                      "pi@host\nx",
                                      "",
                                      "@host",
                                      "pi@"};
    put_script("ssh-bin/ssh", "#!/bin/sh\necho called\n");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_ended(deploy("--no-model", "--", bad[i], NULL), DEPLOY_FAILURE);
        assert_null(strstr(told, "called"));
    }
    assert_ended(deploy("pi@board", "--no-model", "--bin", "a\nb", NULL), DEPLOY_FAILURE);
    assert_told("control characters");
    assert_ended(deploy(NULL), DEPLOY_USAGE);
    assert_ended(deploy("pi@board", "--no-model", "--no-program", NULL), DEPLOY_USAGE);
}

/* F72: what is built for another machine is not even sent. */
static void a_program_for_another_machine_is_refused(void **state) {
    (void)state;
    char other[1024];
    strcpy(other, scratch_path("other"));
    copy_begin(deploy_program(), other, 100 * MEGABYTE);
    int fd = open(other, O_RDWR); /* e_machine: SPARC */
    assert_int_equal(pwrite(fd, (unsigned char[]){43, 0}, 2, 18), 2);
    close(fd);
    assert_ended(deploy("pi@board", "--no-model", "--program", other, NULL), DEPLOY_FAILURE);
    assert_told("is built for another machine");
    put_script("far-bin/uname", "#!/bin/sh\n[ \"$1\" = -m ] && echo armv7l || echo Linux\n");
    assert_ended(deploy("pi@board", "--no-model", "--program", deploy_program(), NULL),
                 DEPLOY_FAILURE);
    assert_told("the machine there is armv7l");
    assert_told("needs a 64-bit system there");
    put_script("far-bin/uname", "#!/bin/sh\n[ \"$1\" = -m ] && echo arm64 || echo Linux\n");
    assert_ended(deploy("pi@board", "--no-model", "--program", other, NULL), DEPLOY_FAILURE);
    assert_told("make pi5");
    assert_int_equal(size_of(scratch_path("home/.local")), -1);
}

/* F73 and F72: libraries that are too old, instructions that are not there: it is started under its
 * other name first, and what was there before stays. */
static void a_program_that_does_not_run_there_gets_no_name(void **state) {
    (void)state;
    char before[1024];
    assert_int_equal(
        system("mkdir -p \"$HOME/.local/bin\" && echo old >\"$HOME/.local/bin/facet\""), 0);
    strcpy(before, scratch_path("before"));
    copy_begin(scratch_path("home/.local/bin/facet"), before, 100);
    assert_ended(deploy("pi@board", "--no-model", "--program", "/bin/false", NULL), DEPLOY_FAILURE);
    assert_told("does not run there");
    assert_same_file(before, scratch_path("home/.local/bin/facet"));
    assert_ended(deploy("pi@board", "--no-model", "--program", MODELS "/demo.facet", NULL),
                 DEPLOY_FAILURE);
    assert_told("is no program for Linux");
}

/* F76: one bit on the way. */
static void bytes_that_arrive_damaged_are_sent_again(void **state) {
    (void)state;
    char before[1500];
    const char *big = deploy_big_program("big", 64 * MEGABYTE);
    snprintf(before, sizeof before,
             "{ if mkdir '%s/once' 2>/dev/null; then " PASS(
                 15000000) "dd bs=9 count=1 status=none | "
                           "tr '\\000-\\377' '\\001-\\377\\000'; fi; exec cat; } |",
             scratch_folder);
    put_ssh(before);
    assert_ended(deploy("pi@board", "--no-model", "--program", big, "--retry-delay", "0", NULL), 0);
    assert_told("1 of 16 pieces arrived damaged");
    assert_told("68.2 MB sent");
    assert_same_file(big, scratch_path("home/.local/bin/facet"));
}

/* F76: every attempt is cut at the same place before it has brought anything. */
static void what_stays_cut_is_given_up_and_has_no_name(void **state) {
    (void)state;
    const char *big = deploy_big_program("big", 64 * MEGABYTE);
    put_ssh("{ " PASS(3000) "} |");
    assert_ended(deploy("pi@board", "--no-model", "--program", big, "--retry-delay", "0",
                        "--retries", "2", NULL),
                 DEPLOY_FAILURE);
    assert_told("given up after 3 attempts that brought nothing");
    assert_int_equal(size_of(scratch_path("home/.local/bin/facet")), -1);

    put_ssh("{ " PASS(9000000) "} |"); /* each brings some */
    assert_ended(deploy("pi@board", "--no-model", "--program", big, "--retry-delay", "0",
                        "--retries", "1", NULL),
                 0);
    assert_same_file(big, scratch_path("home/.local/bin/facet"));
}

/* A full disk is no cut link: it is told at once. The bytes that were on their way are no commands.
 */
static void a_writer_that_fails_ends_it(void **state) {
    (void)state;
    const char *big = deploy_big_program("big", 64 * MEGABYTE);
    put_script("far-bin/head", "#!/bin/sh\n"
                               "case $2 in 524288) /usr/bin/head -c 1000; echo 'head: write error: "
                               "No space left on device' >&2; exit 1 ;; esac\n"
                               "exec /usr/bin/head \"$@\"\n");
    assert_ended(deploy("pi@board", "--no-model", "--program", big, NULL), DEPLOY_FAILURE);
    assert_told("No space left on device");
    assert_null(strstr(told, "again in"));
    assert_int_equal(size_of(scratch_path("home/.local/bin/facet")), -1);
}

static void too_little_space_is_told_before_a_byte_is_sent(void **state) {
    (void)state;
    put_script("far-bin/df", "#!/bin/sh\necho Avail; echo 70000\n");
    assert_ended(deploy("pi@board", "--no-model", "--program",
                        deploy_big_program("big", 64 * MEGABYTE), NULL),
                 DEPLOY_FAILURE);
    assert_told(
        "not enough space: facet needs 64.0 MB more and 67.1 MB to spare, its disk has 71.7");
    assert_int_equal(size_of(scratch_path("home/.local")), -1);
}

static void a_far_side_without_its_tools_is_told(void **state) {
    (void)state;
    put_script("far-bin/uname", "#!/bin/sh\n[ \"$1\" = -m ] && echo x86_64 || echo FreeBSD\n");
    assert_ended(deploy("pi@board", "--no-model", "--program", deploy_program(), NULL),
                 DEPLOY_FAILURE);
    assert_told("runs FreeBSD");
    put_script("ssh-bin/ssh",
               "#!/bin/sh\necho Welcome; echo 'This account is not available'; exit 1\n");
    assert_ended(deploy("pi@board", "--no-model", "--program", deploy_program(), NULL),
                 DEPLOY_FAILURE);
    assert_told("no shell answered there");
}

static void a_login_that_talks_does_no_harm(void **state) {
    (void)state;
    put_ssh("echo '= end 1'; echo 'Have fun!'; exec");
    assert_ended(deploy("pi@board", MODELS "/demo.facet", "--no-program", NULL), 0);
    assert_same_file(MODELS "/demo.facet", scratch_path("home/.local/share/facet/demo.facet"));
}

/* A shell whose connection was lost still waits for bytes of an earlier attempt. */
static void a_writer_of_an_earlier_run_is_ended_first(void **state) {
    (void)state;
    char command[2000];
    int number = 0;
    snprintf(
        command, sizeof command,
        "mkdir -p ~/.local/bin; cd ~/.local/bin; mkfifo '%s/fifo'; sleep 60 >'%s/fifo' 2>&1 &\n"
        "setsid sh -c 'read -r s </proc/$$/stat; set -- ${s##*\") \"}; shift 19;"
        "echo \"other $$ $1\" >facet.part.owner; head -c 1000 >>facet.part; exit' "
        "<'%s/fifo' & sleep 0.5",
        scratch_folder, scratch_folder, scratch_folder);
    assert_int_equal(system(command), 0);
    FILE *owner = fopen(scratch_path("home/.local/bin/facet.part.owner"), "r");
    assert_non_null(owner);
    assert_int_equal(fscanf(owner, "other %d", &number), 1);
    fclose(owner);
    assert_int_equal(kill(number, 0), 0);
    assert_ended(deploy("pi@board", "--no-model", "--program", deploy_program(), NULL), 0);
    assert_same_file(deploy_program(), scratch_path("home/.local/bin/facet"));
    snprintf(command, sizeof command, "/proc/%d/fd/0", number);
    assert_int_not_equal(access(command, F_OK), 0);
}

static void what_is_no_packed_model_is_not_sent(void **state) {
    (void)state;
    char cut[1024];
    strcpy(cut, scratch_path("cut.facet"));
    copy_begin(MODELS "/demo.facet", cut, 2 * MEGABYTE);
    assert_ended(deploy("pi@board", cut, "--no-program", NULL), DEPLOY_FAILURE);
    assert_int_equal(size_of(scratch_path("home/.local")), -1);
}

/* ---- the machine there, from a folder that stands for / ---- */

static char noted[1 << 14];

static void note(void *user, const char *line) {
    (void)user;
    strncat(noted, line, sizeof noted - strlen(noted) - 2);
    strcat(noted, "\n");
}

static fct_status deploy_to(const char *root, const char *model, bool service, bool dry_run,
                            fct_error *err) {
    const struct fct_deploy_options options = {
        .destination = "pi@board",
        .program = deploy_program(),
        .model = model,
        .folder = service ? NULL : scratch_path("models"),
        .service = service,
        .dry_run = dry_run,
        .root = root,
        .note = note,
    };
    noted[0] = 0;
    return fct_deploy(&options, err);
}

static void put_fact(const char *path, const char *text) {
    char command[2000];
    snprintf(command, sizeof command, "mkdir -p \"$(dirname '%s/root%s')\"", scratch_folder, path);
    assert_int_equal(system(command), 0);
    snprintf(command, sizeof command, "root%s", path);
    put_script(command, text);
}

/* F75: a board with a weak supply and a sleepy governor says so. */
static void throttling_governor_clock_and_heat_are_told(void **state) {
    (void)state;
    fct_error err;
    put_fact("/proc/meminfo", "MemTotal:        8245244 kB\nMemAvailable:    7500000 kB\n");
    put_fact("/proc/device-tree/model", "Raspberry Pi 5 Model B Rev 1.0");
    put_fact("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
    put_fact("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "1500000\n");
    put_fact("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "2400000\n");
    put_fact("/sys/class/thermal/thermal_zone0/temp", "84700\n");
    put_fact("/usr/bin/vcgencmd",
             "#!/bin/sh\n[ \"$1\" = get_throttled ] && echo throttled=0x50005\n");
    assert_int_equal(deploy_to(scratch_path("root"), NULL, false, true, &err), FCT_OK);
    static const char *const wanted[] = {"Raspberry Pi 5 Model B Rev 1.0",
                                         "8.4 GB memory, of which 7.7 available",
                                         "governor powersave",
                                         "1500 MHz of 2400",
                                         "84.7 degrees",
                                         "throttled=0x50005",
                                         "under-voltage now",
                                         "throttled now",
                                         "under-voltage since it was started",
                                         "throttled since it was started",
                                         "the governor is powersave"};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (!strstr(noted, wanted[i])) fail_msg("\"%s\" is not in: %s", wanted[i], noted);
    assert_null(strstr(noted, "capped"));
    assert_null(strstr(noted, "soft temperature"));
}

/* F74: a machine that cannot hold the weights gets no model. */
static void a_model_that_does_not_fit_is_refused_with_numbers(void **state) {
    (void)state;
    fct_error err;
    char tight[256];
    put_fact("/proc/meminfo", "MemTotal:  1000 kB\nMemAvailable:  900 kB\n");
    assert_int_equal(deploy_to(scratch_path("root"), MODELS "/demo.facet", false, false, &err),
                     FCT_ERR_MEMORY);
    assert_non_null(strstr(err.message, "does not fit"));
    assert_int_equal(size_of(scratch_path("models")), -1);

    struct fct_model_need need = {1300000000, 200000000};
    assert_int_equal(fct_model_need_check(&need, 1000000000, 900000000, tight, &err),
                     FCT_ERR_MEMORY);
    assert_non_null(strstr(err.message, "1.30 GB of weights, and the machine there has 1.00 GB"));
    assert_int_equal(fct_model_need_check(&need, 2000000000, 1400000000, tight, &err), FCT_OK);
    assert_non_null(strstr(tight, "1.40 of 2.00 GB are available"));
    assert_int_equal(fct_model_need_check(&need, 8000000000, 7000000000, tight, &err), FCT_OK);
    assert_string_equal(tight, "");
}

/* ---- the service ---- */

static void put_systemctl(void) {
    char script[500];
    snprintf(script, sizeof script, "#!/bin/sh\necho \"$*\" >>'%s/asked'\n", scratch_folder);
    put_script("far-bin/systemctl", script);
    put_script("far-bin/id", "#!/bin/sh\n[ \"$1\" = -u ] && echo 0 || echo pi\n");
    put_script("far-bin/chown", "#!/bin/sh\nexit 0\n");
    put_fact("/etc/systemd/system/other.service", "");
    put_fact("/usr/local/bin/other", "");
    assert_int_equal(mkdir(scratch_path("root/run"), 0755), 0);
    put_fact("/run/systemd/system/x", "");
}

static void assert_asked(const char *wanted) {
    char got[500] = "";
    FILE *file = fopen(scratch_path("asked"), "r");
    if (file) {
        got[fread(got, 1, sizeof got - 1, file)] = 0;
        fclose(file);
    }
    assert_string_equal(got, wanted);
    remove(scratch_path("asked"));
}

static void a_service_is_installed_once_and_only_if_asked(void **state) {
    (void)state;
    fct_error err;
    char root[200];
    strcpy(root, scratch_path("root"));
    put_systemctl();
    assert_int_equal(deploy_to(root, NULL, false, false, &err), FCT_OK);
    assert_int_equal(size_of(scratch_path("root/etc/systemd/system/facet.socket")), -1);
    assert_asked("");
    if (deploy_to(root, NULL, true, false, &err)) fail_msg("%s", err.message);
    assert_same_file(deploy_program(), scratch_path("root/usr/local/bin/facet"));
    assert_int_equal(
        system("grep -qx SocketUser=pi \"$HOME/../root/etc/systemd/system/facet.socket\""), 0);
    assert_asked("daemon-reload\nenable --quiet facet.socket\nrestart facet.socket\n");
    if (deploy_to(root, NULL, true, false, &err)) fail_msg("%s", err.message);
    assert_asked("enable --quiet facet.socket\nstart facet.socket\n");
}

/* A user who is not root, on a machine where sudo does this. */
static void put_user(const char *sudo) {
    put_systemctl();
    put_script("far-bin/id", "#!/bin/sh\n[ \"$1\" = -u ] && echo 1000 || echo pi\n");
    put_script("far-bin/sudo", sudo);
}

static void a_user_with_sudo_gets_what_needs_root_by_sudo_alone(void **state) {
    (void)state;
    fct_error err;
    char root[200], sudo[500], seen[4000] = "";
    strcpy(root, scratch_path("root"));
    snprintf(sudo, sizeof sudo,
             "#!/bin/sh\n[ \"$1\" = -n ] || exit 1; shift\necho \"$*\" >>'%s/sudo-asked'\n"
             "exec \"$@\"\n",
             scratch_folder);
    put_user(sudo);
    if (deploy_to(root, MODELS "/demo.facet", true, false, &err)) fail_msg("%s", err.message);
    assert_asked("daemon-reload\nenable --quiet facet.socket\nrestart facet.socket\n");
    assert_same_file(deploy_program(), scratch_path("root/usr/local/bin/facet"));
    FILE *file = fopen(scratch_path("sudo-asked"), "r");
    assert_non_null(file);
    seen[fread(seen, 1, sizeof seen - 1, file)] = 0;
    fclose(file);
    static const char *const wanted[] = {
        "true\n",
        "/root/var/lib/facet\nchown -- 1000 ",
        "/root/etc/systemd/system/facet.socket.new\nchmod 644 -- ",
        "/root/etc/systemd/system/facet@.service\n",
        "/root/usr/local/bin/facet.new\nchmod 755 -- ",
        "/root/usr/local/bin/facet\nsystemctl daemon-reload\n",
        "systemctl enable --quiet facet.socket\nsystemctl restart facet.socket\n"};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (!strstr(seen, wanted[i])) fail_msg("\"%s\" was not asked of sudo: %s", wanted[i], seen);
}

static void a_sudo_that_asks_for_a_password_is_no_sudo(void **state) {
    (void)state;
    fct_error err;
    put_user("#!/bin/sh\necho 'sudo: a password is required' >&2; exit 1\n");
    assert_int_equal(deploy_to(scratch_path("root"), NULL, true, false, &err), FCT_ERR_UNSUPPORTED);
    static const char *const wanted[] = {
        "\"sudo: a password is required\"", "log in as root",
        "echo 'pi ALL=(ALL) NOPASSWD: ALL' | sudo tee /etc/sudoers.d/facet-deploy"};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (!strstr(err.message, wanted[i])) fail_msg("%s: is not in %s", wanted[i], err.message);
    assert_int_equal(size_of(scratch_path("root/usr/local/bin/facet")), -1);
    assert_int_equal(size_of(scratch_path("home/.local")), -1);
    /* Without --service nobody asks for root. */
    if (deploy_to(scratch_path("root"), NULL, false, false, &err)) fail_msg("%s", err.message);
}

/* It wants a password, which is no word of a shell. */
static const char hard_sudo[] =
    "#!/bin/sh\n"
    "if [ \"$1\" = -n ]; then echo 'sudo: a password is required' >&2; exit 1; fi\n"
    "[ \"$1 $2\" = '-S -p' ] || exit 1\n"
    "shift 3; IFS= read -r p\n"
    "if [ \"$p\" = \"it's \\$HOME \" ]; then exec \"$@\"; fi\n"
    "echo 'sudo: 1 incorrect password attempt' >&2; exit 1\n";

struct person {
    const char *const *passwords; /* typed one after the other */
    int n_asked;
};

static bool type(void *user, const char *prompt, char *out, size_t size) {
    struct person *person = user;
    assert_string_equal(prompt, "sudo there wants the password of pi: ");
    snprintf(out, size, "%s", person->passwords[person->n_asked++]);
    return true;
}

static fct_status deploy_asking(struct person *person, fct_error *err) {
    const struct fct_deploy_options options = {.destination = "pi@board",
                                               .program = deploy_program(),
                                               .service = true,
                                               .root = scratch_path("root"),
                                               .password = type,
                                               .user = person};
    return fct_deploy(&options, err);
}

static void a_sudo_that_asks_for_a_password_gets_it_from_the_person(void **state) {
    (void)state;
    fct_error err;
    struct person person = {(const char *const[]){"wrong", "it's $HOME "}, 0};
    put_user(hard_sudo);
    if (deploy_asking(&person, &err)) fail_msg("%s", err.message);
    assert_int_equal(person.n_asked, 2);
    assert_asked("daemon-reload\nenable --quiet facet.socket\nrestart facet.socket\n");
    assert_same_file(deploy_program(), scratch_path("root/usr/local/bin/facet"));
    person = (struct person){(const char *const[]){"a", "b", "c"}, 0};
    assert_int_equal(deploy_asking(&person, &err), FCT_ERR_UNSUPPORTED);
    assert_int_equal(person.n_asked, 3);
    assert_string_equal(err.message,
                        "--service: needs root there, and sudo took no password of pi");
}

static struct pty deploy_on_a_terminal(void) {
    static char root[200];
    strcpy(root, scratch_path("root"));
    return pty_start(100, NULL,
                     (char *[]){FACET_PROGRAM, "deploy", "pi@board", "--no-model", "--service",
                                "--root", root, NULL});
}

static void a_password_is_typed_on_the_terminal_and_does_not_show(void **state) {
    (void)state;
    put_user(hard_sudo);
    struct pty pty = deploy_on_a_terminal();
    pty_expect(&pty, "sudo there wants the password of pi: ");
    pty_send(&pty, "it's $HOME \n");
    pty_expect(&pty, "facet runs there on: CPU");
    assert_false(pty_showed(&pty, "it's"));
    assert_int_equal(pty_finish(&pty), 0);
    pty = deploy_on_a_terminal();
    pty_expect(&pty, "sudo there wants the password of pi: ");
    pty_send(&pty, "\x03");
    assert_int_equal(pty_finish(&pty), DEPLOY_INTERRUPTED);
}

static void a_service_needs_systemd_root_and_a_folder_it_can_see(void **state) {
    (void)state;
    fct_error err;
    struct fct_board board = {.systemd = true};
    assert_int_equal(fct_service_check(&board, "/var/lib/facet", &err), FCT_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.message, "needs root there, and there is no sudo: log in as root"));
    board.sudo = true;
    assert_int_equal(fct_service_check(&board, "/var/lib/facet", &err), FCT_OK);
    assert_int_equal(fct_service_check(&board, "/home/pi/models", &err), FCT_ERR_ARGUMENT);
    assert_int_equal(fct_service_check(&board, "~/models", &err), FCT_ERR_ARGUMENT);
    board = (struct fct_board){.root = true};
    assert_int_equal(fct_service_check(&board, "/var/lib/facet", &err), FCT_ERR_UNSUPPORTED);
}

static void the_model_is_one_word_of_the_unit(void **state) {
    (void)state;
    char *unit = fct_service_unit("/var/lib/facet/a \"b\" 100% $HOME \\.facet", NULL);
    assert_non_null(unit);
    assert_non_null(strstr(unit, "run --quiet -m \"/var/lib/facet/a \\\"b\\\" 100%% $$HOME "
                                 "\\\\.facet\"\n"));
    fct_free(unit);
}

static bool has_command(const char *name) {
    char command[200];
    snprintf(command, sizeof command, "command -v %s >/dev/null", name);
    return system(command) == 0;
}

/* Writes a unit as it is installed, but for the program, which has to be there to be verified. */
static void put_unit(const char *name, char *text, const char *from, const char *to) {
    assert_non_null(text);
    char *at = strstr(text, from);
    struct fct_text unit = {0};
    if (!at) fail_msg("%s is not in %s", from, name);
    fct_text_add(&unit, text, (size_t)(at - text));
    fct_text_printf(&unit, "%s%s", to, at + strlen(from));
    assert_false(unit.failed);
    scratch_put(name, unit.data, unit.size);
    fct_text_free(&unit);
    fct_free(text);
}

static void systemd_understands_the_units_and_finds_them_safe(void **state) {
    (void)state;
    char command[2000], said[2000] = "", *level;
    if (!has_command("systemd-analyze")) skip();
    put_unit("facet.socket", fct_service_socket_unit(NULL), "@USER@", "root");
    put_unit("facet@.service", fct_service_unit("/var/lib/facet/a b.facet", NULL),
             "/usr/local/bin/facet", "/bin/true");
    copy_begin(scratch_path("facet@.service"), scratch_path("facet@0.service"), 10000);
    snprintf(command, sizeof command,
             "cd '%s' && SYSTEMD_UNIT_PATH=$PWD: systemd-analyze verify --man=no ./facet.socket "
             "./facet@0.service 2>&1",
             scratch_folder);
    FILE *run = popen(command, "r");
    said[fread(said, 1, sizeof said - 1, run)] = 0;
    int status = pclose(run);
    if (strstr(said, "Failed to initialize manager")) skip(); /* in some containers */
    if (status || *said) fail_msg("systemd-analyze says: %s", said);
    snprintf(command, sizeof command,
             "cd '%s' && systemd-analyze security --offline=true --no-pager ./facet@0.service 2>&1 "
             "| grep 'Overall exposure'",
             scratch_folder);
    run = popen(command, "r");
    said[fread(said, 1, sizeof said - 1, run)] = 0;
    pclose(run);
    if (!(level = strstr(said, ": "))) skip();        /* a systemd that cannot judge files */
    if (atof(level + 2) >= 1.0) fail_msg("%s", said); /* of 10 */
}

/* The process behind the socket, with systemd's own way of handing a connection over. */
static void a_prompt_on_the_socket_gets_its_answer(void **state) {
    (void)state;
    static const char question[] = "The capital of France is";
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char program[1024], model[1024], answer[500];
    if (!has_command("systemd-socket-activate")) skip();
    strcpy(program, deploy_program());
    strcpy(model, MODELS "/demo.facet");
    snprintf(address.sun_path, sizeof address.sun_path, "%s", scratch_path("socket"));
    const char *arguments[] = {"systemd-socket-activate",
                               "-l",
                               address.sun_path,
                               "--accept",
                               "--inetd",
                               program,
                               "run",
                               "--quiet",
                               "-m",
                               model,
                               NULL};
    pid_t listener;
    assert_int_equal(posix_spawnp(&listener, arguments[0], NULL, NULL,
                                  (char *const *)(uintptr_t)arguments, environ),
                     0);
    int fd = -1;
    for (int i = 0; i < 200 && fd < 0; i++) {
        const struct timespec moment = {0, 20000000};
        fd = socket(AF_UNIX, SOCK_STREAM, 0);
        if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0) break;
        close(fd);
        fd = -1;
        nanosleep(&moment, NULL);
    }
    assert_true(fd >= 0);
    assert_int_equal(write(fd, question, sizeof question - 1), sizeof question - 1);
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    size_t n = 0;
    for (ssize_t got; (got = read(fd, answer + n, sizeof answer - 1 - n)) > 0;) n += (size_t)got;
    answer[n] = 0;
    close(fd);
    kill(listener, SIGTERM);
    waitpid(listener, NULL, 0);
    assert_string_equal(answer, "The capital of France is **Paris**.\n");
}

/* ---- parts ---- */

static void a_quoted_word_is_one_word(void **state) {
    (void)state;
    struct fct_text text = {0};
    fct_shell_word_add(&text, "it's $x");
    assert_string_equal(text.data, "'it'\\''s $x'");
    fct_text_free(&text);
    fct_shell_path_add(&text, "~/a b");
    assert_string_equal(text.data, "\"$HOME\"'/a b'");
    fct_text_free(&text);
    fct_shell_path_add(&text, "~root");
    assert_string_equal(text.data, "'~root'");
    fct_text_free(&text);
}

static void sums_are_those_of_the_standard(void **state) {
    (void)state;
    char sum[FCT_SUM_BYTES];
    int fd = open(scratch_put("abc", "xabcx", 5), O_RDONLY);
    assert_int_equal(fct_piece_sum(fd, "abc", 1, 3, sum, NULL), FCT_OK);
    assert_string_equal(sum, /* FIPS 180-4, "abc" */
                        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_int_equal(fct_piece_sum(fd, "abc", 1, 5, sum, NULL), FCT_ERR_IO);
    close(fd);
    assert_false(fct_is_sum("BA7816bf"));
}

static void a_program_that_is_cut_is_no_program(void **state) {
    (void)state;
    unsigned char bytes[700];
    struct fct_elf elf;
    FILE *file = fopen(deploy_program(), "rb");
    assert_int_equal(fread(bytes, 1, sizeof bytes, file), sizeof bytes);
    fclose(file);
    assert_int_equal(fct_elf_read(deploy_program(), &elf, NULL), FCT_OK);
    for (size_t n = 0; n < 64; n++)
        assert_int_equal(fct_elf_read(scratch_put("cut", bytes, n), &elf, NULL), FCT_ERR_FORMAT);
    for (size_t n = 64; n < sizeof bytes; n += 7) /* the loader's name may or may not be reached */
        fct_elf_read(scratch_put("cut", bytes, n), &elf, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] =
        {
            FAR_TEST(names_reach_the_far_shell_as_they_are),
            FAR_TEST(what_is_no_machine_is_refused_before_ssh_sees_it),
            FAR_TEST(a_program_for_another_machine_is_refused),
            FAR_TEST(a_program_that_does_not_run_there_gets_no_name),
            FAR_TEST(a_far_side_without_its_tools_is_told),
            FAR_TEST(a_login_that_talks_does_no_harm),
            FAR_TEST(what_is_no_packed_model_is_not_sent),
            FAR_TEST(a_service_needs_systemd_root_and_a_folder_it_can_see),
            FAR_TEST(the_model_is_one_word_of_the_unit),
            FAR_TEST(systemd_understands_the_units_and_finds_them_safe),
            FAR_TEST(a_quoted_word_is_one_word),
            FAR_TEST(sums_are_those_of_the_standard),
            FAR_TEST(a_program_that_is_cut_is_no_program),
        },
                            starting_it_there[] = {
                                FAR_TEST(default_places_are_below_the_home_there),
                                FAR_TEST(the_last_line_tells_the_path_and_the_kernels),
                                FAR_TEST(a_dry_run_changes_nothing),
                                FAR_TEST(bytes_that_arrive_damaged_are_sent_again),
                                FAR_TEST(what_stays_cut_is_given_up_and_has_no_name),
                                FAR_TEST(a_writer_that_fails_ends_it),
                                FAR_TEST(too_little_space_is_told_before_a_byte_is_sent),
                                FAR_TEST(a_writer_of_an_earlier_run_is_ended_first),
                                FAR_TEST(throttling_governor_clock_and_heat_are_told),
                                FAR_TEST(a_model_that_does_not_fit_is_refused_with_numbers),
                                FAR_TEST(a_service_is_installed_once_and_only_if_asked),
                                FAR_TEST(a_user_with_sudo_gets_what_needs_root_by_sudo_alone),
                                FAR_TEST(a_sudo_that_asks_for_a_password_is_no_sudo),
                                FAR_TEST(a_sudo_that_asks_for_a_password_gets_it_from_the_person),
                                FAR_TEST(a_password_is_typed_on_the_terminal_and_does_not_show),
                                FAR_TEST(a_prompt_on_the_socket_gets_its_answer),
                            };
    int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (TEST_EMULATED) {
        printf(
            "SKIP: the far side is this machine, which cannot start what is built for another\n");
        return n_failed;
    }
    return n_failed + cmocka_run_group_tests(starting_it_there, NULL, NULL);
}
