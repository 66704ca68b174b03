/* Col2Im: sums columns of blocks back into an image. */
#include <inttypes.h>
#include <string.h>

#include "kernels/dense.h"
#include "kernels/lines_apart.h"
#include "ops/carry.h"
#include "ops/kernel_tables.h"

/* The image's axes, its blocks and where they stand. */
struct blocks {
    unsigned rank;
    int64_t image[OX_MOVE_RANK], block[OX_MOVE_RANK], count[OX_MOVE_RANK];
    int64_t stride[OX_MOVE_RANK], dilation[OX_MOVE_RANK], before[OX_MOVE_RANK], after[OX_MOVE_RANK];
    size_t n_block, n_count, n_image;
};

/* Of the blocks along an axis one element each: those from `from` on that fall into the image, the first of them at `to`. */
struct span {
    size_t n, from;
    int64_t to;
};

static struct span block_span(const struct blocks *b, unsigned axis, int64_t within)
{
    const int64_t stride = b->stride[axis], image = b->image[axis];
    const int64_t x = within * b->dilation[axis] - b->before[axis];
    const int64_t first = x < 0 ? (-x - 1) / stride + 1 : 0;
    int64_t end = x < image ? (image - 1 - x) / stride + 1 : 0;

    end = end < b->count[axis] ? end : b->count[axis];
    return (struct span){end > first ? (size_t)(end - first) : 0, (size_t)first,
                         x + first * stride};
}

/* Whether lines of blocks fall into the image by their first n axes, and where they do. */
static bool block_place(const struct blocks *b, unsigned n, const int64_t *within,
                        const int64_t *at, int64_t *place)
{
    *place = 0;
    for (unsigned i = 0; i < n; i++) {
        int64_t x = at[i] * b->stride[i] - b->before[i] + within[i] * b->dilation[i];

        if (x < 0 || x >= b->image[i])
            return false;
        *place = *place * b->image[i] + x;
    }
    return true;
}

static void block_next(unsigned n, const int64_t *sizes, int64_t *at)
{
    for (unsigned i = n; i-- > 0;) {
        if (++at[i] < sizes[i])
            break;
        at[i] = 0;
    }
}

#define STAMP "ops/col2im_tmpl.h"
#include "common/stamp_floats.h"
#include "ops/rules.h"
#define STAMP "ops/col2im_tmpl.h"
#include "common/stamp_integers.h"

#define T float _Complex
#define N(x) OX_STAMP(x, _c64)
#define T_FLOAT 1
#include "ops/col2im_tmpl.h"
#undef N
#undef T

#define T double _Complex
#define N(x) OX_STAMP(x, _c128)
#include "ops/col2im_tmpl.h"
#undef T_FLOAT
#undef N
#undef T

/* A sum of bools is whether one of them is. */
#define T uint8_t
#define N(x) OX_STAMP(x, _bool)
#define T_BOOL 1
#include "ops/col2im_tmpl.h"
#undef T_BOOL
#undef N
#undef T

static void add_floats(size_t lines, size_t n, const void *from, size_t from_line, void *to,
                       size_t to_line, size_t step)
{
    ox_add_lines_apart(ox_cpu(), lines, n, from, from_line, to, to_line, step);
}

struct images {
    const struct blocks *b;
    /* to[l * to_line + i * step] += from[l * from_line + i] for l < lines, i < n */
    void (*add)(size_t lines, size_t n, const void *from, size_t from_line, void *to,
                size_t to_line, size_t step);
    const char *in;
    char *out;
    size_t size; /* of an element */
};

/* Of a channel: from is [block elements, blocks]. Lines of the last axis go together by the one before. */
static void add_blocks(const struct images *all, const char *from, char *image)
{
    const struct blocks *b = all->b;
    const unsigned last = b->rank - 1, outer = last ? last - 1 : 0;
    const size_t wide = (size_t)b->count[last], lines = last ? (size_t)b->count[outer] : 1;
    const int64_t image_wide = b->image[last], image_lines = last ? b->image[outer] : 1;
    const size_t to_line = (size_t)image_wide * (last ? (size_t)b->stride[outer] : 1);
    int64_t within[OX_MOVE_RANK] = {0}, at[OX_MOVE_RANK] = {0}, place;
    struct span y = {1, 0, 0};

    for (size_t k = 0; k < b->n_block; k++, block_next(b->rank, b->block, within)) {
        const struct span x = block_span(b, last, within[last]);

        if (last && within[last] == 0)
            y = block_span(b, outer, within[outer]);
        for (size_t n = 0; n < b->n_count; n += lines * wide, block_next(outer, b->count, at)) {
            if (x.n > 0 && y.n > 0 && block_place(b, outer, within, at, &place)) {
                place = (place * image_lines + y.to) * image_wide + x.to;
                all->add(y.n, x.n, from + (n + y.from * wide + x.from) * all->size, wide,
                         image + (size_t)place * all->size, to_line, (size_t)b->stride[last]);
            }
        }
        from += b->n_count * all->size;
    }
}

