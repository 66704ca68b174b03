/* CumSum CumProd. */
#include <inttypes.h>
#include <string.h>

#include "kernels/folds.h"
#include "ops/broadcast.h"
#include "ops/kernel_tables.h"
#include "ops/rules.h"

enum { LANES = 1024 };

#define STAMP "ops/cumulative_tmpl.h"
#include "common/stamp_integers.h"
#define STAMP "ops/cumulative_tmpl.h"
#include "common/stamp_floats.h"

struct cumulative_kernels {
    void (*lanes[OX_N_DTYPES])(const void *from, size_t count, ptrdiff_t stride, size_t lanes,
                               bool exclusive, void *to);
    void (*rows[OX_N_DTYPES])(const void *from, size_t count, ptrdiff_t stride, size_t rows,
                              bool exclusive, void *to);
};

static void running_sums(const void *from, size_t count, ptrdiff_t stride, size_t lanes,
                         bool exclusive, void *to)
{
    double acc[LANES];
    if (lanes == 1) {
        cum_sum_f32(from, count, stride, lanes, exclusive, to);
        return;
    }
    memset(acc, 0, lanes * sizeof *acc);
    ox_folds(ox_cpu())->running_sums(acc, from, lanes, count, stride, exclusive, to);
}

static const struct cumulative_kernels cum_sum_kernels = {
    {[OX_FLOAT32] = running_sums, [OX_FLOAT64] = cum_sum_f64, OX_KERNELS_INTEGER(cum_sum)},
    {OX_KERNELS_NUMBER(cum_sum_rows)}};
static const struct cumulative_kernels cum_prod_kernels = {{OX_KERNELS_NUMBER(cum_prod)},
                                                           {OX_KERNELS_NUMBER(cum_prod_rows)}};

struct cumulative_job {
    void (*kernel)(const void *from, size_t count, ptrdiff_t stride, size_t side_by_side,
                   bool exclusive, void *to);
    const char *in;
    char *out;
    size_t bytes, count, inner, blocks; /* blocks: of lanes, of inner */
    bool exclusive, reverse;
};

static void rows_task(void *arg, size_t from, size_t to)
{
    const struct cumulative_job *job = arg;
    const size_t at = (from * job->count + (job->reverse ? job->count - 1 : 0)) * job->bytes;
    job->kernel(job->in + at, job->count, job->reverse ? -1 : 1, to - from, job->exclusive,
                job->out + at);
}

static void lanes_task(void *arg, size_t from, size_t to)
{
    const struct cumulative_job *job = arg;
    ptrdiff_t stride = job->reverse ? -(ptrdiff_t)job->inner : (ptrdiff_t)job->inner;
    for (size_t i = from; i < to; i++) {
        const size_t outer = i / job->blocks, lane = i % job->blocks * LANES;
        const size_t first = outer * job->count + (job->reverse ? job->count - 1 : 0);
        const size_t lanes = job->inner - lane < LANES ? job->inner - lane : LANES;
        const size_t at = (first * job->inner + lane) * job->bytes;
        job->kernel(job->in + at, job->count, stride, lanes, job->exclusive, job->out + at);
    }
}

static enum ox_status run_cumulative(struct ox_run *r, const struct cumulative_kernels *kernels,
                                     struct ox_error *err)
{
    const struct ox_tensor *in = ox_run_in(r, 0), *axis_tensor = ox_run_in(r, 1);
    unsigned axis = 0;
    if (!kernels->rows[in->dtype])
        return ox_run_fail(r, err, OX_UNSUPPORTED, "no kernel for %s", ox_dtype_name(in->dtype));
    if (axis_tensor->n != 1)
        return ox_run_fail(r, err, OX_INPUT, "axis must be a scalar, but has %zu elements",
                           axis_tensor->n);
    int64_t given = ox_tensor_get_int(axis_tensor, 0);
    if (in->rank || (given != 0 && given != -1))
        OX_TRY(ox_run_axis(r, given, in->rank, &axis, err));
    struct ox_tensor *out;
    OX_TRY(ox_run_out(r, 0, in->dtype, in->rank, in->dims, &out, err));
    if (in->n == 0)
        return OX_OK;
    struct cumulative_job job = {.in = in->data, .out = out->data, .count = 1};
    job.bytes = ox_dtype_size(in->dtype);
    job.inner = 1;
    job.exclusive = ox_run_int(r, "exclusive", 0) != 0;
    job.reverse = ox_run_int(r, "reverse", 0) != 0;
    size_t outer = 1;
    for (unsigned i = 0; i < in->rank; i++)
        *(i < axis ? &outer : i == axis ? &job.count : &job.inner) *= (size_t)in->dims[i];
    job.kernel = (job.inner == 1 ? kernels->rows : kernels->lanes)[in->dtype];
    job.blocks = (job.inner + LANES - 1) / LANES;
    size_t work = job.count * (job.inner < LANES ? job.inner : LANES);
    ox_ranges_run(r->env, outer * job.blocks, work >= OX_GRAIN ? 1 : OX_GRAIN / work,
                  job.inner == 1 ? rows_task : lanes_task, &job);
    return OX_OK;
}

static enum ox_status run_cum_sum(struct ox_run *r, struct ox_error *err)
{
    return run_cumulative(r, &cum_sum_kernels, err);
}

static enum ox_status run_cum_prod(struct ox_run *r, struct ox_error *err)
{
    return run_cumulative(r, &cum_prod_kernels, err);
}

static void infer_cumulative(struct ox_infer *c, bool products)
{
    unsigned rank, axis;
    size_t n, one;
    const int64_t *given;
    const struct ox_expr *const *values;
    ox_rule_same(c);
    if (!ox_infer_shape(c, 0, &rank, NULL) || !ox_infer_ints(c, 1, &one, &given) || one != 1 ||
        rank == 0)
        return;
    if (!ox_infer_axis(c, given[0], rank, &axis) || rank != 1 ||
        !ox_rule_values(c, 0, &n, &values) || n > OX_RULE_VALUES)
        return;
    bool exclusive = ox_infer_int_attr(c, "exclusive", 0),
         reverse = ox_infer_int_attr(c, "reverse", 0);
    const struct ox_expr **running = ox_infer_dims(c, (unsigned)n);
    const struct ox_expr *acc = ox_infer_num(c, products ? 1 : 0);
    for (size_t i = 0; running && i < n; i++) {
        size_t at = reverse ? n - 1 - i : i;
        const struct ox_expr *next =
            products ? ox_infer_mul(c, acc, values[at]) : ox_infer_add(c, acc, values[at]);
        running[at] = exclusive ? acc : next;
        acc = next;
    }
    if (running)
        ox_infer_set_values(c, 0, n, running);
}

static void infer_cum_sum(struct ox_infer *c)
{
    infer_cumulative(c, false);
}

static void infer_cum_prod(struct ox_infer *c)
{
    infer_cumulative(c, true);
}

const struct ox_op ox_ops_cumulative[] = {
    {"", "CumProd", 26, .infer = infer_cum_prod, .run = run_cum_prod},
    {"", "CumSum", 11, .infer = infer_cum_sum, .run = run_cum_sum},
    {0}};
