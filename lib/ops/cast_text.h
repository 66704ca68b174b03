/* Numbers to strings and back, as Cast does it. */
#ifndef OX_OPS_CAST_TEXT_H
#define OX_OPS_CAST_TEXT_H

#include "ops/op.h"

/* Each element as text: integers in decimal, bool "True" or "False", floats by the fewest digits that read back as the same
 * value of their type, plain ("314.15926", "2.0") from 1e-4 up to 1e16 and with an exponent ("1e-05") beyond, "nan",
 * "inf", "-inf". Complex and 2 to 64-bit types alike; out is a string tensor of as many elements. */
enum ox_status ox_cast_to_text(const struct ox_tensor *in, struct ox_tensor *out,
                               struct ox_error *err);
/* Text to elements of out's type: plain and scientific decimals, INF, +INF, -INF and NaN in any case, spaces around them
 * ignored. An integer or bool may be written as a decimal (truncated) or as true and false. OX_INPUT names the text
 * that is no number. */
enum ox_status ox_cast_from_text(struct ox_run *r, const struct ox_tensor *in,
                                 struct ox_tensor *out, bool saturate, struct ox_error *err);

#endif
