/* Pictures of graphs, in any form. */
#include "graph/draw/draw.h"

#include <string.h>

static const struct ox_graph *find_graph(const struct ox_drawer *d)
{
    const struct ox_graph *found = NULL;
    struct ox_strbuf path = {0};
    if (!d->options->graph)
        return d->model->graph;
    for (size_t g = 0; g < d->model->n_graphs && !found; g++) {
        ox_strbuf_clear(&path);
        ox_graph_path(&path, d->model->graphs[g]);
        if (strcmp(ox_strbuf_text(&path, NULL), d->options->graph) == 0)
            found = d->model->graphs[g];
    }
    ox_strbuf_release(&path);
    return found;
}

enum ox_status ox_draw(struct ox_strbuf *out, struct ox_model *model, struct ox_shapes *shapes,
                       struct ox_costs *costs, const struct ox_draw_options *options,
                       struct ox_error *err)
{
    struct ox_drawer d = {.out = out,
                          .model = model,
                          .shapes = shapes,
                          .costs = costs,
                          .options = options,
                          .err = err};
    const struct ox_graph *graph = find_graph(&d);
    char shown[OX_SHOWN_BYTES];
    if (!graph && options->graph)
        return ox_fail(err, OX_USAGE, "%s: there is no graph '%s'",
                       model->path ? model->path : "model",
                       ox_shown(shown, options->graph, strlen(options->graph)));
    if (!graph)
        return ox_fail(err, OX_INPUT, "%s: there is no graph", model->path ? model->path : "model");
    ox_arena_init(&d.arena, ox_env_budget(model->env));
    enum ox_status status = options->form == OX_DRAW_DOT   ? ox_draw_dot(&d, graph)
                            : options->form == OX_DRAW_SVG ? ox_draw_svg(&d, graph, true)
                                                           : ox_draw_html(&d);
    if (status == OX_OK)
        status = ox_draw_flush(&d, true);
    ox_arena_release(&d.arena);
    return status;
}
