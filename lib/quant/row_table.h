#ifndef OX_QUANT_ROW_TABLE_H
#define OX_QUANT_ROW_TABLE_H

#include "quant/quant.h"

/* A constant matrix of which Gather takes rows, as int8 with a scale for each row, or each of its blocks; NULL until it is made. */
struct ox_row_table {
    const struct ox_stored *stored;
    const struct ox_graph *graph;
    struct ox_value *integers, *scales; /* [rows, columns], [rows, 1] or [rows, blocks] */
    bool blocked;
    struct ox_row_table *next;
};

/* Whether the node takes rows of a constant table, long enough to have a scale each or of any length. */
bool ox_row_table_serves(const struct ox_node *gather, bool narrow_too);

/* Whether any node takes rows of such a constant, in floats or in integers by now. */
bool ox_row_table_sized(const struct ox_model *model, int64_t rows, int64_t columns);

/* Puts Gather of integers, Gather of scales, Cast and Mul beside the node, which is to be taken out. *reason: why it stays instead. */
enum ox_status ox_row_table_gather(struct ox_quant *q, struct ox_node *gather, const char **reason,
                                   struct ox_error *err);

#endif
