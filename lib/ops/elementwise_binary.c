/* Add Sub Mul Div Mod Pow BitShift PRelu SwiGLU. */
#include <math.h>
#include <string.h>

#include "ops/broadcast.h"
#include "ops/fast/fast.h"
#include "ops/kernel_tables.h"
#include "ops/pair_row.h"
#include "ops/rules.h"
#include "ops/whole.h"

#define STAMP "ops/binary_arith_tmpl.h"
#include "common/stamp_integers.h"
#define STAMP "ops/binary_arith_tmpl.h"
#include "common/stamp_floats.h"
#define STAMP "ops/binary_more_tmpl.h"
#include "common/stamp_integers.h"
#define STAMP "ops/binary_more_float_tmpl.h"
#include "common/stamp_floats.h"

static const struct ox_kernels add_kernels = {{OX_KERNELS_NUMBER(add)}};
static const struct ox_kernels sub_kernels = {{OX_KERNELS_NUMBER(sub)}};
static const struct ox_kernels mul_kernels = {{OX_KERNELS_NUMBER(mul)}};
static const struct ox_kernels divide_kernels = {{OX_KERNELS_NUMBER(divide)}};
static const struct ox_kernels trunc_mod_kernels = {{OX_KERNELS_NUMBER(trunc_mod)}};
static const struct ox_kernels floor_mod_kernels = {{OX_KERNELS_NUMBER(floor_mod)}};
static const struct ox_kernels shift_left_kernels = {{OX_KERNELS_INTEGER(shift_left)}};
static const struct ox_kernels shift_right_kernels = {{OX_KERNELS_INTEGER(shift_right)}};
static const struct ox_kernels prelu_kernels = {{OX_KERNELS_NUMBER(prelu)}};
static const struct ox_kernels swiglu_kernels = {{OX_KERNELS_FLOAT(swiglu)}};

/* ---- Arithmetic --------------------------------------------------------------------------------------------------- */

static enum ox_status run_add(struct ox_run *r, struct ox_error *err)
{
    return ox_run_elementwise(r, &add_kernels, 2, OX_UNDEFINED, NULL, err);
}

static enum ox_status run_sub(struct ox_run *r, struct ox_error *err)
{
    return ox_run_elementwise(r, &sub_kernels, 2, OX_UNDEFINED, NULL, err);
}

static enum ox_status run_mul(struct ox_run *r, struct ox_error *err)
{
    return ox_run_elementwise(r, &mul_kernels, 2, OX_UNDEFINED, NULL, err);
}

static enum ox_status run_div(struct ox_run *r, struct ox_error *err)
{
    return ox_run_elementwise(r, &divide_kernels, 2, OX_UNDEFINED, NULL, err);
}

static enum ox_status run_add_axis(struct ox_run *r, struct ox_error *err)
{
    return ox_run_elementwise_axis(r, &add_kernels, OX_UNDEFINED, NULL, err);
}

static enum ox_status run_sub_axis(struct ox_run *r, struct ox_error *err)
{
    return ox_run_elementwise_axis(r, &sub_kernels, OX_UNDEFINED, NULL, err);
}

static enum ox_status run_mul_axis(struct ox_run *r, struct ox_error *err)
{
    return ox_run_elementwise_axis(r, &mul_kernels, OX_UNDEFINED, NULL, err);
}

static enum ox_status run_div_axis(struct ox_run *r, struct ox_error *err)
{
    return ox_run_elementwise_axis(r, &divide_kernels, OX_UNDEFINED, NULL, err);
}

/* Before version 28 fmod=0 was for integers only; for floats it is taken in the sense of 28 rather than refused. */
static enum ox_status run_mod(struct ox_run *r, struct ox_error *err)
{
    bool truncates = ox_run_int(r, "fmod", 0) != 0;
    return ox_run_elementwise(r, truncates ? &trunc_mod_kernels : &floor_mod_kernels, 2,
                              OX_UNDEFINED, NULL, err);
}

