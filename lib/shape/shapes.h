/* Types and shapes of all values of a model, inferred in one pass. */
#ifndef OX_SHAPE_SHAPES_H
#define OX_SHAPE_SHAPES_H

#include "model/model.h"

/* The result of ox_shapes_infer() (onnxtool.h) as other layers use it. Types live as long as it does; their expressions are of the
 * model's pool. */

/* Types and shapes in strict mode, for what is contradictory: findings are added. A stored type that is contradicted only by
 * values computed on the way (the sizes that a Reshape is given) is a warning: onnx's checker does not follow these and passes
 * such a model, and runtimes do not need stored types. OX_NO_MEMORY, OX_LIMIT, OX_CANCELLED. */
enum ox_status ox_shapes_check(struct ox_model *model, struct ox_findings *findings,
                               struct ox_error *err);

const struct ox_type *ox_shapes_type(const struct ox_shapes *shapes,
                                     const struct ox_value *value); /* NULL: unknown */
/* Why a value's type, rank or a dimension is unknown; NULL when it is known or there is no reason kept. */
const char *ox_shapes_reason(const struct ox_shapes *shapes, const struct ox_value *value);
/* Declares in the model what was inferred of one value, where that says more than the file. OX_NO_MEMORY. */
enum ox_status ox_shapes_declare(const struct ox_shapes *shapes, struct ox_model *model,
                                 struct ox_value *value, struct ox_error *err);
/* Replaces stored entries between the main graph's inputs and outputs that contradict what was inferred. OX_NO_MEMORY. */
enum ox_status ox_shapes_correct(const struct ox_shapes *shapes, struct ox_model *model,
                                 struct ox_error *err);
/* The first node of the main graph whose inputs do not go together, and why; NULL: none. */
const struct ox_node *ox_shapes_conflict(const struct ox_shapes *shapes, const char **message);
/* Why a node would be refused if it ran with what inference knows. */
enum ox_clash {
    OX_CLASH_INPUTS =
        1, /* they are of types that its operator does not take, or do not go together */
    OX_CLASH_OPERATOR = 2 /* nobody knows it at that version */
};
/* Whether there are such nodes in the graph: a set of enum ox_clash. Not asked of what the standard's bodies and trips of a loop that
 * are passed one by one meet. */
unsigned ox_shapes_clashes(const struct ox_shapes *shapes, const struct ox_graph *graph);
/* The only element of a small integer or bool value, where it is known and not negative. */
bool ox_shapes_number(const struct ox_shapes *shapes, const struct ox_value *value,
                      uint64_t *number);
/* The value itself where it is a small constant or integers computed from sizes that are known; NULL. Do not release. */
const struct ox_tensor *ox_shapes_known(struct ox_shapes *shapes, const struct ox_value *value);

#endif
