/* Trees as TreeEnsemble 5 gives them: inner nodes and leaves apart, each by index. In the draft leaf j is node n_inner + j. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "ops/ml/tree.h"
#include "ops/real.h"

static enum ox_status alloc_draft(struct ox_run *r, size_t n, size_t n_leaves,
                                  struct ox_tree_draft *d, struct ox_error *err)
{
    d->n = n + n_leaves;
    d->kind = ox_run_scratch(r, d->n, 1, err);
    d->feature = ox_run_scratch(r, d->n, sizeof *d->feature, err);
    d->threshold = ox_real_scratch(r, d->n, err);
    d->child[0] = ox_run_scratch(r, d->n, sizeof *d->child[0], err);
    d->child[1] = ox_run_scratch(r, d->n, sizeof *d->child[1], err);
    d->weight_leaf = ox_run_scratch(r, n_leaves, sizeof *d->weight_leaf, err);
    d->weight_target = ox_run_scratch(r, n_leaves, sizeof *d->weight_target, err);
    d->weight = ox_real_scratch(r, n_leaves, err);
    if (!d->kind || !d->feature || !d->threshold || !d->child[0] || !d->child[1] ||
        !d->weight_leaf || !d->weight_target || !d->weight)
        return OX_NO_MEMORY;
    return OX_OK;
}

static int compare_doubles(const void *pa, const void *pb)
{
    double a = *(const double *)pa, b = *(const double *)pb;
    return a < b ? -1 : a > b;
}

/* Sets end at a NaN each; the last one may go without. Node `at` of mode member gets the next one. */
static enum ox_status read_members(struct ox_run *r, size_t n_member_nodes, struct ox_tree_draft *d,
                                   struct ox_error *err)
{
    const double *values;
    size_t n, n_sets = 0, kept = 0;
    OX_TRY(ox_tree_tensor(r, "membership_values", &values, &n, NULL, err));
    d->members = ox_real_scratch(r, n, err);
    d->set_start = ox_run_scratch(r, n + 2, sizeof *d->set_start, err);
    if (!d->members || !d->set_start)
        return OX_NO_MEMORY;
    for (size_t i = 0; i < n; i++) {
        if (!isnan(values[i]))
            d->members[kept++] = values[i];
        if (isnan(values[i]) || i + 1 == n)
            d->set_start[++n_sets] = (uint32_t)kept;
    }
    if (n_sets < n_member_nodes)
        return ox_run_fail(r, err, OX_INPUT,
                           "membership_values has %zu sets for %zu nodes that ask for one", n_sets,
                           n_member_nodes);
    d->n_sets = n_sets;
    for (size_t s = 0; s < n_sets; s++)
        qsort(d->members + d->set_start[s], d->set_start[s + 1] - d->set_start[s], sizeof(double),
              compare_doubles);
    return OX_OK;
}

static enum ox_status read_inner(struct ox_run *r, size_t n, const double *modes,
                                 struct ox_tree_draft *d, size_t *n_member, struct ox_error *err)
{
    const int64_t *features, *missing = NULL;
    size_t n_missing;
    OX_TRY(ox_tree_ints(r, "nodes_featureids", n, &features, err));
    (void)ox_run_ints(r, "nodes_missing_value_tracks_true", &n_missing);
    if (n_missing)
        OX_TRY(ox_tree_ints(r, "nodes_missing_value_tracks_true", n, &missing, err));
    for (size_t i = 0; i < n; i++) {
        if (!(modes[i] >= OX_TREE_LEQ && modes[i] <= OX_TREE_MEMBER))
            return ox_run_fail(r, err, OX_INPUT, "nodes_modes[%zu] is %g", i, modes[i]);
        d->kind[i] = (uint8_t)modes[i];
        if (d->kind[i] == OX_TREE_MEMBER)
            d->threshold[i] = (double)(*n_member)++;
        if (missing && missing[i])
            d->kind[i] |= OX_TREE_MISSING;
        d->feature[i] = features[i];
    }
    return OX_OK;
}

