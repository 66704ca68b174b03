/* Names of functions. One that both models have is kept once; of two that differ, and where a model has a function that the other
 * model means an operator by, one gets another name. */
#include <stdlib.h>
#include <string.h>

#include "graph/merge/merger.h"
#include "model/emit.h"
#include "model/lift.h"
#include "model/rename.h"

static const char *make_key(struct ox_merger *m, const char *domain, const char *name,
                            const char *overload)
{
    return ox_arena_printf(&m->out->arena, "%s\n%s\n%s", domain, name, overload);
}

static const struct ox_function *same_function(const struct ox_model *model,
                                               const struct ox_function *function)
{
    return ox_model_function(model, function->domain, function->name, function->overload);
}

/* ---- Are they equal ----------------------------------------------------------------------------------------------- */

static const char *same_name(void *arg, enum ox_name_kind kind, const char *old)
{
    (void)arg;
    (void)kind;
    return old;
}

static void build_message(struct ox_emit *e, void *arg)
{
    ox_emit_fields(e, arg);
}

/* As it is written with external data in it. */
static enum ox_status print_function(struct ox_merger *m, struct ox_model *model,
                                     const struct ox_function *function, struct ox_strbuf *out)
{
    const struct ox_renaming same = {.from = model, .arena = &m->out->arena, .name = same_name};
    const ProtobufCMessage *message;
    OX_TRY(ox_rename_message(&same, &function->proto->base, &message, m->err));
    return ox_emit_to_buffer(out, 0, model->path, build_message, (void *)(uintptr_t)message,
                             m->err);
}

static enum ox_status are_equal(struct ox_merger *m, const struct ox_function *a,
                                const struct ox_function *b, bool *equal)
{
    struct ox_strbuf x = {0}, y = {0};
    enum ox_status status = print_function(m, m->parts[0].model, a, &x);
    if (status == OX_OK)
        status = print_function(m, m->parts[1].model, b, &y);
    *equal = status == OX_OK && x.len == y.len && (!x.len || memcmp(x.data, y.data, x.len) == 0);
    ox_strbuf_release(&x);
    ox_strbuf_release(&y);
    return status;
}

/* Equal ones that call others which are not equal are not, either. */
static bool calls_own(const struct ox_model *model, const struct ox_function *function,
                      const bool *own)
{
    for (size_t g = 0; g < model->n_graphs; g++) {
        const struct ox_graph *graph = model->graphs[g];
        for (size_t i = 0; graph->function == function && i < graph->n_nodes; i++) {
            const struct ox_node *node = graph->nodes[i];
            const struct ox_function *called =
                ox_model_function(model, node->domain, node->op_type, node->overload);
            if (called && own[called - model->functions])
                return true;
        }
    }
    return false;
}

/* own: by place in the second model, whether it has it alone or another one than the first. */
static enum ox_status tell_apart(struct ox_merger *m, bool *own)
{
    const struct ox_model *a = m->parts[0].model, *b = m->parts[1].model;
    for (size_t i = 0; i < b->n_functions; i++) {
        const struct ox_function *other = same_function(a, &b->functions[i]);
        bool equal = false;
        if (other)
            OX_TRY(are_equal(m, other, &b->functions[i], &equal));
        own[i] = !equal;
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < b->n_functions; i++) {
            if (own[i] || !calls_own(b, &b->functions[i], own))
                continue;
            changed = own[i] = true;
        }
    }
    return OX_OK;
}

/* ---- Other names -------------------------------------------------------------------------------------------------- */

static bool has_operator(const struct ox_model *model, const char *domain, const char *name)
{
    for (size_t g = 0; g < model->n_graphs; g++) {
        const struct ox_graph *graph = model->graphs[g];
        for (size_t i = 0; i < graph->n_nodes; i++)
            if (strcmp(graph->nodes[i]->op_type, name) == 0 &&
                strcmp(graph->nodes[i]->domain, domain) == 0)
                return true;
    }
    for (size_t i = 0; i < model->n_functions; i++)
        if (strcmp(model->functions[i].name, name) == 0 &&
            strcmp(model->functions[i].domain, domain) == 0)
            return true;
    return false;
}

static enum ox_status rename_one(struct ox_merger *m, size_t p, const struct ox_function *function)
{
    struct ox_merge_part *part = &m->parts[p];
    const char *name = NULL;
    for (unsigned i = 1; !name; i++) {
        name = i == 1 ? ox_arena_printf(&m->out->arena, "%c_%s", part->letter, function->name)
                      : ox_arena_printf(&m->out->arena, "%c%u_%s", part->letter, i, function->name);
        if (!name)
            return ox_merge_no_room(m);
        if (has_operator(m->parts[0].model, function->domain, name) ||
            has_operator(m->parts[1].model, function->domain, name))
            name = NULL;
    }
    const char *key = make_key(m, function->domain, function->name, function->overload);
    if (!key || !ox_names_add(&part->functions, key, name))
        return ox_merge_no_room(m);
    m->report->n_renamed_functions++;
    return OX_OK;
}

/* Functions of a model that the other has not, but means an operator by the same name. */
static enum ox_status free_operators(struct ox_merger *m, size_t p)
{
    const struct ox_model *model = m->parts[p].model, *other = m->parts[!p].model;
    for (size_t i = 0; i < model->n_functions; i++) {
        const struct ox_function *function = &model->functions[i];
        if (!same_function(other, function) &&
            has_operator(other, function->domain, function->name))
            OX_TRY(rename_one(m, p, function));
    }
    return OX_OK;
}

enum ox_status ox_merge_name_functions(struct ox_merger *m)
{
    const struct ox_model *a = m->parts[0].model, *b = m->parts[1].model;
    bool *own = calloc(b->n_functions + 1, sizeof *own);
    enum ox_status status = own ? tell_apart(m, own) : ox_merge_no_room(m);
    for (size_t i = 0; i < b->n_functions && status == OX_OK; i++)
        if (own[i] && same_function(a, &b->functions[i]))
            status = rename_one(m, 1, &b->functions[i]);
    for (size_t p = 0; p < OX_MERGED && status == OX_OK; p++)
        status = free_operators(m, p);
    free(own);
    return status;
}

const char *ox_merge_function(void *arg, const char *domain, const char *name, const char *overload)
{
    struct ox_merge_part *part = arg;
    struct ox_strbuf key = {0};
    if (!part->functions.n)
        return name;
    ox_strbuf_printf(&key, "%s\n%s\n%s", domain, name, overload);
    const char *to = key.failed ? NULL : ox_names_find(&part->functions, key.data);
    bool failed = key.failed;
    ox_strbuf_release(&key);
    return failed ? NULL : to ? to : name;
}
