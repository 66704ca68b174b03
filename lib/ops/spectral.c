/* DFT, STFT, MelWeightMatrix. */
#include <math.h>
#include <string.h>

#include "common/threads.h"
#include "ops/fast/fast.h"
#include "ops/fft.h"
#include "ops/infer.h"
#include "ops/product.h"
#include "ops/real.h"
#include "ops/rules.h"

/* ---- DFT --------------------------------------------------------------------------------------------------------- */

/* Input as [outer, n_in, inner, parts], output as [outer, n_out, inner, out_parts]; a task is one line. */
struct dft {
    struct ox_fft fft;
    const struct ox_tensor *x;
    struct ox_tensor *y;
    size_t n_in, n_out, inner, parts, out_parts;
    bool inverse, onesided;
    struct ox_task_state state;
};

/* Fills a Hermitian spectrum from its first half; the parts that would make the signal complex are dropped. */
static void complete_spectrum(struct ox_complex *a, size_t n)
{
    a[0].im = 0;
    if (n % 2 == 0)
        a[n / 2].im = 0;
    for (size_t k = n / 2 + 1; k < n; k++)
        a[k] = (struct ox_complex){a[n - k].re, -a[n - k].im};
}

/* The first n places of a line; `work` is as long. */
static void load_line(const struct dft *d, size_t line, size_t n, struct ox_complex *in,
                      struct ox_complex *work)
{
    const size_t at = (line / d->inner * d->n_in * d->inner + line % d->inner) * d->parts;
    double *all = d->parts == 2 ? &in->re : &work->re;
    if (d->inner == 1)
        ox_real_load(d->x, at, n * d->parts, all);
    for (size_t k = 0; k < n && d->inner > 1; k++)
        ox_real_load(d->x, at + k * d->inner * d->parts, d->parts, all + k * d->parts);
    for (size_t k = 0; k < n && d->parts == 1; k++)
        in[k] = (struct ox_complex){all[k], 0};
}

/* Spoils `out`. */
static void store_line(const struct dft *d, size_t line, struct ox_complex *out)
{
    const size_t at = (line / d->inner * d->n_out * d->inner + line % d->inner) * d->out_parts;
    const double scale = 1 / (double)d->fft.n;
    double *all = &out->re;
    for (size_t k = 0; k < d->n_out && d->inverse; k++)
        out[k] = (struct ox_complex){out[k].re * scale, out[k].im * scale};
    for (size_t k = 0; k < d->n_out && d->out_parts == 1; k++)
        all[k] = all[2 * k];
    if (d->inner == 1)
        ox_real_store(d->y, at, d->n_out * d->out_parts, all);
    for (size_t k = 0; k < d->n_out && d->inner > 1; k++)
        ox_real_store(d->y, at + k * d->inner * d->out_parts, d->out_parts, all + k * d->out_parts);
}

static void dft_task(void *arg, size_t line)
{
    struct dft *d = arg;
    size_t n = d->fft.n, n_work = ox_fft_work(&d->fft);
    struct ox_complex *in = ox_task_alloc(&d->state, 2 * n + n_work, sizeof *in);
    if (!in)
        return;
    struct ox_complex *out = in + n;
    size_t used = d->n_in < n ? d->n_in : n;
    if (d->inverse && d->onesided && used > n / 2 + 1)
        used = n / 2 + 1;
    load_line(d, line, used, in, out);
    for (size_t k = used; k < n; k++)
        in[k] = (struct ox_complex){0, 0};
    if (d->inverse && d->onesided)
        complete_spectrum(in, n);
    ox_fft_run(&d->fft, d->inverse, in, out, out + n);
    store_line(d, line, out);
    ox_task_free(&d->state, in, 2 * n + n_work, sizeof *in);
}

