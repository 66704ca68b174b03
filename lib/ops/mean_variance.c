/* MeanVarianceNormalization: computed in double, rounded once; float32 by the row kernels. */
#include <math.h>
#include <string.h>

#include "common/threads.h"
#include "ops/fast/fast.h"
#include "ops/infer.h"
#include "ops/real.h"

enum { STRETCH = 512 };

static void infer_mean_variance(struct ox_infer *c)
{
    ox_infer_same_shape(c, 0, 0);
}

/* Whether each axis is averaged over; false with *err set when the list is wrong. */
static enum ox_status averaged(struct ox_run *r, unsigned rank, bool *reduce, struct ox_error *err)
{
    static const int64_t usual[] = {0, 2, 3};
    size_t n;
    const int64_t *axes = ox_run_ints(r, "axes", &n);
    if (!axes) {
        axes = usual;
        n = OX_COUNT(usual);
    }
    for (size_t i = 0; i < n; i++) {
        unsigned axis;
        OX_TRY(ox_run_axis(r, axes[i], rank, &axis, err));
        reduce[axis] = true;
    }
    return OX_OK;
}

/* Axes in three groups, of which the middle one is not averaged over: [outer, sets, inner]. */
struct sets {
    const struct ox_tensor *x;
    struct ox_tensor *y;
    size_t outer, count, inner;
};

static bool group_axes(const struct ox_tensor *x, const bool *reduce, struct sets *s)
{
    unsigned d = 0;
    s->x = x;
    s->outer = s->count = s->inner = 1;
    for (; d < x->rank && reduce[d]; d++)
        s->outer *= (size_t)x->dims[d];
    for (; d < x->rank && !reduce[d]; d++)
        s->count *= (size_t)x->dims[d];
    for (; d < x->rank && reduce[d]; d++)
        s->inner *= (size_t)x->dims[d];
    return d == x->rank && s->inner >= 8;
}

/* Squares of the distances from *centre, or NULL: the sum of the numbers. */
static double sum_of_set(const struct sets *s, size_t set, const double *centre)
{
    double part[STRETCH], sums[8] = {0};
    for (size_t o = 0; o < s->outer; o++) {
        const size_t base = (o * s->count + set) * s->inner;
        for (size_t at = 0; at < s->inner; at += STRETCH) {
            const size_t m = s->inner - at < STRETCH ? s->inner - at : STRETCH;
            size_t k = 0;
            ox_real_load(s->x, base + at, m, part);
            for (size_t i = 0; centre && i < m; i++)
                part[i] = (part[i] - *centre) * (part[i] - *centre);
            for (; k + 8 <= m; k += 8)
                for (size_t i = 0; i < 8; i++)
                    sums[i] += part[k + i];
            for (; k < m; k++)
                sums[0] += part[k];
        }
    }
    for (size_t i = 1; i < 8; i++)
        sums[0] += sums[i];
    return sums[0];
}

static void set_task(void *arg, size_t set)
{
    const struct sets *s = arg;
    const double n = (double)(s->outer * s->inner), mean = sum_of_set(s, set, NULL) / n;
    /* The small term is that of the operator's function body. */
    const double deviation = sqrt(sum_of_set(s, set, &mean) / n) + 1e-9;
    double part[STRETCH];
    for (size_t o = 0; o < s->outer; o++) {
        const size_t base = (o * s->count + set) * s->inner;
        for (size_t at = 0; at < s->inner; at += STRETCH) {
            const size_t m = s->inner - at < STRETCH ? s->inner - at : STRETCH;
            ox_real_load(s->x, base + at, m, part);
            for (size_t k = 0; k < m; k++)
                part[k] = (part[k] - mean) / deviation;
            ox_real_store(s->y, base + at, m, part);
        }
    }
}

