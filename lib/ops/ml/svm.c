/* SVMRegressor, and what it shares with SVMClassifier. Without support vectors both are linear. */
#include "ops/ml/svm.h"

#include <inttypes.h>
#include <string.h>

#include "kernels/compute.h"
#include "kernels/dense.h"
#include "ops/fast/fast.h"

enum ox_status ox_svm_floats(struct ox_run *r, const char *name, const double **out, size_t *n,
                             struct ox_error *err)
{
    const float *floats = ox_run_floats(r, name, n);
    double *all = ox_real_scratch(r, *n, err);
    *out = NULL;
    if (!all)
        return OX_NO_MEMORY;
    for (size_t i = 0; i < *n; i++)
        all[i] = (double)floats[i];
    if (*n)
        *out = all;
    return OX_OK;
}

static bool find_kernel(const struct ox_run *r, enum ox_svm_kernel *out)
{
    static const char *const names[] = {"LINEAR", "POLY", "RBF", "SIGMOID"};
    const char *name = ox_run_string(r, "kernel_type");
    size_t kernel = 0;
    while (name && kernel < OX_COUNT(names) && strcmp(name, names[kernel]) != 0)
        kernel++;
    *out = (enum ox_svm_kernel)kernel;
    return kernel < OX_COUNT(names);
}

enum ox_status ox_svm_read(struct ox_run *r, struct ox_svm *s, struct ox_error *err)
{
    size_t n_params, n_vectors;
    if (!find_kernel(r, &s->kernel))
        return ox_run_fail(r, err, OX_INPUT, "attribute kernel_type is '%s'",
                           ox_run_string(r, "kernel_type"));
    if (!s->n_vectors)
        s->kernel = OX_SVM_LINEAR;
    const float *params = ox_run_floats(r, "kernel_params", &n_params);
    if (n_params && n_params != 3)
        return ox_run_fail(r, err, OX_INPUT,
                           "attribute kernel_params has %zu elements, not gamma, coef0, degree",
                           n_params);
    s->gamma = n_params ? (double)params[0] : 0;
    s->coef0 = n_params ? (double)params[1] : 0;
    s->degree = n_params ? (double)params[2] : 0;
    OX_TRY(ox_ml_rows(r, &s->rows, err));
    OX_TRY(ox_post_transform(r, &s->transform, err));
    OX_TRY(ox_svm_floats(r, "coefficients", &s->coefficients, &s->n_coefficients, err));
    OX_TRY(ox_svm_floats(r, "rho", &s->rho, &s->n_rho, err));
    s->given = ox_run_floats(r, "coefficients", &s->n_coefficients);
    (void)ox_run_floats(r, "support_vectors", &n_vectors);
    size_t need;
    if (OX_MUL_OVERFLOWS(s->n_vectors, s->rows.cols, &need) || (s->n_vectors && n_vectors != need))
        return ox_run_fail(r, err, OX_INPUT,
                           "support_vectors has %zu elements for %zu vectors of %zu features",
                           n_vectors, s->n_vectors, s->rows.cols);
    if (s->n_rho == 0)
        return ox_run_fail(r, err, OX_INPUT, "attribute rho has no elements");
    return OX_OK;
}

/* Kernels of OX_SVM_RBF are all near each other and their sums cancel: they stay in double. To [cols, ox_svm_columns(n)], zeros behind the n
 * of a row. */
static void turn(size_t n, size_t cols, const float *vectors, double *to)
{
    const size_t columns = ox_svm_columns(n);
    for (size_t c = 0; c < cols; c++, to += columns) {
        for (size_t v = 0; v < n; v++)
            to[v] = (double)vectors[v * cols + c];
        memset(to + n, 0, (columns - n) * sizeof *to);
    }
}

/* Bytes of what lay_out() makes; SIZE_MAX when they overflow. */
static size_t laid_out(enum ox_svm_kernel kernel, size_t n, size_t cols)
{
    size_t floats = kernel == OX_SVM_RBF ? ox_svm_columns(n) * cols
                                         : ox_dense_packed(ox_compute(ox_cpu()), cols, n);
    return floats > SIZE_MAX / sizeof(double)
               ? SIZE_MAX
               : floats * (kernel == OX_SVM_RBF ? sizeof(double) : sizeof(float));
}

