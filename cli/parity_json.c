#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "parity.h"

/* null where it means nothing, "Infinity" where it is. */
static void number(struct ox_json *json, const char *key, double value)
{
    ox_json_key(json, key);
    if (isnan(value))
        ox_json_null(json);
    else
        ox_json_double(json, value);
}

/* All digits of an integer, which a double may not hold; a complex number as text. */
static void value(struct ox_json *json, const char *key, double number, const char *digits)
{
    char *end, *unsigned_end;
    long long integer = strtoll(digits, &end, 10);
    unsigned long long natural = strtoull(digits, &unsigned_end, 10);
    size_t n = strlen(digits);
    bool complex = n && digits[n - 1] == 'j';
    ox_json_key(json, key);
    if (complex || (isnan(number) && strcmp(digits, "nan") != 0 && strcmp(digits, "-nan") != 0))
        ox_json_string(json, digits);
    else if (*digits && !*end && (double)integer == number)
        ox_json_int(json, integer);
    else if (*digits && *digits != '-' && !*unsigned_end && (double)natural == number)
        ox_json_uint(json, natural);
    else
        ox_json_double(json, number);
}

static void worst(struct ox_json *json, const struct ox_worst *w, uint64_t n_samples)
{
    ox_json_key(json, "worst");
    if (!w->found) {
        ox_json_null(json);
        return;
    }
    ox_json_object(json);
    ox_json_key(json, "index");
    ox_json_array(json);
    for (unsigned k = 0; k < w->rank; k++)
        ox_json_int(json, w->index[k]);
    ox_json_end_array(json);
    value(json, "a", w->a, w->a_text);
    value(json, "b", w->b, w->b_text);
    if (n_samples > 1)
        cli_json_uint(json, "sample", w->sample);
    ox_json_end_object(json);
}

/* The members of a comparison, into the object that is open. */
static void metrics(struct ox_json *json, const struct ox_metrics *m, bool detail)
{
    static const char *const detailed[] = {"ulp_p50", "ulp_p90", "ulp_p99",
                                           "ulp_max", "top1",    "top5"};
    for (size_t i = 0; ox_metric_name(i); i++) {
        const char *name = ox_metric_name(i);
        bool more = false;
        for (size_t k = 0; k < sizeof detailed / sizeof *detailed; k++)
            more = more || strcmp(name, detailed[k]) == 0;
        double figure = NAN;
        ox_metrics_find(m, name, &figure);
        if (!more || detail)
            number(json, name, figure);
    }
    cli_json_uint(json, "elements", m->n_elements);
    cli_json_uint(json, "mismatched_elements", m->n_mismatched);
    if (m->a_nan || m->b_nan || m->a_inf || m->b_inf) {
        ox_json_key(json, "nonfinite");
        ox_json_object(json);
        cli_json_uint(json, "a_nan", m->a_nan);
        cli_json_uint(json, "b_nan", m->b_nan);
        cli_json_uint(json, "a_inf", m->a_inf);
        cli_json_uint(json, "b_inf", m->b_inf);
        ox_json_end_object(json);
    }
    worst(json, &m->worst, m->n_samples);
    if (!detail)
        return;
    ox_json_key(json, "histogram");
    ox_json_array(json);
    for (size_t i = 0; i < OX_ERROR_BINS; i++)
        ox_json_uint(json, m->histogram[i]);
    ox_json_end_array(json);
}

static void truth(struct ox_json *json, const struct parity_output *output)
{
    if (!output->a_truth)
        return;
    ox_json_key(json, "oracle");
    ox_json_object(json);
    number(json, "a_max_abs", output->a_error.max_abs);
    number(json, "b_max_abs", output->b_error.max_abs);
    number(json, "a_sqnr_db", output->a_error.sqnr_db);
    number(json, "b_sqnr_db", output->b_error.sqnr_db);
    if (output->truths)
        number(json, "models_max_abs", output->truth_difference.max_abs);
    cli_json_string(json, "nearer", output->nearer);
    cli_json_string(json, "verdict", output->verdict);
    ox_json_end_object(json);
}

static void products(struct ox_json *json, const struct parity_output *output)
{
    if (!output->products[0])
        return;
    ox_json_key(json, "saturating");
    ox_json_object(json);
    cli_json_bool(json, "agree", output->saturated_difference.agree);
    number(json, "sqnr_db", output->saturated_difference.sqnr_db);
    cli_json_string(json, "evidence", output->products);
    ox_json_end_object(json);
}

static void output_entry(struct ox_json *json, const struct parity *p,
                         const struct parity_output *output)
{
    const struct ox_metrics *m = &output->metrics;
    ox_json_object(json);
    cli_json_string(json, "name", output->name);
    cli_json_bool(json, "agree", m->agree);
    if (p->n_sides > 2)
        cli_json_string(json, "against", parity_reference(p, output->side));
    if (!m->agree)
        cli_json_string(json, "reason", output->failed[0] ? output->failed : m->reason);
    if (m->note[0])
        cli_json_string(json, "note", m->note);
    if (output->in_a && output->in_b) {
        cli_json_string(json, "type", ox_dtype_name(m->a_dtype));
        metrics(json, m, p->args->metric);
        truth(json, output);
        products(json, output);
        if (output->chance)
            cli_json_string(json, "random", output->chance);
    }
    ox_json_end_object(json);
}

