/* Einsum: operands are multiplied from left to right, each time a batch of matrix products, and labels that nothing further needs are
 * summed over. Integers run in 64 bits, which is exact modulo their own size. */
#include <string.h>

#include "kernels/dense.h"
#include "kernels/folds.h"
#include "ops/einsum_axes.h"
#include "ops/einsum_equation.h"
#include "ops/fast.h"
#include "ops/infer.h"
#include "ops/move.h"
#include "ops/product.h"

/* ---- Shape rule -------------------------------------------------------------------------------------------------- */

static void infer_einsum(struct ox_infer *c)
{
    const char *at = ox_infer_string_attr(c, "equation"), *wrong = at ? NULL : "none";
    const struct ox_expr *size[OX_EINSUM_LABELS] = {NULL};
    unsigned uses[OX_EINSUM_LABELS] = {0}, most = 0;
    bool known = true;
    struct ox_einsum_term t;
    for (size_t i = 0; !wrong && i < ox_infer_n_in(c); i++) {
        unsigned rank;
        const struct ox_expr *const *dims;
        wrong = ox_einsum_read(&at, &t);
        if (wrong || (i + 1 < ox_infer_n_in(c) ? *at++ != ',' : *at == ',')) {
            wrong = wrong ? wrong : "not as many terms as inputs";
            break;
        }
        if (!ox_infer_shape(c, i, &rank, &dims)) {
            known = known && t.ellipsis < 0;
            for (unsigned d = 0; d < t.n; d++)
                uses[t.label[d]]++;
            continue;
        }
        if (!ox_einsum_expand(&t, rank)) {
            wrong = "a term that does not fit its input's rank";
            break;
        }
        for (unsigned d = 0; d < rank; d++) {
            const struct ox_expr **s = &size[t.label[d]];
            *s = uses[t.label[d]]++ ? ox_infer_broadcast_dim(c, *s, dims[d]) : dims[d];
            if (t.label[d] >= OX_EINSUM_LETTERS && t.label[d] - OX_EINSUM_LETTERS + 1U > most)
                most = t.label[d] - OX_EINSUM_LETTERS + 1U;
        }
    }
    if (!wrong)
        wrong = ox_einsum_read_output(at, uses, most, &t);
    if (wrong) {
        ox_infer_conflict(c, "the equation has %s", wrong);
        return;
    }
    const struct ox_expr **dims = known ? ox_infer_dims(c, t.n) : NULL;
    for (unsigned d = 0; dims && d < t.n; d++)
        dims[d] = size[t.label[d]];
    if (dims)
        ox_infer_set_shape(c, 0, t.n, dims);
    else
        ox_infer_unknown(c, 0, "the rank of an input with an ellipsis is not known");
}

/* ---- Kernel ------------------------------------------------------------------------------------------------------ */

/* An operand: sizes and strides of the labels that it has; those that it lacks have stride 0 and present false. */
struct operand {
    const void *data;
    bool present[OX_EINSUM_LABELS];
    size_t stride[OX_EINSUM_LABELS];
};

struct einsum {
    size_t size[OX_EINSUM_LABELS];
    unsigned last[OX_EINSUM_LABELS]; /* one more than the last term that has the label */
    bool wanted[OX_EINSUM_LABELS];   /* in the output */
    enum ox_dtype work;              /* float32, float64, uint32 or uint64: integers wrap */
    bool fast;                       /* products by the faster kernels */
};

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

#define T float
#define NAME(x) x##_f32
#include "ops/einsum_tmpl.h"
#undef T
#undef NAME
#define T double
#define NAME(x) x##_f64
#include "ops/einsum_tmpl.h"
#undef T
#undef NAME
#define T uint32_t
#define NAME(x) x##_u32
#include "ops/einsum_tmpl.h"
#undef T
#undef NAME
#define T uint64_t
#define NAME(x) x##_u64
#include "ops/einsum_tmpl.h"

