/* Rows of the registry, in each format. */
#ifndef CLI_RENDER_OPS_H
#define CLI_RENDER_OPS_H

#include "cli.h"

/* What is told of changes: nothing, from each version to the next up to the row's, or from the row of one version. */
enum ops_changes { OPS_CHANGES_NONE, OPS_CHANGES_HISTORY, OPS_CHANGES_FROM };

struct ops_report {
    const struct ox_schema *const *rows;
    size_t n_rows;
    bool details; /* signatures instead of a table */
    enum ops_changes changes;
    int64_t from; /* OPS_CHANGES_FROM: a version of the domain */
};

enum ops_format { OPS_TEXT, OPS_JSON };
#define OPS_FORMATS "text|json"

/* OX_NO_MEMORY has been reported. */
enum ox_status render_ops(struct cli *cli, enum ops_format format, const struct ops_report *report);

/* A line an operator's version and type constraint: what serves it. OX_NEGATIVE when one that no row deprecates lacks something. */
enum ox_status render_coverage(struct cli *cli, enum ops_format format,
                               const struct ops_report *report);

/* "ai.onnx" for "". */
const char *ops_domain_name(const char *domain);

#endif
