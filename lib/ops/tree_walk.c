#include "ops/tree.h"

enum { LANES = 8 }; /* rows that walk side by side */

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

void ox_tree_walk(const struct ox_forest *forest, uint32_t root, const void *rows, size_t stride,
                  size_t n, uint32_t *leaves)
{
    if (forest->wide)
        walk_f64(forest, root, rows, stride, n, leaves);
    else
        walk_f32(forest, root, rows, stride, n, leaves);
}
