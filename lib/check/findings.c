#include "check/findings.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_KEPT = 10000 };

static const struct ox_finding_kind kinds[] = {
#define OX_FINDING(name, id, severity, title, explanation) {id, severity, title, explanation},
#include "check/check_ids.def"
#undef OX_FINDING
};

struct ox_findings {
    struct ox_arena arena;
    struct ox_finding *items;
    size_t n, cap;
    size_t n_errors;
    bool out_of_memory;
};

const struct ox_finding_kind *ox_finding_kinds(size_t *n)
{
    *n = OX_COUNT(kinds);
    return kinds;
}

const char *ox_severity_name(enum ox_severity severity)
{
    static const char *const names[] = {"error", "warning", "info"};
    return names[severity];
}

enum ox_status ox_findings_new(struct ox_findings **out, struct ox_env *env, struct ox_error *err)
{
    struct ox_findings *findings = calloc(1, sizeof *findings);
    if (!findings)
        return ox_no_memory(err);
    ox_arena_init(&findings->arena, ox_env_budget(env));
    *out = findings;
    return OX_OK;
}

void ox_findings_release(struct ox_findings *findings)
{
    if (!findings)
        return;
    ox_arena_release(&findings->arena);
    free(findings->items);
    free(findings);
}

size_t ox_findings_count(const struct ox_findings *findings)
{
    return findings->n;
}

const struct ox_finding *ox_findings_at(const struct ox_findings *findings, size_t i)
{
    return &findings->items[i];
}

size_t ox_findings_errors(const struct ox_findings *findings)
{
    return findings->n_errors;
}

static bool reserve(struct ox_findings *findings)
{
    if (findings->n < findings->cap)
        return true;
    size_t cap = findings->cap ? findings->cap * 2 : 16;
    struct ox_finding *items = realloc(findings->items, cap * sizeof *items);
    if (!items)
        return false;
    findings->items = items;
    findings->cap = cap;
    return true;
}

/* NULL stays NULL. */
static const char *keep(struct ox_findings *findings, const char *text)
{
    if (!text)
        return NULL;
    char *copy = ox_arena_strdup(&findings->arena, text);
    findings->out_of_memory |= !copy;
    return copy;
}

static void set_place(struct ox_findings *findings, struct ox_finding *finding,
                      const struct ox_place *place)
{
    static const struct ox_place nowhere;
    if (!place)
        place = &nowhere;
    struct ox_strbuf text;
    ox_strbuf_init(&text);
    const struct ox_graph *graph = place->node ? place->node->graph : place->graph;
    if (graph)
        ox_graph_path(&text, graph);
    finding->graph = keep(findings, ox_strbuf_text(&text, NULL));
    if (place->node) {
        findings->out_of_memory |= text.failed;
        ox_strbuf_clear(&text);
        ox_node_label(&text, place->node);
        finding->node = keep(findings, ox_strbuf_text(&text, NULL));
        finding->op_type = keep(findings, place->node->op_type);
    }
    finding->tensor = keep(findings, place->tensor);
    finding->attribute = keep(findings, place->attribute);
    findings->out_of_memory |= text.failed;
    ox_strbuf_release(&text);
}

void ox_findings_add(struct ox_findings *findings, enum ox_finding_id id,
                     const struct ox_place *place, const char *hint, const char *format, ...)
{
    findings->n_errors += kinds[id].severity == OX_ERROR;
    if (findings->n >= MOST_KEPT)
        return;
    if (!reserve(findings)) {
        findings->out_of_memory = true;
        return;
    }
    struct ox_finding *finding = &findings->items[findings->n++];
    *finding =
        (struct ox_finding){.id = kinds[id].id, .severity = kinds[id].severity, .message = ""};
    char message[OX_ERROR_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    const char *kept = keep(findings, message);
    finding->message = kept ? kept : "";
    finding->hint = keep(findings, hint);
    set_place(findings, finding, place);
}

enum ox_status ox_findings_status(const struct ox_findings *findings, struct ox_error *err)
{
    return findings->out_of_memory ? ox_fail(err, OX_NO_MEMORY, "out of memory for findings")
                                   : OX_OK;
}
