#include <math.h>
#include <unistd.h>

#include "common/env.h"
#include "common/file.h"
#include "tests/golden.h"
#include "tests/run_suite.h"

static struct ox_env *env;
static struct ox_error err;
static char *folder;

static void setup(void)
{
    /* Every file that is written is synced: in memory that takes no time. */
    static char name[64];
    snprintf(name, sizeof name, "%s/ox-test-tensors-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    folder = mkdtemp(name);
    ck_assert_ptr_nonnull(folder);
    ck_assert_int_eq(chdir(folder), 0);
    env = ox_env_new();
    ck_assert_ptr_nonnull(env);
}

static void teardown(void)
{
    ck_assert_uint_eq(env->budget.used, 0);
    ox_env_release(env);
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}

/* The only tensor of a text; NULL when it cannot be read. */
static struct ox_tensor *from_text(const char *name, const char *text,
                                   const struct ox_tensor_options *options)
{
    struct ox_tensor_file *file;
    struct ox_tensor *tensor = NULL;
    if (ox_tensor_file_open_memory(&file, env, name, text, strlen(text), options, &err) != OX_OK)
        return NULL;
    ck_assert_uint_eq(ox_tensor_file_count(file), 1);
    ck_assert_int_eq(ox_tensor_file_load(&tensor, file, 0, &err), OX_OK);
    ox_tensor_file_release(file);
    return tensor;
}

static void check_form(const struct ox_tensor *tensor, enum ox_dtype dtype, unsigned rank,
                       const int64_t *dims)
{
    ck_assert_msg(tensor != NULL, "%s", err.message);
    ck_assert_str_eq(ox_dtype_name(tensor->dtype), ox_dtype_name(dtype));
    ck_assert_uint_eq(tensor->rank, rank);
    for (unsigned i = 0; i < rank; i++)
        ck_assert_int_eq(tensor->dims[i], dims[i]);
}

START_TEST(json_arrays_have_the_shape_and_type_they_look_like)
{
    struct ox_tensor *t = from_text("a.json", " [[1, 2, 3], [4, 5, -6]] ", NULL);
    check_form(t, OX_INT64, 2, (int64_t[]){2, 3});
    ck_assert_int_eq(ox_tensor_get_int(t, 5), -6);
    ox_tensor_release(t);
    t = from_text("a.json", "[1, 2.5, \"NaN\", \"-Infinity\", 1e3]", NULL);
    check_form(t, OX_FLOAT64, 1, (int64_t[]){5});
    ck_assert(isnan(ox_tensor_get_double(t, 2)));
    ck_assert_double_eq(ox_tensor_get_double(t, 4), 1000);
    ox_tensor_release(t);
    t = from_text("a.json", "[true, false]", NULL);
    check_form(t, OX_BOOL, 1, (int64_t[]){2});
    ox_tensor_release(t);
    t = from_text("a.json", "[[\"a\"], [\"b\\u0041\"]]", NULL);
    check_form(t, OX_STRING, 2, (int64_t[]){2, 1});
    size_t n;
    ck_assert_mem_eq(ox_tensor_string(t, 1, &n), "bA", 2);
    ox_tensor_release(t);
    t = from_text("a.json", "18446744073709551615", NULL);
    check_form(t, OX_UINT64, 0, NULL);
    ck_assert_uint_eq(*(uint64_t *)t->data, UINT64_MAX);
    ox_tensor_release(t);
    t = from_text("a.json", "[9007199254740993]", NULL);
    ck_assert_int_eq(ox_tensor_get_int(t, 0), 9007199254740993);
    ox_tensor_release(t);
    t = from_text("a.json", "[[],[]]", NULL);
    check_form(t, OX_FLOAT64, 2, (int64_t[]){2, 0});
    ox_tensor_release(t);
}
END_TEST

START_TEST(json_objects_say_type_and_shape)
{
    struct ox_tensor *t = from_text(
        "a.json", "{\"data\": [1,2,3,4,5,6], \"shape\": [3,2], \"dtype\": \"bfloat16\", \"x\": {}}",
        NULL);
    check_form(t, OX_BFLOAT16, 2, (int64_t[]){3, 2});
    ck_assert_double_eq(ox_tensor_get_double(t, 5), 6);
    ox_tensor_release(t);
    t = from_text("a.json", "{\"dtype\": \"complex64\", \"data\": [[1,2],[3,\"NaN\"]]}", NULL);
    check_form(t, OX_COMPLEX64, 1, (int64_t[]){2});
    ck_assert_float_eq(((float *)t->data)[1], 2);
    ox_tensor_release(t);
    t = from_text("a.json", "{\"dtype\": \"complex64\", \"shape\": [2], \"data\": [1,2,3,4]}",
                  NULL);
    check_form(t, OX_COMPLEX64, 1, (int64_t[]){2});
    ox_tensor_release(t);
    t = from_text("a.json", "{\"dtype\": \"float32\", \"shape\": [0, 7], \"data\": []}", NULL);
    check_form(t, OX_FLOAT32, 2, (int64_t[]){0, 7});
    ox_tensor_release(t);
    struct ox_tensor_options options = {.dtype = OX_FLOAT32};
    t = from_text("a.json", "[[1, 2]]", &options);
    check_form(t, OX_FLOAT32, 2, (int64_t[]){1, 2});
    ox_tensor_release(t);
}
END_TEST

START_TEST(json_names_tensors)
{
    static const char text[] =
        "{\"b\": [1.5], \"a\": {\"dtype\": \"int4\", \"shape\": [], \"data\": -8}, \"data\": 3}";
    struct ox_tensor_file *file;
    struct ox_tensor *t;
    size_t i;
    ck_assert_int_eq(
        ox_tensor_file_open_memory(&file, env, "a.json", text, sizeof text - 1, NULL, &err), OX_OK);
    ck_assert_uint_eq(ox_tensor_file_count(file), 3);
    ck_assert_str_eq(ox_tensor_file_name(file, 0), "b");
    ck_assert(ox_tensor_file_find(file, "a", &i));
    ck_assert_uint_eq(ox_tensor_file_dtype(file, i), OX_INT4);
    ck_assert_uint_eq(ox_tensor_file_rank(file, i), 0);
    ck_assert_int_eq(ox_tensor_file_load(&t, file, i, &err), OX_OK);
    ck_assert(!ox_tensor_file_find(file, "c", &i));
    ox_tensor_file_release(file);
    ck_assert_int_eq(ox_tensor_get_int(t, 0), -8);
    ox_tensor_release(t);
}
END_TEST

START_TEST(json_that_is_no_tensor_is_refused)
{
    static const char *const bad[] = {
        "",
        " ",
        "[",
        "[1",
        "[1,",
        "[1,]",
        "[1 2]",
        "[1][2]",
        "[[1,2],[3]]",
        "[1,[2]]",
        "[[1],2]",
        "[null]",
        "[1,\"x\"]",
        "[true,2.5]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":[1],}",
        "{a:[1]}",
        "[01]",
        "[1.]",
        "[.5]",
        "[+1]",
        "[1e]",
        "[nul]",
        "[\"\\x\"]",
        "[\"\\ud800\"]",
        "[\"a\nb\"]",
        "[\"\xff\"]",
        "[\"a]",
        "{\"dtype\":\"float33\",\"data\":[1]}",
        "{\"dtype\":\"uint8\",\"data\":[256]}",
        "{\"dtype\":\"uint8\",\"data\":[-1]}",
        "{\"dtype\":\"int4\",\"data\":[8]}",
        "{\"dtype\":\"bool\",\"data\":[2]}",
        "{\"dtype\":\"int8\",\"data\":[1.5]}",
        "{\"dtype\":\"float32\",\"data\":[\"x\"]}",
        "{\"dtype\":\"float32\",\"shape\":[3],\"data\":[1,2]}",
        "{\"dtype\":\"float32\",\"shape\":[-1],\"data\":[1]}",
        "{\"dtype\":\"float32\",\"shape\":[2,2],\"data\":[[1,2,3,4]]}",
        "{\"shape\":[9223372036854775807,9223372036854775807],\"data\":[]}",
        "{\"dtype\":\"string\",\"data\":[1]}",
        "{\"dtype\":\"complex64\",\"data\":[1,2,3]}",
        "{\"a\":[1],\"a\":[2]}",
        "{\"a\\u0000\":[1]}"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct ox_tensor_options options = {.format = OX_TENSORS_JSON};
        ck_assert_msg(load_all(env, "a.json", bad[i], strlen(bad[i]), &options, &err) == OX_INPUT,
                      "%s", bad[i]);
        ck_assert_msg(strncmp(err.message, "a.json: ", 8) == 0, "%s: %s", bad[i], err.message);
    }
}
END_TEST

