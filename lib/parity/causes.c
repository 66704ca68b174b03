/* Why a value departs: the part of both graphs where it happens is cut out, and looked at from all sides. */
#include "parity/causes.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- Evidence ------------------------------------------------------------------------------------------------------ */

void ox_cause_add(struct ox_parity_causes *causes, int weight, const char *id, const char *format,
                  ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (causes->n == causes->capacity) {
        size_t capacity = causes->capacity ? 2 * causes->capacity : 8;
        struct ox_parity_cause *items = realloc(causes->items, capacity * sizeof *items);
        if (items)
            causes->items = items;
        int *weights = items ? realloc(causes->weights, capacity * sizeof *weights) : NULL;
        if (weights)
            causes->weights = weights;
        if (!weights) {
            causes->failed = true;
            return;
        }
        causes->capacity = capacity;
    }
    const char *kept = ox_arena_strdup(&causes->arena, text);
    const char *kept_id = ox_arena_strdup(&causes->arena, id);
    if (!kept || !kept_id) {
        causes->failed = true;
        return;
    }
    size_t at = causes->n++;
    for (; at > 0 && causes->weights[at - 1] < weight; at--) {
        causes->items[at] = causes->items[at - 1];
        causes->weights[at] = causes->weights[at - 1];
    }
    causes->items[at] = (struct ox_parity_cause){kept_id, kept};
    causes->weights[at] = weight;
}

void ox_parity_causes_release(struct ox_parity_causes *causes)
{
    if (!causes)
        return;
    ox_arena_release(&causes->arena);
    free(causes->items);
    free(causes->weights);
    free(causes);
}

size_t ox_parity_causes_count(const struct ox_parity_causes *causes)
{
    return causes ? causes->n : 0;
}

const struct ox_parity_cause *ox_parity_causes_at(const struct ox_parity_causes *causes, size_t i)
{
    return &causes->items[i];
}

/* ---- The part of the graph ----------------------------------------------------------------------------------------- */

const struct ox_value *ox_explain_partner(const struct ox_explaining *e, const struct ox_value *b)
{
    const struct ox_parity *p = e->parity;
    if (!b->producer) {
        const struct ox_graph *other = p->walkers[OX_ROLE_A].session->main->graph;
        return b->init ? NULL : ox_graph_value(other, b->name);
    }
    for (size_t i = 0; i < p->n_pairs; i++)
        if (p->pairs[i].b == b)
            return p->pairs[i].a;
    return NULL;
}

static bool is_paired(const struct ox_parity *p, bool of_a, const struct ox_value *value)
{
    const struct ox_walker *w = &p->walkers[of_a ? OX_ROLE_A : OX_ROLE_B];
    uint32_t at = ox_strmap_find(&w->pair_of, value->name, strlen(value->name));
    return at != OX_STRMAP_NONE && !p->pairs[at].mismatched_shape;
}

static bool add_once(const void **list, size_t *n, const void *item)
{
    for (size_t i = 0; i < *n; i++)
        if (list[i] == item)
            return false;
    if (*n == OX_MOST_REGION)
        return false;
    list[(*n)++] = item;
    return true;
}

/* What a value's elements are says nothing about its shape. */
static bool reads_shape_only(const struct ox_node *node)
{
    return strcmp(node->op_type, "Shape") == 0 || strcmp(node->op_type, "Size") == 0;
}

/* From the value backwards until values that both sides have; constants stay outside, and what is only asked for its shape. */
static void cut_out(struct ox_region *region, const struct ox_parity *p, bool of_a,
                    const struct ox_value *value)
{
    const void *nodes[OX_MOST_REGION], *entries[OX_MOST_REGION];
    size_t n_nodes = 0, n_entries = 0;
    add_once(nodes, &n_nodes, value->producer);
    for (size_t at = 0; at < n_nodes; at++) {
        const struct ox_node *node = nodes[at];
        for (size_t i = 0; i < node->n_inputs && !reads_shape_only(node); i++) {
            const struct ox_value *in = node->inputs[i];
            if (!in || in->init || in->sparse_init)
                continue;
            if (!in->producer || is_paired(p, of_a, in))
                add_once(entries, &n_entries, in);
            else
                add_once(nodes, &n_nodes, in->producer);
        }
    }
    region->n_nodes = n_nodes;
    region->n_entries = n_entries;
    for (size_t i = 0; i < n_nodes; i++) {
        const struct ox_node *node = nodes[i];
        size_t at = i;
        for (; at > 0 && region->nodes[at - 1]->index > node->index; at--)
            region->nodes[at] = region->nodes[at - 1];
        region->nodes[at] = node;
    }
    for (size_t i = 0; i < n_entries; i++)
        region->entries[i] = entries[i];
}

const struct ox_node *ox_region_find(const struct ox_region *region, const char *op_type)
{
    for (size_t i = region->n_nodes; i-- > 0;)
        if (strcmp(region->nodes[i]->op_type, op_type) == 0)
            return region->nodes[i];
    return NULL;
}

