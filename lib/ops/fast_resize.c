/* Resize over planes as they lie: the last two axes, of float32 to the nearest element or between two along each axis, of 8-bit
 * integers between two. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kernels/dense.h"
#include "ops/fast.h"
#include "ops/resize.h"

enum ox_status ox_resize_pairs(struct ox_run *r, const struct ox_resize *z, unsigned axis,
                               size_t *table, float *weights, struct ox_error *err)
{
    const struct ox_resample_axis *a = &z->axes[axis];
    size_t out = (size_t)a->out;
    bool same = ox_resample_is_identity(&z->how, a);
    int64_t *index = ox_run_scratch(r, 2 * out, sizeof *index, err);
    double *weight = ox_run_scratch(r, 2 * out, sizeof *weight, err);
    if (!index || !weight)
        return OX_NO_MEMORY;
    if (!same && z->how.mode == OX_RESAMPLE_NEAREST)
        ox_resample_nearest_list(&z->how, a, index);
    else if (!same && ox_resample_taps(&z->how, a) == 2)
        ox_resample_table(&z->how, a, 2, index, weight);
    else if (!same)
        return ox_run_fail(r, err, OX_INTERNAL, "more than two points to resize from");
    for (size_t i = 0; i < out; i++) {
        bool linear = !same && z->how.mode != OX_RESAMPLE_NEAREST;
        table[2 * i] = same ? i : (size_t)index[linear ? 2 * i : i];
        table[2 * i + 1] = linear ? (size_t)index[2 * i + 1] : table[2 * i];
        weights[i] = linear ? (float)weight[2 * i] : 1;
    }
    return OX_OK;
}

struct planes {
    const float *x;
    float *y, *work;
    size_t in[2], out[2];
    bool nearest, twice; /* twice: nearest, each column two times */
    const size_t *row, *col;
    const float *row_weight, *col_weight;
};

static bool as_before(const struct planes *p, size_t y)
{
    return y > 0 && memcmp(p->row + 2 * y, p->row + 2 * (y - 1), 2 * sizeof *p->row) == 0 &&
           p->row_weight[y] == p->row_weight[y - 1];
}

static const float *between_rows(const struct planes *p, const float *plane, size_t y, float *work)
{
    const float *a = plane + p->row[2 * y] * p->in[1], *b = plane + p->row[2 * y + 1] * p->in[1];
    const float f = p->row_weight[y], g = 1 - f;
    if (p->nearest || a == b)
        return a;
    for (size_t i = 0; i < p->in[1]; i++)
        work[i] = f * a[i] + g * b[i];
    return work;
}

static void double_row(const float *restrict line, size_t n, float *restrict out)
{
    for (size_t x = 0; x < n; x++)
        out[2 * x] = out[2 * x + 1] = line[x];
}

static bool doubles_columns(const struct planes *p)
{
    bool twice = p->nearest && p->out[1] == 2 * p->in[1];
    for (size_t x = 0; twice && x < p->out[1]; x++)
        twice = p->col[2 * x] == x / 2;
    return twice;
}

static void resize_plane(void *arg, size_t i, size_t slot)
{
    const struct planes *p = arg;
    const float *plane = p->x + i * p->in[0] * p->in[1];
    float *out = p->y + i * p->out[0] * p->out[1];
    for (size_t y = 0; y < p->out[0]; y++, out += p->out[1]) {
        if (as_before(p, y)) {
            memcpy(out, out - p->out[1], p->out[1] * sizeof *out);
            continue;
        }
        const float *line = between_rows(p, plane, y, p->work + slot * p->in[1]);
        const size_t *col = p->col;
        if (p->twice)
            double_row(line, p->in[1], out);
        for (size_t x = 0; !p->twice && p->nearest && x < p->out[1]; x++)
            out[x] = line[col[2 * x]];
        for (size_t x = 0; !p->nearest && x < p->out[1]; x++)
            out[x] =
                p->col_weight[x] * line[col[2 * x]] + (1 - p->col_weight[x]) * line[col[2 * x + 1]];
    }
}

/* Whether nothing but the last two axes changes, and these by one or two points a place. */
static bool is_simple(const struct ox_resize *z, const struct ox_tensor *x)
{
    if (z->how.coordinates == OX_COORD_CROP || z->how.antialias || z->how.mode == OX_RESAMPLE_CUBIC)
        return false;
    for (unsigned d = 0; d < x->rank; d++) {
        const bool same = ox_resample_is_identity(&z->how, &z->axes[d]);
        if (d + 2 < x->rank ? !same
                            : !same && z->how.mode != OX_RESAMPLE_NEAREST &&
                                  ox_resample_taps(&z->how, &z->axes[d]) != 2)
            return false;
    }
    return true;
}

/* ---- Integers ---------------------------------------------------------------------------------------------------- */

/* The elements that each place of an axis lies between, and their weights. */
struct places {
    int64_t *at;
    double *weight;
};

static enum ox_status find_places(struct ox_run *r, const struct ox_resize *z, unsigned axis,
                                  struct places *p, struct ox_error *err)
{
    const struct ox_resample_axis *a = &z->axes[axis];
    const size_t out = (size_t)a->out;
    p->at = ox_run_scratch(r, 2 * out, sizeof *p->at, err);
    p->weight = ox_run_scratch(r, 2 * out, sizeof *p->weight, err);
    if (!p->at || !p->weight)
        return OX_NO_MEMORY;
    if (!ox_resample_is_identity(&z->how, a)) {
        ox_resample_table(&z->how, a, 2, p->at, p->weight);
        return OX_OK;
    }
    for (size_t i = 0; i < out; i++) {
        p->at[2 * i] = p->at[2 * i + 1] = (int64_t)i;
        p->weight[2 * i] = 1;
        p->weight[2 * i + 1] = 0;
    }
    return OX_OK;
}

