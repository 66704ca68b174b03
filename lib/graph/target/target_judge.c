/* One target's verdict on a model. */
#include <stdlib.h>
#include <string.h>

#include "graph/target/target_survey.h"

const char *ox_target_cause_name(enum ox_target_cause cause)
{
    static const char *const names[] = {"ir",   "opset",    "domain",    "operator", "version",
                                        "type", "function", "attribute", "shape"};
    return names[cause];
}

/* ---- The model as a whole ---------------------------------------------------------------------------------------- */

/* On a class, and on those of its nodes whose form is refused. */
struct ruling {
    struct ox_target_ruling by_types, by_form;
    const char *form; /* that by_form is about; NULL: none was met */
    bool has_forms;
};

struct judge {
    struct ox_target_survey *survey;
    const struct ox_target *target;
    struct ox_target_verdict *verdict;
    struct ruling *rulings; /* by class */
    struct ox_target_problem *problems;
    size_t cap_problems;
    bool failed; /* out of memory */
};

static void add_problem(struct judge *j, const struct ox_target_problem *problem)
{
    struct ox_target_verdict *verdict = j->verdict;
    if (verdict->n_problems == j->cap_problems) {
        size_t cap = j->cap_problems ? 2 * j->cap_problems : 16;
        struct ox_target_problem *more = realloc(j->problems, cap * sizeof *more);
        if (!more) {
            j->failed = true;
            return;
        }
        j->problems = more;
        j->cap_problems = cap;
    }
    j->problems[verdict->n_problems++] = *problem;
    verdict->loads &= !problem->fatal;
    j->failed |= !problem->reason;
}

static void judge_opset(struct judge *j, const char *domain, int64_t version)
{
    struct ox_arena *arena = &j->survey->arena;
    const struct ox_target *target = j->target;
    const struct ox_target_limit *limit = ox_target_limit(target, domain);
    const char *shown = *domain ? domain : "ai.onnx";
    if (!limit)
        return;
    struct ox_target_problem problem = {.cause = OX_CAUSE_OPSET, .fatal = true, .domain = domain};
    if (version > limit->newest) {
        problem.reason = ox_arena_printf(
            arena, "%s %lld is newer than %lld, the newest that %s %s takes", shown,
            (long long)version, (long long)limit->newest, target->runtime, target->version);
        add_problem(j, &problem);
    } else if (version < limit->quiet && target->only_quiet) {
        problem.reason = ox_arena_printf(
            arena, "%s %lld is older than %lld, the oldest that %s %s takes", shown,
            (long long)version, (long long)limit->quiet, target->runtime, target->version);
        add_problem(j, &problem);
    } else if (version < limit->quiet) {
        j->verdict->note = ox_arena_printf(
            arena, "%s %lld is older than %lld: %s %s takes it with a warning", shown,
            (long long)version, (long long)limit->quiet, target->runtime, target->version);
        j->failed |= !j->verdict->note;
    }
}

static const char *graph_path(struct judge *j, const struct ox_node *node, bool label)
{
    struct ox_strbuf text;
    ox_strbuf_init(&text);
    if (label)
        ox_node_label(&text, node);
    else
        ox_graph_path(&text, node->graph);
    const char *kept = ox_arena_text(&j->survey->arena, &text);
    ox_strbuf_release(&text);
    j->failed |= !kept;
    return kept;
}

/* What contradicts itself no release loads: its own inference says so. */
static void judge_shapes(struct judge *j)
{
    const char *message;
    const struct ox_node *node = ox_shapes_conflict(j->survey->shapes, &message);
    if (node)
        add_problem(j, &(struct ox_target_problem){.cause = OX_CAUSE_SHAPE,
                                                   .fatal = true,
                                                   .graph = graph_path(j, node, false),
                                                   .node = graph_path(j, node, true),
                                                   .op_type = node->op_type,
                                                   .domain = node->domain,
                                                   .reason = message});
}

