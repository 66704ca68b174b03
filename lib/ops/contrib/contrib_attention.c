/* Attention QAttention PackedAttention: projections of one input, then attention over its heads. */
#include <inttypes.h>
#include <string.h>

#include "ops/attend.h"
#include "ops/contrib/contrib_mask.h"
#include "ops/fast/fast.h"
#include "ops/infer.h"
#include "ops/product.h"
#include "ops/quantized.h"
#include "ops/real.h"
#include "ops/saturated.h"

/* Widths of the three projections, and the projected rows. */
struct projection {
    size_t rows, depth; /* of the input */
    size_t q, k, v;     /* widths; together those of a row */
    double *all;        /* [rows, q + k + v] */
};

static enum ox_status read_widths(struct ox_run *r, size_t width, struct projection *p,
                                  struct ox_error *err)
{
    size_t n;
    const int64_t *sizes = ox_run_ints(r, "qkv_hidden_sizes", &n);
    p->q = p->k = p->v = width / 3;
    if (n == 3 && sizes[0] > 0 && sizes[1] > 0 && sizes[2] > 0) {
        p->q = (size_t)sizes[0];
        p->k = (size_t)sizes[1];
        p->v = (size_t)sizes[2];
    } else if (n) {
        return ox_run_fail(r, err, OX_INPUT, "qkv_hidden_sizes are no three widths");
    }
    if (p->q > width || p->k > width || p->v > width || p->q + p->k + p->v != width || p->q != p->k)
        return ox_run_fail(r, err, OX_INPUT,
                           "widths %zu, %zu and %zu do not make up the %zu columns of the weights",
                           p->q, p->k, p->v, width);
    return OX_OK;
}

/* Weights of QAttention by columns, with the scales of both sides. */
struct scaled {
    const double *scale;
    size_t n_scale;
    const uint8_t *codes; /* of the input, where products saturate; else NULL */
    const int8_t *weights;
};

/* x by the weights, times the scale (NULL: 1), plus the bias. */
static enum ox_status project(struct ox_run *r, const double *x, const double *weights,
                              const struct scaled *scaled, const double *bias, struct projection *p,
                              struct ox_error *err)
{
    size_t width = p->q + p->k + p->v, n;
    if (OX_MUL_OVERFLOWS(width, p->rows, &n))
        return ox_run_fail(r, err, OX_LIMIT, "the projection is too big");
    p->all = ox_real_scratch(r, n, err);
    if (!p->all)
        return OX_NO_MEMORY;
    struct ox_product product = {.dtype = OX_FLOAT64,
                                 .m = p->rows,
                                 .n = width,
                                 .k = p->depth,
                                 .a = x,
                                 .a_row = p->depth,
                                 .a_col = 1,
                                 .b = weights,
                                 .b_row = width,
                                 .b_col = 1,
                                 .c = p->all,
                                 .ldc = width,
                                 .batches = 1};
    OX_TRY(ox_product_run(r, &product, err));
    if (scaled && scaled->codes)
        ox_saturate(
            &(struct ox_saturated){p->rows, width, p->depth, scaled->codes, scaled->weights}, 1,
            NULL, 0, p->all);
    for (size_t i = 0; i < n; i++) {
        if (scaled)
            p->all[i] *= scaled->scale[scaled->n_scale == 1 ? 0 : i % width];
        if (bias)
            p->all[i] += bias[i % width];
    }
    return OX_OK;
}

static enum ox_status check_weights(struct ox_run *r, const struct ox_tensor *weights,
                                    const struct ox_tensor *bias, size_t depth,
                                    struct ox_error *err)
{
    if (weights->rank != 2 || (size_t)weights->dims[0] != depth)
        return ox_run_fail(r, err, OX_INPUT,
                           "the weights have rank %u and %" PRId64 " rows, not %zu", weights->rank,
                           weights->rank ? weights->dims[0] : 0, depth);
    if (bias && (int64_t)bias->n != weights->dims[1])
        return ox_run_fail(r, err, OX_INPUT, "the bias has %zu elements, not %" PRId64, bias->n,
                           weights->dims[1]);
    return OX_OK;
}

/* ---- The past ----------------------------------------------------------------------------------------------------- */

