/* What the files that convert a model to other versions share: the work under way. */
#ifndef OX_GRAPH_CONVERT_JOB_H
#define OX_GRAPH_CONVERT_JOB_H

#include "graph/convert/convert.h"

struct ox_conversion {
    struct ox_arena arena;
    struct ox_convert_note *notes;
    size_t n_notes, cap_notes, n_blocked;
    int64_t ir_before, ir_after;
    size_t n_changed;
};

/* Nodes by address, as keys. */
struct ox_node_set {
    struct ox_strmap map;
    struct ox_arena keys;
};

struct ox_convert_job {
    struct ox_model *model;
    const char *domain;
    struct ox_conversion *result;
    struct ox_shapes *shapes;
    size_t *n_known, n_graphs_known;
    bool stale;  /* shapes do not know what was made since */
    bool untidy; /* nodes wait to be removed and put in order */
    struct ox_strmap freed;
    struct ox_node_set blocked, removed;
    struct ox_error *err;
};

static inline enum ox_status ox_convert_no_room(const struct ox_convert_job *job)
{
    return ox_fail(job->err, OX_NO_MEMORY, "%s: out of memory", job->model->path);
}

bool ox_node_set_has(const struct ox_node_set *set, const struct ox_node *node);
/* false: out of memory. */
bool ox_node_set_add(struct ox_node_set *set, const struct ox_node *node);

/* Whether the node is of the domain, and not a call of a function of the model. */
bool ox_convert_is_ours(const struct ox_convert_job *job, const struct ox_node *node);
/* Whether it still waits for its turn: neither blocked nor replaced. */
bool ox_convert_is_there(const struct ox_convert_job *job, const struct ox_node *node);
/* Whether the graph is of that function (NULL: outside functions) and in use. */
static inline bool ox_convert_in_unit(const struct ox_graph *graph,
                                      const struct ox_function *function)
{
    return graph->function == function && !graph->dropped;
}

/* ---- convert_notes.c ---- */

enum ox_status ox_convert_note(struct ox_convert_job *job, const struct ox_node *node, bool blocked,
                               int64_t from, int64_t to, const char *reason);

/* ---- convert_bodies.c ---- */

/* Replaces what the next version does not have by the standard's definitions; these may need the same. */
enum ox_status ox_convert_expand(struct ox_convert_job *job, const struct ox_function *function,
                                 int64_t version, int64_t next);

/* ---- convert_step.c ---- */

/* All graphs of a function, or of the model outside functions, version by version. */
enum ox_status ox_convert_unit(struct ox_convert_job *job, const struct ox_function *function,
                               struct ox_opset *opset, int64_t to);

#endif
