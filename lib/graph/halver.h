/* Computing in 16-bit floats: what the two halves of the work share. */
#ifndef OX_GRAPH_HALVER_H
#define OX_GRAPH_HALVER_H

#include "graph/target/target_survey.h"
#include "schema/param.h"

struct ox_halver {
    struct ox_model *model;
    struct ox_graph *graph;
    const struct ox_half_options *options;
    struct ox_shapes *shapes;
    size_t n_values, n_nodes;        /* of the model as it was */
    bool *is_float;                  /* by value id: a float32 tensor */
    bool *wide;                      /* by value id: does not fit in a half */
    bool *half_node;                 /* by node index */
    struct ox_target_survey *survey; /* NULL: there are no targets */
    struct ox_value **half;          /* by value id: the value in half; NULL: not made */
    struct ox_half_report report;
    struct ox_error *err;
};

/* Decides which nodes compute in halves (half_node), from the values' types and sizes, the targets, and what halves only spoil. */
enum ox_status ox_halver_choose(struct ox_halver *h);

/* Whether a value is a float32 tensor of the model as it was. */
bool ox_halver_is_float(const struct ox_halver *h, const struct ox_value *value);
/* Whether a parameter takes the 16-bit type. */
bool ox_halver_takes(const struct ox_halver *h, const struct ox_schema_param *param);

static inline enum ox_status ox_halver_no_room(const struct ox_halver *h)
{
    return ox_fail(h->err, OX_NO_MEMORY, "%s: out of memory", h->model->path);
}

#endif
