/* Where the inside of a run can't be seen: the first value that departs, which runs of what leads to it tell. */
#include "graph/first_value.h"
#include "parity/pairs.h"

struct bisecting {
    const struct ox_graph *other;
    enum ox_status (*probe)(void *arg, const char *value, bool *departs, struct ox_error *err);
    void *arg;
};

static bool has_other(void *arg, const struct ox_value *value)
{
    const struct bisecting *b = arg;
    const struct ox_value *other = ox_graph_value(b->other, value->name);
    return other && other->producer;
}

static enum ox_status departs(void *arg, const struct ox_value *value, bool *answer,
                              struct ox_error *err)
{
    const struct bisecting *b = arg;
    return b->probe(b->arg, value->name, answer, err);
}

enum ox_status ox_parity_bisect(struct ox_model *a, struct ox_model *b, const char *output,
                                enum ox_status (*probe)(void *arg, const char *value, bool *departs,
                                                        struct ox_error *err),
                                void *arg, struct ox_parity_suspect *out, struct ox_error *err)
{
    struct bisecting with = {.other = a->graph, .probe = probe, .arg = arg};
    struct ox_first_value first = {.takes = has_other, .holds = departs, .arg = &with};
    *out = (struct ox_parity_suspect){.op_type = NULL};
    first.output = a->graph && b->graph ? ox_graph_value(b->graph, output) : NULL;
    if (!first.output || !first.output->producer)
        return OX_OK;
    OX_TRY(ox_first_value(&first, err));
    out->n_runs = first.n_asked;
    if (first.found) {
        struct ox_strbuf label = {0};
        ox_node_label(&label, first.found->producer);
        snprintf(out->node, sizeof out->node, "%s", ox_strbuf_text(&label, NULL));
        out->op_type = first.found->producer->op_type;
        out->value = first.found->name;
        ox_strbuf_release(&label);
    }
    return OX_OK;
}
