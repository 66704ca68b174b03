/* MatMul and Gemm in float32 where both sides vary; constant weights are packed by FusedMatMul (fused_product.c). */
#include <stdint.h>
#include <string.h>

#include "kernels/dense.h"
#include "ops/fast/fast.h"

/* Right side of a matrix product, as it lies. */
struct right {
    const float *data;
    size_t k, n, row, col;
};

static bool read_right(const struct ox_tensor *in, bool transposed, struct right *w)
{
    if (!in || in->rank != 2)
        return false;
    w->data = in->data;
    w->k = (size_t)in->dims[transposed ? 1 : 0];
    w->n = (size_t)in->dims[transposed ? 0 : 1];
    w->row = transposed ? 1 : w->n;
    w->col = transposed ? w->k : 1;
    return true;
}

/* Many rows by one column are one row, that column, by the transposed: products of whole vectors. False: it is not so. */
static bool turn_column(const struct ox_dense *d, struct ox_dense *turned)
{
    const struct ox_epilogue *end = &d->end;
    if (d->n != 1 || d->m < 2 || d->c_row != 1 || d->a_col != 1 || d->b_row != 1 || d->packed ||
        d->made || d->b_type != OX_WEIGHT_F32 || (end->residual && end->residual_ld != 1) ||
        end->act != OX_ACT_NONE)
        return false;
    *turned = *d;
    turned->end.col_bias = end->row_bias;
    turned->end.row_bias = end->col_bias;
    turned->m = 1;
    turned->n = turned->c_row = d->m;
    turned->a = d->b;
    turned->a_row = d->k;
    turned->a_col = d->b_row;
    turned->b = d->a;
    turned->b_row = 1;
    turned->b_col = d->a_row;
    memcpy(turned->a_batch, d->b_batch, sizeof d->b_batch);
    memcpy(turned->b_batch, d->a_batch, sizeof d->a_batch);
    return true;
}

enum ox_status ox_fast_product(struct ox_run *r, const struct ox_dense *d, struct ox_error *err)
{
    const struct ox_compute *t = ox_compute(ox_cpu());
    struct ox_dense turned;
    if (turn_column(d, &turned))
        d = &turned;
    float *work = ox_run_work(r, ox_dense_work(t, r->env, d), sizeof *work, err);
    if (!work)
        return err->status;
    ox_dense_run(t, r->env, d, work);
    return OX_OK;
}

/* ---- MatMul ----------------------------------------------------------------------------------------------------- */

/* The size of dimension i of `rank`; 1 before the first of its own. */
static size_t size_at(const struct ox_tensor *in, unsigned i, unsigned rank)
{
    return i + in->rank < rank ? 1 : (size_t)in->dims[i + in->rank - rank];
}

/* Leading dimensions of both sides as two loops, as far as these reach; *left of the first ones are beyond. False: the dimensions do
 * not fit. */
static bool batch_loops(const struct ox_tensor *a, const struct ox_tensor *b, unsigned rank,
                        struct ox_dense *d, unsigned *left)
{
    size_t pass_a = d->m * d->k, pass_b = d->k * d->n, pass_c = d->m * d->n;
    int depth = -1;
    for (unsigned i = rank - 2; i-- > 0;) {
        size_t size_a = size_at(a, i, rank), size_b = size_at(b, i, rank);
        size_t size = size_a == 1 ? size_b : size_a;
        if (size_a != size_b && size_a != 1 && size_b != 1)
            return false;
        size_t step_a = size_a == 1 ? 0 : pass_a, step_b = size_b == 1 ? 0 : pass_b;
        if (size == 1)
            continue;
        bool joins = depth >= 0 && step_a == d->a_batch[depth] * d->batch[depth] &&
                     step_b == d->b_batch[depth] * d->batch[depth];
        if (joins) {
            d->batch[depth] *= size;
        } else {
            if (++depth == 2) {
                *left = i + 1;
                return true;
            }
            d->batch[depth] = size;
            d->a_batch[depth] = step_a;
            d->b_batch[depth] = step_b;
            d->c_batch[depth] = pass_c;
        }
        pass_a *= size_a;
        pass_b *= size_b;
        pass_c *= size;
    }
    *left = 0;
    return true;
}

