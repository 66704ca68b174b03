/* What every way of the 8-bit convolution does for a task: which outputs are its, where their rows lie, how sums end. */
#include <string.h>

#include "kernels/integer_impl.h"
#include "kernels/sizes.h"

struct ox_integer_block ox_integer_block_of(const struct ox_integer_core *k, size_t task)
{
    const size_t nr = k->t->nr, blocks = k->n_rows * k->n_cols, group = task / blocks;
    const size_t col0 = task % blocks / k->n_rows * k->block_cols;
    const size_t m = k->rows * k->cols, row = task % k->n_rows, col = group * k->n + col0;
    const size_t m0 = ox_part_at(m, k->n_rows, k->row_step, row);
    return (struct ox_integer_block){
        .group = group,
        .m0 = m0,
        .m1 = ox_part_at(m, k->n_rows, k->row_step, row + 1),
        .cols = ox_least(k->block_cols, k->n - col0),
        .col = col,
        .packed = k->packed + (group * ((k->n + nr - 1) / nr) + col0 / nr) * k->panel,
        .end = ox_integer_end_at(k->end, col)};
}

int32_t ox_integer_row_sum(const struct ox_integer_core *k, const uint8_t *const *a, size_t step)
{
    int32_t sum = 0;
    for (size_t s = 0; s < k->segments; s++)
        sum += k->t->sum(k->depth, a[s * step], k->flip);
    return sum;
}

struct ox_integer_end ox_integer_end_at(const struct ox_integer_end *end, size_t col)
{
    struct ox_integer_end out = *end;
    out.offset = end->offset ? end->offset + col : NULL;
    out.weight_zero = end->weight_zero ? end->weight_zero + col : NULL;
    out.scale = end->scale ? end->scale + col : NULL;
    out.bias = end->bias ? end->bias + col : NULL;
    out.fraction = end->fraction ? end->fraction + col : NULL;
    return out;
}

void ox_integer_leave(const struct ox_integer *t, const struct ox_integer_sums *s,
                      const struct ox_integer_end *end)
{
    if (t->leave) {
        t->leave(s, end);
        return;
    }
    for (size_t i = 0; i < s->rows; i++)
        t->finish(s->n, s->sums + i * s->ld, end->weight_zero ? s->terms[i] : 0, end,
                  (char *)s->out + i * s->out_row * ox_integer_out_size(end->type));
}

void ox_integer_leave_tile(const struct ox_integer_tile *t, unsigned first, unsigned rows,
                           const int32_t *sums, size_t ld)
{
    struct ox_integer_end end = ox_integer_end_at(t->end, t->col);
    end.offset = NULL;
    const struct ox_integer_sums s = {.rows = rows,
                                      .n = t->cols,
                                      .sums = sums,
                                      .ld = ld,
                                      .out = t->out + first * t->out_row,
                                      .out_row = t->out_row};
    ox_integer_leave(ox_integer(ox_cpu_probe()), &s, &end);
}

void ox_integer_find_segments(const struct ox_integer_core *k, const uint8_t *first, size_t step,
                              const uint8_t **a)
{
    const size_t across = k->segments == k->taps[0] ? 1 : k->taps[1];
    for (size_t r = 0; r < k->taps[0]; r++) {
        for (size_t q = 0; q < across; q++)
            a[(r * across + q) * step] = first + r * k->tap_line + q * k->tap_pixel;
    }
}

void ox_integer_copy(const uint8_t *from, uint8_t flip, size_t n, uint8_t *to)
{
    if (!flip) {
        memcpy(to, from, n);
        return;
    }
    for (size_t i = 0; i < n; i++)
        to[i] = from[i] ^ flip;
}

size_t ox_integer_out_size(enum ox_integer_out type)
{
    return type == OX_INTEGER_U8 || type == OX_INTEGER_S8 ? 1 : 4;
}
