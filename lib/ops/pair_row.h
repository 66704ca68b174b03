/* Rows of two operands by the kernels for pairs, where they are better than a plain loop. */
#ifndef OX_OPS_PAIR_ROW_H
#define OX_OPS_PAIR_ROW_H

#include "common/stamp.h"
#include "kernels/pair_rows.h"
#include "ops/broadcast.h"

/* The element type of a stamp: N(ox_pair_type). */
enum {
    ox_pair_type_f32 = OX_FLOAT32,
    ox_pair_type_f64 = OX_FLOAT64,
    ox_pair_type_i8 = OX_INT8,
    ox_pair_type_i16 = OX_INT16,
    ox_pair_type_i32 = OX_INT32,
    ox_pair_type_i64 = OX_INT64,
    ox_pair_type_u8 = OX_UINT8,
    ox_pair_type_u16 = OX_UINT16,
    ox_pair_type_u32 = OX_UINT32,
    ox_pair_type_u64 = OX_UINT64
};

/* False: none serves this type, or the row's result lies where an operand does; nothing was done. */
static inline bool ox_pair_row(const struct ox_row *row, enum ox_pair_value value, unsigned dtype)
{
    void (*run)(size_t n, const void *a, size_t a_step, const void *b, size_t b_step, void *y) =
        ox_pairs(ox_cpu())->value[value][dtype];
    if (!run || row->out == row->in[0] || row->out == row->in[1])
        return false;
    run(row->n, row->in[0], row->step[0], row->in[1], row->step[1], row->out);
    return true;
}

#endif
