/* 3x3 convolution of 8-bit integers, stride 1, by Winograd's minimal filtering over tiles of 4x4 outputs (points 0, 1, -1, 2, -2 and
 * infinity), exactly: with G's rows taken 4, -6, -6, 24, 24 and 1 times, weights and data are whole numbers of 16 bits at all 36
 * points (255 * 68 and 128 * 49 at most), and the way back gives 576 times each sum, less a power of two that some outputs spare.
 * Sums wrap: 9 is divided out by its inverse modulo 2^32 and 64 by a shift, which finds every sum below 2^25 again. */
#include <string.h>

#include "common/compiler.h"
#include "kernels/integer_impl.h"
#include "kernels/sizes.h"
#include "kernels/winograd_tiles.h"

enum { SIDE = 4, ALPHA = 6, POINTS = ALPHA * ALPHA, OUTPUTS = SIDE * SIDE, LINE = 64 };
enum { BLOCK_BYTES = 1 << 18, COLS = 64, LEAST_TILES = 8, LEAST_CHANNELS = 16 };
enum { LARGEST = 1 << 25 };
enum { INPUT_WORK = 200 }; /* a tile and channel, as ox_spread() counts */

bool ox_integer_winograd_can(const struct ox_integer *t, const struct ox_conv *c)
{
    return t->words && c->groups == 1 && c->kernel[0] == 3 && c->kernel[1] == 3 &&
           c->stride[0] == 1 && c->stride[1] == 1 && ox_winograd_reaches(c) && c->in_channels > 0 &&
           c->out_channels > 0 && c->in_channels < INT32_MAX / POINTS;
}

static size_t count_tiles(const struct ox_conv *c)
{
    return c->batch * ox_winograd_tiles(c, SIDE, 0) * ox_winograd_tiles(c, SIDE, 1);
}

/* Where bytes are multiplied twice as fast as words, filtering halves the time of the products, and that pays for the transforms only
 * with many channels, and for reading eight times the weights only with many tiles. Times are those of a vector of products, for a pair
 * of channels, by measurement; what is less than a tenth is not worth the memory. */
static bool beats_bytes(const struct ox_integer *t, const struct ox_conv *c, size_t tiles)
{
    const double direct = (double)(c->batch * c->out[0] * c->out[1]) * 9 / 64;
    const double back = 22 / (double)c->in_channels, forth = 10 / (double)c->out_channels;
    const double around = t->transforms * ((double)tiles * (back + forth) + 16);
    const double filtered = (double)tiles * POINTS / 32 + around;
    return filtered < 0.9 * direct;
}

bool ox_integer_winograd_pays(const struct ox_integer *t, const struct ox_conv *c)
{
    const size_t tiles = count_tiles(c), outputs = c->batch * c->out[0] * c->out[1];
    return ox_integer_winograd_can(t, c) && tiles >= LEAST_TILES &&
           c->in_channels >= LEAST_CHANNELS && c->out_channels >= LEAST_CHANNELS &&
           outputs >= tiles * OUTPUTS / 2 && (!t->fast_bytes || beats_bytes(t, c, tiles));
}

/* Words of a point's weights: panels as OX_INTEGER_PAIRS has them. */
static size_t plane_words(const struct ox_integer *t, const struct ox_conv *c)
{
    return ox_round_up(c->out_channels, t->nr) * ox_round_up(c->in_channels, 2);
}

size_t ox_integer_winograd_packed(const struct ox_integer *t, const struct ox_conv *c)
{
    size_t all;
    if (OX_MUL_OVERFLOWS(ox_round_up(c->out_channels, t->nr), ox_round_up(c->in_channels, 2),
                         &all) ||
        OX_MUL_OVERFLOWS(all, POINTS * sizeof(int16_t), &all))
        return SIZE_MAX;
    return all;
}

/* ---- Weights ------------------------------------------------------------------------------------------------------- */

enum { LANES = 2 * OX_TILE_COLS_MAX };

/* Three of the kernel to six points, for n lanes. */
static void transform(size_t n, const int16_t (*g)[LANES], size_t step, int16_t (*out)[LANES])
{
    const int16_t *a = g[0], *b = g[step], *c = g[2 * step];
    for (size_t l = 0; l < n; l++) {
        const int16_t one = (int16_t)(a[l] + c[l]), two = (int16_t)(a[l] + 4 * c[l]);
        out[0][l] = a[l];
        out[1][l] = (int16_t)(one + b[l]);
        out[2][l] = (int16_t)(one - b[l]);
        out[3][l] = (int16_t)(two + 2 * b[l]);
        out[4][l] = (int16_t)(two - 2 * b[l]);
        out[5][l] = c[l];
    }
}

