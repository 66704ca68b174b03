#include "ops/ml/ml_common.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- Transforms --------------------------------------------------------------------------------------------------- */

enum ox_status ox_post_transform(const struct ox_run *r, enum ox_post_transform *out,
                                 struct ox_error *err)
{
    static const char *const names[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
    const char *name = ox_run_string(r, "post_transform");
    *out = OX_POST_NONE;
    for (size_t i = 0; name && i < OX_COUNT(names); i++)
        if (strcmp(name, names[i]) == 0) {
            *out = (enum ox_post_transform)i;
            return OX_OK;
        }
    return name ? ox_run_fail(r, err, OX_INPUT, "attribute post_transform is '%s'", name) : OX_OK;
}

double ox_logistic(double x)
{
    double v = 1 / (1 + exp(-fabs(x)));
    return x < 0 ? 1 - v : v;
}

double ox_probit(double x)
{
    const double pi = 3.14159265358979323846, a = 0.147;
    double y = 2 * x - 1, l = log((1 - y) * (1 + y));
    double half = 2 / (pi * a) + l / 2;
    double root = sqrt(sqrt(half * half - l / a) - half);
    return sqrt(2) * (y < 0 ? -root : root);
}

/* Scores that are zero, to 1e-7, keep weight zero among those that are not. */
static void softmax(bool keep_zero, size_t n, double *scores)
{
    double max = scores[0], sum = 0;
    for (size_t i = 1; i < n; i++)
        max = scores[i] > max ? scores[i] : max;
    for (size_t i = 0; i < n; i++) {
        if (keep_zero && fabs(scores[i]) <= 1e-7)
            scores[i] *= exp(-max);
        else
            scores[i] = exp(scores[i] - max);
        sum += scores[i];
    }
    for (size_t i = 0; i < n; i++)
        scores[i] = keep_zero && sum == 0 ? 0.5 : scores[i] / sum;
}

void ox_post_transform_row(enum ox_post_transform transform, size_t n, double *scores)
{
    if (n == 0 || transform == OX_POST_NONE)
        return;
    if (transform == OX_POST_SOFTMAX || transform == OX_POST_SOFTMAX_ZERO) {
        softmax(transform == OX_POST_SOFTMAX_ZERO, n, scores);
        return;
    }
    for (size_t i = 0; i < n; i++)
        scores[i] = transform == OX_POST_LOGISTIC ? ox_logistic(scores[i]) : ox_probit(scores[i]);
}

void ox_post_transform_pair(enum ox_post_transform transform, double first, double score,
                            double pair[2])
{
    pair[0] = first;
    pair[1] = score;
    if (transform == OX_POST_LOGISTIC)
        pair[0] = -score;
    if (transform == OX_POST_PROBIT)
        pair[0] = 1 - score;
    if (transform == OX_POST_LOGISTIC || transform == OX_POST_PROBIT)
        ox_post_transform_row(transform, 2, pair);
}

/* ---- Rows and labels ---------------------------------------------------------------------------------------------- */

enum ox_status ox_ml_columns(struct ox_run *r, const struct ox_tensor *x, size_t *cols,
                             struct ox_error *err)
{
    if (x->rank == 0)
        return ox_run_fail(r, err, OX_INPUT, "X is a scalar");
    *cols = (size_t)x->dims[x->rank == 1 ? 0 : 1];
    return OX_OK;
}

enum ox_status ox_ml_rows(struct ox_run *r, struct ox_ml_rows *rows, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    if (x->rank < 1 || x->rank > 2)
        return ox_run_fail(r, err, OX_INPUT, "X has rank %u: neither a list nor a matrix", x->rank);
    *rows = (struct ox_ml_rows){.x = x};
    rows->rows = x->rank == 2 ? (size_t)x->dims[0] : 1;
    rows->cols = (size_t)x->dims[x->rank - 1];
    return OX_OK;
}

void ox_ml_labels(const struct ox_run *r, const char *ints, const char *strings,
                  struct ox_ml_labels *labels)
{
    *labels = (struct ox_ml_labels){0};
    labels->strings = ox_run_strings(r, strings, &labels->n);
    if (labels->n)
        return;
    labels->strings = NULL;
    labels->ints = ox_run_ints(r, ints, &labels->n);
}

/* Labels that are strings: the characters of each are copied once. */
static enum ox_status strings_out(struct ox_run *r, struct ox_tensor *out,
                                  const struct ox_ml_labels *labels, const size_t *picked,
                                  struct ox_error *err)
{
    struct ox_str *to = out->data, *made = ox_run_scratch(r, labels->n, sizeof *made, err);
    if (!made)
        return OX_NO_MEMORY;
    for (size_t k = 0; k < out->n; k++) {
        const size_t at = picked[k];
        if (at >= labels->n) {
            char digits[24];
            int length = snprintf(digits, sizeof digits, "%zu", at);
            OX_TRY(ox_tensor_set_string(out, k, digits, (size_t)length, err));
        } else if (made[at].p) {
            to[k] = made[at];
        } else {
            OX_TRY(ox_tensor_set_string(out, k, labels->strings[at].p, labels->strings[at].n, err));
            made[at] = to[k];
        }
    }
    return OX_OK;
}

enum ox_status ox_ml_labels_out(struct ox_run *r, size_t i, const struct ox_ml_labels *labels,
                                size_t n, const size_t *picked, struct ox_error *err)
{
    struct ox_tensor *out;
    int64_t rows = (int64_t)n;
    OX_TRY(ox_run_out(r, i, labels->strings ? OX_STRING : OX_INT64, 1, &rows, &out, err));
    if (labels->strings)
        return strings_out(r, out, labels, picked, err);
    int64_t *to = out->data;
    for (size_t k = 0; k < n; k++)
        to[k] = picked[k] < labels->n ? labels->ints[picked[k]] : (int64_t)picked[k];
    return OX_OK;
}

/* ---- Shapes ------------------------------------------------------------------------------------------------------- */

size_t ox_ml_attr_count(const struct ox_infer *c, const char *name)
{
    const struct ox_attr *attr = ox_infer_attr(c, name);
    return attr ? attr->n : 0;
}

size_t ox_ml_attr_length(const struct ox_infer *c, const char *name)
{
    const struct ox_attr *attr = ox_infer_attr(c, name);
    size_t n = 0;
    if (!attr || attr->type != OX_ATTR_TENSOR)
        return attr ? attr->n : 0;
    return attr->n && ox_dims_count(attr->tensor->rank, attr->tensor->dims, &n) ? n : 0;
}

static const struct ox_expr *row_dim(struct ox_infer *c)
{
    unsigned rank;
    const struct ox_expr *const *dims;
    if (!ox_infer_shape(c, 0, &rank, &dims))
        return NULL;
    return rank > 1 ? dims[0] : ox_infer_num(c, 1);
}

void ox_ml_infer_labels(struct ox_infer *c, size_t i, const char *ints, const char *strings)
{
    (void)ints;
    const struct ox_expr *rows = row_dim(c);
    ox_infer_set_dtype(c, i, ox_ml_attr_count(c, strings) ? OX_STRING : OX_INT64);
    ox_infer_set_shape(c, i, 1, &rows);
}

void ox_ml_infer_scores(struct ox_infer *c, size_t i, int64_t cols)
{
    const struct ox_expr *dims[2] = {row_dim(c), cols < 0 ? NULL : ox_infer_num(c, cols)};
    ox_infer_set_shape(c, i, 2, dims);
}
