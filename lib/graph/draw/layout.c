#include "graph/draw/layout.h"
#include "model/value.h"

#include <string.h>

#include "graph/cost/cost.h"

struct planner {
    struct ox_layout *layout;
    const struct ox_graph *graph;
    uint32_t *of_node;  /* box of a node by its place, UINT32_MAX: not drawn */
    uint32_t *of_value; /* box of an input or a captured value by value id */
    bool *taken;        /* lanes */
    uint32_t *heap; /* lanes that were given back, the leftmost first; some may be taken again */
    uint32_t n_heap;
};

/* ---- Boxes and lines ----------------------------------------------------------------------------------------------- */

static bool is_drawn(const struct ox_node *node)
{
    return strcmp(node->op_type, "Constant") != 0 || *node->domain;
}

static uint32_t add_box(struct planner *p, enum ox_box_kind kind, const struct ox_node *node,
                        const struct ox_value *value)
{
    p->layout->boxes[p->layout->n_boxes] =
        (struct ox_box){.kind = kind, .node = node, .value = value};
    return p->layout->n_boxes++;
}

static uint32_t source_of(const struct planner *p, const struct ox_value *value)
{
    if (p->of_value[value->id] != UINT32_MAX)
        return p->of_value[value->id];
    return value->producer ? p->of_node[value->producer->index] : UINT32_MAX;
}

static void add_wire(struct planner *p, uint32_t to, const struct ox_value *value)
{
    uint32_t from = value->graph == p->graph ? source_of(p, value) : UINT32_MAX;
    if (from == UINT32_MAX || from == to)
        return;
    p->layout->wires[p->layout->n_wires++] = (struct ox_wire){from, to, value};
    p->layout->boxes[to].n_wires++;
}

static void wire_node(struct planner *p, const struct ox_node *node)
{
    uint32_t to = p->of_node[node->index];
    p->layout->boxes[to].first_wire = p->layout->n_wires;
    for (size_t i = 0; i < node->n_inputs; i++)
        if (node->inputs[i])
            add_wire(p, to, node->inputs[i]);
    struct ox_captures at = {.node = node};
    for (const struct ox_value *outer; (outer = ox_captures_next(&at));)
        add_wire(p, to, outer);
}

static uint64_t count_wires(const struct ox_graph *graph)
{
    uint64_t n = graph->n_outputs;
    for (size_t i = 0; i < graph->n_nodes; i++) {
        const struct ox_node *node = graph->nodes[i];
        n += node->n_inputs;
        for (size_t a = 0; a < node->n_attrs; a++)
            if (ox_attr_has_graphs(&node->attrs[a]))
                for (size_t g = 0; g < node->attrs[a].n; g++)
                    n += node->attrs[a].graphs[g]->n_values;
    }
    return n;
}

static void make_boxes(struct planner *p)
{
    const struct ox_graph *graph = p->graph;
    memset(p->of_value, 0xff, graph->n_values * sizeof *p->of_value);
    for (size_t i = 0; i < graph->n_values; i++) {
        const struct ox_value *value = graph->values[i];
        if ((value->is_input || value->outer) && !ox_cost_init(value) && !value->producer)
            p->of_value[i] = add_box(p, OX_BOX_INPUT, NULL, value);
    }
    for (size_t i = 0; i < graph->n_nodes; i++)
        p->of_node[i] =
            is_drawn(graph->nodes[i]) ? add_box(p, OX_BOX_NODE, graph->nodes[i], NULL) : UINT32_MAX;
    for (size_t i = 0; i < graph->n_nodes; i++)
        if (p->of_node[i] != UINT32_MAX)
            wire_node(p, graph->nodes[i]);
    for (size_t i = 0; i < graph->n_outputs; i++) {
        uint32_t box = add_box(p, OX_BOX_OUTPUT, NULL, graph->outputs[i]);
        p->layout->boxes[box].first_wire = p->layout->n_wires;
        add_wire(p, box, graph->outputs[i]);
    }
}

/* ---- Layers -------------------------------------------------------------------------------------------------------- */

static void make_layers(struct ox_layout *layout)
{
    struct ox_box *boxes = layout->boxes;
    for (uint32_t b = 0; b < layout->n_boxes; b++) {
        boxes[b].layer = boxes[b].kind != OX_BOX_INPUT;
        for (uint32_t w = boxes[b].first_wire; w < boxes[b].first_wire + boxes[b].n_wires; w++)
            /* Lines from boxes further on belong to graphs out of order: they point upwards. */
            if (layout->wires[w].from < b && boxes[layout->wires[w].from].layer >= boxes[b].layer)
                boxes[b].layer = boxes[layout->wires[w].from].layer + 1;
    }
    /* What nothing leads to stands right above its first use. */
    for (uint32_t b = 0; b < layout->n_boxes; b++)
        boxes[b].last_layer = UINT32_MAX;
    for (uint32_t w = 0; w < layout->n_wires; w++) {
        struct ox_box *from = &boxes[layout->wires[w].from];
        if (boxes[layout->wires[w].to].layer < from->last_layer)
            from->last_layer = boxes[layout->wires[w].to].layer;
    }
    for (uint32_t b = 0; b < layout->n_boxes; b++)
        if (!boxes[b].n_wires && boxes[b].last_layer != UINT32_MAX &&
            boxes[b].last_layer > boxes[b].layer)
            boxes[b].layer = boxes[b].last_layer - 1;
    for (uint32_t b = 0; b < layout->n_boxes; b++) {
        boxes[b].last_layer = boxes[b].layer;
        if (boxes[b].layer >= layout->n_layers)
            layout->n_layers = boxes[b].layer + 1;
    }
    for (uint32_t w = 0; w < layout->n_wires; w++) {
        struct ox_box *from = &boxes[layout->wires[w].from];
        if (boxes[layout->wires[w].to].layer > from->last_layer)
            from->last_layer = boxes[layout->wires[w].to].layer;
    }
}

