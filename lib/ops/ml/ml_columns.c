/* ArrayFeatureExtractor FeatureVectorizer: columns of features taken out and put side by side. */
#include <inttypes.h>
#include <string.h>

#include "ops/ml/ml_common.h"
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
    double *made = ox_real_scratch(r, y->n, err);
    if (!made)
        return OX_NO_MEMORY;
    memset(made, 0, y->n * sizeof *made);
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
        double *all = ox_real_scratch(r, x->n, err);
        if (!all)
            return OX_NO_MEMORY;
        ox_real_load(x, 0, x->n, all);
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < take; j++)
                made[i * (size_t)total + column + j] = all[i * cols + j];
    }
    ox_real_store(y, 0, y->n, made);
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

const struct ox_op ox_ops_ml_columns[] = {
    {"ai.onnx.ml", "ArrayFeatureExtractor", 1, .infer = infer_array_feature_extractor,
     .run = run_array_feature_extractor},
    {"ai.onnx.ml", "FeatureVectorizer", 1, .infer = infer_feature_vectorizer,
     .run = run_feature_vectorizer},
    {0}};
