/* What filling and changing graphs share. */
#ifndef OX_MODEL_GRAPH_IMPL_H
#define OX_MODEL_GRAPH_IMPL_H

#include "model/model.h"

/* The graph's own value of that name, made when it is new; "" makes one that no name leads to. The name must outlive the
 * graph. NULL: out of memory, or more values than there are numbers. */
struct ox_value *ox_graph_define(struct ox_graph *graph, const char *name, bool *is_new);

/* The value that the name means in the graph: its own, or one of an enclosing graph (a captured value is then made in each
 * graph on the way), or a new undefined one. NULL: out of memory. */
struct ox_value *ox_graph_resolve(struct ox_graph *graph, const char *name);

/* Has a definition (or is captured). */
static inline bool ox_value_defined(const struct ox_value *value)
{
    return value->producer || value->is_input || value->init || value->sparse_init || value->outer;
}

/* Makes room for one more pointer in an array of the model's arena. */
bool ox_graph_reserve(struct ox_graph *graph, void *array, size_t n, size_t *capacity);

#endif
