/* Which parameter of an operator a node's inputs and outputs are. */
#ifndef OX_SCHEMA_PARAM_H
#define OX_SCHEMA_PARAM_H

#include "onnxtool.h"

/* Of input or output i; all that follow a variadic one are that one. NULL: there is none. */
const struct ox_schema_param *ox_param_at(const struct ox_schema_param *params, size_t n, size_t i);
/* Whether none may be left out, of a variadic one's neither. param may be NULL: false. */
bool ox_param_is_required(const struct ox_schema_param *param);

#endif
