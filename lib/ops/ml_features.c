/* ArrayFeatureExtractor Binarizer FeatureVectorizer Imputer Normalizer Scaler: columns of features made ready. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ops/ml_common.h"
#include "ops/move.h"
#include "ops/real.h"

/* ---- ArrayFeatureExtractor ---------------------------------------------------------------------------------------- */

/* Sizes that recur are copied without a call. */
static void copy_element(char *to, const char *from, size_t size)
{
    if (size == 4)
        memcpy(to, from, 4);
    else if (size == 8)
        memcpy(to, from, 8);
    else
        memcpy(to, from, size);
}

static enum ox_status run_array_feature_extractor(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0), *index = ox_run_in(r, 1);
    if (x->rank == 0)
        return ox_run_fail(r, err, OX_INPUT, "X is a scalar");
    if (index->n == 0)
        return ox_run_fail(r, err, OX_INPUT, "Y has no elements");
    OX_TRY(ox_move_rank(r, x->rank, err));
    int64_t cols = x->dims[x->rank - 1], dims[OX_MOST_RANK] = {1};
    unsigned rank = x->rank < 2 ? 2 : x->rank;
    if (x->rank > 1)
        memcpy(dims, x->dims, x->rank * sizeof *dims);
    dims[rank - 1] = (int64_t)index->n;
    const int64_t *at = index->data;
    for (size_t i = 0; i < index->n; i++)
        if (at[i] < 0 || at[i] >= cols)
            return ox_run_fail(r, err, OX_INPUT,
                               "Y[%zu] is %" PRId64 ", outside of %" PRId64 " columns", i, at[i],
                               cols);
    struct ox_tensor *z;
    OX_TRY(ox_run_out(r, 0, x->dtype, rank, dims, &z, err));
    size_t size = ox_dtype_size(x->dtype), rows = x->n / (size_t)cols;
    const char *from = x->data;
    char *to = z->data;
    for (size_t row = 0; row < rows; row++, from += (size_t)cols * size)
        for (size_t i = 0; i < index->n; i++, to += size)
            copy_element(to, from + (size_t)at[i] * size, size);
    return ox_move_own(z, err);
}

static void infer_array_feature_extractor(struct ox_infer *c)
{
    unsigned rank, index_rank;
    const struct ox_expr *const *x;
    const struct ox_expr *const *index;
    ox_infer_same_dtype(c, 0, 0);
    if (!ox_infer_shape(c, 0, &rank, &x) || rank == 0)
        return;
    unsigned out_rank = rank < 2 ? 2 : rank;
    const struct ox_expr **dims = ox_infer_dims(c, out_rank);
    if (!dims)
        return;
    dims[0] = ox_infer_num(c, 1);
    for (unsigned i = 0; i + 1 < rank; i++)
        dims[i] = x[i];
    if (ox_infer_shape(c, 1, &index_rank, &index)) {
        const struct ox_expr *n = ox_infer_num(c, 1);
        for (unsigned i = 0; i < index_rank; i++)
            n = ox_infer_mul(c, n, index[i]);
        dims[out_rank - 1] = n;
    }
    ox_infer_set_shape(c, 0, out_rank, dims);
}

/* ---- Element by element ------------------------------------------------------------------------------------------- */

enum { CHUNK = 512 };

static enum ox_status run_binarizer(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    double threshold = (double)ox_run_float(r, "threshold", 0), v[CHUNK];
    struct ox_tensor *y;
    OX_TRY(ox_run_out(r, 0, x->dtype, x->rank, x->dims, &y, err));
    size_t size = ox_dtype_size(y->dtype);
    for (size_t at = 0; at < x->n; at += CHUNK) {
        size_t n = x->n - at < CHUNK ? x->n - at : CHUNK;
        ox_real_load(x, at, n, v);
        for (size_t i = 0; i < n; i++)
            v[i] = v[i] > threshold;
        ox_elements_convert(y->dtype, (char *)y->data + at * size, OX_FLOAT64, v, n, true);
    }
    return OX_OK;
}

/* A list attribute of one value, or one a column. */
static enum ox_status column_values(struct ox_run *r, const char *name, size_t n, size_t cols,
                                    struct ox_error *err)
{
    if (n == 1 || n == cols)
        return OX_OK;
    return ox_run_fail(r, err, OX_INPUT, "attribute %s has %zu elements for %zu columns", name, n,
                       cols);
}

static enum ox_status columns(struct ox_run *r, const struct ox_tensor *x, size_t *cols,
                              struct ox_error *err)
{
    if (x->rank == 0)
        return ox_run_fail(r, err, OX_INPUT, "X is a scalar");
    *cols = (size_t)x->dims[x->rank == 1 ? 0 : 1];
    return OX_OK;
}

