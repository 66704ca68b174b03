/* A tree whose nodes compare in different ways. T the type, NODE the node's, NAME(x). */
static bool NAME(holds)(const struct ox_forest *forest, uint8_t kind, const T x, const T threshold)
{
    if (kind & OX_TREE_MISSING && x != x)
        return true;
    switch ((enum ox_tree_mode)(kind & ~OX_TREE_MISSING)) {
    case OX_TREE_LEQ:
        return x <= threshold;
    case OX_TREE_LT:
        return x < threshold;
    case OX_TREE_GTE:
        return x >= threshold;
    case OX_TREE_GT:
        return x > threshold;
    case OX_TREE_EQ:
        return x == threshold;
    case OX_TREE_NEQ:
        return x != threshold;
    case OX_TREE_MEMBER:
        return is_member(forest, (size_t)threshold, (double)x);
    case OX_TREE_LEAF:
        break;
    }
    return true;
}

static void NAME(walk_mixed)(const struct ox_forest *forest, const uint32_t *roots, size_t n_trees,
                             const T *rows, size_t stride, size_t n, uint32_t *leaves)
{
    const struct NODE *nodes = forest->nodes;
    for (size_t i = 0; i < n_trees * n; i++) {
        const T *x = rows + i % n * stride;
        uint32_t at = roots[i / n];
        while (forest->kinds[at] != OX_TREE_LEAF)
            at = nodes[at].child[NAME(holds)(forest, forest->kinds[at], x[nodes[at].feature],
                                             nodes[at].threshold)];
        leaves[i] = (uint32_t)nodes[at].leaf;
    }
}

#define HOLDS(x, t) ((x) <= (t))
#define N(x) NAME(x##_leq)
#include "ops/tree_walk_tmpl.h"

#define HOLDS(x, t) ((x) < (t))
#define N(x) NAME(x##_lt)
#include "ops/tree_walk_tmpl.h"

#define HOLDS(x, t) ((x) >= (t))
#define N(x) NAME(x##_gte)
#include "ops/tree_walk_tmpl.h"

#define HOLDS(x, t) ((x) > (t))
#define N(x) NAME(x##_gt)
#include "ops/tree_walk_tmpl.h"

#define HOLDS(x, t) ((x) == (t))
#define N(x) NAME(x##_eq)
#include "ops/tree_walk_tmpl.h"

#define HOLDS(x, t) ((x) != (t))
#define N(x) NAME(x##_neq)
#include "ops/tree_walk_tmpl.h"

static void NAME(walk)(const struct ox_forest *forest, const uint32_t *roots, size_t n_trees,
                       const T *rows, size_t stride, size_t n, uint32_t *leaves)
{
    switch (forest->mode) {
    case OX_TREE_LEQ:
        NAME(walk_leq)(forest, roots, n_trees, rows, stride, n, leaves);
        break;
    case OX_TREE_LT:
        NAME(walk_lt)(forest, roots, n_trees, rows, stride, n, leaves);
        break;
    case OX_TREE_GTE:
        NAME(walk_gte)(forest, roots, n_trees, rows, stride, n, leaves);
        break;
    case OX_TREE_GT:
        NAME(walk_gt)(forest, roots, n_trees, rows, stride, n, leaves);
        break;
    case OX_TREE_EQ:
        NAME(walk_eq)(forest, roots, n_trees, rows, stride, n, leaves);
        break;
    case OX_TREE_NEQ:
        NAME(walk_neq)(forest, roots, n_trees, rows, stride, n, leaves);
        break;
    case OX_TREE_MEMBER:
    case OX_TREE_LEAF:
        NAME(walk_mixed)(forest, roots, n_trees, rows, stride, n, leaves);
        break;
    }
}

#undef T
#undef NODE
#undef NAME
