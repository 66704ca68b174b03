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

/* A hundredth of the mean power on the diagonal, so that inputs that were hardly seen are not relied on. */
static void dampen(double *h, size_t k)
{
    const double share = 0.01;
    double sum = 0;
    for (size_t i = 0; i < k; i++)
        sum += h[i * k + i];
    double more = sum > 0 ? share * sum / (double)k : 1;
    for (size_t i = 0; i < k; i++)
        h[i * k + i] += more;
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
    float *values; /* [tasks][k][COLUMNS]: what is left of the values */
    float *importance;
    struct ox_blocked *out;
};

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
    enum { MOST_BLOCK = 1024 };
    const struct walk *w = arg;
    const struct ox_blocking *b = w->b;
    const size_t first = task * COLUMNS, n = b->n - first < COLUMNS ? b->n - first : COLUMNS;
    float *values = w->values + task * b->k * COLUMNS, column[MOST_BLOCK], moved[COLUMNS] = {0};
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

enum ox_status ox_gptq(struct ox_blocked *out, struct ox_env *env, const struct ox_blocking *b,
                       struct ox_error *err)
{
    size_t n_tasks = (b->n + COLUMNS - 1) / COLUMNS, size;
    struct walk w = {.b = b, .u = b->hessian, .out = out};
    enum ox_status status = OX_OK;
    double *row = NULL;
    if (OX_MUL_OVERFLOWS(n_tasks * COLUMNS, b->k, &size))
        return ox_no_memory(err);
    w.values = calloc(size + 1, sizeof *w.values);
    w.importance = calloc(b->k + 1, sizeof *w.importance);
    row = calloc(b->k + 1, sizeof *row);
    if (!w.values || !w.importance || !row) {
        status = ox_no_memory(err);
        goto cleanup;
    }
    dampen(b->hessian, b->k);
    if (!factor(b->hessian, b->k)) {
        status = ox_fail(err, OX_INPUT, "the samples' values are not finite");
        goto cleanup;
    }
    invert(b->hessian, b->k, row);
    for (size_t i = 0; i < b->k; i++) {
        double pivot = b->hessian[i * b->k + i];
        w.importance[i] = (float)(1 / (pivot * pivot));
    }
    ox_parallel(env, n_tasks, walk_columns, &w);
cleanup:
    free(w.values);
    free(w.importance);
    free(row);
    return status;
}
