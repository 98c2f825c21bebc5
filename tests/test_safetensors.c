/* test_safetensors.c - headers are believed only as far as they can be checked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pack/safetensors.h"

/* A file of this header and n_data bytes; its copy of just its size lets a sanitizer see reads
 * behind it. */
struct file {
    uint8_t *bytes;
    size_t size;
};
static struct file make_file(const char *header, size_t n_data) {
    size_t length = strlen(header);
    struct file file = {calloc(1, 8 + length + n_data), 8 + length + n_data};
    for (int i = 0; i < 8; i++) file.bytes[i] = (uint8_t)((uint64_t)length >> 8 * i);
    memcpy(file.bytes + 8, header, length);
    return file;
}

static void check_file_refused(struct file file, const char *why) {
    struct fct_safetensors header;
    fct_error err = {0};
    fct_status status =
        fct_safetensors_parse(&header, "x.safetensors", file.bytes, file.size, &err);
    if (status != FCT_ERR_FORMAT || !strstr(err.message, why))
        fail_msg("%d: %s", status, err.message);
    assert_non_null(strstr(err.message, "x.safetensors: "));
    assert_null(header.tensors);
    assert_null(header.json);
    free(file.bytes);
}

static void check_refused(const char *header, size_t n_data, const char *why) {
    check_file_refused(make_file(header, n_data), why);
}

static void check_bytes_refused(const void *bytes, size_t size, const char *why) {
    struct file file = {malloc(size ? size : 1), size};
    memcpy(file.bytes, bytes, size);
    check_file_refused(file, why);
}

static void tensors_are_found_by_name(void **state) {
    (void)state;
    struct file file =
        make_file("{\"__metadata__\":{\"format\":\"pt\"},"
                  "\"w\":{\"dtype\":\"BF16\",\"shape\":[2,3],\"data_offsets\":[4,16]},"
                  "\"b\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]},"
                  "\"q\":{\"dtype\":\"F8_E4M3\",\"shape\":[5],\"data_offsets\":[16,21]}}   ",
                  21);
    struct fct_safetensors header;
    fct_error err;
    assert_int_equal(fct_safetensors_parse(&header, "x", file.bytes, file.size, &err), FCT_OK);
    assert_int_equal(header.n_tensors, 3);
    assert_int_equal(header.data_end, file.size);
    const struct fct_tensor *w = fct_safetensors_find(&header, "w");
    assert_int_equal(w->dtype, FCT_DTYPE_BF16);
    assert_int_equal(w->n_dims, 2);
    assert_int_equal(w->dims[0], 2);
    assert_int_equal(w->dims[1], 3);
    assert_int_equal(w->offset, header.data_start + 4);
    assert_int_equal(w->n_bytes, 12);
    assert_int_equal(fct_safetensors_find(&header, "b")->n_dims, 0);
    assert_int_equal(fct_safetensors_find(&header, "q")->dtype, FCT_DTYPE_OTHER);
    assert_string_equal(fct_safetensors_find(&header, "q")->dtype_name, "F8_E4M3");
    assert_null(fct_safetensors_find(&header, "__metadata__"));
    assert_null(fct_safetensors_find(&header, "x"));
    assert_string_equal(json_string_value(json_object_get(header.metadata, "format")), "pt");
    fct_safetensors_free(&header);
    fct_safetensors_free(&header); /* twice is once */
    free(file.bytes);
}

static void all_types_have_their_size(void **state) {
    (void)state;
    static const char names[][5] = {"F32", "F16", "BF16", "F64", "I8",  "U8",  "I16",
                                    "U16", "I32", "U32",  "I64", "U64", "BOOL"};
    static const size_t sizes[] = {4, 2, 2, 8, 1, 1, 2, 2, 4, 4, 8, 8, 1};
    for (int i = 0; i < FCT_DTYPE_OTHER; i++) {
        assert_string_equal(fct_dtype_name((enum fct_dtype)i), names[i]);
        assert_int_equal(fct_dtype_bytes((enum fct_dtype)i), sizes[i]);
    }
    assert_int_equal(fct_dtype_bytes(FCT_DTYPE_OTHER), 0);
}

