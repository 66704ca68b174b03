/* What test data in protobuf hold, for files do not say it. */
#ifndef OX_MODEL_DATUM_KIND_H
#define OX_MODEL_DATUM_KIND_H

#include "model/wire.h"

/* A type of that kind as ox_datum_read_pb() takes it: "?" (a tensor), "seq(any)", "optional(any)", "map(any)" or "sparse(any)"; NULL: it is
 * none of them, but a model or something else. A sequence and an optional of one element are the same bytes: it is a sequence.
 * Only records of the outermost message are read, a few of a nested one at most. *name is what the value is called, if
 * anything; name may be NULL. */
const char *ox_datum_kind(struct ox_span message, struct ox_span *name);

#endif
