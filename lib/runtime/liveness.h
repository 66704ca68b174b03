/* How long the values of a graph live. */
#ifndef OX_RUNTIME_LIVENESS_H
#define OX_RUNTIME_LIVENESS_H

#include "runtime/runtime.h"

/* By value id, indices of nodes. In the session's scratch arena. */
struct ox_liveness {
    const struct ox_graph *graph;
    uint32_t
        *last; /* that uses it last, OX_LIVE_NEVER for what stays until the end, OX_LIVE_UNUSED */
    uint32_t *first;    /* that uses it first, likewise */
    uint32_t *captured; /* the first that has a subgraph which takes it, OX_LIVE_UNUSED */
    bool *live;         /* by node: it is needed */
    size_t n_live;
};

#define OX_LIVE_UNUSED UINT32_MAX
#define OX_LIVE_NEVER (UINT32_MAX - 1)

/* Of a graph, those outputs of which are wanted (NULL: left out). OX_INPUT: a value is taken that no earlier node makes. */
enum ox_status ox_liveness_find(struct ox_liveness *l, struct ox_session *session,
                                const struct ox_graph *graph, struct ox_value *const *outputs,
                                size_t n_outputs, struct ox_error *err);
/* Indices of the n_live nodes that are needed, as they run. False: out of memory. */
bool ox_liveness_order(struct ox_session *session, const struct ox_liveness *l, uint32_t *order);
/* Lists, for each step of the plan, the values that are released after it. False: out of memory. */
bool ox_liveness_releases(struct ox_session *session, struct ox_plan *plan,
                          const struct ox_liveness *l);

/* A Constant that is the same at each call: no function's attribute decides it. */
bool ox_node_is_constant(const struct ox_node *node);

#endif
