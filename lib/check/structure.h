/* The structural checker: everything that can be told without inferring shapes. */
#ifndef OX_CHECK_STRUCTURE_H
#define OX_CHECK_STRUCTURE_H

#include "check/findings.h"

/* Adds all findings. Fails only for lack of memory. */
enum ox_status ox_check_structure(struct ox_findings *findings, struct ox_model *model,
                                  struct ox_error *err);

/* Advice on what is valid but will hurt. Weights are read only where two initializers look alike. */
enum ox_status ox_check_lint(struct ox_findings *findings, struct ox_model *model,
                             struct ox_error *err);

/* ---- Between the checker's files --------------------------------------------------------------------------------- */

struct ox_checker {
    struct ox_model *model;
    struct ox_findings *findings;
    bool **defined; /* by graph id and value id: whether the walk has passed the definition */
};

void ox_check_functions(struct ox_checker *c);
void ox_check_graph(struct ox_checker *c, const struct ox_graph *graph);
void ox_check_node(struct ox_checker *c, const struct ox_node *node);
void ox_check_attr(struct ox_checker *c, const struct ox_node *node, const struct ox_attr *attr);
void ox_check_subgraph_arity(struct ox_checker *c, const struct ox_node *node);

void ox_check_tensor(struct ox_checker *c, const struct ox_stored *tensor,
                     const struct ox_place *place);
void ox_check_sparse(struct ox_checker *c, const struct ox_stored_sparse *sparse,
                     const struct ox_place *place);
/* A declared type. `main_io`: of an input or output of the main graph, where it must be complete. */
void ox_check_value_info(struct ox_checker *c, const struct ox_graph *graph,
                         const struct Onnx__ValueInfoProto *info, bool main_io);

/* Version by which a node is read; 0: its domain is not imported. */
int64_t ox_check_opset(const struct ox_node *node);

#endif
