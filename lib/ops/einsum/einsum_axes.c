#include "ops/einsum/einsum_axes.h"

#include "kernels/dense.h"

enum kind { BATCH, ROW, COLUMN, INNER, N_KINDS };

enum { FEW = 16, MOST_BATCHES = 2 };

struct axes {
    unsigned n;
    struct ox_einsum_axis axis[OX_EINSUM_AXES];
};

static enum kind kind_of(const struct ox_einsum_axis *x)
{
    if (!x->c)
        return x->a && x->b ? INNER : N_KINDS;
    if (!x->a)
        return x->b ? COLUMN : N_KINDS;
    return x->b ? BATCH : ROW;
}

/* The result's order, and of what it lacks the left side's: neighbours can be one then. */
static void sort(struct ox_einsum_axis *axes, unsigned n)
{
    for (unsigned i = 1; i < n; i++) {
        const struct ox_einsum_axis x = axes[i];
        unsigned k = i;

        for (; k > 0 && (axes[k - 1].c < x.c || (axes[k - 1].c == x.c && axes[k - 1].a < x.a)); k--)
            axes[k] = axes[k - 1];
        axes[k] = x;
    }
}

static void add(struct axes *list, const struct ox_einsum_axis *x)
{
    struct ox_einsum_axis *last = &list->axis[list->n];

    if (list->n > 0 && last[-1].a == x->a * x->size && last[-1].b == x->b * x->size &&
        last[-1].c == x->c * x->size) {
        const size_t size = last[-1].size * x->size;

        last[-1] = *x;
        last[-1].size = size;
        return;
    }
    *last = *x;
    list->n++;
}

/* The result's rows are to be read along the columns. */
static void swap_sides(struct ox_einsum_axis *axes, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        const size_t a = axes[i].a;

        axes[i].a = axes[i].b;
        axes[i].b = a;
    }
}

/* Takes the largest out of the list. False if the rest would make batches of few of it. */
static bool take_largest(struct axes *list, struct ox_einsum_axis *out)
{
    unsigned best = 0;

    for (unsigned i = 1; i < list->n; i++)
        if (list->axis[i].size > list->axis[best].size)
            best = i;
    *out = list->axis[best];
    list->axis[best] = list->axis[--list->n];
    return list->n == 0 || out->size >= FEW;
}

/* Takes what is adjacent in the result, which stands last. */
static bool take_adjacent(struct axes *list, struct ox_einsum_axis *out)
{
    *out = list->axis[--list->n];
    return out->c == 1 && (list->n == 0 || out->size >= FEW);
}

bool ox_einsum_product(struct ox_einsum_axis *axes, unsigned n, struct ox_dense *d)
{
    struct axes of[N_KINDS + 1] = {{.n = 0}};
    struct ox_einsum_axis row, column;

    sort(axes, n);
    bool swap = false;
    for (unsigned i = 0; i < n; i++)
        swap = swap || (axes[i].c == 1 && kind_of(&axes[i]) == ROW);
    if (swap)
        swap_sides(axes, n);
    for (unsigned i = 0; i < n; i++)
        add(&of[kind_of(&axes[i])], &axes[i]);
    if (of[N_KINDS].n > 0 || of[INNER].n != 1 || of[ROW].n == 0 || of[COLUMN].n == 0 ||
        !take_largest(&of[ROW], &row) || !take_adjacent(&of[COLUMN], &column))
        return false;
    const struct ox_einsum_axis inner = of[INNER].axis[0];
    struct axes batch = of[BATCH];
    if (inner.a != 1 || (inner.b != 1 && column.b != 1) ||
        batch.n + of[ROW].n + of[COLUMN].n > MOST_BATCHES)
        return false;
    for (unsigned i = 0; i < of[ROW].n; i++)
        batch.axis[batch.n++] = of[ROW].axis[i];
    for (unsigned i = 0; i < of[COLUMN].n; i++)
        batch.axis[batch.n++] = of[COLUMN].axis[i];
    if (swap) {
        const float *a = d->a;

        d->a = d->b;
        d->b = a;
    }
    d->m = row.size, d->n = column.size, d->k = inner.size;
    d->a_row = row.a, d->a_col = inner.a;
    d->b_row = inner.b, d->b_col = column.b;
    d->c_row = row.c;
    for (unsigned i = 0; i < batch.n; i++) {
        d->batch[i] = batch.axis[i].size;
        d->a_batch[i] = batch.axis[i].a;
        d->b_batch[i] = batch.axis[i].b;
        d->c_batch[i] = batch.axis[i].c;
    }
    return true;
}
