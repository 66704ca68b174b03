/* Converting a model's operators to other versions of their domains, a version at a time. */
#include <stdlib.h>
#include <string.h>

#include "graph/convert/convert_adapters.h"
#include "graph/convert/convert_job.h"
#include "model/name.h"
#include "schema/schema.h"

static enum ox_status check_goal(const struct ox_model *model, const struct ox_opset_goal *goal,
                                 struct ox_error *err)
{
    int newest = ox_schema_newest(goal->domain);
    if (!newest)
        return ox_fail(err, OX_USAGE, "%s: nothing is known of domain \"%s\"", model->path,
                       goal->domain);
    if (goal->version < 1 || goal->version > newest)
        return ox_fail(err, OX_USAGE, "%s: opset %lld of %s is not known: 1 to %d are", model->path,
                       (long long)goal->version, *goal->domain ? goal->domain : "ai.onnx", newest);
    return OX_OK;
}

/* What nodes mean whose domain is imported in no version is not known. */
static enum ox_status block_unversioned(struct ox_convert_job *job, int64_t to)
{
    for (size_t g = 0; g < job->model->n_graphs; g++) {
        const struct ox_graph *graph = job->model->graphs[g];
        if (ox_graph_opset(graph, job->domain))
            continue;
        for (size_t i = 0; i < graph->n_nodes; i++)
            if (ox_convert_is_ours(job, graph->nodes[i]))
                OX_TRY(ox_convert_note(job, graph->nodes[i], true, 0, to,
                                       "no version of its domain is imported"));
    }
    return OX_OK;
}

static enum ox_status convert_domain(struct ox_convert_job *job, int64_t to)
{
    struct ox_model *model = job->model;
    const char *domain = job->domain;
    OX_TRY(block_unversioned(job, to));
    for (size_t i = 0; i < model->n_functions; i++) {
        struct ox_function *function = &model->functions[i];
        for (size_t k = 0; k < function->n_opsets; k++) {
            if (strcmp(function->opsets[k].domain, domain) == 0)
                OX_TRY(ox_convert_unit(job, function, &function->opsets[k], to));
        }
    }
    for (size_t k = 0; k < model->n_opsets; k++) {
        if (strcmp(model->opsets[k].domain, domain) == 0)
            OX_TRY(ox_convert_unit(job, NULL, &model->opsets[k], to));
    }
    return OX_OK;
}

static void set_ir(struct ox_conversion *result, struct ox_model *model, bool up)
{
    int64_t needs = ox_convert_needed_ir(model);
    result->ir_before = model->ir_version;
    if (needs > model->ir_version || (!up && needs < model->ir_version))
        model->ir_version = needs;
    result->ir_after = model->ir_version;
}

static enum ox_status convert(struct ox_convert_job *job, const struct ox_opset_goal *goals,
                              size_t n_goals)
{
    bool up = false;
    for (size_t i = 0; i < n_goals; i++)
        OX_TRY(check_goal(job->model, &goals[i], job->err));
    for (size_t i = 0; i < n_goals; i++) {
        const char *domain = strcmp(goals[i].domain, "ai.onnx") == 0 ? "" : goals[i].domain;
        job->domain = domain;
        up |= job->model->graph && ox_graph_opset(job->model->graph, domain) < goals[i].version;
        OX_TRY(convert_domain(job, goals[i].version));
    }
    if (!ox_convert_drop_unused(job->model, &job->freed))
        return ox_convert_no_room(job);
    set_ir(job->result, job->model, up);
    return ox_model_part_names(job->model) ? OX_OK : ox_convert_no_room(job);
}

enum ox_status ox_convert_opset(struct ox_conversion **out, struct ox_model *model,
                                const struct ox_opset_goal *goals, size_t n_goals,
                                struct ox_error *err)
{
    struct ox_conversion *result = calloc(1, sizeof *result);
    struct ox_convert_job job = {.model = model, .result = result, .err = err};
    if (!result)
        return ox_convert_no_room(&job);
    ox_arena_init(&result->arena, ox_env_budget(model->env));
    ox_arena_init(&job.blocked.keys, ox_env_budget(model->env));
    ox_arena_init(&job.removed.keys, ox_env_budget(model->env));
    ox_strmap_init(&job.freed);
    ox_strmap_init(&job.blocked.map);
    ox_strmap_init(&job.removed.map);
    enum ox_status status = convert(&job, goals, n_goals);
    ox_shapes_release(job.shapes);
    free(job.n_known);
    ox_strmap_release(&job.freed);
    ox_strmap_release(&job.blocked.map);
    ox_strmap_release(&job.removed.map);
    ox_arena_release(&job.blocked.keys);
    ox_arena_release(&job.removed.keys);
    if (status == OX_OK)
        *out = result;
    else
        ox_conversion_release(result);
    return status == OX_OK ? status : ox_fail_model(err, status, model);
}
