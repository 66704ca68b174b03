/* The smallest part of a model that still fails. */
#include <stdlib.h>
#include <string.h>

#include "graph/first_value.h"
#include "graph/reduce/reducer.h"
#include "model/value.h"

struct ox_model *ox_reduction_best(const struct ox_reduction *r)
{
    return r->kept[r->n_kept - 1];
}

/* ---- Some of a list left out ---------------------------------------------------------------------------------------- */

/* Items first to first + n - 1 of a list of the best's. */
struct shrinking {
    struct ox_reduction *r;
    size_t (*count)(const struct ox_reduction *r);
    enum ox_status (*without)(const struct shrinking *s, size_t first, size_t n, bool *gone,
                              struct ox_error *err);
    enum ox_cut_to cut_to;
};

/* Pieces of half the list first, then of half of that, at last one by one until none can go; from the end, where what only served
 * the last goes along. */
static enum ox_status shrink(const struct shrinking *s, struct ox_error *err)
{
    for (size_t size = s->count(s->r) / 2;; size /= 2) {
        size = size ? size : 1;
        for (bool any = true; any;) {
            any = false;
            for (size_t end = s->count(s->r); end > 0;) {
                const size_t n = size < end ? size : end, first = end - n;
                bool gone = false;
                OX_TRY(s->without(s, first, n, &gone, err));
                const size_t left = s->count(s->r);
                end = first < left ? first : left;
                any |= gone && size == 1;
            }
        }
        if (size == 1)
            return OX_OK;
    }
}

/* ---- Outputs -------------------------------------------------------------------------------------------------------- */

static size_t count_outputs(const struct ox_reduction *r)
{
    return ox_reduction_best(r)->graph->n_outputs;
}

static enum ox_status without_outputs(const struct shrinking *s, size_t first, size_t n, bool *gone,
                                      struct ox_error *err)
{
    struct ox_remnant part;
    if (n == count_outputs(s->r))
        return OX_OK;
    enum ox_status status = ox_remnant_begin(&part, s->r, ox_reduction_best(s->r), err);
    if (status == OX_OK) {
        memmove((void *)&part.outputs[first], (void *)&part.outputs[first + n],
                (part.n_outputs - first - n) * sizeof(*part.outputs));
        part.n_outputs -= n;
    }
    return ox_remnant_end(&part, status, gone, err);
}

/* An earlier value in the place of an output. */
struct earlier {
    struct ox_reduction *r;
    const struct ox_model *base;
    size_t output;
};

static enum ox_status fails_earlier(void *arg, const struct ox_value *value, bool *fails,
                                    struct ox_error *err)
{
    const struct earlier *e = arg;
    struct ox_remnant part;
    enum ox_status status = ox_remnant_begin(&part, e->r, e->base, err);
    if (status == OX_OK) {
        struct ox_value *instead = part.model->graph->values[value->id];
        part.fits = !instead->is_output || part.outputs[e->output] == instead;
        part.outputs[e->output] = instead;
    }
    return ox_remnant_end(&part, status, fails, err);
}

static enum ox_status cut_behind(struct ox_reduction *r, struct ox_error *err)
{
    const struct shrinking outputs = {.r = r, .count = count_outputs, .without = without_outputs};
    OX_TRY(shrink(&outputs, err));
    for (size_t i = 0; i < count_outputs(r); i++) {
        struct earlier at = {.r = r, .base = ox_reduction_best(r), .output = i};
        struct ox_first_value first = {
            .output = at.base->graph->outputs[i], .holds = fails_earlier, .arg = &at};
        if (first.output->producer)
            OX_TRY(ox_first_value(&first, err));
    }
    return OX_OK;
}

/* ---- Nodes ---------------------------------------------------------------------------------------------------------- */

static bool is_constant(const struct ox_node *node)
{
    return strcmp(node->op_type, "Constant") == 0;
}