size_t ox_region_count(const struct ox_region *region, const char *op_type)
{
    size_t n = 0;
    for (size_t i = 0; i < region->n_nodes; i++)
        n += strcmp(region->nodes[i]->op_type, op_type) == 0;
    return n;
}

const struct ox_schema *ox_explain_schema(const struct ox_node *node)
{
    return ox_schema_find(node->domain, node->op_type, ox_graph_opset(node->graph, node->domain));
}

size_t ox_parity_sources(const struct ox_parity *p, size_t i, size_t *sources, size_t most)
{
    struct ox_region region;
    size_t n = 0;
    if (i >= p->n_compared)
        return 0;
    cut_out(&region, p, false, p->pairs[p->compared[i]].b);
    for (size_t k = 0; k < region.n_entries; k++) {
        const char *name = region.entries[k]->name;
        uint32_t at = ox_strmap_find(&p->walkers[OX_ROLE_B].pair_of, name, strlen(name));
        size_t low = 0, high = p->n_compared;
        while (at != OX_STRMAP_NONE && low < high) {
            size_t middle = (low + high) / 2;
            if (p->compared[middle] < at)
                low = middle + 1;
            else
                high = middle;
        }
        if (at == OX_STRMAP_NONE || low == p->n_compared || p->compared[low] != at)
            continue;
        if (n < most)
            sources[n] = low;
        n++;
    }
    return n;
}

/* ---- Values -------------------------------------------------------------------------------------------------------- */

bool ox_explain_is_of_model(const struct ox_explaining *e, bool of_a, const char *name)
{
    const struct ox_graph *graph = e->parity->models[of_a ? 0 : 1]->graph;
    return graph && ox_graph_value(graph, name);
}

enum ox_status ox_explain_fetch(struct ox_explaining *e, bool of_a, const char *const *names,
                                size_t n, struct ox_datum **out, struct ox_error *err)
{
    const struct ox_parity *p = e->parity;
    struct ox_datum *const *given = of_a ? e->a_inputs : e->b_inputs;
    struct ox_run_options options = {
        .lean = true, .seed = p->options.seed, .outputs = names, .n_outputs = n};
    struct ox_session *session = NULL;
    for (size_t i = 0; i < n; i++)
        out[i] = NULL;
    /* What rewriting has made is not in the model. */
    for (size_t i = 0; i < n; i++)
        if (!ox_explain_is_of_model(e, of_a, names[i]))
            return OX_OK;
    OX_TRY(ox_session_new(&session, p->models[of_a ? 0 : 1], &options, err));
    enum ox_status status = ox_session_run(session, given, out, err);
    ox_session_release(session);
    return status;
}

enum ox_status ox_explain_distance(const struct ox_explaining *e, const struct ox_datum *a,
                                   const struct ox_datum *b, struct ox_metrics *out,
                                   struct ox_error *err)
{
    const struct ox_metrics_options exact = {.tolerance = {.rtol = 0, .atol = 0}};
    struct ox_meter *meter;
    OX_TRY(ox_meter_new(&meter, e->parity->env, &exact, err));
    enum ox_status status = ox_meter_add(meter, a, b, err);
    if (status == OX_OK)
        ox_meter_read(meter, out);
    ox_meter_release(meter);
    return status;
}

bool ox_explain_is_constant(const struct ox_value *value)
{
    const void *seen[OX_MOST_REGION];
    size_t n = 0;
    if (value->init)
        return true;
    if (!value->producer || !add_once(seen, &n, value->producer))
        return false;
    for (size_t at = 0; at < n; at++) {
        const struct ox_node *node = seen[at];
        for (size_t i = 0; i < node->n_inputs; i++) {
            const struct ox_value *in = node->inputs[i];
            if (!in || in->init)
                continue;
            if (!in->producer || n == OX_MOST_REGION)
                return false;
            add_once(seen, &n, in->producer);
        }
        for (size_t i = 0; i < node->n_attrs; i++)
            if (node->attrs[i].type == OX_ATTR_GRAPH || node->attrs[i].type == OX_ATTR_GRAPHS)
                return false;
    }
    return true;
}

enum ox_status ox_explain_constant(struct ox_explaining *e, bool of_a, const struct ox_value *value,
                                   struct ox_tensor **out, struct ox_error *err)
{
    *out = NULL;
    if (value->init)
        return ox_stored_load(value->graph->model, value->init, out, err);
    if (!ox_explain_is_constant(value))
        return OX_OK;
    struct ox_datum *datum = NULL;
    OX_TRY(ox_explain_fetch(e, of_a, &value->name, 1, &datum, err));
    if (datum && datum->kind == OX_DATUM_TENSOR)
        *out = ox_tensor_ref(datum->tensor);
    ox_datum_release(datum);
    return OX_OK;
}

/* ---- All ----------------------------------------------------------------------------------------------------------- */

