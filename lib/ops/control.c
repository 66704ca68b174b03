#include <stdlib.h>
#include <string.h>

#include "ops/control_types.h"
#include "ops/infer.h"
#include "ops/op.h"
#include "ops/stacking.h"

/* ---- Shared ----------------------------------------------------------------------------------------------------- */

static void release_all(struct ox_datum **data, size_t n)
{
    for (size_t i = 0; data && i < n; i++) {
        ox_datum_release(data[i]);
        data[i] = NULL;
    }
}

static struct ox_datum **datum_array(struct ox_run *r, size_t n, struct ox_error *err)
{
    return ox_run_scratch(r, n + 1, sizeof(struct ox_datum *), err);
}

/* The one element of a condition. */
static enum ox_status read_bool(const struct ox_run *r, const struct ox_datum *datum,
                                const char *what, bool *value, struct ox_error *err)
{
    const struct ox_tensor *tensor = datum && datum->kind == OX_DATUM_TENSOR ? datum->tensor : NULL;
    if (!tensor || tensor->dtype != OX_BOOL || tensor->n != 1)
        return ox_run_fail(r, err, OX_INPUT, "%s is not one bool", what);
    *value = *(const uint8_t *)tensor->data != 0;
    return OX_OK;
}

/* ---- If --------------------------------------------------------------------------------------------------------- */

static enum ox_status run_if(struct ox_run *r, struct ox_error *err)
{
    bool condition = false;
    OX_TRY(read_bool(r, r->in[0], "the condition", &condition, err));
    const char *branch = condition ? "then_branch" : "else_branch";
    const struct ox_graph *graph = ox_run_graph(r, branch);
    if (!graph)
        return ox_run_fail(r, err, OX_INPUT, "attribute '%s' holds no graph", branch);
    if (graph->n_outputs != r->n_out)
        return ox_run_fail(r, err, OX_INPUT, "'%s' has %zu outputs, the node has %zu", branch,
                           graph->n_outputs, r->n_out);
    return r->subgraph(r, graph, NULL, 0, r->out, r->n_out, err);
}

/* A branch that is never taken may contradict itself: exporters leave there what would hold for another rank. */
static bool infer_branch(struct ox_infer *c, const char *name, bool never,
                         struct ox_infer_value *out, size_t n)
{
    const bool doubt = never || ox_infer_by_rules_alone(c);
    ox_infer_doubt(c, doubt);
    const bool has = ox_infer_subgraph_values(c, name, NULL, 0, out, n);
    ox_infer_trust(c, doubt);
    return has;
}

static void infer_if(struct ox_infer *c)
{
    size_t n = ox_infer_n_out(c);
    struct ox_infer_value *of_then = ox_infer_scratch(c, 2 * n + 1, sizeof *of_then);
    if (!of_then)
        return;
    struct ox_infer_value *of_else = of_then + n;
    const struct ox_infer_value condition = ox_infer_value(c, 0);
    int64_t choice = 0;
    bool known = ox_control_number(&condition, &choice);
    bool has_then = infer_branch(c, "then_branch", known && !choice, of_then, n);
    bool has_else = infer_branch(c, "else_branch", known && choice, of_else, n);
    for (size_t i = 0; i < n; i++) {
        struct ox_infer_value value = {0};
        if (known)
            value = choice ? of_then[i] : of_else[i];
        else if (has_then && has_else)
            value = ox_control_merge_values(c, &of_then[i], &of_else[i]);
        ox_infer_set_value(c, i, &value);
        if (!value.type)
            ox_infer_unknown(c, i, "the branches do not tell its type");
        else if (value.type != of_then[i].type && value.type != of_else[i].type)
            ox_infer_unknown(c, i, "the branches make different shapes");
    }
}

/* ---- Loop ------------------------------------------------------------------------------------------------------- */

struct loop {
    const struct ox_graph *body;
    size_t n_carried, n_scans;
    struct ox_datum **in;  /* of the body: trip, condition, carried values; each a reference */
    struct ox_datum **out; /* of the body: condition, carried values, scan outputs */
    struct ox_stack *scans;
};

