#include "ops/window.h"

#include <string.h>

#include "ops/infer.h"

enum ox_auto_pad ox_auto_pad(const char *text)
{
    static const char *const names[] = {"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"};
    if (!text || !*text)
        return OX_PAD_NOTSET;
    for (unsigned i = 0; i < OX_COUNT(names); i++)
        if (strcmp(text, names[i]) == 0)
            return (enum ox_auto_pad)i;
    return OX_PAD_BAD;
}

/* Sizes beyond this would let sums of a few of them overflow. */
static const int64_t largest = INT64_MAX / 8;

enum ox_status ox_window_list(struct ox_run *r, const char *name, size_t n, int64_t least,
                              int64_t *out, bool *given, struct ox_error *err)
{
    size_t have;
    const int64_t *list = ox_run_ints(r, name, &have);
    if (given)
        *given = list && have;
    if (!list || (have == 0 && n > 0))
        return OX_OK;
    if (have != n)
        return ox_run_fail(r, err, OX_INPUT, "%s has %zu values, not %zu", name, have, n);
    for (size_t i = 0; i < n; i++) {
        if (list[i] < least || list[i] > largest)
            return ox_run_fail(r, err, OX_INPUT, "%s[%zu] is %lld, not at least %lld", name, i,
                               (long long)list[i], (long long)least);
        out[i] = list[i];
    }
    return OX_OK;
}

enum ox_status ox_window_read(struct ox_run *r, const struct ox_tensor *x, const int64_t *kernel,
                              struct ox_window *w, struct ox_error *err)
{
    if (x->rank < 3 || x->rank > OX_WINDOW_AXES + 2)
        return ox_run_fail(r, err, OX_INPUT,
                           "the input's rank is %u: batch, channels and at "
                           "least one spatial axis are needed",
                           x->rank);
    unsigned n = w->n = x->rank - 2;
    int64_t shape[OX_WINDOW_AXES];
    bool given;
    for (unsigned d = 0; d < n; d++) {
        w->in[d] = x->dims[2 + d];
        w->stride[d] = w->dilation[d] = 1;
        w->before[d] = w->after[d] = 0;
    }
    OX_TRY(ox_window_list(r, "kernel_shape", n, 1, shape, &given, err));
    if (!given && !kernel)
        return ox_run_fail(r, err, OX_INPUT, "kernel_shape is missing");
    for (unsigned d = 0; d < n; d++) {
        w->kernel[d] = kernel ? kernel[d] : shape[d];
        if (kernel && given && kernel[d] != shape[d])
            return ox_run_fail(r, err, OX_INPUT,
                               "kernel_shape[%u] is %lld, the weights have %lld there", d,
                               (long long)shape[d], (long long)kernel[d]);
        if (w->kernel[d] < 1)
            return ox_run_fail(r, err, OX_INPUT, "the kernel's axis %u is empty", d);
    }
    OX_TRY(ox_window_list(r, "strides", n, 1, w->stride, NULL, err));
    OX_TRY(ox_window_list(r, "dilations", n, 1, w->dilation, NULL, err));
    if (!ox_dims_count(n, w->in, &w->n_in) || !ox_dims_count(n, w->kernel, &w->taps))
        return ox_run_fail(r, err, OX_LIMIT, "the window is too large");
    return OX_OK;
}

/* Output size on one axis, given the padding. */
static enum ox_status slide(struct ox_run *r, struct ox_window *w, unsigned d, bool ceil_mode,
                            struct ox_error *err)
{
    int64_t reach, room;
    if (OX_MUL_OVERFLOWS(w->kernel[d] - 1, w->dilation[d], &reach) || reach >= largest)
        return ox_run_fail(r, err, OX_LIMIT, "the dilated kernel is too large on axis %u", d);
    room = w->in[d] + w->before[d] + w->after[d] - (reach + 1);
    if (room < 0 && w->in[d] > 0)
        return ox_run_fail(r, err, OX_INPUT,
                           "the kernel spans %lld on spatial axis %u, the padded input only %lld",
                           (long long)reach + 1, d,
                           (long long)(w->in[d] + w->before[d] + w->after[d]));
    int64_t stride = w->stride[d];
    w->out[d] = room < 0 ? 0 : (ceil_mode ? (room + stride - 1) / stride : room / stride) + 1;
    /* A window must start on the input or its left padding. */
    if (ceil_mode && w->out[d] > 1 && (w->out[d] - 1) * stride >= w->in[d] + w->before[d])
        w->out[d]--;
    return OX_OK;
}

static void pad_same(struct ox_window *w, unsigned d, bool upper)
{
    w->out[d] = (w->in[d] + w->stride[d] - 1) / w->stride[d];
    int64_t reach;
    if (OX_MUL_OVERFLOWS(w->kernel[d] - 1, w->dilation[d], &reach) || reach > largest)
        reach = largest;
    int64_t total = (w->out[d] - 1) * w->stride[d] + reach + 1 - w->in[d];
    if (total < 0 || w->out[d] == 0)
        total = 0;
    w->before[d] = upper ? total / 2 : total - total / 2;
    w->after[d] = total - w->before[d];
}

