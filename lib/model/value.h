/* What a value is by the file alone. */
#ifndef OX_MODEL_VALUE_H
#define OX_MODEL_VALUE_H

#include "model/model.h"

/* The value that a captured one stands for, or itself. */
const struct ox_value *ox_value_origin(const struct ox_value *value);
/* The tensor that it is, captured or not: its initializer (of an input: what it is unless another is given), or the `value` of
 * the Constant that makes it. NULL: it has neither, or value is NULL. */
const struct ox_stored *ox_value_stored(const struct ox_value *value);

/* Whether a graph within a node of its graph takes it. */
bool ox_value_is_captured(const struct ox_value *value);

/* What graphs within a node take from the graph that it stands in, one value after the other: begin with {.node = node}. */
struct ox_captures {
    const struct ox_node *node;
    size_t attr, graph, value; /* the next to look at */
};
/* The next value of the node's own graph; NULL: that was all. */
const struct ox_value *ox_captures_next(struct ox_captures *at);
/* Sets captured[id] of each value of the graph that graphs within it take: those of its nodes, and of the main graph training
 * algorithms, which read its names. */
void ox_captures_mark(const struct ox_graph *graph, bool *captured);

#endif
