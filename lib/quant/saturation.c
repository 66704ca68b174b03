#include "quant/saturation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/match.h"

struct ox_saturation ox_saturation_of_columns(unsigned rank, const int64_t *dims)
{
    struct ox_saturation s = {.n_outputs = 1, .n_terms = 1, .columns = 1, .largest = UINT8_MAX};
    for (unsigned i = 0; i < rank; i++) {
        if (i + 2 == rank || rank == 1)
            s.n_terms = (size_t)dims[i];
        else
            s.n_outputs *= (size_t)dims[i];
    }
    if (rank > 1)
        s.columns = (size_t)dims[rank - 1];
    s.channels = s.n_terms;
    return s;
}

struct ox_saturation ox_saturation_of_rows(size_t n_outputs, size_t n_terms)
{
    return (struct ox_saturation){.n_outputs = n_outputs,
                                  .n_terms = n_terms,
                                  .columns = 1,
                                  .channels = n_terms,
                                  .largest = UINT8_MAX};
}

bool ox_saturation_of(struct ox_saturation *out, const struct ox_node *node, unsigned rank,
                      const int64_t *dims)
{
    const bool conv = strcmp(node->op_type, "Conv") == 0;
    const bool gemm = strcmp(node->op_type, "Gemm") == 0;
    if (*node->domain || rank < (conv ? 3 : gemm ? 2 : 1))
        return false;
    if (conv) {
        size_t n_terms = 1;
        for (unsigned i = 1; i < rank; i++)
            n_terms *= (size_t)dims[i];
        *out = ox_saturation_of_rows((size_t)dims[0], n_terms);
        out->channels = (size_t)dims[1];
        return dims[1] != 1 || dims[0] != ox_quant_int_attr(node, "group", 1);
    }
    if (gemm && ox_quant_int_attr(node, "transB", 0))
        *out = ox_saturation_of_rows((size_t)dims[0], (size_t)dims[1]);
    else
        *out = ox_saturation_of_columns(rank, dims);
    return gemm || strcmp(node->op_type, "MatMul") == 0;
}

/* A normalization, taken apart: a difference over what was computed of it. Pictures are divided by constants, and white stays white. */
static bool normalizes(const struct ox_node *node)
{
    return ox_is_op(node, "Div") && node->n_inputs == 2 && node->inputs[0] && node->inputs[1] &&
           node->inputs[0]->producer && ox_is_op(node->inputs[0]->producer, "Sub") &&
           node->inputs[1]->producer && ox_is_op(node->inputs[1]->producer, "Sqrt");
}

unsigned ox_saturation_likely(const struct ox_value *value)
{
    static const char *const moves[] = {"Reshape",  "Transpose", "Flatten", "Squeeze", "Unsqueeze",
                                        "Identity", "Slice",     "Dropout", "Split",   NULL};
    static const char *const spreads[] = {"Add",
                                          "MatMul",
                                          "Gemm",
                                          "Conv",
                                          "Mul",
                                          "Gelu",
                                          "LayerNormalization",
                                          "InstanceNormalization",
                                          "BatchNormalization",
                                          "GroupNormalization",
                                          "Relu",
                                          "LeakyRelu",
                                          "HardSwish",
                                          "RMSNormalization",
                                          NULL};
    /* Of a normal distribution whose ends are four standard deviations away, 2.75 of them. */
    enum { MOST_MOVES = 8, LIKELY = 216 };
    const struct ox_node *node = value->producer;
    for (unsigned i = 0; i < MOST_MOVES && node && ox_is_any_op(node, moves); i++)
        node = node->n_inputs && node->inputs[0] ? node->inputs[0]->producer : NULL;
    return node && (ox_is_any_op(node, spreads) || normalizes(node)) ? LIKELY : UINT8_MAX;
}

/* Where the next term lies, counted in weights of a sum: [channels, taps], of which the channels come first. */
static size_t next_term(const struct ox_saturation *s, size_t taps, size_t at)
{
    return at + taps < s->n_terms ? at + taps : at + taps - s->n_terms + 1;
}

/* The largest activations that two weights of a sum meet, and the largest sum of the two. */
struct meets {
    int x, y, both;
};

