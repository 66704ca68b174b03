#include "graph/rewrite.h"

#include <stdlib.h>
#include <string.h>

#include "shape/shapes.h"

enum {
    MOST_ROUNDS =
        20, /* of a phase: passes shrink the graph, so that this many are more than enough */
    OTHER_STANDARD = 2, /* a phase */
    LAST_PHASE = 6,
    FOLD_ROOM = 8, /* times that */
    WIDE_BYTES = 256 << 20
};

#define P(phase) (1u << (phase))

static const struct ox_pass passes[] = {
#define OX_PASS(name, function, phases, level, standard, help)                                     \
    {name, help, level, standard, phases, function},
#include "graph/passes.def"
#undef OX_PASS
};

const struct ox_pass_info *ox_passes(size_t *n)
{
    static const struct ox_pass_info infos[] = {
#define OX_PASS(name, function, phases, level, standard, help) {name, help, level, standard},
#include "graph/passes.def"
#undef OX_PASS
    };
    *n = OX_COUNT(infos);
    return infos;
}

/* ---- Models that passes can trust ------------------------------------------------------------------------------- */

/* Each value defined once, before it is used. What breaks that, or a node that is not as its operator asks, is left as it stands, for
 * the checks that name it. */
static bool is_sound_graph(const struct ox_graph *graph)
{
    for (size_t i = 0; i < graph->n_nodes; i++) {
        const struct ox_node *node = graph->nodes[i];
        for (size_t k = 0; k < node->n_inputs; k++) {
            const struct ox_value *value = node->inputs[k];
            if (!value)
                continue;
            bool made = value->producer
                            ? value->producer->index < i
                            : value->is_input || value->init || value->sparse_init || value->outer;
            if (!made)
                return false;
        }
        for (size_t k = 0; k < node->n_outputs; k++) {
            const struct ox_value *value = node->outputs[k];
            if (value && (value->producer != node || value->output_index != k || value->is_input ||
                          value->init || value->sparse_init || value->outer))
                return false;
        }
    }
    for (size_t i = 0; i < graph->n_outputs; i++) {
        const struct ox_value *value = graph->outputs[i];
        if (!value->producer && !value->is_input && !value->init && !value->sparse_init &&
            !value->outer)
            return false;
    }
    return true;
}

static bool is_sound(const struct ox_model *model)
{
    if (!model->graph)
        return false;
    for (size_t g = 0; g < model->n_graphs; g++)
        if (!is_sound_graph(model->graphs[g]))
            return false;
    struct ox_error why;
    return ox_nodes_check(model, &why) == OX_OK;
}

/* ---- Running passes --------------------------------------------------------------------------------------------- */

static bool is_chosen(const struct ox_pass *pass, const struct ox_rewrite_plan *plan)
{
    if (!pass->standard && !plan->to_run && !plan->own_forms)
        return false;
    if (!plan->passes)
        return pass->level <= (plan->level ? plan->level : 2);
    for (size_t i = 0; i < plan->n_passes; i++)
        if (strcmp(plan->passes[i], pass->name) == 0)
            return true;
    return false;
}

static enum ox_status check_names(const struct ox_rewrite_plan *plan, struct ox_error *err)
{
    for (size_t i = 0; i < plan->n_passes; i++) {
        size_t k = 0;
        while (k < OX_COUNT(passes) && strcmp(passes[k].name, plan->passes[i]) != 0)
            k++;
        if (k == OX_COUNT(passes))
            return ox_fail(err, OX_USAGE, "there is no pass '%.64s'", plan->passes[i]);
        if (!passes[k].standard && !plan->to_run && !plan->own_forms)
            return ox_fail(err, OX_USAGE, "pass '%.64s' makes what is not standard ONNX",
                           plan->passes[i]);
    }
    return OX_OK;
}

static enum ox_status run_pass(struct ox_rewrite *rw, const struct ox_pass *pass, size_t *changes,
                               struct ox_error *err)
{
    for (size_t g = 0; g < rw->model->n_graphs; g++) {
        struct ox_graph *graph = rw->model->graphs[g];
        if (graph->function || graph->n_nodes == 0 || ox_rw_clashes(rw, graph))
            continue;
        OX_TRY(ox_env_poll(rw->env, err));
        rw->n_changes = 0;
        struct ox_arena_mark mark = ox_arena_mark(&rw->scratch);
        enum ox_status status = OX_OK;
        if (ox_rw_enter(rw, graph))
            status = pass->run(rw, graph, err);
        if (status == OX_OK && (rw->failed || !ox_rw_leave(rw)))
            status = ox_fail(err, OX_NO_MEMORY, "out of memory in pass '%s'", pass->name);
        ox_arena_rewind(&rw->scratch, mark);
        if (status != OX_OK)
            return status;
        *changes += rw->n_changes;
    }
    return OX_OK;
}