START_TEST(json_nesting_is_limited)
{
    char text[2001];
    memset(text, '[', 2000);
    text[2000] = '\0';
    struct ox_tensor_options options = {.format = OX_TENSORS_JSON};
    ck_assert_int_eq(load_all(env, "a.json", text, 2000, &options, &err), OX_LIMIT);
    memset(text + 65, ']', 65);
    ck_assert_int_eq(load_all(env, "a.json", text, 130, &options, &err),
                     OX_INPUT); /* 65 dimensions */
    ox_env_limits(env)->json_depth = 0;
    memset(text, '[', 1000);
    memset(text + 1000, ']', 1000);
    ck_assert_int_eq(load_all(env, "a.json", text, 2000, &options, &err), OX_INPUT);
}
END_TEST

START_TEST(csv_tables_are_read)
{
    struct ox_tensor *t = from_text("a.csv", "1,2,3\n4,5,6\n", NULL);
    check_form(t, OX_INT64, 2, (int64_t[]){2, 3});
    ox_tensor_release(t);
    t = from_text("a.csv",
                  "\xEF\xBB\xBF"
                  "a;b\r\n 1.5 ;2\r\n\r\nnan;-inf",
                  NULL);
    check_form(t, OX_FLOAT64, 2, (int64_t[]){2, 2});
    ck_assert_double_eq(ox_tensor_get_double(t, 0), 1.5);
    ck_assert(isinf(ox_tensor_get_double(t, 3)));
    ox_tensor_release(t);
    t = from_text("a.csv", "x,\"a \"\"b\"\"\nc\"\ny,\n", NULL);
    check_form(t, OX_STRING, 2, (int64_t[]){2, 2});
    size_t n;
    ck_assert_mem_eq(ox_tensor_string(t, 1, &n), "a \"b\"\nc", 7);
    ox_tensor_string(t, 3, &n);
    ck_assert_uint_eq(n, 0);
    ox_tensor_release(t);
    struct ox_tensor_options options = {.dtype = OX_FLOAT32};
    t = from_text("a.csv", "0.1\t2\n", &options);
    check_form(t, OX_FLOAT32, 2, (int64_t[]){1, 2});
    ck_assert(*(float *)t->data == 0.1f);
    ox_tensor_release(t);
}
END_TEST

