/* Windows of signal processing: BlackmanWindow HammingWindow HannWindow. */
#include <inttypes.h>
#include <math.h>

#include "kernels/doubles.h"
#include "ops/broadcast.h"
#include "ops/rules.h"

enum { CHUNK = 256 };

/* w[n] = a - b cos(2 pi n / N) + c cos(4 pi n / N) */
struct taper {
    double a, b, c;
};

/* v = the window at n places from `at` on; quick: by cosines abreast, within 3 units in the last place of a double. */
static void window(const struct taper *t, double turn, size_t at, size_t n, bool quick, double *v)
{
    void (*cosines)(size_t n, const double *x, double *y, double a, double b) =
        quick ? ox_doubles(ox_cpu())->unary[OX_UNARY_COS] : NULL;
    for (size_t i = 0; i < n; i++)
        v[i] = turn * (double)(at + i);
    if (cosines) {
        cosines(n, v, v, 0, 0);
        for (size_t i = 0; i < n; i++)
            v[i] = t->a - t->b * v[i] + t->c * (2 * v[i] * v[i] - 1);
        return;
    }
    for (size_t i = 0; i < n; i++)
        v[i] = t->a - t->b * cos(v[i]) + t->c * cos(2 * v[i]);
}

static enum ox_status run_taper(struct ox_run *r, struct taper taper, bool quick,
                                struct ox_error *err)
{
    const struct ox_tensor *in = ox_run_in(r, 0);
    int64_t dtype = ox_run_int(r, "output_datatype", OX_FLOAT32);
    if (in->n != 1)
        return ox_run_fail(r, err, OX_INPUT, "size must be a scalar, but has %zu elements", in->n);
    int64_t size = ox_tensor_get_int(in, 0);
    if (size < 0)
        return ox_run_fail(r, err, OX_INPUT, "size is %" PRId64, size);
    if (dtype <= OX_UNDEFINED || dtype >= OX_N_DTYPES || dtype == OX_STRING)
        return ox_run_fail(r, err, OX_INPUT,
                           "attribute output_datatype is %" PRId64 ", which is no type of numbers",
                           dtype);
    struct ox_tensor *out;
    OX_TRY(ox_run_out(r, 0, (enum ox_dtype)dtype, 1, &size, &out, err));
    double period = (double)(ox_run_int(r, "periodic", 1) ? size : size - 1);
    double turn = period > 0 ? 6.28318530717958647693 / period : 0;
    if (period ==
        0) /* a symmetric window of one: 0 / 0 by the formula, and 1 wherever such windows are made */
        taper = (struct taper){1, 0, 0};
    double v[CHUNK];
    for (size_t at = 0; at < out->n; at += CHUNK) {
        size_t n = out->n - at < CHUNK ? out->n - at : CHUNK;
        window(&taper, turn, at, n, quick, v);
        ox_elements_convert(out->dtype, (char *)out->data + at * ox_dtype_size(out->dtype),
                            OX_FLOAT64, v, n, true);
    }
    return OX_OK;
}

static const struct taper blackman = {0.42, 0.5, 0.08}, hamming = {25.0 / 46, 21.0 / 46, 0},
                          hann = {0.5, 0.5, 0};

static enum ox_status run_blackman(struct ox_run *r, struct ox_error *err)
{
    return run_taper(r, blackman, false, err);
}

static enum ox_status fast_blackman(struct ox_run *r, struct ox_error *err)
{
    return run_taper(r, blackman, true, err);
}

static enum ox_status run_hamming(struct ox_run *r, struct ox_error *err)
{
    return run_taper(r, hamming, false, err);
}

static enum ox_status fast_hamming(struct ox_run *r, struct ox_error *err)
{
    return run_taper(r, hamming, true, err);
}

static enum ox_status run_hann(struct ox_run *r, struct ox_error *err)
{
    return run_taper(r, hann, false, err);
}

static enum ox_status fast_hann(struct ox_run *r, struct ox_error *err)
{
    return run_taper(r, hann, true, err);
}

static void infer_size(struct ox_infer *c, const struct ox_expr *const *size)
{
    int64_t n;
    if (ox_infer_is_num(size[0], &n) && n < 1)
        ox_infer_conflict(c, "the size is %" PRId64 ", not at least 1", n);
    ox_infer_set_shape(c, 0, 1, size);
}

static void infer_taper(struct ox_infer *c)
{
    size_t n;
    const struct ox_expr *const *size;
    enum ox_dtype dtype = ox_rule_dtype_attr(c, "output_datatype");
    if (dtype)
        ox_infer_set_dtype(c, 0, dtype);
    if (ox_infer_values(c, 0, &n, &size) && n == 1)
        infer_size(c, size);
    else
        ox_infer_set_shape(c, 0, 1, (const struct ox_expr *const[]){NULL});
}

const struct ox_op ox_ops_taper[] = {
    {"", "BlackmanWindow", 17, .flags = OX_OP_HALF, .infer = infer_taper, .run = run_blackman,
     .fast = fast_blackman},
    {"", "HammingWindow", 17, .flags = OX_OP_HALF, .infer = infer_taper, .run = run_hamming,
     .fast = fast_hamming},
    {"", "HannWindow", 17, .flags = OX_OP_HALF, .infer = infer_taper, .run = run_hann,
     .fast = fast_hann},
    {0}};
