/* Fails the k-th allocation, once and from then on, for k = 1, 2, 3 ... until the work succeeds: opening, planning and running must end
 * with a status, and give back all memory. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/env.h"
#include "model/text_read.h"
#include "tests/run_suite.h"
#include "tests/run_text.h"

static long countdown;  /* 0: allocations succeed; else the one that fails when it reaches 1 */
static bool for_ever;   /* those after it too */
static bool has_failed; /* it was reached */
static uint64_t held;   /* bytes that the budget still counts at the end */
static long live;       /* allocations not freed */

#ifndef OX_SANITIZE

/* glibc's own, beneath the names that are taken over here. */
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t alignment, size_t n);
void __libc_free(void *p);

static bool refuse(void)
{
    if (countdown == 0 || --countdown > 0)
        return false;
    countdown = for_ever ? 1 : 0;
    has_failed = true;
    errno = ENOMEM;
    return true;
}

static void *counted(void *p)
{
    live += p != NULL;
    return p;
}

void *malloc(size_t n)
{
    return refuse() ? NULL : counted(__libc_malloc(n));
}

void *calloc(size_t n, size_t size)
{
    return refuse() ? NULL : counted(__libc_calloc(n, size));
}

void *realloc(void *p, size_t n)
{
    if (refuse())
        return NULL;
    void *moved = __libc_realloc(p, n);
    if (!p)
        counted(moved);
    return moved;
}

void *aligned_alloc(size_t alignment, size_t n)
{
    return refuse() ? NULL : counted(__libc_memalign(alignment, n));
}

void free(void *p)
{
    live -= p != NULL;
    __libc_free(p);
}

#endif

#define HEAD                                                                                       \
    "<ir_version: 10, opset_import: [\"\" : 20, \"local\" : 1, \"ai.onnx.preview.training\" : "    \
    "1]> "

/* Models of one float[2] input. */
static const char *const models[] = {
    HEAD "g (float[N] x) => (float[K] y) <float[2] w = {1, 2}> { a = Add(x, w) b = Identity(a) y = "
         "Mul(a, b) }",
    HEAD "g (float[N] x) => (float[K] y, float[T,K] all) { n = Constant<value_int = 3>()"
         "y, all = Loop (n, , x) <body = b (int64 i, bool on, float[2] s) => (bool on, float[2] "
         "s2, float[2] t) {"
         "s2 = Add(s, x) t = Identity(s2) }> }",
    HEAD "g (float[N] x) => (float[K] y) { c = Constant<value_int = 1>() on = Cast<to = 9>(c)"
         "y = If (on) <then_branch = t () => (float[K] r) { r = local.scale<by = 3.0>(x) },"
         "else_branch = e () => (float[N] x) { }> }"
         "<domain: \"local\", opset_import: [\"\" : 20]>"
         "scale <by> (x) => (y) { c = Constant <value_float: float = @by> () y = Mul(x, c) }",
    HEAD
    "g (float[N] x) => (float[K] y) { h = Cast<to = 10>(x) s = ReduceSum(h) y = Cast<to = 1>(s) }",
    HEAD "g (float[N] x) => (seq(float) y) { s = SequenceConstruct(x, x)"
         "y = SequenceMap (s) <body = b (float[2] e) => (float[2] r) { r = Neg(e) }> }",
    HEAD "g (float[N] x) => (float y, float[K] all) { z = Constant<value_float = 0.0>()"
         "y, all = Scan<num_scan_inputs = 1, body = b (float s, float e) => (float s2, float t) {"
         "s2 = Add(s, e) t = Identity(s2) }>(z, x) }",
    HEAD "g (float[N] x) => (float[K] da) { t = Exp(x) y = MatMul(t, t)"
         "da = ai.onnx.preview.training.Gradient<xs = [\"x\"], y = \"y\">(x) }",
};

