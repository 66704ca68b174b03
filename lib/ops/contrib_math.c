/* Mathematics of com.microsoft: Inverse CDist ComplexMul ComplexMulConj Rfft Irfft Range Unique ExpandDims SparseToDenseMatMul. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops/contrib.h"
#include "ops/fft.h"
#include "ops/infer.h"
#include "ops/real.h"
#include "ops/rules.h"

/* ---- Inverse ------------------------------------------------------------------------------------------------------ */

/* Gauss and Jordan with the greatest pivot of each column; what is singular becomes NaN or infinite as the divisions have it. */
static void invert(double *a, double *inverse, size_t n)
{
    for (size_t i = 0; i < n * n; i++)
        inverse[i] = i / n == i % n;
    for (size_t c = 0; c < n; c++) {
        size_t pivot = c;
        for (size_t i = c + 1; i < n; i++)
            if (fabs(a[i * n + c]) > fabs(a[pivot * n + c]))
                pivot = i;
        for (size_t k = 0; pivot != c && k < n; k++) {
            double x = a[c * n + k], y = inverse[c * n + k];
            a[c * n + k] = a[pivot * n + k];
            inverse[c * n + k] = inverse[pivot * n + k];
            a[pivot * n + k] = x;
            inverse[pivot * n + k] = y;
        }
        double by = 1 / a[c * n + c];
        for (size_t k = 0; k < n; k++) {
            a[c * n + k] *= by;
            inverse[c * n + k] *= by;
        }
        for (size_t i = 0; i < n; i++) {
            double factor = a[i * n + c];
            for (size_t k = 0; i != c && factor != 0 && k < n; k++) {
                a[i * n + k] -= factor * a[c * n + k];
                inverse[i * n + k] -= factor * inverse[c * n + k];
            }
        }
    }
}

static enum ox_status run_inverse(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    if (x->rank < 2 || x->dims[x->rank - 1] != x->dims[x->rank - 2])
        return ox_run_fail(r, err, OX_INPUT, "X (rank %u) is no square matrix", x->rank);
    size_t n = (size_t)x->dims[x->rank - 1];
    struct ox_tensor *y;
    OX_TRY(ox_run_out(r, 0, x->dtype, x->rank, x->dims, &y, err));
    if (x->n == 0)
        return OX_OK;
    double *a = ox_real_scratch(r, n * n, err), *inverse = ox_real_scratch(r, n * n, err);
    if (!a || !inverse)
        return OX_NO_MEMORY;
    for (size_t at = 0; at < x->n; at += n * n) {
        ox_real_load(x, at, n * n, a);
        invert(a, inverse, n);
        ox_real_store(y, at, n * n, inverse);
        OX_TRY(ox_env_poll(r->env, err));
    }
    return OX_OK;
}

/* ---- CDist -------------------------------------------------------------------------------------------------------- */

static enum ox_status run_cdist(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *a = ox_run_in(r, 0), *b = ox_run_in(r, 1);
    const char *metric = ox_run_string(r, "metric");
    bool root = metric && strcmp(metric, "euclidean") == 0;
    if (metric && !root && strcmp(metric, "sqeuclidean") != 0)
        return ox_run_fail(r, err, OX_INPUT, "attribute metric is '%s'", metric);
    if (a->rank != 2 || b->rank != 2 || a->dims[1] != b->dims[1])
        return ox_run_fail(r, err, OX_INPUT, "A and B are no matrices of equal columns");
    const double *x, *y;
    OX_TRY(ox_real_in(r, 0, &x, err));
    OX_TRY(ox_real_in(r, 1, &y, err));
    size_t m = (size_t)a->dims[0], n = (size_t)b->dims[0], k = (size_t)a->dims[1], all;
    if (OX_MUL_OVERFLOWS(m, n, &all))
        return ox_run_fail(r, err, OX_LIMIT, "the result is too big");
    double *out = ox_real_scratch(r, all, err);
    if (!out)
        return OX_NO_MEMORY;
    for (size_t i = 0; all && i < m; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = 0;
            for (size_t p = 0; p < k; p++)
                sum += (x[i * k + p] - y[j * k + p]) * (x[i * k + p] - y[j * k + p]);
            out[i * n + j] = root ? sqrt(sum) : sum;
        }
    return ox_real_out(r, 0, a->dtype, 2, (const int64_t[]){a->dims[0], b->dims[0]}, out, err);
}

