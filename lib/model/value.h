/* What a value is by the file alone. */
#ifndef OX_MODEL_VALUE_H
#define OX_MODEL_VALUE_H

#include "model/model.h"

/* The value that a captured one stands for, or itself. */
const struct ox_value *ox_value_origin(const struct ox_value *value);
/* The tensor that it is, captured or not: its initializer (of an input: what it is unless another is given), or the `value` of
 * the Constant that makes it. NULL: it has neither, or value is NULL. */
const struct ox_stored *ox_value_stored(const struct ox_value *value);

#endif
