/* MoE and QMoE of com.microsoft: each token goes through the experts that its router scores highest, two products each. Computed in
 * double; of QMoE an expert's codes become numbers when it is its turn. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/threads.h"
#include "ops/contrib.h"
#include "ops/nbits.h"
#include "ops/product.h"
#include "ops/real.h"
#include "ops/rules.h"

/* The inputs that one of the two products reads. NONE: there is no such one. */
struct places {
    const char *what;
    size_t weights, bias, scales, zeros;
};

enum { NONE = OX_MOST_RANK };

/* The weights of all experts for one of the two products: [count, n_out, n_in]. */
struct layer {
    size_t count, n_out, n_in;
    const struct ox_tensor *weights;
    const double *bias; /* [count, n_out] or NULL */
    /* Of codes: */
    size_t bits;          /* 0: they are floats */
    size_t block, blocks; /* of a row */
    const double *scales; /* [count, n_out, blocks] */
    const uint8_t *zeros; /* packed by rows, or without blocks by experts; NULL: the middle */
    size_t zero_bytes;    /* of a row, or of an expert */
    bool by_row;
};

struct moe {
    bool codes;
    size_t tokens, hidden, inter, k;
    enum ox_fused activation;
    bool swiglu, interleaved;
    double alpha, beta, limit;
    struct layer first, second;
    size_t *chosen;    /* [tokens, k] */
    double *share;     /* of each of them */
    double *weights;   /* of the expert whose turn it is */
    size_t *rows;      /* its tokens */
    double *x, *h, *y; /* [tokens, hidden], [tokens, first.n_out], [tokens, hidden] */
};

/* ---- Weights ------------------------------------------------------------------------------------------------------ */

struct expert {
    const struct layer *layer;
    size_t at;
    double *out;
};

static void row_task(void *arg, size_t row)
{
    const struct expert *e = arg;
    const struct layer *l = e->layer;
    size_t at = e->at * l->n_out + row;
    double *out = e->out + row * l->n_in;
    if (!l->bits) {
        ox_real_load(l->weights, at * l->n_in, l->n_in, out);
        return;
    }
    const uint8_t *codes = (const uint8_t *)l->weights->data + at * (l->n_in * l->bits / 8);
    for (size_t i = 0; i < l->n_in; i++) {
        size_t block = i / l->block;
        unsigned zero = 1u << (l->bits - 1);
        if (l->zeros && l->by_row)
            zero = ox_code_at(l->zeros + at * l->zero_bytes, block, l->bits);
        else if (l->zeros)
            zero = ox_code_at(l->zeros + e->at * l->zero_bytes, row, l->bits);
        out[i] = ((double)ox_code_at(codes, i, l->bits) - zero) * l->scales[at * l->blocks + block];
    }
}

static enum ox_status expect_count(struct ox_run *r, const char *layer, const char *what,
                                   const struct ox_tensor *t, size_t want, struct ox_error *err)
{
    return t->n == want ? OX_OK
                        : ox_run_fail(r, err, OX_INPUT, "%s %s have %zu elements, not %zu", layer,
                                      what, t->n, want);
}

/* Scales and zero points. */
static enum ox_status read_steps(struct ox_run *r, struct layer *l, const struct places *p,
                                 struct ox_error *err)
{
    const struct ox_tensor *scales = ox_run_in(r, p->scales), *zeros = ox_run_in(r, p->zeros);
    int64_t block = ox_run_int(r, "block_size", 0);
    l->block = block > 0 ? (size_t)block : l->n_in;
    if (block > 0 && (l->block < 16 || (l->block & (l->block - 1)) || l->n_in % l->block))
        return ox_run_fail(r, err, OX_INPUT, "blocks of %" PRId64 " do not fit rows of %zu", block,
                           l->n_in);
    l->blocks = l->n_in / l->block;
    if (!scales)
        return ox_run_fail(r, err, OX_INPUT, "%s has no scales", p->what);
    OX_TRY(expect_count(r, p->what, "scales", scales, l->count * l->n_out * l->blocks, err));
    OX_TRY(ox_real_in(r, p->scales, &l->scales, err));
    if (!zeros)
        return OX_OK;
    l->by_row = block > 0;
    size_t per = l->by_row ? l->blocks : l->n_out;
    size_t lists = l->by_row ? l->count * l->n_out : l->count;
    l->zero_bytes = (per * l->bits + 7) / 8;
    OX_TRY(expect_count(r, p->what, "zero points", zeros, lists * l->zero_bytes, err));
    l->zeros = zeros->data;
    return OX_OK;
}