/* Keys and values with those of the past before them, [batch, heads, cols, size]; output 1 holds both. */
static enum ox_status join_past(struct ox_run *r, size_t i_past, struct ox_attend *a,
                                const struct projection *p, size_t *past_rows, struct ox_error *err)
{
    const struct ox_tensor *past = ox_run_in(r, i_past);
    size_t width = p->q + p->k + p->v, length = a->rows;
    *past_rows = 0;
    if (past) {
        if (past->rank != 5 || past->dims[0] != 2 || (size_t)past->dims[1] != a->batch ||
            (size_t)past->dims[2] != a->heads || (size_t)past->dims[4] != a->size)
            return ox_run_fail(r, err, OX_INPUT, "past (rank %u) is not 2 x %zu x %zu x past x %zu",
                               past->rank, a->batch, a->heads, a->size);
        *past_rows = (size_t)past->dims[3];
    }
    if ((past || ox_run_wants(r, 1)) && a->v_size != a->size)
        return ox_run_fail(r, err, OX_INPUT, "keys and values of different width have no past");
    a->cols = *past_rows + length;
    size_t half = a->batch * a->heads * a->cols * a->size;
    double *k = ox_real_scratch(r, half + a->batch * a->heads * a->cols * a->v_size, err);
    const double *before = past ? ox_real_all(r, past, err) : NULL;
    if (!k || (past && !before && past->n))
        return OX_NO_MEMORY;
    double *v = k + half;
    struct ox_attend_steps of_past = {a->heads * *past_rows * a->size, *past_rows * a->size,
                                      a->size};
    if (past) {
        ox_attend_gather(k, a->cols, 0, before, of_past, a->batch, a->heads, *past_rows, a->size,
                         NULL);
        ox_attend_gather(v, a->cols, 0, before + past->n / 2, of_past, a->batch, a->heads,
                         *past_rows, a->size, NULL);
    }
    ox_attend_gather(k, a->cols, *past_rows, p->all + p->q,
                     (struct ox_attend_steps){length * width, a->size, width}, a->batch, a->heads,
                     length, a->size, NULL);
    ox_attend_gather(v, a->cols, *past_rows, p->all + p->q + p->k,
                     (struct ox_attend_steps){length * width, a->v_size, width}, a->batch, a->heads,
                     length, a->v_size, NULL);
    a->k = k;
    a->v = v;
    a->k_at = (struct ox_attend_steps){a->heads * a->cols * a->size, a->cols * a->size, a->size};
    a->v_at =
        (struct ox_attend_steps){a->heads * a->cols * a->v_size, a->cols * a->v_size, a->v_size};
    if (!ox_run_wants(r, 1))
        return OX_OK;
    const int64_t dims[5] = {2, (int64_t)a->batch, (int64_t)a->heads, (int64_t)a->cols,
                             (int64_t)a->size};
    enum ox_dtype dtype = past ? past->dtype : OX_FLOAT32;
    return ox_real_out(r, 1, dtype, 5, dims, k, err);
}

/* Attention over what was projected. */
static enum ox_status attend_projected(struct ox_run *r, const struct projection *p, size_t batch,
                                       enum ox_dtype dtype, size_t i_mask, size_t i_past,
                                       size_t i_bias, struct ox_error *err)
{
    struct ox_attend a = {.batch = batch, .rows = batch ? p->rows / batch : 0, .window = -1};
    size_t width = p->q + p->k + p->v, past_rows, v_heads;
    OX_TRY(ox_attend_heads(r, "num_heads", p->q, &a.heads, &a.size, err));
    OX_TRY(ox_attend_heads(r, "num_heads", p->v, &v_heads, &a.v_size, err));
    a.kv_heads = a.heads;
    a.scale = ox_attend_scale(r, a.size);
    OX_TRY(join_past(r, i_past, &a, p, &past_rows, err));
    OX_TRY(ox_attend_mask(r, i_mask, &a, err));
    OX_TRY(ox_attend_bias(r, i_bias, &a, err));
    size_t *first = ox_run_scratch(r, batch, sizeof *first, err);
    double *y = ox_real_scratch(r, p->rows * p->v, err);
    if (!first || !y)
        return OX_NO_MEMORY;
    for (size_t b = 0; b < batch; b++)
        first[b] = past_rows;
    a.causal = ox_run_int(r, "unidirectional", 0) != 0;
    a.first = first;
    a.q = p->all;
    a.q_at = (struct ox_attend_steps){a.rows * width, a.size, width};
    a.y = y;
    a.y_at = (struct ox_attend_steps){a.rows * p->v, a.v_size, p->v};
    OX_TRY(ox_attend(r, &a, err));
    const int64_t dims[3] = {(int64_t)batch, (int64_t)a.rows, (int64_t)p->v};
    return ox_real_out(r, 0, dtype, 3, dims, y, err);
}

static enum ox_status check_input(struct ox_run *r, const struct ox_tensor *x, struct projection *p,
                                  struct ox_error *err)
{
    if (x->rank != 3)
        return ox_run_fail(r, err, OX_INPUT, "the input has rank %u, not 3", x->rank);
    if (ox_run_int(r, "do_rotary", 0) || ox_run_int(r, "past_present_share_buffer", 0))
        return ox_run_fail(r, err, OX_UNSUPPORTED,
                           "do_rotary and past_present_share_buffer are not served");
    p->depth = (size_t)x->dims[2];
    if (OX_MUL_OVERFLOWS((size_t)x->dims[0], (size_t)x->dims[1], &p->rows))
        return ox_run_fail(r, err, OX_LIMIT, "too many tokens");
    return OX_OK;
}

