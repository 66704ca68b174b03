/* SVMClassifier: pairs of classes, votes, and probabilities coupled from them. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ops/fast/fast.h"
#include "ops/ml/svm.h"

/* A score for each pair of classes, by the vectors of both; each votes for one of them. */
static void score_pairs(const struct ox_svm *s, const double *x, const double *kernels,
                        double *scores, double *votes)
{
    size_t start_i = 0, pair = 0;
    for (size_t i = 0; i < s->classes; i++) {
        size_t n_i = (size_t)s->per_class[i], start_j = start_i + n_i;
        for (size_t j = i + 1; j < s->classes; j++) {
            size_t n_j = (size_t)s->per_class[j];
            const double *of_i = s->coefficients + (j - 1) * s->n_vectors + start_i;
            const double *of_j = s->coefficients + i * s->n_vectors + start_j;
            double sum = 0;
            if (s->planes) {
                sum = ox_svm_quick_dot(s->rows.cols, x, s->planes + pair * s->rows.cols);
            } else if (ox_svm_is_quick(s)) {
                sum = ox_svm_quick_dot(n_i, of_i, kernels + start_i);
                sum += ox_svm_quick_dot(n_j, of_j, kernels + start_j);
            }
            for (size_t v = 0; !ox_svm_is_quick(s) && v < n_i; v++)
                sum += of_i[v] * kernels[start_i + v];
            for (size_t v = 0; !ox_svm_is_quick(s) && v < n_j; v++)
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

static void probabilities(const struct ox_svm *s, const double *scores, double *work, double *out)
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
static size_t pick(const struct ox_svm *s, const double *scores, const double *votes)
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

/* [rows, n_vectors], of several rows where vectors are packed. */
static void make_kernels(const struct ox_svm *s, size_t row, size_t rows, double *kernels)
{
    float quick[OX_SVM_ROWS * OX_SVM_STRETCH];
    for (size_t from = 0; !s->planes && from < s->n_vectors; from += OX_SVM_STRETCH) {
        const size_t left = s->n_vectors - from, n = left < OX_SVM_STRETCH ? left : OX_SVM_STRETCH;
        if (!s->packed) {
            ox_svm_kernels(s, s->x + row * s->rows.cols, from, n, kernels + from);
            continue;
        }
        ox_svm_quick_kernels(s, row, rows, from, n, quick);
        for (size_t i = 0; i < rows; i++)
            for (size_t v = 0; v < n; v++)
                kernels[i * s->n_vectors + from + v] = (double)quick[i * n + v];
    }
}

/* Doubles that a row takes while it is classified. */
static size_t row_work(const struct ox_svm *s)
{
    const size_t k = s->classes;
    return k * (k - 1) / 2 + 2 * k + 2 * k * k + k + s->n_scores + 2;
}

static void classify_row(struct ox_svm *s, size_t row, const double *kernels, double *work)
{
    size_t k = s->classes, pairs = k * (k - 1) / 2;
    double *pair_scores = work, *votes = pair_scores + pairs;
    double *scores = votes + k, *more = scores + s->n_scores + 2;
    const double *x = s->x ? s->x + row * s->rows.cols : NULL;
    memset(votes, 0, k * sizeof *votes);
    if (s->n_vectors) {
        score_pairs(s, x, kernels, pair_scores, votes);
        if (s->prob_a)
            probabilities(s, pair_scores, more, scores);
        else
            memcpy(scores, pair_scores, pairs * sizeof *scores);
    } else {
        for (size_t c = 0; c < k; c++)
            scores[c] = ox_svm_dot(s->rows.cols, x, s->coefficients + c * s->rows.cols) + s->rho[0];
    }
    s->picked[row] = pick(s, scores, votes);
    if (s->n_scores == 1 && s->columns == 2) {
        double score = scores[0];
        ox_post_transform_pair(s->transform, s->transform ? 1 - score : -score, score, scores);
    } else if (s->n_scores > 1 || s->transform == OX_POST_PROBIT) {
        ox_post_transform_row(s->transform, s->n_scores, scores);
    }
    memcpy(s->out + row * s->columns, scores, s->columns * sizeof *scores);
}

static void classify_rows(void *arg, size_t from, size_t to)
{
    struct ox_svm *s = arg;
    const size_t abreast = s->packed ? OX_SVM_ROWS : 1;
    const size_t n_kernels = abreast * s->n_vectors, n = n_kernels + row_work(s);
    double *kernels = ox_task_alloc(&s->state, n, sizeof *kernels);
    for (size_t row = from; kernels && row < to; row += abreast) {
        const size_t rows = to - row < abreast ? to - row : abreast;
        make_kernels(s, row, rows, kernels);
        for (size_t i = 0; i < rows; i++)
            classify_row(s, row + i, kernels + i * s->n_vectors, kernels + n_kernels);
    }
    if (kernels)
        ox_task_free(&s->state, kernels, n, sizeof *kernels);
}

static enum ox_status read_classes(struct ox_run *r, struct ox_svm *s, struct ox_error *err)
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
    OX_TRY(ox_svm_read(r, s, err));
    OX_TRY(ox_svm_floats(r, "prob_a", &s->prob_a, &n_a, err));
    OX_TRY(ox_svm_floats(r, "prob_b", &s->prob_b, &n_b, err));
    size_t pairs = s->classes * (s->classes - 1) / 2;
    if (!s->n_vectors) {
        s->prob_a = NULL;
        return ox_svm_check_coefficients(r, s, s->classes, s->rows.cols, err);
    }
    if (n_a != n_b || (n_a && n_a != pairs) || s->n_rho != pairs)
        return ox_run_fail(r, err, OX_INPUT,
                           "%zu classes need %zu rho and as many prob_a and prob_b, or none of "
                           "these; there are %zu, %zu and %zu",
                           s->classes, pairs, s->n_rho, n_a, n_b);
    return ox_svm_check_coefficients(r, s, s->classes - 1, s->n_vectors, err);
}

static enum ox_status classify(struct ox_run *r, bool quick, struct ox_error *err)
{
    struct ox_svm s = {.all_positive = true};
    OX_TRY(read_classes(r, &s, err));
    OX_TRY(ox_svm_take(r, &s, quick, err));
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
    ox_svm_run_rows(r, &s, classify_rows);
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

static void infer_svm_classifier(struct ox_infer *c)
{
    size_t strings = ox_ml_attr_count(c, "classlabels_strings");
    int64_t n = (int64_t)(strings ? strings : ox_ml_attr_count(c, "classlabels_ints"));
    n = n ? n : 1;
    bool pairs = ox_ml_attr_count(c, "vectors_per_class") && !ox_ml_attr_count(c, "prob_a");
    ox_ml_infer_labels(c, 0, "classlabels_ints", "classlabels_strings");
    ox_ml_infer_scores(c, 1, n > 65535 ? -1 : pairs ? (n == 2 ? 2 : n * (n - 1) / 2) : n);
}

const struct ox_op ox_ops_svm_classifier[] = {
    {"ai.onnx.ml", "SVMClassifier", 1, .infer = infer_svm_classifier, .run = run_svm_classifier,
     .fast = fast_svm_classifier, .prepare = ox_svm_prepare},
    {0}};
