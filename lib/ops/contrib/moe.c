#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ops/contrib/moe.h"
#include "ops/real.h"

/* The inputs that one of the two products reads. NONE: there is no such one. */
struct places {
    const char *what;
    size_t weights, bias, scales, zeros;
};

enum { NONE = OX_MOST_RANK };

static enum ox_status expect_count(struct ox_run *r, const char *layer, const char *what,
                                   const struct ox_tensor *t, size_t want, struct ox_error *err)
{
    return t->n == want ? OX_OK
                        : ox_run_fail(r, err, OX_INPUT, "%s %s have %zu elements, not %zu", layer,
                                      what, t->n, want);
}

/* Scales and zero points. */
static enum ox_status read_steps(struct ox_run *r, struct ox_moe_layer *l, const struct places *p,
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
    if (scales->dtype == OX_FLOAT8E4M3FN || scales->dtype == OX_FLOAT8E8M0)
        return ox_run_fail(r, err, OX_UNSUPPORTED, "%s has scales of %s, those of 4-bit floats",
                           p->what, ox_dtype_name(scales->dtype));
    OX_TRY(expect_count(r, p->what, "scales", scales, l->count * l->n_out * l->blocks, err));
    l->scales = scales;
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

static enum ox_status read_layer(struct ox_run *r, struct ox_moe_layer *l, const struct places *p,
                                 size_t n_out, size_t n_in, struct ox_error *err)
{
    const struct ox_tensor *w = l->weights = ox_run_in(r, p->weights);
    l->bias = ox_run_in(r, p->bias);
    size_t per_byte = l->bits ? 8 / l->bits : 1;
    l->n_out = n_out;
    l->n_in = n_in;
    if (l->bits && w->dtype != OX_UINT8)
        return ox_run_fail(r, err, OX_UNSUPPORTED, "%s weights are %s", p->what,
                           ox_dtype_name(w->dtype));
    if (w->rank != 3 || (size_t)w->dims[0] != l->count || (size_t)w->dims[1] != n_out ||
        (size_t)w->dims[2] != n_in / per_byte || n_in % per_byte)
        return ox_run_fail(r, err, OX_INPUT, "%s weights are not [%zu, %zu, %zu]", p->what,
                           l->count, n_out, n_in / per_byte);
    if (l->bias)
        OX_TRY(expect_count(r, p->what, "biases", l->bias, l->count * n_out, err));
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

static enum ox_status read_activation(struct ox_run *r, struct ox_moe *m, struct ox_error *err)
{
    static const struct {
        const char *name;
        enum ox_moe_activation kind;
    } known[] = {{"relu", OX_MOE_RELU},
                 {"gelu", OX_MOE_GELU},
                 {"silu", OX_MOE_SILU},
                 {"identity", OX_MOE_NONE}};
    const char *name = ox_run_string(r, "activation_type");
    name = name ? name : "relu";
    int64_t fusion = ox_run_int(r, "swiglu_fusion", 0);
    m->alpha = (double)ox_run_float(r, "activation_alpha", 1);
    m->beta = (double)ox_run_float(r, "activation_beta", 0);
    m->limit = (double)ox_run_float(r, "swiglu_limit", INFINITY);
    m->activation = OX_MOE_SWIGLU;
    m->interleaved = fusion == 1;
    m->limits_late = ox_run_int(r, "swiglu_limit_after_activation", 0) != 0;
    if (m->limits_late && strcmp(name, "swiglu") != 0)
        return ox_run_fail(r, err, OX_INPUT, "swiglu_limit_after_activation of '%.40s'", name);
    if (strcmp(name, "swiglu") == 0)
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
static enum ox_status refuse(struct ox_run *r, const struct ox_moe *m, struct ox_error *err)
{
    const char *type = ox_run_string(r, "quant_type");
    const size_t third[] = {m->codes ? 8 : 6, m->codes ? 10 : 7};
    if (ox_run_has(r, third[0]) || ox_run_has(r, third[1]))
        return ox_run_fail(r, err, OX_UNSUPPORTED, "experts have a third weight");
    if (ox_run_int(r, "use_sparse_mixer", 0))
        return ox_run_fail(r, err, OX_UNSUPPORTED, "use_sparse_mixer is set");
    for (size_t i = 9; m->codes && i < r->n_in; i++)
        if (ox_run_has(r, i) && (i < 11 || i == 13 || i > 14))
            return ox_run_fail(r, err, OX_UNSUPPORTED,
                               "input %zu is set: a third weight's, or scales beside the blocks'",
                               i);
    if (m->codes &&
        ((type && strcmp(type, "int") != 0) || ox_run_int(r, "weights_prepacked", -1) > 0))
        return ox_run_fail(r, err, OX_UNSUPPORTED, "the weights are packed for a GPU");
    return OX_OK;
}

static enum ox_status read_moe(struct ox_run *r, struct ox_moe *m, const struct places *first,
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
    OX_TRY(read_layer(r, &m->first, first, m->inter * (m->activation == OX_MOE_SWIGLU ? 2 : 1),
                      m->hidden, err));
    return read_layer(r, &m->second, second, m->hidden, m->inter, err);
}

/* ---- Routing ------------------------------------------------------------------------------------------------------ */

/* The k greatest scores of a row, the greatest first; of equal ones the last. */
static void choose(const struct ox_moe *m, const double *scores, size_t *chosen)
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
static void share_out(const struct ox_moe *m, const double *scores, const double *given,
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

static enum ox_status route(struct ox_run *r, struct ox_moe *m, struct ox_error *err)
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

enum ox_status ox_moe_open(struct ox_run *r, bool codes, struct ox_moe *m, struct ox_error *err)
{
    static const struct places floats[] = {{"fc1", 2, 3, NONE, NONE}, {"fc2", 4, 5, NONE, NONE}},
                               of_codes[] = {{"fc1", 2, 4, 3, 11}, {"fc2", 5, 7, 6, 12}};
    const struct places *p = codes ? of_codes : floats;
    *m = (struct ox_moe){.codes = codes};
    OX_TRY(read_moe(r, m, &p[0], &p[1], err));
    return route(r, m, err);
}
