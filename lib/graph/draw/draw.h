/* Between the files that draw. */
#ifndef OX_GRAPH_DRAW_H
#define OX_GRAPH_DRAW_H

#include "graph/cost/cost.h"
#include "graph/draw/layout.h"

struct ox_drawer {
    struct ox_strbuf *out;
    struct ox_model *model;
    struct ox_shapes *shapes;
    struct ox_costs *costs;
    const struct ox_draw_options *options;
    struct ox_arena arena;
    struct ox_error *err;
};

/* Hands out what has gathered when it is much, or in any case. */
enum ox_status ox_draw_flush(struct ox_drawer *d, bool all);
enum ox_status ox_draw_no_memory(struct ox_drawer *d);

/* An element <svg> of one graph. `id` is its number on a page: boxes get the number of their node as data-n. false: out of
 * memory. */
enum ox_status ox_draw_svg(struct ox_drawer *d, const struct ox_graph *graph, bool standalone);
enum ox_status ox_draw_dot(struct ox_drawer *d, const struct ox_graph *graph);
enum ox_status ox_draw_html(struct ox_drawer *d);

/* What a page has around its data, lines up to NULL: draw_page.c. */
extern const char *const ox_page_style[], *const ox_page_script[], *const ox_page_script_hash;

#endif
