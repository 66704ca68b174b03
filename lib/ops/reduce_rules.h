/* Shape rules of reductions, whose axes are an attribute or input 1, and values of those that have them. */
#ifndef OX_OPS_REDUCE_RULES_H
#define OX_OPS_REDUCE_RULES_H

#include "ops/infer.h"

void ox_infer_reduce_attribute(struct ox_infer *c);
void ox_infer_reduce_input(struct ox_infer *c);
void ox_infer_reduce_sum_attribute(struct ox_infer *c);
void ox_infer_reduce_sum(struct ox_infer *c);
void ox_infer_reduce_prod_attribute(struct ox_infer *c);
void ox_infer_reduce_prod(struct ox_infer *c);
void ox_infer_reduce_max_attribute(struct ox_infer *c);
void ox_infer_reduce_max(struct ox_infer *c);
void ox_infer_reduce_min_attribute(struct ox_infer *c);
void ox_infer_reduce_min(struct ox_infer *c);

#endif