static void infer_cdist(struct ox_infer *c)
{
    const struct ox_expr *dims[2] = {ox_infer_dim(c, 0, 0), ox_infer_dim(c, 1, 0)};
    ox_infer_same_dtype(c, 0, 0);
    ox_infer_set_shape(c, 0, 2, dims);
}

/* ---- Complex numbers as pairs ------------------------------------------------------------------------------------- */

/* Shapes broadcast; the last axis has the real and the imaginary part. */
static enum ox_status complex_dims(struct ox_run *r, const struct ox_tensor *in[2], unsigned *rank,
                                   int64_t *dims, size_t steps[2][OX_MOST_RANK],
                                   struct ox_error *err)
{
    *rank = in[0]->rank > in[1]->rank ? in[0]->rank : in[1]->rank;
    if (*rank > OX_MOST_RANK || in[0]->rank < 1 || in[1]->rank < 1 ||
        in[0]->dims[in[0]->rank - 1] != 2 || in[1]->dims[in[1]->rank - 1] != 2)
        return ox_run_fail(r, err, OX_INPUT, "the last axis of A and B must have two elements");
    for (unsigned d = 0; d < *rank; d++)
        dims[d] = 1;
    for (unsigned k = 0; k < 2; k++) {
        size_t stride = 1;
        for (unsigned d = *rank; d-- > 0;) {
            unsigned lead = *rank - in[k]->rank;
            int64_t size = d >= lead ? in[k]->dims[d - lead] : 1;
            steps[k][d] = size == 1 ? 0 : stride;
            stride *= (size_t)size;
            if (size != 1 && dims[d] != 1 && size != dims[d])
                return ox_run_fail(r, err, OX_INPUT,
                                   "axes of %" PRId64 " and %" PRId64 " elements do not broadcast",
                                   dims[d], size);
            dims[d] = size == 1 ? dims[d] : size;
        }
    }
    return OX_OK;
}

static enum ox_status complex_product(struct ox_run *r, double sign, struct ox_error *err)
{
    const struct ox_tensor *in[2] = {ox_run_in(r, 0), ox_run_in(r, 1)};
    int64_t dims[OX_MOST_RANK];
    size_t steps[2][OX_MOST_RANK], index[OX_MOST_RANK] = {0}, n, at[2] = {0, 0};
    unsigned rank;
    const double *a, *b;
    OX_TRY(complex_dims(r, in, &rank, dims, steps, err));
    OX_TRY(ox_real_in(r, 0, &a, err));
    OX_TRY(ox_real_in(r, 1, &b, err));
    if (!ox_dims_count(rank, dims, &n))
        return ox_run_fail(r, err, OX_LIMIT, "the result is too big");
    double *y = ox_real_scratch(r, n, err);
    if (!y)
        return OX_NO_MEMORY;
    for (size_t i = 0; i < n; i += 2) {
        double re = a[at[0]], im = a[at[0] + 1], b_re = b[at[1]], b_im = sign * b[at[1] + 1];
        y[i] = re * b_re - im * b_im;
        y[i + 1] = re * b_im + im * b_re;
        for (unsigned d = rank - 1; d-- > 0;) {
            at[0] += steps[0][d];
            at[1] += steps[1][d];
            if (++index[d] < (size_t)dims[d])
                break;
            at[0] -= steps[0][d] * index[d];
            at[1] -= steps[1][d] * index[d];
            index[d] = 0;
        }
    }
    return ox_real_out(r, 0, in[0]->dtype, rank, dims, y, err);
}

static enum ox_status run_complex_mul(struct ox_run *r, struct ox_error *err)
{
    return complex_product(r, 1, err);
}

static enum ox_status run_complex_mul_conj(struct ox_run *r, struct ox_error *err)
{
    return complex_product(r, -1, err);
}

static void infer_complex(struct ox_infer *c)
{
    ox_infer_same_dtype(c, 0, 0);
    ox_rule_broadcast(c);
}

/* ---- Rfft Irfft: the last axes, of the last of which half a spectrum is kept, as pairs ---------------------------- */

