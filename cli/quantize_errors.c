/* The error of each node of a quantized model: its own, and what has gathered. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "quantize_common.h"

void quantize_errors_release(struct quantize_errors *errors)
{
    ox_parity_release(errors->parity);
    ox_model_release(errors->original);
    ox_model_release(errors->quantized);
    free(errors->rows);
    *errors = (struct quantize_errors){0};
}

static double decibel(const struct ox_metrics *metrics)
{
    /* No difference at all: more than can be told. */
    return isnan(metrics->sqnr_db) && metrics->n_mismatched == 0 ? 200
                                                                 : fmin(metrics->sqnr_db, 200);
}

static enum ox_status collect(struct quantize_errors *errors, struct ox_error *err)
{
    size_t n = ox_parity_n_layers(errors->parity);
    struct ox_parity_layer layer;
    errors->rows = calloc(n + 1, sizeof *errors->rows);
    if (!errors->rows)
        return ox_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        if (!ox_parity_layer(errors->parity, i, &layer))
            continue;
        errors->rows[errors->n++] =
            (struct quantize_error){.node = layer.b_node,
                                    .op_type = layer.b_op,
                                    .value = layer.b_name,
                                    .own_db = layer.has_own ? decibel(&layer.own) : NAN,
                                    .rounded_db = layer.has_qdq ? decibel(&layer.qdq) : NAN,
                                    .gathered_db = decibel(&layer.metrics)};
    }
    return OX_OK;
}

static void release_all(struct ox_datum **data, size_t n)
{
    for (size_t i = 0; data && i < n; i++) {
        ox_datum_release(data[i]);
        data[i] = NULL;
    }
}

/* Seconds of a run on random inputs: the quickest after the first. */
static enum ox_status time_runs(struct ox_session *session, struct ox_datum **inputs,
                                struct ox_datum **outputs, double *least, struct ox_error *err)
{
    enum { RUNS = 6 };
    enum ox_status status = OX_OK;
    for (size_t i = 0; i < ox_session_n_inputs(session) && status == OX_OK; i++) {
        if (ox_session_input_required(session, i))
            status = ox_session_random_input(session, i, 1, NULL, &inputs[i], err);
    }
    for (int run = 0; run < RUNS && status == OX_OK; run++) {
        double start = cli_seconds();
        status = ox_session_run(session, inputs, outputs, err);
        double took = cli_seconds() - start;
        release_all(outputs, ox_session_n_outputs(session));
        *least = run > 0 && (*least == 0 || took < *least) ? took : *least;
    }
    return status;
}

/* 0 where the model cannot be run on random inputs. */
static double time_of(struct ox_model *model)
{
    struct ox_error unused;
    struct ox_run_options options = {.level = 2};
    struct ox_session *session;
    double least = 0;
    if (ox_session_new(&session, model, &options, &unused) != OX_OK)
        return 0;
    size_t n_in = ox_session_n_inputs(session), n_out = ox_session_n_outputs(session);
    struct ox_datum **inputs = calloc(n_in + 1, sizeof *inputs);
    struct ox_datum **outputs = calloc(n_out + 1, sizeof *outputs);
    if (!inputs || !outputs || time_runs(session, inputs, outputs, &least, &unused) != OX_OK)
        least = 0;
    release_all(inputs, n_in);
    free(inputs);
    free(outputs);
    ox_session_release(session);
    return least;
}

enum ox_status quantize_errors_find(struct quantize_errors *errors, struct cli *cli,
                                    const char *quantized, const char *original,
                                    const struct opt_strings *samples, uint64_t most,
                                    struct ox_error *err)
{
    enum ox_status status = cli_open_sorted(cli, &errors->quantized, quantized, err);
    if (status == OX_OK)
        status = cli_open_sorted(cli, &errors->original, original, err);
    if (status == OX_OK)
        status = ox_quant_debug(&errors->parity, errors->quantized, errors->original,
                                samples->items, samples->n, most, err);
    if (status == OX_OK) {
        errors->original_s = time_of(errors->original);
        errors->quantized_s = time_of(errors->quantized);
    }
    return status == OX_OK ? collect(errors, err) : status;
}

const struct quantize_error *quantize_errors_worst(const struct quantize_errors *errors)
{
    const struct quantize_error *worst = NULL;
    for (size_t i = 0; i < errors->n; i++) {
        if (isfinite(errors->rows[i].own_db) && (!worst || errors->rows[i].own_db < worst->own_db))
            worst = &errors->rows[i];
    }
    return worst;
}

const struct quantize_error *quantize_error_of(const struct quantize_errors *errors,
                                               const char *graph, const char *node)
{
    for (size_t i = 0; i < errors->n && !*graph; i++) {
        if (strcmp(errors->rows[i].node, node) == 0)
            return &errors->rows[i];
    }
    return NULL;
}

/* ---- Printing ----------------------------------------------------------------------------------------------------- */

static void column(struct ox_strbuf *out, double db)
{
    if (isfinite(db))
        ox_strbuf_printf(out, "%8.1f", db);
    else
        ox_strbuf_printf(out, "%8s", "-");
}

void quantize_errors_text(struct ox_strbuf *out, const struct quantize_errors *errors)
{
    ox_strbuf_puts(out, "     own rounding gathered  node: value (dB of signal to noise)\n");
    for (size_t i = 0; i < errors->n; i++) {
        const struct quantize_error error = errors->rows[i];
        column(out, error.own_db);
        column(out, error.rounded_db);
        column(out, error.gathered_db);
        ox_strbuf_puts(out, "  ");
        ox_strbuf_name(out, error.op_type, 64);
        ox_strbuf_putc(out, ' ');
        ox_strbuf_name(out, error.node, 256);
        ox_strbuf_puts(out, ": ");
        ox_strbuf_name(out, error.value, 256);
        ox_strbuf_putc(out, '\n');
    }
}

void quantize_errors_json(struct ox_json *json, const struct quantize_errors *errors)
{
    ox_json_array(json);
    for (size_t i = 0; i < errors->n; i++) {
        const struct quantize_error error = errors->rows[i];
        ox_json_object(json);
        cli_json_string(json, "node", error.node);
        cli_json_string(json, "op_type", error.op_type);
        cli_json_string(json, "value", error.value);
        ox_json_finite(json, "own_db", error.own_db);
        ox_json_finite(json, "rounding_db", error.rounded_db);
        ox_json_finite(json, "gathered_db", error.gathered_db);
        ox_json_end_object(json);
    }
    ox_json_end_array(json);
}
