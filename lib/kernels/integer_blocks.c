/* 8-bit products and convolutions by tiles: a block of rows and columns a task. */
#include <string.h>

#include "kernels/compute.h"
#include "kernels/integer_impl.h"
#include "kernels/sizes.h"

enum {
    BLOCK_BYTES = 1 << 18,
    TASKS = 16,
    /* MIXED: laying rows out again for other columns takes longer than reading weights from afar once for them all. */
    ROWS_BLOCK_BYTES = 1 << 20,
    ROWS_TASKS = 8,
    UPRIGHT_TASKS = 16, /* by rows */
    FEW_ROWS_TASKS = 4, /* by columns, for each of which rows are laid again */
    JOINED_ROWS = 48
};

_Static_assert(JOINED_ROWS >= (int)OX_TILE_ROWS_MAX, "a tile of joined rows has room");

/* Room for a tile's rows as words, in sums. */
static size_t copied_words(const struct ox_integer_core *k)
{
    return ox_round_up(k->t->mr * k->wide / 2 + OX_INTEGER_OVER, 16);
}

static size_t by_rows_of(size_t m, size_t mr, size_t wanted)
{
    const size_t least = 4 * mr;
    return ox_least(wanted, (m + least / 2) / least + (m < least / 2));
}

/* Few tasks of odd number, or of uneven rows, leave one of two threads idle at the end. */
static void make_even(struct ox_integer_core *k, size_t m, size_t cols_most)
{
    enum { FEW = 12 };
    const size_t tasks = k->n_rows * k->n_cols * k->groups, all = ox_round_up(k->n, cols_most);
    if (tasks >= FEW || k->upright || k->depthwise || k->t->layout == OX_INTEGER_MIXED)
        return;
    if (tasks % 2 && k->n_rows > 1) {
        k->n_rows--;
    } else if (tasks % 2 && k->n_cols > 1 && m >= 2 * (size_t)k->t->mr) {
        k->n_rows = 2;
        if (all == cols_most) {
            k->n_cols = 1;
            k->block_cols = ox_round_up(k->n, k->t->panels * k->t->nr);
        }
    }
    if (k->n_rows > 1)
        k->row_step = 1;
}

void ox_integer_blocks_plan(struct ox_integer_core *k, size_t slots)
{
    const size_t m = k->rows * k->cols, nr = k->t->nr, wide = k->t->panels * nr;
    const bool mixed = k->t->layout == OX_INTEGER_MIXED;
    const size_t mr = k->upright ? ox_integer_upright_rows(k) : mixed ? k->t->mixed_rows : k->t->mr;
    k->strips = k->later = false;
    if (k->abreast) {
        k->slot = ox_integer_abreast_slot();
        return;
    }
    if (ox_integer_strips_pay(k)) {
        ox_integer_strips_plan(k);
        return;
    }
    const double work =
        2.0 * (double)m * (double)(k->n * k->groups) * (double)(k->segments * k->depth);
    const size_t tasks = mixed ? ROWS_TASKS : TASKS;
    const size_t wanted = work < (double)tasks * 4e6 ? (size_t)(work / 4e6) + 1 : tasks;
    size_t cols = (mixed ? ROWS_BLOCK_BYTES : BLOCK_BYTES) / (k->panel / nr + 1) / wide * wide;
    cols = cols < wide ? wide : cols;
    const size_t strips = (m + mr - 1) / mr, cols_most = cols;
    const size_t by_rows = !k->upright  ? by_rows_of(m, mr, wanted)
                           : wanted > 1 ? ox_least(strips, UPRIGHT_TASKS)
                                        : 1;
    const size_t most = k->upright && by_rows == 1 ? ox_least(wanted, FEW_ROWS_TASKS) : wanted;
    const size_t by_cols = by_rows ? (most + by_rows * k->groups - 1) / (by_rows * k->groups) : 1;
    if (by_cols > 1)
        cols = ox_least(cols, ox_round_up((k->n + by_cols - 1) / by_cols, wide));
    k->block_cols = ox_even_part(k->n, cols, wide);
    const size_t block_rows = ox_even_part(m, by_rows ? (m + by_rows - 1) / by_rows : 1, mr);
    k->n_cols = k->n ? (k->n + k->block_cols - 1) / k->block_cols : 0;
    k->n_rows = m ? (m + block_rows - 1) / block_rows : 0;
    k->row_step = mr;
    if (slots > 1)
        make_even(k, m, cols_most);
    k->slot = ox_round_up(k->depthwise ? k->groups : k->t->mr * k->block_cols, 16);
    k->wide = k->t->layout != OX_INTEGER_QUADS && !k->depthwise ? 4 * ox_integer_fours(k) : 0;
    k->slot += copied_words(k);
    if (k->joined) {
        k->copy_row = ox_integer_copy_row(k);
        k->slot += JOINED_ROWS * k->copy_row / sizeof(int32_t);
    }
    if (mixed && !k->depthwise)
        k->slot = ox_integer_rows_slot(k);
}

