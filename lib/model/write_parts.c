/* What the writers of text and JSON share. */
#include <stdlib.h>

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