/* Floats are exact while what they are over is a power of two, and not too large. */
static bool exact_parts(const struct ox_expr *e, const struct ox_expr **over, int64_t *under)
{
    enum { MOST_UNDER = 1 << 12 };
    return ox_expr_ratio_parts(e, over, under) && (*under & (*under - 1)) == 0 &&
           *under <= MOST_UNDER;
}

static const struct ox_expr *sum_of(struct ox_infer *c, const struct ox_expr *const *v,
                                    int64_t sign)
{
    const struct ox_expr *over[2];
    int64_t under[2];
    if (!exact_parts(v[0], &over[0], &under[0]) || !exact_parts(v[1], &over[1], &under[1]))
        return NULL;
    int64_t both = under[0] > under[1] ? under[0] : under[1];
    for (unsigned i = 0; i < 2; i++)
        over[i] = ox_infer_mul(c, over[i], ox_infer_num(c, both / under[i]));
    over[0] = sign > 0 ? ox_infer_add(c, over[0], over[1]) : ox_infer_sub(c, over[0], over[1]);
    return ox_infer_ratio(c, over[0], both);
}

static const struct ox_expr *value_add(struct ox_infer *c, const struct ox_expr *const *v)
{
    return sum_of(c, v, 1);
}

static const struct ox_expr *value_sub(struct ox_infer *c, const struct ox_expr *const *v)
{
    return sum_of(c, v, -1);
}

/* Zero times anything is known. */
static const struct ox_expr *value_mul(struct ox_infer *c, const struct ox_expr *const *v)
{
    const struct ox_expr *over[2];
    int64_t x, under[2];
    if ((ox_infer_is_num(v[0], &x) && x == 0) || (ox_infer_is_num(v[1], &x) && x == 0))
        return ox_infer_num(c, 0);
    if (!exact_parts(v[0], &over[0], &under[0]) || !exact_parts(v[1], &over[1], &under[1]))
        return NULL;
    return ox_infer_ratio(c, ox_infer_mul(c, over[0], over[1]), under[0] * under[1]);
}

/* What is over a number is rounded once, which no floor or ceiling of sizes below 2^24 shows. */
static const struct ox_expr *quotient_of_floats(struct ox_infer *c, const struct ox_expr *const *v)
{
    const struct ox_expr *over[2];
    int64_t by, least, under[2];
    if (!exact_parts(v[0], &over[0], &under[0]) || !exact_parts(v[1], &over[1], &under[1]))
        return NULL;
    over[0] = ox_infer_mul(c, over[0], ox_infer_num(c, under[1]));
    if (!ox_infer_is_num(over[1], &by)) {
        const struct ox_expr *whole = under[0] == 1 && ox_expr_least(over[1], &least) && least > 0
                                          ? ox_infer_floordiv(c, over[0], over[1])
                                          : NULL;
        return whole && ox_infer_mul(c, whole, over[1]) == over[0] ? whole : NULL;
    }
    if (by == 0 || by > INT32_MAX || by < -INT32_MAX)
        return NULL;
    if (by < 0)
        over[0] = ox_infer_sub(c, ox_infer_num(c, 0), over[0]);
    return ox_infer_ratio(c, over[0], (by < 0 ? -by : by) * under[0]);
}

/* Div truncates; floor division is the same where neither side can be negative. */
static const struct ox_expr *value_div(struct ox_infer *c, const struct ox_expr *const *v)
{
    int64_t x, y, least;
    if (!ox_dtype_is_integer(ox_infer_dtype(c, 0)))
        return quotient_of_floats(c, v);
    if (ox_infer_is_num(v[1], &y)) {
        if (y == 1)
            return v[0];
        if (ox_infer_is_num(v[0], &x))
            return y == 0 || (x == INT64_MIN && y == -1) ? NULL : ox_infer_num(c, x / y);
    }
    if (!v[0] || !v[1])
        return NULL;
    if (!ox_expr_least(v[0], &least) || least < 0 || !ox_expr_least(v[1], &least) || least < 1)
        return NULL;
    return ox_infer_floordiv(c, v[0], v[1]);
}

