/* Operators of ai.onnx.ml at -O2 beside plain C: many rows, few and many columns, special values, any number of threads. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/run_suite.h"
#include "tests/run_text.h"

enum { ROWS = 700, COLS_MOST = 20 };

struct ml_case {
    size_t cols;
    const char *outputs, *call; /* as in the text syntax */
};

#define FOUR "[0.5, -1.0, 2.0, 0.25]"
#define TWELVE "[0.5, -1.0, 2.0, 0.25, 1.5, 0.125, -0.5, 0.75, -1.25, 0.375, 1.0, -0.25]"

static const struct ml_case cases[] = {
    {4, "y", "Scaler <offset = " FOUR ", scale = [3.0]>"},
    {4, "y", "Scaler <scale = " FOUR ">"},
    {20, "y", "Scaler <offset = [1.5]>"},
    {4, "y", "Imputer <imputed_value_floats = " FOUR ", replaced_value_float = 0.0>"},
    {4, "y", "Imputer <imputed_value_floats = " FOUR ", replaced_value_float = nan>"},
    {20, "y", "Imputer <imputed_value_floats = [7.0], replaced_value_float = nan>"},
    {2, "y", "Normalizer <norm = \"L1\">"},
    {4, "y", "Normalizer <norm = \"L1\">"},
    {20, "y", "Normalizer <norm = \"L1\">"},
    {3, "y", "Normalizer <norm = \"L2\">"},
    {20, "y", "Normalizer <norm = \"L2\">"},
    {4, "y", "Normalizer <norm = \"MAX\">"},
    {20, "y", "Normalizer <norm = \"MAX\">"},
    {4, "y", "LinearRegressor <coefficients = " FOUR ", intercepts = [3.0]>"},
    {4, "y", "LinearRegressor <coefficients = " FOUR ", post_transform = \"PROBIT\">"},
    {4, "y",
     "LinearRegressor <coefficients = " TWELVE ", targets = 3, post_transform = \"SOFTMAX\">"},
    {4, "y",
     "LinearRegressor <coefficients = " TWELVE ", targets = 3, post_transform = \"SOFTMAX_ZERO\">"},
    {4, "l, y",
     "LinearClassifier <coefficients = " TWELVE
     ", intercepts = [0.5, 0.0, -0.5], classlabels_ints = [3, -1, 7]>"},
    {4, "l, y",
     "LinearClassifier <coefficients = " TWELVE ", intercepts = [0.5, 0.0, -0.5], "
     "classlabels_strings = [\"a\", \"\"], post_transform = \"SOFTMAX\">"},
    {4, "l, y",
     "LinearClassifier <coefficients = " TWELVE ", intercepts = [0.5, 0.0, -0.5], "
     "classlabels_ints = [3, -1, 7], post_transform = \"LOGISTIC\">"},
    {4, "l, y",
     "LinearClassifier <coefficients = " FOUR ", intercepts = [0.5], "
     "classlabels_strings = [\"no\", \"yes\"], post_transform = \"LOGISTIC\">"},
    {4, "l, y",
     "LinearClassifier <coefficients = " FOUR ", intercepts = [0.5], classlabels_ints = [3, -1]>"},
    {4, "l, y",
     "LinearClassifier <coefficients = " FOUR
     ", intercepts = [0.5], classlabels_ints = [3, -1], post_transform = \"PROBIT\">"},
    {12, "l, y",
     "LinearClassifier <coefficients = " TWELVE
     ", intercepts = [0.0], classlabels_ints = [3, -1], post_transform = \"SOFTMAX\">"},
};

/* Of huge numbers sums in float32 and in double may differ. */
static void fill(float *x, size_t n, bool sums)
{
    static const float special[] = {NAN,   INFINITY, -INFINITY, 0.0f,   -0.0f, 1e-42f,
                                    3e38f, -3e38f,   1e-30f,    -1e20f, 1e20f, 1.0f};
    for (size_t i = 0; i < n; i++)
        x[i] =
            i % 97 < 2 ? special[i / 97 % OX_COUNT(special)] : (float)(i * 7919 % 211) / 50 - 2.0f;
    for (size_t i = 0; i < 24; i++)
        x[i] = 0;
    for (size_t i = 0; sums && i < n; i++)
        x[i] = isfinite(x[i]) && fabsf(x[i]) > 1e30f ? 1e20f : x[i];
}

static bool near(double a, double b)
{
    return a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= 4e-6 * (1 + fabs(b));
}

static void compare(const struct ox_tensor *fast, const struct ox_tensor *slow)
{
    ck_assert_uint_eq(fast->n, slow->n);
    for (size_t i = 0; i < slow->n; i++) {
        if (slow->dtype == OX_STRING) {
            const struct ox_str *a = (const struct ox_str *)fast->data + i;
            const struct ox_str *b = (const struct ox_str *)slow->data + i;
            ck_assert_msg(a->n == b->n && (!a->n || memcmp(a->p, b->p, a->n) == 0), "label %zu", i);
            continue;
        }
        const double a = ox_tensor_get_double(fast, i), b = ox_tensor_get_double(slow, i);
        ck_assert_msg(near(a, b), "[%zu] is %.9g, not %.9g", i, a, b);
    }
}

/* At levels 0 and 2, and at the latter by two threads, whose bits are those of one. */
START_TEST(as_plain_c)
{
    const struct ml_case *c = &cases[_i];
    static float x[ROWS * COLS_MOST];
    struct text_run f[3];
    char text[1024];
    snprintf(text, sizeof text,
             "<ir_version: 10, opset_import: [\"\" : 20, \"ai.onnx.ml\" : 3]> g (float[N, C] x) "
             "=> (%s) { %s = ai.onnx.ml.%s(x) }",
             c->outputs[0] == 'l' ? (strstr(c->call, "strings") ? "string[M] l, float[N, K] y"
                                                                : "int64[M] l, float[N, K] y")
                                  : "float[N, K] y",
             c->outputs, c->call);
    fill(x, ROWS * c->cols, strncmp(c->call, "Linear", 6) == 0);
    const size_t n_out = c->outputs[0] == 'l' ? 2 : 1;
    for (size_t rows = 1; rows <= ROWS; rows += ROWS - 1) {
        for (size_t k = 0; k < 3; k++) {
            const struct ox_run_options options = {.level = k ? 2 : 0};
            text_open(&f[k], text);
            ox_env_set_threads(f[k].env, k == 2 ? 2 : 1);
            ck_assert_msg(text_plan(&f[k], &options) == OX_OK, "%s", f[k].err.message);
            const int64_t dims[2] = {(int64_t)rows, (int64_t)c->cols};
            text_give(&f[k], OX_FLOAT32, 2, dims, x);
            text_must_run(&f[k]);
        }
        for (size_t i = 0; i < n_out; i++) {
            const struct ox_tensor *slow = ox_datum_get_tensor(f[0].out[i]);
            const struct ox_tensor *one = ox_datum_get_tensor(f[1].out[i]);
            const struct ox_tensor *two = ox_datum_get_tensor(f[2].out[i]);
            compare(one, slow);
            if (one->dtype != OX_STRING)
                ck_assert_mem_eq(one->data, two->data, one->n * ox_dtype_size(one->dtype));
        }
        for (size_t k = 0; k < 3; k++)
            text_close(&f[k]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fast_ml");
    TCase *tcase = tcase_create("fast_ml");
    tcase_add_loop_test(tcase, as_plain_c, 0, (int)OX_COUNT(cases));
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
