/* test_doctor.c - facet doctor: facts from trees that stand for machines, and what they mean. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/doctor.h"
#include "cli/doctor_cpu.h"
#include "scratch_folder.h"

static struct fct_doctor_facts facts;
static struct fct_diagnosis diagnosis;

/* The machine of tests/data/doctor/NAME, with the model at path, asked about a Gemma 4 E2B. */
static void examine(const char *name, const char *path) {
    char root[512];
    snprintf(root, sizeof root, "%s/doctor/%s", TEST_DATA, name);
    fct_doctor_gather(root, path, &facts);
    fct_doctor_typical(&facts.model);
    fct_doctor_judge(&facts, &diagnosis);
}

static const struct fct_finding *finding(const char *area) {
    for (int i = 0; i < diagnosis.n_findings; i++)
        if (!strcmp(diagnosis.findings[i].area, area)) return &diagnosis.findings[i];
    return NULL;
}

/* The finding of an area has this state, and says so. */
static void finds(const char *area, enum fct_state state, const char *text) {
    const struct fct_finding *f = finding(area);
    if (!f) fail_msg("nothing about %s", area);
    if (f->state != state || !strstr(f->text, text))
        fail_msg("%s: state %d, not %d: %s", area, f->state, state, f->text);
    if (state >= FCT_STATE_WARNING && !f->advice[0] && !f->command[0])
        fail_msg("%s: what to do about it?", area);
}
#define IS_FINE(area, text) finds(area, FCT_STATE_OK, text)
#define IS_NOTED(area, text) finds(area, FCT_STATE_NOTE, text)
#define WARNS_OF(area, text) finds(area, FCT_STATE_WARNING, text)
#define IS_PROBLEM(area, text) finds(area, FCT_STATE_PROBLEM, text)

/* ---- machines ---- */

static void a_pi_5_that_is_set_up_well_has_nothing_to_warn_of(void **state) {
    (void)state;
    examine("pi5", "/home/pi/e2b.facet");
    assert_string_equal(facts.board, "Raspberry Pi 5 Model B Rev 1.0");
    assert_string_equal(facts.cpu, "Cortex-A76");
    assert_int_equal(facts.pi, 5);
    assert_int_equal(fct_diagnosis_worst(&diagnosis), FCT_STATE_NOTE);
    IS_FINE("kernels", "neon_dotprod (asimd asimddp)");
    IS_FINE("cpu", "4 CPUs");
    IS_FINE("pages", "16 KiB");
    IS_FINE("heat", "49 °C");
    IS_FINE("power", "never slowed down");
    IS_FINE("bootloader", "of 2025-05-08, SDRAM_BANKLOW left to it");
    IS_FINE("banks", "8 emulated NUMA nodes");
    IS_FINE("memory", "1.28 GB weights + 0.12 GB for keys and values of 8192 positions + 0.09 GB "
                      "to compute in = 1.50 GB of 7.49 GB");
    IS_FINE("swap", "compressed memory");
    IS_FINE("storage", "NVMe nvme0n1 (5.0 GT/s PCIe x1)");
    IS_FINE("system", "6.12.47+rpt-rpi-2712, Debian GNU/Linux 13 (trixie)");
    IS_NOTED("governor", "ondemand");
    IS_NOTED("limit", "MemoryMax=");
}

/* F75: under-voltage, throttling and a low governor do not go unnoticed. */
static void a_pi_4_in_trouble_is_told_of_each(void **state) {
    (void)state;
    examine("pi4", "/home/pi/e2b.facet");
    assert_int_equal(facts.pi, 4);
    IS_PROBLEM("power", "now: under-voltage, throttled");
    WARNS_OF("governor", "powersave holds the clock down");
    assert_non_null(strstr(finding("governor")->command, "scaling_governor"));
    WARNS_OF("heat", "82 °C");
    WARNS_OF("load", "2.41 on 4 CPUs");
    WARNS_OF("bootloader", "of 2023-01-11");
    WARNS_OF("swap", "0.25 of 0.54 GB used, on SD card");
    IS_PROBLEM("memory", "= 1.50 GB, but 1.34 GB are available");
    IS_NOTED("kernels", "neon: this CPU has no dot product");
    IS_FINE("pages", "4 KiB");
    IS_FINE("storage", "SD card mmcblk0");
    assert_null(finding("limit")); /* cgroup_enable=memory is behind cgroup_disable=memory */
    assert_null(finding("speed")); /* nothing was measured */
}