static void lay_out(struct ox_run *r, enum ox_svm_kernel kernel, size_t n, size_t cols, void *to)
{
    size_t n_floats;
    const float *vectors = ox_run_floats(r, "support_vectors", &n_floats);
    if (kernel == OX_SVM_RBF)
        turn(n, cols, vectors, to);
    else
        ox_dense_pack(ox_compute(ox_cpu()), r->env, cols, n, vectors, OX_WEIGHT_F32, 1, cols, to);
}

/* What prepare() leaves: they are right for rows of so many columns. */
struct turned {
    size_t cols;
    _Alignas(64) char vectors[]; /* or planes */
};

static void add_vectors(size_t n, size_t cols, const float *factors, const float *vectors,
                        double *plane)
{
    for (size_t v = 0; v < n; v++)
        for (size_t c = 0; c < cols; c++)
            plane[c] += (double)factors[v] * (double)vectors[v * cols + c];
}

/* The support vectors of linear kernels, summed. A regressor has one plane. */
struct linear {
    const float *factors, *vectors;
    const int64_t *per_class;
    size_t n, classes, planes;
};

/* False where that would be more than the vectors are, and where something is wrong with them, which is told where they are used. */
static bool find_linear(const struct ox_run *r, size_t cols, struct linear *l)
{
    size_t n_factors, n_floats, all = 0;
    l->factors = ox_run_floats(r, "coefficients", &n_factors);
    l->vectors = ox_run_floats(r, "support_vectors", &n_floats);
    l->per_class = ox_run_ints(r, "vectors_per_class", &l->classes);
    l->n = cols ? n_floats / cols : 0;
    for (size_t i = 0; i < l->classes; i++)
        if (l->per_class[i] < 0 || OX_ADD_OVERFLOWS(all, (size_t)l->per_class[i], &all))
            return false;
    const size_t others = l->classes ? l->classes - 1 : 1;
    l->planes = l->classes ? l->classes * others / 2 : 1;
    return l->n && (!l->classes || all == l->n) && n_floats == l->n * cols && l->planes &&
           l->classes <= l->n && l->planes <= l->n && n_factors == l->n * others;
}

static void make_planes(const struct linear *l, size_t cols, double *plane)
{
    memset(plane, 0, l->planes * cols * sizeof *plane);
    if (!l->classes)
        add_vectors(l->n, cols, l->factors, l->vectors, plane);
    for (size_t i = 0, at_i = 0; i < l->classes; at_i += (size_t)l->per_class[i], i++) {
        size_t at = at_i + (size_t)l->per_class[i];
        for (size_t j = i + 1; j < l->classes; j++, plane += cols) {
            add_vectors((size_t)l->per_class[i], cols, l->factors + (j - 1) * l->n + at_i,
                        l->vectors + at_i * cols, plane);
            add_vectors((size_t)l->per_class[j], cols, l->factors + i * l->n + at,
                        l->vectors + at * cols, plane);
            at += (size_t)l->per_class[j];
        }
    }
}

static enum ox_status take_planes(struct ox_run *r, struct ox_svm *s, const struct linear *l,
                                  struct ox_error *err)
{
    const size_t cols = s->rows.cols;
    const struct turned *kept = ox_run_state(r);
    s->n_planes = l->planes;
    if (kept && kept->cols == cols) {
        s->planes = (const double *)(const void *)kept->vectors;
        return OX_OK;
    }
    double *fresh = ox_real_scratch(r, l->planes * cols, err);
    if (!fresh)
        return OX_NO_MEMORY;
    make_planes(l, cols, fresh);
    s->planes = fresh;
    return OX_OK;
}

/* In double, or in float32 beside packed vectors. */
static enum ox_status take_rows(struct ox_run *r, struct ox_svm *s, struct ox_error *err)
{
    const struct ox_tensor *x = s->rows.x;
    if (s->packed && x->dtype == OX_FLOAT32) {
        s->narrow = x->data;
        return OX_OK;
    }
    s->x = ox_real_all(r, x, err);
    float *narrow = s->packed ? ox_run_scratch(r, x->n + 1, sizeof *narrow, err) : NULL;
    if ((x->n && !s->x) || (s->packed && !narrow))
        return OX_NO_MEMORY;
    for (size_t i = 0; s->packed && i < x->n; i++)
        narrow[i] = (float)s->x[i];
    s->narrow = narrow;
    return OX_OK;
}

