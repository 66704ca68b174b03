/* Trilu: what lies above or below a diagonal. */
#include <string.h>

#include "ops/broadcast.h"
#include "ops/carry.h"
#include "ops/rules.h"

/* First and last + 1 column that row i keeps. */
static void trilu_row(int64_t i, int64_t columns, int64_t k, bool upper, int64_t *from, int64_t *to)
{
    int64_t edge = upper ? i + k : i + k + 1;

    edge = edge < 0 ? 0 : edge > columns ? columns : edge;
    *from = upper ? edge : 0;
    *to = upper ? columns : edge;
}

static int64_t trilu_diagonal(int64_t k, int64_t rows, int64_t columns)
{
    return k < -rows - 1 ? -rows - 1 : k > columns ? columns : k;
}

static void infer_trilu(struct ox_infer *c)
{
    const struct ox_expr *values[OX_CARRY_VALUES], *zero = ox_infer_num(c, 0);
    struct ox_carry_value value;
    int64_t k = 0, from, to;
    bool upper = ox_infer_int_attr(c, "upper", 1) != 0;

    ox_infer_same(c, 0, 0);
    ox_rule_rank_least(c, 0, 2);
    if ((ox_infer_has(c, 1) && !ox_carry_int(c, 1, &k)) || !ox_carry_value(c, 0, &value) ||
        value.rank < 2 || value.n == 0)
        return;
    int64_t rows = value.dims[value.rank - 2], columns = value.dims[value.rank - 1];

    k = trilu_diagonal(k, rows, columns);
    for (size_t i = 0; i < value.n; i++) {
        int64_t column = (int64_t)i % columns;

        trilu_row((int64_t)i / columns % rows, columns, k, upper, &from, &to);
        values[i] = column >= from && column < to ? value.values[i] : zero;
    }
    ox_infer_set_values(c, 0, value.n, values);
}

struct triangle {
    const char *in;
    char *out;
    int64_t rows, columns, k;
    bool upper;
    size_t size;
};

/* Short rows are cleared together, of long ones what is not kept. */
static void triangle_task(void *arg, size_t first, size_t end)
{
    enum { LONG = 256 };
    const struct triangle *t = arg;
    const size_t width = (size_t)t->columns * t->size;
    const bool apart = width >= LONG;
    int64_t from, to, i = (int64_t)(first % (size_t)t->rows);
    if (!apart)
        memset(t->out + first * width, 0, (end - first) * width);
    for (size_t row = first; row < end; row++, i = i + 1 < t->rows ? i + 1 : 0) {
        trilu_row(i, t->columns, t->k, t->upper, &from, &to);
        const size_t begin = (size_t)from * t->size;
        const size_t stop = to > from ? (size_t)to * t->size : begin;
        char *out = t->out + row * width;
        if (apart && begin)
            memset(out, 0, begin);
        memcpy(out + begin, t->in + row * width + begin, stop - begin);
        if (apart && stop < width)
            memset(out + stop, 0, width - stop);
    }
}

static enum ox_status run_trilu(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *in = ox_run_in(r, 0);
    int64_t k = 0;
    struct ox_tensor *out;

    if (in->rank < 2)
        return ox_run_fail(r, err, OX_INPUT, "the input has rank %u, less than 2", in->rank);
    OX_TRY(ox_move_int(r, 1, "k", &k, err));
    OX_TRY(ox_run_out(r, 0, in->dtype, in->rank, in->dims, &out, err));
    if (out->n == 0)
        return OX_OK;
    struct triangle t = {.in = in->data,
                         .out = out->data,
                         .rows = in->dims[in->rank - 2],
                         .columns = in->dims[in->rank - 1],
                         .upper = ox_run_int(r, "upper", 1) != 0,
                         .size = ox_dtype_size(in->dtype)};
    t.k = trilu_diagonal(k, t.rows, t.columns);
    ox_ranges_run(r->env, out->n / (size_t)t.columns, OX_GRAIN / (size_t)t.columns + 1,
                  triangle_task, &t);
    return ox_move_own(out, err);
}

const struct ox_op ox_ops_trilu[] = {
    {"", "Trilu", 14, OX_OP_HALF, .infer = infer_trilu, .run = run_trilu}, {0}};
