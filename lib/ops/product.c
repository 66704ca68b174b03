#include "ops/product.h"

#include <stdlib.h>

#include "kernels/dense.h"
#include "kernels/gemm.h"
#include "kernels/whole_products.h"

/* A task computes this many columns of the result and a multiple of these rows. The split changes no bits. */
enum {
    TASK_ROWS = 128,
    LEAST_ROWS = 16,
    TASK_COLS = 480,
    UNIT = 24,
    LINE = 64
}; /* UNIT: of columns */
static const size_t task_macs = (size_t)1 << 20, short_macs = (size_t)1 << 19;

struct job {
    const struct ox_product *p;
    size_t rows, cols, chunk; /* of a task; chunk: batches */
    size_t row_blocks, col_blocks;
    size_t work; /* elements, and a line that panels begin on */
    size_t elem; /* bytes */
    enum ox_gemm_way way;
    char *memory; /* work for each slot */
};

void *ox_task_alloc(struct ox_task_state *state, size_t count, size_t size)
{
    size_t bytes;
    if (OX_MUL_OVERFLOWS(count, size, &bytes) || !ox_budget_take(state->budget, bytes)) {
        state->no_memory = true;
        return NULL;
    }
    void *memory = calloc(bytes ? bytes : 1, 1);
    if (!memory) {
        ox_budget_give(state->budget, bytes);
        state->no_memory = true;
    }
    return memory;
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
    size_t m = p->m - row < job->rows ? p->m - row : job->rows;
    size_t n = p->n - col < job->cols ? p->n - col : job->cols;
    size_t a_at = (p->a_at ? p->a_at[batch] : 0) + row * p->a_row;
    size_t b_at = (p->b_at ? p->b_at[batch] : 0) + col * p->b_col;
    size_t c_at = (p->c_at ? p->c_at[batch] : 0) + row * p->ldc + col;
    switch (p->dtype) {
    case OX_FLOAT32:
        ox_gemm_run_f32(ox_gemm_f32(), job->way, m, n, p->k, (const float *)p->a + a_at, p->a_row,
                        p->a_col, (const float *)p->b + b_at, p->b_row, p->b_col,
                        (float *)p->c + c_at, p->ldc, p->add, work);
        break;
    case OX_FLOAT64:
        ox_gemm_run_f64(p->fused ? ox_gemm_f64_fused() : ox_gemm_f64(), job->way, m, n, p->k,
                        (const double *)p->a + a_at, p->a_row, p->a_col,
                        (const double *)p->b + b_at, p->b_row, p->b_col, (double *)p->c + c_at,
                        p->ldc, p->add, work);
        break;
    case OX_INT32:
    case OX_UINT32:
        ox_whole_products(ox_cpu())->u32(m, n, p->k, (const uint32_t *)p->a + a_at, p->a_row,
                                         p->a_col, (const uint32_t *)p->b + b_at, p->b_row,
                                         p->b_col, (uint32_t *)p->c + c_at, p->ldc, p->add);
        break;
    default:
        ox_whole_products(ox_cpu())->u64(m, n, p->k, (const uint64_t *)p->a + a_at, p->a_row,
                                         p->a_col, (const uint64_t *)p->b + b_at, p->b_row,
                                         p->b_col, (uint64_t *)p->c + c_at, p->ldc, p->add);
        break;
    }
}

static void product_task(void *arg, size_t i, size_t slot)
{
    const struct job *job = arg;
    size_t blocks = job->row_blocks * job->col_blocks;
    size_t block = i % blocks, first = i / blocks * job->chunk;
    size_t end = job->p->batches - first < job->chunk ? job->p->batches : first + job->chunk;
    char *memory = job->memory ? job->memory + slot * job->work * job->elem : NULL;
    void *work = memory ? memory + (LINE - (uintptr_t)memory % LINE) % LINE : NULL;
    for (size_t batch = first; batch < end; batch++)
        one_block(job, batch, block / job->col_blocks * job->rows,
                  block % job->col_blocks * job->cols, work);
}

