/* An operand of Einsum brought into order, or summed over labels. */
#include <string.h>

#include "kernels/folds.h"
#include "ops/einsum/einsum_operand.h"
#include "ops/move.h"

struct walk {
    unsigned n;
    size_t size[OX_EINSUM_LABELS], stride[OX_EINSUM_LABELS], count;
};

static inline void walk_next(const struct walk *w, size_t *at, size_t *offset)
{
    for (unsigned d = w->n; d-- > 0;) {
        *offset += w->stride[d];
        if (++at[d] < w->size[d])
            return;
        *offset -= w->stride[d] * w->size[d];
        at[d] = 0;
    }
}

enum { ABREAST = 8 }; /* sums at a time of what does not lie side by side */

#define T float
#define NAME(x) x##_f32
#include "ops/einsum/einsum_tmpl.h"
#undef T
#undef NAME
#define T double
#define NAME(x) x##_f64
#include "ops/einsum/einsum_tmpl.h"
#undef T
#undef NAME
#define T uint32_t
#define NAME(x) x##_u32
#include "ops/einsum/einsum_tmpl.h"
#undef T
#undef NAME
#define T uint64_t
#define NAME(x) x##_u64
#include "ops/einsum/einsum_tmpl.h"

static bool walk_add(struct walk *w, const struct ox_einsum *e, const struct ox_einsum_operand *op,
                     unsigned label)
{
    w->size[w->n] = e->size[label];
    w->stride[w->n++] = op->stride[label];
    return !OX_MUL_OVERFLOWS(w->count, e->size[label], &w->count);
}

static void move(const struct ox_einsum *e, const struct walk *outer, const void *data, void *out)
{
    struct ox_move m = {.rank = 0};
    size_t pitch = outer->count;
    for (unsigned d = 0; d < outer->n && outer->count; d++) {
        pitch /= outer->size[d];
        ox_move_axis(&m, (int64_t)outer->size[d], (int64_t)pitch, (int64_t)outer->stride[d]);
    }
    if (outer->count)
        ox_move_run(&m, ox_dtype_size(e->work), out, data);
}

/* Takes the labels out of `w` that together are one run of neighbours; how many elements it has. */
static size_t take_run(struct walk *w)
{
    size_t run = 1;
    for (unsigned d = 0; w->count && d < w->n;) {
        if (w->stride[d] != run) {
            d++;
            continue;
        }
        run *= w->size[d];
        w->count /= w->size[d];
        w->n--;
        memmove(w->size + d, w->size + d + 1, (w->n - d) * sizeof *w->size);
        memmove(w->stride + d, w->stride + d + 1, (w->n - d) * sizeof *w->stride);
        d = 0;
    }
    return run;
}

/* Whether the operand lies as a contiguous array of runs over `outer` already. */
static bool lies_so(const struct walk *outer, size_t run)
{
    size_t pitch = run;
    for (unsigned d = outer->n; d-- > 0; pitch *= outer->size[d])
        if (outer->size[d] != 1 && outer->stride[d] != pitch)
            return false;
    return true;
}

/* Each element of `outer` is the sum of runs of neighbours, over which `inner` walks. */
static void sum_runs(enum ox_dtype work, const struct walk *outer, const struct walk *inner,
                     size_t run, const void *data, void *out)
{
    enum { TOGETHER = 64 };
    const struct ox_fold *fold = ox_folds(ox_cpu())->of[OX_FOLD_SUM][work];
    const size_t size = ox_dtype_size(work);
    const bool rows = inner->count == 1 && lies_so(outer, run);
    size_t at[OX_EINSUM_LABELS] = {0}, in[OX_EINSUM_LABELS] = {0}, offset = 0;
    union {
        double f64[TOGETHER];
        uint32_t u32[TOGETHER];
        uint64_t u64[TOGETHER];
    } sums;
    for (size_t i = 0, n; i < outer->count; i += n) {
        const char *from = (const char *)data + offset * size;
        n = !rows ? 1 : outer->count - i < TOGETHER ? outer->count - i : TOGETHER;
        fold->start(&sums, n);
        if (rows) {
            fold->rows(&sums, from, n, run);
            offset += n * run;
        } else {
            for (size_t k = 0, place = 0; k < inner->count; k++) {
                fold->run(&sums, from + place * size, run, NULL);
                walk_next(inner, in, &place);
            }
            walk_next(outer, at, &offset);
        }
        if (work == OX_FLOAT32)
            for (size_t k = 0; k < n; k++)
                ((float *)out)[i + k] = (float)sums.f64[k];
        else
            memcpy((char *)out + i * size, &sums, n * size);
    }
}