static enum ox_status run_scaler(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    size_t n_offset, n_scale, cols = 0;
    const float *offset = ox_run_floats(r, "offset", &n_offset);
    const float *scale = ox_run_floats(r, "scale", &n_scale);
    OX_TRY(columns(r, x, &cols, err));
    if (n_offset)
        OX_TRY(column_values(r, "offset", n_offset, cols, err));
    if (n_scale)
        OX_TRY(column_values(r, "scale", n_scale, cols, err));
    struct ox_tensor *y;
    OX_TRY(ox_run_out(r, 0, OX_FLOAT32, x->rank, x->dims, &y, err));
    double *row = ox_real_scratch(r, cols, err);
    if (!row)
        return OX_NO_MEMORY;
    for (size_t at = 0; at < x->n; at += cols) {
        ox_real_load(x, at, cols, row);
        for (size_t i = 0; i < cols && n_offset; i++)
            row[i] -= (double)offset[n_offset == 1 ? 0 : i];
        for (size_t i = 0; i < cols && n_scale; i++)
            row[i] *= (double)scale[n_scale == 1 ? 0 : i];
        ox_real_store(y, at, cols, row);
    }
    return OX_OK;
}

/* ---- Imputer ------------------------------------------------------------------------------------------------------ */

static enum ox_status impute_ints(struct ox_run *r, const struct ox_tensor *x, size_t cols,
                                  struct ox_tensor *y, struct ox_error *err)
{
    size_t n, size = ox_dtype_size(x->dtype);
    const int64_t *with = ox_run_ints(r, "imputed_value_int64s", &n);
    int64_t missing = ox_run_int(r, "replaced_value_int64", 0);
    OX_TRY(column_values(r, "imputed_value_int64s", n, cols, err));
    for (size_t i = 0; i < x->n; i++) {
        int64_t v = ox_tensor_get_int(x, i);
        if (v == missing)
            v = with[n == 1 ? 0 : i % cols];
        ox_elements_convert(y->dtype, (char *)y->data + i * size, OX_INT64, &v, 1, true);
    }
    return OX_OK;
}

static enum ox_status run_imputer(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    size_t n, n_ints, cols = 0;
    const float *with = ox_run_floats(r, "imputed_value_floats", &n);
    (void)ox_run_ints(r, "imputed_value_int64s", &n_ints);
    OX_TRY(columns(r, x, &cols, err));
    struct ox_tensor *y;
    OX_TRY(ox_run_out(r, 0, x->dtype, x->rank, x->dims, &y, err));
    if (n_ints && !ox_dtype_is_float(x->dtype))
        return impute_ints(r, x, cols, y, err);
    OX_TRY(column_values(r, "imputed_value_floats", n, cols, err));
    double missing = (double)ox_run_float(r, "replaced_value_float", 0);
    size_t size = ox_dtype_size(y->dtype);
    double *row = ox_real_scratch(r, cols, err);
    if (!row)
        return OX_NO_MEMORY;
    for (size_t at = 0; at < x->n; at += cols) {
        ox_real_load(x, at, cols, row);
        for (size_t i = 0; i < cols; i++)
            if (isnan(missing) ? isnan(row[i]) : row[i] == missing)
                row[i] = (double)with[n == 1 ? 0 : (at + i) % cols];
        ox_elements_convert(y->dtype, (char *)y->data + at * size, OX_FLOAT64, row, cols, true);
    }
    return OX_OK;
}

/* ---- Normalizer --------------------------------------------------------------------------------------------------- */

enum norm { NORM_MAX, NORM_L1, NORM_L2 };

/* What the elements are divided by; those of a sum of zero stay as they are. */
static double norm_of(enum norm norm, const double *v, size_t n, size_t step)
{
    double sum = norm == NORM_MAX ? -INFINITY : 0;
    for (size_t i = 0; i < n; i++) {
        double x = v[i * step];
        if (norm == NORM_MAX)
            sum = x > sum ? x : sum;
        else
            sum += norm == NORM_L1 ? fabs(x) : x * x;
    }
    if (norm == NORM_L2)
        sum = sqrt(sum);
    return sum == 0 ? 1 : sum;
}