struct packing {
    const struct ox_integer *t;
    const struct ox_conv *c;
    const uint8_t *weights;
    uint8_t flip;
    int16_t *out;
};

static int16_t weight_at(const struct packing *p, size_t i)
{
    return (int16_t)((p->weights[i] ^ p->flip ^ 0x80) - 0x80);
}

/* One panel of output channels at all points, two input channels at a time. */
static void pack_panel(void *arg, size_t i, size_t slot)
{
    const struct packing *p = arg;
    const size_t nr = p->t->nr, k = p->c->in_channels, n = p->c->out_channels;
    const size_t plane = plane_words(p->t, p->c), first = i * nr;
    int16_t *to = p->out + first * ox_round_up(k, 2);
    (void)slot;
    for (size_t u = 0; u < k; u += 2, to += 2 * nr) {
        int16_t g[9][LANES] = {{0}}, half[3 * ALPHA][LANES], all[ALPHA][LANES];
        for (size_t l = 0; l < 2 * nr; l++) {
            const size_t col = first + l / 2, channel = u + l % 2;
            for (size_t q = 0; col < n && channel < k && q < 9; q++)
                g[q][l] = weight_at(p, (col * k + channel) * 9 + q);
        }
        for (size_t q = 0; q < 3; q++)
            transform(2 * nr, (const int16_t(*)[LANES])g + q, 3, half + q * ALPHA);
        for (size_t y = 0; y < ALPHA; y++) {
            transform(2 * nr, (const int16_t(*)[LANES])half + y, ALPHA, all);
            for (size_t x = 0; x < ALPHA; x++)
                memcpy(to + (y * ALPHA + x) * plane, all[x], 2 * nr * sizeof *to);
        }
    }
}

static bool sums_are_small(const struct packing *p)
{
    const size_t count = p->c->in_channels * 9;
    for (size_t j = 0; j < p->c->out_channels; j++) {
        int64_t above = 0, below = 0;
        for (size_t i = 0; i < count; i++) {
            const int16_t w = weight_at(p, j * count + i);
            above += w > 0 ? w : 0;
            below += w < 0 ? -w : 0;
        }
        if (above * 255 >= LARGEST || below * 255 >= LARGEST)
            return false;
    }
    return true;
}

bool ox_integer_winograd_pack(const struct ox_integer *t, struct ox_env *env,
                              const struct ox_conv *c, const void *weights, bool is_signed,
                              void *out)
{
    struct packing p = {t, c, weights, is_signed ? 0 : 0x80, out};
    if (!sums_are_small(&p))
        return false;
    ox_spread(env, (c->out_channels + t->nr - 1) / t->nr,
              (double)(c->in_channels * c->out_channels) * 60, pack_panel, &p);
    return true;
}

/* ---- Runs ---------------------------------------------------------------------------------------------------------- */

struct job {
    const struct ox_integer *t;
    const struct ox_conv *c;
    const int16_t *packed;
    const uint8_t *in, *zeros;
    char *out;
    uint8_t flip;
    const struct ox_integer_end *end;
    size_t in_batch, out_batch, out_size;
    size_t down, across, tiles; /* tiles of an image each way, of all images */
    size_t groups, step, group; /* of tiles; the tiles of one at most */
    bool apart;                 /* each thread takes groups of its own, with points of its own */
    size_t width, plane;        /* words of a tile at a point, of a group at a point */
    int16_t *points;
    size_t rows, cols; /* of a block of sums */
    size_t n_cols, sums_plane, slot;
    int32_t *sums;
};

/* Tiles first to first + n, and where their points are. */
struct group {
    const struct job *j;
    size_t first, n, n_rows;
    int16_t *points;
};

/* Lines of different points must not share their cache sets. */
static size_t apart(size_t elements)
{
    return ox_round_up(elements, LINE) + LINE / 2;
}

