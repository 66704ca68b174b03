/* Calibrating: a model runs on samples, and what its values are like goes to the table. */
#include "quant/calibrate.h"

#include <stdlib.h>
#include <string.h>

#include "quant/kept.h"
#include "quant/place.h"
#include "quant/samples.h"

/* What is done with each value. */
enum pass { PASS_STATS, PASS_STATS_ABS, PASS_HISTOGRAM_ABS };

/* A value that is another one's elements in another shape. */
struct alias {
    const char *name, *root;
};

struct watch {
    struct ox_calibration *c;
    enum pass pass;
    const struct ox_quant_options *options;
    size_t n_fed; /* samples of this pass */
    struct ox_strmap
        names; /* of the values that are looked at, and of aliases -> index of either */
    struct ox_strmap normalized; /* those that LayerNormalization makes */
    const char **watched;        /* the former */
    struct alias *aliases;       /* the latter; their indices are behind those of the former: */
    size_t n_watched, n_aliases, n_bodies; /* n_bodies: how many of the former stand in bodies */
    struct ox_arena arena;                 /* names in bodies */
};

enum { FIRST_ALIAS = 1 << 30 };

/* last: channels are the last dimension, else the second. */
static bool see_channels(struct ox_calibrated *seen, const struct ox_tensor *real, bool last)
{
    int64_t width = real->rank ? real->dims[real->rank - 1] : 0;
    if (last && real->rank && real->n && width <= OX_MOST_CHANNELS)
        return ox_stats_add_channels(&seen->stats, real->data, real->n / (size_t)width,
                                     (size_t)width, 1);
    if (real->rank < 2 || real->dims[1] > OX_MOST_CHANNELS || real->n == 0)
        return true;
    size_t outer = (size_t)real->dims[0], n = (size_t)real->dims[1];
    return ox_stats_add_channels(&seen->stats, real->data, outer, n, real->n / outer / n);
}

static enum ox_status see(const struct watch *watch, const char *name, const struct ox_datum *value,
                          struct ox_error *err)
{
    const bool last = ox_strmap_find(&watch->normalized, name, strlen(name)) != OX_STRMAP_NONE;
    struct ox_calibration *c = watch->c;
    const struct ox_tensor *tensor = ox_datum_get_tensor(value);
    if (!tensor || (tensor->dtype != OX_FLOAT32 && tensor->dtype != OX_FLOAT16))
        return OX_OK;
    struct ox_calibrated *seen = ox_calibration_tensor_of(c, name, strlen(name));
    if (!seen)
        return ox_no_memory(err);
    struct ox_tensor *real;
    OX_TRY(ox_tensor_convert(&real, ox_env_budget(c->env), tensor, OX_FLOAT32, false, err));
    bool good = true;
    if (watch->pass != PASS_HISTOGRAM_ABS)
        good = ox_stats_add(&seen->stats, real->data, real->n) && see_channels(seen, real, last);
    else
        good = ox_abs_histogram_add(seen, real->data, real->n);
    if (watch->pass == PASS_STATS_ABS)
        ox_abs_range_add(seen, real->data, real->n);
    ox_tensor_release(real);
    return good ? OX_OK : ox_no_memory(err);
}

static enum ox_status on_value(void *arg, const char *name, const struct ox_datum *value,
                               struct ox_error *err)
{
    const struct watch *watch = arg;
    if (ox_strmap_find(&watch->names, name, strlen(name)) >= FIRST_ALIAS)
        return OX_OK; /* made by rewriting, or seen already */
    return see(watch, name, value, err);
}

static enum ox_status on_body_value(void *arg, const char *graph, const char *name,
                                    const struct ox_datum *value, struct ox_error *err)
{
    struct ox_strbuf key = {0};
    ox_strbuf_printf(&key, "%s:%s", graph, name);
    enum ox_status status =
        !key.data || key.failed ? ox_no_memory(err) : on_value(arg, key.data, value, err);
    ox_strbuf_release(&key);
    return status;
}

/* The name in the table. NULL: out of memory. */
static const char *key_of(struct watch *watch, const struct ox_value *value)
{
    if (!ox_quant_is_body(value->graph))
        return value->name;
    struct ox_strbuf path = {0};
    ox_graph_path(&path, value->graph);
    const char *key = path.data && !path.failed
                          ? ox_arena_printf(&watch->arena, "%s:%s", path.data, value->name)
                          : NULL;
    ox_strbuf_release(&path);
    return key;
}

