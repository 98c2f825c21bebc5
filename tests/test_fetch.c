/* test_fetch.c - downloading from a server that cuts, lies, stalls, redirects and refuses. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "fetch/fetch.h"
#include "fetch/remote_list.h"
#include "pull_server.h"
#include "scratch_folder.h"

#define SIZE 300000 /* of the weights */

static char weights[SIZE], endpoint[64], told[4096];
static struct served_file files[] = {
    {"config.json", "{\"model_type\": \"gemma4\"}", 24, false},
    {"README.md", "---\nlicense: apache-2.0\n---\n", 28, false},
    {"model.safetensors", weights, SIZE, true},
    {"vision_tower.safetensors", weights, 999, true},
    {"onnx/model.onnx", weights, 777, true},
};
enum { N_FILES = sizeof files / sizeof *files, CONFIG = 0, MODEL = 2 };

static int start(void **state) {
    (void)state;
    uint32_t seed = 1;
    for (size_t i = 0; i < SIZE; i++)
        weights[i] = (char)((seed = seed * 1664525 + 1013904223) >> 24);
    setenv("no_proxy", "*", 1);
    if (server_start()) return -1;
    snprintf(endpoint, sizeof endpoint, "http://127.0.0.1:%d", server.port);
    return 0;
}

static int stop(void **state) {
    (void)state;
    server_stop();
    return 0;
}

/* ---- one download ---- */

static void note(void *user, const char *line) {
    (void)user;
    snprintf(told + strlen(told), sizeof told - strlen(told), "%s\n", line);
}

static struct fct_fetch_options plain(void) {
    told[0] = 0;
    return (struct fct_fetch_options){
        .source = "some/model",
        .endpoint = endpoint,
        .folder = scratch_path("model"),
        .retries = 3,
        .stall_seconds = 5,
        .note = note,
    };
}

static fct_status fetch_with(const struct fct_fetch_options *options, fct_error *err) {
    *err = (fct_error){0};
    fct_fetch *fetch = fct_fetch_open(options, err);
    if (!fetch) return err->code;
    fct_status status = fct_fetch_run(fetch, err);
    fct_fetch_free(fetch);
    return status;
}

static bool exists(const char *name) {
    char path[1200];
    struct stat info;
    snprintf(path, sizeof path, "%s/%.100s", scratch_path("model"), name);
    return stat(path, &info) == 0;
}

static void holds(const struct served_file *file) {
    char path[1100], *data = malloc(file->size + 1);
    snprintf(path, sizeof path, "%s/%s", scratch_path("model"), file->path);
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    assert_int_equal(read(fd, data, file->size + 1), file->size);
    close(fd);
    assert_memory_equal(data, file->data, file->size);
    free(data);
    snprintf(path, sizeof path, "%.500s.part", file->path);
    assert_false(exists(path));
    snprintf(path, sizeof path, "%.500s.part.state", file->path);
    assert_false(exists(path));
}

static void succeeds_with(const struct fct_fetch_options *options) {
    fct_error err;
    fct_status status = fetch_with(options, &err);
    if (status) fail_msg("%s", err.message);
    holds(&files[CONFIG]);
    holds(&files[MODEL]);
}

static void succeeds(struct misbehaviour wrong) {
    struct fct_fetch_options options = plain();
    server_offer(files, N_FILES, wrong);
    succeeds_with(&options);
}

/* It fails, says so, and no file that is not right has a name. */
static void fails_with(const struct fct_fetch_options *options, const char *message) {
    fct_error err;
    assert_int_not_equal(fetch_with(options, &err), FCT_OK);
    if (!strstr(err.message, message)) fail_msg("\"%s\" is not in: %s", message, err.message);
    assert_false(exists("model.safetensors"));
}

static void fails(struct misbehaviour wrong, const char *message) {
    struct fct_fetch_options options = plain();
    server_offer(files, N_FILES, wrong);
    fails_with(&options, message);
}

static int n_asked_for(const char *path) {
    int n = 0;
    for (int i = 0; i < server.n_asked; i++) n += strstr(server.asked[i].path, path) != NULL;
    return n;
}

/* ---- what is fetched ---- */

static void only_what_a_conversion_needs_is_fetched(void **state) {
    (void)state;
    succeeds((struct misbehaviour){0});
    assert_true(exists("README.md"));
    assert_false(exists("vision_tower.safetensors"));
    assert_false(exists("onnx"));
    assert_int_equal(n_asked_for("vision"), 0);
    assert_int_equal(n_asked_for("onnx"), 0);
    assert_int_equal(n_asked_for("/resolve/main/model.safetensors"), 1);
}

