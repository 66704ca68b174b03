/* Operators given way to the bodies that the standard defines them with. */
#ifndef OX_GRAPH_EXPAND_H
#define OX_GRAPH_EXPAND_H

#include "model/model.h"
#include "schema/schema.h"

/* Appends the body's nodes to the node's graph, whose outputs they make from then on; the node is to be removed. A body of another version
 * than the graph's is converted; *fits: that went, else nothing was done. */
enum ox_status ox_node_expand(struct ox_node *node, const struct ox_schema *row,
                              const struct ox_schema_body *body, bool *fits, struct ox_error *err);

#endif
