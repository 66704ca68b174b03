/* One reading of a model: run, and held against what is expected. */
#include "parity/expected.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Comparing ----------------------------------------------------------------------------------------------------- */

enum ox_status ox_expecting_compare(const struct ox_expecting *e,
                                    const struct ox_expected_pair *pair, const struct ox_datum *is,
                                    const struct ox_datum *expected, struct ox_metrics *out,
                                    struct ox_error *err)
{
    struct ox_meter *meter = NULL;
    OX_TRY(ox_meter_new(&meter, e->env, &pair->metrics, err));
    enum ox_status status = ox_meter_add(meter, is, expected, err);
    if (status == OX_OK)
        ox_meter_read(meter, out);
    ox_meter_release(meter);
    return status;
}

bool ox_expecting_is_clear(double before, double after)
{
    static const double CLEARER = 4;
    return isnan(before) || after * CLEARER <= before;
}

static bool same_bytes(const struct ox_datum *a, const struct ox_datum *b)
{
    const struct ox_tensor *x = ox_datum_get_tensor(a), *y = ox_datum_get_tensor(b);
    return x && y && x->dtype == y->dtype && x->dtype != OX_STRING && x->n == y->n &&
           ox_tensor_same_dims(x, y) &&
           (!x->n || memcmp(x->data, y->data, x->n * ox_dtype_size(x->dtype)) == 0);
}

/* The outputs of a reading. It counts where all agree, and as far as the one that moved least has come otherwise. */
struct judgement {
    bool agrees, clear;
    double worst, from, to; /* of outputs that depart as the model stands: the largest part left */
    const char *name;
    uint64_t n_elements; /* of these */
};

static enum ox_status judge(const struct ox_expecting *e, struct ox_datum *const *outputs,
                            struct judgement *j, struct ox_error *err)
{
    *j = (struct judgement){.agrees = true, .clear = true, .worst = -1};
    for (size_t i = 0; i < e->n_pairs; i++) {
        const struct ox_expected_pair *pair = &e->pairs[i];
        struct ox_metrics m;
        OX_TRY(ox_expecting_compare(e, pair, outputs[pair->output], pair->expected, &m, err));
        j->agrees = j->agrees && m.agree;
        if (pair->agrees) {
            j->worst = m.agree ? j->worst : INFINITY;
            continue;
        }
        j->clear = j->clear && ox_expecting_is_clear(pair->max_abs, m.max_abs);
        j->n_elements += m.n_elements;
        const double left = m.max_abs / pair->max_abs;
        if (!(left <= j->worst)) {
            j->worst = isnan(left) ? INFINITY : left;
            j->from = pair->max_abs;
            j->to = m.max_abs;
            j->name = pair->name;
        }
    }
    return OX_OK;
}

static void tell_agreement(struct ox_expecting *e, const struct ox_reading *reading,
                           const struct judgement *j)
{
    enum { FEW = 4 };
    char figures[96] = "", few[64] = "";
    if (!isnan(j->from) && !isnan(j->to))
        snprintf(figures, sizeof figures, ": the largest difference is %.3g, %.3g as it is", j->to,
                 j->from);
    if (j->n_elements < FEW)
        snprintf(few, sizeof few, "; %llu %s, which may be chance",
                 (unsigned long long)j->n_elements,
                 j->n_elements == 1 ? "element tells" : "elements tell");
    ox_cause_add(e->causes, reading->weight, reading->id, "with %s what is expected agrees%s%s",
                 reading->text, figures, few);
    e->n_agree++;
}

static enum ox_status weigh(struct ox_expecting *e, const struct ox_reading *reading,
                            struct ox_datum *const *outputs, struct ox_verdict *verdict,
                            struct ox_error *err)
{
    static const double NEARER = 0.1;
    struct judgement j;
    for (size_t i = 0; i < e->n_outputs && !verdict->changed; i++)
        verdict->changed = !same_bytes(outputs[i], e->outputs[i]);
    OX_TRY(judge(e, outputs, &j, err));
    verdict->agrees = j.agrees && j.clear;
    if (verdict->agrees) {
        tell_agreement(e, reading, &j);
    } else if (j.worst <= NEARER && j.worst < e->nearest) {
        e->nearest = j.worst;
        e->nearest_from = j.from;
        e->nearest_to = j.to;
        snprintf(e->nearest_text, sizeof e->nearest_text, "%s", reading->text);
        snprintf(e->nearest_output, sizeof e->nearest_output, "%s", j.name ? j.name : "");
    }
    return OX_OK;
}

/* ---- Trying -------------------------------------------------------------------------------------------------------- */

bool ox_expecting_is_full(const struct ox_expecting *e)
{
    return e->n_runs >= e->most_runs;
}

static bool ends_all(enum ox_status status)
{
    return status == OX_NO_MEMORY || status == OX_CANCELLED || status == OX_INTERNAL;
}

static enum ox_status run_reading(struct ox_expecting *e, const struct ox_reading *reading,
                                  struct ox_session *session, struct ox_datum *const *inputs,
                                  struct ox_verdict *verdict, struct ox_error *err)
{
    struct ox_datum **outputs = calloc(e->n_outputs + 1, sizeof(struct ox_datum *));
    if (!outputs)
        return ox_no_memory(err);
    e->n_runs++;
    e->n_readings++;
    enum ox_status status = ox_session_run(session, inputs, outputs, err);
    verdict->ran = status == OX_OK;
    if (verdict->ran)
        status = weigh(e, reading, outputs, verdict, err);
    else if (!ends_all(status))
        status = OX_OK;
    for (size_t i = 0; i < e->n_outputs; i++)
        ox_datum_release(outputs[i]);
    free(outputs);
    return status;
}

enum ox_status ox_expecting_try_inputs(struct ox_expecting *e, const struct ox_reading *reading,
                                       struct ox_datum *const *inputs, struct ox_verdict *verdict,
                                       struct ox_error *err)
{
    *verdict = (struct ox_verdict){.ran = false};
    return ox_expecting_is_full(e) ? OX_OK
                                   : run_reading(e, reading, e->session, inputs, verdict, err);
}

enum ox_status ox_expecting_open(const struct ox_expecting *e, struct ox_model *model,
                                 struct ox_session **session, struct ox_error *err)
{
    const struct ox_run_options options = {.level = e->options->a_level,
                                           .saturating = e->options->saturating,
                                           .lean = true,
                                           .seed = e->options->seed};
    return ox_session_new(session, model, &options, err);
}

enum ox_status ox_expecting_try_model(struct ox_expecting *e, const struct ox_reading *reading,
                                      struct ox_model *model, struct ox_verdict *verdict,
                                      struct ox_error *err)
{
    struct ox_session *session = NULL;
    *verdict = (struct ox_verdict){.ran = false};
    if (ox_expecting_is_full(e))
        return OX_OK;
    enum ox_status status = ox_expecting_open(e, model, &session, err);
    if (status != OX_OK)
        return ends_all(status) ? status : OX_OK;
    const bool fits = ox_session_n_inputs(session) == e->n_inputs &&
                      ox_session_n_outputs(session) == e->n_outputs;
    if (fits)
        status = run_reading(e, reading, session, e->inputs, verdict, err);
    ox_session_release(session);
    return status;
}
