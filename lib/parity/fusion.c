/* Whether a node is at fault itself, or only together with nodes before it, which an engine computes as one with it. */
#include <string.h>

#include "parity/causes.h"

enum { MOST_NODES = 12, MOST_NAMES = 64 };

struct fusing {
    const struct ox_value *value;
    const struct ox_node *nodes[MOST_NODES]; /* the last of the graph first */
    size_t n;
    const struct ox_parity_parts *parts;
    size_t n_runs;
};

struct names {
    const char *names[MOST_NAMES];
    size_t n;
};

static bool is_inside(const struct fusing *f, const struct ox_node *node)
{
    for (size_t i = 0; i < f->n; i++)
        if (f->nodes[i] == node)
            return true;
    return false;
}

static bool add_name(struct names *names, const char *name)
{
    for (size_t i = 0; i < names->n; i++)
        if (strcmp(names->names[i], name) == 0)
            return true;
    if (names->n == MOST_NAMES)
        return false;
    names->names[names->n++] = name;
    return true;
}

/* What enters the nodes and is no constant; false: too much. */
static bool list_entries(const struct fusing *f, struct names *entries)
{
    entries->n = 0;
    for (size_t i = 0; i < f->n; i++)
        for (size_t k = 0; k < f->nodes[i]->n_inputs; k++) {
            const struct ox_value *in = f->nodes[i]->inputs[k];
            if (in && !ox_explain_is_constant(in) && !is_inside(f, in->producer) &&
                !add_name(entries, in->name))
                return false;
        }
    return entries->n > 0;
}

/* The nodes alone, fed what the reference makes of their inputs. */
static enum ox_status run_alone(struct fusing *f, bool *departs, struct ox_error *err)
{
    struct names entries;
    *departs = false;
    if (!list_entries(f, &entries))
        return OX_OK;
    f->n_runs++;
    return f->parts->probe(f->parts->arg, entries.names, entries.n, &f->value->name, 1, departs,
                           err);
}

/* The whole model down to the value, with what enters its node as outputs too: nothing can be fused across them. */
static enum ox_status run_shown(struct fusing *f, bool *departs, struct ox_error *err)
{
    const struct ox_node *node = f->nodes[0];
    struct names outputs = {.n = 0};
    add_name(&outputs, f->value->name);
    for (size_t k = 0; k < node->n_inputs; k++)
        if (node->inputs[k] && node->inputs[k]->producer &&
            !ox_explain_is_constant(node->inputs[k]) && !add_name(&outputs, node->inputs[k]->name))
            break;
    *departs = true;
    if (outputs.n < 2)
        return OX_OK;
    f->n_runs++;
    return f->parts->probe(f->parts->arg, NULL, 0, outputs.names, outputs.n, departs, err);
}

/* The node before those that is the last in the file; NULL: there is none that can be cut out. */
static const struct ox_node *nearest_before(const struct fusing *f)
{
    const struct ox_node *best = NULL;
    for (size_t i = 0; i < f->n; i++)
        for (size_t k = 0; k < f->nodes[i]->n_inputs; k++) {
            const struct ox_value *in = f->nodes[i]->inputs[k];
            const struct ox_node *node = in ? in->producer : NULL;
            if (node && !is_inside(f, node) && !ox_explain_is_constant(in) &&
                !ox_node_has_graphs(node) && (!best || node->index > best->index))
                best = node;
        }
    return best;
}

/* Takes in nodes before it until they depart together. */
static enum ox_status grow(struct fusing *f, bool *departs, struct ox_error *err)
{
    *departs = false;
    while (!*departs && f->n < MOST_NODES) {
        const struct ox_node *node = nearest_before(f);
        if (!node)
            break;
        f->nodes[f->n++] = node;
        OX_TRY(run_alone(f, departs, err));
    }
    return OX_OK;
}

/* Leaves out what it does not take. */
static enum ox_status shrink(struct fusing *f, struct ox_error *err)
{
    for (size_t i = 1; i + 1 < f->n;) {
        struct fusing less = *f;
        bool departs;
        memmove(&less.nodes[i], &less.nodes[i + 1], (less.n - i - 1) * sizeof *less.nodes);
        less.n--;
        OX_TRY(run_alone(&less, &departs, err));
        f->n_runs = less.n_runs;
        if (departs)
            *f = less;
        else
            i++;
    }
    return OX_OK;
}

static void print_nodes(struct ox_strbuf *out, const struct fusing *f)
{
    for (size_t i = f->n; i-- > 0;) {
        ox_strbuf_printf(out, "%s%.64s '",
                         i + 1 == f->n ? ""
                         : i           ? ", "
                                       : " and ",
                         f->nodes[i]->op_type);
        ox_node_label(out, f->nodes[i]);
        ox_strbuf_puts(out, "'");
    }
}

static enum ox_status tell_fused(struct fusing *f, struct ox_parity_causes *causes,
                                 struct ox_error *err)
{
    struct ox_strbuf text = {0};
    bool departs;
    OX_TRY(grow(f, &departs, err));
    if (departs)
        OX_TRY(shrink(f, err));
    else
        f->n = 1;
    print_nodes(&text, f);
    const char *who = f->parts->who, *op_type = f->nodes[0]->op_type;
    if (text.failed)
        causes->failed = true;
    else if (departs)
        ox_cause_add(
            causes, 99, "fused",
            "%s fuses %.600s: cut out together they depart; %s alone, fed the same values, "
            "agrees, and so does the model when what lies between them is an output too",
            who, text.data, op_type);
    else
        ox_cause_add(causes, 99, "fused",
                     "%s fuses %.600s with nodes before it: alone, fed the same values, it agrees, "
                     "and so does the model when what enters it is an output too",
                     who, text.data);
    ox_strbuf_release(&text);
    return OX_OK;
}

enum ox_status ox_parity_explain_fusion(struct ox_parity_causes *causes, struct ox_model *model,
                                        const char *value, const struct ox_parity_parts *parts,
                                        struct ox_error *err)
{
    struct fusing f = {.value = model->graph ? ox_graph_value(model->graph, value) : NULL,
                       .parts = parts};
    bool departs;
    if (!causes || !f.value || !f.value->producer || ox_node_has_graphs(f.value->producer))
        return OX_OK;
    f.nodes[f.n++] = f.value->producer;
    OX_TRY(run_alone(&f, &departs, err));
    if (departs) {
        ox_cause_add(causes, 20, "own",
                     "the difference arises in this node: alone, fed the same values, it departs "
                     "too");
        return OX_OK;
    }
    OX_TRY(run_shown(&f, &departs, err));
    if (!departs)
        return tell_fused(&f, causes, err);
    ox_cause_add(causes, 60, "inherited",
                 "alone, fed the same values, this node agrees: what departs here has come in with "
                 "its inputs, each within the tolerance, and was made larger");
    return OX_OK;
}