/* Inputs 0 to 2 are the rows, weights and bias. */
static enum ox_status project_in(struct ox_run *r, struct projection *p, struct ox_error *err)
{
    const struct ox_tensor *weights = ox_run_in(r, 1);
    const double *left, *right, *bias;
    OX_TRY(check_weights(r, weights, ox_run_in(r, 2), p->depth, err));
    OX_TRY(read_widths(r, (size_t)weights->dims[1], p, err));
    OX_TRY(ox_real_in(r, 0, &left, err));
    OX_TRY(ox_real_in(r, 1, &right, err));
    OX_TRY(ox_real_in(r, 2, &bias, err));
    return project(r, left, right, NULL, bias, p, err);
}

static enum ox_status run_contrib_attention(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    struct projection p = {0};
    OX_TRY(check_input(r, x, &p, err));
    OX_TRY(project_in(r, &p, err));
    return attend_projected(r, &p, (size_t)x->dims[0], x->dtype, 3, 4, 5, err);
}

/* Input and weights less their zero points; their scales multiply the sums. */
static enum ox_status run_qattention(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0), *weights = ox_run_in(r, 1);
    struct projection p = {0};
    const double *bias, *by_weight;
    struct ox_quant_param zero_x, zero_w;
    OX_TRY(check_input(r, x, &p, err));
    OX_TRY(check_weights(r, weights, ox_run_in(r, 2), p.depth, err));
    OX_TRY(read_widths(r, (size_t)weights->dims[1], &p, err));
    OX_TRY(ox_quant_param_init(r, "input_zero_point", ox_run_in(r, 6), x, 0, &zero_x, err));
    OX_TRY(ox_quant_param_init(r, "weight_zero_point", ox_run_in(r, 7), weights, 1, &zero_w, err));
    OX_TRY(ox_real_in(r, 2, &bias, err));
    OX_TRY(ox_real_in(r, 4, &by_weight, err));
    size_t n_scale = ox_run_in(r, 4)->n;
    if (ox_run_in(r, 3)->n != 1 || (n_scale != 1 && (int64_t)n_scale != weights->dims[1]))
        return ox_run_fail(r, err, OX_INPUT,
                           "input_scale has %zu elements, weight_scale %zu for %" PRId64 " columns",
                           ox_run_in(r, 3)->n, n_scale, weights->dims[1]);
    double *scale = ox_real_scratch(r, n_scale, err);
    double *left = ox_quant_load(r, x, &zero_x, err);
    double *right = left ? ox_quant_load(r, weights, &zero_w, err) : NULL;
    if (!scale || !right)
        return OX_NO_MEMORY;
    for (size_t i = 0; i < n_scale; i++)
        scale[i] = by_weight[i] * ox_real_scalar(r, 3, 1);
    struct scaled scaled = {scale, n_scale, NULL, weights->data};
    if (r->saturating && weights->dtype == OX_INT8 && x->dtype == OX_UINT8)
        scaled.codes = x->data;
    OX_TRY(project(r, left, right, &scaled, bias, &p, err));
    return attend_projected(r, &p, (size_t)x->dims[0], OX_FLOAT32, 5, 8, SIZE_MAX, err);
}

/* ---- PackedAttention: tokens of all sequences in a row, without padding ------------------------------------------- */

static enum ox_status attend_sequence(struct ox_run *r, const struct projection *p, size_t from,
                                      size_t length, size_t b, double *y, struct ox_error *err)
{
    size_t width = p->q + p->k + p->v, v_heads;
    const struct ox_tensor *bias = ox_run_in(r, 5);
    struct ox_attend a = {.batch = 1, .rows = length, .cols = length, .window = -1};
    OX_TRY(ox_attend_heads(r, "num_heads", p->q, &a.heads, &a.size, err));
    OX_TRY(ox_attend_heads(r, "num_heads", p->v, &v_heads, &a.v_size, err));
    a.kv_heads = a.heads;
    a.scale = ox_attend_scale(r, a.size);
    a.q = p->all + from * width;
    a.k = a.q + p->q;
    a.v = a.k + p->k;
    a.q_at = a.k_at = (struct ox_attend_steps){0, a.size, width};
    a.v_at = (struct ox_attend_steps){0, a.v_size, width};
    a.y = y + from * p->v;
    a.y_at = (struct ox_attend_steps){0, a.v_size, p->v};
    if (bias) {
        if (bias->rank != 4 || (size_t)bias->dims[2] < length || (size_t)bias->dims[3] < length ||
            (bias->dims[0] != 1 && (size_t)bias->dims[0] <= b) ||
            (bias->dims[1] != 1 && (size_t)bias->dims[1] != a.heads))
            return ox_run_fail(r, err, OX_INPUT, "attention_bias does not fit %zu tokens", length);
        size_t row = (size_t)bias->dims[3], head = (size_t)bias->dims[2] * row;
        OX_TRY(ox_real_in(r, 5, &a.bias, err));
        a.bias += bias->dims[0] == 1 ? 0 : b * (size_t)bias->dims[1] * head;
        a.bias_at = (struct ox_attend_steps){0, bias->dims[1] == 1 ? 0 : head, row};
    }
    return ox_attend(r, &a, err);
}