/* How many axes make the signal. */
static enum ox_status signal_axes(struct ox_run *r, unsigned rank, unsigned *n,
                                  struct ox_error *err)
{
    int64_t axes = ox_run_int(r, "signal_ndim", 1);
    if (ox_run_int(r, "normalized", 0) || !ox_run_int(r, "onesided", 1))
        return ox_run_fail(r, err, OX_INPUT, "onesided is not 1, or normalized not 0");
    if (axes < 1 || axes > (int64_t)rank)
        return ox_run_fail(r, err, OX_INPUT, "signal_ndim is %" PRId64 " for %u axes", axes, rank);
    *n = (unsigned)axes;
    return OX_OK;
}

struct transform {
    struct ox_fft fft;
    struct ox_complex *from, *to, *work; /* a signal, its spectrum, or the other way */
};

static enum ox_status transform_init(struct ox_run *r, size_t n, struct transform *t,
                                     struct ox_error *err)
{
    OX_TRY(ox_fft_init(r, n, &t->fft, err));
    t->from = ox_run_scratch(r, n, sizeof *t->from, err);
    t->to = ox_run_scratch(r, n, sizeof *t->to, err);
    t->work = ox_run_scratch(r, ox_fft_work(&t->fft), sizeof *t->work, err);
    return t->from && t->to && t->work ? OX_OK : OX_NO_MEMORY;
}

/* In place along all axes of `all` [batch, dims ..., inner] but the batch and the inner one. */
static enum ox_status transform_outer(struct ox_run *r, struct ox_complex *all, size_t batch,
                                      const int64_t *dims, unsigned n_dims, size_t inner,
                                      bool inverse, struct ox_error *err)
{
    for (unsigned d = n_dims; d-- > 0; inner *= (size_t)dims[d]) {
        size_t n = (size_t)dims[d], outer = batch;
        struct transform t;
        OX_TRY(transform_init(r, n, &t, err));
        for (unsigned k = 0; k < d; k++)
            outer *= (size_t)dims[k];
        for (size_t line = 0; line < outer * inner; line++) {
            struct ox_complex *at = all + line / inner * n * inner + line % inner;
            for (size_t i = 0; i < n; i++)
                t.from[i] = at[i * inner];
            ox_fft_run(&t.fft, inverse, t.from, t.to, t.work);
            for (size_t i = 0; i < n; i++)
                at[i * inner] = t.to[i];
        }
    }
    return OX_OK;
}

static enum ox_status run_rfft(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    unsigned axes;
    if (x->rank < 1 || x->rank >= OX_MOST_RANK || x->dims[x->rank - 1] < 1)
        return ox_run_fail(r, err, OX_INPUT, "X (rank %u) has no signal along its last axis",
                           x->rank);
    OX_TRY(signal_axes(r, x->rank, &axes, err));
    size_t n = (size_t)x->dims[x->rank - 1], bins = n / 2 + 1, batch = x->n ? 1 : 0;
    struct transform t;
    int64_t dims[OX_MOST_RANK];
    struct ox_tensor *y;
    const double *in;
    OX_TRY(transform_init(r, n, &t, err));
    OX_TRY(ox_real_in(r, 0, &in, err));
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    dims[x->rank - 1] = (int64_t)bins;
    dims[x->rank] = 2;
    OX_TRY(ox_run_out(r, 0, x->dtype, x->rank + 1, dims, &y, err));
    struct ox_complex *all = ox_run_scratch(r, x->n / n * bins, sizeof *all, err);
    if (!all)
        return OX_NO_MEMORY;
    for (size_t row = 0; row < x->n / n; row++) {
        for (size_t i = 0; i < n; i++)
            t.from[i] = (struct ox_complex){in[row * n + i], 0};
        ox_fft_run(&t.fft, false, t.from, t.to, t.work);
        memcpy(all + row * bins, t.to, bins * sizeof *all);
    }
    for (unsigned d = 0; d < x->rank - axes; d++)
        batch *= (size_t)x->dims[d];
    OX_TRY(transform_outer(r, all, batch, dims + x->rank - axes, axes - 1, bins, false, err));
    ox_real_store(y, 0, y->n, &all->re);
    return OX_OK;
}

