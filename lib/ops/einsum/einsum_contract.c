/* The product of two operands of Einsum: a batch of matrix products, of sides as they lie where that is a good one. */
#include <string.h>

#include "kernels/dense.h"
#include "ops/einsum/einsum_axes.h"
#include "ops/einsum/einsum_operand.h"
#include "ops/fast/fast.h"
#include "ops/product.h"

static size_t set_strides(const struct ox_einsum *e, struct ox_einsum_operand *op,
                          const unsigned char *labels, unsigned n)
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

static void list_add(const struct ox_einsum *e, struct label_list *list, unsigned label)
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
static void order_labels(const struct ox_einsum_operand *a, const struct ox_einsum_term *out,
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

static void sort_labels(const struct ox_einsum *e, const struct ox_einsum_operand *a,
                        const struct ox_einsum_operand *b, const struct ox_einsum_term *out,
                        unsigned next, struct contraction *c)
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
static bool same_order(const struct ox_einsum *e, const struct label_list *list,
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

static enum ox_status multiply(struct ox_run *r, const struct ox_einsum *e,
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
static bool place_product(const struct ox_einsum *e, const struct ox_einsum_operand *a,
                          const struct ox_einsum_operand *b, const struct ox_einsum_term *out,
                          float *into, struct ox_dense *d)
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

enum ox_status ox_einsum_contract(struct ox_run *r, const struct ox_einsum *e,
                                  struct ox_einsum_operand *a, const struct ox_einsum_operand *b,
                                  unsigned next, const struct ox_einsum_term *out, void *into,
                                  struct ox_error *err)
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
    OX_TRY(ox_einsum_gather(r, e, a, c->left.label, c->left.n, NULL, &c->a, err));
    OX_TRY(ox_einsum_gather(r, e, b, c->right.label, c->right.n, NULL, &c->b, err));
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
