/* SVMClassifier SVMRegressor. Without support vectors both are linear. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "kernels/compute.h"
#include "ops/fast.h"
#include "ops/ml_common.h"
#include "ops/product.h"
#include "ops/real.h"

enum kernel { LINEAR, POLY, RBF, SIGMOID };
enum { STRETCH = 256, FEATURES = 8 }; /* of support vectors, worked on side by side */

struct svm {
    struct ox_ml_rows rows;
    enum kernel kernel;
    double gamma, coef0, degree;
    size_t n_vectors;      /* 0: linear, by the coefficients alone */
    const double *vectors; /* [n_vectors, cols] */
    /* The vectors as [cols, n_vectors], for work side by side: in float32, or in double; NULL. */
    const float *turned;
    const double *turned_wide;
    const double *coefficients;
    const float *given; /* coefficients as they stand in the attribute */
    size_t n_coefficients;
    const double *rho;
    size_t n_rho;
    enum ox_post_transform transform;
    const double *x;
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

static double dot(size_t n, const double *a, const double *b)
{
    double even = 0, odd = 0;
    size_t i = 0;
    for (; i + 2 <= n; i += 2) {
        even += a[i] * b[i];
        odd += a[i + 1] * b[i + 1];
    }
    return even + odd + (i < n ? a[i] * b[i] : 0);
}

/* With sums enough that none waits for another. */
static double quick_dot(size_t n, const double *a, const double *b)
{
    double sum[8] = {0};
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (size_t k = 0; k < 8; k++)
            sum[k] += a[i + k] * b[i + k];
    for (size_t k = 0; i < n; i++, k++)
        sum[k] += a[i] * b[i];
    return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

static bool is_quick(const struct svm *s)
{
    return s->turned || s->turned_wide;
}

static double squared_distance(size_t n, const double *a, const double *b)
{
    double even = 0, odd = 0;
    size_t i = 0;
    for (; i + 2 <= n; i += 2) {
        even += (a[i] - b[i]) * (a[i] - b[i]);
        odd += (a[i + 1] - b[i + 1]) * (a[i + 1] - b[i + 1]);
    }
    return even + odd + (i < n ? (a[i] - b[i]) * (a[i] - b[i]) : 0);
}

static void powers(size_t n, double degree, double *x)
{
    if (degree == 2) {
        for (size_t i = 0; i < n; i++)
            x[i] *= x[i];
    } else if (degree == 3) {
        for (size_t i = 0; i < n; i++)
            x[i] = x[i] * x[i] * x[i];
    } else {
        for (size_t i = 0; i < n; i++)
            x[i] = pow(x[i], degree);
    }
}

/* As kernels_of(), in float32, vectors side by side: POLY, without its power, and SIGMOID. */
static void quick_kernels(const struct svm *s, const double *x, size_t from, size_t n, float *sum)
{
    const struct ox_rows *t = ox_fast_rows();
    const struct ox_compute *compute = ox_compute(ox_cpu());
    float part[FEATURES];
    struct ox_stream stream = {.n = n,
                               .rows = 1,
                               .a = part,
                               .a_step = 1,
                               .ldb = s->n_vectors,
                               .c = sum,
                               .ahead = compute->stream_ahead};
    memset(sum, 0, n * sizeof *sum);
    for (size_t c = 0; c < s->rows.cols; c += stream.depth) {
        stream.depth = s->rows.cols - c < FEATURES ? (unsigned)(s->rows.cols - c) : FEATURES;
        for (size_t k = 0; k < stream.depth; k++)
            part[k] = (float)x[c + k];
        stream.b = s->turned + c * s->n_vectors + from;
        compute->stream(&stream);
    }
    t->unary[OX_UNARY_AFFINE](n, sum, sum, (float)s->gamma, (float)s->coef0);
    if (s->kernel == SIGMOID)
        t->unary[OX_UNARY_TANH](n, sum, sum, 0, 0);
}

/* e^x of numbers of at most 0, by 2^k e^r with |r| <= ln 2 / 2 and the series of e^r to 2^-41: sums that cancel still leave a float's
 * bits. Without calls and branches, where compilers work on several at once. */
static void exponentials(size_t n, double *x)
{
    static const double log2_e = 1.44269504088896340736, magic = 6755399441055744.0; /* 1.5 2^52 */
    static const double ln2_high = 6.93147180369123816490e-01, ln2_low = 1.90821492927058770002e-10;
    enum { SERIES = 10, BIAS = 1023, FRACTION = 52 };
    static const double least = -708; /* what lies below is 0 */
    double inverse[SERIES + 1] = {1};
    for (unsigned k = 1; k <= SERIES; k++)
        inverse[k] = inverse[k - 1] / k;
    for (size_t i = 0; i < n; i++) {
        const double v = x[i] < least ? least : x[i], shifted = v * log2_e + magic;
        const double whole = shifted - magic, r = v - whole * ln2_high - whole * ln2_low;
        double sum = inverse[SERIES], scale;
        uint64_t bits;
        for (unsigned k = SERIES; k-- > 0;)
            sum = sum * r + inverse[k];
        memcpy(&bits, &shifted, sizeof bits);
        bits = (bits + BIAS) << FRACTION;
        memcpy(&scale, &bits, sizeof scale);
        x[i] = x[i] < least ? 0 : sum * scale;
    }
}

/* -gamma |x - v|^2 of vectors side by side. */
static void distances(const struct svm *s, const double *x, size_t from, size_t n, double *out)
{
    double sum[STRETCH];
    memset(sum, 0, n * sizeof *sum);
    for (size_t c = 0; c < s->rows.cols; c++) {
        const double *v = s->turned_wide + c * s->n_vectors + from, at = x[c];
        for (size_t i = 0; i < n; i++)
            sum[i] += (at - v[i]) * (at - v[i]);
    }
    for (size_t i = 0; i < n; i++)
        out[i] = -s->gamma * sum[i];
}

/* kernel(x, v) of support vectors [from, from + n), n <= STRETCH. */
static void kernels_of(const struct svm *s, const double *x, size_t from, size_t n, double *out)
{
    const size_t cols = s->rows.cols;
    if (s->turned) {
        float quick[STRETCH];
        quick_kernels(s, x, from, n, quick);
        for (size_t i = 0; i < n; i++)
            out[i] = (double)quick[i];
        if (s->kernel == POLY)
            powers(n, s->degree, out);
        return;
    }
    if (s->turned_wide)
        distances(s, x, from, n, out);
    const double *v = s->turned_wide ? NULL : s->vectors + from * cols;
    for (size_t i = 0; v && i < n; i++, v += cols)
        out[i] = s->kernel == RBF ? -s->gamma * squared_distance(cols, x, v)
                                  : s->gamma * dot(cols, x, v) + s->coef0;
    if (s->kernel == POLY) {
        powers(n, s->degree, out);
    } else if (s->kernel == LINEAR) {
        for (size_t i = 0; i < n; i++)
            out[i] = dot(cols, x, s->vectors + (from + i) * cols);
    } else if (s->turned_wide && s->gamma >= 0) {
        exponentials(n, out);
    } else {
        for (size_t i = 0; i < n; i++)
            out[i] = s->kernel == RBF ? exp(out[i]) : tanh(out[i]);
    }
}

/* ---- Attributes --------------------------------------------------------------------------------------------------- */

static enum ox_status floats_of(struct ox_run *r, const char *name, const double **out, size_t *n,
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

static bool find_kernel(const struct ox_run *r, enum kernel *out)
{
    static const char *const names[] = {"LINEAR", "POLY", "RBF", "SIGMOID"};
    const char *name = ox_run_string(r, "kernel_type");
    size_t kernel = 0;
    while (name && kernel < OX_COUNT(names) && strcmp(name, names[kernel]) != 0)
        kernel++;
    *out = (enum kernel)kernel;
    return kernel < OX_COUNT(names);
}

static enum ox_status read_svm(struct ox_run *r, struct svm *s, struct ox_error *err)
{
    size_t n_params, n_vectors;
    if (!find_kernel(r, &s->kernel))
        return ox_run_fail(r, err, OX_INPUT, "attribute kernel_type is '%s'",
                           ox_run_string(r, "kernel_type"));
    if (!s->n_vectors)
        s->kernel = LINEAR;
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
    OX_TRY(floats_of(r, "coefficients", &s->coefficients, &s->n_coefficients, err));
    OX_TRY(floats_of(r, "rho", &s->rho, &s->n_rho, err));
    s->given = ox_run_floats(r, "coefficients", &s->n_coefficients);
    (void)ox_run_floats(r, "support_vectors", &n_vectors);
    size_t need;
    if (OX_MUL_OVERFLOWS(s->n_vectors, s->rows.cols, &need) || (s->n_vectors && n_vectors != need))
        return ox_run_fail(r, err, OX_INPUT,
                           "support_vectors has %zu elements for %zu vectors of %zu features",
                           n_vectors, s->n_vectors, s->rows.cols);
    if (s->n_rho == 0)
        return ox_run_fail(r, err, OX_INPUT, "attribute rho has no elements");
    s->x = ox_real_all(r, s->rows.x, err);
    return s->x || !s->rows.x->n ? OX_OK : OX_NO_MEMORY;
}

/* Kernels of RBF are all near each other and their sums cancel: they stay in double. */
static void turn(enum kernel kernel, size_t n, size_t cols, const float *vectors, void *to)
{
    double *wide = to;
    float *narrow = to;
    for (size_t c = 0; c < cols; c++)
        for (size_t v = 0; v < n; v++) {
            if (kernel == RBF)
                wide[c * n + v] = (double)vectors[v * cols + c];
            else
                narrow[c * n + v] = vectors[v * cols + c];
        }
}

/* What prepare() leaves: they are right for rows of so many columns. */
struct turned {
    size_t cols;
    _Alignas(64) char vectors[];
};

/* The vectors for the quick form, as prepare() has left them or made now; for the other as they stand. */
static enum ox_status take_vectors(struct ox_run *r, struct svm *s, bool quick,
                                   struct ox_error *err)
{
    const size_t n = s->n_vectors, cols = s->rows.cols;
    size_t n_floats;
    if (!quick || s->kernel == LINEAR || !n)
        return floats_of(r, "support_vectors", &s->vectors, &n_floats, err);
    const struct turned *kept = ox_run_state(r);
    const void *turned = kept && kept->cols == cols ? kept->vectors : NULL;
    if (!turned) {
        void *fresh = ox_run_scratch(r, n * cols + 1, sizeof(double), err);
        if (!fresh)
            return OX_NO_MEMORY;
        turn(s->kernel, n, cols, ox_run_floats(r, "support_vectors", &n_floats), fresh);
        turned = fresh;
    }
    if (s->kernel == RBF)
        s->turned_wide = turned;
    else
        s->turned = turned;
    return OX_OK;
}

/* Turns the vectors once; what is wrong with them is told where they are used. */
static enum ox_status prepare_svm(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    const size_t cols = x->rank ? (size_t)x->dims[x->rank - 1] : 0;
    enum kernel kernel;
    size_t n_floats;
    const float *vectors = ox_run_floats(r, "support_vectors", &n_floats);
    if (r->once || !find_kernel(r, &kernel) || kernel == LINEAR || !cols || !n_floats ||
        n_floats % cols)
        return OX_OK;
    struct turned *kept = ox_run_keep(r, sizeof *kept + n_floats * sizeof(double), err);
    if (!kept)
        return OX_NO_MEMORY;
    kept->cols = cols;
    turn(kernel, n_floats / cols, cols, vectors, kept->vectors);
    return OX_OK;
}

static enum ox_status check_coefficients(struct ox_run *r, const struct svm *s, size_t rows,
                                         size_t cols, struct ox_error *err)
{
    size_t need;
    if (OX_MUL_OVERFLOWS(rows, cols, &need) || s->n_coefficients != need)
        return ox_run_fail(r, err, OX_INPUT, "there are %zu coefficients, not %zu by %zu",
                           s->n_coefficients, rows, cols);
    return OX_OK;
}

static void run_rows(struct ox_run *r, struct svm *s,
                     void (*task)(void *arg, size_t from, size_t to))
{
    const double a_number = is_quick(s) ? 0.1 : 1, a_vector = 10 * a_number; /* ns */
    const double ns = (double)(s->n_vectors + 1) * (a_vector + a_number * (double)s->rows.cols);
    ox_fast_spread(r->env, s->rows.rows, 1, ns, task, s);
}

/* ---- Regressor ---------------------------------------------------------------------------------------------------- */

static void regress_row(const struct svm *s, size_t row)
{
    const double *x = s->x + row * s->rows.cols;
    double sum = 0;
    if (s->n_vectors == 0)
        sum = dot(s->rows.cols, x, s->coefficients);
    for (size_t from = 0; from < s->n_vectors; from += STRETCH) {
        const size_t n = s->n_vectors - from < STRETCH ? s->n_vectors - from : STRETCH;
        double kernels[STRETCH];
        float quick[STRETCH];
        if (s->turned && s->kernel == SIGMOID) {
            quick_kernels(s, x, from, n, quick);
            sum += (double)ox_fast_rows()->dot(n, s->given + from, quick);
            continue;
        }
        kernels_of(s, x, from, n, kernels);
        sum += (is_quick(s) ? quick_dot : dot)(n, s->coefficients + from, kernels);
    }
    s->out[row] = sum + s->rho[0];
}

static void regress_rows(void *arg, size_t from, size_t to)
{
    for (size_t row = from; row < to; row++)
        regress_row(arg, row);
}

static enum ox_status regress(struct ox_run *r, bool quick, struct ox_error *err)
{
    struct svm s = {0};
    int64_t n_supports = ox_run_int(r, "n_supports", 0);
    bool one_class = ox_run_int(r, "one_class", 0) != 0;
    if (n_supports < 0)
        return ox_run_fail(r, err, OX_INPUT, "attribute n_supports is %" PRId64, n_supports);
    s.n_vectors = (size_t)n_supports;
    OX_TRY(read_svm(r, &s, err));
    OX_TRY(take_vectors(r, &s, quick, err));
    OX_TRY(check_coefficients(r, &s, 1, s.n_vectors ? s.n_vectors : s.rows.cols, err));
    s.out = ox_real_scratch(r, s.rows.rows, err);
    if (!s.out)
        return OX_NO_MEMORY;
    run_rows(r, &s, regress_rows);
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

/* ---- Classifier --------------------------------------------------------------------------------------------------- */

/* A score for each pair of classes, by the vectors of both; each votes for one of them. */
static void score_pairs(const struct svm *s, const double *kernels, double *scores, double *votes)
{
    size_t start_i = 0, pair = 0;
    for (size_t i = 0; i < s->classes; i++) {
        size_t n_i = (size_t)s->per_class[i], start_j = start_i + n_i;
        for (size_t j = i + 1; j < s->classes; j++) {
            size_t n_j = (size_t)s->per_class[j];
            const double *of_i = s->coefficients + (j - 1) * s->n_vectors + start_i;
            const double *of_j = s->coefficients + i * s->n_vectors + start_j;
            double sum = 0;
            if (is_quick(s)) {
                sum = quick_dot(n_i, of_i, kernels + start_i);
                sum += quick_dot(n_j, of_j, kernels + start_j);
            }
            for (size_t v = 0; !is_quick(s) && v < n_i; v++)
                sum += of_i[v] * kernels[start_i + v];
            for (size_t v = 0; !is_quick(s) && v < n_j; v++)
                sum += of_j[v] * kernels[start_j + v];
            sum += s->rho[pair];
            scores[pair++] = sum;
            votes[sum > 0 ? i : j]++;
            start_j += n_j;
        }
        start_i += n_i;
    }
}

/* Probabilities of classes from those of pairs: the second method of Wu, Lin and Weng (2004). r: [k, k]; q: [k, k] and qp: [k] of
 * work. */
static void couple(size_t k, const double *r, double *q, double *qp, double *p)
{
    double stop = 0.005 / (double)k;
    for (size_t t = 0; t < k; t++) {
        p[t] = 1 / (double)k;
        q[t * k + t] = 0;
        for (size_t j = 0; j < k; j++) {
            if (j == t)
                continue;
            q[t * k + t] += r[j * k + t] * r[j * k + t];
            q[t * k + j] = -r[j * k + t] * r[t * k + j];
        }
    }
    for (size_t trip = 0; trip < (k > 100 ? k : 100); trip++) {
        double pqp = 0, worst = 0;
        for (size_t t = 0; t < k; t++) {
            qp[t] = 0;
            for (size_t j = 0; j < k; j++)
                qp[t] += q[t * k + j] * p[j];
            pqp += p[t] * qp[t];
        }
        for (size_t t = 0; t < k; t++)
            worst = fmax(worst, fabs(qp[t] - pqp));
        if (worst < stop)
            break;
        for (size_t t = 0; t < k; t++) {
            double step = (pqp - qp[t]) / q[t * k + t];
            p[t] += step;
            pqp = (pqp + step * (step * q[t * k + t] + 2 * qp[t])) / ((1 + step) * (1 + step));
            for (size_t j = 0; j < k; j++) {
                qp[j] = (qp[j] + step * q[t * k + j]) / (1 + step);
                p[j] /= 1 + step;
            }
        }
    }
}

static void probabilities(const struct svm *s, const double *scores, double *work, double *out)
{
    size_t k = s->classes, pair = 0;
    double *r = work, *q = work + k * k, *qp = q + k * k;
    for (size_t i = 0; i < k; i++)
        for (size_t j = i + 1; j < k; j++, pair++) {
            double p = 1 - ox_logistic(scores[pair] * s->prob_a[pair] + s->prob_b[pair]);
            p = p < 1e-7 ? 1e-7 : p > 1 - 1e-7 ? 1 - 1e-7 : p;
            r[i * k + j] = p;
            r[j * k + i] = 1 - p;
        }
    couple(k, r, q, qp, out);
}

static size_t greatest(const double *v, size_t n)
{
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        if (v[i] > v[best])
            best = i;
    return best;
}

/* Classes are chosen by votes where there are pairs, also when probabilities say otherwise. A lone score is judged by its
 * sign, as onnxruntime does. */
static size_t pick(const struct svm *s, const double *scores, const double *votes)
{
    if (s->n_vectors)
        return greatest(votes, s->classes);
    size_t best = greatest(scores, s->n_scores);
    if (s->labels.n == 2 && (scores[best] > 0 && !s->all_positive))
        return 1;
    if (s->labels.n == 2 && s->all_positive && scores[best] >= 0.5)
        return 1;
    return best;
}

static void classify_row(struct svm *s, size_t row)
{
    size_t k = s->classes, pairs = k * (k - 1) / 2;
    size_t n_work = s->n_vectors + pairs + 2 * k + 2 * k * k + k + s->n_scores + 2;
    double *work = ox_task_alloc(&s->state, n_work, sizeof *work);
    if (!work)
        return;
    double *kernels = work, *pair_scores = kernels + s->n_vectors, *votes = pair_scores + pairs;
    double *scores = votes + k, *more = scores + s->n_scores + 2;
    const double *x = s->x + row * s->rows.cols;
    if (s->n_vectors) {
        for (size_t from = 0; from < s->n_vectors; from += STRETCH)
            kernels_of(s, x, from, s->n_vectors - from < STRETCH ? s->n_vectors - from : STRETCH,
                       kernels + from);
        score_pairs(s, kernels, pair_scores, votes);
        if (s->prob_a)
            probabilities(s, pair_scores, more, scores);
        else
            memcpy(scores, pair_scores, pairs * sizeof *scores);
    } else {
        for (size_t c = 0; c < k; c++)
            scores[c] = dot(s->rows.cols, x, s->coefficients + c * s->rows.cols) + s->rho[0];
    }
    s->picked[row] = pick(s, scores, votes);
    if (s->n_scores == 1 && s->columns == 2) {
        double score = scores[0];
        ox_post_transform_pair(s->transform, s->transform ? 1 - score : -score, score, scores);
    } else if (s->n_scores > 1 || s->transform == OX_POST_PROBIT) {
        ox_post_transform_row(s->transform, s->n_scores, scores);
    }
    memcpy(s->out + row * s->columns, scores, s->columns * sizeof *scores);
    ox_task_free(&s->state, work, n_work, sizeof *work);
}

static void classify_rows(void *arg, size_t from, size_t to)
{
    for (size_t row = from; row < to; row++)
        classify_row(arg, row);
}

static enum ox_status read_classes(struct ox_run *r, struct svm *s, struct ox_error *err)
{
    size_t n_per_class, n_a, n_b;
    ox_ml_labels(r, "classlabels_ints", "classlabels_strings", &s->labels);
    s->classes = s->labels.n ? s->labels.n : 1;
    s->per_class = ox_run_ints(r, "vectors_per_class", &n_per_class);
    for (size_t i = 0; i < n_per_class; i++)
        if (s->per_class[i] < 0 ||
            OX_ADD_OVERFLOWS(s->n_vectors, (size_t)s->per_class[i], &s->n_vectors))
            return ox_run_fail(r, err, OX_INPUT, "vectors_per_class[%zu] is %" PRId64, i,
                               s->per_class[i]);
    if (s->n_vectors && n_per_class != s->classes)
        return ox_run_fail(r, err, OX_INPUT, "vectors_per_class has %zu elements for %zu classes",
                           n_per_class, s->classes);
    if (s->classes > 65535)
        return ox_run_fail(r, err, OX_LIMIT, "%zu classes are too many", s->classes);
    OX_TRY(read_svm(r, s, err));
    OX_TRY(floats_of(r, "prob_a", &s->prob_a, &n_a, err));
    OX_TRY(floats_of(r, "prob_b", &s->prob_b, &n_b, err));
    size_t pairs = s->classes * (s->classes - 1) / 2;
    if (!s->n_vectors) {
        s->prob_a = NULL;
        return check_coefficients(r, s, s->classes, s->rows.cols, err);
    }
    if (n_a != n_b || (n_a && n_a != pairs) || s->n_rho != pairs)
        return ox_run_fail(r, err, OX_INPUT,
                           "%zu classes need %zu rho and as many prob_a and prob_b, or none of "
                           "these; there are %zu, %zu and %zu",
                           s->classes, pairs, s->n_rho, n_a, n_b);
    return check_coefficients(r, s, s->classes - 1, s->n_vectors, err);
}

static enum ox_status classify(struct ox_run *r, bool quick, struct ox_error *err)
{
    struct svm s = {.all_positive = true};
    OX_TRY(read_classes(r, &s, err));
    OX_TRY(take_vectors(r, &s, quick, err));
    for (size_t i = 0; i < s.n_coefficients; i++)
        s.all_positive = s.all_positive && s.coefficients[i] >= 0;
    s.n_scores = s.n_vectors && !s.prob_a ? s.classes * (s.classes - 1) / 2 : s.classes;
    s.columns = s.n_scores == 1 && s.labels.n == 2 ? 2 : s.n_scores;
    size_t n_out;
    if (OX_MUL_OVERFLOWS(s.rows.rows, s.columns, &n_out))
        return ox_run_fail(r, err, OX_LIMIT, "too many scores");
    s.out = ox_real_scratch(r, n_out, err);
    s.picked = ox_run_scratch(r, s.rows.rows, sizeof *s.picked, err);
    if (!s.out || !s.picked)
        return OX_NO_MEMORY;
    s.state.budget = ox_env_budget(r->env);
    run_rows(r, &s, classify_rows);
    if (s.state.no_memory)
        return ox_no_memory(err);
    const int64_t dims[2] = {(int64_t)s.rows.rows, (int64_t)s.columns};
    OX_TRY(ox_real_out(r, 1, OX_FLOAT32, 2, dims, s.out, err));
    return ox_ml_labels_out(r, 0, &s.labels, s.rows.rows, s.picked, err);
}

static enum ox_status run_svm_classifier(struct ox_run *r, struct ox_error *err)
{
    return classify(r, false, err);
}

static enum ox_status fast_svm_classifier(struct ox_run *r, struct ox_error *err)
{
    return classify(r, true, err);
}

static void infer_svm_regressor(struct ox_infer *c)
{
    ox_ml_infer_scores(c, 0, 1);
}

static void infer_svm_classifier(struct ox_infer *c)
{
    size_t strings = ox_ml_attr_count(c, "classlabels_strings");
    int64_t n = (int64_t)(strings ? strings : ox_ml_attr_count(c, "classlabels_ints"));
    n = n ? n : 1;
    bool pairs = ox_ml_attr_count(c, "vectors_per_class") && !ox_ml_attr_count(c, "prob_a");
    ox_ml_infer_labels(c, 0, "classlabels_ints", "classlabels_strings");
    ox_ml_infer_scores(c, 1, n > 65535 ? -1 : pairs ? (n == 2 ? 2 : n * (n - 1) / 2) : n);
}

const struct ox_op ox_ops_svm[] = {
    {"ai.onnx.ml", "SVMClassifier", 1, .infer = infer_svm_classifier, .run = run_svm_classifier,
     .fast = fast_svm_classifier, .prepare = prepare_svm},
    {"ai.onnx.ml", "SVMRegressor", 1, .infer = infer_svm_regressor, .run = run_svm_regressor,
     .fast = fast_svm_regressor, .prepare = prepare_svm},
    {0}};
