/* The operators of ai.onnx.ml other than trees. */
#include <math.h>
#include <string.h>

#include "tests/expect_op.h"
#include "tests/run_op.h"
#include "tests/run_suite.h"
#include "tests/run_text.h"

static struct one_op *ml(const char *name, int64_t version)
{
    return one_op_new("ai.onnx.ml", name, version);
}

static void must_run(struct one_op *op, size_t n_outputs)
{
    ck_assert_msg(one_op_run(op, n_outputs) == OX_OK, "%s", one_op_error(op));
}

static void must_fail(struct one_op *op, const char *words)
{
    ck_assert_int_eq(one_op_run(op, 1), OX_INPUT);
    ck_assert_msg(strstr(one_op_error(op), words), "'%s' does not say '%s'", one_op_error(op),
                  words);
    one_op_free(op);
}

START_TEST(columns_are_picked_by_index)
{
    struct one_op *op = ml("ArrayFeatureExtractor", 1);
    one_op_in_strings(op, "2x2", (const char *const[]){"a", "b", "c", "d"}, 4);
    ONE_OP_IN(op, OX_INT64, "3", 1, 0, 1);
    must_run(op, 1);
    one_op_expect_strings(op, 0, "2x3", (const char *const[]){"b", "a", "b", "d", "c", "d"}, 6);
    one_op_free(op);
}
END_TEST

START_TEST(a_column_that_is_not_there_is_named)
{
    struct one_op *op = ml("ArrayFeatureExtractor", 1);
    ONE_OP_IN(op, OX_FLOAT32, "1x2", 1, 2);
    ONE_OP_IN(op, OX_INT64, "1", 2);
    must_fail(op, "Y[0] is 2");
}
END_TEST

START_TEST(elements_above_the_threshold_become_one)
{
    struct one_op *op = ml("Binarizer", 1);
    one_op_float(op, "threshold", 1);
    ONE_OP_IN(op, OX_INT32, "3", 0, 1, 2);
    must_run(op, 1);
    ONE_OP_OUT(op, 0, OX_INT32, "3", 0, 0, 0, 1);
    one_op_free(op);
}
END_TEST

START_TEST(missing_values_are_imputed_by_column)
{
    struct one_op *op = ml("Imputer", 1);
    ONE_OP_FLOATS(op, "imputed_value_floats", 5, 6);
    one_op_float(op, "replaced_value_float", NAN);
    ONE_OP_IN(op, OX_FLOAT32, "2x2", (double)NAN, 1, 2, (double)NAN);
    must_run(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "2x2", 0, 5, 1, 2, 6);
    one_op_free(op);
}
END_TEST

START_TEST(scaling_is_offset_first)
{
    struct one_op *op = ml("Scaler", 1);
    ONE_OP_FLOATS(op, "offset", 1);
    ONE_OP_FLOATS(op, "scale", 2, 3);
    ONE_OP_IN(op, OX_INT64, "2x2", 1, 2, 3, 4);
    must_run(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "2x2", 0, 0, 3, 4, 9);
    one_op_free(op);
}
END_TEST

START_TEST(rows_are_normalized)
{
    static const char *const norms[] = {"MAX", "L1", "L2"};
    static const double expected[3][4] = {
        {-0.75, 1, 0, 0}, {-3.0 / 7, 4.0 / 7, 0, 0}, {-0.6, 0.8, 0, 0}};
    struct one_op *op = ml("Normalizer", 1);
    one_op_string(op, "norm", norms[_i]);
    ONE_OP_IN(op, OX_FLOAT32, "2x2", -3, 4, 0, 0);
    must_run(op, 1);
    one_op_expect(op, 0, OX_FLOAT32, "2x2", 1e-7, expected[_i], 4);
    one_op_free(op);
}
END_TEST

START_TEST(features_stand_side_by_side)
{
    struct one_op *op = ml("FeatureVectorizer", 1);
    ONE_OP_INTS(op, "inputdimensions", 1, 3);
    ONE_OP_IN(op, OX_INT64, "2x2", 1, 2, 3, 4);
    ONE_OP_IN(op, OX_FLOAT64, "2x2", 5, 6, 7, 8);
    must_run(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "2x4", 0, 1, 5, 6, 0, 3, 7, 8, 0);
    one_op_free(op);
}
END_TEST