/* Beyond two loops: products of those for each place of the first `left` dimensions, whose sizes are `dims`. */
static enum ox_status run_outer(struct ox_run *r, const struct ox_tensor *a,
                                const struct ox_tensor *b, unsigned rank, unsigned left,
                                const int64_t *dims, const struct ox_dense *d, struct ox_error *err)
{
    const struct ox_compute *t = ox_compute(ox_cpu());
    struct ox_dense one = *d, turned;
    size_t outer = 1, step[3] = {1, 1, 1};
    const struct ox_tensor *const in[] = {a, b};
    const struct ox_dense *product = turn_column(d, &turned) ? &turned : &one;
    float *work = ox_run_work(r, ox_dense_work(t, r->env, product), sizeof *work, err);
    if (!work)
        return err->status;
    for (unsigned i = 0; i < left; i++)
        outer *= (size_t)dims[i];
    for (unsigned i = left; i < rank; i++)
        for (unsigned s = 0; s < 2; s++)
            step[s] *= size_at(in[s], i, rank);
    step[2] = d->m * d->n * (d->batch[0] ? d->batch[0] : 1) * (d->batch[1] ? d->batch[1] : 1);
    for (size_t at = 0; at < outer; at++) {
        size_t rest = at, pass[2] = {step[0], step[1]};
        one = *d;
        one.c += at * step[2];
        for (unsigned i = left; i-- > 0; rest /= (size_t)dims[i]) {
            const size_t index = rest % (size_t)dims[i];
            const size_t size_a = size_at(a, i, rank), size_b = size_at(b, i, rank);
            one.a += (size_a > 1 ? index : 0) * pass[0];
            one.b = (const float *)one.b + (size_b > 1 ? index : 0) * pass[1];
            pass[0] *= size_a;
            pass[1] *= size_b;
        }
        if (product != &one)
            turn_column(&one, &turned);
        ox_dense_run(t, r->env, product, work);
        OX_TRY(ox_env_poll(r->env, err));
    }
    return OX_OK;
}

static void swap_loops(struct ox_dense *d)
{
    size_t *const pairs[] = {d->batch, d->a_batch, d->b_batch, d->c_batch};
    for (size_t i = 0; i < OX_COUNT(pairs); i++) {
        size_t outer = pairs[i][1];
        pairs[i][1] = pairs[i][0];
        pairs[i][0] = outer;
    }
}

/* Both sides vary. */
static enum ox_status run_batches(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *a = ox_fast_in(r, 0), *b = ox_fast_in(r, 1);
    if (!a || !b || a->rank < 2 || b->rank < 2 || a->rank > OX_MOST_RANK ||
        b->rank > OX_MOST_RANK || a->dims[a->rank - 1] != b->dims[b->rank - 2] || a->n == 0 ||
        b->n == 0)
        return OX_UNSUPPORTED;
    unsigned rank = a->rank > b->rank ? a->rank : b->rank;
    struct ox_dense d = {.m = (size_t)a->dims[a->rank - 2],
                         .k = (size_t)a->dims[a->rank - 1],
                         .n = (size_t)b->dims[b->rank - 1],
                         .a_col = 1,
                         .b_col = 1};
    d.a_row = d.k;
    d.b_row = d.c_row = d.n;
    int64_t dims[OX_MOST_RANK];
    unsigned left;
    if (!batch_loops(a, b, rank, &d, &left))
        return OX_UNSUPPORTED;
    if (d.batch[1])
        swap_loops(&d);
    for (unsigned i = 0; i + 2 < rank; i++) {
        const size_t size_a = size_at(a, i, rank), size_b = size_at(b, i, rank);
        if (size_a != size_b && size_a != 1 && size_b != 1)
            return OX_UNSUPPORTED;
        dims[i] = (int64_t)(size_a == 1 ? size_b : size_a);
    }
    dims[rank - 2] = (int64_t)d.m;
    dims[rank - 1] = (int64_t)d.n;
    struct ox_tensor *y;
    OX_TRY(ox_run_out(r, 0, OX_FLOAT32, rank, dims, &y, err));
    d.a = a->data;
    d.b = b->data;
    d.c = y->data;
    return left ? run_outer(r, a, b, rank, left, dims, &d, err) : ox_fast_product(r, &d, err);
}

