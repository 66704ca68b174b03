#include "common/env.h"
#include "tensor/tensor.h"
#include "tests/run_suite.h"

static struct ox_error err;

START_TEST(shapes_are_counted_with_every_check)
{
    size_t n = 99;
    ck_assert(ox_dims_count(0, NULL, &n) && n == 1);
    ck_assert(ox_dims_count(3, (int64_t[]){2, 3, 4}, &n) && n == 24);
    ck_assert(ox_dims_count(3, (int64_t[]){INT64_MAX, INT64_MAX, 0}, &n) && n == 0);
    ck_assert(!ox_dims_count(2, (int64_t[]){INT64_MAX, 4}, &n));
    ck_assert(!ox_dims_count(2, (int64_t[]){0, -1}, &n));
    ck_assert(ox_dims_count(1, (int64_t[]){INT64_MAX}, &n) && n == INT64_MAX);
}
END_TEST

START_TEST(new_tensors_are_aligned_counted_and_given_back)
{
    struct ox_budget budget = {0};
    struct ox_tensor *tensor;
    ck_assert_int_eq(ox_tensor_new(&tensor, &budget, OX_FLOAT32, 2, (int64_t[]){3, 5}, &err),
                     OX_OK);
    ck_assert_uint_eq((uintptr_t)tensor->data % 64, 0);
    ck_assert_uint_eq(tensor->n, 15);
    ck_assert_uint_ge(budget.used, 60);
    struct ox_tensor *view;
    ck_assert_int_eq(ox_tensor_view(&view, tensor, 1, (int64_t[]){15}, &err), OX_OK);
    ck_assert_ptr_eq(view->data, tensor->data);
    ox_tensor_release(tensor);
    ck_assert_uint_ge(budget.used, 60);
    ox_tensor_release(view);
    ck_assert_uint_eq(budget.used, 0);
    ox_tensor_release(NULL);
}
END_TEST

START_TEST(large_tensors_hold_all_they_count)
{
    struct ox_budget budget = {0};
    struct ox_tensor *tensor, *part;
    const size_t n = (5 << 20) + 3;
    ck_assert_int_eq(ox_tensor_new(&tensor, &budget, OX_UINT8, 1, (int64_t[]){(int64_t)n}, &err),
                     OX_OK);
    ck_assert_uint_ge(budget.used, n);
    memset(tensor->data, 7, n);
    ck_assert_int_eq(ox_tensor_part(&part, tensor, n - 2, 2, &err), OX_OK);
    ox_tensor_release(tensor);
    ck_assert_mem_eq(part->data, "\x07\x07", 2);
    ox_tensor_release(part);
    ck_assert_uint_eq(budget.used, 0);
}
END_TEST

START_TEST(impossible_tensors_are_refused)
{
    struct ox_budget budget = {.limit = 1000};
    struct ox_tensor *tensor;
    ck_assert_int_eq(ox_tensor_new(&tensor, &budget, OX_FLOAT32, 1, (int64_t[]){-1}, &err),
                     OX_INPUT);
    ck_assert_int_eq(ox_tensor_new(&tensor, &budget, OX_FLOAT32, 1, (int64_t[]){1000}, &err),
                     OX_LIMIT);
    ck_assert_str_eq(err.message, "float32 [1000]: goes over the memory limit");
    ck_assert_int_eq(
        ox_tensor_new(&tensor, &budget, OX_FLOAT32, 2, (int64_t[]){INT64_MAX, 2}, &err), OX_LIMIT);
    ck_assert_int_eq(
        ox_tensor_new(&tensor, &budget, OX_FLOAT64, 1, (int64_t[]){INT64_MAX / 4}, &err), OX_LIMIT);
    ck_assert_int_eq(ox_tensor_new(&tensor, &budget, OX_UNDEFINED, 0, NULL, &err), OX_INPUT);
    ck_assert_uint_eq(budget.used, 0);
    ck_assert_int_eq(ox_tensor_new(&tensor, NULL, OX_UINT8, 2, (int64_t[]){0, INT64_MAX}, &err),
                     OX_LIMIT);
    ck_assert_int_eq(ox_tensor_new(&tensor, NULL, OX_UINT8, 3, (int64_t[]){65536, 0, 65537}, &err),
                     OX_LIMIT);
    ck_assert_int_eq(ox_tensor_new(&tensor, NULL, OX_UINT8, 3, (int64_t[]){65536, 0, 65536}, &err),
                     OX_OK);
    ck_assert_ptr_nonnull(tensor->data);
    struct ox_tensor *view;
    ck_assert_int_eq(ox_tensor_view(&view, tensor, 1, (int64_t[]){1}, &err), OX_INPUT);
    ox_tensor_release(tensor);
}
END_TEST