/* F37: six files of 0 to 16 bytes, and one that is said to be larger than the format allows. */
static void a_wrong_header_length_is_refused(void **state) {
    (void)state;
    check_bytes_refused("", 0, "0 bytes are too few");
    check_bytes_refused("\x02\0\0\0\0\0\0", 7, "7 bytes are too few");
    check_bytes_refused("\0\0\0\0\0\0\0\0", 8, "its header would have 0 bytes");
    check_bytes_refused("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF{}", 10,
                        "would have 18446744073709551615 bytes");
    check_bytes_refused("\x40\0\0\0\0\0\0\0{}", 10, "header alone takes 72 bytes, the file has 10");
    check_bytes_refused("\x08\0\0\0\0\0\0\0notjson!", 16, "not JSON");
    check_bytes_refused("\x02\0\0\0\0\0\0\0{]", 10, "not valid JSON");
    check_bytes_refused("\x01\xE1\xF5\x05\0\0\0\0{}", 10, "would have 100000001 bytes");
}

/* F38. */
static void wrong_offsets_are_refused(void **state) {
    (void)state;
    check_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[1000,1000],\"data_offsets\":[0,4]}}", 4,
                  "has 4 bytes, type and shape need 4000000");
    check_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[8,4]}}", 8,
                  "not a range");
    check_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[-4,0]}}", 8,
                  "not a range");
    check_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0.0,4]}}", 4,
                  "not a range");
    check_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4,8]}}", 8,
                  "not a range");
    check_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":4}}", 8, "not a range");
    check_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 8, "not a range");
    check_refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[9223372036854775807],\"data_offsets\":[0,"
                  "9223372036854775807]}}",
                  8, "truncated");
    check_refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[9223372036854775806,"
                  "9223372036854775807]}}",
                  8, "truncated");
    check_refused(
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,99999999999999999999]}}", 8,
        "not valid JSON");
    check_refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
                  "\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[3,7]}}",
                  7, "tensors a and b overlap");
}

static void a_tensor_without_elements_is_legal(void **state) {
    (void)state;
    struct file file =
        make_file("{\"e\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}}", 0);
    struct fct_safetensors header;
    assert_int_equal(fct_safetensors_parse(&header, "x", file.bytes, file.size, NULL), FCT_OK);
    assert_int_equal(fct_safetensors_find(&header, "e")->n_bytes, 0);
    fct_safetensors_free(&header);
    free(file.bytes);
    file = make_file("{}", 0);
    assert_int_equal(fct_safetensors_parse(&header, "x", file.bytes, file.size, NULL), FCT_OK);
    assert_null(fct_safetensors_find(&header, "e"));
    fct_safetensors_free(&header);
    free(file.bytes);
}

static void wrong_shapes_and_types_are_refused(void **state) {
    (void)state;
    check_refused("{\"a\":{\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "has no type");
    check_refused("{\"a\":{\"dtype\":7,\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "has no type");
    check_refused("{\"a\":[1]}", 4, "has no type");
    check_refused("{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4, "no shape");
    check_refused(
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,4]}}", 4,
        "no shape");
    check_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}", 4,
                  "not a count");
    check_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[\"1\"],\"data_offsets\":[0,4]}}", 4,
                  "not a count");
    /* 2^62 x 4 x 4 bytes would be 2^66, which wraps to nothing */
    check_refused(
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904,4],\"data_offsets\":[0,0]}}", 0,
        "too large");
    check_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
                  "\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
                  4, "duplicate");
    check_refused("{\"__metadata__\":[]}", 0, "__metadata__ is not an object");
    check_refused("{\"__metadata__\":{\"n\":3}}", 0, "metadata n is not a string");
    check_refused("{} {}", 0, "not valid JSON");
    check_refused("{\"a\xFF\":{}}", 0, "not valid JSON");
}

