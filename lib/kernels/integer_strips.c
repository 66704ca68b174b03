/* 8-bit products and convolutions by strips of rows that lie at one distance, where the table has a kernel for them. Rows that do
 * not, as those of an image's next line, are laid side by side first. */
#include <string.h>

#include "kernels/integer_impl.h"
#include "kernels/sizes.h"

enum {
    LEAST_ROWS = 5,
    LEAST_DEPTH = 32,
    TASKS = 8,
    BLOCK_BYTES = 1 << 20,
    CHUNK = 128, /* columns whose sums stay near */
    DEEP = 64,   /* a segment that is no multiple of it leaves a part of the kernel's step unused */
    SHORT = 128, /* bytes that are sooner moved than memcpy() is called */
    /* Weights from beyond L2 come while the block before them is multiplied, by as few strips as notice and two at least. */
    LATER_BYTES = 1 << 18,
    LATER_STRIPS = 8
};

/* Whether segments can be read where they are. */
static bool reads_in_place(const struct ox_integer_core *k)
{
    return k->depth % 4 == 0 && (k->segments == 1 || k->depth % DEEP == 0);
}

/* Copying rows of little depth takes longer than multiplying them by tiles. */
bool ox_integer_strips_pay(const struct ox_integer_core *k)
{
    return k->t->strip && !k->depthwise && k->rows * k->cols >= LEAST_ROWS &&
           (reads_in_place(k) || k->segments * k->depth >= LEAST_DEPTH);
}

void ox_integer_strips_plan(struct ox_integer_core *k)
{
    const size_t m = k->rows * k->cols, nr = k->t->nr;
    const size_t wide = k->segments * ox_round_up(k->depth, 4);
    const double work = 2.0 * (double)m * (double)(k->n * k->groups) * (double)wide;
    const size_t wanted = work < TASKS * 4e6 ? (size_t)(work / 4e6) + 1 : TASKS;
    const size_t strips = (m + OX_INTEGER_STRIP - 1) / OX_INTEGER_STRIP;
    const bool few = strips > 1 && strips <= LATER_STRIPS && reads_in_place(k);
    const size_t least = few ? CHUNK : nr;
    size_t cols = (few ? LATER_BYTES : BLOCK_BYTES) / (k->panel / nr + 1) / nr * nr;
    cols = cols < least ? least : cols;
    const size_t by_rows = ox_least(wanted, strips);
    const size_t by_cols = (wanted + by_rows * k->groups - 1) / (by_rows * k->groups);
    if (by_cols > 1)
        cols = ox_least(cols, ox_round_up((k->n + by_cols - 1) / by_cols, nr));
    k->strips = true;
    k->block_cols = ox_even_part(k->n, cols, nr);
    const size_t block_rows = ox_even_part(m, (m + by_rows - 1) / by_rows, OX_INTEGER_STRIP);
    k->n_cols = k->n ? (k->n + k->block_cols - 1) / k->block_cols : 0;
    k->n_rows = (m + block_rows - 1) / block_rows;
    k->row_step = OX_INTEGER_STRIP;
    k->later = few && k->n_cols > 1;
    k->copy_row = ox_integer_copy_row(k);
    k->slot = OX_INTEGER_STRIP * CHUNK;
    if (!reads_in_place(k) || k->segments > 1 || !k->even)
        k->slot += ox_round_up(OX_INTEGER_STRIP * k->copy_row + OX_INTEGER_OVER, 64) / 4;
}

static const uint8_t *pixel_of(const struct ox_integer_core *k, const struct ox_integer_block *b,
                               size_t m)
{
    return ox_integer_line(k, m / k->cols) + m % k->cols * k->pixel + b->group * k->channels;
}

/* A segment of n rows that are neighbours in a line, filled up to a multiple of four: by what comes next where that may be read, as
 * the weights there are 0. What is written behind it is the next segment's, or room between rows. */
static void copy_segment(const struct ox_integer_core *k, const uint8_t *from, size_t n,
                         uint8_t *to)
{
    const size_t full = ox_integer_segment(k), row = k->copy_row, pixel = k->pixel;
    const size_t reach = (n - 1) * pixel + ox_round_up(k->depth, OX_INTEGER_OVER);
    if (k->depth < SHORT && reach <= (size_t)(k->end_of_in - from)) {
        for (size_t p = 0; p < k->depth; p += OX_INTEGER_OVER) {
#pragma GCC unroll 4
            for (size_t i = 0; i < n; i++)
                memcpy(to + i * row + p, from + i * pixel + p, OX_INTEGER_OVER);
        }
        return;
    }
    for (size_t i = 0; i < n; i++, from += pixel, to += row) {
        memcpy(to, from, k->depth);
        memset(to + k->depth, 0, full - k->depth);
    }
}

size_t ox_integer_copy_row(const struct ox_integer_core *k)
{
    return ox_round_up(4 * ox_integer_fours(k) + OX_INTEGER_OVER, 64) |
           64; /* an odd number of lines, or rows would share few of a cache's sets */
}

