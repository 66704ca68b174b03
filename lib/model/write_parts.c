/* What the writers of text, JSON and protobuf's text format share. */
#include <stdlib.h>

#include "model/message.h"
#include "model/write_impl.h"

enum { FLUSH_BYTES = 1 << 20, SAMPLE = 4, ALWAYS_WHOLE = 16 };

void ox_write_flush(struct ox_model_writer *w, bool all)
{
    if (w->out->failed && w->status == OX_OK)
        w->status = ox_no_memory(w->err);
    if (w->status != OX_OK || !w->options->flush || (!all && w->out->len < FLUSH_BYTES))
        return;
    w->status = w->options->flush(w->options->flush_arg, w->out, w->err);
}

void ox_write_range(const struct ox_model_writer *w, size_t n, size_t *head, size_t *tail)
{
    *head = n;
    *tail = 0;
    if (w->options->weights == OX_WEIGHTS_FULL || n <= ALWAYS_WHOLE)
        return;
    *head = *tail = w->options->weights == OX_WEIGHTS_SAMPLE ? SAMPLE : 0;
}

void *ox_write_numbers(struct ox_model_writer *w, const Onnx__TensorProto *tensor, uint32_t field,
                       size_t n, size_t bytes)
{
    void *numbers = n <= SIZE_MAX / bytes ? malloc(n * bytes + 1) : NULL;
    if (!numbers)
        w->status = ox_no_memory(w->err);
    else if (ox_wire_tensor_numbers(ox_wire_tensor(tensor), field, n, numbers))
        return numbers;
    else
        w->status = ox_fail(w->err, OX_INPUT, "the model's file changed while it was read");
    free(numbers);
    return NULL;
}

size_t ox_write_head(const struct ox_model_writer *w, size_t n)
{
    size_t head, tail;
    ox_write_range(w, n, &head, &tail);
    return head + tail < n ? head : n;
}

const char *ox_write_items(struct ox_model_writer *w, const ProtobufCMessage *message,
                           const ProtobufCFieldDescriptor *field, size_t *n, void **decoded)
{
    enum { DIMS = 1 };
    const bool is_tensor = message->descriptor == &onnx__tensor_proto__descriptor;
    const char *items = *(char *const *)((const char *)message + field->offset);
    *n = ox_message_count(message, field);
    *decoded = NULL;
    if (!items && is_tensor) {
        *decoded = ox_write_numbers(w, (const Onnx__TensorProto *)message, field->id, *n,
                                    ox_field_bytes(field));
        items = *decoded;
    }
    if (is_tensor && field->type != PROTOBUF_C_TYPE_MESSAGE && field->id != DIMS)
        *n = ox_write_head(w, *n);
    return items;
}
