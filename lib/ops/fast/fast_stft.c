/* STFT of real signals: frames side by side, each as a complex transform of half its length (its even elements are the real parts, its
 * odd ones the imaginary). In double, as the reference is. */
#include "common/threads.h"
#include "ops/fast/fast.h"
#include "ops/fft.h"
#include "ops/product.h"
#include "ops/real.h"

enum { LANES = 4, LARGEST_RADIX = 13 };

/* One number of each frame. */
struct lanes {
    double re[LANES], im[LANES];
};

struct stft {
    const struct ox_complex *roots; /* of the whole length n */
    const double *x, *window;       /* window NULL: ones */
    float *y;
    size_t n, length, step, frames, n_frames, bins;
    struct ox_task_state state;
};

static inline struct lanes times(const struct lanes *a, struct ox_complex w)
{
    struct lanes c;
    for (size_t l = 0; l < LANES; l++) {
        c.re[l] = a->re[l] * w.re - a->im[l] * w.im;
        c.im[l] = a->re[l] * w.im + a->im[l] * w.re;
    }
    return c;
}

static inline void radix_4(struct lanes *out, size_t m, const struct lanes *a,
                           const struct lanes *b, const struct lanes *c, const struct lanes *d)
{
    for (size_t l = 0; l < LANES; l++) {
        const double sr = a->re[l] + c->re[l], si = a->im[l] + c->im[l];
        const double tr = a->re[l] - c->re[l], ti = a->im[l] - c->im[l];
        const double ur = b->re[l] + d->re[l], ui = b->im[l] + d->im[l];
        const double vr = b->re[l] - d->re[l], vi = b->im[l] - d->im[l];
        out[0].re[l] = sr + ur;
        out[0].im[l] = si + ui;
        out[m].re[l] = tr + vi;
        out[m].im[l] = ti - vr;
        out[2 * m].re[l] = sr - ur;
        out[2 * m].im[l] = si - ui;
        out[3 * m].re[l] = tr - vi;
        out[3 * m].im[l] = ti + vr;
    }
}

/* Joins p transforms of m elements each; root: the step among the roots that turns once in p * m. */
static void join_any(const struct ox_complex *roots, size_t p, size_t m, size_t root,
                     struct lanes *out)
{
    for (size_t k = 0; k < m; k++) {
        struct lanes part[LARGEST_RADIX];
        for (size_t q = 0; q < p; q++)
            part[q] = times(&out[q * m + k], roots[q * k * root]);
        for (size_t j = 0; j < p; j++) {
            struct lanes sum = part[0];
            for (size_t q = 1; q < p; q++) {
                const struct lanes t = times(&part[q], roots[q * j % p * m * root]);
                for (size_t l = 0; l < LANES; l++) {
                    sum.re[l] += t.re[l];
                    sum.im[l] += t.im[l];
                }
            }
            out[j * m + k] = sum;
        }
    }
}

static size_t radix_of(size_t n)
{
    if (n % 4 == 0)
        return 4;
    for (size_t p = 2; p <= LARGEST_RADIX; p++)
        if (n % p == 0)
            return p;
    return 0;
}

/* Decimation in time; as deep as n has factors. */
static void transform(const struct ox_complex *roots, size_t n, size_t root, size_t stride,
                      const struct lanes *in, struct lanes *out)
{
    if (n == 1) {
        out[0] = in[0];
        return;
    }
    if (n == 4) {
        radix_4(out, 1, in, in + stride, in + 2 * stride, in + 3 * stride);
        return;
    }
    const size_t p = radix_of(n), m = n / p;
    for (size_t q = 0; q < p; q++)
        transform(roots, m, root * p, stride * p, in + q * stride, out + q * m);
    if (p != 4) {
        join_any(roots, p, m, root, out);
        return;
    }
    for (size_t k = 0; k < m; k++) {
        const struct lanes a = out[k], b = times(&out[m + k], roots[k * root]),
                           c = times(&out[2 * m + k], roots[2 * k * root]),
                           d = times(&out[3 * m + k], roots[3 * k * root]);
        radix_4(out + k, m, &a, &b, &c, &d);
    }
}

static void load(const struct stft *s, const double *const *frame, struct lanes *in)
{
    for (size_t j = 0; j < s->n / 2; j++) {
        const double even = s->window ? s->window[2 * j] : 1;
        const double odd = s->window ? s->window[2 * j + 1] : 1;
        for (size_t l = 0; l < LANES; l++) {
            in[j].re[l] = frame[l][2 * j] * even;
            in[j].im[l] = frame[l][2 * j + 1] * odd;
        }
    }
}

