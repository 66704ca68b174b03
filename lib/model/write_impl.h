/* What the writers of text, JSON and protobuf's text format share. */
#ifndef OX_MODEL_WRITE_IMPL_H
#define OX_MODEL_WRITE_IMPL_H

#include "model/model.h"
#include "model/unpack.h"

struct ox_model_writer {
    struct ox_strbuf *out;
    const struct ox_model_print_options *options;
    struct ox_error *err;
    enum ox_status status; /* the first failure; nothing is written after it */
    unsigned depth;
};

/* Gives what is buffered to the caller's flush once it is much. */
void ox_write_flush(struct ox_model_writer *w, bool all);

/* How many of n elements to show at each end; n and 0 for all. */
void ox_write_range(const struct ox_model_writer *w, size_t n, size_t *head, size_t *tail);

/* How many of n elements to show where the end is not. */
size_t ox_write_head(const struct ox_model_writer *w, size_t n);

/* The elements of a repeated field that are to be shown, *n of them; NULL with *status set. *decoded, from malloc, holds numbers that were
 * counted when the tensor was read and not decoded, or is NULL. */
const char *ox_write_items(struct ox_model_writer *w, const ProtobufCMessage *message,
                           const ProtobufCFieldDescriptor *field, size_t *n, void **decoded);

/* One of a tensor's repeated numbers, decoded, from malloc; NULL with *status set. field is a number of TensorProto. */
void *ox_write_numbers(struct ox_model_writer *w, const Onnx__TensorProto *tensor, uint32_t field,
                       size_t n, size_t bytes);

void ox_text_write_model(struct ox_model_writer *w, const Onnx__ModelProto *model);
void ox_text_write_graph(struct ox_model_writer *w, const Onnx__GraphProto *graph);
void ox_text_write_tensor(struct ox_model_writer *w, const Onnx__TensorProto *tensor, bool is_init);
void ox_text_write_name(struct ox_model_writer *w, const char *name);
void ox_text_write_pairs(struct ox_model_writer *w, Onnx__StringStringEntryProto *const *list,
                         size_t n);
void ox_text_write_quoted(struct ox_model_writer *w, const void *text, size_t n);
void ox_text_write_string(struct ox_model_writer *w, const char *text); /* NULL: "" */
void ox_text_write_elem(struct ox_model_writer *w, int32_t data_type);
void ox_text_write_type(struct ox_model_writer *w, const Onnx__TypeProto *type);
void ox_json_write_message(struct ox_model_writer *w, struct ox_json *json,
                           const ProtobufCMessage *message);
void ox_proto_text_write_message(struct ox_model_writer *w, const ProtobufCMessage *message);

#endif
