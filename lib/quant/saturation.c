#include "quant/saturation.h"

#include <string.h>

struct ox_saturation ox_saturation_of_columns(unsigned rank, const int64_t *dims)
{
    struct ox_saturation s = {.n_outputs = 1, .n_terms = 1, .columns = 1};
    for (unsigned i = 0; i < rank; i++) {
        if (i + 2 == rank || rank == 1)
            s.n_terms = (size_t)dims[i];
        else
            s.n_outputs *= (size_t)dims[i];
    }
    if (rank > 1)
        s.columns = (size_t)dims[rank - 1];
    s.channels = s.n_terms;
    return s;
}

struct ox_saturation ox_saturation_of_rows(size_t n_outputs, size_t n_terms)
{
    return (struct ox_saturation){
        .n_outputs = n_outputs, .n_terms = n_terms, .columns = 1, .channels = n_terms};
}

bool ox_saturation_of(struct ox_saturation *out, const struct ox_node *node, unsigned rank,
                      const int64_t *dims)
{
    const bool conv = strcmp(node->op_type, "Conv") == 0;
    const bool gemm = strcmp(node->op_type, "Gemm") == 0;
    if (*node->domain || rank < (conv ? 3 : gemm ? 2 : 1))
        return false;
    if (conv) {
        size_t n_terms = 1;
        for (unsigned i = 1; i < rank; i++)
            n_terms *= (size_t)dims[i];
        *out = ox_saturation_of_rows((size_t)dims[0], n_terms);
        out->channels = (size_t)dims[1];
        return dims[1] != 1 || dims[0] != ox_quant_int_attr(node, "group", 1);
    }
    if (gemm && ox_quant_int_attr(node, "transB", 0))
        *out = ox_saturation_of_rows((size_t)dims[0], (size_t)dims[1]);
    else
        *out = ox_saturation_of_columns(rank, dims);
    return gemm || strcmp(node->op_type, "MatMul") == 0;
}

/* Where the next term lies, counted in weights of a sum: [channels, taps], of which the channels come first. */
static size_t next_term(const struct ox_saturation *s, size_t taps, size_t at)
{
    return at + taps < s->n_terms ? at + taps : at + taps - s->n_terms + 1;
}

static bool beyond(int a, int b)
{
    const int up = (a > 0 ? a : 0) + (b > 0 ? b : 0), down = (a < 0 ? a : 0) + (b < 0 ? b : 0);
    return 255 * up > INT16_MAX || 255 * down < INT16_MIN;
}

/* Calls visit() for each pair of weights, until it says true. */
static bool visit_pairs(const struct ox_saturation *s,
                        bool (*visit)(void *arg, size_t first, size_t second), void *arg)
{
    if (!s->n_outputs || !s->n_terms)
        return false;
    const size_t taps = s->n_terms / s->channels, n = s->n_outputs * s->n_terms;
    for (size_t base = 0; base < n; base += s->columns * s->n_terms) {
        size_t at = 0;
        for (size_t term = 0; term + 1 < s->n_terms; term += 2) {
            const size_t next = next_term(s, taps, at);
            for (size_t j = 0; j < s->columns; j++) {
                if (visit(arg, base + at * s->columns + j, base + next * s->columns + j))
                    return true;
            }
            at = next_term(s, taps, next);
        }
    }
    return false;
}

struct integers {
    const int8_t *weights;
};

static bool pair_can(void *arg, size_t first, size_t second)
{
    const struct integers *q = arg;
    return beyond(q->weights[first], q->weights[second]);
}

bool ox_saturation_can(const struct ox_saturation *s, const int8_t *weights)
{
    struct integers q = {weights};
    return visit_pairs(s, pair_can, &q);
}

void ox_saturation_note(struct ox_quant *q)
{
    const size_t n = q->report->summary.n_saturating;
    if (n)
        ox_quant_report_add_note(
            q->report,
            "weights whose products can saturate on x86 processors without VNNI: %zu; "
            "uint8 weights or a reduced range avoid it",
            n);
}