enum ox_status ox_window_init(struct ox_run *r, const struct ox_tensor *x, const int64_t *kernel,
                              bool ceil_mode, struct ox_window *w, struct ox_error *err)
{
    OX_TRY(ox_window_read(r, x, kernel, w, err));
    const char *text = ox_run_string(r, "auto_pad");
    enum ox_auto_pad mode = ox_auto_pad(text);
    if (mode == OX_PAD_BAD)
        return ox_run_fail(r, err, OX_INPUT, "auto_pad '%.40s' is unknown", text);
    int64_t pads[2 * OX_WINDOW_AXES] = {0};
    if (mode == OX_PAD_NOTSET)
        OX_TRY(ox_window_list(r, "pads", 2 * (size_t)w->n, 0, pads, NULL, err));
    for (unsigned d = 0; d < w->n; d++) {
        if (mode == OX_PAD_SAME_UPPER || mode == OX_PAD_SAME_LOWER) {
            pad_same(w, d, mode == OX_PAD_SAME_UPPER);
            continue;
        }
        w->before[d] = pads[d];
        w->after[d] = pads[w->n + d];
        OX_TRY(slide(r, w, d, ceil_mode, err));
    }
    if (!ox_dims_count(w->n, w->out, &w->n_out))
        return ox_run_fail(r, err, OX_LIMIT, "the output is too large");
    return OX_OK;
}

/* Where tap `tap` of a window at `at` lies in the plane of all axes but the last; -1: in padding. */
static ptrdiff_t outer_place(const struct ox_window *w, const int64_t *plane, const int64_t *at,
                             const int64_t *tap)
{
    ptrdiff_t offset = 0;
    for (unsigned d = 0; d + 1 < w->n; d++) {
        const int64_t to = at[d] * w->stride[d] - w->before[d] + tap[d] * w->dilation[d];
        if (to < 0 || to >= plane[d])
            return -1;
        offset = offset * (ptrdiff_t)plane[d] + (ptrdiff_t)to;
    }
    return offset;
}

/* Places of a tap from window `at` on: a stretch along the last axis at a time. */
static void tap_places(const struct ox_window *w, const int64_t *grid, const int64_t *plane,
                       int64_t *at, size_t count, const int64_t *tap, ptrdiff_t *table)
{
    const unsigned last = w->n - 1;
    const uint64_t width = (uint64_t)plane[last];
    while (count) {
        const size_t left = (size_t)(grid[last] - at[last]), n = left < count ? left : count;
        const ptrdiff_t outer = outer_place(w, plane, at, tap);
        const int64_t tap_at = tap[last] * w->dilation[last] - w->before[last];
        for (size_t i = 0; i < n; i++) {
            const int64_t to = (at[last] + (int64_t)i) * w->stride[last] + tap_at;
            const bool inside = outer >= 0 && (uint64_t)to < width;
            table[i] = inside ? outer * (ptrdiff_t)width + (ptrdiff_t)to : -1;
        }
        table += n;
        count -= n;
        at[last] += (int64_t)n;
        for (unsigned d = last; at[d] == grid[d] && d > 0; d--) {
            at[d] = 0;
            at[d - 1]++;
        }
    }
}

void ox_window_table(const struct ox_window *w, const int64_t *grid, const int64_t *plane,
                     size_t first, size_t count, size_t pitch, ptrdiff_t *table)
{
    int64_t begin[OX_WINDOW_AXES], at[OX_WINDOW_AXES], tap[OX_WINDOW_AXES] = {0};
    size_t rest = first;
    for (unsigned d = w->n; d-- > 0;) {
        begin[d] = (int64_t)(rest % (size_t)grid[d]);
        rest /= (size_t)grid[d];
    }
    for (size_t t = 0; t < w->taps; t++) {
        memcpy(at, begin, w->n * sizeof *at);
        tap_places(w, grid, plane, at, count, tap, table + t * pitch);
        for (unsigned d = w->n; d-- > 0 && ++tap[d] == w->kernel[d];)
            tap[d] = 0;
    }
}

/* ---- Shape rules ------------------------------------------------------------------------------------------------- */

bool ox_infer_window_list(struct ox_infer *c, const char *name, size_t n, int64_t least,
                          const int64_t **out)
{
    size_t have;
    const int64_t *list = ox_infer_ints_attr(c, name, &have);
    *out = NULL;
    if (!list)
        return true;
    if (have != n) {
        ox_infer_conflict(c, "%s has %zu values, not %zu", name, have, n);
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (list[i] < least) {
            ox_infer_conflict(c, "%s[%zu] is %lld, not at least %lld", name, i, (long long)list[i],
                              (long long)least);
            return false;
        }
    }
    *out = list;
    return true;
}

struct infer_window {
    const int64_t *shape, *strides, *dilations, *pads;
    enum ox_auto_pad mode;
    bool ceil_mode;
};

