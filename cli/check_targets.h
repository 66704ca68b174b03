/* `check --target`: judging a model by the runtimes asked for, and showing it. */
#ifndef CLI_CHECK_TARGETS_H
#define CLI_CHECK_TARGETS_H

#include "cli.h"

/* Options of `check`. */
struct target_args {
    struct opt_strings names; /* --target */
    bool oldest;              /* --min-target */
    bool require_full;        /* --require-full */
};

#define TARGET_OPTIONS(offset)                                                                     \
    {0,                                                                                            \
     "target",                                                                                     \
     OPT_STRINGS,                                                                                  \
     (offset) + offsetof(struct target_args, names),                                               \
     "RUNTIME[=VERSION][:PROVIDER]",                                                               \
     NULL,                                                                                         \
     "tell whether that runtime loads it, and what its provider takes; RUNTIME>=VERSION is each "  \
     "release, FILE a target of your own, list prints those known"},                               \
        {0,                                                                                        \
         "min-target",                                                                             \
         OPT_FLAG,                                                                                 \
         (offset) + offsetof(struct target_args, oldest),                                          \
         NULL,                                                                                     \
         NULL,                                                                                     \
         "tell the oldest release of onnxruntime that loads it"},                                  \
    {                                                                                              \
        0, "require-full", OPT_FLAG, (offset) + offsetof(struct target_args, require_full), NULL,  \
            NULL, "the answer is no also when a provider leaves nodes to another"                  \
    }

/* The verdicts on one model; all zero when none was asked for. */
struct target_report {
    struct ox_targets *targets;
    struct ox_shapes *shapes;
    struct ox_costs *costs;
    struct ox_target_survey *survey;
    const struct ox_target_verdict **verdicts;
    size_t n;
    bool asked_oldest;
    const char *oldest;          /* "onnxruntime=1.12.1"; NULL: none of those known */
    struct ox_finding *findings; /* of target_report_findings() */
    struct ox_strbuf *texts;     /* two a finding: message and hint */
    size_t n_findings;
};

/* Whether there is something to judge. */
bool target_asked(const struct target_args *args);
/* Tells of names that mean nothing before any model is read; "list" is answered: *done. */
enum ox_status target_prepare(struct cli *cli, const struct target_args *args, bool *done);
/* Prints the targets known. */
enum ox_status target_list(struct cli *cli);
/* OX_NEGATIVE: a target does not load it, or --require-full is not met; reported. */
enum ox_status target_report_fill(struct cli *cli, const struct target_args *args,
                                  struct ox_model *model, const char *path,
                                  struct target_report *report);
enum ox_status target_report_status(struct cli *cli, const struct target_args *args,
                                    const char *path, const struct target_report *report);
void target_report_release(struct target_report *report);

void target_report_text(struct cli *cli, const char *path, const struct target_report *report);
/* Value of the key "targets". */
void target_report_json(struct ox_json *json, const struct target_report *report);

/* Problems of a verdict with the same reason: whether this is the first of them, and how many follow. */
bool target_is_first_alike(const struct ox_target_verdict *verdict, size_t i);
size_t target_more_alike(const struct ox_target_verdict *verdict, size_t i);
/* "; 3 of 5 nodes on cuda, 2 fall back to cpu: ..." */
void target_put_shares(struct ox_strbuf *out, const struct ox_target_verdict *verdict);
/* The command that makes the smallest change. */
void target_put_command(struct ox_strbuf *out, const char *path,
                        const struct ox_target_verdict *verdict);

/* ---- check_target_findings.c ---- */

/* Fills report->findings with what the verdicts come to; released before the report. */
enum ox_status target_report_findings(struct cli *cli, const char *path,
                                      struct target_report *report);
void target_findings_release(struct target_report *report);

#endif