static enum ox_status run_mvn(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    unsigned rank = x->rank;
    struct sets grouped;
    bool *reduce = ox_run_scratch(r, rank, sizeof *reduce, err);
    if (reduce && x->n) {
        OX_TRY(averaged(r, rank, reduce, err));
        if (group_axes(x, reduce, &grouped)) {
            OX_TRY(ox_run_out(r, 0, x->dtype, rank, x->dims, &grouped.y, err));
            ox_parallel(r->env, grouped.count, set_task, &grouped);
            return ox_env_poll(r->env, err);
        }
    }
    size_t *step = ox_run_scratch(r, rank, sizeof *step, err);
    int64_t *at = ox_run_scratch(r, rank, sizeof *at, err);
    size_t *set = ox_run_scratch(r, x->n, sizeof *set, err);
    const double *in = ox_real_all(r, x, err);
    double *out = ox_real_scratch(r, x->n, err);
    if (!reduce || !step || !at || !set || !in || !out)
        return x->n ? OX_NO_MEMORY : ox_real_out(r, 0, x->dtype, rank, x->dims, NULL, err);
    OX_TRY(averaged(r, rank, reduce, err));
    size_t sets = 1;
    for (unsigned d = rank; d-- > 0;) {
        step[d] = reduce[d] ? 0 : sets;
        sets *= reduce[d] ? 1 : (size_t)x->dims[d];
    }
    double *mean = ox_real_scratch(r, sets, err), *square = ox_real_scratch(r, sets, err);
    if (!mean || !square)
        return OX_NO_MEMORY;
    double n = sets ? (double)(x->n / sets) : 0;
    size_t which = 0;
    for (size_t i = 0; i < x->n; i++) {
        set[i] = which;
        mean[which] += in[i] / n;
        for (unsigned d = rank; d-- > 0;) {
            which += step[d];
            if (++at[d] < x->dims[d])
                break;
            which -= step[d] * (size_t)at[d];
            at[d] = 0;
        }
    }
    for (size_t i = 0; i < x->n; i++)
        square[set[i]] += (in[i] - mean[set[i]]) * (in[i] - mean[set[i]]) / n;
    /* The small term is that of the operator's function body. */
    for (size_t i = 0; i < x->n; i++)
        out[i] = (in[i] - mean[set[i]]) / (sqrt(square[set[i]]) + 1e-9);
    return ox_real_out(r, 0, x->dtype, rank, x->dims, out, err);
}

/* ---- float32 ------------------------------------------------------------------------------------------------------ */

/* Axes in four groups, of which the second and the last are averaged over: [batch, outer, count, inner]. */
struct fast_sets {
    const struct ox_rows *rows;
    const float *x;
    float *y;
    size_t batch, outer, count, inner;
};

static bool group_fast(const struct ox_tensor *x, const bool *reduce, struct fast_sets *s)
{
    unsigned d = 0;
    size_t *const groups[] = {&s->batch, &s->outer, &s->count, &s->inner};
    for (size_t i = 0; i < OX_COUNT(groups); i++) {
        *groups[i] = 1;
        for (; d < x->rank && (x->dims[d] == 1 || reduce[d] == (i & 1)); d++)
            *groups[i] *= (size_t)x->dims[d];
    }
    if (s->count == 1 && s->inner == 1) { /* one row each */
        s->count = s->batch;
        s->inner = s->outer;
        s->batch = s->outer = 1;
    }
    return d == x->rank;
}

/* How what is left of a set's elements, once a number next to their mean is taken off, becomes y = by x + shift. */
struct rest {
    float by, shift;
};

static struct rest rest_of(double n, double sum, double squares)
{
    const double mean = sum / n, variance = squares / n - mean * mean;
    /* The small term is that of the operator's function body. */
    const double by = 1 / (sqrt(variance > 0 ? variance : squares * 0) + 1e-9);
    return (struct rest){(float)by, (float)(-mean * by)};
}

/* Sets whose elements lie in rows of `inner`. */
static void fast_set_task(void *arg, size_t from, size_t to)
{
    const struct fast_sets *s = arg;
    const struct ox_rows *t = s->rows;
    const size_t apart = s->count * s->inner, end = s->outer * apart;
    const double n = (double)s->outer * (double)s->inner;
    for (size_t set = from; set < to; set++) {
        const size_t first = set / s->count * end + set % s->count * s->inner;
        const float *x = s->x + first;
        float *y = s->y + first;
        double sum = 0, left = 0, squares = 0;
        for (size_t o = 0; o < end; o += apart)
            sum += (double)t->sum(s->inner, x + o);
        const float mean = (float)(sum / n);
        for (size_t o = 0; o < end; o += apart) {
            for (size_t at = 0; at < s->inner; at += STRETCH) {
                const size_t m = s->inner - at < STRETCH ? s->inner - at : STRETCH;
                t->binary[OX_BINARY_SUB][OX_ROW_RIGHT_ONE](m, x + o + at, &mean, y + o + at);
                left += (double)t->sum(m, y + o + at);
                squares += (double)t->sum_of_squares(m, y + o + at, 0);
            }
        }
        const struct rest v = rest_of(n, left, squares);
        for (size_t o = 0; o < end; o += apart)
            t->unary[OX_UNARY_AFFINE](s->inner, y + o, y + o, v.by, v.shift);
    }
}

/* Rows whose sums of floats are added up before they go into those of doubles. */
enum { LANES = 256, ROWS_OF_FLOATS = 32 };

/* n sets side by side whose elements lie in rows, `step` apart; of few sets several rows are taken as one. */
struct lanes {
    const struct ox_rows *rows;
    const float *x;
    float *y;
    size_t n, outer, step, abreast;
    float mean[LANES];
    double sums[LANES], squares[LANES];
};