static void a_hard_disk_on_usb_2_is_told_of(void **state) {
    (void)state;
    examine("pi4", "/media/usb disk/e2b.facet");
    WARNS_OF("storage", "USB disk sda at 480 Mbit/s");
    assert_non_null(strstr(finding("storage")->advice, "USB 3"));
}

static void the_disk_of_a_laptop_is_found_under_encryption_and_lvm(void **state) {
    (void)state;
    examine("laptop", "/home/anna/e2b.facet");
    assert_string_equal(facts.board, "Example Laptop 13");
    assert_int_equal(facts.pi, 0);
    IS_FINE("storage", "NVMe nvme0n1 (16.0 GT/s PCIe x4)");
    IS_FINE("swap", "1.02 GB on NVMe");
    IS_FINE("kernels", "avxvnni (avx2 fma f16c avx_vnni)");
    IS_FINE("pages", "2 MiB where asked for");
    IS_FINE("governor", "powersave of intel_pstate, which follows the load");
    IS_FINE("clock", "up to 4.40 GHz");
    IS_FINE("load", "0.92");
    assert_int_equal(fct_diagnosis_worst(&diagnosis), FCT_STATE_OK);
    assert_null(finding("banks"));
    examine("laptop", "/mnt/share/e2b.facet");
    IS_NOTED("storage", "network");
    examine("laptop", "/tmp/e2b.facet");
    IS_FINE("storage", "memory");
    examine("laptop", "/mnt/shared/e2b.facet"); /* not below /mnt/share */
    IS_FINE("storage", "NVMe");
}

/* F74, F77: the limits of a container count, not the machine around it. */
static void the_limits_of_a_container_count(void **state) {
    (void)state;
    examine("container", "/models/e2b.facet");
    assert_int_equal(facts.n_usable, 2);
    IS_NOTED("cpu", "2 of 16 CPUs");
    IS_PROBLEM("memory", "1.50 GB, but 1.01 GB are available");
    IS_NOTED("limit", "allows 1.07 of the machine's 67.42 GB");
    IS_NOTED("pages", "huge pages are switched off");
    IS_FINE("kernels", "avx512");
    IS_FINE("system", "in a container");
    IS_FINE("swap", "none");
    IS_FINE("storage", "virtual disk vda");
}

static void a_machine_that_tells_nothing_is_no_fault(void **state) {
    (void)state;
    fct_doctor_gather(scratch_folder, "/x", &facts);
    fct_doctor_typical(&facts.model);
    fct_doctor_judge(&facts, &diagnosis);
    assert_int_equal(fct_diagnosis_worst(&diagnosis), FCT_STATE_OK);
    assert_int_equal(diagnosis.n_findings, 0);
}

/* ---- single facts ---- */

static void judge(void) { fct_doctor_judge(&facts, &diagnosis); }

static void kernel_and_pages_of_a_pi_5_are_judged(void **state) {
    (void)state;
    examine("pi5", "/");
    strcpy(facts.release, "6.1.0-rpi7-rpi-2712");
    facts.page_bytes = 4096;
    judge();
    WARNS_OF("system", "Linux 6.1.0-rpi7-rpi-2712: older than 6.6");
    assert_non_null(strstr(finding("system")->command, "apt full-upgrade"));
    IS_NOTED("pages", "4 KiB; this board's own kernel has 16 KiB");
    assert_non_null(strstr(finding("pages")->advice, "kernel=kernel8.img"));
    examine("pi4", "/");
    facts.pi = 4;
    judge();
    IS_FINE("pages", "4 KiB"); /* which is that board's own */
}

