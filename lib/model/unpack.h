/* From wire format to the generated message structs, in the model's arena.
 *
 * This stands in for protobuf-c's own unpacker, which recurses without bound, copies every byte string, cuts strings at NUL
 * and refuses what protobuf accepts. Here the walk is iterative, nesting and submessages are bounded, bytes fields point into
 * the input but for short ones, equal entries of metadata are one message, a singular message that occurs twice is merged, packed and unpacked runs of numbers are both taken, and a
 * field with an unexpected wire type, or a group, is kept as an unknown field. */
#ifndef OX_MODEL_UNPACK_H
#define OX_MODEL_UNPACK_H

#include "common/env.h"
#include "model/wire.h"
#include "proto/onnx.pb-c.h"

/* What every TensorProto that ox_unpack() made really is. Its runs of numbers (float_data, int32_data, int64_data,
 * double_data, uint64_data) are counted and well-formed but not decoded: n_float_data is right, the pointer is NULL. */
struct ox_wire_tensor {
    Onnx__TensorProto proto;
    struct ox_span wire;        /* the message as it stands in the input */
    const struct ox_span *more; /* further parts of it, when it was merged from several */
    size_t n_more;
};

static inline const struct ox_wire_tensor *ox_wire_tensor(const Onnx__TensorProto *proto)
{
    return (const struct ox_wire_tensor *)proto;
}

/* Elements of one of those five fields (by its number), decoded to memory: n of them are written, 4 or 8 bytes each as the
 * field's type says. false: there are not n (the file changed since). */
bool ox_wire_tensor_numbers(const struct ox_wire_tensor *tensor, uint32_t field, size_t n,
                            void *to);

/* What an element of a field takes in its message's memory. */
size_t ox_field_bytes(const ProtobufCFieldDescriptor *field);

struct ox_unpack_counts {
    uint64_t submessages;
    uint64_t payload_bytes; /* of raw_data and of the five fields above */
    uint64_t known_fields;  /* of the outermost message */
};

/* A message of that type from `n` bytes, which must outlive it. `name` is the file's, for messages of errors, which give
 * the byte's offset. counts may be NULL. OX_INPUT: malformed, or a string with NUL or invalid UTF-8; OX_LIMIT; OX_NO_MEMORY;
 * OX_CANCELLED. What was allocated stays in the arena in any case. */
enum ox_status ox_unpack(ProtobufCMessage **out, const ProtobufCMessageDescriptor *type,
                         const uint8_t *bytes, size_t n, struct ox_env *env, struct ox_arena *arena,
                         const char *name, struct ox_unpack_counts *counts, struct ox_error *err);

/* How an allocation of that many bytes failed: OX_LIMIT when it was the budget, else OX_NO_MEMORY; with message. */
enum ox_status ox_no_room(const struct ox_budget *budget, uint64_t bytes, const char *name,
                          struct ox_error *err);

#endif