START_TEST(features_of_more_axes_are_those_of_their_row)
{
    struct one_op *op = ml("FeatureVectorizer", 1);
    ONE_OP_INTS(op, "inputdimensions", 3, 1, 3);
    ONE_OP_IN(op, OX_FLOAT32, "2x2x2", 1, 2, 3, 4, 5, 6, 7, 8);
    ONE_OP_IN(op, OX_FLOAT32, "2x1", 9, 10);
    ONE_OP_IN(op, OX_FLOAT32, "2x1x2", 11, 12, 13, 14);
    must_run(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "2x7", 0, 1, 2, 3, 9, 11, 12, 0, 5, 6, 7, 10, 13, 14, 0);
    one_op_free(op);
    op = ml("FeatureVectorizer", 1);
    ONE_OP_INTS(op, "inputdimensions", 2, 2);
    ONE_OP_IN(op, OX_FLOAT32, "2x1x2", 1, 2, 3, 4);
    ONE_OP_IN(op, OX_FLOAT32, "1x2", 5, 6);
    must_fail(op, "input 1 has 1 rows, the first one 2");
}
END_TEST

START_TEST(strings_become_numbers_and_back)
{
    static const char *const names[] = {"a", "b"};
    struct one_op *op = ml("LabelEncoder", 1);
    one_op_strings(op, "classes_strings", names, 2);
    one_op_in_strings(op, "3", (const char *const[]){"b", "x", "a"}, 3);
    must_run(op, 1);
    ONE_OP_OUT(op, 0, OX_INT64, "3", 0, 1, -1, 0);
    one_op_free(op);
    op = ml("CategoryMapper", 1);
    one_op_strings(op, "cats_strings", names, 2);
    ONE_OP_INTS(op, "cats_int64s", 5, 6);
    ONE_OP_IN(op, OX_INT64, "2", 6, 7);
    must_run(op, 1);
    one_op_expect_strings(op, 0, "2", (const char *const[]){"b", "_Unused"}, 2);
    one_op_free(op);
}
END_TEST

START_TEST(labels_are_mapped_and_nan_is_a_key)
{
    static const int64_t versions[] = {2, 4};
    struct one_op *op = ml("LabelEncoder", versions[_i % 2]);
    ONE_OP_FLOATS(op, "keys_floats", 1, NAN, 0, 1);
    ONE_OP_INTS(op, "values_int64s", 10, 20, 30, 40);
    one_op_int(op, "default_int64", 99);
    /* A few are searched for in a row, many in a table. */
    static const double some[] = {(double)NAN, -0.0, 1, 7}, places[] = {20, 30, 10, 99};
    const size_t n = _i / 2 ? 80 : 4;
    double x[80];
    for (size_t i = 0; i < n; i++)
        x[i] = some[i % 4];
    one_op_in(op, OX_FLOAT32, n == 4 ? "4" : "80", x, n);
    must_run(op, 1);
    for (size_t i = 0; i < n; i++)
        ck_assert_double_eq(ox_tensor_get_double(one_op_out(op, 0), i), places[i % 4]);
    one_op_free(op);
}
END_TEST

/* Keys of every length from none on, which begin and end alike; many are looked up, so by a table. */
START_TEST(strings_of_any_length_are_keys)
{
    enum { KEYS = 24, N = 4 * KEYS };
    static char text[KEYS][KEYS + 1], other[KEYS][KEYS + 1];
    const char *keys[KEYS], *x[N];
    float values[KEYS];
    struct one_op *op = ml("LabelEncoder", 2);
    for (size_t i = 0; i < KEYS; i++) {
        memset(text[i], 'a', i);
        memset(other[i], 'a', i);
        other[i][i / 2] = i ? 'b' : 0;
        keys[i] = text[i];
        values[i] = (float)i + 0.5f;
    }
    for (size_t i = 0; i < N; i++)
        x[i] = i % 2 ? other[i / 2 % KEYS] : text[i / 2 % KEYS];
    one_op_strings(op, "keys_strings", keys, KEYS);
    one_op_floats(op, "values_floats", values, KEYS);
    one_op_float(op, "default_float", -7);
    one_op_in_strings(op, "96", x, N);
    must_run(op, 1);
    for (size_t i = 0; i < N; i++) {
        const size_t key = i / 2 % KEYS;
        const double want = i % 2 && key ? -7 : (double)values[key];
        ck_assert_double_eq(ox_tensor_get_double(one_op_out(op, 0), i), want);
    }
    one_op_free(op);
}
END_TEST

