/* Constant data: every way in which a tensor can be stored, and external files that must not be reached. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/external.h"
#include "model/model.h"
#include "tests/run_suite.h"
#include "wire_build.h"

static struct ox_env *env;
static struct wire w;
static struct ox_error err;
static struct ox_model *model;
static struct ox_tensor *tensor;
static char dir[64];

static void setup(void)
{
    env = ox_env_new();
    strcpy(dir, "/tmp/ox_stored_XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    wire_begin_model(&w);
}

static void teardown(void)
{
    ox_tensor_release(tensor);
    tensor = NULL;
    ox_model_release(model);
    model = NULL;
    ck_assert_uint_eq(atomic_load(&env->budget.used), 0);
    ox_env_release(env);
    wire_release(&w);
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", dir);
    ck_assert_int_eq(system(command), 0);
}

/* Begins the initializer "t" of that type with one dimension. */
static void begin(enum ox_dtype dtype, int64_t n)
{
    wire_begin(&w, 5);
    wire_int(&w, 1, (uint64_t)n);
    wire_int(&w, 2, dtype);
    wire_text(&w, 8, "t");
}

static enum ox_status load(void)
{
    while (w.depth)
        wire_end(&w);
    ox_model_release(model);
    model = NULL;
    ck_assert_int_eq(ox_model_open_memory(&model, env, w.data, w.n, dir, &err), OX_OK);
    const struct ox_stored *stored = model->graph->inits[0];
    enum ox_status verdict = ox_stored_verify(model, stored, &err);
    enum ox_status status = ox_stored_load(model, stored, &tensor, &err);
    ck_assert_int_eq(verdict, status);
    return status;
}

static void loads(void)
{
    ck_assert_msg(load() == OX_OK, "%s", err.message);
}

static void fails(const char *message)
{
    ck_assert_int_eq(load(), OX_INPUT);
    ck_assert_str_eq(err.message, message);
}

START_TEST(raw_floats)
{
    begin(OX_FLOAT32, 2);
    wire_bytes(&w, 9, (const float[]){1.5F, -2}, 8);
    loads();
    ck_assert_float_eq(((const float *)tensor->data)[1], -2);
    ck_assert_uint_eq((uintptr_t)tensor->data % 4, 0);
}
END_TEST

START_TEST(raw_nibbles_crumbs_and_sixes)
{
    begin(OX_INT4, 3);
    wire_bytes(&w, 9, "\xF1\x08", 2);
    loads();
    ck_assert_mem_eq(tensor->data, "\x01\xFF\xF8", 3);
}
END_TEST

START_TEST(nibbles_share_a_number)
{
    begin(OX_UINT4, 3);
    wire_int(&w, 5, 0xF1);
    wire_int(&w, 5, 0x08);
    loads();
    ck_assert_mem_eq(tensor->data, "\x01\x0F\x08", 3);
}
END_TEST

START_TEST(crumbs_share_a_number)
{
    begin(OX_INT2, 5);
    wire_int(&w, 5, 0xE4); /* 0, 1, -2, -1 */
    wire_int(&w, 5, 0x01);
    loads();
    ck_assert_mem_eq(tensor->data, "\x00\x01\xFE\xFF\x01", 5);
}
END_TEST

START_TEST(six_bit_codes_have_a_number_each)
{
    begin(OX_FLOAT6E2M3, 2);
    wire_int(&w, 5, 0x3F);
    wire_int(&w, 5, 0x01);
    loads();
    ck_assert_mem_eq(tensor->data, "\x3F\x01", 2);
}
END_TEST

START_TEST(halves_are_bits_in_int32_data)
{
    begin(OX_FLOAT16, 1);
    wire_int(&w, 5, 0x3C00);
    loads();
    ck_assert_uint_eq(*(const uint16_t *)tensor->data, 0x3C00);
}
END_TEST

START_TEST(narrow_integers_drop_high_bits)
{
    begin(OX_INT8, 2);
    wire_int(&w, 5, (uint64_t)-1);
    wire_int(&w, 5, 0x17F);
    loads();
    ck_assert_mem_eq(tensor->data, "\xFF\x7F", 2);
}
END_TEST

START_TEST(bools_become_0_or_1)
{
    begin(OX_BOOL, 3);
    wire_bytes(&w, 9, "\x00\x02\x01", 3);
    loads();
    ck_assert_mem_eq(tensor->data, "\x00\x01\x01", 3);
}
END_TEST

