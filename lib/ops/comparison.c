/* Equal Greater GreaterOrEqual Less LessOrEqual IsInf IsNaN. */
#include <math.h>
#include <string.h>

#include "kernels/pair_rows.h"
#include "ops/broadcast.h"
#include "ops/kernel_tables.h"
#include "ops/rules.h"
#include "tensor/half.h"

#define STAMP "ops/comparison_tmpl.h"
#include "common/stamp_integers.h"
#define STAMP "ops/comparison_tmpl.h"
#include "common/stamp_floats.h"

static void equal_strings(const struct ox_row *row, const void *arg)
{
    const struct ox_str *a = row->in[0], *b = row->in[1];
    uint8_t *out = row->out;
    (void)arg;
    for (size_t i = 0; i < row->n; i++, a += row->step[0], b += row->step[1])
        out[i] = a->n == b->n && (a->n == 0 || memcmp(a->p, b->p, a->n) == 0);
}

static const struct ox_kernels equal_kernels = {
    {OX_KERNELS_NUMBER(equal), [OX_BOOL] = equal_u8, [OX_STRING] = equal_strings}};
static const struct ox_kernels greater_kernels = {{OX_KERNELS_NUMBER(greater)}};
static const struct ox_kernels greater_equal_kernels = {{OX_KERNELS_NUMBER(greater_equal)}};
static const struct ox_kernels less_kernels = {{OX_KERNELS_NUMBER(less)}};
static const struct ox_kernels less_equal_kernels = {{OX_KERNELS_NUMBER(less_equal)}};

static enum ox_status run_equal(struct ox_run *r, struct ox_error *err)
{
    return ox_run_elementwise(r, &equal_kernels, 2, OX_BOOL, NULL, err);
}

static enum ox_status run_equal_axis(struct ox_run *r, struct ox_error *err)
{
    return ox_run_elementwise_axis(r, &equal_kernels, OX_BOOL, NULL, err);
}

static enum ox_status run_greater(struct ox_run *r, struct ox_error *err)
{
    return ox_run_elementwise(r, &greater_kernels, 2, OX_BOOL, NULL, err);
}

static enum ox_status run_greater_axis(struct ox_run *r, struct ox_error *err)
{
    return ox_run_elementwise_axis(r, &greater_kernels, OX_BOOL, NULL, err);
}

static enum ox_status run_greater_equal(struct ox_run *r, struct ox_error *err)
{
    return ox_run_elementwise(r, &greater_equal_kernels, 2, OX_BOOL, NULL, err);
}

static enum ox_status run_less(struct ox_run *r, struct ox_error *err)
{
    return ox_run_elementwise(r, &less_kernels, 2, OX_BOOL, NULL, err);
}

static enum ox_status run_less_axis(struct ox_run *r, struct ox_error *err)
{
    return ox_run_elementwise_axis(r, &less_kernels, OX_BOOL, NULL, err);
}

static enum ox_status run_less_equal(struct ox_run *r, struct ox_error *err)
{
    return ox_run_elementwise(r, &less_equal_kernels, 2, OX_BOOL, NULL, err);
}

/* ---- Comparing values of shapes: what holds for all sizes ---------------------------------------------------------- */

enum order {
    ORDER_UNKNOWN,
    ORDER_LESS,
    ORDER_LESS_EQUAL,
    ORDER_EQUAL,
    ORDER_GREATER_EQUAL,
    ORDER_GREATER
};

static enum order order_of(struct ox_infer *c, const struct ox_expr *a, const struct ox_expr *b)
{
    int64_t bound;
    if (!a || !b)
        return ORDER_UNKNOWN;
    if (a == b)
        return ORDER_EQUAL;
    const struct ox_expr *difference = ox_infer_sub(c, a, b);
    if (!difference)
        return ORDER_UNKNOWN;
    if (ox_infer_is_num(difference, &bound) && bound && ox_expr_has_signed(a))
        return ORDER_UNKNOWN; /* the sum of data and a number may wrap */
    if (ox_infer_is_num(difference, &bound))
        return bound < 0 ? ORDER_LESS : bound > 0 ? ORDER_GREATER : ORDER_EQUAL;
    if (ox_expr_least(difference, &bound) && bound >= 0)
        return bound > 0 ? ORDER_GREATER : ORDER_GREATER_EQUAL;
    if (ox_expr_greatest(difference, &bound) && bound <= 0)
        return bound < 0 ? ORDER_LESS : ORDER_LESS_EQUAL;
    return ORDER_UNKNOWN;
}