/* What the issue asks for, with what to do wherever something is not well. */
static void nothing_is_left_out(void **state) {
    (void)state;
    static const char *const trees[] = {"pi5", "pi4", "laptop", "container"};
    static const char *const areas[] = {
        "kernels", "cpu",   "memory",  "swap",     "pages", "system",
        "load",    "speed", "storage", /* of every machine */
        "clock",   "heat",  "power",   "governor", "banks", "bootloader"};
    enum { OF_ALL = 9, OF_BARE_ONES = 13, OF_BOARDS = 15 };
    static const int n_areas[] = {OF_BOARDS, OF_BOARDS, OF_BARE_ONES, OF_ALL};
    for (int t = 0; t < 4; t++) {
        examine(trees[t], "/");
        facts.bandwidth = 10e9;
        facts.bandwidth_threads = 2;
        facts.storage.bytes_per_second = 90e6;
        judge();
        for (int i = 0; i < n_areas[t]; i++)
            if (!finding(areas[i])) fail_msg("%s: nothing about %s", trees[t], areas[i]);
        for (int i = 0; i < diagnosis.n_findings; i++) {
            const struct fct_finding *f = &diagnosis.findings[i];
            if (f->state >= FCT_STATE_WARNING && !f->advice[0] && !f->command[0])
                fail_msg("%s: %s, but what to do?", trees[t], f->text);
        }
        assert_false(isnan(diagnosis.tokens_per_second));
    }
}

static void every_bit_of_throttling_has_its_word(void **state) {
    (void)state;
    static const char *const words[] = {"under-voltage", "clock capped", "throttled",
                                        "soft temperature limit"};
    examine("pi5", "/");
    for (int bit = 0; bit < 4; bit++) {
        facts.sensors.throttle = 1u << bit;
        judge();
        IS_PROBLEM("power", words[bit]);
        facts.sensors.throttle = 1u << (16 + bit);
        judge();
        WARNS_OF("power", "since boot");
        WARNS_OF("power", words[bit]);
    }
    facts.sensors.throttle = 0x50005 & ~4u;
    judge();
    IS_PROBLEM("power", "now: under-voltage; since boot also: throttled;");
    assert_non_null(strstr(finding("power")->advice, "27 W"));
    facts.sensors.throttle_known = false;
    judge();
    IS_NOTED("power", "cannot be asked");
}

static void a_held_down_clock_is_seen(void **state) {
    (void)state;
    examine("pi5", "/");
    facts.allowed_clock_hz = 1.5e9;
    judge();
    WARNS_OF("clock", "held down to 1.50 of 2.40 GHz");
    facts.allowed_clock_hz = 2.4e9;
    facts.busy_clock_hz = 1.5e9;
    judge();
    IS_NOTED("clock", "1.50 of 2.40 GHz while memory was read");
    facts.busy_clock_hz = 2.4e9;
    judge();
    IS_FINE("clock", "2.40 of 2.40 GHz");
    facts.sensors.celsius = 72;
    judge();
    IS_NOTED("heat", "72 °C");
    facts.governor.slow = false;
    strcpy(facts.governor.name, "performance");
    judge();
    IS_FINE("governor", "performance");
}

static void the_banks_of_a_pi_5_are_judged_with_bootloader_and_kernel(void **state) {
    (void)state;
    examine("pi5", "/");
    facts.banks.interleaved = false;
    judge();
    WARNS_OF("banks", "not interleaved");
    facts.banks.n_nodes = 1; /* a kernel that cannot */
    judge();
    WARNS_OF("banks", "asks for 8 emulated NUMA nodes, but this kernel makes none");
    facts.banks.asked_nodes = 0;
    judge();
    WARNS_OF("banks", "no emulated NUMA nodes");
    facts.banks.n_nodes = 0; /* a kernel without NUMA */
    judge();
    WARNS_OF("banks", "no emulated NUMA nodes");
    assert_non_null(strstr(finding("banks")->advice, "rpi-eeprom-update"));
    facts.banks.bootloader_date = 1733529600 - 1; /* 2024-12-06 */
    judge();
    WARNS_OF("bootloader", "of 2024-12-06");
    assert_string_equal(finding("bootloader")->command, "sudo rpi-eeprom-update -a && sudo reboot");
    facts.banks.banklow = 1; /* set by hand, as was possible before */
    judge();
    IS_FINE("bootloader", "set to its own choice");
    facts.banks.banklow = 3;
    judge();
    IS_NOTED("bootloader", "SDRAM_BANKLOW=3; the bootloader's own choice for this board is 1");
    facts.banks.bootloader_known = false;
    facts.banks.bootloader_date = 0;
    judge();
    IS_NOTED("bootloader", "cannot be asked");
}

