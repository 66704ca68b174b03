/* A constant around data, each place of the output written once. A row is the last axis that has margins, with all that follow; rows that
 * lie over the input are copied as many at a time as follow each other in both. */
#include "ops/pad.h"

#include <string.h>

#include "kernels/sizes.h"
#include "ops/fast/fast.h"
#include "ops/move.h"
#include "ops/parts.h"

enum { FILL = 4096 }; /* a multiple of the size of all elements */

struct axis {
    size_t out, in;
    int64_t before;
    size_t step; /* bytes of the input, from one of its elements to the next */
};

struct padding {
    const char *in; /* where its rows begin to be copied */
    char *out;
    unsigned rank; /* of the axes before the rows', at least 1 */
    struct axis axes[OX_MOVE_RANK + 1];
    size_t row, before,
        inside; /* bytes: of a row of the output, before the input's, of the input's */
    char fill[FILL];
};

static void fill_rows(const struct padding *p, size_t rows, char *to, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += FILL)
        ox_parts_copy_rows(rows, p->fill, 0, to + at, p->row, ox_least(FILL, bytes - at));
}

/* Rows that all lie over the input, or none of them does (from: NULL). */
static void pad_alike(const struct padding *p, size_t rows, const char *from, size_t step, char *to)
{
    enum { SHORT = 64 }; /* a row that is written twice rather than in three pieces */
    const size_t inside = from ? p->inside : 0;
    if (!inside || p->row <= SHORT) {
        fill_rows(p, 1, to, rows * p->row);
    } else {
        fill_rows(p, rows, to, p->before);
        fill_rows(p, rows, to + p->before + inside, p->row - p->before - inside);
    }
    if (inside)
        ox_parts_copy_rows(rows, from, step, to + p->before, p->row, inside);
}

/* `rows` rows of the last axis from place `at` of it on; from: the input's first row there, NULL outside of the other axes. */
static void pad_stretch(const struct padding *p, size_t at, size_t rows, const char *from, char *to)
{
    const struct axis *a = &p->axes[p->rank - 1];
    while (rows) {
        const int64_t place = (int64_t)at - a->before;
        const bool over = place >= 0 && place < (int64_t)a->in;
        const size_t left = place < 0 ? (size_t)-place : over ? a->in - (size_t)place : rows;
        const size_t some = ox_least(left, rows);
        pad_alike(p, some, from && over ? from + (size_t)place * a->step : NULL, a->step, to);
        at += some;
        rows -= some;
        to += some * p->row;
    }
}

static void pad_rows(void *arg, size_t first, size_t end)
{
    const struct padding *p = arg;
    const struct axis *last = &p->axes[p->rank - 1];
    for (size_t row = first; row < end;) {
        const size_t at = row % last->out, some = ox_least(last->out - at, end - row);
        const char *from = p->in;
        size_t rest = row / last->out;
        for (unsigned i = p->rank - 1; i-- > 0; rest /= p->axes[i].out) {
            const int64_t place = (int64_t)(rest % p->axes[i].out) - p->axes[i].before;
            const bool over = place >= 0 && place < (int64_t)p->axes[i].in;
            from = from && over ? from + (size_t)place * p->axes[i].step : NULL;
        }
        pad_stretch(p, at, some, from, p->out + row * p->row);
        row += some;
    }
}

/* Axes without margins that follow each other are one. */
static void add_axis(struct padding *p, const struct ox_margin *margin, size_t in, size_t out,
                     size_t step)
{
    struct axis *before = &p->axes[p->rank - 1];
    const bool plain = !margin->before && !margin->after;
    if (plain && !before->before && before->in == before->out) {
        before->in *= in;
        before->out *= out;
        before->step = step;
    } else {
        p->axes[p->rank++] =
            (struct axis){.out = out, .in = in, .before = margin->before, .step = step};
    }
}

void ox_pad_constant(struct ox_env *env, const struct ox_tensor *in,
                     const struct ox_margin *margins, const void *value, struct ox_tensor *out)
{
    const double ns_a_row = 3, ns_a_byte = 0.15;
    size_t unit = ox_dtype_size(in->dtype), rows = 1;
    int64_t strides[OX_MOVE_RANK];
    unsigned k = in->rank;
    struct padding p = {.in = in->data, .out = out->data, .rank = 1, .axes = {{1, 1, 0, 0}}};
    ox_move_fill(p.fill, FILL / unit, unit, value);
    ox_move_strides(in->rank, in->dims, strides);
    for (unsigned i = 0; i < k; i++)
        strides[i] *= (int64_t)unit;
    while (k > 1 && !margins[k - 1].before && !margins[k - 1].after)
        unit *= (size_t)in->dims[--k];
    const struct ox_margin none = {0, 0}, *margin = k ? &margins[k - 1] : &none;
    const int64_t n_in = k ? in->dims[k - 1] : 1, n_out = k ? out->dims[k - 1] : 1;
    const int64_t first = margin->before > 0 ? margin->before : 0;
    const int64_t end = n_in + margin->before < n_out ? n_in + margin->before : n_out;
    p.row = (size_t)n_out * unit;
    p.before = (size_t)first * unit;
    p.inside = end > first && in->n > 0 ? (size_t)(end - first) * unit : 0;
    if (p.inside)
        p.in += (size_t)(first - margin->before) * unit;
    for (unsigned i = 0; i + 1 < k; i++) {
        add_axis(&p, &margins[i], (size_t)in->dims[i], (size_t)out->dims[i], (size_t)strides[i]);
        rows *= (size_t)out->dims[i];
    }
    ox_fast_spread(env, rows, ((size_t)1 << 15) / p.row + 1, ns_a_row + ns_a_byte * (double)p.row,
                   pad_rows, &p);
}
