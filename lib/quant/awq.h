/* Activation-aware weight quantization (Lin et al., arXiv 2306.00978): rows of a matrix that meet large inputs are multiplied before
 * they are rounded, and the inputs divided, so that less of what counts is lost. */
#ifndef OX_QUANT_AWQ_H
#define OX_QUANT_AWQ_H

#include "quant/blocked.h"

struct ox_awq {
    double
        left; /* the squared error of the product's outputs over that of rounding to nearest; 1: that is best */
    bool weighs;                 /* rounding counts errors by `importance` */
    bool scales;                 /* rows are multiplied by `factors` */
    float *factors, *importance; /* [k] of the caller's */
};

/* What costs the matrix least. blocking: the matrix, or some of the columns of those that read the same inputs; of its Hessian the part
 * above and on the diagonal is read. The same for any number of threads. OX_NO_MEMORY, OX_CANCELLED. */
enum ox_status ox_awq_search(struct ox_awq *best, struct ox_env *env,
                             const struct ox_blocking *blocking, struct ox_error *err);

#endif
