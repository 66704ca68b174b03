#include <limits.h>
#include <math.h>
#include <string.h>

#include "model/name.h"
#include "quant/budget.h"
#include "quant/channel_stats.h"
#include "quant/estimate.h"
#include "quant/judge.h"
#include "quant/place.h"
#include "quant/unfused.h"

/* What is done beside rounding. */
struct repairs {
    bool correct, equalize, smooth, cancel;
    bool float_transposed; /* what transposed convolutions read and make */
    bool float_bodies;     /* nothing in bodies of If, Loop and Scan is quantized */
    bool wide_recurrent;   /* weights of recurrent layers have 16 bits */
    enum ox_quant_method method;
};

enum { MOST_WAYS = 64 };

/* One attempt after the other, on copies of the model. */
struct search {
    struct ox_model *model;
    const struct ox_calibration *calibration;
    const struct ox_quant_options *options;
    const struct ox_calibration *ranges; /* that ways are judged with; NULL: calibration */
    struct ox_judge judge;
    struct ox_channels channels;
    struct ox_arena arena;
    struct repairs best;
    struct ox_quant_options chosen; /* with what the budget leaves in float */
    struct ox_judged best_judged;
    struct ox_judged met_by; /* what the budget was met by */
    double
        unseen_db; /* what those held out come to by ranges that they are not in; NaN: not known */
    unsigned n_kept; /* ways that were better than all before */
    struct tried {
        struct repairs way;
        double sure; /* that it was not */
    } tried[MOST_WAYS];
    unsigned n_tried;
};

static enum ox_status check_options(const struct ox_model *model,
                                    const struct ox_quant_options *options, struct ox_error *err)
{
    int64_t opset = model->graph ? ox_graph_opset(model->graph, "") : 0;
    enum ox_dtype a = options->activation_type, w = options->weight_type;
    if (!ox_qtype_known(a) || !ox_qtype_known(w) || a == OX_INT4 || a == OX_UINT4)
        return ox_fail(err, OX_USAGE, "activations of %s and weights of %s cannot be quantized to",
                       ox_dtype_name(a), ox_dtype_name(w));
    if (a == OX_INT8 && w == OX_UINT8)
        return ox_fail(err, OX_USAGE,
                       "no runtime has kernels for int8 activations with uint8 "
                       "weights; take int8 weights");
    bool wide = ox_dtype_bits(a) == 16 || ox_dtype_bits(w) != 8;
    if (wide && options->format == OX_QUANT_QOPERATOR)
        return ox_fail(err, OX_USAGE, "4 and 16 bits are for the format qdq");
    /* An axis of DequantizeLinear, which onnxruntime's own operators on integers do without. */
    const bool axes =
        options->per_channel && !(options->compat_ort && options->format == OX_QUANT_QOPERATOR);
    int64_t least = wide ? 21 : axes ? 13 : 10;
    if (opset && opset < least)
        return ox_fail(err, OX_UNSUPPORTED, "this form needs opset %lld, the model is of %lld",
                       (long long)least, (long long)opset);
    return OX_OK;
}

/* ---- One way ------------------------------------------------------------------------------------------------------ */

/* Factors under this are noise of training, above it per-tensor scales fail. */
static const float least_ratio = 8;

static bool saw(const struct ox_quant *q, const struct ox_calibration *calibration,
                const struct ox_graph *graph)
{
    for (size_t i = 0; i < graph->n_values; i++) {
        if (!graph->values[i]->outer && ox_place_seen(q, calibration, graph->values[i]))
            return true;
    }
    return false;
}

/* Reports its products and convolutions. */
static void leave_body(struct ox_quant *q, const struct ox_graph *body)
{
    static const char *const heavy[] = {"Conv", "ConvTranspose", "Gemm", "MatMul"};
    for (size_t i = 0; i < body->n_nodes; i++) {
        for (size_t k = 0; k < OX_COUNT(heavy); k++) {
            if (strcmp(body->nodes[i]->op_type, heavy[k]) == 0)
                ox_quant_report_add_node(q->report, body->nodes[i], NULL,
                                         "what its body decides changes too much by rounding");
        }
    }
}

