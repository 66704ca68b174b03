/* What recurrent operators' attributes say, and whether their inputs fit them.
 *
 * The parameters activation_alpha and activation_beta are consumed in the order of the functions that take them, unless there is one for
 * every function. */
#include "ops/rnn/rnn.h"

#include <string.h>
#include <strings.h>

static const struct {
    const char *name;
    enum ox_activation_kind kind;
    bool has_alpha, has_beta;
    double alpha, beta;
} functions[] = {{"Relu", OX_ACT_RELU, false, false, 0, 0},
                 {"Tanh", OX_ACT_TANH, false, false, 0, 0},
                 {"Sigmoid", OX_ACT_SIGMOID, false, false, 0, 0},
                 {"Affine", OX_ACT_AFFINE, true, true, 1, 0},
                 {"LeakyRelu", OX_ACT_LEAKY_RELU, true, false, 0.01f, 0},
                 {"ThresholdedRelu", OX_ACT_THRESHOLDED_RELU, true, false, 1, 0},
                 {"ScaledTanh", OX_ACT_SCALED_TANH, true, true, 1, 1},
                 {"HardSigmoid", OX_ACT_HARD_SIGMOID, true, true, 0.2f, 0.5},
                 {"Elu", OX_ACT_ELU, true, false, 1, 0},
                 {"Softsign", OX_ACT_SOFTSIGN, false, false, 0, 0},
                 {"Softplus", OX_ACT_SOFTPLUS, false, false, 0, 0}};

static const size_t n_functions[] = {1, 2, 3};

static enum ox_status read_functions(struct ox_run *r, struct ox_rnn *rnn, struct ox_error *err)
{
    static const char *const usual[3][3] = {
        {"Tanh"}, {"Sigmoid", "Tanh"}, {"Sigmoid", "Tanh", "Tanh"}};
    size_t per = n_functions[rnn->kind], count = per * rnn->directions, n, n_alpha, n_beta;
    const struct ox_str *names = ox_run_strings(r, "activations", &n);
    const float *alpha = ox_run_floats(r, "activation_alpha", &n_alpha);
    const float *beta = ox_run_floats(r, "activation_beta", &n_beta);
    /* Some schemas list the functions of both directions as the default. */
    if (names && n != count && !(n > count && !ox_run_attr(r, "activations")))
        return ox_run_fail(r, err, OX_INPUT, "%zu activations, not %zu", n, count);
    size_t at_alpha = 0, at_beta = 0;
    for (size_t i = 0; i < count; i++) {
        const char *name = names ? names[i].p : usual[rnn->kind][i % per];
        size_t length = names ? names[i].n : strlen(name), k = 0;
        while (k < OX_COUNT(functions) && (strlen(functions[k].name) != length ||
                                           strncasecmp(functions[k].name, name, length) != 0))
            k++;
        if (k == OX_COUNT(functions))
            return ox_run_fail(r, err, OX_INPUT, "activation '%.*s' is unknown",
                               length < 40 ? (int)length : 40, name ? name : "");
        struct ox_activation *f = &rnn->functions[i / per][i % per];
        *f = (struct ox_activation){functions[k].kind, functions[k].alpha, functions[k].beta};
        size_t place = n_alpha == count ? i : at_alpha;
        if (functions[k].has_alpha && alpha && place < n_alpha) {
            f->alpha = (double)alpha[place];
            at_alpha++;
        }
        place = n_beta == count ? i : at_beta;
        if (functions[k].has_beta && beta && place < n_beta) {
            f->beta = (double)beta[place];
            at_beta++;
        }
    }
    return OX_OK;
}

static enum ox_status check_part(struct ox_run *r, const char *what, size_t i, unsigned rank,
                                 const size_t *dims, struct ox_error *err)
{
    const struct ox_tensor *t = ox_run_in(r, i);
    bool fits = !t || t->rank == rank;
    for (unsigned d = 0; t && fits && d < rank; d++)
        fits = (size_t)t->dims[d] == dims[d];
    if (fits)
        return OX_OK;
    struct ox_strbuf want;
    ox_strbuf_init(&want);
    for (unsigned d = 0; d < rank; d++)
        ox_strbuf_printf(&want, "%s%zu", d ? ", " : "", dims[d]);
    enum ox_status status =
        ox_run_fail(r, err, OX_INPUT, "%s is not [%s]", what, ox_strbuf_text(&want, NULL));
    ox_strbuf_release(&want);
    return status;
}

