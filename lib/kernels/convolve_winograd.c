/* Convolution by Winograd's minimal filtering: Y = A' [(G g G') . (B' d B)] A over tiles of 2x2 or 4x4 outputs, where the
 * products at each of the 16 or 36 points are a matrix product of tiles by channels. At stride 2 the even pixels of a line meet the
 * outer taps, five products for four outputs, and the odd ones the middle tap, as they are: 81 points, of which those of one tap
 * share their weights. Dilated, pixels that lie as far apart as the taps are an image of their own. B and A are in the microkernels; points and error are said in compute.c. Tiles are taken a group at a time
 * so that both sides stay in L2. */
#include <math.h>
#include <string.h>

#include "kernels/convolve_winograd.h"
#include "kernels/triples.h"

enum { POINTS_MOST = 81 };

/* Weights stream past once a group. */
static bool is_heavy(const struct ox_winograd_job *j)
{
    const double pieces = (double)ox_winograd_pieces(j->c, j->tile);
    return pieces * (double)ox_winograd_depth(j->c) * (double)j->c->out_channels >
           j->t->heavy_weights;
}

/* Threads get as many groups each, and enough of them that one that is late can leave some to others. */
static void share_tiles(const struct ox_compute *t, size_t slots, struct ox_winograd_job *j)
{
    const size_t each = is_heavy(j) ? 2 : 4;
    j->groups = j->tiles ? (j->tiles + j->group - 1) / j->group : 1;
    j->step = slots > 1 ? 1 : t->mr;
    if (slots > 1 && j->groups < each * slots) {
        const size_t wanted = ox_least(each * slots, j->tiles / t->mr);
        j->groups = ox_round_up(j->groups > wanted ? j->groups : wanted, slots);
    }
    j->group = ox_round_up((j->tiles + j->groups - 1) / j->groups, j->step);
}

void ox_winograd_plan(const struct ox_compute *t, const struct ox_conv *c, unsigned tile,
                      size_t slots, struct ox_winograd_job *j)
{
    enum { TASKS = 8 };
    /* Both sides of a group: transformed input and products. */
    const size_t depth = ox_winograd_depth(c);
    const size_t per_tile = ox_winograd_points(c, tile) * (depth + c->out_channels);
    j->t = t;
    j->c = c;
    j->tile = tile;
    j->side[0] = ox_winograd_side(c, tile, 0);
    j->side[1] = ox_winograd_side(c, tile, 1);
    j->down = ox_winograd_tiles(c, j->side[0], 0);
    j->across = ox_winograd_tiles(c, j->side[1], 1);
    j->tiles = c->batch * j->down * j->across;
    size_t group = t->block_floats * 2 / per_tile;
    const size_t least = (size_t)8 * t->mr;
    group = group < least ? least : group;
    const size_t share = (j->tiles + TASKS - 1) / TASKS;
    const double work = 2.0 * (double)per_tile * (double)j->tiles; /* transforms, not products */
    const size_t lower = (is_heavy(j) ? 8 : 4) * t->mr;
    if (work > 1e5 && share < group)
        group = share < lower ? lower : share;
    group = (group + t->mr - 1) / t->mr * t->mr;
    j->group = ox_even_part(j->tiles, group, t->mr);
    share_tiles(t, slots, j);
    j->depth = depth;
    j->cut = c->in_channels;
    j->in_plane = (j->group * depth + 15) / 16 * 16 + 16;
    j->out_plane = (j->group * c->out_channels + 15) / 16 * 16 + 16;
    j->parts = ox_triples_pay(t, j->tiles, c->out_channels, depth)
                   ? ox_triples_work(ox_dense_depth(t, depth))
                   : 0;
    j->slot = ox_winograd_points(c, tile) * (j->in_plane + j->out_plane) + j->parts;
}

size_t ox_winograd_zeros(const struct ox_conv *c)
{
    return (c->in_channels + 15) / 16 * 16;
}

size_t ox_conv_winograd_work(const struct ox_compute *t, const struct ox_env *env,
                             const struct ox_conv *c, unsigned tile)
{
    struct ox_winograd_job j;
    ox_winograd_plan(t, c, tile, ox_slots(env), &j);
    return ox_winograd_zeros(c) + ox_slots(env) * j.slot;
}

