/* Trees by one kind of comparison, by several, and with sets. T the type, NODE the node's, NAME(x). */
/* `missing`: x is, which matters only to nodes that track it. */
static inline bool NAME(holds)(uint8_t kind, const T x, const T threshold, bool missing)
{
    const unsigned found = (x <= threshold ? FOUND_NOT_MORE : 0U) |
                           (x >= threshold ? FOUND_NOT_LESS : 0U) | (missing ? FOUND_MISSING : 0U);
    return true_when[kind] >> found & 1;
}

static void NAME(walk_sets)(const struct ox_forest *forest, const uint32_t *roots, size_t n_trees,
                            const struct ox_tree_rows *r, uint32_t *leaves)
{
    const struct NODE *nodes = forest->nodes;
    for (size_t i = 0; i < n_trees * r->n; i++) {
        const T *row = (const T *)r->data + i % r->n * r->stride;
        uint32_t at = roots[i / r->n];
        while (forest->kinds[at] != OX_TREE_LEAF) {
            const uint8_t kind = forest->kinds[at];
            const T x = row[nodes[at].feature], threshold = nodes[at].threshold;
            const bool set = (kind & ~OX_TREE_MISSING) == OX_TREE_MEMBER &&
                             is_member(forest, (size_t)threshold, (double)x);
            at = nodes[at].child[set || NAME(holds)(kind, x, threshold, x != x)];
        }
        leaves[i] = (uint32_t)nodes[at].leaf;
    }
}

#define HOLDS(at, x, t) ((x) <= (t))
#define N(x) NAME(x##_leq)
#include "ops/ml/tree_walk_tmpl.h"

#define HOLDS(at, x, t) ((x) < (t))
#define N(x) NAME(x##_lt)
#include "ops/ml/tree_walk_tmpl.h"

#define HOLDS(at, x, t) ((x) >= (t))
#define N(x) NAME(x##_gte)
#include "ops/ml/tree_walk_tmpl.h"

#define HOLDS(at, x, t) ((x) > (t))
#define N(x) NAME(x##_gt)
#include "ops/ml/tree_walk_tmpl.h"

#define HOLDS(at, x, t) ((x) == (t))
#define N(x) NAME(x##_eq)
#include "ops/ml/tree_walk_tmpl.h"

#define HOLDS(at, x, t) ((x) != (t))
#define N(x) NAME(x##_neq)
#include "ops/ml/tree_walk_tmpl.h"

/* The two that exporters write, where values are missing. */
#define TRACKS(at, x) (((x) != (x)) & (forest->kinds[at] / OX_TREE_MISSING))
#define HOLDS(at, x, t) (((x) <= (t)) | TRACKS(at, x))
#define N(x) NAME(x##_leq_missing)
#include "ops/ml/tree_walk_tmpl.h"

#define HOLDS(at, x, t) (((x) < (t)) | TRACKS(at, x))
#define N(x) NAME(x##_lt_missing)
#include "ops/ml/tree_walk_tmpl.h"
#undef TRACKS

#define HOLDS(at, x, t) NAME(holds)(forest->kinds[at], x, t, false)
#define N(x) NAME(x##_varied)
#include "ops/ml/tree_walk_tmpl.h"

#define HOLDS(at, x, t) NAME(holds)(forest->kinds[at], x, t, (x) != (x))
#define N(x) NAME(x##_varied_missing)
#include "ops/ml/tree_walk_tmpl.h"

static void NAME(walk)(const struct ox_forest *forest, const uint32_t *roots, size_t n_trees,
                       const struct ox_tree_rows *r, uint32_t *leaves)
{
    const enum ox_tree_mode mode = forest->mode;
    const bool sets = mode == OX_TREE_MEMBER, quick = mode == OX_TREE_LEQ || mode == OX_TREE_LT;
    switch (r->missing && !sets && !quick ? OX_TREE_LEAF : mode) {
    case OX_TREE_LEQ:
        (r->missing ? NAME(walk_leq_missing) : NAME(walk_leq))(forest, roots, n_trees, r, leaves);
        break;
    case OX_TREE_LT:
        (r->missing ? NAME(walk_lt_missing) : NAME(walk_lt))(forest, roots, n_trees, r, leaves);
        break;
    case OX_TREE_GTE:
        NAME(walk_gte)(forest, roots, n_trees, r, leaves);
        break;
    case OX_TREE_GT:
        NAME(walk_gt)(forest, roots, n_trees, r, leaves);
        break;
    case OX_TREE_EQ:
        NAME(walk_eq)(forest, roots, n_trees, r, leaves);
        break;
    case OX_TREE_NEQ:
        NAME(walk_neq)(forest, roots, n_trees, r, leaves);
        break;
    case OX_TREE_MEMBER:
        NAME(walk_sets)(forest, roots, n_trees, r, leaves);
        break;
    case OX_TREE_LEAF:
        (r->missing ? NAME(walk_varied_missing) : NAME(walk_varied))(forest, roots, n_trees, r,
                                                                     leaves);
        break;
    }
}

#undef T
#undef NODE
#undef NAME
