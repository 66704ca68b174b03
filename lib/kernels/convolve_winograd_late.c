/* Winograd's filtering with weights that are transformed as they are used, for they would take much memory: all input comes first, and
 * a panel of output channels at a time goes through the products, so that a weight is read and transformed once for many tiles.
 * Where that would be much memory a portion of the tiles goes at a time, of a larger kernel by one piece after another. */
#include <string.h>

#include "kernels/convolve_winograd.h"

enum { LATE_INPUTS = 8 };

struct late {
    struct ox_winograd_job j;
    size_t cols;           /* of a task: panels that go past the input together, */
    size_t piece;          /* and floats of their weights from point to point */
    size_t part;           /* floats of a panel's weights that are put together as they are used */
    size_t portion, from;  /* tiles that go together, and the first now */
    size_t cuts, from_cut; /* pieces of the kernel that do, and the first now */
    size_t inputs, products; /* floats of work that all tasks share */
};

/* How many tiles of a line or of a large kernel go together; 0: all. What is transformed of a large kernel's input and its products take
 * no more than half of what the weights do, which were in memory twice when they were packed. */
static size_t portion_of(const struct ox_winograd_job *j)
{
    enum { FLOATS = 1 << 19, FLOATS_OF_LINE = 5 << 16 };
    const struct ox_conv *c = j->c;
    const bool line = ox_winograd_is_line(c);
    const double points = (double)ox_winograd_points(c, j->tile);
    const double weights =
        (double)c->in_channels * (double)c->out_channels * (double)(c->kernel[0] * c->kernel[1]);
    const double input = points * (double)ox_winograd_depth(c);
    const double floats = input * (double)j->tiles;
    if ((ox_winograd_all_cuts(c) == 1 && !line) || floats <= (line ? FLOATS_OF_LINE : FLOATS) ||
        (floats <= weights && !line))
        return 0;
    const double most = line ? FLOATS_OF_LINE / input
                             : weights / 2 / (points * (double)(c->in_channels + c->out_channels));
    const size_t tiles = most < 1                    ? 1
                         : most < OX_CONV_LATE_TILES ? (size_t)most
                                                     : OX_CONV_LATE_TILES;
    return ox_even_part(j->tiles, tiles, 1);
}

/* Whether a piece has fewer taps than the others. */
static bool is_part(const struct ox_conv *c, size_t cut, unsigned axis)
{
    return c->kernel[axis] > 1 && ox_winograd_taps(c, cut, axis) < OX_WINOGRAD_TAPS;
}

static size_t taps_of(const struct ox_conv *c, size_t cut)
{
    return ox_winograd_taps(c, cut, 0) * ox_winograd_taps(c, cut, 1);
}

/* Columns of a task. Where they are few panels' the input, which often is too large for L2, comes from far for each few. */
static size_t cols_of(const struct late *l, bool by_pieces)
{
    enum { FEW = 8, PANELS_OF_LINE = 4 };
    const struct ox_winograd_job *j = &l->j;
    const size_t nr = j->t->nr, panels = (j->c->out_channels + nr - 1) / nr;
    size_t each = by_pieces                              ? 1
                  : ox_winograd_is_line(j->c)            ? PANELS_OF_LINE
                  : l->portion <= OX_CONV_LATE_TILES / 2 ? 2
                                                         : 1;
    each = ox_least(each, panels);
    for (; each > 1; each--) {
        const size_t tasks = (panels + each - 1) / each * j->groups;
        if (tasks >= FEW || tasks % 2 == 0) /* the last of few leaves one of two threads idle */
            break;
    }
    return each * nr;
}

/* Threads for which there is no panel of weights share the tiles, though each transforms the weights then. */
static void share_tiles(struct late *l, size_t slots)
{
    enum { LEAST = 8 };
    struct ox_winograd_job *j = &l->j;
    const size_t tasks = (j->c->out_channels + l->cols - 1) / l->cols * j->groups;
    const size_t parts = ox_least(slots / (tasks ? tasks : 1), j->group / LEAST);
    if (parts < 2)
        return;
    j->group = (j->group + parts - 1) / parts;
    j->groups = (l->portion + j->group - 1) / j->group;
}

