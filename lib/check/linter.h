/* Between the linter's files. */
#ifndef OX_CHECK_LINTER_H
#define OX_CHECK_LINTER_H

#include "check/findings.h"

struct ox_linter {
    struct ox_model *model;
    struct ox_findings *findings;
    struct ox_error *err;
};

/* All return OX_NO_MEMORY or OX_CANCELLED alone. */
enum ox_status ox_lint_unused(struct ox_linter *lint);
enum ox_status ox_lint_external(struct ox_linter *lint);
enum ox_status ox_lint_duplicates(struct ox_linter *lint);
enum ox_status ox_lint_qdq(struct ox_linter *lint);

static inline enum ox_status ox_lint_no_memory(const struct ox_linter *lint)
{
    return ox_fail(lint->err, OX_NO_MEMORY, "%s: out of memory",
                   lint->model->path ? lint->model->path : "model");
}

#endif