static enum ox_status run_irfft(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    unsigned axes;
    if (x->rank < 2 || x->rank > OX_MOST_RANK || x->dims[x->rank - 1] != 2 ||
        x->dims[x->rank - 2] < 2)
        return ox_run_fail(r, err, OX_INPUT, "X (rank %u) has no spectrum of pairs", x->rank);
    OX_TRY(signal_axes(r, x->rank - 1, &axes, err));
    unsigned first = x->rank - 1 - axes;
    size_t bins = (size_t)x->dims[x->rank - 2], n = 2 * (bins - 1), batch = x->n ? 1 : 0;
    struct transform t;
    int64_t dims[OX_MOST_RANK];
    struct ox_tensor *y;
    OX_TRY(transform_init(r, n, &t, err));
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    dims[x->rank - 2] = (int64_t)n;
    OX_TRY(ox_run_out(r, 0, x->dtype, x->rank - 1, dims, &y, err));
    struct ox_complex *all = ox_run_scratch(r, x->n / 2, sizeof *all, err);
    double *signal = ox_real_scratch(r, n, err), points = (double)n;
    if (!all || !signal)
        return OX_NO_MEMORY;
    ox_real_load(x, 0, x->n, &all->re);
    for (unsigned d = 0; d < first; d++)
        batch *= (size_t)x->dims[d];
    for (unsigned d = first; d < x->rank - 2; d++)
        points *= (double)x->dims[d];
    OX_TRY(transform_outer(r, all, batch, dims + first, axes - 1, bins, true, err));
    for (size_t row = 0; row < x->n / bins / 2; row++) {
        const struct ox_complex *spectrum = all + row * bins;
        for (size_t i = 0; i < n; i++)
            t.from[i] = i < bins ? spectrum[i]
                                 : (struct ox_complex){spectrum[n - i].re, -spectrum[n - i].im};
        ox_fft_run(&t.fft, true, t.from, t.to, t.work);
        for (size_t i = 0; i < n; i++)
            signal[i] = t.to[i].re / points;
        ox_real_store(y, row * n, n, signal);
    }
    return OX_OK;
}

static void infer_fft(struct ox_infer *c, bool inverse)
{
    unsigned rank;
    const struct ox_expr *const *x;
    ox_infer_same_dtype(c, 0, 0);
    if (!ox_infer_shape(c, 0, &rank, &x) || rank < (inverse ? 2u : 1u))
        return;
    const struct ox_expr **dims = ox_infer_dims(c, rank + 1), *two = ox_infer_num(c, 2);
    if (!dims)
        return;
    for (unsigned d = 0; d < rank; d++)
        dims[d] = x[d];
    const struct ox_expr *one = ox_infer_num(c, 1);
    if (inverse) {
        dims[rank - 2] = ox_infer_mul(c, ox_infer_sub(c, x[rank - 2], one), two);
    } else {
        dims[rank - 1] = ox_infer_add(c, ox_infer_floordiv(c, x[rank - 1], two), one);
        dims[rank] = two;
    }
    ox_infer_set_shape(c, 0, inverse ? rank - 1 : rank + 1, dims);
}

static void infer_rfft(struct ox_infer *c)
{
    infer_fft(c, false);
}

static void infer_irfft(struct ox_infer *c)
{
    infer_fft(c, true);
}

/* ---- Range -------------------------------------------------------------------------------------------------------- */

static enum ox_status run_contrib_range(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *start = ox_run_in(r, 0), *limit = ox_run_in(r, 1);
    const struct ox_tensor *delta = ox_run_in(r, 2);
    if (start->n != 1 || limit->n != 1 || (delta && delta->n != 1))
        return ox_run_fail(r, err, OX_INPUT, "start, limit and delta must have one element each");
    double from = ox_tensor_get_double(start, 0), to = ox_tensor_get_double(limit, 0);
    double step = delta ? ox_tensor_get_double(delta, 0) : 1, count = ceil((to - from) / step);
    if (step == 0 || !(fabs(count) < 9e15))
        return ox_run_fail(r, err, OX_INPUT, "no range from %g to %g by %g", from, to, step);
    int64_t n = count > 0 ? (int64_t)count : 0;
    struct ox_tensor *y;
    OX_TRY(ox_run_out(r, 0, start->dtype, 1, &n, &y, err));
    size_t size = ox_dtype_size(y->dtype);
    for (size_t i = 0; i < y->n; i++) {
        double value = from + (double)i * step;
        ox_elements_convert(y->dtype, (char *)y->data + i * size, OX_FLOAT64, &value, 1, true);
    }
    return OX_OK;
}

static void infer_contrib_range(struct ox_infer *c)
{
    const struct ox_expr *n = ox_infer_data_dim(c, "count");
    ox_infer_same_dtype(c, 0, 0);
    ox_infer_set_shape(c, 0, 1, &n);
}

/* ---- Unique: of a list, in the order of first appearance ---------------------------------------------------------- */

