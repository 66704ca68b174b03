/* What is done to sums before they are stored: epilogues of rows and of pieces. */
#include "kernels/dense_impl.h"

void ox_end_rows(const struct ox_compute *t, size_t rows, size_t cols, float *c, size_t ldc,
                 const struct ox_epilogue *end)
{
    const bool acts = end->act == OX_ACT_ROW, adds = end->residual && end->residual_last;
    if (!acts && !adds)
        return;
    /* What is done to few floats at a time takes long. */
    if (ldc == cols && (!adds || end->residual_ld == cols)) {
        cols *= rows;
        rows = rows > 0;
    }
    for (size_t i = 0; i < rows; i++) {
        if (acts)
            end->row(end->row_arg, cols, c + i * ldc);
        if (adds) {
            const struct ox_epilogue add = {.residual = end->residual + i * end->residual_ld};
            t->finish(cols, &add, c + i * ldc);
        }
    }
}

void ox_end_all(const struct ox_compute *t, size_t rows, size_t cols, float *c, size_t ldc,
                const struct ox_epilogue *end)
{
    struct ox_epilogue row = *end;
    row.residual = end->residual_last ? NULL : end->residual;
    for (size_t i = 0; i < rows; i++) {
        t->finish(cols, &row, c + i * ldc);
        row.row_bias = row.row_bias ? row.row_bias + 1 : NULL;
        row.residual = row.residual ? row.residual + row.residual_ld : NULL;
    }
    ox_end_rows(t, rows, cols, c, ldc, end);
}

struct ox_epilogue ox_end_at(const struct ox_epilogue *end, size_t row, size_t col)
{
    struct ox_epilogue out = *end;
    out.scale = end->scale == 1 ? 0 : end->scale; /* whole tiles have a quick way without one */
    out.col_bias = end->col_bias ? end->col_bias + col : NULL;
    out.row_bias = end->row_bias ? end->row_bias + row : NULL;
    out.residual = end->residual ? end->residual + row * end->residual_ld + col : NULL;
    return out;
}
