/* Minimum, maximum and broadcast of symbolic dimensions. */
#include <stdlib.h>

#include "model/expr_impl.h"

struct operands {
    const struct ox_expr *items[OX_EXPR_MAX_ARGS];
    unsigned n;
    unsigned steps; /* bounds what nested ones multiply to */
};

enum { MAX_STEPS = 64 };

/* Whether a says nothing beside b: a <= b for max, a >= b for min. */
static bool is_dominated(struct ox_exprs *pool, enum ox_atom_kind kind, const struct ox_expr *a,
                         const struct ox_expr *b)
{
    const struct ox_expr *d =
        kind == OX_ATOM_MAX ? ox_expr_sub(pool, b, a) : ox_expr_sub(pool, a, b);
    if (!d)
        return false;
    struct ox_bounds bounds = ox_expr_bounds(pool, d);
    return bounds.has_lo && bounds.lo >= 0;
}

/* The term of e that is a positive multiple of such an atom (a + 2 max(b, c) = max(a + 2b, a + 2c)); NULL. */
static const struct ox_term *nested_extremum(const struct ox_expr *e, enum ox_atom_kind kind)
{
    for (unsigned i = 0; i < e->n; i++) {
        const struct ox_term *t = &e->terms[i];
        if (t->coef > 0 && t->mono->degree == 1 && t->mono->atoms[0]->kind == kind)
            return t;
    }
    return NULL;
}

static bool operands_add(struct ox_exprs *pool, struct operands *list, enum ox_atom_kind kind,
                         const struct ox_expr *e)
{
    const struct ox_term *nested = nested_extremum(e, kind);
    if (++list->steps > MAX_STEPS)
        return false;
    if (nested) {
        const struct ox_atom *atom = nested->mono->atoms[0];
        const struct ox_expr *rest =
            ox_expr_add_scaled(pool, e, ox_expr_of_atom(pool, atom), -nested->coef);
        for (unsigned i = 0; i < atom->n; i++) {
            const struct ox_expr *arg = ox_expr_add_scaled(pool, rest, atom->args[i], nested->coef);
            if (!arg || !operands_add(pool, list, kind, arg))
                return false;
        }
        return true;
    }
    for (unsigned i = 0; i < list->n; i++) {
        if (list->items[i] == e || is_dominated(pool, kind, e, list->items[i]))
            return true;
    }
    unsigned kept = 0;
    for (unsigned i = 0; i < list->n; i++) {
        if (!is_dominated(pool, kind, list->items[i], e))
            list->items[kept++] = list->items[i];
    }
    if (kept == OX_EXPR_MAX_ARGS)
        return false;
    list->n = kept;
    list->items[list->n++] = e;
    return true;
}

static bool stands_before(const struct ox_expr *x, const struct ox_expr *y)
{
    bool x_number = ox_expr_is_int(x, NULL), y_number = ox_expr_is_int(y, NULL);
    return x_number != y_number ? x_number : x->id < y->id;
}

/* Numbers first, then by age. They are few. */
static void sort_operands(const struct ox_expr **items, unsigned n)
{
    for (unsigned i = 1; i < n; i++) {
        const struct ox_expr *item = items[i];
        unsigned at = i;
        for (; at > 0 && stands_before(item, items[at - 1]); at--)
            items[at] = items[at - 1];
        items[at] = item;
    }
}

/* The terms that all operands share, and of the constants the least: max(a + 2, b + 1) = 1 + max(a + 1, b). */
static const struct ox_expr *shared_terms(struct ox_exprs *pool, const struct operands *list)
{
    struct ox_term terms[OX_EXPR_MAX_TERMS];
    const struct ox_expr *first = list->items[0];
    int64_t constant = ox_expr_constant(first);
    size_t n = 0;
    for (unsigned i = 1; i < list->n; i++) {
        int64_t other = ox_expr_constant(list->items[i]);
        constant = other < constant ? other : constant;
    }
    for (unsigned t = 0; t < first->n; t++) {
        unsigned with = 1;
        for (unsigned i = 1; i < list->n; i++) {
            for (unsigned u = 0; u < list->items[i]->n; u++)
                with += list->items[i]->terms[u].mono == first->terms[t].mono &&
                        list->items[i]->terms[u].coef == first->terms[t].coef;
        }
        if (with == list->n && first->terms[t].mono->degree)
            terms[n++] = first->terms[t];
    }
    if (constant)
        terms[n++] = (struct ox_term){constant, pool->one};
    return ox_expr_of_terms(pool, terms, n);
}

