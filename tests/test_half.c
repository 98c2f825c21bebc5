/* test_half.c - float16 and bfloat16 against their definition, computed slowly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "base/half.h"

enum { HALF_INFINITY = 0x7C00 };

/* IEEE 754 binary16: 1 sign, 5 exponent, 10 mantissa bits; exact in double. */
static double half_value(int half) {
    int exponent = half >> 10 & 31, mantissa = half & 0x3FF;
    double magnitude = exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24);
    return half & 0x8000 ? -magnitude : magnitude;
}

/* The half nearest to x >= 0, the even one of two; what is at least halfway to 2^16 is infinity. */
static int nearest_half(double x) {
    if (x >= 65520.0) return HALF_INFINITY;
    int low = 0, high = HALF_INFINITY - 1;
    while (low < high) { /* the last half <= x */
        int middle = (low + high + 1) / 2;
        if (half_value(middle) <= x)
            low = middle;
        else
            high = middle - 1;
    }
    if (low == HALF_INFINITY - 1) return low;
    double below = x - half_value(low), above = half_value(low + 1) - x;
    return below < above || (below == above && low % 2 == 0) ? low : low + 1;
}

static void every_half_has_its_value_and_returns(void **state) {
    (void)state;
    for (int half = 0; half < 0x10000; half++) {
        float value = fct_half_float((uint16_t)half);
        if ((half & 0x7FFF) > HALF_INFINITY) {
            assert_true(isnan(value));
            assert_true(isnan(fct_half_float(fct_float_half(value))));
            continue;
        }
        if ((half & 0x7FFF) == HALF_INFINITY)
            assert_true(isinf(value));
        else
            assert_true((double)value == half_value(half));
        assert_int_equal(signbit(value) != 0, half >> 15);
        assert_int_equal(fct_float_half(value), half);
    }
}

static void check_rounding(float x) {
    int expected = nearest_half(fabs((double)x)) | (signbit(x) ? 0x8000 : 0);
    if (fct_float_half(x) != expected)
        fail_msg("%a is %04x, not %04x", (double)x, fct_float_half(x), expected);
}

static void floats_between_two_halves_go_to_the_nearest_even(void **state) {
    (void)state;
    for (int half = 0; half < HALF_INFINITY; half++) {
        double next = half == HALF_INFINITY - 1 ? 65536.0 : half_value(half + 1);
        float middle = (float)((half_value(half) + next) / 2); /* 12 bits: exact */
        float around[] = {middle, nextafterf(middle, 0.0f), nextafterf(middle, INFINITY),
                          nextafterf((float)half_value(half), INFINITY),
                          nextafterf((float)next, 0.0f)};
        for (int i = 0; i < 5; i++) {
            check_rounding(around[i]);
            check_rounding(-around[i]);
        }
    }
}

static void floats_of_all_sizes_are_rounded(void **state) {
    (void)state;
    for (uint64_t bits = 0; bits < 0x7F800000; bits += 9973) {
        check_rounding(fct_bits_float((uint32_t)bits));
        check_rounding(fct_bits_float((uint32_t)bits | 0x80000000u));
    }
    check_rounding(65519.996f);
    assert_int_equal(fct_float_half(65520.0f), HALF_INFINITY);
    assert_int_equal(fct_float_half(3.4e38f), HALF_INFINITY);
    assert_int_equal(fct_float_half(-INFINITY), 0x8000 | HALF_INFINITY);
    assert_int_equal(fct_float_half(0x1p-25f), 0);
    assert_int_equal(fct_float_half(0x1.000002p-25f), 1);
    assert_true(isnan(fct_half_float(fct_float_half(NAN))));
    assert_true(
        isnan(fct_half_float(fct_float_half(fct_bits_float(0x7F800001))))); /* not infinity */
}

static void a_bfloat16_is_the_upper_half_of_a_float(void **state) {
    (void)state;
    assert_true(fct_bf16_float(0x3F80) == 1.0f);
    assert_true(fct_bf16_float(0xC040) == -3.0f);
    assert_true(isinf(fct_bf16_float(0x7F80)));
    assert_true(isnan(fct_bf16_float(0x7FC0)));
    assert_true(fct_bf16_float(0x0001) == 0x1p-133f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_half_has_its_value_and_returns),
        cmocka_unit_test(floats_between_two_halves_go_to_the_nearest_even),
        cmocka_unit_test(floats_of_all_sizes_are_rounded),
        cmocka_unit_test(a_bfloat16_is_the_upper_half_of_a_float),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
