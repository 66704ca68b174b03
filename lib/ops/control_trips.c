/* Values through control flow: of both branches, and of loops trip by trip. */
#include <string.h>

#include "ops/control_types.h"

enum { MOST_TRIPS = 64, MOST_STACKED = 1024 };

bool ox_control_number(const struct ox_infer_value *value, int64_t *number)
{
    return value->values && value->n_values == 1 && ox_infer_is_num(value->values[0], number);
}

struct ox_infer_value ox_control_merge_values(struct ox_infer *c, const struct ox_infer_value *a,
                                              const struct ox_infer_value *b)
{
    struct ox_infer_value both = {.type = ox_control_merge(c, a->type, b->type),
                                  .items = a->items == b->items ? a->items : NULL};
    if (!both.type || !a->values || !b->values || a->n_values != b->n_values)
        return both;
    const struct ox_expr **values = ox_infer_scratch(c, a->n_values + 1, sizeof(*values));
    bool any = false;
    for (size_t i = 0; values && i < a->n_values; i++) {
        values[i] = a->values[i] == b->values[i] ? a->values[i] : NULL;
        any |= values[i] != NULL;
    }
    if (any) {
        both.values = values;
        both.n_values = a->n_values;
    }
    return both;
}

/* Items that were made so far of one scan output. */
struct stack {
    const struct ox_type *item; /* of all of them; NULL: they differ, or none yet */
    bool differ, has_values;
    const struct ox_expr **values;
    size_t n_values;
};

static void push(struct stack *stack, const struct ox_infer_value *item, bool is_first)
{
    if (is_first)
        *stack = (struct stack){.item = item->type, .has_values = true, .values = stack->values};
    bool same = item->type && stack->item && ox_infer_type_equal(item->type, stack->item);
    stack->differ |= !same || item->type->kind != OX_TYPE_TENSOR || !item->type->has_rank;
    stack->has_values &= item->values && item->n_values <= MOST_STACKED - stack->n_values;
    if (!stack->has_values || !item->n_values)
        return;
    memcpy(stack->values + stack->n_values, item->values, item->n_values * sizeof(*item->values));
    stack->n_values += item->n_values;
}

static void finish(struct ox_infer *c, const struct stack *stack, int64_t n_trips,
                   struct ox_infer_value *to)
{
    *to = (struct ox_infer_value){0};
    if (stack->differ || !stack->item)
        return;
    const struct ox_type *item = stack->item;
    const struct ox_expr **dims = ox_infer_dims(c, item->rank + 1);
    if (!dims)
        return;
    dims[0] = ox_infer_num(c, n_trips);
    for (unsigned d = 0; d < item->rank; d++)
        dims[d + 1] = item->dims[d];
    to->type = ox_infer_make_tensor(c, item->elem, true, item->rank + 1, dims);
    to->values = stack->has_values ? stack->values : NULL;
    to->n_values = stack->n_values;
}

/* The number of a trip, and the condition, as the body sees them. */
static bool set_trip(struct ox_infer *c, struct ox_control_trips *t, int64_t trip)
{
    const struct ox_expr **values = ox_infer_scratch(c, 2, sizeof(*values));
    if (!values)
        return false;
    for (size_t i = 0; i < 2; i++) {
        values[i] = ox_infer_num(c, i ? 1 : trip);
        t->in[i].values = values + i;
        t->in[i].n_values = 1;
        t->in[i].constant = NULL;
    }
    return values[0] && values[1];
}

static bool pass_trips(struct ox_infer *c, struct ox_control_trips *t, struct stack *stacks,
                       struct ox_infer_value *out, size_t n_out)
{
    int64_t trip = 0, go_on = 1;
    while (go_on && trip < t->n_trips) {
        if (trip == MOST_TRIPS || !set_trip(c, t, trip) ||
            !ox_infer_subgraph_values(c, "body", t->in, 2 + t->n_carried, out, n_out) ||
            !ox_infer_trips_go_on(c) || !ox_control_number(&out[0], &go_on))
            return false;
        for (size_t i = 0; i < t->n_carried; i++)
            t->in[2 + i] = out[1 + i];
        for (size_t i = 0; i < t->n_scans; i++)
            push(&stacks[i], &out[1 + t->n_carried + i], trip == 0);
        trip++;
    }
    t->n_trips = trip;
    return true;
}

bool ox_control_each_trip(struct ox_infer *c, struct ox_control_trips *t)
{
    size_t n_out = 1 + t->n_carried + t->n_scans;
    struct ox_infer_value *out = ox_infer_scratch(c, n_out, sizeof *out);
    struct stack *stacks = ox_infer_scratch(c, t->n_scans + 1, sizeof *stacks);
    if (!out || !stacks)
        return false;
    for (size_t i = 0; i < t->n_scans; i++) {
        stacks[i].values = ox_infer_scratch(c, MOST_STACKED, sizeof(*stacks[i].values));
        if (!stacks[i].values)
            return false;
    }
    ox_infer_trips_begin(c);
    bool good = pass_trips(c, t, stacks, out, n_out);
    if (!ox_infer_trips_end(c) || !good)
        return false;
    for (size_t i = 0; i < t->n_scans; i++)
        finish(c, &stacks[i], t->n_trips, &t->stacked[i]);
    return true;
}