static const struct ox_expr *value_mod(struct ox_infer *c, const struct ox_expr *const *v)
{
    int64_t x, y, least;
    bool truncates = ox_infer_int_attr(c, "fmod", 0) != 0;
    if (ox_infer_is_num(v[0], &x) && ox_infer_is_num(v[1], &y)) {
        if (y == 0)
            return NULL;
        return ox_infer_num(c, truncates ? trunc_mod_of_i64(x, y) : floor_mod_of_i64(x, y));
    }
    if (!v[0] || !v[1] || !ox_expr_least(v[1], &least) || least < 1)
        return NULL;
    if (truncates && (!ox_expr_least(v[0], &least) || least < 0))
        return NULL;
    return ox_infer_mod(c, v[0], v[1]);
}

static void infer_add(struct ox_infer *c)
{
    ox_rule_broadcast(c);
    ox_rule_map_ratios(c, 2, value_add);
}

static void infer_sub(struct ox_infer *c)
{
    ox_rule_broadcast(c);
    ox_rule_map_ratios(c, 2, value_sub);
}

static void infer_mul(struct ox_infer *c)
{
    ox_rule_broadcast(c);
    ox_rule_map_ratios(c, 2, value_mul);
}

static void infer_div(struct ox_infer *c)
{
    ox_rule_broadcast(c);
    ox_rule_map_ratios(c, 2, value_div);
}

static void infer_mod(struct ox_infer *c)
{
    ox_rule_broadcast(c);
    ox_rule_map(c, 2, value_mod);
}

/* ---- Pow ---------------------------------------------------------------------------------------------------------- */

/* Base and exponent may differ in type (12): the exponent is brought to double, or to int64 or uint64 for an integer power of
 * an integer, which is exact and wraps. */
enum pow_exponent { POW_SAME, POW_DOUBLE, POW_INT, POW_UINT };

static void widen_exponent(const struct ox_tensor *y, enum pow_exponent kind, void *out)
{
    const enum ox_dtype wide = kind == POW_DOUBLE ? OX_FLOAT64
                               : kind == POW_UINT ? OX_UINT64
                                                  : OX_INT64;
    ox_elements_convert(wide, out, y->dtype, y->data, y->n, true);
}

static const struct ox_kernels pow_same_kernels = {{OX_KERNELS_FLOAT(pow_same)}};
static const struct ox_kernels pow_double_kernels = {
    {OX_KERNELS_FLOAT(pow_double), OX_KERNELS_INTEGER(pow_double)}};
static const struct ox_kernels pow_int_kernels = {{OX_KERNELS_INTEGER(pow_int)}};
static const struct ox_kernels pow_uint_kernels = {{OX_KERNELS_INTEGER(pow_uint)}};

static enum pow_exponent pow_kind(enum ox_dtype x, enum ox_dtype y)
{
    if (x == y && ox_dtype_is_float(x))
        return POW_SAME;
    if (ox_dtype_is_float(x) || ox_dtype_is_float(y))
        return POW_DOUBLE;
    return y == OX_UINT64 ? POW_UINT : POW_INT;
}

