/* Protobuf messages written again as no library would, but saying the same. */
#ifndef OX_TESTS_SCRAMBLE_H
#define OX_TESTS_SCRAMBLE_H

#include <protobuf-c/protobuf-c.h>

#include "tests/wire_build.h"

/* Writes a well-formed message anew, and in some of its messages an unknown field or two at the end (no groups, which
 * protobuf-c doesn't read). */
void scramble_salt(struct wire *out, const uint8_t *bytes, size_t n,
                   const ProtobufCMessageDescriptor *type, uint64_t *state);

/* Writes a well-formed message so that it reads as the same one: fields in any order (those of one number, and unknown ones among
 * themselves, keep theirs), numbers of more bytes than needed, repeated numbers packed and not by turns, submessages in two
 * parts, single values said twice, of which the last counts. */
void scramble(struct wire *out, const uint8_t *bytes, size_t n,
              const ProtobufCMessageDescriptor *type, uint64_t *state);

#endif
