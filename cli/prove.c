#include "prove.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANK = 64 };

void prove_release(struct ox_datum **data, size_t n)
{
    for (size_t i = 0; data && i < n; i++) {
        ox_datum_release(data[i]);
        data[i] = NULL;
    }
}

void prove_close(struct prove_side *side, bool owns_inputs)
{
    if (owns_inputs)
        prove_release(side->inputs, side->n_inputs);
    prove_release(side->outputs, side->n_outputs);
    free(side->inputs);
    free(side->outputs);
    ox_session_release(side->session);
}

enum ox_status prove_open(struct prove_side *side, struct ox_model *model, struct ox_error *err)
{
    enum ox_status status =
        ox_session_new(&side->session, model, &(struct ox_run_options){.narrow = true}, err);
    if (status != OX_OK)
        return status;
    side->n_inputs = ox_session_n_inputs(side->session);
    side->n_outputs = ox_session_n_outputs(side->session);
    side->inputs = calloc(side->n_inputs + 1, sizeof(*side->inputs));
    side->outputs = calloc(side->n_outputs + 1, sizeof(*side->outputs));
    if (side->inputs && side->outputs)
        return OX_OK;
    return ox_no_memory(err);
}

static void at_most(double *least, double db)
{
    *least = *least == 0 || db < *least ? db : *least;
}

enum ox_status prove_enough(struct ox_model *model, double *enough_db, struct ox_error *err)
{
    struct ox_weight_list *weights;
    enum ox_status status = ox_weight_list_new(&weights, model, err);
    const unsigned bits = ox_model_code_bits(model);
    *enough_db = 0;
    if (status != OX_OK)
        return status;
    for (size_t i = 0; i < ox_weight_list_count(weights); i++) {
        const enum ox_dtype type = ox_weight_list_at(weights, i)->dtype;
        if (type == OX_BFLOAT16 || type == OX_FLOAT16)
            at_most(enough_db, type == OX_FLOAT16 ? ENOUGH_FOR_HALF : ENOUGH_FOR_BRAIN);
    }
    ox_weight_list_release(weights);
    if (bits)
        at_most(enough_db, bits == 8 ? ENOUGH_FOR_CODES : ENOUGH_FOR_WORDS);
    return OX_OK;
}

enum ox_status prove_scale(struct ox_datum **datum, struct ox_env *env, float factor,
                           struct ox_error *err)
{
    const struct ox_tensor *from = ox_datum_get_tensor(*datum);
    struct ox_tensor *to = NULL;
    struct ox_datum *made = NULL;
    if (!from || ox_tensor_dtype(from) != OX_FLOAT32)
        return OX_OK;
    size_t n = ox_tensor_count(from);
    float *values = malloc((n + 1) * sizeof *values);
    if (!values)
        return ox_no_memory(err);
    for (size_t i = 0; i < n; i++)
        values[i] = ((const float *)ox_tensor_data(from))[i] * factor;
    enum ox_status status = ox_tensor_from_data(&to, env, OX_FLOAT32, ox_tensor_rank(from),
                                                ox_tensor_dims(from), values, err);
    if (status == OX_OK)
        status = ox_datum_of_tensor(&made, to, err);
    ox_tensor_release(to);
    free(values);
    if (status == OX_OK) {
        ox_datum_release(*datum);
        *datum = made;
    }
    return status;
}

/* Sizes of open dimensions: those of that name, if any; those that run in time or space, where that is not 0; and the rest. */
struct sizes {
    int64_t open, named;
    const char *name;
    int64_t along;
};

/* Of an image or volume what follows the channels, of signals and sequences what is last. */
static bool runs_along(const struct ox_port *port, unsigned k)
{
    return k >= 2 || k + 1 == port->rank;
}

/* Whether the name is that of what does not run along, a batch, in any input. */
static bool names_batch(const struct ox_session *session, const char *name)
{
    for (size_t i = 0; i < ox_session_n_inputs(session); i++) {
        const struct ox_port *port = ox_session_input(session, i);
        for (unsigned k = 0; k < port->rank && port->symbols; k++)
            if (!runs_along(port, k) && port->symbols[k] && strcmp(port->symbols[k], name) == 0)
                return true;
    }
    return false;
}

static int64_t size_of(const struct sizes *sizes, const struct ox_session *session,
                       const struct ox_port *port, unsigned k)
{
    if (port->dims[k] >= 0)
        return port->dims[k];
    const char *name = port->symbols ? port->symbols[k] : NULL;
    if (sizes->along && runs_along(port, k) && !(name && names_batch(session, name)))
        return sizes->along;
    return sizes->name && name && strcmp(name, sizes->name) == 0 ? sizes->named : sizes->open;
}

