#include "check_targets.h"

#include <stdlib.h>
#include <string.h>

bool target_asked(const struct target_args *args)
{
    return args->names.n > 0 || args->oldest;
}

enum ox_status target_list(struct cli *cli)
{
    struct ox_error err = {0};
    struct ox_targets *all = NULL;
    enum ox_status status = ox_targets_new(&all, cli->env, &err);
    if (status == OX_OK)
        status = ox_targets_add_all(all, &err);
    if (status != OX_OK) {
        ox_targets_release(all);
        return cli_error(cli, &err);
    }
    ox_strbuf_printf(&cli->out, "%-34s %3s %6s %4s %10s  %-10s %s\n", "TARGET", "IR", "OPSET", "ML",
                     "OPERATORS", "KNOWN BY", "REST");
    for (size_t i = 0; i < ox_targets_count(all); i++) {
        struct ox_target_info info;
        ox_target_info(ox_targets_at(all, i), &info);
        char ir[24] = "any";
        char opset[24] = "any";
        char ml[24] = "any";
        if (info.ir)
            snprintf(ir, sizeof ir, "%lld", (long long)info.ir);
        if (info.opset)
            snprintf(opset, sizeof opset, "%lld", (long long)info.opset);
        if (info.ml_opset)
            snprintf(ml, sizeof ml, "%lld", (long long)info.ml_opset);
        ox_strbuf_printf(&cli->out, "%-34s %3s %6s %4s %10zu  %-10s %s\n", info.name, ir, opset, ml,
                         info.n_operators, info.sure, info.rest ? info.rest : "-");
    }
    ox_targets_release(all);
    return OX_OK;
}

static enum ox_status parse(struct cli *cli, const struct target_args *args,
                            struct ox_targets **out)
{
    struct ox_error err = {0};
    struct ox_targets *targets = NULL;
    enum ox_status status = ox_targets_new(&targets, cli->env, &err);
    for (size_t i = 0; status == OX_OK && i < args->names.n; i++)
        status = ox_targets_add(targets, args->names.items[i], &err);
    if (status != OX_OK) {
        ox_targets_release(targets);
        return cli_error(cli, &err);
    }
    *out = targets;
    return OX_OK;
}

enum ox_status target_prepare(struct cli *cli, const struct target_args *args, bool *done)
{
    *done = false;
    for (size_t i = 0; i < args->names.n; i++)
        if (strcmp(args->names.items[i], "list") == 0) {
            *done = true;
            return target_list(cli);
        }
    struct ox_targets *targets = NULL;
    enum ox_status status = parse(cli, args, &targets);
    ox_targets_release(targets);
    return status;
}

/* The first release whose cpu provider loads it, as "onnxruntime=1.12.1". */
static enum ox_status find_oldest(struct target_report *report, struct ox_targets *releases,
                                  struct ox_error *err)
{
    enum ox_status status = ox_targets_add(releases, "onnxruntime>=0", err);
    for (size_t i = 0; status == OX_OK && i < ox_targets_count(releases); i++) {
        const struct ox_target_verdict *verdict;
        status = ox_target_judge(&verdict, report->survey, ox_targets_at(releases, i), err);
        if (status == OX_OK && verdict->loads) {
            report->oldest = verdict->target;
            break;
        }
    }
    return status;
}

enum ox_status target_report_fill(struct cli *cli, const struct target_args *args,
                                  struct ox_model *model, const char *path,
                                  struct target_report *report)
{
    *report = (struct target_report){.asked_oldest = args->oldest};
    struct ox_error err = {0};
    struct ox_targets *releases = NULL;
    enum ox_status status = parse(cli, args, &report->targets);
    if (status != OX_OK)
        return status;
    status = ox_shapes_infer(&report->shapes, model, NULL, NULL, &err);
    if (status == OX_OK)
        status = ox_costs_new(&report->costs, model, report->shapes, &err);
    if (status == OX_OK)
        status = ox_target_survey_new(&report->survey, model, report->shapes, report->costs, &err);
    size_t n = ox_targets_count(report->targets);
    report->verdicts = malloc((n + 1) * sizeof *report->verdicts);
    if (status == OX_OK && !report->verdicts)
        return cli_fail(cli, OX_NO_MEMORY, "%s: out of memory", path);
    for (; status == OX_OK && report->n < n; report->n++)
        status = ox_target_judge(&report->verdicts[report->n], report->survey,
                                 ox_targets_at(report->targets, report->n), &err);
    if (status == OX_OK && args->oldest) {
        status = ox_targets_new(&releases, cli->env, &err);
        if (status == OX_OK)
            status = find_oldest(report, releases, &err);
    }
    ox_targets_release(releases);
    return status == OX_OK ? OX_OK : cli_error(cli, &err);
}