START_TEST(uint32_is_in_uint64_data)
{
    begin(OX_UINT32, 1);
    wire_int(&w, 11, 4000000000U);
    loads();
    ck_assert_uint_eq(*(const uint32_t *)tensor->data, 4000000000U);
}
END_TEST

START_TEST(complex_takes_two_floats)
{
    begin(OX_COMPLEX64, 1);
    wire_bytes(&w, 4, (const float[]){1, 2}, 8);
    loads();
    ck_assert_float_eq(((const float *)tensor->data)[1], 2);
}
END_TEST

START_TEST(strings_may_hold_nul)
{
    begin(OX_STRING, 2);
    wire_bytes(&w, 6, "a\0b", 3);
    wire_bytes(&w, 6, "", 0);
    loads();
    ck_assert_uint_eq(((const struct ox_str *)tensor->data)[0].n, 3);
}
END_TEST

START_TEST(no_elements_need_no_data)
{
    begin(OX_FLOAT32, 0);
    loads();
    ck_assert_uint_eq(tensor->n, 0);
}
END_TEST

START_TEST(sizes_must_fit_dims)
{
    begin(OX_FLOAT32, 2);
    wire_bytes(&w, 9, "1234567", 7);
    fails("(memory): tensor \"t\": raw_data has 7 bytes where type float32 and dims need 8");
}
END_TEST

START_TEST(counts_must_fit_dims)
{
    begin(OX_FLOAT32, 2);
    wire_int(&w, 5, 1);
    fails("(memory): tensor \"t\": float_data has 0 numbers where type float32 and dims need 2");
}
END_TEST

START_TEST(data_must_be_there)
{
    begin(OX_FLOAT32, 2);
    fails("(memory): tensor \"t\": it has no data where type float32 and dims need 2 elements");
}
END_TEST

START_TEST(dims_must_not_be_negative_or_overflow)
{
    begin(OX_FLOAT32, -1);
    fails("(memory): tensor \"t\": its dims are negative or too large");
    w.n = 0;
    wire_begin_model(&w);
    begin(OX_FLOAT32, INT64_MAX);
    wire_int(&w, 1, 4);
    wire_bytes(&w, 9, "1234", 4);
    fails("(memory): tensor \"t\": its dims are negative or too large");
}
END_TEST

START_TEST(types_must_exist)
{
    begin((enum ox_dtype)77, 1);
    wire_bytes(&w, 9, "1", 1);
    fails("(memory): tensor \"t\": data type 77 does not exist");
}
END_TEST

START_TEST(strings_are_never_raw)
{
    begin(OX_STRING, 1);
    wire_bytes(&w, 9, "1", 1);
    fails("(memory): tensor \"t\": strings must be in string_data");
}
END_TEST

/* ---- External data ------------------------------------------------------------------------------------------------ */

static void entry(const char *key, const char *value)
{
    wire_begin(&w, 13);
    wire_text(&w, 1, key);
    wire_text(&w, 2, value);
    wire_end(&w);
}

static void begin_external(const char *location)
{
    begin(OX_FLOAT32, 2);
    if (location)
        entry("location", location);
    wire_int(&w, 14, 1);
}

static void put_file(const char *name, const void *bytes, size_t n)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    ck_assert_int_eq(ox_file_write(path, bytes, n, &err), OX_OK);
}

static const float numbers[] = {7, 8, 9, 10};

START_TEST(external_data_is_found_at_its_offset)
{
    put_file("e.bin", numbers, sizeof numbers);
    begin_external("e.bin");
    entry("offset", "4");
    entry("length", "8");
    entry("basepath", "ignored");
    loads();
    ck_assert_float_eq(((const float *)tensor->data)[0], 8);
}
END_TEST

START_TEST(external_data_without_length_takes_what_dims_need)
{
    put_file("e.bin", numbers, sizeof numbers);
    begin_external("e.bin");
    loads();
    ck_assert_float_eq(((const float *)tensor->data)[1], 8);
}
END_TEST

START_TEST(external_data_may_be_empty)
{
    put_file("e.bin", "", 0);
    begin(OX_FLOAT32, 0);
    entry("location", "e.bin");
    wire_int(&w, 14, 1);
    loads();
}
END_TEST

START_TEST(external_data_must_be_long_enough)
{
    put_file("e.bin", numbers, sizeof numbers);
    begin_external("e.bin");
    entry("offset", "12");
    fails("(memory): tensor \"t\": external data \"e.bin\" has 16 bytes, too few for 8 bytes at "
          "offset 12");
    w.n = 0;
    wire_begin_model(&w);
    begin_external("e.bin");
    entry("offset", "18446744073709551615");
    ck_assert_int_eq(load(), OX_INPUT);
}
END_TEST

