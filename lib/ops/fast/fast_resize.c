/* Resize in float32 over planes as they lie: the last two axes and the one before, to the nearest element or between two along
 * each axis. */
#include <stdint.h>
#include <string.h>

#include "kernels/dense.h"
#include "ops/fast/fast.h"
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
    size_t in[2], out[2], deep[2]; /* deep: planes that lie along an axis, before and after */
    bool nearest, twice;           /* twice: nearest, each column two times */
    bool same_columns;             /* channels last: rows are mixed in place */
    const size_t *row, *col, *level;
    const float *row_weight, *col_weight, *level_weight;
    size_t slot; /* floats of work: a line, and a plane where planes are mixed */
};

static bool as_before(const struct planes *p, size_t y)
{
    return y > 0 && memcmp(p->row + 2 * y, p->row + 2 * (y - 1), 2 * sizeof *p->row) == 0 &&
           p->row_weight[y] == p->row_weight[y - 1];
}

static const float *between_rows(const struct planes *p, const float *plane, size_t y,
                                 float *restrict work)
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

static bool keeps_columns(const struct planes *p)
{
    bool same = p->out[1] == p->in[1];
    for (size_t x = 0; same && x < p->out[1]; x++)
        same = p->col[2 * x] == x && (p->col_weight[x] == 1 || p->col[2 * x + 1] == x);
    return same;
}

/* The plane that output plane i is resized from. */
static const float *between_planes(const struct planes *p, size_t i, float *work)
{
    const size_t level = i % p->deep[1], plane = p->in[0] * p->in[1];
    const float *x = p->x + i / p->deep[1] * p->deep[0] * plane;
    const float *a = x + p->level[2 * level] * plane, *b = x + p->level[2 * level + 1] * plane;
    const float f = p->level_weight[level], g = 1 - f;
    if (a == b)
        return a;
    for (size_t k = 0; k < plane; k++)
        work[k] = f * a[k] + g * b[k];
    return work;
}