static enum ox_status draw(struct ox_session *session, uint64_t seed, const struct sizes *sizes,
                           struct ox_datum **inputs, struct ox_error *err)
{
    for (size_t i = 0; i < ox_session_n_inputs(session); i++) {
        const struct ox_port *port = ox_session_input(session, i);
        int64_t dims[MOST_RANK];
        ox_datum_release(inputs[i]);
        inputs[i] = NULL;
        if (!port->required)
            continue;
        for (unsigned k = 0; k < port->rank && k < MOST_RANK; k++)
            dims[k] = size_of(sizes, session, port, k);
        enum ox_status status = ox_session_random_input(
            session, i, seed + i, port->has_rank && port->rank <= MOST_RANK ? dims : NULL,
            &inputs[i], err);
        if (status != OX_OK)
            return status;
    }
    return OX_OK;
}

enum ox_status prove_draw(struct ox_session *session, uint64_t seed, int64_t open,
                          struct ox_datum **inputs, struct ox_error *err)
{
    return draw(session, seed, &(struct sizes){.open = open}, inputs, err);
}

/* Whether inputs of these sizes are still small. */
static bool is_drawn_soon(const struct ox_session *session, const struct sizes *sizes)
{
    enum { ELEMENTS_MOST = 1 << 26 };
    double elements = 0;
    for (size_t i = 0; i < ox_session_n_inputs(session); i++) {
        const struct ox_port *port = ox_session_input(session, i);
        double own = 1;
        for (unsigned k = 0; k < port->rank; k++)
            own *= (double)size_of(sizes, session, port, k);
        elements += own;
    }
    return elements <= ELEMENTS_MOST;
}

static enum ox_status filled(struct ox_datum **out, const struct ox_tensor *like, int64_t value,
                             struct ox_env *env, struct ox_error *err)
{
    const size_t n = ox_tensor_count(like);
    const bool wide = ox_tensor_dtype(like) == OX_INT64;
    struct ox_tensor *made = NULL;
    int64_t *values = malloc((n + 1) * sizeof *values);
    if (!values)
        return ox_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        if (wide)
            values[i] = value;
        else
            ((int32_t *)values)[i] = (int32_t)value;
    }
    enum ox_status status = ox_tensor_from_data(
        &made, env, ox_tensor_dtype(like), ox_tensor_rank(like), ox_tensor_dims(like), values, err);
    if (status == OX_OK)
        status = ox_datum_of_tensor(out, made, err);
    ox_tensor_release(made);
    free(values);
    return status;
}

/* Of an input that was drawn: those that may be left out are NULL. */
static const struct ox_tensor *drawn_tensor(const struct ox_datum *input)
{
    return input ? ox_datum_get_tensor(input) : NULL;
}

/* What an integer for each row stands for may be its length, and the longest as long as the rows of the first floats are. */
static enum ox_status draw_lengths(const struct prove_side *side, unsigned axis,
                                   const struct proof_options *options, struct ox_error *err)
{
    int64_t length = -1;
    for (size_t i = 0; i < side->n_inputs && length < 0; i++) {
        const struct ox_tensor *t = drawn_tensor(side->inputs[i]);
        if (t && ox_tensor_dtype(t) == OX_FLOAT32 && ox_tensor_rank(t) > axis)
            length = ox_tensor_dims(t)[axis];
    }
    for (size_t i = 0; i < side->n_inputs && length > 0; i++) {
        const struct ox_tensor *t = drawn_tensor(side->inputs[i]);
        if (!t || ox_tensor_rank(t) > 1 ||
            (ox_tensor_dtype(t) != OX_INT64 && ox_tensor_dtype(t) != OX_INT32))
            continue;
        struct ox_datum *made = NULL;
        const enum ox_status status = filled(&made, t, length, options->env, err);
        if (status != OX_OK)
            return status;
        ox_datum_release(side->inputs[i]);
        side->inputs[i] = made;
    }
    return OX_OK;
}

/* Input of that name gets what the other side has; false: there is none. */
static bool share_inputs(const struct prove_side *from, struct prove_side *to)
{
    for (size_t i = 0; i < to->n_inputs; i++) {
        const char *name = ox_session_input_name(to->session, i);
        to->inputs[i] = NULL;
        for (size_t k = 0; k < from->n_inputs && !to->inputs[i]; k++) {
            if (strcmp(ox_session_input_name(from->session, k), name) == 0)
                to->inputs[i] = from->inputs[k];
        }
        if (!to->inputs[i] && ox_session_input_required(to->session, i))
            return false;
    }
    return true;
}

/* Rounding to fewer bits is noise as large as the largest elements make it: small ones may be off by more than any rtol. NAN where
 * the noise of an output has no meaning: it is less than the least half that has all its digits. */
static double noise_of(const struct ox_comparison *one)
{
    return one->largest >= 0x1p-14 ? one->sqnr_db : NAN;
}