/* ---- Lanes --------------------------------------------------------------------------------------------------------- */

static void give_back(struct planner *p, uint32_t lane)
{
    uint32_t at = p->n_heap++;
    p->taken[lane] = false;
    for (; at && p->heap[(at - 1) / 2] > lane; at = (at - 1) / 2)
        p->heap[at] = p->heap[(at - 1) / 2];
    p->heap[at] = lane;
}

static uint32_t pop(struct planner *p)
{
    uint32_t top = p->heap[0], last = p->heap[--p->n_heap], at = 0;
    while (2 * at + 1 < p->n_heap) {
        uint32_t child = 2 * at + 1;
        child += child + 1 < p->n_heap && p->heap[child + 1] < p->heap[child];
        if (p->heap[child] >= last)
            break;
        p->heap[at] = p->heap[child];
        at = child;
    }
    p->heap[at] = last;
    return top;
}

/* The lane of the first line that comes to its end here, else the leftmost that is free. */
static uint32_t take_lane(struct planner *p, const struct ox_box *box)
{
    const struct ox_layout *layout = p->layout;
    for (uint32_t w = box->first_wire; w < box->first_wire + box->n_wires; w++) {
        const struct ox_box *from = &layout->boxes[layout->wires[w].from];
        if (from->layer < box->layer && from->last_layer == box->layer && !p->taken[from->lane])
            return from->lane;
    }
    while (p->n_heap) {
        uint32_t lane = pop(p);
        if (!p->taken[lane])
            return lane;
    }
    return p->layout->n_lanes++;
}

/* Box numbers in the order of that layer of theirs; starts: n_layers + 1. */
static void sort_boxes(const struct ox_layout *layout, bool by_last, uint32_t *order,
                       uint32_t *starts)
{
    memset(starts, 0, (layout->n_layers + 1) * sizeof *starts);
    for (uint32_t b = 0; b < layout->n_boxes; b++)
        starts[by_last ? layout->boxes[b].last_layer : layout->boxes[b].layer]++;
    for (uint32_t l = 0, sum = 0; l <= layout->n_layers; l++) {
        sum += starts[l];
        starts[l] = sum;
    }
    for (uint32_t b = layout->n_boxes; b-- > 0;)
        order[--starts[by_last ? layout->boxes[b].last_layer : layout->boxes[b].layer]] = b;
}

static bool make_lanes(struct planner *p, struct ox_arena *arena)
{
    struct ox_layout *layout = p->layout;
    uint32_t *order = ox_arena_array(arena, layout->n_boxes + 1, sizeof *order);
    uint32_t *starts = ox_arena_array(arena, layout->n_layers + 2, sizeof *starts);
    uint32_t *ends = ox_arena_array(arena, layout->n_boxes + 1, sizeof *ends);
    uint32_t *end_starts = ox_arena_array(arena, layout->n_layers + 2, sizeof *end_starts);
    p->taken = ox_arena_array(arena, layout->n_boxes + 1, sizeof *p->taken);
    p->heap = ox_arena_array(arena, layout->n_boxes + 1, sizeof *p->heap);
    if (!order || !starts || !ends || !end_starts || !p->taken || !p->heap)
        return false;
    sort_boxes(layout, false, order, starts);
    sort_boxes(layout, true, ends, end_starts);
    for (uint32_t l = 0; l < layout->n_layers; l++) {
        uint32_t first = end_starts[l], last = end_starts[l + 1];
        for (uint32_t i = first; i < last; i++)
            if (layout->boxes[ends[i]].layer < l)
                give_back(p, layout->boxes[ends[i]].lane);
        for (uint32_t i = starts[l]; i < starts[l + 1]; i++) {
            struct ox_box *box = &layout->boxes[order[i]];
            box->lane = take_lane(p, box);
            p->taken[box->lane] = true;
        }
        for (uint32_t i = first; i < last; i++)
            if (layout->boxes[ends[i]].layer == l)
                give_back(p, layout->boxes[ends[i]].lane);
    }
    return true;
}

bool ox_layout_graph(struct ox_layout *layout, const struct ox_graph *graph, struct ox_arena *arena)
{
    struct planner p = {.layout = layout, .graph = graph};
    uint64_t n_wires = count_wires(graph);
    uint64_t n_boxes = (uint64_t)graph->n_values + graph->n_nodes + graph->n_outputs;
    *layout = (struct ox_layout){0};
    if (n_wires > INT32_MAX || n_boxes > INT32_MAX)
        return false;
    layout->boxes = ox_arena_array(arena, (size_t)n_boxes + 1, sizeof *layout->boxes);
    layout->wires = ox_arena_array(arena, (size_t)n_wires + 1, sizeof *layout->wires);
    p.of_node = ox_arena_array(arena, graph->n_nodes + 1, sizeof *p.of_node);
    p.of_value = ox_arena_array(arena, graph->n_values + 1, sizeof *p.of_value);
    if (!layout->boxes || !layout->wires || !p.of_node || !p.of_value)
        return false;
    make_boxes(&p);
    make_layers(layout);
    return make_lanes(&p, arena);
}
