/* AffineGrid: the places that GridSample takes, turned and moved by a matrix. */
#include <inttypes.h>

#include "ops/move.h"
#include "ops/real.h"
#include "ops/rules.h"

static void infer_affine_grid(struct ox_infer *c)
{
    const struct ox_expr *const *size, **out;
    size_t n;

    ox_infer_same_dtype(c, 0, 0);
    ox_rule_rank(c, 1, 1);
    if (!ox_infer_values(c, 1, &n, &size)) {
        int64_t length;

        ox_infer_unknown(c, 0, "the size is not known");
        if (!ox_infer_is_num(ox_infer_dim(c, 1, 0), &length))
            return;
        if (length != 4 && length != 5) {
            ox_infer_conflict(c, "size has %" PRId64 " elements, neither 4 nor 5", length);
            return;
        }
        out = ox_infer_dims(c, (unsigned)length);
        if (!out)
            return;
        out[length - 1] = ox_infer_num(c, length - 2);
        ox_infer_set_shape(c, 0, (unsigned)length, out);
        return;
    }
    if (n != 4 && n != 5) {
        ox_infer_conflict(c, "size has %zu elements, neither 4 nor 5", n);
        return;
    }
    out = ox_infer_dims(c, (unsigned)n);
    if (!out)
        return;
    out[0] = size[0];
    for (size_t i = 1; i + 1 < n; i++)
        out[i] = size[i + 1];
    out[n - 1] = ox_infer_num(c, (int64_t)n - 2);
    ox_infer_set_shape(c, 0, (unsigned)n, out);
}

/* Place i of n, from -1 to 1. */
static double affine_place(int64_t i, int64_t n, bool align_corners)
{
    if (align_corners)
        return n > 1 ? -1 + 2.0 * (double)i / (double)(n - 1) : -1;
    return -1 + (2.0 * (double)i + 1) / (double)n;
}

/* One coordinate of a line of n places (x, y, z): a row of the matrix by (x, y, z, 1), or (x, y, 1). */
static void affine_line(const double *row, unsigned axes, const double *x, double y, double z,
                        size_t n, double *out)
{
    for (size_t i = 0; i < n; i++) {
        double sum = row[0] * x[i] + row[1] * y;

        sum += axes == 3 ? row[2] * z : row[2];
        out[i * axes] = axes == 3 ? sum + row[3] : sum;
    }
}

static enum ox_status run_affine_grid(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *theta = ox_run_in(r, 0);
    bool align_corners = ox_run_int(r, "align_corners", 0) != 0;
    int64_t dims[5];
    const int64_t *size;
    struct ox_tensor *out;
    size_t n, at = 0;
    double matrix[12];

    OX_TRY(ox_move_list(r, 1, &size, &n, err));
    if (n != 4 && n != 5)
        return ox_run_fail(r, err, OX_INPUT, "size has %zu elements, neither 4 nor 5", n);
    unsigned axes = (unsigned)n - 2;

    if (theta->rank != 3 || theta->dims[0] != size[0] || theta->dims[1] != (int64_t)axes ||
        theta->dims[2] != (int64_t)axes + 1)
        return ox_run_fail(r, err, OX_INPUT, "theta is not [%" PRId64 ", %u, %u]", size[0], axes,
                           axes + 1);
    dims[0] = size[0];
    for (unsigned i = 0; i < axes; i++) {
        dims[1 + i] = size[2 + i];
        if (dims[1 + i] < 0)
            return ox_run_fail(r, err, OX_INPUT, "size[%u] is %" PRId64, 2 + i, dims[1 + i]);
    }
    dims[n - 1] = axes;
    OX_TRY(ox_run_out(r, 0, theta->dtype, (unsigned)n, dims, &out, err));
    if (out->n == 0)
        return OX_OK;
    const int64_t height = dims[n - 3], width = dims[n - 2];
    const int64_t lines = (axes == 3 ? dims[1] : 1) * height;
    const size_t line = (size_t)width * axes;
    double *x = ox_real_scratch(r, (size_t)width, err), *values = ox_real_scratch(r, line, err);

    if (!x || !values)
        return OX_NO_MEMORY;
    for (int64_t i = 0; i < width; i++)
        x[i] = affine_place(i, width, align_corners);
    for (int64_t b = 0; b < dims[0]; b++) {
        ox_real_load(theta, (size_t)b * axes * (axes + 1), (size_t)axes * (axes + 1), matrix);
        for (int64_t i = 0; i < lines; i++, at += line) {
            const double y = affine_place(i % height, height, align_corners);
            const double z =
                axes == 3 ? affine_place(i / height, lines / height, align_corners) : 0;

            for (unsigned k = 0; k < axes; k++)
                affine_line(matrix + k * (axes + 1), axes, x, y, z, (size_t)width, values + k);
            ox_real_store(out, at, line, values);
        }
    }
    return OX_OK;
}

const struct ox_op ox_ops_affine_grid[] = {
    {"", "AffineGrid", 20, 0, .infer = infer_affine_grid, .run = run_affine_grid}, {0}};