static void image_task(void *arg, size_t i, size_t slot)
{
    const struct images *all = arg;
    const struct blocks *b = all->b;
    char *image = all->out + i * b->n_image * all->size;
    (void)slot;
    memset(image, 0, b->n_image * all->size);
    if (b->n_count > 0)
        add_blocks(all, all->in + i * b->n_block * b->n_count * all->size, image);
}

static enum ox_status block_attr(const struct ox_run *r, const char *name, unsigned n, int64_t low,
                                 int64_t fallback, int64_t *out, struct ox_error *err)
{
    size_t n_given;
    const int64_t *given = ox_run_ints(r, name, &n_given);

    if (given && n_given != n)
        return ox_run_fail(r, err, OX_INPUT, "%s has %zu elements, not %u", name, n_given, n);
    for (unsigned i = 0; i < n; i++) {
        out[i] = given ? given[i] : fallback;
        if (out[i] < low || out[i] > INT32_MAX)
            return ox_run_fail(r, err, OX_INPUT, "%s[%u] is %" PRId64, name, i, out[i]);
    }
    return OX_OK;
}

static enum ox_status blocks_read(struct ox_run *r, struct blocks *b, struct ox_error *err)
{
    const int64_t *image, *block;
    int64_t pads[2 * OX_MOVE_RANK];
    size_t n, n_block;

    OX_TRY(ox_move_list(r, 1, &image, &n, err));
    OX_TRY(ox_move_list(r, 2, &block, &n_block, err));
    OX_TRY(ox_move_rank(r, n + 2, err));
    if (n == 0 || n != n_block)
        return ox_run_fail(r, err, OX_INPUT, "image_shape has %zu elements, block_shape %zu", n,
                           n_block);
    b->rank = (unsigned)n;
    OX_TRY(block_attr(r, "strides", b->rank, 1, 1, b->stride, err));
    OX_TRY(block_attr(r, "dilations", b->rank, 1, 1, b->dilation, err));
    OX_TRY(block_attr(r, "pads", 2 * b->rank, 0, 0, pads, err));
    for (unsigned i = 0; i < b->rank; i++) {
        b->image[i] = image[i];
        b->block[i] = block[i];
        b->before[i] = pads[i];
        b->after[i] = pads[b->rank + i];
        if (image[i] < 0 || image[i] > INT64_MAX / 4 || block[i] < 1 || block[i] > INT32_MAX)
            return ox_run_fail(r, err, OX_INPUT, "axis %u: image %" PRId64 ", block %" PRId64, i,
                               image[i], block[i]);
        int64_t room = image[i] + pads[i] + pads[b->rank + i] - b->dilation[i] * (block[i] - 1) - 1;

        b->count[i] = room < 0 ? 0 : room / b->stride[i] + 1;
    }
    if (!ox_dims_count(b->rank, b->block, &b->n_block) ||
        !ox_dims_count(b->rank, b->count, &b->n_count) ||
        !ox_dims_count(b->rank, b->image, &b->n_image))
        return ox_run_fail(r, err, OX_INPUT, "too many elements");
    return OX_OK;
}

static enum ox_status run_col2im(struct ox_run *r, struct ox_error *err)
{
    static void (*const kernels[OX_N_DTYPES])(size_t, size_t, const void *, size_t, void *, size_t,
                                              size_t) = {
        OX_KERNELS_NUMBER(col2im_lines), [OX_BOOL] = col2im_lines_bool,
        [OX_COMPLEX64] = col2im_lines_c64, [OX_COMPLEX128] = col2im_lines_c128};
    const struct ox_tensor *in = ox_run_in(r, 0);
    size_t size = ox_dtype_size(in->dtype);
    int64_t dims[OX_MOVE_RANK];
    struct ox_tensor *out;
    struct blocks b;

