/* test_sensors.c - temperatures, clocks and throttling of machines that are folders. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/threads.h"
#include "cli/command_output.h"
#include "cli/sensors.h"
#include "machine_tree.h"

static unsigned bits_of(const char *text) {
    unsigned bits = 0;
    assert_true(fct_throttle_parse(text, &bits));
    return bits;
}

/* F75: 0x50005 is under-voltage and throttled, now and since boot. */
static void throttled_bits_are_decoded(void **state) {
    (void)state;
    char words[96];
    assert_int_equal(bits_of("throttled=0x0\n"), 0);
    unsigned bits = bits_of("throttled=0x50005\n");
    assert_int_equal(bits, 0x50005);
    assert_string_equal(fct_throttle_words(bits, words), "under-voltage, throttled");
    assert_string_equal(fct_throttle_words(bits >> FCT_SINCE_BOOT, words),
                        "under-voltage, throttled");
    assert_string_equal(fct_throttle_words(bits_of("80008\n"), words), "soft temperature limit");
    assert_string_equal(fct_throttle_words(bits_of("throttled=0xf"), words),
                        "under-voltage, clock capped, throttled, soft temperature limit");
    assert_string_equal(fct_throttle_words(bits_of("0xe0000"), words), "");
}

static void what_is_no_answer_of_the_firmware_is_none(void **state) {
    (void)state;
    unsigned bits;
    static const char *const texts[] = {"",   "throttled=",          "VCHI initialization failed",
                                        "-1", "throttled=0x5 or so", "0x123456789"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_false(fct_throttle_parse(texts[i], &bits));
}

static struct fct_sensors sensors(void) {
    struct fct_sensors read;
    fct_sensors_read(scratch_folder, &read);
    return read;
}

static void a_pi_5_is_read(void **state) {
    (void)state;
    machine_has("sys/class/thermal/thermal_zone0/type", "cpu-thermal\n");
    machine_has("sys/class/thermal/thermal_zone0/temp", "51650\n");
    machine_has("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "1500000\n");
    machine_has("sys/devices/system/cpu/cpu3/cpufreq/scaling_cur_freq", "2400000\n");
    machine_has("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "2400000\n");
    machine_has("vcgencmd/get_throttled", "throttled=0x50000\n");
    struct fct_sensors read = sensors();
    assert_true(fabs(read.celsius - 51.65) < 1e-9);
    assert_true(read.clock_hz == 2.4e9 && read.max_clock_hz == 2.4e9);
    assert_true(read.throttle_known);
    assert_int_equal(read.throttle, 0x50000);
    assert_true(read.n_throttled == -1);
}

static void the_driver_is_asked_before_the_command(void **state) {
    (void)state;
    machine_has("sys/devices/platform/soc@107c000000/soc@107c000000:firmware/get_throttled",
                "50005\n");
    machine_has("vcgencmd/get_throttled", "throttled=0x0\n");
    assert_int_equal(sensors().throttle, 0x50005);
}

static void the_firmware_tells_the_temperature_if_nobody_else_does(void **state) {
    (void)state;
    machine_has("sys/class/thermal/thermal_zone0/type", "nvme\n");
    machine_has("sys/class/thermal/thermal_zone0/temp", "70000\n");
    assert_true(isnan(sensors().celsius));
    machine_has("vcgencmd/measure_temp", "temp=51.6'C\n");
    assert_true(fabs(sensors().celsius - 51.6) < 1e-9);
}

static void an_x86_counts_its_throttling(void **state) {
    (void)state;
    machine_has("sys/class/thermal/thermal_zone1/type", "x86_pkg_temp\n");
    machine_has("sys/class/thermal/thermal_zone1/temp", "64000\n");
    machine_has("sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "2\n");
    machine_has("sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count", "5\n");
    machine_has("sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "1\n");
    struct fct_sensors read = sensors();
    assert_true(read.throttle_known && read.throttle == 0);
    assert_true(read.n_throttled == 8);
    assert_true(read.celsius == 64);
}

static void a_cooling_device_at_work_caps_the_clock(void **state) {
    (void)state;
    machine_has("sys/class/thermal/cooling_device0/type", "thermal-cpufreq-0\n");
    machine_has("sys/class/thermal/cooling_device0/cur_state", "0\n");
    machine_has("sys/class/thermal/cooling_device1/type", "pwm-fan\n");
    machine_has("sys/class/thermal/cooling_device1/cur_state", "3\n");
    assert_true(sensors().throttle_known && sensors().throttle == 0);
    machine_has("sys/class/thermal/cooling_device0/cur_state", "2\n");
    assert_int_equal(sensors().throttle, FCT_CAPPED);
}

static void a_machine_without_sensors_says_so(void **state) {
    (void)state;
    struct fct_sensors read = sensors();
    assert_true(isnan(read.celsius) && isnan(read.clock_hz) && isnan(read.max_clock_hz));
    assert_false(read.throttle_known);
    assert_true(read.n_throttled == -1);
}

static struct fct_governor governor(const char *name, const char *driver) {
    struct fct_governor read;
    machine_has("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", name);
    machine_has("sys/devices/system/cpu/cpu0/cpufreq/scaling_driver", driver);
    fct_governor_read(scratch_folder, &read);
    return read;
}

static void powersave_is_slow_but_where_it_is_the_normal_mode(void **state) {
    (void)state;
    assert_true(governor("powersave\n", "cpufreq-dt\n").slow);
    assert_string_equal(governor("ondemand\n", "cpufreq-dt\n").name, "ondemand");
    assert_false(governor("ondemand\n", "cpufreq-dt\n").slow);
    assert_false(governor("powersave\n", "intel_pstate\n").slow);
    assert_true(governor("powersave\n", "intel_cpufreq\n").slow);
}

static char *output_of(const char *script, double seconds) {
    const char *const argv[] = {"sh", "-c", script, NULL};
    return fct_command_output(argv, seconds, NULL);
}

static void a_command_is_heard_if_it_ends_well_and_in_time(void **state) {
    (void)state;
    char *text = output_of("printf 'one\\ntwo'; echo noise >&2", 30);
    assert_string_equal(text, "one\ntwo");
    fct_free(text);
    assert_null(output_of("echo one; exit 3", 30));
    double began = fct_seconds();
    assert_null(output_of("echo one; sleep 100 & sleep 100", 0.2));
    assert_null(output_of("exec >&-; sleep 100", 0.2));
    assert_true(fct_seconds() - began < 50);
    const char *const absent[] = {"facet-has-no-such-program", NULL};
    assert_null(fct_command_output(absent, 1, NULL));
}

static void a_command_that_never_ends_its_output_is_cut_off(void **state) {
    (void)state;
    char *text = output_of("head -c 70000 /dev/zero | tr '\\0' x", 30);
    if (text)
        assert_int_equal(strlen(text), FCT_COMMAND_OUTPUT); /* or it died of the closed pipe */
    fct_free(text);
    assert_null(output_of("yes", 0.5));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(throttled_bits_are_decoded),
        cmocka_unit_test(what_is_no_answer_of_the_firmware_is_none),
        SCRATCH_TEST(a_pi_5_is_read),
        SCRATCH_TEST(the_driver_is_asked_before_the_command),
        SCRATCH_TEST(the_firmware_tells_the_temperature_if_nobody_else_does),
        SCRATCH_TEST(an_x86_counts_its_throttling),
        SCRATCH_TEST(a_cooling_device_at_work_caps_the_clock),
        SCRATCH_TEST(a_machine_without_sensors_says_so),
        SCRATCH_TEST(powersave_is_slow_but_where_it_is_the_normal_mode),
        cmocka_unit_test(a_command_is_heard_if_it_ends_well_and_in_time),
        cmocka_unit_test(a_command_that_never_ends_its_output_is_cut_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
