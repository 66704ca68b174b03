/* 8-bit products and convolutions of MIXED: a few dozen rows at a time, read in place where they lie at one distance, else laid out
 * first, go by all panels, so that these are read from afar once for all these rows. */
#include <stdlib.h>
#include <string.h>

#include "kernels/integer_impl.h"
#include "kernels/sizes.h"

enum {
    ROWS = 128,
    LEAST_ROWS = 24,
    PANELS = 2 /* of so many rows, whose sums stay near until they become results; more of fewer */
};

/* A row that is laid out; what is laid behind a segment is the next one's, or room. */
static size_t row_bytes(const struct ox_integer_core *k)
{
    return ox_round_up(k->wide + OX_INTEGER_OVER, 64) |
           64; /* an odd number of lines, or rows would share few of a cache's sets */
}

static size_t strip_rows(const struct ox_integer_core *k)
{
    if (k->upright)
        return ox_integer_upright_rows(k);
    const size_t step = k->t->mixed_rows, near = k->t->mixed_near / row_bytes(k) / step * step;
    return near < LEAST_ROWS ? LEAST_ROWS : ox_least(near, ROWS);
}

static size_t sums_of(const struct ox_integer_core *k)
{
    return ROWS * PANELS * k->t->nr;
}

/* Of rows that stand upright. */
static size_t upright_bytes(const struct ox_integer_core *k)
{
    return k->upright ? ox_integer_fours(k) * OX_INTEGER_UPRIGHT_FOUR : 0;
}

size_t ox_integer_rows_slot(const struct ox_integer_core *k)
{
    const size_t rows = strip_rows(k) * row_bytes(k);
    return ox_round_up(sums_of(k) + (rows + upright_bytes(k)) / sizeof(int32_t), 16);
}

/* What a task has. */
struct strip {
    const struct ox_integer_core *k;
    struct ox_integer_block b;
    bool bytes; /* sums become bytes before they are stored */
    uint8_t *rows, *upright;
    int32_t *sums;
};

/* Whether no sum, the offset counted, has more bits than a float. */
static bool fits_float(const struct ox_integer_core *k, const struct ox_integer_block *b)
{
    const char *panel = b->packed;
    uint32_t most = 0, most_offset = 0;
    for (size_t j = 0; j < b->cols; j += k->t->nr, panel += k->panel) {
        const uint32_t own = ((const uint32_t *)(const void *)panel)[k->upright ? 0 : 2];
        most = own > most ? own : most;
    }
    for (size_t j = 0; b->end.offset && j < b->cols; j++) {
        const int32_t offset = b->end.offset[j];
        const uint32_t size = offset < 0 ? 0U - (uint32_t)offset : (uint32_t)offset;
        most_offset = size > most_offset ? size : most_offset;
    }
    return most < 1 << 24 && most_offset < (1 << 24) - most;
}

static struct strip strip_of(const struct ox_integer_core *k, size_t task, size_t slot)
{
    struct strip s = {.k = k, .b = ox_integer_block_of(k, task), .sums = k->sums + slot * k->slot};
    s.upright = (uint8_t *)(s.sums + sums_of(k));
    s.rows = s.upright + upright_bytes(k);
    s.bytes = k->out_size == 1 && !s.b.end.weight_zero && fits_float(k, &s.b);
    return s;
}

/* n rows that are neighbours in a line, the first at `first`, are laid out from row i on. */
static void lay_rows(const struct strip *s, const uint8_t *first, size_t i, size_t n)
{
    const struct ox_integer_core *k = s->k;
    const uint8_t *segments[OX_INTEGER_SEGMENTS];
    ox_integer_find_segments(k, first, 1, segments);
    const uint8_t *last = segments[k->segments - 1] + (n - 1) * k->pixel + k->depth;
    struct ox_integer_lay l = {.rows = n,
                               .n = k->depth,
                               .x_row = k->pixel,
                               .flip = k->flip,
                               .slack = k->end_of_in - last >= OX_INTEGER_OVER,
                               .y_row = row_bytes(k)};
    for (size_t q = 0; q < k->segments; q++) {
        l.x = segments[q];
        l.y = s->rows + i * l.y_row + q * ox_integer_segment(k);
        k->t->lay(&l);
    }
}

/* Where rows m to m + rows - 1 begin, and the distance between them. */
static const uint8_t *find_rows(const struct strip *s, size_t m, size_t rows, size_t *distance,
                                int32_t *terms)
{
    const struct ox_integer_core *k = s->k;
    const bool in_place = k->segments == 1 && !k->flip && k->wide == k->depth && k->even;
    const size_t channel = s->b.group * k->channels;
    const bool sums = s->b.end.weight_zero && !k->terms;
    for (size_t i = 0, n; i < rows && (!in_place || sums); i += n) {
        const size_t y = (m + i) / k->cols, x = (m + i) % k->cols;
        const uint8_t *first = ox_integer_line(k, y) + x * k->pixel + channel;
        n = k->even ? rows - i : ox_least(rows - i, k->cols - x);
        if (!in_place)
            lay_rows(s, first, i, n);
        for (size_t r = 0; sums && r < n; r++) {
            const uint8_t *segments[OX_INTEGER_SEGMENTS];
            ox_integer_find_segments(k, first + r * k->pixel, 1, segments);
            terms[i + r] = ox_integer_row_sum(k, segments, 1);
        }
    }
    *distance = in_place ? k->pixel : row_bytes(k);
    return in_place ? k->in + m * k->pixel + channel : s->rows;
}

void ox_integer_rows_run(void *core, size_t task, size_t slot)
{
    const struct ox_integer_core *k = core;
    const struct ox_integer *t = k->t;
    const struct strip s = strip_of(k, task, slot);
    const struct ox_integer_block *b = &s.b;
    const size_t step = k->upright ? OX_INTEGER_UPRIGHT_LANES : t->mixed_rows;
    const size_t most = ox_even_part(b->m1 - b->m0, strip_rows(k), step);
    const size_t chunk = s.bytes ? b->cols : sums_of(k) / most / t->nr * t->nr;
    int32_t terms[ROWS];
    for (size_t m = b->m0, rows; m < b->m1; m += rows) {
        rows = ox_least(most, b->m1 - m);
        struct ox_integer_mixed mixed = {.rows = rows,
                                         .depth = k->wide,
                                         .panel = k->panel,
                                         .end = s.bytes ? &b->end : NULL,
                                         .out = k->out + m * k->out_pixel + b->col,
                                         .out_row = k->out_pixel,
                                         .sums = s.sums,
                                         .ld = chunk};
        mixed.a = find_rows(&s, m, rows, &mixed.a_row, terms);
        if (k->upright) {
            t->upright_lay(&mixed, s.upright);
            mixed.a = s.upright;
        }
        for (size_t j = 0; j < b->cols; j += chunk) {
            mixed.b = b->packed + j / t->nr * k->panel;
            mixed.n = ox_least(chunk, b->cols - j);
            (k->upright ? t->upright : t->mixed)(&mixed);
            if (s.bytes)
                continue;
            const struct ox_integer_end end = ox_integer_end_at(&b->end, j);
            const struct ox_integer_sums all = {
                .rows = rows,
                .n = mixed.n,
                .sums = s.sums,
                .ld = chunk,
                .terms = k->terms ? ox_integer_terms_at(k, b, m) : terms,
                .out = k->out + (m * k->out_pixel + b->col + j) * k->out_size,
                .out_row = k->out_pixel};
            ox_integer_leave(t, &all, &end);
        }
    }
}