static enum ox_status read_layer(struct ox_run *r, struct layer *l, const struct places *p,
                                 size_t n_out, size_t n_in, struct ox_error *err)
{
    const struct ox_tensor *w = l->weights = ox_run_in(r, p->weights),
                           *bias = ox_run_in(r, p->bias);
    size_t per_byte = l->bits ? 8 / l->bits : 1;
    l->n_out = n_out;
    l->n_in = n_in;
    if (w->rank != 3 || (size_t)w->dims[0] != l->count || (size_t)w->dims[1] != n_out ||
        (size_t)w->dims[2] != n_in / per_byte || n_in % per_byte)
        return ox_run_fail(r, err, OX_INPUT, "%s weights are not [%zu, %zu, %zu]", p->what,
                           l->count, n_out, n_in / per_byte);
    if (bias)
        OX_TRY(expect_count(r, p->what, "biases", bias, l->count * n_out, err));
    OX_TRY(ox_real_in(r, p->bias, &l->bias, err));
    return l->bits ? read_steps(r, l, p, err) : OX_OK;
}

static enum ox_status read_bits(struct ox_run *r, const char *name, size_t *bits,
                                struct ox_error *err)
{
    int64_t given = ox_run_int(r, name, ox_run_int(r, "expert_weight_bits", 4));
    if (given != 2 && given != 4 && given != 8)
        return ox_run_fail(r, err, OX_INPUT, "experts have weights of %" PRId64 " bits", given);
    *bits = (size_t)given;
    return OX_OK;
}

/* ---- Sizes and attributes ----------------------------------------------------------------------------------------- */

static enum ox_status read_activation(struct ox_run *r, struct moe *m, struct ox_error *err)
{
    static const struct {
        const char *name;
        enum ox_fused kind;
    } known[] = {{"relu", OX_FUSED_RELU},
                 {"gelu", OX_FUSED_FAST_GELU},
                 {"silu", OX_FUSED_QUICK_GELU},
                 {"identity", OX_FUSED_NONE}};
    const char *name = ox_run_string(r, "activation_type");
    name = name ? name : "relu";
    int64_t fusion = ox_run_int(r, "swiglu_fusion", 0);
    m->alpha = (double)ox_run_float(r, "activation_alpha", 1);
    m->beta = (double)ox_run_float(r, "activation_beta", 0);
    m->limit = (double)ox_run_float(r, "swiglu_limit", INFINITY);
    m->swiglu = strcmp(name, "swiglu") == 0;
    m->interleaved = fusion == 1;
    if (m->swiglu)
        return fusion == 1 || fusion == 2
                   ? OX_OK
                   : ox_run_fail(r, err, OX_UNSUPPORTED, "swiglu of two weights that are not one");
    for (size_t i = 0; i < OX_COUNT(known); i++)
        if (strcmp(name, known[i].name) == 0) {
            m->activation = known[i].kind;
            return OX_OK;
        }
    return ox_run_fail(r, err, OX_INPUT, "activation_type '%.40s' is unknown", name);
}

/* What no kernel of onnxruntime for processors does either. */
static enum ox_status refuse(struct ox_run *r, const struct moe *m, struct ox_error *err)
{
    const char *type = ox_run_string(r, "quant_type");
    const size_t third[] = {m->codes ? 8 : 6, m->codes ? 10 : 7};
    if (ox_run_has(r, third[0]) || ox_run_has(r, third[1]))
        return ox_run_fail(r, err, OX_UNSUPPORTED, "experts have a third weight");
    if (ox_run_int(r, "use_sparse_mixer", 0))
        return ox_run_fail(r, err, OX_UNSUPPORTED, "use_sparse_mixer is set");
    if (m->codes &&
        ((type && strcmp(type, "int") != 0) || ox_run_int(r, "weights_prepacked", -1) > 0))
        return ox_run_fail(r, err, OX_UNSUPPORTED, "the weights are packed for a GPU");
    return OX_OK;
}

