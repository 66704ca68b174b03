/* MatMulBnb4 of com.microsoft: weights of 4 bits as bitsandbytes packs them, each the number of a value in a table. */
#include <inttypes.h>
#include <string.h>

#include "common/threads.h"
#include "ops/contrib/nbits.h"
#include "ops/fast/fast.h"
#include "ops/product.h"
#include "ops/real.h"

enum { FP4, NF4, N_TABLES, CODES = 16 };

static const float tables[N_TABLES][CODES] = {
    {0.0f, 0.0052083333f, 0.66666667f, 1.0f, 0.33333333f, 0.5f, 0.16666667f, 0.25f, -0.0f,
     -0.0052083333f, -0.66666667f, -1.0f, -0.33333333f, -0.5f, -0.16666667f, -0.25f},
    {-1.0f, -0.6961928009986877f, -0.5250730514526367f, -0.39491748809814453f,
     -0.28444138169288635f, -0.18477343022823334f, -0.09105003625154495f, 0.0f,
     0.07958029955625534f, 0.16093020141124725f, 0.24611230194568634f, 0.33791524171829224f,
     0.44070982933044434f, 0.5626170039176941f, 0.7229568362236023f, 1.0f}};

struct bnb4 {
    size_t m, n, k, block;
    bool transposed; /* A by the transpose of the weights, [n, k] */
    const float *table;
    const uint8_t *codes; /* two a byte, the first in the high bits; blocks run on over rows */
    const double *scales; /* a block */
    double *weights;
};

static void row_task(void *arg, size_t row)
{
    const struct bnb4 *w = arg;
    for (size_t i = row * w->k; i < (row + 1) * w->k; i++) {
        unsigned code = w->codes[i / 2] >> (i % 2 ? 0 : 4) & (CODES - 1);
        w->weights[i] = (double)w->table[code] * w->scales[i / w->block];
    }
}

static enum ox_status read_bnb4(struct ox_run *r, struct bnb4 *w, struct ox_error *err)
{
    const struct ox_tensor *a = ox_run_in(r, 0), *codes = ox_run_in(r, 1),
                           *scales = ox_run_in(r, 2);
    int64_t n = ox_run_int(r, "N", 0), k = ox_run_int(r, "K", 0);
    int64_t block = ox_run_int(r, "block_size", 0), type = ox_run_int(r, "quant_type", 0);
    size_t all;
    if (n < 1 || k < 1 || type < 0 || type >= N_TABLES)
        return ox_run_fail(r, err, OX_INPUT, "N is %" PRId64 ", K %" PRId64 ", quant_type %" PRId64,
                           n, k, type);
    if (block < 16 || (block & (block - 1)))
        return ox_run_fail(r, err, OX_INPUT, "attribute block_size is %" PRId64, block);
    *w = (struct bnb4){.n = (size_t)n,
                       .k = (size_t)k,
                       .block = (size_t)block,
                       .transposed = ox_run_int(r, "transB", 1) != 0,
                       .table = tables[type],
                       .codes = codes->data};
    if (OX_MUL_OVERFLOWS(w->n, w->k, &all) || codes->n < all / 2 + all % 2 ||
        scales->n < (all - 1) / w->block + 1)
        return ox_run_fail(r, err, OX_INPUT, "B or absmax has too few elements for %zu x %zu", w->n,
                           w->k);
    size_t width = w->transposed ? w->k : w->n;
    if (a->rank == 0 || a->rank > OX_MOST_RANK || (size_t)a->dims[a->rank - 1] != width)
        return ox_run_fail(r, err, OX_INPUT, "A does not have %zu columns", width);
    w->m = a->n / width;
    return OX_OK;
}

static void output_dims(const struct ox_tensor *a, size_t columns, int64_t *dims)
{
    memcpy(dims, a->dims, a->rank * sizeof *dims);
    dims[a->rank - 1] = (int64_t)columns;
}

static enum ox_status run_bnb4(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *a = ox_run_in(r, 0);
    struct bnb4 w;
    const double *left;
    size_t n_out;
    OX_TRY(read_bnb4(r, &w, err));
    OX_TRY(ox_real_in(r, 2, &w.scales, err));
    w.weights = ox_real_scratch(r, w.n * w.k, err);
    if (!w.weights)
        return OX_NO_MEMORY;
    size_t columns = w.transposed ? w.n : w.k;
    OX_TRY(ox_real_in(r, 0, &left, err));
    if (OX_MUL_OVERFLOWS(w.m, columns, &n_out))
        return ox_run_fail(r, err, OX_LIMIT, "the product is too big");
    double *y = ox_real_scratch(r, n_out, err);
    if (!y)
        return OX_NO_MEMORY;
    ox_parallel(r->env, w.n, row_task, &w);
    const struct ox_product p = {.dtype = OX_FLOAT64,
                                 .m = w.m,
                                 .n = columns,
                                 .k = w.transposed ? w.k : w.n,
                                 .a = left,
                                 .a_row = w.transposed ? w.k : w.n,
                                 .a_col = 1,
                                 .b = w.weights,
                                 .b_row = w.transposed ? 1 : w.k,
                                 .b_col = w.transposed ? w.k : 1,
                                 .c = y,
                                 .ldc = columns,
                                 .batches = 1};
    if (w.m)
        OX_TRY(ox_product_run(r, &p, err));
    int64_t dims[OX_MOST_RANK];
    output_dims(a, columns, dims);
    return ox_real_out(r, 0, a->dtype, a->rank, dims, y, err);
}

/* By columns of whole blocks, in float32. */
static enum ox_status fast_bnb4(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *a = ox_fast_in(r, 0), *scales = ox_fast_in(r, 2);
    struct bnb4 w;
    OX_TRY(read_bnb4(r, &w, err));
    if (!a || !scales || !w.transposed || w.k % w.block || w.m == 0)
        return OX_UNSUPPORTED;
    struct ox_bits_product p = {.w = {.k = w.k,
                                      .block = w.block,
                                      .blocks = w.k / w.block,
                                      .bits = 4,
                                      .codes = w.codes,
                                      .scales = scales->data,
                                      .values = w.table},
                                .m = w.m,
                                .n = w.n,
                                .a = a->data};
    int64_t dims[OX_MOST_RANK];
    struct ox_tensor *y;
    output_dims(a, w.n, dims);
    OX_TRY(ox_run_out(r, 0, OX_FLOAT32, a->rank, dims, &y, err));
    p.y = y->data;
    return ox_bits_multiply(r, &p, err);
}

static void infer_bnb4(struct ox_infer *c)
{
    const bool transposed = ox_infer_int_attr(c, "transB", 1) != 0;
    ox_nbits_infer(c, transposed ? "K" : "N", transposed ? "N" : "K");
}

const struct ox_op ox_ops_contrib_bnb4[] = {
    {"com.microsoft", "MatMulBnb4", 1, .infer = infer_bnb4, .run = run_bnb4, .fast = fast_bnb4},
    {0}};
