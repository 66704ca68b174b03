/* Softmax and LogSoftmax of doubles by exponentials abreast. */
#include <math.h>
#include <string.h>

#include "kernels/doubles.h"
#include "kernels/folds.h"
#include "ops/fast/fast.h"

enum { LANES = 256 };

struct job {
    void (*exps)(size_t n, const double *x, double *y, double a, double b);
    void (*logs)(size_t n, const double *x, double *y, double a, double b);
    const struct ox_fold *greatest;
    const double *x;
    double *y;
    size_t count, inner;
    bool log;
};

/* y = e^(x - most), which for LogSoftmax is not kept; its sum. */
static double row_of_exps(const struct job *job, const double *x, double most, double *y)
{
    double power[LANES], sum = 0;
    for (size_t at = 0, n; at < job->count; at += n) {
        n = job->count - at < LANES ? job->count - at : LANES;
        for (size_t i = 0; i < n; i++)
            power[i] = x[at + i] - most;
        job->exps(n, power, power, 0, 0);
        for (size_t i = 0; i < n; i++)
            sum += power[i];
        if (!job->log)
            memcpy(y + at, power, n * sizeof *y);
    }
    return sum;
}

/* Short rows one after another, LANES elements at most. */
static void short_rows(const struct job *job, size_t rows, const double *x, double *y)
{
    double most[LANES], power[LANES], sum[LANES];
    const size_t count = job->count;
    job->greatest->start(most, rows);
    job->greatest->rows(most, x, rows, count);
    for (size_t row = 0; row < rows; row++)
        for (size_t i = row * count; i < (row + 1) * count; i++)
            power[i] = x[i] - most[row];
    job->exps(rows * count, power, power, 0, 0);
    for (size_t row = 0; row < rows; row++) {
        sum[row] = 0;
        for (size_t i = row * count; i < (row + 1) * count; i++)
            sum[row] += power[i];
    }
    if (job->log)
        job->logs(rows, sum, sum, 0, 0);
    for (size_t row = 0; row < rows; row++) {
        const double scale = 1 / sum[row];
        for (size_t i = row * count; i < (row + 1) * count; i++)
            y[i] = job->log ? x[i] - most[row] - sum[row] : power[i] * scale;
    }
}

static void rows_task(void *arg, size_t from, size_t to)
{
    const struct job *job = arg;
    const size_t together = LANES / job->count;
    for (size_t rows; together > 1 && from < to; from += rows) {
        rows = to - from < together ? to - from : together;
        short_rows(job, rows, job->x + from * job->count, job->y + from * job->count);
    }
    for (size_t row = from; row < to; row++) {
        const double *x = job->x + row * job->count;
        double *y = job->y + row * job->count, most = x[0];
        job->greatest->run(&most, x, job->count, NULL);
        const double sum = row_of_exps(job, x, most, y);
        const double shift = log(sum), scale = 1 / sum;
        for (size_t i = 0; i < job->count; i++)
            y[i] = job->log ? x[i] - most - shift : y[i] * scale;
    }
}

/* n <= LANES neighbours, whose elements lie `inner` apart. */
static void lanes_of(const struct job *job, size_t n, const double *x, double *y)
{
    const size_t step = job->inner;
    double most[LANES], power[LANES], sum[LANES] = {0};
    job->greatest->start(most, n);
    job->greatest->lanes(most, x, n, job->count, step, NULL);
    for (size_t i = 0; i < job->count; i++) {
        double *to = job->log ? power : y + i * step;
        for (size_t k = 0; k < n; k++)
            power[k] = x[i * step + k] - most[k];
        job->exps(n, power, to, 0, 0);
        for (size_t k = 0; k < n; k++)
            sum[k] += to[k];
    }
    if (job->log)
        job->logs(n, sum, sum, 0, 0);
    for (size_t k = 0; k < n && !job->log; k++)
        sum[k] = 1 / sum[k];
    for (size_t i = 0; i < job->count * step; i += step)
        for (size_t k = 0; k < n; k++)
            y[i + k] = job->log ? x[i + k] - most[k] - sum[k] : y[i + k] * sum[k];
}

/* Units are stretches of lanes. */
static void lanes_task(void *arg, size_t from, size_t to)
{
    const struct job *job = arg;
    const size_t stretches = (job->inner - 1) / LANES + 1;
    for (size_t unit = from; unit < to; unit++) {
        const size_t lane = unit % stretches * LANES;
        const size_t n = job->inner - lane < LANES ? job->inner - lane : LANES;
        const size_t at = unit / stretches * job->count * job->inner + lane;
        lanes_of(job, n, job->x + at, job->y + at);
    }
}

enum ox_status ox_fast_softmax_doubles(struct ox_run *r, size_t outer, size_t count, size_t inner,
                                       bool log, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    struct job job = {.exps = ox_doubles(ox_cpu())->unary[OX_UNARY_EXP],
                      .logs = ox_doubles(ox_cpu())->unary[OX_UNARY_LOG],
                      .greatest = ox_folds(ox_cpu())->of[OX_FOLD_GREATEST][OX_FLOAT64],
                      .x = x->data,
                      .count = count,
                      .inner = inner,
                      .log = log};
    if (!job.exps || !job.logs)
        return OX_UNSUPPORTED;
    struct ox_tensor *y;
    OX_TRY(ox_run_out(r, 0, OX_FLOAT64, x->rank, x->dims, &y, err));
    job.y = y->data;
    if (inner == 1)
        ox_fast_spread(r->env, outer, count >= 4096 ? 1 : 4096 / count, 3 * (double)count,
                       rows_task, &job);
    else
        ox_fast_spread(r->env, outer * ((inner - 1) / LANES + 1), 1, 3. * LANES * (double)count,
                       lanes_task, &job);
    return OX_OK;
}
