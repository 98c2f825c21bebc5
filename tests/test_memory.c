/* test_memory.c - allocations are checked, zeroed and counted; pages lie where large pages can. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/memory.h"

static void products_that_do_not_fit_are_refused(void **state) {
    (void)state;
    size_t product;
    fct_error err;
    assert_true(fct_mul(6, 7, &product));
    assert_int_equal(product, 42);
    assert_false(fct_mul(SIZE_MAX / 2, 3, &product));
    assert_null(fct_new_array(SIZE_MAX / 8 + 2, 8, &err));
    assert_int_equal(err.code, FCT_ERR_MEMORY);
    assert_null(fct_new(SIZE_MAX / 2, &err));
    assert_null(fct_copy_text("x", SIZE_MAX, &err));
    assert_null(fct_pages_new(SIZE_MAX, &err));
    assert_null(fct_pages_new(SIZE_MAX - (5 << 20), &err));
    assert_int_equal(err.code, FCT_ERR_MEMORY);
}

static void new_memory_is_zero(void **state) {
    (void)state;
    uint8_t *memory = fct_new_array(1000, 3, NULL);
    for (int i = 0; i < 3000; i++) assert_int_equal(memory[i], 0);
    fct_free(memory);
    void *nothing = fct_new_array(0, 8, NULL);
    assert_non_null(nothing); /* an empty array is no failure */
    fct_free(nothing);
    fct_free(NULL);
}

static void an_array_grows_and_keeps_what_it_has(void **state) {
    (void)state;
    void *array = NULL;
    size_t capacity = 0;
    uint64_t before = fct_allocation_count();
    for (uint32_t i = 0; i < 10000; i++) {
        assert_int_equal(fct_grow(&array, &capacity, i + 1, sizeof(uint32_t), NULL), FCT_OK);
        assert_true(capacity > i);
        ((uint32_t *)array)[i] = i * 3;
    }
    assert_true(fct_allocation_count() - before < 20); /* doubling, not one by one */
    for (uint32_t i = 0; i < 10000; i++) assert_int_equal(((uint32_t *)array)[i], i * 3);
    fct_error err;
    void *same = array;
    size_t old = capacity;
    assert_int_equal(fct_grow(&array, &capacity, SIZE_MAX / 2, 4, &err), FCT_ERR_MEMORY);
    assert_ptr_equal(array, same);
    assert_int_equal(capacity, old);
    fct_free(array);
}

static void a_copy_of_a_text_ends_with_nul(void **state) {
    (void)state;
    char *copy = fct_copy_text("abcdef", 3, NULL);
    assert_string_equal(copy, "abc");
    fct_free(copy);
    copy = fct_copy_text(NULL, 0, NULL);
    assert_string_equal(copy, "");
    fct_free(copy);
}

static void large_pages_lie_on_2_mib(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 4096, 70000, (2 << 20) - 1, 2 << 20, (2 << 20) + 1, 9 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint8_t *pages = fct_pages_new(sizes[i], NULL);
        assert_non_null(pages);
        assert_int_equal((uintptr_t)pages % 64, 0);
        if (sizes[i] >= 2 << 20) assert_int_equal((uintptr_t)pages % (2 << 20), 0);
        assert_int_equal(pages[0] | pages[sizes[i] - 1], 0);
        memset(pages, 0xA5, sizes[i]);
        fct_pages_free(pages, sizes[i]);
    }
    fct_pages_free(NULL, 5);
}

static void pages_laid_over_others_have_their_bytes_there(void **state) {
    (void)state;
    enum { BYTES = 6 << 20, PIECE = 2 << 20 };
    uint8_t *below = fct_pages_new(BYTES, NULL), *above = fct_pages_new(PIECE, NULL);
    assert_non_null(below);
    assert_non_null(above);
    memset(below, 1, BYTES);
    memset(above, 2, PIECE);
    assert_true(fct_pages_lay_over(below + PIECE, above, PIECE));
    for (size_t i = 0; i < BYTES; i += 1024) assert_int_equal(below[i], i / PIECE == 1 ? 2 : 1);
    assert_false(fct_pages_lay_over(below + 1, below, PIECE)); /* not the start of a page */
    fct_pages_free(below, BYTES);
}

static void every_allocation_is_counted(void **state) {
    (void)state;
    uint64_t before = fct_allocation_count();
    void *a = fct_new(5, NULL), *b = fct_new_array(2, 5, NULL), *pages = fct_pages_new(5, NULL);
    char *c = fct_copy_text("x", 1, NULL);
    assert_int_equal(fct_allocation_count() - before, 4);
    fct_free(a);
    fct_free(b);
    fct_free(c);
    fct_pages_free(pages, 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_that_do_not_fit_are_refused),
        cmocka_unit_test(new_memory_is_zero),
        cmocka_unit_test(an_array_grows_and_keeps_what_it_has),
        cmocka_unit_test(a_copy_of_a_text_ends_with_nul),
        cmocka_unit_test(large_pages_lie_on_2_mib),
        cmocka_unit_test(pages_laid_over_others_have_their_bytes_there),
        cmocka_unit_test(every_allocation_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