static enum ox_status check_parts(struct ox_run *r, const struct ox_rnn *rnn, struct ox_error *err)
{
    size_t d = rnn->directions, h = rnn->hidden, g = ox_rnn_gates(rnn->kind) * h;
    size_t first = rnn->layout ? rnn->batch : d, second = rnn->layout ? d : rnn->batch;
    if (rnn->turned) {
        OX_TRY(check_part(r, "W", 1, 3, (const size_t[]){d, rnn->input, g}, err));
        OX_TRY(check_part(r, "R", 2, 3, (const size_t[]){d, h, g}, err));
    } else {
        OX_TRY(check_part(r, "W", 1, 3, (const size_t[]){d, g, rnn->input}, err));
        OX_TRY(check_part(r, "R", 2, 3, (const size_t[]){d, g, h}, err));
    }
    OX_TRY(check_part(r, "B", 3, 2, (const size_t[]){d, 2 * g}, err));
    OX_TRY(check_part(r, "sequence_lens", 4, 1, (const size_t[]){rnn->batch}, err));
    OX_TRY(check_part(r, "initial_h", 5, 3, (const size_t[]){first, second, h}, err));
    if (rnn->kind == OX_RNN_LSTM) {
        OX_TRY(check_part(r, "initial_c", 6, 3, (const size_t[]){first, second, h}, err));
        OX_TRY(check_part(r, "P", 7, 2, (const size_t[]){d, 3 * h}, err));
    }
    const struct ox_tensor *lens = ox_run_in(r, 4);
    for (size_t b = 0; lens && b < rnn->batch; b++) {
        int64_t n = ox_tensor_get_int(lens, b);
        if (n < 0 || (size_t)n > rnn->steps)
            return ox_run_fail(r, err, OX_INPUT, "sequence_lens[%zu] is %lld, outside of [0, %zu]",
                               b, (long long)n, rnn->steps);
    }
    return OX_OK;
}

static void read_order(const struct ox_run *r, struct ox_rnn *rnn)
{
    const bool own = strcmp(r->node->domain, OX_OWN_DOMAIN) == 0;
    const size_t gates = ox_rnn_gates(rnn->kind);
    size_t n = 0;
    const int64_t *at = own ? ox_run_ints(r, OX_RNN_GATES, &n) : NULL;
    for (size_t i = 0; i < gates; i++)
        rnn->gate_at[i] = n == gates && at[i] >= 0 && at[i] < (int64_t)gates ? (size_t)at[i] : i;
}

enum ox_status ox_rnn_read(struct ox_run *r, enum ox_rnn_kind kind, struct ox_rnn *rnn,
                           struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0), *recurrence = ox_run_in(r, 2);
    const char *direction = ox_run_string(r, "direction");
    *rnn = (struct ox_rnn){.kind = kind, .directions = 1};
    if (direction && strcmp(direction, "bidirectional") == 0)
        rnn->directions = 2;
    else if (direction && strcmp(direction, "reverse") == 0)
        rnn->reverse = true;
    else if (direction && strcmp(direction, "forward") != 0 && strcmp(direction, "foward") != 0)
        return ox_run_fail(r, err, OX_INPUT, "direction '%.40s' is unknown", direction);
    if (x->rank != 3 || (recurrence && recurrence->rank != 3))
        return ox_run_fail(r, err, OX_INPUT, "X or R is of rank %u or %u, not 3", x->rank,
                           recurrence ? recurrence->rank : 3);
    rnn->layout = ox_run_int(r, "layout", 0) != 0;
    rnn->steps = (size_t)x->dims[rnn->layout ? 1 : 0];
    rnn->batch = (size_t)x->dims[rnn->layout ? 0 : 1];
    rnn->input = (size_t)x->dims[2];
    rnn->turned = recurrence && (recurrence->dtype == OX_INT8 || recurrence->dtype == OX_UINT8);
    /* Of an R that is absorbed the attribute is left. */
    const int64_t has =
        recurrence ? recurrence->dims[rnn->turned ? 1 : 2] : ox_run_int(r, "hidden_size", 0);
    const int64_t hidden = ox_run_int(r, "hidden_size", has);
    if (hidden != has)
        return ox_run_fail(r, err, OX_INPUT, "hidden_size is %lld, R has %lld", (long long)hidden,
                           (long long)has);
    rnn->hidden = (size_t)has;
    rnn->linear_before_reset = ox_run_int(r, "linear_before_reset", 0) != 0;
    rnn->input_forget = ox_run_int(r, "input_forget", 0) != 0;
    rnn->clip = (double)ox_run_float(r, "clip", 0);
    rnn->round_state = strcmp(r->node->op_type, "DynamicQuantizeLSTM") == 0;
    read_order(r, rnn);
    OX_TRY(check_parts(r, rnn, err));
    return read_functions(r, rnn, err);
}