static enum ox_status run_phases(struct ox_rewrite *rw, const struct ox_rewrite_plan *plan,
                                 size_t *counts, struct ox_error *err)
{
    for (int phase = 1; phase <= LAST_PHASE; phase++) {
        if (phase == OTHER_STANDARD && rw->to_run)
            continue; /* what fuses for the engine reads the original operators, and goes further */
        bool changed = true;
        for (int round = 0; changed && round < MOST_ROUNDS; round++) {
            changed = false;
            for (size_t i = 0; i < OX_COUNT(passes); i++) {
                size_t changes = 0;
                if (!(passes[i].phases & P(phase)) || !is_chosen(&passes[i], plan))
                    continue;
                OX_TRY(run_pass(rw, &passes[i], &changes, err));
                counts[i] += changes;
                changed |= changes > 0;
            }
        }
    }
    return OX_OK;
}

/* ---- Sizes of inputs -------------------------------------------------------------------------------------------- */

static enum ox_status tell_sizes(struct ox_rewrite *rw, const int64_t **implied,
                                 struct ox_error *err)
{
    const struct ox_graph *graph = rw->model->graph;
    for (size_t i = 0; implied && i < graph->n_inputs; i++) {
        const struct ox_type *declared = graph->inputs[i]->type;
        const struct ox_type *type = ox_rw_type(rw, graph->inputs[i]);
        bool more = false;
        if (!declared || !type || type->kind != OX_TYPE_TENSOR || !type->has_rank ||
            !declared->has_rank || declared->rank != type->rank)
            continue;
        for (unsigned d = 0; d < type->rank; d++)
            more |= ox_expr_is_int(type->dims[d], NULL) && !ox_expr_is_int(declared->dims[d], NULL);
        int64_t *dims = more ? ox_arena_array(&rw->model->arena, type->rank, sizeof *dims) : NULL;
        if (more && !dims)
            return ox_no_memory(err);
        for (unsigned d = 0; more && d < type->rank; d++)
            if (!ox_expr_is_int(type->dims[d], &dims[d]))
                dims[d] = -1;
        implied[i] = dims;
    }
    return OX_OK;
}

/* ---- Report ----------------------------------------------------------------------------------------------------- */

static size_t count_nodes(const struct ox_model *model)
{
    size_t n = 0;
    for (size_t g = 0; g < model->n_graphs; g++)
        n += model->graphs[g]->function ? 0 : model->graphs[g]->n_nodes;
    return n;
}

static enum ox_status make_report(struct ox_model *model, const size_t *counts,
                                  struct ox_optimize_report *report, struct ox_error *err)
{
    struct ox_pass_count *list =
        ox_arena_array(&model->arena, OX_COUNT(passes), sizeof(struct ox_pass_count));
    if (!list)
        return ox_no_memory(err);
    report->n_passes = 0;
    report->passes = list;
    for (size_t i = 0; i < OX_COUNT(passes); i++)
        if (counts[i])
            list[report->n_passes++] = (struct ox_pass_count){passes[i].name, counts[i]};
    report->nodes_after = count_nodes(model);
    return OX_OK;
}

static bool keep_names(struct ox_rewrite *rw, const struct ox_rewrite_plan *plan)
{
    for (size_t i = 0; i < plan->n_keep; i++) {
        uint32_t one = 1;
        char *name = ox_arena_strdup(&rw->arena, plan->keep[i]);
        if (!name || !ox_strmap_add(&rw->kept, name, strlen(name), &one, NULL))
            return false;
        rw->kept_lengths |= UINT64_C(1) << strlen(name) % 64;
    }
    return true;
}

