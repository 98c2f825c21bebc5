/* json_number.c - a JSON number, followed byte by byte and kept within bounds. */
#include "engine/json_number.h"

#include <stdlib.h>

fct_scaled fct_scaled_power(int exponent) {
    fct_scaled power = 1;
    for (int i = 0; i < exponent; i++) power *= 10;
    return power;
}

/* ---- what can still come of a number ---- */

static int fraction_limit(const struct fct_number_rule *rule) {
    if (rule->integer) return 0;
    return rule->bounded ? FCT_NUMBER_SCALE : FCT_NUMBER_FRACTION;
}

/* Digits in all, before the point and behind it. */
static int digit_limit(const struct fct_number_rule *rule) {
    if (!rule->bounded) return FCT_NUMBER_DIGITS + fraction_limit(rule);
    return rule->integer ? FCT_NUMBER_DIGITS : FCT_NUMBER_BOUNDED_DIGITS;
}

static int at_most(int a, int b) { return a < b ? a : b; }

/* Does the rule allow one of first, first + step ... last (magnitudes)? */
static bool meets(const struct fct_number_rule *rule, bool negative, fct_scaled first,
                  fct_scaled last, fct_scaled step) {
    fct_scaled low = negative ? -rule->high : rule->low, high = negative ? -rule->low : rule->high;
    if (high < first || low > last) return false;
    if (low > first) first += (low - first + step - 1) / step * step;
    return first <= last && first <= high;
}

/* With k more digits before the point, the integers from digits * 10^k on, 10^k of them; behind the
 * point as many decimals as there is room for. */
static bool integer_part_can_be(const struct fct_json_number *n,
                                const struct fct_number_rule *rule) {
    int room = digit_limit(rule) - n->n_digits,
        most = n->phase == FCT_NUMBER_ZERO ? 0 : at_most(room, FCT_NUMBER_DIGITS - n->n_digits);
    for (int k = 0; k <= most; k++) {
        fct_scaled many = fct_scaled_power(k),
                   first = n->digits * many * fct_scaled_power(FCT_NUMBER_SCALE);
        int decimals = at_most(fraction_limit(rule), room - k);
        fct_scaled step = fct_scaled_power(FCT_NUMBER_SCALE - decimals);
        fct_scaled last = first + many * fct_scaled_power(FCT_NUMBER_SCALE) - step;
        if (meets(rule, n->negative, first, last, step)) return true;
    }
    return false;
}

static bool fraction_can_be(const struct fct_json_number *n, const struct fct_number_rule *rule) {
    fct_scaled unit = fct_scaled_power(FCT_NUMBER_SCALE - n->n_fraction),
               first = (fct_scaled)n->digits * unit;
    int decimals = at_most(fraction_limit(rule) - n->n_fraction, digit_limit(rule) - n->n_digits);
    if (n->phase == FCT_NUMBER_POINT && decimals == 0) return false;
    fct_scaled step = fct_scaled_power(FCT_NUMBER_SCALE - n->n_fraction - decimals);
    return meets(rule, n->negative, first, first + unit - step, step);
}

static bool can_be(const struct fct_json_number *n, const struct fct_number_rule *rule);

/* Behind the sign: one of the ten digits has to lead somewhere. */
static bool sign_can_be(const struct fct_json_number *n, const struct fct_number_rule *rule) {
    for (uint64_t digit = 0; digit < 10; digit++) {
        struct fct_json_number next = {.digits = digit, .n_digits = 1, .negative = n->negative};
        next.phase = digit ? FCT_NUMBER_INTEGER : FCT_NUMBER_ZERO;
        if (can_be(&next, rule)) return true;
    }
    return false;
}

static bool can_be(const struct fct_json_number *n, const struct fct_number_rule *rule) {
    if (!rule->bounded) return true;
    switch ((enum fct_number_phase)n->phase) {
    case FCT_NUMBER_START:
    case FCT_NUMBER_SIGN:
        return sign_can_be(n, rule);
    case FCT_NUMBER_ZERO:
    case FCT_NUMBER_INTEGER:
        return integer_part_can_be(n, rule);
    default:
        return fraction_can_be(n, rule);
    }
}

bool fct_number_possible(const struct fct_number_rule *rule) {
    return can_be(&(struct fct_json_number){.phase = FCT_NUMBER_SIGN}, rule) ||
           can_be(&(struct fct_json_number){.phase = FCT_NUMBER_SIGN, .negative = true}, rule);
}

/* ---- bytes ---- */

