/* What quantizing comes to: bytes, and the share of the work that runs on integers. */
#ifndef OX_QUANT_ESTIMATE_H
#define OX_QUANT_ESTIMATE_H

#include "quant/quant.h"

struct ox_estimate {
    uint64_t constant_bytes; /* of the model, external ones too */
    struct ox_estimate_node {
        const char *graph, *name;
        uint64_t macs;
    } * nodes;
    size_t n_nodes;
};

/* Of the model as it is now; q->shapes are there. q->arena holds it. */
enum ox_status ox_estimate_begin(struct ox_estimate *estimate, struct ox_quant *q,
                                 struct ox_error *err);
/* Of what became of it, into q->report. integers: quantized nodes run on integers, and are not only stored as such. */
void ox_estimate_end(const struct ox_estimate *estimate, struct ox_quant *q, bool integers);

#endif
