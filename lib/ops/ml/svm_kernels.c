/* Kernels of support vector machines: a row against the vectors. */
#include <math.h>
#include <string.h>

#include "kernels/compute.h"
#include "kernels/distances.h"
#include "kernels/doubles.h"
#include "ops/fast/fast.h"
#include "ops/ml/svm.h"

size_t ox_svm_columns(size_t n)
{
    return (n + OX_DISTANCE_COLUMNS - 1) / OX_DISTANCE_COLUMNS * OX_DISTANCE_COLUMNS;
}

double ox_svm_dot(size_t n, const double *a, const double *b)
{
    double even = 0, odd = 0;
    size_t i = 0;
    for (; i + 2 <= n; i += 2) {
        even += a[i] * b[i];
        odd += a[i + 1] * b[i + 1];
    }
    return even + odd + (i < n ? a[i] * b[i] : 0);
}

double ox_svm_quick_dot(size_t n, const double *a, const double *b)
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

bool ox_svm_is_quick(const struct ox_svm *s)
{
    return s->packed || s->turned_wide || s->planes;
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

/* In place. */
static void quick_powers(size_t n, double degree, float *x)
{
    const struct ox_rows *t = ox_fast_rows();
    float square[OX_SVM_ROWS * OX_SVM_STRETCH];
    if (degree == 2) {
        t->binary[OX_BINARY_MUL][OX_ROW_BOTH](n, x, x, x);
    } else if (degree == 3) {
        t->binary[OX_BINARY_MUL][OX_ROW_BOTH](n, x, x, square);
        t->binary[OX_BINARY_MUL][OX_ROW_BOTH](n, square, x, x);
    } else {
        for (size_t i = 0; i < n; i++)
            x[i] = (float)pow((double)x[i], degree);
    }
}

void ox_svm_quick_kernels(const struct ox_svm *s, size_t row, size_t rows, size_t from, size_t n,
                          float *out)
{
    const struct ox_compute *t = ox_compute(ox_cpu());
    const size_t cols = s->rows.cols;
    const float *x[OX_SVM_ROWS];
    float coef0[OX_SVM_ROWS];
    for (size_t i = 0; i < rows; i++) {
        x[i] = s->narrow + (row + i) * cols;
        coef0[i] = (float)s->coef0;
    }
    const struct ox_epilogue end = {.scale = (float)s->gamma, .row_bias = coef0};
    struct ox_tile tile = {.segments = 1,
                           .depth = cols,
                           .b = s->packed + from * cols,
                           .panel = t->nr * cols,
                           .ldc = n,
                           .cols = n,
                           .end = &end};
    for (size_t i = 0; i < rows; i += tile.rows) {
        tile.a = x + i;
        tile.c = out + i * n;
        tile.rows = (unsigned)(rows - i < t->mr ? rows - i : t->mr);
        t->tile(&tile);
    }
    if (s->kernel == OX_SVM_SIGMOID)
        ox_fast_rows()->unary[OX_UNARY_TANH](rows * n, out, out, 0, 0);
    else
        quick_powers(rows * n, s->degree, out);
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
static void distances(const struct ox_svm *s, const double *x, size_t from, size_t n, double *out)
{
    const size_t columns = ox_svm_columns(s->n_vectors);
    ox_distances(ox_cpu())->squares(1, n, s->rows.cols, x, s->turned_wide + from, columns, out);
    for (size_t i = 0; i < n; i++)
        out[i] *= -s->gamma;
}

/* Where a processor has vectors of doubles, by those. */
static void quick_exponentials(size_t n, double *x)
{
    const struct ox_doubles *t = ox_doubles(ox_cpu());
    if (t->unary[OX_UNARY_EXP])
        t->unary[OX_UNARY_EXP](n, x, x, 0, 0);
    else
        exponentials(n, x);
}

void ox_svm_kernels(const struct ox_svm *s, const double *x, size_t from, size_t n, double *out)
{
    const size_t cols = s->rows.cols;
    if (s->turned_wide)
        distances(s, x, from, n, out);
    const double *v = s->turned_wide ? NULL : s->vectors + from * cols;
    for (size_t i = 0; v && i < n; i++, v += cols)
        out[i] = s->kernel == OX_SVM_RBF ? -s->gamma * squared_distance(cols, x, v)
                                         : s->gamma * ox_svm_dot(cols, x, v) + s->coef0;
    if (s->kernel == OX_SVM_POLY) {
        powers(n, s->degree, out);
    } else if (s->kernel == OX_SVM_LINEAR) {
        for (size_t i = 0; i < n; i++)
            out[i] = ox_svm_dot(cols, x, s->vectors + (from + i) * cols);
    } else if (s->turned_wide && s->gamma >= 0) {
        quick_exponentials(n, out);
    } else {
        for (size_t i = 0; i < n; i++)
            out[i] = s->kernel == OX_SVM_RBF ? exp(out[i]) : tanh(out[i]);
    }
}
