/* QuantizeLinear as the standard words it, one code at a time. */
#ifndef OX_TESTS_WRITTEN_CODES_H
#define OX_TESTS_WRITTEN_CODES_H

#include "model/model.h"
#include "onnxtool.h"

/* False, and *at the element, where y is not to the last bit what the formula has. in: x, scale and zero point, which may be NULL.
 * in_double: by a quotient that is not rounded. */
bool written_codes_match(const struct ox_node *node, const struct ox_tensor *const in[3],
                         const struct ox_tensor *y, bool in_double, size_t *at);

#endif
