/* MoE and QMoE of com.microsoft: what the nodes are given, and where each token goes. */
#ifndef OX_OPS_MOE_H
#define OX_OPS_MOE_H

#include "ops/op.h"

/* The weights of all experts for one of the two products: [count, n_out, n_in]. */
struct ox_moe_layer {
    size_t count, n_out, n_in;
    const struct ox_tensor *weights;
    const struct ox_tensor *bias; /* [count, n_out] or NULL */
    /* Of codes: */
    size_t bits;                    /* 0: they are floats */
    size_t block, blocks;           /* of a row */
    const struct ox_tensor *scales; /* [count, n_out, blocks] */
    const uint8_t *zeros; /* packed by rows, or without blocks by experts; NULL: the middle */
    size_t zero_bytes;    /* of a row, or of an expert */
    bool by_row;
};

enum ox_moe_activation { OX_MOE_NONE, OX_MOE_RELU, OX_MOE_GELU, OX_MOE_SILU, OX_MOE_SWIGLU };

struct ox_moe {
    bool codes;
    size_t tokens, hidden, inter, k;
    enum ox_moe_activation activation;
    bool interleaved; /* swiglu: gates and what they let through */
    double alpha, beta, limit;
    bool limits_late; /* swiglu: the limit is of the activated gate, not of what goes in */
    struct ox_moe_layer first, second;
    size_t *chosen; /* [tokens, k] */
    double *share;  /* of each of them */
};

/* Reads and checks all, and routes. */
enum ox_status ox_moe_open(struct ox_run *r, bool codes, struct ox_moe *m, struct ox_error *err);
/* Whether choice i is one of expert e that counts. */
static inline bool ox_moe_goes_to(const struct ox_moe *m, size_t i, size_t e)
{
    return m->chosen[i] == e && m->share[i] > (m->codes ? 1e-8 : 0);
}

enum ox_status ox_fast_moe(struct ox_run *r, struct ox_error *err);
enum ox_status ox_fast_qmoe(struct ox_run *r, struct ox_error *err);

#endif