enum ox_status target_report_status(struct cli *cli, const struct target_args *args,
                                    const char *path, const struct target_report *report)
{
    enum ox_status worst = OX_OK;
    for (size_t i = 0; i < report->n; i++) {
        const struct ox_target_verdict *verdict = report->verdicts[i];
        if (!verdict->loads)
            worst = cli_fail(cli, OX_NEGATIVE, "%s: %s does not load it", path, verdict->target);
        else if (args->require_full && verdict->n_fallback > 0)
            worst =
                cli_fail(cli, OX_NEGATIVE, "%s: %s leaves %zu node%s to another provider", path,
                         verdict->target, verdict->n_fallback, verdict->n_fallback == 1 ? "" : "s");
    }
    if (report->asked_oldest && !report->oldest)
        worst = cli_fail(cli, OX_NEGATIVE, "%s: no release of onnxruntime known loads it", path);
    return worst;
}

void target_report_release(struct target_report *report)
{
    free((void *)report->verdicts);
    ox_target_survey_release(report->survey);
    ox_costs_release(report->costs);
    ox_shapes_release(report->shapes);
    ox_targets_release(report->targets);
    *report = (struct target_report){0};
}

/* ---- Text -------------------------------------------------------------------------------------------------------- */

enum { MOST_REASONS = 20 };

static void print_macs(struct ox_strbuf *out, uint64_t macs)
{
    static const char *const units[] = {"", "k", "M", "G", "T"};
    double value = (double)macs;
    size_t unit = 0;
    while (value >= 1000 && unit + 1 < sizeof units / sizeof *units) {
        value /= 1000;
        unit++;
    }
    ox_strbuf_printf(out, unit ? "%.2f %sMACs" : "%.0f %sMACs", value, units[unit]);
}

bool target_is_first_alike(const struct ox_target_verdict *verdict, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (verdict->problems[i].reason == verdict->problems[k].reason)
            return false;
    return true;
}

size_t target_more_alike(const struct ox_target_verdict *verdict, size_t i)
{
    size_t more = 0;
    for (size_t k = i + 1; k < verdict->n_problems; k++)
        more += verdict->problems[i].reason == verdict->problems[k].reason;
    return more;
}

/* Problems with the same reason are one line: "node conv_1 and 11 more (Conv): ...". */
static void print_problems(struct cli *cli, const struct ox_target_verdict *verdict)
{
    struct ox_strbuf *out = &cli->out;
    size_t most = cli->common.verbose ? SIZE_MAX : MOST_REASONS;
    size_t shown = 0;
    size_t left = 0;
    for (size_t i = 0; i < verdict->n_problems; i++) {
        const struct ox_target_problem *problem = &verdict->problems[i];
        if (!target_is_first_alike(verdict, i))
            continue;
        if (shown == most) {
            left++;
            continue;
        }
        shown++;
        size_t more = target_more_alike(verdict, i);
        ox_strbuf_printf(out, "    %s: ", ox_target_cause_name(problem->cause));
        if (problem->node) {
            ox_strbuf_puts(out, "node ");
            if (*problem->graph) {
                ox_strbuf_name(out, problem->graph, 256);
                ox_strbuf_putc(out, '.');
            }
            ox_strbuf_name(out, problem->node, 256);
            if (more)
                ox_strbuf_printf(out, " and %zu more", more);
            ox_strbuf_puts(out, ": ");
        }
        ox_strbuf_name(out, problem->reason, 0);
        ox_strbuf_putc(out, '\n');
    }
    if (left)
        ox_strbuf_printf(out, "    and %zu more reasons: -v prints them\n", left);
}

