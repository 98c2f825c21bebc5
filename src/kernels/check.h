/* check.h - holds a table against portable.c, bit for bit, on made-up numbers: for
 * fct_kernels_check and for tests/check_kernels.c. Each function says in what[n] what differs, and
 * returns false, also for want of memory. */
#ifndef FCT_KERNELS_CHECK_H
#define FCT_KERNELS_CHECK_H

#include "kernels/kernels.h"
#include "kernels/made_up.h"

struct fct_matmul_case {
    enum fct_scheme scheme;
    int group, act_group; /* of weights, of activations */
    int rows, columns;
    int n_tokens;
    int begin, end; /* strips; what lies outside must stay as it was */
};
/* Every way in which weights and activations have their scales; no shapes yet. */
enum { FCT_CHECK_KINDS = 10 };
extern const struct fct_matmul_case fct_check_kinds[FCT_CHECK_KINDS];
/* Int8 activations, all tokens at once and the first one alone; not for FCT_F32. */
bool fct_check_matmul(const struct fct_kernels *kernels, const struct fct_matmul_case *it,
                      char *what, size_t n);
bool fct_check_matmul_f32(const struct fct_kernels *kernels, const struct fct_matmul_case *it,
                          char *what, size_t n);

struct fct_attend_case {
    enum fct_kv_type type;
    int head_dim, n_queries;
    int begin, end; /* what lies outside is NaN */
};
/* store_key, store_value, attend, merge, finish. */
bool fct_check_attend(const struct fct_kernels *kernels, const struct fct_attend_case *it,
                      char *what, size_t n);

/* Everything that works on vectors, at this length and (rope, softcap, argmax, quantize) some
 * shorter ones; with and without infinities and NaN. length is a multiple of 16. */
bool fct_check_vectors(const struct fct_kernels *kernels, int length, char *what, size_t n);
bool fct_check_lookup(const struct fct_kernels *kernels, enum fct_scheme scheme, int blocks,
                      int columns, char *what, size_t n);

#endif
