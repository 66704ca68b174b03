/* Where the nodes of a graph stand in a picture: in layers from top to bottom and lanes from left to right. A value keeps the
 * lane of what makes it down to its last use, so that no line runs through a box. */
#ifndef OX_GRAPH_LAYOUT_H
#define OX_GRAPH_LAYOUT_H

#include "model/model.h"

enum ox_box_kind { OX_BOX_INPUT, OX_BOX_NODE, OX_BOX_OUTPUT };

struct ox_box {
    enum ox_box_kind kind;
    const struct ox_node *node;   /* NODE */
    const struct ox_value *value; /* INPUT (captured ones too), OUTPUT */
    uint32_t layer, lane;
    uint32_t last_layer; /* of the boxes that its lines lead to */
    uint32_t first_wire; /* of those that lead to it; they stand together */
    uint32_t n_wires;
};

struct ox_wire {
    uint32_t from, to; /* boxes */
    const struct ox_value *value;
};

struct ox_layout {
    struct ox_box *boxes;
    struct ox_wire *wires;
    uint32_t n_boxes, n_wires, n_layers, n_lanes;
};

/* Constants are left out. Memory is the arena's; false: out of memory, or more than 2^31 lines. Time grows with the number of
 * lines, and with n log n of those that must look for a lane. */
bool ox_layout_graph(struct ox_layout *layout, const struct ox_graph *graph,
                     struct ox_arena *arena);

#endif