static enum ox_status read_moe(struct ox_run *r, struct moe *m, const struct places *first,
                               const struct places *second, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0), *router = ox_run_in(r, 1);
    const struct ox_tensor *w = ox_run_in(r, second->weights);
    OX_TRY(refuse(r, m, err));
    OX_TRY(read_activation(r, m, err));
    if (m->codes) {
        OX_TRY(read_bits(r, "fc1_expert_weight_bits", &m->first.bits, err));
        OX_TRY(read_bits(r, "fc2_expert_weight_bits", &m->second.bits, err));
    }
    if (x->rank < 2 || x->rank > 3 || w->rank != 3 || !w->n || x->dims[x->rank - 1] < 1)
        return ox_run_fail(r, err, OX_INPUT, "the input or the experts' weights have no rows");
    m->hidden = (size_t)x->dims[x->rank - 1];
    m->tokens = x->n / m->hidden;
    m->first.count = m->second.count = (size_t)w->dims[0];
    m->inter = (size_t)w->dims[2] * (m->codes ? 8 / m->second.bits : 1);
    if (router->rank != 2 || (size_t)router->dims[0] != m->tokens ||
        (size_t)router->dims[1] != m->first.count)
        return ox_run_fail(r, err, OX_INPUT, "router_probs is not [%zu, %zu]", m->tokens,
                           m->first.count);
    int64_t k = ox_run_int(r, "k", 1);
    if (k < 1 || (size_t)k > m->first.count)
        return ox_run_fail(r, err, OX_INPUT, "k is %" PRId64 " of %zu experts", k, m->first.count);
    m->k = (size_t)k;
    OX_TRY(read_layer(r, &m->first, first, m->inter * (m->swiglu ? 2 : 1), m->hidden, err));
    return read_layer(r, &m->second, second, m->hidden, m->inter, err);
}

/* ---- Routing ------------------------------------------------------------------------------------------------------ */

/* The k greatest scores of a row, the greatest first; of equal ones the last. */
static void choose(const struct moe *m, const double *scores, size_t *chosen)
{
    for (size_t i = 0; i < m->k; i++) {
        size_t best = m->first.count;
        for (size_t e = 0; e < m->first.count; e++) {
            bool taken = false;
            for (size_t j = 0; j < i; j++)
                taken |= chosen[j] == e;
            if (!taken && (best == m->first.count || scores[e] >= scores[best]))
                best = e;
        }
        chosen[i] = best;
    }
}

/* given: the shares of all experts; NULL: what softmax makes of the scores, over all experts or over those chosen. */
static void share_out(const struct moe *m, const double *scores, const double *given,
                      bool normalize, const size_t *chosen, double *share)
{
    double all = 0, picked = 0;
    for (size_t e = 0; e < m->first.count; e++)
        all += exp(scores[e] - scores[chosen[0]]);
    for (size_t i = 0; i < m->k; i++) {
        size_t e = chosen[i];
        share[i] = given ? given[e] : exp(scores[e] - scores[chosen[0]]);
        picked += share[i];
    }
    double by = normalize ? picked : given ? 1 : all;
    for (size_t i = 0; i < m->k; i++)
        share[i] = by == 0 ? 0 : share[i] / by;
}

static enum ox_status route(struct ox_run *r, struct moe *m, struct ox_error *err)
{
    const struct ox_tensor *weights = m->codes ? ox_run_in(r, 14) : NULL;
    bool normalize = ox_run_int(r, "normalize_routing_weights", 0) || (m->codes && !weights);
    const double *scores, *given = NULL;
    size_t n;
    if (weights)
        OX_TRY(expect_count(r, "router", "weights", weights, m->tokens * m->first.count, err));
    OX_TRY(ox_real_in(r, 1, &scores, err));
    if (weights)
        OX_TRY(ox_real_in(r, 14, &given, err));
    if (OX_MUL_OVERFLOWS(m->tokens, m->k, &n))
        return ox_run_fail(r, err, OX_LIMIT, "too many tokens");
    m->chosen = ox_run_scratch(r, n, sizeof *m->chosen, err);
    m->share = ox_real_scratch(r, n, err);
    if (!m->chosen || !m->share)
        return OX_NO_MEMORY;
    for (size_t t = 0; t < m->tokens; t++) {
        size_t at = t * m->first.count;
        choose(m, scores + at, m->chosen + t * m->k);
        share_out(m, scores + at, given ? given + at : NULL, normalize, m->chosen + t * m->k,
                  m->share + t * m->k);
    }
    return OX_OK;
}

/* ---- Experts ------------------------------------------------------------------------------------------------------ */

static enum ox_status multiply(struct ox_run *r, const struct moe *m, const struct layer *l,
                               size_t at, size_t rows, const double *in, double *out,
                               struct ox_error *err)
{
    struct expert expert = {l, at, m->weights};
    ox_parallel(r->env, l->n_out, row_task, &expert);
    const struct ox_product p = {.dtype = OX_FLOAT64,
                                 .m = rows,
                                 .n = l->n_out,
                                 .k = l->n_in,
                                 .a = in,
                                 .a_row = l->n_in,
                                 .a_col = 1,
                                 .b = m->weights,
                                 .b_row = 1,
                                 .b_col = l->n_in,
                                 .c = out,
                                 .ldc = l->n_out,
                                 .batches = 1};
    OX_TRY(ox_product_run(r, &p, err));
    for (size_t i = 0; l->bias && i < rows * l->n_out; i++)
        out[i] += l->bias[at * l->n_out + i % l->n_out];
    return OX_OK;
}