/* The body may declare the trip's number or the condition as [1] instead of a scalar. */
static enum ox_status set_scalar(struct ox_run *r, const struct ox_graph *body, size_t i,
                                 enum ox_dtype dtype, int64_t value, struct ox_datum **slot,
                                 struct ox_error *err)
{
    const struct ox_type *type = i < body->n_inputs ? body->inputs[i]->type : NULL;
    bool vector = type && type->kind == OX_TYPE_TENSOR && type->has_rank && type->rank == 1;
    struct ox_tensor *tensor;
    OX_TRY(ox_tensor_new(&tensor, ox_env_budget(r->env), dtype, vector ? 1 : 0,
                         (const int64_t[]){1}, err));
    if (dtype == OX_BOOL)
        *(uint8_t *)tensor->data = value != 0;
    else
        *(int64_t *)tensor->data = value;
    ox_datum_release(*slot);
    *slot = NULL;
    enum ox_status status = ox_datum_of_tensor(slot, tensor, err);
    ox_tensor_release(tensor);
    return status;
}

static enum ox_status loop_begin(struct ox_run *r, struct loop *loop, struct ox_error *err)
{
    loop->body = ox_run_graph(r, "body");
    if (!loop->body)
        return ox_run_fail(r, err, OX_INPUT, "attribute 'body' holds no graph");
    loop->n_carried = r->n_in > 2 ? r->n_in - 2 : 0;
    size_t n_out = loop->body->n_outputs;
    if (n_out < 1 + loop->n_carried || r->n_out > n_out - 1)
        return ox_run_fail(
            r, err, OX_INPUT,
            "the body has %zu outputs; %zu carried values and %zu outputs of the node need more",
            n_out, loop->n_carried, r->n_out);
    loop->n_scans = n_out - 1 - loop->n_carried;
    loop->in = datum_array(r, 2 + loop->n_carried, err);
    loop->out = datum_array(r, n_out, err);
    loop->scans = ox_run_scratch(r, loop->n_scans + 1, sizeof *loop->scans, err);
    if (!loop->in || !loop->out || !loop->scans)
        return OX_NO_MEMORY;
    for (size_t i = 0; i < loop->n_carried; i++)
        loop->in[2 + i] = r->in[2 + i] ? ox_datum_ref(r->in[2 + i]) : NULL;
    return OX_OK;
}

static enum ox_status loop_trip(struct ox_run *r, struct loop *loop, int64_t trip, bool *go_on,
                                struct ox_error *err)
{
    OX_TRY(ox_env_poll(r->env, err));
    OX_TRY(set_scalar(r, loop->body, 0, OX_INT64, trip, &loop->in[0], err));
    OX_TRY(set_scalar(r, loop->body, 1, OX_BOOL, 1, &loop->in[1], err));
    OX_TRY(r->subgraph(r, loop->body, loop->in, 2 + loop->n_carried, loop->out,
                       loop->body->n_outputs, err));
    OX_TRY(read_bool(r, loop->out[0], "the body's condition", go_on, err));
    for (size_t i = 0; i < loop->n_carried; i++) {
        if (!loop->out[1 + i] && loop->in[2 + i])
            return ox_run_fail(r, err, OX_INPUT, "the body did not make carried value %zu", i);
        ox_datum_release(loop->in[2 + i]);
        loop->in[2 + i] = loop->out[1 + i];
        loop->out[1 + i] = NULL;
    }
    for (size_t i = 0; i < loop->n_scans; i++) {
        const struct ox_datum *item = loop->out[1 + loop->n_carried + i];
        if (!ox_run_wants(r, loop->n_carried + i))
            continue;
        if (!item)
            return ox_run_fail(r, err, OX_INPUT, "the body did not make scan output %zu", i);
        OX_TRY(ox_stack_push(r, &loop->scans[i], item, err));
    }
    release_all(loop->out, loop->body->n_outputs);
    return OX_OK;
}

static enum ox_status loop_end(struct ox_run *r, struct loop *loop, struct ox_error *err)
{
    for (size_t i = 0; i < r->n_out; i++) {
        if (i < loop->n_carried) {
            if (loop->in[2 + i])
                OX_TRY(ox_run_out_datum(r, i, loop->in[2 + i], err));
            continue;
        }
        if (!ox_run_wants(r, i))
            continue;
        struct ox_stack *scan = &loop->scans[i - loop->n_carried];
        const struct ox_value *value = loop->body->outputs[1 + i];
        struct ox_tensor *joined;
        if (scan->n)
            OX_TRY(ox_stack_join(r, scan, 0, false, 0, value ? value->name : "", &joined, err));
        else
            OX_TRY(ox_stack_empty(r, value, NULL, 0, 0, &joined, err));
        enum ox_status status = ox_run_out_tensor(r, i, joined, err);
        ox_tensor_release(joined);
        OX_TRY(status);
    }
    return OX_OK;
}