static enum ox_status read_children(struct ox_run *r, size_t n, size_t n_leaves,
                                    struct ox_tree_draft *d, struct ox_error *err)
{
    static const char *const names[2][2] = {{"nodes_falsenodeids", "nodes_falseleafs"},
                                            {"nodes_truenodeids", "nodes_trueleafs"}};
    for (unsigned side = 0; side < 2; side++) {
        const int64_t *ids, *leaf;
        OX_TRY(ox_tree_ints(r, names[side][0], n, &ids, err));
        OX_TRY(ox_tree_ints(r, names[side][1], n, &leaf, err));
        for (size_t i = 0; i < n; i++) {
            size_t limit = leaf[i] ? n_leaves : n;
            if (ids[i] < 0 || (uint64_t)ids[i] >= limit)
                return ox_run_fail(r, err, OX_INPUT, "%s[%zu] is %" PRId64 ", but there are %zu %s",
                                   names[side][0], i, ids[i], limit, leaf[i] ? "leaves" : "nodes");
            d->child[side][i] = (uint32_t)((leaf[i] ? n : 0) + (size_t)ids[i]);
        }
    }
    return OX_OK;
}

static enum ox_status read_roots(struct ox_run *r, size_t n, struct ox_tree_draft *d,
                                 struct ox_error *err)
{
    const int64_t *roots = ox_run_ints(r, "tree_roots", &d->n_roots);
    d->roots = ox_run_scratch(r, d->n_roots, sizeof *d->roots, err);
    if (!d->roots)
        return OX_NO_MEMORY;
    for (size_t i = 0; i < d->n_roots; i++) {
        if (roots[i] < 0 || (uint64_t)roots[i] >= n)
            return ox_run_fail(r, err, OX_INPUT,
                               "tree_roots[%zu] is %" PRId64 ", but there are %zu nodes", i,
                               roots[i], n);
        d->roots[i] = (uint32_t)roots[i];
    }
    return OX_OK;
}

enum ox_status ox_tree_draft_tensors(struct ox_run *r, struct ox_tree_draft *draft, bool *wide,
                                     struct ox_error *err)
{
    const double *modes, *splits, *weights;
    const int64_t *targets;
    size_t n, n_splits, n_leaves, n_member = 0;
    *draft = (struct ox_tree_draft){0};
    OX_TRY(ox_tree_tensor(r, "nodes_modes", &modes, &n, NULL, err));
    OX_TRY(ox_tree_tensor(r, "nodes_splits", &splits, &n_splits, wide, err));
    OX_TRY(ox_tree_tensor(r, "leaf_weights", &weights, &n_leaves, NULL, err));
    OX_TRY(ox_tree_ints(r, "leaf_targetids", n_leaves, &targets, err));
    if (n_splits != n)
        return ox_run_fail(r, err, OX_INPUT, "attribute nodes_splits has %zu elements, not %zu",
                           n_splits, n);
    if (n >= UINT32_MAX / 2 || n_leaves >= UINT32_MAX / 2)
        return ox_run_fail(r, err, OX_LIMIT, "%zu nodes are too many", n);
    OX_TRY(alloc_draft(r, n, n_leaves, draft, err));
    for (size_t i = 0; i < n; i++)
        draft->threshold[i] = splits[i];
    OX_TRY(read_inner(r, n, modes, draft, &n_member, err));
    if (n_member > 1 << 24)
        *wide = true; /* the number of a set is kept where the threshold is */
    OX_TRY(read_members(r, n_member, draft, err));
    OX_TRY(read_children(r, n, n_leaves, draft, err));
    OX_TRY(read_roots(r, n, draft, err));
    draft->n_weights = n_leaves;
    for (size_t j = 0; j < n_leaves; j++) {
        draft->kind[n + j] = OX_TREE_LEAF;
        draft->weight_leaf[j] = (uint32_t)(n + j);
        draft->weight_target[j] = targets[j];
        draft->weight[j] = weights[j];
    }
    return OX_OK;
}
