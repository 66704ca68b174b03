#include <math.h>

#include "ops/ml/tree.h"

enum { LANES = OX_TREE_LANES };

/* How a value stands to a threshold: neither is found where that is NaN. */
enum { FOUND_NOT_MORE = 1, FOUND_NOT_LESS = 2, FOUND_MISSING = 4 };

#define LESS (1U << FOUND_NOT_MORE)
#define EQUAL (1U << (FOUND_NOT_MORE | FOUND_NOT_LESS))
#define MORE (1U << FOUND_NOT_LESS)
#define MISSING (1U << FOUND_MISSING)
#define NOTHING 1U

/* By kind of node: what leads to its true side. */
static const uint8_t true_when[2 * OX_TREE_MISSING] = {
    [OX_TREE_LEQ] = LESS | EQUAL,
    [OX_TREE_LT] = LESS,
    [OX_TREE_GTE] = MORE | EQUAL,
    [OX_TREE_GT] = MORE,
    [OX_TREE_EQ] = EQUAL,
    [OX_TREE_NEQ] = LESS | MORE | MISSING | NOTHING,
    [OX_TREE_LEQ | OX_TREE_MISSING] = LESS | EQUAL | MISSING,
    [OX_TREE_LT | OX_TREE_MISSING] = LESS | MISSING,
    [OX_TREE_GTE | OX_TREE_MISSING] = MORE | EQUAL | MISSING,
    [OX_TREE_GT | OX_TREE_MISSING] = MORE | MISSING,
    [OX_TREE_EQ | OX_TREE_MISSING] = EQUAL | MISSING,
    [OX_TREE_NEQ | OX_TREE_MISSING] = LESS | MORE | MISSING | NOTHING,
    [OX_TREE_MEMBER | OX_TREE_MISSING] = MISSING,
};

static bool is_member(const struct ox_forest *forest, size_t set, double x)
{
    size_t low = forest->set_start[set], high = forest->set_start[set + 1];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (forest->members[middle] == x)
            return true;
        if (forest->members[middle] < x)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

#define T float
#define NODE ox_tree_f32
#define NAME(x) x##_f32
#include "ops/ml/tree_mixed_tmpl.h"

#define T double
#define NODE ox_tree_f64
#define NAME(x) x##_f64
#include "ops/ml/tree_mixed_tmpl.h"

struct ox_tree_rows ox_tree_rows(const struct ox_forest *forest, const void *data, size_t stride,
                                 size_t n)
{
    const size_t all = n * stride;
    bool missing = false;
    if (forest->tracks_missing && forest->wide)
        for (size_t i = 0; i < all; i++)
            missing |= isnan(((const double *)data)[i]);
    else if (forest->tracks_missing)
        for (size_t i = 0; i < all; i++)
            missing |= isnan(((const float *)data)[i]);
    return (struct ox_tree_rows){.data = data, .stride = stride, .n = n, .missing = missing};
}

void ox_tree_walk(const struct ox_forest *forest, const uint32_t *roots, size_t n_trees,
                  const struct ox_tree_rows *rows, uint32_t *leaves)
{
    if (forest->wide)
        walk_f64(forest, roots, n_trees, rows, leaves);
    else
        walk_f32(forest, roots, n_trees, rows, leaves);
}