/* What the value's elements are called that is looked at; NULL. */
static const char *root_of(struct watch *watch, const struct ox_value *value)
{
    const char *key = key_of(watch, value);
    uint32_t at = key ? ox_strmap_find(&watch->names, key, strlen(key)) : OX_STRMAP_NONE;
    if (at == OX_STRMAP_NONE)
        return key && value->is_input && !value->init && !ox_quant_is_body(value->graph) ? key
                                                                                         : NULL;
    return at < FIRST_ALIAS ? watch->watched[at] : watch->aliases[at - FIRST_ALIAS].root;
}

static bool only_reshapes(const struct ox_node *node)
{
    static const char *const names[] = {"Reshape", "Transpose", "Squeeze", "Unsqueeze"};
    for (size_t i = 0; i < OX_COUNT(names) && !*node->domain; i++) {
        if (strcmp(names[i], node->op_type) == 0)
            return true;
    }
    return false;
}

/* Whether a value is made where it stands, by a node or by who runs the body. */
static bool is_made(const struct ox_value *value)
{
    return value->producer || (value->is_input && ox_quant_is_body(value->graph));
}

static bool choose(struct watch *watch, const struct ox_value *value, bool all)
{
    while (value->outer)
        value = value->outer;
    if (!is_made(value))
        return true;
    const char *key = key_of(watch, value);
    if (!key)
        return false;
    const size_t n = strlen(key);
    if (ox_strmap_find(&watch->names, key, n) != OX_STRMAP_NONE)
        return true;
    const struct ox_node *node = value->producer;
    const char *root = !all && node && only_reshapes(node) && node->inputs[0]
                           ? root_of(watch, node->inputs[0])
                           : NULL;
    uint32_t at = (uint32_t)watch->n_watched;
    if (root) {
        at = (uint32_t)watch->n_aliases + FIRST_ALIAS;
        watch->aliases[watch->n_aliases++] = (struct alias){key, root};
    } else {
        watch->watched[watch->n_watched++] = key;
        watch->n_bodies += ox_quant_is_body(value->graph);
    }
    if (node && strcmp(node->op_type, "LayerNormalization") == 0 &&
        !ox_strmap_add(&watch->normalized, key, n, &at, NULL))
        return false;
    return ox_strmap_add(&watch->names, key, n, &at, NULL);
}

static bool choose_in_graph(struct watch *watch, const struct ox_graph *graph, bool all)
{
    bool *wanted = calloc(graph->n_values + 1, sizeof *wanted);
    bool good = wanted != NULL;
    if (good && !all)
        ox_place_wants(graph, wanted);
    for (size_t i = 0; i < graph->n_values && good; i++) { /* what a body takes */
        const struct ox_value *value = graph->values[i];
        if (wanted[i] && (value->outer || value->is_input))
            good = choose(watch, value, all);
    }
    for (size_t i = 0; i < graph->n_nodes && good; i++) {
        const struct ox_node *node = graph->nodes[i];
        for (size_t k = 0; k < node->n_outputs && good; k++) {
            if (node->outputs[k] && (all || wanted[node->outputs[k]->id]))
                good = choose(watch, node->outputs[k], all);
        }
    }
    free(wanted);
    return good;
}

/* The values that nodes make, or those of them that quantizing may ask for: in bodies too. */
static enum ox_status choose_values(struct watch *watch, const struct ox_model *model, bool all,
                                    struct ox_error *err)
{
    size_t count = 0;
    for (size_t g = 0; g < model->n_graphs; g++)
        count += model->graphs[g]->n_values;
    watch->watched = calloc(count + 1, sizeof *watch->watched);
    watch->aliases = calloc(count + 1, sizeof *watch->aliases);
    bool good = watch->watched && watch->aliases && choose_in_graph(watch, model->graph, all);
    for (size_t g = 0; g < model->n_graphs && good && !all; g++) {
        if (ox_quant_is_body(model->graphs[g]))
            good = choose_in_graph(watch, model->graphs[g], false);
    }
    return good ? OX_OK : ox_no_memory(err);
}

/* An alias has what its root has, but for channels. */
static enum ox_status fill_aliases(struct watch *watch, struct ox_error *err)
{
    for (size_t i = 0; i < watch->n_aliases; i++) {
        const struct alias *alias = &watch->aliases[i];
        struct ox_calibrated *to =
            ox_calibration_tensor_of(watch->c, alias->name, strlen(alias->name));
        const struct ox_calibrated *from = ox_calibration_find(watch->c, alias->root);
        if (!to)
            return ox_no_memory(err);
        ox_stats_release(&to->stats);
        if (!from)
            continue;
        if (!ox_stats_merge(&to->stats, &from->stats))
            return ox_no_memory(err);
        ox_stats_drop_channels(&to->stats);
    }
    return OX_OK;
}

