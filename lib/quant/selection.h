/* Which nodes are meant. */
#ifndef OX_QUANT_SELECTION_H
#define OX_QUANT_SELECTION_H

#include "model/model.h"

/* A set of nodes, kept by the names of what they make, so that it holds through rewriting. (Nodes of sibling subgraphs that make
 * values of one name are in or out together.) */
struct ox_selection {
    bool all;
    struct ox_strmap outputs; /* names live in the model */
};

/* Selectors: see struct ox_quant_options. n 0: all nodes. OX_USAGE: one matches nothing, or is malformed. exact: names only,
 * as onnxruntime has it. not strict: what matches nothing is passed over. */
enum ox_status ox_selection_make(struct ox_selection *out, struct ox_model *model,
                                 const char *const *selectors, size_t n, bool exact, bool strict,
                                 struct ox_error *err);
void ox_selection_release(struct ox_selection *selection);
bool ox_selection_has(const struct ox_selection *selection, const struct ox_node *node);

#endif