/* Two weights of a sum, as indices: a term of channel c and the next one. */
struct pair {
    size_t first, second;
    size_t output, c;
};

static bool beyond(int a, int b, struct meets m)
{
    const int p = abs(a), q = abs(b);
    if ((a < 0) != (b < 0))
        return false; /* a product alone fits */
    const int x = p >= q ? m.x : m.both - m.y < m.x ? m.both - m.y : m.x;
    const int y = p < q ? m.y : m.both - m.x < m.y ? m.both - m.x : m.y;
    return p * x + q * y > (a < 0 ? -INT16_MIN : INT16_MAX);
}

static struct meets meets_of(const struct ox_saturation *s, const struct pair *pair)
{
    const size_t c = pair->c;
    struct meets m = {(int)s->largest, (int)s->largest, 2 * (int)s->largest};
    if (!s->most)
        return m;
    const size_t group = pair->output / (s->n_outputs / (s->n_most / s->channels));
    const uint8_t *most = s->most + group * s->channels;
    const bool last = c + 1 == s->channels; /* the next term is of the next tap, another place */
    m.x = most[c];
    m.y = most[last ? 0 : c + 1];
    m.both = m.x + m.y;
    if (s->both && !last) {
        const int shown = s->both[group * s->channels + c], least = m.x > m.y ? m.x : m.y;
        m.both = shown > m.both ? m.both : shown < least ? least : shown;
    }
    return m;
}

/* Calls visit() for each pair of weights, until it says true. */
static bool visit_pairs(const struct ox_saturation *s,
                        bool (*visit)(void *arg, const struct pair *pair), void *arg)
{
    if (!s->n_outputs || !s->n_terms)
        return false;
    const size_t taps = s->n_terms / s->channels, n = s->n_outputs * s->n_terms;
    for (size_t base = 0; base < n; base += s->columns * s->n_terms) {
        size_t at = 0, c = 0;
        for (size_t term = 0; term + 1 < s->n_terms; term += 2) {
            const size_t next = next_term(s, taps, at);
            struct pair pair = {.output = base / s->n_terms, .c = c};
            for (size_t j = 0; j < s->columns; j++) {
                pair.first = base + at * s->columns + j;
                pair.second = base + next * s->columns + j;
                if (visit(arg, &pair))
                    return true;
            }
            at = next_term(s, taps, next);
            for (c += 2; c >= s->channels;)
                c -= s->channels;
        }
    }
    return false;
}

static bool pair_can(void *arg, const struct pair *pair)
{
    const int8_t *const *weights = arg;
    const struct meets any = {UINT8_MAX, UINT8_MAX, 2 * UINT8_MAX};
    return beyond((*weights)[pair->first], (*weights)[pair->second], any);
}

bool ox_saturation_can(const struct ox_saturation *sums, size_t n_sums, const int8_t *weights)
{
    for (size_t i = 0; i < n_sums; i++) {
        if (visit_pairs(&sums[i], pair_can, &weights))
            return true;
    }
    return false;
}

bool ox_saturation_avoided(const struct ox_quant_options *options)
{
    return options->processor != OX_QUANT_EXACT && !options->compat_ort;
}

/* ---- Scales by which none does ------------------------------------------------------------------------------------ */

struct rounding {
    const struct ox_saturation *sums; /* of the same pairs */
    size_t n_sums;
    const float *values;
    const struct ox_qparams *params;
    struct ox_qview view; /* of the values by the axis of the scales */
    int8_t *weights;
    bool moved;
};

static bool same_pairs(const struct ox_saturation *a, const struct ox_saturation *b)
{
    return a->n_outputs == b->n_outputs && a->n_terms == b->n_terms && a->columns == b->columns &&
           a->channels == b->channels;
}

/* Calls visit() with r for each pair of weights of the sums: once for neighbours of the same pairs, as of the steps of a layer that was
 * unrolled, by whose number it would take longer. */
