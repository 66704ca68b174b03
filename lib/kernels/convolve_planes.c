#include "kernels/convolve_planes.h"

#include <stdint.h>
#include <string.h>

#include "common/compiler.h"
#include "kernels/dense_impl.h"

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

/* Where the pixels of a panel start, and up to two runs of adjacent ones. */
struct panel {
    unsigned n, first; /* pixels; those of the first run */
    bool runs;         /* at most two, and what is read behind them is there */
    size_t at[OX_TILE_COLS_MAX];
};

static void find_pixels(const struct ox_plane_conv *c, size_t from, unsigned n, unsigned nr,
                        struct panel *p)
{
    size_t line = from / c->width, column = from % c->width;
    p->n = n;
    p->first = c->width - column < n ? (unsigned)(c->width - column) : n;
    p->runs = c->ends ? n == nr : p->first == n || c->width >= n - p->first;
    for (unsigned q = 0; q < n; q++) {
        p->at[q] = c->line[line] + column;
        if (++column == c->width) {
            column = 0;
            line++;
        }
    }
}

static inline void copy_row(float *to, const float *from, unsigned nr)
{
    if (nr == 32) /* known sizes need no call */
        memcpy(to, from, 32 * sizeof *to);
    else if (nr == 16)
        memcpy(to, from, 16 * sizeof *to);
    else
        memcpy(to, from, nr * sizeof *to);
}

/* Rows [kk, kk + k) of the pixels' taps, channel after channel. */
static void pack_panel(const struct ox_plane_conv *c, const float *x, const struct panel *p,
                       unsigned nr, size_t kk, size_t k, float *out)
{
    size_t tap = kk % c->taps;
    const float *plane = x + kk / c->taps * c->plane;
    for (size_t i = 0; i < k; i++, out += nr) {
        const float *from = plane + c->tap[tap];
        if (p->runs) {
            copy_row(out, from + p->at[0], nr);
            if (p->first < p->n)
                copy_row(out + p->first, from + p->at[p->first], nr);
        } else {
            for (unsigned q = 0; q < p->n; q++)
                out[q] = from[p->at[q]];
            for (unsigned q = p->n; q < nr; q++)
                out[q] = 0;
        }
        if (++tap == c->taps) {
            tap = 0;
            plane += c->plane;
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
    struct panel panel;
    for (size_t kk = 0; kk < depth; kk += job->depth) {
        const size_t k = depth - kk < job->depth ? depth - kk : job->depth;
        for (size_t j = 0; j < cols; j += nr) {
            find_pixels(c, from + j, cols - j < nr ? (unsigned)(cols - j) : nr, nr, &panel);
            pack_panel(c, x, &panel, nr, kk, k, right + j * k);
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