/* min or max of a list that is pruned already; the list is used up. */
static const struct ox_expr *extremum(struct ox_exprs *pool, enum ox_atom_kind kind,
                                      struct operands *list)
{
    if (list->n == 1)
        return list->items[0];
    const struct ox_expr *shared = shared_terms(pool, list);
    int64_t g = 0;
    for (unsigned i = 0; i < list->n; i++) {
        list->items[i] = ox_expr_sub(pool, list->items[i], shared);
        if (!list->items[i])
            return NULL;
        g = ox_gcd(g,
                   ox_gcd(ox_expr_symbolic_gcd(list->items[i]), ox_expr_constant(list->items[i])));
    }
    for (unsigned i = 0; i < list->n && g > 1; i++) {
        list->items[i] = ox_expr_shrink(pool, list->items[i], g);
        if (!list->items[i])
            return NULL;
    }
    sort_operands(list->items, list->n);
    const struct ox_expr *result =
        ox_expr_of_atom(pool, ox_atom_get(pool, kind, list->items, list->n));
    return result ? ox_expr_add_scaled(pool, shared, result, g > 1 ? g : 1) : NULL;
}

const struct ox_expr *ox_expr_extremum(struct ox_exprs *pool, enum ox_atom_kind kind,
                                       const struct ox_expr *const *args, unsigned n)
{
    struct operands list = {.n = 0};
    for (unsigned i = 0; i < n; i++) {
        if (args[i] && operands_add(pool, &list, kind, args[i]))
            continue;
        pool->n_refused += args[i] != NULL;
        return NULL;
    }
    return extremum(pool, kind, &list);
}

const struct ox_expr *ox_expr_min(struct ox_exprs *pool, const struct ox_expr *a,
                                  const struct ox_expr *b)
{
    return ox_expr_extremum(pool, OX_ATOM_MIN, (const struct ox_expr *const[]){a, b}, 2);
}

const struct ox_expr *ox_expr_max(struct ox_exprs *pool, const struct ox_expr *a,
                                  const struct ox_expr *b)
{
    return ox_expr_extremum(pool, OX_ATOM_MAX, (const struct ox_expr *const[]){a, b}, 2);
}

/* Adds the sizes that e is made of: e itself, or those that it is the broadcast of. */
static bool add_sizes(const struct ox_expr **sizes, unsigned *n, const struct ox_expr *e)
{
    const struct ox_expr *const *parts = e->broadcast ? e->broadcast : &e;
    unsigned n_parts = e->broadcast ? e->n_broadcast : 1;
    for (unsigned i = 0; i < n_parts; i++) {
        bool seen = ox_expr_is_int(parts[i], NULL) && ox_expr_constant(parts[i]) == 1;
        for (unsigned j = 0; j < *n && !seen; j++)
            seen = sizes[j] == parts[i];
        if (seen)
            continue;
        if (*n == OX_EXPR_MAX_ARGS - 1)
            return false;
        sizes[(*n)++] = parts[i];
    }
    return true;
}

/* Whether the sizes can be nothing else than sizes: bcast(d, -1) = -d must not mark -d. */
static bool are_sizes(const struct ox_expr *const *sizes, unsigned n, const struct ox_expr *product)
{
    bool known = true;
    for (unsigned i = 0; i < n; i++)
        known &= sizes[i]->bounds.has_lo && sizes[i]->bounds.lo >= 0;
    return known ||
           (product->n == 1 && product->terms[0].coef == 1 && product->terms[0].mono->degree == 2);
}

/* The product alone would not show that broadcast(broadcast(a, b), a) is broadcast(a, b): so it keeps its sizes. */
const struct ox_expr *ox_expr_broadcast(struct ox_exprs *pool, const struct ox_expr *a,
                                        const struct ox_expr *b)
{
    const struct ox_expr *sizes[OX_EXPR_MAX_ARGS];
    unsigned n = 0;
    if (!a || !b || !add_sizes(sizes, &n, a) || !add_sizes(sizes, &n, b))
        return NULL;
    if (n <= 1)
        return n ? sizes[0] : ox_expr_int(pool, 1);
    sort_operands(sizes, n);
    const struct ox_expr *greatest = ox_expr_extremum(pool, OX_ATOM_MAX, sizes, n);
    sizes[n] = ox_expr_int(pool, 1);
    const struct ox_expr *least = ox_expr_extremum(pool, OX_ATOM_MIN, sizes, n + 1);
    const struct ox_expr *product = ox_expr_mul(pool, greatest, least);
    if (!product || product->broadcast || ox_expr_is_int(product, NULL) ||
        !are_sizes(sizes, n, product))
        return product;
    const struct ox_expr **copy = ox_arena_copy(&pool->arena, sizes, n * sizeof(sizes[0]));
    if (!copy)
        return NULL;
    struct ox_expr *made = (struct ox_expr *)(uintptr_t)product; /* ours: the pool's */
    made->broadcast = copy;
    made->n_broadcast = n;
    return product;
}
