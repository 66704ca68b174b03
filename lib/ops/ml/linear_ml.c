/* LinearClassifier LinearRegressor. */
#include <inttypes.h>

#include "kernels/dense.h"
#include "ops/fast/fast.h"
#include "ops/ml/ml_common.h"
#include "ops/product.h"
#include "ops/real.h"

/* Scores of rows: X by the coefficients, a row of them a score, and the intercepts. */
struct linear {
    struct ox_ml_rows rows;
    size_t n;   /* scores a row */
    bool spare; /* coefficients beyond those of the last score are left alone */
    enum ox_post_transform transform;
    const float *coefficients, *intercepts; /* intercepts: NULL or n */
    double *scores;                         /* [rows, n]; NULL where there are floats alone */
};

/* As many coefficients as the scores need; a classifier may have more (see run_linear_classifier). */
static bool coefficients_fit(const struct linear *l, size_t n, size_t *need)
{
    if (OX_MUL_OVERFLOWS(l->n, l->rows.cols, need))
        return false;
    return n == *need || (l->spare && n > *need && n % l->n == 0);
}

static enum ox_status read_linear(struct ox_run *r, struct linear *l, size_t *need,
                                  struct ox_error *err)
{
    size_t n_coefficients, n_intercepts;
    l->coefficients = ox_run_floats(r, "coefficients", &n_coefficients);
    l->intercepts = ox_run_floats(r, "intercepts", &n_intercepts);
    if (!coefficients_fit(l, n_coefficients, need))
        return ox_run_fail(r, err, OX_INPUT,
                           "there are %zu coefficients for %zu scores of %zu features",
                           n_coefficients, l->n, l->rows.cols);
    if (n_intercepts && n_intercepts != l->n)
        return ox_run_fail(r, err, OX_INPUT, "there are %zu intercepts for %zu scores",
                           n_intercepts, l->n);
    if (!n_intercepts)
        l->intercepts = NULL;
    return OX_OK;
}

static enum ox_status linear_scores(struct ox_run *r, struct linear *l, struct ox_error *err)
{
    size_t cols = l->rows.cols, need;
    OX_TRY(read_linear(r, l, &need, err));
    const double *x = ox_real_all(r, l->rows.x, err);
    double *weights = ox_real_scratch(r, need, err);
    size_t n_scores;
    if (OX_MUL_OVERFLOWS(l->rows.rows, l->n, &n_scores))
        return ox_run_fail(r, err, OX_LIMIT, "too many scores");
    l->scores = ox_real_scratch(r, n_scores, err);
    if ((!x && l->rows.x->n) || !weights || !l->scores)
        return OX_NO_MEMORY;
    /* By columns of scores, of which there are too few for products row by row. */
    for (size_t i = 0; i < cols; i++)
        for (size_t k = 0; k < l->n; k++)
            weights[i * l->n + k] = (double)l->coefficients[k * cols + i];
    struct ox_product p = {.dtype = OX_FLOAT64,
                           .m = l->rows.rows,
                           .n = l->n,
                           .k = cols,
                           .a = x,
                           .a_row = cols,
                           .a_col = 1,
                           .b = weights,
                           .b_row = l->n,
                           .b_col = 1,
                           .c = l->scores,
                           .ldc = l->n,
                           .batches = 1};
    OX_TRY(ox_product_run(r, &p, err));
    for (size_t i = 0; l->intercepts && i < l->rows.rows; i++)
        for (size_t k = 0; k < l->n; k++)
            l->scores[i * l->n + k] += (double)l->intercepts[k];
    return OX_OK;
}

/* The same of X as floats, in float32, into `scores` of [rows, n], of which there are some. */
static enum ox_status quick_scores(struct ox_run *r, const struct linear *l, const float *x,
                                   float *scores, struct ox_error *err)
{
    enum { MANY = 64 }; /* rows that pay for packed coefficients */
    const struct ox_compute *t = ox_compute(ox_cpu());
    const size_t cols = l->rows.cols;
    struct ox_dense d = {.m = l->rows.rows,
                         .n = l->n,
                         .k = cols,
                         .a = x,
                         .a_row = cols,
                         .a_col = 1,
                         .b = l->coefficients,
                         .b_row = 1,
                         .b_col = cols,
                         .c = scores,
                         .c_row = l->n,
                         .end.col_bias = l->intercepts};
    if (l->rows.rows >= MANY) {
        float *packed = ox_run_work(r, ox_dense_packed(t, cols, l->n), sizeof *packed, err);
        if (!packed)
            return err->status;
        ox_dense_pack(t, r->env, cols, l->n, d.b, OX_WEIGHT_F32, 1, cols, packed);
        d.packed = packed;
    }
    return ox_fast_product(r, &d, err);
}

/* Whether transforming a row's scores does anything: a single one is left alone by all but PROBIT, as onnxruntime does. */
static bool transforms(const struct linear *l)
{
    return l->transform == OX_POST_PROBIT || (l->n > 1 && l->transform != OX_POST_NONE);
}