/* ---- Layers -------------------------------------------------------------------------------------------------------- */

static void layer_entry(struct ox_json *json, const struct ox_parity_layer *layer)
{
    ox_json_object(json);
    cli_json_string(json, "a", layer->a_name);
    cli_json_string(json, "b", layer->b_name);
    cli_json_string(json, "node", layer->a_node);
    cli_json_string(json, "b_node", layer->b_node);
    cli_json_string(json, "op_type", layer->a_op);
    cli_json_string(json, "b_op_type", layer->b_op);
    cli_json_string(json, "match", layer->match);
    cli_json_bool(json, "agree", layer->metrics.agree);
    if (!layer->metrics.agree)
        cli_json_string(json, "reason", layer->metrics.reason);
    metrics(json, &layer->metrics, false);
    if (layer->has_own) {
        number(json, "own_max_abs", layer->own.max_abs);
        number(json, "own_sqnr_db", layer->own.sqnr_db);
        cli_json_bool(json, "own_agree", layer->own.agree);
    }
    if (layer->has_noise) {
        ox_json_key(json, "perturbed");
        ox_json_object(json);
        cli_json_double(json, "by", layer->noise);
        number(json, "amplifies", layer->amplifies);
        number(json, "from_inputs", layer->swayed);
        ox_json_end_object(json);
        cli_json_string(json, "nature", layer->nature);
    }
    if (layer->has_qdq) {
        number(json, "qdq_sqnr_db", layer->qdq.sqnr_db);
        number(json, "xmodel_sqnr_db", layer->cross.sqnr_db);
    }
    if (layer->has_oracle) {
        number(json, "a_error", layer->a_error.max_abs);
        number(json, "b_error", layer->b_error.max_abs);
    }
    ox_json_end_object(json);
}

static void first_divergence(struct ox_json *json, const struct parity *p)
{
    struct ox_parity_layer layer;
    ox_json_key(json, "first_divergence");
    if (!p->suspect.value && p->first == SIZE_MAX) {
        ox_json_null(json);
        return;
    }
    ox_json_object(json);
    if (p->first == SIZE_MAX) {
        cli_json_string(json, "node", p->suspect.op_type ? p->suspect.node : NULL);
        cli_json_string(json, "output", p->suspect.value);
        cli_json_string(json, "op_type", p->suspect.op_type);
        cli_json_uint(json, "runs", p->suspect.n_runs);
    } else {
        ox_parity_layer(p->layers, p->first, &layer);
        cli_json_string(json, "node", layer.b_node);
        cli_json_string(json, "a_node", layer.a_node);
        cli_json_string(json, "output", layer.b_name);
        cli_json_string(json, "op_type", layer.b_op);
        cli_json_string(json, "a_op_type", layer.a_op);
        cli_json_string(json, "reason", layer.metrics.reason);
        number(json, "max_abs", layer.metrics.max_abs);
        if (layer.has_own)
            number(json, "own_max_abs", layer.own.max_abs);
    }
    ox_json_key(json, "causes");
    ox_json_array(json);
    const struct ox_parity_cause *cause;
    for (size_t i = 0; (cause = parity_cause(p, i)); i++) {
        ox_json_object(json);
        cli_json_string(json, "id", cause->id);
        cli_json_string(json, "evidence", cause->text);
        ox_json_end_object(json);
    }
    ox_json_end_array(json);
    ox_json_end_object(json);
}

void parity_print_json(struct parity *p, struct ox_strbuf *out)
{
    struct ox_json json;
    ox_json_init(&json, out, false);
    ox_json_object(&json);
    cli_json_string(&json, "schema", "onnxtool.parity/1");
    cli_json_string(&json, "a", p->sides[0].label);
    ox_json_key(&json, "b");
    if (p->n_sides > 2) {
        ox_json_array(&json);
        for (size_t i = 1; i < p->n_sides; i++)
            ox_json_string(&json, p->sides[i].label);
        ox_json_end_array(&json);
    } else {
        ox_json_string(&json, parity_reference(p, 1));
    }
    for (size_t i = 0; i < p->n_sides; i++)
        if (p->sides[i].version[0])
            cli_json_string(&json, i ? "b_engine" : "a_engine", p->sides[i].version);
    cli_json_uint(&json, "samples", p->n_samples);
    cli_json_bool(&json, "agree", p->agree);
    ox_json_key(&json, "outputs");
    ox_json_array(&json);
    for (size_t i = 0; i < p->n_outputs; i++)
        output_entry(&json, p, &p->outputs[i]);
    ox_json_end_array(&json);
    if (p->args->layers) {
        struct ox_parity_layer layer;
        ox_json_key(&json, "layers");
        ox_json_array(&json);
        for (size_t i = 0; i < ox_parity_n_layers(p->layers); i++)
            if (ox_parity_layer(p->layers, i, &layer))
                layer_entry(&json, &layer);
        ox_json_end_array(&json);
    }
    first_divergence(&json, p);
    if (p->trace)
        trace_print_json(p->trace, &json);
    ox_json_end_object(&json);
    ox_strbuf_putc(out, '\n');
}
