#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/env.h"
#include "common/threads.h"
#include "quant/blocked.h"
#include "quant/qparams.h"

/* Eight sums side by side: their order is fixed by the code and not by the machine. */
static double dot(const double *a, const double *b, size_t n)
{
    enum { LANES = 8 };
    double sums[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (size_t j = 0; j < LANES; j++)
            sums[j] += a[i + j] * b[i + j];
    }
    for (size_t j = 0; i < n; i++, j++)
        sums[j] += a[i] * b[i];
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) +
           ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

/* ---- The inverse of the Hessian, as the triangle that GPTQ walks by ------------------------------------------------ */

/* What is added to the diagonal: a hundredth of its mean, so that inputs that were hardly seen are not relied on. */
static double damping(const double *h, size_t k)
{
    const double share = 0.01;
    double sum = 0;
    for (size_t i = 0; i < k; i++)
        sum += h[i * k + i];
    return sum > 0 ? share * sum / (double)k : 1;
}

/* H = R R^T with R above the diagonal, in place. false: H is not positive definite. */
static bool factor(double *h, size_t k)
{
    for (size_t j = k; j-- > 0;) {
        const double *row = h + j * k;
        double left = row[j] - dot(row + j + 1, row + j + 1, k - j - 1);
        if (!(left > 0) || !isfinite(left))
            return false;
        double pivot = sqrt(left);
        h[j * k + j] = pivot;
        for (size_t i = 0; i < j; i++)
            h[i * k + j] = (h[i * k + j] - dot(h + i * k + j + 1, row + j + 1, k - j - 1)) / pivot;
    }
    return true;
}

/* U = R^-1, so that H^-1 = U^T U; row by row from below, in place. row: room for k. */
static void invert(double *r, size_t k, double *row)
{
    for (size_t i = k; i-- > 0;) {
        double *own = r + i * k;
        memset(row, 0, k * sizeof *row);
        for (size_t j = i + 1; j < k; j++) {
            const double factor = own[j], *below = r + j * k;
            for (size_t c = j; c < k; c++)
                row[c] -= factor * below[c];
        }
        double pivot = own[i];
        for (size_t c = i + 1; c < k; c++)
            own[c] = row[c] / pivot;
        own[i] = 1 / pivot;
    }
}

/* ---- The walk ----------------------------------------------------------------------------------------------------- */

/* Columns are independent of each other. */
enum { COLUMNS = 16 };

struct walk {
    const struct ox_blocking *b;
    const double *u;
    float *h; /* the Hessian, both triangles */
    float *
        values; /* [tasks][k + 2 block][COLUMNS]: what is left of the values; room for the descent */
    float *importance;
    struct ox_blocked *out;
};

static float *room_of(const struct walk *w, size_t task)
{
    return w->values + task * (w->b->k + 2 * w->b->block) * COLUMNS;
}

static void fit_block(const struct walk *w, const float *values, size_t row, size_t m, size_t n,
                      float *column, struct ox_block_fit *fits)
{
    for (size_t j = 0; j < n; j++) {
        for (size_t i = 0; i < m; i++)
            column[i] = values[(row + i) * COLUMNS + j];
        fits[j] = ox_block_fit(w->b, column, w->importance + row, m);
    }
}

static void store_block(const struct walk *w, size_t row, size_t column, size_t n,
                        const struct ox_block_fit *fits)
{
    const struct ox_blocking *b = w->b;
    size_t at = row / b->block * b->n + column;
    for (size_t j = 0; j < n; j++) {
        ox_elements_convert(b->real,
                            (char *)w->out->scales->data + (at + j) * ox_dtype_size(b->real),
                            OX_FLOAT32, &fits[j].scale, 1, false);
        if (w->out->zeros)
            ((int8_t *)w->out->zeros->data)[at + j] = (int8_t)fits[j].zero;
    }
}

static void walk_columns(void *arg, size_t task)
{
    const struct walk *w = arg;
    const struct ox_blocking *b = w->b;
    const size_t first = task * COLUMNS, n = b->n - first < COLUMNS ? b->n - first : COLUMNS;
    float *values = room_of(w, task), column[OX_MOST_BLOCK], moved[COLUMNS] = {0};
    struct ox_block_fit fits[COLUMNS];
    int least, most;
    ox_qtype_limits(b->type, &least, &most);
    for (size_t i = 0; i < b->k; i++)
        memcpy(values + i * COLUMNS, b->values + i * b->n + first, n * sizeof *values);
    for (size_t i = 0; i < b->k; i++) {
        if (i % b->block == 0) {
            size_t m = b->k - i < b->block ? b->k - i : b->block;
            fit_block(w, values, i, m, n, column, fits);
            store_block(w, i, first, n, fits);
        }
        const double *u = w->u + i * b->k;
        int8_t *codes = (int8_t *)w->out->integers->data + i * b->n + first;
        for (size_t j = 0; j < n; j++) {
            float v = values[i * COLUMNS + j];
            int code = ox_block_round(v, fits[j], least, most);
            codes[j] = (int8_t)code;
            moved[j] = (v - (float)(code - fits[j].zero) * fits[j].scale) / (float)u[i];
        }
        for (size_t r = i + 1; r < b->k; r++) {
            const float factor = (float)u[r];
            for (size_t j = 0; j < COLUMNS; j++)
                values[r * COLUMNS + j] -= factor * moved[j];
        }
    }
}