static enum ox_status run_dft(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0), *length = ox_run_in(r, 1), *at = ox_run_in(r, 2);
    struct dft d = {.x = x,
                    .inverse = ox_run_int(r, "inverse", 0) != 0,
                    .onesided = ox_run_int(r, "onesided", 0) != 0};
    if (x->rank < 2 || (x->dims[x->rank - 1] != 1 && x->dims[x->rank - 1] != 2))
        return ox_run_fail(r, err, OX_INPUT,
                           "the input's last dimension is not 1 (real) or 2 (complex)");
    if ((length && length->n != 1) || (at && at->n != 1))
        return ox_run_fail(r, err, OX_INPUT, "dft_length or axis is no scalar");
    unsigned axis;
    int64_t given = r->opset < 20 ? ox_run_int(r, "axis", 1) : at ? ox_tensor_get_int(at, 0) : -2;
    OX_TRY(ox_run_axis(r, given, x->rank, &axis, err));
    if (axis == x->rank - 1)
        return ox_run_fail(r, err, OX_INPUT, "axis %lld is that of real and imaginary part",
                           (long long)given);
    d.parts = (size_t)x->dims[x->rank - 1];
    d.n_in = (size_t)x->dims[axis];
    bool back = d.inverse && d.onesided;
    int64_t n =
        length ? ox_tensor_get_int(length, 0) : (back ? 2 * (x->dims[axis] - 1) : x->dims[axis]);
    if (n < 1)
        return ox_run_fail(r, err, OX_INPUT, "the transform's length is %lld", (long long)n);
    int64_t *dims = ox_run_scratch(r, x->rank, sizeof *dims, err);
    if (!dims)
        return OX_NO_MEMORY;
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    dims[axis] = d.onesided && !d.inverse ? n / 2 + 1 : n;
    dims[x->rank - 1] = back ? 1 : 2;
    d.n_out = (size_t)dims[axis];
    d.out_parts = back ? 1 : 2;
    OX_TRY(ox_run_out(r, 0, x->dtype, x->rank, dims, &d.y, err));
    if (!d.y->n)
        return OX_OK;
    OX_TRY(ox_fft_init(r, (size_t)n, &d.fft, err));
    d.inner = 1;
    for (unsigned i = axis + 1; i < x->rank - 1; i++)
        d.inner *= (size_t)x->dims[i];
    d.state.budget = ox_env_budget(r->env);
    ox_parallel(r->env, d.y->n / d.n_out / d.out_parts, dft_task, &d);
    OX_TRY(ox_env_poll(r->env, err));
    return d.state.no_memory ? ox_run_fail(r, err, OX_NO_MEMORY, "out of memory") : OX_OK;
}

static void infer_dft(struct ox_infer *c)
{
    unsigned rank, axis;
    const struct ox_expr *const *x;
    if (!ox_infer_shape(c, 0, &rank, &x)) {
        ox_infer_unknown(c, 0, "the input's rank is not known");
        return;
    }
    if (!ox_rule_rank_least(c, 0, 2))
        return;
    bool inverse = ox_infer_int_attr(c, "inverse", 0) != 0;
    bool onesided = ox_infer_int_attr(c, "onesided", 0) != 0;
    int64_t at = -2;
    size_t n;
    const int64_t *ints;
    bool known = true;
    if (ox_infer_opset(c) < 20) {
        at = ox_infer_int_attr(c, "axis", 1);
    } else if (ox_infer_has(c, 2)) {
        known = ox_infer_ints(c, 2, &n, &ints) && n == 1;
        at = known ? ints[0] : -2;
    }
    const struct ox_expr **dims = ox_infer_dims(c, rank);
    if (!dims)
        return;
    int64_t parts;
    if (onesided && ox_infer_is_num(x[rank - 1], &parts) && parts != (inverse ? 2 : 1))
        ox_infer_conflict(c, "one side %s numbers whose last dimension is %d, not %lld",
                          inverse ? "comes from complex" : "is made of real", inverse ? 2 : 1,
                          (long long)parts);
    dims[rank - 1] = ox_infer_num(c, inverse && onesided ? 1 : 2);
    if (!known) { /* without a length of its own the transform keeps sizes on any axis */
        for (unsigned d = 0; d + 1 < rank && !onesided && !ox_infer_has(c, 1); d++)
            dims[d] = x[d];
        ox_infer_set_shape(c, 0, rank, dims);
        return;
    }
    if (!ox_infer_axis(c, at, rank, &axis))
        return;
    if (axis == rank - 1) {
        ox_infer_conflict(c, "axis %lld is that of real and imaginary part", (long long)at);
        return;
    }
    for (unsigned d = 0; d + 1 < rank; d++)
        dims[d] = x[d];
    const struct ox_expr *two = ox_infer_num(c, 2), *one = ox_infer_num(c, 1);
    const struct ox_expr *length = x[axis];
    const struct ox_expr *const *values;
    if (ox_infer_has(c, 1))
        length = ox_infer_values(c, 1, &n, &values) && n == 1 ? values[0] : NULL;
    else if (inverse && onesided)
        length = ox_infer_mul(c, two, ox_infer_sub(c, length, one));
    dims[axis] =
        onesided && !inverse ? ox_infer_add(c, ox_infer_floordiv(c, length, two), one) : length;
    ox_infer_set_shape(c, 0, rank, dims);
}

/* ---- STFT -------------------------------------------------------------------------------------------------------- */

struct stft {
    struct ox_fft fft;
    const struct ox_tensor *x;
    struct ox_tensor *y;
    const double *window; /* NULL: ones */
    size_t length, parts, step, frames, bins;
    struct ox_task_state state;
};