static enum ox_status take_vectors(struct ox_run *r, struct ox_svm *s, bool quick,
                                   struct ox_error *err)
{
    const size_t n = s->n_vectors, cols = s->rows.cols;
    size_t n_floats;
    struct linear l;
    if (quick && n && s->kernel == OX_SVM_LINEAR && find_linear(r, cols, &l))
        return take_planes(r, s, &l, err);
    const bool wide = s->kernel == OX_SVM_RBF; /* a tile's scale of 0 stands for 1 */
    if (!quick || s->kernel == OX_SVM_LINEAR || !n || (!wide && s->gamma == 0))
        return ox_svm_floats(r, "support_vectors", &s->vectors, &n_floats, err);
    const struct turned *kept = ox_run_state(r);
    const void *laid = kept && kept->cols == cols ? kept->vectors : NULL;
    if (!laid) {
        const size_t bytes = laid_out(s->kernel, n, cols);
        void *fresh = ox_run_scratch(r, bytes / sizeof(double) + 1, sizeof(double), err);
        if (!fresh)
            return OX_NO_MEMORY;
        lay_out(r, s->kernel, n, cols, fresh);
        laid = fresh;
    }
    if (wide)
        s->turned_wide = laid;
    else
        s->packed = laid;
    return OX_OK;
}

enum ox_status ox_svm_take(struct ox_run *r, struct ox_svm *s, bool quick, struct ox_error *err)
{
    OX_TRY(take_vectors(r, s, quick, err));
    return take_rows(r, s, err);
}

/* Turns or sums the vectors once; what is wrong with them is told where they are used. */
enum ox_status ox_svm_prepare(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    const size_t cols = x->rank ? (size_t)x->dims[x->rank - 1] : 0;
    enum ox_svm_kernel kernel;
    size_t n_floats;
    struct linear l;
    (void)ox_run_floats(r, "support_vectors", &n_floats);
    if (r->once || !find_kernel(r, &kernel) || !cols || !n_floats || n_floats % cols ||
        (kernel == OX_SVM_LINEAR && !find_linear(r, cols, &l)))
        return OX_OK;
    const size_t n = n_floats / cols, bytes = kernel == OX_SVM_LINEAR
                                                  ? l.planes * cols * sizeof(double)
                                                  : laid_out(kernel, n, cols);
    if (bytes > SIZE_MAX - sizeof(struct turned))
        return ox_no_memory(err);
    struct turned *kept = ox_run_keep(r, sizeof *kept + bytes, err);
    if (!kept)
        return OX_NO_MEMORY;
    kept->cols = cols;
    if (kernel == OX_SVM_LINEAR)
        make_planes(&l, cols, (double *)(void *)kept->vectors);
    else
        lay_out(r, kernel, n, cols, kept->vectors);
    return OX_OK;
}

enum ox_status ox_svm_check_coefficients(struct ox_run *r, const struct ox_svm *s, size_t rows,
                                         size_t cols, struct ox_error *err)
{
    size_t need;
    if (OX_MUL_OVERFLOWS(rows, cols, &need) || s->n_coefficients != need)
        return ox_run_fail(r, err, OX_INPUT, "there are %zu coefficients, not %zu by %zu",
                           s->n_coefficients, rows, cols);
    return OX_OK;
}

void ox_svm_run_rows(struct ox_run *r, struct ox_svm *s,
                     void (*task)(void *arg, size_t from, size_t to))
{
    const double a_number = ox_svm_is_quick(s) ? 0.1 : 1, a_vector = 10 * a_number; /* ns */
    const size_t n = s->planes ? s->n_planes : s->n_vectors;
    const double ns = (double)(n + 1) * (a_vector + a_number * (double)s->rows.cols);
    ox_fast_spread(r->env, s->rows.rows, s->packed ? OX_SVM_ROWS : 1, ns, task, s);
}

