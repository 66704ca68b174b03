/* Faster QLinearSoftmax: exponentials of the 256 differences that codes can have, and a table of results a row, unless that is shorter. */
#include <math.h>
#include <string.h>

#include "ops/broadcast.h"
#include "ops/contrib/qlinear.h"
#include "ops/fast/fast.h"
#include "ops/int8/int8.h"

enum { CODES = 256, SHORT = 64 };

struct softmax {
    const struct ox_bytes *kernels;
    double power[CODES]; /* exp() of what code k is less than code 255 */
    double per_code;     /* codes of the result in 1 */
    double zero, most;   /* of the result; most is without the zero point */
    size_t count;        /* of a row */
    uint8_t flip;
    const uint8_t *x;
    uint8_t *y;
};

static uint8_t greatest(size_t n, const uint8_t *x, uint8_t flip)
{
    uint8_t most = 0;
    for (size_t i = 0; i < n; i++) {
        const uint8_t u = x[i] ^ flip;
        most = u > most ? u : most;
    }
    return most;
}

static double sum_of(size_t n, const uint8_t *x, uint8_t flip, const double *power)
{
    double sum[4] = {0};
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (size_t k = 0; k < 4; k++)
            sum[k] += power[x[i + k] ^ flip];
    for (; i < n; i++)
        sum[0] += power[x[i] ^ flip];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

static void codes_of(const struct softmax *s, size_t n, const double *power, double share,
                     uint8_t *codes)
{
    const double whole = 0x1.8p52; /* adding it rounds, halves to even */
    for (size_t i = 0; i < n; i++) {
        const double q = power[i] * share * s->per_code;
        const double near = ((q < s->most ? q : s->most) + whole) - whole;
        codes[i] = (uint8_t)(int)(near + s->zero);
    }
}

/* By codes as they are stored, up to the greatest one. From the top down: below the first that is nothing all are. */
static void fill_table(const struct softmax *s, const double *power, double share, size_t n,
                       uint8_t table[CODES])
{
    enum { BLOCK = 32 };
    const uint8_t nothing = (uint8_t)(int)s->zero;
    uint8_t codes[CODES];
    size_t left = n;
    do {
        const size_t from = left > BLOCK ? left - BLOCK : 0;
        codes_of(s, left - from, power + from, share, codes + from);
        left = from;
    } while (left && codes[left] != nothing);
    memset(codes, nothing, left);
    memset(codes + n, nothing, CODES - n);
    memcpy(table, codes + s->flip, CODES / 2);
    memcpy(table + CODES / 2, codes + (s->flip ^ CODES / 2), CODES / 2);
}

/* A row that is shorter than a table: each element's exponential. */
static void softmax_short(const struct softmax *s, const uint8_t *x, const double *power,
                          double share, uint8_t *y)
{
    double own[SHORT];
    for (size_t i = 0; i < s->count; i++)
        own[i] = power[x[i] ^ s->flip];
    codes_of(s, s->count, own, share, y);
}

static void softmax_rows(void *arg, size_t from, size_t to)
{
    const struct softmax *s = arg;
    for (size_t i = from; i < to; i++) {
        const uint8_t *x = s->x + i * s->count;
        const uint8_t most = greatest(s->count, x, s->flip);
        const double *power = s->power + (CODES - 1 - most);
        const double share = 1 / sum_of(s->count, x, s->flip, power);
        uint8_t table[CODES];
        if (s->count <= SHORT) {
            softmax_short(s, x, power, share, s->y + i * s->count);
            continue;
        }
        fill_table(s, power, share, (size_t)most + 1, table);
        s->kernels->look_up(s->count, x, table, s->y + i * s->count);
    }
}

/* Elements outside of, along and inside of the axis; before opset 13 all axes from it on are one. */
static enum ox_status extents(struct ox_run *r, const struct ox_tensor *x, size_t *outer,
                              size_t *count, size_t *inner, struct ox_error *err)
{
    const bool single = ox_run_int(r, "opset", 13) >= 13 || !ox_run_attr(r, "axis");
    unsigned axis;
    OX_TRY(ox_run_axis(r, ox_run_int(r, "axis", -1), x->rank, &axis, err));
    *outer = *count = *inner = 1;
    for (unsigned d = 0; d < x->rank; d++)
        *(d < axis ? outer : d == axis || !single ? count : inner) *= (size_t)x->dims[d];
    return OX_OK;
}

enum ox_status ox_int8_softmax(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_int8_in(r, 0);
    struct softmax *s = ox_run_scratch(r, 1, sizeof *s, err);
    struct ox_qparam from, to;
    struct ox_tensor *y;
    size_t outer, inner;
    if (!s)
        return OX_NO_MEMORY;
    if (!x || !x->rank)
        return OX_UNSUPPORTED;
    OX_TRY(ox_qparam_in(r, 1, 2, &from, err));
    OX_TRY(ox_qparam_in(r, 3, 4, &to, err));
    if (!(from.scale > 0) || !(to.scale > 0) || !isfinite(from.scale) || !isfinite(1 / to.scale))
        return OX_UNSUPPORTED;
    *s = (struct softmax){.kernels = ox_bytes(ox_cpu()),
                          .per_code = 1 / to.scale,
                          .zero = to.zero,
                          .most = (x->dtype == OX_INT8 ? 127 : 255) - to.zero,
                          .flip = x->dtype == OX_INT8 ? 0x80 : 0};
    OX_TRY(extents(r, x, &outer, &s->count, &inner, err));
    for (int k = 0; k < CODES; k++)
        s->power[k] = exp((k - (CODES - 1)) * from.scale);
    const size_t slice = s->count * inner;
    uint8_t *turned = inner > 1 ? ox_run_work(r, x->n, 1, err) : NULL;
    if (inner > 1 && !turned)
        return OX_NO_MEMORY;
    OX_TRY(ox_run_out(r, 0, x->dtype, x->rank, x->dims, &y, err));
    for (size_t k = 0; turned && k < outer; k++)
        s->kernels->transpose(s->count, inner, (const uint8_t *)x->data + k * slice, inner,
                              turned + k * slice, s->count);
    s->x = turned ? turned : x->data;
    s->y = turned ? turned : y->data;
    ox_fast_spread(r->env, outer * inner, OX_GRAIN / (s->count + CODES) + 1,
                   (double)s->count + CODES / 2, softmax_rows, s);
    for (size_t k = 0; turned && k < outer; k++)
        s->kernels->transpose(inner, s->count, turned + k * slice, s->count,
                              (uint8_t *)y->data + k * slice, inner);
    return OX_OK;
}
