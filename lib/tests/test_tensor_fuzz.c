/* Every prefix of small files, and every one of their bits turned: read or refused, and nothing else. */
#include "common/env.h"
#include "common/file.h"
#include "tests/golden.h"
#include "tests/run_suite.h"

static const struct seed {
    const char *name;
    const char *text; /* NULL: a golden file */
    bool strict;      /* no prefix of it is whole */
} seeds[] = {
    {"f4.npy", NULL, true},
    {"big_c8.npy", NULL, true},
    {"fortran_3d.npy", NULL, true},
    {"text_fortran_big.npy", NULL, true},
    {"clongdouble.npy", NULL, true},
    {"version3.npy", NULL, true},
    {"object.npy", NULL, true},
    {"stored.npz", NULL, true},
    {"deflated.npz", NULL, true},
    {"picture.png", NULL, true},
    {"palette.png", NULL, true},
    {"bits.png", NULL, true},
    {"picture.jpg", NULL, false},
    {"progressive.jpg", NULL, false},
    {"cmyk.jpg", NULL, false},
    {"picture.ppm", NULL, true},
    {"small.safetensors", NULL, true},
    {"a.json",
     "{\"x\": {\"dtype\": \"int4\", \"shape\": [2,2], \"data\": [[1,-2],[3,4]]}, \"y\\u00e4\": "
     "[\"a\\n\", \"b\"]}",
     true},
    {"b.json", "{\"dtype\": \"complex64\", \"data\": [[1e3,2],[\"NaN\",4]], \"shape\": [2]}", true},
    {"a.csv", "a,b,\"c \"\"d\"\"\"\n1,2.5,nan\n-3,4e5,\"6\"\n", false},
};

enum { N_SEEDS = sizeof seeds / sizeof seeds[0], MOST_BYTES = 1 << 16 };

static struct ox_env *env;

static void setup(void)
{
    env = ox_env_new();
    ck_assert_ptr_nonnull(env);
    ox_env_limits(env)->memory_bytes = 16 << 20;
}

static void teardown(void)
{
    ox_env_release(env);
}

static size_t load_seed(const struct seed *seed, uint8_t *bytes)
{
    struct ox_mapping mapping;
    struct ox_error err;
    char path[512];
    if (seed->text) {
        memcpy(bytes, seed->text, strlen(seed->text));
        return strlen(seed->text);
    }
    golden_path(path, seed->name);
    ck_assert_msg(ox_mapping_open(&mapping, env, path, MOST_BYTES, &err) == OX_OK, "%s",
                  err.message);
    size_t n = mapping.bytes;
    memcpy(bytes, mapping.data, n);
    ox_mapping_release(&mapping);
    return n;
}

/* On a copy of exactly that size, so that a byte read past it is seen by the sanitizer. */
static enum ox_status read_copy(const struct seed *seed, const uint8_t *bytes, size_t n)
{
    struct ox_error err = {.message = ""};
    uint8_t *copy = malloc(n ? n : 1);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, bytes, n);
    enum ox_status status = load_all(env, seed->name, copy, n, NULL, &err);
    free(copy);
    if (status != OX_OK && status != OX_INPUT && status != OX_UNSUPPORTED && status != OX_LIMIT &&
        status != OX_NO_MEMORY)
        ck_abort_msg("%s: %s", ox_status_text(status), err.message);
    if (status != OX_OK && strncmp(err.message, seed->name, strlen(seed->name)) != 0)
        ck_abort_msg("no file: %s", err.message);
    if (env->budget.used != 0)
        ck_abort_msg("%llu bytes are left counted after: %s", (unsigned long long)env->budget.used,
                     err.message);
    return status;
}

START_TEST(every_prefix_is_read_or_refused)
{
    static uint8_t bytes[MOST_BYTES];
    const struct seed *seed = &seeds[_i];
    size_t n = load_seed(seed, bytes);
    for (size_t k = 0; k < n; k++) {
        enum ox_status status = read_copy(seed, bytes, k);
        if (seed->strict && status == OX_OK)
            ck_abort_msg("%s: %zu of %zu bytes are taken as whole", seed->name, k, n);
    }
    if (strcmp(seed->name, "object.npy") != 0)
        ck_assert_int_eq(read_copy(seed, bytes, n), OX_OK);
}
END_TEST

START_TEST(every_turned_bit_is_read_or_refused)
{
    static uint8_t bytes[MOST_BYTES];
    const struct seed *seed = &seeds[_i];
    size_t n = load_seed(seed, bytes);
    for (size_t k = 0; k < n; k++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            bytes[k] ^= (uint8_t)(1u << bit);
            read_copy(seed, bytes, n);
            bytes[k] ^= (uint8_t)(1u << bit);
        }
    }
}
END_TEST

/* Each field of 4 bytes at each place, whatever it means there, with the values that break arithmetic. */
START_TEST(every_length_may_be_any_number)
{
    static const uint32_t values[] = {0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF};
    static uint8_t bytes[MOST_BYTES];
    const struct seed *seed = &seeds[_i];
    size_t n = load_seed(seed, bytes);
    for (size_t k = 0; k + 4 <= n; k++) {
        uint8_t kept[4];
        memcpy(kept, bytes + k, 4);
        for (size_t v = 0; v < sizeof values / sizeof values[0]; v++) {
            memcpy(bytes + k, &values[v], 4);
            read_copy(seed, bytes, n);
        }
        memcpy(bytes + k, kept, 4);
    }
}
END_TEST

/* Memory that ends at any point: refused, and all of it given back, until there is enough. */
START_TEST(every_memory_limit_is_kept)
{
    static uint8_t bytes[MOST_BYTES];
    const struct seed *seed = &seeds[_i];
    size_t n = load_seed(seed, bytes);
    if (strcmp(seed->name, "object.npy") == 0)
        return;
    enum ox_status status = OX_LIMIT;
    for (uint64_t limit = 1; limit < 1 << 20 && status != OX_OK; limit += 256) {
        ox_env_limits(env)->memory_bytes = limit;
        status = read_copy(seed, bytes, n);
        if (status == OX_INPUT || status == OX_UNSUPPORTED)
            ck_abort_msg("%s with %llu bytes of memory: %s", seed->name, (unsigned long long)limit,
                         ox_status_text(status));
    }
    ck_assert_int_eq(status, OX_OK);
}
END_TEST

static enum ox_status damaged_member(const char *name, const char *pattern, size_t n_pattern)
{
    static uint8_t bytes[MOST_BYTES];
    struct seed seed = {name, NULL, true};
    size_t n = load_seed(&seed, bytes);
    for (size_t k = 0; k + n_pattern <= n; k++)
        if (memcmp(bytes + k, pattern, n_pattern) == 0) {
            bytes[k] ^= 1;
            return read_copy(&seed, bytes, n);
        }
    return OX_OK;
}

START_TEST(a_changed_element_in_an_archive_is_noticed)
{
    ck_assert_int_eq(damaged_member("stored.npz", "\x00\x00\x80\x3F", 4), OX_INPUT); /* 1.0f */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tensor_fuzz");
    TCase *tests = tcase_create("tensor_fuzz");
    tcase_set_timeout(tests, 300);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, every_prefix_is_read_or_refused, 0, N_SEEDS);
    tcase_add_loop_test(tests, every_turned_bit_is_read_or_refused, 0, N_SEEDS);
    tcase_add_loop_test(tests, every_length_may_be_any_number, 0, N_SEEDS);
    tcase_add_loop_test(tests, every_memory_limit_is_kept, 0, N_SEEDS);
    tcase_add_test(tests, a_changed_element_in_an_archive_is_noticed);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
