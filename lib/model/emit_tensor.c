#include <stdlib.h>

#include "model/stored.h"

/* Packed bytes, made where memory and file differ. */
static void emit_raw_data(struct ox_emit *e, const struct ox_tensor *tensor)
{
    size_t size = ox_dtype_size(tensor->dtype);
    uint64_t bytes;
    if (!ox_dtype_packed_bytes(tensor->dtype, tensor->n, &bytes)) {
        struct ox_error err;
        ox_fail(&err, OX_LIMIT, "a tensor of %zu elements is too large to write", tensor->n);
        ox_emit_fail(e, OX_LIMIT, &err);
        return;
    }
    bool same = ox_dtype_bits(tensor->dtype) == 8 * size && !(OX_BIG_ENDIAN && size > 1);
    if (same || ox_emit_measuring(e)) {
        ox_emit_bytes(e, 9, same ? tensor->data : NULL, (size_t)bytes);
        return;
    }
    void *packed = malloc(bytes ? (size_t)bytes : 1);
    if (!packed) {
        struct ox_error err;
        ox_fail(&err, OX_NO_MEMORY, "no memory for %llu bytes", (unsigned long long)bytes);
        ox_emit_fail(e, OX_NO_MEMORY, &err);
        return;
    }
    ox_tensor_pack(tensor->dtype, tensor->data, tensor->n, packed);
    ox_emit_bytes(e, 9, packed, (size_t)bytes);
    free(packed);
}

void ox_emit_tensor(struct ox_emit *e, const struct ox_tensor *tensor, const char *name)
{
    for (unsigned i = 0; i < tensor->rank; i++)
        ox_emit_int(e, 1, (uint64_t)tensor->dims[i]);
    ox_emit_int(e, 2, tensor->dtype);
    if (tensor->dtype == OX_STRING) {
        const struct ox_str *strings = tensor->data;
        for (size_t i = 0; i < tensor->n; i++)
            ox_emit_bytes(e, 6, strings[i].p, strings[i].n);
    }
    ox_emit_text(e, 8, name);
    if (tensor->dtype != OX_STRING)
        emit_raw_data(e, tensor);
}
