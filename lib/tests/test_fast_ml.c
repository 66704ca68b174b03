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

/* The same as elements of a type that the operators take beside floats. Integers have no special values. */
static const void *widened(enum ox_dtype dtype, const float *x, size_t n)
{
    static union {
        double f64[ROWS * COLS_MOST];
        int64_t i64[ROWS * COLS_MOST];
        int32_t i32[ROWS * COLS_MOST];
    } all;
    for (size_t i = 0; i < n; i++) {
        const int32_t whole = isfinite(x[i]) && fabsf(x[i]) < 9 ? (int32_t)(x[i] * 50) : 1000000007;
        if (dtype == OX_FLOAT64)
            all.f64[i] = i % 193 == 5 ? 1e-310 : (double)x[i] * 1.0000001;
        else if (dtype == OX_INT64)
            all.i64[i] = whole;
        else
            all.i32[i] = whole;
    }
    return dtype == OX_FLOAT32 ? (const void *)x : &all;
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
    static const enum ox_dtype types[] = {OX_FLOAT32, OX_FLOAT64, OX_INT64, OX_INT32};
    static const char *const names[] = {"float", "double", "int64", "int32"};
    const struct ml_case *c = &cases[(size_t)_i / OX_COUNT(types)];
    const size_t type = (size_t)_i % OX_COUNT(types);
    static float x[ROWS * COLS_MOST];
    struct text_run f[3];
    char text[1024];
    if (type && strncmp(c->call, "Imputer", 7) == 0)
        return;
    snprintf(text, sizeof text,
             "<ir_version: 10, opset_import: [\"\" : 20, \"ai.onnx.ml\" : 3]> g (%s[N, C] x) "
             "=> (%s) { %s = ai.onnx.ml.%s(x) }",
             names[type],
             c->outputs[0] == 'l' ? (strstr(c->call, "strings") ? "string[M] l, float[N, K] y"
                                                                : "int64[M] l, float[N, K] y")
                                  : "float[N, K] y",
             c->outputs, c->call);
    fill(x, ROWS * c->cols, strncmp(c->call, "Linear", 6) == 0);
    const void *given = widened(types[type], x, ROWS * c->cols);
    const size_t n_out = c->outputs[0] == 'l' ? 2 : 1;
    for (size_t rows = 1; rows <= ROWS; rows += ROWS - 1) {
        for (size_t k = 0; k < 3; k++) {
            const struct ox_run_options options = {.level = k ? 2 : 0};
            text_open(&f[k], text);
            ox_env_set_threads(f[k].env, k == 2 ? 2 : 1);
            ck_assert_msg(text_plan(&f[k], &options) == OX_OK, "%s", f[k].err.message);
            const int64_t dims[2] = {(int64_t)rows, (int64_t)c->cols};
            text_give(&f[k], types[type], 2, dims, given);
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

#define KEYS "[-5, -2, 1, 4, 7, 10, 13, 16, 19, 22, 25, 28, 31, 34, 37, 40, 43, 46, 49, 52]"
#define WORDS                                                                                      \
    "[\"-5\", \"-2\", \"1\", \"4\", \"7\", \"10\", \"13\", \"16\", \"19\", \"22\", \"25\", "       \
    "\"28\", \"31\", \"34\", \"37\", \"40\", \"43\", \"46\", \"49\", \"52\"]"
#define POOL                                                                                       \
    "[-5, -2, 1, 4, 7, 10, 13, 16, 19, 22, 25, 28, 31, 34, 37, 40, 43, 46, 49, 52, -5, 16, 37, "   \
    "-2, 19, 40, 1, 22, 43, 4, 25, 46]"
#define WORD_POOL                                                                                  \
    "[\"-5\", \"-2\", \"1\", \"4\", \"7\", \"10\", \"13\", \"16\", \"19\", \"22\", \"25\", "       \
    "\"28\", \"31\", \"34\", \"37\", \"40\", \"43\", \"46\", \"49\", \"52\", \"-5\", \"16\", "     \
    "\"37\", \"-2\", \"19\", \"40\", \"1\", \"22\", \"43\", \"4\", \"25\", \"46\"]"
#define GRAMS(most, skips, indexes)                                                                \
    "min_gram_length = 1, max_gram_length = " #most ", max_skip_count = " #skips                   \
    ", ngram_counts = [0, 20], ngram_indexes = " indexes
#define APART                                                                                      \
    "[0, 5, 10, 15, 20, 25, 4, 9, 14, 19, 24, 3, 8, 13, 18, 23, 2, 7, 12, 17, 22, 1, 6, 11, 16, "  \
    "21]"
#define TOGETHER                                                                                   \
    "[0, 5, 10, 2, 7, 12, 4, 9, 1, 6, 11, 3, 8, 0, 5, 10, 2, 7, 12, 4, 9, 1, 6, 11, 3, 8]"

/* What is looked up in tables that are made once: of strings and numbers, in words whose indexes are their own or shared. */
static const struct {
    const char *type, *body;
} tables[] = {
    {"float",
     "y = TfIdfVectorizer <mode = \"TF\", pool_int64s = " POOL ", " GRAMS(2, 0, APART) "> (x)"},
    {"float",
     "y = TfIdfVectorizer <mode = \"IDF\", pool_int64s = " POOL ", " GRAMS(2, 2, TOGETHER) "> (x)"},
    {"float",
     "s = Cast <to = 8> (x) y = TfIdfVectorizer <mode = \"TFIDF\", pool_strings = " WORD_POOL
     ", weights = [-2.0, -1.7, -1.4, -1.1, -0.8, -0.5, -0.2, 0.1, 0.4, 0.7, 1.0, 1.3, 1.6, 1.9, "
     "2.2, 2.5, 2.8, 3.1, 3.4, 3.7, 4.0, 4.3, 4.6, 4.9, 5.2, 5.5], " GRAMS(2, 1, APART) "> (s)"},
    {"float", "y = ai.onnx.ml.LabelEncoder <keys_int64s = " KEYS
              ", values_floats = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 5.5, 6.0, "
              "6.5, 7.0, 7.5, 8.0, 8.5, 9.0, 9.5], default_float = 7.5> (x)"},
    {"int64", "s = Cast <to = 8> (x) y = ai.onnx.ml.LabelEncoder <keys_strings = " WORDS
              ", values_int64s = " KEYS "> (s)"},
    {"int64",
     "s = ai.onnx.ml.LabelEncoder <keys_int64s = " KEYS ", values_strings = " WORDS "> (x) "
     "y = ai.onnx.ml.CategoryMapper <cats_strings = " WORDS ", cats_int64s = " KEYS "> (s)"},
    {"float", "y = ai.onnx.ml.OneHotEncoder <cats_int64s = " KEYS ", zeros = 1> (x)"},
    {"float", "s = Cast <to = 8> (x) y = ai.onnx.ml.OneHotEncoder <cats_strings = " WORDS
              ", zeros = 1> (s)"},
};

/* The second run, and a third of fewer rows, find the tables of the first. */
START_TEST(tables_stay_with_the_session)
{
    enum { WORDS_MOST = 9 };
    char text[4096];
    struct text_run f[2];
    snprintf(text, sizeof text,
             "<ir_version: 10, opset_import: [\"\" : 20, \"ai.onnx.ml\" : 3]> g (int64[N, C] x) "
             "=> (%s y) { %s }",
             tables[_i].type, tables[_i].body);
    for (size_t k = 0; k < 2; k++) {
        const struct ox_run_options options = {.level = k ? 2 : 0};
        text_open(&f[k], text);
        ox_env_set_threads(f[k].env, 2);
        ck_assert_msg(text_plan(&f[k], &options) == OX_OK, "%s", f[k].err.message);
    }
    for (int64_t run = 0; run < 3; run++) {
        static int64_t x[ROWS * WORDS_MOST];
        const int64_t dims[2] = {run < 2 ? ROWS : 1, WORDS_MOST - run};
        for (size_t i = 0; i < OX_COUNT(x); i++)
            x[i] = (int64_t)((i + 1) * 7919 % (64 + (size_t)run)) - 5;
        for (size_t k = 0; k < 2; k++) {
            if (run) {
                ox_datum_release(f[k].in[0]);
                f[k].n_in = 0;
            }
            text_give(&f[k], OX_INT64, 2, dims, x);
            text_must_run(&f[k]);
        }
        const struct ox_tensor *slow = ox_datum_get_tensor(f[0].out[0]);
        const struct ox_tensor *fast = ox_datum_get_tensor(f[1].out[0]);
        ck_assert_uint_eq(fast->n, slow->n);
        ck_assert_mem_eq(fast->data, slow->data, slow->n * ox_dtype_size(slow->dtype));
    }
    for (size_t k = 0; k < 2; k++)
        text_close(&f[k]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fast_ml");
    TCase *tcase = tcase_create("fast_ml");
    tcase_add_loop_test(tcase, as_plain_c, 0, 4 * (int)OX_COUNT(cases));
    tcase_add_loop_test(tcase, tables_stay_with_the_session, 0, (int)OX_COUNT(tables));
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