/* The patch of a tile whose first pixel is at y0, x0. */
static void find_pixels(const struct ox_winograd_job *j, const float *in, size_t y0, size_t x0,
                        const float **pixels)
{
    const struct ox_conv *c = j->c;
    const unsigned high = ox_winograd_reach(c, j->tile, 0);
    const unsigned wide = ox_winograd_reach(c, j->tile, 1);
    for (unsigned r = 0; r < high; r++) {
        const size_t y = y0 + r * c->dilation[0]; /* wraps above the image, x left of it */
        for (unsigned q = 0; q < wide; q++) {
            const size_t x = x0 + q * c->dilation[1];
            pixels[r * wide + q] =
                y < c->in[0] && x < c->in[1] ? in + (y * c->in[1] + x) * c->in_pixel : j->zeros;
        }
    }
}

void ox_winograd_inputs(const struct ox_winograd_job *j, size_t first, size_t n, size_t from,
                        size_t cuts, float *v)
{
    const struct ox_conv *c = j->c;
    const size_t all = ox_winograd_points(c, j->tile), across = ox_winograd_cuts(c, 1);
    const float *pixels[POINTS_MOST];
    struct ox_winograd_in w = {.in = pixels, .plane = j->in_plane};
    for (size_t i = 0; i < n; i++) {
        const size_t at = first + i, image = at / (j->down * j->across);
        const size_t y = ox_winograd_at(c, j->side[0], at / j->across % j->down, 0) * c->stride[0];
        const size_t x = ox_winograd_at(c, j->side[1], at % j->across, 1) * c->stride[1];
        for (size_t cut = from; cut < from + cuts; cut++) {
            const size_t down = cut / across * OX_WINOGRAD_TAPS * c->dilation[0];
            const size_t right = cut % across * OX_WINOGRAD_TAPS * c->dilation[1];
            find_pixels(j, j->in + image * j->in_batch, y + down - c->pad[0], x + right - c->pad[1],
                        pixels);
            w.out = v + i * j->depth + (cut - from) * j->cut;
            for (size_t k0 = 0; k0 < c->in_channels; k0 += w.channels) {
                w.channels = ox_least(j->depth, c->in_channels - k0);
                j->t->winograd_in[ox_winograd_form(c, j->tile)](&w);
                w.out += all * j->in_plane;
                for (unsigned p = 0; p < all; p++)
                    pixels[p] += w.channels;
            }
        }
    }
}

/* Weights at a point, from channel k0 on. */
static const float *weights_at(const struct ox_winograd_job *j, size_t p, size_t k0)
{
    const size_t plane = ox_dense_packed(j->t, ox_winograd_depth(j->c), j->c->out_channels);
    return j->packed + ox_winograd_weights_of(j->c, j->tile, p) * plane + k0 * j->t->nr;
}

/* All columns of a point's products at a time, in pieces of `depth`. */
static void products_by_parts(const struct ox_winograd_job *j, size_t n, size_t depth,
                              const float *v, float *m, float *work)
{
    const size_t k = ox_winograd_depth(j->c), points = ox_winograd_points(j->c, j->tile);
    struct ox_triples_lines lines = ox_triples_begin(work, depth);
    const float *row;
    struct ox_line l = {.row = &row,
                        .rows = 1,
                        .step = k,
                        .count = n,
                        .ldc = j->c->out_channels,
                        .cols = j->c->out_channels,
                        .panel = k * j->t->nr};
    for (size_t p = 0; p < points; p++) {
        l.c = m + p * j->out_plane;
        for (size_t k0 = 0; k0 < k; k0 += l.run) {
            l.run = ox_least(depth, k - k0);
            l.add = k0 > 0;
            l.b = weights_at(j, p, k0);
            row = v + p * j->in_plane + k0;
            const size_t left = k - k0 - l.run;
            const float *then = left             ? l.b + l.run * j->t->nr
                                : p + 1 < points ? weights_at(j, p + 1, 0)
                                                 : NULL;
            ox_triples_line(j->t, &l, &lines, then, ox_least(depth, left ? left : k));
        }
    }
}

