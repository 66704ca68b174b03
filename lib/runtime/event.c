/* What --profile writes down of a step. */
#include <stdlib.h>
#include <string.h>

#include "common/machine.h"
#include "kernels/compute.h"
#include "runtime/runtime.h"

/* Dimensions of an input, packed constants too; false: not known. */
static bool dims_of(const struct ox_run *run, size_t i, unsigned *rank, const int64_t **dims)
{
    const struct ox_tensor *tensor = i < run->n_in ? ox_run_in(run, i) : NULL;
    const struct ox_value *value = i < run->n_in ? run->node->inputs[i] : NULL;
    while (value && value->outer)
        value = value->outer;
    if (tensor) {
        *rank = tensor->rank;
        *dims = tensor->dims;
        return true;
    }
    if (!value || !value->init)
        return false;
    *rank = value->init->rank;
    *dims = value->init->dims;
    return true;
}

/* Elements of an input; 0: not known. */
static uint64_t size_of(const struct ox_run *run, size_t i)
{
    unsigned rank;
    const int64_t *dims;
    uint64_t n = 1;
    if (!dims_of(run, i, &rank, &dims))
        return 0;
    for (unsigned d = 0; d < rank; d++)
        n *= (uint64_t)dims[d];
    return n;
}

/* Multiply-adds of a convolution of these weights over n elements: of the output, or of the input of a transposed one. */
static uint64_t convolved(const struct ox_run *run, size_t weights, uint64_t n)
{
    unsigned rank;
    const int64_t *dims;
    if (!dims_of(run, weights, &rank, &dims) || rank == 0)
        return 0;
    /* With join_channels the output is a larger map, of which a slice is made. */
    const int64_t channels = ox_run_int(run, "join_channels", dims[0]);
    return channels > 0 ? n / (uint64_t)channels * size_of(run, weights) : 0;
}

/* Elements of the output of a FusedConv before its `pool`. */
static uint64_t unpooled(const struct ox_run *run, const struct ox_tensor *y)
{
    enum { WEIGHTS = 1, RANK = 4 };
    const struct ox_tensor *x = ox_run_in(run, 0);
    unsigned rank;
    const int64_t *w;
    size_t n_strides, n_pads;
    const int64_t *strides = ox_run_ints(run, "strides", &n_strides);
    const int64_t *pads = ox_run_ints(run, "pads", &n_pads);
    if (!ox_node_attr(run->node, "pool") || !x || x->rank != RANK ||
        !dims_of(run, WEIGHTS, &rank, &w) || rank != RANK)
        return y->n;
    uint64_t n = (uint64_t)x->dims[0] * (uint64_t)w[0];
    for (unsigned d = 0; d < 2; d++) {
        const int64_t all = x->dims[2 + d] + (n_pads == 4 ? pads[d] + pads[2 + d] : 0);
        n *= (uint64_t)((all - w[2 + d]) / (n_strides == 2 ? strides[d] : 1) + 1);
    }
    return n;
}

/* ConvChain: its first stage is over the pixels of the input, the others over those of the output. */
static uint64_t chained(const struct ox_run *run, const struct ox_tensor *y)
{
    enum { FIRST = 1, DEPTHWISE = 4, LAST = 7 };
    const struct ox_tensor *x = ox_run_in(run, 0);
    if (!x || x->n == 0 || y->n == 0)
        return 0;
    return x->n / (uint64_t)x->dims[x->rank - 1] * size_of(run, FIRST) +
           y->n / (uint64_t)y->dims[y->rank - 1] * (size_of(run, DEPTHWISE) + size_of(run, LAST));
}