/* A row's segments one after another, each filled up to a multiple of four, as words. What fills them is multiplied by 0; where more
 * may be read it is what comes next, up to whole vectors. */
static void widen_row(const struct ox_integer_core *k, const uint8_t *const *segment, uint16_t *to)
{
    const size_t per_segment = ox_round_up(k->depth, 4);
    const size_t n = k->slack ? ox_round_up(k->depth, OX_INTEGER_OVER) : k->depth;
    for (size_t s = 0; s < k->segments; s++, to += per_segment) {
        k->t->widen(n, segment[s * k->t->mr], k->flip, to);
        for (size_t p = n; p < per_segment; p++)
            to[p] = 0;
    }
}

/* A tile's rows as words. */
static void widen_rows(const struct ox_integer_core *k, struct ox_integer_tile *tile, uint8_t *copy,
                       const uint8_t **rows)
{
    const size_t row = k->wide * sizeof(uint16_t);
    for (unsigned i = 0; i < tile->rows; i++, copy += row) {
        widen_row(k, tile->a + i, (uint16_t *)(void *)copy);
        rows[i] = copy;
    }
    tile->a = rows;
    tile->segments = 1;
    tile->depth = row;
}

/* Whether sums become bytes by what stands with their columns alone. */
static bool leaves_bytes(const struct ox_integer_core *k)
{
    const enum ox_integer_out type = k->end->type;
    return !k->end->weight_zero && (type == OX_INTEGER_U8 || type == OX_INTEGER_S8);
}

/* Whether rows lie as the table's shallow() reads them, and become bytes. */
static bool is_shallow(const struct ox_integer_core *k)
{
    return k->t->shallow && k->t->layout == OX_INTEGER_QUADS && !k->flip && leaves_bytes(k) &&
           (k->joined || (k->segments == 1 && k->depth % 4 == 0)) &&
           4 * ox_integer_fours(k) <= OX_INTEGER_SHALLOW;
}

/* Where a slot's joined rows are. */
static uint8_t *joined_of(const struct ox_integer_core *k, size_t slot)
{
    return (uint8_t *)(k->sums + (slot + 1) * k->slot) - JOINED_ROWS * k->copy_row;
}

/* A stretch of pixels that lie at one distance after another, or that are laid so. */
static void run_shallow(void *arg, size_t task, size_t slot)
{
    const struct ox_integer_core *k = arg;
    const struct ox_integer_block b = ox_integer_block_of(k, task);
    const size_t line = k->even ? k->rows * k->cols : k->cols;
    uint8_t *joined = k->joined ? joined_of(k, slot) : NULL;
    for (size_t m = b.m0, n; m < b.m1; m += n) {
        n = ox_least(joined ? JOINED_ROWS : line - m % line, b.m1 - m);
        const uint8_t *first =
            ox_integer_line(k, m / k->cols) + m % k->cols * k->pixel + b.group * k->channels;
        if (joined)
            ox_integer_copy_rows(k, &b, m, n, joined);
        const struct ox_integer_shallow s = {.a = joined ? joined : first,
                                             .a_row = joined ? k->copy_row : k->pixel,
                                             .rows = n,
                                             .depth = 4 * ox_integer_fours(k),
                                             .n = b.cols,
                                             .b = b.packed,
                                             .panel = k->panel,
                                             .out = k->out + m * k->out_pixel + b.col,
                                             .out_row = k->out_pixel,
                                             .end = &b.end};
        k->t->shallow(&s);
    }
}

