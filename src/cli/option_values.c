/* option_values.c - what an option's value must look like, and where it goes. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "cli/options.h"

#define ID_FILE_LIMIT ((size_t)256 << 20)

static bool read_long(const char *text, long long *value) {
    char *end;
    if (*text != '-' && !(*text >= '0' && *text <= '9')) return false;
    errno = 0;
    *value = strtoll(text, &end, 10);
    return end != text && *end == '\0' && errno == 0;
}

/* Decimal notation only: strtod would also read "nan", "inf" and hexadecimal. */
static bool read_number(const char *text, double *value) {
    char *end;
    if (text[strspn(text, "+-.0123456789eE")] != '\0') return false;
    *value = strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*value);
}

static fct_status set_integer(const struct fct_option *option, const char *label, int *field,
                              const char *value, fct_error *err) {
    long long number;
    if (!read_long(value, &number))
        return fct_fail(err, FCT_ERR_ARGUMENT, "%s: \"%s\" is not a whole number", label, value);
    if ((double)number < option->min || (double)number > option->max)
        return fct_fail(err, FCT_ERR_ARGUMENT, "%s: %lld is not between %.0f and %.0f", label,
                        number, option->min, option->max);
    *field = (int)number;
    return FCT_OK;
}

static fct_status set_seed(const char *label, uint64_t *field, const char *value, fct_error *err) {
    char *end;
    errno = 0;
    unsigned long long number = strtoull(value, &end, 10);
    if (*value < '0' || *value > '9' || *end != '\0' || errno)
        return fct_fail(err, FCT_ERR_ARGUMENT, "%s: \"%s\" is not a whole number below 2^64", label,
                        value);
    *field = number;
    return FCT_OK;
}

static fct_status set_number(const struct fct_option *option, const char *label, float *field,
                             const char *value, fct_error *err) {
    double number;
    if (!read_number(value, &number))
        return fct_fail(err, FCT_ERR_ARGUMENT, "%s: \"%s\" is not a number", label, value);
    if (number < option->min || number > option->max)
        return fct_fail(err, FCT_ERR_ARGUMENT, "%s: %s is not between %g and %g", label, value,
                        option->min, option->max);
    *field = (float)number;
    return FCT_OK;
}

static fct_status set_choice(const struct fct_option *option, const char *label, int *field,
                             const char *value, fct_error *err) {
    char list[256] = "";
    size_t n = 0;
    for (; option->choices[n]; n++) {
        if (strcmp(option->choices[n], value) == 0) {
            *field = (int)n;
            return FCT_OK;
        }
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", n ? ", " : "", option->choices[n]);
    }
    const char *near = fct_nearest(value, option->choices, n);
    return fct_fail(err, FCT_ERR_ARGUMENT, "%s: \"%s\" is not one of %s%s%s%s", label, value, list,
                    near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static fct_status set_ids(const char *label, struct fct_id_list *list, const char *value,
                          fct_error *err) {
    fct_free(list->ids);
    *list = (struct fct_id_list){0};
    if (value[0] != '@') return fct_ids_read(label, value, strlen(value), list, err);
    size_t n_bytes;
    char *text = fct_file_read(value + 1, ID_FILE_LIMIT, &n_bytes, err);
    if (!text) return err->code;
    fct_status status = fct_ids_read(value + 1, text, n_bytes, list, err);
    fct_free(text);
    return status;
}

static fct_status add_text(const char *label, struct fct_text_list *list, const char *value,
                           fct_error *err) {
    if (!*value) return fct_fail(err, FCT_ERR_ARGUMENT, "%s: the text is empty", label);
    fct_status status = fct_grow((void **)&list->texts, &list->capacity, list->n_texts + 1,
                                 sizeof *list->texts, err);
    if (status) return status;
    list->texts[list->n_texts++] = value;
    return FCT_OK;
}

static fct_status add_bias(const char *label, struct fct_bias_list *list, const char *value,
                           fct_error *err) {
    char id_text[16];
    long long id;
    double bias;
    const char *equals = strchr(value, '=');
    if (!equals || equals - value >= (int)sizeof id_text)
        return fct_fail(err, FCT_ERR_ARGUMENT, "%s: \"%s\" is not of the form ID=B", label, value);
    memcpy(id_text, value, (size_t)(equals - value));
    id_text[equals - value] = '\0';
    if (!read_long(id_text, &id) || id < 0 || id > INT32_MAX)
        return fct_fail(err, FCT_ERR_ARGUMENT, "%s: \"%s\" is not a token id", label, id_text);
    if (!read_number(equals + 1, &bias))
        return fct_fail(err, FCT_ERR_ARGUMENT, "%s: \"%s\" is not a number", label, equals + 1);
    fct_status status = fct_grow((void **)&list->ids, &list->ids_capacity, list->n_biases + 1,
                                 sizeof *list->ids, err);
    if (!status)
        status = fct_grow((void **)&list->values, &list->values_capacity, list->n_biases + 1,
                          sizeof *list->values, err);
    if (status) return status;
    list->ids[list->n_biases] = (int)id;
    list->values[list->n_biases++] = (float)bias;
    return FCT_OK;
}

fct_status fct_option_set(const struct fct_option *option, const char *label, void *field,
                          const char *value, fct_error *err) {
    switch (option->kind) {
    case FCT_OPTION_FLAG:
        *(bool *)field = true;
        return FCT_OK;
    case FCT_OPTION_TEXT:
        *(const char **)field = value;
        return FCT_OK;
    case FCT_OPTION_CHOICE:
        return set_choice(option, label, field, value, err);
    case FCT_OPTION_INTEGER:
        return set_integer(option, label, field, value, err);
    case FCT_OPTION_SEED:
        return set_seed(label, field, value, err);
    case FCT_OPTION_NUMBER:
        return set_number(option, label, field, value, err);
    case FCT_OPTION_IDS:
        return set_ids(label, field, value, err);
    case FCT_OPTION_TEXTS:
        return add_text(label, field, value, err);
    case FCT_OPTION_BIASES:
        return add_bias(label, field, value, err);
    }
    return FCT_ERR_ARGUMENT;
}