    OX_TRY(blocks_read(r, &b, err));
    if (!kernels[in->dtype])
        return ox_run_fail(r, err, OX_UNSUPPORTED, "%s has no sum", ox_dtype_name(in->dtype));
    if (in->rank != 3 || in->dims[1] % (int64_t)b.n_block != 0 || in->dims[2] != (int64_t)b.n_count)
        return ox_run_fail(
            r, err, OX_INPUT,
            "the input is no [N, C x %zu, %zu] as %zu elements a block and %zu blocks need",
            b.n_block, b.n_count, b.n_block, b.n_count);
    dims[0] = in->dims[0];
    dims[1] = in->dims[1] / (int64_t)b.n_block;
    memcpy(dims + 2, b.image, b.rank * sizeof(dims[0]));
    OX_TRY(ox_run_out(r, 0, in->dtype, b.rank + 2, dims, &out, err));
    if (out->n == 0)
        return OX_OK;
    struct images all = {&b, in->dtype == OX_FLOAT32 ? add_floats : kernels[in->dtype], in->data,
                         out->data, size};
    ox_spread(r->env, (size_t)(dims[0] * dims[1]), 4 * (double)(in->n + out->n), image_task, &all);
    return ox_env_poll(r->env, err);
}

/* How many axes an image has whose shape is not known: what else has one entry an axis. */
static bool infer_n_axes(struct ox_infer *c, size_t *n)
{
    int64_t length;

    if (((ox_infer_is_num(ox_infer_dim(c, 1, 0), &length) ||
          ox_infer_is_num(ox_infer_dim(c, 2, 0), &length)) &&
         length >= 0 && length <= OX_MOVE_RANK)) {
        *n = (size_t)length;
        return true;
    }
    if (!ox_infer_ints_attr(c, "strides", n) && !ox_infer_ints_attr(c, "dilations", n)) {
        if (!ox_infer_ints_attr(c, "pads", n))
            return false;
        *n /= 2;
    }
    return *n <= OX_MOVE_RANK;
}

/* Lists with `each` entries an axis. */
static bool infer_list_fits(struct ox_infer *c, const char *name, size_t n, size_t each)
{
    size_t given;
    bool fits = !ox_infer_ints_attr(c, name, &given) || given == n * each;
    if (!fits)
        ox_infer_conflict(c, "%s has %zu entries for %zu axes", name, given, n);
    return fits;
}

static void infer_col2im(struct ox_infer *c)
{
    const struct ox_expr *const *in, *const *image, *const *block, **out;
    unsigned rank;
    size_t n, n_block;
    int64_t size;

    ox_infer_same_dtype(c, 0, 0);
    bool has_in = ox_infer_shape(c, 0, &rank, &in);

    if (has_in && rank != 3) {
        ox_infer_conflict(c, "the input has rank %u, not 3", rank);
        return;
    }
    if (!ox_rule_rank(c, 1, 1) || !ox_rule_rank(c, 2, 1))
        return;
    bool has_image = ox_infer_values(c, 1, &n, &image);

    if (!has_image) {
        ox_infer_unknown(c, 0, "the shape of the image is not known");
        if (!infer_n_axes(c, &n))
            return;
    }
    out = ox_infer_dims(c, (unsigned)n + 2);
    if (!out || !infer_list_fits(c, "strides", n, 1) || !infer_list_fits(c, "dilations", n, 1) ||
        !infer_list_fits(c, "pads", n, 2))
        return;
    ox_infer_equal(c, ox_infer_dim(c, 1, 0), ox_infer_num(c, (int64_t)n), "the axes of the image");
    ox_infer_equal(c, ox_infer_dim(c, 2, 0), ox_infer_num(c, (int64_t)n), "the axes of a block");
    bool has_block = ox_infer_values(c, 2, &n_block, &block);
    for (size_t i = 0; has_block && i < n_block; i++) {
        if (ox_infer_is_num(block[i], &size) && size < 1)
            ox_infer_conflict(c, "block_shape[%zu] is %" PRId64 ", not at least 1", i, size);
    }
    if (has_in) {
        out[0] = in[0];
        if (has_block)
            out[1] = ox_carry_quotient(c, 1, &in[1], n_block, block);
    }
    for (size_t i = 0; i < n; i++)
        out[2 + i] = has_image ? image[i] : NULL;
    ox_infer_set_shape(c, 0, (unsigned)n + 2, out);
}

const struct ox_op ox_ops_col2im[] = {{"", "Col2Im", 18, .infer = infer_col2im, .run = run_col2im},
                                      {0}};
