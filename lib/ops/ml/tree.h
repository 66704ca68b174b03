/* Forests of decision trees, for TreeEnsemble (5) and the Classifier and Regressor forms.
 *
 * A forest is drafted from the attributes as a graph of nodes by index, checked, and laid out for walking: sixteen bytes a
 * node, both children in it, depth first, the true side next. A leaf is a node whose children are itself, so that
 * several rows walk side by side, without a branch a row, until none of them moves. */
#ifndef OX_OPS_TREE_H
#define OX_OPS_TREE_H

#include "ops/op.h"

/* Numbered as in TreeEnsemble 5. */
enum ox_tree_mode {
    OX_TREE_LEQ,
    OX_TREE_LT,
    OX_TREE_GTE,
    OX_TREE_GT,
    OX_TREE_EQ,
    OX_TREE_NEQ,
    OX_TREE_MEMBER,
    OX_TREE_LEAF
};

enum { OX_TREE_MISSING = 8 }; /* added to a mode: a missing value (NaN) goes to the true side */

/* Nodes by index, in any order. Nodes may share children (converters chain tests of equality so) but form no cycle. */
struct ox_tree_draft {
    size_t n;
    uint8_t *kind;      /* mode, perhaps with OX_TREE_MISSING */
    int64_t *feature;   /* of inner nodes */
    double *threshold;  /* of inner nodes; of members the number of the set */
    uint32_t *child[2]; /* of inner nodes: false, true */
    size_t n_roots;
    uint32_t *roots;
    size_t n_weights;
    uint32_t *weight_leaf; /* the node */
    int64_t *weight_target;
    double *weight;
    double *members; /* of all sets; set i is [set_start[i], set_start[i + 1]), ascending */
    uint32_t *set_start;
    size_t n_sets;
};

struct ox_tree_f32 {
    union {
        float threshold;
        uint32_t leaf;
    };
    uint32_t feature;
    uint32_t child[2];
};

struct ox_tree_f64 {
    union {
        double threshold;
        uint64_t leaf;
    };
    uint32_t feature;
    uint32_t child[2];
};

struct ox_tree_weight {
    double weight;
    uint32_t target;
};

struct ox_forest {
    bool wide; /* nodes are ox_tree_f64 and rows double; else float both */
    size_t n_nodes;
    void *nodes;
    const uint8_t *kinds; /* by node */
    /* Of all inner nodes, whatever becomes of missing values; OX_TREE_LEAF: they differ, OX_TREE_MEMBER: some are of sets. */
    enum ox_tree_mode mode;
    bool tracks_missing; /* some inner nodes do */
    size_t n_trees;
    uint32_t *roots;
    size_t n_leaves;
    uint32_t *leaf_start; /* weights of leaf i: [leaf_start[i], leaf_start[i + 1]) */
    struct ox_tree_weight *weights;
    bool plain; /* every leaf has one weight, of target 0 */
    size_t n_sets;
    const double *members;
    const uint32_t *set_start;
};

/* Checks the draft (children, cycles, features below `features`, targets below `targets`) and lays it out. Memory is the
 * run's scratch. OX_INPUT says what is wrong with the trees. */
enum ox_status ox_forest_build(struct ox_run *r, const struct ox_tree_draft *draft, bool wide,
                               size_t features, size_t targets, struct ox_forest *forest,
                               struct ox_error *err);

/* In prepare(): the forest and what it points to, moved behind the first `head` bytes of what stays with the node (ox_run_keep()),
 * which are returned, zeroed. NULL with *err set. */
void *ox_forest_keep(struct ox_run *r, struct ox_forest *forest, size_t head, struct ox_error *err);

/* Drafts from the lists of the Classifier ("class") and Regressor ("target") forms; *wide is set when thresholds are given in
 * double precision. */
enum ox_status ox_tree_draft_lists(struct ox_run *r, const char *prefix,
                                   struct ox_tree_draft *draft, bool *wide, struct ox_error *err);
/* Drafts from the attributes of TreeEnsemble 5. */
enum ox_status ox_tree_draft_tensors(struct ox_run *r, struct ox_tree_draft *draft, bool *wide,
                                     struct ox_error *err);
/* A list attribute of `want` integers. OX_INPUT: it has more or less. */
enum ox_status ox_tree_ints(struct ox_run *r, const char *name, size_t want, const int64_t **out,
                            struct ox_error *err);
/* A list attribute of floats, or the tensor attribute of that name with "_as_tensor" behind it, as doubles in scratch. *wide (may
 * be NULL) is set when the tensor is of float64. */
enum ox_status ox_tree_numbers(struct ox_run *r, const char *name, const double **values, size_t *n,
                               bool *wide, struct ox_error *err);
/* A tensor attribute as doubles in scratch; NULL and 0 without. */
enum ox_status ox_tree_tensor(struct ox_run *r, const char *name, const double **values, size_t *n,
                              bool *wide, struct ox_error *err);

/* Rows of the forest's type. */
struct ox_tree_rows {
    const void *data;
    size_t stride; /* elements */
    size_t n;
    bool missing; /* some value is, and the forest cares */
};
struct ox_tree_rows ox_tree_rows(const struct ox_forest *forest, const void *data, size_t stride,
                                 size_t n);

/* leaves[t * rows->n + i]: what row i reaches in the tree of roots[t]. So many walks go side by side: where rows are fewer, trees
 * should be more. */
enum { OX_TREE_LANES = 8 };
void ox_tree_walk(const struct ox_forest *forest, const uint32_t *roots, size_t n_trees,
                  const struct ox_tree_rows *rows, uint32_t *leaves);

#endif
