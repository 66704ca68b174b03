/* Complex numbers of com.microsoft: ComplexMul ComplexMulConj Irfft Rfft. */
#include <inttypes.h>
#include <string.h>

#include "ops/fft.h"
#include "ops/infer.h"
#include "ops/real.h"
#include "ops/rules.h"

/* ---- Complex numbers as pairs ------------------------------------------------------------------------------------ */

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

/* ---- Rfft Irfft: the last axes, of the last of which half a spectrum is kept, as pairs --------------------------- */

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

#define MS "com.microsoft"

const struct ox_op ox_ops_contrib_complex[] = {
    {MS, "ComplexMul", 1, .infer = infer_complex, .run = run_complex_mul},
    {MS, "ComplexMulConj", 1, .infer = infer_complex, .run = run_complex_mul_conj},
    {MS, "Irfft", 1, .infer = infer_irfft, .run = run_irfft},
    {MS, "Rfft", 1, .infer = infer_rfft, .run = run_rfft},
    {0}};