START_TEST(csv_columns_may_be_tensors)
{
    static const char text[] = "age,name,\"w, h\"\n31,Ann,1.5\n47,Bob,2\n";
    struct ox_tensor_options options = {.columns = true};
    struct ox_tensor_file *file;
    size_t i;
    ck_assert_int_eq(
        ox_tensor_file_open_memory(&file, env, "a.csv", text, sizeof text - 1, &options, &err),
        OX_OK);
    ck_assert_uint_eq(ox_tensor_file_count(file), 3);
    ck_assert_uint_eq(ox_tensor_file_dtype(file, 0), OX_INT64);
    ck_assert_uint_eq(ox_tensor_file_dtype(file, 1), OX_STRING);
    ck_assert(ox_tensor_file_find(file, "w, h", &i));
    ck_assert_uint_eq(ox_tensor_file_dtype(file, i), OX_FLOAT64);
    ck_assert_int_eq(ox_tensor_file_dims(file, i)[0], 2);
    ck_assert_int_eq(ox_tensor_file_dims(file, i)[1], 1);
    ox_tensor_file_release(file);
}
END_TEST

START_TEST(csv_that_is_no_table_is_refused)
{
    static const char *const bad[] = {"", "\n\n", "1,2\n3\n", "\"a\n", "\"a\"b,c\n"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(load_all(env, "a.csv", bad[i], strlen(bad[i]), NULL, &err) == OX_INPUT, "%s",
                      bad[i]);
    struct ox_tensor_options options = {.dtype = OX_UINT8};
    ck_assert_int_eq(load_all(env, "a.csv", "1,300\n", 6, &options, &err), OX_INPUT);
    ck_assert_str_eq(err.message, "a.csv: at byte 2: \"300\" is no uint8");
    options = (struct ox_tensor_options){.columns = true};
    ck_assert_int_eq(load_all(env, "a.csv", "1,2\n", 4, &options, &err), OX_INPUT);
}
END_TEST

START_TEST(raw_bytes_need_type_and_shape_that_fit)
{
    struct ox_tensor_options options = {.dtype = OX_UINT4, .rank = 2, .dims = (int64_t[]){3, -1}};
    struct ox_tensor_file *file;
    struct ox_tensor *t;
    ck_assert_int_eq(
        ox_tensor_file_open_memory(&file, env, "a.bin", "\x21\x43\x65", 3, &options, &err), OX_OK);
    ck_assert_int_eq(ox_tensor_file_load(&t, file, 0, &err), OX_OK);
    check_form(t, OX_UINT4, 2, (int64_t[]){3, 2});
    ck_assert_mem_eq(t->data, "\1\2\3\4\5\6", 6);
    ox_tensor_release(t);
    ox_tensor_file_release(file);
    options = (struct ox_tensor_options){.dtype = OX_FLOAT32, .rank = 1, .dims = (int64_t[]){2}};
    ck_assert_int_eq(load_all(env, "a.bin", "12345678", 8, &options, &err), OX_OK);
    ck_assert_int_eq(load_all(env, "a.bin", "12345678", 7, &options, &err), OX_INPUT);
    ck_assert_str_eq(err.message, "a.bin: has 7 bytes; 2 elements of float32 need 8");
    options.dims = (int64_t[]){-1};
    ck_assert_int_eq(load_all(env, "a.bin", "12345678", 7, &options, &err), OX_INPUT);
    ck_assert_int_eq(load_all(env, "a.bin", "", 0, &options, &err), OX_OK);
    options =
        (struct ox_tensor_options){.dtype = OX_FLOAT32, .rank = 2, .dims = (int64_t[]){-1, -1}};
    ck_assert_int_eq(load_all(env, "a.bin", "1234", 4, &options, &err), OX_USAGE);
    options.dims = (int64_t[]){INT64_MAX, INT64_MAX};
    ck_assert_int_eq(load_all(env, "a.bin", "1234", 4, &options, &err), OX_USAGE);
    options = (struct ox_tensor_options){.format = OX_TENSORS_RAW};
    ck_assert_int_eq(load_all(env, "a.bin", "1234", 4, &options, &err), OX_USAGE);
}
END_TEST

static enum ox_status read_safetensors(const char *header, uint64_t length, size_t n_data)
{
    uint8_t bytes[1024] = {0};
    size_t n = strlen(header);
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(length >> (8 * i));
    memcpy(bytes + 8, header, n);
    return load_all(env, "a.safetensors", bytes, 8 + n + n_data, NULL, &err);
}

START_TEST(safetensors_headers_are_checked)
{
    static const char good[] =
        "{\"__metadata__\":{\"format\":\"pt\"},\"x\":{\"dtype\":\"F32\",\"shape\":[1,2],"
        "\"data_offsets\":[0,8]},\"s\":{\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[8,10]}}  ";
    static const char *const bad[] = {
        "[]",
        "{",
        "{\"x\":1}",
        "{\"x\":{}}",
        "{\"x\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}",
        "{\"x\":{\"dtype\":\"F33\",\"shape\":[2],\"data_offsets\":[0,8]}}",
        "{\"x\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,0]}}",
        "{\"x\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,16]}}",
        "{\"x\":{\"dtype\":\"F32\",\"shape\":[-2],\"data_offsets\":[0,8]}}",
        "{\"x\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8,9]}}",
        "{\"x\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0]}}",
        "{\"x\":{\"dtype\":\"F32\",\"shape\":[2.5],\"data_offsets\":[0,8]}}",
        "{\"x\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8],\"more\":1}}",
        "{\"x\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}",
        "{\"x\":{\"dtype\":\"F32\",\"shape\":[9223372036854775807,4],\"data_offsets\":[0,8]}}",
        "{\"x\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]},\"x\":{\"dtype\":\"F32\","
        "\"shape\":[0],"
        "\"data_offsets\":[0,0]}}",
        "{}x"};
    ck_assert_int_eq(read_safetensors(good, sizeof good - 1, 10), OX_OK);
    ck_assert_int_eq(read_safetensors(good, sizeof good - 1, 9), OX_INPUT);
    ck_assert_int_eq(read_safetensors(good, UINT64_MAX, 10), OX_LIMIT);
    ck_assert_int_eq(read_safetensors(good, 90000000, 10), OX_INPUT);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(read_safetensors(bad[i], strlen(bad[i]), 8) == OX_INPUT, "%s", bad[i]);
}
END_TEST

START_TEST(safetensors_are_read)
{
    struct ox_tensor *t = golden_load(env, "small.safetensors", NULL, "w");
    check_form(t, OX_FLOAT32, 2, (int64_t[]){2, 3});
    ck_assert_double_eq(ox_tensor_get_double(t, 5), 5);
    ox_tensor_release(t);
    t = golden_load(env, "small.safetensors", NULL, "h");
    check_form(t, OX_BFLOAT16, 1, (int64_t[]){3});
    ck_assert_double_eq(ox_tensor_get_double(t, 2), 2);
    ox_tensor_release(t);
    t = golden_load(env, "small.safetensors", NULL, "f");
    check_form(t, OX_BOOL, 1, (int64_t[]){2});
    ox_tensor_release(t);
}
END_TEST

START_TEST(what_is_no_tensor_file_is_refused)
{
    ck_assert_int_eq(load_all(env, "x", "hello", 5, NULL, &err), OX_INPUT);
    ck_assert_int_eq(load_all(env, "x", NULL, 0, NULL, &err), OX_INPUT);
    ck_assert_int_eq(load_all(env, "x.pb", "hello", 5, NULL, &err), OX_UNSUPPORTED);
    struct ox_tensor_file *file;
    ck_assert_int_eq(ox_tensor_file_open(&file, env, "absent.npy", NULL, &err), OX_INPUT);
    ck_assert_str_eq(err.message, "absent.npy: cannot be opened: No such file or directory");
}
END_TEST

/* ---- Writing and reading back ---- */

static uint32_t state = 12345;

static uint32_t random_bits(void)
{
    state = state * 1664525 + 1013904223;
    return state >> 8;
}

static struct ox_tensor *random_tensor(enum ox_dtype dtype)
{
    static const char *const words[] = {"",
                                        "a",
                                        "two words",
                                        "gr\xc3\xb6\xc3\x9f"
                                        "e",
                                        "\"q\",\n",
                                        "\xf0\x9f\x98\x80"};
    unsigned rank = random_bits() % 5;
    int64_t dims[5];
    for (unsigned i = 0; i < rank; i++)
        dims[i] = (int64_t)(random_bits() % 40 == 0 ? 0 : random_bits() % 6 + 1);
    struct ox_tensor *tensor;
    ck_assert_int_eq(ox_tensor_new(&tensor, ox_env_budget(env), dtype, rank, dims, &err), OX_OK);
    for (size_t i = 0; i < tensor->n; i++) {
        if (dtype == OX_STRING) {
            const char *word = words[random_bits() % 6];
            ck_assert_int_eq(ox_tensor_set_string(tensor, i, word, strlen(word), &err), OX_OK);
            continue;
        }
        uint8_t *at = (uint8_t *)tensor->data + i * ox_dtype_size(dtype);
        for (size_t k = 0; k < ox_dtype_size(dtype); k++)
            at[k] = (uint8_t)random_bits();
    }
    ox_tensor_normalize(dtype, tensor->data, tensor->n);
    return tensor;
}

static bool same_element(const struct ox_tensor *a, const struct ox_tensor *b, size_t i)
{
    if (a->dtype == OX_STRING) {
        size_t n;
        size_t m;
        const char *p = ox_tensor_string(a, i, &n);
        const char *q = ox_tensor_string(b, i, &m);
        return n == m && memcmp(p, q, n) == 0;
    }
    size_t size = ox_dtype_size(a->dtype);
    const char *p = (const char *)a->data + i * size;
    const char *q = (const char *)b->data + i * size;
    if (memcmp(p, q, size) == 0)
        return true;
    if (a->dtype == OX_COMPLEX64 || a->dtype == OX_COMPLEX128) {
        double parts[4];
        bool single = a->dtype == OX_COMPLEX64;
        for (int k = 0; k < 2; k++) {
            parts[k] = single ? (double)((const float *)(const void *)p)[k]
                              : ((const double *)(const void *)p)[k];
            parts[k + 2] = single ? (double)((const float *)(const void *)q)[k]
                                  : ((const double *)(const void *)q)[k];
        }
        return (parts[0] == parts[2] || (isnan(parts[0]) && isnan(parts[2]))) &&
               (parts[1] == parts[3] || (isnan(parts[1]) && isnan(parts[3])));
    }
    return isnan(ox_tensor_get_double(a, i)) && isnan(ox_tensor_get_double(b, i));
}

static void check_same(const struct ox_tensor *a, const struct ox_tensor *b, const char *form)
{
    ck_assert_msg(a->dtype == b->dtype, "%s: %s became %s", form, ox_dtype_name(a->dtype),
                  ox_dtype_name(b->dtype));
    ck_assert_msg(a->rank == b->rank, "%s %s: rank %u became %u", form, ox_dtype_name(a->dtype),
                  a->rank, b->rank);
    for (unsigned i = 0; i < a->rank; i++)
        ck_assert_int_eq(a->dims[i], b->dims[i]);
    for (size_t i = 0; i < a->n; i++)
        ck_assert_msg(same_element(a, b, i), "%s %s: element %zu", form, ox_dtype_name(a->dtype),
                      i);
}

static void check_round_trip(const char *path, const struct ox_tensor *tensor, bool named,
                             const char *form)
{
    const char *names[1] = {named ? "na/me \xc3\xa4" : ""};
    const struct ox_tensor *tensors[1] = {tensor};
    ck_assert_msg(ox_tensors_write(path, 1, names, tensors, &err) == OX_OK, "%s", err.message);
    struct ox_tensor_options options = {.dtype = tensor->dtype};
    if (ox_tensor_format_of(path) == OX_TENSORS_RAW) {
        options.rank = tensor->rank;
        options.dims = tensor->rank ? tensor->dims : (const int64_t[]){0};
    }
    struct ox_tensor_file *file;
    struct ox_tensor *back;
    size_t i = 0;
    ck_assert_msg(ox_tensor_file_open(&file, env, path, &options, &err) == OX_OK, "%s",
                  err.message);
    ck_assert(ox_tensor_file_find(file, names[0], &i));
    ck_assert_msg(ox_tensor_file_load(&back, file, i, &err) == OX_OK, "%s", err.message);
    ox_tensor_file_release(file);
    struct ox_tensor *same = back;
    if (back->dtype != tensor->dtype) { /* 2 and 4 bits as numpy's 8 */
        ck_assert_int_eq(ox_tensor_convert(&same, NULL, back, tensor->dtype, true, &err), OX_OK);
        ox_tensor_release(back);
    }
    check_same(tensor, same, form);
    ox_tensor_release(same);
}

START_TEST(every_type_survives_npy_npz_json_and_raw)
{
    for (unsigned i = 1; i < OX_N_DTYPES; i++) {
        for (int k = 0; k < 12; k++) {
            struct ox_tensor *tensor = random_tensor((enum ox_dtype)i);
            check_round_trip("x.npy", tensor, false, "npy");
            check_round_trip("x.npz", tensor, true, "npz");
            check_round_trip("x.json", tensor, k % 2, "json");
            if (i != OX_STRING)
                check_round_trip("x.bin", tensor, false, "raw");
            ox_tensor_release(tensor);
        }
    }
}
END_TEST

START_TEST(safetensors_keep_what_they_can_hold)
{
    for (unsigned i = 1; i < OX_N_DTYPES; i++) {
        struct ox_tensor *tensor = random_tensor((enum ox_dtype)i);
        bool none = i == OX_STRING || i == OX_COMPLEX128 || i == OX_INT4 || i == OX_UINT4 ||
                    i == OX_INT2 || i == OX_UINT2;
        const struct ox_tensor *tensors[1] = {tensor};
        if (none)
            ck_assert_int_eq(
                ox_tensors_write("x.safetensors", 1, (const char *[]){"x"}, tensors, &err),
                OX_UNSUPPORTED);
        else
            check_round_trip("x.safetensors", tensor, true, "safetensors");
        ox_tensor_release(tensor);
    }
}
END_TEST

START_TEST(tables_survive_csv)
{
    static const enum ox_dtype types[] = {OX_FLOAT32, OX_FLOAT64, OX_INT64, OX_UINT64,
                                          OX_FLOAT16, OX_STRING,  OX_BOOL};
    for (size_t i = 0; i < OX_COUNT(types); i++) {
        for (int k = 0; k < 40; k++) {
            struct ox_tensor *tensor = random_tensor(types[i]);
            if (tensor->rank == 2 && tensor->n > 0)
                check_round_trip("x.csv", tensor, false, "csv");
            ox_tensor_release(tensor);
        }
    }
}
END_TEST

START_TEST(many_tensors_go_in_one_file)
{
    enum { N = 300 };
    static char texts[N][16];
    const char *names[N];
    struct ox_tensor *tensors[N];
    for (unsigned i = 0; i < N; i++) {
        snprintf(texts[i], sizeof texts[i], "t%u", i);
        names[i] = texts[i];
        tensors[i] = random_tensor(i % 2 ? OX_FLOAT32 : OX_BFLOAT16);
    }
    static const char *const paths[] = {"x.npz", "x.safetensors", "x.json"};
    for (int p = 0; p < 3; p++) {
        struct ox_tensor_file *file;
        ck_assert_int_eq(ox_tensors_write(paths[p], N, names,
                                          (const struct ox_tensor *const *)(const void *)tensors,
                                          &err),
                         OX_OK);
        ck_assert_int_eq(ox_tensor_file_open(&file, env, paths[p], NULL, &err), OX_OK);
        ck_assert_uint_eq(ox_tensor_file_count(file), N);
        for (unsigned i = 0; i < N; i++) {
            struct ox_tensor *back;
            size_t at;
            ck_assert(ox_tensor_file_find(file, names[i], &at));
            ck_assert_int_eq(ox_tensor_file_load(&back, file, at, &err), OX_OK);
            check_same(tensors[i], back, paths[p]);
            ox_tensor_release(back);
        }
        ox_tensor_file_release(file);
    }
    for (unsigned i = 0; i < N; i++)
        ox_tensor_release(tensors[i]);
}
END_TEST

START_TEST(deflated_archives_are_read_back)
{
    struct ox_npz_writer *writer;
    struct ox_tensor *zeros;
    struct ox_tensor_file *file;
    struct ox_tensor *back;
    ck_assert_int_eq(ox_tensor_new(&zeros, NULL, OX_FLOAT32, 1, (int64_t[]){300000}, &err), OX_OK);
    memset(zeros->data, 0, 1200000);
    ((float *)zeros->data)[299999] = 7;
    ck_assert_int_eq(ox_npz_writer_open(&writer, "x.npz", true, &err), OX_OK);
    ck_assert_int_eq(ox_npz_writer_add(writer, "a", zeros, &err), OX_OK);
    ck_assert_int_eq(ox_npz_writer_add(writer, "b", zeros, &err), OX_OK);
    ck_assert_int_eq(ox_npz_writer_add(writer, "a", zeros, &err), OX_INPUT);
    ck_assert_str_eq(err.message, "x.npz: two tensors are named \"a\"");
    ck_assert_int_eq(ox_npz_writer_commit(writer, &err), OX_OK);
    ox_npz_writer_release(writer);
    struct ox_mapping mapping;
    ck_assert_int_eq(ox_mapping_open(&mapping, env, "x.npz", 0, &err), OX_OK);
    ck_assert_uint_lt(mapping.bytes, 10000);
    ox_mapping_release(&mapping);
    ck_assert_int_eq(ox_tensor_file_open(&file, env, "x.npz", NULL, &err), OX_OK);
    ck_assert_int_eq(ox_tensor_file_load(&back, file, 1, &err), OX_OK);
    check_same(zeros, back, "deflated");
    ox_tensor_release(back);
    ox_tensor_file_release(file);
    ox_env_limits(env)->npz_ratio = 100;
    ck_assert_int_eq(ox_tensor_file_open(&file, env, "x.npz", NULL, &err), OX_LIMIT);
    ox_env_limits(env)->npz_ratio = 0;
    ox_env_limits(env)->npz_members = 1;
    ck_assert_int_eq(ox_tensor_file_open(&file, env, "x.npz", NULL, &err), OX_LIMIT);
    ox_env_limits(env)->npz_members = 0;
    ox_env_limits(env)->memory_bytes = 500000;
    ck_assert_int_eq(ox_tensor_file_open(&file, env, "x.npz", NULL, &err), OX_OK);
    ck_assert_int_eq(ox_tensor_file_load(&back, file, 0, &err), OX_LIMIT);
    ox_tensor_file_release(file);
    ox_tensor_release(zeros);
}
END_TEST

START_TEST(big_stored_tensors_are_used_where_they_lie)
{
    struct ox_tensor *tensor;
    ck_assert_int_eq(ox_tensor_new(&tensor, NULL, OX_FLOAT32, 1, (int64_t[]){500000}, &err), OX_OK);
    memset(tensor->data, 1, 2000000);
    static const char *const paths[] = {"x.npy", "x.npz", "x.safetensors"};
    for (int i = 0; i < 3; i++) {
        const struct ox_tensor *tensors[1] = {tensor};
        struct ox_tensor_file *file;
        struct ox_tensor *back;
        ck_assert_int_eq(ox_tensors_write(paths[i], 1, (const char *[]){"x"}, tensors, &err),
                         OX_OK);
        ck_assert_int_eq(ox_tensor_file_open(&file, env, paths[i], NULL, &err), OX_OK);
        ck_assert_int_eq(ox_tensor_file_load(&back, file, 0, &err), OX_OK);
        ox_tensor_file_release(file);
        ck_assert_uint_lt(env->budget.used, 100000);
        ck_assert_str_eq(ox_mapping_at(back->data), paths[i]);
        ck_assert(memcmp(tensor->data, back->data, 2000000) == 0);
        ox_tensor_release(back);
        ck_assert_ptr_null(ox_mapping_at(tensor->data));
    }
    ox_tensor_release(tensor);
}
END_TEST

START_TEST(forms_refuse_what_they_cannot_hold)
{
    struct ox_tensor *tensor = random_tensor(OX_STRING);
    const struct ox_tensor *two[2] = {tensor, tensor};
    const char *names[2] = {"a", "a"};
    ck_assert_int_eq(ox_tensors_write("x.npy", 2, names, two, &err), OX_UNSUPPORTED);
    ck_assert_int_eq(ox_tensors_write("x.bin", 1, names, two, &err), OX_UNSUPPORTED);
    ck_assert_int_eq(ox_tensors_write("x.png", 1, names, two, &err), OX_UNSUPPORTED);
    ck_assert_int_eq(ox_tensors_write("x", 1, names, two, &err), OX_UNSUPPORTED);
    ck_assert_int_eq(ox_tensors_write("x.npz", 2, names, two, &err), OX_INPUT);
    ck_assert_int_eq(access("x.npz", F_OK), -1);
    ox_tensor_release(tensor);
}
END_TEST

START_TEST(elements_nest_in_json_as_the_shape_does)
{
    struct ox_strbuf text;
    struct ox_json json;
    struct ox_tensor *tensor;
    ox_strbuf_init(&text);
    ck_assert_int_eq(ox_tensor_new(&tensor, NULL, OX_INT8, 3, (int64_t[]){2, 1, 2}, &err), OX_OK);
    memcpy(tensor->data, "\1\2\3\xFF", 4);
    ox_json_init(&json, &text, true);
    ox_json_elements(&json, tensor);
    ck_assert_str_eq(text.data, "[[[1,2]],[[3,-1]]]");
    ox_tensor_release(tensor);
    ox_strbuf_release(&text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tensor_files");
    TCase *tests = tcase_create("tensor_files");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, json_arrays_have_the_shape_and_type_they_look_like);
    tcase_add_test(tests, json_objects_say_type_and_shape);
    tcase_add_test(tests, json_names_tensors);
    tcase_add_test(tests, json_that_is_no_tensor_is_refused);
    tcase_add_test(tests, json_nesting_is_limited);
    tcase_add_test(tests, csv_tables_are_read);
    tcase_add_test(tests, csv_columns_may_be_tensors);
    tcase_add_test(tests, csv_that_is_no_table_is_refused);
    tcase_add_test(tests, raw_bytes_need_type_and_shape_that_fit);
    tcase_add_test(tests, safetensors_headers_are_checked);
    tcase_add_test(tests, safetensors_are_read);
    tcase_add_test(tests, what_is_no_tensor_file_is_refused);
    tcase_add_test(tests, every_type_survives_npy_npz_json_and_raw);
    tcase_add_test(tests, safetensors_keep_what_they_can_hold);
    tcase_add_test(tests, tables_survive_csv);
    tcase_add_test(tests, many_tensors_go_in_one_file);
    tcase_add_test(tests, deflated_archives_are_read_back);
    tcase_add_test(tests, big_stored_tensors_are_used_where_they_lie);
    tcase_add_test(tests, forms_refuse_what_they_cannot_hold);
    tcase_add_test(tests, elements_nest_in_json_as_the_shape_does);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