/* A group is what one panel of weights goes past. */
static void plan_late(const struct ox_compute *t, const struct ox_conv *c, unsigned tile,
                      size_t slots, struct late *l)
{
    struct ox_winograd_job *j = &l->j;
    ox_winograd_plan(t, c, tile, 1, j);
    const size_t points = ox_winograd_points(c, tile), portion = portion_of(j);
    const size_t last = ox_winograd_all_cuts(c) - 1;
    l->portion = portion ? portion : j->tiles;
    const bool by_pieces = portion > 0 && !ox_winograd_is_line(c);
    l->cuts = by_pieces ? 1 : last + 1;
    j->group = ox_even_part(l->portion, OX_CONV_LATE_TILES, 1);
    j->groups = (l->portion + j->group - 1) / j->group;
    l->cols = cols_of(l, by_pieces);
    if (!by_pieces)
        share_tiles(l, slots);
    /* Of one panel a part is brought nearer while another is used. */
    const bool few = c->out_channels <= t->nr || by_pieces;
    const size_t depth = few                      ? OX_CONV_LATE_DEPTH / 2
                         : ox_winograd_is_line(c) ? OX_CONV_LATE_DEPTH
                                                  : t->late_depth * t->nr / l->cols;
    j->depth = ox_even_part(c->in_channels, depth, 1);
    l->piece = j->depth * l->cols + 16;
    j->in_plane = (l->portion * j->depth + 15) / 16 * 16 + 16;
    j->out_plane = j->group * l->cols + 16;
    j->cut = (c->in_channels + j->depth - 1) / j->depth * points * j->in_plane;
    l->inputs = l->cuts * j->cut;
    l->products = by_pieces ? (c->out_channels + l->cols - 1) / l->cols * points * j->out_plane : 0;
    const bool parts = is_part(c, last, 0) || is_part(c, last, 1);
    l->part = c->stored || parts ? j->depth * taps_of(c, 0) * t->nr : 0;
    j->slot = ox_winograd_pieces(c, tile) * l->piece + l->part;
    j->slot += by_pieces ? 0 : points * j->out_plane;
}

size_t ox_conv_winograd_late_portion(const struct ox_compute *t, const struct ox_conv *c,
                                     unsigned tile)
{
    struct late l;
    plan_late(t, c, tile, 1, &l);
    return ox_least(l.portion, OX_CONV_LATE_TILES);
}

bool ox_conv_winograd_late_reads_stored(const struct ox_compute *t, const struct ox_conv *c,
                                        unsigned tile)
{
    struct late l;
    plan_late(t, c, tile, 1, &l);
    return t->taps_together && ox_winograd_all_cuts(c) == 1 && l.j.group == l.j.tiles;
}

size_t ox_conv_winograd_late_work(const struct ox_compute *t, const struct ox_env *env,
                                  const struct ox_conv *c, unsigned tile)
{
    struct late l;
    plan_late(t, c, tile, ox_slots(env), &l);
    return ox_winograd_zeros(c) + l.inputs + l.products + ox_slots(env) * l.j.slot;
}

static void inputs_task(void *arg, size_t i, size_t slot)
{
    const struct late *l = arg;
    const size_t first = i * LATE_INPUTS, tiles = ox_least(l->portion, l->j.tiles - l->from);
    (void)slot;
    ox_winograd_inputs(&l->j, l->from + first, ox_least(LATE_INPUTS, tiles - first), l->from_cut,
                       l->cuts, l->j.work + first * l->j.depth);
}

/* Weights of a block of channels from k0 on, of piece `cut`, in the panel at `col`; as ox_conv_winograd_late_pack() packed them, where that is
 * one stream. */
static const float *weights_at(const struct late *l, size_t col, size_t cut, size_t k0)
{
    const struct ox_conv *c = l->j.c;
    const size_t k = c->in_channels, all = c->kernel[0] * c->kernel[1];
    const size_t before = ox_winograd_taps_before(c, cut);
    return l->j.packed + col * k * all + (before * k + k0 * taps_of(c, cut)) * l->j.t->nr;
}