static bool add_digit(struct fct_json_number *n, const struct fct_number_rule *rule,
                      uint8_t digit) {
    bool fraction = n->phase == FCT_NUMBER_POINT || n->phase == FCT_NUMBER_DECIMALS;
    if (n->n_digits >= digit_limit(rule)) return false;
    if (fraction ? n->n_fraction >= fraction_limit(rule) : n->n_digits >= FCT_NUMBER_DIGITS)
        return false;
    if (rule->bounded) n->digits = n->digits * 10 + digit;
    n->n_digits++;
    n->n_fraction += fraction;
    return true;
}

static bool exponent_digit(struct fct_json_number *n) {
    n->phase = FCT_NUMBER_E_DIGITS;
    return n->n_exponent++ < FCT_NUMBER_EXPONENT;
}

/* Behind a digit: the point or the exponent. */
static bool after_digit(struct fct_json_number *n, const struct fct_number_rule *rule,
                        uint8_t byte) {
    if (byte == '.' && n->phase != FCT_NUMBER_DECIMALS && !rule->integer) {
        n->phase = FCT_NUMBER_POINT;
        return true;
    }
    if ((byte | 0x20) != 'e' || rule->integer || rule->bounded) return false;
    n->phase = FCT_NUMBER_E;
    return true;
}

static bool follows(struct fct_json_number *n, const struct fct_number_rule *rule, uint8_t byte) {
    bool is_digit = byte >= '0' && byte <= '9';
    uint8_t digit = (uint8_t)(byte - '0');
    switch ((enum fct_number_phase)n->phase) {
    case FCT_NUMBER_START:
        if (byte == '-') {
            n->phase = FCT_NUMBER_SIGN;
            n->negative = true;
            return true;
        } /* fall through */
    case FCT_NUMBER_SIGN:
        n->phase = byte == '0' ? FCT_NUMBER_ZERO : FCT_NUMBER_INTEGER;
        return is_digit && add_digit(n, rule, digit);
    case FCT_NUMBER_ZERO:
        return after_digit(n, rule, byte);
    case FCT_NUMBER_INTEGER:
        return is_digit ? add_digit(n, rule, digit) : after_digit(n, rule, byte);
    case FCT_NUMBER_POINT:
        if (!is_digit || !add_digit(n, rule, digit)) return false;
        n->phase = FCT_NUMBER_DECIMALS;
        return true;
    case FCT_NUMBER_DECIMALS:
        return is_digit ? add_digit(n, rule, digit) : after_digit(n, rule, byte);
    case FCT_NUMBER_E:
        if (byte == '+' || byte == '-') {
            n->phase = FCT_NUMBER_E_SIGN;
            return true;
        } /* fall through */
    case FCT_NUMBER_E_SIGN:
    case FCT_NUMBER_E_DIGITS:
        return is_digit && exponent_digit(n);
    }
    return false;
}

bool fct_json_number_step(struct fct_json_number *number, const struct fct_number_rule *rule,
                          uint8_t byte) {
    return follows(number, rule, byte) && can_be(number, rule);
}

bool fct_json_number_complete(const struct fct_json_number *n, const struct fct_number_rule *rule) {
    bool whole = n->phase == FCT_NUMBER_ZERO || n->phase == FCT_NUMBER_INTEGER ||
                 n->phase == FCT_NUMBER_DECIMALS || n->phase == FCT_NUMBER_E_DIGITS;
    if (!whole || !rule->bounded) return whole;
    fct_scaled value = n->digits * fct_scaled_power(FCT_NUMBER_SCALE - n->n_fraction);
    return meets(rule, n->negative, value, value, 1);
}

/* ---- decimals ---- */

bool fct_scaled_read(const char *text, int n_digits, fct_scaled *value) {
    const fct_scaled limit = fct_scaled_power(n_digits + FCT_NUMBER_SCALE);
    bool negative = *text == '-', fraction = false;
    fct_scaled sum = 0;
    long scale = FCT_NUMBER_SCALE;
    for (text += negative; *text && (*text | 0x20) != 'e'; text++) {
        if (*text == '.') {
            fraction = true;
            continue;
        }
        if (sum >= fct_scaled_power(36)) return false;
        sum = sum * 10 + (*text - '0');
        scale -= fraction;
    }
    if (*text) scale += strtol(text + 1, NULL, 10);
    for (; scale < 0 && sum % 10 == 0 && sum; scale++) sum /= 10;
    if (scale < 0 && sum) return false;
    for (; scale > 0 && sum && sum < limit; scale--) sum *= 10;
    if (sum >= limit) return false;
    *value = negative ? -sum : sum;
    return true;
}