START_TEST(integers_far_from_each_other_are_keys)
{
    enum { N = 40 };
    static const int64_t keys[] = {INT64_MIN, -1, 0, 1, INT64_MAX, (int64_t)1 << 62, -1};
    static const int64_t values[] = {1, 2, 3, 4, 5, 6, 7};
    int64_t x[N];
    const int64_t dim = N;
    struct text_run f;
    const struct ox_run_options options = {.level = 2};
    text_must_plan(&f,
                   "<ir_version: 10, opset_import: [\"\" : 20, \"ai.onnx.ml\" : 2]> g (int64[N] x) "
                   "=> (int64[N] y) { y = ai.onnx.ml.LabelEncoder <keys_int64s = "
                   "[-9223372036854775808, -1, 0, 1, 9223372036854775807, 4611686018427387904, "
                   "-1], values_int64s = [1, 2, 3, 4, 5, 6, 7], default_int64 = 99>(x) }",
                   &options);
    for (size_t i = 0; i < N; i++)
        x[i] = i % 8 < 7 ? keys[i % 8] : 2;
    text_give(&f, OX_INT64, 1, &dim, x);
    text_must_run(&f);
    const int64_t *y = ox_datum_get_tensor(f.out[0])->data;
    for (size_t i = 0; i < N; i++)
        ck_assert_int_eq(y[i], i % 8 == 7 ? 99 : i % 8 == 6 ? 2 : values[i % 8]);
    text_close(&f);
}
END_TEST

START_TEST(of_equal_categories_the_last_counts)
{
    static const char *const names[] = {"a", "b", "c"};
    const size_t n = _i ? 40 : 2;
    double x[40];
    struct one_op *op = ml("CategoryMapper", 1);
    one_op_strings(op, "cats_strings", names, 3);
    ONE_OP_INTS(op, "cats_int64s", 1, 2, 1);
    for (size_t i = 0; i < n; i++)
        x[i] = (double)(1 + i % 2);
    one_op_in(op, OX_INT64, n == 2 ? "2" : "40", x, n);
    must_run(op, 1);
    const struct ox_str *y = one_op_out(op, 0)->data;
    for (size_t i = 0; i < n; i++)
        ck_assert(y[i].n == 1 && *y[i].p == (i % 2 ? 'b' : 'c'));
    one_op_free(op);
}
END_TEST

START_TEST(keys_without_values_are_refused)
{
    struct one_op *op = ml("LabelEncoder", 2);
    ONE_OP_INTS(op, "keys_int64s", 1, 2);
    ONE_OP_INTS(op, "values_int64s", 1);
    ONE_OP_IN(op, OX_INT64, "1", 1);
    must_fail(op, "2 keys and 1 values");
}
END_TEST

START_TEST(categories_become_columns)
{
    struct one_op *op = ml("OneHotEncoder", 1);
    ONE_OP_INTS(op, "cats_int64s", 3, 1);
    ONE_OP_IN(op, OX_FLOAT32, "3", 1, 3, 2);
    must_run(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "3x2", 0, 0, 1, 1, 0, 0, 0);
    one_op_free(op);
}
END_TEST

START_TEST(an_unknown_category_may_be_refused)
{
    struct one_op *op = ml("OneHotEncoder", 1);
    ONE_OP_INTS(op, "cats_int64s", 3, 1);
    one_op_int(op, "zeros", 0);
    ONE_OP_IN(op, OX_INT64, "2", 1, 2);
    must_fail(op, "X[1] is none of the categories");
}
END_TEST

START_TEST(linear_scores_choose_the_label)
{
    struct one_op *op = ml("LinearClassifier", 1);
    ONE_OP_FLOATS(op, "coefficients", 1, 0, 0, 1);
    ONE_OP_FLOATS(op, "intercepts", 0, 1);
    one_op_strings(op, "classlabels_strings", (const char *const[]){"p", "q"}, 2);
    one_op_string(op, "post_transform", "SOFTMAX");
    ONE_OP_IN(op, OX_FLOAT32, "2x2", 3, 1, 0, 0);
    must_run(op, 2);
    const double a = 1 / (1 + exp(-1)), b = 1 - a;
    one_op_expect_strings(op, 0, "2", (const char *const[]){"p", "q"}, 2);
    ONE_OP_OUT(op, 1, OX_FLOAT32, "2x2", 1e-6, a, b, b, a);
    one_op_free(op);
}
END_TEST