/* In place: rows of 2 * inter become rows of inter. */
static void apply_swiglu(const struct moe *m, double *h, size_t rows)
{
    for (size_t row = 0; row < rows; row++) {
        const double *in = h + row * 2 * m->inter;
        for (size_t i = 0; i < m->inter; i++) {
            double gate = in[m->interleaved ? 2 * i : i];
            double linear = in[m->interleaved ? 2 * i + 1 : m->inter + i];
            gate = fmin(gate, m->limit);
            linear = fmax(fmin(linear, m->limit), -m->limit);
            h[row * m->inter + i] = gate / (1 + exp(-m->alpha * gate)) * (linear + m->beta);
        }
    }
}

/* The tokens of an expert through it, added to `sum`. */
static enum ox_status run_expert(struct ox_run *r, const struct moe *m, size_t e, const double *x,
                                 double *sum, struct ox_error *err)
{
    size_t rows = 0;
    for (size_t i = 0; i < m->tokens * m->k; i++)
        if (m->chosen[i] == e && m->share[i] > (m->codes ? 1e-8 : 0)) {
            memcpy(m->x + rows * m->hidden, x + i / m->k * m->hidden, m->hidden * sizeof *x);
            m->rows[rows++] = i;
        }
    if (!rows)
        return OX_OK;
    OX_TRY(multiply(r, m, &m->first, e, rows, m->x, m->h, err));
    if (m->swiglu)
        apply_swiglu(m, m->h, rows);
    else
        ox_fused_apply(m->activation, (const double[]){1, 0}, m->h, rows * m->inter);
    OX_TRY(multiply(r, m, &m->second, e, rows, m->h, m->y, err));
    for (size_t row = 0; row < rows; row++)
        for (size_t i = 0; i < m->hidden; i++)
            sum[m->rows[row] / m->k * m->hidden + i] +=
                m->share[m->rows[row]] * m->y[row * m->hidden + i];
    return ox_env_poll(r->env, err);
}

static enum ox_status run_experts(struct ox_run *r, struct moe *m, struct ox_error *err)
{
    const struct ox_tensor *in = ox_run_in(r, 0);
    size_t n_first = m->first.n_out * m->first.n_in, n_second = m->second.n_out * m->second.n_in;
    size_t n_h;
    const double *x;
    if (OX_MUL_OVERFLOWS(m->tokens, m->first.n_out, &n_h))
        return ox_run_fail(r, err, OX_LIMIT, "too many tokens");
    OX_TRY(ox_real_in(r, 0, &x, err));
    m->weights = ox_real_scratch(r, n_first > n_second ? n_first : n_second, err);
    m->rows = ox_run_scratch(r, m->tokens, sizeof *m->rows, err);
    m->x = ox_real_scratch(r, in->n, err);
    m->h = ox_real_scratch(r, n_h, err);
    m->y = ox_real_scratch(r, in->n, err);
    double *sum = ox_real_scratch(r, in->n, err);
    if (!m->weights || !m->rows || !m->x || !m->h || !m->y || !sum)
        return OX_NO_MEMORY;
    for (size_t e = 0; e < m->first.count; e++)
        OX_TRY(run_expert(r, m, e, x, sum, err));
    return ox_real_out(r, 0, in->dtype, in->rank, in->dims, sum, err);
}

static enum ox_status run_moe(struct ox_run *r, struct ox_error *err)
{
    static const struct places first = {"fc1", 2, 3, NONE, NONE},
                               second = {"fc2", 4, 5, NONE, NONE};
    struct moe m = {.codes = false};
    OX_TRY(read_moe(r, &m, &first, &second, err));
    OX_TRY(route(r, &m, err));
    return run_experts(r, &m, err);
}

static enum ox_status run_qmoe(struct ox_run *r, struct ox_error *err)
{
    static const struct places first = {"fc1", 2, 4, 3, 11}, second = {"fc2", 5, 7, 6, 12};
    struct moe m = {.codes = true};
    OX_TRY(read_moe(r, &m, &first, &second, err));
    OX_TRY(route(r, &m, err));
    return run_experts(r, &m, err);
}

#define MS "com.microsoft"

const struct ox_op ox_ops_contrib_moe[] = {{MS, "MoE", 1, .infer = ox_rule_same, .run = run_moe},
                                           {MS, "QMoE", 1, .infer = ox_rule_same, .run = run_qmoe},
                                           {0}};