static enum ox_status run_loop(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *most = ox_run_in(r, 0);
    if (most && (most->dtype != OX_INT64 || most->n != 1))
        return ox_run_fail(r, err, OX_INPUT, "the trip count is not one int64");
    int64_t n_trips = most ? *(const int64_t *)most->data : INT64_MAX;
    uint64_t limit = r->env->limits.loop_trips;
    bool go_on = true;
    if (ox_run_has(r, 1))
        OX_TRY(read_bool(r, r->in[1], "the condition", &go_on, err));
    struct loop loop = {0};
    enum ox_status status;
    OX_TRY_CLEANUP(loop_begin(r, &loop, err));
    for (int64_t trip = 0; trip < n_trips && go_on; trip++) {
        if (limit && (uint64_t)trip >= limit) {
            status = ox_run_fail(r, err, OX_LIMIT, "over %llu trips (--limit loop-trips)",
                                 (unsigned long long)limit);
            goto cleanup;
        }
        OX_TRY_CLEANUP(loop_trip(r, &loop, trip, &go_on, err));
    }
    status = loop_end(r, &loop, err);
cleanup:
    release_all(loop.in, loop.in ? 2 + loop.n_carried : 0);
    release_all(loop.out, loop.out ? loop.body->n_outputs : 0);
    for (size_t i = 0; loop.scans && i < loop.n_scans; i++)
        ox_stack_release(&loop.scans[i]);
    return status;
}

/* Whether the body hands on the condition that it was given, so that only the trip count ends the loop. */
static bool body_keeps_condition(const struct ox_graph *body)
{
    const struct ox_value *value = body->n_outputs && body->n_inputs > 1 ? body->outputs[0] : NULL;
    for (int hops = 0; value && hops < 8; hops++) {
        if (value == body->inputs[1])
            return true;
        const struct ox_node *node = value->producer;
        if (!node || node->n_inputs != 1 || node->domain[0] ||
            (strcmp(node->op_type, "Identity") != 0 && strcmp(node->op_type, "Cast") != 0))
            return false;
        value = node->inputs[0];
    }
    return false;
}

/* NULL: the attribute is not there, or says that it is a graph and has none. */
static const struct ox_graph *body_of(struct ox_infer *c)
{
    const struct ox_attr *attr = ox_infer_attr(c, "body");
    return attr && attr->type == OX_ATTR_GRAPH && attr->n ? attr->graphs[0] : NULL;
}

static const struct ox_expr *count_trips(struct ox_infer *c)
{
    const struct ox_graph *body = body_of(c);
    const struct ox_tensor *condition = ox_infer_const(c, 1);
    bool begins = !ox_infer_has(c, 1) || (condition && condition->dtype == OX_BOOL &&
                                          condition->n == 1 && *(const uint8_t *)condition->data);
    size_t n;
    const struct ox_expr *const *values;
    if (body && begins && body_keeps_condition(body) && ox_infer_has(c, 0) &&
        ox_infer_values(c, 0, &n, &values) && n == 1 && values[0])
        return ox_infer_max(c, values[0], ox_infer_num(c, 0));
    return ox_infer_data_dim(c, "trips");
}

/* The trip's number or the condition as the body sees it: the body may declare [1] instead of a scalar. */
static const struct ox_type *trip_type(struct ox_infer *c, size_t i, enum ox_dtype dtype)
{
    const struct ox_graph *body = body_of(c);
    const struct ox_type *declared = body && i < body->n_inputs ? body->inputs[i]->type : NULL;
    bool is_ranked = declared && declared->kind == OX_TYPE_TENSOR && declared->has_rank;
    if (i == 1 && is_ranked && ox_infer_type(c, i))
        return ox_infer_type(c, i);
    return ox_infer_make_tensor(c, dtype, !is_ranked || declared->rank == 0, 0, NULL);
}

/* Trip by trip, where they are few: then values pass through too. */
static bool infer_trips(struct ox_infer *c, struct ox_control_trips *t, size_t n_carried,
                        size_t n_out)
{
    struct ox_infer_value bound = ox_infer_value(c, 0), begins = ox_infer_value(c, 1);
    int64_t go_on = 1;
    *t = (struct ox_control_trips){.n_carried = n_carried,
                                   .n_scans = n_out > n_carried ? n_out - n_carried : 0,
                                   .n_trips = INT64_MAX};
    if ((ox_infer_has(c, 0) && !ox_control_number(&bound, &t->n_trips)) ||
        (ox_infer_has(c, 1) && !ox_control_number(&begins, &go_on)))
        return false;
    if (!go_on)
        t->n_trips = 0;
    t->in = ox_infer_scratch(c, 2 + n_carried, sizeof *t->in);
    t->stacked = ox_infer_scratch(c, t->n_scans + 1, sizeof *t->stacked);
    if (!t->in || !t->stacked)
        return false;
    t->in[0].type = trip_type(c, 0, OX_INT64);
    t->in[1].type = trip_type(c, 1, OX_BOOL);
    for (size_t i = 0; i < n_carried; i++)
        t->in[2 + i] = ox_infer_value(c, 2 + i);
    return ox_control_each_trip(c, t);
}