static const struct ox_expr *value_equal(struct ox_infer *c, const struct ox_expr *const *v)
{
    enum order order = order_of(c, v[0], v[1]);
    if (order == ORDER_EQUAL)
        return ox_infer_num(c, 1);
    return order == ORDER_LESS || order == ORDER_GREATER ? ox_infer_num(c, 0) : NULL;
}

static const struct ox_expr *value_less(struct ox_infer *c, const struct ox_expr *const *v)
{
    enum order order = order_of(c, v[0], v[1]);
    if (order == ORDER_LESS)
        return ox_infer_num(c, 1);
    return order == ORDER_UNKNOWN || order == ORDER_LESS_EQUAL ? NULL : ox_infer_num(c, 0);
}

static const struct ox_expr *value_less_equal(struct ox_infer *c, const struct ox_expr *const *v)
{
    enum order order = order_of(c, v[0], v[1]);
    if (order == ORDER_LESS || order == ORDER_LESS_EQUAL || order == ORDER_EQUAL)
        return ox_infer_num(c, 1);
    return order == ORDER_GREATER ? ox_infer_num(c, 0) : NULL;
}

static const struct ox_expr *value_greater(struct ox_infer *c, const struct ox_expr *const *v)
{
    return value_less(c, (const struct ox_expr *const[]){v[1], v[0]});
}

static const struct ox_expr *value_greater_equal(struct ox_infer *c, const struct ox_expr *const *v)
{
    return value_less_equal(c, (const struct ox_expr *const[]){v[1], v[0]});
}

static void infer_equal(struct ox_infer *c)
{
    ox_rule_broadcast(c);
    ox_rule_map(c, 2, value_equal);
}

static void infer_less(struct ox_infer *c)
{
    ox_rule_broadcast(c);
    ox_rule_map(c, 2, value_less);
}

static void infer_less_equal(struct ox_infer *c)
{
    ox_rule_broadcast(c);
    ox_rule_map(c, 2, value_less_equal);
}

static void infer_greater(struct ox_infer *c)
{
    ox_rule_broadcast(c);
    ox_rule_map(c, 2, value_greater);
}

static void infer_greater_equal(struct ox_infer *c)
{
    ox_rule_broadcast(c);
    ox_rule_map(c, 2, value_greater_equal);
}

/* ---- IsNaN, IsInf ------------------------------------------------------------------------------------------------- */

enum { ISINF_NEGATIVE = 1, ISINF_POSITIVE = 2 };

#define T float
#define N(name) name##_f32
#define IS_NAN(x) ((x) != (x))
#define MAGNITUDE(x) fabsf(x)
#define INFINITE INFINITY
#define MINUS_INFINITE -INFINITY
#include "ops/special_tmpl.h"
#define T uint16_t
#define N(name) name##_half
#define IS_NAN(x) (MAGNITUDE(x) > 0x7c00)
#define MAGNITUDE(x) ((x)&0x7fff)
#define INFINITE 0x7c00
#define MINUS_INFINITE 0xfc00
#include "ops/special_tmpl.h"
#define T uint16_t
#define N(name) name##_bfloat
#define IS_NAN(x) (MAGNITUDE(x) > 0x7f80)
#define MAGNITUDE(x) ((x)&0x7fff)
#define INFINITE 0x7f80
#define MINUS_INFINITE 0xff80
#include "ops/special_tmpl.h"

static bool is_special(double x, const int *signs)
{
    if (!signs)
        return isnan(x);
    return isinf(x) && (*signs & (x < 0 ? ISINF_NEGATIVE : ISINF_POSITIVE));
}