static enum ox_status compare(struct proof *proof, const struct prove_side *expected,
                              const struct prove_side *actual, const struct proof_options *options,
                              struct ox_error *err)
{
    for (size_t i = 0; i < expected->n_outputs; i++) {
        struct ox_comparison one;
        double db = NAN;
        if (!expected->outputs[i] || !actual->outputs[i])
            continue;
        enum ox_status status =
            ox_compare(actual->outputs[i], expected->outputs[i], &options->tolerance, &one, err);
        if (status != OX_OK)
            return status;
        if (options->enough_db > 0)
            db = noise_of(&one);
        one.agree |= options->enough_db > 0 && db >= options->enough_db;
        proof->least_db = db < proof->least_db ? db : proof->least_db;
        proof->n_elements += one.n_elements;
        proof->max_abs = one.max_abs > proof->max_abs ? one.max_abs : proof->max_abs;
        proof->max_rel = one.max_rel > proof->max_rel ? one.max_rel : proof->max_rel;
        if (!one.agree && proof->agree) {
            proof->agree = false;
            struct ox_strbuf name = {0};
            ox_strbuf_name(&name, ox_session_output_name(expected->session, i), 256);
            snprintf(proof->reason, sizeof proof->reason, "output '%s': %s",
                     ox_strbuf_text(&name, NULL), one.reason);
            const size_t n = strlen(proof->reason);
            if (!isnan(db))
                snprintf(proof->reason + n, sizeof proof->reason - n, "; SQNR %.1f dB", db);
            ox_strbuf_release(&name);
        }
    }
    return OX_OK;
}

struct drawing {
    unsigned seed;
    struct sizes sizes;
    float factor;
    unsigned lengths; /* axis whose size integers of rank 1 and 0 are; 0: as they are drawn */
};

/* One drawing; what the model that is believed cannot run says nothing. */
static enum ox_status sample(struct proof *proof, struct prove_side *expected,
                             struct prove_side *actual, const struct proof_options *options,
                             const struct drawing *drawing, struct ox_error *err)
{
    enum ox_status status = draw(expected->session, options->seed + 1000 * (uint64_t)drawing->seed,
                                 &drawing->sizes, expected->inputs, err);
    for (size_t i = 0; i < expected->n_inputs && drawing->factor != 1 && status == OX_OK; i++) {
        if (expected->inputs[i])
            status = prove_scale(&expected->inputs[i], options->env, drawing->factor, err);
    }
    if (drawing->lengths && status == OX_OK)
        status = draw_lengths(expected, drawing->lengths, options, err);
    if (status == OX_OK)
        status = ox_session_run(expected->session, expected->inputs, expected->outputs, err);
    if (status == OX_INPUT || status == OX_UNSUPPORTED || status == OX_LIMIT) {
        if (!proof->samples)
            snprintf(proof->reason, sizeof proof->reason, "%s",
                     cli_unnamed(err->message, options->path));
        return OX_OK;
    }
    if (status != OX_OK)
        return status;
    if (!proof->samples)
        proof->reason[0] = '\0';
    proof->samples++;
    status = share_inputs(expected, actual)
                 ? ox_session_run(actual->session, actual->inputs, actual->outputs, err)
                 : OX_INPUT;
    if (status == OX_INPUT || status == OX_UNSUPPORTED) {
        if (proof->agree)
            snprintf(proof->reason, sizeof proof->reason, "it does not run: %.900s",
                     cli_unnamed(err->message, options->path));
        proof->agree = false;
        return OX_OK;
    }
    return status == OX_OK ? compare(proof, expected, actual, options, err) : status;
}

static enum ox_status run_sample(struct proof *proof, struct prove_side *expected,
                                 struct prove_side *actual, const struct proof_options *options,
                                 struct drawing drawing, struct ox_error *err)
{
    enum ox_status status = sample(proof, expected, actual, options, &drawing, err);
    prove_release(expected->outputs, expected->n_outputs);
    prove_release(actual->outputs, actual->n_outputs);
    return status;
}

/* A mask of what a cache keeps and of what is new is as long as both, which names that an exporter has made up do not tell: a name of
 * integers' dimensions after another is given more than the rest, until the model runs. */
static enum ox_status run_longer(struct proof *proof, struct prove_side *expected,
                                 struct prove_side *actual, const struct proof_options *options,
                                 struct ox_error *err)
{
    static const int64_t tried[][2] = {{2, 4}, {2, 3}, {1, 2}};
    for (size_t t = 0; t < sizeof tried / sizeof *tried; t++) {
        for (size_t i = 0; i < expected->n_inputs; i++) {
            const struct ox_port *port = ox_session_input(expected->session, i);
            const bool counts =
                port->dtype == OX_INT64 || port->dtype == OX_INT32 || port->dtype == OX_BOOL;
            const unsigned last = port->rank - 1;
            if (!port->required || !counts || !port->rank || port->dims[last] >= 0 ||
                !port->symbols || !port->symbols[last])
                continue;
            const struct drawing drawing = {
                .sizes = {tried[t][0], tried[t][1], port->symbols[last]}, .factor = 1};
            const enum ox_status status =
                run_sample(proof, expected, actual, options, drawing, err);
            if (status != OX_OK || proof->samples)
                return status;
        }
    }
    return OX_OK;
}

