/* Where the inside of a run can't be seen, ever shorter prefixes of the model are run: the first value that departs is found in
 * as many runs as its place has binary digits, and those that its node's inputs ask for. */
#include <stdlib.h>
#include <string.h>

#include "parity/pairs.h"

enum { UNKNOWN, AGREES, DEPARTS };

struct bisecting {
    const struct ox_graph *a, *b;
    const struct ox_value *
        *values; /* of b, that a has too and the output needs, in the file's order */
    unsigned char *known;
    size_t n;
    enum ox_status (*probe)(void *arg, const char *value, bool *departs, struct ox_error *err);
    void *arg;
    struct ox_parity_suspect *out;
};

static enum ox_status departs(struct bisecting *s, size_t i, bool *answer, struct ox_error *err)
{
    if (s->known[i] == UNKNOWN) {
        bool found = false;
        OX_TRY(s->probe(s->arg, s->values[i]->name, &found, err));
        s->known[i] = found ? DEPARTS : AGREES;
        s->out->n_runs++;
    }
    *answer = s->known[i] == DEPARTS;
    return OX_OK;
}

/* Marks the node and all that it needs, without recursion: sorted graphs need one way back. */
static enum ox_status list_values(struct bisecting *s, const struct ox_value *output,
                                  struct ox_error *err)
{
    const struct ox_graph *graph = s->b;
    bool *needed = calloc(graph->n_nodes + 1, sizeof *needed);
    size_t most = 0;
    for (size_t i = 0; i < graph->n_nodes; i++)
        most += graph->nodes[i]->n_outputs;
    s->values = calloc(most + 1, sizeof *s->values);
    s->known = calloc(most + 1, sizeof *s->known);
    if (!needed || !s->values || !s->known) {
        free(needed);
        return ox_no_memory(err);
    }
    needed[output->producer->index] = true;
    for (size_t i = output->producer->index + 1; i-- > 0;) {
        const struct ox_node *node = graph->nodes[i];
        for (size_t k = 0; k < node->n_inputs && needed[i]; k++)
            if (node->inputs[k] && node->inputs[k]->producer)
                needed[node->inputs[k]->producer->index] = true;
    }
    for (size_t i = 0; i <= output->producer->index; i++) {
        const struct ox_node *node = graph->nodes[i];
        for (size_t k = 0; k < node->n_outputs && needed[i]; k++) {
            const struct ox_value *value = node->outputs[k];
            const struct ox_value *other = value ? ox_graph_value(s->a, value->name) : NULL;
            /* A last output beside the one that is asked for is not before it. */
            bool after = i == output->producer->index && value != output;
            if (other && other->producer && !after && strcmp(node->op_type, "Constant") != 0)
                s->values[s->n++] = value;
        }
    }
    free(needed);
    return OX_OK;
}

static size_t index_of(const struct bisecting *s, const struct ox_value *value)
{
    size_t i = 0;
    while (i < s->n && s->values[i] != value)
        i++;
    return i;
}

/* The halves tell where it may be; whether what enters that node agrees is asked for. */
static enum ox_status search(struct bisecting *s, size_t *at, struct ox_error *err)
{
    size_t low = 0, high = s->n - 1;
    s->known[high] = DEPARTS;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        bool bad;
        OX_TRY(departs(s, middle, &bad, err));
        if (bad)
            high = middle;
        else
            low = middle + 1;
    }
    for (bool moved = true; moved;) {
        const struct ox_node *node = s->values[high]->producer;
        moved = false;
        for (size_t k = 0; k < node->n_inputs && !moved; k++) {
            size_t in = node->inputs[k] ? index_of(s, node->inputs[k]) : s->n;
            bool bad = false;
            if (in < high)
                OX_TRY(departs(s, in, &bad, err));
            if (bad) {
                high = in;
                moved = true;
            }
        }
    }
    *at = high;
    return OX_OK;
}

enum ox_status ox_parity_bisect(struct ox_model *a, struct ox_model *b, const char *output,
                                enum ox_status (*probe)(void *arg, const char *value, bool *departs,
                                                        struct ox_error *err),
                                void *arg, struct ox_parity_suspect *out, struct ox_error *err)
{
    struct bisecting s = {.a = a->graph, .b = b->graph, .probe = probe, .arg = arg, .out = out};
    *out = (struct ox_parity_suspect){.op_type = NULL};
    const struct ox_value *value = s.a && s.b ? ox_graph_value(s.b, output) : NULL;
    if (!value || !value->producer)
        return OX_OK;
    size_t at = 0;
    enum ox_status status = list_values(&s, value, err);
    if (status == OX_OK && s.n)
        status = search(&s, &at, err);
    if (status == OX_OK && s.n) {
        struct ox_strbuf label = {0};
        ox_node_label(&label, s.values[at]->producer);
        snprintf(out->node, sizeof out->node, "%s", ox_strbuf_text(&label, NULL));
        out->op_type = s.values[at]->producer->op_type;
        out->value = s.values[at]->name;
        ox_strbuf_release(&label);
    }
    free(s.values);
    free(s.known);
    return status;
}