/* The name of a function that is called and that another one, of another overload, has too; NULL. */
static const char *overloaded_name(struct judge *j)
{
    const struct ox_model *model = j->survey->model;
    struct ox_strmap names;
    const char *found = NULL;
    bool any = false;
    for (size_t f = 0; f < model->n_functions; f++)
        any |= *model->functions[f].overload && j->survey->called[f];
    ox_strmap_init(&names);
    for (size_t f = 0; any && f < model->n_functions && !found && !j->failed; f++) {
        const struct ox_function *function = &model->functions[f];
        const char *key =
            ox_arena_printf(&j->survey->arena, "%s\n%s", function->domain, function->name);
        uint32_t index = (uint32_t)f;
        bool is_new = true;
        j->failed |= !key || !ox_strmap_add(&names, key, strlen(key), &index, &is_new);
        if (!is_new && (j->survey->called[f] || j->survey->called[index]))
            found = function->name;
    }
    ox_strmap_release(&names);
    return found;
}

/* onnxruntime takes functions of one name for one function, until it learnt of overloads. */
static void judge_overloads(struct judge *j)
{
    const struct ox_target *target = j->target;
    if (!target->functions || strncmp(target->runtime, "onnxruntime", strlen("onnxruntime")) != 0 ||
        ox_target_compare_versions(target->version, "1.27") >= 0)
        return;
    const char *name = overloaded_name(j);
    if (name)
        add_problem(j, &(struct ox_target_problem){
                           .cause = OX_CAUSE_FUNCTION,
                           .fatal = true,
                           .reason = ox_arena_printf(
                               &j->survey->arena,
                               "%s %s does not tell overloads of functions apart (%.64s)",
                               target->runtime, target->version, name)});
}

static void judge_limits(struct judge *j)
{
    const struct ox_model *model = j->survey->model;
    if (j->target->ir && model->ir_version > j->target->ir) {
        struct ox_target_problem problem = {
            .cause = OX_CAUSE_IR,
            .fatal = true,
            .reason =
                ox_arena_printf(&j->survey->arena,
                                "IR version %lld is newer than %lld, the newest that %s %s takes",
                                (long long)model->ir_version, (long long)j->target->ir,
                                j->target->runtime, j->target->version)};
        add_problem(j, &problem);
    }
    if (model->n_opsets == 0) {
        const struct ox_target_problem problem = {.cause = OX_CAUSE_OPSET,
                                                  .fatal = true,
                                                  .domain = "",
                                                  .reason = "the model imports no operator set"};
        add_problem(j, &problem);
    }
    for (size_t i = 0; i < model->n_opsets; i++)
        judge_opset(j, model->opsets[i].domain, model->opsets[i].version);
    for (size_t f = 0; f < model->n_functions; f++)
        for (size_t i = 0; j->survey->called[f] && i < model->functions[f].n_opsets; i++) {
            const struct ox_opset *opset = &model->functions[f].opsets[i];
            if (opset->version != ox_graph_opset(model->graph, opset->domain))
                judge_opset(j, opset->domain, opset->version);
        }
}

static void count_node(struct ox_target_verdict *verdict, const struct ox_target_node *node,
                       enum ox_target_fate fate)
{
    verdict->n_nodes++;
    verdict->n_taken += fate >= OX_FATE_BODY;
    verdict->n_cast += fate == OX_FATE_CAST;
    verdict->n_body += fate == OX_FATE_BODY;
    verdict->n_fallback += fate == OX_FATE_FALLBACK;
    verdict->n_impossible += fate == OX_FATE_IMPOSSIBLE;
    verdict->macs += node->macs;
    if (fate == OX_FATE_FALLBACK)
        verdict->fallback_macs += node->macs;
}

