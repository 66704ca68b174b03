/* A model as targets are asked about it: nodes that look the same to every runtime share a class. */
#ifndef OX_GRAPH_TARGET_SURVEY_H
#define OX_GRAPH_TARGET_SURVEY_H

#include "common/strmap.h"
#include "graph/cost/cost.h"
#include "schema/target.h"

/* Nodes of one operator at one version with inputs and outputs of the same types. */
struct ox_target_class {
    const char *domain, *op_type;
    int64_t opset;                      /* 0: the model imports no version of the domain */
    const struct ox_schema *schema;     /* NULL: none known */
    const struct ox_function *function; /* of the model, that the nodes call; NULL */
    const struct ox_node *node;         /* one of them */
    bool is_constant;                   /* Constant of the standard, which no runtime runs */
    const struct ox_target_binding *bindings;
    size_t n_bindings;
    size_t n_nodes;
};

struct ox_target_node {
    const struct ox_node *node;
    uint32_t class;
    uint64_t macs;
};

struct ox_target_survey {
    struct ox_model *model;
    const struct ox_shapes *shapes;
    const struct ox_costs *costs;
    struct ox_arena arena;
    struct ox_target_class *classes;
    size_t n_classes, cap_classes;
    struct ox_target_node *nodes; /* graph by graph, in the order of the file */
    size_t n_nodes, cap_nodes;
    struct ox_strmap keys; /* of classes */
    bool *called;          /* by function of the model */
};

/* Bindings of a node's values under that schema, at most `most`. */
size_t ox_target_bindings(struct ox_target_binding *out, size_t most,
                          const struct ox_target_survey *survey, const struct ox_node *node,
                          const struct ox_schema *schema);

/* ---- target_rule.c ---- */

/* Where a class of nodes runs. */
enum ox_target_fate {
    OX_FATE_IMPOSSIBLE,
    OX_FATE_FALLBACK,
    OX_FATE_BODY,
    OX_FATE_CAST,
    OX_FATE_TAKEN,
    OX_FATE_CALL /* of a function of the model: its body's nodes are judged instead */
};

struct ox_target_ruling {
    enum ox_target_fate fate;
    enum ox_target_cause cause;
    const char *reason; /* of IMPOSSIBLE and FALLBACK; NULL: out of memory, or none was asked for */
};

/* The schema by which the target reads such nodes where that is not the class's own: of the newest version that it knows, as where
 * the model's is newer, or where the model imports none; else NULL. */
const struct ox_schema *ox_target_schema(const struct ox_target *target,
                                         const struct ox_target_class *class);
/* What target does with such nodes if the schema were that (NULL: the class's own). The reason goes to arena; NULL: none. */
void ox_target_rule(struct ox_target_ruling *ruling, const struct ox_target_survey *survey,
                    const struct ox_target *target, const struct ox_target_class *class,
                    const struct ox_schema *schema, struct ox_arena *arena);

/* Whether the standard's body of the operator at that opset has only operators that the table knows. */
bool ox_target_body_fits(const struct ox_target_table *table, uint32_t bit,
                         const struct ox_schema *schema, int64_t opset);

/* ---- target_forms.c ---- */

/* Whether the target refuses some forms of an operator that it has a kernel for. */
bool ox_target_has_forms(const struct ox_target *target, const char *domain, const char *op_type);
/* What it refuses about that node; NULL: nothing. */
const char *ox_target_form(const struct ox_target *target, const struct ox_node *node);

/* ---- target_half.c ---- */

/* Whether all targets would take such nodes with that 16-bit type in the place of float32, and no provider would leave more to
 * another. targets NULL: any. */
bool ox_target_takes_half(const struct ox_targets *targets, const struct ox_target_survey *survey,
                          const struct ox_target_class *class, enum ox_dtype dtype);
/* Whether such a node, loaded, would also run. */
bool ox_target_runs_half(const struct ox_targets *targets, const struct ox_node *node,
                         enum ox_dtype dtype);
/* Whether all cast between float32 and that type, at an opset that has such a Cast. */
bool ox_target_casts_half(const struct ox_targets *targets, int64_t opset, enum ox_dtype dtype);

/* ---- target_fix.c ---- */

/* Fills verdict->fix and ->command. false: out of memory. */
bool ox_target_find_fix(struct ox_target_verdict *verdict, struct ox_target_survey *survey,
                        const struct ox_target *target);

#endif
