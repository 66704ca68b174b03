/* A model as text, JSON or in protobuf's text format, whole or a graph or node of it. */
#include "model/write_impl.h"

enum ox_status ox_model_print(struct ox_strbuf *out, const struct ox_model *model,
                              const struct ox_model_print_options *options, struct ox_error *err)
{
    struct ox_model_writer w = {.out = out, .options = options, .err = err};
    if (!model->proto)
        return ox_fail(err, OX_UNSUPPORTED,
                       "%s: a model that was made in memory must be saved first", model->path);
    if (options->format == OX_FORMAT_JSON) {
        struct ox_json json;
        ox_json_init(&json, out, options->pretty);
        ox_json_write_message(&w, &json, &model->proto->base);
        ox_strbuf_putc(out, '\n');
        ox_write_flush(&w, true);
    } else if (options->format == OX_FORMAT_TEXTPROTO) {
        ox_proto_text_write_message(&w, &model->proto->base);
        ox_write_flush(&w, true);
    } else {
        ox_text_write_model(&w, model->proto);
    }
    return w.status;
}
