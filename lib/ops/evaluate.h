/* Running one node's kernel over constants, without an executor. */
#ifndef OX_OPS_EVALUATE_H
#define OX_OPS_EVALUATE_H

#include "ops/op.h"

enum { OX_EVALUATE_MOST = 16 };

/* Whether a kernel can be trusted with these inputs (NULL: omitted): the checks of the executor, which it relies on. Nodes with
 * subgraphs, random ones and those over other things than tensors are none of it. */
bool ox_can_evaluate(const struct ox_node *node, const struct ox_op *op,
                     const struct ox_schema *schema, const struct ox_tensor *const *in);

/* Runs it: outputs (node->n_outputs of them, NULL where none was made) are new references. Only after ox_can_evaluate(). Errors
 * are the kernel's. */
enum ox_status ox_evaluate(const struct ox_node *node, const struct ox_op *op,
                           const struct ox_schema *schema, int64_t opset,
                           const struct ox_call *call, const struct ox_tensor *const *in,
                           struct ox_arena *scratch, struct ox_env *env, struct ox_tensor **out,
                           struct ox_error *err);

#endif
