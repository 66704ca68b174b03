#include <unistd.h>

#include "common/env.h"
#include "tensor/io/tensor_rows.h"
#include "tests/golden.h"
#include "tests/run_suite.h"

enum { ROWS = 100, WIDTH = 1001 }; /* large enough that files are mapped; rows end within pages */

static struct ox_env *env;
static struct ox_error err;
static char folder[64];
static struct ox_tensor *array;

static void setup(void)
{
    const int64_t dims[] = {ROWS, WIDTH};
    snprintf(folder, sizeof folder, "%s/ox-test-rows-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chdir(folder), 0);
    env = ox_env_new();
    ck_assert_ptr_nonnull(env);
    ck_assert_int_eq(ox_tensor_new(&array, ox_env_budget(env), OX_FLOAT32, 2, dims, &err), OX_OK);
    for (size_t i = 0; i < array->n; i++)
        ((float *)array->data)[i] = (float)(i * 7919 % 104729);
}

static void teardown(void)
{
    ox_tensor_release(array);
    ck_assert_uint_eq(env->budget.used, 0);
    ox_env_release(env);
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}

static void write_npz(const char *path, bool deflate)
{
    struct ox_npz_writer *writer;
    ck_assert_int_eq(ox_npz_writer_open(&writer, path, deflate, &err), OX_OK);
    ck_assert_int_eq(ox_npz_writer_add(writer, "x", array, &err), OX_OK);
    ck_assert_int_eq(ox_npz_writer_commit(writer, &err), OX_OK);
    ox_npz_writer_release(writer);
}

/* Three rows at a time, and what is left; OX_OK when all are those of `array`. */
static enum ox_status read_all(struct ox_tensor_file *file)
{
    struct ox_tensor_rows *rows;
    enum ox_status status = ox_tensor_rows_open(&rows, file, 0, &err);
    for (int64_t at = 0; at < ROWS && status == OX_OK;) {
        struct ox_tensor *part;
        int64_t n = ROWS - at < 3 ? ROWS - at : 3;
        status = ox_tensor_rows_next(rows, n, &part, &err);
        if (status != OX_OK)
            break;
        ck_assert_uint_eq(part->n, (size_t)n * WIDTH);
        ck_assert_int_eq(part->dims[0], n);
        ck_assert_mem_eq(part->data, (const float *)array->data + at * WIDTH, part->n * 4);
        ox_tensor_release(part);
        at += n;
    }
    ox_tensor_rows_release(rows);
    return status;
}

static void check_file(const char *path)
{
    struct ox_tensor_file *file;
    ck_assert_int_eq(ox_tensor_file_open(&file, env, path, NULL, &err), OX_OK);
    ck_assert_msg(read_all(file) == OX_OK, "%s: %s", path, err.message);
    ox_tensor_file_release(file);
}

START_TEST(rows_of_every_form_are_those_of_the_array)
{
    const char *name = "x";
    const struct ox_tensor *tensor = array;
    write_npz("stored.npz", false);
    write_npz("deflated.npz", true);
    ck_assert_int_eq(ox_tensors_write("x.npy", 1, &name, &tensor, &err), OX_OK);
    ck_assert_int_eq(ox_tensors_write("x.safetensors", 1, &name, &tensor, &err), OX_OK);
    check_file("stored.npz");
    check_file("deflated.npz");
    check_file("x.npy");
    check_file("x.safetensors");
}
END_TEST

/* The npy header of other forms; elements as they stand. */
static void write_npy(const char *path, const char *descr, bool fortran, const void *data, size_t n)
{
    char dictionary[118];
    int length = snprintf(dictionary, sizeof dictionary,
                          "{'descr': '%s', 'fortran_order': %s, 'shape': (%d, %d), }", descr,
                          fortran ? "True" : "False", ROWS, WIDTH);
    memset(dictionary + length, ' ', sizeof dictionary - (size_t)length);
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite("\x93NUMPY\x01\x00\x76\x00", 1, 10, file), 10);
    ck_assert_uint_eq(fwrite(dictionary, 1, sizeof dictionary, file), sizeof dictionary);
    ck_assert_uint_eq(fwrite(data, 1, n, file), n);
    ck_assert_int_eq(fclose(file), 0);
}

