/* Binarizer Imputer Scaler: features made ready, element by element. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ops/fast/fast.h"
#include "ops/ml/ml_common.h"
#include "ops/real.h"

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
    OX_TRY(ox_ml_columns(r, x, &cols, err));
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
    OX_TRY(ox_ml_columns(r, x, &cols, err));
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

static void infer_scaler(struct ox_infer *c)
{
    ox_infer_same_shape(c, 0, 0);
}

static void infer_same(struct ox_infer *c)
{
    ox_infer_same(c, 0, 0);
}

const struct ox_op ox_ops_ml_features[] = {
    {"ai.onnx.ml", "Binarizer", 1, .infer = infer_same, .run = run_binarizer},
    {"ai.onnx.ml", "Imputer", 1, .infer = infer_same, .run = run_imputer},
    {"ai.onnx.ml", "Scaler", 1, .infer = infer_scaler, .run = run_scaler},
    {0}};