/* Along the second axis (of a list along its only one), as onnxruntime does for every rank. */
static enum ox_status run_normalizer(struct ox_run *r, struct ox_error *err)
{
    static const char *const names[] = {"MAX", "L1", "L2"};
    const struct ox_tensor *x = ox_run_in(r, 0);
    const char *name = ox_run_string(r, "norm");
    size_t norm = 0, cols = 0, inner = 1;
    while (name && norm < OX_COUNT(names) && strcmp(name, names[norm]) != 0)
        norm++;
    if (norm == OX_COUNT(names))
        return ox_run_fail(r, err, OX_INPUT, "attribute norm is '%s'", name);
    OX_TRY(columns(r, x, &cols, err));
    for (unsigned i = 2; i < x->rank; i++)
        inner *= (size_t)x->dims[i];
    struct ox_tensor *y;
    OX_TRY(ox_run_out(r, 0, OX_FLOAT32, x->rank, x->dims, &y, err));
    double *slab = ox_real_scratch(r, cols * inner, err);
    if (!slab)
        return OX_NO_MEMORY;
    for (size_t at = 0; at < x->n; at += cols * inner) {
        ox_real_load(x, at, cols * inner, slab);
        for (size_t k = 0; k < inner; k++) {
            double by = norm_of((enum norm)norm, slab + k, cols, inner);
            for (size_t i = 0; i < cols; i++)
                slab[i * inner + k] /= by;
        }
        ox_real_store(y, at, cols * inner, slab);
    }
    return OX_OK;
}

/* ---- FeatureVectorizer -------------------------------------------------------------------------------------------- */

static enum ox_status vectorizer_width(struct ox_run *r, const int64_t *widths, size_t n,
                                       int64_t *total, struct ox_error *err)
{
    if (n != r->n_in)
        return ox_run_fail(r, err, OX_INPUT, "inputdimensions has %zu elements for %zu inputs", n,
                           r->n_in);
    *total = 0;
    for (size_t i = 0; i < n; i++)
        if (widths[i] < 0 || OX_ADD_OVERFLOWS(*total, widths[i], total))
            return ox_run_fail(r, err, OX_INPUT, "inputdimensions[%zu] is %" PRId64, i, widths[i]);
    return OX_OK;
}

/* Inputs side by side, each cut to its width or filled up with zeros; a list is one row, and of more than two axes those after the
 * first make the columns. */
static enum ox_status run_feature_vectorizer(struct ox_run *r, struct ox_error *err)
{
    size_t n, column = 0;
    int64_t total = 0;
    const int64_t *widths = ox_run_ints(r, "inputdimensions", &n);
    OX_TRY(vectorizer_width(r, widths, n, &total, err));
    const struct ox_tensor *first = ox_run_in(r, 0);
    size_t rows = first->rank > 1 ? (size_t)first->dims[0] : 1;
    const int64_t dims[2] = {(int64_t)rows, total};
    struct ox_tensor *y;
    OX_TRY(ox_run_out(r, 0, OX_FLOAT32, 2, dims, &y, err));
    memset(y->data, 0, y->n * ox_dtype_size(y->dtype));
    for (size_t k = 0; k < n; column += (size_t)widths[k++]) {
        const struct ox_tensor *x = ox_run_in(r, k);
        size_t own_rows = x->rank > 1 ? (size_t)x->dims[0] : 1;
        if (own_rows != rows)
            return ox_run_fail(r, err, OX_INPUT, "input %zu has %zu rows, the first one %zu", k,
                               own_rows, rows);
        if (x->n == 0)
            continue;
        size_t cols = x->n / rows, width = (size_t)widths[k];
        size_t take = cols < width ? cols : width;
        double *row = ox_real_scratch(r, take, err);
        if (!row)
            return OX_NO_MEMORY;
        for (size_t i = 0; i < rows; i++) {
            ox_real_load(x, i * cols, take, row);
            ox_real_store(y, i * (size_t)total + column, take, row);
        }
    }
    return OX_OK;
}

static void infer_feature_vectorizer(struct ox_infer *c)
{
    size_t n;
    const int64_t *widths = ox_infer_ints_attr(c, "inputdimensions", &n);
    int64_t total = 0;
    for (size_t i = 0; i < n; i++)
        if (widths[i] < 0 || OX_ADD_OVERFLOWS(total, widths[i], &total))
            return;
    ox_ml_infer_scores(c, 0, n ? total : -1);
}

static void infer_features(struct ox_infer *c)
{
    ox_infer_same_shape(c, 0, 0);
}

static void infer_same(struct ox_infer *c)
{
    ox_infer_same(c, 0, 0);
}

const struct ox_op ox_ops_ml_features[] = {
    {"ai.onnx.ml", "ArrayFeatureExtractor", 1, .infer = infer_array_feature_extractor,
     .run = run_array_feature_extractor},
    {"ai.onnx.ml", "Binarizer", 1, .infer = infer_same, .run = run_binarizer},
    {"ai.onnx.ml", "FeatureVectorizer", 1, .infer = infer_feature_vectorizer,
     .run = run_feature_vectorizer},
    {"ai.onnx.ml", "Imputer", 1, .infer = infer_same, .run = run_imputer},
    {"ai.onnx.ml", "Normalizer", 1, .infer = infer_features, .run = run_normalizer},
    {"ai.onnx.ml", "Scaler", 1, .infer = infer_features, .run = run_scaler},
    {0}};
