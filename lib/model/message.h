/* Generated messages by their descriptors: what the readers and writers of JSON and of protobuf's text format share. */
#ifndef OX_MODEL_MESSAGE_H
#define OX_MODEL_MESSAGE_H

#include "common/env.h"
#include "proto/onnx.pb-c.h"

/* Elements of a repeated field. */
size_t ox_message_count(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field);

/* Of a field that is not repeated: whether it is in the message, and that it is, once its member holds a value. Which one of a oneof's
 * fields is set is its number. */
bool ox_message_has(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field);
void ox_message_mark(ProtobufCMessage *message, const ProtobufCFieldDescriptor *field);

/* Another field of its oneof that is set. */
const ProtobufCFieldDescriptor *ox_message_rival(const ProtobufCMessage *message,
                                                 const ProtobufCFieldDescriptor *field);

/* The message in wire format, from malloc. `name` is the file's. OX_NO_MEMORY. */
enum ox_status ox_message_pack(uint8_t **bytes, size_t *n_bytes, const ProtobufCMessage *message,
                               const char *name, struct ox_error *err);

#endif