struct entry {
    double value;
    size_t at, first; /* place in x; place among the distinct ones */
};

static int compare_entries(const void *pa, const void *pb)
{
    const struct entry *a = pa, *b = pb;
    if (a->value != b->value)
        return a->value < b->value ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

static enum ox_status run_contrib_unique(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    struct ox_tensor *y, *idx, *counts;
    if (x->rank != 1)
        return ox_run_fail(r, err, OX_INPUT, "x has rank %u, not 1", x->rank);
    struct entry *entries = ox_run_scratch(r, x->n, sizeof *entries, err);
    size_t *first = ox_run_scratch(r, x->n, sizeof *first, err);
    int64_t *number = ox_run_scratch(r, x->n, sizeof *number, err);
    if (!entries || !first || !number)
        return OX_NO_MEMORY;
    for (size_t i = 0; i < x->n; i++)
        entries[i] = (struct entry){ox_tensor_get_double(x, i), i, 0};
    qsort(entries, x->n, sizeof *entries, compare_entries);
    for (size_t i = 0, head = 0; i < x->n; i++) {
        if (i == 0 || entries[i].value != entries[i - 1].value)
            head = entries[i].at;
        first[entries[i].at] = head;
    }
    int64_t distinct = 0, all = (int64_t)x->n;
    for (size_t i = 0; i < x->n; i++)
        number[i] = first[i] == i ? distinct++ : number[first[i]];
    OX_TRY(ox_run_out(r, 0, x->dtype, 1, &distinct, &y, err));
    OX_TRY(ox_run_out(r, 1, OX_INT64, 1, &all, &idx, err));
    OX_TRY(ox_run_out(r, 2, OX_INT64, 1, &distinct, &counts, err));
    int64_t *count = counts->data;
    for (int64_t k = 0; k < distinct; k++)
        count[k] = 0;
    for (size_t i = 0; i < x->n; i++) {
        double value = ox_tensor_get_double(x, i);
        ((int64_t *)idx->data)[i] = number[i];
        if (count[number[i]]++ == 0)
            ox_real_store(y, (size_t)number[i], 1, &value);
    }
    return OX_OK;
}

static void infer_contrib_unique(struct ox_infer *c)
{
    const struct ox_expr *n = ox_infer_data_dim(c, "count"), *all = ox_infer_dim(c, 0, 0);
    ox_infer_same_dtype(c, 0, 0);
    for (size_t i = 0; i < ox_infer_n_out(c); i++) {
        if (i)
            ox_infer_set_dtype(c, i, OX_INT64);
        ox_infer_set_shape(c, i, 1, i == 1 ? &all : &n);
    }
}

/* ---- ExpandDims --------------------------------------------------------------------------------------------------- */

static enum ox_status run_expand_dims(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0), *axis_in = ox_run_in(r, 1);
    int64_t dims[OX_MOST_RANK + 1];
    unsigned axis;
    if (axis_in->n != 1 || x->rank >= OX_MOST_RANK)
        return ox_run_fail(r, err, OX_INPUT, "axis has %zu elements", axis_in->n);
    OX_TRY(ox_run_axis(r, ox_tensor_get_int(axis_in, 0), x->rank + 1, &axis, err));
    for (unsigned d = 0; d <= x->rank; d++)
        dims[d] = d == axis ? 1 : x->dims[d - (d > axis)];
    return ox_run_out_view(r, 0, x, x->rank + 1, dims, err);
}

static void infer_expand_dims(struct ox_infer *c)
{
    unsigned rank, axis;
    const struct ox_expr *const *x;
    const int64_t *given;
    size_t n;
    ox_infer_same_dtype(c, 0, 0);
    if (!ox_infer_shape(c, 0, &rank, &x) || !ox_infer_ints(c, 1, &n, &given) || n != 1 ||
        !ox_infer_axis(c, given[0], rank + 1, &axis))
        return;
    const struct ox_expr **dims = ox_infer_dims(c, rank + 1);
    for (unsigned d = 0; dims && d <= rank; d++)
        dims[d] = d == axis ? ox_infer_num(c, 1) : x[d - (d > axis)];
    if (dims)
        ox_infer_set_shape(c, 0, rank + 1, dims);
}

/* ---- SparseToDenseMatMul ------------------------------------------------------------------------------------------ */

