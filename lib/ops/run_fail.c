/* Errors of kernels: which node, and why. */
#include "ops/op.h"

#include <stdarg.h>
#include <string.h>

#include "proto/onnx.pb-c.h"

void ox_run_where(const struct ox_run *r, struct ox_strbuf *out)
{
    const struct ox_node *node = r->node;
    const char *domain = node->domain, *type = node->op_type;
    int64_t opset = r->opset;
    struct ox_strbuf label, path;
    if (strcmp(domain, OX_OWN_DOMAIN) == 0 && node->proto && node->graph) {
        /* What rewriting made of a node of the file's is called as the file calls it. */
        const char *given = node->proto->domain;
        domain = given && strcmp(given, "ai.onnx") != 0 ? given : "";
        type = node->proto->op_type;
        opset = ox_graph_opset(node->graph, domain);
    }
    ox_strbuf_init(&label);
    ox_strbuf_init(&path);
    ox_node_label(&label, node);
    if (node->graph)
        ox_graph_path(&path, node->graph);
    size_t name_bytes = r->env ? (size_t)r->env->limits.name_bytes : 0;
    if (domain[0]) {
        ox_strbuf_name(out, domain, name_bytes);
        ox_strbuf_putc(out, '.');
    }
    ox_strbuf_name(out, type, name_bytes);
    ox_strbuf_puts(out, " '");
    if (label.data)
        ox_strbuf_name(out, label.data, name_bytes);
    ox_strbuf_putc(out, '\'');
    if (path.len) {
        ox_strbuf_puts(out, " in '");
        ox_strbuf_name(out, path.data, name_bytes);
        ox_strbuf_putc(out, '\'');
    }
    ox_strbuf_printf(out, " (opset %lld)", (long long)opset);
    ox_strbuf_release(&label);
    ox_strbuf_release(&path);
}

enum ox_status ox_run_fail(const struct ox_run *r, struct ox_error *err, enum ox_status status,
                           const char *format, ...)
{
    if (!err)
        return status;
    char message[OX_ERROR_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    struct ox_strbuf where;
    ox_strbuf_init(&where);
    ox_run_where(r, &where);
    ox_strbuf_puts(&where, ": ");
    ox_strbuf_name(&where, message, 0); /* it may hold strings of the model's */
    ox_fail(err, status, "%s", where.failed ? "out of memory" : where.data);
    ox_strbuf_release(&where);
    return status;
}

enum ox_status ox_run_check_list(const struct ox_run *r, const struct ox_tensor *list, int64_t n,
                                 const char *what, struct ox_error *err)
{
    if (list && (list->rank != 1 || list->dims[0] != n))
        return ox_run_fail(r, err, OX_INPUT, "the %s has %zu elements (rank %u), not %lld", what,
                           list->n, list->rank, (long long)n);
    return OX_OK;
}