struct byte_planes {
    const uint8_t *x;
    uint8_t *y, flip; /* flip: 0x80 of signed ones */
    double *work;
    size_t in[2], out[2];
    struct places rows, cols;
};

/* In doubles, an axis after the other, as the reference kernel does it: the same codes. */
static void resize_byte_plane(void *arg, size_t i, size_t slot)
{
    const struct byte_planes *p = arg;
    const uint8_t *plane = p->x + i * p->in[0] * p->in[1];
    uint8_t *out = p->y + i * p->out[0] * p->out[1];
    double *line = p->work + slot * p->in[1];
    const int zero = p->flip;
    for (size_t y = 0; y < p->out[0]; y++) {
        const uint8_t *a = plane + (size_t)p->rows.at[2 * y] * p->in[1];
        const uint8_t *b = plane + (size_t)p->rows.at[2 * y + 1] * p->in[1];
        const double f = p->rows.weight[2 * y], g = p->rows.weight[2 * y + 1];
        for (size_t x = 0; x < p->in[1]; x++)
            line[x] = f * ((a[x] ^ p->flip) - zero) + g * ((b[x] ^ p->flip) - zero);
        for (size_t x = 0; x < p->out[1]; x++) {
            const double value = p->cols.weight[2 * x] * line[p->cols.at[2 * x]] +
                                 p->cols.weight[2 * x + 1] * line[p->cols.at[2 * x + 1]];
            const int code = (int)rint(value) + zero;
            *out++ = (uint8_t)(code < 0 ? 0 : code > UINT8_MAX ? UINT8_MAX : code) ^ p->flip;
        }
    }
}

static enum ox_status resize_bytes(struct ox_run *r, const struct ox_resize *z, size_t planes,
                                   const int64_t *dims, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    const unsigned h = x->rank - 2, w = x->rank - 1;
    struct ox_tensor *y;
    struct byte_planes p = {.x = x->data,
                            .flip = x->dtype == OX_INT8 ? 0x80 : 0,
                            .in = {(size_t)x->dims[h], (size_t)x->dims[w]},
                            .out = {(size_t)dims[h], (size_t)dims[w]}};
    OX_TRY(find_places(r, z, h, &p.rows, err));
    OX_TRY(find_places(r, z, w, &p.cols, err));
    p.work = ox_run_work(r, ox_slots(r->env) * p.in[1], sizeof *p.work, err);
    if (!p.work)
        return OX_NO_MEMORY;
    OX_TRY(ox_run_out(r, 0, x->dtype, x->rank, dims, &y, err));
    p.y = y->data;
    if (y->n)
        ox_spread(r->env, planes, (double)y->n * 40, resize_byte_plane, &p);
    return ox_env_poll(r->env, err);
}

enum ox_status ox_fast_resize(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    const bool bytes = x && (x->dtype == OX_UINT8 || x->dtype == OX_INT8);
    struct ox_resize z;
    struct ox_tensor *y;
    int64_t dims[4];
    if (!x || (!bytes && !ox_fast_in(r, 0)) || x->rank < 3 || x->rank > 4 || !x->n ||
        ox_resize_plan(r, x, &z, err) != OX_OK || !is_simple(&z, x) ||
        (bytes && z.how.mode == OX_RESAMPLE_NEAREST))
        return OX_UNSUPPORTED;
    size_t planes = 1;
    for (unsigned d = 0; d < x->rank; d++) {
        dims[d] = z.axes[d].out;
        planes *= d + 2 < x->rank ? (size_t)x->dims[d] : 1;
    }
    if (bytes)
        return resize_bytes(r, &z, planes, dims, err);
    const unsigned h = x->rank - 2, w = x->rank - 1;
    const size_t rows = (size_t)dims[h], cols = (size_t)dims[w];
    size_t *table = ox_run_scratch(r, 2 * (rows + cols), sizeof *table, err);
    float *weights = ox_run_scratch(r, rows + cols, sizeof *weights, err);
    if (!table || !weights)
        return OX_NO_MEMORY;
    OX_TRY(ox_resize_pairs(r, &z, h, table, weights, err));
    OX_TRY(ox_resize_pairs(r, &z, w, table + 2 * rows, weights + rows, err));
    struct planes p = {.x = x->data,
                       .in = {(size_t)x->dims[h], (size_t)x->dims[w]},
                       .out = {rows, cols},
                       .nearest = z.how.mode == OX_RESAMPLE_NEAREST,
                       .row = table,
                       .col = table + 2 * rows,
                       .row_weight = weights,
                       .col_weight = weights + rows};
    p.twice = doubles_columns(&p);
    p.work = ox_run_work(r, ox_slots(r->env) * p.in[1], sizeof *p.work, err);
    if (!p.work)
        return OX_NO_MEMORY;
    OX_TRY(ox_run_out(r, 0, OX_FLOAT32, x->rank, dims, &y, err));
    p.y = y->data;
    if (y->n)
        ox_spread(r->env, planes, (double)y->n * 20, resize_plane, &p);
    return ox_env_poll(r->env, err);
}
