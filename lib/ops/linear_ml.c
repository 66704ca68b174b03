/* LinearClassifier LinearRegressor. */
#include <inttypes.h>

#include "ops/ml_common.h"
#include "ops/product.h"
#include "ops/real.h"

/* Scores of rows: X by the coefficients, a row of them a score, and the intercepts. */
struct linear {
    struct ox_ml_rows rows;
    size_t n;   /* scores a row */
    bool spare; /* coefficients beyond those of the last score are left alone */
    enum ox_post_transform transform;
    double *scores; /* [rows, n] */
};

/* As many coefficients as the scores need; a classifier may have more (see run_linear_classifier). */
static bool coefficients_fit(const struct linear *l, size_t n, size_t *need)
{
    if (OX_MUL_OVERFLOWS(l->n, l->rows.cols, need))
        return false;
    return n == *need || (l->spare && n > *need && n % l->n == 0);
}

static enum ox_status linear_scores(struct ox_run *r, struct linear *l, struct ox_error *err)
{
    size_t n_coefficients, n_intercepts;
    const float *coefficients = ox_run_floats(r, "coefficients", &n_coefficients);
    const float *intercepts = ox_run_floats(r, "intercepts", &n_intercepts);
    size_t cols = l->rows.cols, need;
    if (!coefficients_fit(l, n_coefficients, &need))
        return ox_run_fail(r, err, OX_INPUT,
                           "there are %zu coefficients for %zu scores of %zu features",
                           n_coefficients, l->n, cols);
    if (n_intercepts && n_intercepts != l->n)
        return ox_run_fail(r, err, OX_INPUT, "there are %zu intercepts for %zu scores",
                           n_intercepts, l->n);
    const double *x = ox_real_all(r, l->rows.x, err);
    double *weights = ox_real_scratch(r, need, err);
    size_t n_scores;
    if (OX_MUL_OVERFLOWS(l->rows.rows, l->n, &n_scores))
        return ox_run_fail(r, err, OX_LIMIT, "too many scores");
    l->scores = ox_real_scratch(r, n_scores, err);
    if ((!x && l->rows.x->n) || !weights || !l->scores)
        return OX_NO_MEMORY;
    for (size_t i = 0; i < need; i++)
        weights[i] = (double)coefficients[i];
    struct ox_product p = {.dtype = OX_FLOAT64,
                           .m = l->rows.rows,
                           .n = l->n,
                           .k = cols,
                           .a = x,
                           .a_row = cols,
                           .a_col = 1,
                           .b = weights,
                           .b_row = 1,
                           .b_col = cols,
                           .c = l->scores,
                           .ldc = l->n,
                           .batches = 1};
    OX_TRY(ox_product_run(r, &p, err));
    for (size_t i = 0; n_intercepts && i < l->rows.rows; i++)
        for (size_t k = 0; k < l->n; k++)
            l->scores[i * l->n + k] += (double)intercepts[k];
    return OX_OK;
}

static enum ox_status run_linear_regressor(struct ox_run *r, struct ox_error *err)
{
    struct linear l = {.spare = false};
    int64_t targets = ox_run_int(r, "targets", 1);
    OX_TRY(ox_ml_rows(r, &l.rows, err));
    OX_TRY(ox_post_transform(r, &l.transform, err));
    if (targets < 1)
        return ox_run_fail(r, err, OX_INPUT, "attribute targets is %" PRId64, targets);
    l.n = (size_t)targets;
    OX_TRY(linear_scores(r, &l, err));
    /* A single score is left alone by all but PROBIT, as onnxruntime does. */
    if (l.n > 1 || l.transform == OX_POST_PROBIT)
        for (size_t i = 0; i < l.rows.rows; i++)
            ox_post_transform_row(l.transform, l.n, l.scores + i * l.n);
    return ox_real_out(r, 0, OX_FLOAT32, 2, (const int64_t[]){(int64_t)l.rows.rows, targets},
                       l.scores, err);
}

/* The label of a row: that of the greatest score, the first of equal ones; of a lone score the sign. */
static size_t pick(const double *scores, size_t n)
{
    size_t best = 0;
    if (n == 1)
        return scores[0] > 0;
    for (size_t k = 1; k < n; k++)
        if (scores[k] > scores[best])
            best = k;
    return best;
}

/* There are as many scores as intercepts. Rows of coefficients lie at the distance of X's features, so that a narrower X than the
 * model was made for meets the first of them and none of the last, as in onnxruntime: of this the standard says nothing. */
static enum ox_status run_linear_classifier(struct ox_run *r, struct ox_error *err)
{
    struct linear l;
    struct ox_ml_labels labels;
    size_t n_coefficients, n_intercepts;
    OX_TRY(ox_ml_rows(r, &l.rows, err));
    OX_TRY(ox_post_transform(r, &l.transform, err));
    ox_ml_labels(r, "classlabels_ints", "classlabels_strings", &labels);
    (void)ox_run_floats(r, "coefficients", &n_coefficients);
    (void)ox_run_floats(r, "intercepts", &n_intercepts);
    if ((l.rows.cols == 0 && n_intercepts == 0) || n_coefficients == 0)
        return ox_run_fail(r, err, OX_INPUT, "there are no features or no coefficients");
    l.n = n_intercepts ? n_intercepts : n_coefficients / l.rows.cols;
    l.spare = n_intercepts > 0;
    OX_TRY(linear_scores(r, &l, err));
    bool paired = l.n == 1 && labels.n == 2;
    size_t columns = paired ? 2 : l.n;
    size_t *picked = ox_run_scratch(r, l.rows.rows, sizeof *picked, err);
    const int64_t dims[2] = {(int64_t)l.rows.rows, (int64_t)columns};
    struct ox_tensor *z;
    OX_TRY(ox_run_out(r, 1, OX_FLOAT32, 2, dims, &z, err));
    if (!picked)
        return OX_NO_MEMORY;
    for (size_t i = 0; i < l.rows.rows; i++) {
        double *scores = l.scores + i * l.n;
        picked[i] = pick(scores, l.n);
        double pair[2];
        if (paired)
            ox_post_transform_pair(l.transform, 1 - scores[0], scores[0], pair);
        else if (l.n > 1 || l.transform == OX_POST_PROBIT)
            ox_post_transform_row(l.transform, l.n, scores);
        ox_real_store(z, i * columns, columns, paired ? pair : scores);
    }
    return ox_ml_labels_out(r, 0, &labels, l.rows.rows, picked, err);
}

static void infer_linear_regressor(struct ox_infer *c)
{
    ox_ml_infer_scores(c, 0, ox_infer_int_attr(c, "targets", 1));
}

static void infer_linear_classifier(struct ox_infer *c)
{
    size_t strings = ox_ml_attr_count(c, "classlabels_strings");
    size_t labels = strings ? strings : ox_ml_attr_count(c, "classlabels_ints");
    size_t scores = ox_ml_attr_count(c, "intercepts");
    ox_ml_infer_labels(c, 0, "classlabels_ints", "classlabels_strings");
    scores = scores == 1 && labels == 2 ? 2 : scores;
    ox_ml_infer_scores(c, 1, scores ? (int64_t)scores : -1);
}

const struct ox_op ox_ops_linear_ml[] = {
    {"ai.onnx.ml", "LinearClassifier", 1, .infer = infer_linear_classifier,
     .run = run_linear_classifier},
    {"ai.onnx.ml", "LinearRegressor", 1, .infer = infer_linear_regressor,
     .run = run_linear_regressor},
    {0}};
