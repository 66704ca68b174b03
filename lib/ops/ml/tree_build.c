/* Checks drafted trees and lays them out. */
#include <inttypes.h>
#include <string.h>

#include "ops/ml/tree.h"

static const uint32_t UNSEEN = UINT32_MAX;

/* Where the layout stands. */
struct build {
    struct ox_run *r;
    const struct ox_tree_draft *draft;
    struct ox_forest *forest;
    size_t features;
    uint32_t *place;  /* of a drafted node; UNSEEN */
    uint8_t *pending; /* sides of an open node still to visit: 2, 1, 0 */
    bool *open;       /* on the path from the root */
    uint32_t *path;
    uint32_t n_placed;
    uint8_t *kinds;
};

static enum ox_status place_node(struct build *b, uint32_t node, struct ox_error *err)
{
    const struct ox_tree_draft *d = b->draft;
    struct ox_forest *f = b->forest;
    uint32_t at = b->n_placed++, leaf = 0, feature = 0;
    b->place[node] = at;
    b->kinds[at] = d->kind[node];
    if (d->kind[node] == OX_TREE_LEAF) {
        leaf = (uint32_t)f->n_leaves++;
    } else {
        if (d->feature[node] < 0 || (uint64_t)d->feature[node] >= b->features)
            return ox_run_fail(b->r, err, OX_INPUT,
                               "node %" PRIu32 " asks for feature %" PRId64 " of %zu", node,
                               d->feature[node], b->features);
        feature = (uint32_t)d->feature[node];
    }
    if (f->wide) {
        struct ox_tree_f64 *out = (struct ox_tree_f64 *)f->nodes + at;
        *out = (struct ox_tree_f64){.feature = feature, .child = {at, at}};
        if (d->kind[node] == OX_TREE_LEAF)
            out->leaf = leaf;
        else
            out->threshold = d->threshold[node];
    } else {
        struct ox_tree_f32 *out = (struct ox_tree_f32 *)f->nodes + at;
        *out = (struct ox_tree_f32){.feature = feature, .child = {at, at}};
        if (d->kind[node] == OX_TREE_LEAF)
            out->leaf = leaf;
        else
            out->threshold = (float)d->threshold[node];
    }
    return OX_OK;
}

static void link_child(struct build *b, uint32_t node, unsigned side, uint32_t child)
{
    uint32_t at = b->place[node], to = b->place[child];
    if (b->forest->wide)
        ((struct ox_tree_f64 *)b->forest->nodes + at)->child[side] = to;
    else
        ((struct ox_tree_f32 *)b->forest->nodes + at)->child[side] = to;
}

/* Depth first, the true side first. */
static enum ox_status place_tree(struct build *b, uint32_t root, struct ox_error *err)
{
    const struct ox_tree_draft *d = b->draft;
    size_t depth = 0;
    if (b->place[root] != UNSEEN)
        return OX_OK;
    OX_TRY(place_node(b, root, err));
    b->path[depth++] = root;
    b->open[root] = true;
    b->pending[root] = d->kind[root] == OX_TREE_LEAF ? 0 : 2;
    while (depth) {
        uint32_t node = b->path[depth - 1];
        if (!b->pending[node]) {
            b->open[node] = false;
            depth--;
            continue;
        }
        unsigned side = --b->pending[node];
        uint32_t child = d->child[side][node];
        if (child >= d->n)
            return ox_run_fail(b->r, err, OX_INPUT,
                               "node %" PRIu32 " has child %" PRIu32 " of %zu nodes", node, child,
                               d->n);
        if (b->open[child])
            return ox_run_fail(b->r, err, OX_INPUT,
                               "a tree has a cycle through nodes %" PRIu32 " and %" PRIu32, child,
                               node);
        if (b->place[child] == UNSEEN) {
            OX_TRY(place_node(b, child, err));
            b->path[depth++] = child;
            b->open[child] = true;
            b->pending[child] = d->kind[child] == OX_TREE_LEAF ? 0 : 2;
        }
        link_child(b, node, side, child);
    }
    return OX_OK;
}

static uint32_t leaf_number(const struct build *b, uint32_t node)
{
    uint32_t at = b->place[node];
    return b->forest->wide ? (uint32_t)((struct ox_tree_f64 *)b->forest->nodes + at)->leaf
                           : ((struct ox_tree_f32 *)b->forest->nodes + at)->leaf;
}

/* Weights sorted by leaf; those of one leaf stay in their order. What stands at inner or unreachable nodes has no effect. */
static enum ox_status place_weights(struct build *b, size_t targets, struct ox_error *err)
{
    const struct ox_tree_draft *d = b->draft;
    struct ox_forest *f = b->forest;
    f->leaf_start = ox_run_scratch(b->r, f->n_leaves + 2, sizeof *f->leaf_start, err);
    f->weights = ox_run_scratch(b->r, d->n_weights, sizeof *f->weights, err);
    if (!f->leaf_start || !f->weights)
        return OX_NO_MEMORY;
    uint32_t *next = f->leaf_start + 1;
    for (size_t k = 0; k < d->n_weights; k++) {
        uint32_t node = d->weight_leaf[k];
        if (d->weight_target[k] < 0 || (uint64_t)d->weight_target[k] >= targets)
            return ox_run_fail(b->r, err, OX_INPUT,
                               "weight %zu is of class or target %" PRId64 " of %zu", k,
                               d->weight_target[k], targets);
        if (d->kind[node] == OX_TREE_LEAF && b->place[node] != UNSEEN)
            next[leaf_number(b, node) + 1]++;
    }
    for (size_t i = 0; i < f->n_leaves; i++)
        next[i + 1] += next[i];
    f->plain = true;
    for (size_t i = 0; i < f->n_leaves; i++)
        f->plain = f->plain && next[i + 1] - next[i] == 1;
    /* next[i] is where leaf i begins; moved on while filling, it ends where leaf i + 1 begins: f->leaf_start. */
    for (size_t k = 0; k < d->n_weights; k++) {
        uint32_t node = d->weight_leaf[k];
        if (d->kind[node] != OX_TREE_LEAF || b->place[node] == UNSEEN)
            continue;
        f->plain = f->plain && d->weight_target[k] == 0;
        f->weights[next[leaf_number(b, node)]++] = (struct ox_tree_weight){
            .weight = d->weight[k], .target = (uint32_t)d->weight_target[k]};
    }
    return OX_OK;
}