/* As many panels of weights as are summed at once past all tiles, whose values stay in L2. */
static void products(const struct ox_winograd_job *j, size_t n, const float *v, float *m,
                     float *parts)
{
    const struct ox_compute *t = j->t;
    const size_t k = ox_winograd_depth(j->c), cols = j->c->out_channels;
    const size_t depth = ox_dense_depth(t, k);
    if (j->parts) {
        products_by_parts(j, n, depth, v, m, parts);
        return;
    }
    const float *row;
    struct ox_line l = {
        .row = &row, .rows = 1, .step = k, .count = n, .ldc = cols, .panel = k * t->nr};
    for (size_t p = 0; p < ox_winograd_points(j->c, j->tile); p++) {
        const float *b = weights_at(j, p, 0);
        for (size_t col = 0; col < cols; col += t->wide) {
            l.cols = ox_least(t->wide, cols - col);
            l.c = m + p * j->out_plane + col;
            for (size_t k0 = 0; k0 < k; k0 += l.run) {
                l.run = ox_least(depth, k - k0);
                l.add = k0 > 0;
                l.b = b + col * k + k0 * t->nr;
                row = v + p * j->in_plane + k0;
                t->line(&l);
            }
        }
    }
}

/* What the transform does not do itself. */
static void end_tile(const struct ox_winograd_job *j, size_t image, size_t pixel, size_t col,
                     const struct ox_winograd_out *w)
{
    const struct ox_conv *c = j->c;
    for (size_t y = 0; y < w->rows; y++) {
        struct ox_epilogue end = ox_end_at(
            j->end, image * c->out[0] * c->out[1] + pixel + y * c->dilation[0] * c->out[1], col);
        end.row_bias = NULL;
        end.residual_ld *= c->dilation[1];
        ox_end_all(j->t, w->cols, w->channels, w->out + y * w->row, w->pixel, &end);
    }
}

static void add_pixel(size_t n, const float *restrict a, const float *restrict b,
                      float *restrict to)
{
    enum { PIECE = 16 };
    size_t i = 0;
    for (; i + PIECE <= n; i += PIECE)
        for (size_t k = i; k < i + PIECE; k++)
            to[k] = a[k] + b[k];
    for (; i < n; i++)
        to[i] = a[i] + b[i];
}

/* Whether tiles are ended beside the output. */
static bool ends_aside(const struct ox_epilogue *end)
{
    return end->scale == 0 && (end->act == OX_ACT_ROW || end->act == OX_ACT_LEAKY ||
                               (end->residual && end->residual_last));
}

/* The pixels of a tile are in lines far apart: they come nearer while others are worked out. */
static void fetch_tile(const struct ox_winograd_out *w, const float *at, size_t row, size_t pixel)
{
    enum { LINE = 16 };
    for (size_t y = 0; y < w->rows; y++)
        for (size_t x = 0; x < w->cols; x++)
            for (size_t i = 0; i < w->channels; i += LINE)
                __builtin_prefetch(at + y * row + x * pixel + i, 0, 3);
}

/* What is done to few floats at a time takes long: the pixels of a tile go through their activation together, and are copied then. A
 * residual behind it is added meanwhile. */
static void end_aside(const struct ox_winograd_job *j, const struct ox_winograd_out *to, float *out)
{
    const struct ox_epilogue *end = j->end;
    const float *residual = end->residual_last ? to->residual : NULL;
    float tile[16 * OX_TILE_COLS_MAX];
    struct ox_winograd_out w = *to;
    w.out = tile;
    w.pixel = w.channels;
    w.row = w.cols * w.channels;
    if (residual) {
        fetch_tile(to, residual, w.residual_row, w.residual_pixel);
        w.residual = NULL;
    }
    fetch_tile(to, out, to->row, to->pixel);
    j->t->winograd_out[ox_winograd_form(j->c, j->tile)](&w);
    const struct ox_epilogue leaky = {.act = OX_ACT_LEAKY, .alpha = end->alpha};
    if (end->act == OX_ACT_ROW)
        end->row(end->row_arg, w.rows * w.row, tile);
    else if (end->act == OX_ACT_LEAKY)
        j->t->finish(w.rows * w.row, &leaky, tile);
    for (size_t y = 0; y < w.rows; y++) {
        const float *from = tile + y * w.row;
        float *line = out + y * to->row;
        if (!residual)
            ox_conv_copy_pixels(w.cols, w.channels, from, w.channels, line, to->pixel);
        for (size_t x = 0; residual && x < w.cols; x++)
            add_pixel(w.channels, from + x * w.channels,
                      residual + y * w.residual_row + x * w.residual_pixel, line + x * to->pixel);
    }
}

