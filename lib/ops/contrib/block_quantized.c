/* MatMulNBits and GatherBlockQuantized: weights of 2, 4 or 8 bits with a scale a block. */
#include <inttypes.h>
#include <string.h>

#include "common/threads.h"
#include "ops/contrib/nbits.h"
#include "ops/fast/fast.h"
#include "ops/infer.h"
#include "ops/matmul.h"
#include "ops/product.h"
#include "ops/real.h"

/* ---- MatMulNBits -------------------------------------------------------------------------------------------------- */

struct nbits {
    struct ox_nbits in;
    const double *scales, *zeros; /* [n, blocks]; zeros may be NULL */
    const int64_t *group;         /* [k]: the block of each row; NULL: in order */
    double *weights;              /* [n, k] */
};

static void column_task(void *arg, size_t column)
{
    const struct nbits *all = arg;
    const struct ox_nbits *w = &all->in;
    const uint8_t *codes = w->codes + column * w->blocks * w->code_bytes;
    double *out = all->weights + column * w->k, middle = (double)(1u << (w->bits - 1));
    for (size_t k = 0; k < w->k; k++) {
        size_t block = all->group ? (size_t)all->group[k] : k / w->block;
        double zero = middle;
        if (all->zeros)
            zero = all->zeros[column * w->blocks + block];
        else if (w->zeros)
            zero = ox_code_at(w->zeros + column * w->zero_bytes, block, w->bits);
        unsigned code = ox_code_at(codes + k / w->block * w->code_bytes, k % w->block, w->bits);
        out[k] = (code - zero) * all->scales[column * w->blocks + block];
    }
}

static enum ox_status read_sizes(struct ox_run *r, struct ox_nbits *w, struct ox_error *err)
{
    int64_t n = ox_run_int(r, "N", 0), k = ox_run_int(r, "K", 0), bits = ox_run_int(r, "bits", 4);
    int64_t block = ox_run_int(r, "block_size", 0);
    if (n < 1 || k < 1 || (bits != 2 && bits != 4 && bits != 8))
        return ox_run_fail(r, err,
                           bits > 0 && bits < 8 && n > 0 && k > 0 ? OX_UNSUPPORTED : OX_INPUT,
                           "N is %" PRId64 ", K %" PRId64 ", bits %" PRId64, n, k, bits);
    if (block < 16 || (block & (block - 1)) || block > (int64_t)1 << 30)
        return ox_run_fail(r, err, OX_INPUT, "attribute block_size is %" PRId64, block);
    if (ox_run_int(r, "weight_prepacked", 0))
        return ox_run_fail(r, err, OX_UNSUPPORTED, "the weights are packed for a GPU");
    w->n = (size_t)n;
    w->k = (size_t)k;
    w->bits = (unsigned)bits;
    w->block = (size_t)block;
    w->blocks = (w->k + w->block - 1) / w->block;
    w->code_bytes = w->block * w->bits / 8;
    w->zero_bytes = (w->blocks * w->bits + 7) / 8;
    return OX_OK;
}

static enum ox_status expect_count(struct ox_run *r, const char *what, const struct ox_tensor *t,
                                   size_t a, size_t b, struct ox_error *err)
{
    size_t want;
    if (OX_MUL_OVERFLOWS(a, b, &want) || t->n != want)
        return ox_run_fail(r, err, OX_INPUT, "%s has %zu elements, not %zu x %zu", what, t->n, a,
                           b);
    return OX_OK;
}

static enum ox_status read_zeros(struct ox_run *r, struct ox_nbits *w, struct ox_error *err)
{
    const struct ox_tensor *zeros = ox_run_in(r, 3);
    w->group = ox_run_in(r, 4);
    if (zeros && zeros->dtype == OX_UINT8) {
        OX_TRY(expect_count(r, "zero_points", zeros, w->n, w->zero_bytes, err));
        w->zeros = zeros->data;
    } else if (zeros) {
        OX_TRY(expect_count(r, "zero_points", zeros, w->n, w->blocks, err));
        w->as_reals = zeros;
    }
    if (w->group && w->group->n < w->k)
        return ox_run_fail(r, err, OX_INPUT, "g_idx has %zu elements, not %zu", w->group->n, w->k);
    return OX_OK;
}