START_TEST(strings_are_copied_with_their_nuls)
{
    struct ox_env *env = ox_env_new();
    struct ox_tensor *tensor;
    char text[] = "cat";
    ck_assert_int_eq(ox_tensor_from_strings(&tensor, env, 1, (int64_t[]){2},
                                            (const char *const[]){text, ""}, &err),
                     OX_OK);
    text[0] = 'b';
    size_t n;
    ck_assert_mem_eq(ox_tensor_string(tensor, 0, &n), "cat", 3);
    ck_assert_uint_eq(n, 3);
    ck_assert_ptr_nonnull(ox_tensor_string(tensor, 1, &n));
    ck_assert_uint_eq(n, 0);
    ck_assert_int_eq(ox_tensor_set_string(tensor, 1, "a\0b", 3, &err), OX_OK);
    ck_assert_mem_eq(ox_tensor_string(tensor, 1, &n), "a\0b", 3);
    ox_tensor_release(tensor);
    ck_assert_uint_eq(env->budget.used, 0);
    ox_env_release(env);
}
END_TEST

START_TEST(data_given_from_outside_are_brought_into_form)
{
    struct ox_env *env = ox_env_new();
    struct ox_tensor *tensor;
    ck_assert_int_eq(
        ox_tensor_from_data(&tensor, env, OX_BOOL, 1, (int64_t[]){3}, "\x00\x02\xFF", &err), OX_OK);
    ck_assert_mem_eq(ox_tensor_data(tensor), "\x00\x01\x01", 3);
    ox_tensor_release(tensor);
    ck_assert_int_eq(
        ox_tensor_from_data(&tensor, env, OX_INT4, 1, (int64_t[]){2}, "\x0F\x17", &err), OX_OK);
    ck_assert_mem_eq(ox_tensor_data(tensor), "\xFF\x07", 2);
    ox_tensor_release(tensor);
    ck_assert_int_eq(ox_tensor_from_data(&tensor, env, OX_STRING, 0, NULL, "x", &err), OX_USAGE);
    ox_env_release(env);
}
END_TEST

static int n_released;

static void on_release(struct ox_buffer *buffer)
{
    ck_assert_ptr_eq(buffer->owner, &n_released);
    n_released++;
}

START_TEST(borrowed_memory_is_given_back_once)
{
    static const float values[] = {1, 2, 3, 4};
    struct ox_tensor *tensor;
    struct ox_tensor *view;
    ck_assert_int_eq(ox_tensor_borrow(&tensor, OX_FLOAT32, 1, (int64_t[]){4}, values, on_release,
                                      &n_released, &err),
                     OX_OK);
    ck_assert_ptr_eq(tensor->data, values);
    ck_assert_int_eq(ox_tensor_view(&view, tensor, 2, (int64_t[]){2, 2}, &err), OX_OK);
    ck_assert_ptr_eq(ox_tensor_ref(view), view);
    ox_tensor_release(tensor);
    ox_tensor_release(view);
    ck_assert_int_eq(n_released, 0);
    ox_tensor_release(view);
    ck_assert_int_eq(n_released, 1);
    ck_assert_int_eq(ox_tensor_borrow(&tensor, OX_FLOAT32, 0, NULL, values, NULL, NULL, &err),
                     OX_OK);
    ck_assert_double_eq(ox_tensor_get_double(tensor, 0), 1);
    ox_tensor_release(tensor);
}
END_TEST