START_TEST(external_length_must_be_what_dims_need)
{
    put_file("e.bin", numbers, sizeof numbers);
    begin_external("e.bin");
    entry("length", "12");
    fails(
        "(memory): tensor \"t\": external data \"e.bin\": length is 12 where type and dims need 8 "
        "bytes");
}
END_TEST

START_TEST(external_numbers_must_be_canonical)
{
    static const char *const bad[] = {"",
                                      "+4",
                                      "-0",
                                      " 4",
                                      "4 ",
                                      "04",
                                      "0x4",
                                      "4.",
                                      "1e1",
                                      "18446744073709551616",
                                      "99999999999999999999999"};
    put_file("e.bin", numbers, sizeof numbers);
    for (size_t i = 0; i < OX_COUNT(bad); i++) {
        w.n = 0;
        w.depth = 0;
        wire_begin_model(&w);
        begin_external("e.bin");
        entry("offset", bad[i]);
        ck_assert_int_eq(load(), OX_INPUT);
        ck_assert_ptr_nonnull(strstr(err.message, "is no plain number"));
    }
}
END_TEST

START_TEST(external_keys_are_the_standards_and_come_once)
{
    put_file("e.bin", numbers, sizeof numbers);
    begin_external("e.bin");
    entry("prefix", "x");
    fails("(memory): tensor \"t\": external data has the unknown key \"prefix\"");
    w.n = 0;
    wire_begin_model(&w);
    begin_external("e.bin");
    entry("location", "e.bin");
    fails("(memory): tensor \"t\": external data gives \"location\" twice");
    w.n = 0;
    wire_begin_model(&w);
    begin_external(NULL);
    fails("(memory): tensor \"t\": external data gives no location");
}
END_TEST

START_TEST(a_checksum_is_verified)
{
    put_file("e.bin", "abcdefgh", 8);
    begin_external("e.bin");
    entry("checksum", "425af12a0743502b322e93a015bcf868e324d56a");
    loads();
    ox_tensor_release(tensor);
    tensor = NULL;
    w.n = 0;
    wire_begin_model(&w);
    begin_external("e.bin");
    entry("checksum", "425af12a0743502b322e93a015bcf868e324d56b");
    fails("(memory): tensor \"t\": external data \"e.bin\" does not have the checksum "
          "425af12a0743502b322e93a015bcf868e324d56b");
}
END_TEST

START_TEST(external_data_stays_beneath_the_folder)
{
    char path[128], link_path[160];
    snprintf(path, sizeof path, "%s/real.bin", dir);
    put_file("real.bin", numbers, 8);
    snprintf(link_path, sizeof link_path, "%s/soft", dir);
    ck_assert_int_eq(symlink(path, link_path), 0);
    snprintf(link_path, sizeof link_path, "%s/fifo", dir);
    ck_assert_int_eq(mkfifo(link_path, 0600), 0);
    snprintf(link_path, sizeof link_path, "%s/folder", dir);
    ck_assert_int_eq(mkdir(link_path, 0700), 0);
    put_file("hard.bin", numbers, 8);
    snprintf(path, sizeof path, "%s/hard.bin", dir);
    snprintf(link_path, sizeof link_path, "%s/hard", dir);
    ck_assert_int_eq(link(path, link_path), 0);
    static const char *const bad[] = {"../x",
                                      "a/../../x",
                                      "/etc/passwd",
                                      "//etc/passwd",
                                      "soft",
                                      "hard",
                                      "fifo",
                                      "folder",
                                      "",
                                      "#x",
                                      "a\\..\\b",
                                      "missing",
                                      ".",
                                      "soft/x",
                                      "*/_ORT_MEM_ADDR_/*"};
    for (size_t i = 0; i < OX_COUNT(bad); i++) {
        w.n = 0;
        w.depth = 0;
        wire_begin_model(&w);
        begin_external(bad[i]);
        ck_assert_msg(load() == OX_INPUT, "%s", bad[i]);
        ck_assert_ptr_nonnull(strstr(err.message, "tensor \"t\""));
    }
    w.n = 0;
    w.depth = 0;
    wire_begin_model(&w);
    begin_external("real.bin");
    loads();
}
END_TEST

START_TEST(external_data_can_be_denied)
{
    put_file("e.bin", numbers, 8);
    ox_env_set_external(env, OX_EXTERNAL_DENY, NULL);
    begin_external("e.bin");
    ck_assert_int_eq(load(), OX_INPUT);
}
END_TEST

