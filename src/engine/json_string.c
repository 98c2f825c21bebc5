/* json_string.c - the inside of a JSON string, followed byte by byte. */
#include "engine/json_string.h"

#include <string.h>

enum { HIGH = 0xD800, LOW = 0xDC00, PAIRED = 0x10000, BEHIND_SURROGATES = 0xE000 };
#define LAST_CHARACTER 0x10FFFFu

/* Can one of the rule's strings have a character of first .. last here? */
static bool can_be(const struct fct_json_string *s, const struct fct_string_rule *rule,
                   uint32_t first, uint32_t last) {
    if (rule->open) return true;
    if (!rule->names) return false;
    struct fct_name_range range =
        fct_names_narrow(rule->names, s->range, s->n_characters - 1, first, last);
    return range.low < range.high && (!rule->possible || rule->possible(rule->user, range));
}

static enum fct_string_step goes_on(bool good) {
    return good ? FCT_STRING_GOES_ON : FCT_STRING_WRONG;
}

/* The character that was begun is c. */
static enum fct_string_step complete(struct fct_json_string *s, const struct fct_string_rule *rule,
                                     uint32_t c) {
    if (!can_be(s, rule, c, c)) return FCT_STRING_WRONG;
    if (rule->names) s->range = fct_names_narrow(rule->names, s->range, s->n_characters - 1, c, c);
    s->part = FCT_STRING_PLAIN;
    s->high = 0;
    return FCT_STRING_GOES_ON;
}

/* ---- UTF-8 ---- */

/* What can still come of `value` with n_left bytes to go. The shortest form is the only one, so a
 * first byte says how large the character is at least. */
static bool utf8_can_be(const struct fct_json_string *s, const struct fct_string_rule *rule,
                        uint32_t least) {
    int shift = 6 * s->n_left;
    uint32_t first = s->value << shift, last = first + (1u << shift) - 1;
    if (first < least) first = least;
    if (last > LAST_CHARACTER) last = LAST_CHARACTER;
    if (first >= HIGH && last < BEHIND_SURROGATES) return false;
    return first <= last && can_be(s, rule, first, last);
}

static enum fct_string_step begin_utf8(struct fct_json_string *s,
                                       const struct fct_string_rule *rule, uint8_t byte) {
    static const uint32_t least[] = {0, 0x80, 0x800, PAIRED};
    if (byte < 0xC2 || byte > 0xF4) return FCT_STRING_WRONG;
    s->n_left = byte < 0xE0 ? 1 : byte < 0xF0 ? 2 : 3;
    s->value = byte & (0x3Fu >> s->n_left);
    s->part = FCT_STRING_UTF8;
    return goes_on(utf8_can_be(s, rule, least[s->n_left]));
}

static enum fct_string_step more_utf8(struct fct_json_string *s, const struct fct_string_rule *rule,
                                      uint8_t byte) {
    if ((byte & 0xC0) != 0x80) return FCT_STRING_WRONG;
    bool second_of_three = s->n_left == 2 && s->value < 0x10, second_of_four = s->n_left == 3;
    s->value = s->value << 6 | (byte & 0x3F);
    s->n_left--;
    if (s->n_left == 0) return complete(s, rule, s->value);
    return goes_on(utf8_can_be(s, rule, second_of_four ? PAIRED : second_of_three ? 0x800 : 0));
}

/* ---- escapes ---- */

static enum fct_string_step escape(struct fct_json_string *s, const struct fct_string_rule *rule,
                                   uint8_t byte) {
    static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    if (byte == 'u') {
        s->part = FCT_STRING_HEX;
        s->n_left = 4;
        s->value = 0;
        return FCT_STRING_GOES_ON;
    }
    const char *letter = byte ? strchr(letters, byte) : NULL;
    return letter ? complete(s, rule, (uint8_t)meant[letter - letters]) : FCT_STRING_WRONG;
}