/* What the body inserts into a sequence that begins empty is the type of all its elements, if it stays so in the passes that
 * follow. */
static void assume_inserted(struct ox_infer *c, const struct ox_type **in, size_t n_carried,
                            const struct ox_type **out, size_t n_out)
{
    const struct ox_node *node = ox_infer_node(c);
    const struct ox_graph *body = body_of(c);
    bool passed = false;
    for (size_t i = 0; body && i < n_carried; i++) {
        const struct ox_value *given = node->inputs[2 + i];
        const struct ox_node *from = given ? given->producer : NULL;
        const struct ox_node *insert =
            1 + i < body->n_outputs && body->outputs[1 + i] ? body->outputs[1 + i]->producer : NULL;
        if (!from || !insert || strcmp(from->op_type, "SequenceEmpty") != 0 ||
            strcmp(insert->op_type, "SequenceInsert") != 0 || 2 + i >= body->n_inputs ||
            insert->n_inputs < 2 || insert->inputs[0] != body->inputs[2 + i] || !insert->inputs[1])
            continue;
        if (!passed && !ox_infer_subgraph(c, "body", in, 2 + n_carried, out, n_out))
            return;
        passed = true;
        const struct ox_type *element = ox_infer_lasting_type(c, insert->inputs[1]);
        if (element && element->kind == OX_TYPE_TENSOR && element->has_rank)
            in[2 + i] = ox_infer_make_sequence(c, element);
    }
}

static void infer_loop(struct ox_infer *c)
{
    size_t n_out = ox_infer_n_out(c);
    size_t n_carried = ox_infer_n_in(c) > 2 ? ox_infer_n_in(c) - 2 : 0;
    const struct ox_type **in = calloc(2 * n_carried + n_out + 4, sizeof(const struct ox_type *));
    if (!in)
        return;
    const struct ox_type **out = in + 2 + n_carried;
    size_t n_body_out = 1 + (n_out > n_carried ? n_out : n_carried);
    in[0] = trip_type(c, 0, OX_INT64);
    in[1] = trip_type(c, 1, OX_BOOL);
    for (size_t i = 0; i < n_carried; i++)
        in[2 + i] = ox_infer_type(c, 2 + i);
    assume_inserted(c, in, n_carried, out, n_body_out);
    struct ox_control_trips each;
    bool is_known = infer_trips(c, &each, n_carried, n_out);
    const struct ox_expr *trips = is_known ? ox_infer_num(c, each.n_trips) : count_trips(c);
    struct ox_control_states states = {.in = in,
                                       .in_first = 2,
                                       .n = n_carried,
                                       .n_in = 2 + n_carried,
                                       .out = out,
                                       .out_first = 1,
                                       .n_out = n_body_out,
                                       .trips = trips};
    if (ox_control_fixpoint(c, &states)) {
        for (size_t i = 0; i < n_carried && i < n_out; i++)
            if (in[2 + i])
                ox_infer_set_type(c, i, in[2 + i]);
        for (size_t i = n_carried; i < n_out; i++)
            ox_control_set_stacked(c, i, out[1 + i], trips, 0);
    }
    for (size_t i = 0; is_known && i < n_out; i++)
        ox_infer_set_value(c, i, i < n_carried ? &each.in[2 + i] : &each.stacked[i - n_carried]);
    free(in);
}

/* ---- SequenceMap -------------------------------------------------------------------------------------------------- */

struct map {
    const struct ox_graph *body;
    struct ox_datum **in, **out;
    struct ox_stack *made; /* one for each output */
};

