#include "graph/merge/merger.h"

#include <stdlib.h>

#include "model/lift.h"
#include "model/stored.h"

static enum ox_status start(struct ox_merger *m, struct ox_model *a, struct ox_model *b)
{
    struct ox_model *const models[OX_MERGED] = {a, b};
    for (size_t i = 0; i < OX_MERGED; i++) {
        const char *prefix = m->options->prefixes[i];
        m->parts[i] = (struct ox_merge_part){.merger = m,
                                             .model = models[i],
                                             .prefix = prefix ? prefix : "",
                                             .letter = (char)('a' + i)};
    }
    for (size_t i = 0; i < OX_MERGED; i++) {
        if (!models[i]->graph || !models[i]->proto)
            return ox_fail(m->err, OX_INPUT, "%s: there is no graph", models[i]->path);
    }
    for (size_t i = 0; i < OX_MERGED; i++) {
        for (size_t g = 0; g < models[i]->n_graphs; g++) {
            const struct ox_graph *graph = models[i]->graphs[g];
            for (size_t k = 0; k < graph->n_inits; k++)
                m->report->external |= graph->inits[k]->place == OX_STORED_EXTERNAL;
        }
    }
    m->feeds = calloc(b->graph->n_inputs + 1, sizeof *m->feeds);
    m->used = calloc(a->graph->n_outputs + 1, sizeof *m->used);
    return m->feeds && m->used ? OX_OK : ox_merge_no_room(m);
}

static enum ox_status merge(struct ox_merger *m)
{
    OX_TRY(ox_merge_connect(m));
    OX_TRY(ox_model_new(&m->out, m->parts[0].model->env, m->parts[0].model->path, m->err));
    OX_TRY(ox_merge_name(m));
    OX_TRY(ox_merge_name_dims(m));
    OX_TRY(ox_merge_name_functions(m));
    OX_TRY(ox_merge_assemble(m));
    if (m->n_problems)
        return ox_fail(m->err, m->worst, "%s and %s cannot be merged", m->parts[0].model->path,
                       m->parts[1].model->path);
    return ox_lift_model(m->out, m->err);
}

enum ox_status ox_merge(struct ox_model **out, struct ox_model *a, struct ox_model *b,
                        const struct ox_merge_options *options, struct ox_merge_report *report,
                        struct ox_error *err)
{
    static const struct ox_merge_options defaults = {.pairs = NULL};
    struct ox_merger m = {.options = options ? options : &defaults, .report = report, .err = err};
    enum ox_status status = start(&m, a, b);
    if (status == OX_OK)
        status = merge(&m);
    if (report->notes.failed || report->problems.failed)
        status = ox_merge_no_room(&m);
    for (size_t i = 0; i < OX_MERGED; i++) {
        ox_names_release(&m.parts[i].values);
        ox_names_release(&m.parts[i].nodes);
        ox_names_release(&m.parts[i].dims);
        ox_names_release(&m.parts[i].functions);
    }
    free(m.feeds);
    free(m.used);
    if (status == OX_OK)
        *out = m.out;
    else
        ox_model_release(m.out);
    return status;
}