static bool walk_add(struct walk *w, const struct einsum *e, const struct operand *op,
                     unsigned label)
{
    w->size[w->n] = e->size[label];
    w->stride[w->n++] = op->stride[label];
    return !OX_MUL_OVERFLOWS(w->count, e->size[label], &w->count);
}

static void move(const struct einsum *e, const struct walk *outer, const void *data, void *out)
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

/* The operand as a contiguous array over `labels`, summed over its others. *result is `out`, or without one its own data where
 * it lies so already. */
static enum ox_status gather(struct ox_run *r, const struct einsum *e, const struct operand *op,
                             const unsigned char *labels, unsigned n, void *out,
                             const void **result, struct ox_error *err)
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
    else if (e->work == OX_FLOAT32)
        gather_f32(&outer, &inner, op->data, out);
    else if (e->work == OX_FLOAT64)
        gather_f64(&outer, &inner, op->data, out);
    else if (e->work == OX_UINT32)
        gather_u32(&outer, &inner, op->data, out);
    else
        gather_u64(&outer, &inner, op->data, out);
    *result = out;
    return OX_OK;
}

static size_t set_strides(const struct einsum *e, struct operand *op, const unsigned char *labels,
                          unsigned n)
{
    size_t pitch = 1;
    memset(op->present, 0, sizeof op->present);
    memset(op->stride, 0, sizeof op->stride);
    for (unsigned i = n; i-- > 0;) {
        op->present[labels[i]] = true;
        op->stride[labels[i]] = pitch;
        pitch *= e->size[labels[i]];
    }
    return pitch;
}

struct label_list {
    unsigned n;
    size_t count;
    unsigned char label[OX_EINSUM_LABELS];
};

static void list_add(const struct einsum *e, struct label_list *list, unsigned label)
{
    list->label[list->n++] = (unsigned char)label;
    if (OX_MUL_OVERFLOWS(list->count, e->size[label], &list->count))
        list->count = SIZE_MAX;
}

static void list_join(struct label_list *to, const struct label_list *more)
{
    memcpy(to->label + to->n, more->label, more->n);
    to->n += more->n;
}

/* Labels of a product by what becomes of them, and both sides over them. */
struct contraction {
    struct label_list batch, rows, cols, inner, left, right, result;
    const void *a, *b;
    void *c;
};

/* All labels, those of the output as it has them, the others as they lie in `a`: so there is least to move. */
static void order_labels(const struct operand *a, const struct ox_einsum_term *out,
                         unsigned char order[OX_EINSUM_LABELS])
{
    bool placed[OX_EINSUM_LABELS] = {false};
    unsigned n = out->n;

    memcpy(order, out->label, out->n);
    for (unsigned i = 0; i < out->n; i++)
        placed[out->label[i]] = true;
    for (unsigned label = 0; label < OX_EINSUM_LABELS; label++) {
        if (placed[label])
            continue;
        unsigned at = n++;
        for (; at > out->n && a->stride[order[at - 1]] < a->stride[label]; at--)
            order[at] = order[at - 1];
        order[at] = (unsigned char)label;
    }
}

static void sort_labels(const struct einsum *e, const struct operand *a, const struct operand *b,
                        const struct ox_einsum_term *out, unsigned next, struct contraction *c)
{
    unsigned char order[OX_EINSUM_LABELS];

    order_labels(a, out, order);
    c->batch = c->rows = c->cols = c->inner = (struct label_list){.count = 1};
    for (unsigned i = 0; i < OX_EINSUM_LABELS; i++) {
        const unsigned label = order[i];
        bool keep = e->wanted[label] || e->last[label] > next;
        if (a->present[label] && b->present[label])
            list_add(e, keep ? &c->batch : &c->inner, label);
        else if (keep && (a->present[label] || b->present[label]))
            list_add(e, a->present[label] ? &c->rows : &c->cols, label);
    }
    c->left = c->right = c->result = c->batch;
    list_join(&c->left, &c->rows);
    list_join(&c->left, &c->inner);
    list_join(&c->result, &c->rows);
    list_join(&c->result, &c->cols);
}