static size_t count_in(const struct ox_graph *graph)
{
    size_t n = 0;
    for (size_t i = 0; i < graph->n_nodes; i++)
        n += !is_constant(graph->nodes[i]);
    return n;
}

static size_t count_nodes(const struct ox_reduction *r)
{
    return count_in(ox_reduction_best(r)->graph);
}

static size_t count_all_nodes(const struct ox_model *model)
{
    size_t n = 0;
    for (size_t g = 0; g < model->n_graphs; g++)
        n += count_in(model->graphs[g]);
    return n;
}

/* What is computed from constants alone is the same in every part: it would be no input of one. */
static bool depends(const struct ox_node *node, const bool *fed)
{
    struct ox_captures captures = {.node = node};
    bool found = node->n_inputs == 0;
    for (size_t k = 0; k < node->n_inputs; k++)
        found |= node->inputs[k] && fed[node->inputs[k]->id];
    for (const struct ox_value *outer; !found && (outer = ox_captures_next(&captures));)
        found = fed[outer->id];
    return found && !is_constant(node);
}

/* Marks the nodes that are the items first to first + n - 1. */
static enum ox_status mark(const struct ox_graph *graph, enum ox_cut_to cut_to, size_t first,
                           size_t n, bool *marked, struct ox_error *err)
{
    bool *fed = calloc(graph->n_values + 1, sizeof *fed);
    size_t item = 0;
    if (!fed)
        return ox_no_memory(err);
    for (size_t i = 0; i < graph->n_inputs; i++)
        fed[graph->inputs[i]->id] = !graph->inputs[i]->init;
    for (size_t i = 0; i < graph->n_nodes; i++) {
        const struct ox_node *node = graph->nodes[i];
        const bool of_inputs = depends(node, fed);
        for (size_t k = 0; k < node->n_outputs && of_inputs; k++)
            if (node->outputs[k])
                fed[node->outputs[k]->id] = true;
        if (is_constant(node))
            continue;
        marked[i] = item >= first && item < first + n && (of_inputs || cut_to != OX_CUT_TO_INPUTS);
        item++;
    }
    free(fed);
    return OX_OK;
}

static enum ox_status try_without(struct ox_reduction *r, const struct ox_model *base,
                                  enum ox_cut_to cut_to, size_t first, size_t n, bool *gone,
                                  struct ox_error *err)
{
    struct ox_remnant part;
    bool *marked = calloc(base->graph->n_nodes + 1, sizeof *marked);
    if (!marked)
        return ox_no_memory(err);
    enum ox_status status = mark(base->graph, cut_to, first, n, marked, err);
    if (status == OX_OK) {
        status = ox_remnant_begin(&part, r, base, err);
        if (status == OX_OK)
            status = ox_remnant_remove(&part, marked, cut_to, err);
        status = ox_remnant_end(&part, status, gone, err);
    }
    free(marked);
    return status;
}

static enum ox_status pass_by(struct ox_reduction *r, size_t graph, size_t node, bool *gone,
                              struct ox_error *err)
{
    const size_t n_inputs = ox_reduction_best(r)->graphs[graph]->nodes[node]->n_inputs;
    *gone = false;
    for (size_t k = n_inputs + 1; k-- > 0 && !*gone;) {
        struct ox_remnant part;
        enum ox_status status = ox_remnant_begin(&part, r, ox_reduction_best(r), err);
        if (status == OX_OK)
            status = ox_remnant_bypass(&part, graph, node, k, err);
        OX_TRY(ox_remnant_end(&part, status, gone, err));
    }
    return OX_OK;
}

static size_t place_of(const struct ox_graph *graph, size_t item)
{
    size_t i = 0;
    for (; i < graph->n_nodes; i++)
        if (!is_constant(graph->nodes[i]) && item-- == 0)
            break;
    return i;
}