static void infinite_f64(size_t n, const double *x, int signs, uint8_t *y)
{
    enum { BLOCK = 2048 };
    const double plus = INFINITY, minus = -INFINITY, *first = &plus, *second = &minus;
    uint8_t also[BLOCK];
    if (signs != (ISINF_NEGATIVE | ISINF_POSITIVE))
        first = second = signs == ISINF_NEGATIVE ? &minus : &plus;
    for (size_t at = 0, some; at < n; at += some) {
        some = n - at < BLOCK ? n - at : BLOCK;
        ox_pairs(ox_cpu())->compare_f64[OX_PAIR_EQUAL](some, x + at, 1, first, 0, y + at);
        if (first == second)
            continue;
        ox_pairs(ox_cpu())->compare_f64[OX_PAIR_EQUAL](some, x + at, 1, second, 0, also);
        for (size_t i = 0; i < some; i++)
            y[at + i] |= also[i];
    }
}

static void special_f64(const struct ox_row *row, const void *arg)
{
    const int *signs = arg;
    uint8_t *out = row->out;
    const size_t n = row->n; /* a byte that is written might be its own */
    if (signs && *signs) {
        infinite_f64(n, row->in[0], *signs, out);
    } else if (signs) {
        memset(out, 0, n);
    } else {
        ox_pairs(ox_cpu())->compare_f64[OX_PAIR_EQUAL](n, row->in[0], 1, row->in[0], 1, out);
        for (size_t i = 0; i < n; i++)
            out[i] ^= 1;
    }
}

static void special_small(enum ox_dtype dtype, const struct ox_row *row, const void *arg)
{
    const uint8_t *in = row->in[0];
    uint8_t *out = row->out;
    for (size_t i = 0; i < row->n; i++)
        out[i] = is_special((double)ox_small_to_float(dtype, in[i]), arg);
}

static void special_e4m3fn(const struct ox_row *row, const void *arg)
{
    special_small(OX_FLOAT8E4M3FN, row, arg);
}

static void special_e4m3fnuz(const struct ox_row *row, const void *arg)
{
    special_small(OX_FLOAT8E4M3FNUZ, row, arg);
}

static void special_e5m2(const struct ox_row *row, const void *arg)
{
    special_small(OX_FLOAT8E5M2, row, arg);
}

static void special_e5m2fnuz(const struct ox_row *row, const void *arg)
{
    special_small(OX_FLOAT8E5M2FNUZ, row, arg);
}

static const struct ox_kernels special_kernels = {
    {OX_KERNELS_FLOAT(special), [OX_FLOAT16] = special_half, [OX_BFLOAT16] = special_bfloat,
     [OX_FLOAT8E4M3FN] = special_e4m3fn, [OX_FLOAT8E4M3FNUZ] = special_e4m3fnuz,
     [OX_FLOAT8E5M2] = special_e5m2, [OX_FLOAT8E5M2FNUZ] = special_e5m2fnuz}};

static enum ox_status run_is_nan(struct ox_run *r, struct ox_error *err)
{
    return ox_run_elementwise(r, &special_kernels, 1, OX_BOOL, NULL, err);
}

static enum ox_status run_is_inf(struct ox_run *r, struct ox_error *err)
{
    int signs = (ox_run_int(r, "detect_negative", 1) ? ISINF_NEGATIVE : 0) |
                (ox_run_int(r, "detect_positive", 1) ? ISINF_POSITIVE : 0);
    return ox_run_elementwise(r, &special_kernels, 1, OX_BOOL, &signs, err);
}

const struct ox_op ox_ops_comparison[] = {
    {"", "Equal", 1, .infer = ox_rule_same_shape, .run = run_equal_axis},
    {"", "Equal", 7, .infer = infer_equal, .run = run_equal},
    {"", "Greater", 1, .infer = ox_rule_same_shape, .run = run_greater_axis},
    {"", "Greater", 7, .infer = infer_greater, .run = run_greater},
    {"", "GreaterOrEqual", 12, .infer = infer_greater_equal, .run = run_greater_equal},
    {"", "IsInf", 10, .flags = OX_OP_HALF | OX_OP_ROUNDED, .infer = ox_rule_same_shape,
     .run = run_is_inf},
    {"", "IsNaN", 9, .flags = OX_OP_HALF | OX_OP_ROUNDED, .infer = ox_rule_same_shape,
     .run = run_is_nan},
    {"", "Less", 1, .infer = ox_rule_same_shape, .run = run_less_axis},
    {"", "Less", 7, .infer = infer_less, .run = run_less},
    {"", "LessOrEqual", 12, .infer = infer_less_equal, .run = run_less_equal},
    {0}};