/* The whole way of a model; everything that it took is given back. */
static enum ox_status work(const uint8_t *bytes, size_t n, bool oracle)
{
    enum ox_status status;
    struct ox_env *env = ox_env_new();
    if (!env)
        return OX_NO_MEMORY;
    struct ox_model *model = NULL;
    struct ox_session *session = NULL;
    struct ox_tensor *tensor = NULL;
    struct ox_datum *in = NULL, *out[4] = {0};
    struct ox_error err;
    struct ox_run_options options = {.oracle = oracle, .profile = true, .all_values = !oracle};
    status = ox_model_open_memory(&model, env, bytes, n, NULL, &err);
    if (status == OX_OK)
        status = ox_session_new(&session, model, &options, &err);
    if (status == OX_OK)
        status = ox_tensor_from_data(&tensor, env, OX_FLOAT32, 1, &(int64_t){2},
                                     (const float[]){1, 2}, &err);
    if (status == OX_OK)
        status = ox_datum_of_tensor(&in, tensor, &err);
    struct ox_datum **outputs = out;
    if (status == OX_OK && ox_session_n_outputs(session) > 4) {
        outputs = calloc(ox_session_n_outputs(session), sizeof(struct ox_datum *));
        status = outputs ? OX_OK : OX_NO_MEMORY;
    }
    if (status == OX_OK)
        status = ox_session_run(session, &in, outputs, &err);
    for (size_t i = 0; outputs && session && i < ox_session_n_outputs(session); i++)
        ox_datum_release(outputs[i]);
    if (outputs != out)
        free(outputs);
    ox_datum_release(in);
    ox_tensor_release(tensor);
    ox_session_release(session);
    ox_model_release(model);
    held = ox_env_budget(env)->used;
    ox_env_release(env);
    return status;
}

static uint8_t *serialized(const char *text, size_t *n)
{
    uint8_t *bytes;
    struct ox_error err;
    struct ox_env *env = ox_env_new();
    ck_assert_ptr_nonnull(env);
    enum ox_status status = ox_text_read(&bytes, n, text, strlen(text), env, "test", &err);
    ck_assert_msg(status == OX_OK, "%s", err.message);
    ox_env_release(env);
    return bytes;
}

static void fail_each(bool ever, bool oracle)
{
    for (size_t m = 0; m < OX_COUNT(models); m++) {
        size_t n;
        uint8_t *bytes = serialized(models[m], &n);
        ck_assert_int_eq(work(bytes, n, oracle), OX_OK);
        for (long k = 1;; k++) {
            long before = live;
            countdown = k;
            for_ever = ever;
            has_failed = false;
            enum ox_status status = work(bytes, n, oracle);
            countdown = 0;
            ck_assert_msg(live == before, "model %zu: failing allocation %ld leaks %ld blocks", m,
                          k, live - before);
            ck_assert_msg(held == 0, "model %zu: failing allocation %ld keeps %llu bytes", m, k,
                          (unsigned long long)held);
            if (!has_failed) {
                ck_assert_int_eq(status, OX_OK);
                break;
            }
            /* Some can do without: a profile, a larger table. */
            ck_assert_msg(status == OX_NO_MEMORY || status == OX_LIMIT || status == OX_OK,
                          "model %zu: failing allocation %ld ends in status %d", m, k, (int)status);
        }
        free(bytes);
    }
}

START_TEST(one_allocation_may_fail)
{
    fail_each(false, false);
}
END_TEST

START_TEST(all_allocations_from_one_on_may_fail)
{
    fail_each(true, false);
}
END_TEST

START_TEST(allocations_of_the_oracle_may_fail)
{
    fail_each(true, true);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("out_of_memory");
    TCase *tcase = tcase_create("out_of_memory");
    tcase_set_timeout(tcase, 300);
#ifndef OX_SANITIZE
    tcase_add_test(tcase, one_allocation_may_fail);
    tcase_add_test(tcase, all_allocations_from_one_on_may_fail);
#endif
    tcase_add_test(tcase, allocations_of_the_oracle_may_fail);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