static const struct ox_expr *infer_slide(struct ox_infer *c, const struct infer_window *w,
                                         unsigned n, unsigned d, const struct ox_expr *in,
                                         const struct ox_expr *kernel)
{
    int64_t stride = w->strides ? w->strides[d] : 1, dilation = w->dilations ? w->dilations[d] : 1;
    const struct ox_expr *step = ox_infer_num(c, stride), *one = ox_infer_num(c, 1);
    if (w->mode == OX_PAD_SAME_UPPER || w->mode == OX_PAD_SAME_LOWER)
        return ox_infer_ceildiv(c, in, step);
    int64_t before = w->mode == OX_PAD_NOTSET && w->pads ? w->pads[d] : 0;
    int64_t after = w->mode == OX_PAD_NOTSET && w->pads ? w->pads[n + d] : 0, pad, size, out;
    if (OX_ADD_OVERFLOWS(before, after, &pad))
        return NULL;
    const struct ox_expr *reach =
        ox_infer_mul(c, ox_infer_sub(c, kernel, one), ox_infer_num(c, dilation));
    const struct ox_expr *room =
        ox_infer_sub(c, ox_infer_add(c, in, ox_infer_num(c, pad - 1)), reach);
    int64_t free_room;
    if (ox_infer_is_num(room, &free_room) && free_room < 0) {
        if (ox_infer_is_num(in, &size) && size > 0)
            ox_infer_conflict(c, "the kernel is larger than the padded input on spatial axis %u",
                              d);
        return ox_infer_num(c, 0);
    }
    const struct ox_expr *steps =
        w->ceil_mode ? ox_infer_ceildiv(c, room, step) : ox_infer_floordiv(c, room, step);
    const struct ox_expr *result = ox_infer_add(c, steps, one);
    if (!w->ceil_mode)
        return result;
    /* The last window may start only where input or left padding is. */
    if (ox_infer_is_num(result, &out) && ox_infer_is_num(in, &size))
        return out > 1 && (out - 1) * stride >= size + before ? ox_infer_num(c, out - 1) : result;
    /* It always does when the kernel is no shorter than a step and the padding after. */
    int64_t span;
    if (ox_infer_is_num(reach, &span) && stride + after <= span + 1)
        return result;
    const struct ox_expr *end = ox_infer_add(c, in, ox_infer_num(c, before));
    return ox_infer_min(c, result, ox_infer_ceildiv(c, end, step));
}

void ox_infer_some_taps(struct ox_infer *c, const struct ox_expr *kernel, unsigned d)
{
    int64_t n;
    if (ox_infer_is_num(kernel, &n) && n < 1)
        ox_infer_conflict(c, "the kernel has no elements on spatial axis %u", d);
}

bool ox_infer_window(struct ox_infer *c, unsigned n, const struct ox_expr *const *in,
                     const struct ox_expr *const *kernel, bool ceil_mode,
                     const struct ox_expr **out)
{
    const char *text = ox_infer_string_attr(c, "auto_pad");
    struct infer_window w = {.mode = ox_auto_pad(text), .ceil_mode = ceil_mode};
    if (w.mode == OX_PAD_BAD) {
        ox_infer_conflict(c, "auto_pad '%.40s' is unknown", text);
        return false;
    }
    if (!ox_infer_window_list(c, "kernel_shape", n, 1, &w.shape) ||
        !ox_infer_window_list(c, "strides", n, 1, &w.strides) ||
        !ox_infer_window_list(c, "dilations", n, 1, &w.dilations) ||
        !ox_infer_window_list(c, "pads", 2 * (size_t)n, 0, &w.pads))
        return false;
    for (unsigned d = 0; d < n; d++) {
        const struct ox_expr *size = w.shape ? ox_infer_num(c, w.shape[d]) : NULL;
        if (kernel && kernel[d])
            size = size ? ox_infer_equal(c, kernel[d], size, "kernel_shape") : kernel[d];
        ox_infer_some_taps(c, size, d);
        out[d] = infer_slide(c, &w, n, d, in[d], size);
    }
    return true;
}

void ox_infer_pool(struct ox_infer *c)
{
    unsigned rank;
    const struct ox_expr *const *x;
    if (!ox_infer_shape(c, 0, &rank, &x)) {
        ox_infer_unknown(c, 0, "the input's rank is not known");
        return;
    }
    if (rank < 3) {
        ox_infer_conflict(c, "the input's rank is %u, not at least 3", rank);
        return;
    }
    const struct ox_expr **dims = ox_infer_dims(c, rank);
    if (!dims)
        return;
    dims[0] = x[0];
    dims[1] = x[1];
    bool ceil_mode = ox_infer_int_attr(c, "ceil_mode", 0) != 0;
    if (!ox_infer_window(c, rank - 2, x + 2, NULL, ceil_mode, dims + 2))
        return;
    ox_infer_set_shape(c, 0, rank, dims);
    if (ox_infer_n_out(c) > 1)
        ox_infer_set_shape(c, 1, rank, dims);
}
