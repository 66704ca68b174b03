/* Convolution as a product whose left rows are found through pointers to pixels (Dukhan, "The Indirect Convolution
 * Algorithm"): no copy of the input. Where a tile's taps lie all inside the image, a kernel row is one run of memory. */
#include <string.h>

#include "kernels/convolve_impl.h"
#include "kernels/sizes.h"

enum { SEGMENTS = 64, RUN_MOST = 768, GROUP = 8 };

static size_t common_divisor(size_t a, size_t b)
{
    while (b) {
        const size_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* One direction of phase `rest`: outputs y with (y + pad) % stride == rest take the taps r with r * dilation % stride == rest. */
static void transposed_axis(const struct ox_conv *c, unsigned axis, size_t rest,
                            struct ox_conv_phase *p)
{
    const size_t stride = c->stride[axis], dilation = c->dilation[axis], pad = c->pad[axis];
    const size_t tap_step = stride / common_divisor(stride, dilation);
    const size_t first_out = (rest + stride - pad % stride) % stride;
    size_t tap = 0;
    while (tap < tap_step && tap * dilation % stride != rest)
        tap++;
    p->first_out[axis] = first_out;
    p->out_step[axis] = stride;
    p->count[axis] =
        c->out[axis] > first_out ? (c->out[axis] - first_out + stride - 1) / stride : 0;
    p->step[axis] = 1;
    p->first_tap[axis] = tap;
    p->tap_step[axis] = tap_step;
    p->taps[axis] = tap < tap_step && tap < c->kernel[axis]
                        ? (c->kernel[axis] - tap + tap_step - 1) / tap_step
                        : 0;
    p->offset[axis] =
        ((ptrdiff_t)(first_out + pad) - (ptrdiff_t)(tap * dilation)) / (ptrdiff_t)stride;
    p->tap_offset[axis] = -(ptrdiff_t)(tap_step * dilation / stride);
}

bool ox_conv_phase(const struct ox_conv *c, size_t i, struct ox_conv_phase *p)
{
    if (c->transposed) {
        if (i >= c->stride[0] * c->stride[1])
            return false;
        transposed_axis(c, 0, i / c->stride[1], p);
        transposed_axis(c, 1, i % c->stride[1], p);
        return true;
    }
    for (unsigned axis = 0; axis < 2; axis++) {
        p->count[axis] = c->out[axis];
        p->first_out[axis] = 0;
        p->out_step[axis] = 1;
        p->step[axis] = c->stride[axis];
        p->offset[axis] = -(ptrdiff_t)c->pad[axis];
        p->tap_offset[axis] = (ptrdiff_t)c->dilation[axis];
        p->taps[axis] = c->kernel[axis];
        p->first_tap[axis] = 0;
        p->tap_step[axis] = 1;
    }
    return i == 0;
}

size_t ox_conv_indirect_packed(const struct ox_compute *t, const struct ox_conv *c)
{
    const size_t n = c->out_channels / c->groups, k = c->in_channels / c->groups;
    const size_t one = ox_dense_packed(t, k, n);
    const size_t taps = c->kernel[0] * c->kernel[1];
    if (one == SIZE_MAX || one > SIZE_MAX / 4 / c->groups / taps)
        return SIZE_MAX;
    return one * c->groups * taps;
}

enum { TAPS_MOST = 64 }; /* that are turned together */

struct packing {
    const struct ox_compute *t;
    const struct ox_conv *c;
    struct ox_conv_phase phase;
    const void *weights;
    enum ox_weight_type type;
    float *out;
};

/* The taps of a panel whose channels' taps are adjacent: turned as they lie, some channels at a time, and sorted by taps then. */
static void pack_taps(const struct packing *p, const float *from, unsigned cols, float *out)
{
    enum { FLOATS = 1 << 13 };
    const struct ox_compute *t = p->t;
    const size_t k = p->c->in_channels / p->c->groups, taps = p->phase.taps[0] * p->phase.taps[1];
    const size_t some = FLOATS / (taps * t->nr);
    float turned[FLOATS];
    for (size_t u0 = 0; u0 < k; u0 += some) {
        const size_t n = ox_least(some, k - u0);
        t->pack(n * taps, cols, from + u0 * taps, 1, k * taps, turned);
        for (size_t tap = 0; tap < taps; tap++)
            for (size_t u = 0; u < n; u++)
                memcpy(out + (tap * k + u0 + u) * t->nr, turned + (u * taps + tap) * t->nr,
                       t->nr * sizeof *out);
    }
}

/* One panel of one group: taps outermost, then channels. */
static void pack_panel(void *arg, size_t i, size_t slot)
{
    const struct packing *p = arg;
    const struct ox_conv *c = p->c;
    const struct ox_compute *t = p->t;
    const struct ox_conv_phase *ph = &p->phase;
    const size_t n = c->out_channels / c->groups, k = c->in_channels / c->groups;
    const size_t taps = c->kernel[0] * c->kernel[1], panels = (n + t->nr - 1) / t->nr;
    const size_t group = i / panels, first = i % panels * t->nr;
    const unsigned cols = (unsigned)ox_least(t->nr, n - first);
    const size_t col = c->transposed ? taps : k * taps, row = c->transposed ? n * taps : taps;
    const size_t from = (c->transposed ? group * k * n : (group * n + first) * k) * taps +
                        (c->transposed ? first * taps : 0);
    float *out = p->out + i * t->nr * k * ph->taps[0] * ph->taps[1];
    (void)slot;
    if (p->type == OX_WEIGHT_F32 && !c->transposed && taps > 1 && taps <= TAPS_MOST) {
        pack_taps(p, (const float *)p->weights + from, cols, out);
        ox_conv_give_back(c, p->weights, p->type, group * n + first, cols);
        return;
    }
    for (size_t r = 0; r < ph->taps[0]; r++) {
        for (size_t q = 0; q < ph->taps[1]; q++, out += k * t->nr) {
            const size_t at = from + (ph->first_tap[0] + r * ph->tap_step[0]) * c->kernel[1] +
                              ph->first_tap[1] + q * ph->tap_step[1];
            if (p->type == OX_WEIGHT_F32) {
                t->pack(k, cols, (const float *)p->weights + at, row, col, out);
                continue;
            }
            for (size_t u = 0; u < k; u++) {
                for (unsigned j = 0; j < t->nr; j++)
                    out[u * t->nr + j] =
                        j < cols ? ox_conv_weight(t, p->weights, p->type, at + u * row + j * col)
                                 : 0;
            }
        }
    }
    if (!c->transposed)
        ox_conv_give_back(c, p->weights, p->type, group * n + first, cols);
}

/* Where in a panel's place each tap of what is transposed goes, of which each is some phase's. */
static void place_taps(const struct packing *p, size_t panel, size_t *place)
{
    const struct ox_conv *c = p->c;
    const size_t n = c->out_channels / c->groups, k = c->in_channels / c->groups;
    const size_t all = c->groups * ox_dense_packed(p->t, k, n);
    struct ox_conv_phase ph;
    size_t base = 0;
    for (size_t i = 0; ox_conv_phase(c, i, &ph); i++) {
        const size_t taps = ph.taps[0] * ph.taps[1];
        for (size_t tap = 0; tap < taps; tap++) {
            const size_t y = ph.first_tap[0] + tap / ph.taps[1] * ph.tap_step[0];
            const size_t x = ph.first_tap[1] + tap % ph.taps[1] * ph.tap_step[1];
            place[y * c->kernel[1] + x] = base + (panel * taps + tap) * k * p->t->nr;
        }
        base += all * taps;
    }
}

/* One panel of one group in all phases: a channel's taps are turned as they lie. */
static void pack_phases(void *arg, size_t i, size_t slot)
{
    const struct packing *p = arg;
    const struct ox_conv *c = p->c;
    const size_t n = c->out_channels / c->groups, k = c->in_channels / c->groups;
    const size_t taps = c->kernel[0] * c->kernel[1], nr = p->t->nr, panels = (n + nr - 1) / nr;
    const size_t first = i % panels * nr;
    const float *from = (const float *)p->weights + (i / panels * k * n + first) * taps;
    float turned[TAPS_MOST * OX_TILE_COLS_MAX];
    size_t place[TAPS_MOST];
    (void)slot;
    place_taps(p, i, place);
    for (size_t u = 0; u < k; u++, from += n * taps) {
        p->t->pack(taps, (unsigned)ox_least(nr, n - first), from, 1, taps, turned);
        for (size_t tap = 0; tap < taps; tap++)
            memcpy(p->out + place[tap] + u * nr, turned + tap * nr, nr * sizeof *turned);
    }
}

void ox_conv_indirect_pack(const struct ox_compute *t, struct ox_env *env, const struct ox_conv *c,
                           const void *weights, enum ox_weight_type type, float *out)
{
    const size_t n = c->out_channels / c->groups, k = c->in_channels / c->groups;
    struct packing p = {.t = t, .c = c, .weights = weights, .type = type, .out = out};
    const size_t panels = (n + t->nr - 1) / t->nr * c->groups, all = c->kernel[0] * c->kernel[1];
    const double cost = (double)(c->in_channels * c->out_channels / c->groups) * 40;
    if (c->transposed && type == OX_WEIGHT_F32 && all <= TAPS_MOST) {
        ox_spread(env, panels, cost * (double)all, pack_phases, &p);
        return;
    }
    for (size_t i = 0; ox_conv_phase(c, i, &p.phase); i++) {
        const size_t taps = p.phase.taps[0] * p.phase.taps[1];
        ox_spread(env, panels, cost * (double)taps, pack_panel, &p);
        p.out += ox_dense_packed(t, k, n) * c->groups * taps;
    }
}

size_t ox_conv_indirect_work(const struct ox_conv *c)
{
    if (ox_conv_gathers(c)) {
        const struct ox_conv rows = ox_conv_gathered(c);
        return ox_round_up(ox_conv_gather_work(c), 16) + ox_conv_indirect_work(&rows);
    }
    const size_t run = c->in_channels / c->groups;
    return run * c->kernel[1] <= RUN_MOST ? RUN_MOST : run;
}

struct job {
    const struct ox_compute *t;
    const struct ox_conv *c;
    struct ox_conv_phase phase;
    const float *packed, *in, *zeros;
    float *out;
    const struct ox_epilogue *end;
    struct ox_blocking by;
    size_t channels, n, m; /* of a group; rows of the whole product */
    size_t line;           /* outputs that lie at equal distances */
    size_t ldc;            /* and that distance */
    size_t in_batch, out_batch;
    size_t taps, block_taps; /* of a block of k; 1 when that is a part of the channels */
    bool runs; /* kernel rows may be runs of taps[1] * channels; block_taps is whole rows */
};

/* A row of the product: an output of the phase. */
struct cursor {
    size_t image, ty, tx;
};

static void advance(const struct ox_conv_phase *p, struct cursor *at, size_t n)
{
    at->tx += n;
    while (at->tx >= p->count[1]) {
        at->tx -= p->count[1];
        if (++at->ty == p->count[0]) {
            at->ty = 0;
            at->image++;
        }
    }
}

/* Where the rows of a tile begin in the input; coordinates of tap (0, 0). */
struct tile_rows {
    const float *image[OX_TILE_ROWS_MAX];
    ptrdiff_t y[OX_TILE_ROWS_MAX], x[OX_TILE_ROWS_MAX];
    bool inside; /* no tap of a row is left or right of the image */
};

static void find_rows(const struct job *j, struct cursor at, unsigned rows, size_t group,
                      struct tile_rows *out)
{
    const struct ox_conv_phase *p = &j->phase;
    const ptrdiff_t reach = (ptrdiff_t)(p->taps[1] - 1) * p->tap_offset[1];
    const ptrdiff_t left = reach < 0 ? reach : 0, right = reach > 0 ? reach : 0;
    const ptrdiff_t width = (ptrdiff_t)j->c->in[1];
    out->inside = true;
    for (unsigned i = 0; i < rows; i++) {
        out->image[i] = j->in + at.image * j->in_batch + group * j->channels;
        out->y[i] = (ptrdiff_t)(at.ty * p->step[0]) + p->offset[0];
        out->x[i] = (ptrdiff_t)(at.tx * p->step[1]) + p->offset[1];
        out->inside = out->inside && out->x[i] + left >= 0 && out->x[i] + right < width;
        advance(p, &at, 1);
    }
}

/* Pointers for taps [first, first + n) of a tile, channels from `channel` on; gives the number of segments. */
static size_t find_segments(const struct job *j, const struct tile_rows *at, unsigned rows,
                            size_t first, size_t n, size_t channel, const float **a)
{
    const struct ox_conv_phase *p = &j->phase;
    const struct ox_conv *c = j->c;
    const unsigned mr = j->t->mr;
    const size_t across = j->runs && at->inside ? 1 : p->taps[1];
    const size_t per_row = p->taps[1] / across;
    const size_t n_segments = n / per_row;
    size_t r = first / p->taps[1], q = first % p->taps[1];
    for (size_t s = 0; s < n_segments; s++, a += mr) {
        const ptrdiff_t dy = (ptrdiff_t)r * p->tap_offset[0];
        const ptrdiff_t dx = (ptrdiff_t)q * p->tap_offset[1];
        for (unsigned i = 0; i < rows; i++) {
            const ptrdiff_t y = at->y[i] + dy, x = at->x[i] + dx;
            const bool in = (size_t)y < c->in[0] && (size_t)x < c->in[1];
            a[i] = in ? at->image[i] + ((size_t)y * c->in[1] + (size_t)x) * c->in_pixel + channel
                      : j->zeros;
        }
        if (++q >= across) {
            q = 0;
            r++;
        }
    }
    return n_segments;
}

/* Tiles that a panel of weights goes past while it is near, and their pointers. */
struct group {
    size_t n;
    struct ox_tile tile[GROUP];
    size_t skip[GROUP]; /* rows of the panel before the first of them that counts */
    struct ox_epilogue end[GROUP];
    const float *pointers[2 * SEGMENTS * OX_TILE_ROWS_MAX];
};

/* A block of k for some of the columns: weights, floats from panel to panel. */
struct block {
    size_t group, col0, cols;
    size_t tap0, taps, channel0, depth;
    const float *packed;
    size_t panel;
    bool add, last;
};

static bool is_empty_segment(const struct job *j, const float *const *a, unsigned rows)
{
    for (unsigned i = 0; i < rows; i++)
        if (a[i] != j->zeros)
            return false;
    return true;
}

/* Whether one of the first n taps of a tile lies in the image. */
static bool meets_image(const struct job *j, const struct tile_rows *at, unsigned rows, size_t n)
{
    const struct ox_conv_phase *p = &j->phase;
    for (size_t tap = 0; tap < n; tap++) {
        const ptrdiff_t dy = (ptrdiff_t)(tap / p->taps[1]) * p->tap_offset[0];
        const ptrdiff_t dx = (ptrdiff_t)(tap % p->taps[1]) * p->tap_offset[1];
        for (unsigned i = 0; i < rows; i++)
            if ((size_t)(at->y[i] + dy) < j->c->in[0] && (size_t)(at->x[i] + dx) < j->c->in[1])
                return true;
    }
    return false;
}

/* Leaves out the segments at either end that are padding in all rows; false: nothing is left of a block that may be left out. */
static bool trim(const struct job *j, const struct block *b, const struct tile_rows *at,
                 struct ox_tile *t, size_t depth, size_t *skip)
{
    const unsigned mr = j->t->mr;
    size_t first = 0, n = t->segments;
    while (n > 1 && is_empty_segment(j, t->a + (first + n - 1) * mr, t->rows))
        n--;
    while (n > 1 && is_empty_segment(j, t->a + first * mr, t->rows)) {
        first++;
        n--;
    }
    const bool empty = n == 1 && is_empty_segment(j, t->a + first * mr, t->rows);
    t->add = b->add && ((b->channel0 > 0 && !empty) || meets_image(j, at, t->rows, b->tap0));
    t->a += first * mr;
    t->segments = n;
    *skip = first * depth;
    return !empty || b->last;
}

/* The tiles at outputs from `m` on; gives the first that was left out. */
static size_t find_tiles(const struct job *j, const struct block *b, size_t m, size_t m1,
                         size_t step, struct group *out)
{
    const struct ox_conv *c = j->c;
    const struct ox_conv_phase *p = &j->phase;
    const size_t area = p->count[0] * p->count[1], image_area = c->out[0] * c->out[1];
    const size_t col = b->group * j->n + b->col0, most = ox_least(GROUP, 2 * SEGMENTS / b->taps);
    struct cursor cursor = {m / area, m % area / p->count[1], m % p->count[1]};
    struct tile_rows at;
    const float **pointers = out->pointers;
    for (out->n = 0; out->n < most && m < m1;) {
        struct ox_tile *t = &out->tile[out->n];
        const size_t pixel = (p->first_out[0] + cursor.ty * p->out_step[0]) * c->out[1] +
                             p->first_out[1] + cursor.tx * p->out_step[1];
        *t = (struct ox_tile){.a = pointers, .panel = b->panel, .ldc = j->ldc, .add = b->add};
        t->rows = (unsigned)ox_least(ox_least(step, m1 - m), j->line - m % j->line);
        find_rows(j, cursor, t->rows, b->group, &at);
        t->segments = find_segments(j, &at, t->rows, b->tap0, b->taps, b->channel0, pointers);
        t->depth = b->depth * (b->taps / t->segments);
        const size_t n_segments = t->segments;
        const bool counts = trim(j, b, &at, t, t->depth, &out->skip[out->n]);
        t->c = j->out + cursor.image * j->out_batch + pixel * c->out_pixel + col;
        out->end[out->n] = ox_end_at(j->end, cursor.image * image_area + pixel, col);
        out->end[out->n].row_bias = NULL;
        out->end[out->n].residual_ld *= p->out_step[1];
        advance(p, &cursor, t->rows);
        m += t->rows;
        if (!counts)
            continue;
        pointers += n_segments * j->t->mr;
        out->n++;
    }
    return m;
}

/* `fresh`: the weights come from afar, so each tile brings its part of the next panels nearer. */
static void run_tiles(const struct job *j, const struct block *b, const struct group *g, bool fresh)
{
    const size_t nr = j->t->nr, wide = j->t->wide, part = b->taps * b->depth * nr;
    for (size_t col = 0; col < b->cols; col += wide) {
        for (size_t i = 0; i < g->n; i++) {
            const struct ox_epilogue end = ox_end_at(&g->end[i], 0, col);
            struct ox_tile t = g->tile[i];
            t.b = b->packed + col / nr * b->panel + g->skip[i] * nr;
            t.c += col;
            t.cols = ox_least(wide, b->cols - col);
            t.end = b->last ? &end : NULL;
            t.follow = col == 0 && i + 1 < g->n && g->tile[i + 1].rows >= t.rows;
            if (fresh) {
                t.ahead = (wide / nr * b->panel + i * (part / g->n)) * sizeof(float);
                t.ahead_step = (nr * sizeof(float) + g->n - 1) / g->n;
            }
            j->t->tile(&t);
        }
    }
    for (size_t i = 0; b->last && i < g->n; i++)
        ox_end_rows(j->t, g->tile[i].rows, b->cols, g->tile[i].c, j->ldc, &g->end[i]);
}

/* Tiles of equal height: a last one of a row or two would be slow. Those of two panels are cut in two: so low at once where that makes
 * fewer. */
static size_t tile_height(const struct job *j, const struct block *b, size_t rows)
{
    const size_t wide = j->t->mr / (j->t->wide / j->t->nr);
    const size_t step = ox_even_part(rows, j->t->mr, 1);
    const size_t passes = (rows + step - 1) / step * ((step + wide - 1) / wide);
    return b->cols > j->t->nr && passes > (rows + wide - 1) / wide ? ox_even_part(rows, wide, 1)
                                                                   : step;
}

static void block_of_k(const struct job *j, const struct block *b, size_t m0, size_t m1)
{
    struct group g;
    const size_t step = tile_height(j, b, ox_least(m1 - m0, j->line));
    for (size_t m = m0; m < m1;) {
        const bool fresh = m == m0;
        m = find_tiles(j, b, m, m1, step, &g);
        run_tiles(j, b, &g, fresh);
    }
}

static void run_task(void *arg, size_t i, size_t slot)
{
    const struct job *j = arg;
    const size_t blocks = j->by.n_rows * j->by.n_cols;
    const size_t group = i / blocks;
    size_t m0, col0;
    ox_blocking_at(&j->by, i % blocks, &m0, &col0);
    const size_t m1 = ox_least(m0 + j->by.rows, j->m);
    (void)slot;
    const size_t k = j->taps * j->channels, nr = j->t->nr;
    struct block b = {.group = group, .col0 = col0, .cols = ox_least(j->by.cols, j->n - col0)};
    const float *packed = j->packed + (group * ((j->n + nr - 1) / nr * nr) + col0) * k;
    b.panel = k * nr;
    for (b.tap0 = 0; b.tap0 < j->taps; b.tap0 += j->block_taps) {
        b.taps = ox_least(j->block_taps, j->taps - b.tap0);
        for (b.channel0 = 0; b.channel0 < j->channels; b.channel0 += j->by.depth) {
            const size_t k0 = b.tap0 * j->channels + b.channel0;
            b.depth = ox_least(j->by.depth, j->channels - b.channel0);
            b.packed = packed + k0 * nr;
            b.add = k0 > 0;
            b.last = k0 + b.taps * b.depth == k;
            block_of_k(j, &b, m0, m1);
        }
    }
}

/* Outputs that no tap reaches. */
static void no_taps(const struct job *j)
{
    const struct ox_conv_phase *p = &j->phase;
    const struct ox_conv *c = j->c;
    const size_t area = p->count[0] * p->count[1];
    for (size_t m = 0; m < j->m; m++) {
        const size_t image = m / area, ty = m % area / p->count[1], tx = m % p->count[1];
        const size_t pixel = (p->first_out[0] + ty * p->out_step[0]) * c->out[1] + p->first_out[1] +
                             tx * p->out_step[1];
        float *out = j->out + image * j->out_batch + pixel * c->out_pixel;
        struct ox_epilogue end = ox_end_at(j->end, image * c->out[0] * c->out[1] + pixel, 0);
        end.row_bias = NULL;
        memset(out, 0, c->out_channels * sizeof *out);
        ox_end_all(j->t, 1, c->out_channels, out, 0, &end);
    }
}

/* Blocks of k are whole kernel rows, whole taps, or parts of one tap's channels. */
static void plan(struct job *j)
{
    const struct ox_conv *c = j->c;
    const struct ox_conv_phase *p = &j->phase;
    const size_t most = j->t->depth_most, run = p->taps[1] * j->channels;
    j->taps = p->taps[0] * p->taps[1];
    j->runs = p->tap_offset[1] == 1 && c->groups == 1 && c->in_pixel == c->in_channels &&
              run <= RUN_MOST && p->taps[1] <= SEGMENTS;
    size_t depth = j->channels;
    if (j->runs) {
        const size_t rows = ox_least(most > run ? most / run : 1, SEGMENTS / p->taps[1]);
        j->block_taps = ox_even_part(p->taps[0], rows, 1) * p->taps[1];
    } else if (j->channels <= most) {
        j->block_taps = ox_even_part(j->taps, ox_least(most / j->channels, SEGMENTS), 1);
    } else {
        j->block_taps = 1;
        depth = ox_even_part(j->channels, most, 1);
    }
    ox_blocking_plan(j->t, j->m, j->n, j->taps * j->channels, j->block_taps * depth, c->groups,
                     false, &j->by);
    j->by.depth = depth;
    /* Tiles end with a line: whole ones, or what is left of it would be low ones. */
    if (j->line < j->m && j->line <= 2 * j->by.rows) {
        j->by.rows = ox_round_up(j->by.rows, j->line);
        j->by.n_rows = (j->m + j->by.rows - 1) / j->by.rows;
    }
}

/* There may be no outputs of a phase. */
static void run_phase(struct job *j, struct ox_env *env)
{
    const struct ox_conv *c = j->c;
    const size_t area = j->phase.count[0] * j->phase.count[1];
    j->m = c->batch * area;
    if (j->m == 0)
        return;
    j->ldc = j->phase.out_step[1] * c->out_pixel;
    j->line = c->transposed ? j->phase.count[1] : area;
    if (!c->transposed && j->out_batch == c->out[0] * c->out[1] * c->out_pixel)
        j->line = j->m;
    plan(j);
    if (j->taps * j->channels == 0) {
        no_taps(j);
        return;
    }
    const double flops =
        2.0 * (double)j->m * (double)c->out_channels * (double)j->taps * (double)j->channels;
    ox_spread_sums(env, c->groups * j->by.n_rows * j->by.n_cols, flops, run_task, j);
}

void ox_conv_indirect(const struct ox_compute *t, struct ox_env *env, const struct ox_conv *c,
                      const float *packed, const float *in, float *out,
                      const struct ox_epilogue *end, float *work)
{
    if (ox_conv_gathers(c)) {
        const struct ox_conv rows = ox_conv_gathered(c);
        ox_conv_gather(env, c, in, work);
        ox_conv_indirect(t, env, &rows, packed, work, out, end,
                         work + ox_round_up(ox_conv_gather_work(c), 16));
        return;
    }
    struct job j = {.t = t,
                    .c = c,
                    .packed = packed,
                    .in = in,
                    .zeros = work,
                    .out = out,
                    .end = end,
                    .channels = c->in_channels / c->groups,
                    .n = c->out_channels / c->groups};
    memset(work, 0, ox_conv_indirect_work(c) * sizeof *work);
    j.in_batch = ox_conv_in_batch(c);
    j.out_batch = ox_conv_out_batch(c);
    for (size_t i = 0; ox_conv_phase(c, i, &j.phase); i++) {
        run_phase(&j, env);
        j.packed +=
            ox_dense_packed(t, j.channels, j.n) * c->groups * j.phase.taps[0] * j.phase.taps[1];
    }
}
