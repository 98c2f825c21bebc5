/* demo_data.S - the embedded demo model, models/demo.facet, as bytes of the library; no bytes if
 * there was no such file. */

    .section .rodata
    .balign 4096 /* as a mapped file would lie */
    .globl fct_demo_data
    .type fct_demo_data, %object
fct_demo_data:
#ifdef FACET_DEMO_FILE
    .incbin FACET_DEMO_FILE
#endif
fct_demo_end:
    .size fct_demo_data, fct_demo_end - fct_demo_data
    .byte 0 /* so that what follows never shares its address */

    .balign 8
    .globl fct_demo_size /* unsigned long long */
    .type fct_demo_size, %object
fct_demo_size:
    .quad fct_demo_end - fct_demo_data
    .size fct_demo_size, 8

    .section .note.GNU-stack, "", %progbits