static enum ox_status run_pow(struct ox_run *r, struct ox_error *err)
{
    static const struct ox_kernels *const kernels[] = {&pow_same_kernels, &pow_double_kernels,
                                                       &pow_int_kernels, &pow_uint_kernels};
    const struct ox_tensor *in[2] = {ox_run_in(r, 0), ox_run_in(r, 1)};
    enum pow_exponent kind = pow_kind(in[0]->dtype, in[1]->dtype);
    if (!kernels[kind]->of[in[0]->dtype])
        return ox_run_fail(r, err, OX_UNSUPPORTED, "no kernel for %s", ox_dtype_name(in[0]->dtype));
    struct ox_broadcast b;
    OX_TRY(ox_broadcast_init(&b, r, 2, in, err));
    struct ox_tensor *out;
    OX_TRY(ox_run_out(r, 0, in[0]->dtype, b.rank, b.dims, &out, err));
    const void *data[2] = {in[0]->data, in[1]->data};
    size_t size[2] = {ox_dtype_size(in[0]->dtype), ox_dtype_size(in[1]->dtype)};
    if (kind != POW_SAME) {
        void *wide = ox_run_scratch(r, in[1]->n, sizeof(double), err);
        if (!wide)
            return err ? err->status : OX_NO_MEMORY;
        widen_exponent(in[1], kind, wide);
        data[1] = wide;
        size[1] = sizeof(double);
    }
    ox_broadcast_run(&b, r->env, data, size, out->data, ox_dtype_size(out->dtype),
                     kernels[kind]->of[in[0]->dtype], NULL);
    return OX_OK;
}

static enum ox_status run_pow_axis(struct ox_run *r, struct ox_error *err)
{
    return ox_run_elementwise_axis(r, &pow_same_kernels, OX_UNDEFINED, NULL, err);
}

static const struct ox_expr *value_pow(struct ox_infer *c, const struct ox_expr *const *v)
{
    int64_t exponent;
    if (!ox_infer_is_num(v[1], &exponent) || exponent < 0 || exponent > 62)
        return NULL;
    const struct ox_expr *power = ox_infer_num(c, 1);
    for (int64_t i = 0; i < exponent; i++)
        power = ox_infer_mul(c, power, v[0]);
    return power;
}

static void infer_pow(struct ox_infer *c)
{
    ox_infer_same_dtype(c, 0, 0);
    ox_rule_broadcast(c);
    ox_rule_map(c, 2, value_pow);
}

/* ---- BitShift, PRelu, SwiGLU -------------------------------------------------------------------------------------- */

static enum ox_status run_bit_shift(struct ox_run *r, struct ox_error *err)
{
    const char *direction = ox_run_string(r, "direction");
    if (direction && !strcmp(direction, "LEFT"))
        return ox_run_elementwise(r, &shift_left_kernels, 2, OX_UNDEFINED, NULL, err);
    if (direction && !strcmp(direction, "RIGHT"))
        return ox_run_elementwise(r, &shift_right_kernels, 2, OX_UNDEFINED, NULL, err);
    return ox_run_fail(r, err, OX_INPUT, "attribute direction is '%s', not LEFT or RIGHT",
                       direction ? direction : "");
}

static enum ox_status prelu_with(struct ox_run *r, const struct ox_tensor *x,
                                 const struct ox_tensor *slope, unsigned slope_rank,
                                 const int64_t *slope_dims, struct ox_error *err)
{
    if (!prelu_kernels.of[x->dtype])
        return ox_run_fail(r, err, OX_UNSUPPORTED, "no kernel for %s", ox_dtype_name(x->dtype));
    unsigned rank[2] = {x->rank, slope_rank};
    const int64_t *dims[2] = {x->dims, slope_dims};
    struct ox_broadcast b;
    OX_TRY(ox_broadcast_dims(&b, r, 2, rank, dims, err));
    OX_TRY(ox_broadcast_into_first(&b, r, x, err));
    struct ox_tensor *out;
    OX_TRY(ox_run_out(r, 0, x->dtype, b.rank, b.dims, &out, err));
    const void *data[2] = {x->data, slope->data};
    size_t bytes = ox_dtype_size(x->dtype), size[2] = {bytes, bytes};
    ox_broadcast_run(&b, r->env, data, size, out->data, bytes, prelu_kernels.of[x->dtype], NULL);
    return OX_OK;
}

static enum ox_status run_prelu(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *slope = ox_run_in(r, 1);
    return prelu_with(r, ox_run_in(r, 0), slope, slope->rank, slope->dims, err);
}

