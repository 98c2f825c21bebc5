/* coded.h - matrices and tables that a folder holds as codes and scales: put together from its raw
 * tensors, read out as floats, strips and rows. */
#ifndef FCT_CONVERT_CODED_H
#define FCT_CONVERT_CODED_H

#include <stdatomic.h>

#include "convert/name_list.h"
#include "convert/source.h"

/* value = code * scale. Codes are bits wide, lowest bits first along the row; unsigned, plus half
 * their range, unless they are int8. Or no codes: two numbers. */
struct fct_coded {
    char *name;
    bool is_pair;
    float pair[2];
    struct fct_source_tensor codes, scales; /* as they lie in the files */
    int bits;
    bool is_signed;
    uint64_t row_bytes;        /* of codes */
    int rows, columns, blocks; /* blocks: scales a row */
};

struct fct_coded_list {
    struct fct_coded *all;
    size_t n, capacity;
    struct fct_source_tensor *raw; /* the folder's own list, as read */
    size_t n_raw;
    /* the folder's own */
    fct_status (*read_raw_rows)(const fct_source *source, const struct fct_source_tensor *tensor,
                                uint64_t first_row, uint64_t n_rows, float *out, fct_error *err);
    _Atomic uint64_t n_scales, n_rounded; /* scales made float16; those that changed by that */
};

/* The list being made by one of the methods (quantization.h). The first fault of ours sticks in
 * status; what is wrong with the folder is gathered in problems. */
struct fct_coding {
    fct_source *source;
    struct fct_coded_list *list;
    bool *taken; /* [source->n_tensors] */
    struct fct_name_list problems;
    fct_status status;
    fct_error *err;
};
void fct_coding_problem(struct fct_coding *c, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The raw tensor called module.suffix, which the list now stands for; NULL if there is none. */
const struct fct_source_tensor *fct_coding_take(struct fct_coding *c, const char *module,
                                                const char *suffix);
/* Its only number, 0 without such a tensor: must be a float, not negative. */
float fct_coding_number(struct fct_coding *c, const char *module, const char *suffix);
/* Adds a matrix or table called module.weight; checks that codes and scales are two-dimensional and
 * fit, and fills in rows and blocks. */
void fct_coding_add(struct fct_coding *c, const char *module, struct fct_coded coded);
/* Adds module.suffix with two numbers, unless both are 0. */
void fct_coding_add_pair(struct fct_coding *c, const char *module, const char *suffix, float first,
                         float second);
/* Does a tensor of the text network that is left over end so? Each is a problem. */
void fct_coding_refuse_leftovers(struct fct_coding *c, const char *suffix, const char *why);

/* Puts the list in the place of the tensors that it took. */
fct_status fct_coded_install(fct_source *source, struct fct_coded_list *list, const bool *taken,
                             fct_error *err);
void fct_coded_free(struct fct_coded_list *list);

#endif
