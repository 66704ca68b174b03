/* Rows past packed panels. */
#include "kernels/dense_impl.h"
#include "kernels/triples.h"

void ox_block_panels(const struct ox_block *b)
{
    const struct ox_compute *t = b->t;
    const struct ox_tile tile = {.a = b->a,
                                 .segments = b->segments,
                                 .depth = b->depth,
                                 .b = b->packed,
                                 .panel = b->panel * t->nr,
                                 .c = b->c,
                                 .ldc = b->ldc,
                                 .cols = b->cols,
                                 .rows = b->rows,
                                 .add = b->add,
                                 .end = b->end};
    t->tile(&tile);
    if (b->end)
        ox_end_rows(t, b->rows, b->cols, b->c, b->ldc, b->end);
}

bool ox_dense_waits(const struct ox_compute *t, const struct ox_dense *d)
{
    enum { FAR = 1 << 17 /* floats */, LONE = 2, LONG = 128 };
    const size_t m = d->whole[0] ? d->whole[0] : d->m, n = d->whole[1] ? d->whole[1] : d->n;
    return (m <= LONE && d->k >= LONG) || (m <= t->mr && d->k >= FAR / n);
}

bool ox_dense_by_triples(const struct ox_compute *t, const struct ox_dense *d)
{
    return d->a_col == 1 && (d->packed || d->weights) && ox_triples_pay(t, d->m, d->n, d->k);
}

size_t ox_dense_depth(const struct ox_compute *t, size_t k)
{
    return ox_even_part(k, t->depth_most, t->triples ? OX_TRIPLES_DEPTH : 1);
}

static void past_by_triples(const struct ox_compute *t, const struct ox_dense *d, size_t depth,
                            const float *a, size_t a_row, size_t row0, size_t rows, size_t col0,
                            size_t cols, float *c, float *parts)
{
    const struct ox_epilogue end = ox_end_at(&d->end, row0, col0);
    struct ox_triples_lines lines = ox_triples_begin(parts, depth);
    struct ox_line l = {.row = &a,
                        .rows = 1,
                        .step = a_row,
                        .count = rows,
                        .b = d->packed + col0 * d->k,
                        .panel = d->k * t->nr,
                        .c = c,
                        .ldc = d->c_row,
                        .cols = cols};
    for (size_t k0 = 0; k0 < d->k; k0 += l.run, a += l.run, l.b += l.run * t->nr) {
        l.run = ox_least(depth, d->k - k0);
        l.add = k0 > 0;
        const size_t left = d->k - k0 - l.run;
        l.end = left == 0 ? &end : NULL;
        ox_triples_line(t, &l, &lines, left ? l.b + l.run * t->nr : NULL, ox_least(depth, left));
    }
    ox_end_rows(t, rows, cols, c, d->c_row, &end);
}

/* What one pass over some of the columns and a part of k needs to know of the whole. */
struct passing {
    const struct ox_dense *d;
    const float *a; /* row r of the left side, */
    float *c;       /* and of the sums */
    size_t row, col0, cols, depth;
    bool by_depth; /* passes of one part of k come one after another */
};

/* Floats from panels of this part of k to those of the pass that follows. */
static ptrdiff_t pass_behind(const struct ox_compute *t, const struct passing *p, size_t col,
                             size_t k0)
{
    const ptrdiff_t panel = (ptrdiff_t)(p->d->k * t->nr), run = (ptrdiff_t)(p->depth * t->nr);
    const size_t cols = ox_least(t->wide, p->cols - col);
    const ptrdiff_t on = (ptrdiff_t)((cols + t->nr - 1) / t->nr) * panel;
    const ptrdiff_t before = (ptrdiff_t)(k0 * t->nr);
    const bool is_last = k0 + p->depth >= p->d->k;
    if (!p->by_depth)
        return is_last ? on - before : run;
    if (col + cols < p->cols)
        return on;
    return is_last ? on - before : run - (ptrdiff_t)(col / t->nr) * panel;
}

static void pass(const struct ox_compute *t, const struct passing *p, const struct ox_line *like,
                 size_t col, size_t k0)
{
    enum { FAR = 1 << 17 }; /* floats that are more than a core keeps */
    const struct ox_dense *d = p->d;
    const struct ox_epilogue end = ox_end_at(&d->end, p->row, p->col0 + col);
    const float *row = p->a + k0;
    struct ox_line l = *like;
    l.row = &row;
    l.run = ox_least(p->depth, d->k - k0);
    l.b = d->packed + (p->col0 + col) * d->k + k0 * t->nr;
    l.c = p->c + col;
    l.cols = ox_least(t->wide, p->cols - col);
    l.add = k0 > 0;
    l.behind = pass_behind(t, p, col, k0);
    l.fetch = col == 0 && d->m * l.step > FAR;
    l.end = k0 + l.run == d->k ? &end : NULL;
    t->line(&l);
}

/* As many panels as are summed at once go past rows that stay in L2 with their sums: where all of k would leave room for a part of the
 * rows alone, more of them by a part of k after another, for what brings a panel near is shared by all rows that it passes. */
void ox_dense_past_panels(const struct ox_compute *t, const struct ox_dense *d, size_t depth,
                          const float *a, size_t a_row, size_t row0, size_t rows, size_t col0,
                          size_t cols, float *c, float *parts)
{
    if (parts) {
        past_by_triples(t, d, depth, a, a_row, row0, rows, col0, cols, c, parts);
        return;
    }
    const size_t room = 2 * t->block_floats, wide = t->wide;
    const size_t whole = ox_even_part(rows, room / (d->k + cols) + 1, t->mr);
    const bool by_depth = whole < rows && d->k > depth;
    struct ox_line l = {.rows = 1,
                        .step = a_row,
                        .ldc = d->c_row,
                        .panel = d->k * t->nr,
                        .far = ox_dense_waits(t, d)};
    l.count = by_depth ? ox_even_part(rows, room / (depth + cols) + 1, t->mr) : whole;
    for (size_t r = 0; r < rows; r += l.count) {
        l.count = ox_least(l.count, rows - r);
        const struct passing p = {d,    a + r * a_row, c + r * d->c_row, row0 + r, col0,
                                  cols, depth,         by_depth};
        for (size_t k0 = 0; by_depth && k0 < d->k; k0 += depth)
            for (size_t col = 0; col < cols; col += wide)
                pass(t, &p, &l, col, k0);
        for (size_t col = 0; !by_depth && col < cols; col += wide)
            for (size_t k0 = 0; k0 < d->k; k0 += depth)
                pass(t, &p, &l, col, k0);
        const struct ox_epilogue end = ox_end_at(&d->end, row0 + r, col0);
        ox_end_rows(t, l.count, cols, c + r * d->c_row, d->c_row, &end);
    }
}