/* The transform of the frames at bin k <= n / 2, from z, that of even + i odd elements. */
static struct lanes bin(const struct stft *s, const struct lanes *z, size_t k)
{
    const size_t half = s->n / 2;
    const struct lanes *a = &z[k % half], *b = &z[(half - k) % half];
    const struct ox_complex w = s->roots[k];
    struct lanes out;
    for (size_t l = 0; l < LANES; l++) {
        const double er = (a->re[l] + b->re[l]) / 2, ei = (a->im[l] - b->im[l]) / 2;
        const double odd_re = (a->im[l] + b->im[l]) / 2, odd_im = (b->re[l] - a->re[l]) / 2;
        out.re[l] = er + (odd_re * w.re - odd_im * w.im);
        out.im[l] = ei + (odd_re * w.im + odd_im * w.re);
    }
    return out;
}

static void stft_task(void *arg, size_t group)
{
    struct stft *s = arg;
    const size_t half = s->n / 2, first = group * LANES;
    const size_t some = s->n_frames - first < LANES ? s->n_frames - first : LANES;
    struct lanes *in = ox_task_alloc(&s->state, 2 * half, sizeof *in);
    if (!in)
        return;
    struct lanes *z = in + half;
    const double *frame[LANES];
    for (size_t l = 0; l < LANES; l++) {
        const size_t i = first + (l < some ? l : 0);
        frame[l] = s->x + i / s->frames * s->length + i % s->frames * s->step;
    }
    load(s, frame, in);
    transform(s->roots, half, 2, 1, in, z);
    for (size_t k = 0; k <= half; k++) {
        const struct lanes at = bin(s, z, k);
        for (size_t l = 0; l < some; l++) {
            float *to = s->y + (first + l) * s->bins * 2;
            to[2 * k] = (float)at.re[l];
            to[2 * k + 1] = (float)at.im[l];
            if (k && s->n - k < s->bins) {
                to[2 * (s->n - k)] = (float)at.re[l];
                to[2 * (s->n - k) + 1] = (float)-at.im[l];
            }
        }
    }
    ox_task_free(&s->state, in, 2 * half, sizeof *in);
}

enum ox_status ox_fast_stft(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_fast_in(r, 0), *step = ox_run_in(r, 1);
    const struct ox_tensor *window = ox_run_in(r, 2), *length = ox_run_in(r, 3);
    if (!x || (x->rank != 2 && !(x->rank == 3 && x->dims[2] == 1)) || step->n != 1 ||
        (length && length->n != 1) || (window && (window->rank != 1 || !ox_fast_in(r, 2))))
        return OX_UNSUPPORTED;
    const int64_t hop = ox_tensor_get_int(step, 0);
    const int64_t n = length ? ox_tensor_get_int(length, 0) : window ? window->dims[0] : x->dims[1];
    if (hop < 1 || n < 2 || n % 2 || n > x->dims[1] || (window && window->dims[0] != n))
        return OX_UNSUPPORTED;
    struct ox_fft fft;
    OX_TRY(ox_fft_init(r, (size_t)n, &fft, err));
    if (fft.m)
        return OX_UNSUPPORTED;
    struct stft s = {.roots = fft.roots,
                     .n = (size_t)n,
                     .length = (size_t)x->dims[1],
                     .step = (size_t)hop,
                     .frames = (size_t)((x->dims[1] - n) / hop + 1),
                     .bins = (size_t)(ox_run_int(r, "onesided", 1) != 0 ? n / 2 + 1 : n),
                     .state = {.budget = ox_env_budget(r->env)}};
    s.n_frames = (size_t)x->dims[0] * s.frames;
    OX_TRY(ox_real_in(r, 0, &s.x, err));
    OX_TRY(ox_real_in(r, 2, &s.window, err));
    struct ox_tensor *y;
    OX_TRY(ox_run_out(r, 0, OX_FLOAT32, 4,
                      (const int64_t[]){x->dims[0], (int64_t)s.frames, (int64_t)s.bins, 2}, &y,
                      err));
    s.y = y->data;
    ox_parallel(r->env, (s.n_frames + LANES - 1) / LANES, stft_task, &s);
    OX_TRY(ox_env_poll(r->env, err));
    return s.state.no_memory ? ox_run_fail(r, err, OX_NO_MEMORY, "out of memory") : OX_OK;
}
