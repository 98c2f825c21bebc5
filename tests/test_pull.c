/* test_pull.c - `facet pull` against a hub on the loopback: from nothing to a model that answers.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "pull_server.h"
#include "scratch_folder.h"

extern char **environ;

#define CHECKPOINT TEST_DATA "/demo/checkpoint/"
enum { N_ARGUMENTS = 24, N_KILLS = 6 };

static struct served_file files[] = {
    {"config.json", NULL, 0, false},           {"generation_config.json", NULL, 0, false},
    {"model.safetensors", NULL, 0, true},      {"tokenizer.json", NULL, 0, true},
    {"tokenizer_config.json", NULL, 0, false}, {"processor_config.json", NULL, 0, false},
};
enum { N_FILES = sizeof files / sizeof *files, MODEL = 2 };

static char endpoint[64], told[16384];

static void load(struct served_file *file) {
    char path[1024], *data;
    struct stat info;
    snprintf(path, sizeof path, CHECKPOINT "%s", file->path);
    int fd = open(path, O_RDONLY);
    if (fd < 0) { /* what a repository has besides */
        file->data = "{}";
        file->size = 2;
        return;
    }
    assert_int_equal(fstat(fd, &info), 0);
    data = malloc((size_t)info.st_size);
    assert_non_null(data);
    assert_int_equal(read(fd, data, (size_t)info.st_size), info.st_size);
    close(fd);
    file->data = data;
    file->size = (size_t)info.st_size;
}

static int start(void **state) {
    (void)state;
    for (int i = 0; i < N_FILES; i++) load(&files[i]);
    if (server_start()) return -1;
    snprintf(endpoint, sizeof endpoint, "http://127.0.0.1:%d", server.port);
    setenv("no_proxy", "*", 1);
    setenv("HF_ENDPOINT", endpoint, 1);
    setenv("HF_TOKEN", "hf_secret", 1);
    return 0;
}

static int stop(void **state) {
    (void)state;
    server_stop();
    for (int i = 0; i < N_FILES; i++)
        if (strcmp(files[i].data, "{}") != 0) free((char *)files[i].data);
    return 0;
}

/* ---- the program ---- */

struct child {
    pid_t pid;
    int out; /* both its outputs */
};

