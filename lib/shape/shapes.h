/* Types and shapes of all values of a model, inferred in one pass. */
#ifndef OX_SHAPE_SHAPES_H
#define OX_SHAPE_SHAPES_H

#include "model/model.h"

struct ox_findings;

struct ox_shapes_options {
    bool strict;                    /* conflicts go to findings as errors, not as warnings */
    bool ignore_value_info;         /* trust nothing stored but inputs' types */
    const char *const *input_names; /* overrides of input dimensions: n_overrides names ... */
    const char *const *input_dims;  /* ... and their dims, "1x3xHxW" */
    size_t n_overrides;
};

/* For each value of each graph (by graph id and value id) the type that is known of it. Lives in its own arena; its expressions
 * are the model's pool's. */
struct ox_shapes;

/* findings may be NULL. Fails only for lack of resources or an override that fits no input. */
enum ox_status ox_shapes_infer(struct ox_shapes **out, struct ox_model *model,
                               const struct ox_shapes_options *options,
                               struct ox_findings *findings, struct ox_error *err);
void ox_shapes_release(struct ox_shapes *shapes);
const struct ox_type *ox_shapes_type(const struct ox_shapes *shapes,
                                     const struct ox_value *value); /* NULL: unknown */
/* Why a value's type, rank or a dimension is unknown; NULL when it is known or there is no reason kept. */
const char *ox_shapes_reason(const struct ox_shapes *shapes, const struct ox_value *value);

#endif