static enum ox_status name_inputs(struct ox_calibration *c, const struct ox_session *session,
                                  struct ox_error *err)
{
    size_t n = ox_session_n_inputs(session);
    if (c->inputs)
        return n == c->n_inputs
                   ? OX_OK
                   : ox_fail(err, OX_INPUT, "the calibration is of a model with other inputs");
    c->inputs = calloc(n + 1, sizeof *c->inputs);
    for (size_t i = 0; c->inputs && i < n; i++) {
        c->inputs[i] = strdup(ox_session_input_name(session, i));
        if (!c->inputs[i])
            return ox_no_memory(err);
        c->n_inputs = i + 1;
    }
    return c->inputs ? OX_OK : ox_no_memory(err);
}

static enum ox_status run_feed(struct watch *watch, struct ox_session *session,
                               struct ox_datum *const *feed, struct ox_datum **outputs,
                               struct ox_error *err)
{
    struct ox_calibration *c = watch->c;
    for (size_t i = 0; i < c->n_inputs; i++) {
        if (feed[i])
            OX_TRY(see(watch, c->inputs[i], feed[i], err));
    }
    const struct ox_quant_options *options = watch->options;
    const int64_t *label = options->labels ? options->labels + watch->n_fed : NULL;
    if (label && watch->n_fed >= options->n_labels)
        return ox_fail(err, OX_INPUT, "there are more samples than the %zu labels",
                       options->n_labels);
    watch->n_fed++;
    if (watch->pass != PASS_HISTOGRAM_ABS)
        OX_TRY(ox_calibration_consider(c, feed, label, err));
    enum ox_status status = ox_session_run(session, feed, outputs, err);
    for (size_t i = 0; i < ox_session_n_outputs(session); i++) {
        ox_datum_release(outputs[i]);
        outputs[i] = NULL;
    }
    c->n_samples += status == OX_OK && watch->pass != PASS_HISTOGRAM_ABS;
    return status;
}

struct progress {
    void (*report)(void *arg, uint64_t done, uint64_t total);
    void *arg;
};

struct passes {
    struct watch *watch;
    struct ox_session *session;
    struct ox_samples_from from;
    struct progress progress;
    bool two;
};

/* All samples once. */
static enum ox_status run_pass(const struct passes *passes, struct ox_samples_batch *batch,
                               struct ox_error *err)
{
    struct watch *watch = passes->watch;
    struct ox_session *session = passes->session;
    const struct progress *progress = &passes->progress;
    struct ox_samples *samples = NULL;
    const uint64_t step = watch->options->n_shards ? watch->options->n_shards : 1;
    bool first = true;
    watch->n_fed = 0;
    struct ox_datum **outputs = calloc(ox_session_n_outputs(session) + 1, sizeof *outputs);
    enum ox_status status = outputs ? OX_OK : ox_no_memory(err);
    OX_TRY_CLEANUP(status);
    OX_TRY_CLEANUP(ox_samples_open(&samples, watch->c->env, session, &passes->from, batch, err));
    watch->c->guessed = ox_samples_guessed(samples);
    uint64_t total = ox_samples_count(samples);
    for (uint64_t done = 0;; done++) {
        struct ox_datum *const *feed;
        bool more;
        OX_TRY_CLEANUP(ox_samples_next(samples, &feed, &more, err));
        if (progress->report) /* which may cancel */
            progress->report(progress->arg, done, total);
        if (!more)
            break;
        OX_TRY_CLEANUP(ox_env_poll(watch->c->env, err));
        if (done % step != watch->options->shard) {
            watch->n_fed++;
            continue;
        }
        status = run_feed(watch, session, feed, outputs, err);
        batch->wider = first ? ox_samples_wider(samples, status) : 0;
        first = false;
        ox_samples_blame(samples, status, err);
        OX_TRY_CLEANUP(status);
    }
cleanup:
    free(outputs);
    ox_samples_release(samples);
    return status;
}

static enum ox_status run_passes(void *arg, struct ox_samples_batch *batch, struct ox_error *err)
{
    const struct passes *passes = arg;
    struct watch *watch = passes->watch;
    struct ox_calibration *c = watch->c;
    const bool anew = c->n_samples == 0;
    if (anew)
        ox_calibration_forget(c); /* what a batch left that did not run */
    watch->pass = passes->two ? PASS_STATS_ABS : PASS_STATS;
    enum ox_status status = run_pass(passes, batch, err);
    if (!anew)
        batch->wider = 0;
    if (status != OX_OK || !passes->two)
        return status;
    watch->pass = PASS_HISTOGRAM_ABS;
    OX_TRY(run_pass(passes, batch, err));
    for (size_t i = 0; i < c->n_tensors; i++)
        ox_abs_histogram_decide(&c->tensors[i], watch->options->percentile);
    return OX_OK;
}