static enum ox_status run_sparse_matmul(struct ox_run *r, struct ox_error *err)
{
    const struct ox_datum *a = r->in[0];
    const struct ox_tensor *b = r->in[1]->tensor, *places = a->indices, *values = a->tensor;
    bool ta = ox_run_int(r, "transA", 0) != 0, tb = ox_run_int(r, "transB", 0) != 0;
    double alpha = (double)ox_run_float(r, "alpha", 1);
    if (a->kind != OX_DATUM_SPARSE || a->rank != 2 || !b || b->rank != 2)
        return ox_run_fail(r, err, OX_INPUT, "A is no sparse matrix, or B no matrix");
    int64_t rows = a->dims[ta ? 1 : 0], depth = a->dims[ta ? 0 : 1], width = b->dims[tb ? 0 : 1];
    if (b->dims[tb ? 1 : 0] != depth)
        return ox_run_fail(r, err, OX_INPUT, "A has %" PRId64 " columns, B %" PRId64 " rows", depth,
                           b->dims[tb ? 1 : 0]);
    const double *right = ox_real_all(r, b, err);
    int64_t dims[2] = {rows, width};
    size_t all, n = (size_t)width, k_rows = (size_t)b->dims[1];
    if (!ox_dims_count(2, dims, &all))
        return ox_run_fail(r, err, OX_LIMIT, "the result is too big");
    double *y = ox_real_scratch(r, all, err);
    if (!y || (!right && b->n))
        return OX_NO_MEMORY;
    for (size_t e = 0; e < values->n; e++) {
        int64_t at[2] = {ox_tensor_get_int(places, places->rank == 2 ? 2 * e : e), 0};
        if (places->rank == 2) {
            at[1] = ox_tensor_get_int(places, 2 * e + 1);
        } else if (a->dims[1]) {
            at[1] = at[0] % a->dims[1];
            at[0] /= a->dims[1];
        }
        if (at[0] < 0 || at[0] >= a->dims[0] || at[1] < 0 || at[1] >= a->dims[1])
            return ox_run_fail(r, err, OX_INPUT, "element %zu of A lies outside of it", e);
        size_t row = (size_t)at[ta ? 1 : 0], k = (size_t)at[ta ? 0 : 1];
        double value = ox_tensor_get_double(values, e) * alpha;
        for (size_t j = 0; j < n; j++)
            y[row * n + j] += value * right[tb ? j * k_rows + k : k * n + j];
    }
    struct ox_tensor *out;
    OX_TRY(ox_run_out(r, 0, b->dtype, 2, dims, &out, err));
    ox_elements_convert(out->dtype, out->data, OX_FLOAT64, y, all, false);
    return OX_OK;
}

static void infer_sparse_matmul(struct ox_infer *c)
{
    const struct ox_type *a = ox_infer_type(c, 0);
    bool ta = ox_infer_int_attr(c, "transA", 0) != 0, tb = ox_infer_int_attr(c, "transB", 0) != 0;
    ox_infer_same_dtype(c, 0, 1);
    const struct ox_expr *dims[2] = {NULL, ox_infer_dim(c, 1, tb ? 0 : 1)};
    if (a && a->has_rank && a->rank == 2)
        dims[0] = a->dims[ta ? 1 : 0];
    ox_infer_set_shape(c, 0, 2, dims);
}

#define MS "com.microsoft"

const struct ox_op ox_ops_contrib_math[] = {
    {MS, "CDist", 1, .infer = infer_cdist, .run = run_cdist},
    {MS, "ComplexMul", 1, .infer = infer_complex, .run = run_complex_mul},
    {MS, "ComplexMulConj", 1, .infer = infer_complex, .run = run_complex_mul_conj},
    {MS, "ExpandDims", 1, OX_OP_HALF, .infer = infer_expand_dims, .run = run_expand_dims},
    {MS, "Inverse", 1, .infer = ox_rule_same, .run = run_inverse},
    {MS, "Irfft", 1, .infer = infer_irfft, .run = run_irfft},
    {MS, "Range", 1, .infer = infer_contrib_range, .run = run_contrib_range},
    {MS, "Rfft", 1, .infer = infer_rfft, .run = run_rfft},
    {MS, "SparseToDenseMatMul", 1, OX_OP_ANY_KIND, .infer = infer_sparse_matmul,
     .run = run_sparse_matmul},
    {MS, "Unique", 1, .infer = infer_contrib_unique, .run = run_contrib_unique},
    {0}};