START_TEST(rows_in_another_byte_order_or_by_columns_are_turned)
{
    size_t bytes = array->n * 4;
    float *turned = malloc(bytes);
    ck_assert_ptr_nonnull(turned);
    memcpy(turned, array->data, bytes);
    ox_bytes_swap(turned, bytes, 4);
    write_npy("swapped.npy", ">f4", false, turned, bytes);
    for (size_t i = 0; i < ROWS; i++) {
        for (size_t k = 0; k < WIDTH; k++)
            turned[k * ROWS + i] = ((float *)array->data)[i * WIDTH + k];
    }
    write_npy("columns.npy", "<f4", true, turned, bytes);
    free(turned);
    check_file("swapped.npy");
    check_file("columns.npy");
}
END_TEST

START_TEST(more_rows_than_are_left_are_refused)
{
    struct ox_tensor_file *file;
    struct ox_tensor_rows *rows;
    struct ox_tensor *part;
    write_npz("x.npz", false);
    ck_assert_int_eq(ox_tensor_file_open(&file, env, "x.npz", NULL, &err), OX_OK);
    ck_assert_int_eq(ox_tensor_rows_open(&rows, file, 0, &err), OX_OK);
    ck_assert_int_eq(ox_tensor_rows_next(rows, ROWS + 1, &part, &err), OX_LIMIT);
    ox_tensor_rows_release(rows);
    ox_tensor_file_release(file);
}
END_TEST

static void flip_a_byte(const char *path, long at)
{
    FILE *file = fopen(path, "r+b");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fseek(file, at, SEEK_SET), 0);
    int byte = fgetc(file);
    ck_assert_int_eq(fseek(file, at, SEEK_SET), 0);
    ck_assert_int_ne(fputc(byte ^ 1, file), EOF);
    ck_assert_int_eq(fclose(file), 0);
}

START_TEST(a_damaged_row_is_told_by_the_checksum_of_the_rest)
{
    struct ox_tensor_file *file;
    struct ox_tensor_rows *rows;
    struct ox_tensor *part;
    write_npz("x.npz", false);
    flip_a_byte("x.npz", 4 * ROWS * WIDTH / 2);
    ck_assert_int_eq(ox_tensor_file_open(&file, env, "x.npz", NULL, &err), OX_OK);
    ck_assert_int_eq(ox_tensor_rows_open(&rows, file, 0, &err), OX_OK);
    ck_assert_int_eq(ox_tensor_rows_next(rows, 2, &part, &err), OX_OK);
    ox_tensor_release(part);
    ck_assert_int_eq(ox_tensor_rows_finish(rows, &err), OX_INPUT);
    ck_assert_ptr_nonnull(strstr(err.message, "checksum"));
    ox_tensor_rows_release(rows);
    ox_tensor_file_release(file);
}
END_TEST

START_TEST(rows_of_a_file_that_is_gone_come_from_the_map)
{
    struct ox_tensor_file *file;
    write_npz("x.npz", true);
    ck_assert_int_eq(ox_tensor_file_open(&file, env, "x.npz", NULL, &err), OX_OK);
    ck_assert_int_eq(unlink("x.npz"), 0);
    ck_assert_msg(read_all(file) == OX_OK, "%s", err.message);
    ox_tensor_file_release(file);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tensor_rows");
    TCase *tests = tcase_create("tensor_rows");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, rows_of_every_form_are_those_of_the_array);
    tcase_add_test(tests, rows_in_another_byte_order_or_by_columns_are_turned);
    tcase_add_test(tests, more_rows_than_are_left_are_refused);
    tcase_add_test(tests, a_damaged_row_is_told_by_the_checksum_of_the_rest);
    tcase_add_test(tests, rows_of_a_file_that_is_gone_come_from_the_map);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
