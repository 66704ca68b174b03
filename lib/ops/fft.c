#include "ops/fft.h"

#include <math.h>

enum { LARGEST_RADIX = 13 };

static const double pi = 3.14159265358979323846;

static struct ox_complex times(struct ox_complex a, struct ox_complex b)
{
    return (struct ox_complex){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* exp(-2 pi i k / n) with the angle brought into the first octant, where sin and cos are best. */
static struct ox_complex root(size_t k, size_t n)
{
    unsigned octant = (unsigned)(8 * k / n);
    double eighth = (double)n / 8, x = (double)k - octant * eighth;
    if (octant % 2)
        x = eighth - x;
    double c = cos(2 * pi * x / (double)n), s = sin(2 * pi * x / (double)n);
    switch (octant) {
    case 0:
        return (struct ox_complex){c, -s};
    case 1:
        return (struct ox_complex){s, -c};
    case 2:
        return (struct ox_complex){-s, -c};
    case 3:
        return (struct ox_complex){-c, -s};
    case 4:
        return (struct ox_complex){-c, s};
    case 5:
        return (struct ox_complex){-s, c};
    case 6:
        return (struct ox_complex){s, c};
    default:
        return (struct ox_complex){c, s};
    }
}

static size_t smallest_factor(size_t n)
{
    for (size_t p = 2; p <= LARGEST_RADIX; p++)
        if (n % p == 0)
            return p;
    return n;
}

static bool is_smooth(size_t n)
{
    while (n > 1) {
        size_t p = smallest_factor(n);
        if (p > LARGEST_RADIX)
            return false;
        n /= p;
    }
    return true;
}

static struct ox_complex plus(struct ox_complex a, struct ox_complex b)
{
    return (struct ox_complex){a.re + b.re, a.im + b.im};
}

static struct ox_complex minus(struct ox_complex a, struct ox_complex b)
{
    return (struct ox_complex){a.re - b.re, a.im - b.im};
}

/* Of two and of four, whose roots are 1 and -i: most of the calls there would be. */
static void transform_two(size_t stride, const struct ox_complex *in, struct ox_complex *out)
{
    out[0] = plus(in[0], in[stride]);
    out[1] = minus(in[0], in[stride]);
}

static void transform_four(size_t stride, const struct ox_complex *in, struct ox_complex *out)
{
    const struct ox_complex a = plus(in[0], in[2 * stride]), b = minus(in[0], in[2 * stride]);
    const struct ox_complex c = plus(in[stride], in[3 * stride]);
    const struct ox_complex d = minus(in[stride], in[3 * stride]), turned = {d.im, -d.re};
    out[0] = plus(a, c);
    out[1] = plus(b, turned);
    out[2] = minus(a, c);
    out[3] = minus(b, turned);
}

/* Decimation in time; depth is the number of prime factors. roots are those of `whole` = n * stride. */
static void transform(const struct ox_complex *roots, size_t whole, size_t n, size_t stride,
                      const struct ox_complex *in, struct ox_complex *out)
{
    if (n == 1) {
        out[0] = in[0];
        return;
    }
    if (n == 2 || n == 4) {
        (n == 2 ? transform_two : transform_four)(stride, in, out);
        return;
    }
    size_t p = smallest_factor(n), m = n / p;
    for (size_t q = 0; q < p; q++)
        transform(roots, whole, m, stride * p, in + q * stride, out + q * m);
    if (p == 2) {
        for (size_t k = 0; k < m; k++) {
            const struct ox_complex b = times(out[m + k], roots[k * stride]), a = out[k];
            out[k] = plus(a, b);
            out[m + k] = minus(a, b);
        }
        return;
    }
    for (size_t k = 0; k < m; k++) {
        struct ox_complex part[LARGEST_RADIX];
        for (size_t q = 0; q < p; q++)
            part[q] = times(out[q * m + k], roots[q * k * stride]);
        for (size_t j = 0; j < p; j++) {
            struct ox_complex sum = part[0];
            for (size_t q = 1; q < p; q++) {
                struct ox_complex t = times(part[q], roots[q * j % p * m * stride]);
                sum.re += t.re;
                sum.im += t.im;
            }
            out[j * m + k] = sum;
        }
    }
}

static enum ox_status init_bluestein(struct ox_run *r, struct ox_fft *fft, struct ox_error *err)
{
    size_t n = fft->n, m = fft->m;
    struct ox_complex *chirp = ox_run_scratch(r, n, sizeof *chirp, err);
    struct ox_complex *kernel = ox_run_scratch(r, m, sizeof *kernel, err);
    struct ox_complex *spectrum = ox_run_scratch(r, m, sizeof *spectrum, err);
    if (!chirp || !kernel || !spectrum)
        return OX_NO_MEMORY;
    size_t square = 0; /* k^2 mod 2n */
    for (size_t k = 0; k < n; k++) {
        chirp[k] = root(square, 2 * n);
        square = (square + 2 * k + 1) % (2 * n);
        struct ox_complex back = {chirp[k].re, -chirp[k].im};
        kernel[k] = back;
        if (k)
            kernel[m - k] = back;
    }
    transform(fft->roots, m, m, 1, kernel, spectrum);
    fft->chirp = chirp;
    fft->spectrum = spectrum;
    return OX_OK;
}

enum ox_status ox_fft_init(struct ox_run *r, size_t n, struct ox_fft *fft, struct ox_error *err)
{
    if (n > (size_t)1 << 40)
        return ox_run_fail(r, err, OX_LIMIT, "a transform of length %zu is too long", n);
    *fft = (struct ox_fft){.n = n};
    size_t whole = n;
    if (!is_smooth(n)) {
        for (whole = 1; whole < 2 * n - 1;)
            whole *= 2;
        fft->m = whole;
    }
    struct ox_complex *roots = ox_run_scratch(r, whole, sizeof *roots, err);
    if (!roots)
        return OX_NO_MEMORY;
    for (size_t k = 0; k < whole; k++) {
        const size_t mirror = whole - k;
        roots[k] = k <= whole / 2 ? root(k, whole)
                                  : (struct ox_complex){roots[mirror].re, -roots[mirror].im};
    }
    fft->roots = roots;
    return fft->m ? init_bluestein(r, fft, err) : OX_OK;
}

size_t ox_fft_work(const struct ox_fft *fft)
{
    return fft->n + 2 * fft->m;
}

/* Forward, by convolution with the chirp. */
static void bluestein(const struct ox_fft *fft, const struct ox_complex *in, struct ox_complex *out,
                      struct ox_complex *work)
{
    struct ox_complex *a = work, *b = work + fft->m;
    for (size_t k = 0; k < fft->m; k++)
        a[k] = k < fft->n ? times(in[k], fft->chirp[k]) : (struct ox_complex){0, 0};
    transform(fft->roots, fft->m, fft->m, 1, a, b);
    /* Back by the forward transform of the conjugate. */
    for (size_t k = 0; k < fft->m; k++) {
        struct ox_complex t = times(b[k], fft->spectrum[k]);
        a[k] = (struct ox_complex){t.re, -t.im};
    }
    transform(fft->roots, fft->m, fft->m, 1, a, b);
    double scale = 1 / (double)fft->m;
    for (size_t k = 0; k < fft->n; k++) {
        struct ox_complex t = {b[k].re * scale, -b[k].im * scale};
        out[k] = times(t, fft->chirp[k]);
    }
}

void ox_fft_run(const struct ox_fft *fft, bool inverse, const struct ox_complex *in,
                struct ox_complex *out, struct ox_complex *work)
{
    struct ox_complex *turned = work;
    if (inverse) {
        for (size_t k = 0; k < fft->n; k++)
            turned[k] = (struct ox_complex){in[k].re, -in[k].im};
        in = turned;
    }
    if (fft->m)
        bluestein(fft, in, out, work + fft->n);
    else
        transform(fft->roots, fft->n, fft->n, 1, in, out);
    if (inverse)
        for (size_t k = 0; k < fft->n; k++)
            out[k].im = -out[k].im;
}
