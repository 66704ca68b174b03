/* Samples that a calibration keeps: those with the least hashes, so that any division of the data keeps the same. */
#include <stdlib.h>

#include "quant/calibrate.h"
#include "tensor/tensor_apart.h"

void ox_kept_release(struct ox_kept *kept, size_t n_inputs)
{
    for (size_t i = 0; kept->inputs && i < n_inputs; i++)
        ox_tensor_release(kept->inputs[i]);
    free(kept->inputs);
    kept->inputs = NULL;
}

enum ox_status ox_calibration_keep(struct ox_calibration *c, struct ox_kept kept,
                                   struct ox_error *err)
{
    size_t at = c->n_kept;
    uint64_t bytes = kept.bytes;
    for (size_t i = 0; i < c->n_kept; i++)
        bytes += c->kept[i].bytes;
    for (; at > 0 && kept.hash < c->kept[at - 1].hash; at--)
        c->kept[at] = c->kept[at - 1];
    c->kept[at] = kept;
    c->n_kept++;
    while (c->n_kept > OX_KEPT_SAMPLES || (c->n_kept > 2 && bytes > OX_KEPT_BYTES)) {
        struct ox_kept *last = &c->kept[--c->n_kept];
        bytes -= last->bytes;
        ox_kept_release(last, c->n_inputs);
    }
    (void)err;
    return OX_OK;
}

static uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ (h >> 29);
}

static uint64_t hash_bytes(uint64_t h, const void *data, size_t n)
{
    const unsigned char *bytes = data;
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        uint64_t v = 0;
        for (int k = 7; k >= 0; k--)
            v = v << 8 | bytes[i + (size_t)k];
        h = mix(h, v);
    }
    for (; i < n; i++)
        h = mix(h, bytes[i]);
    return mix(h, n);
}

enum ox_status ox_calibration_consider(struct ox_calibration *c, struct ox_datum *const *feed,
                                       const int64_t *label, struct ox_error *err)
{
    uint64_t hash = 1, bytes = 0;
    for (size_t i = 0; i < c->n_inputs; i++) {
        const struct ox_tensor *in = feed[i] ? ox_datum_get_tensor(feed[i]) : NULL;
        if (!in && feed[i])
            return OX_OK; /* sequences and the like are not kept */
        if (!in)
            continue;
        if (in->dtype == OX_STRING)
            return OX_OK;
        hash = mix(hash, i);
        hash = hash_bytes(hash, in->data, in->n * ox_dtype_size(in->dtype));
        bytes += in->n * ox_dtype_size(in->dtype);
    }
    if (c->n_kept == OX_KEPT_SAMPLES && hash >= c->kept[c->n_kept - 1].hash)
        return OX_OK;
    struct ox_kept kept = {.hash = hash,
                           .bytes = bytes,
                           .has_label = label && *label >= 0,
                           .label = label ? *label : 0,
                           .inputs = calloc(c->n_inputs + 1, sizeof *kept.inputs)};
    enum ox_status status = kept.inputs ? OX_OK : ox_no_memory(err);
    for (size_t i = 0; i < c->n_inputs && status == OX_OK; i++) {
        const struct ox_tensor *in = feed[i] ? ox_datum_get_tensor(feed[i]) : NULL;
        if (in)
            status = ox_tensor_copy_apart(&kept.inputs[i], ox_env_budget(c->env), in->dtype,
                                          in->rank, in->dims, in->data, err);
    }
    if (status == OX_OK)
        return ox_calibration_keep(c, kept, err);
    ox_kept_release(&kept, c->n_inputs);
    return status;
}