static void plan(const struct ox_integer *t, const struct ox_conv *c, size_t slots, struct job *j)
{
    memset(j, 0, sizeof *j);
    j->t = t;
    j->c = c;
    j->down = ox_winograd_tiles(c, SIDE, 0);
    j->across = ox_winograd_tiles(c, SIDE, 1);
    j->tiles = count_tiles(c);
    j->width = ox_round_up(c->in_channels, LINE / 2);
    const size_t least = (size_t)4 * t->mr, group = t->points_near / (POINTS * 2 * j->width);
    const size_t most = group < least ? least : group / t->mr * t->mr;
    j->groups = j->tiles ? (j->tiles + most - 1) / most : 1;
    j->apart = slots > 1 && j->groups >= slots;
    if (j->apart)
        j->groups = ox_round_up(j->groups, slots);
    j->step = slots > 1 ? 1 : t->mr;
    j->group = ox_even_part(j->tiles, (j->tiles + j->groups - 1) / j->groups, j->step);
    j->plane = apart(j->group * j->width);
    j->cols = ox_even_part(c->out_channels, ox_round_up(COLS, t->nr), t->nr);
    const size_t rows = BLOCK_BYTES / (POINTS * sizeof(int32_t) * j->cols);
    j->rows = ox_even_part(j->group, ox_round_up(rows, t->mr), t->mr);
    j->n_cols = (c->out_channels + j->cols - 1) / j->cols;
    j->sums_plane = apart(j->rows * j->cols);
    j->slot = POINTS * j->sums_plane + OUTPUTS * j->cols;
}

static size_t zero_bytes(const struct ox_conv *c)
{
    return ox_round_up(c->in_channels, LINE);
}

size_t ox_integer_winograd_work(const struct ox_integer *t, const struct ox_env *env,
                                const struct ox_conv *c)
{
    struct job j;
    plan(t, c, ox_slots(env), &j);
    return zero_bytes(c) + (j.apart ? ox_slots(env) : 1) * POINTS * j.plane * sizeof *j.points +
           ox_slots(env) * j.slot * sizeof *j.sums;
}

static void tile_at(const struct job *j, size_t tile, size_t *image, size_t *y, size_t *x)
{
    const size_t a_image = j->down * j->across;
    *image = tile / a_image;
    *y = ox_winograd_at(j->c, SIDE, tile % a_image / j->across, 0);
    *x = ox_winograd_at(j->c, SIDE, tile % j->across, 1);
}

static void input(void *arg, size_t i, size_t slot)
{
    const struct group *g = arg;
    const struct job *j = g->j;
    const struct ox_conv *c = j->c;
    const uint8_t *pixels[POINTS];
    size_t image, y, x;
    (void)slot;
    tile_at(j, g->first + i, &image, &y, &x);
    const uint8_t *in = j->in + image * j->in_batch;
    for (size_t p = 0; p < POINTS; p++) {
        const size_t row = y + p / ALPHA * c->dilation[0] - c->pad[0];
        const size_t col = x + p % ALPHA * c->dilation[1] - c->pad[1];
        const bool inside = row < c->in[0] && col < c->in[1]; /* what lies before wraps */
        pixels[p] = inside ? in + (row * c->in[1] + col) * c->in_pixel : j->zeros;
    }
    const struct ox_integer_points w = {.channels = c->in_channels,
                                        .in = pixels,
                                        .flip = j->flip,
                                        .out = g->points + i * j->width,
                                        .plane = j->plane};
    j->t->points(&w);
}

/* Products of rows first to first + n and a block of columns at all points. Each point's weights come nearer while those of the point
 * before it are multiplied. */
static void multiply(const struct group *g, size_t first, size_t n, size_t col, size_t cols,
                     int32_t *sums)
{
    const struct job *j = g->j;
    const struct ox_integer *t = j->t;
    const size_t depth = ox_round_up(j->c->in_channels, 2), plane = plane_words(t, j->c);
    const size_t step = ox_even_part(n, t->mr, 1), most = (size_t)t->panels * t->nr;
    const uint8_t *rows[OX_TILE_ROWS_MAX];
    struct ox_integer_tile tile = {.a = rows,
                                   .segments = 1,
                                   .depth = depth * sizeof(int16_t),
                                   .panel = t->nr * depth * sizeof(int16_t),
                                   .ldc = j->cols,
                                   .later_step = LINE};
    const size_t weights = ox_round_up(cols, t->nr) * depth * sizeof(int16_t);
    for (size_t p = 0; p < POINTS; p++) {
        const int16_t *a = g->points + p * j->plane + first * j->width;
        const bool last = p + 1 == POINTS;
        const char *later = (const char *)(j->packed + (last ? p : p + 1) * plane + col * depth);
        const char *const end = last ? later : later + weights;
        for (size_t k = 0; k < cols; k += most) {
            tile.b = j->packed + p * plane + (col + k) * depth;
            tile.cols = (unsigned)ox_least(most, cols - k);
            for (size_t m = 0; m < n; m += step) {
                tile.rows = (unsigned)ox_least(step, n - m);
                tile.c = sums + p * j->sums_plane + m * j->cols + k;
                for (size_t i = 0; i < tile.rows; i++)
                    rows[i] = (const uint8_t *)(a + (m + i) * j->width);
                tile.later = later < end ? later : NULL;
                later += tile.depth / 4 * LINE * (2 * tile.rows > t->mr ? 2 : 1);
                t->words(&tile);
            }
        }
    }
}

