#include "ops/tree.h"

enum { LANES = OX_TREE_LANES };

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
#include "ops/tree_mixed_tmpl.h"

#define T double
#define NODE ox_tree_f64
#define NAME(x) x##_f64
#include "ops/tree_mixed_tmpl.h"

void ox_tree_walk(const struct ox_forest *forest, const uint32_t *roots, size_t n_trees,
                  const void *rows, size_t stride, size_t n, uint32_t *leaves)
{
    if (forest->wide)
        walk_f64(forest, roots, n_trees, rows, stride, n, leaves);
    else
        walk_f32(forest, roots, n_trees, rows, stride, n, leaves);
}