static struct ox_datum *scalar(struct ox_budget *budget, float value)
{
    struct ox_tensor *tensor;
    struct ox_datum *datum;
    ck_assert_int_eq(ox_tensor_new(&tensor, budget, OX_FLOAT32, 0, NULL, &err), OX_OK);
    *(float *)tensor->data = value;
    ck_assert_int_eq(ox_datum_of_tensor(&datum, tensor, &err), OX_OK);
    ox_tensor_release(tensor);
    return datum;
}

START_TEST(data_hold_references_to_what_they_contain)
{
    struct ox_budget budget = {0};
    struct ox_datum *items[2] = {scalar(&budget, 1), scalar(&budget, 2)};
    struct ox_datum *sequence;
    struct ox_datum *optional;
    ck_assert_int_eq(ox_datum_sequence(&sequence, OX_FLOAT32, items, 2, &err), OX_OK);
    ck_assert_int_eq(ox_datum_optional(&optional, OX_FLOAT32, sequence, &err), OX_OK);
    ox_datum_release(items[0]);
    ox_datum_release(items[1]);
    ox_datum_release(sequence);
    ck_assert_ptr_null(ox_datum_get_tensor(optional));
    const struct ox_tensor *second = ox_datum_get_tensor(optional->items[0]->items[1]);
    ck_assert_double_eq(ox_tensor_get_double(second, 0), 2);
    ck_assert_uint_eq(optional->elem, OX_FLOAT32);
    ox_datum_release(optional);
    ck_assert_uint_eq(budget.used, 0);
    ck_assert_int_eq(ox_datum_optional(&optional, OX_INT64, NULL, &err), OX_OK);
    ck_assert_uint_eq(optional->n_items, 0);
    ox_datum_release(optional);
    ox_datum_release(NULL);
}
END_TEST

START_TEST(deep_nesting_is_released_without_the_stack)
{
    struct ox_budget budget = {0};
    struct ox_datum *datum = scalar(&budget, 1);
    for (int i = 0; i < 1000000; i++) {
        struct ox_datum *outer;
        ck_assert_int_eq(ox_datum_optional(&outer, OX_FLOAT32, datum, &err), OX_OK);
        ox_datum_release(datum);
        datum = outer;
    }
    ox_datum_release(datum);
    ck_assert_uint_eq(budget.used, 0);
}
END_TEST

START_TEST(maps_and_sparse_tensors_keep_their_parts)
{
    struct ox_budget budget = {0};
    struct ox_tensor *keys;
    struct ox_datum *map;
    struct ox_datum *sparse;
    ck_assert_int_eq(ox_tensor_new(&keys, &budget, OX_INT64, 1, (int64_t[]){1}, &err), OX_OK);
    struct ox_datum *values = scalar(&budget, 3);
    ck_assert_int_eq(ox_datum_map(&map, keys, values, &err), OX_OK);
    ck_assert_int_eq(ox_datum_sparse(&sparse, values->tensor, keys, 2, (int64_t[]){4, 5}, &err),
                     OX_OK);
    ck_assert_int_eq(sparse->dims[1], 5);
    ox_tensor_release(keys);
    ox_datum_release(values);
    ck_assert_ptr_eq(map->tensor, sparse->indices);
    ox_datum_release(map);
    ox_datum_release(sparse);
    ck_assert_uint_eq(budget.used, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tensor");
    TCase *tests = tcase_create("tensor");
    tcase_add_test(tests, shapes_are_counted_with_every_check);
    tcase_add_test(tests, new_tensors_are_aligned_counted_and_given_back);
    tcase_add_test(tests, large_tensors_hold_all_they_count);
    tcase_add_test(tests, impossible_tensors_are_refused);
    tcase_add_test(tests, strings_are_copied_with_their_nuls);
    tcase_add_test(tests, data_given_from_outside_are_brought_into_form);
    tcase_add_test(tests, borrowed_memory_is_given_back_once);
    tcase_add_test(tests, data_hold_references_to_what_they_contain);
    tcase_add_test(tests, deep_nesting_is_released_without_the_stack);
    tcase_add_test(tests, maps_and_sparse_tensors_keep_their_parts);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
