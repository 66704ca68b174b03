/* What `check` found, in each format. A new format is a row in render_check.c. */
#ifndef CLI_RENDER_CHECK_H
#define CLI_RENDER_CHECK_H

#include "check_targets.h"

struct check_report {
    const char *model; /* as given */
    bool readable;     /* it is a model at all; else `error` says why not */
    const struct ox_error *error;
    bool valid;
    int64_t ir_version;
    const struct ox_model *opened;            /* NULL when not readable */
    const struct ox_finding *const *findings; /* those to show */
    size_t n_findings;
    size_t n_errors, n_warnings, n_infos; /* of all that are not disabled */
    const struct target_report *targets;  /* NULL when not readable */
};

enum check_format { CHECK_TEXT, CHECK_JSON, CHECK_SARIF, CHECK_JUNIT, CHECK_GITHUB };
#define CHECK_FORMATS "text|json|sarif|junit|github"

void render_check(struct cli *cli, enum check_format format, const struct check_report *report);
/* What stands before the first model and after the last. */
void render_check_begin(struct cli *cli, enum check_format format);
void render_check_end(struct cli *cli, enum check_format format);

/* Whether the finding is of those that make the model invalid. */
static inline bool check_fails(const struct check_report *report, const struct ox_finding *finding)
{
    /* Invalid without an error is what --werror makes of warnings. */
    return finding->severity == OX_ERROR ||
           (finding->severity == OX_WARNING && !report->valid && !report->n_errors);
}

/* ---- render_check_ci.c ---- */
void render_check_sarif(struct cli *cli, const struct check_report *report);
void render_check_junit(struct cli *cli, const struct check_report *report);
void render_check_github(struct cli *cli, const struct check_report *report);

#endif
