/* Trees as the Classifier and Regressor forms give them: parallel lists, nodes named by (tree, node) pairs. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ops/ml/tree.h"
#include "ops/real.h"

enum ox_status ox_tree_tensor(struct ox_run *r, const char *name, const double **values, size_t *n,
                              bool *wide, struct ox_error *err)
{
    struct ox_tensor *t;
    *values = NULL;
    *n = 0;
    OX_TRY(ox_run_tensor_attr(r, name, &t, err));
    if (!t)
        return OX_OK;
    enum ox_status status = OX_OK;
    double *all = NULL;
    if (t->dtype == OX_STRING)
        status = ox_run_fail(r, err, OX_INPUT, "attribute %s is of strings", name);
    else if (!(all = ox_real_scratch(r, t->n, err)))
        status = OX_NO_MEMORY;
    if (status == OX_OK) {
        ox_real_load(t, 0, t->n, all);
        *values = all;
        *n = t->n;
        if (wide && t->dtype == OX_FLOAT64)
            *wide = true;
    }
    ox_tensor_release(t);
    return status;
}

enum ox_status ox_tree_numbers(struct ox_run *r, const char *name, const double **values, size_t *n,
                               bool *wide, struct ox_error *err)
{
    char tensor_name[64];
    const float *floats = ox_run_floats(r, name, n);
    if (*n == 0) {
        size_t length = strlen(name);
        static const char suffix[] = "_as_tensor";
        r->asked = NULL;
        memcpy(tensor_name, name, length);
        memcpy(tensor_name + length, suffix, sizeof suffix);
        return ox_tree_tensor(r, tensor_name, values, n, wide, err);
    }
    double *all = ox_real_scratch(r, *n, err);
    if (!all)
        return OX_NO_MEMORY;
    for (size_t i = 0; i < *n; i++)
        all[i] = (double)floats[i];
    *values = all;
    return OX_OK;
}

/* ---- Nodes by name ------------------------------------------------------------------------------------------------ */

struct key {
    int64_t tree, node;
    uint32_t at;
};

/* Keys in order; trees[i] is where tree i begins. Nodes of a tree are mostly numbered in sequence, so that the first guess is
 * right. */
struct names {
    struct key *keys;
    size_t n;
};

static int compare_keys(const void *pa, const void *pb)
{
    const struct key *a = pa, *b = pb;
    if (a->tree != b->tree)
        return a->tree < b->tree ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

static enum ox_status sort_names(struct ox_run *r, struct names *names, struct ox_error *err)
{
    bool sorted = true;
    for (size_t i = 1; sorted && i < names->n; i++)
        sorted = compare_keys(&names->keys[i - 1], &names->keys[i]) < 0;
    if (sorted)
        return OX_OK;
    qsort(names->keys, names->n, sizeof *names->keys, compare_keys);
    for (size_t i = 1; i < names->n; i++)
        if (compare_keys(&names->keys[i - 1], &names->keys[i]) == 0)
            return ox_run_fail(r, err, OX_INPUT,
                               "tree %" PRId64 " has node %" PRId64 " more than once",
                               names->keys[i].tree, names->keys[i].node);
    return OX_OK;
}

/* The node of that name; near: the place of another node of the tree in names->keys. */
static const struct key *find_name(const struct names *names, size_t near, int64_t tree,
                                   int64_t node)
{
    const struct key *keys = names->keys;
    int64_t ahead;
    if (!OX_SUB_OVERFLOWS(node, keys[near].node, &ahead)) {
        int64_t guess;
        if (!OX_ADD_OVERFLOWS((int64_t)near, ahead, &guess) && guess >= 0 &&
            (uint64_t)guess < names->n && keys[guess].tree == tree && keys[guess].node == node)
            return &keys[guess];
    }
    const struct key wanted = {.tree = tree, .node = node};
    return bsearch(&wanted, keys, names->n, sizeof *keys, compare_keys);
}

/* ---- Lists -------------------------------------------------------------------------------------------------------- */

enum ox_status ox_tree_ints(struct ox_run *r, const char *name, size_t want, const int64_t **out,
                            struct ox_error *err)
{
    size_t n;
    *out = ox_run_ints(r, name, &n);
    if (n != want)
        return ox_run_fail(r, err, OX_INPUT, "attribute %s has %zu elements, not %zu", name, n,
                           want);
    return OX_OK;
}

static enum ox_status read_kinds(struct ox_run *r, struct ox_tree_draft *d, struct ox_error *err)
{
    static const char *const modes[] = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE", "BRANCH_GT",
                                        "BRANCH_EQ",  "BRANCH_NEQ", NULL,         "LEAF"};
    size_t n, n_missing;
    const struct ox_str *given = ox_run_strings(r, "nodes_modes", &n);
    const int64_t *missing = ox_run_ints(r, "nodes_missing_value_tracks_true", &n_missing);
    if (n != d->n)
        return ox_run_fail(r, err, OX_INPUT, "attribute nodes_modes has %zu elements, not %zu", n,
                           d->n);
    if (n_missing && n_missing != n)
        return ox_run_fail(r, err, OX_INPUT,
                           "attribute nodes_missing_value_tracks_true has %zu elements, not %zu",
                           n_missing, n);
    for (size_t i = 0; i < n; i++) {
        size_t mode = 0;
        while (mode < OX_COUNT(modes) && (!modes[mode] || strlen(modes[mode]) != given[i].n ||
                                          memcmp(modes[mode], given[i].p, given[i].n) != 0))
            mode++;
        if (mode == OX_COUNT(modes))
            return ox_run_fail(r, err, OX_INPUT, "nodes_modes[%zu] is '%.*s'", i,
                               (int)(given[i].n < 64 ? given[i].n : 64), given[i].p);
        bool tracks = n_missing && missing[i] && mode != OX_TREE_LEAF;
        d->kind[i] = (uint8_t)(mode + (tracks ? OX_TREE_MISSING : 0));
    }
    return OX_OK;
}