/* ---- Descent ------------------------------------------------------------------------------------------------------ */

/* What GPTQ rounded, a few columns of it, while one code or scale after the other takes what is best beside all others, errors of
 * later rows too, which the walk could not know ("QuantEase", Behdin et al., arXiv 2309.01885). */
struct descent {
    const struct walk *w;
    size_t first, n;     /* columns */
    float *slopes;       /* [k][COLUMNS]: H (rounded - values) */
    float *before, *now; /* [block][COLUMNS] */
    struct ox_block_fit fits[COLUMNS];
    int least, most;
};

static int code_at(const struct descent *d, size_t i, size_t j)
{
    const struct ox_blocking *b = d->w->b;
    const int8_t code = ((const int8_t *)d->w->out->integers->data)[i * b->n + d->first + j];
    return ox_dtype_is_signed(b->type) ? code : (uint8_t)code;
}

static void load_fits(struct descent *d, size_t row)
{
    const struct ox_blocking *b = d->w->b;
    const size_t at = row / b->block * b->n + d->first, size = ox_dtype_size(b->real);
    const struct ox_blocked *out = d->w->out;
    for (size_t j = 0; j < d->n; j++) {
        ox_elements_convert(OX_FLOAT32, &d->fits[j].scale, b->real,
                            (const char *)out->scales->data + (at + j) * size, 1, false);
        d->fits[j].zero = out->zeros ? ((const uint8_t *)out->zeros->data)[at + j] : 0;
    }
}

/* m rows from `row` on changed by [m][COLUMNS]: what that makes of the slopes of rows from `first` to `end`. */
static void add_changes(struct descent *d, size_t row, size_t m, const float *changes, size_t first,
                        size_t end)
{
    for (size_t r = first; r < end; r++) {
        const float *h = d->w->h + r * d->w->b->k + row;
        float *slopes = d->slopes + r * COLUMNS, sums[COLUMNS];
        memcpy(sums, slopes, sizeof sums);
        for (size_t i = 0; i < m; i++) {
            for (size_t j = 0; j < COLUMNS; j++)
                sums[j] += h[i] * changes[i * COLUMNS + j];
        }
        memcpy(slopes, sums, sizeof sums);
    }
}

/* What m rows are worth; 0 where there are no columns. */
static void rounded(const struct descent *d, size_t row, size_t m, float *values)
{
    memset(values, 0, m * COLUMNS * sizeof *values);
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < d->n; j++)
            values[i * COLUMNS + j] =
                (float)(code_at(d, row + i, j) - d->fits[j].zero) * d->fits[j].scale;
    }
}

static size_t rows_of(const struct ox_blocking *b, size_t row)
{
    return b->k - row < b->block ? b->k - row : b->block;
}

static void find_slopes(struct descent *d)
{
    const struct ox_blocking *b = d->w->b;
    memset(d->slopes, 0, b->k * COLUMNS * sizeof *d->slopes);
    for (size_t row = 0; row < b->k; row += b->block) {
        const size_t m = rows_of(b, row);
        load_fits(d, row);
        rounded(d, row, m, d->now);
        for (size_t i = 0; i < m; i++) {
            for (size_t j = 0; j < d->n; j++)
                d->now[i * COLUMNS + j] -= b->values[(row + i) * b->n + d->first + j];
        }
        add_changes(d, row, m, d->now, 0, b->k);
    }
}

/* Scales by which the block's errors, with what they go together with, cost less, where there are any. */
static void refit_block(struct descent *d, size_t row, size_t m)
{
    const size_t k = d->w->b->k;
    float slope[COLUMNS] = {0}, power[COLUMNS] = {0}, moved[COLUMNS] = {0}, *codes = d->now;
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < COLUMNS; j++)
            codes[i * COLUMNS + j] =
                j < d->n ? (float)(code_at(d, row + i, j) - d->fits[j].zero) : 0;
    }
    for (size_t i = 0; i < m; i++) {
        const float *h = d->w->h + (row + i) * k + row, *own = codes + i * COLUMNS;
        float sums[COLUMNS] = {0};
        for (size_t r = 0; r < m; r++) {
            for (size_t j = 0; j < COLUMNS; j++)
                sums[j] += h[r] * codes[r * COLUMNS + j];
        }
        for (size_t j = 0; j < COLUMNS; j++) {
            power[j] += own[j] * sums[j];
            slope[j] += own[j] * d->slopes[(row + i) * COLUMNS + j];
        }
    }
    for (size_t j = 0; j < d->n; j++) {
        float *scale = &d->fits[j].scale;
        const float wanted = ox_block_scale(*scale - slope[j] / power[j], d->w->b->real);
        const float step = wanted - *scale;
        const bool near =
            power[j] > 0 && fabsf(wanted) > fabsf(*scale) / 2 && fabsf(wanted) < fabsf(*scale) * 2;
        if (near && step * slope[j] + step * step * power[j] / 2 < 0) {
            moved[j] = step;
            *scale = wanted;
        }
    }
    store_block(d->w, row, d->first, d->n, d->fits);
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < COLUMNS; j++)
            codes[i * COLUMNS + j] *= moved[j];
    }
    add_changes(d, row, m, codes, row, row + m);
}