/* A body that no sample ran (an old table, a branch never taken) is quantized as it runs. */
static enum ox_status quantize_bodies(struct ox_quant *q, const struct ox_calibration *calibration,
                                      const struct repairs *repairs, struct ox_error *err)
{
    for (size_t g = q->n_graphs; g-- > 0;) { /* inner ones first */
        struct ox_graph *body = q->model->graphs[g];
        if (!ox_quant_is_body(body))
            continue;
        if (repairs->float_bodies) {
            leave_body(q, body);
            continue;
        }
        if (!saw(q, calibration, body)) {
            OX_TRY(ox_quant_body(q, body, err));
            continue;
        }
        struct ox_place place;
        OX_TRY(ox_place_begin(&place, q, body, calibration, err));
        place.cancelling = repairs->cancel;
        place.float_transposed = repairs->float_transposed;
        place.wide_recurrent = repairs->wide_recurrent;
        ox_place_ranges(&place);
        OX_TRY(ox_place_own(&place, err));
        OX_TRY(ox_place_weave(&place, err));
        if (q->options->format == OX_QUANT_QOPERATOR)
            OX_TRY(ox_qoperator_standard(q, body, err));
    }
    return OX_OK;
}

/* Channels evened out and moved. *idle: a repair that was asked for changes nothing. */
static enum ox_status change_channels(struct ox_quant *q, const struct ox_calibration *calibration,
                                      const struct repairs *repairs,
                                      struct ox_equalized **equalized, bool *idle,
                                      struct ox_error *err)
{
    *equalized = NULL;
    *idle = false;
    if (repairs->equalize) {
        OX_TRY(ox_quant_equalize(q, calibration, least_ratio, equalized, err));
        *idle = !*equalized;
        OX_TRY(ox_quant_infer(q, err));
    }
    const struct ox_equalized *before = *equalized;
    if (!repairs->smooth)
        return OX_OK;
    OX_TRY(ox_quant_smooth(q, calibration, equalized, err));
    *idle |= *equalized == before;
    return OX_OK;
}

/* idle: NULL, or set where a repair changes nothing, and the model is left in between. */
static enum ox_status quantize(struct ox_quant *q, const struct ox_calibration *calibration,
                               const struct repairs *repairs, const struct ox_channels *channels,
                               bool *idle, struct ox_error *err)
{
    const struct ox_quant_options *options = q->options;
    struct ox_place place;
    struct ox_equalized *equalized;
    struct ox_estimate estimate;
    bool in_vain;
    OX_TRY(ox_quant_infer(q, err));
    OX_TRY(ox_quant_name_scopes(q, err));
    OX_TRY(ox_estimate_begin(&estimate, q, err));
    OX_TRY(change_channels(q, calibration, repairs, &equalized, &in_vain, err));
    if (idle)
        *idle = in_vain;
    if (idle && in_vain)
        return OX_OK;
    if (!options->compat_ort)
        OX_TRY(quantize_bodies(q, calibration, repairs, err));
    OX_TRY(ox_place_begin(&place, q, q->model->graph, calibration, err));
    place.equalized = equalized;
    place.cancelling = repairs->cancel;
    place.float_transposed = repairs->float_transposed;
    place.wide_recurrent = repairs->wide_recurrent;
    place.channels = channels;
    place.correcting = repairs->correct && channels;
    ox_place_ranges(&place);
    if (options->compat_ort && options->format == OX_QUANT_QOPERATOR) {
        OX_TRY(ox_qoperator_like_ort(&place, err));
        ox_saturation_note(q);
        OX_TRY(ox_quant_finish(q, err));
        ox_estimate_end(&estimate, q, true);
        return OX_OK;
    }
    if (options->compat_ort)
        OX_TRY(ox_place_like_ort(&place, err));
    else
        OX_TRY(ox_place_own(&place, err));
    OX_TRY(ox_place_weave(&place, err));
    ox_saturation_note(q);
    if (options->format == OX_QUANT_QOPERATOR)
        OX_TRY(ox_qoperator_standard(q, place.graph, err));
    OX_TRY(ox_quant_finish(q, err));
    ox_estimate_end(&estimate, q, true);
    return ox_quant_find_unfused(q, err);
}

static enum ox_status quantize_model(struct ox_model *model,
                                     const struct ox_calibration *calibration,
                                     const struct ox_quant_options *options,
                                     const struct repairs *repairs,
                                     const struct ox_channels *channels, bool *idle,
                                     struct ox_quant_report **report, struct ox_error *err)
{
    struct ox_quant_options chosen = *options;
    struct ox_quant q;
    chosen.method = repairs->method;
    enum ox_status status = ox_quant_init(&q, model, &chosen, false, err);
    if (status == OX_OK)
        status = quantize(&q, calibration, repairs, channels, idle, err);
    if (status == OX_OK && report) {
        *report = q.report;
        q.report = NULL;
    }
    ox_quant_release(&q);
    return status;
}

