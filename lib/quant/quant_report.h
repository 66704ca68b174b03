/* What was done, for people and machines. */
#ifndef OX_QUANT_QUANT_REPORT_H
#define OX_QUANT_QUANT_REPORT_H

#include "common/arena.h"
#include "model/model.h"
#include "quant/qparams.h"

struct ox_blocked;

struct ox_quant_report {
    struct ox_arena arena;
    struct ox_quant_node *nodes;
    size_t n_nodes, cap_nodes;
    struct ox_quant_tensor *tensors;
    size_t n_tensors, cap_tensors;
    struct ox_quant_pair *unfused;
    size_t n_unfused, cap_unfused;
    const char **notes;
    size_t n_notes, cap_notes;
    struct ox_quant_summary summary; /* without what follows from the rows */
    bool failed;                     /* out of memory: sticky */
};

struct ox_quant_report *ox_quant_report_new(struct ox_budget *budget);

/* name NULL: the node's own. A node that is there already gets this state. reason is copied; NULL: it was quantized. */
void ox_quant_report_add_node(struct ox_quant_report *report, const struct ox_node *node,
                              const char *name, const char *reason);
/* A constant with its float32 values before and quantized. */
void ox_quant_report_add_constant(struct ox_quant_report *report, const struct ox_value *value,
                                  const char *kind, const struct ox_tensor *values,
                                  const struct ox_tensor *quantized,
                                  const struct ox_qparams *params);
/* Of the constant that was added last: whether its products can saturate on x86 processors without VNNI, and by how much its scales
 * were made larger, so that they cannot. */
void ox_quant_report_add_sums(struct ox_quant_report *report, bool saturates, double widened);
/* A matrix in blocks: its values (as float32) before, of type `real` in the model, and what is left of them. */
void ox_quant_report_add_blocks(struct ox_quant_report *report, const char *name,
                                const struct ox_tensor *values, enum ox_dtype real,
                                const struct ox_tensor *left, const struct ox_blocked *made);
void ox_quant_report_add_tensor(struct ox_quant_report *report, const struct ox_quant_tensor *row);
/* Texts are copied. */
void ox_quant_report_add_unfused(struct ox_quant_report *report, const char *tensor,
                                 const struct ox_node *node, const char *reason);
void ox_quant_report_add_note(struct ox_quant_report *report, const char *format, ...)
    OX_PRINTF(2, 3);

#endif