/* Made for four features: of rows of two the last coefficients are left. */
START_TEST(a_narrower_row_meets_the_first_coefficients)
{
    struct one_op *op = ml("LinearClassifier", 1);
    ONE_OP_FLOATS(op, "coefficients", 1, 0, 0, 1, 2, 2, 9, 9, 9, 9, 9, 9);
    ONE_OP_FLOATS(op, "intercepts", 0, 1, -1);
    ONE_OP_INTS(op, "classlabels_ints", 5, 6, 7);
    ONE_OP_IN(op, OX_FLOAT32, "2x2", 3, 1, -3, 1);
    must_run(op, 2);
    ONE_OP_OUT(op, 0, OX_INT64, "2", 0, 7, 6);
    ONE_OP_OUT(op, 1, OX_FLOAT32, "2x3", 0, 3, 2, 7, -3, 2, -5);
    one_op_free(op);
}
END_TEST

START_TEST(coefficients_that_are_too_few_or_no_rows_are_refused)
{
    static const struct {
        size_t n;
        const char *words;
    } rows[] = {{4, "4 coefficients for 3 scores of 2"}, {7, "7 coefficients for 3 scores of 2"}};
    const float ones[7] = {1, 1, 1, 1, 1, 1, 1};
    struct one_op *op = ml("LinearClassifier", 1);
    one_op_floats(op, "coefficients", ones, rows[_i].n);
    ONE_OP_FLOATS(op, "intercepts", 0, 1, -1);
    ONE_OP_INTS(op, "classlabels_ints", 5, 6, 7);
    ONE_OP_IN(op, OX_FLOAT32, "1x2", 3, 1);
    must_fail(op, rows[_i].words);
    op = ml("LinearRegressor", 1);
    one_op_floats(op, "coefficients", ones, rows[_i].n);
    ONE_OP_IN(op, OX_FLOAT32, "1x2", 3, 1);
    must_fail(op, "for 1 scores of 2");
}
END_TEST