static enum ox_status run_packed_attention(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0), *ends = ox_run_in(r, 4);
    struct projection p = {0};
    if (x->rank != 2)
        return ox_run_fail(r, err, OX_INPUT, "the input has rank %u, not 2", x->rank);
    p.rows = (size_t)x->dims[0];
    p.depth = (size_t)x->dims[1];
    OX_TRY(project_in(r, &p, err));
    double *y = ox_real_scratch(r, p.rows * p.v, err);
    if (!y)
        return OX_NO_MEMORY;
    for (size_t b = 0; b + 1 < ends->n; b++) {
        int64_t from = ox_tensor_get_int(ends, b), to = ox_tensor_get_int(ends, b + 1);
        if (from < 0 || to < from || to > x->dims[0])
            return ox_run_fail(r, err, OX_INPUT,
                               "sequence %zu goes from token %" PRId64 " to %" PRId64
                               " of %" PRId64,
                               b, from, to, x->dims[0]);
        OX_TRY(attend_sequence(r, &p, (size_t)from, (size_t)(to - from), b, y, err));
    }
    return ox_real_out(r, 0, x->dtype, 2, (const int64_t[]){x->dims[0], (int64_t)p.v}, y, err);
}

/* ---- Shapes ------------------------------------------------------------------------------------------------------- */

static const struct ox_expr *value_width(struct ox_infer *c)
{
    size_t n;
    const int64_t *sizes = ox_infer_ints_attr(c, "qkv_hidden_sizes", &n);
    if (n == 3)
        return ox_infer_num(c, sizes[2]);
    return ox_infer_floordiv(c, ox_infer_dim(c, 1, 1), ox_infer_num(c, 3));
}

static void infer_projected(struct ox_infer *c, size_t i_past)
{
    unsigned rank, past_rank;
    const struct ox_expr *const *x;
    const struct ox_expr *const *past;
    if (!ox_infer_shape(c, 0, &rank, &x) || rank != 3)
        return;
    const struct ox_expr *width = value_width(c), *dims[5] = {x[0], x[1], width};
    ox_infer_set_shape(c, 0, 3, dims);
    if (ox_infer_n_out(c) < 2)
        return;
    const struct ox_expr *heads = ox_infer_num(c, ox_infer_int_attr(c, "num_heads", 0));
    const struct ox_expr *length = x[1];
    if (ox_infer_has(c, i_past))
        length = ox_infer_shape(c, i_past, &past_rank, &past) && past_rank == 5
                     ? ox_infer_add(c, past[3], x[1])
                     : NULL;
    const struct ox_expr *present[5] = {ox_infer_num(c, 2), x[0], heads, length,
                                        ox_infer_floordiv(c, width, heads)};
    ox_infer_set_shape(c, 1, 5, present);
}

static void infer_contrib_attention(struct ox_infer *c)
{
    ox_infer_same_dtype(c, 0, 0);
    if (ox_infer_n_out(c) > 1)
        ox_infer_same_dtype(c, 1, 0);
    infer_projected(c, 4);
}

static void infer_qattention(struct ox_infer *c)
{
    ox_infer_same_dtype(c, 0, 3);
    if (ox_infer_n_out(c) > 1)
        ox_infer_same_dtype(c, 1, 3);
    infer_projected(c, 8);
}

static void infer_packed_attention(struct ox_infer *c)
{
    ox_infer_same_dtype(c, 0, 0);
    const struct ox_expr *dims[2] = {ox_infer_dim(c, 0, 0), value_width(c)};
    ox_infer_set_shape(c, 0, 2, dims);
}

#define MS "com.microsoft"

const struct ox_op ox_ops_contrib_attention[] = {
    {MS, "Attention", 1, .infer = infer_contrib_attention, .run = run_contrib_attention,
     .fast = ox_fast_projected_heads, .prepare = ox_prepare_projected_heads},
    {MS, "PackedAttention", 1, .infer = infer_packed_attention, .run = run_packed_attention},
    {MS, "QAttention", 1, .infer = infer_qattention, .run = run_qattention},
    {0}};
