/* Ever shorter prefixes are asked for: as many as the place has binary digits, and those that the found node's inputs take. */
#include "graph/first_value.h"

#include <stdlib.h>
#include <string.h>

enum { UNKNOWN, HOLDS_NOT, HOLDS };

struct search {
    struct ox_first_value *f;
    const struct ox_value **values; /* that may be asked for, in the file's order */
    unsigned char *known;
    size_t n;
};

enum ox_status ox_first_number(size_t n,
                               enum ox_status (*holds)(void *arg, size_t i, bool *answer,
                                                       struct ox_error *err),
                               void *arg, size_t *found, struct ox_error *err)
{
    size_t low = 0, high = n - 1;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        bool answer;
        OX_TRY(holds(arg, middle, &answer, err));
        if (answer)
            high = middle;
        else
            low = middle + 1;
    }
    *found = high;
    return OX_OK;
}

static enum ox_status ask(void *arg, size_t i, bool *answer, struct ox_error *err)
{
    struct search *s = arg;
    if (s->known[i] == UNKNOWN) {
        bool found = false;
        OX_TRY(s->f->holds(s->f->arg, s->values[i], &found, err));
        s->known[i] = found ? HOLDS : HOLDS_NOT;
        s->f->n_asked++;
    }
    *answer = s->known[i] == HOLDS;
    return OX_OK;
}

/* Marks the node and all that it needs, without recursion: sorted graphs need one way back. */
static void mark_needed(const struct ox_graph *graph, size_t last, bool *needed)
{
    needed[last] = true;
    for (size_t i = last + 1; i-- > 0;) {
        const struct ox_node *node = graph->nodes[i];
        for (size_t k = 0; k < node->n_inputs && needed[i]; k++)
            if (node->inputs[k] && node->inputs[k]->producer)
                needed[node->inputs[k]->producer->index] = true;
    }
}

static enum ox_status list_values(struct search *s, struct ox_error *err)
{
    const struct ox_first_value *f = s->f;
    const struct ox_graph *graph = f->output->graph;
    const size_t last = f->output->producer->index;
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
    mark_needed(graph, last, needed);
    for (size_t i = 0; i <= last; i++) {
        const struct ox_node *node = graph->nodes[i];
        for (size_t k = 0; k < node->n_outputs && needed[i]; k++) {
            const struct ox_value *value = node->outputs[k];
            /* A last output beside the one that is asked for is not before it. */
            const bool after = i == last && value != f->output;
            if (value && !after && strcmp(node->op_type, "Constant") != 0 &&
                (!f->takes || f->takes(f->arg, value)))
                s->values[s->n++] = value;
        }
    }
    free(needed);
    return OX_OK;
}

static size_t index_of(const struct search *s, const struct ox_value *value)
{
    size_t i = 0;
    while (i < s->n && s->values[i] != value)
        i++;
    return i;
}

/* The halves tell where it may be; whether what enters that node holds is asked for. */
static enum ox_status search(struct search *s, struct ox_error *err)
{
    size_t at;
    s->known[s->n - 1] = HOLDS;
    OX_TRY(ox_first_number(s->n, ask, s, &at, err));
    for (bool moved = true; moved;) {
        const struct ox_node *node = s->values[at]->producer;
        moved = false;
        for (size_t k = 0; k < node->n_inputs && !moved; k++) {
            const size_t in = node->inputs[k] ? index_of(s, node->inputs[k]) : s->n;
            bool holds = false;
            if (in < at)
                OX_TRY(ask(s, in, &holds, err));
            if (holds) {
                at = in;
                moved = true;
            }
        }
    }
    s->f->found = s->values[at];
    return OX_OK;
}

enum ox_status ox_first_value(struct ox_first_value *f, struct ox_error *err)
{
    struct search s = {.f = f};
    f->found = NULL;
    f->n_asked = 0;
    enum ox_status status = list_values(&s, err);
    if (status == OX_OK && s.n)
        status = search(&s, err);
    free(s.values);
    free(s.known);
    return status;
}