static void a_listing_of_many_pages_is_read_to_its_end(void **state) {
    (void)state;
    succeeds((struct misbehaviour){.paged = true});
    assert_int_equal(n_asked_for("/tree/main"), N_FILES);
}

static void an_empty_listing_is_refused(void **state) {
    (void)state;
    fails((struct misbehaviour){.listing = "[]"}, "lists no files");
}

static void a_listing_without_end_is_refused(void **state) {
    (void)state;
    fails((struct misbehaviour){.paged = true, .endless = true}, "the listing has no end");
}

static void what_is_there_is_not_fetched_again(void **state) {
    (void)state;
    succeeds((struct misbehaviour){0});
    succeeds((struct misbehaviour){0});
    assert_int_equal(n_asked_for("/resolve/"), 0);
}

static void what_is_there_but_wrong_is_fetched_again(void **state) {
    (void)state;
    succeeds((struct misbehaviour){0});
    char path[1200];
    snprintf(path, sizeof path, "%s/model.safetensors", scratch_path("model"));
    int fd = open(path, O_RDWR);
    assert_int_equal(pwrite(fd, "x", 1, 1000), 1);
    close(fd);
    succeeds((struct misbehaviour){0});
    assert_int_equal(n_asked_for("/resolve/main/model.safetensors"), 1);
    assert_non_null(strstr(told, "SHA-256"));
}

static void shards_are_those_of_the_index(void **state) {
    (void)state;
    static const char index[] = "{\"weight_map\": {\"a\": \"model-1.safetensors\","
                                "\"model.vision_tower.x\": \"model-1.safetensors\","
                                "\"model.vision_tower.y\": \"model-3.safetensors\","
                                "\"b\": \"model-2.safetensors\"}}";
    struct served_file sharded[] = {
        {"config.json", "{}", 2, false},
        {FCT_REMOTE_INDEX, index, sizeof index - 1, false},
        {"model-1.safetensors", weights, 100, true},
        {"model-2.safetensors", weights, 200, true},
        {"consolidated.safetensors", weights, 300, true},
        {"model-3.safetensors", weights, 400, true},
    };
    fct_error err;
    struct fct_fetch_options options = plain();
    server_offer(sharded, 6, (struct misbehaviour){0});
    assert_int_equal(fetch_with(&options, &err), FCT_OK);
    for (int i = 0; i < 4; i++) holds(&sharded[i]);
    assert_false(exists("consolidated.safetensors"));
    assert_false(exists("model-3.safetensors")); /* nothing but vision */
    server_offer(sharded, 3, (struct misbehaviour){0});
    assert_int_equal(fetch_with(&options, &err), FCT_ERR_FORMAT);
    assert_non_null(strstr(err.message, "model-2.safetensors"));
}

static void shards_without_an_index_are_refused_before_they_are_fetched(void **state) {
    (void)state;
    struct served_file sharded[] = {
        {"config.json", "{}", 2, false},
        {"model-1.safetensors", weights, 100, true},
        {"model-2.safetensors", weights, 200, true},
    };
    fct_error err;
    struct fct_fetch_options options = plain();
    server_offer(sharded, 3, (struct misbehaviour){0});
    assert_int_equal(fetch_with(&options, &err), FCT_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.message, "has 2 safetensors files, but no model.safetensors.index"));
    server_offer(sharded + 1, 1, (struct misbehaviour){0});
    assert_int_equal(fetch_with(&options, &err), FCT_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.message, "no config.json"));
    server_offer(sharded, 1, (struct misbehaviour){0});
    assert_int_equal(fetch_with(&options, &err), FCT_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.message, "neither safetensors nor GGUF"));
}

static void a_file_in_a_folder_gets_its_folder(void **state) {
    (void)state;
    struct served_file deep[] = {{"a/b/m.gguf", weights, 100, true}};
    fct_error err;
    struct fct_fetch_options options = plain();
    server_offer(deep, 1, (struct misbehaviour){0});
    fct_fetch *fetch = fct_fetch_open(&options, &err);
    assert_non_null(fetch);
    assert_int_equal(fct_fetch_run(fetch, &err), FCT_OK);
    holds(&deep[0]);
    assert_int_equal(fct_fetch_remove(fetch, &err), FCT_OK);
    fct_fetch_free(fetch);
    assert_int_not_equal(access(options.folder, F_OK), 0);
}