/* ---- Which way ---------------------------------------------------------------------------------------------------- */

/* Quantizes a copy and judges it. best: NULL, or what it is to be better than, which a way that does nothing more is not. */
static enum ox_status judge_way(struct search *s, const struct ox_quant_options *options,
                                const struct repairs *way, const struct ox_judged *best,
                                struct ox_judged *judged, struct ox_quant_report **report,
                                struct ox_error *err)
{
    struct ox_model *copy;
    bool idle = false;
    OX_TRY(ox_env_poll(s->calibration->env, err));
    OX_TRY(ox_model_copy(&copy, s->model, err));
    enum ox_status status = quantize_model(copy, s->ranges ? s->ranges : s->calibration, options,
                                           way, &s->channels, best ? &idle : NULL, report, err);
    if (status == OX_OK && idle)
        *judged = (struct ox_judged){.sqnr_db = -200};
    else if (status == OX_OK)
        status = ox_judge_model(&s->judge, copy, best, judged, err);
    ox_model_release(copy);
    return status;
}

static bool is_same_way(const struct repairs *a, const struct repairs *b)
{
    return a->correct == b->correct && a->equalize == b->equalize && a->smooth == b->smooth &&
           a->cancel == b->cancel && a->float_transposed == b->float_transposed &&
           a->float_bodies == b->float_bodies && a->wide_recurrent == b->wide_recurrent &&
           a->method == b->method;
}

/* What was not better than a worse way, as sure as that, is not better now. */
static bool is_tried(const struct search *s, const struct repairs *way, double sure)
{
    bool tried = false;
    for (unsigned i = 0; i < s->n_tried; i++)
        tried |= is_same_way(&s->tried[i].way, way) && s->tried[i].sure <= sure;
    return tried;
}

/* Judges one way; it becomes the best if it gains, and is as sure to as asked for, in standard errors. */
static enum ox_status try_way(struct search *s, struct repairs way, double sure,
                              struct ox_error *err)
{
    const double gain = 0.1; /* dB: less is chance */
    const struct ox_judged *best = s->n_kept ? &s->best_judged : NULL;
    struct ox_judged judged;
    if (is_tried(s, &way, sure))
        return OX_OK;
    OX_TRY(judge_way(s, s->options, &way, best, &judged, NULL, err));
    if (!best || (judged.sqnr_db > best->sqnr_db + gain && ox_judged_gain(best, &judged) > sure)) {
        s->best = way;
        s->best_judged = judged;
        s->n_kept++;
    } else if (s->n_tried < MOST_WAYS) {
        s->tried[s->n_tried++] = (struct tried){way, judged.sqnr_db > -200 ? sure : 0};
    }
    return OX_OK;
}

static enum ox_status try_without(void *arg, const char *const *exclude, size_t n_exclude,
                                  struct ox_judged *judged, struct ox_error *err)
{
    struct search *s = arg;
    struct ox_quant_options options = *s->options;
    options.exclude = exclude;
    options.n_exclude = n_exclude;
    return judge_way(s, &options, &s->best, NULL, judged, NULL, err);
}

/* Whether those that outputs are judged by are a good part of what ranges are from. */
static bool has_few(const struct search *s)
{
    return s->calibration->n_samples <= s->calibration->n_kept;
}

/* Whether a budget is held against ranges without those that outputs are judged by. Of answers, each of which is a large share, ranges
 * of so few would take too many. */
static bool judges_apart(const struct search *s)
{
    const size_t times = s->options->metric == OX_QUANT_TOP1 ? 1 : 2;
    return s->calibration->n_samples <= times * s->calibration->n_kept;
}

/* What the budget wants in float is excluded from here on. It is to hold on other samples: of few, those held out are judged by the
 * ranges of the others. */