/* ---- Test data ---------------------------------------------------------------------------------------------------- */

static struct ox_datum *tensor_datum(enum ox_dtype dtype, unsigned rank, const int64_t *dims,
                                     const void *data)
{
    struct ox_tensor *t;
    struct ox_datum *d;
    ck_assert_int_eq(ox_tensor_from_data(&t, env, dtype, rank, dims, data, &err), OX_OK);
    ck_assert_int_eq(ox_datum_of_tensor(&d, t, &err), OX_OK);
    ox_tensor_release(t);
    return d;
}

/* Writes and reads back; releases what was given. */
static struct ox_datum *round_trip(struct ox_datum *datum, const char *type)
{
    char path[128];
    snprintf(path, sizeof path, "%s/d.pb", dir);
    struct ox_datum *back;
    ck_assert_int_eq(ox_datum_write_pb(datum, "d", path, &err), OX_OK);
    ox_datum_release(datum);
    ck_assert_msg(ox_datum_read_pb(&back, env, path, type, &err) == OX_OK, "%s", err.message);
    return back;
}

START_TEST(tensors_go_through_files)
{
    struct ox_datum *d =
        round_trip(tensor_datum(OX_INT4, 1, (const int64_t[]){3}, "\x01\xFF\xF8"), "int4[3]");
    ck_assert_int_eq(d->tensor->dtype, OX_INT4);
    ck_assert_mem_eq(d->tensor->data, "\x01\xFF\xF8", 3);
    ox_datum_release(d);
}
END_TEST

START_TEST(sequences_and_optionals_go_through_files)
{
    struct ox_datum *item = tensor_datum(OX_FLOAT32, 0, NULL, (const float[]){3});
    struct ox_datum *sequence, *optional;
    ck_assert_int_eq(ox_datum_sequence(&sequence, OX_FLOAT32, &item, 1, &err), OX_OK);
    ox_datum_release(item);
    ck_assert_int_eq(ox_datum_optional(&optional, OX_FLOAT32, sequence, &err), OX_OK);
    ox_datum_release(sequence);
    struct ox_datum *back = round_trip(optional, "optional(seq(float32))");
    ck_assert_int_eq(back->kind, OX_DATUM_OPTIONAL);
    ck_assert_uint_eq(back->n_items, 1);
    ck_assert_int_eq(back->items[0]->kind, OX_DATUM_SEQUENCE);
    ck_assert_float_eq(*(const float *)back->items[0]->items[0]->tensor->data, 3);
    ox_datum_release(back);
}
END_TEST

START_TEST(an_optional_may_be_given_by_what_it_holds)
{
    struct ox_datum *item =
        tensor_datum(OX_INT32, 1, (const int64_t[]){2}, (const int32_t[]){5, 6});
    struct ox_datum *back = round_trip(item, "optional(int32[2])"), *sequence;
    ck_assert_int_eq(back->kind, OX_DATUM_TENSOR);
    ck_assert_int_eq(((const int32_t *)back->tensor->data)[1], 6);
    ck_assert_int_eq(ox_datum_sequence(&sequence, OX_INT32, &back, 1, &err), OX_OK);
    ox_datum_release(back);
    back = round_trip(sequence, "optional(seq(int32[?]))");
    ck_assert_int_eq(back->kind, OX_DATUM_SEQUENCE);
    ck_assert_uint_eq(back->n_items, 1);
    ox_datum_release(back);
}
END_TEST

START_TEST(a_tensor_is_no_sequence)
{
    struct ox_datum *back, *one = tensor_datum(OX_INT32, 0, NULL, (const int32_t[]){5});
    char path[128];
    snprintf(path, sizeof path, "%s/d.pb", dir);
    ck_assert_int_eq(ox_datum_write_pb(one, "d", path, &err), OX_OK);
    ox_datum_release(one);
    ck_assert_int_eq(ox_datum_read_pb(&back, env, path, "seq(int32)", &err), OX_INPUT);
    ck_assert_ptr_nonnull(strstr(err.message, "d.pb: holds no SequenceProto"));
}
END_TEST

