/* The registry beyond what onnxtool.h says of it: the questions of checkers and runners. */
#ifndef OX_SCHEMA_SCHEMA_H
#define OX_SCHEMA_SCHEMA_H

#include "common/error.h"

bool ox_schema_domain_known(const char *domain);
/* The IR version of the first release of the standard that knew version `opset` of the domain; 0 where
 * ox_schema_release_for_opset() is NULL. */
int ox_schema_ir_for_opset(const char *domain, int64_t opset);
/* The body that the standard gives a node of that opset: the newest one that is not newer; NULL: none, or it depends on the
 * node, or it was given in a later version only (body has that). */
const struct ox_schema_body *ox_schema_body_at(const struct ox_schema *schema, int64_t opset);
/* Whether a tensor (or, with sequence, a sequence of tensors, ...) of that element type is in the set. kind: 't' tensor, 's' sequence of
 * tensor, 'o' optional of tensor, 'q' optional of sequence of tensor, 'p' sparse tensor. */
bool ox_type_set_has(uint16_t set, char kind, enum ox_dtype elem);
bool ox_type_set_has_name(uint16_t set, const char *type);

/* The same two of what a parameter takes, also where its operator came from a file. */
bool ox_param_takes(const struct ox_schema_param *param, char kind, enum ox_dtype elem);
size_t ox_param_types(const struct ox_schema_param *param, const char *const **types);

struct ox_env;
/* ox_schema_find(), and where that has none what the environment was given (schema/operators.h). env may be NULL. */
const struct ox_schema *ox_schema_lookup(const struct ox_env *env, const char *domain,
                                         const char *name, int64_t opset);
/* The same with what onnxruntime adds to the domains of the standard: what a node is run by and its shapes are inferred by, while
 * the checker holds it against ox_schema_lookup(). */
const struct ox_schema *ox_schema_lookup_any(const struct ox_env *env, const char *domain,
                                             const char *name, int64_t opset);

#endif
