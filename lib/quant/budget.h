/* A budget of accuracy: which nodes must stay in float for it. */
#ifndef OX_QUANT_BUDGET_H
#define OX_QUANT_BUDGET_H

#include "quant/judge.h"

/* How much is lost, in the metric's own way: less is better. sure: noise is one standard error larger, as on other samples like these it may be. */
double ox_budget_loss(const struct ox_judged *judged, enum ox_quant_metric metric, bool sure);
/* attempt judges the model quantized with these selectors excluded. report: of all nodes quantized. *excluded, in the arena, are options->exclude and the nodes to add;
 * *met_by is what the model comes to without them. *met false: not even with all of them in float. */
enum ox_status ox_budget_meet(struct ox_arena *arena, const struct ox_quant_options *options,
                              const struct ox_quant_report *report,
                              enum ox_status (*attempt)(void *arg, const char *const *exclude,
                                                        size_t n_exclude, struct ox_judged *judged,
                                                        struct ox_error *err),
                              void *arg, const char ***excluded, size_t *n_excluded,
                              struct ox_judged *met_by, bool *met, struct ox_error *err);

#endif