enum { FEW_SCORES = 64, STRETCH = 64 /* rows */ };

/* The scores of rows from one place to another, which may be the same: paired ones two for one. */
static void finish_row(const struct linear *l, bool paired, const float *from, float *to)
{
    double wide[FEW_SCORES];
    const size_t n = paired ? 2 : l->n;
    if (paired) {
        ox_post_transform_pair(l->transform, 1 - (double)from[0], (double)from[0], wide);
    } else {
        for (size_t k = 0; k < n; k++)
            wide[k] = (double)from[k];
        ox_post_transform_row(l->transform, n, wide);
    }
    for (size_t k = 0; k < n; k++)
        to[k] = (float)wide[k];
}

/* Many short rows: their exponentials all at once. */
static void softmax_rows(size_t rows, size_t n, float *x)
{
    for (size_t i = 0; i < rows; i++) {
        float *row = x + i * n, max = row[0];
        for (size_t k = 1; k < n; k++)
            max = row[k] > max ? row[k] : max;
        for (size_t k = 0; k < n; k++)
            row[k] -= max;
    }
    ox_fast_rows()->unary[OX_UNARY_EXP](rows * n, x, x, 0, 0);
    for (size_t i = 0; i < rows; i++) {
        float *row = x + i * n, sum = 0;
        for (size_t k = 0; k < n; k++)
            sum += row[k];
        const float inverse = 1 / sum; /* of at least 1 */
        for (size_t k = 0; k < n; k++)
            row[k] *= inverse;
    }
}

static void logistic_rows(size_t rows, size_t n, bool paired, const float *from, float *to)
{
    for (size_t i = 0; paired && i < rows; i++) {
        to[2 * i] = -from[i];
        to[2 * i + 1] = from[i];
    }
    const size_t all = rows * (paired ? 2 : n);
    ox_fast_rows()->unary[OX_UNARY_SIGMOID](all, paired ? to : from, to, 0, 0);
}

static void finish_rows(const struct linear *l, bool paired, size_t rows, const float *from,
                        float *to)
{
    const size_t n = l->n, columns = paired ? 2 : n;
    if (l->transform == OX_POST_LOGISTIC)
        logistic_rows(rows, n, paired, from, to);
    else if (l->transform == OX_POST_SOFTMAX && from == to)
        softmax_rows(rows, n, to);
    else
        for (size_t i = 0; i < rows; i++)
            finish_row(l, paired, from + i * n, to + i * columns);
}

static enum ox_status read_regressor(struct ox_run *r, struct linear *l, struct ox_error *err)
{
    int64_t targets = ox_run_int(r, "targets", 1);
    OX_TRY(ox_ml_rows(r, &l->rows, err));
    OX_TRY(ox_post_transform(r, &l->transform, err));
    if (targets < 1)
        return ox_run_fail(r, err, OX_INPUT, "attribute targets is %" PRId64, targets);
    l->n = (size_t)targets;
    return OX_OK;
}

static enum ox_status run_linear_regressor(struct ox_run *r, struct ox_error *err)
{
    struct linear l = {.spare = false};
    OX_TRY(read_regressor(r, &l, err));
    OX_TRY(linear_scores(r, &l, err));
    for (size_t i = 0; transforms(&l) && i < l.rows.rows; i++)
        ox_post_transform_row(l.transform, l.n, l.scores + i * l.n);
    return ox_real_out(r, 0, OX_FLOAT32, 2, (const int64_t[]){(int64_t)l.rows.rows, (int64_t)l.n},
                       l.scores, err);
}

static enum ox_status fast_linear_regressor(struct ox_run *r, struct ox_error *err)
{
    struct linear l = {.spare = false};
    size_t need;
    OX_TRY(read_regressor(r, &l, err));
    if (l.rows.x->dtype != OX_FLOAT32 || !l.rows.x->n || (transforms(&l) && l.n > FEW_SCORES))
        return OX_UNSUPPORTED;
    OX_TRY(read_linear(r, &l, &need, err));
    struct ox_tensor *y;
    const int64_t dims[2] = {(int64_t)l.rows.rows, (int64_t)l.n};
    OX_TRY(ox_run_out(r, 0, OX_FLOAT32, 2, dims, &y, err));
    float *scores = y->data;
    OX_TRY(quick_scores(r, &l, l.rows.x->data, scores, err));
    if (transforms(&l))
        finish_rows(&l, false, l.rows.rows, scores, scores);
    return OX_OK;
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

static size_t pick_of_floats(const float *scores, size_t n)
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
static enum ox_status read_classifier(struct ox_run *r, struct linear *l,
                                      struct ox_ml_labels *labels, struct ox_error *err)
{
    size_t n_coefficients, n_intercepts;
    OX_TRY(ox_ml_rows(r, &l->rows, err));
    OX_TRY(ox_post_transform(r, &l->transform, err));
    ox_ml_labels(r, "classlabels_ints", "classlabels_strings", labels);
    (void)ox_run_floats(r, "coefficients", &n_coefficients);
    (void)ox_run_floats(r, "intercepts", &n_intercepts);
    if ((l->rows.cols == 0 && n_intercepts == 0) || n_coefficients == 0)
        return ox_run_fail(r, err, OX_INPUT, "there are no features or no coefficients");
    l->n = n_intercepts ? n_intercepts : n_coefficients / l->rows.cols;
    l->spare = n_intercepts > 0;
    return OX_OK;
}

static enum ox_status run_linear_classifier(struct ox_run *r, struct ox_error *err)
{
    struct linear l;
    struct ox_ml_labels labels;
    OX_TRY(read_classifier(r, &l, &labels, err));
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
        else if (transforms(&l))
            ox_post_transform_row(l.transform, l.n, scores);
        if (paired)
            ox_real_store(z, i * columns, columns, pair);
    }
    if (!paired)
        ox_real_store(z, 0, z->n, l.scores);
    return ox_ml_labels_out(r, 0, &labels, l.rows.rows, picked, err);
}