/* Weights of a piece of fewer taps, filled up with zeros. */
static void fill_up(const struct late *l, size_t cut, size_t run, const float *from, float *to)
{
    const struct ox_conv *c = l->j.c;
    const size_t nr = l->j.t->nr;
    const size_t high = ox_winograd_taps(c, cut, 0), all_high = ox_winograd_taps(c, 0, 0);
    const size_t wide = ox_winograd_taps(c, cut, 1), all_wide = ox_winograd_taps(c, 0, 1);
    for (size_t i = 0; i < run * all_high; i++, to += all_wide * nr) {
        const size_t some = i % all_high < high ? wide * nr : 0;
        memcpy(to, from, some * sizeof *to);
        memset(to + some, 0, (all_wide * nr - some) * sizeof *to);
        from += some;
    }
}

/* Says where weights lie: as they were packed, or are now. */
static void find_weights(const struct late *l, size_t col, size_t cut, size_t k0, float *part,
                         struct ox_winograd_weights *w)
{
    const struct ox_compute *t = l->j.t;
    const struct ox_conv *c = l->j.c;
    const size_t k = c->in_channels, taps = taps_of(c, 0);
    w->step = taps * t->nr;
    w->tap = t->nr;
    w->in = part;
    if (c->stored) {
        t->pack(w->depth * taps, (unsigned)ox_least(t->nr, c->out_channels - col),
                c->stored + (col * k + k0) * taps, 1, k * taps, part);
    } else if (is_part(c, cut, 0) || is_part(c, cut, 1)) {
        fill_up(l, cut, w->depth, weights_at(l, col, cut, k0), part);
    } else if (ox_winograd_all_cuts(c) > 1 || t->taps_together) {
        w->in = weights_at(l, col, cut, k0);
    } else {
        w->in = l->j.packed + (col * taps * k + k0 * t->nr);
        w->step = t->nr;
        w->tap = k * t->nr;
    }
    w->row = ox_winograd_taps(c, 0, 1) * w->tap;
}

/* Weights come from memory: during the products at point p of all a part of the next block's comes nearer. */
static void bring_nearer(const struct late *l, size_t col, size_t cut, size_t k0, size_t p)
{
    enum { LINE = 16 };
    const struct ox_conv *c = l->j.c;
    const size_t k = c->in_channels, n = c->out_channels, nr = l->j.t->nr,
                 all = ox_winograd_points(c, l->j.tile);
    k0 += l->j.depth;
    if (k0 >= k) {
        k0 = 0;
        cut++;
    }
    if (cut == l->from_cut + l->cuts) {
        cut = l->from_cut;
        col += l->cols;
    }
    const size_t run = ox_least(l->j.depth, k - k0) * taps_of(c, cut);
    if (c->stored) {
        const size_t cols = ox_least(col + l->cols, n) - ox_least(col, n);
        for (size_t i = p * cols / all; i < (p + 1) * cols / all; i++)
            for (size_t q = 0; q < run; q += LINE)
                __builtin_prefetch(c->stored + ((col + i) * k + k0) * taps_of(c, 0) + q, 0, 2);
        return;
    }
    const size_t end = ox_least(col + l->cols, ox_round_up(n, nr));
    const size_t part = (run * nr + all - 1) / all;
    for (; col < end; col += nr) {
        const float *from = weights_at(l, col, cut, k0) + p * part;
        for (size_t i = 0; i < part; i += LINE)
            __builtin_prefetch(from + i, 0, 2);
    }
}

/* Whether all weights at point p are 0: the last along an axis has the last tap alone. */
static bool is_zero(const struct late *l, size_t cut, size_t p)
{
    const struct ox_conv *c = l->j.c;
    const size_t high = ox_winograd_reach(c, l->j.tile, 0),
                 wide = ox_winograd_reach(c, l->j.tile, 1);
    return (p / wide == high - 1 && is_part(c, cut, 0)) ||
           (p % wide == wide - 1 && is_part(c, cut, 1));
}

