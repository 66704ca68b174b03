/* Resize of float32 between more than two points an axis, antialiased or cubic, where two neighbouring axes alone change: what the
 * reference kernel computes, a row of the output at a time. */
#include <string.h>

#include "kernels/dense.h"
#include "ops/fast/fast.h"
#include "ops/resize.h"

enum { FEW = 4 }; /* elements */

struct filter {
    size_t taps;        /* 0: the axis stays */
    bool full;          /* all of them have weights and lie inside */
    const size_t *used; /* of each output those with weights, which come first */
    const int64_t *index;
    const double *weight;
};

struct planes {
    const float *x;
    float *y;
    struct filter filter[2];
    size_t in[2], out[2], inner; /* inner: elements that lie behind one place of both axes */
    double extrapolation;
    double *work; /* of each slot a row of the input's width, and one of the output's */
    size_t slot;
};

/* out[n] = the sum of rows of the input, each n elements, by their weights. What has no weight must not bring its NaN or infinity in. */
static void mix_rows(const struct planes *p, const float *plane, size_t y, double *restrict out)
{
    const struct filter *f = &p->filter[0];
    const size_t n = p->in[1] * p->inner;
    const int64_t *index = f->index + y * f->taps;
    const double *weight = f->weight + y * f->taps;
    const bool outside = f->taps && index[0] < 0;
    for (size_t k = 0; k < n && f->taps == 0; k++)
        out[k] = (double)plane[y * n + k];
    for (size_t k = 0; k < n && f->taps; k++)
        out[k] = outside ? p->extrapolation : 0;
    for (size_t t = 0; t < f->taps && !outside; t++) {
        const float *restrict row = plane + (size_t)index[t] * n;
        const double w = weight[t];
        for (size_t k = 0; k < n && w != 0; k++)
            out[k] += w * (double)row[k];
    }
}

/* Where a place is a few elements, and a sum need not ask for its taps. */
static inline __attribute__((always_inline)) void mix_full(const struct filter *f, size_t n,
                                                           const size_t taps, const size_t inner,
                                                           const double *restrict line,
                                                           float *restrict out)
{
    const int64_t *index = f->index;
    const double *weight = f->weight;
    double sum[FEW];
    for (size_t x = 0; x < n; x++, index += taps, weight += taps, out += inner) {
        for (size_t k = 0; k < inner; k++)
            sum[k] = 0;
        for (size_t t = 0; t < taps; t++)
            for (size_t k = 0; k < inner; k++)
                sum[k] += weight[t] * line[(size_t)index[t] * inner + k];
        for (size_t k = 0; k < inner; k++)
            out[k] = (float)sum[k];
    }
}

static void mix_full_line(const struct planes *p, const double *line, float *out)
{
    const struct filter *f = &p->filter[1];
    if (p->inner == 1 && f->taps == 4)
        mix_full(f, p->out[1], 4, 1, line, out);
    else if (p->inner == 1)
        mix_full(f, p->out[1], f->taps, 1, line, out);
    else if (p->inner == 3 && f->taps == 4)
        mix_full(f, p->out[1], 4, 3, line, out);
    else if (p->inner == 3)
        mix_full(f, p->out[1], f->taps, 3, line, out);
    else
        mix_full(f, p->out[1], f->taps, p->inner, line, out);
}

/* Where a place is one element. */
static void mix_elements(const struct planes *p, const double *restrict line, float *restrict out)
{
    const struct filter *f = &p->filter[1];
    const int64_t *index = f->index;
    const double *weight = f->weight;
    for (size_t x = 0; x < p->out[1]; x++, index += f->taps, weight += f->taps) {
        const bool outside = index[0] < 0;
        double sum = outside ? p->extrapolation : 0;
        for (size_t t = 0; t < f->used[x] && !outside; t++)
            sum += weight[t] * line[index[t]];
        out[x] = (float)sum;
    }
}

static void mix_places(const struct planes *p, const double *line, double *restrict sums,
                       float *restrict out)
{
    const struct filter *f = &p->filter[1];
    const int64_t *index = f->index;
    const double *weight = f->weight;
    for (size_t x = 0; x < p->out[1]; x++, index += f->taps, weight += f->taps, out += p->inner) {
        const bool outside = index[0] < 0;
        for (size_t k = 0; k < p->inner; k++)
            sums[k] = outside ? p->extrapolation : 0;
        for (size_t t = 0; t < f->taps && !outside; t++) {
            const double *restrict place = line + (size_t)index[t] * p->inner;
            const double w = weight[t];
            for (size_t k = 0; k < p->inner && w != 0; k++)
                sums[k] += w * place[k];
        }
        for (size_t k = 0; k < p->inner; k++)
            out[k] = (float)sums[k];
    }
}

static void resample_row(void *arg, size_t i, size_t slot)
{
    const struct planes *p = arg;
    const size_t y = i % p->out[0], width = p->in[1] * p->inner;
    const float *plane = p->x + i / p->out[0] * p->in[0] * width;
    double *line = p->work + slot * p->slot;
    float *out = p->y + i * p->out[1] * p->inner;
    mix_rows(p, plane, y, line);
    if (p->filter[1].taps == 0) {
        for (size_t k = 0; k < width; k++)
            out[k] = (float)line[k];
    } else if (p->filter[1].full && p->inner <= FEW) {
        mix_full_line(p, line, out);
    } else if (p->inner == 1) {
        mix_elements(p, line, out);
    } else {
        mix_places(p, line, line + width, out);
    }
}

