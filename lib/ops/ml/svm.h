/* What the files of support vector machines share. */
#ifndef OX_OPS_SVM_H
#define OX_OPS_SVM_H

#include "ops/ml/ml_common.h"
#include "ops/product.h"
#include "ops/real.h"

enum ox_svm_kernel { OX_SVM_LINEAR, OX_SVM_POLY, OX_SVM_RBF, OX_SVM_SIGMOID };
enum {
    OX_SVM_STRETCH = 256, /* support vectors, worked on side by side */
    OX_SVM_ROWS = 12,     /* that packed vectors are read for at once */
};

struct ox_svm {
    struct ox_ml_rows rows;
    enum ox_svm_kernel kernel;
    double gamma, coef0, degree;
    size_t n_vectors;      /* 0: linear, by the coefficients alone */
    const double *vectors; /* [n_vectors, cols] */
    /* The vectors as [cols, n_vectors], for work side by side: in float32 by ox_dense_pack(), or in double, as [cols,
     * ox_svm_columns(n_vectors)]; NULL. */
    const float *packed;
    const double *turned_wide;
    const float *narrow; /* rows beside packed vectors */
    const double
        *planes; /* of a linear kernel: [n_planes, cols], one for each pair of classes; NULL */
    size_t n_planes;
    const double *coefficients;
    const float *given; /* coefficients as they stand in the attribute */
    size_t n_coefficients;
    const double *rho;
    size_t n_rho;
    enum ox_post_transform transform;
    const double *x; /* NULL: `narrow` is enough */
    /* Classifiers. */
    struct ox_ml_labels labels;
    size_t classes;
    const int64_t *per_class;      /* support vectors of each class */
    const double *prob_a, *prob_b; /* NULL: no probabilities */
    bool all_positive;
    size_t n_scores, columns;
    size_t *picked;
    double *out; /* [rows, columns] */
    struct ox_task_state state;
};

/* ---- svm_kernels.c ---- */

/* n filled up to what ox_distances reads. */
size_t ox_svm_columns(size_t n);
double ox_svm_dot(size_t n, const double *a, const double *b);
/* With sums enough that none waits for another. */
double ox_svm_quick_dot(size_t n, const double *a, const double *b);
bool ox_svm_is_quick(const struct ox_svm *s);
/* kernel(x, v) of support vectors [from, from + n), n <= OX_SVM_STRETCH, that are not packed. */
void ox_svm_kernels(const struct ox_svm *s, const double *x, size_t from, size_t n, double *out);
/* The same in float32, of packed vectors (POLY and SIGMOID) and of `rows` <= OX_SVM_ROWS rows: out[rows, n]; `from` is a multiple of
 * OX_SVM_STRETCH. */
void ox_svm_quick_kernels(const struct ox_svm *s, size_t row, size_t rows, size_t from, size_t n,
                          float *out);

/* ---- svm.c ---- */

/* A list attribute; *out NULL where it is empty. */
enum ox_status ox_svm_floats(struct ox_run *r, const char *name, const double **out, size_t *n,
                             struct ox_error *err);
/* What regressor and classifier have in common; n_vectors is known. */
enum ox_status ox_svm_read(struct ox_run *r, struct ox_svm *s, struct ox_error *err);
/* The vectors for the quick form, as ox_svm_prepare() has left them or made now; for the other as they stand. Then the rows. */
enum ox_status ox_svm_take(struct ox_run *r, struct ox_svm *s, bool quick, struct ox_error *err);
enum ox_status ox_svm_prepare(struct ox_run *r, struct ox_error *err);
enum ox_status ox_svm_check_coefficients(struct ox_run *r, const struct ox_svm *s, size_t rows,
                                         size_t cols, struct ox_error *err);
void ox_svm_run_rows(struct ox_run *r, struct ox_svm *s,
                     void (*task)(void *arg, size_t from, size_t to));

#endif