/* What needs more than the small sizes of the first drawings: windows, strides and poolings, of long signals a batch of one; and
 * lengths that are those of rows. */
static enum ox_status run_larger(struct proof *proof, struct prove_side *expected,
                                 struct prove_side *actual, const struct proof_options *options,
                                 struct ox_error *err)
{
    static const struct drawing tried[] = {
        {.sizes = {.open = 1, .along = 16}, .factor = 1},
        {.sizes = {.open = 1, .along = 64}, .factor = 1},
        {.sizes.open = 16, .factor = 1},
        {.sizes.open = 64, .factor = 1},
        {.sizes = {.open = 1, .along = 256}, .factor = 1},
        {.sizes = {.open = 1, .along = 1024}, .factor = 1},
        {.sizes = {.open = 2, .along = 16}, .factor = 1, .lengths = 1},
        {.sizes = {.open = 2, .along = 16}, .factor = 1, .lengths = 2},
    };
    static const float again[] = {1, -1, 10};
    enum ox_status status = OX_OK;
    size_t k = 0;
    for (; k < sizeof tried / sizeof *tried && status == OX_OK && !proof->samples; k++)
        if (is_drawn_soon(expected->session, &tried[k].sizes))
            status = run_sample(proof, expected, actual, options, tried[k], err);
    for (size_t i = 0; i < sizeof again / sizeof *again && proof->samples && proof->agree; i++) {
        struct drawing drawing = tried[k - 1];
        drawing.factor = again[i];
        drawing.seed = (unsigned)i + 1;
        if (status == OX_OK && (drawing.factor == 1 || options->edges))
            status = run_sample(proof, expected, actual, options, drawing, err);
    }
    return status;
}

static enum ox_status run_samples(struct proof *proof, struct prove_side *expected,
                                  struct prove_side *actual, const struct proof_options *options,
                                  struct ox_error *err)
{
    static const float edges[] = {0, -1, 10};
    unsigned plain = options->samples, n_edges = options->edges ? sizeof edges / sizeof *edges : 0;
    unsigned n = plain + n_edges + options->empty;
    enum ox_status status = OX_OK;
    for (unsigned k = 0; k < n && status == OX_OK && proof->agree; k++) {
        struct drawing drawing = {.seed = k, .sizes.open = 1 + (int64_t)k, .factor = 1};
        if (k >= plain + n_edges)
            drawing = (struct drawing){.sizes.open = 0, .factor = 1};
        else if (k >= plain)
            drawing = (struct drawing){.sizes.open = 1, .factor = edges[k - plain]};
        status = run_sample(proof, expected, actual, options, drawing, err);
    }
    if (status == OX_OK && !proof->samples && plain)
        status = run_larger(proof, expected, actual, options, err);
    if (status == OX_OK && !proof->samples && plain)
        status = run_longer(proof, expected, actual, options, err);
    return status;
}

enum ox_status prove_equal(struct proof *proof, struct ox_model *expected, struct ox_model *actual,
                           const struct proof_options *options, struct ox_error *err)
{
    struct prove_side a = {0}, b = {0};
    *proof = (struct proof){.agree = true, .least_db = INFINITY};
    enum ox_status status = prove_open(&a, expected, err);
    if (status == OX_UNSUPPORTED || status == OX_INPUT) {
        snprintf(proof->reason, sizeof proof->reason, "%s",
                 cli_unnamed(err->message, options->path));
        status = OX_OK;
    } else if (status == OX_OK) {
        status = prove_open(&b, actual, err);
        if (status == OX_UNSUPPORTED || status == OX_INPUT) {
            proof->agree = false;
            proof->samples = 1;
            snprintf(proof->reason, sizeof proof->reason, "it does not run: %.900s",
                     cli_unnamed(err->message, options->path));
            status = OX_OK;
        } else if (status == OX_OK && b.n_outputs != a.n_outputs) {
            proof->agree = false;
            snprintf(proof->reason, sizeof proof->reason, "it has %zu outputs instead of %zu",
                     b.n_outputs, a.n_outputs);
        } else if (status == OX_OK) {
            status = run_samples(proof, &a, &b, options, err);
        }
    }
    prove_close(&b, false);
    prove_close(&a, true);
    return status;
}