uint64_t ox_fold_bytes(const struct ox_model *model)
{
    uint64_t all = 0;
    for (size_t g = 0; g < model->n_graphs; g++) {
        const struct ox_graph *graph = model->graphs[g];
        for (size_t i = 0; i < graph->n_values; i++) {
            const struct ox_stored *stored = graph->values[i]->init;
            size_t n;
            uint64_t bytes;
            if (stored && ox_dims_count(stored->rank, stored->dims, &n) &&
                ox_dtype_packed_bytes(stored->dtype, n, &bytes) &&
                OX_ADD_OVERFLOWS(all, bytes, &all))
                return OX_FOLD_BYTES;
        }
    }
    return all / OX_FOLD_SHARE > OX_FOLD_BYTES ? all / OX_FOLD_SHARE : OX_FOLD_BYTES;
}

enum ox_status ox_rewrite_model(struct ox_model *model, const struct ox_rewrite_plan *plan,
                                struct ox_optimize_report *report, struct ox_error *err)
{
    OX_TRY(check_names(plan, err));
    size_t counts[OX_COUNT(passes)] = {0};
    struct ox_rewrite rw = {.model = model,
                            .env = model->env,
                            .to_run = plan->to_run,
                            .once = plan->to_run && !plan->repeats,
                            .may_be_empty = plan->may_be_empty,
                            .only_kept = plan->only_kept,
                            .fold_left =
                                plan->fold_bytes ? plan->fold_bytes : ox_fold_bytes(model)};
    /* A single run gains nothing by folding what it would compute once. */
    rw.fold_left = plan->fold_bytes ? plan->fold_bytes
                   : rw.once        ? OX_FOLD_BYTES
                                    : ox_fold_bytes(model);
    if (OX_MUL_OVERFLOWS(rw.fold_left, FOLD_ROOM, &rw.fold_room))
        rw.fold_room = UINT64_MAX;
    rw.wide_room = plan->repeats ? WIDE_BYTES : 0;
    ox_arena_init(&rw.arena, ox_env_budget(model->env));
    ox_arena_init(&rw.scratch, ox_env_budget(model->env));
    ox_strmap_init(&rw.kept);
    ox_strmap_init(&rw.loaded);
    ox_strmap_init(&rw.op_of);
    if (report)
        *report = (struct ox_optimize_report){.nodes_before = count_nodes(model)};
    enum ox_status status = OX_OK;
    /* The first block stays, so that passes do not ask for it again and again. */
    if (!keep_names(&rw, plan) || !ox_arena_alloc(&rw.scratch, 1))
        status = ox_no_memory(err);
    else if (plan->to_run && !ox_model_import(model, OX_OWN_DOMAIN, 1))
        status = ox_no_memory(err);
    if (status == OX_OK && plan->correct_types)
        status = ox_rw_correct_types(&rw, err);
    const bool sound = status == OX_OK && is_sound(model);
    if (sound)
        status = ox_rw_find_clashes(&rw, err);
    if (sound && status == OX_OK && !ox_rw_clashes(&rw, model->graph)) {
        status = tell_sizes(&rw, plan->implied, err);
        if (status == OX_OK)
            status = run_phases(&rw, plan, counts, err);
    }
    if (status == OX_OK && report)
        status = make_report(model, counts, report, err);
    ox_rw_forget_shapes(&rw);
    for (size_t i = 0; i < rw.n_constants; i++)
        ox_tensor_release(rw.constants[i]);
    free(rw.constants);
    ox_strmap_release(&rw.kept);
    ox_strmap_release(&rw.loaded);
    ox_strmap_release(&rw.op_of);
    ox_arena_release(&rw.arena);
    ox_arena_release(&rw.scratch);
    return status;
}

enum ox_status ox_optimize(struct ox_model *model, const struct ox_optimize_options *options,
                           struct ox_optimize_report *report, struct ox_error *err)
{
    static const struct ox_optimize_options plain;
    if (!options)
        options = &plain;
    const struct ox_rewrite_plan plan = {.level = options->level,
                                         .passes = options->passes,
                                         .n_passes = options->n_passes,
                                         .keep = options->keep,
                                         .n_keep = options->n_keep,
                                         .correct_types = true,
                                         .may_be_empty = options->may_be_empty,
                                         .fold_bytes = options->fold_bytes};
    ox_model_free_inits(model);
    OX_TRY(ox_rewrite_model(model, &plan, report, err));
    return ox_model_part_names(model) ? OX_OK : ox_no_memory(err);
}