static void stft_task(void *arg, size_t i)
{
    struct stft *s = arg;
    size_t n = s->fft.n, n_work = ox_fft_work(&s->fft);
    struct ox_complex *in = ox_task_alloc(&s->state, 2 * n + n_work, sizeof *in);
    if (!in)
        return;
    struct ox_complex *out = in + n;
    size_t at = i / s->frames * s->length + i % s->frames * s->step;
    for (size_t k = 0; k < n; k++) {
        double pair[2] = {0}, w = s->window ? s->window[k] : 1;
        ox_real_load(s->x, (at + k) * s->parts, s->parts, pair);
        in[k] = (struct ox_complex){pair[0] * w, pair[1] * w};
    }
    ox_fft_run(&s->fft, false, in, out, out + n);
    for (size_t k = 0; k < s->bins; k++) {
        double pair[2] = {out[k].re, out[k].im};
        ox_real_store(s->y, (i * s->bins + k) * 2, 2, pair);
    }
    ox_task_free(&s->state, in, 2 * n + n_work, sizeof *in);
}

static enum ox_status run_stft(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0), *step = ox_run_in(r, 1);
    const struct ox_tensor *window = ox_run_in(r, 2), *length = ox_run_in(r, 3);
    if ((x->rank != 2 && x->rank != 3) || (x->rank == 3 && x->dims[2] != 1 && x->dims[2] != 2))
        return ox_run_fail(r, err, OX_INPUT, "the signal is not [batch, length, 1 or 2]");
    if (step->n != 1 || (length && length->n != 1) || (window && window->rank != 1))
        return ox_run_fail(r, err, OX_INPUT,
                           "frame_step, frame_length or window has the wrong rank");
    struct stft s = {
        .x = x, .length = (size_t)x->dims[1], .parts = x->rank == 3 ? (size_t)x->dims[2] : 1};
    int64_t hop = ox_tensor_get_int(step, 0);
    int64_t n = length ? ox_tensor_get_int(length, 0) : window ? window->dims[0] : x->dims[1];
    if (hop < 1 || n < 1 || n > x->dims[1])
        return ox_run_fail(r, err, OX_INPUT,
                           "frames of %lld every %lld do not fit a signal of %lld", (long long)n,
                           (long long)hop, (long long)x->dims[1]);
    if (window && window->dims[0] != n)
        return ox_run_fail(r, err, OX_INPUT, "the window has %lld values, a frame %lld",
                           (long long)window->dims[0], (long long)n);
    OX_TRY(ox_real_in(r, 2, &s.window, err));
    s.step = (size_t)hop;
    s.frames = (size_t)((x->dims[1] - n) / hop + 1);
    s.bins = (size_t)(ox_run_int(r, "onesided", 1) != 0 ? n / 2 + 1 : n);
    int64_t dims[4] = {x->dims[0], (int64_t)s.frames, (int64_t)s.bins, 2};
    OX_TRY(ox_run_out(r, 0, x->dtype, 4, dims, &s.y, err));
    OX_TRY(ox_fft_init(r, (size_t)n, &s.fft, err));
    s.state.budget = ox_env_budget(r->env);
    ox_parallel(r->env, (size_t)x->dims[0] * s.frames, stft_task, &s);
    OX_TRY(ox_env_poll(r->env, err));
    return s.state.no_memory ? ox_run_fail(r, err, OX_NO_MEMORY, "out of memory") : OX_OK;
}

static const struct ox_expr *scalar_value(struct ox_infer *c, size_t i)
{
    size_t n;
    const struct ox_expr *const *values;
    return ox_infer_values(c, i, &n, &values) && n == 1 ? values[0] : NULL;
}

static void infer_stft(struct ox_infer *c)
{
    unsigned rank;
    const struct ox_expr *const *x;
    const struct ox_expr **dims = ox_infer_dims(c, 4);
    if (!dims)
        return;
    dims[3] = ox_infer_num(c, 2);
    ox_rule_rank_least(c, 0, 2);
    if (ox_infer_shape(c, 0, &rank, &x) && rank >= 2) {
        const struct ox_expr *n = x[1], *one = ox_infer_num(c, 1);
        if (ox_infer_has(c, 3))
            n = scalar_value(c, 3);
        else if (ox_infer_has(c, 2))
            n = ox_infer_dim(c, 2, 0);
        const struct ox_expr *step = scalar_value(c, 1);
        int64_t hop;
        dims[0] = x[0];
        if (step && (!ox_infer_is_num(step, &hop) || hop > 0))
            dims[1] = ox_infer_add(c, ox_infer_floordiv(c, ox_infer_sub(c, x[1], n), step), one);
        dims[2] = n;
        if (ox_infer_int_attr(c, "onesided", 1) != 0)
            dims[2] = ox_infer_add(c, ox_infer_floordiv(c, n, ox_infer_num(c, 2)), one);
    }
    ox_infer_set_shape(c, 0, 4, dims);
}