/* What of the model is looked at, and a session that shows it. */
static enum ox_status begin(struct watch *watch, struct ox_session **session,
                            struct ox_model *model, struct ox_error *err)
{
    const bool as_it_stands = watch->options->compat_ort;
    /* What Constant nodes make has a range in onnxruntime's calibration too: there the model runs as it stands. */
    struct ox_run_options run = {
        .level = as_it_stands ? 0 : 2, .on_value = on_value, .value_arg = watch};
    ox_arena_init(&watch->arena, ox_env_budget(watch->c->env));
    ox_strmap_init(&watch->names);
    ox_strmap_init(&watch->normalized);
    OX_TRY(choose_values(watch, model, as_it_stands, err));
    /* Rewriting keeps no values of bodies: where these are wanted the model runs as it stands, by the same kernels. */
    run.on_body_value = watch->n_bodies ? on_body_value : NULL;
    run.watched = watch->watched;
    run.n_watched = as_it_stands || watch->n_bodies ? 0 : watch->n_watched;
    OX_TRY(ox_session_new(session, model, &run, err));
    return name_inputs(watch->c, *session, err);
}

static void end(struct watch *watch, struct ox_session *session)
{
    ox_session_release(session);
    ox_strmap_release(&watch->names);
    ox_strmap_release(&watch->normalized);
    free(watch->watched);
    free(watch->aliases);
    ox_arena_release(&watch->arena);
}

static enum ox_status run_kept(struct watch *watch, struct ox_session *session,
                               const struct ox_calibration *of, const struct ox_kept *kept,
                               struct ox_datum **outputs, struct ox_error *err)
{
    enum ox_status status = OX_OK;
    for (size_t i = 0; i < of->n_inputs && status == OX_OK; i++) {
        struct ox_datum *input = NULL;
        if (kept->inputs[i])
            status = ox_datum_of_tensor(&input, kept->inputs[i], err);
        if (input && status == OX_OK)
            status = see(watch, of->inputs[i], input, err);
        ox_datum_release(input);
    }
    if (status == OX_OK)
        status = ox_kept_run(of, session, kept, outputs, err);
    ox_kept_drop(outputs, ox_session_n_outputs(session));
    return status;
}

enum ox_status ox_calibration_apart(struct ox_calibration **out, const struct ox_calibration *of,
                                    struct ox_model *model, const struct ox_quant_options *options,
                                    struct ox_error *err)
{
    struct watch watch = {.options = options, .pass = PASS_STATS};
    struct ox_session *session = NULL;
    struct ox_datum **outputs = NULL;
    enum ox_status status;
    *out = NULL;
    OX_TRY(ox_calibration_new(&watch.c, of->env, err));
    OX_TRY_CLEANUP(begin(&watch, &session, model, err));
    outputs = calloc(ox_session_n_outputs(session) + 1, sizeof *outputs);
    OX_TRY_CLEANUP(outputs ? OX_OK : ox_no_memory(err));
    for (size_t i = 0; i < of->n_kept; i++) {
        if (!ox_kept_held_out(i))
            OX_TRY_CLEANUP(run_kept(&watch, session, of, &of->kept[i], outputs, err));
    }
    OX_TRY_CLEANUP(fill_aliases(&watch, err));
    *out = watch.c;
cleanup:
    free(outputs);
    end(&watch, session);
    if (!*out)
        ox_calibration_release(watch.c);
    return status;
}

enum ox_status ox_calibration_run(struct ox_calibration *c, struct ox_model *model,
                                  const char *const *paths, size_t n_paths,
                                  const struct ox_quant_options *options,
                                  void (*report)(void *arg, uint64_t done, uint64_t total),
                                  void *report_arg, struct ox_error *err)
{
    struct watch watch = {.c = c, .options = options};
    struct passes passes = {.watch = &watch,
                            .from = {paths, n_paths, NULL},
                            .progress = {report, report_arg},
                            .two = options->compat_ort && options->method == OX_QUANT_PERCENTILE};
    enum ox_first_axis *first = ox_first_axes(model);
    enum ox_status status;
    if (!first)
        return ox_no_memory(err);
    passes.from.first = first;
    OX_TRY_CLEANUP(begin(&watch, &passes.session, model, err));
    const enum ox_status ended = ox_samples_try(run_passes, &passes, err);
    OX_TRY_CLEANUP(ended == OX_CANCELLED ? OX_OK : ended); /* what was seen till then is whole */
    OX_TRY_CLEANUP(fill_aliases(&watch, err));
    status = ended;
cleanup:
    free(first);
    end(&watch, passes.session);
    return status;
}
