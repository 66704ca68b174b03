/* Rows past packed panels by parts, a group of rows at a time whose parts stay in L2. */
#include "kernels/triples.h"

#include "kernels/dense_impl.h"
#include "kernels/sizes.h"

enum { GROUP = 256 }; /* rows */

/* Nanoseconds at some 3 GHz, measured: of a pair of numbers multiplied, as lines go and by parts; of a number whose parts are made; of a sum
 * that leaves. Panels are made while tiles are multiplied, as far as that takes as long. */
bool ox_triples_pay(const struct ox_compute *t, size_t m, size_t n, size_t k)
{
    enum { LEAST = 128, ROWS_LEAST = 64 };
    const double by_lines = 2.0 / 172, by_parts = 2.0 / 350, making = 0.23, leaving = 0.2;
    const double panels = 0.25 - 0.0018 * (double)m, least = 0.03, gain = 0.93;
    if (!t->triples || m < ROWS_LEAST || n < LEAST || k < LEAST)
        return false;
    const double rows = (double)m, cols = (double)ox_round_up(n, OX_TRIPLES_COLS);
    const double depth = (double)ox_round_up(k, OX_TRIPLES_DEPTH);
    const double cost = by_parts * rows * cols * depth + making * rows * depth +
                        (panels > least ? panels : least) * cols * depth + leaving * rows * cols;
    return cost < gain * by_lines * rows * (double)n * (double)k;
}

/* Numbers of sixteen rows or columns. */
static size_t tiles_of(size_t depth)
{
    return (depth + OX_TRIPLES_DEPTH - 1) / OX_TRIPLES_DEPTH * OX_TRIPLES_PARTS * OX_TRIPLES_TILE;
}

enum { PANEL_TILES = OX_TRIPLES_COLS / OX_TRIPLES_ROWS };

size_t ox_triples_work(size_t run)
{
    return (GROUP / OX_TRIPLES_ROWS + 2 * PANEL_TILES) * tiles_of(run) / 2;
}

/* The same rows and columns by the table's lines. */
static void by_lines(const struct ox_compute *t, const struct ox_line *l, size_t first, size_t n,
                     size_t col, size_t cols)
{
    const float *row = *l->row + first * l->step;
    struct ox_line part = *l;
    struct ox_epilogue end;
    part.row = &row;
    part.count = n;
    for (size_t j = col; j < col + cols; j += t->wide) {
        part.b = l->b + j / t->nr * l->panel;
        part.c = l->c + first * l->ldc + j;
        part.cols = ox_least(t->wide, col + cols - j);
        if (l->end) {
            end = ox_end_at(l->end, first, j);
            part.end = &end;
        }
        t->line(&part);
    }
}

static uint16_t *left_of(const struct ox_triples_lines *in)
{
    return (uint16_t *)(void *)in->work;
}

static uint16_t *right_of(const struct ox_triples_lines *in, unsigned side)
{
    const size_t tiles = tiles_of(in->run_most);
    return left_of(in) + (GROUP / OX_TRIPLES_ROWS + side * PANEL_TILES) * tiles;
}

/* Rows whose parts are at hand. `then`: the panel that is needed behind them. */
static void group_past(const struct ox_compute *t, const struct ox_line *l, size_t first, size_t n,
                       unsigned tall, struct ox_triples_lines *in, const float *then,
                       size_t then_run)
{
    const struct ox_triples *p = t->triples;
    if (in->made != l->b || in->made_run != l->run)
        in->extreme = p->panel(l->run, l->b, right_of(in, in->side));
    for (size_t col = 0; col < l->cols; col += OX_TRIPLES_COLS) {
        const bool last = l->cols - col <= OX_TRIPLES_COLS;
        struct ox_epilogue end;
        struct ox_triples_block b = {.left = left_of(in),
                                     .tall = tall,
                                     .rows = n,
                                     .depth = l->run,
                                     .right = right_of(in, in->side),
                                     .cols = (unsigned)ox_least(OX_TRIPLES_COLS, l->cols - col),
                                     .c = l->c + first * l->ldc + col,
                                     .ldc = l->ldc,
                                     .add = l->add,
                                     .next = last ? then
                                                  : l->b + (col / OX_TRIPLES_COLS + 1) * l->panel,
                                     .next_depth = last ? then_run : l->run,
                                     .next_out = right_of(in, !in->side),
                                     .later = l->cols - col > 2 * OX_TRIPLES_COLS
                                                  ? l->b + (col / OX_TRIPLES_COLS + 2) * l->panel
                                                  : then};
        if (l->end) {
            end = ox_end_at(l->end, first, col);
            b.end = &end;
        }
        if (!in->extreme) {
            p->block(&b);
            in->extreme = b.next_extreme;
        } else {
            by_lines(t, l, first, n, col, b.cols);
            in->extreme = b.next && p->panel(b.next_depth, b.next, b.next_out);
        }
        in->side = !in->side;
    }
    in->made = then;
    in->made_run = then_run;
}

/* The parts of rows; the number of those before the first that is unlike the one at `first`: that has none, or has. */
static size_t split(const struct ox_compute *t, const struct ox_line *l, size_t first, size_t n,
                    unsigned tall, uint16_t *left, bool *extreme)
{
    const size_t tiles = tiles_of(l->run);
    for (size_t i = 0; i < n; i += tall, left += tiles) {
        const size_t some = ox_least(tall, n - i);
        const unsigned bits =
            t->triples->rows(some, l->run, *l->row + (first + i) * l->step, l->step, left);
        for (size_t q = 0; q < some; q++) {
            if (i + q == 0)
                *extreme = bits & 1;
            else if ((bits >> q & 1) != *extreme)
                return i + q;
        }
    }
    return n;
}

/* Rows of a tile, so that an even number of them holds n with as few as can be to spare: a product takes as long as its tile is high. */
static unsigned tall_for(size_t n)
{
    const size_t tiles = ox_round_up((n + OX_TRIPLES_ROWS - 1) / OX_TRIPLES_ROWS, 2);
    return (unsigned)((n + tiles - 1) / tiles);
}

void ox_triples_line(const struct ox_compute *t, const struct ox_line *l,
                     struct ox_triples_lines *in, const float *then, size_t then_run)
{
    const size_t group = ox_even_part(l->count, GROUP, 1);
    const unsigned tall = tall_for(ox_least(group, l->count));
    t->triples->begin(tall);
    for (size_t first = 0, n; first < l->count; first += n) {
        bool extreme = false;
        n = split(t, l, first, ox_least(group, l->count - first), tall, left_of(in), &extreme);
        const bool last = first + n == l->count;
        if (extreme)
            by_lines(t, l, first, n, 0, l->cols);
        else
            group_past(t, l, first, n, tall, in, last ? then : l->b, last ? then_run : l->run);
    }
    t->triples->end();
}
