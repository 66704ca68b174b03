/* Verdicts of targets as findings, for the formats that know nothing else: SARIF, JUnit, GitHub. */
#include <stdlib.h>
#include <string.h>

#include "check_targets.h"

static enum ox_severity severity_of(const char *id)
{
    size_t n;
    const struct ox_finding_kind *kinds = ox_finding_kinds(&n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(kinds[i].id, id) == 0)
            return kinds[i].severity;
    return OX_ERROR;
}

/* Takes message and hint. */
static bool add(struct target_report *report, struct ox_finding finding, struct ox_strbuf *message,
                struct ox_strbuf *hint)
{
    size_t n = report->n_findings;
    struct ox_finding *findings = realloc(report->findings, (n + 1) * sizeof *findings);
    if (findings)
        report->findings = findings;
    struct ox_strbuf *texts = realloc(report->texts, 2 * (n + 1) * sizeof *texts);
    if (texts)
        report->texts = texts;
    if (!findings || !texts || message->failed || hint->failed) {
        ox_strbuf_release(message);
        ox_strbuf_release(hint);
        return false;
    }
    finding.severity = severity_of(finding.id);
    finding.message = message->data;
    finding.hint = hint->data;
    findings[n] = finding;
    texts[2 * n] = *message;
    texts[2 * n + 1] = *hint;
    report->n_findings = n + 1;
    return true;
}

/* Nodes with the same reason are one finding, at the first of them. */
static bool add_problem(struct target_report *report, const struct ox_target_verdict *verdict,
                        size_t i, const char *path)
{
    const struct ox_target_problem *problem = &verdict->problems[i];
    struct ox_strbuf message = {0};
    struct ox_strbuf hint = {0};
    size_t more = target_more_alike(verdict, i);
    ox_strbuf_printf(&message, "%s %s: ", verdict->target,
                     verdict->loads ? "leaves it to another provider" : "does not load it");
    ox_strbuf_name(&message, problem->reason, 0);
    if (more)
        ox_strbuf_printf(&message, "; so %zu more node%s", more, more == 1 ? "" : "s");
    if (!verdict->loads && verdict->fix) {
        ox_strbuf_printf(&hint, "%s: ", verdict->fix);
        target_put_command(&hint, path, verdict);
    }
    return add(report,
               (struct ox_finding){.id = verdict->loads ? "target.fallback" : "target.refused",
                                   .graph = problem->graph,
                                   .node = problem->node,
                                   .op_type = problem->op_type},
               &message, &hint);
}

static bool add_loads(struct target_report *report, const struct ox_target_verdict *verdict)
{
    struct ox_strbuf message = {0};
    struct ox_strbuf hint = {0};
    ox_strbuf_printf(&message, "%s loads it", verdict->target);
    target_put_shares(&message, verdict);
    return add(report, (struct ox_finding){.id = "target.loads"}, &message, &hint);
}

enum ox_status target_report_findings(struct cli *cli, const char *path,
                                      struct target_report *report)
{
    bool good = true;
    for (size_t v = 0; v < report->n; v++) {
        const struct ox_target_verdict *verdict = report->verdicts[v];
        if (verdict->loads)
            good &= add_loads(report, verdict);
        for (size_t i = 0; i < verdict->n_problems; i++)
            if (target_is_first_alike(verdict, i) &&
                (verdict->loads || verdict->problems[i].fatal || !verdict->problems[i].node))
                good &= add_problem(report, verdict, i, path);
    }
    return good ? OX_OK : cli_fail(cli, OX_NO_MEMORY, "%s: out of memory", path);
}

void target_findings_release(struct target_report *report)
{
    for (size_t i = 0; i < 2 * report->n_findings; i++)
        ox_strbuf_release(&report->texts[i]);
    free(report->texts);
    free(report->findings);
}