static void without_vcgencmd_the_device_tree_tells_the_bootloaders_day(void **state) {
    (void)state;
    const char *folders = "proc/device-tree/chosen/bootloader";
    char command[512];
    snprintf(command, sizeof command,
             "mkdir -p %s/%s && cd %s && printf 'Raspberry Pi 5 Model B Rev 1.0\\0' "
             ">proc/device-tree/model && printf '\\147\\123\\220\\000' >%s/build-timestamp",
             scratch_folder, folders, scratch_folder, folders);
    assert_int_equal(system(command), 0);
    fct_doctor_gather(scratch_folder, "/", &facts);
    assert_int_equal(facts.pi, 5);
    assert_int_equal(facts.banks.bootloader_date, 0x67539000);
    assert_false(facts.banks.bootloader_known);
}

static void kernels_follow_from_the_features(void **state) {
    (void)state;
    assert_string_equal(fct_doctor_kernels_for("fp asimd"), "neon");
    assert_string_equal(fct_doctor_kernels_for("fp asimd asimddp"), "neon_dotprod");
    assert_string_equal(fct_doctor_kernels_for("asimd asimddp i8mm sve"), "neon_i8mm");
    assert_string_equal(fct_doctor_kernels_for("asimd i8mm"), "neon");
    assert_string_equal(fct_doctor_kernels_for("sse2 avx"), "portable");
    assert_string_equal(fct_doctor_kernels_for("avx2 fma f16c"), "avx2");
    assert_string_equal(fct_doctor_kernels_for("avx2 fma f16c avx512f avx512bw avx512dq avx512vl"),
                        "avx2"); /* no VNNI */
    static const char full[] = "avx2 fma f16c avx512f avx512bw avx512dq avx512vl avx512_vnni";
    char tiles[128];
    snprintf(tiles, sizeof tiles, "%s amx_tile amx_int8", full);
    assert_string_equal(fct_doctor_kernels_for(full), "avx512");
    assert_string_equal(fct_doctor_kernels_for(tiles), "amx");
    fct_doctor_features(tiles, facts.features, sizeof facts.features);
    assert_string_equal(facts.features, tiles);
    assert_string_equal(fct_doctor_kernels_for(""), "");
    examine("laptop", "/");
    strcpy(facts.kernels, "portable");
    facts.kernels_forced = true;
    judge();
    WARNS_OF("kernels", "portable, forced by FACET_KERNELS; this CPU is made for avxvnni");
}

/* What this CPU says of itself and what the library chose are the same. */
static void features_of_this_machine_choose_what_the_library_chose(void **state) {
    (void)state;
    fct_doctor_gather("", "/", &facts);
    if (!facts.features[0] || getenv("FACET_KERNELS")) skip();
#ifdef __aarch64__
    if (!strstr(facts.features, "asimd")) skip(); /* qemu shows the host's */
#endif
    if (!strcmp(facts.best_kernels, "amx")) skip(); /* which some hypervisors refuse all the same */
    assert_string_equal(facts.best_kernels, fct_kernel_names()[0]);
}

/* ---- the model ---- */

