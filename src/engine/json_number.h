/* json_number.h - a JSON number, followed byte by byte and kept within bounds. */
#ifndef FCT_ENGINE_JSON_NUMBER_H
#define FCT_ENGINE_JSON_NUMBER_H

#include "facet.h"

/* What a number may look like. 18 digits always fit 64 bits, and two decimals of at most 15
 * differ as doubles too: what is within bounds here is so for whoever reads it. */
enum {
    FCT_NUMBER_DIGITS = 18,         /* before the point */
    FCT_NUMBER_FRACTION = 64,       /* behind it, without bounds */
    FCT_NUMBER_EXPONENT = 2,        /* digits of an exponent; with bounds there is none */
    FCT_NUMBER_BOUNDED_DIGITS = 15, /* of a number with bounds, before and behind its point */
    FCT_NUMBER_SCALE = 15           /* bounds are counted in units of 10^-15 */
};

typedef __int128 fct_scaled; /* value * 10^FCT_NUMBER_SCALE */

struct fct_number_rule {
    bool integer; /* digits only */
    bool bounded;
    fct_scaled low, high; /* both included; where one is missing, beyond what can be written */
};

/* How far a number has come; begin with {0}. */
struct fct_json_number {
    uint64_t digits; /* so far as an integer, if it is bounded */
    uint8_t phase;   /* enum fct_number_phase */
    uint8_t n_digits, n_fraction, n_exponent;
    bool negative;
};
enum fct_number_phase {
    FCT_NUMBER_START,
    FCT_NUMBER_SIGN,
    FCT_NUMBER_ZERO, /* nothing but a point or an exponent follows a leading zero */
    FCT_NUMBER_INTEGER,
    FCT_NUMBER_POINT,
    FCT_NUMBER_DECIMALS,
    FCT_NUMBER_E,
    FCT_NUMBER_E_SIGN,
    FCT_NUMBER_E_DIGITS
};

/* The next byte. False if the number cannot go on with it and still become one the rule allows. */
bool fct_json_number_step(struct fct_json_number *number, const struct fct_number_rule *rule,
                          uint8_t byte);
/* Is it a number that the rule allows, as it stands? */
bool fct_json_number_complete(const struct fct_json_number *number,
                              const struct fct_number_rule *rule);
/* Is there any number that the rule allows? */
bool fct_number_possible(const struct fct_number_rule *rule);

fct_scaled fct_scaled_power(int exponent); /* 10^exponent, at most 10^37 */

/* A decimal ("-1.5e3") as a scaled integer, exactly; false if it has more than 15 decimals, or
 * n_digits or more digits before the point. */
bool fct_scaled_read(const char *text, int n_digits, fct_scaled *value);

#endif
