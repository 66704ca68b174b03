#include "kernels/dense.h"

#include <string.h>

#include "common/compiler.h"
#include "kernels/dense_impl.h"
#include "kernels/sizes.h"
#include "kernels/triples.h"

static size_t times(size_t a, size_t b)
{
    size_t out;
    return OX_MUL_OVERFLOWS(a, b, &out) ? SIZE_MAX : out;
}

struct job {
    const struct ox_compute *t;
    const struct ox_dense *d;
    struct ox_blocking by;
    size_t batch;
    float *work;
    size_t right, left; /* floats of a slot for packed columns and straightened rows, */
    size_t parts;       /* and for parts */
};

static size_t batch_of(const struct ox_dense *d, unsigned i)
{
    return d->batch[i] ? d->batch[i] : 1;
}

static void plan(const struct ox_compute *t, const struct ox_dense *d, struct job *j)
{
    memset(j, 0, sizeof *j);
    j->t = t;
    j->d = d;
    j->batch = batch_of(d, 0) * batch_of(d, 1);
    ox_blocking_plan(t, d->m, d->n, d->k, ox_dense_depth(t, d->k), j->batch ? j->batch : 1,
                     !d->packed, &j->by);
    j->right = d->packed ? 0 : j->by.depth * j->by.cols;
    j->left = d->a_col == 1 ? 0 : ox_round_up(j->by.rows * j->by.depth, 16);
    j->parts = ox_dense_by_triples(t, d) ? ox_triples_work(j->by.depth) : 0;
}

static size_t slot_of(const struct job *j)
{
    return ox_round_up(ox_round_up(j->right, 16) + j->left + j->parts, 16);
}

size_t ox_dense_work(const struct ox_compute *t, const struct ox_env *env, const struct ox_dense *d)
{
    struct job j;
    if (d->made)
        return ox_made_work(t, env, d);
    if (ox_few(t, d))
        return ox_few_work(t, env, d);
    plan(t, d, &j);
    if (j.left && j.by.rows > SIZE_MAX / 8 / (j.by.depth + 1))
        return SIZE_MAX;
    return times(ox_slots(env), slot_of(&j));
}

/* rows x depth of a left side that does not lie row by row, into `out` with rows of `depth`. */
static void straighten(const struct job *j, const float *a, size_t rows, size_t depth, float *out)
{
    const struct ox_dense *d = j->d;
    if (d->a_row == 1) {
        j->t->transpose(depth, rows, a, d->a_col, out, depth);
        return;
    }
    for (size_t i = 0; i < rows; i++) {
        for (size_t p = 0; p < depth; p++)
            out[i * depth + p] = a[i * d->a_row + p * d->a_col];
    }
}

/* Element i of the right side. */
static const void *right_at(const struct job *j, size_t i)
{
    return (const char *)j->d->b + i * ox_weight_bytes(j->d->b_type);
}

/* Tiles of about equal height: a last one of a row or two would be slow. */
static void tiles_past_block(const struct ox_dense *d, const struct ox_block *b, const float *a,
                             size_t step, size_t rows, float *c)
{
    const float *pointers[OX_TILE_ROWS_MAX] = {NULL};
    struct ox_block tiles = *b;
    tiles.a = pointers;
    tiles.segments = 1;
    tiles.ldc = d->c_row;
    for (size_t r = 0; r < rows; r += tiles.rows) {
        tiles.rows = (unsigned)ox_even_part(rows - r, b->t->mr, 1);
        for (unsigned q = 0; q < tiles.rows; q++)
            pointers[q] = a + (r + q) * step;
        tiles.c = c + r * d->c_row;
        const struct ox_epilogue end = b->end ? ox_end_at(b->end, r, 0) : (struct ox_epilogue){0};
        tiles.end = b->end ? &end : NULL;
        ox_block_panels(&tiles);
    }
}

/* Rows at steps of `step` by a part of k of packed columns: short sums, and few that wait, as ox_dense_past_panels() has them, for calls
 * and what tiles read ahead would take longer than they do; others by tiles as high as may be, which bring the columns from L2 least
 * often. */
static void past_block(const struct ox_dense *d, const struct ox_block *b, const float *a,
                       size_t step, size_t rows, float *c)
{
    enum { SHORT = 16 };
    const struct ox_compute *t = b->t;
    if (d->k > SHORT && !ox_dense_waits(t, d)) {
        tiles_past_block(d, b, a, step, rows, c);
        return;
    }
    const size_t together =
        ox_even_part(rows, 2 * t->block_floats / (b->depth + b->cols) + 1, t->mr);
    for (size_t r = 0; r < rows; r += together) {
        const float *row = a + r * step;
        for (size_t col = 0; col < b->cols; col += t->wide) {
            struct ox_epilogue end;
            struct ox_line l = {.row = &row,
                                .rows = 1,
                                .run = b->depth,
                                .step = step,
                                .count = ox_least(together, rows - r),
                                .b = b->packed + col * b->panel,
                                .panel = b->panel * t->nr,
                                .c = c + r * d->c_row + col,
                                .ldc = d->c_row,
                                .cols = ox_least(t->wide, b->cols - col),
                                .add = b->add,
                                .far = ox_dense_waits(t, d),
                                .one_stream = ox_dense_one_stream(t, d)};
            if (b->end) {
                end = ox_end_at(b->end, r, col);
                l.end = &end;
            }
            t->line(&l);
        }
    }
    if (b->end)
        ox_end_rows(t, rows, b->cols, c, d->c_row, b->end);
}