static void choose_mode(struct ox_forest *f, size_t n)
{
    unsigned modes = 0; /* a bit each */
    for (size_t i = 0; i < n; i++) {
        modes |= 1U << (f->kinds[i] & ~OX_TREE_MISSING);
        f->tracks_missing = f->tracks_missing || f->kinds[i] & OX_TREE_MISSING;
    }
    modes &= ~(1U << OX_TREE_LEAF);
    f->mode = OX_TREE_LEQ; /* leaves alone, which any way of comparing walks */
    if (modes >> OX_TREE_MEMBER & 1)
        f->mode = OX_TREE_MEMBER;
    else if (modes & (modes - 1))
        f->mode = OX_TREE_LEAF;
    else
        while (modes > 1U << f->mode)
            f->mode++;
}

enum ox_status ox_forest_build(struct ox_run *r, const struct ox_tree_draft *draft, bool wide,
                               size_t features, size_t targets, struct ox_forest *forest,
                               struct ox_error *err)
{
    size_t n = draft->n;
    struct build b = {.r = r, .draft = draft, .forest = forest, .features = features};
    *forest = (struct ox_forest){.wide = wide,
                                 .n_trees = draft->n_roots,
                                 .n_sets = draft->n_sets,
                                 .members = draft->members,
                                 .set_start = draft->set_start};
    if (n >= UNSEEN || draft->n_weights >= UNSEEN)
        return ox_run_fail(r, err, OX_LIMIT, "%zu nodes are too many", n);
    forest->nodes =
        ox_run_scratch(r, n, wide ? sizeof(struct ox_tree_f64) : sizeof(struct ox_tree_f32), err);
    forest->roots = ox_run_scratch(r, draft->n_roots, sizeof *forest->roots, err);
    b.kinds = ox_run_scratch(r, n, 1, err);
    b.place = ox_run_scratch(r, n, sizeof *b.place, err);
    b.path = ox_run_scratch(r, n, sizeof *b.path, err);
    b.pending = ox_run_scratch(r, n, 1, err);
    b.open = ox_run_scratch(r, n, sizeof *b.open, err);
    if (!forest->nodes || !forest->roots || !b.kinds || !b.place || !b.path || !b.pending ||
        !b.open)
        return OX_NO_MEMORY;
    for (size_t i = 0; i < n; i++)
        b.place[i] = UNSEEN;
    for (size_t i = 0; i < draft->n_roots; i++) {
        uint32_t root = draft->roots[i];
        if (root >= n)
            return ox_run_fail(r, err, OX_INPUT, "tree %zu has root %" PRIu32 " of %zu nodes", i,
                               root, n);
        OX_TRY(place_tree(&b, root, err));
        forest->roots[i] = b.place[root];
    }
    OX_TRY(place_weights(&b, targets, err));
    forest->kinds = b.kinds;
    forest->n_nodes = b.n_placed;
    choose_mode(forest, b.n_placed);
    return OX_OK;
}

void *ox_forest_keep(struct ox_run *r, struct ox_forest *f, size_t head, struct ox_error *err)
{
    enum { LINE = 64 };
    const size_t node = f->wide ? sizeof(struct ox_tree_f64) : sizeof(struct ox_tree_f32);
    const size_t n_members = f->n_sets ? f->set_start[f->n_sets] : 0;
    struct {
        const void *from;
        size_t bytes, at;
    } part[] = {{f->nodes, f->n_nodes * node, 0},
                {f->kinds, f->n_nodes, 0},
                {f->roots, f->n_trees * sizeof *f->roots, 0},
                {f->leaf_start, (f->n_leaves + 1) * sizeof *f->leaf_start, 0},
                {f->weights, f->leaf_start[f->n_leaves] * sizeof *f->weights, 0},
                {f->members, n_members * sizeof *f->members, 0},
                {f->set_start, f->n_sets ? (f->n_sets + 1) * sizeof *f->set_start : 0, 0}};
    size_t all = head;
    for (size_t i = 0; i < OX_COUNT(part); i++) {
        part[i].at = (all + LINE - 1) / LINE * LINE;
        all = part[i].at + part[i].bytes;
    }
    char *kept = ox_run_keep(r, all, err);
    if (kept)
        memset(kept, 0, head);
    for (size_t i = 0; kept && i < OX_COUNT(part); i++)
        if (part[i].bytes)
            memcpy(kept + part[i].at, part[i].from, part[i].bytes);
    if (!kept)
        return NULL;
    f->nodes = kept + part[0].at;
    f->kinds = (const uint8_t *)kept + part[1].at;
    f->roots = (uint32_t *)(void *)(kept + part[2].at);
    f->leaf_start = (uint32_t *)(void *)(kept + part[3].at);
    f->weights = (struct ox_tree_weight *)(void *)(kept + part[4].at);
    f->members = (const double *)(void *)(kept + part[5].at);
    f->set_start = (const uint32_t *)(void *)(kept + part[6].at);
    return kept;
}