static void visit_sums(struct rounding *r, const struct ox_saturation *sums, size_t n_sums,
                       bool (*visit)(void *arg, const struct pair *pair))
{
    for (size_t first = 0; first < n_sums; first += r->n_sums) {
        r->sums = &sums[first];
        r->n_sums = 1;
        while (first + r->n_sums < n_sums && same_pairs(r->sums, &r->sums[r->n_sums]))
            r->n_sums++;
        visit_pairs(r->sums, visit, r);
    }
}

static struct ox_qparam *pair_of(const struct rounding *r, size_t i)
{
    return &r->params->pairs[r->view.n > 1 ? i / r->view.inner % r->view.n : 0];
}

static int8_t nearest(float value, struct ox_qparam pair)
{
    int8_t q;
    ox_quantize_elements(&value, 1, pair, OX_INT8, &q);
    return q;
}

struct real_pair {
    float a, b;
    struct meets meets;
};

static bool beyond_by(const struct real_pair *p, float scale)
{
    const struct ox_qparam pair = {scale, 0};
    return beyond(nearest(p->a, pair), nearest(p->b, pair), p->meets);
}

/* Integers get no larger as the scale grows, so that halving finds the least one. */
static float least_scale(const struct real_pair *p, float low, enum ox_dtype real)
{
    float high = 2 * low;
    while (beyond_by(p, high))
        high *= 2;
    for (;;) {
        const float middle = ox_qparam_scale(((double)low + (double)high) / 2, real);
        if (!(middle > low && middle < high))
            return high;
        if (beyond_by(p, middle))
            low = middle;
        else
            high = middle;
    }
}

static bool widen_pair(void *arg, const struct pair *pair)
{
    const struct rounding *r = arg;
    struct real_pair p = {.a = r->values[pair->first], .b = r->values[pair->second]};
    struct ox_qparam *by = pair_of(r, pair->first);
    /* Most are far from it. Scales that differ along what is summed are for no operator on integers. */
    if (!(fabsf(p.a + p.b) > 127 * by->scale) || by != pair_of(r, pair->second))
        return false;
    for (size_t i = 0; i < r->n_sums; i++) {
        p.meets = meets_of(&r->sums[i], pair);
        if (beyond_by(&p, by->scale))
            by->scale = least_scale(&p, by->scale, r->params->real);
    }
    return false;
}

/* Larger scales serve as well, and the least leaves a large pair halfway between integers, which counts where an output has few
 * weights. Of the oracle's models those with many gain or lose 1 dB by chance for less than this share of the squared error. */
static const double least_gain = 0.03;
enum { N_LARGER = 8, LARGER_STEPS = 512 };

static float larger(const struct rounding *r, float least, int k)
{
    return ox_qparam_scale((double)least * (LARGER_STEPS + k) / LARGER_STEPS, r->params->real);
}

/* Of q rounded to the nearest, as quantize_tmpl.h rounds. */
static float lost(float q)
{
    const float magic = 12582912.0f;
    return q - ((q + magic) - magic);
}

/* Adds to sums[c] the squared errors, in steps, of [n, inner] values by the inverse of each one's scale. */
static void add_errors(const float *values, size_t n, size_t inner, const float *inverse,
                       float *sums)
{
    for (size_t c = 0; inner == 1 && c < n; c++)
        sums[c] += lost(values[c] * inverse[c]) * lost(values[c] * inverse[c]);
    for (size_t c = 0; inner > 1 && c < n; c++) {
        double sum = 0;
        for (size_t i = 0; inverse[c] > 0 && i < inner; i++) {
            const float error = lost(values[c * inner + i] * inverse[c]);
            sum += (double)(error * error);
        }
        sums[c] += (float)sum;
    }
}