static enum ox_status meet_budget(struct search *s, struct ox_error *err)
{
    struct ox_calibration *apart = NULL;
    struct ox_quant_report *report = NULL;
    struct ox_judged judged;
    const char **excluded;
    size_t n_excluded;
    bool met = false;
    enum ox_status status = OX_OK;
    if (judges_apart(s))
        status = ox_calibration_apart(&apart, s->calibration, s->model, s->options, err);
    s->ranges = apart;
    if (status == OX_OK)
        status = judge_way(s, s->options, &s->best, NULL, &judged, &report, err);
    if (status == OX_OK)
        status = ox_budget_meet(&s->arena, s->options, report, try_without, s, &excluded,
                                &n_excluded, &s->met_by, &met, err);
    ox_quant_report_release(report);
    ox_calibration_release(apart);
    s->ranges = NULL;
    if (status != OX_OK)
        return status;
    if (!met)
        return ox_fail(err, OX_NEGATIVE, "the budget is not met with all nodes in float either");
    s->chosen.exclude = excluded;
    s->chosen.n_exclude = n_excluded;
    return judge_way(s, &s->chosen, &s->best, NULL, &s->best_judged, NULL, err);
}

static bool has_type(const struct ox_model *model, const char *op_type)
{
    for (size_t i = 0; i < model->graph->n_nodes; i++) {
        if (strcmp(model->graph->nodes[i]->op_type, op_type) == 0)
            return true;
    }
    return false;
}

static bool has_recurrent(const struct ox_model *model)
{
    return has_type(model, "LSTM") || has_type(model, "GRU") || has_type(model, "RNN");
}

/* How sure a gain must be. What clips gains on many samples and loses on those few whose outliers it cuts off, of which the
 * samples kept may show none: so minmax is left only for what is beyond chance, and for entropy, whose aim is not the least error, last. */
static const double sure_repair = 1;

static double sure_of(enum ox_quant_method method)
{
    return method == OX_QUANT_ENTROPY ? 3 : 2;
}

/* What the best way does not do yet, one after the other. */
static enum ox_status try_repairs(struct search *s, struct ox_error *err)
{
    struct repairs way = s->best;
    way.cancel = true;
    if (!s->best.cancel)
        OX_TRY(try_way(s, way, sure_repair, err));
    way = s->best;
    way.correct = true;
    if (!s->best.correct)
        OX_TRY(try_way(s, way, sure_repair, err));
    /* Errors that cancel leave the mean in place already, and cost some for that: the mean may be had for less. */
    way = s->best;
    way.correct = true;
    way.cancel = false;
    if (s->best.cancel)
        OX_TRY(try_way(s, way, sure_repair, err));
    way = s->best;
    way.equalize = true;
    if (!s->best.equalize)
        OX_TRY(try_way(s, way, sure_repair, err));
    way = s->best;
    way.smooth = true;
    if (!s->best.smooth && has_type(s->model, "LayerNormalization"))
        OX_TRY(try_way(s, way, sure_repair, err));
    /* onnxruntime runs them in float in any case, others may not. */
    way = s->best;
    way.float_transposed = true;
    if ((s->options->accuracy == OX_QUANT_BEST || s->options->has_budget) &&
        s->options->format == OX_QUANT_QDQ && !s->best.float_transposed &&
        has_type(s->model, "ConvTranspose"))
        OX_TRY(try_way(s, way, sure_repair, err));
    return OX_OK;
}

/* What clips moves means, so it may pay only with biases that are corrected. */
static enum ox_status try_method(struct search *s, enum ox_quant_method method,
                                 struct ox_error *err)
{
    struct repairs way = s->best;
    way.method = method;
    if (method == s->best.method)
        return OX_OK;
    OX_TRY(try_way(s, way, sure_of(method), err));
    way.correct = true;
    way.cancel = false;
    return s->best.correct ? OX_OK : try_way(s, way, sure_of(method), err);
}

static enum ox_status try_methods(struct search *s, struct ox_error *err)
{
    for (int m = 0; m < OX_N_QUANT_METHODS; m++) {
        if (m != OX_QUANT_MOVING_AVERAGE)
            OX_TRY(try_method(s, (enum ox_quant_method)m, err));
    }
    return OX_OK;
}

/* Where outputs are poor the methods that gain most are worth their time. */
static enum ox_status try_clipping(struct search *s, struct ox_error *err)
{
    const double poor = 20; /* dB */
    const unsigned kept = s->n_kept;
    if (s->best_judged.sqnr_db >= poor)
        return OX_OK;
    OX_TRY(try_method(s, OX_QUANT_ENTROPY, err));
    OX_TRY(try_method(s, OX_QUANT_MSE, err));
    return s->n_kept == kept ? OX_OK : try_repairs(s, err);
}

