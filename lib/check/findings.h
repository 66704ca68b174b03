/* The list that checkers add to. */
#ifndef OX_CHECK_FINDINGS_H
#define OX_CHECK_FINDINGS_H

#include "model/model.h"

/* OX_FINDING(enum, "id", severity, "title", "explanation"): a row a kind of finding */
enum ox_finding_id {
#define OX_FINDING(name, id, severity, title, explanation) name,
#include "check/check_ids.def"
#undef OX_FINDING
    OX_N_FINDINGS
};

/* Where; any member may be NULL. */
struct ox_place {
    const struct ox_graph *graph;
    const struct ox_node *node; /* gives graph and op_type too */
    const char *tensor;
    const char *attribute;
};

enum ox_status ox_findings_new(struct ox_findings **out, struct ox_env *env, struct ox_error *err);
/* Adds one; hint may be NULL. Beyond 10,000 they are only counted. Fails never visibly: running out of memory is remembered and
 * returned by ox_findings_status(). */
void ox_findings_add(struct ox_findings *findings, enum ox_finding_id id,
                     const struct ox_place *place, const char *hint, const char *format, ...)
    OX_PRINTF(5, 6);
enum ox_status ox_findings_status(const struct ox_findings *findings, struct ox_error *err);

#endif