/* Two or three columns of many rows go by tiles where these read both sides as they lie. */
static enum ox_gemm_way choose_way(const struct ox_product *p)
{
    const enum ox_gemm_way way = ox_gemm_way(p->m, p->n, p->k, p->a_col, p->b_row, p->b_col);
    const struct ox_gemm_f64 *g = ox_gemm_f64_fused();
    const bool tiles = p->dtype == OX_FLOAT64 && p->fused && g->in_place && way == OX_GEMM_DOTS;
    return tiles && p->m >= g->mr && p->n > 1 ? OX_GEMM_TILES : way;
}

/* In blocks of which each thread has as many where rows give it none. */
static size_t choose_cols(size_t m, size_t n, bool real, unsigned threads)
{
    const size_t most = real && threads == 1 ? TASK_COLS : TASK_COLS / 2;
    const size_t least = (n - 1) / most + 1,
                 odd = least > 1 && m <= TASK_ROWS ? least % threads : 0;
    const size_t blocks = least + (odd ? threads - odd : 0), cols = (n - 1) / blocks + 1;
    return blocks == 1 ? n : (cols + UNIT - 1) / UNIT * UNIT;
}

/* As many rows as leave each thread a choice of tasks: a task packs its columns once. */
static void choose_blocks(struct job *job, bool real, unsigned threads)
{
    const struct ox_product *p = job->p;
    const size_t least = threads > 1 ? 2 * (size_t)threads : 1;
    job->cols = choose_cols(p->m * p->batches, p->n, real, threads);
    job->col_blocks = (p->n - 1) / job->cols + 1;
    job->rows = TASK_ROWS;
    while (real && job->rows < p->m &&
           p->batches * job->col_blocks * ((p->m - 1) / (2 * job->rows) + 1) >= least)
        job->rows *= 2;
    while (real && job->rows > LEAST_ROWS && job->rows / 2 * job->cols * p->k >= short_macs &&
           p->batches * job->col_blocks * ((p->m - 1) / job->rows + 1) < threads)
        job->rows /= 2;
    job->row_blocks = (p->m - 1) / job->rows + 1;
}

/* Not of ox_run_work(), of which a kernel of many products would run out. */
static enum ox_status lend(struct ox_run *r, const struct job *job, struct ox_tensor **out,
                           struct ox_error *err)
{
    size_t bytes;
    if (OX_MUL_OVERFLOWS(job->work, ox_slots(r->env) * job->elem, &bytes) || bytes > INT64_MAX)
        return ox_run_fail(r, err, OX_LIMIT, "the product needs too much memory");
    const int64_t dim = (int64_t)bytes;
    return ox_run_tensor(r, OX_UINT8, 1, &dim, out, err);
}

enum ox_status ox_product_run(struct ox_run *r, const struct ox_product *p, struct ox_error *err)
{
    if (!p->m || !p->n || !p->batches)
        return OX_OK;
    bool real = p->dtype == OX_FLOAT32 || p->dtype == OX_FLOAT64;
    if (!real && p->dtype != OX_INT32 && p->dtype != OX_UINT32 && p->dtype != OX_INT64 &&
        p->dtype != OX_UINT64)
        return ox_run_fail(r, err, OX_UNSUPPORTED, "no product of %s", ox_dtype_name(p->dtype));
    struct job job = {.p = p, .chunk = 1, .elem = ox_dtype_size(p->dtype), .way = choose_way(p)};
    choose_blocks(&job, real, ox_env_threads(r->env));
    if (real)
        job.work = LINE + ox_gemm_work(p->m < job.rows ? p->m : job.rows, job.cols, p->k);
    if (job.row_blocks == 1 && job.col_blocks == 1) {
        size_t macs = p->m * p->n * (p->k ? p->k < task_macs ? p->k : task_macs : 1);
        job.chunk = macs >= task_macs ? 1 : task_macs / macs;
    }
    size_t chunks = (p->batches - 1) / job.chunk + 1;
    const double macs = (double)p->m * (double)p->n * (double)p->k * (double)p->batches;
    /* few rows take as long as the right side takes to come */
    const double work = real ? 2 + 24.0 / (double)p->m : 8;
    struct ox_tensor *lent = NULL;
    if (job.work) {
        OX_TRY(lend(r, &job, &lent, err));
        job.memory = lent->data;
    }
    ox_spread(r->env, chunks * job.row_blocks * job.col_blocks, work * macs, product_task, &job);
    ox_tensor_release(lent);
    return ox_env_poll(r->env, err);
}