/* Arguments between spaces. HOME is the scratch folder. */
static struct child begin(const char *arguments) {
    char words[1024], *list[N_ARGUMENTS] = {"facet"}, *rest;
    int n = 1, ends[2];
    struct child child;
    posix_spawn_file_actions_t actions;
    snprintf(words, sizeof words, "%s", arguments);
    for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        assert_true(n < N_ARGUMENTS - 1);
        list[n++] = word;
    }
    list[n] = NULL;
    setenv("HOME", scratch_folder, 1);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
    assert_int_equal(posix_spawn(&child.pid, FACET_PROGRAM, &actions, NULL, list, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    child.out = ends[0];
    return child;
}

/* Its exit code, or minus the signal that ended it; `told` gets what it said. */
static int end(struct child child) {
    char piece[4096];
    size_t used = 0;
    ssize_t n;
    int status;
    while ((n = read(child.out, piece, sizeof piece)) > 0) { /* all, or it would wait for us */
        size_t room = sizeof told - 1 - used, kept = (size_t)n < room ? (size_t)n : room;
        memcpy(told + used, piece, kept);
        used += kept;
    }
    told[used] = 0;
    close(child.out);
    assert_int_equal(waitpid(child.pid, &status, 0), child.pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void ends_with(int code, const char *arguments) {
    int got = end(begin(arguments));
    if (got != code) fail_msg("%s ended with %d and said: %s", arguments, got, told);
}

static void says(const char *words) {
    if (!strstr(told, words)) fail_msg("\"%s\" is not in: %s", words, told);
}

static bool exists(const char *name) { return access(scratch_path(name), F_OK) == 0; }

static void is_there(const char *folder, const struct served_file *file) {
    char name[300], *data = malloc(file->size + 1);
    snprintf(name, sizeof name, "%s/%s", folder, file->path);
    int fd = open(scratch_path(name), O_RDONLY);
    assert_true(fd >= 0);
    assert_int_equal(read(fd, data, file->size + 1), file->size);
    close(fd);
    assert_memory_equal(data, file->data, file->size);
    free(data);
}

/* ---- tests ---- */

static void a_repository_becomes_a_model_that_answers(void **state) {
    (void)state;
    server_offer(files, N_FILES, (struct misbehaviour){.redirect = "http://localhost:%d"});
    ends_with(0, "pull some/model --piece 1");
    for (int i = 0; i < N_FILES - 1; i++)
        is_there(".local/share/facet/sources/some/model", &files[i]);
    assert_false(exists(".local/share/facet/sources/some/model/processor_config.json"));
    assert_true(exists(".local/share/facet/model.facet"));
    for (int i = 0; i < server.n_asked; i++)
        assert_string_equal(server.asked[i].authorization,
                            strncmp(server.asked[i].host, "127.", 4) == 0 ? "Bearer hf_secret"
                                                                          : "");
    ends_with(0, "run --quiet -t 1 --temperature 0 The capital of France is");
    says("Paris");
}

static void the_source_is_deleted_only_when_asked(void **state) {
    (void)state;
    char arguments[300];
    server_offer(files, N_FILES, (struct misbehaviour){0});
    snprintf(
        arguments, sizeof arguments,
        "pull some/model --quiet -o %s/source -m %s/packed/m.facet --weights q8 --delete-source",
        scratch_folder, scratch_folder);
    ends_with(0, arguments);
    assert_string_equal(told, "");
    assert_false(exists("source"));
    assert_true(exists("packed/m.facet"));
    snprintf(arguments, sizeof arguments, "info %s/packed/m.facet", scratch_folder);
    ends_with(0, arguments);
    says("q8");
}

static void a_folder_that_is_not_ours_alone_stays(void **state) {
    (void)state;
    char arguments[300];
    assert_int_equal(mkdir(scratch_path("source"), 0777), 0);
    scratch_put("source/diary.txt", "x", 1);
    server_offer(files, N_FILES, (struct misbehaviour){0});
    snprintf(arguments, sizeof arguments, "pull some/model -o %s/source --delete-source",
             scratch_folder);
    ends_with(0, arguments);
    assert_true(exists("source/diary.txt"));
    assert_false(exists("source/config.json"));
}

static void a_file_that_cannot_be_converted_stays_where_it_is(void **state) {
    (void)state;
    static const char junk[] = "this is no model at all";
    struct served_file bad[N_FILES];
    memcpy(bad, files, sizeof bad);
    bad[MODEL].data = junk;
    bad[MODEL].size = sizeof junk - 1;
    server_offer(bad, N_FILES, (struct misbehaviour){0});
    ends_with(1, "pull some/model --delete-source");
    says("model.safetensors");
    assert_true(exists(".local/share/facet/sources/some/model/model.safetensors"));
    assert_false(exists(".local/share/facet/model.facet"));
}

static void killed_at_any_moment_it_goes_on(void **state) {
    (void)state;
    const char *command = "pull some/model --no-convert --piece 1";
    uint32_t seed = (uint32_t)getpid();
    uint64_t sent = 0;
    int n_killed = 0;
    for (int i = 0; i < N_KILLS; i++) {
        server_offer(files, N_FILES, (struct misbehaviour){.microseconds = 4000});
        struct child child = begin(command);
        usleep(50000 + (seed = seed * 1664525 + 1013904223) % 250000);
        kill(child.pid, SIGKILL);
        if (end(child) == -SIGKILL) n_killed++;
        sent += server.bytes_sent;
    }
    assert_true(n_killed > 0);
    server_offer(files, N_FILES, (struct misbehaviour){0});
    ends_with(0, command);
    for (int i = 0; i < N_FILES - 1; i++)
        is_there(".local/share/facet/sources/some/model", &files[i]);
    print_message("killed %d times with %llu bytes sent, %llu by the last\n", n_killed,
                  (unsigned long long)sent, (unsigned long long)server.bytes_sent);
    /* What was under way when it was killed comes again, as much as sockets hold, and no more. */
    sent += server.bytes_sent;
    assert_true(sent < 2 * files[MODEL].size);
}

static void ctrl_c_leaves_what_came_and_ends_with_130(void **state) {
    (void)state;
    server_offer(files, N_FILES, (struct misbehaviour){.microseconds = 20000});
    struct child child = begin("pull some/model --no-convert --connections 1");
    for (int i = 0; i < 600 && server.bytes_sent < 200000; i++) usleep(50000);
    kill(child.pid, SIGINT);
    assert_int_equal(end(child), 130);
    says("goes on from here");
    assert_true(exists(".local/share/facet/sources/some/model/model.safetensors.part"));
    uint64_t before = server.bytes_sent;
    server_offer(files, N_FILES, (struct misbehaviour){0});
    ends_with(0, "pull some/model --no-convert");
    is_there(".local/share/facet/sources/some/model", &files[MODEL]);
    assert_true(before > 0 && server.bytes_sent < files[MODEL].size);
}

static void a_download_that_does_not_fit_is_not_begun(void **state) {
    (void)state;
    static const char listing[] =
        "[{\"type\":\"file\",\"oid\":\"\",\"size\":2,\"path\":\"config.json\"},"
        "{\"type\":\"file\",\"oid\":\"\",\"size\":1099511627776,\"path\":\"model.safetensors\"}]";
    server_offer(files, N_FILES, (struct misbehaviour){.listing = listing});
    ends_with(1, "pull some/model");
    says("not enough space");
    assert_int_equal(server.n_asked, 1);
    assert_false(exists(".local"));
}

static void a_refusal_names_the_page_with_the_licence(void **state) {
    (void)state;
    server_offer(files, N_FILES, (struct misbehaviour){.n_failures = -1, .status = 403});
    ends_with(1, "pull some/model");
    says("accept the licence at http://127.0.0.1");
    says("/some/model");
}

static void who_waits_for_the_listing_is_told_what_for(void **state) {
    (void)state;
    server_offer(files, N_FILES, (struct misbehaviour){.n_list_failures = 1, .status = 503});
    ends_with(0, "pull some/model --no-convert --retry-delay 0");
    says("503");
    says("; again in 0 s\n");
    says("; to download: ");
    ends_with(0, "pull some/model");
    says("; to download: nothing, all is there\n");
    says("\nTalk with it: facet chat\n");
}

static void a_token_that_is_none_is_refused(void **state) {
    (void)state;
    setenv("HF_TOKEN", "hf_x\r\nX-Evil: 1", 1);
    server_offer(files, N_FILES, (struct misbehaviour){0});
    ends_with(1, "pull some/model");
    says("HF_TOKEN: a token has no spaces");
    assert_int_equal(server.n_asked, 0);
    unsetenv("HF_TOKEN");
    assert_int_equal(mkdir(scratch_path("hf"), 0777), 0);
    scratch_put("hf/token", " hf_file\n", 9);
    setenv("HF_HOME", scratch_path("hf"), 1);
    ends_with(0, "pull some/model --no-convert");
    unsetenv("HF_HOME");
    setenv("HF_TOKEN", "hf_secret", 1);
    assert_string_equal(server.asked[0].authorization, "Bearer hf_file");
}

static void wrong_command_lines_are_told(void **state) {
    (void)state;
    server_offer(files, N_FILES, (struct misbehaviour){0});
    ends_with(2, "pull");
    says("REPOSITORY is missing");
    ends_with(2, "pull a b");
    ends_with(2, "pull some/model --no-convert --delete-source");
    ends_with(1, "pull ../some/model");
    says("is neither the name of a repository");
    assert_int_equal(server.n_asked, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(a_repository_becomes_a_model_that_answers),
        SCRATCH_TEST(the_source_is_deleted_only_when_asked),
        SCRATCH_TEST(a_folder_that_is_not_ours_alone_stays),
        SCRATCH_TEST(a_file_that_cannot_be_converted_stays_where_it_is),
        SCRATCH_TEST(killed_at_any_moment_it_goes_on),
        SCRATCH_TEST(ctrl_c_leaves_what_came_and_ends_with_130),
        SCRATCH_TEST(a_download_that_does_not_fit_is_not_begun),
        SCRATCH_TEST(a_refusal_names_the_page_with_the_licence),
        SCRATCH_TEST(who_waits_for_the_listing_is_told_what_for),
        SCRATCH_TEST(a_token_that_is_none_is_refused),
        SCRATCH_TEST(wrong_command_lines_are_told),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
