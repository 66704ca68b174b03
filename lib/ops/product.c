#include "ops/product.h"

#include <stdlib.h>

#include "common/threads.h"
#include "kernels/gemm.h"

#define UINT uint32_t
#define NAME(x) x##_u32
#include "ops/product_tmpl.h"
#undef UINT
#undef NAME

#define UINT uint64_t
#define NAME(x) x##_u64
#include "ops/product_tmpl.h"

/* A task computes this much of the result; the split follows from the shape alone. */
enum { TASK_ROWS = 128, TASK_COLS = 256 };
static const size_t task_macs = (size_t)1 << 20;

struct job {
    const struct ox_product *p;
    size_t row_blocks, col_blocks, chunk; /* chunk: batches a task */
    size_t work;                          /* elements */
    size_t elem;                          /* bytes */
    struct ox_task_state state;
};

static void *allocate(struct ox_task_state *state, size_t count, size_t size, bool zeroed)
{
    size_t bytes;
    if (OX_MUL_OVERFLOWS(count, size, &bytes) || !ox_budget_take(state->budget, bytes)) {
        state->no_memory = true;
        return NULL;
    }
    void *memory = zeroed ? calloc(bytes ? bytes : 1, 1) : malloc(bytes ? bytes : 1);
    if (!memory) {
        ox_budget_give(state->budget, bytes);
        state->no_memory = true;
    }
    return memory;
}

void *ox_task_alloc(struct ox_task_state *state, size_t count, size_t size)
{
    return allocate(state, count, size, true);
}

void ox_task_free(struct ox_task_state *state, void *memory, size_t count, size_t size)
{
    if (memory)
        ox_budget_give(state->budget, count * size);
    free(memory);
}

static void one_block(const struct job *job, size_t batch, size_t row, size_t col, void *work)
{
    const struct ox_product *p = job->p;
    size_t m = p->m - row < TASK_ROWS ? p->m - row : TASK_ROWS;
    size_t n = p->n - col < TASK_COLS ? p->n - col : TASK_COLS;
    size_t a_at = (p->a_at ? p->a_at[batch] : 0) + row * p->a_row;
    size_t b_at = (p->b_at ? p->b_at[batch] : 0) + col * p->b_col;
    size_t c_at = (p->c_at ? p->c_at[batch] : 0) + row * p->ldc + col;
    switch (p->dtype) {
    case OX_FLOAT32:
        ox_gemm_run_f32(ox_gemm_f32(), m, n, p->k, (const float *)p->a + a_at, p->a_row, p->a_col,
                        (const float *)p->b + b_at, p->b_row, p->b_col, (float *)p->c + c_at,
                        p->ldc, p->add, work);
        break;
    case OX_FLOAT64:
        ox_gemm_run_f64(p->fused ? ox_gemm_f64_fused() : ox_gemm_f64(), m, n, p->k,
                        (const double *)p->a + a_at, p->a_row, p->a_col,
                        (const double *)p->b + b_at, p->b_row, p->b_col, (double *)p->c + c_at,
                        p->ldc, p->add, work);
        break;
    case OX_INT32:
    case OX_UINT32:
        product_u32(m, n, p->k, (const uint32_t *)p->a + a_at, p->a_row, p->a_col,
                    (const uint32_t *)p->b + b_at, p->b_row, p->b_col, (uint32_t *)p->c + c_at,
                    p->ldc, p->add);
        break;
    default:
        product_u64(m, n, p->k, (const uint64_t *)p->a + a_at, p->a_row, p->a_col,
                    (const uint64_t *)p->b + b_at, p->b_row, p->b_col, (uint64_t *)p->c + c_at,
                    p->ldc, p->add);
        break;
    }
}

static void product_task(void *arg, size_t i)
{
    struct job *job = arg;
    size_t blocks = job->row_blocks * job->col_blocks;
    size_t block = i % blocks, first = i / blocks * job->chunk;
    size_t end = job->p->batches - first < job->chunk ? job->p->batches : first + job->chunk;
    void *work = allocate(&job->state, job->work, job->elem, false);
    if (!work)
        return;
    for (size_t batch = first; batch < end; batch++)
        one_block(job, batch, block / job->col_blocks * TASK_ROWS,
                  block % job->col_blocks * TASK_COLS, work);
    ox_task_free(&job->state, work, job->work, job->elem);
}

enum ox_status ox_product_run(struct ox_run *r, const struct ox_product *p, struct ox_error *err)
{
    if (!p->m || !p->n || !p->batches)
        return OX_OK;
    bool real = p->dtype == OX_FLOAT32 || p->dtype == OX_FLOAT64;
    if (!real && p->dtype != OX_INT32 && p->dtype != OX_UINT32 && p->dtype != OX_INT64 &&
        p->dtype != OX_UINT64)
        return ox_run_fail(r, err, OX_UNSUPPORTED, "no product of %s", ox_dtype_name(p->dtype));
    const size_t m = p->m < TASK_ROWS ? p->m : TASK_ROWS, n = p->n < TASK_COLS ? p->n : TASK_COLS;
    struct job job = {.p = p,
                      .row_blocks = (p->m + TASK_ROWS - 1) / TASK_ROWS,
                      .col_blocks = (p->n + TASK_COLS - 1) / TASK_COLS,
                      .chunk = 1,
                      .work = real ? ox_gemm_work(m, n, p->k) : 0,
                      .elem = ox_dtype_size(p->dtype),
                      .state = {.budget = ox_env_budget(r->env)}};
    if (job.row_blocks == 1 && job.col_blocks == 1) {
        size_t macs = p->m * p->n * (p->k ? p->k < task_macs ? p->k : task_macs : 1);
        job.chunk = macs >= task_macs ? 1 : task_macs / macs;
    }
    size_t chunks = (p->batches - 1) / job.chunk + 1;
    ox_parallel(r->env, chunks * job.row_blocks * job.col_blocks, product_task, &job);
    OX_TRY(ox_env_poll(r->env, err));
    return job.state.no_memory ? ox_run_fail(r, err, OX_NO_MEMORY, "out of memory") : OX_OK;
}
