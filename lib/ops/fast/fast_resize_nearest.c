/* Resize to the nearest element, of any type that is not text. */
#include <string.h>

#include "kernels/dense.h"
#include "ops/resize.h"

struct nearest_planes {
    struct ox_resize_planes v;
    const char *x;
    char *y;
    const int64_t *rows; /* -1: outside */
    const size_t *cols;  /* bytes from the row's start, of each unit that is moved */
    size_t unit;         /* bytes that are moved at once */
    size_t before;       /* units of a row that lie outside, before those that are moved */
    size_t units;
    bool twice;             /* those of the row in their order, each two times */
    const char *outside;    /* a row of the output; NULL: nothing lies outside */
    size_t in_row, out_row; /* bytes */
};

static inline __attribute__((always_inline)) void
move_each_twice(const char *row, size_t n, const size_t unit, char *restrict out)
{
    for (size_t i = 0; i < n; i++) {
        memcpy(out + 2 * i * unit, row + i * unit, unit);
        memcpy(out + (2 * i + 1) * unit, row + i * unit, unit);
    }
}

static void move_twice(const struct nearest_planes *p, const char *row, char *restrict out)
{
    const size_t n = p->units / 2;
    if (p->unit == 1)
        move_each_twice(row, n, 1, out);
    else if (p->unit == 2)
        move_each_twice(row, n, 2, out);
    else if (p->unit == 4)
        move_each_twice(row, n, 4, out);
    else if (p->unit == 8)
        move_each_twice(row, n, 8, out);
    else
        move_each_twice(row, n, p->unit, out);
}

static void move_units(const struct nearest_planes *p, const char *row, char *restrict out)
{
    const size_t *cols = p->cols, n = p->units;
    if (p->twice) {
        move_twice(p, row, out);
        return;
    }
    switch (p->unit) {
    case 1:
        for (size_t i = 0; i < n; i++)
            out[i] = row[cols[i]];
        break;
    case 2:
        for (size_t i = 0; i < n; i++)
            memcpy(out + 2 * i, row + cols[i], 2);
        break;
    case 4:
        for (size_t i = 0; i < n; i++)
            memcpy(out + 4 * i, row + cols[i], 4);
        break;
    case 8:
        for (size_t i = 0; i < n; i++)
            memcpy(out + 8 * i, row + cols[i], 8);
        break;
    default:
        for (size_t i = 0; i < n; i++)
            memcpy(out + p->unit * i, row + cols[i], p->unit);
        break;
    }
}

static void resize_row(const struct nearest_planes *p, const char *plane, int64_t row, char *out)
{
    if (row < 0) {
        memcpy(out, p->outside, p->out_row);
        return;
    }
    const size_t before = p->before * p->unit, after = before + p->units * p->unit;
    if (before)
        memcpy(out, p->outside, before);
    move_units(p, plane + (size_t)row * p->in_row, out + before);
    if (after < p->out_row)
        memcpy(out + after, p->outside + after, p->out_row - after);
}

static void resize_plane(void *arg, size_t i, size_t slot)
{
    const struct nearest_planes *p = arg;
    const char *plane = p->x + i * p->v.in[0] * p->in_row;
    char *out = p->y + i * p->v.out[0] * p->out_row;
    (void)slot;
    for (size_t y = 0; y < p->v.out[0]; y++, out += p->out_row) {
        if (y > 0 && p->rows[y] == p->rows[y - 1])
            memcpy(out, out - p->out_row, p->out_row);
        else
            resize_row(p, plane, p->rows[y], out);
    }
}

static int64_t *list_of(struct ox_run *r, const struct ox_resize *z, unsigned axis,
                        struct ox_error *err)
{
    const struct ox_resample_axis *a = &z->axes[axis];
    int64_t *list = ox_run_scratch(r, (size_t)a->out, sizeof *list, err);
    if (!list)
        return NULL;
    if (!ox_resample_is_identity(&z->how, a))
        ox_resample_nearest_list(&z->how, a, list);
    for (int64_t i = 0; i < a->out && ox_resample_is_identity(&z->how, a); i++)
        list[i] = i;
    return list;
}

/* A few elements that stay together, such as an image's colours, are moved one by one. */
static enum ox_status find_units(struct ox_run *r, const struct ox_resize *z, size_t size,
                                 struct nearest_planes *p, struct ox_error *err)
{
    enum { FEW = 8 };
    const size_t together = p->v.inner * size;
    const bool whole = p->v.inner >= FEW || together == 2 || together == 4 || together == 8;
    const size_t each = whole ? 1 : p->v.inner;
    const int64_t *list = list_of(r, z, p->v.axis + 1, err);
    size_t *cols = list ? ox_run_scratch(r, p->v.out[1] * each, sizeof *cols, err) : NULL;
    if (!cols)
        return OX_NO_MEMORY;
    /* Places are further and further along the axis, or back: those outside lie at the ends. */
    size_t first = 0, last = p->v.out[1];
    while (first < last && list[first] < 0)
        first++;
    while (first < last && list[last - 1] < 0)
        last--;
    p->unit = together / each;
    p->before = first * each;
    p->units = (last - first) * each;
    for (size_t i = 0; i < p->units; i++)
        cols[i] = (size_t)list[first + i / each] * together + i % each * p->unit;
    p->cols = cols;
    p->twice = p->units % 2 == 0;
    for (size_t i = 0; i < p->units && p->twice; i++)
        p->twice = cols[i] == i / 2 * p->unit;
    return OX_OK;
}

static enum ox_status fill_outside(struct ox_run *r, const struct ox_resize *z, size_t size,
                                   struct nearest_planes *p, struct ox_error *err)
{
    char *row = ox_run_scratch(r, p->out_row, 1, err);
    struct ox_tensor *value;
    if (!row)
        return OX_NO_MEMORY;
    OX_TRY(ox_move_scalar(r, ox_run_in(r, 0)->dtype, z->extrapolation, &value, err));
    for (size_t i = 0; i < p->out_row; i += size)
        memcpy(row + i, value->data, size);
    ox_tensor_release(value);
    p->outside = row;
    return OX_OK;
}

enum ox_status ox_fast_resize_nearest(struct ox_run *r, const struct ox_resize *z,
                                      struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    const size_t size = ox_dtype_size(x->dtype);
    struct nearest_planes p = {.x = x->data};
    struct ox_tensor *y;
    if (x->dtype == OX_STRING || ox_dtype_bits(x->dtype) < 8 || !ox_resize_as_planes(z, x, &p.v))
        return OX_UNSUPPORTED;
    p.in_row = p.v.in[1] * p.v.inner * size;
    p.out_row = p.v.out[1] * p.v.inner * size;
    p.rows = list_of(r, z, p.v.axis, err);
    if (!p.rows)
        return OX_NO_MEMORY;
    OX_TRY(find_units(r, z, size, &p, err));
    if (z->how.coordinates == OX_COORD_CROP)
        OX_TRY(fill_outside(r, z, size, &p, err));
    OX_TRY(ox_run_out(r, 0, x->dtype, x->rank, p.v.dims, &y, err));
    p.y = y->data;
    if (y->n)
        ox_spread(r->env, p.v.planes, (double)y->n * 20, resize_plane, &p);
    return ox_env_poll(r->env, err);
}
