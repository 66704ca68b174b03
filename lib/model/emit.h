/* Writing protobuf's wire format as a stream. Lengths stand before what they measure, so whatever writes is run twice: once
 * to measure, once to write; it must do the same both times. Payloads go from where they are straight to the sink. */
#ifndef OX_MODEL_EMIT_H
#define OX_MODEL_EMIT_H

#include "common/env.h"
#include "proto/onnx.pb-c.h"

struct ox_emit;

/* Where a submessage began. */
struct ox_emit_mark {
    size_t index;
    uint64_t start;
};

/* Runs `build` twice. To a file (what is written before stays), or appended to a buffer. OX_LIMIT: more than max_bytes
 * (0: no limit), nothing is written then. name is the target's, for messages. */
enum ox_status ox_emit_to_file(struct ox_outfile *out, uint64_t max_bytes, const char *name,
                               void (*build)(struct ox_emit *e, void *arg), void *arg,
                               struct ox_error *err);
enum ox_status ox_emit_to_buffer(struct ox_strbuf *out, uint64_t max_bytes, const char *name,
                                 void (*build)(struct ox_emit *e, void *arg), void *arg,
                                 struct ox_error *err);

/* Any other failure of what builds; the rest of the run does nothing. */
void ox_emit_fail(struct ox_emit *e, enum ox_status status, const struct ox_error *err);
bool ox_emit_failed(const struct ox_emit *e);
/* True in the first run: a payload that must be computed may then be passed as NULL. */
bool ox_emit_measuring(const struct ox_emit *e);

/* A field each: tag and value. */
void ox_emit_int(struct ox_emit *e, uint32_t field, uint64_t value);
void ox_emit_float(struct ox_emit *e, uint32_t field, float value);
void ox_emit_bytes(struct ox_emit *e, uint32_t field, const void *bytes, size_t n);
void ox_emit_text(struct ox_emit *e, uint32_t field, const char *text); /* NULL: nothing */
/* A submessage is what is written between the two. */
struct ox_emit_mark ox_emit_begin(struct ox_emit *e, uint32_t field);
void ox_emit_end(struct ox_emit *e, struct ox_emit_mark mark);

/* A whole message by its descriptor, fields in the order of their numbers, unknown ones last, as protobuf's own
 * serializers write it. A TensorProto whose numbers were left undecoded by ox_unpack() is copied as it stands. */
void ox_emit_message(struct ox_emit *e, uint32_t field, const ProtobufCMessage *message);
void ox_emit_fields(struct ox_emit *e, const ProtobufCMessage *message);
/* One field of it, if it is set. */
void ox_emit_field(struct ox_emit *e, const ProtobufCMessage *message, uint32_t field);
void ox_emit_unknown(struct ox_emit *e, const ProtobufCMessage *message);

#endif
