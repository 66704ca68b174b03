#ifndef OX_QUANT_TIED_H
#define OX_QUANT_TIED_H

#include "quant/quant.h"

/* The weight of a product as int8 with a scale for each output, or each block of it. */
struct ox_columns {
    const struct ox_stored *stored;
    struct ox_value *integers, *scale; /* of blocks: [inputs, outputs], [blocks, outputs] */
    int axis;                          /* of the outputs in `stored` */
    bool blocked;
    struct ox_columns *next;
};

/* Writes down a weight that was quantized, if it is such. */
enum ox_status ox_quant_note_columns(struct ox_quant *q, const struct ox_value *weight,
                                     struct ox_value *integers, struct ox_value *scale,
                                     const struct ox_qparams *params, struct ox_error *err);
/* The same of what the caller describes; it is copied. */
enum ox_status ox_quant_note_blocks(struct ox_quant *q, const struct ox_columns *columns,
                                    struct ox_error *err);
/* Lets tables of rows (row_table.h) read the integers of products by the same weight. */
enum ox_status ox_quant_tie(struct ox_quant *q, struct ox_error *err);

#endif
