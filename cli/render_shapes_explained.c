/* Where a value's unknown or made-up dimensions are from, step by step. */
#include "render_shapes.h"

static enum ox_status step_text(void *arg, const struct ox_shape_step *step)
{
    struct ox_strbuf *out = &((struct cli *)arg)->out;
    ox_strbuf_name(out, step->name, 0);
    if (*step->graph) {
        ox_strbuf_puts(out, " in ");
        ox_strbuf_name(out, step->graph, 0);
    }
    ox_strbuf_puts(out, " is ");
    ox_strbuf_name(out, step->type ? step->type : "unknown", 0);
    if (step->producer) {
        ox_strbuf_printf(out, ", made by %s ", step->op_type);
        ox_strbuf_name(out, step->producer, 0);
    } else {
        ox_strbuf_puts(out, step->is_input ? ", an input" : ", a constant");
    }
    ox_strbuf_putc(out, '\n');
    if (step->reason) {
        ox_strbuf_puts(out, "  ");
        ox_strbuf_name(out, step->reason, 0);
        ox_strbuf_putc(out, '\n');
    }
    for (size_t i = 0; i < step->n_origins; i++) {
        ox_strbuf_puts(out, "  ");
        ox_strbuf_name(out, step->origins[i].symbol, 0);
        ox_strbuf_puts(out, ": ");
        ox_strbuf_name(out, step->origins[i].text, 0);
        ox_strbuf_putc(out, '\n');
    }
    return out->failed ? OX_NO_MEMORY : OX_OK;
}

static enum ox_status step_json(void *arg, const struct ox_shape_step *step)
{
    struct ox_json *json = arg;
    const char *const fields[][2] = {{"graph", step->graph},     {"name", step->name},
                                     {"type", step->type},       {"producer", step->producer},
                                     {"op_type", step->op_type}, {"rule", step->rule},
                                     {"reason", step->reason}};
    ox_json_object(json);
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        cli_json_string(json, fields[i][0], fields[i][1]);
    }
    cli_json_bool(json, "is_input", step->is_input);
    ox_json_key(json, "symbols");
    ox_json_object(json);
    for (size_t i = 0; i < step->n_origins; i++) {
        cli_json_string(json, step->origins[i].symbol, step->origins[i].text);
    }
    ox_json_end_object(json);
    ox_json_end_object(json);
    return json->out->failed ? OX_NO_MEMORY : OX_OK;
}

enum ox_status render_shapes_explained(struct cli *cli, struct ox_shapes *shapes,
                                       const struct opt_strings *names, bool as_json,
                                       const char *model)
{
    enum ox_status worst = OX_OK;
    struct ox_json json;
    struct ox_error err;
    ox_json_init(&json, &cli->out, !cli->several);
    if (as_json) {
        ox_json_object(&json);
        cli_json_string(&json, "schema", "onnxtool.shape-infer/1");
        cli_json_string(&json, "model", model);
        ox_json_key(&json, "explain");
        ox_json_array(&json);
    }
    for (size_t i = 0; i < names->n; i++) {
        if (as_json) {
            ox_json_object(&json);
            cli_json_string(&json, "name", names->items[i]);
            ox_json_key(&json, "steps");
            ox_json_array(&json);
        }
        enum ox_status status =
            ox_shapes_explain(shapes, names->items[i], as_json ? step_json : step_text,
                              as_json ? (void *)&json : (void *)cli, &err);
        if (status != OX_OK)
            cli_error(cli, &err);
        worst = cli_worse(worst, status);
        if (as_json) {
            ox_json_end_array(&json);
            ox_json_end_object(&json);
        }
    }
    if (as_json) {
        ox_json_end_array(&json);
        ox_json_end_object(&json);
        ox_strbuf_putc(&cli->out, '\n');
    }
    return worst;
}
