/* Activation: one elementwise function, for spellings that standard operators have no name for. */
#include "ops/fused/fused.h"
#include "ops/rules.h"

struct job {
    const struct ox_epilogue *end;
    const struct ox_compute *table;
    const float *x;
    float *y;
    size_t n;
};

enum { CHUNK = 8192 };

static void run_chunk(void *arg, size_t i, size_t slot)
{
    const struct job *job = arg;
    size_t from = i * CHUNK, n = job->n - from < CHUNK ? job->n - from : CHUNK;
    (void)slot;
    if (job->x != job->y)
        for (size_t k = 0; k < n; k++)
            job->y[from + k] = job->x[from + k];
    if (job->end->act == OX_ACT_ROW)
        job->end->row(job->end->row_arg, n, job->y + from);
    else
        job->table->finish(n, job->end, job->y + from);
}

static enum ox_status run_activation(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    struct ox_epilogue end = {.act = OX_ACT_NONE};
    struct ox_fused_row row;
    struct ox_tensor *y;
    if (!x || x->dtype != OX_FLOAT32)
        return ox_run_fail(r, err, OX_INPUT, "the data is no float32");
    OX_TRY(ox_fused_activation(r, &end, &row, err));
    OX_TRY(ox_run_out_reuse(r, 0, 0, OX_FLOAT32, x->rank, x->dims, &y, err));
    struct job job = {&end, ox_compute(ox_cpu()), x->data, y->data, y->n};
    ox_spread(r->env, (y->n + CHUNK - 1) / CHUNK, (double)y->n * 16, run_chunk, &job);
    return ox_env_poll(r->env, err);
}

const struct ox_op ox_ops_fused_activation[] = {
    {OX_OWN_DOMAIN, "Activation", 1, .infer = ox_rule_same, .run = run_activation}, {0}};
