/* ArrayFeatureExtractor Binarizer FeatureVectorizer Imputer Normalizer Scaler: columns of features made ready. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "kernels/folds.h"
#include "kernels/inline.h"
#include "ops/fast.h"
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
    return ox_move_own_of(z, x, err);
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

enum { CHUNK = 512 }; /* elements worked on at a time */
static const double NS_AN_ELEMENT = 0.5;

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

/* A list of one value or one a column, repeated over whole rows: element i of a tensor meets value i % n. */
struct repeated {
    size_t n;
    const double *values;
};

static enum ox_status repeat(struct ox_run *r, const struct ox_tensor *x, size_t cols,
                             const float *list, size_t n_list, double without, struct repeated *out,
                             struct ox_error *err)
{
    const size_t rows = cols ? (CHUNK - 1) / cols + 1 : 0;
    const size_t n = cols * rows < x->n ? cols * rows : x->n;
    double *values = ox_real_scratch(r, n, err);
    if (!values)
        return OX_NO_MEMORY;
    for (size_t i = 0; i < n; i++)
        values[i] = n_list == 0   ? without
                    : n_list == 1 ? (double)list[0]
                    : i < cols    ? (double)list[i]
                                  : values[i - cols];
    *out = (struct repeated){n, values};
    return OX_OK;
}

/* Elements of x that are worked on at once from element `at` on, up to `end`: not over the end of the repeated values. */
static size_t chunk_at(const struct repeated *v, size_t at, size_t end)
{
    const size_t left = v->n - at % v->n, n = left < CHUNK ? left : CHUNK;
    return end - at < n ? end - at : n;
}

struct scaling {
    const struct ox_tensor *x;
    struct ox_tensor *y;
    struct repeated offset, scale;
};

static void scale_elements(void *arg, size_t from, size_t to)
{
    const struct scaling *s = arg;
    double v[CHUNK];
    for (size_t at = from, n; at < to; at += n) {
        n = chunk_at(&s->offset, at, to);
        const double *offset = s->offset.values + at % s->offset.n;
        const double *scale = s->scale.values + at % s->scale.n;
        ox_real_load(s->x, at, n, v);
        for (size_t i = 0; i < n; i++)
            v[i] = (v[i] - offset[i]) * scale[i];
        ox_real_store(s->y, at, n, v);
    }
}

static enum ox_status run_scaler(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    struct scaling s = {.x = x};
    size_t n_offset, n_scale, cols = 0;
    const float *offset = ox_run_floats(r, "offset", &n_offset);
    const float *scale = ox_run_floats(r, "scale", &n_scale);
    OX_TRY(columns(r, x, &cols, err));
    if (n_offset)
        OX_TRY(column_values(r, "offset", n_offset, cols, err));
    if (n_scale)
        OX_TRY(column_values(r, "scale", n_scale, cols, err));
    OX_TRY(ox_run_out(r, 0, OX_FLOAT32, x->rank, x->dims, &s.y, err));
    OX_TRY(repeat(r, x, cols, offset, n_offset, 0, &s.offset, err));
    OX_TRY(repeat(r, x, cols, scale, n_scale, 1, &s.scale, err));
    ox_fast_spread(r->env, x->n, CHUNK, NS_AN_ELEMENT, scale_elements, &s);
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
    if (x->dtype == OX_INT64) {
        const int64_t *from = x->data;
        int64_t *to = y->data;
        for (size_t at = 0; at < x->n; at += cols)
            for (size_t i = 0; i < cols; i++)
                to[at + i] = from[at + i] == missing ? with[n == 1 ? 0 : i] : from[at + i];
        return OX_OK;
    }
    for (size_t i = 0; i < x->n; i++) {
        int64_t v = ox_tensor_get_int(x, i);
        if (v == missing)
            v = with[n == 1 ? 0 : i % cols];
        ox_elements_convert(y->dtype, (char *)y->data + i * size, OX_INT64, &v, 1, true);
    }
    return OX_OK;
}

struct imputing {
    const struct ox_tensor *x;
    struct ox_tensor *y;
    struct repeated with;
    double missing;
};

static void impute_floats(void *arg, size_t from, size_t to)
{
    const struct imputing *s = arg;
    const float missing = (float)s->missing;
    for (size_t at = from, n; at < to; at += n) {
        n = chunk_at(&s->with, at, to);
        const double *with = s->with.values + at % s->with.n;
        const float *x = (const float *)s->x->data + at;
        float *y = (float *)s->y->data + at;
        for (size_t i = 0; isnan(missing) && i < n; i++)
            y[i] = isnan(x[i]) ? (float)with[i] : x[i];
        for (size_t i = 0; !isnan(missing) && i < n; i++)
            y[i] = x[i] == missing ? (float)with[i] : x[i];
    }
}