enum ox_status ox_nbits_read(struct ox_run *r, struct ox_nbits *w, struct ox_error *err)
{
    const struct ox_tensor *a = ox_run_in(r, 0), *codes = ox_run_in(r, 1);
    *w = (struct ox_nbits){.scales = ox_run_in(r, 2), .bias = ox_run_in(r, 5)};
    OX_TRY(read_sizes(r, w, err));
    if (a->rank == 0 || a->rank > OX_MOST_RANK || (size_t)a->dims[a->rank - 1] != w->k)
        return ox_run_fail(r, err, OX_INPUT, "A does not have %zu columns", w->k);
    OX_TRY(expect_count(r, "B", codes, w->n, w->blocks * w->code_bytes, err));
    OX_TRY(expect_count(r, "scales", w->scales, w->n, w->blocks, err));
    if (w->bias)
        OX_TRY(expect_count(r, "bias", w->bias, w->n, 1, err));
    w->codes = codes->data;
    w->m = a->n / w->k;
    return read_zeros(r, w, err);
}

void ox_nbits_dims(const struct ox_run *r, const struct ox_nbits *w, int64_t *dims)
{
    const struct ox_tensor *a = ox_run_in(r, 0);
    memcpy(dims, a->dims, a->rank * sizeof *dims);
    dims[a->rank - 1] = (int64_t)w->n;
}

static enum ox_status read_group(struct ox_run *r, struct nbits *w, struct ox_error *err)
{
    const struct ox_tensor *group = w->in.group;
    int64_t *blocks = group ? ox_run_scratch(r, w->in.k, sizeof *blocks, err) : NULL;
    if (!group)
        return OX_OK;
    if (!blocks)
        return OX_NO_MEMORY;
    for (size_t i = 0; i < w->in.k; i++) {
        blocks[i] = ox_tensor_get_int(group, i);
        if (blocks[i] < 0 || (size_t)blocks[i] >= w->in.blocks)
            return ox_run_fail(r, err, OX_INPUT, "g_idx[%zu] is %" PRId64 ", outside of %zu blocks",
                               i, blocks[i], w->in.blocks);
    }
    w->group = blocks;
    return OX_OK;
}

static enum ox_status run_matmul_nbits(struct ox_run *r, struct ox_error *err)
{
    struct nbits all = {.scales = NULL};
    const struct ox_nbits *w = &all.in;
    const double *left, *add;
    size_t n_weights, n_out;
    OX_TRY(ox_nbits_read(r, &all.in, err));
    OX_TRY(ox_real_in(r, 2, &all.scales, err));
    if (w->as_reals)
        OX_TRY(ox_real_in(r, 3, &all.zeros, err));
    OX_TRY(read_group(r, &all, err));
    OX_TRY(ox_real_in(r, 0, &left, err));
    OX_TRY(ox_real_in(r, 5, &add, err));
    if (OX_MUL_OVERFLOWS(w->n, w->k, &n_weights) || OX_MUL_OVERFLOWS(w->m, w->n, &n_out))
        return ox_run_fail(r, err, OX_LIMIT, "the product is too big");
    all.weights = ox_real_scratch(r, n_weights, err);
    double *y = ox_real_scratch(r, n_out, err);
    if (!all.weights || !y)
        return OX_NO_MEMORY;
    ox_parallel(r->env, w->n, column_task, &all);
    struct ox_product p = {.dtype = OX_FLOAT64,
                           .m = w->m,
                           .n = w->n,
                           .k = w->k,
                           .a = left,
                           .a_row = w->k,
                           .a_col = 1,
                           .b = all.weights,
                           .b_row = 1,
                           .b_col = w->k,
                           .c = y,
                           .ldc = w->n,
                           .batches = 1};
    OX_TRY(ox_product_run(r, &p, err));
    for (size_t i = 0; add && i < n_out; i++)
        y[i] += add[i % w->n];
    const struct ox_tensor *a = ox_run_in(r, 0);
    int64_t dims[OX_MOST_RANK];
    ox_nbits_dims(r, w, dims);
    return ox_real_out(r, 0, a->dtype, a->rank, dims, y, err);
}

void ox_nbits_infer(struct ox_infer *c, const char *inner, const char *outer)
{
    unsigned rank;
    const struct ox_expr *const *a;
    ox_infer_same_dtype(c, 0, 0);
    if (!ox_infer_shape(c, 0, &rank, &a) || rank == 0)
        return;
    const struct ox_expr **dims = ox_infer_dims(c, rank);
    if (!dims)
        return;
    for (unsigned d = 0; d + 1 < rank; d++)
        dims[d] = a[d];
    ox_infer_equal(c, a[rank - 1], ox_infer_num(c, ox_infer_int_attr(c, inner, 0)),
                   "the inner dimension");
    dims[rank - 1] = ox_infer_num(c, ox_infer_int_attr(c, outer, 0));
    ox_infer_set_shape(c, 0, rank, dims);
}

