/* json_string.h - the inside of a JSON string, followed byte by byte. */
#ifndef FCT_ENGINE_JSON_STRING_H
#define FCT_ENGINE_JSON_STRING_H

#include "engine/name_set.h"

/* How far a string has come behind its opening quote; begin with {.range = {0, names->n}}. What it
 * spells counts, not how: "\u0061" is "a". */
struct fct_json_string {
    struct fct_name_range range; /* of the names that it may still be */
    int n_characters;            /* begun so far */
    uint32_t value;              /* of the character that is not complete: what is known of it */
    uint16_t high;               /* the first half of a surrogate pair, or 0 */
    uint8_t part;                /* enum fct_string_part */
    uint8_t n_left;              /* bytes or hexadecimal digits until it is complete */
};

enum fct_string_part {
    FCT_STRING_PLAIN,     /* between characters */
    FCT_STRING_UTF8,      /* within a character of several bytes */
    FCT_STRING_ESCAPE,    /* behind a backslash */
    FCT_STRING_HEX,       /* within the four digits behind \u */
    FCT_STRING_NEED_PAIR, /* behind the first half of a pair: a backslash has to come */
    FCT_STRING_NEED_U     /* and behind that, a u */
};

struct fct_string_rule {
    const struct fct_names *names; /* that mean something; NULL: none do */
    bool open;                     /* others are fine too */
    int max;                       /* characters; INT_MAX: no limit */
    /* Is one of these names possible? NULL: each is. Asked when no others are. */
    bool (*possible)(const void *user, struct fct_name_range range);
    const void *user;
};

enum fct_string_step { FCT_STRING_WRONG, FCT_STRING_GOES_ON, FCT_STRING_CLOSED };

/* The next byte. It goes on only if the string can still become one that the rule allows; a quote
 * closes it whatever it is: whether it may end there is the caller's to see. */
enum fct_string_step fct_json_string_step(struct fct_json_string *string,
                                          const struct fct_string_rule *rule, uint8_t byte);

#endif