static void add_node_problem(struct judge *j, const struct ox_node *node,
                             const struct ox_target_ruling *ruling)
{
    const struct ox_target_problem problem = {
        .cause = ruling->cause,
        .fatal = ruling->fate == OX_FATE_IMPOSSIBLE,
        .graph = graph_path(j, node, false),
        .node = graph_path(j, node, true),
        .op_type = node->op_type,
        .domain = node->domain,
        .reason = ruling->reason,
    };
    add_problem(j, &problem);
}

/* Classes with the same reason share its text, so that it is told once. */
static void rule_classes(struct judge *j)
{
    struct ox_target_survey *survey = j->survey;
    struct ox_strmap told;
    ox_strmap_init(&told);
    for (uint32_t i = 0; i < survey->n_classes && !j->failed; i++) {
        const struct ox_target_class *class = &survey->classes[i];
        struct ox_target_ruling *ruling = &j->rulings[i].by_types;
        ox_target_rule(ruling, survey, j->target, class, ox_target_schema(j->target, class),
                       &survey->arena);
        j->rulings[i].has_forms = ruling->fate > OX_FATE_IMPOSSIBLE &&
                                  ruling->fate < OX_FATE_CALL &&
                                  ox_target_has_forms(j->target, class->domain, class->op_type);
        if (!ruling->reason)
            continue;
        uint32_t first = i;
        j->failed |= !ox_strmap_add(&told, ruling->reason, strlen(ruling->reason), &first, NULL);
        ruling->reason = j->rulings[first].by_types.reason;
    }
    ox_strmap_release(&told);
}

static const struct ox_target_ruling *rule_node(struct judge *j, const struct ox_target_node *node)
{
    struct ruling *ruling = &j->rulings[node->class];
    const char *form = ruling->has_forms ? ox_target_form(j->target, node->node) : NULL;
    if (!form)
        return &ruling->by_types;
    if (ruling->form != form) {
        ruling->form = form;
        ruling->by_form = (struct ox_target_ruling){
            .fate = OX_FATE_IMPOSSIBLE,
            .cause = OX_CAUSE_ATTRIBUTE,
            .reason =
                ox_arena_printf(&j->survey->arena, "%s %s's kernels of %s do not take %s",
                                j->target->runtime, j->target->version, node->node->op_type, form)};
    }
    return &ruling->by_form;
}

static void judge_nodes(struct judge *j)
{
    const struct ox_target_survey *survey = j->survey;
    struct ox_target_verdict *verdict = j->verdict;
    const struct ox_node *largest = NULL;
    for (size_t i = 0; i < survey->n_nodes && !j->failed; i++) {
        const struct ox_target_node *node = &survey->nodes[i];
        const struct ox_target_ruling *ruling = rule_node(j, node);
        bool is_constant = survey->classes[node->class].is_constant;
        if (ruling->fate == OX_FATE_CALL || (is_constant && ruling->fate != OX_FATE_IMPOSSIBLE))
            continue;
        count_node(verdict, node, ruling->fate);
        if (ruling->fate == OX_FATE_FALLBACK && node->macs > verdict->largest_macs) {
            verdict->largest_macs = node->macs;
            largest = node->node;
        }
        if (ruling->fate <= OX_FATE_FALLBACK)
            add_node_problem(j, node->node, ruling);
    }
    if (largest) {
        verdict->largest = graph_path(j, largest, true);
        verdict->largest_op = largest->op_type;
    }
}

/* ---- Partitions -------------------------------------------------------------------------------------------------- */

/* In a graph whose nodes are survey->nodes[first ...]: a node's level is how often the way to it has left the provider. Nodes of one
 * level have no way between them that leaves it, so that levels are the fewest pieces its work can be cut into. */
struct pieces {
    const struct judge *judge;
    uint32_t *level;         /* by place in the graph */
    bool *crossed;           /* by value */
    bool *used;              /* by level */
    const uint32_t *classes; /* by place in the graph */
};