/* Adds up n lanes of x or, when they are `centred`, puts what is left without the mean into y, and adds up that and its squares. */
static void sum_rows(struct lanes *l, bool centred, size_t n, size_t first, size_t end)
{
    const struct ox_rows *t = l->rows;
    const size_t step = l->abreast * l->step;
    float sum[LANES], squares[LANES], square[LANES];
    memset(sum, 0, n * sizeof *sum);
    memset(squares, 0, n * sizeof *squares);
    for (size_t row = first; row < end; row++) {
        const float *x = l->x + row * step;
        if (centred) {
            float *y = l->y + row * step;
            t->binary[OX_BINARY_SUB][OX_ROW_BOTH](n, x, l->mean, y);
            t->unary[OX_UNARY_SQUARE](n, y, square, 0, 0);
            t->binary[OX_BINARY_ADD][OX_ROW_BOTH](n, squares, square, squares);
            x = y;
        }
        t->binary[OX_BINARY_ADD][OX_ROW_BOTH](n, sum, x, sum);
    }
    for (size_t i = 0; i < n; i++) {
        l->sums[i % l->n] += (double)sum[i];
        l->squares[i % l->n] += (double)squares[i];
    }
}

static void sum_lanes(struct lanes *l, bool centred)
{
    const size_t whole = l->outer / l->abreast;
    memset(l->sums, 0, l->n * sizeof *l->sums);
    memset(l->squares, 0, l->n * sizeof *l->squares);
    for (size_t row = 0; row < whole; row += ROWS_OF_FLOATS) {
        const size_t end = whole - row < ROWS_OF_FLOATS ? whole : row + ROWS_OF_FLOATS;
        sum_rows(l, centred, l->n * l->abreast, row, end);
    }
    if (l->outer % l->abreast)
        sum_rows(l, centred, l->outer % l->abreast * l->n, whole, whole + 1);
}

static void fast_lanes_task(void *arg, size_t from, size_t to)
{
    const struct fast_sets *s = arg;
    const struct ox_rows *t = s->rows;
    const size_t stretches = (s->count - 1) / LANES + 1;
    for (size_t unit = from; unit < to; unit++) {
        const size_t lane = unit % stretches * LANES;
        const size_t first = unit / stretches * s->outer * s->count + lane;
        const size_t n = s->count - lane < LANES ? s->count - lane : LANES;
        struct lanes l = {.rows = t,
                          .x = s->x + first,
                          .y = s->y + first,
                          .n = n,
                          .outer = s->outer,
                          .step = s->count,
                          .abreast = stretches == 1 ? LANES / n : 1};
        const size_t wide = n * l.abreast;
        float by[LANES], shift[LANES];
        sum_lanes(&l, false);
        for (size_t i = 0; i < wide; i++)
            l.mean[i] = (float)(l.sums[i % n] / (double)s->outer);
        sum_lanes(&l, true);
        for (size_t i = 0; i < wide; i++) {
            const struct rest v = rest_of((double)s->outer, l.sums[i % n], l.squares[i % n]);
            by[i] = v.by;
            shift[i] = v.shift;
        }
        for (size_t row = 0; row < s->outer; row += l.abreast) {
            const size_t m = s->outer - row < l.abreast ? (s->outer - row) * n : wide;
            float *y = l.y + row * s->count;
            t->binary[OX_BINARY_MUL][OX_ROW_BOTH](m, y, by, y);
            t->binary[OX_BINARY_ADD][OX_ROW_BOTH](m, y, shift, y);
        }
    }
}

static enum ox_status run_fast(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_fast_in(r, 0);
    struct fast_sets s;
    if (!x || x->n == 0)
        return OX_UNSUPPORTED;
    bool reduce[OX_MOST_RANK] = {false};
    OX_TRY(averaged(r, x->rank, reduce, err));
    if (!group_fast(x, reduce, &s))
        return OX_UNSUPPORTED;
    struct ox_tensor *y;
    OX_TRY(ox_run_out(r, 0, OX_FLOAT32, x->rank, x->dims, &y, err));
    s.rows = ox_fast_rows();
    s.x = x->data;
    s.y = y->data;
    const double ns = 0.4 * (double)(s.outer * s.inner);
    if (s.inner > 1)
        ox_fast_spread(r->env, s.batch * s.count, 1, ns, fast_set_task, &s);
    else
        ox_fast_spread(r->env, s.batch * ((s.count - 1) / LANES + 1), 1, LANES * ns,
                       fast_lanes_task, &s);
    return OX_OK;
}

const struct ox_op ox_ops_mean_variance[] = {
    {"", "MeanVarianceNormalization", 9, .infer = infer_mean_variance, .run = run_mvn,
     .fast = run_fast},
    {"", "MeanVarianceNormalization", 13, .infer = infer_mean_variance, .run = run_mvn,
     .fast = run_fast},
    {0}};