void target_put_shares(struct ox_strbuf *out, const struct ox_target_verdict *verdict)
{
    const char *provider = strrchr(verdict->target, ':') + 1;
    ox_strbuf_printf(out, "; %zu of %zu node%s on %s", verdict->n_taken, verdict->n_nodes,
                     verdict->n_nodes == 1 ? "" : "s", provider);
    if (verdict->n_cast)
        ox_strbuf_printf(out, ", %zu between casts", verdict->n_cast);
    if (verdict->n_body)
        ox_strbuf_printf(out, ", %zu by the function body", verdict->n_body);
    if (!verdict->n_fallback)
        return;
    ox_strbuf_printf(out, ", %zu fall%s back to cpu: %zu partition%s, %zu cop%s",
                     verdict->n_fallback, verdict->n_fallback == 1 ? "s" : "",
                     verdict->n_partitions, verdict->n_partitions == 1 ? "" : "s",
                     verdict->n_copies, verdict->n_copies == 1 ? "y" : "ies");
}

static void print_largest(struct ox_strbuf *out, const struct ox_target_verdict *verdict)
{
    if (!verdict->largest)
        return;
    ox_strbuf_puts(out, "\n    largest fallback: node ");
    ox_strbuf_name(out, verdict->largest, 256);
    ox_strbuf_puts(out, " (");
    ox_strbuf_name(out, verdict->largest_op, 64);
    ox_strbuf_puts(out, "), ");
    print_macs(out, verdict->largest_macs);
    ox_strbuf_puts(out, " of ");
    print_macs(out, verdict->macs);
}

/* A word of a shell's command line. */
static void put_word(struct ox_strbuf *out, const char *word)
{
    const char *plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+,=@%:-";
    struct ox_strbuf shown;
    ox_strbuf_init(&shown);
    ox_strbuf_name(&shown, word, 0);
    const char *text = ox_strbuf_text(&shown, out);
    const char *mark = *text && !text[strspn(text, plain)] ? "" : "'";
    ox_strbuf_puts(out, mark);
    ox_strbuf_puts(out, *text == '-' && text[1] ? "./" : "");
    cli_put_quoted(out, text);
    ox_strbuf_puts(out, mark);
    out->failed |= shown.failed;
    ox_strbuf_release(&shown);
}

void target_put_command(struct ox_strbuf *out, const char *path,
                        const struct ox_target_verdict *verdict)
{
    const char *at = strstr(verdict->command, "%s");
    ox_strbuf_add(out, verdict->command, (size_t)(at - verdict->command));
    put_word(out, path);
    ox_strbuf_puts(out, at + 2);
}

static void print_fix(struct ox_strbuf *out, const char *path,
                      const struct ox_target_verdict *verdict)
{
    if (verdict->loads)
        return;
    if (!verdict->fix) {
        ox_strbuf_puts(out, "    no other opset makes it load\n");
        return;
    }
    ox_strbuf_puts(out, "    smallest change: ");
    ox_strbuf_name(out, verdict->fix, 0);
    ox_strbuf_puts(out, "\n        ");
    target_put_command(out, path, verdict);
    ox_strbuf_putc(out, '\n');
}