struct node_lists {
    const int64_t *trees, *nodes, *yes, *no, *features;
    const double *values;
};

static enum ox_status read_nodes(struct ox_run *r, struct ox_tree_draft *d, struct node_lists *l,
                                 bool *wide, struct ox_error *err)
{
    l->trees = ox_run_ints(r, "nodes_treeids", &d->n);
    if (d->n >= UINT32_MAX)
        return ox_run_fail(r, err, OX_LIMIT, "%zu nodes are too many", d->n);
    OX_TRY(ox_tree_ints(r, "nodes_nodeids", d->n, &l->nodes, err));
    OX_TRY(ox_tree_ints(r, "nodes_truenodeids", d->n, &l->yes, err));
    OX_TRY(ox_tree_ints(r, "nodes_falsenodeids", d->n, &l->no, err));
    OX_TRY(ox_tree_ints(r, "nodes_featureids", d->n, &l->features, err));
    size_t n_values;
    OX_TRY(ox_tree_numbers(r, "nodes_values", &l->values, &n_values, wide, err));
    if (n_values != d->n)
        return ox_run_fail(r, err, OX_INPUT, "attribute nodes_values has %zu elements, not %zu",
                           n_values, d->n);
    d->kind = ox_run_scratch(r, d->n, 1, err);
    d->feature = ox_run_scratch(r, d->n, sizeof *d->feature, err);
    d->threshold = ox_real_scratch(r, d->n, err);
    d->child[0] = ox_run_scratch(r, d->n, sizeof *d->child[0], err);
    d->child[1] = ox_run_scratch(r, d->n, sizeof *d->child[1], err);
    d->roots = ox_run_scratch(r, d->n, sizeof *d->roots, err);
    if (!d->kind || !d->feature || !d->threshold || !d->child[0] || !d->child[1] || !d->roots)
        return OX_NO_MEMORY;
    if (d->n) {
        memcpy(d->feature, l->features, d->n * sizeof *d->feature);
        memcpy(d->threshold, l->values, d->n * sizeof *d->threshold);
    }
    return read_kinds(r, d, err);
}