/* The products of a group of tiles by panels of weights, which begin at `col`, of a block of channels of a piece of the kernel. */
static void block_products(const struct late *l, size_t first, size_t col, size_t cut, size_t k0,
                           float *weights, struct ox_line *line)
{
    const struct ox_winograd_job *j = &l->j;
    const struct ox_compute *t = j->t;
    const size_t points = ox_winograd_points(j->c, j->tile);
    float *const part = weights + ox_winograd_pieces(j->c, j->tile) * l->piece, *const m = line->c;
    line->run = ox_least(j->depth, j->c->in_channels - k0);
    line->panel = line->run * t->nr;
    line->add = k0 > 0 || cut > 0;
    for (size_t i = 0; i < line->cols; i += t->nr) {
        struct ox_winograd_weights w = {
            .depth = line->run, .out = weights + i * line->run, .plane = l->piece};
        find_weights(l, col + i, cut, k0, part, &w);
        t->winograd_weights[ox_winograd_form(j->c, j->tile)](&w);
    }
    const float *in = j->work + (cut - l->from_cut) * j->cut + k0 / j->depth * points * j->in_plane;
    for (size_t p = 0; p < points; p++) {
        const float *const rows[] = {in + p * j->in_plane + first * j->depth};
        if (t->taps_together)
            bring_nearer(l, col, cut, k0, p);
        if (is_zero(l, cut, p))
            continue;
        line->row = rows;
        line->b = weights + ox_winograd_weights_of(j->c, j->tile, p) * l->piece;
        line->c = m + p * j->out_plane;
        t->line(line);
    }
    line->c = m;
}

static void late_task(void *arg, size_t i, size_t slot)
{
    const struct late *l = arg;
    const struct ox_winograd_job *j = &l->j;
    const struct ox_conv *c = j->c;
    const size_t tiles = ox_least(l->portion, j->tiles - l->from), strip = i / j->groups;
    const size_t first = i % j->groups * j->group, n = ox_least(j->group, tiles - first);
    const size_t nr = j->t->nr, col = strip * l->cols;
    const size_t end = ox_least(col + l->cols, c->out_channels);
    const size_t points = ox_winograd_points(c, j->tile), last = l->from_cut + l->cuts;
    float *const shared = j->work + l->inputs;
    float *const weights = shared + l->products + slot * j->slot;
    float *const m = l->products ? shared + strip * points * j->out_plane
                                 : weights + ox_winograd_pieces(c, j->tile) * l->piece + l->part;
    struct ox_line line = {
        .rows = 1, .step = j->depth, .count = n, .c = m, .ldc = l->cols, .cols = end - col};
    for (size_t cut = l->from_cut; cut < last; cut++)
        for (size_t k0 = 0; k0 < c->in_channels; k0 += j->depth)
            block_products(l, first, col, cut, k0, weights, &line);
    for (size_t at = col; at < end && last == ox_winograd_all_cuts(c); at += nr)
        ox_winograd_outputs(j, l->from + first, n, at, ox_least(nr, end - at), m + at - col,
                            l->cols);
}

void ox_conv_winograd_late(const struct ox_compute *t, struct ox_env *env, const struct ox_conv *c,
                           unsigned tile, const float *packed, const float *in, float *out,
                           const struct ox_epilogue *end, float *work)
{
    struct late l;
    memset(&l, 0, sizeof l);
    plan_late(t, c, tile, ox_slots(env), &l);
    ox_winograd_begin(&l.j, packed, in, out, end, work);
    const size_t strips = (c->out_channels + l.cols - 1) / l.cols, all = ox_winograd_all_cuts(c);
    for (l.from = 0; l.from < l.j.tiles; l.from += l.portion) {
        const size_t tiles = ox_least(l.portion, l.j.tiles - l.from);
        const double part = (double)(tiles * l.cuts) / (double)(l.j.tiles * all);
        for (l.from_cut = 0; l.from_cut < all; l.from_cut += l.cuts) {
            ox_spread_sums(env, (tiles + LATE_INPUTS - 1) / LATE_INPUTS,
                           32.0 * (double)(tiles * ox_winograd_points(c, tile)) *
                               (double)(c->in_channels * l.cuts),
                           inputs_task, &l);
            ox_spread_sums(env, strips * l.j.groups, ox_winograd_flops(&l.j) * part, late_task, &l);
        }
    }
}