static bool is_constant(const struct pieces *p, size_t place)
{
    return p->judge->survey->classes[p->classes[place]].is_constant;
}

static bool is_own(const struct pieces *p, size_t place)
{
    return p->judge->rulings[p->classes[place]].by_types.fate >= OX_FATE_BODY;
}

static void cut_graph(struct pieces *p, const struct ox_graph *graph)
{
    struct ox_target_verdict *verdict = p->judge->verdict;
    for (size_t i = 0; i < graph->n_nodes; i++) {
        const struct ox_node *node = graph->nodes[i];
        bool own = is_own(p, i);
        uint32_t level = 0;
        for (size_t k = 0; k < node->n_inputs; k++) {
            const struct ox_value *value = node->inputs[k];
            const struct ox_node *producer = value ? value->producer : NULL;
            if (!producer || producer->graph != graph || producer->index >= i ||
                is_constant(p, producer->index))
                continue;
            bool from_own = is_own(p, producer->index);
            uint32_t at = p->level[producer->index] + (from_own && !own);
            level = at > level ? at : level;
            if (from_own != own && !p->crossed[value->id]) {
                p->crossed[value->id] = true;
                verdict->n_copies++;
            }
        }
        p->level[i] = level;
        if (own && !is_constant(p, i) && !p->used[level]) {
            p->used[level] = true;
            verdict->n_partitions++;
        }
    }
}

static void cut(struct judge *j)
{
    const struct ox_target_survey *survey = j->survey;
    for (size_t first = 0; first < survey->n_nodes && !j->failed;) {
        const struct ox_graph *graph = survey->nodes[first].node->graph;
        size_t n = graph->n_nodes;
        struct pieces p = {.judge = j};
        uint32_t *classes = calloc(n + 1, sizeof *classes);
        p.level = calloc(n + 1, sizeof *p.level);
        p.used = calloc(n + 1, sizeof *p.used);
        p.crossed = calloc(graph->n_values + 1, sizeof *p.crossed);
        p.classes = classes;
        if (!classes || !p.level || !p.used || !p.crossed) {
            j->failed = true;
        } else {
            for (size_t i = 0; i < n; i++)
                classes[i] = survey->nodes[first + i].class;
            cut_graph(&p, graph);
        }
        free(classes);
        free(p.level);
        free(p.used);
        free(p.crossed);
        first += n;
    }
}

/* ------------------------------------------------------------------------------------------------------------------ */

enum ox_status ox_target_judge(const struct ox_target_verdict **out,
                               struct ox_target_survey *survey, const struct ox_target *target,
                               struct ox_error *err)
{
    struct ox_target_info info;
    ox_target_info(target, &info);
    struct ox_target_verdict *verdict = ox_arena_alloc(&survey->arena, sizeof *verdict);
    struct judge j = {.survey = survey, .target = target, .verdict = verdict};
    j.rulings = ox_arena_array(&survey->arena, survey->n_classes + 1, sizeof *j.rulings);
    const char *name = ox_arena_strdup(&survey->arena, info.name);
    if (!verdict || !j.rulings || !name)
        return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", survey->model->path);
    *verdict = (struct ox_target_verdict){.target = name,
                                          .sure = info.sure,
                                          .loads = true,
                                          .ir_max = target->ir,
                                          .opset_max = info.opset};
    judge_limits(&j);
    judge_overloads(&j);
    judge_shapes(&j);
    rule_classes(&j);
    judge_nodes(&j);
    if (verdict->n_impossible == 0)
        cut(&j);
    verdict->problems =
        ox_arena_copy(&survey->arena, j.problems, verdict->n_problems * sizeof *j.problems);
    free(j.problems);
    j.failed |= !verdict->problems;
    if (!j.failed && !verdict->loads)
        j.failed = !ox_target_find_fix(verdict, survey, target);
    if (j.failed)
        return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", survey->model->path);
    *out = verdict;
    return OX_OK;
}