/* A tile's rows from m on: segment s of row i at pointers[s * mr + i]. */
static void find_rows(const struct ox_integer_core *k, size_t group, size_t m, unsigned rows,
                      const uint8_t **pointers)
{
    const size_t mr = k->t->mr, pixel = k->pixel;
    for (size_t i = 0, y = m / k->cols, x = m % k->cols, n; i < rows; i += n, x = 0, y++) {
        const uint8_t *first[OX_INTEGER_SEGMENTS],
            *line = ox_integer_line(k, y) + group * k->channels;
        n = ox_least(rows - i, k->cols - x);
        ox_integer_find_segments(k, line + x * pixel, 1, first);
        for (size_t s = 0; s < k->segments; s++) {
            for (size_t l = 0; l < n; l++)
                pointers[s * mr + i + l] = first[s] + l * pixel;
        }
    }
}

/* A tile's rows from m on where they are, or joined. */
static void find_tile(const struct ox_integer_core *k, const struct ox_integer_block *b, size_t m,
                      uint8_t *joined, const uint8_t **pointers, struct ox_integer_tile *tile)
{
    tile->a = pointers;
    if (!k->joined) {
        find_rows(k, b->group, m, tile->rows, pointers);
        tile->segments = k->segments;
        tile->depth = k->slack ? ox_round_up(k->depth, 4) : k->depth;
        return;
    }
    ox_integer_copy_rows(k, b, m, tile->rows, joined);
    for (size_t i = 0; i < tile->rows; i++)
        pointers[i] = joined + i * k->copy_row;
    tile->segments = 1;
    tile->depth = 4 * ox_integer_fours(k);
}

/* The sum of a row's bytes. */
static int32_t term_of(const struct ox_integer_core *k, const uint8_t *const *pointers)
{
    return k->joined ? k->t->sum(k->segments * k->depth, *pointers, k->flip)
                     : ox_integer_row_sum(k, pointers, k->t->mr);
}

/* The next columns' weights, of which each block of rows brings its part near while it is multiplied by others: from afar they come
 * too slowly for few rows. They come evenly, for what is on its way holds buffers that the weights at hand pass through too. */
struct later {
    const char *at, *end;
    size_t step; /* bytes for each four of a segment */
};

/* Fours of segments that a tile goes through. */
static size_t fours_of(const struct ox_integer_core *k, size_t rows)
{
    const size_t fours = k->joined ? ox_integer_fours(k) : k->segments * ((k->depth + 3) / 4);
    return (2 * rows > k->t->mr ? 2 : 1) * fours;
}

static struct later later_of(const struct ox_integer_core *k, const struct ox_integer_block *b,
                             size_t step)
{
    const size_t m = k->rows * k->cols;
    const size_t nr = k->t->nr, wide = k->t->panels * nr, done = b->col - b->group * k->n + b->cols;
    const size_t cols = ox_least(k->block_cols, k->n - done);
    const size_t bytes = (cols + nr - 1) / nr * k->panel, part = bytes / m * (b->m1 - b->m0);
    const char *from = b->packed + (b->cols + nr - 1) / nr * k->panel + bytes / m * b->m0;
    const size_t tiles = (b->m1 - b->m0) / step * (b->cols / wide);
    const size_t each = part / (tiles * fours_of(k, step) + 1) + 1;
    return (struct later){from, from + part, ox_least(each, OX_INTEGER_LINE)};
}

/* What a tile of them fetches. */
static const char *next_later(struct later *l, const struct ox_integer_core *k, size_t rows)
{
    const char *at = l->at;
    if (at >= l->end)
        return NULL;
    l->at += fours_of(k, rows) * l->step;
    return at;
}

/* The sums of a tile's rows, of all columns, go where they belong. */
static void leave_rows(const struct ox_integer_core *k, const struct ox_integer_block *b,
                       const uint8_t *const *pointers, const struct ox_integer_tile *tile, size_t m)
{
    int32_t terms[OX_TILE_ROWS_MAX];
    for (unsigned i = 0; b->end.weight_zero && !k->terms && i < tile->rows; i++)
        terms[i] = term_of(k, pointers + i);
    const struct ox_integer_sums all = {.rows = tile->rows,
                                        .n = b->cols,
                                        .sums = tile->c - tile->col,
                                        .ld = k->block_cols,
                                        .terms = k->terms ? ox_integer_terms_at(k, b, m) : terms,
                                        .out = k->out + (m * k->out_pixel + b->col) * k->out_size,
                                        .out_row = k->out_pixel};
    ox_integer_leave(k->t, &all, &b->end);
}