/* Before version 7 a slope of one element is for all, one of as many as axis 1 is wide for the channels. */
static enum ox_status run_prelu_channels(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0), *slope = ox_run_in(r, 1);
    if (slope->n == 1)
        return prelu_with(r, x, slope, 0, NULL, err);
    if (slope->rank != 1 || x->rank < 2 || x->dims[1] != slope->dims[0])
        return run_prelu(r, err);
    int64_t dims[OX_BROADCAST_RANK];
    unsigned rank = x->rank - 1;
    if (rank > OX_BROADCAST_RANK)
        return ox_run_fail(r, err, OX_LIMIT, "input 0 has rank %u, more than %d", x->rank,
                           OX_BROADCAST_RANK);
    for (unsigned i = 0; i < rank; i++)
        dims[i] = 1;
    dims[0] = slope->dims[0];
    return prelu_with(r, x, slope, rank, dims, err);
}

static enum ox_status run_swiglu(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *a = ox_run_in(r, 0), *b = ox_run_in(r, 1);
    bool same = a->rank == b->rank;
    for (unsigned i = 0; same && i < a->rank; i++)
        same = a->dims[i] == b->dims[i];
    if (!same)
        return ox_run_fail(r, err, OX_INPUT, "A and B must have the same shape");
    double alpha = ox_run_float(r, "alpha", 1.0f);
    return ox_run_elementwise(r, &swiglu_kernels, 2, OX_UNDEFINED, &alpha, err);
}

static void infer_swiglu(struct ox_infer *c)
{
    unsigned rank_a, rank_b;
    const struct ox_expr *const *a, *const *b;
    bool has_a = ox_infer_shape(c, 0, &rank_a, &a), has_b = ox_infer_shape(c, 1, &rank_b, &b);
    if (!has_a || !has_b) {
        ox_infer_same_shape(c, 0, has_a ? 0 : 1);
        return;
    }
    if (rank_a != rank_b) {
        ox_infer_conflict(c, "A has rank %u and B rank %u, but their shapes must be the same",
                          rank_a, rank_b);
        return;
    }
    const struct ox_expr **dims = ox_infer_dims(c, rank_a);
    if (!dims)
        return;
    for (unsigned i = 0; i < rank_a; i++)
        dims[i] = ox_infer_equal(c, a[i], b[i], "dimensions of A and B");
    ox_infer_set_shape(c, 0, rank_a, dims);
}

const struct ox_op ox_ops_elementwise_binary[] = {
    {"", "Add", 1, .infer = ox_rule_same, .run = run_add_axis},
    {"", "Add", 7, .infer = infer_add, .run = run_add, .fast = ox_fast_binary},
    {"", "BitShift", 11, .infer = ox_rule_broadcast, .run = run_bit_shift},
    {"", "Div", 1, .infer = ox_rule_same, .run = run_div_axis},
    {"", "Div", 7, .infer = infer_div, .run = run_div, .fast = ox_fast_binary},
    {"", "Mod", 10, .infer = infer_mod, .run = run_mod},
    {"", "Mul", 1, .infer = ox_rule_same, .run = run_mul_axis},
    {"", "Mul", 7, .infer = infer_mul, .run = run_mul, .fast = ox_fast_binary},
    {"", "PRelu", 1, .infer = ox_rule_same, .run = run_prelu_channels},
    {"", "PRelu", 7, .infer = ox_rule_same, .run = run_prelu, .fast = ox_fast_binary},
    {"", "Pow", 1, .infer = ox_rule_same, .run = run_pow_axis},
    {"", "Pow", 7, .infer = infer_pow, .run = run_pow, .fast = ox_fast_pow},
    {"", "Sub", 1, .infer = ox_rule_same, .run = run_sub_axis},
    {"", "Sub", 7, .infer = infer_sub, .run = run_sub, .fast = ox_fast_binary},
    {"", "SwiGLU", 28, .infer = infer_swiglu, .run = run_swiglu},
    {0}};
