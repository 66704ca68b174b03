#include "kernels/convolve_planes.h"

#include <stdint.h>
#include <string.h>

#include "common/compiler.h"
#include "kernels/dense_impl.h"
#include "kernels/inline.h"

struct job {
    const struct ox_compute *t;
    const struct ox_plane_conv *c;
    size_t depth, cols;   /* of a block */
    size_t blocks, slots; /* of pixels an image and group; floats of work a slot */
    float *work;
};

static void plan(const struct ox_compute *t, const struct ox_plane_conv *c, struct job *job)
{
    enum { TASKS = 16 };
    const size_t k = c->channels * c->taps, pixels = c->lines * c->width;
    *job = (struct job){.t = t, .c = c, .depth = ox_even_part(k, t->depth_most, 1)};
    size_t most = t->block_floats / job->depth / t->nr * t->nr;
    const size_t each = (pixels + TASKS - 1) / TASKS;
    most = most > each ? (each + t->nr - 1) / t->nr * t->nr : most;
    job->cols = ox_even_part(pixels, most > t->nr ? most : t->nr, t->nr);
    job->blocks = (pixels + job->cols - 1) / job->cols;
    /* A row that is copied in two pieces writes into the row behind it. */
    job->slots =
        (job->depth * job->cols + 2 * OX_TILE_COLS_MAX - 1) / OX_TILE_COLS_MAX * OX_TILE_COLS_MAX;
}

size_t ox_plane_conv_work(const struct ox_compute *t, const struct ox_env *env,
                          const struct ox_plane_conv *c)
{
    struct job job;
    plan(t, c, &job);
    return job.slots > SIZE_MAX / 256 ? SIZE_MAX : job.slots * ox_slots(env);
}

enum { LINE = 64, TOGETHER = 8, AHEAD = 4, RUNS = 8 };

/* Where the pixels of a panel start, and runs of adjacent ones. */
struct panel {
    unsigned n;           /* pixels */
    unsigned runs;        /* 0: too many, or what is read behind them is not there */
    unsigned start[RUNS]; /* the first pixel of each */
    unsigned most;        /* floats that are copied of each, its pixels at least */
    size_t at[OX_TILE_COLS_MAX];
};

static void find_pixels(const struct ox_plane_conv *c, size_t from, unsigned n, unsigned nr,
                        struct panel *p)
{
    size_t line = from / c->width, column = from % c->width;
    p->n = n;
    p->runs = 0;
    bool few = !c->ends || n == nr;
    for (unsigned q = 0; q < n; q++) {
        if (q == 0 || column == 0) {
            few = few && p->runs < RUNS;
            if (few)
                p->start[p->runs++] = q;
        }
        p->at[q] = c->line[line] + column;
        if (++column == c->width) {
            column = 0;
            line++;
        }
    }
    p->runs = few ? p->runs : 0;
    p->most = c->width <= 8 ? 8 : c->width <= 16 ? 16 : nr;
}

INLINE void copy_row(float *to, const float *from, unsigned nr)
{
    if (nr == 32) /* known sizes need no call */
        memcpy(to, from, 32 * sizeof *to);
    else if (nr == 16)
        memcpy(to, from, 16 * sizeof *to);
    else if (nr == 8)
        memcpy(to, from, 8 * sizeof *to);
    else
        memcpy(to, from, nr * sizeof *to);
}

/* One row of a panel; behind it there is room where another follows. */
INLINE void pack_row(const struct panel *p, const float *from, unsigned nr, bool follows,
                     float *out)
{
    if (!p->runs) {
        for (unsigned q = 0; q < p->n; q++)
            out[q] = from[p->at[q]];
        for (unsigned q = p->n; q < nr; q++)
            out[q] = 0;
        return;
    }
    if (p->runs == 1) {
        copy_row(out, from + p->at[0], nr);
        return;
    }
    for (unsigned r = 0; r < p->runs; r++) {
        const unsigned start = p->start[r];
        if (follows || start + p->most <= nr)
            copy_row(out + start, from + p->at[start], p->most);
        else
            memcpy(out + start, from + p->at[start], (nr - start) * sizeof *out);
    }
}

/* A channel's plane and a tap: a row of the right side. */
struct row {
    const float *plane;
    size_t tap;
};

INLINE const float *next_row(const struct ox_plane_conv *c, struct row *row)
{
    const float *from = row->plane + c->tap[row->tap];
    if (++row->tap == c->taps) {
        row->tap = 0;
        row->plane += c->plane;
    }
    return from;
}

