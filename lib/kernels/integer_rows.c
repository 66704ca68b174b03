/* 8-bit products and convolutions by tiles of MIXED: a few dozen rows are laid out as their panels read them, bytes and words, and
 * go by two panels at a time, so that what the panels hold is read from afar once for all these rows and sums become results while
 * they are near. */
#include <string.h>

#include "kernels/dense_impl.h"
#include "kernels/integer_impl.h"

enum {
    ROWS = 24,
    NEAR = 1 << 17, /* bytes of rows that are laid out */
    PANELS = 2
};

/* A row that is laid out: its words, its bytes, its turned bytes; what is laid behind a segment is the next one's, or room. */
static size_t form_of(const struct ox_integer_core *k)
{
    return k->wide + OX_INTEGER_OVER;
}

static size_t row_bytes(const struct ox_integer_core *k)
{
    return ox_integer_round_up(form_of(k) * 4, 64) |
           64; /* an odd number of lines, or rows would share few of a cache's sets */
}

static size_t strip_rows(const struct ox_integer_core *k)
{
    const size_t mr = k->t->mr, near = NEAR / row_bytes(k) / mr * mr;
    return near < mr ? mr : ox_integer_least(near, ROWS);
}

static size_t sums_of(const struct ox_integer_core *k)
{
    return ROWS * PANELS * k->t->nr;
}

size_t ox_integer_rows_slot(const struct ox_integer_core *k)
{
    return ox_integer_round_up(sums_of(k) + strip_rows(k) * row_bytes(k) / 4, 16);
}

/* What a task has. */
struct strip {
    const struct ox_integer_core *k;
    struct ox_integer_block b;
    bool words, bytes, turned; /* which forms its panels read */
    bool in_place;             /* bytes, where they are */
    size_t step;               /* rows of a tile */
    uint8_t *rows;
    int32_t *sums;
    const uint8_t *tiles[ROWS * 3]; /* of each tile its rows in each form, mr of each */
};

static struct strip strip_of(const struct ox_integer_core *k, size_t task, size_t slot)
{
    struct strip s = {.k = k, .b = ox_integer_block_of(k, task), .sums = k->sums + slot * k->slot};
    const char *panel = s.b.packed;
    s.rows = (uint8_t *)(s.sums + sums_of(k));
    for (size_t j = 0; j < s.b.cols; j += k->t->nr, panel += k->panel) {
        const uint32_t *counts = (const uint32_t *)(const void *)panel;
        s.bytes |= counts[0] > 0;
        s.turned |= counts[1] > 0;
        s.words |= counts[0] + counts[1] < ox_integer_fours(k);
    }
    s.in_place = k->segments == 1 && !k->flip && k->wide == k->depth;
    return s;
}

/* n rows that are neighbours in a line, the first at `first`, are laid out from row i on. */
static void lay_rows(const struct strip *s, const uint8_t *first, size_t i, size_t n)
{
    const struct ox_integer_core *k = s->k;
    const uint8_t *segments[OX_INTEGER_SEGMENTS];
    const bool bytes = s->bytes && !s->in_place;
    if (!bytes && !s->turned && !s->words)
        return;
    uint8_t *to = s->rows + i * row_bytes(k);
    ox_integer_find_segments(k, first, 1, segments);
    struct ox_integer_lay l = {.rows = n,
                               .n = k->depth,
                               .x_row = k->pixel,
                               .flip = k->flip,
                               .slack = k->slack,
                               .y_row = row_bytes(k)};
    for (size_t q = 0; q < k->segments; q++) {
        const size_t at = q * ox_integer_segment(k);
        l.x = segments[q];
        l.words = s->words ? to + at * sizeof(uint16_t) : NULL;
        l.bytes = bytes ? to + 2 * form_of(k) + at : NULL;
        l.turned = s->turned ? to + 3 * form_of(k) + at : NULL;
        k->t->lay(&l);
    }
}

/* Lays out rows m to m + rows - 1 and finds them for their tiles. */
static void start_strip(struct strip *s, size_t m, size_t rows, int32_t *terms)
{
    const struct ox_integer_core *k = s->k;
    const size_t mr = k->t->mr;
    const bool even = k->line == k->cols * k->pixel;
    size_t tile = 0, place = 0;
    s->step = ox_even_part(rows, mr, 1);
    for (size_t i = 0, n; i < rows; i += n) {
        const size_t y = (m + i) / k->cols, x = (m + i) % k->cols;
        const uint8_t *first = k->in + y * k->line + x * k->pixel + s->b.group * k->channels;
        n = even ? rows - i : ox_integer_least(rows - i, k->cols - x);
        lay_rows(s, first, i, n);
        for (size_t r = 0; r < n; r++) {
            const uint8_t *laid = s->rows + (i + r) * row_bytes(k);
            const uint8_t **to = s->tiles + tile * 3 * mr + place;
            to[0] = s->in_place ? first + r * k->pixel : laid + 2 * form_of(k);
            to[mr] = laid;
            to[2 * mr] = laid + 3 * form_of(k);
            place = place + 1 < s->step ? place + 1 : 0;
            tile += place == 0;
            if (s->b.end.weight_zero) {
                const uint8_t *segments[OX_INTEGER_SEGMENTS];
                ox_integer_find_segments(k, first + r * k->pixel, 1, segments);
                terms[i + r] = ox_integer_row_sum(k, segments, 1);
            }
        }
    }
}

void ox_integer_rows_run(void *core, size_t task, size_t slot)
{
    const struct ox_integer_core *k = core;
    const struct ox_integer *t = k->t;
    struct strip s = strip_of(k, task, slot);
    const size_t most = ox_even_part(s.b.m1 - s.b.m0, strip_rows(k), t->mr), chunk = PANELS * t->nr;
    int32_t terms[ROWS];
    for (size_t m = s.b.m0, rows; m < s.b.m1; m += rows) {
        rows = ox_integer_least(most, s.b.m1 - m);
        start_strip(&s, m, rows, terms);
        for (size_t j = 0; j < s.b.cols; j += chunk) {
            const size_t cols = ox_integer_least(chunk, s.b.cols - j);
            struct ox_integer_tile tile = {.segments = 1, .depth = k->wide, .ldc = chunk};
            for (size_t p = 0; p < cols; p += t->nr) {
                tile.b = s.b.packed + (j + p) / t->nr * k->panel;
                tile.cols = (unsigned)ox_integer_least(t->nr, cols - p);
                for (size_t i = 0; i < rows; i += s.step) {
                    tile.a = s.tiles + i / s.step * 3 * t->mr;
                    tile.rows = (unsigned)ox_integer_least(s.step, rows - i);
                    tile.c = s.sums + i * chunk + p;
                    t->tile(&tile);
                }
            }
            const struct ox_integer_end end = ox_integer_end_at(&s.b.end, j);
            const struct ox_integer_sums all = {.rows = rows,
                                                .n = cols,
                                                .sums = s.sums,
                                                .ld = chunk,
                                                .terms = terms,
                                                .out = k->out + (m * k->out_pixel + s.b.col + j) *
                                                                    k->out_size,
                                                .out_row = k->out_pixel};
            ox_integer_leave(t, &all, &end);
        }
    }
}