/* Taps without a weight to the end of each output's: their number without those. */
static size_t put_last(size_t taps, int64_t *index, double *weight)
{
    size_t used = 0;
    for (size_t t = 0; t < taps; t++) {
        if (weight[t] == 0)
            continue;
        index[used] = index[t];
        weight[used++] = weight[t];
    }
    for (size_t t = used; t < taps; t++)
        weight[t] = 0;
    return used;
}

/* Gives taps without a weight parts of the first one's: halves, which add up to it exactly. */
static void share_first(size_t taps, size_t used, int64_t *index, double *weight)
{
    const size_t more = taps - used;
    memmove(index + more + 1, index + 1, (used - 1) * sizeof *index);
    memmove(weight + more + 1, weight + 1, (used - 1) * sizeof *weight);
    for (size_t t = more; t > 0; t--) {
        weight[0] /= 2;
        index[t] = index[0];
        weight[t] = weight[0];
    }
}

static enum ox_status make_filter(struct ox_run *r, const struct ox_resize *z, unsigned axis,
                                  bool along, struct filter *f, struct ox_error *err)
{
    enum { CUBIC = 4 };
    const struct ox_resample_axis *a = &z->axes[axis];
    size_t n;
    if (ox_resample_is_identity(&z->how, a))
        return OX_OK;
    f->taps = ox_resample_taps(&z->how, a);
    if (f->taps == 0 || OX_MUL_OVERFLOWS(f->taps, (size_t)a->out, &n))
        return OX_UNSUPPORTED;
    int64_t *index = ox_run_scratch(r, n, sizeof *index, err);
    double *weight = ox_run_scratch(r, n, sizeof *weight, err);
    size_t *used = ox_run_scratch(r, (size_t)a->out, sizeof *used, err);
    if (!index || !weight || !used)
        return OX_NO_MEMORY;
    ox_resample_table(&z->how, a, f->taps, index, weight);
    f->full = true;
    for (size_t x = 0; x < (size_t)a->out; x++) {
        int64_t *of = index + x * f->taps;
        const bool outside = of[0] < 0;
        used[x] = outside ? 0 : put_last(f->taps, of, weight + x * f->taps);
        if (along && f->taps == CUBIC && used[x] > 0 && used[x] < CUBIC) {
            share_first(CUBIC, used[x], of, weight + x * CUBIC);
            used[x] = CUBIC;
        }
        f->full &= used[x] == f->taps;
    }
    f->index = index;
    f->weight = weight;
    f->used = used;
    return OX_OK;
}

/* The two neighbouring axes that change; false: others do. */
static bool find_axes(const struct ox_resize *z, const struct ox_tensor *x, unsigned *first)
{
    unsigned last = 1, least = x->rank;
    for (unsigned d = 0; d < x->rank; d++) {
        if (ox_resample_is_identity(&z->how, &z->axes[d]))
            continue;
        least = least < d ? least : d;
        last = d ? d : 1;
    }
    *first = last - 1;
    return least >= *first;
}

enum ox_status ox_fast_resample(struct ox_run *r, const struct ox_resize *z, struct ox_error *err)
{
    const struct ox_tensor *x = ox_fast_in(r, 0);
    size_t planes = 1;
    int64_t dims[OX_MOVE_RANK];
    unsigned h;
    if (!x || x->rank < 2 || !x->n || z->how.mode == OX_RESAMPLE_NEAREST || !find_axes(z, x, &h))
        return OX_UNSUPPORTED;
    struct planes p = {.x = x->data, .inner = 1, .extrapolation = z->extrapolation};
    for (unsigned d = 0; d < x->rank; d++) {
        dims[d] = z->axes[d].out;
        planes *= d < h ? (size_t)dims[d] : 1;
        p.inner *= d > h + 1 ? (size_t)dims[d] : 1;
    }
    for (unsigned k = 0; k < 2; k++) {
        p.in[k] = (size_t)x->dims[h + k];
        p.out[k] = (size_t)dims[h + k];
        OX_TRY(make_filter(r, z, h + k, k == 1, &p.filter[k], err));
    }
    p.slot = ((p.in[1] + 1) * p.inner + 7) / 8 * 8;
    p.work = ox_run_work(r, ox_slots(r->env) * p.slot, sizeof *p.work, err);
    struct ox_tensor *y;
    if (!p.work)
        return OX_NO_MEMORY;
    OX_TRY(ox_run_out(r, 0, OX_FLOAT32, x->rank, dims, &y, err));
    p.y = y->data;
    if (!y->n)
        return OX_OK;
    const double flops_a_tap = 32; /* in which ox_spread() counts */
    const double taps = (double)(p.filter[0].taps + 1) * (double)(p.in[1] * p.inner) +
                        (double)p.filter[1].taps * (double)(p.out[1] * p.inner);
    ox_spread(r->env, planes * p.out[0], (double)(planes * p.out[0]) * taps * flops_a_tap,
              resample_row, &p);
    return ox_env_poll(r->env, err);
}