/* Rows of scores in float32: the label of each, and what becomes of its scores. */
struct classes {
    const struct linear *l;
    bool paired;
    const float *scores;
    float *z; /* the scores' own memory where a row stays as it is */
    size_t *picked;
};

static void classify_rows(void *arg, size_t from, size_t to)
{
    const struct classes *c = arg;
    const size_t n = c->l->n, columns = c->paired ? 2 : n;
    for (size_t at = from; at < to; at += STRETCH) {
        const size_t rows = to - at < STRETCH ? to - at : STRETCH;
        const float *scores = c->scores + at * n;
        for (size_t i = 0; i < rows; i++)
            c->picked[at + i] = c->l->scores ? pick(c->l->scores + (at + i) * n, n)
                                             : pick_of_floats(scores + i * n, n);
        if (c->paired || transforms(c->l))
            finish_rows(c->l, c->paired, rows, scores, c->z + at * columns);
    }
}

/* The scores in float32, into `scores` of [rows, n], of which there are some. Integers are taken as floats; doubles may be close
 * together and far from 0. */
static enum ox_status narrow_scores(struct ox_run *r, struct linear *l, float *scores,
                                    struct ox_error *err)
{
    const struct ox_tensor *x = l->rows.x;
    if (x->dtype == OX_FLOAT32)
        return quick_scores(r, l, x->data, scores, err);
    if (x->dtype == OX_FLOAT64) {
        OX_TRY(linear_scores(r, l, err));
        ox_real_convert(OX_FLOAT32, scores, OX_FLOAT64, l->scores, l->rows.rows * l->n);
        return OX_OK;
    }
    float *floats = ox_run_work(r, x->n, sizeof *floats, err);
    if (!floats)
        return err->status;
    ox_real_convert(OX_FLOAT32, floats, x->dtype, x->data, x->n);
    return quick_scores(r, l, floats, scores, err);
}

static enum ox_status fast_linear_classifier(struct ox_run *r, struct ox_error *err)
{
    enum { A_ROW = 5, A_SCORE = 2 }; /* ns */
    struct linear l = {.scores = NULL};
    struct ox_ml_labels labels;
    size_t need;
    OX_TRY(read_classifier(r, &l, &labels, err));
    const bool rounds = l.transform == OX_POST_PROBIT || l.transform == OX_POST_SOFTMAX_ZERO;
    if (!l.rows.x->n || l.n > FEW_SCORES || (l.rows.x->dtype == OX_FLOAT64 && rounds))
        return OX_UNSUPPORTED;
    OX_TRY(read_linear(r, &l, &need, err));
    struct classes c = {.l = &l, .paired = l.n == 1 && labels.n == 2};
    const int64_t dims[2] = {(int64_t)l.rows.rows, c.paired ? 2 : (int64_t)l.n};
    struct ox_tensor *z;
    OX_TRY(ox_run_out(r, 1, OX_FLOAT32, 2, dims, &z, err));
    c.z = z->data;
    float *scores = c.paired ? ox_run_work(r, l.rows.rows, sizeof *scores, err) : z->data;
    c.picked = ox_run_work(r, l.rows.rows, sizeof *c.picked, err);
    if (!scores || !c.picked)
        return err->status;
    c.scores = scores;
    OX_TRY(narrow_scores(r, &l, scores, err));
    ox_fast_spread(r->env, l.rows.rows, STRETCH, A_ROW + A_SCORE * (double)l.n, classify_rows, &c);
    return ox_ml_labels_out(r, 0, &labels, l.rows.rows, c.picked, err);
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
    {"ai.onnx.ml", "LinearClassifier", 1, OX_OP_DOUBLE, .infer = infer_linear_classifier,
     .run = run_linear_classifier, .fast = fast_linear_classifier},
    {"ai.onnx.ml", "LinearRegressor", 1, .infer = infer_linear_regressor,
     .run = run_linear_regressor, .fast = fast_linear_regressor},
    {0}};
