/* What the classical operators (ai.onnx.ml) share: rows of numbers, class labels, transforms of scores. */
#ifndef OX_OPS_ML_COMMON_H
#define OX_OPS_ML_COMMON_H

#include "ops/infer.h"
#include "ops/op.h"

/* Numbered as in TreeEnsemble 5. */
enum ox_post_transform {
    OX_POST_NONE,
    OX_POST_SOFTMAX,
    OX_POST_LOGISTIC,
    OX_POST_SOFTMAX_ZERO,
    OX_POST_PROBIT
};

/* The string attribute post_transform; OX_INPUT when it names none of them. */
enum ox_status ox_post_transform(const struct ox_run *r, enum ox_post_transform *out,
                                 struct ox_error *err);
/* A row of n scores in place, all of them together. */
void ox_post_transform_row(enum ox_post_transform transform, size_t n, double *scores);
/* Two scores from one, which is the second class's; `first` is what the first class has when nothing is transformed (the
 * complement or the opposite). LOGISTIC makes probabilities of either, SOFTMAX changes neither, as in onnxruntime. Where that
 * leaves the result of PROBIT undefined, both are transformed. */
void ox_post_transform_pair(enum ox_post_transform transform, double first, double score,
                            double pair[2]);
double ox_logistic(double x);
/* The quantile of the normal distribution, by the same approximation of the inverse error function (Winitzki's, a = 0.147) as
 * onnxruntime and onnx's reference evaluator, from which an exact one departs by up to 0.2 %. */
double ox_probit(double x);

/* Input 0 as rows: a list is one row. OX_INPUT for scalars and higher ranks. */
struct ox_ml_rows {
    const struct ox_tensor *x;
    size_t rows, cols;
};
enum ox_status ox_ml_rows(struct ox_run *r, struct ox_ml_rows *rows, struct ox_error *err);
/* Features of a row: the second axis, the only one of a list. OX_INPUT for scalars. */
enum ox_status ox_ml_columns(struct ox_run *r, const struct ox_tensor *x, size_t *cols,
                             struct ox_error *err);

/* Class labels: of one of two attributes. */
struct ox_ml_labels {
    const int64_t *ints;
    const struct ox_str *strings; /* when not NULL, labels are these */
    size_t n;
};
void ox_ml_labels(const struct ox_run *r, const char *ints, const char *strings,
                  struct ox_ml_labels *labels);
/* Output i, a list: label picked[k] for each of n rows; where labels are not given, or picked is past their end, the number
 * itself (its digits). */
enum ox_status ox_ml_labels_out(struct ox_run *r, size_t i, const struct ox_ml_labels *labels,
                                size_t n, const size_t *picked, struct ox_error *err);

/* Shape rules: type of the labels that the attributes imply for output i; [rows] and [rows, cols] of outputs (cols < 0:
 * unknown). */
void ox_ml_infer_labels(struct ox_infer *c, size_t i, const char *ints, const char *strings);
void ox_ml_infer_scores(struct ox_infer *c, size_t i, int64_t cols);
/* Elements of a list attribute of a node under a shape rule; 0 without. */
size_t ox_ml_attr_count(const struct ox_infer *c, const char *name);
/* The same, and of a tensor the number of its elements. */
size_t ox_ml_attr_length(const struct ox_infer *c, const char *name);

#endif