static void impute_elements(void *arg, size_t from, size_t to)
{
    const struct imputing *s = arg;
    const bool nan = isnan(s->missing);
    const size_t size = ox_dtype_size(s->y->dtype);
    double v[CHUNK];
    for (size_t at = from, n; at < to; at += n) {
        n = chunk_at(&s->with, at, to);
        const double *with = s->with.values + at % s->with.n;
        ox_real_load(s->x, at, n, v);
        for (size_t i = 0; nan && i < n; i++)
            v[i] = isnan(v[i]) ? with[i] : v[i];
        for (size_t i = 0; !nan && i < n; i++)
            v[i] = v[i] == s->missing ? with[i] : v[i];
        ox_elements_convert(s->y->dtype, (char *)s->y->data + at * size, OX_FLOAT64, v, n, true);
    }
}

static enum ox_status run_imputer(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    struct imputing s = {.x = x, .missing = (double)ox_run_float(r, "replaced_value_float", 0)};
    size_t n, n_ints, cols = 0;
    const float *with = ox_run_floats(r, "imputed_value_floats", &n);
    (void)ox_run_ints(r, "imputed_value_int64s", &n_ints);
    OX_TRY(columns(r, x, &cols, err));
    OX_TRY(ox_run_out(r, 0, x->dtype, x->rank, x->dims, &s.y, err));
    if (n_ints && !ox_dtype_is_float(x->dtype))
        return impute_ints(r, x, cols, s.y, err);
    OX_TRY(column_values(r, "imputed_value_floats", n, cols, err));
    OX_TRY(repeat(r, x, cols, with, n, 0, &s.with, err));
    const bool floats = x->dtype == OX_FLOAT32 && s.y->dtype == OX_FLOAT32;
    ox_fast_spread(r->env, x->n, CHUNK, NS_AN_ELEMENT, floats ? impute_floats : impute_elements,
                   &s);
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

struct normalizing {
    const struct ox_tensor *x;
    struct ox_tensor *y;
    enum norm norm;
    size_t cols, inner; /* elements of a norm, and from one of them to the next */
    double *slab;       /* cols * inner */
};

/* Those of floats: the inverse of what they are divided by is exact enough in double, and of no float infinite. Long rows are summed
 * in parts that do not wait for each other. */
INLINE double inverse_norm(enum norm norm, const float *x, size_t n)
{
    enum { ABREAST = 8 };
    double sum[ABREAST] = {0};
    float max[ABREAST];
    size_t i = 0;
    for (size_t k = 0; k < ABREAST; k++)
        max[k] = -INFINITY;
    for (; i + ABREAST <= n; i += ABREAST)
        for (size_t k = 0; k < ABREAST; k++) {
            const float v = x[i + k];
            if (norm == NORM_MAX)
                max[k] = v > max[k] ? v : max[k];
            else
                sum[k] += norm == NORM_L1 ? (double)fabsf(v) : (double)v * (double)v;
        }
    for (; i < n; i++) {
        const float v = x[i];
        max[0] = v > max[0] ? v : max[0];
        sum[0] += norm == NORM_L1 ? (double)fabsf(v) : (double)v * (double)v;
    }
    for (size_t k = 1; n >= ABREAST && k < ABREAST; k++) {
        max[0] = max[k] > max[0] ? max[k] : max[0];
        sum[0] += sum[k];
    }
    const double by = norm == NORM_MAX ? (double)max[0] : norm == NORM_L2 ? sqrt(sum[0]) : sum[0];
    return by == 0 ? 1 : 1 / by;
}

INLINE void normalize_rows(enum norm norm, size_t rows, size_t n, const float *x, float *y)
{
    for (size_t row = 0; row < rows; row++, x += n, y += n) {
        const double by = inverse_norm(norm, x, n);
        for (size_t i = 0; i < n; i++)
            y[i] = (float)((double)x[i] * by);
    }
}

/* Built for the numbers of columns that are short of what a loop is worth. */
INLINE void normalize_columns(enum norm norm, size_t rows, size_t n, const float *x, float *y)
{
    switch (n) {
    case 2:
        normalize_rows(norm, rows, 2, x, y);
        break;
    case 3:
        normalize_rows(norm, rows, 3, x, y);
        break;
    case 4:
        normalize_rows(norm, rows, 4, x, y);
        break;
    default:
        normalize_rows(norm, rows, n, x, y);
    }
}

enum { LONG_ROW = 8 };

/* Long rows by what a float holds; false: their sum is beyond that. */
static bool normalize_long(size_t n, const float *x, float *y)
{
    const struct ox_rows *t = ox_fast_rows();
    float by = t->sum_of_abs(n, x);
    if (isinf(by))
        return false;
    by = by == 0 ? 1 : by;
    t->binary[OX_BINARY_DIV][OX_ROW_RIGHT_ONE](n, x, &by, y);
    return true;
}

/* By the greatest elements of rows together. NaN is not one here, other than in the fold. */
static void normalize_by_greatest(size_t rows, size_t n, const float *x, float *y)
{
    enum { TOGETHER = 64 };
    const struct ox_fold *greatest = ox_folds(ox_cpu())->of[OX_FOLD_GREATEST][OX_FLOAT32];
    const struct ox_rows *t = ox_fast_rows();
    float by[TOGETHER];
    for (size_t row = 0; row < rows; row++, x += n, y += n) {
        const size_t which = row % TOGETHER, left = rows - row;
        if (which == 0) {
            greatest->start(by, left < TOGETHER ? left : TOGETHER);
            greatest->rows(by, x, left < TOGETHER ? left : TOGETHER, n);
        }
        by[which] = by[which] == 0 ? 1 : by[which];
        if (isnan(by[which]))
            normalize_rows(NORM_MAX, 1, n, x, y);
        else
            t->binary[OX_BINARY_DIV][OX_ROW_RIGHT_ONE](n, x, by + which, y);
    }
}

static void normalize_floats(void *arg, size_t from, size_t to)
{
    const struct normalizing *s = arg;
    const size_t n = s->cols;
    const float *x = (const float *)s->x->data + from * n;
    float *y = (float *)s->y->data + from * n;
    if (s->norm == NORM_L2) {
        normalize_columns(NORM_L2, to - from, n, x, y);
    } else if (n < LONG_ROW && s->norm == NORM_L1) {
        normalize_columns(NORM_L1, to - from, n, x, y);
    } else if (n < LONG_ROW) {
        normalize_columns(NORM_MAX, to - from, n, x, y);
    } else if (s->norm == NORM_MAX) {
        normalize_by_greatest(to - from, n, x, y);
    } else {
        for (size_t row = from; row < to; row++, x += n, y += n)
            if (!normalize_long(n, x, y))
                normalize_rows(NORM_L1, 1, n, x, y);
    }
}

static void normalize_slabs(const struct normalizing *s)
{
    const size_t n = s->cols * s->inner;
    for (size_t at = 0; at < s->x->n; at += n) {
        ox_real_load(s->x, at, n, s->slab);
        for (size_t k = 0; k < s->inner; k++) {
            double by = norm_of(s->norm, s->slab + k, s->cols, s->inner);
            for (size_t i = 0; i < s->cols; i++)
                s->slab[i * s->inner + k] /= by;
        }
        ox_real_store(s->y, at, n, s->slab);
    }
}

/* Along the second axis (of a list along its only one), as onnxruntime does for every rank. */
static enum ox_status normalize(struct ox_run *r, bool quick, struct ox_error *err)
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
    quick = quick && inner == 1 && x->dtype == OX_FLOAT32;
    struct normalizing s = {.x = x, .norm = (enum norm)norm, .cols = cols, .inner = inner};
    OX_TRY(ox_run_out(r, 0, OX_FLOAT32, x->rank, x->dims, &s.y, err));
    if (!quick && !(s.slab = ox_real_scratch(r, cols * inner, err)))
        return OX_NO_MEMORY;
    if (quick && x->n)
        ox_fast_spread(r->env, x->n / cols, CHUNK / cols + 1, (double)cols * NS_AN_ELEMENT,
                       normalize_floats, &s);
    else if (x->n)
        normalize_slabs(&s);
    return OX_OK;
}

static enum ox_status run_normalizer(struct ox_run *r, struct ox_error *err)
{
    return normalize(r, false, err);
}

static enum ox_status fast_normalizer(struct ox_run *r, struct ox_error *err)
{
    return normalize(r, true, err);
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
    {"ai.onnx.ml", "Normalizer", 1, .infer = infer_features, .run = run_normalizer,
     .fast = fast_normalizer},
    {"ai.onnx.ml", "Scaler", 1, .infer = infer_features, .run = run_scaler},
    {0}};