/* What costs bytes or time is taken where much is gained of what would be poor otherwise. */
static enum ox_status try_dear(struct search *s, struct repairs way, double poor,
                               struct ox_error *err)
{
    const double gain = 6; /* dB */
    struct ox_judged judged;
    if (s->best_judged.sqnr_db >= poor)
        return OX_OK;
    OX_TRY(judge_way(s, s->options, &way, NULL, &judged, NULL, err));
    if (judged.sqnr_db < s->best_judged.sqnr_db + gain)
        return OX_OK;
    s->best = way;
    s->best_judged = judged;
    return OX_OK;
}

/* What a loop decides by rounded values (the next word, when to end) may be another thing altogether: where outputs suffer from
 * that, bodies are worth more than their products in integers. */
static enum ox_status try_float_bodies(struct search *s, struct ox_error *err)
{
    struct repairs way = s->best;
    bool has_bodies = false;
    for (size_t g = 0; g < s->model->n_graphs; g++)
        has_bodies |= ox_quant_is_body(s->model->graphs[g]);
    way.float_bodies = true;
    return has_bodies ? try_dear(s, way, 20, err) : OX_OK;
}

/* What rounding does to the weights of a recurrent layer adds up from step to step. */
static enum ox_status try_wide_recurrent(struct search *s, struct ox_error *err)
{
    struct repairs way = s->best;
    way.wide_recurrent = true;
    return has_recurrent(s->model) ? try_dear(s, way, 30, err) : OX_OK;
}

static enum ox_status try_all(struct search *s, struct ox_error *err)
{
    const struct ox_quant_options *options = s->options;
    struct repairs way = {.method = OX_QUANT_MINMAX};
    OX_TRY(try_way(s, way, sure_repair, err));
    way.method = options->method;
    if (options->method != OX_QUANT_MINMAX)
        OX_TRY(try_way(s, way, sure_of(way.method), err));
    /* Where clipping is welcome, squared errors may tell better where. */
    way.method = OX_QUANT_MSE;
    if (options->method == OX_QUANT_PERCENTILE || options->method == OX_QUANT_ENTROPY)
        OX_TRY(try_way(s, way, sure_of(way.method), err));
    OX_TRY(try_repairs(s, err));
    OX_TRY(try_float_bodies(s, err));
    OX_TRY(try_wide_recurrent(s, err));
    if (options->accuracy != OX_QUANT_BEST)
        return try_clipping(s, err);
    for (unsigned round = 0, kept = UINT_MAX; round < 3 && kept != s->n_kept; round++) {
        kept = s->n_kept;
        OX_TRY(try_methods(s, err));
        if (kept != s->n_kept)
            OX_TRY(try_repairs(s, err));
    }
    return OX_OK;
}

static bool holds_int8(const struct ox_model *model)
{
    for (size_t g = 0; g < model->n_graphs; g++) {
        const struct ox_graph *graph = model->graphs[g];
        for (size_t i = 0; i < graph->n_values; i++) {
            const struct ox_stored *stored = ox_value_stored(graph->values[i]);
            if (stored && stored->dtype == OX_INT8)
                return true;
        }
    }
    return false;
}

/* Of few samples most meet values beyond the ranges of the others. Of more than are kept those held out add little to the ranges. */
static enum ox_status judge_unseen(struct search *s, struct ox_error *err)
{
    struct ox_calibration *apart = NULL;
    struct ox_model *copy = NULL;
    struct ox_judged judged;
    if (!has_few(s))
        return OX_OK;
    enum ox_status status = ox_calibration_apart(&apart, s->calibration, s->model, s->options, err);
    if (status == OX_OK)
        status = ox_model_copy(&copy, s->model, err);
    if (status == OX_OK)
        status = quantize_model(copy, apart, &s->chosen, &s->best, &s->channels, NULL, NULL, err);
    if (status == OX_OK)
        status = ox_judge_model(&s->judge, copy, NULL, &judged, err);
    if (status == OX_OK)
        s->unseen_db = judged.sqnr_db;
    ox_model_release(copy);
    ox_calibration_release(apart);
    return status;
}

/* What the budget excluded, and not the user. */
static void tell_budget(const struct search *s, struct ox_quant_report *report)
{
    for (size_t i = 0; i < report->n_nodes; i++) {
        struct ox_quant_node *node = &report->nodes[i];
        for (size_t k = s->options->n_exclude; k < s->chosen.n_exclude && !node->quantized; k++) {
            if (strcmp(node->name, s->chosen.exclude[k]) == 0)
                node->reason = "the budget needs it in float";
        }
    }
}