static void speed_is_bandwidth_over_what_a_token_reads(void **state) {
    (void)state;
    examine("pi5", "/");
    facts.bandwidth = 12.82203648e9;
    facts.bandwidth_threads = 2;
    facts.storage.bytes_per_second = 400e6;
    judge();
    assert_float_equal((float)diagnosis.tokens_per_second, 10.0f, 1e-4f);
    IS_FINE("speed", "up to 10.0 tok/s");
    IS_FINE("speed", "2 threads read 12.8 GB/s");
    IS_FINE("storage", "a cold start takes 3.2 s");
    facts.storage.bytes_per_second = 80e6;
    judge();
    IS_NOTED("storage", "16 s");
    facts.storage.bytes_per_second = 20e6;
    judge();
    WARNS_OF("storage", "64 s");
}

static void what_does_not_fit_comes_from_storage(void **state) {
    (void)state;
    examine("pi4", "/");
    facts.bandwidth = 4e9;
    facts.storage.bytes_per_second = 128.2203648e6;
    judge();
    assert_float_equal((float)diagnosis.tokens_per_second, 0.1f, 1e-5f);
    IS_NOTED("speed", "about 0.10 tok/s with --memory map");
    facts.memory.available = 1498136960;
    judge();
    WARNS_OF("memory", "just fits");
    facts.memory.available = 0; /* unknown */
    judge();
    assert_null(finding("memory"));
}

static void a_model_that_cannot_be_opened_is_a_problem(void **state) {
    (void)state;
    examine("laptop", "/");
    strcpy(facts.model.fault, "x.facet: no such file");
    judge();
    IS_PROBLEM("model", "no such file");
}

static void the_typical_model_adds_up(void **state) {
    (void)state;
    struct fct_doctor_model model = {.name = ""};
    fct_doctor_typical(&model);
    const fct_memory_needs *n = &model.needs;
    assert_int_equal(n->together, n->weights + n->rows + n->kv + n->scratch);
    assert_true(model.bytes_per_token < n->weights);
}

/* ---- storage ---- */

static void a_file_is_read_at_some_rate(void **state) {
    (void)state;
    struct fct_storage storage = {.bytes_per_second = NAN};
    size_t n_bytes = 24 << 20;
    char *bytes = malloc(n_bytes);
    memset(bytes, 7, n_bytes);
    const char *path = scratch_put("large", bytes, n_bytes);
    free(bytes);
    fct_storage_measure(path, &storage);
    assert_false(storage.small);
    assert_true(storage.bytes_per_second > 0);
    storage.bytes_per_second = NAN;
    fct_storage_measure(scratch_put("small", "abc", 3), &storage);
    assert_true(storage.small);
    assert_true(isnan(storage.bytes_per_second));
    fct_storage_measure(scratch_path("none"), &storage);
    assert_true(isnan(storage.bytes_per_second));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pi_5_that_is_set_up_well_has_nothing_to_warn_of),
        cmocka_unit_test(a_pi_4_in_trouble_is_told_of_each),
        cmocka_unit_test(a_hard_disk_on_usb_2_is_told_of),
        cmocka_unit_test(the_disk_of_a_laptop_is_found_under_encryption_and_lvm),
        cmocka_unit_test(the_limits_of_a_container_count),
        SCRATCH_TEST(a_machine_that_tells_nothing_is_no_fault),
        cmocka_unit_test(kernel_and_pages_of_a_pi_5_are_judged),
        cmocka_unit_test(nothing_is_left_out),
        cmocka_unit_test(every_bit_of_throttling_has_its_word),
        cmocka_unit_test(a_held_down_clock_is_seen),
        cmocka_unit_test(the_banks_of_a_pi_5_are_judged_with_bootloader_and_kernel),
        SCRATCH_TEST(without_vcgencmd_the_device_tree_tells_the_bootloaders_day),
        cmocka_unit_test(kernels_follow_from_the_features),
        cmocka_unit_test(features_of_this_machine_choose_what_the_library_chose),
        cmocka_unit_test(speed_is_bandwidth_over_what_a_token_reads),
        cmocka_unit_test(what_does_not_fit_comes_from_storage),
        cmocka_unit_test(a_model_that_cannot_be_opened_is_a_problem),
        cmocka_unit_test(the_typical_model_adds_up),
        SCRATCH_TEST(a_file_is_read_at_some_rate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