void target_report_text(struct cli *cli, const char *path, const struct target_report *report)
{
    struct ox_strbuf *out = &cli->out;
    for (size_t i = 0; i < report->n && !cli->common.quiet; i++) {
        const struct ox_target_verdict *verdict = report->verdicts[i];
        ox_strbuf_name(out, path, 0);
        ox_strbuf_printf(out, ": %s: %s", verdict->target,
                         verdict->loads ? "loads" : "does not load");
        if (verdict->loads) {
            target_put_shares(out, verdict);
            print_largest(out, verdict);
        }
        ox_strbuf_putc(out, '\n');
        print_problems(cli, verdict);
        if (verdict->note)
            ox_strbuf_printf(out, "    note: %s\n", verdict->note);
        if (verdict->loads && verdict->n_fallback &&
            strncmp(verdict->target, "onnxruntime", 11) == 0)
            ox_strbuf_puts(out, "    note: it falls back in silence; the session option "
                                "session.disable_cpu_ep_fallback = 1 makes it fail instead\n");
        print_fix(out, path, verdict);
    }
    if (report->asked_oldest) {
        ox_strbuf_name(out, path, 0);
        ox_strbuf_printf(out, ": oldest release that loads it: %s\n",
                         report->oldest ? report->oldest : "none known");
    }
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void json_problems(struct ox_json *json, const struct ox_target_verdict *verdict,
                          bool of_nodes)
{
    ox_json_key(json, of_nodes ? "unsupported" : "reasons");
    ox_json_array(json);
    for (size_t i = 0; i < verdict->n_problems; i++) {
        const struct ox_target_problem *problem = &verdict->problems[i];
        if (of_nodes != (problem->node != NULL))
            continue;
        ox_json_object(json);
        if (of_nodes) {
            cli_json_string(json, "graph", problem->graph);
            cli_json_string(json, "node", problem->node);
            cli_json_string(json, "op_type", problem->op_type);
        }
        cli_json_string(json, "reason", problem->reason);
        cli_json_string(json, "cause", ox_target_cause_name(problem->cause));
        if (of_nodes)
            cli_json_string(json, "result", problem->fatal ? "fails" : "falls back");
        ox_json_end_object(json);
    }
    ox_json_end_array(json);
}

static void json_limit(struct ox_json *json, const char *key, int64_t value)
{
    ox_json_key(json, key);
    if (value)
        ox_json_int(json, value);
    else
        ox_json_null(json);
}

static void json_verdict(struct ox_json *json, const struct ox_target_verdict *verdict)
{
    ox_json_object(json);
    cli_json_string(json, "target", verdict->target);
    cli_json_string(json, "known_by", verdict->sure);
    cli_json_bool(json, "loads", verdict->loads);
    json_limit(json, "ir_max", verdict->ir_max);
    json_limit(json, "opset_max", verdict->opset_max);
    json_problems(json, verdict, false);
    json_problems(json, verdict, true);
    cli_json_double(json, "coverage",
                    verdict->n_nodes ? (double)verdict->n_taken / (double)verdict->n_nodes : 1);
    cli_json_uint(json, "nodes", verdict->n_nodes);
    cli_json_uint(json, "taken", verdict->n_taken);
    cli_json_uint(json, "between_casts", verdict->n_cast);
    cli_json_uint(json, "by_function_body", verdict->n_body);
    cli_json_uint(json, "fallback", verdict->n_fallback);
    cli_json_uint(json, "partitions", verdict->n_partitions);
    cli_json_uint(json, "copies", verdict->n_copies);
    cli_json_uint(json, "macs", verdict->macs);
    cli_json_uint(json, "fallback_macs", verdict->fallback_macs);
    ox_json_key(json, "largest_fallback");
    if (verdict->largest) {
        ox_json_object(json);
        cli_json_string(json, "node", verdict->largest);
        cli_json_string(json, "op_type", verdict->largest_op);
        cli_json_uint(json, "macs", verdict->largest_macs);
        ox_json_end_object(json);
    } else {
        ox_json_null(json);
    }
    cli_json_string(json, "note", verdict->note);
    cli_json_string(json, "smallest_change", verdict->fix);
    cli_json_string(json, "command", verdict->command);
    ox_json_end_object(json);
}

void target_report_json(struct ox_json *json, const struct target_report *report)
{
    ox_json_array(json);
    for (size_t i = 0; i < report->n; i++)
        json_verdict(json, report->verdicts[i]);
    ox_json_end_array(json);
    if (report->asked_oldest)
        cli_json_string(json, "min_target", report->oldest);
}
