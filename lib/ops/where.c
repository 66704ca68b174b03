/* Where: elements are moved, not looked at. */
#include <string.h>

#include "ops/broadcast.h"
#include "ops/rules.h"

struct wide {
    uint64_t half[2];
};

/* Masks of conditions, so that the compiler makes no branches. */
static inline uint8_t pick(uint8_t condition, uint8_t yes, uint8_t no)
{
    const uint8_t mask = condition ? 255 : 0;
    return (uint8_t)((yes & mask) | (no & (uint8_t)~mask));
}

static inline uint64_t pick_8(uint8_t condition, uint64_t yes, uint64_t no)
{
    const uint64_t mask = 0 - (uint64_t)(condition != 0);
    return (yes & mask) | (no & ~mask);
}

static void where_1(const struct ox_row *row, const void *arg)
{
    const uint8_t *restrict condition = row->in[0], *restrict x = row->in[1],
                            *restrict y = row->in[2];
    uint8_t *restrict out = row->out;
    const size_t n = row->n, by_x = row->step[1], by_y = row->step[2];
    (void)arg;
    const uint8_t *const from = *condition ? x : y;
    if (!row->step[0] && (*condition ? by_x : by_y))
        memcpy(out, from, n);
    else if (!row->step[0])
        memset(out, *from, n);
    else if (by_x && by_y)
        for (size_t i = 0; i < n; i++)
            out[i] = pick(condition[i], x[i], y[i]);
    else if (by_x)
        for (size_t i = 0; i < n; i++)
            out[i] = pick(condition[i], x[i], *y);
    else if (by_y)
        for (size_t i = 0; i < n; i++)
            out[i] = pick(condition[i], *x, y[i]);
    else
        for (size_t i = 0; i < n; i++)
            out[i] = pick(condition[i], *x, *y);
}

#define FN where_2
#define T uint16_t
#define PICK(c, x, y) ((c) ? (x) : (y))
#include "ops/where_tmpl.h"
#define FN where_4
#define T uint32_t
#define PICK(c, x, y) ((c) ? (x) : (y))
#include "ops/where_tmpl.h"
#define FN where_8
#define T uint64_t
#define PICK(c, x, y) pick_8((c), (x), (y))
#include "ops/where_tmpl.h"
#define FN where_16
#define T struct wide
#define PICK(c, x, y) ((c) ? (x) : (y))
#include "ops/where_tmpl.h"

/* Strings: the characters belong to their tensor, so first which element, then a copy. */
static enum ox_status where_strings(const struct ox_broadcast *b, const struct ox_tensor *const *in,
                                    struct ox_tensor *out, struct ox_run *r, struct ox_error *err)
{
    struct ox_str *chosen = ox_run_scratch(r, out->n, sizeof *chosen, err);
    if (!chosen)
        return OX_NO_MEMORY;
    const void *data[3] = {in[0]->data, in[1]->data, in[2]->data};
    const size_t sizes[3] = {1, sizeof(struct ox_str), sizeof(struct ox_str)};
    ox_broadcast_run(b, r->env, data, sizes, chosen, sizeof *chosen, where_16, NULL);
    for (size_t i = 0; i < out->n; i++)
        OX_TRY(ox_tensor_set_string(out, i, chosen[i].p, chosen[i].n, err));
    return OX_OK;
}

static enum ox_status run_where(struct ox_run *r, struct ox_error *err)
{
    _Static_assert(sizeof(struct ox_str) == sizeof(struct wide), "strings are moved as 16 bytes");
    const struct ox_tensor *in[3] = {ox_run_in(r, 0), ox_run_in(r, 1), ox_run_in(r, 2)};
    struct ox_broadcast b;
    OX_TRY(ox_broadcast_init(&b, r, 3, in, err));
    struct ox_tensor *out;
    OX_TRY(ox_run_out(r, 0, in[1]->dtype, b.rank, b.dims, &out, err));
    if (in[1]->dtype == OX_STRING)
        return where_strings(&b, in, out, r, err);
    size_t bytes = ox_dtype_size(in[1]->dtype);
    const void *data[3] = {in[0]->data, in[1]->data, in[2]->data};
    const size_t sizes[3] = {1, bytes, bytes};
    ox_broadcast_run(&b, r->env, data, sizes, out->data, bytes,
                     bytes == 1   ? where_1
                     : bytes == 2 ? where_2
                     : bytes == 4 ? where_4
                     : bytes == 8 ? where_8
                                  : where_16,
                     NULL);
    return OX_OK;
}

static const struct ox_expr *value_where(struct ox_infer *c, const struct ox_expr *const *v)
{
    int64_t condition;
    (void)c;
    if (ox_infer_is_num(v[0], &condition))
        return condition ? v[1] : v[2];
    return v[1] == v[2] ? v[1] : NULL;
}

static void infer_where(struct ox_infer *c)
{
    ox_infer_same_dtype(c, 0, 1);
    ox_rule_broadcast(c);
    ox_rule_map(c, 3, value_where);
}

const struct ox_op ox_ops_where[] = {
    {"", "Where", 9, .flags = OX_OP_HALF, .infer = infer_where, .run = run_where}, {0}};
