/* What the runner of passes does with their context. */
#ifndef OX_GRAPH_REWRITE_H
#define OX_GRAPH_REWRITE_H

#include "graph/pass.h"

/* Indexes the graph for a pass. false: out of memory. */
bool ox_rw_enter(struct ox_rewrite *rw, struct ox_graph *graph);
/* Takes out what the pass removed and puts what it added in place. false: out of memory. */
bool ox_rw_leave(struct ox_rewrite *rw);
/* Before any pass: stored types that contradict the nodes are replaced. They are only in doubt while the sizes behind them are
 * computed, and wrong once those are folded. What was inferred for that is kept for the passes. */
enum ox_status ox_rw_correct_types(struct ox_rewrite *rw, struct ox_error *err);
/* Before any pass: finds the graphs that ox_rw_clashes() tells. OX_NO_MEMORY, OX_LIMIT, OX_CANCELLED. */
enum ox_status ox_rw_find_clashes(struct ox_rewrite *rw, struct ox_error *err);
/* Inferred types are made anew when somebody asks. */
void ox_rw_forget_shapes(struct ox_rewrite *rw);

#endif