static void infer_matmul_nbits(struct ox_infer *c)
{
    ox_nbits_infer(c, "K", "N");
}

/* ---- GatherBlockQuantized ----------------------------------------------------------------------------------------- */

/* Data [outer, axis, inner] from before, at and behind the axis of the blocks; uint8 holds two codes of 4 bits along the last axis. */
struct gather {
    const struct ox_tensor *data, *scales, *zeros;
    unsigned gather_axis, quantize_axis, rank;
    int64_t dims[OX_MOST_RANK]; /* in codes, not in bytes */
    size_t per_byte, bits;
    int64_t block;
};

static double stored_code(const struct gather *g, const struct ox_tensor *t, size_t i)
{
    if (g->per_byte == 1)
        return ox_tensor_get_double(t, i);
    return ox_code_at(t->data, i, g->bits);
}

static enum ox_status read_gather(struct ox_run *r, struct gather *g, struct ox_error *err)
{
    const struct ox_tensor *data = g->data = ox_run_in(r, 0);
    int64_t bits = ox_run_int(r, "bits", 4);
    g->scales = ox_run_in(r, 2);
    g->zeros = ox_run_in(r, 3);
    g->block = ox_run_int(r, "block_size", 128);
    g->rank = data->rank;
    if (g->rank == 0 || g->rank > OX_MOST_RANK)
        return ox_run_fail(r, err, OX_INPUT, "data has rank %u", g->rank);
    if (bits != 2 && bits != 4 && bits != 8)
        return ox_run_fail(r, err, OX_INPUT, "attribute bits is %" PRId64, bits);
    if (g->block < 16 || (g->block & (g->block - 1)))
        return ox_run_fail(r, err, OX_INPUT, "attribute block_size is %" PRId64, g->block);
    OX_TRY(ox_run_axis(r, ox_run_int(r, "gather_axis", 0), g->rank, &g->gather_axis, err));
    OX_TRY(ox_run_axis(r, ox_run_int(r, "quantize_axis", 1), g->rank, &g->quantize_axis, err));
    g->bits = (size_t)bits;
    g->per_byte = data->dtype == OX_UINT8 ? 8 / g->bits : 1;
    memcpy(g->dims, data->dims, g->rank * sizeof *g->dims);
    if (g->per_byte > 1 && (g->gather_axis != 0 || g->quantize_axis != g->rank - 1))
        return ox_run_fail(r, err, OX_INPUT,
                           "codes in bytes must be gathered along the first axis and lie in "
                           "blocks along the last");
    if (OX_MUL_OVERFLOWS(g->dims[g->rank - 1], (int64_t)g->per_byte, &g->dims[g->rank - 1]))
        return ox_run_fail(r, err, OX_LIMIT, "data is too big");
    bool fits = g->scales->rank == g->rank;
    for (unsigned d = 0; fits && d < g->rank; d++)
        fits = g->scales->dims[d] ==
               (d == g->quantize_axis ? (g->dims[d] + g->block - 1) / g->block : g->dims[d]);
    if (!fits)
        return ox_run_fail(r, err, OX_INPUT, "scales do not have the shape of data in blocks");
    int64_t last = g->scales->dims[g->rank - 1];
    if (g->zeros &&
        g->zeros->n != (last ? g->scales->n / (size_t)last : 0) *
                           (size_t)((last + (int64_t)g->per_byte - 1) / (int64_t)g->per_byte))
        return ox_run_fail(r, err, OX_INPUT, "zero_points has %zu elements for %zu scales",
                           g->zeros->n, g->scales->n);
    return OX_OK;
}

/* The value of the code at (before, at, after) of the axis that is gathered. */
static double dequantized_code(const struct gather *g, const size_t *index)
{
    size_t at = 0, scale = 0;
    for (unsigned d = 0; d < g->rank; d++) {
        at = at * (size_t)g->dims[d] + index[d];
        scale = scale * (size_t)g->scales->dims[d] +
                (d == g->quantize_axis ? index[d] / (size_t)g->block : index[d]);
    }
    double zero = g->data->dtype == OX_UINT8 ? (double)(1u << (g->bits - 1)) : 0;
    if (g->zeros && g->per_byte > 1) {
        size_t last = (size_t)g->scales->dims[g->rank - 1];
        size_t bytes = (last + g->per_byte - 1) / g->per_byte;
        zero = ox_code_at((const uint8_t *)g->zeros->data + scale / last * bytes, scale % last,
                          g->bits);
    } else if (g->zeros) {
        zero = ox_tensor_get_double(g->zeros, scale);
    }
    return (stored_code(g, g->data, at) - zero) * ox_tensor_get_double(g->scales, scale);
}