/* Row i of the block. */
static void round_again(struct descent *d, size_t i, size_t row, size_t m)
{
    const struct ox_blocking *b = d->w->b;
    int8_t *codes = (int8_t *)d->w->out->integers->data + i * b->n + d->first;
    const float power = d->w->h[i * b->k + i];
    float change[COLUMNS] = {0};
    for (size_t j = 0; j < d->n; j++) {
        const struct ox_block_fit fit = d->fits[j];
        const int code = code_at(d, i, j);
        const float now = (float)(code - fit.zero) * fit.scale;
        const int better =
            ox_block_round(now - d->slopes[i * COLUMNS + j] / power, fit, d->least, d->most);
        codes[j] = (int8_t)better;
        change[j] = (float)(better - code) * fit.scale;
    }
    add_changes(d, i, 1, change, row, row + m);
}

static void descend(struct descent *d)
{
    enum { ROUNDS = 2 };
    const struct ox_blocking *b = d->w->b;
    find_slopes(d);
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t row = 0; row < b->k; row += b->block) {
            const size_t m = rows_of(b, row);
            load_fits(d, row);
            rounded(d, row, m, d->before);
            refit_block(d, row, m);
            for (size_t i = row; i < row + m; i++)
                round_again(d, i, row, m);
            rounded(d, row, m, d->now); /* of rows of other blocks all at once */
            for (size_t i = 0; i < m * COLUMNS; i++)
                d->now[i] -= d->before[i];
            add_changes(d, row, m, d->now, 0, row);
            add_changes(d, row, m, d->now, row + m, b->k);
        }
    }
}

static void quantize_columns(void *arg, size_t task)
{
    const struct walk *w = arg;
    const size_t first = task * COLUMNS, left = w->b->n - first;
    struct descent d = {
        .w = w, .first = first, .n = left < COLUMNS ? left : COLUMNS, .slopes = room_of(w, task)};
    d.before = d.slopes + w->b->k * COLUMNS;
    d.now = d.before + w->b->block * COLUMNS;
    walk_columns(arg, task);
    ox_qtype_limits(w->b->type, &d.least, &d.most);
    descend(&d);
}

/* The Hessian's upper triangle as both of them, in units of what is added to its diagonal: inputs may be of any size. */
static void mirror(float *to, const double *h, size_t k, double unit)
{
    for (size_t i = 0; i < k; i++) {
        for (size_t j = i; j < k; j++)
            to[i * k + j] = to[j * k + i] = (float)(h[i * k + j] / unit);
    }
}

enum ox_status ox_gptq(struct ox_blocked *out, struct ox_env *env, const struct ox_blocking *b,
                       struct ox_error *err)
{
    size_t n_tasks = (b->n + COLUMNS - 1) / COLUMNS, size;
    struct walk w = {.b = b, .u = b->hessian, .out = out};
    enum ox_status status = OX_OK;
    double *row = NULL;
    if (OX_MUL_OVERFLOWS(n_tasks * COLUMNS, b->k + 2 * b->block, &size))
        return ox_no_memory(err);
    w.values = calloc(size + 1, sizeof *w.values);
    w.importance = calloc(b->k + 1, sizeof *w.importance);
    w.h = calloc(b->k * b->k, sizeof *w.h);
    row = calloc(b->k + 1, sizeof *row);
    if (!w.values || !w.importance || !w.h || !row) {
        status = ox_no_memory(err);
        goto cleanup;
    }
    const double more = damping(b->hessian, b->k);
    for (size_t i = 0; i < b->k; i++)
        b->hessian[i * b->k + i] += more;
    mirror(w.h, b->hessian, b->k, more);
    if (!factor(b->hessian, b->k)) {
        status = ox_fail(err, OX_INPUT, "the samples' values are not finite");
        goto cleanup;
    }
    invert(b->hessian, b->k, row);
    for (size_t i = 0; i < b->k; i++) {
        double pivot = b->hessian[i * b->k + i];
        w.importance[i] = (float)(1 / (pivot * pivot));
    }
    ox_parallel(env, n_tasks, quantize_columns, &w);
cleanup:
    free(w.values);
    free(w.importance);
    free(w.h);
    free(row);
    return status;
}