static uint32_t pair(uint32_t high, uint32_t low) {
    return PAIRED + ((high - HIGH) << 10) + (low - LOW);
}

/* Digits so far stand for first .. last. A second half of a pair comes only behind a first. */
static bool hex_can_be(const struct fct_json_string *s, const struct fct_string_rule *rule,
                       uint32_t first, uint32_t last) {
    const uint32_t last_high = LOW - 1, last_low = BEHIND_SURROGATES - 1;
    if (s->high) {
        if (first < LOW) first = LOW;
        if (last > last_low) last = last_low;
        return first <= last && can_be(s, rule, pair(s->high, first), pair(s->high, last));
    }
    uint32_t first_high = first < HIGH ? HIGH : first,
             end_high = last > last_high ? last_high : last;
    if (first_high <= end_high && can_be(s, rule, pair(first_high, LOW), pair(end_high, last_low)))
        return true;
    bool all_surrogates = first >= HIGH && last < BEHIND_SURROGATES;
    return !all_surrogates && can_be(s, rule, first, last);
}

static enum fct_string_step hex(struct fct_json_string *s, const struct fct_string_rule *rule,
                                uint8_t byte) {
    static const char digits[] = "0123456789abcdef";
    uint8_t lower = byte >= 'A' && byte <= 'F' ? (uint8_t)(byte | 0x20) : byte;
    const char *digit = lower ? strchr(digits, lower) : NULL;
    if (!digit) return FCT_STRING_WRONG;
    s->value = s->value << 4 | (uint32_t)(digit - digits);
    s->n_left--;
    int shift = 4 * s->n_left;
    uint32_t first = s->value << shift, last = first + (1u << shift) - 1;
    if (!hex_can_be(s, rule, first, last)) return FCT_STRING_WRONG;
    if (s->n_left > 0) return FCT_STRING_GOES_ON;
    if (s->high) return complete(s, rule, pair(s->high, s->value));
    if (s->value < HIGH || s->value >= BEHIND_SURROGATES) return complete(s, rule, s->value);
    s->high = (uint16_t)s->value;
    s->part = FCT_STRING_NEED_PAIR;
    return FCT_STRING_GOES_ON;
}

/* ---- the string ---- */

static enum fct_string_step begin_character(struct fct_json_string *s,
                                            const struct fct_string_rule *rule, uint8_t byte) {
    if (byte == '"') return FCT_STRING_CLOSED;
    if (byte < 0x20 || s->n_characters >= rule->max) return FCT_STRING_WRONG;
    s->n_characters++;
    if (byte >= 0x80) return begin_utf8(s, rule, byte);
    if (byte != '\\') return complete(s, rule, byte);
    s->part = FCT_STRING_ESCAPE;
    return goes_on(can_be(s, rule, 0, LAST_CHARACTER));
}

static enum fct_string_step need(struct fct_json_string *s, uint8_t byte, char wanted,
                                 enum fct_string_part then) {
    s->part = (uint8_t)then;
    s->n_left = 4;
    s->value = 0;
    return goes_on(byte == (uint8_t)wanted);
}

enum fct_string_step fct_json_string_step(struct fct_json_string *s,
                                          const struct fct_string_rule *rule, uint8_t byte) {
    switch ((enum fct_string_part)s->part) {
    case FCT_STRING_PLAIN:
        return begin_character(s, rule, byte);
    case FCT_STRING_UTF8:
        return more_utf8(s, rule, byte);
    case FCT_STRING_ESCAPE:
        return escape(s, rule, byte);
    case FCT_STRING_HEX:
        return hex(s, rule, byte);
    case FCT_STRING_NEED_PAIR:
        return need(s, byte, '\\', FCT_STRING_NEED_U);
    case FCT_STRING_NEED_U:
        return need(s, byte, 'u', FCT_STRING_HEX);
    }
    return FCT_STRING_WRONG;
}