/* What the budget was held against. */
static void note_budget(const struct search *s, struct ox_quant_report *report)
{
    const struct ox_judged *by = &s->met_by;
    const bool sqnr = s->options->metric == OX_QUANT_SQNR;
    const double loss = ox_budget_loss(by, s->options->metric, true);
    ox_quant_report_add_note(report, "the budget is met by %zu samples held out%s%s: %.3g%s",
                             by->n_samples,
                             judges_apart(s) ? ", with ranges of the others alone" : "",
                             s->options->metric == OX_QUANT_TOP1 ? "" : ", with a standard error",
                             sqnr ? -loss : loss, sqnr ? " dB" : "");
}

/* Says so where ranges are not steady yet. */
static void note_few(const struct search *s, struct ox_quant_report *report)
{
    const double much = 3; /* dB */
    if (s->unseen_db < s->best_judged.sqnr_db - much)
        ox_quant_report_add_note(
            report,
            "%llu samples are few: by the ranges of one half of them the other comes to %.1f dB",
            (unsigned long long)s->calibration->n_samples, s->unseen_db);
}

static enum ox_status search(struct search *s, struct ox_error *err)
{
    enum ox_status status = ox_judge_begin(&s->judge, s->model, s->calibration, err);
    /* What is made for such sums does not saturate, and exact ones are quicker: only what is there already may. */
    s->judge.saturating = s->options->processor == OX_QUANT_AVX2_SATURATING && holds_int8(s->model);
    if (status == OX_OK)
        status = try_all(s, err);
    if (status == OX_OK && s->options->has_budget)
        status = meet_budget(s, err);
    return status == OX_OK ? judge_unseen(s, err) : status;
}

enum ox_status ox_quantize_static(struct ox_model *model, struct ox_calibration *calibration,
                                  const struct ox_quant_options *options,
                                  struct ox_quant_report **report, struct ox_error *err)
{
    enum { LEAST_KEPT = 8 };
    struct search s = {.model = model, .calibration = calibration, .options = options};
    ox_arena_init(&s.arena, ox_env_budget(calibration->env));
    s.chosen = *options;
    s.unseen_db = (double)NAN;
    s.best = (struct repairs){.correct = options->bias_correction,
                              .equalize = options->equalize,
                              .smooth = options->smooth,
                              .method = options->method};
    enum ox_status status = check_options(model, options, err);
    bool judged = !options->compat_ort && options->accuracy != OX_QUANT_PLAIN &&
                  calibration->n_kept >= LEAST_KEPT;
    if (status == OX_OK && options->has_budget && !judged)
        status = ox_fail(err, OX_USAGE, "a budget needs samples to judge by, at least %d of them",
                         LEAST_KEPT);
    bool needs_channels = calibration->n_kept && !options->compat_ort &&
                          (judged || s.best.correct || options->processor == OX_QUANT_ANY);
    if (status == OX_OK && needs_channels)
        status = ox_channels_find(&s.channels, &s.arena, model, calibration, err);
    if (status == OX_OK && judged)
        status = search(&s, err);
    if (status == OX_OK)
        status = quantize_model(model, calibration, &s.chosen, &s.best,
                                needs_channels ? &s.channels : NULL, NULL, report, err);
    if (status == OX_OK && judged && report)
        (*report)->summary.held_out_db = s.best_judged.sqnr_db;
    if (status == OX_OK && judged && report)
        ox_quant_report_add_note(
            *report, "on samples held out: %.1f dB%s%s%s%s%s%s%s, ranges by %s",
            s.best_judged.sqnr_db, s.best.cancel ? ", rounding evened out" : "",
            s.best.correct ? ", biases corrected" : "",
            s.best.equalize ? ", channels evened out" : "",
            s.best.smooth ? ", normalizations smoothed" : "",
            s.best.float_transposed ? ", weights alone of transposed convolutions" : "",
            s.best.float_bodies ? ", bodies in float" : "",
            s.best.wide_recurrent ? ", weights of recurrent layers in 16 bits" : "",
            ox_quant_method_name(s.best.method));
    if (status == OX_OK && judged && report) {
        tell_budget(&s, *report);
        if (options->has_budget)
            note_budget(&s, *report);
        note_few(&s, *report);
    }
    ox_judge_end(&s.judge);
    ox_channels_release(&s.channels);
    ox_arena_release(&s.arena);
    return status == OX_OK ? status : ox_fail_model(err, status, model);
}
