/* NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss: scores as [N, C, D], in double. */
#include <math.h>
#include <string.h>

#include "ops/fast/fast.h"
#include "ops/infer.h"
#include "ops/real.h"
#include "ops/rules.h"

enum reduction { NONE, SUM, MEAN, UNKNOWN };

static enum reduction reduction_of(const char *text)
{
    if (!text || strcmp(text, "mean") == 0)
        return MEAN;
    return strcmp(text, "sum") == 0 ? SUM : strcmp(text, "none") == 0 ? NONE : UNKNOWN;
}

static void infer_loss(struct ox_infer *c)
{
    unsigned rank;
    ox_rule_rank_least(c, 0, 2);
    if (ox_infer_shape(c, 0, &rank, NULL) && rank > 0 && ox_rule_rank(c, 1, rank - 1))
        for (unsigned i = 0; i + 1 < rank; i++)
            ox_infer_equal(c, ox_infer_dim(c, 0, i ? i + 1 : 0), ox_infer_dim(c, 1, i),
                           "scores and targets");
    ox_rule_rank(c, 2, 1);
    ox_infer_equal(c, ox_infer_dim(c, 0, 1), ox_infer_dim(c, 2, 0), "classes and weights");
    enum reduction reduction = reduction_of(ox_infer_string_attr(c, "reduction"));
    if (reduction == NONE)
        ox_infer_same_shape(c, 0, 1);
    else if (reduction != UNKNOWN)
        ox_infer_set_shape(c, 0, 0, NULL);
    else
        ox_infer_conflict(c, "reduction is none of none, sum, mean");
    if (ox_infer_n_out(c) > 1)
        ox_infer_same(c, 1, 0);
}

struct loss {
    const struct ox_tensor *x, *target, *weight;
    const double *scores, *weights;
    const float *singles; /* the scores where `scores` is NULL */
    size_t n, classes, d;
    bool ignores;
    int64_t ignored;
    enum reduction reduction;
};

static enum ox_status read_loss(struct ox_run *r, struct loss *l, struct ox_error *err)
{
    const struct ox_tensor *x = l->x = ox_run_in(r, 0), *t = l->target = ox_run_in(r, 1);
    l->weight = ox_run_in(r, 2);
    bool fits = x->rank >= 2 && t->rank == x->rank - 1 && t->dims[0] == x->dims[0];
    for (unsigned d = 2; fits && d < x->rank; d++)
        fits = t->dims[d - 1] == x->dims[d];
    if (!fits)
        return ox_run_fail(r, err, OX_INPUT,
                           "targets (rank %u) have not the shape of the scores (rank %u) without "
                           "classes",
                           t->rank, x->rank);
    l->n = (size_t)x->dims[0];
    l->classes = (size_t)x->dims[1];
    l->d = l->n ? t->n / l->n : 0;
    if (l->weight && (l->weight->rank != 1 || l->weight->n != l->classes))
        return ox_run_fail(r, err, OX_INPUT, "%zu weights for %zu classes", l->weight->n,
                           l->classes);
    const char *reduction = ox_run_string(r, "reduction");
    l->reduction = reduction_of(reduction);
    if (l->reduction == UNKNOWN)
        return ox_run_fail(r, err, OX_INPUT, "reduction '%.40s' is unknown", reduction);
    l->ignores = ox_run_attr(r, "ignore_index") != NULL;
    l->ignored = ox_run_int(r, "ignore_index", 0);
    return ox_real_in(r, 2, &l->weights, err);
}

static enum ox_status read_scores(struct ox_run *r, struct loss *l, struct ox_error *err)
{
    l->scores = ox_real_all(r, l->x, err);
    return l->scores || !l->x->n ? OX_OK : OX_NO_MEMORY;
}

static int64_t target_at(const struct loss *l, size_t i)
{
    return l->target->dtype == OX_INT64 ? ((const int64_t *)l->target->data)[i]
                                        : ox_tensor_get_int(l->target, i);
}

