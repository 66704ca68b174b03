/* Dimensions of inputs made dynamic again. The public function is ox_shapes_free_dims() in onnxtool.h. */
#ifndef OX_GRAPH_FREE_DIM_H
#define OX_GRAPH_FREE_DIM_H

#include "model/model.h"
#include "shape/shapes.h"

enum { OX_FREE_RANK = 64, OX_FREE_NAMES = 64 };

struct ox_freeing {
    struct ox_model *model;
    struct ox_shapes *before, *after;
    const char *names[OX_FREE_NAMES]; /* symbols that are free now, and their sizes before */
    int64_t sizes[OX_FREE_NAMES];
    size_t n_names, n_changed;
    bool **replaced; /* by graph and value id: a constant that a node no longer takes */
    bool **fixed;    /* by graph and value id: made of constants alone */
    size_t *n_fixed;
};

const char *ox_free_label(const struct ox_model *model); /* its path, for messages */
/* The dimensions of a tensor type that are numbers all; false: not so. */
bool ox_type_numbers(const struct ox_type *type, int64_t dims[OX_FREE_RANK]);
/* What the value's type was; NULL for what was added since. */
const struct ox_type *ox_free_type_before(const struct ox_freeing *free_,
                                          const struct ox_value *value);
/* The data of an initializer or a Constant; NULL: it is neither. */
const struct ox_stored *ox_free_constant(const struct ox_value *value);
/* Puts right what the node takes from constants. Nodes may be appended to its graph. */
enum ox_status ox_free_node(struct ox_freeing *free_, struct ox_node *node, struct ox_error *err);

/* The target of a Reshape that was written down for one size of its input, for any: `before` are the dimensions that input and
 * output had, `dims` those that the input has now, of which the numbers are the same. target gets 0 for an axis that is
 * copied and -1 for one that follows from the rest. false: no target does it. */
bool ox_reshape_target_free(unsigned rank, const int64_t *before, const struct ox_expr *const *dims,
                            unsigned target_rank, const int64_t *target_before, bool zero_copies,
                            int64_t *target);

#endif