void ox_winograd_outputs(const struct ox_winograd_job *j, size_t first, size_t n, size_t col,
                         size_t cols, const float *m, size_t ld)
{
    const struct ox_conv *c = j->c;
    const struct ox_epilogue *end = j->end;
    const bool aside = ends_aside(end);
    const bool plain =
        aside || (end->scale == 0 && (end->act == OX_ACT_CLIP || end->act == OX_ACT_NONE));
    const bool clip = plain && end->act == OX_ACT_CLIP;
    struct ox_winograd_out w = {.channels = cols,
                                .plane = j->out_plane,
                                .row = c->dilation[0] * c->out[1] * c->out_pixel,
                                .pixel = c->dilation[1] * c->out_pixel,
                                .bias = plain && end->col_bias ? end->col_bias + col : NULL,
                                .residual_row = c->dilation[0] * c->out[1] * end->residual_ld,
                                .residual_pixel = c->dilation[1] * end->residual_ld,
                                .lo = clip ? end->lo : -INFINITY,
                                .hi = clip ? end->hi : INFINITY};
    for (size_t i = 0; i < n; i++) {
        const size_t at = first + i, image = at / (j->down * j->across);
        const size_t y = ox_winograd_at(c, j->side[0], at / j->across % j->down, 0),
                     x = ox_winograd_at(c, j->side[1], at % j->across, 1);
        const size_t pixel = y * c->out[1] + x;
        w.rows = (unsigned)ox_winograd_length(c, j->side[0], y, 0);
        w.cols = (unsigned)ox_winograd_length(c, j->side[1], x, 1);
        if (w.rows == 0 || w.cols == 0)
            continue;
        float *out = j->out + image * j->out_batch + pixel * c->out_pixel + col;
        w.in = m + i * ld;
        w.residual =
            plain && end->residual
                ? end->residual + (image * c->out[0] * c->out[1] + pixel) * end->residual_ld + col
                : NULL;
        if (aside) {
            end_aside(j, &w, out);
            continue;
        }
        w.out = out;
        j->t->winograd_out[ox_winograd_form(j->c, j->tile)](&w);
        if (!plain)
            end_tile(j, image, pixel, col, &w);
    }
}

static void run_task(void *arg, size_t i, size_t slot)
{
    const struct ox_winograd_job *j = arg;
    const size_t first = ox_part_at(j->tiles, j->groups, j->step, i);
    const size_t n = ox_part_at(j->tiles, j->groups, j->step, i + 1) - first;
    float *v = j->work + slot * j->slot;
    float *m = v + ox_winograd_points(j->c, j->tile) * j->in_plane;
    ox_winograd_inputs(j, first, n, 0, ox_winograd_all_cuts(j->c), v);
    products(j, n, v, m, v + j->slot - j->parts);
    const size_t all = j->c->out_channels, some = ends_aside(j->end) ? OX_TILE_COLS_MAX : all;
    for (size_t col = 0; col < all; col += some)
        ox_winograd_outputs(j, first, n, col, ox_least(some, all - col), m + col, all);
}

void ox_winograd_begin(struct ox_winograd_job *j, const float *packed, const float *in, float *out,
                       const struct ox_epilogue *end, float *work)
{
    const struct ox_conv *c = j->c;
    j->packed = packed;
    j->in = in;
    j->out = out;
    j->end = end;
    j->in_batch = ox_conv_in_batch(c);
    j->out_batch = ox_conv_out_batch(c);
    j->zeros = work;
    j->work = work + ox_winograd_zeros(c);
    memset(work, 0, ox_winograd_zeros(c) * sizeof *work);
}

double ox_winograd_flops(const struct ox_winograd_job *j)
{
    return 2.0 * (double)(j->tiles * ox_winograd_points(j->c, j->tile)) *
           (double)ox_winograd_depth(j->c) * (double)j->c->out_channels;
}

void ox_conv_winograd(const struct ox_compute *t, struct ox_env *env, const struct ox_conv *c,
                      unsigned tile, const float *packed, const float *in, float *out,
                      const struct ox_epilogue *end, float *work)
{
    struct ox_winograd_job j;
    memset(&j, 0, sizeof j);
    ox_winograd_plan(t, c, tile, ox_slots(env), &j);
    ox_winograd_begin(&j, packed, in, out, end, work);
    ox_spread_sums(env, j.groups, ox_winograd_flops(&j), run_task, &j);
}
