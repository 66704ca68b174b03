/* Operators of an environment that no standard has: the shape rule that their formulas make, and rows that serve them. */
#ifndef OX_OPS_CUSTOM_H
#define OX_OPS_CUSTOM_H

#include "ops/op.h"
#include "schema/operators.h"

/* The row of ox_op_find(); where there is none that of a library, of a schema file; NULL. env may be NULL. */
const struct ox_op *ox_op_lookup(const struct ox_env *env, const char *domain, const char *name,
                                 int64_t opset);
/* Whether the operator that these two describe, either of which may be NULL, had left the standard. */
bool ox_op_has_left(const struct ox_op *op, const struct ox_schema *schema);
/* The rule of all operators from schema files. */
void ox_infer_custom(struct ox_infer *c);
/* The newest row of a library that is not newer than opset; NULL. */
const struct ox_op *ox_library_find(const struct ox_env *env, const char *domain, const char *name,
                                    int64_t opset);

#endif
