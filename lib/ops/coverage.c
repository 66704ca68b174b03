/* What serves each operator's version, read from the tables. */
#include "ops/op.h"

void ox_schema_coverage(const struct ox_schema *schema, struct ox_coverage *coverage)
{
    const struct ox_op *op = ox_op_find(schema->domain, schema->name, schema->since);
    bool body = schema->n_bodies > 0;
    *coverage = (struct ox_coverage){.infer = (op && op->infer) || body,
                                     .reference = (op && op->run) || body,
                                     .by_body = body && !(op && op->run),
                                     .fast = op && op->fast};
    coverage->oracle = coverage->reference;
}