/* Whether `order` but for labels of size 1 is how `list` goes. */
static bool same_order(const struct einsum *e, const struct label_list *list,
                       const struct ox_einsum_term *order)
{
    unsigned at = 0;
    for (unsigned i = 0; i < order->n; i++) {
        if (e->size[order->label[i]] == 1)
            continue;
        if (at == list->n || list->label[at++] != order->label[i])
            return false;
    }
    return at == list->n;
}

static enum ox_status multiply(struct ox_run *r, const struct einsum *e,
                               const struct contraction *c, struct ox_error *err)
{
    const size_t n = c->batch.count, rows = c->rows.count, cols = c->cols.count,
                 inner = c->inner.count;
    size_t *at = ox_run_scratch(r, n, 3 * sizeof *at, err);
    if (!at)
        return OX_NO_MEMORY;
    for (size_t i = 0; i < n; i++) {
        at[i] = i * rows * inner;
        at[n + i] = i * inner * cols;
        at[2 * n + i] = i * rows * cols;
    }
    struct ox_product p = {.dtype = e->work,
                           .m = rows,
                           .n = cols,
                           .k = inner,
                           .a = c->a,
                           .a_row = inner,
                           .a_col = 1,
                           .b = c->b,
                           .b_row = cols,
                           .b_col = 1,
                           .c = c->c,
                           .ldc = cols,
                           .batches = n,
                           .a_at = at,
                           .b_at = at + n,
                           .c_at = at + 2 * n};
    return ox_product_run(r, &p, err);
}

/* In float32; the right side may lie [batch, cols, inner]. */
static enum ox_status multiply_fast(struct ox_run *r, const struct contraction *c, bool turned,
                                    struct ox_error *err)
{
    const size_t n = c->batch.count, rows = c->rows.count, cols = c->cols.count,
                 inner = c->inner.count;
    const struct ox_dense d = {.m = rows,
                               .n = cols,
                               .k = inner,
                               .a = c->a,
                               .a_row = inner,
                               .a_col = 1,
                               .b = c->b,
                               .b_row = turned ? 1 : cols,
                               .b_col = turned ? inner : 1,
                               .c = c->c,
                               .c_row = cols,
                               .batch = {n},
                               .a_batch = {rows * inner},
                               .b_batch = {cols * inner},
                               .c_batch = {rows * cols}};
    return n && rows && cols ? ox_fast_product(r, &d, err) : OX_OK;
}

/* The last product, in float32, of both sides as they lie into the output as it is to be. False: not done. */
static bool place_product(const struct einsum *e, const struct operand *a, const struct operand *b,
                          const struct ox_einsum_term *out, float *into, struct ox_dense *d)
{
    struct ox_einsum_axis axes[OX_EINSUM_AXES];
    size_t pitch[OX_EINSUM_LABELS] = {0}, step = 1;
    unsigned n = 0;

    for (unsigned i = out->n; i-- > 0; step *= e->size[out->label[i]])
        pitch[out->label[i]] = step;
    for (unsigned label = 0; label < OX_EINSUM_LABELS; label++) {
        if (e->size[label] == 1 || (!a->present[label] && !b->present[label]))
            continue;
        if (n == OX_EINSUM_AXES || e->size[label] == 0)
            return false;
        axes[n++] = (struct ox_einsum_axis){.size = e->size[label],
                                            .a = a->stride[label],
                                            .b = b->stride[label],
                                            .c = pitch[label]};
    }
    *d = (struct ox_dense){.a = a->data, .b = b->data, .c = into};
    return ox_einsum_product(axes, n, d);
}

/* a becomes the product of a and b, over the labels that the output or a term from `next` on needs; in `into` where that is the
 * last one and its labels stand as `out` has them. */
