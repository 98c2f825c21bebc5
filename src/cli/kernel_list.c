/* kernel_list.c - `facet --kernels`: what runs here. */
#include "cli/kernel_list.h"

#include <stdio.h>
#include <string.h>

#include "cli/options.h"

int fct_kernel_list_print(void) {
    fct_error err = {0};
    fct_model_options options = {.memory = FCT_MEMORY_MAP};
    fct_model *demo = fct_model_open(NULL, &options, &err); /* it chooses as for any model */
    if (!demo) {
        fprintf(stderr, "facet: %s\n", err.message);
        return FCT_EXIT_FAILURE;
    }
    const char *chosen = fct_model_describe(demo).kernels;
    printf("CPU, kernels %s\n", chosen);
    for (const char *const *name = fct_kernel_names(); *name; name++)
        if (strcmp(*name, chosen) != 0)
            printf("CPU, kernels %s, if FACET_KERNELS says so\n", *name);
    fct_model_free(demo);
    return FCT_EXIT_GOOD;
}
