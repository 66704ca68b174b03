/* Models that are not written canonically: what is read and written again is the same message.
 *
 * OX_FUZZ_SEED: which ways to write them (1); OX_SCRAMBLE_ROUNDS: how many of each (1). */
#include <check.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "model/format.h"
#include "model/model.h"
#include "proto/onnx.pb-c.h"
#include "tests/damage.h"
#include "tests/run_suite.h"
#include "tests/scramble.h"

static struct suite suite;

static void setup(void)
{
    const char *folder = getenv("TESTDATA");
    char pattern[4096];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/suite/*.gz", folder ? folder : "testdata");
    ck_assert_int_eq(glob(pattern, 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++)
        suite_add(&suite, found.gl_pathv[i]);
    globfree(&found);
}

static void teardown(void)
{
    suite_release(&suite);
}

/* The message as protobuf-c reads and writes it. */
static uint8_t *settled(const void *bytes, size_t n, size_t *n_settled)
{
    Onnx__ModelProto *message = onnx__model_proto__unpack(NULL, n, bytes);
    ck_assert_ptr_nonnull(message);
    *n_settled = onnx__model_proto__get_packed_size(message);
    uint8_t *packed = malloc(*n_settled + 1);
    ck_assert_ptr_nonnull(packed);
    onnx__model_proto__pack(message, packed);
    onnx__model_proto__free_unpacked(message, NULL);
    return packed;
}

/* Reads the bytes and holds what is written then against `expected`: the same bytes, or the same message. */
static void expect_written(const struct wire *bytes, const struct wire *expected, const char *name)
{
    struct ox_error err = {0};
    struct ox_model *model = NULL;
    struct ox_strbuf out;
    struct ox_env *env = ox_env_new();
    ox_strbuf_init(&out);
    ck_assert_msg(ox_model_open_memory(&model, env, bytes->data, bytes->n, NULL, &err) == OX_OK,
                  "%s: %s", name, err.message);
    ck_assert_msg(ox_model_to_buffer(model, &out, &err) == OX_OK, "%s: %s", name, err.message);
    if (bytes == expected) {
        ck_assert_msg(out.len == expected->n && memcmp(out.data, expected->data, out.len) == 0,
                      "%s: %zu bytes are written, which are not the %zu read", name, out.len,
                      expected->n);
    } else {
        size_t n, n_expected;
        uint8_t *written = settled(out.data, out.len, &n);
        uint8_t *wanted = settled(expected->data, expected->n, &n_expected);
        ck_assert_msg(n == n_expected && memcmp(written, wanted, n) == 0,
                      "%s: another message is written than was read", name);
        free(written);
        free(wanted);
    }
    ox_strbuf_release(&out);
    ox_model_release(model);
    ox_env_release(env);
}

static uint64_t number(const char *name, uint64_t fallback)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : fallback;
}

START_TEST(a_model_written_in_any_way_is_read_and_written_as_the_same_message)
{
    uint64_t seed = number("OX_FUZZ_SEED", 1), rounds = number("OX_SCRAMBLE_ROUNDS", 1);
    size_t n_changed = 0;
    for (size_t i = 0; i < suite.n; i++) {
        const struct suite_case *from = &suite.cases[i];
        for (uint64_t round = 0; round < rounds; round++) {
            uint64_t state = (seed * 0x2545F4914F6CDD1Du + i) * 0x9E3779B97F4A7C15u + round;
            struct wire salted = {0}, scrambled = {0};
            scramble_salt(&salted, from->model, from->model_bytes, &onnx__model_proto__descriptor,
                          &state);
            scramble(&scrambled, salted.data, salted.n, &onnx__model_proto__descriptor, &state);
            n_changed += salted.n != scrambled.n;
            expect_written(&salted, &salted, from->name);
            expect_written(&scrambled, &salted, from->name);
            wire_release(&salted);
            wire_release(&scrambled);
        }
    }
    ck_assert_uint_gt(n_changed, suite.n * rounds / 2);
}
END_TEST

int main(void)
{
    Suite *tests = suite_create("scramble");
    TCase *tc = tcase_create("round trip");
    tcase_set_timeout(tc, 0);
    tcase_add_unchecked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_model_written_in_any_way_is_read_and_written_as_the_same_message);
    suite_add_tcase(tests, tc);
    return run_suite(tests);
}