static enum ox_status map_begin(struct ox_run *r, struct map *map, struct ox_error *err)
{
    map->body = ox_run_graph(r, "body");
    if (!map->body)
        return ox_run_fail(r, err, OX_INPUT, "attribute 'body' holds no graph");
    if (map->body->n_outputs != r->n_out)
        return ox_run_fail(r, err, OX_INPUT, "the body has %zu outputs, the node %zu",
                           map->body->n_outputs, r->n_out);
    if (r->in[0]->kind != OX_DATUM_SEQUENCE)
        return ox_run_fail(r, err, OX_INPUT, "input 0 is not a sequence");
    for (size_t i = 1; i < r->n_in; i++)
        if (r->in[i] && r->in[i]->kind == OX_DATUM_SEQUENCE &&
            r->in[i]->n_items != r->in[0]->n_items)
            return ox_run_fail(r, err, OX_INPUT, "input %zu has %zu elements, input 0 has %zu", i,
                               r->in[i]->n_items, r->in[0]->n_items);
    map->in = datum_array(r, r->n_in, err);
    map->out = datum_array(r, r->n_out, err);
    map->made = ox_run_scratch(r, r->n_out + 1, sizeof *map->made, err);
    return map->in && map->out && map->made ? OX_OK : OX_NO_MEMORY;
}

static enum ox_status map_item(struct ox_run *r, struct map *map, size_t item, struct ox_error *err)
{
    OX_TRY(ox_env_poll(r->env, err));
    for (size_t i = 0; i < r->n_in; i++) {
        struct ox_datum *datum = r->in[i];
        map->in[i] = datum && datum->kind == OX_DATUM_SEQUENCE ? datum->items[item] : datum;
    }
    OX_TRY(r->subgraph(r, map->body, map->in, r->n_in, map->out, r->n_out, err));
    for (size_t i = 0; i < r->n_out; i++) {
        if (!map->out[i])
            return ox_run_fail(r, err, OX_INPUT, "the body did not make output %zu", i);
        OX_TRY(ox_stack_push(r, &map->made[i], map->out[i], err));
    }
    release_all(map->out, r->n_out);
    return OX_OK;
}

static enum ox_status map_end(struct ox_run *r, struct map *map, struct ox_error *err)
{
    for (size_t i = 0; i < r->n_out; i++) {
        const struct ox_stack *made = &map->made[i];
        const struct ox_type *type = map->body->outputs[i] ? map->body->outputs[i]->type : NULL;
        enum ox_dtype elem = OX_UNDEFINED;
        if (made->n && made->items[0]->tensor)
            elem = made->items[0]->tensor->dtype;
        else if (type && type->kind == OX_TYPE_TENSOR)
            elem = type->elem;
        struct ox_datum *sequence;
        OX_TRY(ox_datum_sequence(&sequence, elem, made->items, made->n, err));
        enum ox_status status = ox_run_out_datum(r, i, sequence, err);
        ox_datum_release(sequence);
        OX_TRY(status);
    }
    return OX_OK;
}

static enum ox_status run_sequence_map(struct ox_run *r, struct ox_error *err)
{
    struct map map = {0};
    enum ox_status status;
    OX_TRY_CLEANUP(map_begin(r, &map, err));
    for (size_t item = 0; item < r->in[0]->n_items; item++)
        OX_TRY_CLEANUP(map_item(r, &map, item, err));
    status = map_end(r, &map, err);
cleanup:
    release_all(map.out, map.out ? r->n_out : 0);
    for (size_t i = 0; map.made && i < r->n_out; i++)
        ox_stack_release(&map.made[i]);
    return status;
}

static void infer_sequence_map(struct ox_infer *c)
{
    size_t n_in = ox_infer_n_in(c), n_out = ox_infer_n_out(c);
    const struct ox_type **in = calloc(n_in + n_out + 1, sizeof(const struct ox_type *));
    if (!in)
        return;
    const struct ox_type **out = in + n_in;
    for (size_t i = 0; i < n_in; i++) {
        in[i] = ox_infer_type(c, i);
        if (in[i] && in[i]->kind == OX_TYPE_SEQUENCE)
            in[i] = in[i]->inner;
    }
    if (ox_infer_subgraph(c, "body", in, n_in, out, n_out))
        for (size_t i = 0; i < n_out; i++)
            if (out[i])
                ox_infer_set_type(c, i, ox_infer_make_sequence(c, out[i]));
    free(in);
}

enum { CONTROL = OX_OP_HALF | OX_OP_ANY_KIND };

const struct ox_op ox_ops_control[] = {
    {"", "If", 1, CONTROL, .infer = infer_if, .run = run_if},
    {"", "Loop", 1, CONTROL, .infer = infer_loop, .run = run_loop},
    {"", "SequenceMap", 17, CONTROL, .infer = infer_sequence_map, .run = run_sequence_map},
    {0}};