static enum ox_status contract(struct ox_run *r, const struct einsum *e, struct operand *a,
                               const struct operand *b, unsigned next,
                               const struct ox_einsum_term *out, void *into, struct ox_error *err)
{
    const bool fast = e->fast && e->work == OX_FLOAT32;
    struct ox_dense direct;
    if (fast && into && next == r->n_in && place_product(e, a, b, out, into, &direct)) {
        a->data = into;
        return ox_fast_product(r, &direct, err);
    }
    struct contraction *c = ox_run_scratch(r, 1, sizeof *c, err);
    if (!c)
        return OX_NO_MEMORY;
    sort_labels(e, a, b, out, next, c);
    bool turned = false;
    for (unsigned i = 0; fast && i < c->inner.n; i++)
        turned = turned || b->stride[c->inner.label[i]] == 1;
    list_join(&c->right, turned ? &c->cols : &c->inner);
    list_join(&c->right, turned ? &c->inner : &c->cols);
    OX_TRY(gather(r, e, a, c->left.label, c->left.n, NULL, &c->a, err));
    OX_TRY(gather(r, e, b, c->right.label, c->right.n, NULL, &c->b, err));
    size_t m, all;
    if (OX_MUL_OVERFLOWS(c->rows.count, c->cols.count, &m) ||
        OX_MUL_OVERFLOWS(c->batch.count, m, &all))
        return ox_run_fail(r, err, OX_LIMIT, "an intermediate product is too large");
    const bool straight = into && next == r->n_in && same_order(e, &c->result, out);
    const size_t size = ox_dtype_size(e->work);
    if (straight)
        c->c = into;
    else /* the last one is moved on at once */
        c->c = fast && next == r->n_in ? ox_run_work(r, all + 1, size, err)
                                       : ox_run_scratch(r, all, size, err);
    if (!c->c)
        return OX_NO_MEMORY;
    OX_TRY(fast ? multiply_fast(r, c, turned, err) : multiply(r, e, c, err));
    a->data = c->c;
    set_strides(e, a, c->result.label, c->result.n);
    return OX_OK;
}

/* Sizes of all labels, from all inputs; those of size 1 give way. */
static enum ox_status measure(struct ox_run *r, const char *equation, struct einsum *e,
                              struct ox_einsum_term *terms, struct ox_einsum_term *out,
                              struct ox_error *err)
{
    unsigned uses[OX_EINSUM_LABELS] = {0}, most = 0;
    const char *at = equation, *wrong = NULL;
    for (unsigned label = 0; label < OX_EINSUM_LABELS; label++)
        e->size[label] = 1;
    for (size_t i = 0; i < r->n_in; i++) {
        const struct ox_tensor *x = ox_run_in(r, i);
        struct ox_einsum_term *t = &terms[i];
        if (!x)
            return ox_run_fail(r, err, OX_INPUT, "input %zu is missing", i);
        wrong = ox_einsum_read(&at, t);
        if (!wrong && (i + 1 < r->n_in ? *at++ != ',' : *at == ','))
            wrong = "not as many terms as inputs";
        if (!wrong && !ox_einsum_expand(t, x->rank))
            wrong = "a term that does not fit its input's rank";
        if (wrong)
            return ox_run_fail(r, err, OX_INPUT, "equation '%.200s', input %zu: %s", equation, i,
                               wrong);
        for (unsigned d = 0; d < x->rank; d++) {
            unsigned label = t->label[d];
            size_t have = e->size[label], own = (size_t)x->dims[d];
            if (uses[label]++ && have != own && have != 1 && own != 1)
                return ox_run_fail(r, err, OX_INPUT,
                                   "equation '%.200s': axis %u of input %zu is %zu, the same label "
                                   "was %zu before",
                                   equation, d, i, own, have);
            e->size[label] = own == 1 ? have : own;
            e->last[label] = (unsigned)i + 1;
            if (label >= OX_EINSUM_LETTERS && label - OX_EINSUM_LETTERS + 1 > most)
                most = label - OX_EINSUM_LETTERS + 1;
        }
    }
    wrong = ox_einsum_read_output(at, uses, most, out);
    if (wrong)
        return ox_run_fail(r, err, OX_INPUT, "equation '%.200s' has %s", equation, wrong);
    for (unsigned i = 0; i < out->n; i++)
        e->wanted[out->label[i]] = true;
    return OX_OK;
}