START_TEST(empty_ones_keep_the_declared_element_type)
{
    struct ox_datum *sequence, *optional;
    ck_assert_int_eq(ox_datum_sequence(&sequence, OX_INT64, NULL, 0, &err), OX_OK);
    struct ox_datum *back = round_trip(sequence, "seq(int64)");
    ck_assert_int_eq(back->kind, OX_DATUM_SEQUENCE);
    ck_assert_int_eq(back->elem, OX_INT64);
    ck_assert_uint_eq(back->n_items, 0);
    ox_datum_release(back);
    ck_assert_int_eq(ox_datum_optional(&optional, OX_INT64, NULL, &err), OX_OK);
    back = round_trip(optional, "optional(int64[?])");
    ck_assert_int_eq(back->kind, OX_DATUM_OPTIONAL);
    ck_assert_uint_eq(back->n_items, 0);
    ck_assert_int_eq(back->elem, OX_INT64);
    ox_datum_release(back);
}
END_TEST

START_TEST(maps_go_through_files)
{
    struct ox_datum *values =
        tensor_datum(OX_FLOAT32, 1, (const int64_t[]){2}, (const float[]){1, 2});
    struct ox_tensor *keys;
    struct ox_datum *map;
    const char *texts[] = {"a", "b"};
    ck_assert_int_eq(ox_tensor_from_strings(&keys, env, 1, (const int64_t[]){2}, texts, &err),
                     OX_OK);
    ck_assert_int_eq(ox_datum_map(&map, keys, values, &err), OX_OK);
    ox_tensor_release(keys);
    ox_datum_release(values);
    struct ox_datum *back = round_trip(map, "map(string,float32)");
    ck_assert_int_eq(back->kind, OX_DATUM_MAP);
    ck_assert_int_eq(back->tensor->dtype, OX_STRING);
    ck_assert_int_eq(back->items[0]->kind, OX_DATUM_TENSOR);
    ck_assert_float_eq(((const float *)back->items[0]->tensor->data)[1], 2);
    ox_datum_release(back);
}
END_TEST

START_TEST(a_file_of_test_data_cut_off_anywhere_does_no_harm)
{
    struct ox_datum *item = tensor_datum(OX_FLOAT32, 1, (const int64_t[]){2}, numbers), *sequence;
    ck_assert_int_eq(ox_datum_sequence(&sequence, OX_FLOAT32, &item, 1, &err), OX_OK);
    ox_datum_release(item);
    ox_datum_release(round_trip(sequence, "seq(float32)"));
    char path[128];
    snprintf(path, sizeof path, "%s/d.pb", dir);
    uint8_t bytes[256];
    FILE *file = fopen(path, "rb");
    size_t n = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    for (size_t i = 0; i < n; i++) {
        struct ox_datum *d;
        put_file("cut.pb", bytes, i);
        snprintf(path, sizeof path, "%s/cut.pb", dir);
        enum ox_status status = ox_datum_read_pb(&d, env, path, "seq(float32)", &err);
        ck_assert(status == OX_OK || status == OX_INPUT);
        if (status == OX_OK)
            ox_datum_release(d);
        ck_assert_uint_eq(atomic_load(&env->budget.used), 0);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        raw_floats,
        raw_nibbles_crumbs_and_sixes,
        nibbles_share_a_number,
        crumbs_share_a_number,
        six_bit_codes_have_a_number_each,
        halves_are_bits_in_int32_data,
        narrow_integers_drop_high_bits,
        bools_become_0_or_1,
        uint32_is_in_uint64_data,
        complex_takes_two_floats,
        strings_may_hold_nul,
        no_elements_need_no_data,
        sizes_must_fit_dims,
        counts_must_fit_dims,
        data_must_be_there,
        dims_must_not_be_negative_or_overflow,
        types_must_exist,
        strings_are_never_raw,
        external_data_is_found_at_its_offset,
        external_data_without_length_takes_what_dims_need,
        external_data_may_be_empty,
        external_data_must_be_long_enough,
        external_length_must_be_what_dims_need,
        external_numbers_must_be_canonical,
        external_keys_are_the_standards_and_come_once,
        a_checksum_is_verified,
        external_data_stays_beneath_the_folder,
        external_data_can_be_denied,
        tensors_go_through_files,
        sequences_and_optionals_go_through_files,
        an_optional_may_be_given_by_what_it_holds,
        a_tensor_is_no_sequence,
        empty_ones_keep_the_declared_element_type,
        maps_go_through_files,
        a_file_of_test_data_cut_off_anywhere_does_no_harm,
    };
    Suite *suite = suite_create("stored");
    TCase *tcase = tcase_create("stored");
    tcase_add_checked_fixture(tcase, setup, teardown);
    for (size_t i = 0; i < OX_COUNT(tests); i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
