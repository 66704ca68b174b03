/* Saved tensors as a list, and what .pb files hold. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "model/datum_kind.h"
#include "tensor/tensor.h"
#include "tests/run_suite.h"

static struct ox_env *env;
static char folder[] = "/tmp/saved_data_XXXXXX";
static char path[sizeof folder + 8];
static struct ox_error err;

static void setup(void)
{
    env = ox_env_new();
    ck_assert_ptr_nonnull(env);
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/x.pb", folder);
}

static void teardown(void)
{
    unlink(path);
    rmdir(folder);
    ox_env_release(env);
}

static struct ox_datum *numbers(enum ox_dtype dtype, unsigned rank, int64_t dim)
{
    static const uint8_t data[16] = {3, 1};
    struct ox_tensor *tensor;
    struct ox_datum *datum;
    ck_assert_int_eq(ox_tensor_from_data(&tensor, env, dtype, rank, &dim, data, &err), OX_OK);
    ck_assert_int_eq(ox_datum_of_tensor(&datum, tensor, &err), OX_OK);
    ox_tensor_release(tensor);
    return datum;
}

/* Releases the datum. */
static struct ox_weight_list *saved(struct ox_datum *datum, const char *name)
{
    struct ox_weight_list *list;
    ck_assert_int_eq(ox_datum_write_pb(datum, name, path, &err), OX_OK);
    ox_datum_release(datum);
    const enum ox_status status = ox_weight_list_of_data(&list, env, path, false, &err);
    ck_assert_msg(status == OX_OK, "%s", err.message);
    ck_assert_ptr_nonnull(list);
    return list;
}

static void expect(const struct ox_weight_list *list, size_t i, const char *name,
                   enum ox_dtype dtype, unsigned rank)
{
    ck_assert_uint_lt(i, ox_weight_list_count(list));
    const struct ox_weight *weight = ox_weight_list_at(list, i);
    ck_assert_str_eq(weight->name, name);
    ck_assert_int_eq(weight->dtype, dtype);
    ck_assert_uint_eq(weight->rank, rank);
}

