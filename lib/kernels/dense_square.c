/* Many rows by a square matrix of two to four columns, such as points that are turned or colours that are mixed: a row is less than a
 * vector. */
#include "common/compiler.h"
#include "kernels/dense_impl.h"
#include "kernels/sizes.h"

enum { ROWS_LEAST = 64, ROWS = 2048 };

struct job {
    const struct ox_compute *t;
    const struct ox_dense *d;
    float w[OX_SQUARE_MOST * OX_SQUARE_MOST];
    bool ends;
};

bool ox_square(const struct ox_compute *t, const struct ox_dense *d)
{
    return t->square && d->n == d->k && d->k >= 2 && d->k <= OX_SQUARE_MOST && d->m >= ROWS_LEAST &&
           d->batch[0] <= 1 && d->batch[1] <= 1 && d->a_row == d->k && d->a_col == 1 &&
           d->c_row == d->n && !d->end.residual && !d->end.col_bias && !d->end.row_bias &&
           (d->packed || d->b_type == OX_WEIGHT_F32);
}

static void some_rows(void *arg, size_t i, size_t slot)
{
    const struct job *j = arg;
    const struct ox_dense *d = j->d;
    const size_t first = i * ROWS, n = ox_least(ROWS, d->m - first);
    float *y = d->c + first * d->n;
    (void)slot;
    j->t->square(n, d->k, j->w, d->a + first * d->k, y);
    if (j->ends)
        ox_end_all(j->t, 1, n * d->n, y, 0, &d->end);
}

void ox_square_run(const struct ox_compute *t, struct ox_env *env, const struct ox_dense *d)
{
    const struct ox_epilogue *end = &d->end;
    struct job j = {.t = t, .d = d};
    j.ends = end->act != OX_ACT_NONE || (end->scale != 0 && end->scale != 1);
    for (size_t p = 0; p < d->k; p++)
        for (size_t col = 0; col < d->n; col++)
            j.w[p * d->n + col] = d->packed ? d->packed[p * t->nr + col]
                                            : ((const float *)d->b)[p * d->b_row + col * d->b_col];
    ox_spread_sums(env, (d->m + ROWS - 1) / ROWS, 8.0 * (double)(d->m * d->n), some_rows, &j);
}
