/* And Or Xor Not, BitwiseAnd BitwiseOr BitwiseXor BitwiseNot. */
#include "ops/broadcast.h"
#include "ops/kernel_tables.h"
#include "ops/rules.h"

#define STAMP "ops/logic_int_tmpl.h"
#include "common/stamp_integers.h"

static void invert(const struct ox_row *row, const void *arg)
{
    const uint8_t *in = row->in[0];
    uint8_t *out = row->out;
    const size_t n = row->n; /* a byte that is written might be its own */
    (void)arg;
    for (size_t i = 0; i < n; i++)
        out[i] = !in[i];
}

static const struct ox_kernels and_kernels = {
    {OX_KERNELS_INTEGER(bit_and), [OX_BOOL] = bit_and_u8}};
static const struct ox_kernels or_kernels = {{OX_KERNELS_INTEGER(bit_or), [OX_BOOL] = bit_or_u8}};
static const struct ox_kernels xor_kernels = {
    {OX_KERNELS_INTEGER(bit_xor), [OX_BOOL] = bit_xor_u8}};
static const struct ox_kernels not_kernels = {{OX_KERNELS_INTEGER(bit_not), [OX_BOOL] = invert}};

static enum ox_status run_and(struct ox_run *r, struct ox_error *err)
{
    return ox_run_elementwise(r, &and_kernels, 2, OX_UNDEFINED, NULL, err);
}

static enum ox_status run_or(struct ox_run *r, struct ox_error *err)
{
    return ox_run_elementwise(r, &or_kernels, 2, OX_UNDEFINED, NULL, err);
}

static enum ox_status run_xor(struct ox_run *r, struct ox_error *err)
{
    return ox_run_elementwise(r, &xor_kernels, 2, OX_UNDEFINED, NULL, err);
}

static enum ox_status run_not(struct ox_run *r, struct ox_error *err)
{
    return ox_run_elementwise(r, &not_kernels, 1, OX_UNDEFINED, NULL, err);
}

static enum ox_status run_and_axis(struct ox_run *r, struct ox_error *err)
{
    return ox_run_elementwise_axis(r, &and_kernels, OX_UNDEFINED, NULL, err);
}

static enum ox_status run_or_axis(struct ox_run *r, struct ox_error *err)
{
    return ox_run_elementwise_axis(r, &or_kernels, OX_UNDEFINED, NULL, err);
}

static enum ox_status run_xor_axis(struct ox_run *r, struct ox_error *err)
{
    return ox_run_elementwise_axis(r, &xor_kernels, OX_UNDEFINED, NULL, err);
}

static bool is_value(const struct ox_expr *e, int64_t value)
{
    int64_t x;
    return ox_infer_is_num(e, &x) && x == value;
}

static const struct ox_expr *value_and(struct ox_infer *c, const struct ox_expr *const *v)
{
    if (is_value(v[0], 0) || is_value(v[1], 0))
        return ox_infer_num(c, 0);
    return is_value(v[0], 1) ? v[1] : is_value(v[1], 1) ? v[0] : NULL;
}

static const struct ox_expr *value_or(struct ox_infer *c, const struct ox_expr *const *v)
{
    if (is_value(v[0], 1) || is_value(v[1], 1))
        return ox_infer_num(c, 1);
    return is_value(v[0], 0) ? v[1] : is_value(v[1], 0) ? v[0] : NULL;
}

static const struct ox_expr *value_xor(struct ox_infer *c, const struct ox_expr *const *v)
{
    int64_t x, y;
    return ox_infer_is_num(v[0], &x) && ox_infer_is_num(v[1], &y) ? ox_infer_num(c, x ^ y) : NULL;
}

static const struct ox_expr *value_not(struct ox_infer *c, const struct ox_expr *const *v)
{
    int64_t x;
    return ox_infer_is_num(v[0], &x) ? ox_infer_num(c, !x) : NULL;
}

static void infer_and(struct ox_infer *c)
{
    ox_rule_broadcast(c);
    ox_rule_map(c, 2, value_and);
}

static void infer_or(struct ox_infer *c)
{
    ox_rule_broadcast(c);
    ox_rule_map(c, 2, value_or);
}

static void infer_xor(struct ox_infer *c)
{
    ox_rule_broadcast(c);
    ox_rule_map(c, 2, value_xor);
}

static void infer_not(struct ox_infer *c)
{
    ox_rule_same(c);
    ox_rule_map(c, 1, value_not);
}

const struct ox_op ox_ops_logic[] = {
    {"", "And", 1, .infer = ox_rule_same_shape, .run = run_and_axis},
    {"", "And", 7, .infer = infer_and, .run = run_and},
    {"", "BitwiseAnd", 18, .infer = ox_rule_broadcast, .run = run_and},
    {"", "BitwiseNot", 18, .infer = ox_rule_same, .run = run_not},
    {"", "BitwiseOr", 18, .infer = ox_rule_broadcast, .run = run_or},
    {"", "BitwiseXor", 18, .infer = ox_rule_broadcast, .run = run_xor},
    {"", "Not", 1, .infer = infer_not, .run = run_not},
    {"", "Or", 1, .infer = ox_rule_same_shape, .run = run_or_axis},
    {"", "Or", 7, .infer = infer_or, .run = run_or},
    {"", "Xor", 1, .infer = ox_rule_same_shape, .run = run_xor_axis},
    {"", "Xor", 7, .infer = infer_xor, .run = run_xor},
    {0}};
