/* kernel_list.h - `facet --kernels`: what runs here. */
#ifndef FCT_CLI_KERNEL_LIST_H
#define FCT_CLI_KERNEL_LIST_H

/* Prints the path (there is one, the CPU) and the kernels that run on this machine, and, a line
 * each, the others that it could run; returns the exit code. */
int fct_kernel_list_print(void);

#endif