static enum ox_status without_nodes(const struct shrinking *s, size_t first, size_t n, bool *gone,
                                    struct ox_error *err)
{
    const struct ox_model *best = ox_reduction_best(s->r);
    if (n == 1)
        OX_TRY(pass_by(s->r, best->graph->id, place_of(best->graph, first), gone, err));
    return *gone ? OX_OK : try_without(s->r, best, s->cut_to, first, n, gone, err);
}

/* ---- From where ------------------------------------------------------------------------------------------------------ */

struct later {
    struct ox_reduction *r;
    const struct ox_model *base;
    enum ox_cut_to cut_to;
};

static enum ox_status passes_later(void *arg, size_t i, bool *passes, struct ox_error *err)
{
    const struct later *l = arg;
    bool fails;
    OX_TRY(try_without(l->r, l->base, l->cut_to, 0, i + 1, &fails, err));
    *passes = !fails;
    return OX_OK;
}

static enum ox_status cut_before(struct ox_reduction *r, enum ox_cut_to cut_to,
                                 struct ox_error *err)
{
    struct later at = {r, ox_reduction_best(r), cut_to};
    const size_t n = count_nodes(r);
    size_t found;
    return n > 1 ? ox_first_number(n, passes_later, &at, &found, err) : OX_OK;
}

static enum ox_status cut_out(struct ox_reduction *r, enum ox_cut_to cut_to, struct ox_error *err)
{
    const struct shrinking nodes = {
        .r = r, .count = count_nodes, .without = without_nodes, .cut_to = cut_to};
    OX_TRY(cut_before(r, cut_to, err));
    return shrink(&nodes, err);
}

/* ---- What is within others -------------------------------------------------------------------------------------------- */

static enum ox_status open_functions(struct ox_reduction *r, struct ox_error *err)
{
    struct ox_remnant part;
    bool fails;
    if (!r->given->n_functions)
        return OX_OK;
    enum ox_status status = ox_remnant_begin(&part, r, ox_reduction_best(r), err);
    if (status == OX_OK) {
        struct ox_error why;
        size_t n_calls;
        status = ox_inline_functions(part.model, &n_calls, &why);
        part.fits = status == OX_OK && n_calls > 0;
        if (status == OX_NO_MEMORY || status == OX_CANCELLED)
            *err = why;
        else
            status = OX_OK;
    }
    if (status == OX_OK && part.fits) {
        ox_shapes_release(part.shapes);
        part.shapes = NULL;
        status = ox_shapes_infer(&part.shapes, part.model, NULL, NULL, err);
    }
    OX_TRY(ox_remnant_end(&part, status, &fails, err));
    if (fails)
        r->recorded_from = ox_reduction_best(r);
    return OX_OK;
}

/* Any subgraph of any node of the main graph; *opened: one was. */
static enum ox_status open_one(struct ox_reduction *r, bool *opened, struct ox_error *err)
{
    const struct ox_model *best = ox_reduction_best(r);
    *opened = false;
    for (size_t i = 0; i < best->graph->n_nodes && !*opened; i++) {
        const struct ox_node *node = best->graph->nodes[i];
        for (size_t a = 0; a < node->n_attrs && !*opened; a++) {
            const struct ox_attr *attr = &node->attrs[a];
            if (!ox_attr_has_graphs(attr) || attr->ref)
                continue;
            for (size_t k = 0; k < attr->n && !*opened; k++) {
                struct ox_remnant part;
                enum ox_status status = ox_remnant_begin(&part, r, best, err);
                if (status == OX_OK)
                    status = ox_remnant_open(&part, i, attr->name, k, err);
                OX_TRY(ox_remnant_end(&part, status, opened, err));
            }
        }
    }
    return OX_OK;
}

