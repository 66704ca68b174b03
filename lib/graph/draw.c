#include "graph/cost.h"
enum ox_status ox_draw(struct ox_strbuf *out, struct ox_model *model, struct ox_shapes *shapes,
                       struct ox_costs *costs, const struct ox_draw_options *options,
                       struct ox_error *err)
{
    (void)out;
    (void)model;
    (void)shapes;
    (void)costs;
    (void)options;
    return ox_fail(err, OX_UNSUPPORTED, "x");
}
enum ox_status ox_extract(struct ox_model *model, const struct ox_shapes *shapes,
                          const char *const *inputs, size_t n_inputs, const char *const *outputs,
                          size_t n_outputs, struct ox_error *err)
{
    (void)model;
    (void)shapes;
    (void)inputs;
    (void)n_inputs;
    (void)outputs;
    (void)n_outputs;
    return ox_fail(err, OX_UNSUPPORTED, "x");
}