void ox_integer_copy_rows(const struct ox_integer_core *k, const struct ox_integer_block *b,
                          size_t m, size_t rows, uint8_t *to)
{
    const size_t full = ox_integer_segment(k);
    for (size_t i = 0, n; i < rows; i += n) {
        const uint8_t *a[OX_INTEGER_SEGMENTS];
        n = ox_least(rows - i, k->cols - (m + i) % k->cols);
        ox_integer_find_segments(k, pixel_of(k, b, m + i), 1, a);
        for (size_t s = 0; s < k->segments; s++)
            copy_segment(k, a[s], n, to + i * k->copy_row + s * full);
    }
}

/* A strip's part of the next columns' weights: in streams from `at` to `end`. */
struct later {
    const char *at, *end;
    unsigned streams;
    size_t apart;
};

static struct later later_of(const struct ox_integer_core *k, const struct ox_integer_block *b,
                             size_t m)
{
    const size_t nr = k->t->nr, done = b->col - b->group * k->n + b->cols;
    if (!k->later || done >= k->n)
        return (struct later){NULL, NULL, 0, 0};
    const size_t strips = (k->rows * k->cols + OX_INTEGER_STRIP - 1) / OX_INTEGER_STRIP;
    const size_t panels = (ox_least(k->block_cols, k->n - done) + nr - 1) / nr;
    const size_t part = panels * k->panel / strips;
    const char *at = b->packed + (b->cols + nr - 1) / nr * k->panel + m / OX_INTEGER_STRIP * part;
    const unsigned streams = strips > 3 ? 8 : 16;
    const size_t apart = ox_round_up(part / streams, OX_INTEGER_LINE);
    return (struct later){at, at + apart, streams, apart};
}

/* All columns of rows m to m + rows - 1. */
static void run_strip(const struct ox_integer_core *k, const struct ox_integer_block *b, size_t m,
                      unsigned rows, int32_t *sums)
{
    const uint8_t *a[OX_INTEGER_SEGMENTS];
    uint8_t *copy = (uint8_t *)(sums + OX_INTEGER_STRIP * CHUNK);
    const size_t nr = k->t->nr;
    int32_t terms[OX_INTEGER_STRIP] = {0};
    struct ox_integer_strip s = {.a = a, .panel = k->panel, .c = sums, .ldc = CHUNK, .rows = rows};
    const bool even = k->even || m % k->cols + rows <= k->cols;
    if (even && reads_in_place(k)) {
        ox_integer_find_segments(k, pixel_of(k, b, m), 1, a);
        s.a_row = k->pixel;
        s.segments = k->segments;
        s.depth = k->depth;
    } else {
        ox_integer_copy_rows(k, b, m, rows, copy);
        a[0] = copy;
        s.a_row = k->copy_row;
        s.segments = 1;
        s.depth = k->segments * ox_round_up(k->depth, 4);
    }
    for (unsigned i = 0; b->end.weight_zero && !k->terms && i < rows; i++) {
        const uint8_t *segments[OX_INTEGER_SEGMENTS];
        ox_integer_find_segments(k, pixel_of(k, b, m + i), 1, segments);
        terms[i] = ox_integer_row_sum(k, segments, 1);
    }
    struct later later = later_of(k, b, m);
    const size_t each = s.segments * (s.depth / DEEP) * OX_INTEGER_LINE;
    s.later_streams = later.streams;
    s.later_apart = later.apart;
    for (size_t j = 0; j < b->cols; j += CHUNK) {
        const size_t cols = ox_least(CHUNK, b->cols - j);
        const struct ox_integer_end end = ox_integer_end_at(&b->end, j);
        s.b = b->packed + j / nr * k->panel;
        s.panels = (cols + nr - 1) / nr;
        s.later = later.at < later.end ? later.at : NULL;
        later.at = s.later ? later.at + s.panels * each : NULL;
        k->t->strip(&s);
        const struct ox_integer_sums all = {
            .rows = rows,
            .n = cols,
            .sums = sums,
            .ld = CHUNK,
            .terms = k->terms ? ox_integer_terms_at(k, b, m) : terms,
            .out = k->out + (m * k->out_pixel + b->col + j) * k->out_size,
            .out_row = k->out_pixel};
        ox_integer_leave(k->t, &all, &end);
    }
}

void ox_integer_strips_run(void *core, size_t task, size_t slot)
{
    const struct ox_integer_core *k = core;
    const struct ox_integer_block b = ox_integer_block_of(k, task);
    const size_t depth = k->segments * ox_round_up(k->depth, 4);
    for (size_t m = b.m0; m < b.m1; m += OX_INTEGER_STRIP) {
        const unsigned rows = (unsigned)ox_least(OX_INTEGER_STRIP, b.m1 - m);
        if (k->t->strips_start && (m == b.m0 || rows < OX_INTEGER_STRIP / 2))
            k->t->strips_start(rows, depth);
        run_strip(k, &b, m, rows, k->sums + slot * k->slot);
    }
    if (k->t->strips_end)
        k->t->strips_end();
}