static void run_block(void *arg, size_t task, size_t slot)
{
    const struct ox_integer_core *k = arg;
    const struct ox_integer *t = k->t;
    const struct ox_integer_block b = ox_integer_block_of(k, task);
    const uint8_t *pointers[OX_INTEGER_SEGMENTS * OX_TILE_ROWS_MAX];
    void *copy = k->sums + slot * k->slot;
    int32_t *sums = k->sums + slot * k->slot + copied_words(k);
    uint8_t *joined = k->joined ? joined_of(k, slot) : NULL;
    const uint8_t *rows[OX_TILE_ROWS_MAX];
    const bool ends = t->ends && leaves_bytes(k);
    const size_t most = (size_t)t->panels * t->nr;
    struct ox_integer_tile tile = {.panel = k->panel,
                                   .ldc = k->block_cols,
                                   .end = ends ? &b.end : NULL,
                                   .out_row = k->out_pixel};
    const size_t step = ox_even_part(b.m1 - b.m0, t->mr, 1);
    struct later later = later_of(k, &b, step);
    tile.later_step = later.step;
    for (size_t m = b.m0; m < b.m1; m += tile.rows) {
        tile.rows = (unsigned)ox_least(step, b.m1 - m);
        find_tile(k, &b, m, joined, pointers, &tile);
        if (k->wide)
            widen_rows(k, &tile, copy, rows);
        for (size_t j = 0; j < b.cols; j += most) {
            tile.b = b.packed + j / t->nr * k->panel;
            tile.c = sums + j;
            tile.cols = (unsigned)ox_least(most, b.cols - j);
            tile.col = j;
            tile.later = next_later(&later, k, tile.rows);
            tile.out = (uint8_t *)k->out + m * k->out_pixel + b.col + j;
            t->tile(&tile);
        }
        if (!ends)
            leave_rows(k, &b, pointers, &tile, m);
        if (k->end->after)
            ox_integer_after_rows(k, m, tile.rows, b.col, b.cols);
    }
}

/* Depthwise: a row of outputs a task. */
static void run_taps(void *arg, size_t y, size_t slot)
{
    const struct ox_integer_core *k = arg;
    const uint8_t *in[OX_INTEGER_SEGMENTS];
    int32_t *sums = k->sums + slot * k->slot;
    struct ox_integer_taps taps = {.channels = k->groups,
                                   .n = k->taps[0] * k->taps[1],
                                   .in = in,
                                   .flip = k->flip,
                                   .weights = (const int16_t *)(const void *)k->packed,
                                   .sums = sums};
    for (size_t x = 0; x < k->cols; x++) {
        for (size_t r = 0; r < k->taps[0]; r++) {
            for (size_t q = 0; q < k->taps[1]; q++)
                in[r * k->taps[1] + q] =
                    ox_integer_line(k, y) + x * k->pixel + r * k->tap_line + q * k->tap_pixel;
        }
        k->t->taps(&taps);
        k->t->finish(k->groups, sums, 0, k->end,
                     k->out + (y * k->cols + x) * k->out_pixel * k->out_size);
    }
}

/* A task by the way that suits the outputs. */
static void run_task(void *arg, size_t task, size_t slot)
{
    const struct ox_integer_core *k = arg;
    if (is_shallow(k))
        run_shallow(arg, task, slot);
    else if (k->strips)
        ox_integer_strips_run(arg, task, slot);
    else if (k->t->layout == OX_INTEGER_MIXED)
        ox_integer_rows_run(arg, task, slot);
    else {
        run_block(arg, task, slot);
        return;
    }
    const struct ox_integer_block b = ox_integer_block_of(k, task);
    if (k->end->after)
        ox_integer_after_rows(k, b.m0, b.m1 - b.m0, b.col, b.cols);
}

void ox_integer_blocks_run(const struct ox_integer_core *k, struct ox_env *env)
{
    struct ox_integer_core copy = *k;
    const double work =
        (double)(k->rows * k->cols) * (double)(k->n * k->groups) * (double)(k->segments * k->depth);
    if (k->depthwise)
        ox_spread(env, k->rows, work * 4, run_taps, &copy);
    else if (k->abreast)
        ox_spread(env, ox_integer_abreast_tasks(k), work, ox_integer_abreast_run, &copy);
    else
        ox_spread(env, k->groups * k->n_rows * k->n_cols, work, run_task, &copy);
}