static void block_by_parts(const struct ox_dense *d, const struct ox_block *b, const float *a,
                           size_t rows, float *c, float *work)
{
    const struct ox_line l = {.row = &a,
                              .rows = 1,
                              .run = b->depth,
                              .step = d->a_row,
                              .count = rows,
                              .b = b->packed,
                              .panel = b->depth * b->t->nr,
                              .c = c,
                              .ldc = d->c_row,
                              .cols = b->cols,
                              .add = b->add,
                              .end = b->end};
    struct ox_triples_lines lines = ox_triples_begin(work, b->depth);
    ox_triples_line(b->t, &l, &lines, NULL, 0);
    if (b->end)
        ox_end_rows(b->t, rows, b->cols, c, d->c_row, b->end);
}

/* One block of rows by one block of columns, all of k. */
static void block(void *arg, size_t i, size_t slot)
{
    const struct job *j = arg;
    const struct ox_dense *d = j->d;
    const struct ox_compute *t = j->t;
    const size_t blocks = j->by.n_rows * j->by.n_cols;
    const size_t g = i / blocks, g0 = g / batch_of(d, 1), g1 = g % batch_of(d, 1);
    size_t row0, col0;
    ox_blocking_at(&j->by, i % blocks, &row0, &col0);
    const size_t rows = ox_least(j->by.rows, d->m - row0);
    const size_t cols = ox_least(j->by.cols, d->n - col0);
    const float *a = d->a + g0 * d->a_batch[0] + g1 * d->a_batch[1] + row0 * d->a_row;
    float *c = d->c + g0 * d->c_batch[0] + g1 * d->c_batch[1] + row0 * d->c_row + col0;
    float *work = j->work ? j->work + slot * slot_of(j) : NULL;
    if (d->packed && d->a_col == 1) {
        ox_dense_past_panels(t, d, j->by.depth, a, d->a_row, row0, rows, col0, cols, c,
                             j->parts ? work : NULL);
        return;
    }
    float *left = work + ox_round_up(j->right, 16), *parts = left + j->left;
    const struct ox_epilogue end = ox_end_at(&d->end, row0, col0);
    struct ox_block b = {.t = t, .cols = cols};
    for (size_t k0 = 0; k0 < d->k; k0 += j->by.depth) {
        b.depth = ox_least(j->by.depth, d->k - k0);
        b.add = k0 > 0;
        const float *from = a + k0 * d->a_col;
        size_t from_row = d->a_row;
        if (d->packed) {
            b.packed = d->packed + col0 * d->k + k0 * t->nr;
            b.panel = d->k;
        } else {
            ox_dense_pack_part(t, b.depth, cols,
                               right_at(j, g0 * d->b_batch[0] + g1 * d->b_batch[1] + k0 * d->b_row +
                                               col0 * d->b_col),
                               d->b_type, d->b_row, d->b_col, work);
            b.packed = work;
            b.panel = b.depth;
        }
        b.end = k0 + b.depth == d->k ? &end : NULL;
        if (j->parts && !d->packed && d->a_col == 1) {
            block_by_parts(d, &b, from, rows, c, parts);
            continue;
        }
        if (j->left) {
            straighten(j, from, rows, b.depth, left);
            from = left;
            from_row = b.depth;
        }
        past_block(d, &b, from, from_row, rows, c);
    }
}

static void empty_sums(const struct job *j)
{
    const struct ox_dense *d = j->d;
    for (size_t g = 0; g < j->batch; g++) {
        const size_t g0 = g / batch_of(d, 1), g1 = g % batch_of(d, 1);
        float *c = d->c + g0 * d->c_batch[0] + g1 * d->c_batch[1];
        for (size_t i = 0; i < d->m; i++)
            memset(c + i * d->c_row, 0, d->n * sizeof *c);
        ox_end_all(j->t, d->m, d->n, c, d->c_row, &d->end);
    }
}

void ox_dense_run(const struct ox_compute *t, struct ox_env *env, const struct ox_dense *d,
                  float *work)
{
    struct job j;
    if (d->m == 0 || d->n == 0)
        return;
    if (d->made) {
        ox_made_run(t, env, d, work);
        return;
    }
    if (ox_square(t, d)) {
        ox_square_run(t, env, d);
        return;
    }
    if (d->k && ox_few(t, d)) {
        ox_few_run(t, env, d, work);
        return;
    }
    plan(t, d, &j);
    j.work = work;
    if (d->k == 0) {
        empty_sums(&j);
        return;
    }
    const double operations = ox_blocking_work(t, d->m, d->n, d->k, !d->packed) * (double)j.batch;
    (d->packed ? ox_spread_sums : ox_spread)(env, j.batch * j.by.n_rows * j.by.n_cols, operations,
                                             block, &j);
}