static void of_several_gguf_files_one_has_to_be_named(void **state) {
    (void)state;
    struct served_file gguf[] = {
        {"m-Q4_0-00001-of-00002.gguf", weights, 100, true},
        {"m-Q4_0-00002-of-00002.gguf", weights, 200, true},
        {"m-Q8_0.gguf", weights, 300, true},
        {"mmproj-m.gguf", weights, 400, true},
    };
    const char *const first[] = {"m-Q4_0-00001-of-00002.gguf"}, *const none[] = {"m.gguf"};
    fct_error err;
    struct fct_fetch_options options = plain();
    server_offer(gguf, 4, (struct misbehaviour){0});
    assert_int_equal(fetch_with(&options, &err), FCT_ERR_ARGUMENT);
    assert_non_null(strstr(err.message, "2 GGUF models"));
    assert_non_null(strstr(err.message, "m-Q8_0.gguf"));
    options.n_files = 1;
    options.files = none;
    assert_int_equal(fetch_with(&options, &err), FCT_ERR_ARGUMENT);
    options.files = first;
    fct_fetch *fetch = fct_fetch_open(&options, &err);
    assert_non_null(fetch);
    assert_int_equal(fct_fetch_n_files(fetch), 2);
    assert_int_equal(fct_fetch_bytes(fetch), 300);
    assert_int_equal(fct_fetch_missing(fetch), 300);
    assert_string_equal(fct_fetch_model(fetch), first[0]);
    assert_int_equal(fct_fetch_run(fetch, &err), FCT_OK);
    assert_int_equal(fct_fetch_missing(fetch), 0);
    fct_fetch_free(fetch);
    holds(&gguf[0]);
    holds(&gguf[1]);
    assert_false(exists("m-Q8_0.gguf"));
}

static void a_folder_of_any_server_is_read_by_its_checksums(void **state) {
    (void)state;
    char sums[1024] = "", id[65], address[128];
    for (int i = 0; i < 3; i++) {
        struct served_file file = files[i];
        file.lfs = true; /* SHA-256 of everything */
        server_id(&file, id);
        sprintf(sums + strlen(sums), "%s  %s%s\n", id, i ? "" : "./", file.path);
    }
    struct fct_fetch_options options = plain();
    snprintf(address, sizeof address, "%s/folder", endpoint);
    options.source = address;
    options.token = "hub-secret";
    server_offer(files, N_FILES, (struct misbehaviour){.sums = sums});
    succeeds_with(&options);
    for (int i = 0; i < server.n_asked; i++) assert_string_equal(server.asked[i].authorization, "");
    sums[0] = sums[0] == 'a' ? 'b' : 'a';
    fct_error err;
    server_offer(files, N_FILES, (struct misbehaviour){.sums = sums});
    assert_int_equal(fetch_with(&options, &err), FCT_ERR_FORMAT);
    assert_non_null(strstr(err.message, "config.json: its SHA-256 is"));
    server_offer(files, N_FILES, (struct misbehaviour){.sums = "not a list\n"});
    assert_int_equal(fetch_with(&options, &err), FCT_ERR_FORMAT);
    assert_non_null(strstr(err.message, "line 1 is not a checksum and a name"));
}

static void files_of_a_folder_can_be_named(void **state) {
    (void)state;
    const char *const names[] = {"config.json", "model.safetensors"};
    char address[128];
    fct_error err;
    struct fct_fetch_options options = plain();
    snprintf(address, sizeof address, "%s/folder/", endpoint);
    options.source = address;
    server_offer(files, N_FILES, (struct misbehaviour){0});
    fails_with(&options, "name the files with --file");
    options.files = names;
    options.n_files = 2;
    succeeds_with(&options);
    server_offer(files, N_FILES, (struct misbehaviour){0});
    options.folder = scratch_path("other");
    options.files = (const char *const[]){"config.json", "nothing.json"};
    assert_int_equal(fetch_with(&options, &err), FCT_ERR_IO);
    assert_non_null(strstr(err.message, "nothing.json: not found (404)"));
}

/* ---- names and listings ---- */