/* A scalar or a list of any type, named or not, is no sequence and no map. */
static long most_resident(void)
{
    struct rusage usage;
    ck_assert_int_eq(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_maxrss; /* KiB */
}

START_TEST(figures_of_a_large_file_take_a_piece_of_it)
{
    static const char header[] = "\x93NUMPY\1\0\x76\0{'descr': '<f4', 'fortran_order': False, "
                                 "'shape': (16777216,), }";
    char name[sizeof path + 4];
    snprintf(name, sizeof name, "%s/x.npy", folder);
    FILE *file = fopen(name, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(header, 1, 10, file), 10);
    fprintf(file, "%-117s\n", header + 10);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(truncate(name, 128 + (64 << 20)), 0);
    struct ox_weight_list *list;
    struct ox_weight_stats stats;
    ck_assert_int_eq(ox_weight_list_of_data(&list, env, name, false, &err), OX_OK);
    ck_assert_ptr_nonnull(list);
    const long before = most_resident();
    ck_assert_int_eq(ox_weight_list_stats(&stats, list, 0, NULL, 0, &err), OX_OK);
    ck_assert_uint_eq(stats.n_zeros, 16 << 20);
    ck_assert_int_lt(most_resident() - before, 16 << 10);
    ox_weight_list_release(list);
    unlink(name);
}
END_TEST

START_TEST(a_tensor_of_any_type_is_a_tensor)
{
    for (enum ox_dtype dtype = OX_UNDEFINED + 1; dtype < OX_N_DTYPES; dtype++)
        for (unsigned rank = 0; rank < 2 && dtype != OX_STRING; rank++) {
            struct ox_weight_list *list = saved(numbers(dtype, rank, 1), rank ? "n" : NULL);
            expect(list, 0, rank ? "n" : "x.pb", dtype, rank);
            ck_assert_uint_eq(ox_weight_list_count(list), 1);
            ox_weight_list_release(list);
        }
}
END_TEST

START_TEST(a_sequence_is_its_elements)
{
    struct ox_datum *items[] = {numbers(OX_INT8, 1, 2), numbers(OX_INT8, 0, 0)};
    struct ox_datum *inner, *outer;
    ck_assert_int_eq(ox_datum_sequence(&inner, OX_INT8, items, 2, &err), OX_OK);
    ck_assert_int_eq(ox_datum_sequence(&outer, OX_UNDEFINED, &inner, 1, &err), OX_OK);
    ox_datum_release(items[0]);
    ox_datum_release(items[1]);
    ox_datum_release(inner);
    struct ox_weight_list *list = saved(outer, "s");
    ck_assert_uint_eq(ox_weight_list_count(list), 2);
    expect(list, 0, "s[0][0]", OX_INT8, 1);
    expect(list, 1, "s[0][1]", OX_INT8, 0);
    struct ox_weight_stats stats;
    ck_assert_int_eq(ox_weight_list_stats(&stats, list, 0, NULL, 0, &err), OX_OK);
    ck_assert(stats.numeric && stats.n == 2 && stats.min == 1 && stats.max == 3);
    ox_weight_list_release(list);
}
END_TEST

START_TEST(a_map_is_keys_and_values)
{
    struct ox_datum *keys = numbers(OX_INT64, 1, 2), *values = numbers(OX_FLOAT32, 1, 2), *map;
    ck_assert_int_eq(ox_datum_map(&map, ox_datum_get_tensor(keys), values, &err), OX_OK);
    ox_datum_release(keys);
    ox_datum_release(values);
    struct ox_weight_list *list = saved(map, "m");
    expect(list, 0, "m.keys", OX_INT64, 1);
    expect(list, 1, "m.values", OX_FLOAT32, 1);
    ox_weight_list_release(list);
}
END_TEST

START_TEST(an_optional_of_nothing_has_no_elements)
{
    struct ox_datum *optional;
    ck_assert_int_eq(ox_datum_optional(&optional, OX_FLOAT32, NULL, &err), OX_OK);
    struct ox_weight_list *list = saved(optional, "o");
    expect(list, 0, "o.none", OX_FLOAT32, 1);
    ck_assert_uint_eq(ox_weight_list_at(list, 0)->n, 0);
    ox_weight_list_release(list);
}
END_TEST

/* What is cut off anywhere, or changed, is told or read, and no more. */
START_TEST(any_bytes_are_looked_at)
{
    static const uint8_t map[] =
        "\x0a\x01m\x10\x08\x22\x01k\x2a\x09\x10\x01\x1a\x05\x10\x06\x2a\x01\x07";
    uint8_t bytes[sizeof map];
    for (size_t n = 0; n < sizeof map; n++)
        ox_datum_kind((struct ox_span){map, n}, NULL);
    for (size_t i = 0; i < sizeof map; i++)
        for (unsigned value = 0; value < 256; value++) {
            struct ox_span name;
            memcpy(bytes, map, sizeof map);
            bytes[i] = (uint8_t)value;
            ox_datum_kind((struct ox_span){bytes, sizeof map - 1}, &name);
        }
    ck_assert_str_eq(ox_datum_kind((struct ox_span){map, sizeof map - 1}, NULL), "map(any)");
}
END_TEST

/* ModelProto {ir_version, producer_name, graph}, and the same without its version. */
START_TEST(a_model_is_no_data)
{
    static const uint8_t model[] = "\x08\x0a\x12\x01p\x3a\x05\x12\x03"
                                   "abc";
    ck_assert_ptr_null(ox_datum_kind((struct ox_span){model, sizeof model - 1}, NULL));
    ck_assert_ptr_null(ox_datum_kind((struct ox_span){model + 2, sizeof model - 3}, NULL));
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("saved_data");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_tensor_of_any_type_is_a_tensor);
    tcase_add_test(tc, a_sequence_is_its_elements);
    tcase_add_test(tc, a_map_is_keys_and_values);
    tcase_add_test(tc, an_optional_of_nothing_has_no_elements);
    tcase_add_test(tc, any_bytes_are_looked_at);
    tcase_add_test(tc, a_model_is_no_data);
    tcase_add_test(tc, figures_of_a_large_file_take_a_piece_of_it);
    Suite *suite = suite_create("saved_data");
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