static enum ox_status run_gather_block_quantized(struct ox_run *r, struct ox_error *err)
{
    struct gather g;
    const struct ox_tensor *indices = ox_run_in(r, 1);
    int64_t dims[2 * OX_MOST_RANK];
    unsigned rank = 0;
    OX_TRY(read_gather(r, &g, err));
    if (g.rank - 1 + indices->rank > OX_MOST_RANK)
        return ox_run_fail(r, err, OX_LIMIT, "the result has too high a rank");
    for (unsigned d = 0; d < g.gather_axis; d++)
        dims[rank++] = g.dims[d];
    for (unsigned d = 0; d < indices->rank; d++)
        dims[rank++] = indices->dims[d];
    for (unsigned d = g.gather_axis + 1; d < g.rank; d++)
        dims[rank++] = g.dims[d];
    int64_t size = g.dims[g.gather_axis];
    for (size_t k = 0; k < indices->n; k++) {
        int64_t i = ox_tensor_get_int(indices, k);
        if (i < -size || i >= size)
            return ox_run_fail(r, err, OX_INPUT,
                               "indices[%zu] is %" PRId64 ", outside of [-%" PRId64 ", %" PRId64
                               "]",
                               k, i, size, size - 1);
    }
    struct ox_tensor *y;
    OX_TRY(ox_run_out(r, 0, g.scales->dtype, rank, dims, &y, err));
    size_t index[OX_MOST_RANK], inner = 1;
    for (unsigned d = g.gather_axis + 1; d < g.rank; d++)
        inner *= (size_t)g.dims[d];
    for (size_t i = 0; i < y->n; i++) {
        size_t behind = i % inner, before = i / inner / indices->n;
        for (unsigned d = g.rank; d-- > g.gather_axis + 1; behind /= (size_t)g.dims[d])
            index[d] = behind % (size_t)g.dims[d];
        for (unsigned d = g.gather_axis; d-- > 0; before /= (size_t)g.dims[d])
            index[d] = before % (size_t)g.dims[d];
        int64_t at = ox_tensor_get_int(indices, i / inner % indices->n);
        index[g.gather_axis] = (size_t)(at < 0 ? at + size : at);
        double value = dequantized_code(&g, index);
        ox_real_store(y, i, 1, &value);
    }
    return OX_OK;
}

static void infer_gather_block_quantized(struct ox_infer *c)
{
    unsigned rank, n_index, axis, out = 0;
    const struct ox_expr *const *data;
    const struct ox_expr *const *index;
    ox_infer_same_dtype(c, 0, 2);
    if (!ox_infer_shape(c, 0, &rank, &data) || !ox_infer_shape(c, 1, &n_index, &index) ||
        !ox_infer_axis(c, ox_infer_int_attr(c, "gather_axis", 0), rank, &axis))
        return;
    int64_t bits = ox_infer_int_attr(c, "bits", 4);
    bool packed = ox_infer_dtype(c, 0) == OX_UINT8 && bits > 0 && bits < 8;
    const struct ox_expr **dims = ox_infer_dims(c, rank + n_index);
    if (!dims)
        return;
    for (unsigned d = 0; d < rank; d++) {
        for (unsigned k = 0; d == axis && k < n_index; k++)
            dims[out++] = index[k];
        const struct ox_expr *size = data[d];
        if (packed && d + 1 == rank)
            size = ox_infer_mul(c, size, ox_infer_num(c, 8 / bits));
        if (d != axis)
            dims[out++] = size;
    }
    ox_infer_set_shape(c, 0, out, dims);
}

#define MS "com.microsoft"

const struct ox_op ox_ops_block_quantized[] = {
    {MS, "GatherBlockQuantized", 1, .infer = infer_gather_block_quantized,
     .run = run_gather_block_quantized, .fast = ox_fast_gather_blocks},
    {MS, "MatMulNBits", 1, .infer = infer_matmul_nbits, .run = run_matmul_nbits,
     .fast = ox_fast_nbits, .prepare = ox_prepare_nbits},
    {OX_OWN_DOMAIN, "MatMulNBits", 1, .infer = infer_matmul_nbits, .run = run_matmul_nbits,
     .fast = ox_fast_nbits, .prepare = ox_prepare_nbits},
    {0}};