static void names_that_lead_elsewhere_are_refused(void **state) {
    (void)state;
    static const char *const bad[] = {
        "../evil.safetensors",
        "/etc/evil.safetensors",
        "a/../../evil.safetensors",
        "..\\\\evil.safetensors",
        "evil\\u000a.safetensors",
        "./evil.safetensors",
        "a//evil.safetensors",
        "",
        "sub/",
        "..",
        "model.safetensors.part",
    };
    char listing[512];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(listing, sizeof listing,
                 "[{\"type\":\"file\",\"oid\":\"\",\"size\":2,\"path\":\"config.json\"},"
                 "{\"type\":\"file\",\"oid\":\"\",\"size\":9,\"path\":\"%s\"}]",
                 bad[i]);
        fails((struct misbehaviour){.listing = listing}, "no safe name for a file");
        assert_false(exists("config.json"));
    }
    assert_true(fct_remote_path_is_safe("a/b..c/.d/e-f_g 1.json"));
}

static void listings_that_make_no_sense_are_refused(void **state) {
    (void)state;
#define FILE_OF(rest) "[{\"type\":\"file\",\"path\":\"config.json\"," rest "}]"
    static const char *const bad[][2] = {
        {"", "not JSON"},
        {"[", "not JSON"},
        {"{}", "not a list"},
        {"[1]", "no path or type"},
        {"[{\"type\":\"file\"}]", "no path or type"},
        {FILE_OF("\"oid\":\"\""), "no size"},
        {FILE_OF("\"oid\":\"\",\"size\":-1"), "no size"},
        {FILE_OF("\"oid\":\"\",\"size\":1.5"), "no size"},
        {FILE_OF("\"oid\":\"\",\"size\":\"5\""), "no size"},
        {FILE_OF("\"oid\":\"\",\"size\":9223372036854775807"), "with 9223372036854775807 bytes"},
        {FILE_OF("\"oid\":\"xyz\",\"size\":5"), "checksum of another kind"},
        {FILE_OF("\"size\":5,\"lfs\":{\"size\":5}"), "no SHA-256"},
        {FILE_OF("\"size\":5,\"lfs\":{\"size\":5,\"oid\":7}"), "no SHA-256"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        fails((struct misbehaviour){.listing = bad[i][0]}, bad[i][1]);
    fails((struct misbehaviour){.listing = "[{\"type\":\"file\",\"path\":\"a\",\"size\":1},"
                                           "{\"type\":\"file\",\"path\":\"a\",\"size\":1}]"},
          "lists a twice");
    char *huge = malloc((17 << 20) + 1);
    memset(huge, ' ', 17 << 20);
    huge[17 << 20] = 0;
    fails((struct misbehaviour){.listing = huge}, "that is no listing");
    free(huge);
}

static void a_wrong_name_is_refused_without_asking_anybody(void **state) {
    (void)state;
    static const char *const bad[] = {"",
                                      "a/b/c",
                                      "../x",
                                      "a b/c",
                                      "a/",
                                      "/a",
                                      ".x/y",
                                      "a/..",
                                      "ftp://host/x",
                                      "http://",
                                      "http:///x",
                                      "http://u:p@host/x",
                                      "http://host/x?y",
                                      "file:///etc/passwd"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        fct_error err = {0};
        struct fct_fetch_options options = plain();
        options.source = bad[i];
        if (strcmp(bad[i], "a/") == 0) continue; /* a slash at the end is forgiven */
        server_offer(files, N_FILES, (struct misbehaviour){0});
        assert_null(fct_fetch_open(&options, &err));
        assert_int_equal(err.code, FCT_ERR_ARGUMENT);
        assert_int_equal(server.n_asked, 0);
    }
}

/* ---- cuts ---- */

static void a_cut_at_any_byte_is_taken_up_there(void **state) {
    (void)state;
    struct served_file small[] = {files[0], {"model.safetensors", weights, 61, true}};
    for (size_t cut = 1; cut < 61; cut += cut < 8 ? 1 : 7) {
        fct_error err;
        struct fct_fetch_options options = plain();
        options.folder = scratch_path("model");
        server_offer(small, 2, (struct misbehaviour){.n_cuts = -1, .cut = cut, .etag = "\"v1\""});
        if (fetch_with(&options, &err)) fail_msg("cut %zu: %s", cut, err.message);
        holds(&small[0]);
        holds(&small[1]);
        assert_int_equal(n_asked_for("model.safetensors"), (61 + cut - 1) / cut);
        char remove[200];
        snprintf(remove, sizeof remove, "rm -rf '%s'", options.folder);
        assert_int_equal(system(remove), 0);
    }
}

static void a_cut_before_the_first_byte_is_given_up_after_the_retries(void **state) {
    (void)state;
    fails((struct misbehaviour){.n_cuts = -1, .cut = 0}, "given up for now");
    succeeds((struct misbehaviour){0});
}

static void a_download_goes_on_where_another_process_left_it(void **state) {
    (void)state;
    struct fct_fetch_options options = plain();
    options.retries = 0;
    server_offer(files, N_FILES, (struct misbehaviour){.n_cuts = -1, .cut = 100000});
    fails_with(&options, "given up for now");
    server_offer(files, N_FILES, (struct misbehaviour){0});
    succeeds_with(&options);
    bool resumed = false;
    for (int i = 0; i < server.n_asked; i++)
        resumed = resumed || strcmp(server.asked[i].range, "bytes=100000-299999") == 0;
    assert_true(resumed);
    assert_true(server.bytes_sent < SIZE);
}

static void pieces_come_over_several_connections(void **state) {
    (void)state;
    struct fct_fetch_options options = plain();
    options.piece_bytes = 50000;
    server_offer(files, N_FILES, (struct misbehaviour){.n_cuts = 3, .cut = 12345});
    succeeds_with(&options);
    assert_true(n_asked_for("model.safetensors") >= 6);
    assert_true(server.bytes_sent < SIZE + 1000); /* no byte came twice */
}

static void a_server_without_ranges_sends_it_whole(void **state) {
    (void)state;
    struct fct_fetch_options options = plain();
    options.retries = 0;
    server_offer(files, N_FILES, (struct misbehaviour){.n_cuts = -1, .cut = 100000});
    fails_with(&options, "given up for now");
    options.retries = 3;
    server_offer(files, N_FILES, (struct misbehaviour){.ignores_range = true});
    succeeds_with(&options);
    options.folder = scratch_path("model");
    options.piece_bytes = 50000;
    assert_int_equal(unlink(scratch_path("model/model.safetensors")), 0);
    server_offer(files, N_FILES, (struct misbehaviour){.ignores_range = true});
    succeeds_with(&options);
}

static void a_file_that_changed_meanwhile_starts_over(void **state) {
    (void)state;
    struct fct_fetch_options options = plain();
    options.retries = 0;
    server_offer(files, N_FILES,
                 (struct misbehaviour){.n_cuts = -1, .cut = 100000, .etag = "\"v1\""});
    fails_with(&options, "given up for now");
    server_offer(files, N_FILES, (struct misbehaviour){.etag = "\"v2\""});
    succeeds_with(&options);
    bool asked = false;
    for (int i = 0; i < server.n_asked; i++)
        asked = asked || strcmp(server.asked[i].if_range, "\"v1\"") == 0;
    assert_true(asked);
    assert_true(server.bytes_sent >= SIZE);
}

static void another_file_in_the_listing_starts_over(void **state) {
    (void)state;
    struct fct_fetch_options options = plain();
    options.retries = 0;
    server_offer(files, N_FILES, (struct misbehaviour){.n_cuts = -1, .cut = 100000});
    fails_with(&options, "given up for now");
    weights[5] ^= 1;
    server_offer(files, N_FILES, (struct misbehaviour){0});
    succeeds_with(&options);
    assert_true(server.bytes_sent >= SIZE);
}

static void a_state_file_of_nonsense_starts_over(void **state) {
    (void)state;
    struct fct_fetch_options options = plain();
    for (size_t n = 0; n < 300; n += 37) {
        char junk[300], path[1100];
        options.retries = 0;
        server_offer(files, N_FILES, (struct misbehaviour){.n_cuts = -1, .cut = 100000});
        fails_with(&options, "given up for now");
        snprintf(path, sizeof path, "%s/model.safetensors.part.state", options.folder);
        int fd = open(path, O_RDWR);
        assert_true(fd >= 0);
        memset(junk, 0xFF, sizeof junk);
        assert_int_equal(pwrite(fd, junk, 8, (off_t)n), 8);
        if (n == 0) assert_int_equal(ftruncate(fd, 3), 0);
        close(fd);
        options.retries = 3;
        server_offer(files, N_FILES, (struct misbehaviour){0});
        succeeds_with(&options);
        snprintf(path, sizeof path, "%s/model.safetensors", options.folder);
        assert_int_equal(unlink(path), 0);
    }
}

/* ---- lies ---- */

static void lengths_that_lie_are_caught(void **state) {
    (void)state;
    fails((struct misbehaviour){.length_lie = 10}, "bytes, but ");
    fails((struct misbehaviour){.length_lie = -5}, "bytes, but ");
    fails((struct misbehaviour){.listed_lie = 10}, "are listed");
    fails((struct misbehaviour){.listed_lie = -1}, "are listed");
    fails((struct misbehaviour){.no_length = true, .extra = true}, "sends more than");
    fails((struct misbehaviour){.no_length = true, .listed_lie = 3}, "given up for now");
    succeeds((struct misbehaviour){.no_length = true});
}

static void a_range_from_elsewhere_is_refused(void **state) {
    (void)state;
    struct fct_fetch_options options = plain();
    options.piece_bytes = 50000;
    server_offer(files, N_FILES, (struct misbehaviour){.wrong_range = true});
    fails_with(&options, "from byte");
}

static void a_wrong_bit_is_found_and_fetched_again_once(void **state) {
    (void)state;
    succeeds((struct misbehaviour){.n_flips = 1});
    assert_non_null(strstr(told, "but"));
    struct fct_fetch_options options = plain();
    options.folder = scratch_path("other");
    fct_error err;
    server_offer(files, N_FILES, (struct misbehaviour){.n_flips = -1});
    assert_int_equal(fetch_with(&options, &err), FCT_ERR_FORMAT);
    assert_non_null(strstr(err.message, "is listed; it came twice like this"));
    assert_int_not_equal(access(scratch_path("other/model.safetensors"), F_OK), 0);
}

static void pages_and_pointers_are_named_for_what_they_are(void **state) {
    (void)state;
    static const char pointer[] = "version https://git-lfs.github.com/spec/v1\noid sha256:0\n";
    fails((struct misbehaviour){.body = "\n <!DOCTYPE html><p>Log in"}, "HTML page");
    fails((struct misbehaviour){.body = "<html><p>Log in"}, "HTML page");
    fails((struct misbehaviour){.type = "text/html; charset=utf-8"}, "HTML page");
    fails((struct misbehaviour){.body = pointer}, "Git LFS pointer");
    /* Also where nothing but the name is known. */
    struct served_file lone[] = {{"model.safetensors", pointer, sizeof pointer - 1, true}};
    char address[128];
    struct fct_fetch_options options = plain();
    snprintf(address, sizeof address, "%s/folder/", endpoint);
    options.source = address;
    options.files = (const char *const[]){"model.safetensors"};
    options.n_files = 1;
    server_offer(lone, 1, (struct misbehaviour){0});
    fails_with(&options, "Git LFS pointer");
}

/* ---- answers that are none ---- */

static void refusals_say_what_to_do(void **state) {
    (void)state;
    struct misbehaviour refuse = {.n_failures = -1, .status = 401};
    fails(refuse, "put it into HF_TOKEN");
    struct fct_fetch_options options = plain();
    options.token = "hf_old";
    server_offer(files, N_FILES, refuse);
    fails_with(&options, "does not accept the token");
    refuse.failure_headers = "X-Error-Code: GatedRepo\r\n";
    fails(refuse, "accept the licence at http://127.0.0.1");
    refuse.status = 403;
    fails(refuse, "accept the licence at http://127.0.0.1");
    refuse.status = 404;
    fails(refuse, "not found (404");
    refuse.status = 418;
    fails(refuse, "status 418");
    options = plain();
    options.source = "some/other";
    server_offer(files, N_FILES, (struct misbehaviour){0});
    fails_with(&options, "not found (404, RepoNotFound): check the spelling of http://127.0.0.1");
    assert_int_equal(server.n_asked, 1);
}

static void what_may_pass_is_tried_again(void **state) {
    (void)state;
    static const long passing[] = {408, 429, 500, 502, 503, 504};
    for (size_t i = 0; i < sizeof passing / sizeof *passing; i++) {
        succeeds((struct misbehaviour){.n_failures = 2, .status = passing[i]});
        assert_int_equal(unlink(scratch_path("model/model.safetensors")), 0);
        assert_int_equal(unlink(scratch_path("model/config.json")), 0);
    }
    fails((struct misbehaviour){.n_failures = -1, .status = 503}, "status 503; given up for now");
    assert_true(server.n_asked < 20);
}

static void the_server_is_given_the_time_it_asks_for(void **state) {
    (void)state;
    struct timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    succeeds((struct misbehaviour){
        .n_failures = 1, .status = 429, .failure_headers = "Retry-After: 2\r\n"});
    clock_gettime(CLOCK_MONOTONIC, &after);
    assert_true(after.tv_sec - before.tv_sec >= 1); /* whole seconds of 2 */
    assert_non_null(strstr(told, "again in 2 s"));
    assert_int_equal(unlink(scratch_path("model/model.safetensors")), 0);
    fails((struct misbehaviour){.n_failures = -1,
                                .status = 429,
                                .failure_headers = "Retry-After: 86400\r\n"},
          "come back in 86400 seconds");
}

static void the_listing_is_asked_for_again_too(void **state) {
    (void)state;
    succeeds((struct misbehaviour){.n_list_failures = 2, .status = 503});
    assert_int_equal(n_asked_for("/tree/main"), 3);
    assert_int_equal(unlink(scratch_path("model/model.safetensors")), 0);
    fails((struct misbehaviour){.n_list_failures = -1, .status = 500}, "status 500; tried 4 times");
    fails((struct misbehaviour){.n_list_failures = -1, .status = 401}, "put it into HF_TOKEN");
    assert_int_equal(server.n_asked, 1);
    fails((struct misbehaviour){.n_list_failures = 1,
                                .status = 200,
                                .failure_headers = "Content-Type: text/html\r\n"},
          "is an HTML page, not a listing");
}

static void two_at_once_do_not_spoil_each_other(void **state) {
    (void)state;
    fct_error err;
    struct fct_fetch_options options = plain();
    assert_int_equal(mkdir(options.folder, 0777), 0);
    int fd = open(options.folder, O_RDONLY | O_DIRECTORY);
    assert_int_equal(flock(fd, LOCK_EX), 0); /* as the other one holds it */
    server_offer(files, N_FILES, (struct misbehaviour){0});
    assert_int_equal(fetch_with(&options, &err), FCT_ERR_IO);
    assert_non_null(strstr(err.message, "another process downloads into it"));
    close(fd);
    succeeds_with(&options);
}

static void a_disk_that_refuses_is_named(void **state) {
    (void)state;
    struct rlimit before, small = {.rlim_cur = SIZE / 2};
    fct_error err;
    struct fct_fetch_options options = plain();
    server_offer(files, N_FILES, (struct misbehaviour){0});
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small.rlim_max = before.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    fct_status status = fetch_with(&options, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(status, FCT_ERR_IO);
    assert_non_null(strstr(err.message, "model.safetensors.part: File too large"));
    assert_false(exists("model.safetensors"));
    succeeds_with(&options);
}

static void a_stalled_connection_is_given_up(void **state) {
    (void)state;
    struct fct_fetch_options options = plain();
    options.stall_seconds = 1;
    server_offer(files, N_FILES, (struct misbehaviour){.n_stalls = 2, .cut = 10});
    succeeds_with(&options);
    assert_non_null(strstr(told, "again in"));
}

static bool stop_soon(void *user) {
    int *n_left = user;
    return (*n_left)-- <= 0;
}

static void the_person_can_stop_and_go_on(void **state) {
    (void)state;
    int n_left = 8;
    struct fct_fetch_options options = plain();
    options.cancelled = stop_soon;
    options.user = &n_left;
    options.note = NULL;
    server_offer(files, N_FILES, (struct misbehaviour){.microseconds = 50000});
    fct_error err;
    assert_int_equal(fetch_with(&options, &err), FCT_ERR_CANCELLED);
    assert_false(exists("model.safetensors"));
    succeeds((struct misbehaviour){0});
}

/* ---- the token ---- */

static void the_token_stays_with_its_host(void **state) {
    (void)state;
    struct fct_fetch_options options = plain();
    options.token = "hf_secret";
    server_offer(files, N_FILES, (struct misbehaviour){.redirect = "http://localhost:%d"});
    succeeds_with(&options);
    int n_here = 0, n_there = 0;
    for (int i = 0; i < server.n_asked; i++) {
        const struct asked *asked = &server.asked[i];
        if (strncmp(asked->host, "127.0.0.1", 9) == 0) {
            assert_string_equal(asked->authorization, "Bearer hf_secret");
            n_here++;
        } else {
            assert_string_equal(asked->authorization, "");
            n_there++;
        }
    }
    assert_true(n_here >= 4);
    assert_int_equal(n_there, 3);
}

static void the_token_is_not_sent_in_the_clear(void **state) {
    (void)state;
    fct_error err;
    struct fct_fetch_options options = plain();
    char proxy[64];
    options.token = "hf_secret";
    options.endpoint = "http://hub.invalid";
    options.retries = 0;
    snprintf(proxy, sizeof proxy, "127.0.0.1:%d", server.port);
    setenv("http_proxy", proxy, 1); /* who reads what a network would see */
    setenv("no_proxy", "localhost", 1);
    server_offer(files, N_FILES, (struct misbehaviour){0});
    assert_int_equal(fetch_with(&options, &err), FCT_ERR_IO);
    unsetenv("http_proxy");
    setenv("no_proxy", "*", 1);
    assert_int_equal(server.n_asked, 1);
    assert_string_equal(server.asked[0].host, "hub.invalid");
    assert_string_equal(server.asked[0].authorization, "");
    assert_non_null(strstr(told, "the token is not sent"));
}

static void redirects_without_end_are_given_up(void **state) {
    (void)state;
    fails((struct misbehaviour){.n_failures = -1,
                                .status = 302,
                                .failure_headers =
                                    "Location: "
                                    "/some/model/resolve/main/model.safetensors\r\n"},
          "redirects");
    fails((struct misbehaviour){.n_failures = -1,
                                .status = 302,
                                .failure_headers = "Location: file:///etc/passwd\r\n"},
          "rotocol");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(only_what_a_conversion_needs_is_fetched),
        SCRATCH_TEST(a_listing_of_many_pages_is_read_to_its_end),
        SCRATCH_TEST(an_empty_listing_is_refused),
        SCRATCH_TEST(a_listing_without_end_is_refused),
        SCRATCH_TEST(what_is_there_is_not_fetched_again),
        SCRATCH_TEST(what_is_there_but_wrong_is_fetched_again),
        SCRATCH_TEST(shards_are_those_of_the_index),
        SCRATCH_TEST(shards_without_an_index_are_refused_before_they_are_fetched),
        SCRATCH_TEST(a_file_in_a_folder_gets_its_folder),
        SCRATCH_TEST(of_several_gguf_files_one_has_to_be_named),
        SCRATCH_TEST(a_folder_of_any_server_is_read_by_its_checksums),
        SCRATCH_TEST(files_of_a_folder_can_be_named),
        SCRATCH_TEST(names_that_lead_elsewhere_are_refused),
        SCRATCH_TEST(listings_that_make_no_sense_are_refused),
        SCRATCH_TEST(a_wrong_name_is_refused_without_asking_anybody),
        SCRATCH_TEST(a_cut_at_any_byte_is_taken_up_there),
        SCRATCH_TEST(a_cut_before_the_first_byte_is_given_up_after_the_retries),
        SCRATCH_TEST(a_download_goes_on_where_another_process_left_it),
        SCRATCH_TEST(pieces_come_over_several_connections),
        SCRATCH_TEST(a_server_without_ranges_sends_it_whole),
        SCRATCH_TEST(a_file_that_changed_meanwhile_starts_over),
        SCRATCH_TEST(another_file_in_the_listing_starts_over),
        SCRATCH_TEST(a_state_file_of_nonsense_starts_over),
        SCRATCH_TEST(lengths_that_lie_are_caught),
        SCRATCH_TEST(a_range_from_elsewhere_is_refused),
        SCRATCH_TEST(a_wrong_bit_is_found_and_fetched_again_once),
        SCRATCH_TEST(pages_and_pointers_are_named_for_what_they_are),
        SCRATCH_TEST(refusals_say_what_to_do),
        SCRATCH_TEST(what_may_pass_is_tried_again),
        SCRATCH_TEST(the_server_is_given_the_time_it_asks_for),
        SCRATCH_TEST(the_listing_is_asked_for_again_too),
        SCRATCH_TEST(two_at_once_do_not_spoil_each_other),
        SCRATCH_TEST(a_disk_that_refuses_is_named),
        SCRATCH_TEST(a_stalled_connection_is_given_up),
        SCRATCH_TEST(the_person_can_stop_and_go_on),
        SCRATCH_TEST(the_token_stays_with_its_host),
        SCRATCH_TEST(the_token_is_not_sent_in_the_clear),
        SCRATCH_TEST(redirects_without_end_are_given_up),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