/* Nodes of bodies that stay, one by one. */
static enum ox_status thin_bodies(struct ox_reduction *r, struct ox_error *err)
{
    for (bool any = true; any;) {
        any = false;
        for (size_t g = 0; g < ox_reduction_best(r)->n_graphs; g++) {
            if (ox_reduction_best(r)->graphs[g] == ox_reduction_best(r)->graph)
                continue;
            for (size_t i = ox_reduction_best(r)->graphs[g]->n_nodes; i-- > 0;) {
                const size_t n_graphs = ox_reduction_best(r)->n_graphs;
                bool gone;
                OX_TRY(pass_by(r, g, i, &gone, err));
                any |= gone;
                if (ox_reduction_best(r)->n_graphs != n_graphs)
                    break; /* others have these numbers now */
            }
        }
    }
    return OX_OK;
}

/* ---- All of it -------------------------------------------------------------------------------------------------------- */

static enum ox_status search(struct ox_reduction *r, struct ox_error *err)
{
    const bool constants = r->options->record != NULL;
    OX_TRY(open_functions(r, err));
    for (bool again = true; again;) {
        const size_t before = r->n_kept;
        bool opened;
        OX_TRY(cut_behind(r, err));
        if (!r->options->constants_alone)
            OX_TRY(cut_out(r, OX_CUT_TO_INPUTS, err));
        if (constants || r->options->constants_alone)
            OX_TRY(cut_out(r, OX_CUT_TO_CONSTANTS, err));
        OX_TRY(open_one(r, &opened, err));
        if (!opened)
            OX_TRY(thin_bodies(r, err));
        again = r->n_kept > before;
    }
    return OX_OK;
}

static enum ox_status ask_for_whole(struct ox_reduction *r, struct ox_error *err)
{
    struct ox_remnant part;
    struct ox_findings *findings;
    bool fails;
    OX_TRY(ox_check(&findings, r->given, &(struct ox_check_options){.full = true}, err));
    r->most_errors = ox_findings_errors(findings);
    ox_findings_release(findings);
    OX_TRY(ox_remnant_end(&part, ox_remnant_begin(&part, r, r->given, err), &fails, err));
    return fails ? OX_OK
                 : ox_fail(err, OX_NEGATIVE, "%s: does not fail as a whole", r->given->path);
}

enum ox_status ox_reduce(struct ox_reduction **out, struct ox_model *model,
                         const struct ox_reduce_options *options, struct ox_reduced *told,
                         struct ox_error *err)
{
    *told = (struct ox_reduced){.n_checks = 0};
    if (!model->graph)
        return ox_fail(err, OX_INPUT, "%s: there is no graph", model->path);
    struct ox_reduction *r = calloc(1, sizeof *r);
    if (!r)
        return ox_no_memory(err);
    *r = (struct ox_reduction){.options = options, .told = told};
    r->given = r->recorded_from = model;
    ox_arena_init(&r->arena, ox_env_budget(model->env));
    ox_strmap_init(&r->asked);
    told->n_nodes_before = told->n_nodes = count_all_nodes(model);
    enum ox_status status = ask_for_whole(r, err);
    if (status == OX_OK)
        status = search(r, err);
    told->whole = status == OX_OK;
    if (r->stopped && r->n_kept)
        status = OX_OK;
    if (status == OX_OK) {
        told->n_nodes = count_all_nodes(ox_reduction_best(r));
        *out = r;
    } else {
        ox_reduction_release(r);
    }
    return status;
}

struct ox_model *ox_reduction_model(const struct ox_reduction *reduction)
{
    return ox_reduction_best(reduction);
}

void ox_reduction_release(struct ox_reduction *reduction)
{
    if (!reduction)
        return;
    while (reduction->n_kept)
        ox_model_release(reduction->kept[--reduction->n_kept]);
    for (size_t i = 0; i < reduction->n_values; i++)
        ox_datum_release(reduction->values[i].value);
    free((void *)reduction->kept);
    free(reduction->values);
    ox_strmap_release(&reduction->asked);
    ox_arena_release(&reduction->arena);
    free(reduction);
}