static void leave(const struct job *j, size_t tile, size_t col, size_t cols, const int32_t *sums)
{
    const struct ox_conv *c = j->c;
    const struct ox_integer_end end = ox_integer_end_at(j->end, col);
    size_t image, y, x;
    tile_at(j, tile, &image, &y, &x);
    char *out = j->out + (image * j->out_batch + col) * j->out_size;
    const size_t rows = ox_winograd_length(c, SIDE, y, 0);
    for (size_t i = 0; i < rows; i++) {
        const size_t pixel = (y + i * c->dilation[0]) * c->out[1] + x;
        const struct ox_integer_sums line = {.rows = ox_winograd_length(c, SIDE, x, 1),
                                             .n = cols,
                                             .sums = sums + i * SIDE * j->cols,
                                             .ld = j->cols,
                                             .out = out + pixel * c->out_pixel * j->out_size,
                                             .out_row = c->dilation[1] * c->out_pixel};
        ox_integer_leave(j->t, &line, &end);
    }
}

static void output(void *arg, size_t task, size_t slot)
{
    const struct group *g = arg;
    const struct job *j = g->j;
    const size_t first = task % g->n_rows * j->rows, n = ox_least(j->rows, g->n - first);
    const size_t col = task / g->n_rows * j->cols;
    const size_t cols = ox_least(j->cols, j->c->out_channels - col);
    int32_t *sums = j->sums + slot * j->slot, *all = sums + POINTS * j->sums_plane;
    multiply(g, first, n, col, cols, sums);
    for (size_t i = 0; i < n; i++) {
        const struct ox_integer_outputs w = {
            .n = cols, .in = sums + i * j->cols, .plane = j->sums_plane, .out = all, .ld = j->cols};
        j->t->outputs(&w);
        leave(j, g->first + first + i, col, cols, all);
    }
}

static struct group group_of(const struct job *j, size_t i)
{
    const size_t first = ox_part_at(j->tiles, j->groups, j->step, i);
    const size_t n = ox_part_at(j->tiles, j->groups, j->step, i + 1) - first;
    return (struct group){j, first, n, (n + j->rows - 1) / j->rows, j->points};
}

static void whole_group(void *arg, size_t task, size_t slot)
{
    const struct job *j = arg;
    struct group g = group_of(j, task);
    g.points += slot * POINTS * j->plane;
    for (size_t i = 0; i < g.n; i++)
        input(&g, i, slot);
    for (size_t i = 0; i < g.n_rows * j->n_cols; i++)
        output(&g, i, slot);
}

void ox_integer_winograd_run(const struct ox_integer *t, struct ox_env *env,
                             const struct ox_conv *c, const void *packed, const void *in,
                             bool in_signed, int32_t in_zero, void *out,
                             const struct ox_integer_end *end, void *work)
{
    const size_t slots = ox_slots(env);
    const double products =
        (double)c->out_channels * (double)c->in_channels * POINTS; /* a tile's */
    struct job j;
    plan(t, c, slots, &j);
    j.packed = packed;
    j.in = in;
    j.zeros = work;
    j.out = out;
    j.flip = in_signed ? 0x80 : 0;
    j.end = end;
    j.out_size = ox_integer_out_size(end->type);
    j.in_batch = ox_conv_in_batch(c);
    j.out_batch = ox_conv_out_batch(c);
    j.points = (int16_t *)(void *)((char *)work + zero_bytes(c));
    j.sums = (int32_t *)(void *)(j.points + (j.apart ? slots : 1) * POINTS * j.plane);
    memset(work, (uint8_t)in_zero, zero_bytes(c));
    if (j.apart) {
        ox_spread(env, j.groups, (double)j.tiles * products, whole_group, &j);
        return;
    }
    for (size_t i = 0; i < j.groups; i++) {
        struct group g = group_of(&j, i);
        ox_spread(env, g.n, (double)g.n * (double)c->in_channels * INPUT_WORK, input, &g);
        ox_spread(env, g.n_rows * j.n_cols, (double)g.n * products, output, &g);
    }
}