/* ---- MelWeightMatrix --------------------------------------------------------------------------------------------- */

static void infer_mel(struct ox_infer *c)
{
    const struct ox_expr **dims = ox_infer_dims(c, 2);
    if (!dims)
        return;
    const struct ox_expr *n = scalar_value(c, 1);
    dims[0] = ox_infer_add(c, ox_infer_floordiv(c, n, ox_infer_num(c, 2)), ox_infer_num(c, 1));
    dims[1] = scalar_value(c, 0);
    ox_infer_set_dtype(c, 0, ox_rule_dtype_attr(c, "output_datatype"));
    ox_infer_set_shape(c, 0, 2, dims);
}

static double mel_of(double hertz)
{
    return 2595 * log10(1 + hertz / 700);
}

/* The spectrogram bin of edge i among n + 2 edges that are even steps apart on the mel scale. */
static int64_t mel_edge(double low, double high, int64_t i, int64_t n, int64_t length, int64_t rate)
{
    double mel = low + (double)i * ((high - low) / (double)(n + 2));
    double hertz = 700 * (pow(10, mel / 2595) - 1);
    double bin = floor((double)(length + 1) * hertz / (double)rate);
    return bin >= 0 && bin < 9e15 ? (int64_t)bin : -1;
}

static enum ox_status run_mel(struct ox_run *r, struct ox_error *err)
{
    for (size_t i = 0; i < 5; i++)
        if (ox_run_in(r, i)->n != 1)
            return ox_run_fail(r, err, OX_INPUT, "input %zu is no scalar", i);
    int64_t n = ox_tensor_get_int(ox_run_in(r, 0), 0),
            length = ox_tensor_get_int(ox_run_in(r, 1), 0);
    int64_t rate = ox_tensor_get_int(ox_run_in(r, 2), 0);
    double low = mel_of(ox_real_scalar(r, 3, 0)), high = mel_of(ox_real_scalar(r, 4, 0));
    if (n < 0 || length < 0 || length > INT64_MAX / 4 || rate < 1)
        return ox_run_fail(r, err, OX_INPUT, "%lld bands, a DFT of %lld or a rate of %lld",
                           (long long)n, (long long)length, (long long)rate);
    int64_t dims[2] = {length / 2 + 1, n};
    size_t count;
    if (!ox_dims_count(2, dims, &count))
        return ox_run_fail(r, err, OX_LIMIT, "the matrix is too large");
    double *m = ox_real_scratch(r, count, err);
    if (!m)
        return OX_NO_MEMORY;
    for (int64_t i = 0; i < n; i++) {
        int64_t edge[3];
        for (int64_t k = 0; k < 3; k++) {
            edge[k] = mel_edge(low, high, i + k, n, length, rate);
            if (edge[k] < 0 || edge[k] >= dims[0] + (k == 2) || (k && edge[k] < edge[k - 1]))
                return ox_run_fail(r, err, OX_INPUT,
                                   "band %lld reaches beyond the spectrogram's %lld bins",
                                   (long long)i, (long long)dims[0]);
        }
        for (int64_t j = edge[0]; j <= edge[1]; j++)
            m[j * n + i] =
                edge[1] == edge[0] ? 1 : (double)(j - edge[0]) / (double)(edge[1] - edge[0]);
        for (int64_t j = edge[1]; j < edge[2]; j++)
            m[j * n + i] = (double)(edge[2] - j) / (double)(edge[2] - edge[1]);
    }
    enum ox_dtype dtype = (enum ox_dtype)ox_run_int(r, "output_datatype", OX_FLOAT32);
    if (dtype == OX_FLOAT32 || dtype == OX_FLOAT64 || r->oracle)
        if (!ox_dtype_is_integer(dtype))
            return ox_real_out(r, 0, dtype, 2, dims, m, err);
    struct ox_tensor *wide, *out;
    OX_TRY(ox_tensor_borrow(&wide, OX_FLOAT64, 2, dims, m, NULL, NULL, err));
    enum ox_status status = ox_tensor_convert(&out, ox_env_budget(r->env), wide, dtype, true, err);
    ox_tensor_release(wide);
    if (status != OX_OK)
        return status;
    status = ox_run_out_tensor(r, 0, out, err);
    ox_tensor_release(out);
    return status;
}

const struct ox_op ox_ops_spectral[] = {
    {"", "DFT", 17, .infer = infer_dft, .run = run_dft},
    {"", "DFT", 20, .infer = infer_dft, .run = run_dft},
    {"", "STFT", 17, .infer = infer_stft, .run = run_stft, .fast = ox_fast_stft},
    {"", "MelWeightMatrix", 17, .infer = infer_mel, .run = run_mel},
    {0}};
