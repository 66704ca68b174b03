/* Who serves an operator: a kernel, a function of the model, the standard's body; and what nothing serves. */
#include <stdlib.h>
#include <string.h>

#include "ops/custom.h"
#include "runtime/servers.h"

const char *ox_session_label(struct ox_session *session, const struct ox_node *node)
{
    struct ox_strbuf text;
    ox_strbuf_init(&text);
    ox_node_label(&text, node);
    const char *label = ox_arena_text(&session->arena, &text);
    ox_strbuf_release(&text);
    return label;
}

const char *ox_session_path(struct ox_session *session, const struct ox_graph *graph)
{
    struct ox_strbuf text;
    ox_strbuf_init(&text);
    ox_graph_path(&text, graph);
    const char *path = ox_arena_text(&session->arena, &text);
    ox_strbuf_release(&text);
    return path;
}

static enum ox_status resolve_new(struct ox_servers *servers, const struct ox_node *node,
                                  int64_t opset, struct ox_server *to, struct ox_error *err)
{
    struct ox_arena *arena = &servers->session->arena;
    to->function =
        ox_model_function(node->graph->model, node->domain, node->op_type, node->overload);
    if (to->function)
        return OX_OK;
    if (opset == 0) {
        to->missing = "the model does not import its domain";
        return OX_OK;
    }
    int newest = ox_schema_newest(node->domain);
    if (newest && opset > newest) {
        to->missing = ox_arena_printf(arena, "opset %lld is newer than %d, the newest known",
                                      (long long)opset, newest);
        return to->missing ? OX_OK : ox_no_memory(err);
    }
    to->schema = ox_schema_lookup_any(servers->session->env, node->domain, node->op_type, opset);
    to->op = ox_op_lookup(servers->session->env, node->domain, node->op_type, opset);
    if (ox_op_has_left(to->op, to->schema)) {
        to->op = NULL;
        to->missing = ox_arena_printf(arena, "deprecated since opset %d", to->schema->since);
        return to->missing ? OX_OK : ox_no_memory(err);
    }
    if (to->op && to->op->run)
        return OX_OK;
    to->op = NULL;
    if (to->schema && to->schema->body)
        OX_TRY(ox_body_find(servers->session, to->schema, &to->function, err));
    if (!to->function)
        to->missing = to->schema || !newest ? "no kernel" : "no such operator";
    return OX_OK;
}

enum ox_status ox_servers_find(struct ox_servers *servers, const struct ox_node *node,
                               int64_t opset, struct ox_server **out, struct ox_error *err)
{
    struct ox_strbuf key;
    ox_strbuf_init(&key);
    ox_strbuf_add(&key, node->domain, strlen(node->domain) + 1);
    ox_strbuf_add(&key, node->op_type, strlen(node->op_type) + 1);
    ox_strbuf_add(&key, node->overload, strlen(node->overload) + 1);
    /* A standard operator's body does not see the model's functions. */
    ox_strbuf_printf(&key, "%lld%s", (long long)opset,
                     node->graph->model == servers->session->planned ? "" : "s");
    enum ox_status status = OX_OK;
    if (key.failed) {
        status = ox_no_memory(err);
        goto cleanup;
    }
    uint32_t index = ox_strmap_find(&servers->of, key.data, key.len);
    if (index != OX_STRMAP_NONE) {
        *out = servers->list[index];
        goto cleanup;
    }
    if (servers->n == servers->cap) {
        size_t cap = servers->cap ? servers->cap * 2 : 64;
        struct ox_server **more = realloc(servers->list, cap * sizeof(void *));
        if (!more) {
            status = ox_no_memory(err);
            goto cleanup;
        }
        servers->list = more;
        servers->cap = cap;
    }
    struct ox_server *made = ox_arena_alloc(&servers->session->arena, sizeof *made);
    const char *kept = ox_arena_copy(&servers->session->arena, key.data, key.len);
    index = (uint32_t)servers->n;
    if (!made || !kept || !ox_strmap_add(&servers->of, kept, key.len, &index, NULL)) {
        status = ox_no_memory(err);
        goto cleanup;
    }
    servers->list[servers->n++] = made;
    OX_TRY_CLEANUP(resolve_new(servers, node, opset, made, err));
    *out = made;
cleanup:
    ox_strbuf_release(&key);
    return status;
}

enum ox_status ox_servers_miss(struct ox_servers *servers, const struct ox_node *node,
                               int64_t opset, struct ox_server *server, struct ox_error *err)
{
    struct ox_missing_op *report = &server->report;
    if (report->n_nodes++)
        return OX_OK;
    servers->n_missing++;
    *report = (struct ox_missing_op){.domain = node->domain,
                                     .op_type = node->op_type,
                                     .opset = opset,
                                     .reason = server->missing,
                                     .n_nodes = 1};
    report->graph = ox_session_path(servers->session, node->graph);
    report->node = ox_session_label(servers->session, node);
    return report->graph && report->node ? OX_OK : ox_no_memory(err);
}

/* One line that names all of them, as far as an error holds it. */
enum ox_status ox_servers_report(const struct ox_servers *servers, struct ox_error *err)
{
    const struct ox_run_options *options = &servers->session->options;
    size_t name_bytes = (size_t)servers->session->env->limits.name_bytes;
    struct ox_strbuf text;
    ox_strbuf_init(&text);
    size_t shown = 0;
    for (size_t i = 0; i < servers->n; i++) {
        const struct ox_missing_op *op = &servers->list[i]->report;
        if (!op->n_nodes)
            continue;
        if (options->on_missing)
            options->on_missing(options->missing_arg, op);
        if (text.len > OX_ERROR_BYTES * 3 / 4)
            continue;
        ox_strbuf_puts(&text, shown++ ? "; " : "");
        ox_strbuf_name(&text, op->domain[0] ? op->domain : "ai.onnx", name_bytes);
        ox_strbuf_putc(&text, '.');
        ox_strbuf_name(&text, op->op_type, name_bytes);
        ox_strbuf_printf(&text, " opset %lld (%s; %zu node%s, ", (long long)op->opset, op->reason,
                         op->n_nodes, op->n_nodes == 1 ? "" : "s");
        ox_strbuf_puts(&text, op->n_nodes == 1 ? "'" : "first '");
        ox_strbuf_name(&text, op->node, name_bytes);
        ox_strbuf_puts(&text, "'");
        if (op->graph[0]) {
            ox_strbuf_puts(&text, " in '");
            ox_strbuf_name(&text, op->graph, name_bytes);
            ox_strbuf_puts(&text, "'");
        }
        ox_strbuf_puts(&text, ")");
    }
    if (shown < servers->n_missing)
        ox_strbuf_printf(&text, "; and %zu more", servers->n_missing - shown);
    ox_fail(err, OX_UNSUPPORTED, "%zu operator%s not supported: %s", servers->n_missing,
            servers->n_missing == 1 ? " is" : "s are", text.data && !text.failed ? text.data : "");
    ox_strbuf_release(&text);
    return OX_UNSUPPORTED;
}

void ox_servers_release(struct ox_servers *servers)
{
    ox_strmap_release(&servers->of);
    free(servers->list);
}