/* ---- Regressor ---------------------------------------------------------------------------------------------------- */

static void regress_row(const struct ox_svm *s, size_t row)
{
    const double *x = s->x + row * s->rows.cols;
    double sum = 0;
    if (s->planes)
        sum = ox_svm_quick_dot(s->rows.cols, x, s->planes);
    else if (s->n_vectors == 0)
        sum = ox_svm_dot(s->rows.cols, x, s->coefficients);
    for (size_t from = 0; !s->planes && from < s->n_vectors; from += OX_SVM_STRETCH) {
        const size_t n =
            s->n_vectors - from < OX_SVM_STRETCH ? s->n_vectors - from : OX_SVM_STRETCH;
        double kernels[OX_SVM_STRETCH];
        ox_svm_kernels(s, x, from, n, kernels);
        sum += (ox_svm_is_quick(s) ? ox_svm_quick_dot : ox_svm_dot)(n, s->coefficients + from,
                                                                    kernels);
    }
    s->out[row] = sum + s->rho[0];
}

/* By packed vectors. */
static void regress_abreast(const struct ox_svm *s, size_t row, size_t rows)
{
    float kernels[OX_SVM_ROWS * OX_SVM_STRETCH];
    for (size_t i = 0; i < rows; i++)
        s->out[row + i] = s->rho[0];
    for (size_t from = 0; from < s->n_vectors; from += OX_SVM_STRETCH) {
        const size_t left = s->n_vectors - from, n = left < OX_SVM_STRETCH ? left : OX_SVM_STRETCH;
        ox_svm_quick_kernels(s, row, rows, from, n, kernels);
        for (size_t i = 0; i < rows; i++)
            s->out[row + i] += (double)ox_fast_rows()->dot(n, s->given + from, kernels + i * n);
    }
}

static void regress_rows(void *arg, size_t from, size_t to)
{
    const struct ox_svm *s = arg;
    for (size_t row = from; row < to && !s->packed; row++)
        regress_row(s, row);
    for (size_t row = from; row < to && s->packed; row += OX_SVM_ROWS)
        regress_abreast(s, row, to - row < OX_SVM_ROWS ? to - row : OX_SVM_ROWS);
}

static enum ox_status regress(struct ox_run *r, bool quick, struct ox_error *err)
{
    struct ox_svm s = {0};
    int64_t n_supports = ox_run_int(r, "n_supports", 0);
    bool one_class = ox_run_int(r, "one_class", 0) != 0;
    if (n_supports < 0)
        return ox_run_fail(r, err, OX_INPUT, "attribute n_supports is %" PRId64, n_supports);
    s.n_vectors = (size_t)n_supports;
    OX_TRY(ox_svm_read(r, &s, err));
    OX_TRY(ox_svm_take(r, &s, quick, err));
    OX_TRY(ox_svm_check_coefficients(r, &s, 1, s.n_vectors ? s.n_vectors : s.rows.cols, err));
    s.out = ox_real_scratch(r, s.rows.rows, err);
    if (!s.out)
        return OX_NO_MEMORY;
    ox_svm_run_rows(r, &s, regress_rows);
    for (size_t i = 0; i < s.rows.rows; i++) {
        if (one_class)
            s.out[i] = s.out[i] > 0 ? 1 : -1;
    }
    return ox_real_out(r, 0, OX_FLOAT32, 2, (const int64_t[]){(int64_t)s.rows.rows, 1}, s.out, err);
}

static enum ox_status run_svm_regressor(struct ox_run *r, struct ox_error *err)
{
    return regress(r, false, err);
}

static enum ox_status fast_svm_regressor(struct ox_run *r, struct ox_error *err)
{
    return regress(r, true, err);
}

static void infer_svm_regressor(struct ox_infer *c)
{
    ox_ml_infer_scores(c, 0, 1);
}

const struct ox_op ox_ops_svm[] = {{"ai.onnx.ml", "SVMRegressor", 1, .infer = infer_svm_regressor,
                                    .run = run_svm_regressor, .fast = fast_svm_regressor,
                                    .prepare = ox_svm_prepare},
                                   {0}};
