/* Weights of a few bits with a scale a block, from the form of DequantizeLinear (21) to that of com.microsoft's MatMulNBits. */
#ifndef OX_GRAPH_PACK_BLOCKS_H
#define OX_GRAPH_PACK_BLOCKS_H

#include "tensor/tensor.h"

/* Matrices [k, n], [k / block, n] and as the latter; `turned`: all with axes exchanged. The last block may be short. */
struct ox_block_weights {
    const struct ox_tensor *integers; /* int4, uint4, int8 or uint8 */
    const struct ox_tensor *scales;   /* float32 or float16 */
    const struct ox_tensor *zeros;    /* of the integers' type; NULL: 0 */
    size_t block;                     /* an even number */
    bool turned;
};

/* packed[0]: codes, uint8 [n, blocks, block * bits / 8], low bits first; [1]: scales, [n, blocks]; [2]: zero points, uint8
 * [n, (blocks * bits + 7) / 8], or NULL where they are 2^(bits - 1), which is what signed integers around 0 become. On an error
 * some may be there: release all. OX_NO_MEMORY, OX_LIMIT. */
enum ox_status ox_pack_blocks(struct ox_tensor *packed[3], struct ox_budget *budget,
                              const struct ox_block_weights *w, struct ox_error *err);

#endif