/* The sum over `inner`, in the order of `outer`. */
static void sum(enum ox_dtype work, const struct walk *outer, const struct walk *inner,
                const void *data, void *out)
{
    if (work == OX_FLOAT32)
        gather_f32(outer, inner, data, out);
    else if (work == OX_FLOAT64)
        gather_f64(outer, inner, data, out);
    else if (work == OX_UINT32)
        gather_u32(outer, inner, data, out);
    else
        gather_u64(outer, inner, data, out);
}

/* The label, not the last, whose neighbours in the operand are neighbours; outer->n: none. */
static unsigned find_lanes(const struct walk *outer)
{
    unsigned d = 0;
    while (d < outer->n && (d + 1 == outer->n || outer->stride[d] != 1 || outer->size[d] == 1))
        d++;
    return d;
}

/* sum() with that label last, so that its sums go side by side, then turned to where it belongs. */
static enum ox_status sum_turned(struct ox_run *r, const struct ox_einsum *e,
                                 const struct walk *outer, const struct walk *inner, unsigned label,
                                 const void *data, void *out, struct ox_error *err)
{
    void *sums = ox_run_work(r, outer->count + 1, ox_dtype_size(e->work), err);
    if (!sums)
        return OX_NO_MEMORY;
    struct walk turned = *outer, back = *outer;
    const unsigned behind = outer->n - 1 - label;
    memmove(turned.size + label, turned.size + label + 1, behind * sizeof *turned.size);
    memmove(turned.stride + label, turned.stride + label + 1, behind * sizeof *turned.stride);
    turned.size[outer->n - 1] = outer->size[label];
    turned.stride[outer->n - 1] = outer->stride[label];
    sum(e->work, &turned, inner, data, sums);
    back.stride[label] = 1;
    size_t pitch = outer->size[label];
    for (unsigned d = outer->n; d-- > 0;) {
        if (d == label)
            continue;
        back.stride[d] = pitch;
        pitch *= outer->size[d];
    }
    move(e, &back, sums, out);
    return OX_OK;
}

enum ox_status ox_einsum_gather(struct ox_run *r, const struct ox_einsum *e,
                                const struct ox_einsum_operand *op, const unsigned char *labels,
                                unsigned n, void *out, const void **result, struct ox_error *err)
{
    struct walk outer = {.count = 1}, inner = {.count = 1};
    bool ordered[OX_EINSUM_LABELS] = {false}, fits = true;
    for (unsigned i = 0; i < n; i++) {
        ordered[labels[i]] = true;
        fits = fits && walk_add(&outer, e, op, labels[i]);
    }
    for (unsigned label = 0; label < OX_EINSUM_LABELS; label++)
        if (op->present[label] && !ordered[label])
            fits = fits && walk_add(&inner, e, op, label);
    size_t bytes;
    if (!fits || OX_MUL_OVERFLOWS(outer.count, sizeof(uint64_t), &bytes))
        return ox_run_fail(r, err, OX_LIMIT, "an intermediate product is too large");
    const bool moves = inner.n == 0;
    if (!out && moves && lies_so(&outer, 1)) {
        *result = op->data;
        return OX_OK;
    }
    if (!out)
        out = ox_run_work(r, outer.count + 1, ox_dtype_size(e->work), err);
    if (!out)
        return OX_NO_MEMORY;
    const size_t run = moves ? 1 : take_run(&inner);
    if (moves)
        move(e, &outer, op->data, out);
    else if (run > 1)
        sum_runs(e->work, &outer, &inner, run, op->data, out);
    else if (find_lanes(&outer) < outer.n)
        OX_TRY(sum_turned(r, e, &outer, &inner, find_lanes(&outer), op->data, out, err));
    else
        sum(e->work, &outer, &inner, op->data, out);
    *result = out;
    return OX_OK;
}