static void deep_nesting_is_refused(void **state) {
    (void)state;
    char *header = malloc(100001);
    memset(header, '[', 100000);
    memcpy(header, "{\"a\":", 5);
    header[100000] = 0;
    check_refused(header, 0, "not valid JSON");
    free(header);
}

/* F39. */
static void what_is_no_model_at_all_is_named(void **state) {
    (void)state;
    static const char pointer[] =
        "version https://git-lfs.github.com/spec/v1\noid sha256:"
        "4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n";
    check_bytes_refused(pointer, strlen(pointer),
                        "is a Git LFS pointer, not the file itself; get it with `git lfs pull`");
    check_bytes_refused("<!DOCTYPE html><html>", 21, "is a web page");
    check_bytes_refused("\n  <!doctype HTML>", 18, "is a web page");
    check_bytes_refused("<html><body>404</body></html>", 29, "download it again");
    check_bytes_refused("<htm", 4, "too few");
    check_bytes_refused("GGUF\3\0\0\0\0\0\0\0\0\0\0\0", 16, "no safetensors file");
}

/* F40: cut by one byte, to half, to the header, and everywhere else; and with something behind it.
 */
static void a_file_of_another_length_is_refused(void **state) {
    (void)state;
    struct file file =
        make_file("{\"a\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,16]}}", 17);
    char sizes[100];
    for (size_t cut = 0; cut < file.size - 1; cut++)
        check_bytes_refused(file.bytes, cut, "x.safetensors: ");
    snprintf(sizes, sizeof sizes, "truncated: its header describes %zu bytes, the file has %zu",
             file.size - 1, file.size - 2);
    check_bytes_refused(file.bytes, file.size - 2, sizes);
    snprintf(sizes, sizeof sizes, "too long: its header describes %zu bytes, the file has %zu",
             file.size - 1, file.size);
    check_file_refused(file, sizes);
}

/* Random damage is refused or leaves a header whose every tensor lies in the file. */
static void random_damage_never_leads_outside(void **state) {
    (void)state;
    static const char text[] = "{\"__metadata__\":{\"k\":\"v\"},\"a\":{\"dtype\":\"F32\",\"shape\":"
                               "[2,2],\"data_offsets\":[0,16]},"
                               "\"b\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[16,19]}}";
    uint64_t random = 12345;
    int n_accepted = 0;
    for (int round = 0; round < 100000; round++) {
        struct file file = make_file(text, 19);
        for (int i = round % 3; i >= 0; i--) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            static const char likely[] = "0123456789-[]{},:\"";
            char c = random >> 40 & 1 ? likely[(random >> 41) % (sizeof likely - 1)]
                                      : (char)(random >> 50);
            file.bytes[(random >> 20) % (sizeof text + 7)] = (uint8_t)c;
        }
        struct fct_safetensors header;
        if (!fct_safetensors_parse(&header, "x", file.bytes, file.size, NULL)) {
            n_accepted++;
            for (size_t i = 0; i < header.n_tensors; i++) {
                const struct fct_tensor *tensor = &header.tensors[i];
                assert_true(tensor->offset >= header.data_start && tensor->offset <= file.size);
                assert_true(tensor->n_bytes <= file.size - tensor->offset);
            }
        }
        fct_safetensors_free(&header);
        free(file.bytes);
    }
    assert_true(n_accepted > 100 && n_accepted < 90000); /* both ways were taken */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_are_found_by_name),
        cmocka_unit_test(all_types_have_their_size),
        cmocka_unit_test(a_wrong_header_length_is_refused),
        cmocka_unit_test(wrong_offsets_are_refused),
        cmocka_unit_test(a_tensor_without_elements_is_legal),
        cmocka_unit_test(wrong_shapes_and_types_are_refused),
        cmocka_unit_test(deep_nesting_is_refused),
        cmocka_unit_test(what_is_no_model_at_all_is_named),
        cmocka_unit_test(a_file_of_another_length_is_refused),
        cmocka_unit_test(random_damage_never_leads_outside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