START_TEST(linear_regression_of_two_targets)
{
    struct one_op *op = ml("LinearRegressor", 1);
    ONE_OP_FLOATS(op, "coefficients", 1, 2, 3, 4);
    ONE_OP_FLOATS(op, "intercepts", 0, 10);
    one_op_int(op, "targets", 2);
    ONE_OP_IN(op, OX_FLOAT32, "1x2", 1, 1);
    must_run(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x2", 0, 3, 17);
    one_op_free(op);
}
END_TEST

START_TEST(support_vectors_add_up)
{
    struct one_op *op = ml("SVMRegressor", 1);
    ONE_OP_FLOATS(op, "coefficients", 2, -1);
    ONE_OP_FLOATS(op, "support_vectors", 0, 1);
    ONE_OP_FLOATS(op, "rho", 0.5f);
    ONE_OP_FLOATS(op, "kernel_params", 1, 0, 3);
    one_op_int(op, "n_supports", 2);
    one_op_string(op, "kernel_type", "RBF");
    ONE_OP_IN(op, OX_FLOAT32, "1x1", 1);
    must_run(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x1", 1e-6, 2 * exp(-1) - 1 + 0.5);
    one_op_free(op);
}
END_TEST

START_TEST(pairs_of_classes_vote)
{
    struct one_op *op = ml("SVMClassifier", 1);
    ONE_OP_FLOATS(op, "coefficients", 1, 1, 0, 1, 1, 1);
    ONE_OP_FLOATS(op, "support_vectors", 1, 2, 3);
    ONE_OP_FLOATS(op, "rho", 0, -100, -100);
    ONE_OP_INTS(op, "vectors_per_class", 1, 1, 1);
    ONE_OP_INTS(op, "classlabels_ints", 4, 5, 6);
    ONE_OP_FLOATS(op, "kernel_params", 1, 0, 1);
    ONE_OP_IN(op, OX_FLOAT32, "1x1", 1);
    must_run(op, 2);
    ONE_OP_OUT(op, 0, OX_INT64, "1", 0, 6);
    ONE_OP_OUT(op, 1, OX_FLOAT32, "1x3", 1e-6, 3, -99, -95);
    one_op_free(op);
}
END_TEST

static struct ox_datum *float_map(struct one_op *op)
{
    struct ox_error err;
    struct ox_datum *values, *map;
    struct ox_tensor *keys = one_op_make(op, OX_INT64, "2", (const double[]){3, 1}, 2);
    struct ox_tensor *t = one_op_make(op, OX_FLOAT32, "2", (const double[]){1.5, -2}, 2);
    ck_assert_int_eq(ox_datum_of_tensor(&values, t, &err), OX_OK);
    ck_assert_int_eq(ox_datum_map(&map, keys, values, &err), OX_OK);
    ox_datum_release(values);
    ox_tensor_release(t);
    ox_tensor_release(keys);
    return map;
}

static float drawn(size_t i)
{
    return (float)(i * 7919 % 211) / 211 - 0.5f;
}

static size_t write_floats(char *to, size_t room, const char *name, size_t n, size_t from)
{
    size_t at = (size_t)snprintf(to, room, ", %s = [", name);
    for (size_t i = 0; i < n; i++)
        at +=
            (size_t)snprintf(to + at, room - at, "%s%.6f", i ? ", " : "", (double)drawn(from + i));
    return at + (size_t)snprintf(to + at, room - at, "]");
}

/* Of a stretch of vectors and more, and more rows than are taken in at a time: -O2 works vectors side by side. Rows of a wrong
 * width come first, from which nothing may stay. */
START_TEST(support_vectors_at_every_level)
{
    static const char *const kernels[] = {"LINEAR", "POLY", "RBF", "SIGMOID"};
    const size_t n = _i / 4 % 2 ? 300 : 6, cols = 9, rows = 17;
    const size_t classes = _i / 8 ? (size_t)_i / 8 + 1 : 0, columns = classes ? classes : 1;
    const bool classifies = classes > 0;
    static char text[1 << 16];
    static float x[17 * 18];
    struct text_run f[2];
    size_t at = (size_t)snprintf(
        text, sizeof text,
        "<ir_version: 10, opset_import: [\"\" : 20, \"ai.onnx.ml\" : 3]> g (float[N, C] x) => "
        "(float[N, K] y) { %s ai.onnx.ml.%s <kernel_type = \"%s\", kernel_params = [0.5, 0.25, "
        "3.0], "
        "rho = [%s], %s",
        classifies ? "l, y =" : "y =", classifies ? "SVMClassifier" : "SVMRegressor",
        kernels[_i % 4], classes == 3 ? "0.125, 0.25, -0.5" : "0.125",
        classes == 3 ? "classlabels_ints = [0, 1, 2], vectors_per_class = "
        : classifies ? "classlabels_ints = [0, 1], vectors_per_class = "
                     : "n_supports = ");
    at += (size_t)(classes == 3 ? snprintf(text + at, sizeof text - at, "[%zu, %zu, %zu]", n / 3,
                                           n / 2, n - n / 3 - n / 2)
                   : classifies
                       ? snprintf(text + at, sizeof text - at, "[%zu, %zu]", n / 3, n - n / 3)
                       : snprintf(text + at, sizeof text - at, "%zu", n));
    at += write_floats(text + at, sizeof text - at, "support_vectors", n * cols, 0);
    at +=
        write_floats(text + at, sizeof text - at, "coefficients", n * (classes == 3 ? 2 : 1), 5000);
    snprintf(text + at, sizeof text - at, ">(x) }");
    for (size_t i = 0; i < OX_COUNT(x); i++)
        x[i] = drawn(9000 + i);
    for (int k = 0; k < 2; k++) {
        const struct ox_run_options options = {.level = 2 * k};
        text_must_plan(&f[k], text, &options);
        text_give(&f[k], OX_FLOAT32, 2, (const int64_t[]){(int64_t)rows, (int64_t)cols * 2}, x);
        ck_assert_int_ne(text_run_once(&f[k]), OX_OK);
        ox_datum_release(f[k].in[0]);
        f[k].n_in = 0;
        text_give(&f[k], OX_FLOAT32, 2, (const int64_t[]){(int64_t)rows, (int64_t)cols}, x);
        for (unsigned turn = 0; turn < 2; turn++)
            text_must_run(&f[k]);
    }
    const struct ox_tensor *slow = ox_datum_get_tensor(f[0].out[0]);
    const struct ox_tensor *fast = ox_datum_get_tensor(f[1].out[0]);
    ck_assert_uint_eq(slow->n, rows * columns);
    for (size_t i = 0; i < slow->n; i++)
        ck_assert_double_eq_tol(ox_tensor_get_double(slow, i), ox_tensor_get_double(fast, i), 3e-6);
    text_close(&f[0]);
    text_close(&f[1]);
}
END_TEST

START_TEST(maps_become_rows)
{
    struct one_op *op = ml("CastMap", 1);
    struct ox_datum *map = float_map(op);
    one_op_in_datum(op, map);
    ox_datum_release(map);
    one_op_string(op, "map_form", "SPARSE");
    one_op_int(op, "max_map", 4);
    must_run(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x4", 0, 0, -2, 0, 1.5);
    one_op_free(op);
    op = ml("DictVectorizer", 1);
    map = float_map(op);
    one_op_in_datum(op, map);
    ox_datum_release(map);
    ONE_OP_INTS(op, "int64_vocabulary", 3, 2, 1);
    must_run(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x3", 0, 1.5, 0, -2);
    one_op_free(op);
}
END_TEST

START_TEST(two_vocabularies_are_refused)
{
    struct one_op *op = ml("DictVectorizer", 1);
    struct ox_datum *map = float_map(op);
    one_op_in_datum(op, map);
    ox_datum_release(map);
    ONE_OP_INTS(op, "int64_vocabulary", 3, 2);
    one_op_strings(op, "string_vocabulary", (const char *const[]){"p"}, 1);
    RUN_FAILS(op, 1, "both vocabularies are given");
}
END_TEST

START_TEST(rows_become_maps)
{
    struct one_op *op = ml("ZipMap", 1);
    one_op_strings(op, "classlabels_strings", (const char *const[]){"p", "q"}, 2);
    ONE_OP_IN(op, OX_FLOAT32, "2x2", 1, 2, 3, 4);
    must_run(op, 1);
    const struct ox_datum *maps = one_op_datum(op, 0);
    ck_assert_int_eq(maps->kind, OX_DATUM_SEQUENCE);
    ck_assert_uint_eq(maps->n_items, 2);
    ck_assert_int_eq(maps->items[1]->kind, OX_DATUM_MAP);
    ck_assert_double_eq(ox_tensor_get_double(maps->items[1]->items[0]->tensor, 1), 4);
    one_op_free(op);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ops_ml");
    TCase *tcase = tcase_create("ml");
    tcase_add_test(tcase, columns_are_picked_by_index);
    tcase_add_test(tcase, a_column_that_is_not_there_is_named);
    tcase_add_test(tcase, elements_above_the_threshold_become_one);
    tcase_add_test(tcase, missing_values_are_imputed_by_column);
    tcase_add_test(tcase, scaling_is_offset_first);
    tcase_add_loop_test(tcase, rows_are_normalized, 0, 3);
    tcase_add_test(tcase, features_stand_side_by_side);
    tcase_add_test(tcase, features_of_more_axes_are_those_of_their_row);
    tcase_add_test(tcase, strings_become_numbers_and_back);
    tcase_add_loop_test(tcase, labels_are_mapped_and_nan_is_a_key, 0, 4);
    tcase_add_test(tcase, strings_of_any_length_are_keys);
    tcase_add_test(tcase, integers_far_from_each_other_are_keys);
    tcase_add_loop_test(tcase, of_equal_categories_the_last_counts, 0, 2);
    tcase_add_test(tcase, keys_without_values_are_refused);
    tcase_add_test(tcase, categories_become_columns);
    tcase_add_test(tcase, an_unknown_category_may_be_refused);
    tcase_add_test(tcase, linear_scores_choose_the_label);
    tcase_add_test(tcase, a_narrower_row_meets_the_first_coefficients);
    tcase_add_loop_test(tcase, coefficients_that_are_too_few_or_no_rows_are_refused, 0, 2);
    tcase_add_test(tcase, linear_regression_of_two_targets);
    tcase_add_test(tcase, support_vectors_add_up);
    tcase_add_test(tcase, pairs_of_classes_vote);
    tcase_add_loop_test(tcase, support_vectors_at_every_level, 0, 24);
    tcase_add_test(tcase, maps_become_rows);
    tcase_add_test(tcase, two_vocabularies_are_refused);
    tcase_add_test(tcase, rows_become_maps);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