/* Rows [kk, kk + k) of n panels: a row's pixels lie together, and far from the next row's. Of several panels these come into the cache
 * before; the two lines of one that is wider the processor fetches as fast by itself. */
INLINE void pack_panels(const struct ox_plane_conv *c, const float *x, const struct panel *p,
                        size_t n, unsigned nr, size_t kk, size_t k, float *out)
{
    struct row row = {x + kk / c->taps * c->plane, kk % c->taps}, later = row;
    for (size_t i = 0; i < AHEAD && i < k; i++)
        next_row(c, &later);
    for (size_t i = 0; i < k; i++) {
        const float *from = next_row(c, &row);
        const float *ahead = i + AHEAD < k ? next_row(c, &later) : from;
        for (size_t j = 0; j < n; j++) {
            if (n > 1)
                __builtin_prefetch(ahead + p[j].at[0]);
            pack_row(p + j, from, nr, i + 1 < k, out + (j * k + i) * nr);
        }
    }
}

static void multiply(const struct job *job, const float *weights, const float *bias, size_t kk,
                     size_t k, size_t cols, const float *right, float *y)
{
    const struct ox_plane_conv *c = job->c;
    const size_t depth = c->channels * c->taps, pixels = c->lines * c->width;
    const float *a[OX_TILE_ROWS_MAX];
    struct ox_epilogue end = c->end ? *c->end : (struct ox_epilogue){.act = OX_ACT_NONE};
    end.col_bias = end.residual = NULL;
    for (size_t i = 0; i < c->rows; i += job->t->mr) {
        end.row_bias = bias ? bias + i : NULL;
        struct ox_block b = {.t = job->t,
                             .a = a,
                             .segments = 1,
                             .depth = k,
                             .packed = right,
                             .panel = k,
                             .c = y + i * pixels,
                             .ldc = pixels,
                             .cols = cols,
                             .add = kk > 0,
                             .end = kk + k == depth ? &end : NULL};
        b.rows = c->rows - i < job->t->mr ? (unsigned)(c->rows - i) : job->t->mr;
        for (unsigned r = 0; r < b.rows; r++)
            a[r] = weights + (i + r) * depth + kk;
        ox_block_panels(&b);
    }
}

static void convolve_block(void *arg, size_t i, size_t slot)
{
    const struct job *job = arg;
    const struct ox_plane_conv *c = job->c;
    const unsigned nr = job->t->nr;
    const size_t depth = c->channels * c->taps, pixels = c->lines * c->width;
    const size_t from = i % job->blocks * job->cols, part = i / job->blocks;
    const size_t cols = pixels - from < job->cols ? pixels - from : job->cols;
    const size_t group = part % c->groups;
    const float *x = c->x + part * c->channels * c->plane;
    const float *weights = c->weights + group * c->rows * depth;
    const float *bias = c->bias ? c->bias + group * c->rows : NULL;
    float *right = job->work + slot * job->slots;
    float *y = c->y + part * c->rows * pixels + from;
    const size_t most = nr * sizeof(float) <= LINE ? TOGETHER : 1;
    struct panel panels[TOGETHER];
    for (size_t kk = 0; kk < depth; kk += job->depth) {
        const size_t k = depth - kk < job->depth ? depth - kk : job->depth;
        for (size_t j = 0, n; j < cols; j += n * nr) {
            for (n = 0; n < most && j + n * nr < cols; n++) {
                const size_t at = j + n * nr, left = cols - at;
                find_pixels(c, from + at, left < nr ? (unsigned)left : nr, nr, &panels[n]);
            }
            if (n == 1) /* without a loop */
                pack_panels(c, x, panels, 1, nr, kk, k, right + j * k);
            else
                pack_panels(c, x, panels, n, nr, kk, k, right + j * k);
        }
        multiply(job, weights, bias, kk, k, cols, right, y);
    }
}

void ox_plane_conv_run(const struct ox_compute *t, struct ox_env *env,
                       const struct ox_plane_conv *c, float *work)
{
    struct job job;
    plan(t, c, &job);
    job.work = work;
    const double macs = (double)(c->batch * c->groups * c->rows) * (double)(c->lines * c->width) *
                        (double)(c->channels * c->taps);
    ox_spread_sums(env, c->batch * c->groups * job.blocks, 2 * macs, convolve_block, &job);
}