/* What the walk has seen already: whose error it is. */
static void explain_origin(struct ox_explaining *e)
{
    struct ox_metrics all, own;
    ox_meter_read(e->pair->meter, &all);
    if (!e->pair->own)
        return;
    ox_meter_read(e->pair->own, &own);
    if (!own.agree && isnan(own.max_abs))
        ox_cause_add(e->causes, 20, "own",
                     "the difference arises in this node: fed B's inputs, A's node departs too");
    else if (!own.agree)
        ox_cause_add(e->causes, 20, "own",
                     "the difference arises in this node: fed B's inputs, A's "
                     "node is off by %.3g",
                     own.max_abs);
    else
        ox_cause_add(e->causes, 60, "inherited",
                     "fed B's inputs, A's node is off by %.3g only: what departs here has come in "
                     "with its inputs, each within the tolerance, and was made larger",
                     own.max_abs);
}

static enum ox_status start_explaining(struct ox_explaining *e, struct ox_env *env,
                                       struct ox_error *err)
{
    e->causes = calloc(1, sizeof *e->causes);
    if (!e->causes)
        return ox_fail(err, OX_NO_MEMORY, "out of memory");
    ox_arena_init(&e->causes->arena, ox_env_budget(env));
    return OX_OK;
}

static enum ox_status finish_explaining(struct ox_explaining *e, enum ox_status status,
                                        struct ox_parity_causes **out, struct ox_error *err)
{
    if (status == OX_OK && e->causes->failed)
        status = ox_fail(err, OX_NO_MEMORY, "out of memory");
    ox_datum_release(e->a_out);
    ox_datum_release(e->b_out);
    if (status == OX_OK)
        *out = e->causes;
    else
        ox_parity_causes_release(e->causes);
    return status;
}

enum ox_status ox_parity_explain(struct ox_parity_causes **out, struct ox_parity *parity, size_t i,
                                 struct ox_datum *const *a_inputs, struct ox_datum *const *b_inputs,
                                 struct ox_error *err)
{
    if (i >= parity->n_compared)
        return ox_fail(err, OX_USAGE, "there is no layer %zu", i);
    const struct ox_pair *pair = &parity->pairs[parity->compared[i]];
    struct ox_explaining e = {
        .parity = parity, .pair = pair, .a_inputs = a_inputs, .b_inputs = b_inputs};
    enum ox_status status;
    OX_TRY(start_explaining(&e, parity->env, err));
    cut_out(&e.a, parity, true, pair->a);
    cut_out(&e.b, parity, false, pair->b);
    OX_TRY_CLEANUP(ox_parity_fetch(parity, pair, a_inputs, b_inputs, &e.a_out, &e.b_out, err));
    explain_origin(&e);
    OX_TRY_CLEANUP(ox_explain_nodes(&e, err));
    OX_TRY_CLEANUP(ox_explain_values(&e, err));
    status = ox_explain_condition(&e, err);
cleanup:
    return finish_explaining(&e, status, out, err);
}

/* What the numbers alone tell of a value whose inside can't be seen. */
static enum ox_status explain_unseen(struct ox_explaining *e, struct ox_error *err)
{
    struct ox_datum *own = NULL;
    OX_TRY(ox_explain_values(e, err));
    OX_TRY(ox_explain_products(e, err));
    /* How far our own value moves: the other one's inputs can't be nudged inside. */
    OX_TRY(ox_explain_fetch(e, false, &e->pair->b->name, 1, &own, err));
    if (!own)
        return OX_OK;
    ox_datum_release(e->b_out);
    e->b_out = own;
    return ox_explain_condition(e, err);
}

enum ox_status ox_parity_explain_value(struct ox_parity_causes **out, struct ox_model *model,
                                       const char *value, const struct ox_datum *a,
                                       const struct ox_datum *b, struct ox_datum *const *inputs,
                                       const struct ox_parity_options *options,
                                       struct ox_error *err)
{
    struct ox_parity *parity = NULL;
    struct ox_explaining e = {.a_inputs = inputs, .b_inputs = inputs};
    enum ox_status status;
    OX_TRY(start_explaining(&e, model->env, err));
    OX_TRY_CLEANUP(ox_parity_new(&parity, model, model, options, err));
    e.parity = parity;
    uint32_t at = ox_strmap_find(&parity->walkers[OX_ROLE_B].pair_of, value, strlen(value));
    if (at == OX_STRMAP_NONE) {
        status = ox_fail(err, OX_USAGE, "the model makes no value '%s'", value);
        goto cleanup;
    }
    struct ox_pair *pair = &parity->pairs[at];
    e.pair = pair;
    cut_out(&e.b, parity, false, pair->b);
    if (!pair->meter)
        OX_TRY_CLEANUP(ox_meter_new(&pair->meter, parity->env, &parity->options.metrics, err));
    OX_TRY_CLEANUP(ox_meter_add(pair->meter, a, b, err));
    e.a_out = ox_datum_ref(a);
    e.b_out = ox_datum_ref(b);
    status = explain_unseen(&e, err);
cleanup:
    status = finish_explaining(&e, status, out, err);
    ox_parity_release(parity);
    return status;
}
