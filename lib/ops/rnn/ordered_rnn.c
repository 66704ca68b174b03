/* LSTM and GRU whose gates stand in another order than the standard's: exporters put PyTorch's weights in order by Slice and Concat,
 * and these nodes take them as the file has them (graph/passes/order_gates.c). The attribute "gates" says where the standard's first gate is
 * among them, and so on. */
#include <string.h>

#include "ops/contrib/contrib.h"
#include "ops/fast/fast.h"
#include "ops/infer.h"
#include "ops/rnn/rnn.h"

enum { W = 1, R = 2, B = 3, PARTS = 4 };

/* Input i, [1, parts * gates * hidden, depth], or [1, parts * gates * hidden] of biases, in the standard's order. */
static enum ox_status put_in_order(struct ox_run *r, size_t i, size_t gates, const size_t *at,
                                   struct ox_tensor **out, struct ox_error *err)
{
    const struct ox_tensor *in = ox_run_in(r, i);
    const size_t parts = i == B ? 2 : 1;
    OX_TRY(ox_tensor_new(out, ox_env_budget(r->env), in->dtype, in->rank, in->dims, err));
    const size_t gate = in->n / (parts * gates) * ox_dtype_size(in->dtype);
    const char *from = in->data;
    char *to = (*out)->data;
    for (size_t p = 0; p < parts; p++)
        for (size_t g = 0; g < gates; g++)
            memcpy(to + (p * gates + g) * gate, from + (p * gates + at[g]) * gate, gate);
    return OX_OK;
}

static enum ox_status run_ordered(struct ox_run *r, struct ox_error *err)
{
    struct ox_tensor *made[PARTS] = {NULL};
    const struct ox_tensor *in[8];
    enum ox_status status = OX_OK;
    const bool lstm = strcmp(r->node->op_type, "LSTM") == 0;
    struct ox_rnn rnn;
    OX_TRY(ox_rnn_read(r, lstm ? OX_RNN_LSTM : OX_RNN_GRU, &rnn, err));
    for (size_t i = 0; i < OX_COUNT(in); i++)
        in[i] = ox_run_in(r, i);
    for (size_t i = W; i <= B && status == OX_OK; i++) {
        if (!in[i])
            continue;
        status = put_in_order(r, i, lstm ? 4 : 3, rnn.gate_at, &made[i], err);
        in[i] = made[i];
    }
    if (status == OX_OK)
        status = ox_run_standard_on(r, r->node->op_type, 14, in, r->n_in, err);
    for (size_t i = W; i <= B; i++)
        ox_tensor_release(made[i]);
    return status;
}

static void infer_ordered(struct ox_infer *c)
{
    for (size_t i = 0; i < ox_infer_n_out(c); i++)
        ox_infer_same_dtype(c, i, 0);
    ox_infer_standard(c, ox_infer_node(c)->op_type, 14);
}

#define ORDERED(name)                                                                              \
    {                                                                                              \
        OX_OWN_DOMAIN, name, 1, OX_OP_ANY_ADDRESS, .infer = infer_ordered, .run = run_ordered,     \
                                                   .fast = ox_fast_rnn, .prepare = ox_prepare_rnn  \
    }

const struct ox_op ox_ops_ordered_rnn[] = {ORDERED("GRU"), ORDERED("LSTM"), {0}};