static void resize_plane(void *arg, size_t i, size_t slot)
{
    const struct planes *p = arg;
    float *work = p->work + slot * p->slot;
    const float *plane = between_planes(p, i, work + p->in[1]);
    float *out = p->y + i * p->out[0] * p->out[1];
    for (size_t y = 0; y < p->out[0]; y++, out += p->out[1]) {
        if (as_before(p, y)) {
            memcpy(out, out - p->out[1], p->out[1] * sizeof *out);
            continue;
        }
        const float *line = between_rows(p, plane, y, p->same_columns ? out : work);
        if (p->same_columns) {
            if (line != out)
                memcpy(out, line, p->out[1] * sizeof *out);
            continue;
        }
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

/* Whether nothing but the last three axes changes, and these by one or two points a place. */
static bool is_simple(const struct ox_resize *z, const struct ox_tensor *x)
{
    if (z->how.coordinates == OX_COORD_CROP || z->how.antialias || z->how.mode == OX_RESAMPLE_CUBIC)
        return false;
    for (unsigned d = 0; d < x->rank; d++) {
        const bool same = ox_resample_is_identity(&z->how, &z->axes[d]);
        if (d + 3 < x->rank ? !same
                            : !same && z->how.mode != OX_RESAMPLE_NEAREST &&
                                  ox_resample_taps(&z->how, &z->axes[d]) != 2)
            return false;
    }
    return true;
}

/* What is taken along each of the last three axes. */
static enum ox_status make_tables(struct ox_run *r, const struct ox_resize *z, unsigned rank,
                                  struct planes *p, struct ox_error *err)
{
    const size_t n[3] = {p->deep[1], p->out[0], p->out[1]};
    const size_t **table[3] = {&p->level, &p->row, &p->col};
    const float **weight[3] = {&p->level_weight, &p->row_weight, &p->col_weight};
    for (unsigned k = 0; k < 3; k++) {
        size_t *t = ox_run_scratch(r, 2 * n[k], sizeof *t, err);
        float *w = ox_run_scratch(r, n[k], sizeof *w, err);
        if (!t || !w)
            return OX_NO_MEMORY;
        OX_TRY(ox_resize_pairs(r, z, rank - 3 + k, t, w, err));
        *table[k] = t;
        *weight[k] = w;
    }
    p->twice = doubles_columns(p);
    p->same_columns = keeps_columns(p);
    return OX_OK;
}

static enum ox_status plan(struct ox_run *r, const struct ox_tensor *x, struct ox_resize *z,
                           struct ox_error *err)
{
    const bool by_scales = r->opset < 11 || strcmp(r->node->op_type, "Upsample") == 0;
    return by_scales ? ox_upsample_plan(r, z, err) : ox_resize_plan(r, x, z, err);
}

bool ox_resize_as_planes(const struct ox_resize *z, const struct ox_tensor *x,
                         struct ox_resize_planes *p)
{
    unsigned last = 1;
    *p = (struct ox_resize_planes){.planes = 1, .inner = 1};
    const bool crops = z->how.coordinates == OX_COORD_CROP;
    if (x->rank < 2 || (crops && z->how.mode != OX_RESAMPLE_NEAREST) || z->how.antialias)
        return false;
    for (unsigned d = 0; d < x->rank; d++) {
        p->dims[d] = z->axes[d].out;
        if (ox_resample_is_identity(&z->how, &z->axes[d]))
            continue;
        if (z->how.mode != OX_RESAMPLE_NEAREST && ox_resample_taps(&z->how, &z->axes[d]) != 2)
            return false;
        last = d ? d : 1;
    }
    p->axis = last - 1;
    for (unsigned d = 0; d < x->rank; d++) {
        if (d < p->axis && !ox_resample_is_identity(&z->how, &z->axes[d]))
            return false;
        if (d == p->axis || d == last) {
            p->in[d - p->axis] = (size_t)x->dims[d];
            p->out[d - p->axis] = (size_t)p->dims[d];
        } else {
            *(d < last ? &p->planes : &p->inner) *= (size_t)x->dims[d];
        }
    }
    return true;
}

static enum ox_status resize_other(struct ox_run *r, const struct ox_resize *z,
                                   struct ox_error *err)
{
    if (z->how.mode == OX_RESAMPLE_NEAREST)
        return ox_fast_resize_nearest(r, z, err);
    return ox_fast_in(r, 0) ? ox_fast_resample(r, z, err) : ox_fast_resize_whole(r, z, err);
}

enum ox_status ox_fast_resize(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    struct ox_resize z;
    struct ox_tensor *y;
    int64_t dims[5];
    if (!x || !x->n || plan(r, x, &z, err) != OX_OK)
        return OX_UNSUPPORTED;
    if (!ox_fast_in(r, 0) || x->rank < 3 || x->rank > 5 || !is_simple(&z, x))
        return resize_other(r, &z, err);
    size_t planes = 1;
    for (unsigned d = 0; d < x->rank; d++) {
        dims[d] = z.axes[d].out;
        planes *= d + 2 < x->rank ? (size_t)dims[d] : 1;
    }
    const unsigned l = x->rank - 3, h = x->rank - 2, w = x->rank - 1;
    const bool level = ox_resample_is_identity(&z.how, &z.axes[l]);
    struct planes p = {.x = x->data,
                       .in = {(size_t)x->dims[h], (size_t)x->dims[w]},
                       .out = {(size_t)dims[h], (size_t)dims[w]},
                       .deep = {(size_t)x->dims[l], (size_t)dims[l]},
                       .nearest = z.how.mode == OX_RESAMPLE_NEAREST,
                       .slot = (size_t)x->dims[w]};
    if (!p.nearest && !level)
        p.slot += p.in[0] * p.in[1];
    OX_TRY(make_tables(r, &z, x->rank, &p, err));
    p.work = ox_run_work(r, ox_slots(r->env) * p.slot, sizeof *p.work, err);
    if (!p.work)
        return OX_NO_MEMORY;
    OX_TRY(ox_run_out(r, 0, OX_FLOAT32, x->rank, dims, &y, err));
    p.y = y->data;
    if (y->n)
        ox_spread(r->env, planes, (double)y->n * 20, resize_plane, &p);
    return ox_env_poll(r->env, err);
}