static enum ox_status link_nodes(struct ox_run *r, struct ox_tree_draft *d,
                                 const struct node_lists *l, const struct names *names,
                                 bool *is_child, struct ox_error *err)
{
    for (size_t k = 0; k < names->n; k++) {
        uint32_t at = names->keys[k].at;
        if (d->kind[at] == OX_TREE_LEAF)
            continue;
        for (unsigned side = 0; side < 2; side++) {
            int64_t wanted = side ? l->yes[at] : l->no[at];
            const struct key *child = find_name(names, k, l->trees[at], wanted);
            if (!child)
                return ox_run_fail(r, err, OX_INPUT,
                                   "node %" PRId64 " of tree %" PRId64 " has child %" PRId64
                                   ", which is not there",
                                   l->nodes[at], l->trees[at], wanted);
            d->child[side][at] = child->at;
            is_child[child->at] = true;
        }
    }
    return OX_OK;
}

/* The root of a tree is its first node that is no other's child. */
static enum ox_status find_roots(struct ox_run *r, struct ox_tree_draft *d,
                                 const struct names *names, const bool *is_child,
                                 struct ox_error *err)
{
    for (size_t k = 0; k < names->n;) {
        int64_t tree = names->keys[k].tree;
        uint32_t root = UINT32_MAX;
        for (; k < names->n && names->keys[k].tree == tree; k++)
            if (!is_child[names->keys[k].at] && names->keys[k].at < root)
                root = names->keys[k].at;
        if (root == UINT32_MAX)
            return ox_run_fail(r, err, OX_INPUT,
                               "tree %" PRId64 " has no root: its nodes form a cycle", tree);
        d->roots[d->n_roots++] = root;
    }
    return OX_OK;
}

static enum ox_status read_weights(struct ox_run *r, const char *prefix, struct ox_tree_draft *d,
                                   const struct names *names, struct ox_error *err)
{
    char name[64];
    size_t stem = strlen(prefix), n;
    const int64_t *trees, *nodes, *ids;
    const double *weights;
    r->asked = NULL;
    memcpy(name, prefix, stem);
    memcpy(name + stem, "_weights", sizeof "_weights");
    OX_TRY(ox_tree_numbers(r, name, &weights, &n, NULL, err));
    memcpy(name + stem, "_treeids", sizeof "_treeids");
    OX_TRY(ox_tree_ints(r, name, n, &trees, err));
    memcpy(name + stem, "_nodeids", sizeof "_nodeids");
    OX_TRY(ox_tree_ints(r, name, n, &nodes, err));
    memcpy(name + stem, "_ids", sizeof "_ids");
    OX_TRY(ox_tree_ints(r, name, n, &ids, err));
    d->n_weights = n;
    d->weight_leaf = ox_run_scratch(r, n, sizeof *d->weight_leaf, err);
    d->weight_target = ox_run_scratch(r, n, sizeof *d->weight_target, err);
    d->weight = ox_real_scratch(r, n, err);
    if (!d->weight_leaf || !d->weight_target || !d->weight)
        return OX_NO_MEMORY;
    size_t near = 0;
    for (size_t k = 0; k < n; k++) {
        const struct key *key = names->n ? find_name(names, near, trees[k], nodes[k]) : NULL;
        if (!key)
            return ox_run_fail(r, err, OX_INPUT,
                               "weight %zu is of node %" PRId64 " of tree %" PRId64
                               ", which is not there",
                               k, nodes[k], trees[k]);
        near = (size_t)(key - names->keys);
        d->weight_leaf[k] = key->at;
        d->weight_target[k] = ids[k];
        d->weight[k] = weights[k];
    }
    return OX_OK;
}

enum ox_status ox_tree_draft_lists(struct ox_run *r, const char *prefix,
                                   struct ox_tree_draft *draft, bool *wide, struct ox_error *err)
{
    struct node_lists lists;
    *draft = (struct ox_tree_draft){0};
    OX_TRY(read_nodes(r, draft, &lists, wide, err));
    struct names names = {.n = draft->n};
    names.keys = ox_run_scratch(r, draft->n, sizeof *names.keys, err);
    bool *is_child = ox_run_scratch(r, draft->n, sizeof *is_child, err);
    if (!names.keys || !is_child)
        return OX_NO_MEMORY;
    for (size_t i = 0; i < draft->n; i++)
        names.keys[i] = (struct key){lists.trees[i], lists.nodes[i], (uint32_t)i};
    OX_TRY(sort_names(r, &names, err));
    OX_TRY(link_nodes(r, draft, &lists, &names, is_child, err));
    OX_TRY(find_roots(r, draft, &names, is_child, err));
    return read_weights(r, prefix, draft, &names, err);
}