/* [..., k] by a matrix, all rows at once. */
static enum ox_status run_rows(struct ox_run *r, const struct ox_tensor *x, const struct right *w,
                               struct ox_error *err)
{
    int64_t dims[OX_MOST_RANK];
    if (x->rank > OX_MOST_RANK || (size_t)x->dims[x->rank - 1] != w->k || w->k == 0)
        return OX_UNSUPPORTED;
    for (unsigned i = 0; i + 1 < x->rank; i++)
        dims[i] = x->dims[i];
    dims[x->rank - 1] = (int64_t)w->n;
    struct ox_dense d = {.m = x->n / w->k,
                         .n = w->n,
                         .k = w->k,
                         .a = x->data,
                         .a_row = w->k,
                         .a_col = 1,
                         .b = w->data,
                         .b_row = w->row,
                         .b_col = w->col,
                         .c_row = w->n};
    struct ox_tensor *y;
    OX_TRY(ox_run_out(r, 0, OX_FLOAT32, x->rank, dims, &y, err));
    d.c = y->data;
    return y->n ? ox_fast_product(r, &d, err) : OX_OK;
}

enum ox_status ox_fast_matmul(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_fast_in(r, 0);
    struct right w;
    if (x && x->rank >= 2 && read_right(ox_fast_in(r, 1), false, &w))
        return run_rows(r, x, &w, err);
    return run_batches(r, err);
}

/* ---- Gemm ------------------------------------------------------------------------------------------------------- */

/* C as something an epilogue adds: where its values belong there. NULL: it fits nowhere. */
static const float **place_of_c(const struct ox_tensor *c, size_t m, size_t n,
                                struct ox_epilogue *end)
{
    if (c->dtype != OX_FLOAT32 || c->rank > 2)
        return NULL;
    size_t rows = c->rank == 2 ? (size_t)c->dims[0] : 1;
    size_t cols = c->rank ? (size_t)c->dims[c->rank - 1] : 1;
    end->residual_ld = n;
    if (rows == 1 && cols == n)
        return &end->col_bias;
    if (rows == m && cols == 1)
        return &end->row_bias;
    return rows == m && cols == n ? &end->residual : NULL;
}

/* beta C. */
static enum ox_status read_c(struct ox_run *r, size_t m, size_t n, struct ox_epilogue *end,
                             struct ox_error *err)
{
    const struct ox_tensor *c = ox_run_in(r, 2);
    const float beta = ox_run_float(r, "beta", 1);
    if (!c)
        return OX_OK;
    const float **place = place_of_c(c, m, n, end);
    if (!place && c->dtype == OX_FLOAT32 && c->rank <= 2 && c->n == 1) {
        float *row = ox_run_work(r, n, sizeof *row, err);
        if (!row)
            return err->status;
        for (size_t i = 0; i < n; i++)
            row[i] = *(const float *)c->data * beta;
        end->col_bias = row;
        return OX_OK;
    }
    if (!place)
        return OX_UNSUPPORTED;
    *place = c->data;
    if (beta == 1)
        return OX_OK;
    float *scaled = ox_run_work(r, c->n, sizeof *scaled, err);
    if (!scaled)
        return err->status;
    ox_fast_rows()->unary[OX_UNARY_AFFINE](c->n, c->data, scaled, beta, 0);
    *place = scaled;
    return OX_OK;
}

enum ox_status ox_fast_gemm(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *a = ox_fast_in(r, 0);
    const bool ta = ox_run_int(r, "transA", 0) != 0, tb = ox_run_int(r, "transB", 0) != 0;
    struct ox_epilogue end = {.scale = ox_run_float(r, "alpha", 1)};
    struct right w;
    if (!a || a->rank != 2 || r->opset < 7 || !read_right(ox_fast_in(r, 1), tb, &w) || w.k == 0 ||
        (size_t)a->dims[ta ? 0 : 1] != w.k || end.scale == 0)
        return OX_UNSUPPORTED;
    size_t m = (size_t)a->dims[ta ? 1 : 0];
    OX_TRY(read_c(r, m, w.n, &end, err));
    struct ox_tensor *y;
    OX_TRY(ox_run_out(r, 0, OX_FLOAT32, 2, (const int64_t[]){(int64_t)m, (int64_t)w.n}, &y, err));
    struct ox_dense d = {.m = m,
                         .n = w.n,
                         .k = w.k,
                         .a = a->data,
                         .a_row = ta ? 1 : w.k,
                         .a_col = ta && w.k > 1 ? m : 1,
                         .b = w.data,
                         .b_row = w.row,
                         .b_col = w.col,
                         .c = y->data,
                         .c_row = w.n,
                         .end = end};
    return y->n ? ox_fast_product(r, &d, err) : OX_OK;
}