/* -log_prob of each target, by its class's weight; reduced as asked. */
static enum ox_status give_loss(struct ox_run *r, const struct loss *l, struct ox_error *err)
{
    size_t count = l->target->n;
    double *out = ox_real_scratch(r, count, err), sum = 0, total = 0;
    if (!out)
        return OX_NO_MEMORY;
    for (size_t i = 0, image = 0, place = 0; i < count; i++, place++) {
        const int64_t t = target_at(l, i);
        if (place == l->d) {
            place = 0;
            image++;
        }
        if (l->ignores && t == l->ignored)
            continue;
        if (t < 0 || (size_t)t >= l->classes)
            return ox_run_fail(r, err, OX_INPUT, "target %zu is %lld, outside of [0, %zu)", i,
                               (long long)t, l->classes);
        double weight = l->weights ? l->weights[t] : 1;
        const size_t at = (image * l->classes + (size_t)t) * l->d + place;
        out[i] = -(l->scores ? l->scores[at] : (double)l->singles[at]) * weight;
        sum += out[i];
        total += weight;
    }
    if (l->reduction == NONE)
        return ox_real_out(r, 0, l->x->dtype, l->target->rank, l->target->dims, out, err);
    double result = l->reduction == SUM ? sum : sum / total;
    return ox_real_out(r, 0, l->x->dtype, 0, NULL, &result, err);
}

static enum ox_status run_nll(struct ox_run *r, struct ox_error *err)
{
    struct loss l = {0};
    OX_TRY(read_loss(r, &l, err));
    if (l.x->dtype == OX_FLOAT32)
        l.singles = l.x->data;
    else
        OX_TRY(read_scores(r, &l, err));
    return give_loss(r, &l, err);
}

static enum ox_status run_cross_entropy(struct ox_run *r, struct ox_error *err)
{
    struct loss l = {0};
    OX_TRY(read_loss(r, &l, err));
    OX_TRY(read_scores(r, &l, err));
    double *log_prob = ox_real_scratch(r, l.x->n, err);
    if (!log_prob)
        return OX_NO_MEMORY;
    for (size_t i = 0; i < l.n * l.d && l.classes; i++) {
        const double *x = l.scores + i / l.d * l.classes * l.d + i % l.d;
        double *y = log_prob + (x - l.scores), most = x[0], sum;
        for (size_t c = 1; c < l.classes; c++)
            most = x[c * l.d] > most ? x[c * l.d] : most;
        sum = exp(x[0] - most);
        for (size_t c = 1; c < l.classes; c++)
            sum += exp(x[c * l.d] - most);
        sum = log(sum);
        for (size_t c = 0; c < l.classes; c++)
            y[c * l.d] = x[c * l.d] - most - sum;
    }
    if (ox_run_wants(r, 1))
        OX_TRY(ox_real_out(r, 1, l.x->dtype, l.x->rank, l.x->dims, log_prob, err));
    l.scores = log_prob;
    return give_loss(r, &l, err);
}

static enum ox_status fast_cross_entropy(struct ox_run *r, struct ox_error *err)
{
    struct loss l = {0};
    const struct ox_tensor *x = ox_fast_in(r, 0);
    if (!x || !x->n)
        return OX_UNSUPPORTED;
    OX_TRY(read_loss(r, &l, err));
    struct ox_tensor *y = NULL;
    if (ox_run_wants(r, 1))
        OX_TRY(ox_run_out(r, 1, OX_FLOAT32, x->rank, x->dims, &y, err));
    float *log_prob = y ? y->data : ox_run_scratch(r, x->n, sizeof *log_prob, err);
    if (!log_prob)
        return OX_NO_MEMORY;
    ox_fast_log_softmax(r, x, 1, log_prob);
    l.singles = log_prob;
    return give_loss(r, &l, err);
}

#define LOSS(name, since, kernel, quick)                                                           \
    {                                                                                              \
        "", name, since, .infer = infer_loss, .run = kernel, .fast = quick                         \
    }

const struct ox_op ox_ops_loss[] = {
    LOSS("NegativeLogLikelihoodLoss", 12, run_nll, NULL),
    LOSS("NegativeLogLikelihoodLoss", 13, run_nll, NULL),
    LOSS("NegativeLogLikelihoodLoss", 22, run_nll, NULL),
    LOSS("SoftmaxCrossEntropyLoss", 12, run_cross_entropy, fast_cross_entropy),
    LOSS("SoftmaxCrossEntropyLoss", 13, run_cross_entropy, fast_cross_entropy),
    {0}};
