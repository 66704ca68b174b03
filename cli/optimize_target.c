#include "optimize_target.h"

#include <stdlib.h>
#include <string.h>

#include "target_goals.h"

static enum ox_status come_down(struct cli *cli, const char *path, const struct ox_targets *targets,
                                struct ox_model *model)
{
    struct ox_opset_goal goals[TARGET_GOALS];
    struct ox_conversion *conversion = NULL;
    struct ox_error err;
    size_t n = target_goals(targets, model, goals);
    enum ox_status status = ox_convert_opset(&conversion, model, goals, n, &err);
    if (status != OX_OK)
        return cli_error(cli, &err);
    if (ox_conversion_blocked(conversion)) {
        const struct ox_convert_note *note = ox_conversion_at(conversion, 0);
        status = cli_fail(
            cli, OX_NEGATIVE,
            "%s: %zu nodes cannot be brought to the target's opset, the first is %s (%s): %s; "
            "convert-opset --dry-run lists them",
            path, ox_conversion_blocked(conversion), note->node, note->op_type, note->reason);
    }
    ox_conversion_release(conversion);
    return status;
}

/* The first problem that keeps a target from loading the model goes to `reason`; `fallback` gets the counts when it is given. */
static enum ox_status judge(struct cli *cli, const struct for_targets *t, struct ox_model *model,
                            size_t *fallback, bool *good, char reason[OX_ERROR_BYTES])
{
    struct ox_shapes *shapes = NULL;
    struct ox_target_survey *survey = NULL;
    struct ox_error err;
    enum ox_status status = ox_shapes_infer(&shapes, model, NULL, NULL, &err);
    if (status == OX_OK)
        status = ox_target_survey_new(&survey, model, shapes, NULL, &err);
    *good = true;
    for (size_t i = 0; i < ox_targets_count(t->targets) && status == OX_OK && *good; i++) {
        const struct ox_target_verdict *verdict;
        status = ox_target_judge(&verdict, survey, ox_targets_at(t->targets, i), &err);
        if (status != OX_OK)
            break;
        if (!verdict->loads) {
            snprintf(reason, OX_ERROR_BYTES, "%s does not load it: %s", verdict->target,
                     verdict->n_problems ? verdict->problems[0].reason : "of itself");
            *good = false;
        } else if (fallback) {
            fallback[i] = verdict->n_fallback;
        } else if (t->fallback && verdict->n_fallback > t->fallback[i]) {
            snprintf(reason, OX_ERROR_BYTES, "%s leaves %zu nodes to another provider, before %zu",
                     verdict->target, verdict->n_fallback, t->fallback[i]);
            *good = false;
        }
    }
    ox_target_survey_release(survey);
    ox_shapes_release(shapes);
    return status == OX_OK ? OX_OK : cli_error(cli, &err);
}

enum ox_status for_targets_begin(struct cli *cli, const char *path, const struct opt_strings *names,
                                 struct ox_model *model, struct for_targets *out)
{
    struct ox_error err;
    enum ox_status status = ox_targets_new(&out->targets, cli->env, &err);
    for (size_t i = 0; i < names->n && status == OX_OK; i++)
        status = ox_targets_add(out->targets, names->items[i], &err);
    if (status != OX_OK)
        return cli_error(cli, &err);
    out->fallback = calloc(ox_targets_count(out->targets) + 1, sizeof *out->fallback);
    if (!out->fallback)
        return cli_fail(cli, OX_NO_MEMORY, "%s: out of memory", path);
    bool good;
    char reason[OX_ERROR_BYTES];
    status = come_down(cli, path, out->targets, model);
    if (status == OX_OK)
        status = judge(cli, out, model, out->fallback, &good, reason);
    if (status == OX_OK && !good)
        status = cli_fail(cli, OX_NEGATIVE, "%s: %s", path, reason);
    return status;
}

enum ox_status for_targets_judge(struct cli *cli, const struct for_targets *targets,
                                 struct ox_model *model, bool *good, char reason[OX_ERROR_BYTES])
{
    return judge(cli, targets, model, NULL, good, reason);
}

void for_targets_release(struct for_targets *targets)
{
    ox_targets_release(targets->targets);
    free(targets->fallback);
}
