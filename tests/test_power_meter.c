/* test_power_meter.c - what a machine draws, told by a command, a Pi's PMIC, RAPL or hwmon. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/power_meter.h"
#include "machine_tree.h"

/* Some lines as a Pi 5 prints them; EXT5V has a voltage only. */
static const char pmic[] = " 3V7_WL_SW_A current(0)=0.09760000A\n"
                           "   3V3_SYS_A current(1)=0.05000000A\n"
                           "  VDD_CORE_A current(7)=2.00000000A\n"
                           " 3V7_WL_SW_V volt(8)=3.70000000V\n"
                           "   3V3_SYS_V volt(9)=3.30000000V\n"
                           "  VDD_CORE_V volt(15)=0.90000000V\n"
                           "     EXT5V_V volt(24)=5.10000000V\n"
                           "      BATT_V volt(25)=0.00488280V\n";

static void the_pmic_draws_volts_times_amperes_of_each_rail(void **state) {
    (void)state;
    int n_rails;
    double watts = fct_pmic_watts(pmic, &n_rails);
    assert_int_equal(n_rails, 3);
    assert_true(fabs(watts - (0.0976 * 3.7 + 0.05 * 3.3 + 2.0 * 0.9)) < 1e-12);
}

static void text_that_is_no_pmic_tells_no_watts(void **state) {
    (void)state;
    static const char *const texts[] = {"",
                                        "\n\n",
                                        "error=2 error_msg=\"Invalid arguments\"\n",
                                        " EXT5V_V volt(24)=5.1V\n",
                                        " A current(1)=5A\n V volt(2)=1V\n",
                                        " X_A current(0)=nanA\n X_V volt(1)=1V\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_true(isnan(fct_pmic_watts(texts[i], NULL)));
}

static void a_meter_that_prints_a_number_prints_watts(void **state) {
    (void)state;
    assert_true(fct_watts_parse("5.25\n") == 5.25);
    assert_true(fct_watts_parse("power: 12.5 W\n") == 12.5);
    assert_true(fct_watts_parse(".5") == 0.5);
    assert_true(isnan(fct_watts_parse("")));
    assert_true(isnan(fct_watts_parse("no meter")));
    assert_true(isnan(fct_watts_parse("-3 W")));
}

static fct_power_meter *open_meter(const char *command) {
    fct_error err = {0};
    bool failed;
    fct_power_meter *meter = fct_power_meter_open(scratch_folder, command, &failed, &err);
    assert_int_equal(failed, meter == NULL && command != NULL);
    return meter;
}

static void a_command_of_the_user_comes_first(void **state) {
    (void)state;
    machine_has("vcgencmd/pmic_read_adc", pmic);
    fct_power_meter *meter = open_meter("echo 7.5 W");
    assert_string_equal(fct_power_meter_name(meter), "command: echo 7.5 W");
    assert_false(fct_power_meter_counts(meter));
    assert_true(fct_power_meter_read(meter) == 7.5);
    fct_power_meter_free(meter);
}

static void a_command_that_prints_no_watts_is_refused(void **state) {
    (void)state;
    machine_has("vcgencmd/pmic_read_adc", pmic);
    fct_error err = {0};
    bool failed;
    assert_null(fct_power_meter_open(scratch_folder, "echo none", &failed, &err));
    assert_true(failed);
    assert_non_null(strstr(err.message, "it has to print watts"));
    assert_null(fct_power_meter_open(scratch_folder, "echo 5; exit 1", &failed, &err));
    assert_true(failed);
}

static void a_pi_tells_by_its_pmic(void **state) {
    (void)state;
    machine_has("vcgencmd/pmic_read_adc", pmic);
    fct_power_meter *meter = open_meter(NULL);
    assert_string_equal(fct_power_meter_name(meter), "PMIC: 3 rails of the board");
    assert_true(fabs(fct_power_meter_read(meter) - 2.32612) < 1e-9);
    machine_has("vcgencmd/pmic_read_adc", "error=1\n");
    assert_true(isnan(fct_power_meter_read(meter)));
    fct_power_meter_free(meter);
}

static void zone_has(const char *zone, const char *name, const char *energy) {
    char path[128];
    snprintf(path, sizeof path, "sys/class/powercap/%s/name", zone);
    machine_has(path, name);
    snprintf(path, sizeof path, "sys/class/powercap/%s/max_energy_range_uj", zone);
    machine_has(path, "262143328850\n");
    snprintf(path, sizeof path, "sys/class/powercap/%s/energy_uj", zone);
    machine_has(path, energy);
}

static void rapl_counts_packages_and_memory_and_goes_round(void **state) {
    (void)state;
    zone_has("intel-rapl:0", "package-0\n", "262143000000\n");
    zone_has("intel-rapl:0:0", "core\n", "5\n");
    zone_has("intel-rapl:0:1", "dram\n", "1000000\n");
    zone_has("intel-rapl:1", "psys\n", "9\n");
    fct_power_meter *meter = open_meter(NULL);
    assert_string_equal(fct_power_meter_name(meter), "RAPL: package-0, dram");
    assert_true(fct_power_meter_counts(meter));
    assert_true(fct_power_meter_read(meter) == 0);
    machine_has("sys/class/powercap/intel-rapl:0/energy_uj", "1671149\n"); /* 2 J, round the end */
    machine_has("sys/class/powercap/intel-rapl:0:1/energy_uj", "1500000\n");
    machine_has("sys/class/powercap/intel-rapl:0:0/energy_uj", "900000000\n");
    assert_true(fabs(fct_power_meter_read(meter) - 2.5) < 1e-9);
    machine_has("sys/class/powercap/intel-rapl:0/energy_uj", "2671149\n");
    assert_true(fabs(fct_power_meter_read(meter) - 3.5) < 1e-9);
    fct_power_meter_free(meter);
}

static void hwmon_tells_of_a_board_not_of_a_graphics_card(void **state) {
    (void)state;
    machine_has("sys/class/hwmon/hwmon0/name", "amdgpu\n");
    machine_has("sys/class/hwmon/hwmon0/power1_average", "90000000\n");
    assert_null(open_meter(NULL));
    machine_has("sys/class/hwmon/hwmon1/name", "ina226\n");
    machine_has("sys/class/hwmon/hwmon1/power1_input", "6250000\n");
    fct_power_meter *meter = open_meter(NULL);
    assert_string_equal(fct_power_meter_name(meter), "hwmon: ina226");
    assert_true(fct_power_meter_read(meter) == 6.25);
    fct_power_meter_free(meter);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_pmic_draws_volts_times_amperes_of_each_rail),
        cmocka_unit_test(text_that_is_no_pmic_tells_no_watts),
        cmocka_unit_test(a_meter_that_prints_a_number_prints_watts),
        SCRATCH_TEST(a_command_of_the_user_comes_first),
        SCRATCH_TEST(a_command_that_prints_no_watts_is_refused),
        SCRATCH_TEST(a_pi_tells_by_its_pmic),
        SCRATCH_TEST(rapl_counts_packages_and_memory_and_goes_round),
        SCRATCH_TEST(hwmon_tells_of_a_board_not_of_a_graphics_card),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