/* Of the scales that grew, each becomes the one of least error among some that are a little larger. */
static enum ox_status refine(const struct rounding *r, const struct ox_qparam *before,
                             struct ox_arena *arena, struct ox_error *err)
{
    const struct ox_qview view = r->view;
    struct ox_qparam *pairs = r->params->pairs;
    float *least = ox_arena_array(arena, view.n, sizeof *least);
    float *inverse = ox_arena_array(arena, view.n, sizeof *inverse);
    float *sums = ox_arena_array(arena, view.n, sizeof *sums);
    double *best = ox_arena_array(arena, view.n, sizeof *best);
    bool any = false;
    if (!least || !inverse || !sums || !best)
        return ox_no_memory(err);
    for (size_t c = 0; c < view.n; c++) {
        least[c] = pairs[c].scale > before[c].scale ? pairs[c].scale : 0;
        any |= least[c] > 0;
    }
    for (int k = 0; any && k < N_LARGER; k++) {
        for (size_t c = 0; c < view.n; c++) {
            inverse[c] = least[c] > 0 ? 1 / larger(r, least[c], k) : 0;
            sums[c] = 0;
        }
        for (size_t o = 0; o < view.outer; o++)
            add_errors(r->values + o * view.n * view.inner, view.n, view.inner, inverse, sums);
        for (size_t c = 0; c < view.n; c++) {
            const double scale = (double)larger(r, least[c], k);
            const double error = (double)sums[c] * scale * scale;
            if (least[c] > 0 && (!k || error < best[c])) {
                best[c] = k ? error : error * (1 - least_gain);
                pairs[c].scale = (float)scale;
            }
        }
    }
    return OX_OK;
}

enum ox_status ox_saturation_widen(const struct ox_saturation *sums, size_t n_sums,
                                   const struct ox_tensor *values, struct ox_qparams *params,
                                   struct ox_arena *arena, double *factor, struct ox_error *err)
{
    const struct ox_qparam *before = params->pairs;
    *factor = 1;
    params->pairs = ox_arena_copy(arena, before, params->n * sizeof *before);
    if (!params->pairs)
        return ox_no_memory(err);
    struct rounding r = {
        .values = values->data, .params = params, .view = ox_qview_of(values, params->axis)};
    visit_sums(&r, sums, n_sums, widen_pair);
    OX_TRY(refine(&r, before, arena, err));
    for (size_t i = 0; i < params->n; i++) {
        const double ratio = (double)params->pairs[i].scale / (double)before[i].scale;
        if (ratio > *factor)
            *factor = ratio;
    }
    return OX_OK;
}

static bool settle_pair(void *arg, const struct pair *pair)
{
    struct rounding *r = arg;
    int8_t *a = &r->weights[pair->first], *b = &r->weights[pair->second];
    bool can = false;
    /* Most are far from it: of one sign, 128 together times 255 still fit. */
    for (size_t i = 0; abs(*a + *b) > 128 && i < r->n_sums && !can; i++)
        can = beyond(*a, *b, meets_of(&r->sums[i], pair));
    if (!can)
        return false;
    const int8_t near_a = nearest(r->values[pair->first], *pair_of(r, pair->first));
    const int8_t near_b = nearest(r->values[pair->second], *pair_of(r, pair->second));
    r->moved |= near_a != *a || near_b != *b;
    *a = near_a;
    *b = near_b;
    return false;
}

void ox_saturation_settle(const struct ox_saturation *sums, size_t n_sums,
                          const struct ox_tensor *values, const struct ox_qparams *params,
                          struct ox_tensor *weights)
{
    struct rounding r = {.values = values->data,
                         .params = params,
                         .view = ox_qview_of(values, params->axis),
                         .weights = weights->data,
                         .moved = true};
    /* What one sum wants may make another saturate; weights that are the nearest stay so. */
    while (r.moved) {
        r.moved = false;
        visit_sums(&r, sums, n_sums, settle_pair);
    }
}

/* ---- What was done ------------------------------------------------------------------------------------------------ */

void ox_saturation_note(struct ox_quant *q)
{
    const struct ox_quant_summary *summary = &q->report->summary;
    if (summary->n_saturating && !ox_saturation_avoided(q->options))
        ox_quant_report_add_note(
            q->report,
            "weights whose products can saturate on x86 processors without VNNI: %zu; "
            "%s or uint8 weights avoid it",
            summary->n_saturating, q->options->compat_ort ? "a reduced range" : "--processor any");
    if (summary->n_widened)
        ox_quant_report_add_note(
            q->report,
            "weights with larger scales, so that their products %s saturate on x86 processors "
            "without VNNI: %zu; by %.2f at most",
            q->options->processor == OX_QUANT_ANY ? "do not" : "cannot", summary->n_widened,
            summary->most_widened);
}