/* Input i as an operand: labels that stand twice take the diagonal, axes of size 1 fall away. */
static enum ox_status load(struct ox_run *r, const struct einsum *e, size_t i,
                           const struct ox_einsum_term *t, struct operand *op, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, i);
    *op = (struct operand){.data = x->data};
    size_t pitch = 1;
    for (unsigned d = x->rank; d-- > 0;) {
        if (x->dims[d] != 1) {
            op->present[t->label[d]] = true;
            op->stride[t->label[d]] += pitch;
        }
        pitch *= (size_t)x->dims[d];
    }
    if (ox_dtype_size(x->dtype) == ox_dtype_size(e->work))
        return OX_OK;
    uint32_t *wide = ox_run_scratch(r, x->n, sizeof *wide, err);
    if (!wide)
        return OX_NO_MEMORY;
    for (size_t k = 0; k < x->n; k++)
        wide[k] = (uint32_t)ox_tensor_get_int(x, k);
    op->data = wide;
    return OX_OK;
}

static void narrow(const uint32_t *from, struct ox_tensor *y)
{
    if (ox_dtype_size(y->dtype) == 1)
        for (size_t i = 0; i < y->n; i++)
            ((uint8_t *)y->data)[i] = (uint8_t)from[i];
    else
        for (size_t i = 0; i < y->n; i++)
            ((uint16_t *)y->data)[i] = (uint16_t)from[i];
}

/* What a type is multiplied in: small integers in wider ones. */
static enum ox_dtype work_of(enum ox_dtype dtype)
{
    if (dtype == OX_FLOAT32 || dtype == OX_FLOAT64)
        return dtype;
    return ox_dtype_size(dtype) == sizeof(uint64_t) ? OX_UINT64 : OX_UINT32;
}

static enum ox_status einsum(struct ox_run *r, bool fast, struct ox_error *err)
{
    const char *equation = ox_run_string(r, "equation");
    struct ox_einsum_term *terms = ox_run_scratch(r, r->n_in, sizeof *terms, err), out;
    struct operand *ops = ox_run_scratch(r, 2, sizeof *ops, err);
    struct einsum *e = ox_run_scratch(r, 1, sizeof *e, err);
    if (!terms || !ops || !e)
        return OX_NO_MEMORY;
    if (!equation)
        return ox_run_fail(r, err, OX_INPUT, "equation is missing");
    OX_TRY(measure(r, equation, e, terms, &out, err));
    int64_t dims[OX_EINSUM_RANK];
    for (unsigned i = 0; i < out.n; i++)
        dims[i] = (int64_t)e->size[out.label[i]];
    struct ox_tensor *y;
    OX_TRY(ox_run_out(r, 0, ox_run_in(r, 0)->dtype, out.n, dims, &y, err));
    e->work = work_of(y->dtype);
    void *into = ox_dtype_size(e->work) == ox_dtype_size(y->dtype) ? y->data : NULL;
    e->fast = fast;
    OX_TRY(load(r, e, 0, &terms[0], &ops[0], err));
    for (size_t i = 1; i < r->n_in; i++) {
        OX_TRY(load(r, e, i, &terms[i], &ops[1], err));
        ox_run_release_work(r); /* that of the product before */
        OX_TRY(contract(r, e, &ops[0], &ops[1], (unsigned)i + 1, &out, into, err));
    }
    const void *result = y->data;
    if (ops[0].data != y->data)
        OX_TRY(gather(r, e, &ops[0], out.label, out.n, into, &result, err));
    if (!into)
        narrow(result, y);
    return ox_env_poll(r->env, err);
}

static enum ox_status run_einsum(struct ox_run *r, struct ox_error *err)
{
    return einsum(r, false, err);
}

static enum ox_status fast_einsum(struct ox_run *r, struct ox_error *err)
{
    return einsum(r, true, err);
}

const struct ox_op ox_ops_einsum[] = {
    {"", "Einsum", 12, .infer = infer_einsum, .run = run_einsum, .fast = fast_einsum},
    {"", "Einsum", 28, .infer = infer_einsum, .run = run_einsum, .fast = fast_einsum},
    {0}};