static const struct kind {
    const char *op_type;
    enum { KIND_CONV, KIND_CHAIN, KIND_TRANSPOSED, KIND_PRODUCT } kind;
    uint8_t input; /* weights of a convolution, the left side of a product */
} kinds[] = {{"Conv", KIND_CONV, 1},
             {"ConvChain", KIND_CHAIN, 0},
             {"ConvInteger", KIND_CONV, 1},
             {"ConvTranspose", KIND_TRANSPOSED, 1},
             {"FusedConv", KIND_CONV, 1},
             {"FusedGemm", KIND_PRODUCT, 0},
             {"FusedMatMul", KIND_PRODUCT, 0},
             {"FusedMatMulActivation", KIND_PRODUCT, 0},
             {"Gemm", KIND_PRODUCT, 0},
             {"MatMul", KIND_PRODUCT, 0},
             {"MatMulInteger", KIND_PRODUCT, 0},
             {"QLinearConv", KIND_CONV, 3},
             {"QLinearMatMul", KIND_PRODUCT, 0},
             {"TransposeMatMul", KIND_PRODUCT, 0}};

static uint64_t macs_of(const struct ox_run *run)
{
    const struct ox_datum *out = run->n_out ? run->out[0] : NULL;
    unsigned rank;
    const int64_t *dims;
    if (!out || out->kind != OX_DATUM_TENSOR)
        return 0;
    for (size_t i = 0; i < OX_COUNT(kinds); i++) {
        const struct kind *k = &kinds[i];
        if (strcmp(k->op_type, run->node->op_type) != 0)
            continue;
        bool transposed = k->kind == KIND_TRANSPOSED || ox_run_int(run, "transposed", 0) != 0;
        if (k->kind == KIND_CHAIN)
            return chained(run, out->tensor);
        if (k->kind == KIND_CONV && !transposed)
            return convolved(run, k->input, unpooled(run, out->tensor));
        if (!dims_of(run, 0, &rank, &dims) || rank == 0)
            return 0;
        if (transposed)
            return ox_run_in(run, 0) ? convolved(run, k->input, ox_run_in(run, 0)->n) : 0;
        bool turned = rank > 1 && ox_run_int(run, "transA", 0) != 0;
        return out->tensor->n * (uint64_t)dims[turned ? rank - 2 : rank - 1];
    }
    return 0;
}

void ox_event_add(struct ox_frame *frame, const struct ox_step *step, uint64_t start,
                  const struct ox_run *run)
{
    enum { MOST_EVENTS = 1000000 };
    struct ox_session *session = frame->session;
    uint64_t end = ox_clock_ns();
    if (session->n_events == session->cap_events) {
        size_t cap = session->cap_events ? session->cap_events * 2 : 256;
        struct ox_node_event *more =
            cap > 2 * MOST_EVENTS ? NULL : realloc(session->events, cap * sizeof *more);
        if (!more)
            return;
        session->events = more;
        session->cap_events = cap;
    }
    if (session->n_events >= MOST_EVENTS)
        return;
    struct ox_node_event *event = &session->events[session->n_events++];
    *event = (struct ox_node_event){.graph = frame->plan->path,
                                    .node = step->label,
                                    .op_type = step->node->op_type,
                                    .domain = step->node->domain,
                                    .start_ns = start - session->run_start,
                                    .ns = end - start,
                                    .in_bytes = step->prepared.bytes,
                                    .macs = macs_of(run),
                                    .depth = frame->depth};
    for (size_t i = 0; i < run->n_out; i++)
        event->bytes += run->out[i] ? ox_datum_bytes(run->out[i]) : 0;
    for (size_t i = 0; i < run->n_in; i++)
        event->in_bytes += run->in[i] ? ox_datum_bytes(run->in[i]) : 0;
}

double ox_session_peak(void)
{
    enum { LONG_NS = 10000000, ROUNDS = 64, LOOPS = 4000 };
    const struct ox_compute *table = ox_compute(ox_cpu());
    const uint64_t begin = ox_clock_ns();
    uint64_t start = begin;
    double best = 0;
    /* Long beside the wide units' waking, a round short beside a turn of another process. */
    for (unsigned i = 0; i < ROUNDS || start - begin < LONG_NS; i++) {
        double done = table->probe(LOOPS);
        uint64_t end = ox_clock_ns();
        if (end > start && done * 1e9 / (double)(end - start) > best)
            best = done * 1e9 / (double)(end - start);
        start = end;
    }
    return best;
}
